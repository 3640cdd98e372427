//! A commit on a server whose volume has copies elsewhere.

use super::copies::{Copies, Hold, Several};
use super::walk::{Fate, Kept, Walk};
use super::world::World;
use crate::analysis::worth::promised::Reason;
use crate::study::faults::Deed;
use crate::study::{Ack, Mode, WhenShort};

/// A commit on its way through the steps.
struct Commit<'w> {
    walk: &'w Walk<'w>,
    copies: Copies,
    reason: Reason,
    /// Why the server's own copy does not hold it, should it not.
    own_loss: Reason,
    hangs_on_alone: bool,
}

/// What becomes of a commit that this node acknowledged after so many steps.
pub fn fate(walk: &Walk<'_>, era: usize, by: usize) -> Fate {
    let world = &walk.worlds[era];
    if world.leader != Some(by) {
        return Fate::Lost(Reason::NotTheWriter);
    }
    let Some(copies) = acknowledged(walk, world, by) else {
        return Fate::Impossible;
    };
    let mut commit = Commit {
        walk,
        copies,
        reason: Reason::Untouched,
        own_loss: Reason::Unclear,
        hangs_on_alone: false,
    };
    for at in era..walk.steps.len() {
        if let Err(reason) = commit.pass(at) {
            return Fate::Lost(reason);
        }
    }
    commit.end()
}

/// What a volume waits for.
fn rule(mode: Mode, nodes: usize) -> Option<(usize, Ack)> {
    match mode {
        Mode::Mirror { ack, .. } => Some((nodes, ack)),
        Mode::Quorum {
            write_quorum, ack, ..
        } => Some((write_quorum as usize, ack)),
        _ => None,
    }
}

/// Where it is when the client is told; `None` if it cannot be told anything then. What is not
/// flushed need not have left the server's machine, whatever copies wait for.
fn acknowledged(walk: &Walk<'_>, world: &World, by: usize) -> Option<Copies> {
    let (needed, ack) = rule(walk.terms.mode, walk.nodes())?;
    let reached = world.reached_from(by);
    if !world.can_act(by) || reached.len() < needed {
        return None;
    }
    let mut copies = Copies::at(walk.nodes(), by, walk.own_hold());
    if !walk.terms.flushes() {
        return Some(copies);
    }
    // A flush may be done at enough other copies before it is at the server's own.
    if needed < walk.nodes() {
        copies = Copies::at(walk.nodes(), by, Hold::HandedOver);
    }
    copies.several = Several {
        at_least: needed,
        among: reached,
        hold: match ack {
            Ack::Write | Ack::Flush => Hold::Flushed,
            Ack::ProtocolC => Hold::HandedOver,
        },
    };
    Some(copies)
}

impl Commit<'_> {
    fn pass(&mut self, at: usize) -> Result<(), Reason> {
        let step = &self.walk.steps[at];
        let nodes = &step.nodes[..];
        match step.deed {
            // Only a server is killed; its volume goes on.
            Deed::Kill(_) => self.end_server(at, Hold::HandedOver),
            Deed::PowerCut(..) => {
                self.end_server(at, Hold::Flushed);
                self.copies.lose_below(Hold::Flushed, nodes);
            }
            Deed::DestroyDisk(_) | Deed::FailDisk(_) => {
                self.copies.lose_all(nodes);
                self.note(at, Reason::Untouched, Reason::DiskGone);
            }
            Deed::Restart(_) | Deed::Rejoin(_) | Deed::BeginRejoin(_) => self.start(at)?,
            Deed::Promote(_) | Deed::Bootstrap(_) | Deed::ForceMembers(_) => self.take_over(at)?,
            // A restart gives back what a kill took; the others take nothing from anybody.
            _ => {}
        }
        Ok(())
    }

    fn end_server(&mut self, at: usize, least: Hold) {
        let (held, not) = match least {
            Hold::Flushed => (Reason::Flushed, Reason::NotFlushed),
            _ => (Reason::HandedOver, Reason::NotHandedOver),
        };
        let nodes = &self.walk.steps[at].nodes;
        let leader = self.walk.worlds[at].leader;
        let Some(leader) = leader.filter(|leader| nodes.contains(leader)) else {
            return;
        };
        if self.copies.at_node(leader) < least
            && let Some(hold) = self.copies.sure.get_mut(leader)
        {
            *hold = Hold::Nothing;
        }
        self.note(at, held, not);
    }

    fn note(&mut self, at: usize, held: Reason, not: Reason) {
        let leader = self.walk.worlds[at].leader;
        match leader.is_some_and(|leader| self.copies.is_at(leader)) {
            true if held != Reason::Untouched && self.reason != Reason::Flushed => {
                self.reason = held;
            }
            false if self.own_loss == Reason::Unclear => self.own_loss = not,
            _ => {}
        }
    }

    /// The server starts where it was, or where the copies that have lost their head choose to, on
    /// what these hold together.
    fn start(&mut self, at: usize) -> Result<(), Reason> {
        let before = self.walk.worlds[at].leader;
        let before = before.filter(|leader| self.walk.steps[at].nodes.contains(leader));
        let (Some(before), Some(leader)) = (before, self.walk.worlds[at + 1].leader) else {
            return Ok(());
        };
        match before == leader && self.copies.is_at(leader) {
            true => Ok(()),
            false => self.lead(at, leader),
        }
    }

    fn take_over(&mut self, at: usize) -> Result<(), Reason> {
        let chosen = self.walk.worlds[at + 1].leader.ok_or(Reason::Unclear)?;
        match self.walk.worlds[at].leader == Some(chosen) && self.copies.is_at(chosen) {
            true => Ok(()),
            false => self.lead(at, chosen),
        }
    }

    /// Of the copies at hand the best one counts: one of them holds it, or none need.
    fn lead(&mut self, at: usize, leader: usize) -> Result<(), Reason> {
        let at_hand = self.walk.worlds[at + 1].reached_from(leader);
        let left = self.copies.several.left_in(&at_hand);
        if left == 0 {
            let is_flushed = self.walk.terms.flushes();
            let own = Some(self.own_loss).filter(|own| *own != Reason::Unclear);
            let not = match is_flushed {
                true => Reason::CopiesGone,
                false => own.unwrap_or(Reason::NotFlushed),
            };
            return Err(not);
        }
        let hold = self.copies.several.hold;
        self.copies.several.at_least = left;
        self.copies
            .several
            .among
            .retain(|node| at_hand.contains(node));
        self.copies.sure = Copies::at(self.walk.nodes(), leader, hold).sure;
        self.own_loss = Reason::Unclear;
        self.reason = match hold {
            Hold::Flushed => Reason::HeldElsewhere,
            _ => Reason::ReceivedByCopy,
        };
        let is_degrading = matches!(
            self.walk.terms.mode,
            Mode::Mirror {
                when_short: WhenShort::Degrade,
                ..
            }
        );
        self.hangs_on_alone |= is_degrading;
        Ok(())
    }

    fn end(&self) -> Fate {
        let Some(leader) = self.walk.last_leader().filter(|it| self.walk.serves(*it)) else {
            return Fate::Lost(Reason::Unclear);
        };
        if !self.copies.is_at(leader) {
            return Fate::Lost(self.own_loss);
        }
        Fate::Held(Kept {
            reason: self.reason,
            // A server with a binary log shows a transaction only when that log is flushed.
            covers_reads: self.reason == Reason::Untouched || self.walk.terms.has_binary_log,
            hangs_on_alone: self.hangs_on_alone,
        })
    }
}
