//! How far the slowest commits are above the median that is foretold for them.

use std::collections::BTreeMap;

use crate::record::store::Record;
use crate::record::{Measurement, histogram};

const SHARE: f64 = 0.99;
/// So many commits a 99th percentile takes: ten must lie beyond, as for any percentile.
pub const P99_COMMITS: u64 = 1_000;

/// What single commits of one mode took above the medians foretold for their cells.
#[derive(Debug, Default)]
pub struct Above {
    /// The least first: µs, how many commits took that, and of which cell.
    sorted: Vec<(f64, u64, usize)>,
}

impl Above {
    /// Of the cells that something is foretold of.
    pub fn of(record: &Record, foretold_us: &BTreeMap<usize, f64>) -> Above {
        let measured = record.measurements.iter().filter(|m| !m.is_void());
        let own = measured.filter_map(|m| Some((m, *foretold_us.get(&m.cell)?)));
        Above::sorted(own.flat_map(|(m, median_us)| above(m, median_us)).collect())
    }

    fn sorted(mut all: Vec<(f64, u64, usize)>) -> Above {
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        Above { sorted: all }
    }

    /// Their 99th percentile, over all cells but one together. `None` of too few commits.
    pub fn p99_us(&self, without: Option<usize>) -> Option<f64> {
        let left = || {
            let all = self.sorted.iter();
            all.filter(|(_, _, cell)| Some(*cell) != without)
        };
        let count: u64 = left().map(|(_, count, _)| count).sum();
        if count < P99_COMMITS {
            return None;
        }
        let rank = (SHARE * count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = left().find(|(_, count, _)| {
            seen += count;
            seen >= rank
        });
        reached.map(|(us, ..)| *us)
    }
}

/// What each commit took above a median, and how many took that.
fn above(measurement: &Measurement, median_us: f64) -> Vec<(f64, u64, usize)> {
    let latency = histogram::checked_at_least(measurement);
    let steps = latency.iter_recorded().map(|step| {
        let us = latency.median_equivalent(step.value_iterated_to()) as f64;
        (us - median_us, step.count_at_value(), measurement.cell)
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell of 1,000 commits, of which so many are 5 ms above.
    fn cell(cell: usize, slow: u64) -> [(f64, u64, usize); 3] {
        [
            (5_000.0, slow, cell),
            (100.0, 500 - slow, cell),
            (-100.0, 500, cell),
        ]
    }

    #[test]
    fn the_tail_is_what_one_in_a_hundred_is_above() {
        let all = Above::sorted([cell(0, 15), cell(1, 15)].concat());
        assert_eq!(all.p99_us(None), Some(5_000.0));
        let all = Above::sorted([cell(0, 5), cell(1, 5)].concat());
        assert_eq!(all.p99_us(None), Some(100.0));
    }

    #[test]
    fn a_cell_that_is_left_out_has_no_part_in_it() {
        let all = Above::sorted([cell(0, 40), cell(1, 5)].concat());
        assert_eq!(all.p99_us(None), Some(5_000.0));
        assert_eq!(all.p99_us(Some(0)), Some(100.0));
        assert_eq!(all.p99_us(Some(1)), Some(5_000.0));
    }

    #[test]
    fn too_few_commits_have_none() {
        assert_eq!(Above::sorted(vec![(0.0, 999, 0)]).p99_us(None), None);
        assert_eq!(Above::default().p99_us(None), None);
        let two = Above::sorted([cell(0, 15), cell(1, 15)].concat());
        assert!(two.p99_us(Some(1)).is_some(), "1,000 are left");
    }
}
