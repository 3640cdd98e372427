//! What servers and their disks do while no load runs: before it, and after it has ended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::disks::{self, DiskCounters};
use super::target::wait;
use super::window::server_cpu_us;
use crate::error::Result;
use crate::lab::Lab;
use crate::record::Activity;

/// What is watched after the load is told in pieces of this length, but for the last one, which may
/// be half as long again.
const PIECE: Duration = Duration::from_secs(1);

/// One look at servers and disks.
pub struct Look {
    at: Instant,
    servers_us: BTreeMap<String, f64>,
    disks: DiskCounters,
}

impl Look {
    /// Takes it.
    pub fn now(lab: &Lab) -> Result<Look> {
        Ok(Look {
            at: Instant::now(),
            servers_us: server_cpu_us(lab),
            disks: disks::counters(lab)?,
        })
    }

    /// What was done from this look until a later one by each of the first `servers` nodes, or by
    /// all that hold a copy of the writer's volume. `from_s` is what the record is to say of its
    /// begin.
    pub fn until(
        &self,
        later: &Look,
        lab: &Lab,
        servers: usize,
        from_s: Option<f64>,
    ) -> Vec<Activity> {
        let used = disks::used(lab, servers, &self.disks, &later.disks);
        let of_node = |i: usize| {
            let node = lab.nodes[i].name();
            Activity {
                node: node.to_owned(),
                from_s,
                span_s: (later.at - self.at).as_secs_f64(),
                cpu_us: later.servers_us[node] - self.servers_us[node],
                disk: used.iter().find(|disk| disk.node == node).cloned(),
            }
        };
        let nodes = disks::taking_part(lab, servers);
        nodes.map(of_node).collect()
    }
}

/// Watches the first `servers` nodes of a lab and their disks for so long, piece by piece. Its load
/// has ended.
pub fn watch(lab: &Lab, servers: usize, span: Duration) -> Result<Vec<Activity>> {
    let begin = Look::now(lab)?;
    let mut last = Look::now(lab)?;
    let mut all = Vec::new();
    loop {
        let left = span.saturating_sub(begin.at.elapsed());
        if left.is_zero() {
            return Ok(all);
        }
        let is_last = left < PIECE + PIECE / 2;
        wait(if is_last { left } else { PIECE })?;
        let next = Look::now(lab)?;
        let from_s = (last.at - begin.at).as_secs_f64();
        all.extend(last.until(&next, lab, servers, Some(from_s)));
        last = next;
    }
}
