//! A trial while it goes on: the servers, the clients, and what was done to them so far.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::alone::Alone;
use super::crowd::Crowd;
use super::schedule::Mark;
use super::subject::Subject;
use super::wires::Wires;
use crate::error::Result;
use crate::lab::disk::Remembered;
use crate::lab::link::CutEchoes;
use crate::lab::mode::Gtids;
use crate::lab::mode::blocked::Blocked;
use crate::lab::mode::candidates::Had;
use crate::lab::mode::faults;
use crate::lab::{Lab, cluster_metadata};
use crate::observe::binary_log::stream::delivered;
use crate::record::history::UNKNOWN_NODE;
use crate::record::trials::{Candidate, Delivered};
use crate::study::disk::PowerCut;
use crate::study::faults::{Control, Fault, Finding, When};

/// As the ledger calls it.
pub const TRANSFERS: &str = "transfers";
/// Beyond what its schedule asks for, a trial may take so long: servers that recover and join, one
/// after the other.
const SPARE: Duration = Duration::from_secs(900);

/// What was seen of a step after it was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Indices of the nodes that it befell, or that took over by it.
    pub nodes: Vec<usize>,
    /// Whether it can be seen to have done what it is for; `None` where nothing can.
    pub bite: Option<bool>,
    /// What was looked at, and what it said.
    pub said: String,
}

/// Echoes sent into the cuts of a step.
#[derive(Debug)]
pub struct UnseenCuts {
    pub step: usize,
    pub echoes: Vec<CutEchoes>,
    /// All else that can be seen of the step is.
    pub is_whole: bool,
}

/// What a disk was made to be, and can be brought back from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    Stalled,
    /// Each flush takes so long.
    Slowed(Duration),
    /// So many bytes were left free.
    Filled(u64),
}

/// What became of the nodes' disks, by index.
#[derive(Debug, Default)]
pub struct Disks {
    /// Their power was cut, by a step of that number, and what is left is not decided yet.
    pub uncut: BTreeMap<usize, (PowerCut, usize)>,
    /// Their node has not been started since its power was cut.
    pub powerless: BTreeSet<usize>,
    /// Thrown away.
    pub gone: BTreeSet<usize>,
    /// They answer with errors.
    pub failed: BTreeSet<usize>,
    pub troubles: BTreeMap<usize, BTreeSet<Trouble>>,
    /// Somebody's was one: a server may wait long for its disk to be well, as for a full one.
    pub were_in_trouble: bool,
    /// Writes that were lost, by the number of the step that cut the power.
    pub dropped_writes: BTreeMap<usize, u64>,
}

/// What was done in a trial, and is known of it.
#[derive(Default)]
pub struct State {
    /// The number of the step under way, and whether it is to befall a commit on its way.
    pub step: usize,
    pub is_for_in_flight: bool,
    /// When its deed was done, all that is only looked at left out.
    pub armed: Option<Mark>,
    /// Cuts whose echoes may still be answered.
    pub unseen_cuts: Vec<UnseenCuts>,
    /// The one moment from which it is in force, where there is one; µs of the history's clock.
    pub in_force_us: Option<u64>,
    /// The node that takes writes by what was done, and since when; µs of the history's clock.
    pub writer: usize,
    pub writer_since_us: u64,
    pub wires: Wires,
    pub disks: Disks,
    pub paused: BTreeSet<usize>,
    pub blocked: Vec<Blocked>,
    /// Of a volume with copies: what they cannot know by themselves, and whether its head is lost.
    pub remembered: Remembered,
    pub has_lost_head: bool,
    pub alone: Alone,
    /// When all that goes on beside steps was last looked after.
    pub looked_us: u64,
    pub candidates: Vec<Candidate>,
    pub delivered: Option<Vec<Delivered>>,
    pub recovery: Duration,
}

impl State {
    /// Nothing is wrong with disks or servers by what was done, or was but a lack of power.
    fn is_sound(&self) -> bool {
        let Disks {
            uncut,
            powerless,
            gone,
            failed,
            were_in_trouble,
            ..
        } = &self.disks;
        let has_power = uncut.is_empty() && powerless.is_empty();
        let has_disks = gone.is_empty() && failed.is_empty() && !were_in_trouble;
        has_power && has_disks && self.paused.is_empty() && !self.has_lost_head
    }
}

/// A trial under way.
pub struct Stage<'s, 'a> {
    pub subject: &'s mut Subject<'a>,
    pub crowd: Crowd,
    pub state: State,
    /// Of what disks draw.
    pub seed: u64,
    /// Transactions that all nodes had at the beginning.
    base: Gtids,
    /// Streams from the first writer are kept, and not read yet.
    keeps_streams: bool,
    /// It is given up then.
    pub until: Instant,
}

impl<'s, 'a> Stage<'s, 'a> {
    /// Has clients begin to work: `draws` is the seed of their transfers, `seed` the trial's.
    ///
    /// # Errors
    /// A breakdown if the first writer does not answer, or no driver starts.
    pub fn open(
        subject: &'s mut Subject<'a>,
        fault: &Fault,
        (seed, draws): (u64, u64),
    ) -> Result<Stage<'s, 'a>> {
        // Before clients begin: a Router looks the group's members up there.
        if fault.finding == Finding::Router {
            cluster_metadata::write(subject.lab())?;
        }
        let base = faults::executed(subject.lab(), 0)?;
        let crowd = Crowd::gather(subject, fault, draws)?;
        Ok(Stage {
            subject,
            crowd,
            state: State::default(),
            seed,
            base,
            keeps_streams: fault.control == Some(Control::LosesUndelivered),
            until: Instant::now() + longest(fault),
        })
    }

    pub fn lab(&mut self) -> &mut Lab {
        self.subject.lab()
    }

    /// How many nodes take part.
    pub fn count(&self) -> usize {
        self.subject.count()
    }

    /// This moment, for the next step to count from.
    pub fn mark(&self) -> Mark {
        Mark {
            at_us: self.crowd.now_us(),
            acknowledged: self.crowd.acknowledged(),
        }
    }

    /// The step's deed is done: what follows is only looking.
    pub fn arm(&mut self) {
        self.state.armed = Some(self.mark());
    }

    /// Node `i` takes writes from now on, by what was done.
    pub fn set_writer(&mut self, i: usize) {
        self.state.writer = i;
        self.state.writer_since_us = self.crowd.now_us();
    }

    /// Names of nodes, for people.
    pub fn names(&self, nodes: &[usize]) -> String {
        let lab = self.subject.lab_seen();
        let names: Vec<&str> = nodes.iter().map(|&i| lab.nodes[i].name()).collect();
        names.join(", ")
    }

    /// What nodes had as one of them was chosen.
    pub fn note_candidates(&mut self, had: &[Had], chosen: usize) {
        let base = &self.base;
        let candidate = |had: &Had| Candidate {
            node: byte(had.node),
            received: had.received.missing_in(base),
            executed: had.executed.missing_in(base),
            is_chosen: had.node == chosen,
        };
        self.state.candidates = had.iter().map(candidate).collect();
    }

    /// Reads the streams that were kept, if they were and have not been read: to be called before
    /// links are healed, or anybody else than the first writer sends anything.
    ///
    /// # Errors
    /// A breakdown if the link switch has died.
    pub fn deliver(&mut self) -> Result<()> {
        if !self.keeps_streams || self.state.delivered.is_some() {
            return Ok(());
        }
        let kept = self.subject.rig.network.kept()?;
        let lab = self.subject.lab_seen();
        let of = |i: usize| {
            let address = lab.nodes[i].place.address;
            delivered(byte(i), address, &kept, TRANSFERS)
        };
        let all = (1..self.subject.count()).map(of).collect();
        self.state.delivered = Some(all);
        Ok(())
    }

    /// Lets appliers go on that a session of ours blocks at these nodes; how many servers say that
    /// the lock is gone.
    pub fn free(&mut self, nodes: &[usize]) -> usize {
        let all = std::mem::take(&mut self.state.blocked).into_iter();
        let (freed, rest): (Vec<Blocked>, Vec<Blocked>) =
            all.partition(|blocked| nodes.contains(&blocked.node));
        self.state.blocked = rest;
        let said = freed.into_iter().map(Blocked::free);
        said.filter(|is_gone| *is_gone).count()
    }

    /// Whether the only server of a mode runs on with a sound disk: for the next trial its ledger
    /// alone has to begin anew.
    pub fn is_running_on(&mut self) -> bool {
        let is_alone = self.count() == 1 && !self.subject.has_copies();
        is_alone && self.state.is_sound() && self.lab().nodes[0].answers()
    }

    /// Without links there is no service, whatever servers do.
    ///
    /// # Errors
    /// A breakdown if the switch has ended, or somebody among the clients.
    pub fn check_alive(&mut self) -> Result<()> {
        self.subject.rig.network.switch.check_alive()?;
        self.crowd.check()
    }

    /// Servers of these nodes have ended: what was done to them has ended, too.
    pub fn forget(&mut self, nodes: &[usize]) {
        self.free(nodes);
        for node in nodes {
            self.state.paused.remove(node);
        }
    }
}

/// How long a trial may take.
fn longest(fault: &Fault) -> Duration {
    let steps = fault.steps.iter().map(|step| match step.when {
        When::After { max, .. } => max,
        _ => step.limit,
    });
    steps.sum::<Duration>() + fault.afterwards + SPARE
}

/// Whether an undoing passes by whom it is for: something was done to some nodes, and to none of
/// these.
pub fn passes_by<'i>(touched: impl IntoIterator<Item = &'i usize>, nodes: &[usize]) -> bool {
    let mut touched = touched.into_iter().peekable();
    touched.peek().is_some() && !touched.any(|i| nodes.contains(i))
}

/// A node's index as records have it.
pub fn byte(i: usize) -> u8 {
    u8::try_from(i).unwrap_or(UNKNOWN_NODE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::faults::{Deed, Step};

    #[test]
    fn a_trial_may_take_as_long_as_all_its_waits() {
        let seconds = Duration::from_secs;
        let step = |when| Step {
            when,
            limit: seconds(30),
            deed: Deed::HealLinks,
        };
        let after = When::After {
            min: seconds(1),
            max: seconds(60),
        };
        let fault = Fault {
            steps: vec![step(after), step(When::Served)],
            afterwards: seconds(5),
            ..Fault::default()
        };
        assert_eq!(longest(&fault), seconds(95) + SPARE);
        assert_eq!((byte(3), byte(300)), (3, UNKNOWN_NODE));
    }

    #[test]
    fn only_what_lost_its_power_and_came_back_is_sound() {
        let mut state = State::default();
        assert!(state.is_sound());
        state.disks.dropped_writes.insert(0, 17);
        assert!(state.is_sound());
        let harms: [fn(&mut State); 6] = [
            |state| state.disks.were_in_trouble = true,
            |state| state.disks.powerless.extend([0]),
            |state| state.disks.gone.extend([0]),
            |state| state.disks.failed.extend([0]),
            |state| state.paused.extend([0]),
            |state| state.disks.uncut.extend([(0, (PowerCut::DropAll, 0))]),
        ];
        for harm in harms {
            let mut state = State::default();
            harm(&mut state);
            assert!(!state.is_sound());
        }
    }

    /// The writer's disk was stalled, and another node writes by the time it is to go on.
    #[test]
    fn an_undoing_has_to_befall_one_that_something_was_done_to() {
        assert!(passes_by(&[0], &[1]) && passes_by(&[0, 2], &[1]));
        assert!(!passes_by(&[0], &[0, 1]) && !passes_by(&[1, 2], &[2]));
        assert!(!passes_by(&[], &[1]), "there is nothing to undo by now");
    }
}
