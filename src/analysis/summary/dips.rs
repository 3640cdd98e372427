//! Dips of a cell's rate.

use serde::Serialize;

/// Spans in which the rate fell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dips {
    /// Seconds looked at, over all rounds, and in the longest of them.
    pub watched_s: u32,
    pub longest_round_s: u32,
    pub count: u32,
    /// Median over dips of what was missing in the worst second, as a share of the median second.
    pub depth: Option<f64>,
    /// From the start of one dip to that of the next, in each round with three and more, and the
    /// median of these: no period, for it says nothing of how regular they are.
    pub gaps_s: Vec<u32>,
    pub median_gap_s: Option<f64>,
}
