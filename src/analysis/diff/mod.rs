//! Two records held against each other: another version, another machine, another setting.
//! docs/method/diff.md says how.
//!
//! - `refusal`: what cannot be compared; `places`: which cells are the same; `found`: what both
//!   have; `differs`: how the runs differ besides
//! - `measured`: what a cell came to; `machines`: on which machine; `judge`: figures and their
//!   verdicts; `trials`: what was lost
//! - `limit`, `gate`: what may become worse, and by how much; `told`: what comes of all, as plain
//!   types

mod differs;
mod found;
mod gate;
mod judge;
pub mod limit;
mod machines;
mod measured;
mod places;
pub mod quantity;
pub mod refusal;
pub mod told;
mod trials;

use std::collections::BTreeSet;

use super::interval::{Risk, holm};
use crate::record::store::Record;
pub use differs::{settings, surroundings, unlike_variables};
use found::{Cells, Faults, round_trips};
use judge::{Held, Terms};
use limit::Limit;
use machines::Machines;
use refusal::Refusal;
use told::{Counts, Diff, Side, TrialsHeld, Verdict};

/// What a comparison is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// What lies within this share is alike: 0.05 for 5 %.
    pub alike_within: f64,
    /// By what share runs of one build stray from each other at least.
    pub between_runs: f64,
    pub limits: Vec<Limit>,
}

impl Asked {
    /// What lies within 5 % is alike.
    pub const ALIKE_WITHIN: f64 = 0.05;
    /// Servers are started anew, on other pages of memory and blocks of the disk: that is in all
    /// rounds of a run alike, so that its own rounds never show it.
    pub const BETWEEN_RUNS: f64 = 0.01;
}

impl Default for Asked {
    fn default() -> Asked {
        Asked {
            alike_within: Asked::ALIKE_WITHIN,
            between_runs: Asked::BETWEEN_RUNS,
            limits: vec![],
        }
    }
}

/// A record, and what it was opened by.
pub type Named<'r> = (&'r Record, &'r str);

/// Holds B against A.
///
/// # Errors
/// Why they cannot be compared.
///
/// # Panics
/// If a latency histogram is damaged; `Record::open` refuses such records.
pub fn compare(a: Named, b: Named, asked: &Asked) -> Result<Diff, Refusal> {
    let records = [a.0, b.0];
    refusal::check(records)?;
    let (cells, faults) = (Cells::of(records), Faults::of(records));
    let mut places = cells.places();
    match () {
        () if !cells.is_empty() => places.extend(round_trips(records)),
        () if faults.is_empty() => return Err(cells.refusal()),
        () => {}
    }
    let terms = Terms {
        risk: Risk::of(&a.0.header.study).stricter(Risk::of(&b.0.header.study)),
        alike_within: asked.alike_within,
        between_runs: asked.between_runs,
    };
    let machines = records.map(Machines::of);
    let held = judge::held(&places, &machines, terms);
    let (mut figures, trials) = judged(held, faults.held(), terms);
    let many = family(&figures, &trials);
    judge::tell_smallest(&mut figures, terms.risk.shared_by(many));
    let rows = cells.rows().into_iter().chain(faults.rows()).collect();
    let [only_in_a, only_in_b] = cells.only();
    Ok(Diff {
        a: side(a),
        b: side(b),
        is_same_run: is_same_run(records),
        alike_within: asked.alike_within,
        between_runs: asked.between_runs,
        differs: differs::differs(records, &rows),
        counts: counts(&figures),
        limits: gate::came(&asked.limits, &figures, terms.risk),
        figures: figures.into_iter().map(|held| held.figure).collect(),
        trials,
        only_in_a,
        only_in_b,
        not_compared: [cells.not_compared(), faults.not_compared()].concat(),
    })
}

/// Each with its verdict. All figures and all faults are one family: that any of them is called a
/// difference by chance is as rare as of one alone.
fn judged(
    mut figures: Vec<Held>,
    trials: Vec<TrialsHeld>,
    terms: Terms,
) -> (Vec<Held>, Vec<TrialsHeld>) {
    let many = family(&figures, &trials);
    let differ = |risk: Risk| {
        let of_figures = figures.iter().map(|held| held.differ(risk));
        let all = of_figures.chain(trials.iter().map(|one| one.differ(risk)));
        all.collect::<Vec<bool>>()
    };
    let shown = holm(many, terms.risk, differ);
    let (of_figures, of_trials) = shown.split_at(figures.len());
    for (held, is_shown) in figures.iter_mut().zip(of_figures) {
        judge::judge(held, *is_shown, terms);
    }
    judge::sort(&mut figures);
    let trials = trials.into_iter().zip(of_trials);
    let trials = trials.map(|(one, is_shown)| one.judged(*is_shown));
    (figures, trials.collect())
}

/// How many could be called a difference.
fn family(figures: &[Held], trials: &[TrialsHeld]) -> usize {
    let with_interval = figures.iter().filter(|held| held.two.is_some());
    let with_chance = trials.iter().filter(|one| one.chance.is_some());
    with_interval.count() + with_chance.count()
}

fn counts(figures: &[Held]) -> Counts {
    let of = |verdict: Verdict| {
        let all = figures.iter();
        all.filter(|held| held.figure.verdict == verdict).count()
    };
    Counts {
        figures: figures.len(),
        worse: of(Verdict::Worse),
        better: of(Verdict::Better),
        alike: of(Verdict::Alike),
        cannot_tell: of(Verdict::CannotTell),
    }
}

fn side((record, name): Named) -> Side {
    let header = &record.header;
    let rounds: BTreeSet<u32> = record.measurements.iter().map(|m| m.round).collect();
    Side {
        record: name.to_owned(),
        study: header.study.name.clone(),
        started_unix_ms: header.started_unix_ms,
        finished: record.finished,
        rounds: rounds.len() as u32,
        acklab_version: header.acklab_version.clone(),
    }
}

fn is_same_run([a, b]: [&Record; 2]) -> bool {
    let of = |record: &Record| {
        let header = &record.header;
        (
            header.started_unix_ms,
            header.study.seed,
            header.host.clone(),
        )
    };
    of(a) == of(b)
}

#[cfg(test)]
mod tests;
