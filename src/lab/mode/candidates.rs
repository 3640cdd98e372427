//! Who could take over from a writer, by what each has.

use std::cmp::Reverse;

use super::gtids::Gtids;
use crate::study::faults::Choose;

/// What one node has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Had {
    pub node: usize,
    /// All that it has, applied or not.
    pub received: Gtids,
    pub executed: Gtids,
}

/// The one that is to take over; of several that are alike the first. `None` of nobody.
pub fn chosen(all: &[Had], choose: Choose) -> Option<usize> {
    let most = |count: fn(&Had) -> u64| {
        // Of those that are alike the last is taken.
        let from_behind = all.iter().rev();
        from_behind.max_by_key(|had| count(had))
    };
    let had = match choose {
        Choose::MostReceived => most(|had| had.received.count()),
        Choose::MostExecuted => most(|had| had.executed.count()),
        Choose::First => all.first(),
    };
    had.map(|had| had.node)
}

/// The one that has received least; of several that are alike the first.
pub fn least_received(all: &[Had]) -> Option<usize> {
    let least = all.iter().min_by_key(|had| had.received.count());
    least.map(|had| had.node)
}

/// Those that have received something that `to` has not, who has most of that first.
pub fn givers(all: &[Had], to: usize) -> Vec<usize> {
    let own = all.iter().find(|had| had.node == to);
    let own = own.map(|had| had.received.clone()).unwrap_or_default();
    let besides = |had: &Had| (had.received.missing_in(&own), had.node);
    let mut others: Vec<(u64, usize)> = all.iter().map(besides).collect();
    others.retain(|(besides, _)| *besides > 0);
    others.sort_by_key(|(besides, _)| Reverse(*besides));
    others.into_iter().map(|(_, node)| node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn had(node: usize, received: &str, executed: &str) -> Had {
        Had {
            node,
            received: Gtids::read(received),
            executed: Gtids::read(executed),
        }
    }

    #[test]
    fn who_received_most_need_not_have_executed_most() {
        let all = [
            had(1, "aa:1-90", "aa:1-88"),
            had(2, "aa:1-100", "aa:1-40"),
            had(3, "aa:1-95", "aa:1-95"),
        ];
        assert_eq!(chosen(&all, Choose::MostReceived), Some(2));
        assert_eq!(chosen(&all, Choose::MostExecuted), Some(3));
        assert_eq!(chosen(&all, Choose::First), Some(1));
        assert_eq!(least_received(&all), Some(1));
        assert_eq!(givers(&all, 3), [2]);
        assert_eq!(givers(&all, 1), [2, 3]);
        assert!(givers(&all, 2).is_empty());
    }

    #[test]
    fn of_those_that_are_alike_the_first_is_taken() {
        let all = [
            had(1, "0-1-7", "0-1-5"),
            had(2, "0-1-9", "0-1-5"),
            had(3, "0-1-9", "0-1-4"),
        ];
        assert_eq!(chosen(&all, Choose::MostReceived), Some(2));
        assert_eq!(chosen(&all, Choose::MostExecuted), Some(1));
        assert_eq!(chosen(&[], Choose::First), None);
        assert_eq!(least_received(&[]), None);
    }
}
