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

impl Lag {
    /// The middle one of its heartbeats, in ms; `None` where none was waited for.
    pub fn lag_ms_p50(&self) -> Option<f64> {
        let mut all = self.lag_ms.clone();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_heartbeat_stands_for_all() {
        let lag = |lag_ms: &[f64]| Lag {
            lag_ms: lag_ms.to_vec(),
            ..Lag::default()
        };
        assert_eq!(lag(&[9.0, 1.0, 2.0]).lag_ms_p50(), Some(2.0));
        assert_eq!(lag(&[]).lag_ms_p50(), None);
    }
}
