//! What a cell of a record came to in each of its rounds.

use std::collections::BTreeMap;

use super::quantity::{OF_CELLS, Quantity};
use crate::analysis::applied::{self, BEHIND_SHARE};
use crate::analysis::flags::{self, Asked};
use crate::analysis::latency::{p50, p95, p99_in_round};
use crate::analysis::rates::{per_commit, throughput};
use crate::analysis::rounds::Rounds;
use crate::analysis::summary::{FlagCount, Per};
use crate::analysis::{contention, disks};
use crate::plan::Point;
use crate::record::Measurement;
use crate::record::store::Record;

/// Figures of one quantity, by the number of the round.
pub type ByRound = BTreeMap<u32, f64>;

/// One cell, as far as it was measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Rounds with a measurement that is not void.
    pub rounds: usize,
    /// Without quantities that no round has.
    pub figures: BTreeMap<Quantity, ByRound>,
    /// Whether it waited for the host's CPUs so much that it tells of the host.
    pub is_shared: bool,
    pub flags: Vec<FlagCount>,
}

/// Of the cell of that index.
pub fn measured(record: &Record, index: usize) -> Measured {
    let cell = &record.header.cells[index];
    let point = Point::of(&record.header.study, cell);
    let rounds = Rounds::of(record, index);
    let by_round = |quantity: &Quantity| {
        let by_round = rounds.by_round(|m| figure(m, rounds.per, *quantity));
        (*quantity, by_round)
    };
    // At a pace or an offered rate throughput tells of what was asked.
    let is_asked = |quantity: &&Quantity| **quantity == Quantity::Throughput && cell.is_given();
    let told = OF_CELLS.iter().filter(|quantity| !is_asked(quantity));
    let figures = told.map(by_round).filter(|(_, rounds)| !rounds.is_empty());
    Measured {
        rounds: rounds.count() as usize,
        figures: figures.collect(),
        is_shared: contention::is_shared(&rounds.sound),
        flags: flags::count(&rounds.all, Asked::of(&record.header, &point)),
    }
}

fn figure(measurement: &Measurement, per: Per, of: Quantity) -> Option<f64> {
    match of {
        Quantity::Throughput => throughput(measurement, per),
        Quantity::P50 => p50(measurement),
        Quantity::P95 => p95(measurement),
        Quantity::P99 => p99_in_round(measurement),
        Quantity::Cpu => cpu_us(measurement, per),
        Quantity::Flushes => {
            let flushes = disks::writer(measurement)?.flushes;
            per_commit(measurement, per, flushes as f64)
        }
        Quantity::RoundTrips => None,
    }
}

/// Of all servers together. Where a replica falls behind it has not done its part, so that nobody
/// knows what all of it would have taken.
fn cpu_us(measurement: &Measurement, per: Per) -> Option<f64> {
    let share = applied::share(measurement, per);
    if share.is_some_and(|share| share < 1.0 - BEHIND_SHARE) {
        return None;
    }
    let cpu = &measurement.cpu;
    let replicas_us: f64 = cpu.replicas_us.values().sum();
    per_commit(measurement, per, cpu.writer_us? + replicas_us)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::analysis::example::Example;

    #[test]
    fn a_cell_has_its_figures_in_each_round() {
        let record = Example::default().record();
        let single = measured(&record, 0);
        assert_eq!((single.rounds, single.figures.len()), (4, 5), "no disks");
        assert!(single.figures.values().all(|rounds| rounds.len() == 4));
        let cpu = |cell| measured(&record, cell).figures[&Quantity::Cpu][&0];
        assert!((cpu(0) - 310.0).abs() < 1e-6 && (cpu(1) - 870.0).abs() < 1e-6);
        let on_disks = Example::anatomy().record();
        let flushes = &measured(&on_disks, 0).figures[&Quantity::Flushes];
        assert_eq!(flushes.len(), 4);
    }

    #[test]
    fn throughput_that_was_asked_for_and_percentiles_of_few_commits_are_no_figures() {
        let mut record = Example::default().record();
        record.header.cells[0].pace = Some(Duration::from_millis(20));
        assert!(
            !measured(&record, 0)
                .figures
                .contains_key(&Quantity::Throughput)
        );
        let mut few = crate::record::histogram::empty();
        few.record_n(1_000, 400).expect("it grows");
        for one in record.measurements.iter_mut().filter(|m| m.cell == 1) {
            one.latency_us = crate::record::histogram::encode(&few);
        }
        let figures = measured(&record, 1).figures;
        assert!(figures.contains_key(&Quantity::P95));
        assert!(!figures.contains_key(&Quantity::P99));
    }

    #[test]
    fn a_replica_that_falls_behind_leaves_its_cpu_open() {
        let mut record = Example::default().record();
        for one in record.measurements.iter_mut().filter(|m| m.cell == 1) {
            let rows = crate::record::counter::ROWS_UPDATED;
            for (node, changed) in [("a", 1.0), ("b", 0.9), ("c", 1.0)] {
                let changed = changed * one.commits as f64;
                let counters = one.status.entry(node.to_owned()).or_default();
                counters.insert(rows.to_owned(), changed);
            }
        }
        let figures = measured(&record, 1).figures;
        assert!(!figures.contains_key(&Quantity::Cpu));
    }
}
