//! A schedule as it was carried out, to be walked along with one commit.

use std::collections::BTreeSet;

use super::copies::Hold;
use super::world::World;
use crate::analysis::worth::promised::{PromiseTerms, Reason};
use crate::record::history::Answer;
use crate::record::trials::{Candidate, Done, Trial};
use crate::study::faults::{Deed, Fault};

/// What becomes of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Whoever serves at the end holds it.
    Held(Kept),
    /// In the worst case nobody who serves at the end does.
    Lost(Reason),
    /// That node could not acknowledge anything then; if it did all the same, that is no excuse.
    Impossible,
}

/// Why a commit is held at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    pub reason: Reason,
    /// Whether all that a reader can have seen is held too.
    pub covers_reads: bool,
    /// Whether it is held only if nobody went on alone.
    pub hangs_on_alone: bool,
}

impl Fate {
    pub fn kept(self) -> Option<Kept> {
        match self {
            Fate::Held(kept) => Some(kept),
            Fate::Lost(_) | Fate::Impossible => None,
        }
    }

    pub fn lost(self) -> Option<Reason> {
        match self {
            Fate::Lost(reason) => Some(reason),
            Fate::Held(_) | Fate::Impossible => None,
        }
    }
}

/// A step that was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Passed {
    pub deed: Deed,
    pub nodes: Vec<usize>,
    /// From when on an acknowledgement may have come after it; µs of the history's clock.
    pub from_us: u64,
    /// When it was begun. From then on whoever takes over may acknowledge: it is written to before
    /// others follow it, and before the step ends.
    pub begun_us: u64,
}

impl Passed {
    /// From when on what this node acknowledged may have come after it.
    pub fn since_us_at(&self, node: usize) -> u64 {
        match is_takeover(self.deed) && self.nodes.contains(&node) {
            true => self.begun_us,
            false => self.from_us,
        }
    }
}

/// All steps, and the world before and after each.
#[derive(Debug)]
pub struct Walk<'t> {
    pub terms: &'t PromiseTerms,
    pub steps: Vec<Passed>,
    /// One more than steps.
    pub worlds: Vec<World>,
    /// Of the one promotion or bootstrap, if there is one.
    pub candidates: &'t [Candidate],
    /// Who served at the end.
    pub serving: BTreeSet<usize>,
}

impl<'t> Walk<'t> {
    pub fn of(terms: &'t PromiseTerms, fault: &Fault, trial: &'t Trial) -> Walk<'t> {
        let nodes = terms.sites.len();
        let steps = trial
            .steps
            .iter()
            .filter_map(|done| passed(fault, trial, done, nodes));
        let steps: Vec<Passed> = steps.collect();
        let mut worlds = vec![World::new(nodes, first_writer(trial, nodes))];
        for (at, step) in steps.iter().enumerate() {
            let mut next = worlds[at].after(at, step.deed, &step.nodes);
            let starts_anew = |leader: usize| step.nodes.contains(&leader);
            if terms.mode.family().copies_volume()
                && matches!(step.deed, Deed::Restart(_))
                && next.leader.is_some_and(starts_anew)
            {
                next.leader = server_since(trial, step, nodes).or(next.leader);
            }
            worlds.push(next);
        }
        let takeovers = steps.iter().filter(|step| is_takeover(step.deed)).count();
        Walk {
            terms,
            worlds,
            candidates: match takeovers {
                1 => &trial.candidates,
                _ => &[],
            },
            serving: (trial.serving.iter())
                .map(|held| usize::from(held.node))
                .collect(),
            steps,
        }
    }

    pub fn nodes(&self) -> usize {
        self.terms.sites.len()
    }

    /// How many steps come before what that node acknowledged at that time.
    pub fn era(&self, at_us: u64, node: u8) -> usize {
        let node = usize::from(node);
        let comes_before = |step: &Passed| step.since_us_at(node) <= at_us;
        self.steps.partition_point(comes_before)
    }

    /// Whether another node than the first may have acknowledged.
    pub fn has_takeover(&self) -> bool {
        self.steps.iter().any(|step| is_takeover(step.deed))
    }

    /// Whether one has before so many steps were done.
    pub fn has_takeover_before(&self, era: usize) -> bool {
        self.steps[..era].iter().any(|step| is_takeover(step.deed))
    }

    /// Who takes writes after the last step.
    pub fn last_leader(&self) -> Option<usize> {
        self.worlds.last().and_then(|world| world.leader)
    }

    /// Whether the one who is in charge by the schedule is the one that was read at the end.
    pub fn serves(&self, leader: usize) -> bool {
        self.serving.is_empty() || self.serving.contains(&leader)
    }

    pub fn own_hold(&self) -> Hold {
        Hold::own(self.terms)
    }
}

fn is_takeover(deed: Deed) -> bool {
    matches!(
        deed,
        Deed::Promote(_) | Deed::Bootstrap(_) | Deed::ForceMembers(_)
    )
}

/// Who acknowledged first; the first node if nobody did.
pub fn first_writer(trial: &Trial, nodes: usize) -> usize {
    let mut told = trial.history.transfers.iter();
    let first = told.find(|transfer| transfer.answer == Answer::Acknowledged);
    let node = first.map(|transfer| usize::from(transfer.node));
    node.filter(|node| *node < nodes).unwrap_or(0)
}

/// Where the one server of a volume with copies runs that starts anew: copies choose by what they
/// hold which of them leads. Who acknowledged next; if nobody did, who is read at the end.
fn server_since(trial: &Trial, step: &Passed, nodes: usize) -> Option<usize> {
    let mut told = trial.history.transfers.iter();
    let next = told.find(|it| it.answer == Answer::Acknowledged && it.begun_us >= step.from_us);
    let read = match &trial.serving[..] {
        [only] => Some(only.node),
        _ => None,
    };
    let node = next.map(|transfer| transfer.node).or(read);
    node.map(usize::from).filter(|node| *node < nodes)
}

fn passed(fault: &Fault, trial: &Trial, done: &Done, nodes: usize) -> Option<Passed> {
    let deed = fault.steps.get(done.step)?.deed;
    let known = |node: &u8| Some(usize::from(*node)).filter(|node| *node < nodes);
    let mut befallen: Vec<usize> = done.nodes.iter().filter_map(known).collect();
    let from_us = match deed {
        // An old writer that is fenced acknowledges nothing after that, and what it did before is
        // with its replicas by the time that they are compared.
        Deed::Promote(promotion) if promotion.is_fenced => done.ended_us,
        _ => done.begun_us,
    };
    if let Deed::Promote(_) = deed
        && befallen.len() != 1
    {
        let chosen = trial.candidates.iter().filter(|one| one.is_chosen);
        befallen = chosen.filter_map(|one| known(&one.node)).collect();
    }
    Some(Passed {
        deed,
        nodes: befallen,
        from_us,
        begun_us: done.begun_us,
    })
}
