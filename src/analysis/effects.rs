//! What each variable of a screening design does to throughput, alone and together with another.
//!
//! All on logarithms, so that what is told are ratios, and round by round: a host that is slower in
//! one round is so for both levels. An effect is the mean over the runs at one level less the mean
//! over those at the other (Box, Hunter and Hunter, "Statistics for Experimenters", 2nd edition,
//! chapter 5).

use std::collections::BTreeMap;

use super::interval::{Noise, Risk, estimate};
use super::rates::throughput;
use super::summary::Per;
pub use super::summary::{Effect, Effects, Factor};
use super::{called, terms};
use crate::plan::{Cell, Point};
use crate::record::store::Record;
use crate::record::{Header, Measurement};
use crate::study::Screen;
use crate::study::screen::letter;

/// All designs of the study at all points where every run has a cell.
pub fn summarise(record: &Record) -> Vec<Effects> {
    let header = &record.header;
    let of_screen = |screen| {
        let firsts = cells_of(header, screen, 0);
        firsts.filter_map(move |first| at_point(record, screen, first))
    };
    header.study.screens.iter().flat_map(of_screen).collect()
}

/// Indices of the cells of one of a design's runs.
fn cells_of<'r>(
    header: &'r Header,
    screen: &'r Screen,
    run: usize,
) -> impl Iterator<Item = usize> + 'r {
    let is_it = move |cell: &Cell| {
        let is_plain = !cell.is_search() && cell.moved.is_none();
        header.study.modes[cell.mode].label == screen.runs[run] && is_plain
    };
    (0..header.cells.len()).filter(move |index| is_it(&header.cells[*index]))
}

fn at_point(record: &Record, screen: &Screen, first: usize) -> Option<Effects> {
    let header = &record.header;
    let point_of = |cell: usize| Point::of(&header.study, &header.cells[cell]);
    let point = point_of(first);
    let beside = |run| {
        let mut cells = cells_of(header, screen, run);
        cells.find(|cell| point_of(*cell).load() == point.load())
    };
    let cells: Vec<usize> = (0..screen.runs.len()).map(beside).collect::<Option<_>>()?;
    let per = terms::per(&point.workload);
    let rounds = rounds(record, &cells, per);
    let risk = Risk::of(&header.study);
    let mut rows = header.study.modes.iter();
    let row = rows.position(|spec| spec.label == screen.of)?;
    Some(Effects {
        label: screen.of.clone(),
        client_site: point.client_site.clone(),
        workload: point.workload.label() + &called::ground(&point),
        connections: point.connections,
        distances: point.distances.label.clone(),
        disks: point.disks.as_ref().map(|disks| disks.label.clone()),
        per,
        runs: screen.design.runs(),
        resolution: screen.design.resolution(),
        rounds: rounds.len() as u32,
        factors: factors(record, screen, &cells),
        main: effects(screen, &rounds, 1, risk),
        interactions: effects(screen, &rounds, 2, risk),
        point: Point { row, ..point },
    })
}

/// Logarithms of throughput of all runs, for each round in which all are sound.
fn rounds(record: &Record, cells: &[usize], per: Per) -> Vec<Vec<f64>> {
    let mut found: BTreeMap<u32, Vec<Option<f64>>> = BTreeMap::new();
    for measurement in record.measurements.iter().filter(|m| !m.is_void()) {
        let run = cells.iter().position(|cell| *cell == measurement.cell);
        let rate = throughput(measurement, per).filter(|rate| *rate > 0.0);
        if let (Some(run), Some(rate)) = (run, rate) {
            let none = || vec![None; cells.len()];
            found.entry(measurement.round).or_insert_with(none)[run] = Some(rate.ln());
        }
    }
    found
        .into_values()
        .filter_map(|runs| runs.into_iter().collect())
        .collect()
}

/// Effects of one variable, or of two together; aliases of an effect told before are left to it.
fn effects(screen: &Screen, rounds: &[Vec<f64>], order: u32, risk: Risk) -> Vec<Effect> {
    let (told, all) = (sets(screen, order - 1), sets(screen, order));
    let column = |set: &u32| screen.design.column(*set);
    let is_first = |set: &&u32| {
        let before = all.iter().take_while(|other| other != set);
        !told
            .iter()
            .chain(before)
            .any(|other| column(other) == column(set))
    };
    let firsts = all.iter().filter(is_first);
    firsts
        .map(|set| effect(screen, rounds, *set, risk))
        .collect()
}

/// All sets of that many factors, in alphabetical order.
fn sets(screen: &Screen, order: u32) -> Vec<u32> {
    let all = 1..1_u32 << screen.factors.len();
    let mut sets: Vec<u32> = all.filter(|set| set.count_ones() == order).collect();
    sets.sort_by_key(|set| letters(*set));
    sets
}

fn letters(set: u32) -> String {
    held(set).map(letter).collect()
}

/// The factors of a set.
fn held(set: u32) -> impl Iterator<Item = usize> {
    (0..u32::BITS as usize).filter(move |factor| set >> factor & 1 == 1)
}

fn effect(screen: &Screen, rounds: &[Vec<f64>], set: u32, risk: Risk) -> Effect {
    // An interaction's contrast is half of what both together miss of the product.
    let weight = f64::from(set.count_ones());
    let ratio = |runs: &Vec<f64>| (weight * contrast(screen, runs, set)).exp();
    let ratios: Vec<f64> = rounds.iter().map(ratio).collect();
    let ratio = estimate(&ratios, Noise::Multiplies, risk);
    let column = screen.design.column(set);
    let others = [sets(screen, 1), sets(screen, 2)].concat();
    let is_alias = |other: &&u32| **other != set && screen.design.column(**other) == column;
    Effect {
        of: letters(set),
        factors: held(set).collect(),
        aliases: others
            .iter()
            .filter(is_alias)
            .map(|other| letters(*other))
            .collect(),
        ratio,
        shown: ratio.and_then(|ratio| ratio.excludes(1.0)),
    }
}

/// Mean over the runs where the product of the factors is positive, less that over the others.
fn contrast(screen: &Screen, runs: &[f64], set: u32) -> f64 {
    let signed = (0..).zip(runs).map(|(run, value)| {
        let is_positive = screen.design.is_positive(run, set);
        if is_positive { *value } else { -value }
    });
    signed.sum::<f64>() * 2.0 / runs.len() as f64
}

fn factors(record: &Record, screen: &Screen, cells: &[usize]) -> Vec<Factor> {
    let factor = |(index, factor): (usize, &crate::study::screen::Factor)| {
        let in_force = |is_high| {
            let mut runs = (0..screen.design.runs()).zip(cells);
            let (_, cell) = runs.find(|(run, _)| screen.design.is_high(*run, index) == is_high)?;
            let of_cell = |m: &&Measurement| m.cell == *cell;
            let found = record.measurements.iter().find(of_cell)?;
            found.in_force.get(&factor.name).cloned()
        };
        Factor {
            letter: letter(index).to_string(),
            name: factor.name.clone(),
            low: factor.low.clone(),
            high: factor.high.clone(),
            low_in_force: in_force(false),
            high_in_force: in_force(true),
        }
    };
    screen.factors.iter().enumerate().map(factor).collect()
}

#[cfg(test)]
mod tests;
