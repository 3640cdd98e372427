//! `[quick]`: the short run of a study, and the sweeps that belong to one run only.

use std::time::Duration;

use super::walk::{Node, Table};
use crate::study::{ModeSpec, Quick, Study, Sweep, limits};

/// The run that a sweep belongs to, if it does not belong to both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    Full,
    Quick,
}

/// A sweep's `only`.
pub fn only(table: &Table<'_>) -> Option<Only> {
    let node = table.get("only")?;
    node.one_of(&[("full", Only::Full), ("quick", Only::Quick)])
}

/// The sweeps of the whole run and those of the short one.
pub fn split(
    table: &Table<'_>,
    sweeps: Vec<Sweep>,
    only: &[Option<Only>],
) -> (Vec<Sweep>, Vec<Sweep>) {
    let is_short = table.get("quick").is_some();
    if !is_short && only.contains(&Some(Only::Quick)) {
        table.wrong("", "has a sweep for the short run only: give it a [quick]");
    }
    let of = |other: Only| {
        let pairs = sweeps.iter().zip(only);
        let kept = pairs.filter(move |(_, only)| **only != Some(other));
        kept.map(|(sweep, _)| sweep.clone()).collect::<Vec<_>>()
    };
    let (full, short) = (of(Only::Quick), of(Only::Full));
    if !sweeps.is_empty() && (full.is_empty() || is_short && short.is_empty()) {
        table.wrong(
            "",
            "must have a sweep for the whole run, and one for the short",
        );
    }
    (full, short)
}

/// The short run, if the study has one. What it does not say is as in the whole run, but for
/// faults, of which it injects none.
pub fn read(table: &Table<'_>, study: &Study, sweeps: Vec<Sweep>) -> Option<Box<Quick>> {
    let table = table.get("quick")?.table()?;
    let given = |key: &str, range, or: Duration| table.time(key, range, or);
    let count = |key: &str, range| table.read(key, |node| node.count(range));
    let quick = Quick {
        rounds: count("rounds", limits::ROUNDS).unwrap_or(study.rounds),
        warmup: given("warmup", limits::WARMUP, study.warmup),
        measure: given("measure", limits::MEASURE, study.measure),
        trials: count("trials", limits::TRIALS).unwrap_or(0),
        modes: labels(table.get("modes"), &study.modes),
        sweeps,
    };
    table.finish();
    Some(Box::new(quick))
}

/// Labels of modes; all if none are given.
fn labels(node: Option<Node<'_>>, modes: &[ModeSpec]) -> Vec<String> {
    let all = || modes.iter().map(|spec| spec.label.clone()).collect();
    node.map_or_else(all, |node| named(&node, modes))
}

/// Labels that modes of the study have.
pub fn named(node: &Node<'_>, modes: &[ModeSpec]) -> Vec<String> {
    let known = |spec: &ModeSpec| spec.label.clone();
    let known: Vec<String> = modes.iter().map(known).collect();
    let choices: Vec<(&str, String)> = known
        .iter()
        .map(|label| (&label[..], label.clone()))
        .collect();
    let nodes = node.list().unwrap_or_default();
    nodes
        .iter()
        .filter_map(|node| node.one_of(&choices))
        .collect()
}
