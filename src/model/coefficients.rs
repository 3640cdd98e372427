//! What is known of a mode as plain numbers, from which anybody can foretell: no word of a table,
//! no server, no record. Written as JSON they say all that [`evaluate`](super::evaluate()) needs.

use serde::{Deserialize, Serialize};

use super::at::Cpus;
use crate::analysis::summary::WaitsFor;

/// One mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coefficients {
    /// Those in which it has nodes, the writer's first.
    pub sites: Vec<String>,
    pub single: Single,
    /// Absent where nothing was measured at several connections.
    pub several: Option<Several>,
}

/// A commit that meets idle machines:
/// `median = work + round trips · equal distance + flushes · flush time`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Single {
    pub work_us: f64,
    pub round_trips: f64,
    /// Whom it waits for; several where nobody knows which of them.
    pub waits_for: Vec<WaitsFor>,
    /// In series, of the writer's disk; absent where servers wrote to the host's own disk, whose
    /// flush time is in the work.
    pub flushes: Option<f64>,
    /// The flush time that is meant where none is asked for.
    pub flush_us: f64,
    /// The mean over the median.
    pub mean_ratio: f64,
    /// What the 99th percentile is above the median; absent of too few commits.
    pub tail_us: Option<f64>,
}

/// What commits of several connections want of what they share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Several {
    /// Of the writer's server.
    pub writer_cpu: Demand,
    /// Of all servers, clients, links and disks together, and what the kernel does for them.
    pub host_cpu: Option<Demand>,
    /// Absent where no flushes were counted: they are a part of the work then.
    pub pipeline: Option<Pipeline>,
    /// Absent without replicas, and where their flushes were not counted.
    pub appliers: Option<Appliers>,
    /// The median latency over the mean.
    pub medians: Vec<AtConnections>,
    /// The 99th percentile over the median.
    pub p99s: Vec<AtConnections>,
}

/// CPU time of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Of a single commit that waits for nothing.
    pub rest_us: f64,
    /// What each µs of waiting adds: caches go cold, CPUs go to sleep.
    pub growth: f64,
    /// The part of it, 0 to 1, that many commits at a time share: of n connections each has an n-th
    /// of that.
    pub fall: f64,
}

/// Flushes of the writer's disk, which commits share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// What a flush takes above its flush time.
    pub floor_us: f64,
    /// Of n commits that wait to be flushed so many go together as n to this power: 0 is one after
    /// the other, 1 all at once.
    pub power: f64,
    /// The volume is copied over the network: all waiting is a part of its flushes.
    pub is_copied: bool,
}

/// Threads that apply on a replica what the writer commits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Appliers {
    pub threads: u32,
    /// Flushes in series of one transaction that is applied alone.
    pub flushes: f64,
    pub floor_us: f64,
    /// So many transactions share these, of as many threads.
    pub together: f64,
    pub cpu_us: f64,
    /// Whether the writer waits for them.
    pub hold_back: bool,
}

/// A ratio that was seen at so many connections.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AtConnections {
    pub connections: u32,
    pub ratio: f64,
}

impl AtConnections {
    /// The ratio at the number of connections that is nearest, by their quotient.
    pub fn nearest(all: &[AtConnections], connections: u32) -> Option<f64> {
        let apart = |one: &&AtConnections| {
            (f64::from(one.connections) / f64::from(connections))
                .ln()
                .abs()
        };
        let nearest = all.iter().min_by(|a, b| apart(a).total_cmp(&apart(b)));
        nearest.map(|one| one.ratio)
    }
}

impl Demand {
    /// µs of CPU for a commit that waits so long, one of so many connections.
    pub fn at(&self, wait_us: f64, connections: u32) -> f64 {
        let shared = self.fall / f64::from(connections.max(1));
        self.single(wait_us) * (1.0 - self.fall + shared)
    }

    /// What is left of it, however many connections there are.
    pub fn least(&self, wait_us: f64) -> f64 {
        self.single(wait_us) * (1.0 - self.fall)
    }

    fn single(&self, wait_us: f64) -> f64 {
        (self.rest_us + self.growth * wait_us).max(0.0)
    }
}

impl Several {
    /// What a commit wants of CPUs that are so shared, and how many there are.
    pub fn cpu(&self, cpus: Cpus) -> Option<(Demand, u32)> {
        match cpus {
            Cpus::Own(count) => Some((self.writer_cpu, count)),
            Cpus::Shared(count) => Some((self.host_cpu?, count)),
        }
    }
}

impl Appliers {
    /// Transactions that they apply each second, on disks of that flush time. A replica on CPUs of
    /// its own cannot apply more than these allow.
    pub fn per_s(&self, flush_us: f64, cpus: Cpus) -> Option<f64> {
        let busy_us = self.flushes * (flush_us + self.floor_us) + self.cpu_us;
        let by_threads = self.together.max(1.0) / busy_us * 1e6;
        let by_cpus = match cpus {
            Cpus::Own(count) => f64::from(count) / self.cpu_us * 1e6,
            Cpus::Shared(_) => f64::INFINITY,
        };
        Some(by_threads.min(by_cpus)).filter(|per_s| per_s.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demand_grows_with_waiting_and_falls_with_company() {
        let demand = Demand {
            rest_us: 200.0,
            growth: 0.1,
            fall: 0.8,
        };
        assert!((demand.at(1_000.0, 1) - 300.0).abs() < 1e-9);
        assert!((demand.at(1_000.0, 4) - 300.0 * 0.4).abs() < 1e-9);
        assert!((demand.least(1_000.0) - 60.0).abs() < 1e-9);
    }

    #[test]
    fn the_nearest_number_of_connections_is_taken() {
        let at = |connections, ratio| AtConnections { connections, ratio };
        let all = [at(4, 0.9), at(64, 0.8)];
        let told = |connections| AtConnections::nearest(&all, connections);
        assert_eq!(
            [told(1), told(15), told(17)],
            [Some(0.9), Some(0.9), Some(0.8)]
        );
        assert_eq!(AtConnections::nearest(&[], 4), None);
    }

    #[test]
    fn appliers_are_as_fast_as_their_flushes_and_their_cpus() {
        let appliers = Appliers {
            threads: 4,
            flushes: 3.0,
            floor_us: 100.0,
            together: 2.0,
            cpu_us: 200.0,
            hold_back: true,
        };
        assert_eq!(appliers.per_s(500.0, Cpus::Own(2)), Some(1_000.0));
        let without = Appliers {
            flushes: 0.0,
            ..appliers
        };
        assert_eq!(without.per_s(500.0, Cpus::Own(1)), Some(5_000.0));
        assert_eq!(without.per_s(500.0, Cpus::Shared(1)), Some(10_000.0));
        let idle = Appliers {
            cpu_us: 0.0,
            ..without
        };
        assert_eq!(idle.per_s(0.0, Cpus::Own(1)), None);
    }
}
