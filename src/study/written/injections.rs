//! `[[fault]]` of a study: which faults are injected in which of its modes, and how often.

use std::collections::BTreeSet;

use super::faults::{self, Written};
use super::quick;
use super::walk::Table;
use crate::study::faults::fit::{Misfit, misfits};
use crate::study::faults::{Fault, Injection};
use crate::study::{Mode, ModeSpec, fault_catalogue, limits};

/// Trials of a fault in each mode, if the study does not say.
const TRIALS: u32 = 5;

/// What a fault is checked against.
pub struct Surroundings<'a> {
    pub modes: &'a [ModeSpec],
    /// Whether modes are as they are meant: what is wrong is read as something else.
    pub are_modes_sound: bool,
    pub sites: &'a [String],
    pub are_emulated: bool,
}

/// All faults of a study, each in the modes that it names, or in all that it fits. Of somebody
/// else's servers they are a mistake that is told elsewhere.
pub fn read(study: &Table<'_>, around: &Surroundings<'_>) -> Vec<Injection> {
    let mut modes = around.modes.iter();
    let is_of_labs = modes.all(|spec| spec.mode != Mode::Endpoint);
    let node = study.get("fault").filter(|_| is_of_labs);
    let tables = node.map(|node| node.tables()).unwrap_or_default();
    if let Some(first) = tables.first().filter(|_| !around.are_emulated) {
        first.wrong("", "needs emulated disks: say `disk` or `images`");
    }
    let known: Vec<&Fault> = fault_catalogue::all()
        .iter()
        .map(|row| &row.fault)
        .collect();
    let mut names = BTreeSet::new();
    let mut injections = Vec::new();
    for table in &tables {
        let injection = injection(table, &known, around);
        if let Some(one) = &injection {
            let name = |label: &String| (label.clone(), one.fault.name.clone());
            let twice = one.modes.iter().find(|label| !names.insert(name(label)));
            if let Some(label) = twice {
                let allowed = format!("is the name of another fault of {label} too");
                table.wrong(&one.fault.name, &allowed);
            }
        }
        injections.extend(injection);
    }
    injections
}

fn injection(table: &Table<'_>, known: &[&Fault], around: &Surroundings<'_>) -> Option<Injection> {
    let written = faults::read(table, known);
    let trials = table.read("trials", |node| node.count(limits::TRIALS));
    let chosen = table
        .get("modes")
        .map(|node| quick::named(&node, around.modes));
    table.finish();
    let fault = written.fault.as_ref()?;
    let pair = |spec| match around.are_modes_sound {
        true => (spec, misfits(fault, spec, around.sites)),
        false => (spec, vec![]),
    };
    let all: Vec<(&ModeSpec, Vec<Misfit>)> = around.modes.iter().map(pair).collect();
    let modes = match chosen {
        Some(labels) => named(&written, &all, &labels),
        None => fitting(table, &written, &all),
    };
    Some(Injection {
        fault: fault.clone(),
        trials: trials.unwrap_or(TRIALS),
        modes,
    })
}

/// Of modes that are named, none may be such that it cannot be injected there.
fn named(
    written: &Written<'_>,
    all: &[(&ModeSpec, Vec<Misfit>)],
    labels: &[String],
) -> Vec<String> {
    for (spec, misfits) in all.iter().filter(|(spec, _)| labels.contains(&spec.label)) {
        written.note(&spec.label, misfits);
    }
    let labels_in_order = all.iter().map(|(spec, _)| &spec.label);
    let chosen = labels_in_order.filter(|label| labels.contains(label));
    chosen.cloned().collect()
}

/// Where none is named, those in which it can be injected: one at least.
fn fitting(
    table: &Table<'_>,
    written: &Written<'_>,
    all: &[(&ModeSpec, Vec<Misfit>)],
) -> Vec<String> {
    let fitting = all.iter().filter(|(_, misfits)| misfits.is_empty());
    let labels: Vec<String> = fitting.map(|(spec, _)| spec.label.clone()).collect();
    if labels.is_empty() {
        table.wrong("", "can be injected in none of the modes");
        for (spec, misfits) in all {
            written.note(&spec.label, misfits);
        }
    }
    labels
}
