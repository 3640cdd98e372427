//! What a record's head tells of machines and labs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::self_test::Part;
use crate::plan::PartOf;

/// A run that was cut short goes on, with servers formed anew.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    pub started_unix_ms: u64,
    /// How many measurements, and trials of faults, there were before.
    pub measurements: usize,
    pub trials: usize,
    /// Measurements of a round that another machine had begun and not ended: they were left out,
    /// and that round is measured anew here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub measurements_left_out: usize,
    /// Of a merged record: the part that it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartOf>,
    pub host: Host,
    /// Of another machine than the one before: its labs, with the effective variables of their
    /// servers, and what the lab's test of itself came to there. None where it is the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labs: Vec<LabFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test: Option<Vec<Part>>,
}

pub fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub kernel: String,
    pub cpu_model: String,
    pub cpus: u32,
    pub memory_bytes: u64,
    /// Median time of a 4 KiB write + fdatasync where the data directories live.
    pub fsync_us_p50: f64,
    /// What a round trip takes beyond the delays that are set; it is taken off them.
    pub link_floor_us_p50: f64,
    /// By what it is known again, though not named: a digest. Absent in an older record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

impl Host {
    /// Whether both are one machine, as far as can be told: of an older record by what it is.
    pub fn is_same_machine(&self, other: &Host) -> bool {
        match (&self.machine, &other.machine) {
            (Some(one), Some(other)) => one == other,
            _ => {
                let facts = |host: &Host| (host.cpu_model.clone(), host.cpus, host.memory_bytes);
                facts(self) == facts(other)
            }
        }
    }
}

/// A running set of nodes that serves one or more modes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabFacts {
    /// e.g. `mysql replication`.
    pub family: String,
    /// Labels of the modes that it serves.
    #[serde(default)]
    pub modes: Vec<String>,
    /// From the first copied data directory until every node was ready.
    pub ready_seconds: f64,
    /// Settings that the lab pinned over the user's own `my_cnf`: name, the user's value, ours.
    pub overridden: Vec<(String, String, String)>,
    /// Effective server variables of each node.
    pub variables: BTreeMap<String, BTreeMap<String, String>>,
}

/// What the head of one part's record told, as far as the merged record's own head does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartFacts {
    pub part: PartOf,
    pub command_line: Vec<String>,
    pub started_unix_ms: u64,
    pub host: Host,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test: Option<Vec<Part>>,
    /// With the effective variables of its servers.
    pub labs: Vec<LabFacts>,
}
