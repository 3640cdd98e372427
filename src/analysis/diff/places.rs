//! Which cells of two records are the same. What tables call them decides nothing.

use crate::plan::{Axis, Point, Rest};
use crate::study::fault::Durability;
use crate::study::faults::Fault;
use crate::study::{Flavour, Moved};

/// What may differ in a cell that is the same: its place in the study, and for how long it was
/// measured or watched. Windows are looked at apart.
pub const NOT_ASKED: [Axis; 3] = [Axis::Row, Axis::Window, Axis::WatchAfter];

/// What two records are compared for. Cells that differ in these are taken for the same where
/// nothing nearer is left, and no other cell could be meant.
pub const COMPARED: [Axis; 4] = [
    Axis::Server,
    Axis::Variables,
    Axis::NodeVariables,
    Axis::Endpoint,
];

/// Something that was measured, or befallen by a fault, as data.
#[derive(Debug, Clone)]
pub struct Spot {
    pub point: Point,
    pub moved: Option<Moved>,
    /// Which family its server is of; `None` where the record does not tell.
    pub flavour: Option<Flavour>,
    pub fault: Option<Fault>,
    /// How its servers were set when they were asked.
    pub durability: Option<Durability>,
}

/// Spots of two records, by their indices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pairs {
    pub both: Vec<(usize, usize)>,
    pub only_a: Vec<usize>,
    pub only_b: Vec<usize>,
}

/// What is left of a spot, to be compared.
#[derive(PartialEq)]
struct Key<'s> {
    rest: Rest<'s>,
    moved: Option<Moved>,
    fault: Option<&'s Fault>,
    flavour: Option<Flavour>,
    durability: Option<Durability>,
}

/// Pairs those that are the same but for these axes. Where a study asks for the same several times
/// the first is paired with the first.
pub fn pairs(a: &[Spot], b: &[Spot], besides: &[Axis]) -> Pairs {
    let near = [&NOT_ASKED[..], besides].concat();
    let keys_a: Vec<Key> = a.iter().map(|spot| Key::near(spot, &near)).collect();
    let keys_b: Vec<Key> = b.iter().map(|spot| Key::near(spot, &near)).collect();
    let mut is_left = vec![true; b.len()];
    let mut pairs = Pairs::default();
    for (index, key) in keys_a.iter().enumerate() {
        let is_it = |other: &usize| is_left[*other] && keys_b[*other] == *key;
        match (0..b.len()).find(is_it) {
            Some(other) => {
                is_left[other] = false;
                pairs.both.push((index, other));
            }
            None => pairs.only_a.push(index),
        }
    }
    pairs.only_b = (0..b.len()).filter(|index| is_left[*index]).collect();
    let far = [&near[..], &COMPARED[..]].concat();
    pairs.with_single_ones(a, b, &far)
}

impl<'s> Key<'s> {
    /// Of the same server, with the same settings.
    fn near(spot: &'s Spot, but: &[Axis]) -> Key<'s> {
        Key {
            rest: spot.point.without(but),
            moved: spot.moved,
            fault: spot.fault.as_ref(),
            flavour: None,
            durability: spot.durability,
        }
    }

    /// Of a server of the same family.
    fn far(spot: &'s Spot, but: &[Axis]) -> Key<'s> {
        Key {
            flavour: spot.flavour,
            durability: None,
            ..Key::near(spot, but)
        }
    }
}

impl Pairs {
    /// With those of what is left that are the same but for these axes, where neither record has
    /// two of them.
    fn with_single_ones(mut self, a: &[Spot], b: &[Spot], but: &[Axis]) -> Pairs {
        let keys_a = self.only_a.iter().map(|at| Key::far(&a[*at], but));
        let keys_b = self.only_b.iter().map(|at| Key::far(&b[*at], but));
        let (keys_a, keys_b): (Vec<Key>, Vec<Key>) = (keys_a.collect(), keys_b.collect());
        let pair = |at: usize| {
            let other = single(&keys_b, &keys_a[at])?;
            single(&keys_a, &keys_b[other])?;
            Some((self.only_a[at], self.only_b[other]))
        };
        let found: Vec<(usize, usize)> = (0..keys_a.len()).filter_map(pair).collect();
        self.only_a
            .retain(|at| found.iter().all(|(one, _)| one != at));
        (self.only_b).retain(|at| found.iter().all(|(_, other)| other != at));
        self.both.extend(found);
        self.both.sort_unstable();
        self
    }
}

/// The one that is like it; `None` of several.
fn single(keys: &[Key], key: &Key) -> Option<usize> {
    let mut like = (0..keys.len()).filter(|at| keys[*at] == *key);
    let first = like.next()?;
    like.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::study::{Distances, Mode, Variables};

    fn spot(server: &str, mode: Mode, connections: u32) -> Spot {
        Spot {
            point: Point {
                server: server.to_owned(),
                mode,
                connections,
                ..Point::default()
            },
            moved: None,
            flavour: Some(Flavour::Mysql),
            fault: None,
            durability: None,
        }
    }

    fn with(sync_binlog: &str, mut spot: Spot) -> Spot {
        let value = ("sync_binlog".to_owned(), sync_binlog.to_owned());
        spot.point.variables = Variables::from([value]);
        spot
    }

    /// Whether one is taken for the other.
    fn are_one(one: &Spot, other: &Spot) -> bool {
        let of = |spot| std::slice::from_ref(spot);
        !pairs(of(one), of(other), &[]).both.is_empty()
    }

    #[test]
    fn cells_are_found_by_their_points_wherever_they_stand_and_whatever_they_are_called() {
        let a = [
            spot("mysql", Mode::Single, 1),
            spot("mysql", Mode::Async, 4),
        ];
        let mut b = [a[1].clone(), a[0].clone()];
        for (row, spot) in b.iter_mut().enumerate() {
            spot.point.row = row;
            spot.point.distances = Distances {
                label: format!("as another study calls it {row}"),
                ..Distances::default()
            };
            spot.point.window = Duration::from_secs(9);
        }
        assert_eq!(pairs(&a, &b, &[]).both, [(0, 1), (1, 0)]);
        b[0].point.connections = 8;
        let found = pairs(&a, &b, &[]);
        assert_eq!((found.only_a, found.only_b), (vec![1], vec![0]));
        let besides = pairs(&a, &b, &[Axis::Connections]);
        assert_eq!(besides.both, [(0, 1), (1, 0)]);
    }

    #[test]
    fn twins_are_paired_in_their_order() {
        let twins = [
            spot("mysql", Mode::Single, 1),
            spot("mysql", Mode::Single, 1),
        ];
        assert_eq!(pairs(&twins, &twins, &[]).both, [(0, 0), (1, 1)]);
        let found = pairs(&twins, &twins[..1], &[]);
        assert_eq!((found.both, found.only_a), (vec![(0, 0)], vec![1]));
    }

    #[test]
    fn another_version_or_setting_is_the_same_cell_where_no_other_can_be_meant() {
        let (old, new) = (
            spot("mysql-5.6", Mode::Async, 1),
            spot("mysql", Mode::Async, 1),
        );
        assert!(are_one(&old, &new));
        let mut other = new.clone();
        other.flavour = Some(Flavour::Mariadb);
        assert!(!are_one(&old, &other));
        let both = [with("0", new.clone()), with("1", new.clone())];
        assert!(are_one(&both[0], &both[1]));
        // What is the same to the last setting goes first, and of two nobody knows which.
        assert_eq!(pairs(&both[1..], &both, &[]).both, [(0, 1)]);
        assert_eq!(pairs(&[old], &both, &[]).both, []);
    }

    #[test]
    fn of_faults_the_schedules_are_compared() {
        let with = |name: &str, title: &str| {
            let mut spot = spot("mysql", Mode::Async, 1);
            spot.fault = Some(Fault {
                name: name.to_owned(),
                title: title.to_owned(),
                ..Fault::default()
            });
            spot
        };
        let one = with("dies", "x");
        assert!(!are_one(&one, &with("hangs", "x")));
        let mut strict = one.clone();
        strict.durability = Some(Durability::STRICT);
        assert!(are_one(&one, &strict), "a setting");
    }
}
