//! A place at which a commit is foretold.

use serde::{Deserialize, Serialize};

/// A place at which a commit is foretold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct At {
    /// Round-trip time of each pair of sites, in µs, in either order.
    pub rtts_us: Vec<(String, String, f64)>,
    /// Flush time of every node's disk, in µs; `None` as where the record was made.
    pub flush_us: Option<f64>,
    /// Clients that send their next transaction when the last was answered. One of them rests in
    /// between, so that its commits meet idle machines.
    pub connections: u32,
    pub cpus: Cpus,
}

/// Whose CPUs servers run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cpus {
    /// Each node has a machine of its own with so many.
    Own(u32),
    /// All nodes, links, disks and clients share so many: the host that was measured on.
    Shared(u32),
}

impl At {
    /// Between two sites, in µs.
    pub fn rtt_us(&self, one: &str, other: &str) -> Option<f64> {
        let is_pair = |a: &str, b: &str| (a == one && b == other) || (a == other && b == one);
        let mut pairs = self.rtts_us.iter();
        pairs.find(|(a, b, _)| is_pair(a, b)).map(|(_, _, us)| *us)
    }
}
