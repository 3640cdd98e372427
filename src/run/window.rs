//! One look at everything that is counted, taken at both ends of a measured window.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::lab::Lab;
use crate::lab::link::SwitchCounters;
use crate::lab::network::Network;
use crate::load::Driver;
use crate::observe::cpu::process_cpu_us;
use crate::observe::host::HostCpu;
use crate::observe::status;
use crate::record::{CpuUsed, LinkTraffic, Measurement};

/// All accounts at one moment.
pub struct Accounts {
    servers_us: BTreeMap<String, f64>,
    client_us: f64,
    switch: SwitchCounters,
    host: HostCpu,
}

/// CPU time of a lab's servers, by node.
pub fn server_cpu_us(lab: &Lab) -> BTreeMap<String, f64> {
    let used = |pid: Option<u32>| pid.and_then(process_cpu_us).unwrap_or(0.0);
    lab.nodes
        .iter()
        .map(|node| (node.site().to_owned(), used(node.pid())))
        .collect()
}

impl Accounts {
    /// Reads all accounts, the servers' own counters apart.
    pub fn now(lab: &Lab, network: &Network, drivers: &[Driver]) -> Result<Accounts> {
        Ok(Accounts {
            servers_us: server_cpu_us(lab),
            client_us: drivers
                .iter()
                .filter_map(|driver| process_cpu_us(driver.pid()))
                .sum(),
            switch: network.counters()?,
            host: HostCpu::now(),
        })
    }

    /// Moves this reading forward by what was used between two others, so that it is left out.
    pub fn leave_out(&mut self, from: &Accounts, to: &Accounts) {
        for (node, used_us) in &mut self.servers_us {
            *used_us += to.servers_us[node] - from.servers_us[node];
        }
        self.client_us += to.client_us - from.client_us;
        self.switch.add(&to.switch.since(&from.switch));
        self.host.add_since(&to.host, &from.host);
    }

    /// Writes what was used between `self` and `end` into a measurement. `replicas` are the
    /// indices of the nodes that follow the writer.
    pub fn until(
        &self,
        end: &Accounts,
        lab: &Lab,
        replicas: std::ops::Range<usize>,
        measurement: &mut Measurement,
    ) {
        let used = |node: &str| end.servers_us[node] - self.servers_us[node];
        let switch = end.switch.since(&self.switch);
        let replica = |i: usize| lab.nodes[i].site().to_owned();
        measurement.cpu = CpuUsed {
            writer_us: used(lab.nodes[0].site()),
            replicas_us: replicas.map(|i| (replica(i), used(&replica(i)))).collect(),
            client_us: end.client_us - self.client_us,
            links_us: switch.work_ns() as f64 / 1e3,
            links_spin_us: switch.spin_ns as f64 / 1e3,
            idle_us_per_s: std::mem::take(&mut measurement.cpu.idle_us_per_s),
        };
        measurement.links = traffic(lab, &switch);
        measurement.packets = switch.packets;
        measurement.late_packets = switch.late_packets;
        let (busy, stolen) = end.host.shares_since(&self.host);
        measurement.host_busy = busy;
        measurement.host_stolen = stolen;
    }
}

/// What this lab's nodes and their clients sent one another.
fn traffic(lab: &Lab, switch: &SwitchCounters) -> Vec<LinkTraffic> {
    let short = |name: &str| {
        let own = name
            .strip_prefix(&format!("{}.", lab.spec.name))
            .map(str::to_owned);
        own.or_else(|| name.starts_with("client.").then(|| name.to_owned()))
    };
    let row = |pair: &crate::lab::link::PairCounters| {
        let (from, to) = (short(&pair.from)?, short(&pair.to)?);
        let is_client = from.starts_with("client.") || to.starts_with("client.");
        (pair.packets > 0).then_some(LinkTraffic {
            from,
            to,
            packets: pair.packets,
            bytes: pair.bytes,
            is_client,
        })
    };
    switch.pairs.iter().filter_map(row).collect()
}

/// The servers' own counters of all nodes of a lab.
pub fn read_status(lab: &mut Lab) -> Result<BTreeMap<String, status::Counters>> {
    let flush_times = lab.program.dialect().optional("flush_times");
    let read = |node: &mut crate::lab::node::Node| {
        let name = node.site().to_owned();
        Ok((name, status::read(node, flush_times)?))
    };
    lab.nodes.iter_mut().map(read).collect()
}
