//! Holes and forks: what only the order of events tells.

use std::collections::BTreeSet;

use crate::record::history::{Answer, Token, Transfer};
use crate::record::trials::{Done, Trial};
use crate::study::faults::{Between, Deed, Fault};

/// When something was begun that can take commits away, or give writes to another node; µs of the
/// history's clock, in order.
pub struct Blows(Vec<u64>);

impl Blows {
    pub fn of(fault: &Fault, trial: &Trial) -> Blows {
        let steps = trial.steps.iter();
        let blows = steps.filter(|done| deed(fault, done).is_some_and(Deed::is_blow));
        let mut blows: Vec<u64> = blows.map(|done| done.begun_us).collect();
        blows.sort_unstable();
        Blows(blows)
    }

    /// The first from a time on.
    fn next(&self, from_us: u64) -> u64 {
        let at = self.0.partition_point(|blow_us| *blow_us < from_us);
        self.0.get(at).copied().unwrap_or(u64::MAX)
    }

    /// How many of the lost were acknowledged before another of the same node was begun that is
    /// there: it saw all that the first stands for. Of those after the next blow nothing follows.
    pub fn holes(
        &self,
        lost: &[&Transfer],
        acknowledged: &[&Transfer],
        is_there: impl Fn(Token) -> bool,
    ) -> usize {
        let there = acknowledged.iter().filter(|it| is_there(it.token));
        let there: BTreeSet<(u8, u64)> = there.map(|it| (it.node, it.begun_us)).collect();
        let is_hole = |lost: &&&Transfer| {
            let after_us = lost.ended_us.saturating_add(1);
            let until_us = self.next(lost.ended_us).max(after_us);
            let later = (lost.node, after_us)..(lost.node, until_us);
            there.range(later).next().is_some()
        };
        lost.iter().filter(is_hole).count()
    }
}

fn deed(fault: &Fault, done: &Done) -> Option<Deed> {
    fault.steps.get(done.step).map(|step| step.deed)
}

/// A span in which there were two sides that may both have taken writes.
struct Parting {
    from_us: u64,
    until_us: u64,
    /// One side; all others are the other.
    side: BTreeSet<u8>,
    /// A cut may have writes on either side lost; after a takeover only what the others took is.
    is_cut: bool,
}

impl Parting {
    fn has(&self, transfer: &Transfer) -> bool {
        transfer.begun_us >= self.from_us && transfer.ended_us < self.until_us
    }
}

/// How many were lost that were begun and acknowledged while another side took writes, of which
/// some are there. What a side had acknowledged before the other one began is no fork: it is the
/// tail that a fail-over loses.
pub fn forked(fault: &Fault, trial: &Trial, is_there: impl Fn(Token) -> bool) -> usize {
    let all = trial.history.transfers.iter();
    let acknowledged = all.filter(|transfer| transfer.answer == Answer::Acknowledged);
    let (there, lost): (Vec<&Transfer>, Vec<&Transfer>) =
        acknowledged.partition(|transfer| is_there(transfer.token));
    let mut found: BTreeSet<Token> = BTreeSet::new();
    for parting in partings(fault, trial) {
        let on_side = |transfer: &Transfer| parting.side.contains(&transfer.node);
        let took_from_us = |side: bool| {
            let of_side = |it: &&&Transfer| parting.has(it) && on_side(it) == side;
            there.iter().filter(of_side).map(|it| it.begun_us).min()
        };
        let (inside_us, outside_us) = (took_from_us(true), took_from_us(false));
        let is_forked = |transfer: &&&Transfer| {
            let others_us = match on_side(transfer) {
                true => outside_us.filter(|_| parting.is_cut),
                false => inside_us,
            };
            parting.has(transfer) && others_us.is_some_and(|us| us < transfer.ended_us)
        };
        found.extend(lost.iter().filter(is_forked).map(|lost| lost.token));
    }
    found.len()
}

fn partings(fault: &Fault, trial: &Trial) -> Vec<Parting> {
    let next = |at: usize, ends: fn(Deed) -> bool| {
        let mut later = trial.steps.iter().skip(at + 1);
        let end = later.find(|done| deed(fault, done).is_some_and(ends));
        end.map_or(u64::MAX, |done| done.begun_us)
    };
    let parting = |(at, done): (usize, &Done)| {
        let (from_us, until_us, is_cut) = match deed(fault, done)? {
            Deed::CutLinks(Between { to: None, .. }) => {
                let heals = |deed| matches!(deed, Deed::HealLinks);
                (done.ended_us, next(at, heals), true)
            }
            Deed::Promote(_) | Deed::Bootstrap(_) | Deed::ForceMembers(_) => {
                (done.begun_us, next(at, begins_anew), false)
            }
            _ => return None,
        };
        Some(Parting {
            from_us,
            until_us,
            side: done.nodes.iter().copied().collect(),
            is_cut,
        })
    };
    trial.steps.iter().enumerate().filter_map(parting).collect()
}

/// Whether a node takes over, or nodes follow or join another, from then on.
pub fn begins_anew(deed: Deed) -> bool {
    matches!(
        deed,
        Deed::Promote(_)
            | Deed::Bootstrap(_)
            | Deed::ForceMembers(_)
            | Deed::Rejoin(_)
            | Deed::BeginRejoin(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::worth::tests::made::{fault, promotion};
    use crate::study::faults::{Target, Way};

    fn transfer(token: Token, begun_us: u64) -> Transfer {
        Transfer {
            token,
            from: 0,
            to: 1,
            amount: 1,
            node: 0,
            begun_us,
            commit_us: Some(begun_us + 1),
            ended_us: begun_us + 5,
            answer: Answer::Acknowledged,
        }
    }

    /// The first node is cut off at 1,000, and at 5,000 the second one takes over. The first has
    /// acknowledged one that is lost, which ended at that time.
    fn forked_of_one(lost_ended_us: u64) -> usize {
        let between = Between {
            from: Target::Site,
            to: None,
            way: Way::Both,
            with_clients: false,
        };
        let fault = fault(&[Deed::CutLinks(between), Deed::Promote(promotion())]);
        let done = |step, begun_us, node| Done {
            step,
            begun_us,
            ended_us: begun_us,
            nodes: vec![node],
            ..Done::default()
        };
        let lost = transfer(1, lost_ended_us - 5);
        let there = Transfer {
            node: 1,
            ..transfer(2, 6_000)
        };
        let mut trial = Trial {
            steps: vec![done(0, 1_000, 0), done(1, 5_000, 1)],
            ..Trial::default()
        };
        trial.history.transfers = vec![lost, there];
        forked(&fault, &trial, |token| token == 2)
    }

    #[test]
    fn what_was_acknowledged_before_the_other_side_began_is_a_tail_and_no_fork() {
        assert_eq!(forked_of_one(900), 0, "before the cut");
        assert_eq!(forked_of_one(4_000), 0, "nobody else took writes yet");
        assert_eq!(forked_of_one(6_000), 0);
        assert_eq!(forked_of_one(6_001), 1);
    }

    #[test]
    fn a_hole_needs_one_that_began_after_it_and_before_the_blow() {
        let (one, two) = (transfer(1, 0), transfer(2, 10));
        let holes = |blows: &[u64], later: &Transfer| {
            let told = [&one, later];
            Blows(blows.to_vec()).holes(&[&one], &told, |token| token != 1)
        };
        assert_eq!(holes(&[], &two), 1);
        assert_eq!(holes(&[10], &two), 0, "begun as the blow came");
        assert_eq!(holes(&[11], &two), 1);
        assert_eq!(
            holes(&[3], &two),
            1,
            "a blow before its answer is another's"
        );
        assert_eq!(holes(&[], &transfer(2, 5)), 0, "it was not answered yet");
        let elsewhere = Transfer { node: 1, ..two };
        assert_eq!(holes(&[], &elsewhere), 0);
    }
}
