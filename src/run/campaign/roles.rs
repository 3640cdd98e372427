//! Roles, as far as no server has to be asked who has them.

use crate::lab::mode::candidates::{Had, chosen, least_received};
use crate::study::faults::{Choose, Target};

/// The nodes of a role, by index, where these are the sites of all nodes and that one writes;
/// `None` of a role that hangs on what servers say.
pub fn plain(target: Target, sites: &[String], writer: usize) -> Option<Vec<usize>> {
    let count = sites.len();
    let others = || (0..count).filter(move |i| *i != writer);
    let first = |number: usize| (0..count.min(number)).collect::<Vec<usize>>();
    Some(match target {
        Target::Writer => vec![writer],
        Target::FirstWriter => vec![0],
        Target::Replica(number) => {
            let place = (number as usize).checked_sub(1);
            let found = place.and_then(|place| others().nth(place));
            found.into_iter().collect()
        }
        Target::Replicas => others().collect(),
        Target::Site => (0..count).filter(|i| sites[*i] == sites[0]).collect(),
        Target::All => (0..count).collect(),
        Target::First(number) => first(number as usize),
        Target::Minority => first(count.saturating_sub(1) / 2),
        Target::Majority => first(count / 2 + 1),
        Target::MostReceived | Target::LeastReceived | Target::Lost | Target::Donor => {
            return None;
        }
    })
}

/// The one of these that has received most or least, if that is the role.
pub fn pick(target: Target, had: &[Had]) -> Option<usize> {
    match target {
        Target::MostReceived => chosen(had, Choose::MostReceived),
        Target::LeastReceived => least_received(had),
        _ => None,
    }
}

/// Who could take over from a writer: all others, but for those on islands, whom nobody outside can
/// reach. Where all are, they are not passed over: then it is the writer that is away.
pub fn candidates(count: usize, writer: usize, islands: &[Vec<usize>]) -> Vec<usize> {
    let others = || (0..count).filter(move |i| *i != writer);
    let is_on_one = |i: &usize| islands.iter().any(|island| island.contains(i));
    let outside: Vec<usize> = others().filter(|i| !is_on_one(i)).collect();
    match outside.is_empty() {
        true => others().collect(),
        false => outside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::mode::Gtids;

    fn nodes(target: Target, writer: usize) -> Option<Vec<usize>> {
        let sites = ["a", "b", "c", "a", "b"].map(str::to_owned);
        plain(target, &sites, writer)
    }

    #[test]
    fn replicas_are_counted_without_whoever_writes() {
        assert_eq!(nodes(Target::Replica(1), 0), Some(vec![1]));
        assert_eq!(nodes(Target::Replica(1), 1), Some(vec![0]));
        assert_eq!(nodes(Target::Replica(4), 1), Some(vec![4]));
        assert_eq!(nodes(Target::Replica(5), 1), Some(vec![]));
        assert_eq!(nodes(Target::Replica(0), 1), Some(vec![]));
        assert_eq!(nodes(Target::Replicas, 2), Some(vec![0, 1, 3, 4]));
        assert_eq!(nodes(Target::Writer, 2), Some(vec![2]));
        assert_eq!(nodes(Target::FirstWriter, 2), Some(vec![0]));
    }

    #[test]
    fn a_minority_is_the_most_that_must_not_go_on() {
        assert_eq!(nodes(Target::Minority, 0), Some(vec![0, 1]));
        assert_eq!(nodes(Target::Majority, 3), Some(vec![0, 1, 2]));
        assert_eq!(nodes(Target::First(2), 3), Some(vec![0, 1]));
        assert_eq!(nodes(Target::First(9), 3).map(|all| all.len()), Some(5));
        let four = ["a", "b", "c", "d"].map(str::to_owned);
        assert_eq!(plain(Target::Minority, &four, 0), Some(vec![0]));
        assert_eq!(plain(Target::Majority, &four, 0), Some(vec![0, 1, 2]));
        let two = ["a", "b"].map(str::to_owned);
        assert_eq!(plain(Target::Minority, &two, 0), Some(vec![]));
    }

    #[test]
    fn a_site_is_all_nodes_that_stand_with_the_first() {
        assert_eq!(nodes(Target::Site, 1), Some(vec![0, 3]));
        assert_eq!(nodes(Target::All, 1).map(|all| all.len()), Some(5));
    }

    #[test]
    fn what_hangs_on_servers_is_theirs_to_say() {
        for target in [
            Target::MostReceived,
            Target::LeastReceived,
            Target::Lost,
            Target::Donor,
        ] {
            assert_eq!(nodes(target, 0), None, "{target:?}");
        }
        let had = |node, received: &str| Had {
            node,
            received: Gtids::read(received),
            ..Had::default()
        };
        let all = [had(1, "aa:1-7"), had(2, "aa:1-9"), had(4, "aa:1-7")];
        assert_eq!(pick(Target::MostReceived, &all), Some(2));
        assert_eq!(pick(Target::LeastReceived, &all), Some(1));
        assert_eq!(pick(Target::MostReceived, &[]), None);
        assert_eq!(pick(Target::Writer, &all), None);
    }

    #[test]
    fn nobody_on_an_island_takes_over_while_others_are_outside() {
        assert_eq!(candidates(4, 0, &[]), [1, 2, 3]);
        assert_eq!(candidates(4, 0, &[vec![0, 2]]), [1, 3]);
        assert_eq!(candidates(4, 1, &[vec![0], vec![3]]), [2]);
        // All replicas were cut off: it is the writer that nobody reaches.
        assert_eq!(candidates(3, 0, &[vec![1, 2]]), [1, 2]);
        assert!(candidates(1, 0, &[]).is_empty());
    }
}
