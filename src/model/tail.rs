//! How far the slowest commits are above the median that is foretold for them.

use std::collections::BTreeMap;

use super::coefficients::Tail;
use crate::analysis::interval::{Risk, student};
use crate::record::store::Record;
use crate::record::{Measurement, histogram};

const SHARE: f64 = 0.99;
/// Commits that must lie beyond, as for any percentile.
const BEYOND: f64 = 10.0;

/// The 99th percentile of what commits took above the median foretold for their cell, over all
/// cells together. Its interval is that of a percentile over rounds (Woodruff, 1952): the share of
/// each round that lies above scatters, and so it may be the percentile of any share that is as
/// likely. `None` of too few commits.
pub fn tail(record: &Record, foretold_us: &BTreeMap<usize, f64>) -> Option<Tail> {
    let mut rounds: BTreeMap<u32, Vec<(f64, u64)>> = BTreeMap::new();
    for measurement in record.measurements.iter().filter(|m| !m.is_void()) {
        if let Some(median_us) = foretold_us.get(&measurement.cell) {
            let all = rounds.entry(measurement.round).or_default();
            all.extend(above(measurement, *median_us));
        }
    }
    let rounds: Vec<_> = rounds.into_values().collect();
    of_rounds(&rounds, Risk::of(&record.header.study))
}

/// What each commit took above a median, and how many took that.
fn above(measurement: &Measurement, median_us: f64) -> Vec<(f64, u64)> {
    let latency = histogram::checked_at_least(measurement);
    let steps = latency.iter_recorded().map(|step| {
        let us = latency.median_equivalent(step.value_iterated_to()) as f64;
        (us - median_us, step.count_at_value())
    });
    steps.collect()
}

fn of_rounds(rounds: &[Vec<(f64, u64)>], risk: Risk) -> Option<Tail> {
    let mut all: Vec<(f64, u64)> = rounds.iter().flatten().copied().collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let count: u64 = all.iter().map(|(_, count)| count).sum();
    if count as f64 * (1.0 - SHARE) < BEYOND - 1e-6 {
        return None;
    }
    let us = quantile(&all, count, SHARE)?;
    let shares = rounds.iter().filter_map(|round| share_below(round, us));
    let shares: Vec<f64> = shares.collect();
    let half = student(&shares, risk).map(|(low, high)| (high - low) / 2.0);
    let half = half.filter(|half| SHARE + half < 1.0);
    Some(Tail {
        us,
        low_us: half.and_then(|half| quantile(&all, count, SHARE - half)),
        high_us: half.and_then(|half| quantile(&all, count, SHARE + half)),
    })
}

/// Of sorted values, each so often.
fn quantile(sorted: &[(f64, u64)], count: u64, share: f64) -> Option<f64> {
    let rank = (share * count as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    let reached = sorted.iter().find(|(_, count)| {
        seen += count;
        seen >= rank
    });
    reached.map(|(us, _)| *us)
}

fn share_below(round: &[(f64, u64)], us: f64) -> Option<f64> {
    let (mut all, mut below) = (0, 0);
    for (value, count) in round {
        all += count;
        below += if *value < us { *count } else { 0 };
    }
    (all > 0).then(|| below as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of 1,000 commits, of which so many are 5 ms above.
    fn round(slow: u64) -> Vec<(f64, u64)> {
        vec![(-100.0, 500), (100.0, 500 - slow), (5_000.0, slow)]
    }

    #[test]
    fn the_tail_is_what_one_in_a_hundred_is_above() {
        let tail = of_rounds(&[round(15), round(15), round(15)], Risk::ONE_LOOK).unwrap();
        assert_eq!(tail.us, 5_000.0);
        // All rounds say the same: no scatter, so both ends are the figure.
        assert_eq!((tail.low_us, tail.high_us), (Some(5_000.0), Some(5_000.0)));
        let tail = of_rounds(&[round(5), round(5)], Risk::ONE_LOOK).unwrap();
        assert_eq!(tail.us, 100.0);
    }

    #[test]
    fn rounds_that_differ_widen_it_or_leave_no_interval() {
        let apart = of_rounds(&[round(0), round(40)], Risk::ONE_LOOK).unwrap();
        assert_eq!((apart.low_us, apart.high_us), (None, None));
        let one = of_rounds(&[round(15)], Risk::ONE_LOOK).unwrap();
        assert_eq!((one.us, one.low_us), (5_000.0, None));
    }

    #[test]
    fn too_few_commits_have_none() {
        assert_eq!(of_rounds(&[vec![(0.0, 999)]], Risk::ONE_LOOK), None);
        assert_eq!(of_rounds(&[], Risk::ONE_LOOK), None);
    }
}
