//! A second record, of another day or other distances, foretold by the first.

use serde::Serialize;

use super::coefficients::Coefficients;
use super::facts::facts;
use super::left_out::{Errors, Held, LeftOut, commits_per_s, errors, foretold, p50, p99};
use super::rows::Rows;
use crate::record::store::Record;

/// What a second record came to, beside what the first foretold.
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

/// Errors there, and how often the first record's interval held the truth.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Kept {
    pub errors: Errors,
    /// Of these cells; absent where the first has no interval, or there are none.
    pub within: Option<f64>,
}

/// Foretells each cell of another record. `fits` are the rows' coefficients, fitted to all.
pub fn check(rows: &Rows, fits: &[Coefficients], held: &Held, other: &Record) -> Checked {
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
    let of = |is_single: bool| {
        cells
            .iter()
            .filter(move |c| (c.connections == 1) == is_single)
    };
    Checked {
        single: kept(of(true), p50, &held.single),
        single_p99: kept(of(true), p99, &held.single_p99),
        several: kept(of(false), p50, &held.several),
        several_p99: kept(of(false), p99, &held.several_p99),
        several_per_s: kept(of(false), commits_per_s, &held.several_per_s),
        not_foretold,
        cells,
    }
}

fn kept<'c>(
    cells: impl Iterator<Item = &'c LeftOut>,
    ratio: fn(&LeftOut) -> Option<f64>,
    own: &Errors,
) -> Kept {
    let cells: Vec<&LeftOut> = cells.collect();
    let ratios: Vec<f64> = cells.iter().filter_map(|cell| ratio(cell)).collect();
    let within = |factor: f64| {
        let is_within = |ratio: &&f64| **ratio <= factor && **ratio * factor >= 1.0;
        ratios.iter().filter(is_within).count() as f64 / ratios.len() as f64
    };
    Kept {
        errors: errors(cells.iter().copied(), ratio),
        within: own.factor.filter(|_| !ratios.is_empty()).map(within),
    }
}
