//! Figures of another record, put beside those of the same rows here.

use super::summary::{Anatomy, Beside};
use crate::plan::{Axis, Point};

/// What may differ in one row of two anatomies: its place in the study, and where and for how long
/// it was measured.
const WITHIN: [Axis; 5] = [
    Axis::Row,
    Axis::Distances,
    Axis::Disks,
    Axis::Window,
    Axis::WatchAfter,
];

/// Gives each row of an anatomy the figures of the same row of another one; a row that the other
/// lacks gets none. Rows are the same if their points are, whatever tables call them.
pub fn put_beside(rows: &mut [Anatomy], others: &[Anatomy]) {
    for row in rows {
        let rest = row.point.without(&WITHIN);
        let is_same = |point: &Point| point.without(&WITHIN) == rest;
        let other = others.iter().find(|other| is_same(&other.point));
        row.beside = Some(Beside {
            round_trips: other.and_then(|other| other.round_trips),
            flushes: other.and_then(|other| other.flushes),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::Example;
    use crate::analysis::summarise;

    #[test]
    fn rows_are_found_by_their_points_and_not_by_their_labels() {
        let mut rows = summarise(&Example::anatomy().record()).anatomy;
        let mut others = rows.clone();
        // As another study has them: in another order, and under other names.
        others.reverse();
        for (row, other) in others.iter_mut().enumerate() {
            other.label = rows[0].label.clone();
            other.point.row = row;
        }
        let lost = others.pop();
        put_beside(&mut rows, &others);
        for row in &rows[1..] {
            let expected = Beside {
                round_trips: row.round_trips,
                flushes: row.flushes,
            };
            assert_eq!(row.beside, Some(expected), "{}", row.label);
        }
        assert!(lost.is_some_and(|lost| lost.round_trips.is_some()));
        let nothing = Beside {
            round_trips: None,
            flushes: None,
        };
        assert_eq!(rows[0].beside, Some(nothing));
    }
}
