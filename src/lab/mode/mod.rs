//! Modes: how each family of ways to replicate is set up, formed, switched and known to be ready.
//! One file per family; this one says what all have in common and chooses.

mod galera;
mod group;
mod replication;

use std::time::Duration;

use super::lab::Lab;
use super::options::Settings;
use crate::error::Result;
use crate::study::mode::Family;
use crate::study::{Consistency, Mode, ModeSpec, WaitPoint};

/// How long a mode may take until it is ready or caught up.
pub(super) const READY_LIMIT: Duration = Duration::from_secs(120);

/// What the family needs of node `i`'s option file.
pub(super) fn settings(lab: &Lab, i: usize) -> Settings {
    match lab.spec.family {
        Family::Replication => replication::settings(lab, i),
        Family::Group => group::settings(lab, i),
        Family::Galera => galera::settings(lab, i),
    }
}

/// Starts all servers and joins them, up to where any mode of the family can be entered.
pub(super) fn form(lab: &mut Lab) -> Result<()> {
    match lab.spec.family {
        Family::Replication => replication::form(lab),
        Family::Group => group::form(lab),
        Family::Galera => galera::form(lab),
    }
}

/// Switches running servers to a mode and waits until it is in force and all nodes caught up.
pub(super) fn enter(lab: &mut Lab, spec: &ModeSpec) -> Result<()> {
    match lab.spec.family {
        Family::Replication => replication::enter(lab, spec),
        Family::Group => group::enter(lab, spec),
        Family::Galera => galera::enter(lab, spec),
    }
}

/// Waits until replica `i` has applied all that the writer has committed.
pub(super) fn catch_up(lab: &mut Lab, i: usize, limit: Duration) -> Result<bool> {
    match lab.spec.family {
        Family::Galera => galera::catch_up(lab, i, limit),
        _ => replication::catch_up(lab, i, limit),
    }
}

/// What the writer's own counters tell of a semi-synchronous source that went on asynchronously:
/// commits that nobody acknowledged, as the name of a status counter.
pub fn downgrade_counters(lab: &Lab, mode: &Mode) -> Vec<String> {
    match mode {
        Mode::Semisync { .. } => {
            let prefix = lab.program.dialect().word("semisync_status");
            ["no_tx", "no_times"]
                .map(|name| format!("{prefix}_{name}"))
                .into()
        }
        _ => Vec::new(),
    }
}

/// The server's own word.
fn consistency_word(consistency: Consistency) -> &'static str {
    match consistency {
        Consistency::Eventual => "EVENTUAL",
        Consistency::BeforeOnPrimaryFailover => "BEFORE_ON_PRIMARY_FAILOVER",
        Consistency::Before => "BEFORE",
        Consistency::After => "AFTER",
        Consistency::BeforeAndAfter => "BEFORE_AND_AFTER",
    }
}

/// The server's own word.
fn wait_point_word(wait_point: WaitPoint) -> &'static str {
    match wait_point {
        WaitPoint::AfterSync => "AFTER_SYNC",
        WaitPoint::AfterCommit => "AFTER_COMMIT",
    }
}
