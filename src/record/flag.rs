//! Doubts: what a measurement may not be taken for.

use serde::{Deserialize, Serialize};

/// Reasons why a cell's number is not what it seems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// Somebody waited for the host's CPUs, or they were saturated: the figure tells of the host.
    HostBound,
    /// A node's own CPUs were full: a result.
    NodeBound,
    /// A load driver took most of a core: it, not the servers, may be what was measured.
    DriverBound,
    /// A round-trip time or a flush time got before and after differ, or differ from what was
    /// asked; or CPUs were not as slow as asked.
    Drifted,
    /// A semi-synchronous source went on asynchronously.
    Downgraded,
    /// A volume had too few of its copies for a while.
    Degraded,
    /// More was offered than was answered.
    Overloaded,
    /// Some transactions failed.
    Errors,
    /// No transaction changed a row though the workload writes.
    NoRows,
    /// Packets left the switch too late: the cell is void.
    LateLinks,
    /// A driver that was started elsewhere was lost, or late: the cell is void.
    DriverMissing,
    /// Whatever this host is a guest of took too much of its CPU time.
    Stolen,
    /// The switch ran without its priority.
    LinksStarved,
    /// Emulated disks answered too late.
    LateDisks,
    /// Replicas had not caught up with what came before when the load began.
    Behind,
    /// Paced, and the host's CPUs were busy all the same.
    NotIdle,
    /// Paced, and replicas had not applied what was committed before a connection's next.
    NotApplied,
    /// At an offered rate: latency still rose or fell when the window began.
    NotSettled,
}

impl Flag {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Flag::HostBound => "host-bound",
            Flag::NodeBound => "node-bound",
            Flag::DriverBound => "driver-bound",
            Flag::Drifted => "drifted",
            Flag::Downgraded => "downgraded",
            Flag::Degraded => "degraded",
            Flag::Overloaded => "overloaded",
            Flag::Errors => "errors",
            Flag::NoRows => "no-rows",
            Flag::LateLinks => "late-links",
            Flag::DriverMissing => "driver-missing",
            Flag::Stolen => "stolen",
            Flag::LinksStarved => "links-starved",
            Flag::LateDisks => "late-disks",
            Flag::Behind => "behind",
            Flag::NotIdle => "not-idle",
            Flag::NotApplied => "not-applied",
            Flag::NotSettled => "not-settled",
        }
    }
}
