//! Who waited for a CPU.

use serde::{Deserialize, Serialize};

/// Run delay over run time and run delay together, 0 to 1: medians over rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Contention {
    /// Of all who share CPUs with others.
    pub all: f64,
    pub writer: Option<f64>,
    /// Of all replicas together.
    pub replicas: Option<f64>,
    pub client: Option<f64>,
    /// `None` without one, as of disks.
    pub front: Option<f64>,
    pub links: Option<f64>,
    pub disks: Option<f64>,
    /// The part of all CPU time of the cell that links and disks took.
    pub emulators_cpu_share: f64,
    /// Threads over all rounds that ended within a window: they are in no figure here.
    pub threads_ended: u64,
    /// How many CPUs each server has for itself; `None`: some server shares them.
    pub own_cpus: Option<u32>,
}
