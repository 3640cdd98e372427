//! How far replicas are behind, and what they apply when nobody else is at work.

use serde::{Deserialize, Serialize};

/// The longest that a heartbeat is waited for on a replica.
pub const LAG_LIMIT_S: u64 = 2;

/// How long a replica may take to catch up once the load has stopped, until waiting is given up.
pub const CATCH_UP_LIMIT_S: u64 = 60;

/// A replica's lag behind the writer while the load still ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Lag {
    pub node: String,
    /// From a heartbeat's commit on the writer until it was visible on this node; of one that was
    /// not seen, how long it was waited for: as long as the window was, at most [`LAG_LIMIT_S`].
    pub lag_ms: Vec<f64>,
    /// From the end of the load until this node had applied everything; absent where waiting was
    /// given up, after [`CATCH_UP_LIMIT_S`].
    pub catch_up_ms: Option<f64>,
}

/// What a replica applied whose appliers had rested while the load ran, and that had the machine to
/// itself then.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AppliedAlone {
    pub node: String,
    /// Commits that it had received and not applied when its appliers were started.
    pub waiting: u64,
    /// Of these so many were applied in `span_s`: from the first look that saw some applied to the
    /// last that saw some left. Both are 0 where no two looks did.
    pub commits: u64,
    pub span_s: f64,
    /// CPU time of its server in that span.
    pub cpu_us: f64,
}
