//! The short run: each deed and each mode of the catalogue once, in few trials and few labs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::choose::Chosen;
use crate::study::mode::Family;
use crate::study::{Mode, ModeSpec, Variables};

/// Of the candidates those that have, with what is there already, all deeds and all modes: one
/// trial each. Each is the one that adds most deeds; of those alike one whose servers stand for
/// another, then one that came first.
pub fn cover(candidates: &[Chosen], there: &[Chosen]) -> Vec<Chosen> {
    let mut taken: Vec<&Chosen> = Vec::new();
    loop {
        let so_far = Covered::of(there.iter().chain(taken.iter().copied()));
        let best = candidates
            .iter()
            .enumerate()
            .map(|(place, it)| (so_far.gain(it), Reverse(place), it))
            .filter(|(gain, ..)| gain.deeds + gain.modes > 0)
            .max_by_key(|(gain, place, _)| (*gain, *place));
        let Some((.., best)) = best else {
            break;
        };
        taken.push(best);
    }
    let once = |it: &Chosen| Chosen {
        trials: 1,
        ..it.clone()
    };
    taken.into_iter().map(once).collect()
}

/// What is there.
struct Covered<'c> {
    deeds: BTreeSet<&'static str>,
    modes: BTreeSet<&'static str>,
    labs: Vec<Lab<'c>>,
}

/// What decides, of two modes, whether the same servers can serve them both.
#[derive(PartialEq)]
struct Lab<'c> {
    server: &'c str,
    family: Family,
    binary_log: bool,
    variables: &'c Variables,
    node_variables: &'c BTreeMap<String, Variables>,
    /// Where replicas cannot stand by.
    nodes: u32,
    /// Where what a volume waits for is fixed when it is made.
    mode: Option<Mode>,
}

impl<'c> Lab<'c> {
    fn of(spec: &'c ModeSpec) -> Lab<'c> {
        let family = spec.mode.family();
        Lab {
            server: &spec.server,
            family,
            binary_log: spec.binary_log,
            variables: &spec.variables,
            node_variables: &spec.node_variables,
            nodes: match family {
                Family::Replication => 0,
                _ => spec.nodes,
            },
            mode: family.copies_volume().then_some(spec.mode),
        }
    }
}

/// What a candidate adds: the more, the better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Gain {
    deeds: usize,
    has_lab: bool,
    modes: usize,
}

impl<'c> Covered<'c> {
    fn of(all: impl Iterator<Item = &'c Chosen>) -> Covered<'c> {
        let mut covered = Covered {
            deeds: BTreeSet::new(),
            modes: BTreeSet::new(),
            labs: vec![],
        };
        for it in all {
            covered.deeds.extend(deeds(it));
            covered.modes.insert(it.spec.mode.name());
            covered.labs.push(Lab::of(&it.spec));
        }
        covered
    }

    fn gain(&self, it: &Chosen) -> Gain {
        let deeds: BTreeSet<&str> = deeds(it).collect();
        let is_new = |deed: &&&str| !self.deeds.contains(**deed);
        Gain {
            deeds: deeds.iter().filter(is_new).count(),
            has_lab: self.labs.contains(&Lab::of(&it.spec)),
            modes: usize::from(!self.modes.contains(it.spec.mode.name())),
        }
    }
}

fn deeds(it: &Chosen) -> impl Iterator<Item = &'static str> {
    it.fault.steps.iter().map(|step| step.deed.name())
}
