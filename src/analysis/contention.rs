//! Who waited for a CPU, and how long: the share of run delay in run time and run delay together.

use super::interval::median;
use super::rates::per_commit;
use super::summary::{Contention, Per};
use crate::record::{Measurement, Role, Scheduled};

/// Above this share those who share the host's CPUs tell of the host.
pub const HOST_BOUND_CONTENTION: f64 = 0.10;
/// From this share of their time on a node's own CPUs are full.
pub const NODE_BOUND_SHARE: f64 = 0.95;

/// Of all who share CPUs with others; `None` where the record does not tell. A node with CPUs of
/// its own is left out: what its threads wait for is their own doing.
pub fn of_all(measurement: &Measurement) -> Option<f64> {
    share(measurement, |process| process.own_cpus.is_none())
}

/// Whether the CPUs of some node, which has them for itself, were full.
pub fn is_node_bound(measurement: &Measurement) -> bool {
    let window_us = measurement.window_s * 1e6;
    let is_full = |process: &Scheduled| {
        let room_us = |cpus: u32| f64::from(cpus) * window_us;
        let room_us = process.own_cpus.map(room_us).filter(|room| *room > 0.0);
        room_us.is_some_and(|room| process.times_us().0 >= NODE_BOUND_SHARE * room)
    };
    measurement.scheduled.iter().any(is_full)
}

/// Whether others were waited for so long that throughput is no price of a mode.
pub fn is_shared(measurements: &[&Measurement]) -> bool {
    let shares: Vec<f64> = measurements.iter().filter_map(|m| of_all(m)).collect();
    median(&shares).is_some_and(|share| share > HOST_BOUND_CONTENTION)
}

/// Medians over rounds; `None` where the record does not tell.
pub fn summarise(measurements: &[&Measurement]) -> Option<Contention> {
    let over = |figure: &dyn Fn(&Measurement) -> Option<f64>| {
        let figures: Vec<f64> = measurements.iter().filter_map(|m| figure(m)).collect();
        median(&figures)
    };
    let of = |role: Role| over(&|m: &Measurement| share(m, |process| process.role == role));
    Some(Contention {
        all: over(&of_all)?,
        writer: of(Role::Writer),
        replicas: of(Role::Replica),
        client: of(Role::Client),
        front: of(Role::Front),
        links: of(Role::Links),
        disks: of(Role::Disk),
        emulators_cpu_share: over(&emulators)?,
        threads_ended: measurements
            .iter()
            .flat_map(|m| &m.scheduled)
            .map(|process| u64::from(process.threads_ended))
            .sum(),
        own_cpus: measurements.iter().find_map(|m| own_cpus(m)),
    })
}

/// Of each server, if all have CPUs for themselves.
fn own_cpus(measurement: &Measurement) -> Option<u32> {
    let is_server = |process: &&Scheduled| matches!(process.role, Role::Writer | Role::Replica);
    let servers = measurement.scheduled.iter().filter(is_server);
    let own: Option<Vec<u32>> = servers.map(|process| process.own_cpus).collect();
    own?.into_iter().min()
}

/// CPU time for each commit: servers, clients, front, links and disks together, from each process's
/// own account. `None` where contention is not known, so that there is nothing to hold it against.
pub fn cpu_sum(measurement: &Measurement, per: Per) -> Option<f64> {
    of_all(measurement)?;
    let cpu = &measurement.cpu;
    let links_us = cpu.links_us.unwrap_or(0.0) + cpu.links_spin_us.unwrap_or(0.0);
    let disks_us: f64 = measurement.disks.iter().map(|disk| disk.cpu_us).sum();
    let replicas_us: f64 = cpu.replicas_us.values().sum();
    let rest_us = cpu.client_us + cpu.front_us.unwrap_or(0.0) + links_us + disks_us;
    per_commit(measurement, per, cpu.writer_us? + replicas_us + rest_us)
}

/// The part of all CPU time that links and disks took, which are emulated.
fn emulators(measurement: &Measurement) -> Option<f64> {
    let run_us = |is_in: fn(Role) -> bool| {
        let all = measurement.scheduled.iter();
        let some = all.filter(|process| is_in(process.role));
        some.map(|process| process.run_us).sum::<f64>()
    };
    let all_us = run_us(|_| true);
    let emulated_us = run_us(|role| matches!(role, Role::Links | Role::Disk));
    (all_us > 0.0).then(|| emulated_us / all_us)
}

fn share(measurement: &Measurement, is_in: impl Fn(&Scheduled) -> bool) -> Option<f64> {
    let some = measurement
        .scheduled
        .iter()
        .filter(|process| is_in(process));
    let add = |sum: (f64, f64), process: &Scheduled| {
        let (run_us, delay_us) = process.times_us();
        (sum.0 + run_us, sum.1 + delay_us)
    };
    let (run_us, delay_us) = some.fold((0.0, 0.0), add);
    (run_us > 0.0).then(|| delay_us / (run_us + delay_us))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{CpuUsed, DiskUse};

    fn process(role: Role, run_us: f64, run_delay_us: f64) -> Scheduled {
        Scheduled {
            role,
            run_us,
            run_delay_us,
            ..Scheduled::default()
        }
    }

    fn measured(scheduled: Vec<Scheduled>) -> Measurement {
        Measurement {
            window_s: 1.0,
            commits: 100,
            scheduled,
            ..Measurement::default()
        }
    }

    fn example() -> Measurement {
        measured(vec![
            process(Role::Writer, 600_000.0, 50_000.0),
            process(Role::Replica, 200_000.0, 25_000.0),
            process(Role::Replica, 100_000.0, 0.0),
            process(Role::Client, 40_000.0, 10_000.0),
            process(Role::Links, 45_000.0, 15_000.0),
            process(Role::Disk, 15_000.0, 0.0),
        ])
    }

    #[test]
    fn roles_are_told_apart_and_all_weigh_by_their_time() {
        let found = summarise(&[&example()]).unwrap();
        assert_eq!(found.all, 100_000.0 / 1_100_000.0);
        assert_eq!(found.writer, Some(50_000.0 / 650_000.0));
        assert_eq!(found.replicas, Some(25_000.0 / 325_000.0));
        assert_eq!((found.client, found.links), (Some(0.2), Some(0.25)));
        assert_eq!((found.disks, found.front), (Some(0.0), None));
        assert_eq!(found.emulators_cpu_share, 0.06);
        assert_eq!(summarise(&[&measured(vec![])]), None);
    }

    #[test]
    fn a_node_with_cpus_of_its_own_waits_for_itself() {
        let mut alone = example();
        alone.scheduled[0].own_cpus = Some(1);
        assert_eq!(of_all(&alone), Some(50_000.0 / 450_000.0));
        assert!(!is_node_bound(&alone));
        assert_eq!(
            summarise(&[&alone]).unwrap().own_cpus,
            None,
            "of the writer only"
        );
        alone.scheduled[0].run_us = 950_000.0;
        assert!(is_node_bound(&alone));
        alone.scheduled[0].own_cpus = Some(2);
        assert!(!is_node_bound(&alone));
        alone.scheduled[0].own_cpus = None;
        assert!(!is_node_bound(&alone), "it has none of its own");
    }

    #[test]
    fn who_waits_for_a_held_cpu_waits_for_nobody() {
        let mut slowed = measured(vec![process(Role::Writer, 800_000.0, 190_000.0)]);
        assert!(of_all(&slowed).is_some_and(|share| share > HOST_BOUND_CONTENTION));
        slowed.scheduled[0].cpu_speed = Some(0.8);
        assert_eq!(of_all(&slowed), Some(0.0));
        slowed.scheduled[0].own_cpus = Some(1);
        assert!(is_node_bound(&slowed), "it has no more than four fifths");
        slowed.scheduled[0].cpu_speed = None;
        assert!(!is_node_bound(&slowed));
    }

    #[test]
    fn most_rounds_decide_whether_a_ratio_is_shared() {
        let of = |delay_us| measured(vec![process(Role::Writer, 90.0, delay_us)]);
        let (calm, waited) = (of(10.0), of(11.0));
        assert!(!is_shared(&[&calm, &calm, &waited]));
        assert!(is_shared(&[&calm, &waited, &waited]));
        assert!(!is_shared(&[&measured(vec![])]), "not known");
    }

    #[test]
    fn cpu_sums_hold_all_accounts() {
        let with_cpu = |round, writer_us| Measurement {
            round,
            cpu: CpuUsed {
                writer_us: Some(writer_us),
                replicas_us: [("b".to_owned(), 200.0)].into(),
                client_us: 30.0,
                front_us: Some(10.0),
                links_us: Some(40.0),
                links_spin_us: Some(5.0),
                ..CpuUsed::default()
            },
            disks: vec![DiskUse {
                cpu_us: 15.0,
                ..DiskUse::default()
            }],
            ..example()
        };
        assert_eq!(cpu_sum(&with_cpu(0, 700.0), Per::Commit), Some(10.0));
        let mut old = with_cpu(0, 700.0);
        old.scheduled.clear();
        assert_eq!(cpu_sum(&old, Per::Commit), None);
    }
}
