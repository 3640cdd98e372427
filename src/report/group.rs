//! Points that are the same but for some axes.

use crate::analysis::summary::{Axis, Point, Rest};

/// Items in groups that agree in what `key` gives, all in the order in which they come.
pub fn grouped<T: Copy, K: PartialEq>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(T) -> K,
) -> Vec<Vec<T>> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let key = key(item);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The load, whatever the mode and whatever these axes are.
pub fn load_but<'p>(point: &'p Point, axes: &[Axis]) -> Rest<'p> {
    point.without(&[&Axis::OF_MODE, axes].concat())
}
