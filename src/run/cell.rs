//! One cell, measured once.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::rig::Rig;
use super::window::{Accounts, read_status};
use crate::error::Result;
use crate::lab::mode::downgrade_counters;
use crate::lab::network::probe_rtt_us;
use crate::lab::node::{Place, pause};
use crate::load::{Snapshot, in_a_row, mark_all, start_all, stop_all};
use crate::observe::{lag, status};
use crate::plan::Cell;
use crate::record::{Flag, Measurement, RttGot};
use crate::study::{Study, Workload};

/// A cell is void if more than this share of its packets left the switch late.
const LATE_SHARE_MAX: f64 = 0.05;

/// How long replicas may take to apply a refill.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(60);

/// Measures one cell; its mode is in force already.
pub fn measure(
    rig: &mut Rig,
    study: &Study,
    cell: &Cell,
    index: usize,
    round: u32,
) -> Result<Measurement> {
    rig.network.set_distances(&cell.distances)?;
    renew_tables(rig, study, cell)?;
    let mut measurement = Measurement {
        round,
        cell: index,
        started_unix_ms: unix_ms(),
        rtts: probe_sites(rig, study, cell)?,
        ..Measurement::default()
    };
    measurement.cpu.idle_us_per_s = rig.idle_us_per_s(cell.mode);
    match cell.workload {
        Workload::Mysqlslap { .. } => iterate(rig, study, cell, &mut measurement)?,
        _ => drive(rig, study, cell, &mut measurement)?,
    }
    let after = probe_sites(rig, study, cell)?;
    for (rtt, after) in measurement.rtts.iter_mut().zip(after) {
        rtt.rtt_us_after = after.rtt_us_before;
    }
    add_flags(rig, study, cell, &mut measurement);
    Ok(measurement)
}

/// Fills the tables anew where the workload uses them up, and waits until replicas have them.
fn renew_tables(rig: &mut Rig, study: &Study, cell: &Cell) -> Result<()> {
    if rig.renew_tables(cell.mode, &cell.workload, study.seed)? {
        let replicas = replicas(rig, study, cell);
        for i in replicas {
            rig.lab(cell.mode).catch_up(i, CATCH_UP_LIMIT)?;
        }
    }
    Ok(())
}

fn unix_ms() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(0)
}

/// Warm-up, measured window, lag while the load still runs, catching up after it.
fn drive(rig: &mut Rig, study: &Study, cell: &Cell, into: &mut Measurement) -> Result<()> {
    let (range, jobs) = rig.jobs(study, cell, into.round);
    start_all(&mut rig.drivers[range.clone()], &jobs)?;
    let outcome = watch(rig, study, cell, range.clone(), into);
    let rest = stop_all(&mut rig.drivers[range])?;
    rig.used_numbers(cell.mode, rest.unique_next);
    outcome?;
    into.timeline.extend(rest.timeline);
    let replicas = replicas(rig, study, cell);
    lag::catch_up(rig.lab(cell.mode), replicas, &mut into.lag)
}

/// Indices of the nodes that follow the writer in the cell's mode.
fn replicas(rig: &mut Rig, study: &Study, cell: &Cell) -> std::ops::Range<usize> {
    let members = rig.lab(cell.mode).members(&study.modes[cell.mode]);
    1..members.end
}

/// Everything that happens while the load runs.
fn watch(
    rig: &mut Rig,
    study: &Study,
    cell: &Cell,
    drivers: std::ops::Range<usize>,
    into: &mut Measurement,
) -> Result<()> {
    let warm = wait(study.warmup).and_then(|()| {
        let status = read_status(rig.lab(cell.mode))?;
        Ok((status, mark_all(&mut rig.drivers[drivers.clone()])?))
    });
    let (status_before, warm) = warm?;
    into.timeline.extend(warm.timeline);
    let begin = accounts(rig, cell)?;
    wait(study.measure)?;
    let snapshot = mark_all(&mut rig.drivers[drivers])?;
    let end = accounts(rig, cell)?;
    let status_after = read_status(rig.lab(cell.mode))?;
    take(snapshot, into);
    let replicas = replicas(rig, study, cell);
    let lab = rig.lab(cell.mode);
    begin.until(&end, lab, replicas.clone(), into);
    take_status(&status_before, &status_after, lab.nodes[0].site(), into);
    into.lag = lag::measure(lab, replicas, study.measure)?;
    Ok(())
}

fn accounts(rig: &mut Rig, cell: &Cell) -> Result<Accounts> {
    let index = rig.lab_index(cell.mode);
    Accounts::now(rig.lab_at(index), &rig.network, &rig.drivers)
}

/// mysqlslap's manner: a number of iterations. Each reload before an iteration is left out of all
/// accounts, as it is out of the tool's clock.
fn iterate(rig: &mut Rig, study: &Study, cell: &Cell, into: &mut Measurement) -> Result<()> {
    let Workload::Mysqlslap { iterations, .. } = cell.workload else {
        return Ok(());
    };
    let (range, jobs) = rig.jobs(study, cell, into.round);
    let mut status_before = read_status(rig.lab(cell.mode))?;
    let mut begin = accounts(rig, cell)?;
    let mut parts = Vec::new();
    for _ in 0..iterations {
        pause(Duration::ZERO)?;
        let (status_idle, idle) = (read_status(rig.lab(cell.mode))?, accounts(rig, cell)?);
        rig.drivers[range.start].reload(&jobs[0])?;
        begin.leave_out(&idle, &accounts(rig, cell)?);
        leave_out(
            &mut status_before,
            &status_idle,
            &read_status(rig.lab(cell.mode))?,
        );
        parts.push(rig.drivers[range.start].iterate()?);
    }
    let end = accounts(rig, cell)?;
    let status_after = read_status(rig.lab(cell.mode))?;
    let outcome = in_a_row(parts)?;
    take(outcome.snapshot, into);
    into.iterations = outcome.iterations;
    let replicas = replicas(rig, study, cell);
    let lab = rig.lab(cell.mode);
    begin.until(&end, lab, replicas.clone(), into);
    take_status(&status_before, &status_after, lab.nodes[0].site(), into);
    into.lag = lag::measure(lab, replicas.clone(), study.measure)?;
    lag::catch_up(lab, replicas, &mut into.lag)
}

/// Moves counters forward by what happened between two readings.
fn leave_out(counters: &mut NodeStatus, from: &NodeStatus, to: &NodeStatus) {
    for (node, counters) in counters {
        for (name, value) in counters {
            let at = |status: &NodeStatus| status.get(node).and_then(|s| s.get(name)).copied();
            *value += at(to).unwrap_or(0.0) - at(from).unwrap_or(0.0);
        }
    }
}

/// Sleeps in steps, so that a request to stop is heard.
fn wait(span: Duration) -> Result<()> {
    let start = Instant::now();
    loop {
        let left = span.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        pause(left.min(Duration::from_millis(100)))?;
    }
}

fn take(snapshot: Snapshot, into: &mut Measurement) {
    into.window_s = snapshot.window_s;
    into.commits = snapshot.commits;
    into.unchanged = snapshot.unchanged;
    into.statements = snapshot.statements;
    into.errors = snapshot.errors;
    into.latency_us = snapshot.latency_us;
    into.statement_latency_us = snapshot.statement_latency_us;
    into.timeline.extend(snapshot.timeline);
}

type NodeStatus = std::collections::BTreeMap<String, status::Counters>;

fn take_status(before: &NodeStatus, after: &NodeStatus, writer: &str, into: &mut Measurement) {
    let changes = after.iter().map(|(node, after)| {
        let before = before.get(node).cloned().unwrap_or_default();
        (node.clone(), status::changes(&before, after))
    });
    into.status = changes.collect();
    if let Some(writer) = into.status.get(writer) {
        into.commit_time_us = status::commit_time_us(writer, into.commits);
    }
}

/// The round-trip time between each pair of sites, between this lab's nodes where it has any there,
/// else between the clients of those sites.
fn probe_sites(rig: &mut Rig, study: &Study, cell: &Cell) -> Result<Vec<RttGot>> {
    let index = rig.lab_index(cell.mode);
    let lab = rig.lab_at(index);
    let place = |site: &String| -> &Place {
        let node = lab.nodes.iter().find(|node| node.site() == site);
        node.map_or_else(|| &rig.network.clients[site], |node| &node.place)
    };
    let mut rtts = Vec::new();
    for (i, from_site) in study.sites.iter().enumerate() {
        for to_site in &study.sites[i + 1..] {
            let asked = rig.network.rtt_asked(&cell.distances, from_site, to_site);
            let (from, to) = (place(from_site), place(to_site));
            rtts.push(RttGot {
                from: from_site.clone(),
                to: to_site.clone(),
                from_site: from_site.clone(),
                to_site: to_site.clone(),
                rtt_us_asked: asked.as_secs_f64() * 1e6,
                rtt_us_before: probe_rtt_us(from, to.address)?,
                rtt_us_after: 0.0,
            });
        }
    }
    Ok(rtts)
}

fn add_flags(rig: &mut Rig, study: &Study, cell: &Cell, measurement: &mut Measurement) {
    let mode = &study.modes[cell.mode].mode;
    let lab = rig.lab(cell.mode);
    let writer = measurement.status.get(lab.nodes[0].site());
    let grew = |name: &String| writer.is_some_and(|w| w.get(name).is_some_and(|n| *n > 0.0));
    if downgrade_counters(lab, mode).iter().any(grew) {
        measurement.flags.push(Flag::Downgraded);
    }
    let late = measurement.late_packets as f64;
    if late > LATE_SHARE_MAX * measurement.packets as f64 {
        measurement.flags.push(Flag::LateLinks);
    }
}
