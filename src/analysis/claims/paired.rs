//! Ratios of what two cells reached, paired by round.

use std::collections::BTreeMap;

use super::{CellSummary, Figure, range};
use crate::analysis::interval::{Estimate, Noise, estimate};

/// One figure of a cell: over all its rounds, and in each of them.
#[derive(Clone, Copy)]
pub struct Measured<'s> {
    pub over_all: Estimate,
    by_round: &'s BTreeMap<u32, f64>,
}

/// Commits per second, or transactions where the workload only reads.
pub fn throughput(cell: &CellSummary) -> Option<Measured<'_>> {
    measured(cell.throughput_per_s, &cell.by_round.throughput_per_s)
}

/// What the replica farthest behind applied, per second.
pub fn applied(cell: &CellSummary) -> Option<Measured<'_>> {
    measured(cell.applied_per_s, &cell.by_round.applied_per_s)
}

/// Scatter of the rates of single seconds.
pub fn unevenness(cell: &CellSummary) -> Option<Measured<'_>> {
    measured(cell.unevenness, &cell.by_round.unevenness)
}

/// mysqlslap's seconds to run all queries.
pub fn run(cell: &CellSummary) -> Option<Measured<'_>> {
    measured(cell.run_s, &cell.by_round.run_s)
}

/// 95th percentile of latency.
pub fn p95(cell: &CellSummary) -> Option<Measured<'_>> {
    let by_round = &cell.by_round.p95_us;
    let values: Vec<f64> = by_round.values().copied().collect();
    measured(estimate(&values, Noise::Multiplies), by_round)
}

fn measured(over_all: Option<Estimate>, by_round: &BTreeMap<u32, f64>) -> Option<Measured<'_>> {
    Some(Measured {
        over_all: over_all?,
        by_round,
    })
}

/// Throughput of `above` over that of `below`, as [`times`] has it.
pub fn ratio(what: String, above: &CellSummary, below: &CellSummary) -> Option<Figure> {
    times(what, throughput(above)?, throughput(below)?)
}

/// One figure over another, round by round, with the house's interval over the rounds that both
/// have: what slows down both in a round cancels. Where they share fewer than two rounds, the
/// medians' ratio with the range that both intervals together allow: wider than either, so slow to
/// decide. `None` without intervals.
pub fn times(what: String, above: Measured, below: Measured) -> Option<Figure> {
    let found = in_rounds(above.by_round, below.by_round);
    let Estimate { median, low, high } = found.or_else(|| apart(above.over_all, below.over_all))?;
    Some(Figure {
        what,
        unit: "times".to_owned(),
        value: median,
        low: low?,
        high: high?,
    })
}

fn in_rounds(above: &BTreeMap<u32, f64>, below: &BTreeMap<u32, f64>) -> Option<Estimate> {
    let of_round = |(round, value): (&u32, &f64)| Some(value / below.get(round)?);
    let ratios: Vec<f64> = above.iter().filter_map(of_round).collect();
    estimate(&ratios, Noise::Multiplies).filter(|ratio| range(ratio).is_some())
}

fn apart(above: Estimate, below: Estimate) -> Option<Estimate> {
    let ((above_low, above_high), (below_low, below_high)) = (range(&above)?, range(&below)?);
    Some(Estimate {
        median: above.median / below.median,
        low: Some(above_low / below_high),
        high: Some(above_high / below_low),
    })
}
