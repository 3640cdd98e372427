//! How long a study will take, cell by cell.

use std::collections::BTreeSet;
use std::time::Duration;

use super::injected::injected;
use super::knee::Offered;
use super::{Cell, LabPlan, Plan, labs};
use crate::study::mode::Family;
use crate::study::network::HANDSHAKES;
use crate::study::{Apply, Mode, MysqlslapLoad, Study, Workload, limits};

/// What a cell takes beside its windows: setting the links, connecting, lag, reading counters. Like
/// those below, rounded from runs on two CPUs.
const CELL_OVERHEAD: Duration = Duration::from_millis(400);
/// Echoes on each link and flushes of each disk, one after another, before and after each window.
const PROBES: u32 = 2 * 11;
/// Heartbeats of a paced cell. Each is a commit on the writer and its way to the last replica,
const PACED_BEATS: u32 = 20;
/// which take so many of the longest round trips and of the slowest flushes,
const BEAT_ROUND_TRIPS: u32 = 2;
const BEAT_FLUSHES: u32 = 5;
/// and so long besides, with the pause that follows.
const BEAT: Duration = Duration::from_millis(20);
/// What more than one connection adds to it in modes whose replicas can fall behind.
const BACKLOG: Duration = Duration::from_millis(2_200);
/// On emulated disks the replicas of a closed loop catch up for so many times its load, times the
/// root of its connections: on two CPUs 3 to 8 times with 16 connections, 7 to 16 times with 64.
const CATCHING_UP: f64 = 1.1;
/// Appliers that rested under load have so many times its time to do then: one alone more, sixteen
/// less.
pub const APPLYING: u32 = 3;
/// At an offered rate the warm-up goes on until latency is level, which is looked at once in this
/// time,
pub const SETTLE_STEP: Duration = Duration::from_millis(100);
/// at least so often.
pub const SETTLE_STEPS: u32 = 8;
/// What it takes to form a lab, whatever its size: joining, schema and rows.
const LAB_FORMING: Duration = Duration::from_secs(2);
/// What each further schema adds to it.
const SCHEMA_LOADING: Duration = Duration::from_secs(1);
/// What each node adds: copying its data directory, starting, recovery.
const NODE_STARTING: Duration = Duration::from_secs(2);
/// The longest look at idle servers,
const IDLE_WATCH: Duration = Duration::from_secs(3);
/// which in a study of short windows is so many of these.
const IDLE_WATCH_WINDOWS: u32 = 5;
/// What starting a lab anew with other variables takes, and what each of its servers adds.
const LAB_RESTARTING: Duration = Duration::from_millis(500);
const NODE_RESTARTING: Duration = Duration::from_millis(1_500);
/// Members of a group take so much longer: 6 s to leave it, the rest to find each other again.
const GROUP_REFORMING: Duration = Duration::from_secs(8);
/// A row loaded before an iteration of mysqlslap, by a single connection in one transaction,
const LOADED_ROW: Duration = Duration::from_micros(500);
/// one of its queries, with many connections at work,
const QUERY: Duration = Duration::from_micros(800);
/// and each row that one of its scans sends back.
const SCANNED_ROW: Duration = Duration::from_nanos(4_000);
/// What emulated disks add to a cell, whatever a flush takes: setting them, probing them before and
/// after.
const DISK_OVERHEAD: Duration = Duration::from_millis(300);
/// What its emulated disk adds to a node: an image, a file system, a slower copy of its data.
const DISK_MAKING: Duration = Duration::from_millis(1_500);

/// What is offered on the way to a knee, for want of knowing.
const ON_THE_WAY: Offered = Offered {
    rate_per_s: 1_000,
    is_fine: true,
};

/// How long a study will take, from the first lab to the last cell, with servers already fetched.
/// mysqlslap's manner runs a number of queries, not a window: see `LOADED_ROW` and below it. Of
/// the search for a knee nobody knows beforehand how many measurements it makes, and at which
/// rates: it has [`limits::KNEE_TRIES`] here, in each round.
pub fn estimate(study: &Study, plan: &Plan) -> Duration {
    let labs = labs(study);
    let rounds = plan.rounds.iter().map(|round| {
        let modes: BTreeSet<usize> = round.iter().map(|&cell| plan.cells[cell].mode).collect();
        let of_lab = |lab: &LabPlan| restarting(study, lab, &modes);
        labs.iter().map(of_lab).sum::<Duration>()
    });
    let measuring: Duration = steps(study, plan).iter().sum();
    forming(study) + measuring + rounds.sum::<Duration>()
}

/// How long it takes until the first cell of a study can be measured.
pub fn forming(study: &Study) -> Duration {
    let on_disk = match study.images {
        Some(_) => DISK_MAKING,
        None => Duration::ZERO,
    };
    let is_measured = study.sweeps.iter().any(|sweep| !sweep.workloads.is_empty());
    let idle = if is_measured {
        idle_watch(study)
    } else {
        Duration::ZERO
    };
    let of_lab = |lab: &LabPlan| {
        let looks = started(lab).min(1) * (1 + lab.variants(study).count() as u32);
        let loading = SCHEMA_LOADING * (lab.schemas(study) - 1);
        LAB_FORMING + loading + idle * looks + (NODE_STARTING + on_disk) * started(lab)
    };
    labs(study).iter().map(of_lab).sum()
}

/// How long each measurement will take, in their order, and each trial of a fault after them.
pub fn steps(study: &Study, plan: &Plan) -> Vec<Duration> {
    let turns = plan.rounds.iter().flatten();
    let measuring = turns.flat_map(|&index| {
        let cell = &plan.cells[index];
        let times = if cell.is_search() {
            limits::KNEE_TRIES
        } else {
            1
        };
        std::iter::repeat_n(turn_time(study, cell, None), times as usize)
    });
    measuring.chain(injected(study, plan.part)).collect()
}

/// How long one measurement of a cell will take, where its rate may be chosen while the study
/// runs.
pub fn turn_time(study: &Study, cell: &Cell, offered: Option<Offered>) -> Duration {
    let on_the_way = cell.knee.map(|_| ON_THE_WAY);
    match offered.or(on_the_way) {
        Some(offered) => cell_time(study, &cell.at(study, offered)),
        None => cell_time(study, cell),
    }
}

/// How long the servers of a lab are watched without load, for their idle CPU rates.
pub fn idle_watch(study: &Study) -> Duration {
    IDLE_WATCH.min(study.measure * IDLE_WATCH_WINDOWS)
}

/// How long one measurement of a cell will take.
pub fn cell_time(study: &Study, cell: &Cell) -> Duration {
    let on_disks = match study.images {
        Some(_) => DISK_OVERHEAD,
        None => Duration::ZERO,
    };
    let has_beats = cell.pace.is_some() && !study.modes[cell.mode].mode.has_one_server();
    let paced = if has_beats {
        beats_time(cell)
    } else {
        Duration::ZERO
    };
    let beside = shaking_hands(study, cell) + cell.watch_after.unwrap_or_default() + paced;
    let beside = beside + probes_time(study, cell);
    load_time(study, cell) + backlog(study, cell) + CELL_OVERHEAD + on_disks + beside
}

/// The heartbeats of a paced cell.
fn beats_time(cell: &Cell) -> Duration {
    let rtts = cell.distances.pairs.iter().map(|(_, _, rtt)| *rtt);
    let waits = rtts.max().unwrap_or_default() * BEAT_ROUND_TRIPS;
    (BEAT + waits + slowest_flush(cell) * BEAT_FLUSHES) * PACED_BEATS
}

/// Round trips between all sites, and flushes of all disks of the cell's mode.
fn probes_time(study: &Study, cell: &Cell) -> Duration {
    let spec = &study.modes[cell.mode];
    let disks = if spec.mode.has_one_server() {
        1
    } else {
        spec.nodes
    };
    let rtts: Duration = cell.distances.pairs.iter().map(|(_, _, rtt)| *rtt).sum();
    (rtts + slowest_flush(cell) * disks) * PROBES
}

fn slowest_flush(cell: &Cell) -> Duration {
    let disks = cell.disks.as_ref();
    let all = disks.map(|disks| disks.by_site.values().chain([&disks.all]));
    let flushes = all.into_iter().flatten().map(|disk| disk.flush.median());
    flushes.max().unwrap_or_default()
}

/// What it takes a lab in a round of these modes to give its servers each variant's variables; as
/// if none of these could be set under running servers.
fn restarting(study: &Study, lab: &LabPlan, modes: &BTreeSet<usize>) -> Duration {
    let servers = if lab.family.copies_volume() {
        1
    } else {
        lab.nodes
    };
    let together = match lab.family {
        Family::Group => GROUP_REFORMING,
        _ => Duration::ZERO,
    };
    let once = LAB_RESTARTING + NODE_RESTARTING * servers + together;
    match lab.variants(study).count() {
        0 => Duration::ZERO,
        _ => once * lab.modes.iter().filter(|mode| modes.contains(mode)).count() as u32,
    }
}

/// Warm-up and window, or all iterations of mysqlslap with their reloads.
fn load_time(study: &Study, cell: &Cell) -> Duration {
    let Workload::Mysqlslap {
        load,
        write_number,
        number_of_queries,
        iterations,
        autoincrement,
        ..
    } = &cell.workload
    else {
        let settling = match cell.rate_per_s {
            Some(_) => SETTLE_STEP * SETTLE_STEPS,
            None => Duration::ZERO,
        };
        return study.warmup + settling + cell.window(study);
    };
    let query = match load {
        MysqlslapLoad::Read => SCANNED_ROW * *write_number,
        MysqlslapLoad::Mixed if !autoincrement => QUERY + SCANNED_ROW * *write_number / 2,
        _ => QUERY,
    };
    (LOADED_ROW * *write_number + query * *number_of_queries) * *iterations
}

/// TCP handshakes before and after a window, one after another.
fn shaking_hands(study: &Study, cell: &Cell) -> Duration {
    let writer = study.sites.first().filter(|_| study.handshakes);
    let rtt = writer.map(|writer| {
        let between = cell.distances.rtt(&cell.client_site, writer);
        between.unwrap_or(study.network.rtt_within_site)
    });
    rtt.unwrap_or_default() * 2 * HANDSHAKES as u32
}

/// Servers that somebody else runs need not be started.
fn started(lab: &LabPlan) -> u32 {
    match lab.family {
        Family::Endpoint => 0,
        _ => lab.nodes,
    }
}

/// Heartbeats that wait in vain, and catching up.
fn backlog(study: &Study, cell: &Cell) -> Duration {
    if cell.apply == Apply::After {
        return on_replicas(cell, load_time(study, cell) * APPLYING);
    }
    let mode = &study.modes[cell.mode].mode;
    if cell.connections <= 1 || mode.has_one_server() {
        return Duration::ZERO;
    }
    let is_slowed = cell.rate_per_s.is_some() || cell.pace.is_some() || *mode == Mode::Galera;
    let has_window = !matches!(cell.workload, Workload::Mysqlslap { .. });
    let has_disks = study.images.is_some();
    if is_slowed || !has_window || !has_disks || cell.workload.only_reads() {
        return BACKLOG;
    }
    let share = CATCHING_UP * f64::from(cell.connections).sqrt();
    BACKLOG.max(on_replicas(cell, load_time(study, cell).mul_f64(share)))
}

/// What takes a replica so long at full speed takes longer on slower CPUs.
fn on_replicas(cell: &Cell, span: Duration) -> Duration {
    match cell.cpu_speed.is_full() {
        true => span,
        false => span.div_f64(cell.cpu_speed.replicas),
    }
}
