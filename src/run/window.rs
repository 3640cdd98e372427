//! One look at everything that is counted, taken at both ends of a measured window.

use std::collections::BTreeMap;
use std::ops::Range;

use super::disks::{self, DiskCounters};
use crate::error::Result;
use crate::lab::Lab;
use crate::lab::link::{PairCounters, SwitchCounters};
use crate::lab::network::Network;
use crate::lab::slow_cpus::{self, Held};
use crate::load::Driver;
use crate::observe::cpu::process_cpu_us;
use crate::observe::host::HostCpu;
use crate::observe::schedstat::Threads;
use crate::observe::status;
use crate::record::{CpuUsed, LinkTraffic, Measurement, Role, Scheduled};

/// The servers' own counters, by node.
pub type NodeStatus = BTreeMap<String, status::Counters>;

/// All that is counted, at one end of what is measured.
pub struct Reading {
    pub status: NodeStatus,
    pub accounts: Accounts,
}

impl Reading {
    /// Moves this reading forward by what happened between two others, so that it is left out.
    pub fn leave_out(&mut self, from: &Reading, to: &Reading) {
        self.accounts.leave_out(&from.accounts, &to.accounts);
        for (node, counters) in &mut self.status {
            for (name, value) in counters {
                let at = |reading: &Reading| reading.status.get(node)?.get(name).copied();
                *value += at(to).unwrap_or(0.0) - at(from).unwrap_or(0.0);
            }
        }
    }

    /// Writes how the servers' own counters changed until `end` into a measurement.
    pub fn status_until(&self, end: &Reading, writer: &str, into: &mut Measurement) {
        let changes = end.status.iter().map(|(node, after)| {
            let before = self.status.get(node).cloned().unwrap_or_default();
            (node.clone(), status::changes(&before, after))
        });
        into.status = changes.collect();
        if let Some(writer) = into.status.get(writer) {
            into.commit_time_us = status::commit_time_us(writer);
        }
    }
}

/// All accounts at one moment; of somebody else's servers only what stands on this side.
#[derive(Default)]
pub struct Accounts {
    servers_us: BTreeMap<String, f64>,
    /// Of each driver.
    drivers_us: Vec<f64>,
    /// Of the front, where there is one.
    front_us: Option<f64>,
    /// By role and node.
    threads: ByProcess,
    switch: SwitchCounters,
    host: HostCpu,
    disks: DiskCounters,
    /// Of CPUs that are slower than the host gives them: not the lab's.
    held: Vec<Held>,
}

/// The threads of each process, by its role and node.
type ByProcess = BTreeMap<(Role, String), Threads>;

/// CPU time of a lab's servers, by node.
pub fn server_cpu_us(lab: &Lab) -> BTreeMap<String, f64> {
    let used = |pid: Option<u32>| pid.and_then(process_cpu_us).unwrap_or(0.0);
    lab.nodes
        .iter()
        .map(|node| (node.name().to_owned(), used(node.pid())))
        .collect()
}

impl Accounts {
    /// Reads all accounts, the servers' own counters apart.
    pub fn now(
        lab: &Lab,
        network: &Network,
        drivers: &[Driver],
        front: Option<u32>,
    ) -> Result<Accounts> {
        Ok(Accounts {
            threads: threads(lab, network, drivers, front),
            servers_us: server_cpu_us(lab),
            drivers_us: drivers.iter().map(driver_cpu_us).collect(),
            front_us: front.and_then(process_cpu_us),
            switch: network.counters()?,
            host: HostCpu::now(),
            disks: disks::counters(lab)?,
            held: vec![],
        })
    }

    /// With what was held of CPUs up to this moment.
    pub fn with_held(self, held: Vec<Held>) -> Accounts {
        Accounts { held, ..self }
    }

    /// What was held of each CPU until `end`.
    pub fn held_until(&self, end: &Accounts) -> Vec<Held> {
        slow_cpus::between(&self.held, &end.held)
    }

    /// Of a driver on the host's own network.
    pub fn of_client(driver: &Driver) -> Accounts {
        Accounts {
            drivers_us: vec![driver_cpu_us(driver)],
            threads: [((Role::Client, String::new()), Threads::of(driver.pid()))].into(),
            host: HostCpu::now(),
            ..Accounts::default()
        }
    }

    /// Of drivers elsewhere, which tell their own CPU time; this host's is that of the run.
    pub fn of_joined(drivers_us: Vec<f64>) -> Accounts {
        Accounts {
            drivers_us,
            host: HostCpu::now(),
            ..Accounts::default()
        }
    }

    fn leave_out(&mut self, from: &Accounts, to: &Accounts) {
        for (node, used_us) in &mut self.servers_us {
            *used_us += to.servers_us[node] - from.servers_us[node];
        }
        let meanwhile = used_by_each(&from.drivers_us, &to.drivers_us);
        for (used_us, left_out_us) in self.drivers_us.iter_mut().zip(meanwhile) {
            *used_us += left_out_us;
        }
        self.front_us = self
            .front_us
            .zip(used_us(from.front_us, to.front_us))
            .map(|(a, b)| a + b);
        for (process, threads) in &mut self.threads {
            threads.leave_out(&from.threads[process], &to.threads[process]);
        }
        self.switch.add(&to.switch.since(&from.switch));
        self.host.add_since(&to.host, &from.host);
        for (node, counters) in &mut self.disks {
            counters.add(&to.disks[node].since(&from.disks[node]));
        }
        let meanwhile = from.held_until(to);
        for (held, left_out) in self.held.iter_mut().zip(&meanwhile) {
            held.add(left_out);
        }
    }

    /// Writes what was used on this side until `end` into a measurement.
    pub fn client_until(&self, end: &Accounts, into: &mut Measurement) {
        let drivers_us = used_by_each(&self.drivers_us, &end.drivers_us);
        into.cpu = CpuUsed {
            client_us: drivers_us.iter().sum(),
            busiest_driver_us: drivers_us.into_iter().reduce(f64::max),
            front_us: used_us(self.front_us, end.front_us),
            idle_us_per_s: std::mem::take(&mut into.cpu.idle_us_per_s),
            idle_watched_s: into.cpu.idle_watched_s,
            ..CpuUsed::default()
        };
        into.scheduled = self.scheduled_until(end);
        let held_us = self.held_until(end).iter().map(|cpu| cpu.held_us).sum();
        (into.host_busy, into.host_stolen) = end.host.without(held_us).shares_since(&self.host);
    }

    /// What came of each process until `end`; none where the kernel does not tell.
    fn scheduled_until(&self, end: &Accounts) -> Vec<Scheduled> {
        let of_process = |((role, node), threads): (&(Role, String), &Threads)| {
            let spent = threads.since(self.threads.get(&(*role, node.clone()))?);
            Some(Scheduled {
                role: *role,
                node: node.clone(),
                run_us: spent.run_ns as f64 / 1e3,
                run_delay_us: spent.delay_ns as f64 / 1e3,
                threads_ended: spent.ended,
                own_cpus: None,
                cpu_speed: None,
            })
        };
        let all: Vec<Scheduled> = end.threads.iter().filter_map(of_process).collect();
        match all.iter().any(|process| process.run_us > 0.0) {
            true => all,
            false => vec![],
        }
    }

    /// Writes what was used in a lab until `end` into a measurement. `replicas` are the indices of
    /// the nodes that follow the writer.
    pub fn until(&self, end: &Accounts, lab: &Lab, replicas: Range<usize>, into: &mut Measurement) {
        self.client_until(end, into);
        let used = |node: &str| end.servers_us[node] - self.servers_us[node];
        let name = |i: usize| lab.nodes[i].name().to_owned();
        let switch = end.switch.since(&self.switch);
        let servers = replicas.end;
        into.disks = disks::used(lab, servers, &self.disks, &end.disks);
        into.cpu.writer_us = Some(used(&name(0)));
        into.cpu.replicas_us = replicas.map(|i| (name(i), used(&name(i)))).collect();
        into.cpu.links_us = Some(switch.work_ns() as f64 / 1e3);
        into.cpu.links_spin_us = Some(switch.spin_ns as f64 / 1e3);
        into.links = traffic(lab, &switch);
        into.packets = switch.packets;
        of_members(lab, servers, &mut into.scheduled);
        into.late_packets = switch.late_packets;
        into.links_without_priority_s = switch.without_priority_ns as f64 / 1e9;
    }
}

fn threads(lab: &Lab, network: &Network, drivers: &[Driver], front: Option<u32>) -> ByProcess {
    let servers = lab.nodes.iter().enumerate().filter_map(|(i, node)| {
        let role = if i == 0 { Role::Writer } else { Role::Replica };
        Some(((role, node.name().to_owned()), Threads::of(node.pid()?)))
    });
    let disks = lab.nodes.iter().filter_map(|node| {
        let pid = node.volume.as_ref()?.pid();
        Some(((Role::Disk, node.name().to_owned()), Threads::of(pid)))
    });
    let alone = |role, threads| ((role, String::new()), threads);
    let drivers = drivers.iter().map(|driver| Threads::of(driver.pid()));
    let drivers = drivers.fold(Threads::default(), Threads::and);
    let links = Threads::of(network.switch.pid());
    servers
        .chain(disks)
        .chain([alone(Role::Client, drivers), alone(Role::Links, links)])
        .chain(front.map(|pid| alone(Role::Front, Threads::of(pid))))
        .collect()
}

/// Leaves those nodes out that take no part in the mode, of which the first `servers` run servers,
/// and tells which have CPUs of their own.
fn of_members(lab: &Lab, servers: usize, scheduled: &mut Vec<Scheduled>) {
    let at = |node: &str| lab.nodes.iter().position(|one| one.name() == node);
    let with_disk = disks::taking_part(lab, servers);
    scheduled.retain(|process| match (process.role, at(&process.node)) {
        (Role::Writer | Role::Replica, Some(i)) => i < servers,
        (Role::Disk, Some(i)) => with_disk.contains(&i),
        _ => true,
    });
    for process in scheduled {
        if matches!(process.role, Role::Writer | Role::Replica) {
            let own = at(&process.node).map_or(0, |i| lab.nodes[i].cpus.len());
            process.own_cpus = (own > 0).then_some(own as u32);
        }
    }
}

fn driver_cpu_us(driver: &Driver) -> f64 {
    process_cpu_us(driver.pid()).unwrap_or(0.0)
}

fn used_by_each(from: &[f64], to: &[f64]) -> Vec<f64> {
    from.iter().zip(to).map(|(from, to)| to - from).collect()
}

fn used_us(from: Option<f64>, to: Option<f64>) -> Option<f64> {
    Some(to? - from?)
}

/// What this lab's nodes, their clients and their front sent one another. A front is the client's
/// own: it stands at the client's end of whatever it passes on.
fn traffic(lab: &Lab, switch: &SwitchCounters) -> Vec<LinkTraffic> {
    let is_client = |name: &str| name.starts_with("client.") || name.starts_with("front.");
    let short = |name: &str| {
        let own = name
            .strip_prefix(&format!("{}.", lab.spec.name))
            .map(str::to_owned);
        own.or_else(|| is_client(name).then(|| name.to_owned()))
    };
    let row = |pair: &PairCounters| {
        let (from, to) = (short(&pair.from)?, short(&pair.to)?);
        let is_client = is_client(&from) || is_client(&to);
        let has_seen_any = pair.packets + pair.dropped_by_loss + pair.dropped_by_queue > 0;
        has_seen_any.then_some(LinkTraffic {
            from,
            to,
            packets: pair.packets,
            bytes: pair.bytes,
            is_client,
            delay_us: pair.delay_us_mean(),
            lost_packets: pair.dropped_by_loss,
            queue_full_packets: pair.dropped_by_queue,
        })
    };
    switch.pairs.iter().filter_map(row).collect()
}

/// The servers' own counters of all nodes of a lab.
pub fn read_status(lab: &mut Lab) -> Result<NodeStatus> {
    let flush_times = lab.program.dialect().optional("flush_times");
    let read = |node: &mut crate::lab::node::Node| {
        let name = node.name().to_owned();
        Ok((name, status::read(node, flush_times)?))
    };
    let servers = lab.servers();
    lab.nodes[servers].iter_mut().map(read).collect()
}
