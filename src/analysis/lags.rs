//! Lag of each replica over all rounds.

use std::collections::BTreeMap;

use super::interval::median;
use super::latency::BEYOND;
use super::summary::LagSummary;
use crate::record::{LAG_LIMIT_S, Measurement};

/// Of each replica, in the order of the nodes' names; the window was to be so long.
pub fn lags(measurements: &[&Measurement], measure_s: f64) -> Vec<LagSummary> {
    let waited_ms = measure_s.min(LAG_LIMIT_S as f64) * 1e3;
    let mut by_node: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for lag in measurements.iter().flat_map(|m| &m.lag) {
        let (lags_ms, catch_ups_ms) = by_node.entry(&lag.node).or_default();
        // One that was seen later still is known to be no less, as one that was not seen.
        lags_ms.extend(lag.lag_ms.iter().map(|ms| ms.min(waited_ms)));
        catch_ups_ms.push(lag.catch_up_ms.unwrap_or(f64::INFINITY));
    }
    let summary = |(node, (mut lags_ms, catch_ups_ms)): (&str, (Vec<f64>, Vec<f64>))| {
        lags_ms.sort_by(f64::total_cmp);
        LagSummary {
            node: node.to_owned(),
            p50: sample_percentile(&lags_ms, 0.5),
            p95: sample_percentile(&lags_ms, 0.95),
            max: lags_ms.last().copied(),
            beyond: lags_ms.iter().filter(|ms| **ms >= waited_ms).count() as u64,
            samples: lags_ms.len() as u64,
            catch_up: median(&catch_ups_ms).filter(|ms| ms.is_finite()),
            not_caught_up: catch_ups_ms.iter().filter(|ms| ms.is_infinite()).count() as u32,
        }
    };
    by_node.into_iter().map(summary).collect()
}

fn sample_percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let is_backed = sorted.len() as f64 * (1.0 - share) >= BEYOND - 1e-6;
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    is_backed.then(|| sorted[rank.max(1) - 1])
}
