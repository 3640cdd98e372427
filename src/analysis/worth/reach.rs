//! Whether what a fault is for was seen in a trial.

use std::collections::BTreeSet;

use crate::record::history::{Answer, Transfer, UNKNOWN_NODE};
use crate::record::trials::{Candidate, Done, Trial};
use crate::study::faults::{Choose, Deed, Fault, Reach};

/// Whether it was seen.
pub fn is_seen(reach: Reach, fault: &Fault, trial: &Trial) -> bool {
    match reach {
        Reach::InFlight(step) => done(trial, step).is_some_and(|it| {
            let befalls = |transfer: &&Transfer| {
                let node = transfer.node;
                it.nodes.is_empty() || node == UNKNOWN_NODE || it.nodes.contains(&node)
            };
            on_their_way(trial, it).any(|transfer| befalls(&transfer))
        }),
        Reach::AcknowledgedBefore(step, least) => done(trial, step).is_some_and(|it| {
            let before = acknowledged(trial).filter(|told| told.ended_us < it.begun_us);
            before.count() as u64 >= least
        }),
        Reach::FellBack => trial.alone_us.is_some(),
        Reach::Behind => is_behind(&trial.candidates),
        Reach::BothWrote => have_both_written(fault, trial),
    }
}

fn done(trial: &Trial, step: usize) -> Option<&Done> {
    trial.steps.iter().find(|done| done.step == step)
}

fn acknowledged(trial: &Trial) -> impl Iterator<Item = &Transfer> {
    let all = trial.history.transfers.iter();
    all.filter(|transfer| transfer.answer == Answer::Acknowledged)
}

/// How many commits were on their way when a step was in force, to whatever node.
pub fn in_flight(trial: &Trial, step: &Done) -> usize {
    on_their_way(trial, step).count()
}

/// Commits that had been sent when a step was in force, and had not been answered by then. Whose
/// connection was lost meanwhile has been answered nothing. Where nobody knows the moment, any one
/// from its beginning to its end may have been it.
fn on_their_way<'t>(trial: &'t Trial, step: &'t Done) -> impl Iterator<Item = &'t Transfer> {
    let (from_us, to_us) = match step.in_force_us {
        Some(us) => (us, us),
        None => (step.begun_us, step.ended_us),
    };
    let is_on_its_way = move |transfer: &&Transfer| {
        let is_sent = transfer.commit_us.is_some_and(|us| us <= to_us);
        let until_us = match transfer.answer {
            Answer::Unanswered => from_us,
            Answer::Acknowledged | Answer::Refused => to_us,
        };
        is_sent && until_us <= transfer.ended_us
    };
    trial.history.transfers.iter().filter(is_on_its_way)
}

/// Whether another candidate had received more than the chosen one, or executed more.
fn is_behind(candidates: &[Candidate]) -> bool {
    let Some(chosen) = candidates.iter().find(|one| one.is_chosen) else {
        return false;
    };
    let mut others = candidates.iter();
    others.any(|other| other.received > chosen.received || other.executed > chosen.executed)
}

/// Whether transfers were begun on both sides of one cut, and acknowledged.
fn have_both_written(fault: &Fault, trial: &Trial) -> bool {
    let deed = |done: &Done| fault.steps.get(done.step).map(|step| step.deed);
    let mut cuts = (trial.steps.iter().enumerate())
        .filter(|(_, done)| matches!(deed(done), Some(Deed::CutLinks(_))));
    cuts.any(|(at, cut)| {
        let mut later = trial.steps.iter().skip(at + 1);
        let heal = later.find(|done| deed(done) == Some(Deed::HealLinks));
        let healed_us = heal.map_or(u64::MAX, |done| done.begun_us);
        // One that was answered when links were whole again was written by both.
        let during = |told: &&Transfer| told.begun_us >= cut.ended_us && told.ended_us < healed_us;
        let told = acknowledged(trial).filter(during);
        let sides: BTreeSet<bool> = told.map(|told| cut.nodes.contains(&told.node)).collect();
        sides.len() == 2
    })
}

/// Whether the one that was chosen is the one that the schedule asks for; where several takeovers
/// were asked for, nobody knows whose candidates these are.
pub fn is_rightly_chosen(fault: &Fault, trial: &Trial) -> bool {
    let promotions = fault.steps.iter().filter_map(|step| match step.deed {
        Deed::Promote(promotion) => Some(promotion.choose),
        _ => None,
    });
    let all = &trial.candidates;
    let [choose] = promotions.collect::<Vec<Choose>>()[..] else {
        return true;
    };
    let chosen: Vec<&Candidate> = all.iter().filter(|one| one.is_chosen).collect();
    match chosen[..] {
        [] => all.is_empty(),
        [chosen] => all.iter().all(|other| match choose {
            Choose::MostReceived => chosen.received >= other.received,
            Choose::MostExecuted => chosen.executed >= other.executed,
            Choose::First => chosen.node <= other.node,
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::worth::tests::made::{fault, transfer};
    use crate::study::faults::{Between, Promotion, Target, Way};

    fn done(step: usize, begun_us: u64, nodes: &[u8]) -> Done {
        Done {
            step,
            begun_us,
            ended_us: begun_us + 10,
            nodes: nodes.to_vec(),
            ..Done::default()
        }
    }

    fn cut() -> Deed {
        Deed::CutLinks(Between {
            from: Target::Site,
            to: None,
            way: Way::Both,
            with_clients: false,
        })
    }

    /// Each takes 100 µs, and its COMMIT is sent after 50.
    fn with(transfers: &[(u8, u64)], steps: Vec<Done>) -> Trial {
        let all = (1..).zip(transfers);
        let all = all.map(|(token, (node, begun_us))| transfer(token, *node, *begun_us));
        let mut trial = Trial {
            steps,
            ..Trial::default()
        };
        trial.history.transfers = all.collect();
        trial
    }

    #[test]
    fn what_was_on_its_way_and_before_is_told_by_times() {
        let fault = fault(&[Deed::Kill(Target::Writer)]);
        let is = |reach, begun_us| {
            let trial = with(&[(0, 0), (0, 200)], vec![done(0, begun_us, &[0])]);
            is_seen(reach, &fault, &trial)
        };
        let in_flight = Reach::InFlight(0);
        assert!(!is(in_flight, 239) && is(in_flight, 240) && is(in_flight, 290));
        assert!(
            !is(in_flight, 291),
            "it was answered before the kill was done"
        );
        let mut trial = with(&[(0, 200)], vec![done(0, 291, &[0])]);
        trial.history.transfers[0].answer = Answer::Unanswered;
        assert!(
            is_seen(in_flight, &fault, &trial),
            "the kill took the answer"
        );
        assert!(!is(Reach::InFlight(1), 250), "no such step");
        for (nodes, is_its) in [(&[1][..], false), (&[0, 1], true), (&[], true)] {
            let trial = with(&[(0, 200)], vec![done(0, 260, nodes)]);
            assert_eq!(is_seen(in_flight, &fault, &trial), is_its, "{nodes:?}");
        }
        let trial = with(&[(UNKNOWN_NODE, 200)], vec![done(0, 260, &[1])]);
        assert!(is_seen(in_flight, &fault, &trial), "behind a proxy");
        let before = |least| Reach::AcknowledgedBefore(0, least);
        assert!(is(before(1), 300) && !is(before(2), 300) && is(before(2), 301));
    }

    #[test]
    fn both_sides_wrote_if_both_began_and_ended_well_during_the_cut() {
        let fault = fault(&[cut(), Deed::HealLinks]);
        let is = |transfers: &[(u8, u64)]| {
            let steps = vec![done(0, 1_000, &[0]), done(1, 2_000, &[])];
            is_seen(Reach::BothWrote, &fault, &with(transfers, steps))
        };
        assert!(is(&[(0, 1_500), (1, 1_600)]));
        assert!(!is(&[(0, 1_005), (1, 1_600)]), "while it was being cut");
        assert!(!is(&[(0, 1_500), (1, 2_000)]), "after it was healed");
        assert!(!is(&[(2, 1_500), (1, 1_600)]), "on one side");
    }

    #[test]
    fn who_takes_over_is_who_was_to() {
        let candidate = |node, received, executed, is_chosen| Candidate {
            node,
            received,
            executed,
            is_chosen,
        };
        let all = vec![candidate(1, 9, 4, true), candidate(2, 7, 5, false)];
        let with = |choose, candidates: &[Candidate]| {
            let promote = Deed::Promote(Promotion {
                choose,
                is_fenced: true,
                is_given_others: false,
            });
            let trial = Trial {
                candidates: candidates.to_vec(),
                ..Trial::default()
            };
            let fault = fault(&[promote]);
            let is_behind = is_seen(Reach::Behind, &fault, &trial);
            (is_rightly_chosen(&fault, &trial), is_behind)
        };
        assert_eq!(with(Choose::MostReceived, &all), (true, true));
        assert_eq!(with(Choose::MostExecuted, &all), (false, true));
        assert_eq!(with(Choose::First, &all[..1]), (true, false));
        assert_eq!(with(Choose::First, &all[1..]), (false, false), "nobody");
        assert_eq!(with(Choose::First, &[]), (true, false), "not looked at");
    }
}
