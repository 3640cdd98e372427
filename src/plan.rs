//! Cells in seeded, interleaved rounds, and how long they will take.

mod cell;
pub mod knee;
mod labs;
mod placement;
mod point;
mod schedule;

use std::collections::BTreeSet;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::study::mode::Family;
use crate::study::network::HANDSHAKES;
use crate::study::{
    Apply, Disks, Knee, Mode, ModeSpec, MysqlslapLoad, Study, Sweep, Workload, limits, slug, units,
};
use knee::{Offered, Part, Seek};

pub use cell::Cell;
pub use labs::{LabPlan, labs};
pub use placement::{Cpu, Placement, place};
pub use point::{Apart, Axis, Point, Rest, Value};
pub use schedule::{DRIVER_FULL_CPUS, Outcome, Rounds, Schedule, Turn};

/// What a cell takes beside its windows: setting the links, connecting, lag, reading counters. Like
/// those below, rounded from runs on two CPUs.
pub const CELL_OVERHEAD: Duration = Duration::from_millis(400);
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
pub const BACKLOG: Duration = Duration::from_millis(2_200);
/// Replicas of a closed loop catch up for so many times its load, times the root of its
/// connections: on two CPUs 5 to 8 times with 16 connections, 6 to 16 times with 64.
const CATCHING_UP: f64 = 1.3;
/// Appliers that rested under load have so many times its time to do then: one alone more, sixteen
/// less.
const APPLYING: u32 = 3;
/// A load, a loss of power and a recovery.
pub const POWER_CUT: Duration = Duration::from_secs(6);
/// The same where nodes of a cluster are lost, and join again.
pub const CLUSTER_CUT: Duration = Duration::from_secs(20);
/// At an offered rate the warm-up goes on until latency is level, which is looked at once in this
/// time,
pub const SETTLE_STEP: Duration = Duration::from_millis(100);
/// at least so often.
pub const SETTLE_STEPS: u32 = 8;
/// What it takes to form a lab, whatever its size: joining, schema and rows.
pub const LAB_FORMING: Duration = Duration::from_secs(2);
/// What each node adds: copying its data directory, starting, recovery.
pub const NODE_STARTING: Duration = Duration::from_secs(2);
/// The longest look at idle servers,
const IDLE_WATCH: Duration = Duration::from_secs(3);
/// which in a study of short windows is so many of these.
const IDLE_WATCH_WINDOWS: u32 = 5;
/// What starting a lab anew with other variables takes, and what each of its servers adds.
pub const LAB_RESTARTING: Duration = Duration::from_millis(500);
pub const NODE_RESTARTING: Duration = Duration::from_millis(1_500);
/// A row loaded before an iteration of mysqlslap, by a single connection,
pub const LOADED_ROW: Duration = Duration::from_micros(1_200);
/// one of its queries, with many connections at work,
pub const QUERY: Duration = Duration::from_micros(800);
/// and each row that one of its scans sends back.
pub const SCANNED_ROW: Duration = Duration::from_nanos(4_000);
/// What emulated disks add to a cell, whatever a flush takes: setting them, probing them before and
/// after.
pub const DISK_OVERHEAD: Duration = Duration::from_millis(300);
/// What its emulated disk adds to a node: an image, a file system, a slower copy of its data.
pub const DISK_MAKING: Duration = Duration::from_millis(1_500);

/// What is offered on the way to a knee, for want of knowing.
const ON_THE_WAY: Offered = Offered {
    rate_per_s: 1_000,
    is_fine: true,
};

/// What is measured, in which order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// In the order of the tables: by sweep, workload, connections, rate, client site, distances,
    /// disks, and last by mode.
    pub cells: Vec<Cell>,
    /// Each round holds the index of every cell once, but for cells of fewer rounds.
    pub rounds: Vec<Vec<usize>>,
}

/// The cells of a study, and its rounds in the order that its seed gives.
pub fn plan(study: &Study) -> Plan {
    let cells = cells(study);
    let round = |number| {
        let mut round = shuffled_round(&cells, study.modes.len(), study.seed, number);
        round.retain(|&index| number < cells[index].rounds(study));
        round
    };
    let rounds = (0..study.rounds).map(round).collect();
    Plan { cells, rounds }
}

/// How long a study will take, from the first lab to the last cell, with servers already fetched.
/// mysqlslap's manner runs a number of queries, not a window: see [`LOADED_ROW`] and below it. Of
/// the search for a knee nobody knows beforehand how many measurements it makes, and at which
/// rates: it has [`limits::KNEE_TRIES`] here, in each round.
pub fn estimate(study: &Study, plan: &Plan) -> Duration {
    let restarting: Duration = labs(study).iter().map(|lab| restarting(study, lab)).sum();
    let measuring: Duration = steps(study, plan).iter().sum();
    forming(study) + measuring + restarting * study.rounds
}

/// How long it takes until the first cell of a study can be measured.
pub fn forming(study: &Study) -> Duration {
    let on_disk = match study.images {
        Some(_) => DISK_MAKING,
        None => Duration::ZERO,
    };
    let idle = idle_watch(study);
    let of_lab = |lab: &LabPlan| {
        let looks = started(lab).min(1) * (1 + lab.variants(study).count() as u32);
        LAB_FORMING + idle * looks + (NODE_STARTING + on_disk) * started(lab)
    };
    labs(study).iter().map(of_lab).sum()
}

/// How long each measurement will take, in their order, and each power cut after them.
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
    measuring.chain(trials(study)).collect()
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

/// How long each power cut will take, in their order.
pub fn trials(study: &Study) -> Vec<Duration> {
    let trials = study.modes.iter().flat_map(|spec| {
        let trials = study.faults_of(spec).len() * study.power_cuts as usize;
        std::iter::repeat_n(trial_time(spec), trials)
    });
    trials.collect()
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

/// What it takes a lab in each round to give its servers each variant's variables; as if none of
/// these could be set under running servers.
fn restarting(study: &Study, lab: &LabPlan) -> Duration {
    let servers = if lab.family.copies_volume() {
        1
    } else {
        lab.nodes
    };
    let once = LAB_RESTARTING + NODE_RESTARTING * servers;
    match lab.variants(study).count() {
        0 => Duration::ZERO,
        _ => once * lab.modes.len() as u32,
    }
}

/// Warm-up and window, or all iterations of mysqlslap with their reloads.
fn load_time(study: &Study, cell: &Cell) -> Duration {
    let Workload::Mysqlslap {
        load,
        write_number,
        number_of_queries,
        iterations,
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
        MysqlslapLoad::Mixed => QUERY + SCANNED_ROW * *write_number / 2,
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

/// A load, a fault and what follows.
fn trial_time(spec: &ModeSpec) -> Duration {
    match spec.mode {
        Mode::Galera => CLUSTER_CUT,
        _ => POWER_CUT,
    }
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
        return load_time(study, cell) * APPLYING;
    }
    let mode = &study.modes[cell.mode].mode;
    if cell.connections <= 1 || mode.has_one_server() {
        return Duration::ZERO;
    }
    let is_slowed = cell.rate_per_s.is_some() || cell.pace.is_some() || *mode == Mode::Galera;
    let has_window = !matches!(cell.workload, Workload::Mysqlslap { .. });
    if is_slowed || !has_window || cell.workload.only_reads() {
        return BACKLOG;
    }
    let share = CATCHING_UP * f64::from(cell.connections).sqrt();
    BACKLOG + load_time(study, cell).mul_f64(share)
}

fn cells(study: &Study) -> Vec<Cell> {
    let (mut cells, mut points) = (Vec::new(), Vec::new());
    let mut ids = BTreeSet::new();
    for cell in study.sweeps.iter().flat_map(|sweep| cells_of(study, sweep)) {
        let point = Point::of(study, &cell);
        // A point that two sweeps ask for is measured once.
        if points.contains(&point) {
            continue;
        }
        points.push(point);
        let id = unique(&cell.id, &ids);
        ids.insert(id.clone());
        cells.push(Cell { id, ..cell });
    }
    cells
}

fn cells_of(study: &Study, sweep: &Sweep) -> Vec<Cell> {
    let mut cells = Vec::new();
    for workload in &sweep.workloads {
        for Pressure {
            connections,
            rate_per_s,
            pace,
            knee,
        } in pressures(sweep)
        {
            for client_site in &sweep.client_sites {
                for distances in &sweep.distances {
                    for disks in points_of(&sweep.disks) {
                        let cell = Cell {
                            id: String::new(),
                            mode: 0,
                            workload: workload.clone(),
                            connections,
                            rate_per_s,
                            pace,
                            knee,
                            distances: distances.clone(),
                            disks,
                            client_site: client_site.clone(),
                            measure: sweep.measure,
                            rounds: sweep.rounds,
                            watch_after: sweep.watch_after,
                            apply: sweep.apply,
                        };
                        cells.extend(of_modes(study, sweep, &cell));
                    }
                }
            }
        }
    }
    cells
}

/// How hard and how often connections ask.
struct Pressure {
    connections: u32,
    rate_per_s: Option<u32>,
    pace: Option<Duration>,
    knee: Option<Seek>,
}

/// Every number of connections with every rate and every pace, or with the search for a knee and
/// what is measured below it; without them closed loops that do not pause.
fn pressures(sweep: &Sweep) -> Vec<Pressure> {
    let seek = |knee: Knee| {
        Part::ALL.map(|part| Seek {
            p99: knee.p99,
            part,
        })
    };
    let seeks: Vec<Seek> = sweep.knee.into_iter().flat_map(seek).collect();
    let mut all = Vec::new();
    for &connections in &sweep.connections {
        for rate_per_s in points_of(&sweep.rates_per_s) {
            for pace in points_of(&sweep.paces) {
                all.extend(points_of(&seeks).into_iter().map(|knee| Pressure {
                    connections,
                    rate_per_s,
                    pace,
                    knee,
                }));
            }
        }
    }
    all
}

/// All points of an axis that a sweep need not have: one without it where it has not.
fn points_of<T: Clone>(axis: &[T]) -> Vec<Option<T>> {
    match axis {
        [] => vec![None],
        _ => axis.iter().cloned().map(Some).collect(),
    }
}

/// A point as a cell of each mode that the sweep has.
fn of_modes(study: &Study, sweep: &Sweep, point: &Cell) -> Vec<Cell> {
    let cell = |(mode, spec): (usize, &ModeSpec)| Cell {
        id: id(&spec.label, point),
        mode,
        ..point.clone()
    };
    let modes = study.modes.iter().enumerate();
    modes
        .filter(|(_, spec)| sweep.has_mode(&spec.label))
        .map(cell)
        .collect()
}

fn id(label: &str, point: &Cell) -> String {
    let distances = &point.distances;
    let equal = distances
        .equal_rtt()
        .filter(|rtt| distances.label == units::show(*rtt));
    let apart = equal.map_or_else(|| slug(&distances.label), units::show_compact);
    let load = slug(&point.workload.label_in_full());
    let disks = point.disks.as_ref().map(disks_part).unwrap_or_default();
    let rate = point.rate_per_s.map(|rate| format!("-{rate}ps"));
    let pace = point.pace.map(units::show_compact);
    let pace = pace.map(|pace| format!("-paced{pace}"));
    let knee = point.knee.map(|seek| {
        let of = match seek.part {
            Part::Search => "",
            Part::Below => "below-",
        };
        format!("-{of}knee{}", units::show_compact(seek.p99))
    });
    let span = |word: &str, span: Option<Duration>| {
        let span = span.map(units::show_compact);
        span.map(|span| format!("/{word}-{span}"))
            .unwrap_or_default()
    };
    let window = span("for", point.measure);
    let watched = span("watched-after", point.watch_after);
    let applied = match point.apply {
        Apply::Meanwhile => "",
        Apply::After => "/applied-after",
    };
    format!(
        "{}/{load}/{}c{}{}{}/{}/{apart}{disks}{window}{watched}{applied}",
        slug(label),
        point.connections,
        rate.unwrap_or_default(),
        pace.unwrap_or_default(),
        knee.unwrap_or_default(),
        point.client_site
    )
}

/// `/flush1ms`, where that is all that the disks do.
fn disks_part(disks: &Disks) -> String {
    let only = disks
        .only_flush()
        .filter(|flush| disks.label == format!("flush {}", units::show(*flush)));
    let part = only.map(|flush| format!("flush{}", units::show_compact(flush)));
    format!("/{}", part.unwrap_or_else(|| slug(&disks.label)))
}

/// `id`, or with a number if it is taken: labels that a study file may not hold (slugs alike) can
/// still come from elsewhere.
fn unique(id: &str, taken: &BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{id}~{number}"));
    let mut candidates = std::iter::once(id.to_owned()).chain(numbered);
    candidates
        .find(|candidate| !taken.contains(candidate))
        .unwrap_or_default()
}

/// Modes as blocks in random order, cells shuffled within a block.
fn shuffled_round(cells: &[Cell], modes: usize, seed: u64, number: u32) -> Vec<usize> {
    let mut random = generator(seed, number);
    let mut order: Vec<usize> = (0..modes).collect();
    shuffle(&mut order, &mut random);
    let mut round = Vec::with_capacity(cells.len());
    for mode in order {
        let mut block: Vec<usize> = (0..cells.len())
            .filter(|cell| cells[*cell].mode == mode)
            .collect();
        shuffle(&mut block, &mut random);
        round.extend(block);
    }
    round
}

/// One stream of numbers per round, so that adding a round changes none before it.
fn generator(seed: u64, round: u32) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut random = ChaCha8Rng::from_seed(key);
    random.set_stream(u64::from(round));
    random
}

/// Fisher and Yates's shuffle (Knuth, TAOCP 3.4.2, algorithm P), written out because a crate's own
/// may draw differently in its next version, and a seed must mean the same order for ever.
fn shuffle(items: &mut [usize], random: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, random) as usize);
    }
}

/// A number from 0 to `bound` − 1, each equally likely: draws that would favour some are refused.
fn below(bound: u64, random: &mut ChaCha8Rng) -> u64 {
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = random.next_u64();
        if drawn < limit {
            return drawn % bound;
        }
    }
}

#[cfg(test)]
mod tests;
