//! How far a model may be trusted: each cell of the record is left out once, and foretold by what
//! is left.

use serde::Serialize;

use super::coefficients::Coefficients;
use super::evaluate::{Span, evaluate_briefly};
use super::facts::Fact;
use super::rows::Rows;
use crate::analysis::interval::median;

/// So many of a hundred truths are to lie within an interval.
pub const KEPT: f64 = 0.9;
/// A model that foretells this host's shared cells no worse than this is trusted with machines that
/// nobody has measured.
pub const TRUSTED: f64 = 0.10;
/// At each of these connections it must have foretold one.
const SHARED_AT: [u32; 3] = [4, 16, 64];

/// A cell, and what a model said of it that was not fitted to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// Of the cell.
    pub id: String,
    pub label: String,
    /// Index into the modes of its study.
    #[serde(skip)]
    pub row: usize,
    pub connections: u32,
    /// Whether all nodes shared the host's CPUs.
    pub is_shared: bool,
    pub p50_us_got: f64,
    pub p50_us_foretold: f64,
    /// Absent of too few commits, there or in what foretells it.
    pub p99_us_got: Option<f64>,
    pub p99_us_foretold: Option<f64>,
    pub commits_per_s_got: f64,
    /// At several connections.
    pub commits_per_s_foretold: Option<f64>,
}

/// How far cells lay from what was foretold of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Errors {
    /// Foretold.
    pub cells: u32,
    /// The median of their errors, as shares of what was got, and what nine in ten stay within.
    pub median: Option<f64>,
    pub nine_in_ten: Option<f64>,
    /// What is foretold, over and times this, is an interval that nine in ten truths lie in. Absent
    /// of fewer than nine cells.
    pub factor: Option<f64>,
}

/// Everything that was left out once.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Held {
    /// Medians and 99th percentiles of single commits; these and commits/s of several connections.
    pub single: Errors,
    pub single_p99: Errors,
    pub several: Errors,
    pub several_p99: Errors,
    pub several_per_s: Errors,
    /// Cells that the rest of their mode's says nothing of.
    pub not_foretold: u32,
    pub cells: Vec<LeftOut>,
}

/// Whether a mode's commits/s on machines of its own are to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Trust {
    pub is_trusted: bool,
    /// Whether there are such cells at 4, 16 and 64 connections.
    pub is_at_each: bool,
    /// Cells of several connections that shared the host's CPUs, and the largest error of what the
    /// same model foretold of their commits/s.
    pub shared_cells: u32,
    pub worst: Option<f64>,
}

/// Leaves out every cell of every row, one at a time.
pub fn leave_out(rows: &Rows) -> Held {
    let mut held = Held::default();
    for (place, row) in rows.rows.iter().enumerate() {
        for fact in row.facts() {
            let fitted = rows.fit(place, Some(fact.cell)).ok();
            match fitted.and_then(|fitted| foretold(&fitted, fact)) {
                Some(cell) => held.cells.push(cell),
                None => held.not_foretold += 1,
            }
        }
    }
    Held {
        not_foretold: held.not_foretold,
        ..Held::of(held.cells)
    }
}

/// What coefficients say of a cell; `None` where they say nothing, or two things.
pub fn foretold(of: &Coefficients, fact: &Fact) -> Option<LeftOut> {
    let foretold = evaluate_briefly(of, &fact.at_sites(&of.sites))?;
    let p50_us = foretold.p50_us.filter(Span::is_one)?.low;
    let commits_per_s = match fact.is_single() {
        true => None,
        false => Some(foretold.commits_per_s?.low),
    };
    Some(LeftOut {
        id: fact.id.clone(),
        label: fact.label.clone(),
        row: fact.point.row,
        connections: fact.point.connections,
        is_shared: fact.is_shared(),
        p50_us_got: fact.p50_us,
        p50_us_foretold: p50_us,
        p99_us_got: fact.p99_us,
        p99_us_foretold: foretold.p99_us.filter(Span::is_one).map(|span| span.low),
        commits_per_s_got: fact.commits_per_s,
        commits_per_s_foretold: commits_per_s,
    })
}

/// What was foretold of a cell, over what was got.
type Ratio = fn(&LeftOut) -> Option<f64>;

pub fn p50(cell: &LeftOut) -> Option<f64> {
    Some(cell.p50_us_foretold / cell.p50_us_got)
}

pub fn p99(cell: &LeftOut) -> Option<f64> {
    Some(cell.p99_us_foretold? / cell.p99_us_got?)
}

pub fn commits_per_s(cell: &LeftOut) -> Option<f64> {
    Some(cell.commits_per_s_foretold? / cell.commits_per_s_got)
}

/// Of one figure of these cells.
pub fn errors<'c>(cells: impl Iterator<Item = &'c LeftOut>, ratio: Ratio) -> Errors {
    let ratios: Vec<f64> = cells.filter_map(ratio).collect();
    let shares = sorted(ratios.iter().map(|ratio| (ratio - 1.0).abs()));
    // A factor misses by as much above as below, and as many may lie beyond it in a cell that is
    // not among these (split conformal prediction: Vovk and others, 2005).
    let factors = sorted(ratios.iter().map(|ratio| ratio.ln().abs().exp()));
    let rank = (KEPT * (factors.len() + 1) as f64).ceil() as usize;
    let within = (KEPT * shares.len() as f64).ceil() as usize;
    Errors {
        cells: shares.len() as u32,
        median: median(&shares),
        nine_in_ten: shares.get(within.saturating_sub(1)).copied(),
        factor: factors.get(rank.saturating_sub(1)).copied(),
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

impl Held {
    /// What these cells tell.
    pub fn of(cells: Vec<LeftOut>) -> Held {
        let held = Held {
            cells,
            ..Held::default()
        };
        let of = |is_single: bool, ratio: Ratio| errors(held.cells_of(is_single), ratio);
        Held {
            single: of(true, p50),
            single_p99: of(true, p99),
            several: of(false, p50),
            several_p99: of(false, p99),
            several_per_s: of(false, commits_per_s),
            ..held
        }
    }

    /// Cells of one connection, or of several.
    pub fn cells_of(&self, is_single: bool) -> impl Iterator<Item = &LeftOut> {
        let cells = self.cells.iter();
        cells.filter(move |cell| (cell.connections == 1) == is_single)
    }

    /// The same errors, with intervals no narrower than those of `other`: cells of one run differ
    /// by less than days do.
    pub fn as_wide_as(mut self, other: &Held) -> Held {
        for (own, other) in [
            (&mut self.single, &other.single),
            (&mut self.single_p99, &other.single_p99),
            (&mut self.several, &other.several),
            (&mut self.several_p99, &other.several_p99),
            (&mut self.several_per_s, &other.several_per_s),
        ] {
            let both = [own.factor, other.factor];
            own.factor = both.into_iter().flatten().reduce(f64::max);
        }
        self
    }

    /// By the shared cells of one mode, none of which was given to the fit that foretold it.
    pub fn trust(&self, row: usize, shared_cells: u32) -> Trust {
        let own = || {
            let cells = self.cells.iter();
            cells.filter(|cell| cell.row == row && cell.is_shared)
        };
        let ratios: Vec<f64> = own().filter_map(commits_per_s).collect();
        let is_there = |connections: &u32| own().any(|cell| cell.connections == *connections);
        let is_at_each = SHARED_AT.iter().all(is_there);
        let worst = ratios
            .iter()
            .map(|ratio| (ratio - 1.0).abs())
            .reduce(f64::max);
        let are_all = shared_cells > 0 && ratios.len() == shared_cells as usize;
        Trust {
            is_trusted: are_all && is_at_each && worst.is_some_and(|worst| worst <= TRUSTED),
            is_at_each,
            shared_cells,
            worst,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(got: f64, foretold: f64) -> LeftOut {
        LeftOut {
            id: String::new(),
            label: String::new(),
            row: 2,
            connections: 4,
            is_shared: true,
            p50_us_got: got,
            p50_us_foretold: foretold,
            p99_us_got: None,
            p99_us_foretold: Some(1.0),
            commits_per_s_got: 1_000.0,
            commits_per_s_foretold: Some(1_000.0 * foretold / got),
        }
    }

    #[test]
    fn nine_in_ten_lie_within_the_factor() {
        let cells = (1..=19).map(|off| cell(100.0, 100.0 + f64::from(off)));
        let cells: Vec<LeftOut> = cells.collect();
        let told = errors(cells.iter(), p50);
        assert_eq!(told.cells, 19);
        assert!((told.median.unwrap() - 0.10).abs() < 1e-9);
        // Of 19 cells 17.1, and 18 of the 20 that they and another one are.
        assert!((told.nine_in_ten.unwrap() - 0.18).abs() < 1e-9);
        assert!((told.factor.unwrap() - 1.18).abs() < 1e-9);
    }

    #[test]
    fn an_error_below_counts_as_one_above() {
        let cells = vec![cell(100.0, 50.0); 9];
        let told = errors(cells.iter(), p50);
        assert!((told.factor.unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(told.nine_in_ten, Some(0.5));
    }

    #[test]
    fn eight_cells_give_no_interval() {
        let cells = vec![cell(100.0, 101.0); 8];
        let told = errors(cells.iter(), p50);
        assert_eq!((told.cells, told.factor), (8, None));
        assert!(told.median.is_some() && told.nine_in_ten.is_some());
        assert_eq!(errors([].iter(), p50), Errors::default());
        assert_eq!(errors(cells.iter(), p99), Errors::default(), "none was got");
    }

    #[test]
    fn who_foretells_all_shared_cells_is_trusted() {
        let held = |cells: Vec<LeftOut>| Held {
            cells,
            ..Held::default()
        };
        let at = |connections: u32, foretold: f64| LeftOut {
            connections,
            ..cell(100.0, foretold)
        };
        let good = held(vec![at(4, 109.0), at(16, 95.0), at(64, 100.0)]);
        assert!(good.trust(2, 3).is_trusted);
        let one_is_missing = good.trust(2, 4);
        assert!(!one_is_missing.is_trusted && one_is_missing.worst.is_some());
        let bad = held(vec![at(4, 111.0), at(16, 95.0), at(64, 100.0)]);
        assert!(!bad.trust(2, 3).is_trusted);
        let few = held(vec![at(4, 100.0), at(16, 100.0)]).trust(2, 2);
        assert!(!few.is_trusted && !few.is_at_each, "none at 64");
        let none = held(vec![]).trust(2, 0);
        assert_eq!((none.is_trusted, none.worst), (false, None));
    }
}
