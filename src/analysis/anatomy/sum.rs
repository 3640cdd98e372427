//! Whether round trips and flushes add up where both were raised, or one hides behind the other.

use std::collections::{BTreeMap, BTreeSet};

use super::flushes::Moved;
use super::group::{Group, Sample};
use crate::analysis::interval::{Noise, estimate, median};
use crate::analysis::summary::{Adds, Sum, Value};
use crate::plan::{Axis, Point};

/// What is within this share of the sum is the sum.
const SAME_SHARE: f64 = 0.05;

/// One round's four corners: neither raised, one, the other, both.
struct Corners {
    got_us: f64,
    sum_us: f64,
}

/// Each cell in which both the distance and the flush time differ from those at which the lines
/// were drawn, while in others of the same round only one of them does.
pub fn adds(group: &Group, base: Option<&Point>, moved: &Moved) -> Vec<Adds> {
    let (Some(base), Some(near)) = (base, moved.first) else {
        return vec![];
    };
    let is_raised = |sample: &&Sample| {
        let point = sample.point;
        sample.rtt_us.is_some()
            && !point.is_same_in(near, Axis::Distances)
            && !point.is_same_in(base, Axis::Disks)
            && moved.has_disks_of(point)
    };
    let raised = group.samples.iter().filter(is_raised);
    let cells: BTreeMap<usize, &Point> = raised.map(|s| (s.cell, s.point)).collect();
    cells
        .into_values()
        .filter_map(|point| of_cell(group, point, base, near))
        .collect()
}

fn of_cell(group: &Group, point: &Point, base: &Point, near: &Point) -> Option<Adds> {
    let rounds: BTreeSet<u32> = group.samples.iter().map(|s| s.round).collect();
    let corners = |round: u32| {
        let at = |distances: &Point, disks: &Point| latency_us(group, round, distances, disks);
        Some(Corners {
            got_us: at(point, point)?,
            sum_us: at(point, base)? + at(near, point)? - at(near, base)?,
        })
    };
    let corners: Vec<Corners> = rounds.into_iter().filter_map(corners).collect();
    let of = |figure: fn(&Corners) -> f64| corners.iter().map(figure).collect::<Vec<f64>>();
    let sum_us = median(&of(|c| c.sum_us))?;
    let differences_us = of(|c| c.got_us - c.sum_us);
    let difference_us = estimate(&differences_us, Noise::Adds, group.risk)?.into();
    Some(Adds {
        distances: point.distances.label.clone(),
        disks: point.disks.as_ref()?.label.clone(),
        rounds: corners.len() as u32,
        got_us: median(&of(|c| c.got_us))?,
        sum_us,
        difference_us,
        verdict: verdict(difference_us, sum_us),
    })
}

/// At the distances of one point and the disks of another.
fn latency_us(group: &Group, round: u32, distances: &Point, disks: &Point) -> Option<f64> {
    let is_it = |sample: &&Sample| {
        sample.round == round
            && sample.point.is_same_in(distances, Axis::Distances)
            && sample.point.is_same_in(disks, Axis::Disks)
    };
    let found = group.samples.iter().find(is_it);
    found.map(|sample| sample.latency_us)
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

    fn of_ends(low: f64, high: f64) -> Option<Sum> {
        let value = Value {
            value: (low + high) / 2.0,
            low: Some(low),
            high: Some(high),
        };
        verdict(value, 10_000.0)
    }

    #[test]
    fn a_narrow_interval_about_nothing_adds_and_a_wide_one_shows_nothing() {
        assert_eq!(of_ends(-500.0, 500.0), Some(Sum::Adds));
        assert_eq!(of_ends(-501.0, 500.0), Some(Sum::NoDifferenceShown));
        assert_eq!(of_ends(-900.0, -1.0), Some(Sum::Overlaps));
        assert_eq!(of_ends(1.0, 900.0), Some(Sum::Exceeds));
        // Shown, but too small to speak of.
        assert_eq!(of_ends(-90.0, -10.0), Some(Sum::Adds));
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
