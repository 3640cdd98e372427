//! One measurement's counts, each second and per commit.

use super::summary::Per;
use crate::record::Measurement;

/// Commits, or transactions where the workload only reads.
fn done(measurement: &Measurement, per: Per) -> u64 {
    match per {
        Per::Commit => measurement.commits,
        Per::Transaction => measurement.commits + measurement.unchanged,
    }
}

/// A count each second; `None` of a window without length.
pub fn rate(count: u64, window_s: f64) -> Option<f64> {
    (window_s > 0.0).then(|| count as f64 / window_s)
}

/// Commits each second, or transactions where the workload only reads.
pub fn throughput(measurement: &Measurement, per: Per) -> Option<f64> {
    rate(done(measurement, per), measurement.window_s)
}

/// A figure of the whole window, for each commit; `None` without any.
pub fn per_commit(measurement: &Measurement, per: Per, figure: f64) -> Option<f64> {
    let done = done(measurement, per);
    (done > 0).then(|| figure / done as f64)
}
