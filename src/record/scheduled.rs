//! How long threads ran, and how long they waited for a CPU.

use serde::{Deserialize, Serialize};

/// What a process is to its cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    #[default]
    Writer,
    Replica,
    /// The load driver, of whatever site.
    Client,
    Front,
    /// The link switch.
    Links,
    /// An emulated disk.
    Disk,
}

/// The threads of one process in the window; of all drivers together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Scheduled {
    pub role: Role,
    /// Of a server or a disk; else empty.
    #[serde(default)]
    pub node: String,
    /// Time on a CPU.
    pub run_us: f64,
    /// Time ready to run, while no CPU was free for it.
    pub run_delay_us: f64,
    /// Threads that were there as the window began and not as it ended. What they did in it is in
    /// neither figure, nor is what threads did that both began and ended in it.
    #[serde(default)]
    pub threads_ended: u32,
    /// How many CPUs it has for itself; `None`: it shares them with whoever else has none.
    #[serde(default)]
    pub own_cpus: Option<u32>,
}
