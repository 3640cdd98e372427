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
        let header = &record.header;
        let hosts = header.hosts();
        let mut all: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for measurement in &record.measurements {
            let host = header.host_of(measurement);
            let mut known = hosts.iter();
            let place = known.position(|known| known.is_same_machine(host));
            all.entry(measurement.round).or_default().extend(place);
        }
        let only = |places: BTreeSet<usize>| match places.len() {
            1 => places.first().copied(),
            _ => None,
        };
        let by_round = all.into_iter();
        Machines {
            by_round: by_round.map(|(round, own)| (round, only(own))).collect(),
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
