//! One cell, measured once.

use std::net::SocketAddrV4;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::activity;
use super::disks::{self, CopiesWatch};
use super::rig::Rig;
use super::window::{Accounts, read_status};
use crate::error::Result;
use crate::lab::handshake::rtts_us;
use crate::lab::mode::CATCH_UP_LIMIT;
use crate::lab::network::probe_rtt_us;
use crate::lab::node::{PORT, Place, pause};
use crate::load::{Snapshot, in_a_row, mark_all, start_all, stop_all};
use crate::observe::{lag, status};
use crate::plan::Cell;
use crate::record::{DiskGot, Flag, Handshakes, Measurement, RttGot, counter};
use crate::study::{Mode, Study, Workload};

/// A cell is void if more than this share of its packets left the switch late.
const LATE_SHARE_MAX: f64 = 0.05;

/// Measures one cell; its mode is in force already.
pub fn measure(
    rig: &mut Rig,
    study: &Study,
    cell: &Cell,
    index: usize,
    round: u32,
) -> Result<Measurement> {
    rig.network.set_distances(&cell.distances)?;
    rig.raise_front(study, cell)?;
    let flags = level(rig, study, cell)?;
    let mut measurement = Measurement {
        round,
        cell: index,
        started_unix_ms: unix_ms(),
        rtts: probe_sites(rig, study, cell)?,
        disks_got: set_disks(rig, study, cell)?,
        in_force: rig.lab(cell.mode).in_force(),
        handshakes: shake_hands(rig, study, cell)?,
        flags,
        ..Measurement::default()
    };
    measurement.cpu.idle_us_per_s = rig.idle_us_per_s(cell.mode);
    let copies = CopiesWatch::begin(rig.lab(cell.mode))?;
    let driven = match cell.workload {
        Workload::Mysqlslap { .. } => iterate(rig, study, cell, &mut measurement),
        _ => drive(rig, study, cell, &mut measurement),
    };
    // Where something has died, its own last words tell more than those of whoever missed it.
    rig.check_alive(cell)?;
    driven?;
    if cell.watch_after.is_some() {
        let flags = wait_for_replicas(rig, study, cell)?;
        measurement.flags.extend(flags);
    }
    activity::watch_after(rig, study, cell, &mut measurement)?;
    if let Some(copies) = copies {
        measurement.degraded = copies.end(rig.lab(cell.mode))?;
    }
    let after = probe_sites(rig, study, cell)?;
    for (rtt, after) in measurement.rtts.iter_mut().zip(after) {
        rtt.rtt_us_after = after.rtt_us_before;
    }
    let again = shake_hands(rig, study, cell)?;
    for (made, after) in measurement.handshakes.iter_mut().zip(again) {
        made.rtts_us.extend(after.rtts_us);
    }
    disks::probe_again(rig.lab(cell.mode), &mut measurement.disks_got)?;
    add_flags(rig, study, cell, &mut measurement);
    Ok(measurement)
}

/// Makes the disks what the cell asks for, where they are emulated, and probes them.
fn set_disks(rig: &mut Rig, study: &Study, cell: &Cell) -> Result<Vec<DiskGot>> {
    let Some(disks) = &cell.disks else {
        return Ok(vec![]);
    };
    let lab = rig.lab(cell.mode);
    let members = lab.members(&study.modes[cell.mode]);
    disks::set_and_probe(lab, disks, members)
}

/// Fills the tables anew where the workload uses them up, and waits until replicas have these and
/// all that an earlier cell left them. The doubt that remains where they do not in time.
fn level(rig: &mut Rig, study: &Study, cell: &Cell) -> Result<Vec<Flag>> {
    rig.renew_tables(cell.mode, &cell.workload, study.seed)?;
    wait_for_replicas(rig, study, cell)
}

/// Where clients write to all nodes, the first may be behind another, too.
fn wait_for_replicas(rig: &mut Rig, study: &Study, cell: &Cell) -> Result<Vec<Flag>> {
    let spec = &study.modes[cell.mode];
    let members = rig.lab(cell.mode).members(spec);
    let followers = match spec.spread {
        true => members,
        false => replicas(rig, study, cell),
    };
    for i in followers {
        if !rig.lab(cell.mode).catch_up(i, CATCH_UP_LIMIT)? {
            return Ok(vec![Flag::Behind]);
        }
    }
    Ok(vec![])
}

pub(super) fn unix_ms() -> u64 {
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
    into.load_s += rest.window_s;
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
    wait(cell.window(study))?;
    let snapshot = mark_all(&mut rig.drivers[drivers])?;
    let end = accounts(rig, cell)?;
    let status_after = read_status(rig.lab(cell.mode))?;
    into.load_s = warm.window_s - warm.connected_s + snapshot.window_s;
    take(snapshot, into);
    let replicas = replicas(rig, study, cell);
    let lab = rig.lab(cell.mode);
    begin.until(&end, lab, replicas.clone(), into);
    take_status(&status_before, &status_after, lab.nodes[0].name(), into);
    into.lag = lag::measure(lab, replicas, cell.window(study))?;
    Ok(())
}

fn accounts(rig: &mut Rig, cell: &Cell) -> Result<Accounts> {
    rig.fronts.check_alive(cell)?;
    let front_us = rig.fronts.cpu_us(cell);
    let index = rig.lab_index(cell.mode);
    Accounts::now(rig.lab_at(index), &rig.network, &rig.drivers, front_us)
}

/// mysqlslap's manner: a number of iterations. Each reload before an iteration is left out of all
/// accounts, as it is out of the tool's clock.
fn iterate(rig: &mut Rig, study: &Study, cell: &Cell, into: &mut Measurement) -> Result<()> {
    let Workload::Mysqlslap {
        iterations,
        catch_up,
        ..
    } = cell.workload
    else {
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
        // Whoever connects to another node must find the table there.
        if catch_up || study.modes[cell.mode].spread {
            into.flags.extend(wait_for_replicas(rig, study, cell)?);
        }
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
    take_status(&status_before, &status_after, lab.nodes[0].name(), into);
    into.lag = lag::measure(lab, replicas.clone(), cell.window(study))?;
    lag::catch_up(lab, replicas, &mut into.lag)
}

/// Moves counters forward by what happened between two readings.
pub(super) fn leave_out(counters: &mut NodeStatus, from: &NodeStatus, to: &NodeStatus) {
    for (node, counters) in counters {
        for (name, value) in counters {
            let at = |status: &NodeStatus| status.get(node).and_then(|s| s.get(name)).copied();
            *value += at(to).unwrap_or(0.0) - at(from).unwrap_or(0.0);
        }
    }
}

/// Sleeps in steps, so that a request to stop is heard.
pub(super) fn wait(span: Duration) -> Result<()> {
    let start = Instant::now();
    loop {
        let left = span.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        pause(left.min(Duration::from_millis(100)))?;
    }
}

pub(super) fn take(snapshot: Snapshot, into: &mut Measurement) {
    into.window_s = snapshot.window_s;
    into.commits = snapshot.commits;
    into.unchanged = snapshot.unchanged;
    into.statements = snapshot.statements;
    into.errors = snapshot.errors;
    into.latency_us = snapshot.latency_us;
    into.service_us = snapshot.service_us;
    (into.due, into.backlog) = (snapshot.due, snapshot.backlog);
    into.statement_latency_us = snapshot.statement_latency_us;
    into.timeline.extend(snapshot.timeline);
}

pub(super) type NodeStatus = std::collections::BTreeMap<String, status::Counters>;

pub(super) fn take_status(
    before: &NodeStatus,
    after: &NodeStatus,
    writer: &str,
    into: &mut Measurement,
) {
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

/// Round trips from the client to what it connects to, if the study asks for them.
fn shake_hands(rig: &mut Rig, study: &Study, cell: &Cell) -> Result<Vec<Handshakes>> {
    if !study.handshakes {
        return Ok(vec![]);
    }
    let (node, target) = match rig.fronts.address(cell) {
        Some(front) => ("front", front),
        None => (
            "writer",
            SocketAddrV4::new(rig.lab(cell.mode).nodes[0].place.address, PORT),
        ),
    };
    let client = &rig.network.clients[&cell.client_site];
    let made = client.netns.run(|| rtts_us(target.into(), node))?;
    Ok(vec![Handshakes {
        node: node.to_owned(),
        rtts_us: made?,
    }])
}

fn add_flags(rig: &mut Rig, study: &Study, cell: &Cell, measurement: &mut Measurement) {
    // Each of several waits may have been in vain.
    measurement.flags.dedup();
    let mode = &study.modes[cell.mode].mode;
    let writer = measurement.status.get(rig.lab(cell.mode).nodes[0].name());
    let grew = |name: &&str| writer.is_some_and(|w| w.get(*name).is_some_and(|n| *n > 0.0));
    let fell_back = [
        counter::SEMISYNC_UNACKNOWLEDGED,
        counter::SEMISYNC_FALL_BACKS,
    ];
    if matches!(mode, Mode::Semisync { .. }) && fell_back.iter().any(grew) {
        measurement.flags.push(Flag::Downgraded);
    }
    let late = measurement.late_packets as f64;
    if late > LATE_SHARE_MAX * measurement.packets as f64 {
        measurement.flags.push(Flag::LateLinks);
    }
}
