//! What of two cells is held against each other.

use serde::{Serialize, Serializer};

use crate::analysis::interval::Noise;

/// A quantity of a cell, or of a row of the anatomy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Commits each second, or transactions of a workload that only reads.
    Throughput,
    /// Percentiles of latency, in µs.
    P50,
    P95,
    P99,
    /// CPU time of all servers for each commit, in µs.
    Cpu,
    /// Flushes of the writer's disk for each commit.
    Flushes,
    /// How often a commit waits for the distance.
    RoundTrips,
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// All that cells have; round trips are of rows of the anatomy.
pub const OF_CELLS: [Quantity; 6] = [
    Quantity::Throughput,
    Quantity::P50,
    Quantity::P95,
    Quantity::P99,
    Quantity::Cpu,
    Quantity::Flushes,
];

/// Those that a limit can be set for, by the names that a command line takes.
pub const LIMITED: [(&str, Quantity); 5] = [
    ("p50", Quantity::P50),
    ("p95", Quantity::P95),
    ("p99", Quantity::P99),
    ("throughput", Quantity::Throughput),
    ("cpu", Quantity::Cpu),
];

impl Quantity {
    /// As JSON and CSV have it, with its unit.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Throughput => "throughput_per_s",
            Quantity::P50 => "p50_us",
            Quantity::P95 => "p95_us",
            Quantity::P99 => "p99_us",
            Quantity::Cpu => "cpu_us_per_commit",
            Quantity::Flushes => "flushes_per_commit",
            Quantity::RoundTrips => "round_trips",
        }
    }

    /// As tables and sentences have it.
    pub fn word(self) -> &'static str {
        match self {
            Quantity::Throughput => "throughput",
            Quantity::P50 => "p50",
            Quantity::P95 => "p95",
            Quantity::P99 => "p99",
            Quantity::Cpu => "CPU per commit",
            Quantity::Flushes => "flushes per commit",
            Quantity::RoundTrips => "round trips",
        }
    }

    /// Whether more of it is better.
    pub fn is_gain(self) -> bool {
        self == Quantity::Throughput
    }

    /// How noise acts on it: so it is told by a ratio or, where it may be zero, by a difference.
    pub fn noise(self) -> Noise {
        match self {
            Quantity::RoundTrips => Noise::Adds,
            _ => Noise::Multiplies,
        }
    }
}
