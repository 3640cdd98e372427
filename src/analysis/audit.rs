//! The audit: what clients were told, against what is there afterwards, row by row.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::trial::{Outcomes, Timed};

/// What became of a ledger's transactions after a fault. Counts of transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Audit {
    pub acknowledged: usize,
    /// Acknowledged and missing.
    pub lost: usize,
    /// Of these, acknowledged while a promise was given.
    pub lost_promised: usize,
    /// Never answered and present: innocent.
    pub recovered: usize,
    /// Present though refused, or never sent.
    pub phantom: usize,
    /// Acknowledged and missing, though another that was begun after that is present. `None` where
    /// no times were kept.
    pub holes: Option<usize>,
}

/// Up to when acknowledgements were promised to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promised {
    All,
    Nothing,
    /// Those given before this, in µs since the load began.
    UntilUs(u64),
}

/// Judges what is `present` by what clients were told.
pub fn judge(told: &Outcomes, present: &BTreeSet<u64>, promised: Promised) -> Audit {
    let acknowledged = &told.acknowledged;
    let lost: BTreeSet<u64> = acknowledged.difference(present).copied().collect();
    let answered: BTreeMap<u64, u64> = (told.times.iter())
        .filter_map(|Timed(number, _, answered_us)| Some((*number, (*answered_us)?)))
        .collect();
    let is_promised = |number: &&u64| match promised {
        Promised::All => true,
        Promised::Nothing => false,
        Promised::UntilUs(us) => answered.get(number).is_none_or(|at| *at < us),
    };
    Audit {
        acknowledged: acknowledged.len(),
        lost: lost.len(),
        lost_promised: lost.iter().filter(is_promised).count(),
        recovered: told.unanswered.intersection(present).count(),
        phantom: present.iter().filter(|it| !is_innocent(told, **it)).count(),
        holes: holes(told, present, &lost, &answered),
    }
}

/// Whether a transaction may be there. What an older record calls refused may have met any error,
/// after some of which it is there.
fn is_innocent(told: &Outcomes, number: u64) -> bool {
    let is_old = told.times.is_empty();
    told.acknowledged.contains(&number)
        || told.unanswered.contains(&number)
        || (is_old && told.refused.contains(&number))
}

/// What was begun after an acknowledgement saw all that it stands for: if the later is there, the
/// earlier must be. Numbers tell no such order: sessions take them, and then wait for their turn.
fn holes(
    told: &Outcomes,
    present: &BTreeSet<u64>,
    lost: &BTreeSet<u64>,
    answered: &BTreeMap<u64, u64>,
) -> Option<usize> {
    let there = told.times.iter().filter(|timed| present.contains(&timed.0));
    let last_begun_us = there.map(|timed| timed.1).max();
    let is_hole = |number: &&u64| {
        let answered_us = answered.get(number);
        answered_us.is_some_and(|at| last_begun_us.is_some_and(|begun| *at < begun))
    };
    (!told.times.is_empty()).then(|| lost.iter().filter(is_hole).count())
}

/// How many transactions were on their way when the fault came, in µs since the load began. Of an
/// older record all that were never answered were.
pub fn in_flight(told: &Outcomes, ended_us: u64) -> usize {
    if told.times.is_empty() {
        return told.unanswered.len();
    }
    let on_its_way = |timed: &&Timed| timed.1 <= ended_us && told.unanswered.contains(&timed.0);
    told.times.iter().filter(on_its_way).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(acknowledged: &[u64], unanswered: &[u64], refused: &[u64]) -> Outcomes {
        let set = |numbers: &[u64]| numbers.iter().copied().collect();
        let all = [acknowledged, unanswered, refused].concat();
        let answered = |number: u64| acknowledged.contains(&number).then_some(10 * number + 5);
        Outcomes {
            acknowledged: set(acknowledged),
            unanswered: set(unanswered),
            refused: set(refused),
            times: (all.iter())
                .map(|&number| Timed(number, 10 * number, answered(number)))
                .collect(),
        }
    }

    #[test]
    fn every_kind_of_fate_is_told_apart() {
        let told = outcomes(&[1, 2, 3, 5], &[4, 6], &[7]);
        let audit = judge(&told, &[1, 3, 4, 7, 9].into(), Promised::All);
        let expected = Audit {
            acknowledged: 4,
            lost: 2, // 2 and 5
            lost_promised: 2,
            recovered: 1,   // 4
            phantom: 2,     // 7 and 9
            holes: Some(2), // 2, for 3 was begun after it; 5, for 7 was
        };
        assert_eq!(audit, expected);
    }

    /// Transaction 1 was begun first and took long: 2 was there by its acknowledgement, but had not
    /// been begun after it.
    #[test]
    fn a_hole_is_told_by_times_and_not_by_numbers() {
        let mut told = outcomes(&[1, 2], &[], &[]);
        told.times = vec![Timed(1, 0, Some(50)), Timed(2, 10, Some(20))];
        let holes = |told: &Outcomes| judge(told, &[2].into(), Promised::All).holes;
        assert_eq!(holes(&told), Some(0));
        told.times[1] = Timed(2, 60, Some(70));
        assert_eq!(holes(&told), Some(1));
        told.times.clear();
        assert_eq!(holes(&told), None, "an older record has no times");
    }

    #[test]
    fn only_what_was_acknowledged_in_time_was_promised() {
        let told = outcomes(&[1, 2, 3], &[], &[]);
        let promised = |until| judge(&told, &[1].into(), until).lost_promised;
        assert_eq!(promised(Promised::All), 2);
        assert_eq!(promised(Promised::UntilUs(30)), 1, "2 at 25 µs, 3 at 35");
        assert_eq!(promised(Promised::Nothing), 0);
    }

    #[test]
    fn an_older_record_does_not_tell_which_errors_rolled_back() {
        let mut told = outcomes(&[1], &[], &[2]);
        let phantom = |told: &Outcomes| judge(told, &[1, 2].into(), Promised::All).phantom;
        assert_eq!(phantom(&told), 1);
        told.times.clear();
        assert_eq!(phantom(&told), 0);
    }

    #[test]
    fn what_was_begun_after_the_fault_was_not_in_flight() {
        let mut told = outcomes(&[1], &[2, 3], &[]);
        assert_eq!((in_flight(&told, 25), in_flight(&told, 99)), (1, 2));
        told.times.clear();
        assert_eq!(in_flight(&told, 0), 2);
    }
}
