//! What each mode adds to the row that the user holds all others against.

use std::collections::BTreeMap;

use serde::Serialize;

use super::anatomy::WaitsFor;
use super::estimate::Estimate;

/// All modes against one row.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Against {
    /// Label of that row.
    pub baseline: String,
    /// In the order of the tables; those that were measured where that row was.
    pub modes: Vec<ModeAgainst>,
}

/// One mode against that row.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ModeAgainst {
    pub label: String,
    pub waits_for: WaitsFor,
    /// The site whose distance makes up most of what a commit waits for, where that is known.
    pub counts: Option<String>,
    pub at: Vec<AddedAt>,
}

/// What is added at one point.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AddedAt {
    /// Of the mode's cell.
    pub id: String,
    pub workload: String,
    pub connections: u32,
    pub distances: String,
    /// Round-trip time from the writer to each peer of this mode, got where it was measured.
    pub rtt_us: BTreeMap<String, f64>,
    /// The mode's median latency over all rounds.
    pub p50_us: Option<f64>,
    /// The median latency less the baseline's, paired by round.
    pub added_us: Estimate,
    /// As in the cell.
    pub queue_factor: Option<f64>,
}

impl AddedAt {
    /// Whether an interval is wider than the latency itself: what is added is then unknown.
    pub fn is_wide(added_us: Estimate, p50_us: f64) -> bool {
        let ends = added_us.low.zip(added_us.high);
        ends.is_some_and(|(low, high)| high - low > p50_us)
    }
}
