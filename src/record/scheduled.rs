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
    /// The share of its CPUs' time that was left to it, where they were to be slower than the host
    /// gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_speed: Option<f64>,
}

impl Scheduled {
    /// For how long it ran and for how long it waited, in µs, as on CPUs that are as slow by
    /// themselves: while its CPU was held, what ran there went on running, more slowly.
    pub fn times_us(&self) -> (f64, f64) {
        let speed = self.cpu_speed.filter(|speed| *speed > 0.0).unwrap_or(1.0);
        let held_us = self.run_us * (1.0 / speed - 1.0);
        let held_us = held_us.min(self.run_delay_us);
        (self.run_us + held_us, self.run_delay_us - held_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_held_cpu_runs_more_slowly() {
        let times = |run_delay_us, cpu_speed| {
            let process = Scheduled {
                run_us: 80.0,
                run_delay_us,
                cpu_speed,
                ..Scheduled::default()
            };
            process.times_us()
        };
        assert_eq!(times(50.0, None), (80.0, 50.0));
        // On one that is held for a fifth of its time 80 µs of work take 100 µs.
        assert_eq!(times(50.0, Some(0.8)), (100.0, 30.0));
        assert_eq!(
            times(15.0, Some(0.8)),
            (95.0, 0.0),
            "it ran beside the holds"
        );
    }
}
