//! Percentiles of latency over all rounds of a cell.

use std::collections::BTreeSet;

use super::interval::{Noise, Risk, estimate};
use super::summary::{AtLeast, Estimate, Percentiles};
use crate::record::{Measurement, histogram};

/// Samples that must lie beyond a percentile for it to be given.
pub const BEYOND: f64 = 10.0;
/// A percentile is called a lower bound where transactions that had not ended might raise it by
/// more than this.
const MORE: f64 = 1.01;

/// Of all rounds together.
pub fn latency(measurements: &[&Measurement]) -> Percentiles {
    let mut pooled = histogram::empty();
    let mut unfinished = 0;
    for measurement in measurements {
        let one = histogram::checked_at_least(measurement);
        unfinished += one.len() - histogram::checked(&measurement.latency_us).len();
        pooled
            .add(&one)
            .expect("a growing histogram takes any value");
    }
    let samples = pooled.len();
    let at = |share: f64| pooled.median_equivalent(pooled.value_at_quantile(share)) as f64;
    let percentile = |share: f64| {
        let is_backed = samples as f64 * (1.0 - share) >= BEYOND - 1e-6;
        is_backed.then(|| at(share))
    };
    // If those that have not ended took for ever, so much more of what has ended would lie below.
    let may_be_more = |share: f64| {
        let above = (share + unfinished as f64 / samples.max(1) as f64).min(1.0);
        unfinished > 0 && at(above) > at(share) * MORE
    };
    Percentiles {
        p50: percentile(0.5),
        p95: percentile(0.95),
        p99: percentile(0.99),
        p999: percentile(0.999),
        max: (samples > 0).then(|| pooled.max() as f64),
        samples,
        unfinished,
        at_least: AtLeast {
            p50: may_be_more(0.5),
            p95: may_be_more(0.95),
            p99: may_be_more(0.99),
        },
    }
}

/// The 99th percentile of all rounds together, with an interval by leaving out each round in turn
/// (a grouped jackknife: Efron and Tibshirani, "An Introduction to the Bootstrap", section 11.5).
/// On logarithms: latencies are ratios of each other.
pub fn p99(measurements: &[&Measurement], risk: Risk) -> Option<Estimate> {
    let whole = latency(measurements).p99?;
    let rounds: BTreeSet<u32> = measurements.iter().map(|m| m.round).collect();
    let count = rounds.len() as f64;
    let without = |round: &u32| {
        let others = measurements.iter().filter(|m| m.round != *round);
        latency(&others.copied().collect::<Vec<_>>()).p99
    };
    let pseudo = |round: &u32| Some(count * whole.ln() - (count - 1.0) * without(round)?.ln());
    let values: Option<Vec<f64>> = rounds.iter().map(pseudo).collect();
    let around = values.and_then(|values| estimate(&values, Noise::Adds, risk));
    let alone = Estimate::without_interval(whole);
    Some(around.map_or(alone, |around| Estimate {
        median: whole,
        low: around.low.map(|low| low.exp().min(whole)),
        high: around.high.map(|high| high.exp().max(whole)),
    }))
}
