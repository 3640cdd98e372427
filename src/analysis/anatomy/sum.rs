//! Whether round trips and flushes add up where both were raised, or one hides behind the other.

use super::flushes::Axis;
use super::{Group, Point};
use crate::analysis::interval::{Noise, estimate, median};
use crate::analysis::summary::{Adds, Sum, Value};
use crate::plan::Cell;
use crate::study::{Disks, Distances};

/// What is within this share of the sum is the sum.
const SAME_SHARE: f64 = 0.05;

/// One round's four corners: neither raised, one, the other, both.
struct Corners {
    got_us: f64,
    sum_us: f64,
}

/// Each cell in which both the distance and the flush time differ from those at which the lines
/// were drawn, while in others of the same round only one of them does.
pub fn adds(group: &Group, base: Option<&Disks>, axis: &Axis) -> Vec<Adds> {
    let (Some(base), Some(near)) = (base, axis.distances()) else {
        return vec![];
    };
    let mut cells: Vec<(usize, &Cell)> = Vec::new();
    for point in &group.points {
        let cell = (point.cell, point.asked);
        if is_raised(point, base, near, axis) && !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells.sort_by_key(|(index, _)| *index);
    let told = cells.into_iter();
    told.filter_map(|(_, cell)| of_cell(group, cell, base, near))
        .collect()
}

fn is_raised(point: &Point, base: &Disks, near: &Distances, axis: &Axis) -> bool {
    let is_other = |disks: &Disks| disks != base && axis.holds_disks(disks);
    point.rtt_us.is_some() && point.asked.distances != *near && point.disks().is_some_and(is_other)
}

fn of_cell(group: &Group, cell: &Cell, base: &Disks, near: &Distances) -> Option<Adds> {
    let disks = cell.disks.as_ref()?;
    let rounds: std::collections::BTreeSet<u32> = group.points.iter().map(|p| p.round).collect();
    let corners = |round: u32| {
        let at = |distances: &Distances, disks: &Disks| latency_us(group, round, distances, disks);
        Some(Corners {
            got_us: at(&cell.distances, disks)?,
            sum_us: at(&cell.distances, base)? + at(near, disks)? - at(near, base)?,
        })
    };
    let corners: Vec<Corners> = rounds.into_iter().filter_map(corners).collect();
    let of = |figure: fn(&Corners) -> f64| corners.iter().map(figure).collect::<Vec<f64>>();
    let sum_us = median(&of(|c| c.sum_us))?;
    let difference_us = estimate(&of(|c| c.got_us - c.sum_us), Noise::Adds)?.into();
    Some(Adds {
        distances: cell.distances.label.clone(),
        disks: disks.label.clone(),
        rounds: corners.len() as u32,
        got_us: median(&of(|c| c.got_us))?,
        sum_us,
        difference_us,
        verdict: verdict(difference_us, sum_us),
    })
}

fn latency_us(group: &Group, round: u32, distances: &Distances, disks: &Disks) -> Option<f64> {
    let is_it = |point: &&Point| {
        point.round == round && point.asked.distances == *distances && point.disks() == Some(disks)
    };
    group
        .points
        .iter()
        .find(is_it)
        .map(|point| point.latency_us)
}

/// `None` without an interval.
fn verdict(difference_us: Value, sum_us: f64) -> Option<Sum> {
    let (low, high) = (difference_us.low?, difference_us.high?);
    let bound = SAME_SHARE * sum_us;
    let is_the_sum = -bound <= low && high <= bound;
    Some(match (is_the_sum, high < 0.0, low > 0.0) {
        (true, _, _) => Sum::Adds,
        (_, true, _) => Sum::Overlaps,
        (_, _, true) => Sum::Exceeds,
        _ => Sum::NoDifferenceShown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(low: f64, high: f64) -> Option<Sum> {
        let value = Value {
            value: (low + high) / 2.0,
            low: Some(low),
            high: Some(high),
        };
        verdict(value, 10_000.0)
    }

    #[test]
    fn a_narrow_interval_about_nothing_adds_and_a_wide_one_shows_nothing() {
        assert_eq!(told(-500.0, 500.0), Some(Sum::Adds));
        assert_eq!(told(-501.0, 500.0), Some(Sum::NoDifferenceShown));
        assert_eq!(told(-900.0, -1.0), Some(Sum::Overlaps));
        assert_eq!(told(1.0, 900.0), Some(Sum::Exceeds));
        // Shown, but too small to speak of.
        assert_eq!(told(-90.0, -10.0), Some(Sum::Adds));
    }

    #[test]
    fn without_an_interval_there_is_no_verdict() {
        let value = Value {
            value: -900.0,
            low: None,
            high: None,
        };
        assert_eq!(verdict(value, 10_000.0), None);
    }
}
