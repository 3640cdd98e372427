//! What servers and their disks do while no load runs: before it, and after it has ended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::disks::{self, DiskCounters};
use super::rig::Rig;
use super::target::wait;
use super::window::server_cpu_us;
use crate::error::Result;
use crate::lab::Lab;
use crate::plan::Cell;
use crate::record::{Activity, Measurement};
use crate::study::Study;

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

/// Watches a cell's servers and disks for as long as it asks, if it does. Its load has ended.
pub fn watch_after(
    rig: &mut Rig,
    study: &Study,
    cell: &Cell,
    into: &mut Measurement,
) -> Result<()> {
    let Some(span) = cell.watch_after else {
        return Ok(());
    };
    let idle = rig.idle(cell.mode).to_vec();
    let lab = rig.lab(cell.mode);
    let servers = lab.members(&study.modes[cell.mode]).end;
    let begin = Look::now(lab)?;
    let mut last = Look::now(lab)?;
    let mut after = Vec::new();
    loop {
        let left = span.saturating_sub(begin.at.elapsed());
        if left.is_zero() {
            break;
        }
        let is_last = left < PIECE + PIECE / 2;
        wait(if is_last { left } else { PIECE })?;
        let next = Look::now(lab)?;
        let from_s = (last.at - begin.at).as_secs_f64();
        after.extend(last.until(&next, lab, servers, Some(from_s)));
        last = next;
    }
    let takes_part = |idle: &Activity| after.iter().any(|after| after.node == idle.node);
    into.activity = idle.into_iter().filter(takes_part).collect();
    into.activity.extend(after);
    Ok(())
}
