//! The audit: what clients were told, against what is there afterwards, row by row.

use std::collections::BTreeSet;

/// What became of a ledger's transactions after a fault. Counts of transactions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Audit {
    pub acknowledged: usize,
    /// Acknowledged and missing.
    pub lost: usize,
    /// Never answered and present: innocent.
    pub recovered: usize,
    /// Present though refused, or never sent.
    pub phantom: usize,
    /// Acknowledged, missing, and followed by an acknowledged one that is present.
    pub holes: usize,
}

/// Judges what is `present` by what clients were told.
pub fn judge(
    acknowledged: &BTreeSet<u64>,
    unanswered: &BTreeSet<u64>,
    present: &BTreeSet<u64>,
) -> Audit {
    let lost: BTreeSet<u64> = acknowledged.difference(present).copied().collect();
    let last_kept = acknowledged.intersection(present).last();
    let before_last = |number: &&u64| last_kept.is_some_and(|last| *number < last);
    let innocent = |number: &&u64| acknowledged.contains(number) || unanswered.contains(number);
    Audit {
        acknowledged: acknowledged.len(),
        lost: lost.len(),
        recovered: unanswered.intersection(present).count(),
        phantom: present.iter().filter(|number| !innocent(number)).count(),
        holes: lost.iter().filter(before_last).count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[u64]) -> BTreeSet<u64> {
        numbers.iter().copied().collect()
    }

    #[test]
    fn every_kind_of_fate_is_told_apart() {
        let audit = judge(&set(&[1, 2, 3, 5]), &set(&[4, 6]), &set(&[1, 3, 4, 9]));
        let expected = Audit {
            acknowledged: 4,
            lost: 2,      // 2 and 5
            recovered: 1, // 4
            phantom: 1,   // 9
            holes: 1,     // 2, for 3 is there
        };
        assert_eq!(audit, expected);
    }

    #[test]
    fn nothing_is_lost_where_all_is_there() {
        let all = set(&[1, 2, 3]);
        let audit = judge(&all, &set(&[]), &all);
        assert_eq!((audit.lost, audit.phantom, audit.holes), (0, 0, 0));
        assert_eq!(judge(&all, &set(&[]), &set(&[])).lost, 3);
    }
}
