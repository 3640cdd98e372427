//! Groups of axes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::moved::Moved;
use super::{Disks, Distances, Workload, units};

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

/// How fast the CPUs of each part of a lab are, as a share of what this host gives: above 0, at
/// most 1. Parts that share CPUs are equally fast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CpuSpeed {
    pub writer: f64,
    pub replicas: f64,
    /// Of links, disks, drivers and fronts.
    pub rest: f64,
}

impl Default for CpuSpeed {
    fn default() -> CpuSpeed {
        CpuSpeed::of_all(1.0)
    }
}

impl CpuSpeed {
    /// All parts alike.
    pub fn of_all(speed: f64) -> CpuSpeed {
        CpuSpeed {
            writer: speed,
            replicas: speed,
            rest: speed,
        }
    }

    /// Whether no CPU is slower than this host gives it.
    pub fn is_full(&self) -> bool {
        *self == CpuSpeed::default()
    }

    /// Of the writer, of the replicas and of the rest.
    pub fn parts(&self) -> [f64; 3] {
        [self.writer, self.replicas, self.rest]
    }

    /// What tables call it: `CPUs at 80%`; `writer's CPUs at 80%, other CPUs at 50%`; nothing where
    /// all is as this host gives it.
    pub fn words(&self) -> String {
        let at = |whose: &str, speed: f64| format!("{whose}CPUs at {}", units::show_percent(speed));
        if !self.is_full() && *self == CpuSpeed::of_all(self.rest) {
            return at("", self.rest);
        }
        let named = ["writer's ", "replicas' ", "other "].into_iter();
        let slower = named.zip(self.parts()).filter(|(_, speed)| *speed < 1.0);
        let words: Vec<String> = slower.map(|(whose, speed)| at(whose, speed)).collect();
        words.join(", ")
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
    /// What its cells have otherwise than the cell of the sweep before it that is not moved: both
    /// have one. `None` in all studies but those made to find what limits another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Moved>,
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
    /// Speeds of the lab's CPUs; empty for what this host gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_speeds: Vec<CpuSpeed>,
    /// Over so many schemas with the same tables the load is spread; empty for one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemas: Vec<u32>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_tells_what_is_slower_and_of_full_speed_nothing() {
        let full = CpuSpeed::default();
        assert!(full.is_full() && full.words().is_empty());
        let all = CpuSpeed::of_all(0.8);
        assert!(!all.is_full());
        assert_eq!(all.words(), "CPUs at 80%");
        let some = CpuSpeed {
            replicas: 1.0,
            rest: 0.5,
            ..all
        };
        assert_eq!(some.words(), "writer's CPUs at 80%, other CPUs at 50%");
        assert_eq!(some.parts(), [0.8, 1.0, 0.5]);
    }

    #[test]
    fn a_sweep_of_before_speeds_and_schemas_is_read() {
        let text = serde_json::to_string(&Sweep::default()).unwrap();
        assert!(!text.contains("cpu_speeds") && !text.contains("schemas"));
        assert_eq!(
            serde_json::from_str::<Sweep>(&text).unwrap(),
            Sweep::default()
        );
    }
}
