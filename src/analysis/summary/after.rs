//! What stands beside a cell's load: what servers do without it, and handshakes.

use serde::Serialize;

/// What a server and its disk still did after the load, and what they do else: medians over rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AfterLoad {
    pub node: String,
    /// From the end of the load, or from when replicas had caught up.
    pub watched_s: f64,
    /// Before the load, just after the mode was entered.
    pub idle: Doing,
    /// In the measured window.
    pub window: Doing,
    /// Over the whole watch.
    pub after: Doing,
    /// In its last quarter.
    pub end: Doing,
    /// In the least and the most busy piece of the watch, of about a second each.
    pub busy_share_least: Option<f64>,
    pub busy_share_most: Option<f64>,
    /// The interval of the whole watch's share, by spans of ten seconds.
    pub busy_share_low: Option<f64>,
    pub busy_share_high: Option<f64>,
}

/// What a server and its emulated disk do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Doing {
    /// CPU seconds of the server each second.
    pub cpu_s_per_s: Option<f64>,
    pub reads_per_s: Option<f64>,
    pub writes_per_s: Option<f64>,
    pub bytes_read_per_s: Option<f64>,
    pub bytes_written_per_s: Option<f64>,
    /// Share of time in which the disk had a request under way, 0 to 1, as iostat's `%util`.
    pub busy_share: Option<f64>,
}

/// TCP handshakes with one server, over all rounds together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HandshakeSummary {
    pub node: String,
    pub min: f64,
    pub p50: f64,
    pub max: f64,
    pub samples: u64,
}
