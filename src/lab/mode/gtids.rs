//! Sets of transactions by their global ids, as servers write them down.

use std::collections::BTreeMap;

/// How many transactions a set holds, and which is the last of them, by whoever numbers them: a
/// MySQL server's UUID, or a domain of MariaDB's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gtids(BTreeMap<String, Numbered>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Numbered {
    count: u64,
    last: u64,
}

impl Gtids {
    /// A set as the server says it: intervals by UUID (`UUID:1-5:7`), or with MariaDB the last of
    /// each domain (`0-1-12`), which has numbered them without a gap. What is neither counts as
    /// nothing.
    pub fn read(text: &str) -> Gtids {
        let mut all: BTreeMap<String, Numbered> = BTreeMap::new();
        for (by, numbered) in text.split(',').filter_map(|part| part_of(part.trim())) {
            let sum = all.entry(by.to_owned()).or_default();
            sum.count += numbered.count;
            sum.last = sum.last.max(numbered.last);
        }
        Gtids(all)
    }

    /// How many of these another set lacks, which holds no others by the same numbers.
    pub fn missing_in(&self, other: &Gtids) -> u64 {
        let missing = |(by, own): (&String, &Numbered)| {
            let there = other.numbered(by).count;
            own.count.saturating_sub(there)
        };
        self.0.iter().map(missing).sum()
    }

    /// Whether the last of these is among those received, or among those applied. They are received
    /// in order.
    pub fn end_in(&self, received: &Gtids, applied: &Gtids) -> bool {
        let mut all = self.0.iter();
        all.all(|(by, own)| {
            let last = received.numbered(by).last.max(applied.numbered(by).last);
            last >= own.last
        })
    }

    fn numbered(&self, by: &str) -> Numbered {
        self.0.get(by).copied().unwrap_or_default()
    }
}

fn part_of(part: &str) -> Option<(&str, Numbered)> {
    let Some((uuid, intervals)) = part.split_once(':') else {
        let (domain, rest) = part.split_once('-')?;
        let (_, last) = rest.split_once('-')?;
        let last = last.parse().ok()?;
        return Some((domain, Numbered { count: last, last }));
    };
    // A tag between intervals is no interval.
    let intervals = intervals.split(':').filter_map(interval);
    let whole = intervals.fold(Numbered::default(), |sum, (first, last)| Numbered {
        count: sum.count + last - first + 1,
        last: sum.last.max(last),
    });
    Some((uuid, whole))
}

fn interval(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(all: &str, there: &str) -> u64 {
        Gtids::read(all).missing_in(&Gtids::read(there))
    }

    #[test]
    fn mysqls_intervals_are_counted_with_their_gaps() {
        assert_eq!(missing("aa:1-100", "aa:1-90"), 10);
        assert_eq!(missing("aa:1-100", "aa:1-90:93:95-96"), 7);
        assert_eq!(missing("aa:1-5,\nbb:1-3", "aa:1-5"), 3);
        assert_eq!(missing("aa:1-5:tag:1-2", "aa:1-5"), 2);
        assert_eq!(missing("aa:1-5", "aa:1-5,bb:1-3"), 0);
        assert_eq!(missing("aa:7", ""), 1);
    }

    #[test]
    fn mariadbs_domains_are_counted_up_to_their_last() {
        assert_eq!(missing("0-1-1200", "0-1-200"), 1_000);
        assert_eq!(missing("0-1-1200,1-1-7", "0-2-1200"), 7);
        assert_eq!(missing("0-1-1200", ""), 1_200);
    }

    #[test]
    fn what_is_no_set_counts_as_nothing() {
        for text in ["", "aa", "aa:", "aa:9-7", "aa:x-y", "0-1", "0-1-x"] {
            assert_eq!(missing(text, ""), 0, "{text}");
        }
    }

    #[test]
    fn what_was_applied_was_received() {
        let is_there = |received: &str, applied: &str| {
            let all = Gtids::read("aa:1-100");
            all.end_in(&Gtids::read(received), &Gtids::read(applied))
        };
        assert!(is_there("aa:51-100", "aa:1-50"));
        assert!(!is_there("aa:51-99", "aa:1-50"));
        // A relay log that was dropped names none.
        assert!(is_there("", "aa:1-100") && !is_there("", "bb:1-100"));
    }
}
