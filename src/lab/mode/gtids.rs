//! Sets of transactions by their global ids, as servers write them down.

use std::collections::BTreeMap;

/// Transactions by whoever numbers them: a MySQL server's UUID, with a tag if it gave one, or a
/// domain of MariaDB's.
///
/// The same number is taken for the same transaction. Servers that gave numbers without knowing of
/// each other, in one domain of MariaDB's, or again after they had lost some, cannot be told apart
/// by it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gtids(BTreeMap<String, Vec<Run>>);

/// First and last of numbers without a gap. Those of a set are in order, and no two touch.
type Run = (u64, u64);

impl Gtids {
    /// A set as the server says it: intervals by UUID (`UUID:1-5:7`), or with MariaDB the last of
    /// each domain (`0-1-12`), which has numbered them without a gap. What is neither counts as
    /// nothing.
    pub fn read(text: &str) -> Gtids {
        let mut all: BTreeMap<String, Vec<Run>> = BTreeMap::new();
        for (by, run) in text.split(',').flat_map(|part| runs_of(part.trim())) {
            all.entry(by).or_default().push(run);
        }
        let all = all.into_iter();
        Gtids(all.map(|(by, runs)| (by, joined(runs))).collect())
    }

    /// How many transactions there are.
    pub fn count(&self) -> u64 {
        let runs = self.0.values().flatten();
        runs.map(|(first, last)| last - first + 1).sum()
    }

    /// Those of either set.
    pub fn union(&self, other: &Gtids) -> Gtids {
        let mut all = self.0.clone();
        for (by, runs) in &other.0 {
            let own = all.entry(by.clone()).or_default();
            own.extend(runs);
            *own = joined(std::mem::take(own));
        }
        Gtids(all)
    }

    /// Those of this set that the other lacks.
    pub fn minus(&self, other: &Gtids) -> Gtids {
        let left = |(by, runs): (&String, &Vec<Run>)| {
            let left = without(runs, other.runs(by));
            (!left.is_empty()).then(|| (by.clone(), left))
        };
        Gtids(self.0.iter().filter_map(left).collect())
    }

    /// How many of these another set lacks.
    pub fn missing_in(&self, other: &Gtids) -> u64 {
        self.minus(other).count()
    }

    /// Whether another set has all of these.
    pub fn is_in(&self, other: &Gtids) -> bool {
        self.missing_in(other) == 0
    }

    /// Whether the last of these is among those received, or among those applied. They are received
    /// in order.
    pub fn end_in(&self, received: &Gtids, applied: &Gtids) -> bool {
        let mut all = self.0.keys();
        all.all(|by| received.last(by).max(applied.last(by)) >= self.last(by))
    }

    /// How many transactions of a set no other has, all as servers say them. `None` where numbers
    /// do not tell: without any, or of a domain of MariaDB's in which different servers gave the
    /// last.
    pub fn ahead(set: &str, others: &[&str]) -> Option<u64> {
        let own = Gtids::read(set);
        let givers = givers(set);
        let is_by_one = |other: &&str| {
            let all = self::givers(other).into_iter();
            let mut shared = all.filter_map(|(domain, giver)| Some((giver, givers.get(domain)?)));
            shared.all(|(giver, own)| giver == *own)
        };
        let others_have = others.iter().map(|other| Gtids::read(other));
        let there = others_have.fold(Gtids::default(), |all, set| all.union(&set));
        let is_told = own.count() > 0 && others.iter().all(is_by_one);
        is_told.then(|| own.missing_in(&there))
    }

    fn runs(&self, by: &str) -> &[Run] {
        let runs = self.0.get(by).map(Vec::as_slice);
        runs.unwrap_or_default()
    }

    /// 0 where there is none.
    fn last(&self, by: &str) -> u64 {
        self.runs(by).last().map_or(0, |run| run.1)
    }
}

/// The runs of one part of a set, each with who numbers it.
fn runs_of(part: &str) -> Vec<(String, Run)> {
    let Some((uuid, rest)) = part.split_once(':') else {
        return domain_of(part).into_iter().collect();
    };
    let mut by = uuid.to_owned();
    let mut all = Vec::new();
    for word in rest.split(':') {
        match run_of(word) {
            Some(run) => all.push((by.clone(), run)),
            // A tag: what follows it is numbered apart.
            None => by = format!("{uuid}:{word}"),
        }
    }
    all
}

fn run_of(text: &str) -> Option<Run> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse::<u64>().ok()?, last.parse::<u64>().ok()?);
    (first <= last).then_some((first, last))
}

fn domain_of(part: &str) -> Option<(String, Run)> {
    let (domain, rest) = part.split_once('-')?;
    let (_, last) = rest.split_once('-')?;
    let last = last.parse::<u64>().ok()?;
    (last > 0).then(|| (domain.to_owned(), (1, last)))
}

/// Of MariaDB's domains, by their numbers: the servers that gave the last of each.
fn givers(set: &str) -> BTreeMap<&str, &str> {
    let parts = set.split(',').map(str::trim);
    parts.filter_map(giver_of).collect()
}

fn giver_of(part: &str) -> Option<(&str, &str)> {
    let (domain, rest) = part.split_once('-').filter(|_| !part.contains(':'))?;
    let (giver, _) = rest.split_once('-')?;
    Some((domain, giver))
}

/// The same runs in order, those that touch as one.
fn joined(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable();
    let mut all: Vec<Run> = Vec::new();
    for (first, last) in runs {
        match all.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => all.push((first, last)),
        }
    }
    all
}

/// What of these runs is in none of those.
fn without(runs: &[Run], those: &[Run]) -> Vec<Run> {
    let cut = |left: Vec<Run>, that: &Run| {
        let parts = left.into_iter().flat_map(|run| cut_out(run, *that));
        parts.collect::<Vec<Run>>()
    };
    those.iter().fold(runs.to_vec(), cut)
}

/// What of a run is before the other, and behind it.
fn cut_out((first, last): Run, (from, to): Run) -> impl Iterator<Item = Run> {
    let before = (first < from).then(|| (first, last.min(from - 1)));
    let behind = (to < last).then(|| (first.max(to + 1), last));
    before.into_iter().chain(behind)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

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
        for text in ["", "aa", "aa:", "aa:9-7", "aa:x-y", "0-1", "0-1-x", "0-1-0"] {
            assert_eq!(Gtids::read(text).count(), 0, "{text}");
        }
    }

    /// As many there do not make up for one that is missing.
    #[test]
    fn it_counts_which_ones_are_there_and_not_how_many() {
        assert_eq!(missing("aa:1-10", "aa:1-9:11-20"), 1);
        assert!(!Gtids::read("aa:3").is_in(&Gtids::read("aa:1-2:4-9")));
        assert!(Gtids::read("aa:3").is_in(&Gtids::read("aa:1-9")));
        let (old, new) = (Gtids::read("aa:1-10"), Gtids::read("aa:1-8,bb:1-4"));
        assert_eq!(old.minus(&new), Gtids::read("aa:9-10"));
        assert_eq!(new.minus(&old), Gtids::read("bb:1-4"));
        assert_eq!(old.union(&new), Gtids::read("bb:1-4,aa:1-10"));
    }

    #[test]
    fn a_node_is_ahead_by_what_no_other_has() {
        let ahead = |set, others: &[&str]| Gtids::ahead(set, others);
        assert_eq!(ahead("aa:1-10", &["aa:1-7", "aa:9"]), Some(2));
        assert_eq!(ahead("aa:1-10", &["aa:1-12"]), Some(0));
        assert_eq!(ahead("", &["aa:1-12"]), None);
        assert_eq!(ahead("0-1-10", &["0-1-7"]), Some(3));
        assert_eq!(ahead("0-1-10", &["0-2-12"]), None, "two servers numbered");
        assert_eq!(ahead("1-3-4,0-1-10", &["0-1-12"]), Some(4));
    }

    #[test]
    fn a_tag_numbers_apart() {
        let tagged = Gtids::read("aa:1-5:tag:1-2:other:7");
        assert_eq!(tagged.count(), 8);
        assert_eq!(
            tagged.minus(&Gtids::read("aa:1-9:tag:2")),
            Gtids::read("aa:tag:1:other:7")
        );
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

    fn numbers() -> impl Strategy<Value = Vec<(u64, u64)>> {
        proptest::collection::vec((1u64..40, 0u64..6), 0..8)
    }

    /// A set as a server would say it, and its numbers one by one.
    fn both(runs: &[(u64, u64)]) -> (Gtids, BTreeSet<u64>) {
        let part = |(first, more): &(u64, u64)| format!(":{first}-{}", first + more);
        let text = format!("aa{}", runs.iter().map(part).collect::<String>());
        let all = runs.iter().flat_map(|(first, more)| *first..=first + more);
        (Gtids::read(&text), all.collect())
    }

    proptest! {
        #[test]
        fn it_counts_as_one_by_one(own in numbers(), others in numbers()) {
            let ((own, own_one), (other, other_one)) = (both(&own), both(&others));
            prop_assert_eq!(own.count(), own_one.len() as u64);
            let union = own.union(&other);
            prop_assert_eq!(union.count(), own_one.union(&other_one).count() as u64);
            let missing = own_one.difference(&other_one).count() as u64;
            prop_assert_eq!(own.missing_in(&other), missing);
            prop_assert_eq!(own.is_in(&other), own_one.is_subset(&other_one));
            prop_assert_eq!(own.minus(&other).union(&other), union);
        }
    }
}
