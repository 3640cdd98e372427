//! Groups of axes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Disks, Distances, Workload};

/// When replicas apply what a load commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Apply {
    /// As it goes: source and replicas are at work together.
    #[default]
    Meanwhile,
    /// Their appliers rest until the load has ended, and then have the machine to themselves. They
    /// go on receiving.
    After,
}

impl Apply {
    /// As studies write it.
    pub fn word(self) -> &'static str {
        match self {
            Apply::Meanwhile => "meanwhile",
            Apply::After => "after",
        }
    }
}

/// One group of axes: the product of all lists, for every mode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Load to run.
    pub workloads: Vec<Workload>,
    /// Numbers of client connections.
    pub connections: Vec<u32>,
    /// Transactions offered each second over all connections; empty for a closed loop.
    #[serde(default)]
    pub rates_per_s: Vec<u32>,
    /// From the end of a connection's transaction to the beginning of its next; empty for none.
    #[serde(default)]
    pub paces: Vec<Duration>,
    /// The rate is searched for, in place of rates and paces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<Knee>,
    /// Distances between the sites.
    pub distances: Vec<Distances>,
    /// The nodes' disks; empty where none is emulated, and only there.
    #[serde(default)]
    pub disks: Vec<Disks>,
    /// Sites of the client.
    pub client_sites: Vec<String>,
    /// Labels of the modes that it is crossed with; empty for all.
    #[serde(default)]
    pub modes: Vec<String>,
    /// The measured window, where it is not the study's.
    #[serde(default)]
    pub measure: Option<Duration>,
    /// Its cells are measured in so many rounds from the first on; `None` for all.
    #[serde(default)]
    pub rounds: Option<u32>,
    /// When a cell's load has ended and replicas have caught up, its servers and disks are watched
    /// for so long.
    #[serde(default)]
    pub watch_after: Option<Duration>,
    /// When the replicas of its cells apply.
    #[serde(default)]
    pub apply: Apply,
}

/// The highest rate is asked for that keeps a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Of the 99th percentile of latency.
    pub p99: Duration,
}

impl Sweep {
    /// Whether it is crossed with the mode of that label.
    pub fn has_mode(&self, label: &str) -> bool {
        self.modes.is_empty() || self.modes.iter().any(|name| name == label)
    }
}
