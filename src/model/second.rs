//! Other records, of other days or other distances, foretold by the first.

use serde::Serialize;

use super::coefficients::Coefficients;
use super::facts::facts;
use super::left_out::{Errors, Held, LeftOut, commits_per_s, errors, foretold, p50, p99};
use super::rows::Rows;
use crate::record::store::Record;

/// What another record came to, beside what the first foretold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    pub single: Kept,
    pub single_p99: Kept,
    pub several: Kept,
    pub several_p99: Kept,
    pub several_per_s: Kept,
    /// Cells of modes or loads that the first does not have, or says two things of.
    pub not_foretold: u32,
    pub cells: Vec<LeftOut>,
}

/// Errors there, and how often the truth lay in the interval that the first record and the others
/// give.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Kept {
    pub errors: Errors,
    /// Of these cells; absent where there is no interval, or there are no cells.
    pub within: Option<f64>,
}

/// Foretells each cell of other records. `fits` are the rows' coefficients, fitted to all. Each
/// record is held against the interval that all but itself give.
pub fn check(rows: &Rows, fits: &[Coefficients], held: &Held, others: &[Record]) -> Vec<Checked> {
    let others: Vec<Held> = others.iter().map(|it| cells(rows, fits, it)).collect();
    let all = others.iter().enumerate();
    let beside = |place: usize| {
        let but = all.clone().filter(|(other, _)| *other != place);
        but.fold(held.clone(), |held, (_, other)| held.as_wide_as(other))
    };
    let checked = |(place, own)| checked(own, &beside(place));
    all.clone().map(checked).collect()
}

/// The cells of another record that are foretold.
fn cells(rows: &Rows, fits: &[Coefficients], other: &Record) -> Held {
    let mut cells = Vec::new();
    let mut not_foretold = 0;
    for fact in facts(other) {
        let place = rows.of_point(&fact);
        let is_paced_alike = |place: &usize| {
            let pace = rows.rows[*place].point.pace;
            !fact.is_single() || pace.is_some() == fact.point.pace.is_some()
        };
        let place = place.filter(is_paced_alike);
        match place.and_then(|place| foretold(&fits[place], &fact)) {
            Some(cell) => cells.push(cell),
            None => not_foretold += 1,
        }
    }
    Held {
        not_foretold,
        ..Held::of(cells)
    }
}

fn checked(own: &Held, held: &Held) -> Checked {
    Checked {
        single: kept(own, true, p50, &held.single),
        single_p99: kept(own, true, p99, &held.single_p99),
        several: kept(own, false, p50, &held.several),
        several_p99: kept(own, false, p99, &held.several_p99),
        several_per_s: kept(own, false, commits_per_s, &held.several_per_s),
        not_foretold: own.not_foretold,
        cells: own.cells.clone(),
    }
}

/// One figure of these cells, beside the interval of `held`.
fn kept(of: &Held, is_single: bool, ratio: fn(&LeftOut) -> Option<f64>, held: &Errors) -> Kept {
    let cells = || of.cells_of(is_single);
    let ratios: Vec<f64> = cells().filter_map(ratio).collect();
    let within = |factor: f64| {
        let is_within = |ratio: &&f64| **ratio <= factor && **ratio * factor >= 1.0;
        ratios.iter().filter(is_within).count() as f64 / ratios.len() as f64
    };
    Kept {
        errors: errors(cells(), ratio),
        within: held.factor.filter(|_| !ratios.is_empty()).map(within),
    }
}
