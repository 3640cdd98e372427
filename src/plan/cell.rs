//! A point of a study as its plan and its record have it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::knee::{Offered, Part, Seek};
use crate::study::{Apply, CpuSpeed, Disks, Distances, Moved, Study, Workload};

/// One point to measure. Cells of a study are numbered from 0 in the order of its table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Readable and unique: `mysql-semisync/update_index/1c/a/2.15ms`.
    pub id: String,
    /// Index into the study's modes.
    pub mode: usize,
    pub workload: Workload,
    pub connections: u32,
    /// Transactions offered each second; `None` for a closed loop.
    #[serde(default)]
    pub rate_per_s: Option<u32>,
    /// From the end of a connection's transaction to the beginning of its next; `None` for none.
    #[serde(default)]
    pub pace: Option<Duration>,
    /// Its rate is searched for, or is a share of one that was; `None` for a rate that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<Seek>,
    pub distances: Distances,
    /// The nodes' disks, where they are emulated.
    #[serde(default)]
    pub disks: Option<Disks>,
    pub client_site: String,
    /// What it has otherwise than the last cell before it that is not moved. It is no axis: that it
    /// differs is seen on those that there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Moved>,
    /// The measured window, where it is not the study's.
    #[serde(default)]
    pub measure: Option<Duration>,
    /// Measured in so many rounds from the first on; `None` for all.
    #[serde(default)]
    pub rounds: Option<u32>,
    /// How long servers and disks are watched after the load.
    #[serde(default)]
    pub watch_after: Option<Duration>,
    /// When replicas apply what it commits.
    #[serde(default)]
    pub apply: Apply,
    /// How fast the lab's CPUs are while it is measured.
    #[serde(default, skip_serializing_if = "CpuSpeed::is_full")]
    pub cpu_speed: CpuSpeed,
    /// Over so many schemas with the same tables its connections are dealt out; none said is one.
    #[serde(default = "one")]
    pub schemas: u32,
}

fn one() -> u32 {
    1
}

impl Cell {
    /// Its measured window.
    pub fn window(&self, study: &Study) -> Duration {
        self.measure.unwrap_or(study.measure)
    }

    /// Whether what is offered decides its throughput.
    pub fn is_given(&self) -> bool {
        self.pace.is_some() || self.rate_per_s.is_some() || self.knee.is_some()
    }

    /// Whether each of its measurements is a step in the search for a knee: they have no figure in
    /// common.
    pub fn is_search(&self) -> bool {
        self.knee.is_some_and(|seek| seek.part == Part::Search)
    }

    /// The cell as it is measured at a rate that was chosen while the study ran.
    pub fn at(&self, study: &Study, offered: Offered) -> Cell {
        let window = self.window(study);
        let longer = self.knee.map(|seek| seek.window(offered, window));
        Cell {
            rate_per_s: Some(offered.rate_per_s),
            measure: longer.or(self.measure),
            ..self.clone()
        }
    }

    /// In how many rounds it is measured.
    pub fn rounds(&self, study: &Study) -> u32 {
        self.rounds.unwrap_or(study.rounds).min(study.rounds)
    }
}
