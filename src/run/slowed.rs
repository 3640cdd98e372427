//! The CPUs of a cell that are to be slower than the host gives them, for as long as they are.

use std::collections::BTreeMap;
use std::process::Command;

use crate::error::Result;
use crate::lab::slow_cpus::{Held, SlowCpu, SlowCpus};
use crate::plan::Placement;
use crate::record::{Measurement, Role, SpeedGot};
use crate::study::CpuSpeed;

/// CPUs held by a process of ours. Dropped, it ends, and they are as fast as they were.
pub struct Slowed {
    holder: SlowCpus,
    /// As asked of each CPU.
    speeds: BTreeMap<u32, f64>,
    /// CPUs of the writer, of the replicas and of the rest.
    parts: [Vec<u32>; 3],
}

impl Slowed {
    /// Slows CPUs of `all` that the run may use; `None` where none is to be slower.
    ///
    /// # Errors
    /// A mistake if the kernel refuses, a breakdown if the process that holds them does not come
    /// up.
    pub fn begin(placement: &Placement, all: &[u32], asked: CpuSpeed) -> Result<Option<Slowed>> {
        let speeds = placement.slowed(all, asked);
        if speeds.is_empty() {
            return Ok(None);
        }
        let cpus = speeds.iter().map(|(&cpu, &speed)| SlowCpu { cpu, speed });
        let cpus: Vec<SlowCpu> = cpus.collect();
        let mut command = Command::new("/proc/self/exe");
        command.arg("slow-cpus");
        Ok(Some(Slowed {
            holder: SlowCpus::start(command, &cpus)?,
            speeds,
            parts: placement.parts(all),
        }))
    }

    /// For how long each CPU was held since it was slowed.
    ///
    /// # Errors
    /// A breakdown if the process that holds them has ended.
    pub fn held(&mut self) -> Result<Vec<Held>> {
        self.holder.held()
    }

    /// Writes what was asked, and what came of it in the window, into a measurement.
    pub fn tell(&self, held: &[Held], into: &mut Measurement) {
        let speed_got = |cpu: u32| held.iter().find(|one| one.cpu == cpu).map(Held::speed);
        let got = mean_of_parts(&self.parts, speed_got);
        into.cpu_speed = Some(SpeedGot {
            asked: mean_of_parts(&self.parts, |cpu| self.speeds.get(&cpu).copied()),
            got,
            held_us: held.iter().map(|one| one.held_us).sum(),
        });
        for process in &mut into.scheduled {
            let speed = match process.role {
                Role::Writer => got.writer,
                Role::Replica => got.replicas,
                Role::Client | Role::Front | Role::Links | Role::Disk => got.rest,
            };
            process.cpu_speed = (speed < 1.0).then_some(speed);
        }
    }
}

/// The mean over each part's CPUs; those without a speed of their own are as the host gives them.
fn mean_of_parts(parts: &[Vec<u32>; 3], speed_of: impl Fn(u32) -> Option<f64>) -> CpuSpeed {
    let mean = |cpus: &Vec<u32>| {
        let speeds = cpus.iter().map(|cpu| speed_of(*cpu).unwrap_or(1.0));
        speeds.sum::<f64>() / cpus.len().max(1) as f64
    };
    let [writer, replicas, rest] = parts.each_ref().map(mean);
    CpuSpeed {
        writer,
        replicas,
        rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_as_fast_as_its_cpus_on_the_average() {
        let parts = [vec![0], vec![1, 2], vec![3]];
        let speed_of = |cpu: u32| match cpu {
            0 => Some(0.75),
            1 => Some(0.5),
            _ => None,
        };
        let mean = mean_of_parts(&parts, speed_of);
        assert_eq!(mean.parts(), [0.75, 0.75, 1.0]);
    }
}
