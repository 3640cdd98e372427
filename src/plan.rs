//! Cells in seeded, interleaved rounds, and how long they will take.

mod labs;

use std::collections::BTreeSet;
use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::study::{Distances, Study, Sweep, Workload, slug, units};

pub use labs::{LabPlan, labs};

/// What a cell takes beside its windows: setting the links, probing them before and after,
/// connecting, lag, reading counters. Like those below, rounded from runs on two CPUs.
pub const CELL_OVERHEAD: Duration = Duration::from_millis(600);
/// What more than one connection adds to it, over all modes: replicas that fell behind.
pub const BACKLOG: Duration = Duration::from_millis(1500);
/// What it takes to form a lab, whatever its size: joining, schema and rows.
pub const LAB_FORMING: Duration = Duration::from_secs(2);
/// What each node adds: copying its data directory, starting, recovery.
pub const NODE_STARTING: Duration = Duration::from_secs(2);

/// One point to measure. Cells of a study are numbered from 0 in the order of its table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Readable and unique: `mysql-semisync/update_index/1c/a/2.15ms`.
    pub id: String,
    /// Index into the study's modes.
    pub mode: usize,
    pub workload: Workload,
    pub connections: u32,
    pub distances: Distances,
    pub client_site: String,
}

/// What is measured, in which order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// In the order of the tables: by sweep, workload, connections, client site, distances, and
    /// last by mode.
    pub cells: Vec<Cell>,
    /// Each round holds the index of every cell once.
    pub rounds: Vec<Vec<usize>>,
}

/// The cells of a study, and its rounds in the order that its seed gives.
pub fn plan(study: &Study) -> Plan {
    let cells = cells(study);
    let round = |number| shuffled_round(&cells, study.modes.len(), study.seed, number);
    let rounds = (0..study.rounds).map(round).collect();
    Plan { cells, rounds }
}

/// How long a study will take, from the first lab to the last cell, with servers already fetched.
/// mysqlslap's manner runs a number of queries, not a window: such cells are counted as windows.
pub fn estimate(study: &Study, plan: &Plan) -> Duration {
    let measurements: usize = plan.rounds.iter().map(Vec::len).sum();
    let cell = study.warmup + study.measure + CELL_OVERHEAD;
    let in_rounds = plan.rounds.iter().flatten();
    let crowded = in_rounds.filter(|&&index| plan.cells[index].connections > 1);
    let backlog = BACKLOG.mul_f64(crowded.count() as f64);
    let labs = labs(study);
    let forming: Duration = labs
        .iter()
        .map(|lab| LAB_FORMING + NODE_STARTING * lab.nodes)
        .sum();
    forming + backlog + cell.mul_f64(measurements as f64)
}

fn cells(study: &Study) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut ids = BTreeSet::new();
    for cell in study.sweeps.iter().flat_map(|sweep| cells_of(study, sweep)) {
        // A point that two sweeps ask for is measured once.
        if cells.iter().any(|known| is_same_point(known, &cell)) {
            continue;
        }
        let id = unique(&cell.id, &ids);
        ids.insert(id.clone());
        cells.push(Cell { id, ..cell });
    }
    cells
}

fn is_same_point(a: &Cell, b: &Cell) -> bool {
    (a.mode, a.connections) == (b.mode, b.connections)
        && (&a.workload, &a.distances) == (&b.workload, &b.distances)
        && a.client_site == b.client_site
}

fn cells_of(study: &Study, sweep: &Sweep) -> Vec<Cell> {
    let mut cells = Vec::new();
    for workload in &sweep.workloads {
        for &connections in &sweep.connections {
            for client_site in &sweep.client_sites {
                for distances in &sweep.distances {
                    for (mode, spec) in study.modes.iter().enumerate() {
                        let client = client_site.as_str();
                        let id = id(&spec.label, workload, connections, client, distances);
                        cells.push(Cell {
                            id,
                            mode,
                            workload: workload.clone(),
                            connections,
                            distances: distances.clone(),
                            client_site: client_site.clone(),
                        });
                    }
                }
            }
        }
    }
    cells
}

fn id(
    label: &str,
    workload: &Workload,
    connections: u32,
    client_site: &str,
    distances: &Distances,
) -> String {
    let equal = distances
        .equal_rtt()
        .filter(|rtt| distances.label == units::show(*rtt));
    let apart = equal.map_or_else(|| slug(&distances.label), units::show_compact);
    let load = slug(&workload.label_in_full());
    format!(
        "{}/{load}/{connections}c/{client_site}/{apart}",
        slug(label)
    )
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
