//! Which machine measured which round, where several did: rounds of one machine share all that is
//! its own, so that machines are compared, and not rounds.

use std::collections::{BTreeMap, BTreeSet};

use super::measured::ByRound;
use crate::analysis::interval::Noise;
use crate::analysis::interval::machines::of_one;
use crate::record::store::Record;

/// Of each round the machine, by a number of its own; of a round that one began and another ended
/// `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Machines {
    by_round: BTreeMap<u32, Option<usize>>,
}

impl Machines {
    pub fn of(record: &Record) -> Machines {
        let all = record.header.places_by_round(&record.measurements);
        let only = |places: BTreeSet<usize>| match places.len() {
            1 => places.first().copied(),
            _ => None,
        };
        let by_round = all.into_iter().map(|(round, places)| (round, only(places)));
        Machines {
            by_round: by_round.collect(),
        }
    }

    /// Whether no single one measured all rounds.
    pub fn are_several(&self) -> bool {
        let own: BTreeSet<Option<usize>> = self.by_round.values().copied().collect();
        own.len() > 1 || own.contains(&None)
    }

    /// What each came to: the median over its rounds.
    pub fn values(&self, figures: &ByRound, noise: Noise) -> Vec<f64> {
        let mut own: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (round, value) in figures {
            if let Some(machine) = self.by_round.get(round).copied().flatten() {
                own.entry(machine).or_default().push(*value);
            }
        }
        own.values()
            .filter_map(|rounds| of_one(rounds, noise))
            .collect()
    }
}
