//! Cells in seeded, interleaved rounds, and how long they will take.

mod cell;
mod injected;
pub mod knee;
mod labs;
mod part_of;
mod parts;
mod placement;
mod point;
mod schedule;
mod time;

use std::collections::BTreeSet;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::study::{Apply, CpuSpeed, Disks, Knee, ModeSpec, Study, Sweep, slug, units};
use knee::{Part, Seek};

pub use cell::Cell;
pub use injected::{injected, trials_in};
pub use labs::{LabPlan, labs};
pub use part_of::{PartOf, own_numbers};
pub use parts::{StudyPart, parts};
pub use placement::{Cpu, Placement, Whose, place};
pub use point::{Apart, Axis, Point, Rest, Value};
pub use schedule::{DRIVER_FULL_CPUS, Outcome, Rounds, Schedule, Turn};
pub use time::{
    SETTLE_STEP, SETTLE_STEPS, cell_time, estimate, forming, idle_watch, steps, turn_time,
};

/// What is measured, in which order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// In the order of the tables: by sweep, workload, connections, rate, client site, distances,
    /// disks, speed of CPUs, schemas, and last by mode.
    pub cells: Vec<Cell>,
    /// Each round holds the index of every cell once, but for cells of fewer rounds. Of a part,
    /// rounds of other parts hold none.
    pub rounds: Vec<Vec<usize>>,
    /// What of the study it is, if not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartOf>,
}

impl Plan {
    /// What a part has of it.
    pub fn of_part(mut self, part: Option<PartOf>) -> Plan {
        for (number, round) in (1..).zip(&mut self.rounds) {
            if part.is_some_and(|part| !part.has(number)) {
                round.clear();
            }
        }
        self.part = part;
        self
    }

    /// How many rounds measure anything.
    pub fn rounds_measured(&self) -> u32 {
        let rounds = self.rounds.iter().filter(|round| !round.is_empty());
        rounds.count() as u32
    }
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
    Plan {
        cells,
        rounds,
        part: None,
    }
}

fn cells(study: &Study) -> Vec<Cell> {
    let (mut cells, mut points) = (Vec::new(), Vec::new());
    let mut ids = BTreeSet::new();
    let mut is_new = true;
    for cell in study.sweeps.iter().flat_map(|sweep| cells_of(study, sweep)) {
        // A point that two sweeps ask for is measured once, and so is what is moved from it.
        if cell.moved.is_none() {
            let point = Point::of(study, &cell);
            is_new = !points.contains(&point);
            points.push(point);
        }
        if !is_new {
            continue;
        }
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
                    for ground in grounds(sweep) {
                        let cell = Cell {
                            id: String::new(),
                            mode: 0,
                            workload: workload.clone(),
                            connections,
                            rate_per_s,
                            pace,
                            knee,
                            distances: distances.clone(),
                            disks: ground.disks,
                            client_site: client_site.clone(),
                            moved: sweep.moved,
                            measure: sweep.measure,
                            rounds: sweep.rounds,
                            watch_after: sweep.watch_after,
                            apply: sweep.apply,
                            cpu_speed: ground.cpu_speed,
                            schemas: ground.schemas,
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

/// What servers stand on, and how their tables lie.
struct Ground {
    disks: Option<Disks>,
    cpu_speed: CpuSpeed,
    schemas: u32,
}

/// Every disk with every speed of CPUs and every number of schemas.
fn grounds(sweep: &Sweep) -> Vec<Ground> {
    let mut all = Vec::new();
    for disks in points_of(&sweep.disks) {
        for cpu_speed in points_of(&sweep.cpu_speeds) {
            all.extend(points_of(&sweep.schemas).into_iter().map(|schemas| Ground {
                disks: disks.clone(),
                cpu_speed: cpu_speed.unwrap_or_default(),
                schemas: schemas.unwrap_or(1),
            }));
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
        id: id(&spec.label, point) + &moved_part(point),
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
    let cpus = cpus_part(point.cpu_speed);
    let schemas = match point.schemas {
        0 | 1 => String::new(),
        several => format!("/{several}-schemas"),
    };
    format!(
        "{}/{load}/{}c{}{}{}/{}/{apart}{disks}{window}{watched}{applied}{cpus}{schemas}",
        slug(label),
        point.connections,
        rate.unwrap_or_default(),
        pace.unwrap_or_default(),
        knee.unwrap_or_default(),
        point.client_site
    )
}

/// `/moved-distance`, where something is.
fn moved_part(point: &Cell) -> String {
    let moved = point.moved.map(|moved| moved.thing.word());
    moved.map_or_else(String::new, |word| format!("/moved-{word}"))
}

/// `/flush1ms`, where that is all that the disks do.
fn disks_part(disks: &Disks) -> String {
    let only = disks
        .only_flush()
        .filter(|flush| disks.label == format!("flush {}", units::show(*flush)));
    let part = only.map(|flush| format!("flush{}", units::show_compact(flush)));
    format!("/{}", part.unwrap_or_else(|| slug(&disks.label)))
}

/// `/cpus80`, where all are alike; `/cpus80-100-50` of writer, replicas and rest.
fn cpus_part(speed: CpuSpeed) -> String {
    if speed.is_full() {
        return String::new();
    }
    let percent = |share: f64| units::show_percent(share).replace('%', "");
    let each = match speed == CpuSpeed::of_all(speed.writer) {
        true => vec![speed.writer],
        false => speed.parts().to_vec(),
    };
    let each: Vec<String> = each.into_iter().map(percent).collect();
    format!("/cpus{}", each.join("-"))
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
