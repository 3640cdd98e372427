//! A commit on a single server, or on a source with replicas.

use std::collections::BTreeSet;

use super::copies::{Copies, Hold, Several};
use super::walk::{Fate, Kept, Walk};
use crate::analysis::worth::promised::Reason;
use crate::study::faults::{Choose, Deed, Promotion};
use crate::study::{Mode, WaitPoint};

/// A commit on its way through the steps.
struct Commit<'w> {
    walk: &'w Walk<'w>,
    copies: Copies,
    /// Why whoever is in charge holds it,
    reason: Reason,
    /// why not, should it not,
    own_loss: Reason,
    /// and why no replica need.
    elsewhere: Reason,
    covers_reads: bool,
    hangs_on_alone: bool,
}

/// What becomes of a commit that this node acknowledged after so many steps.
pub fn fate(walk: &Walk<'_>, era: usize, by: usize) -> Fate {
    let world = &walk.worlds[era];
    if world.leader != Some(by) {
        return Fate::Lost(Reason::NotTheWriter);
    }
    let Some(copies) = acknowledged(walk, era, by) else {
        return Fate::Impossible;
    };
    let mut commit = Commit {
        walk,
        copies,
        reason: Reason::Untouched,
        own_loss: Reason::Unclear,
        elsewhere: Reason::NotReceivedElsewhere,
        covers_reads: true,
        hangs_on_alone: false,
    };
    for at in era..walk.steps.len() {
        if let Err(reason) = commit.pass(at) {
            return Fate::Lost(reason);
        }
    }
    commit.end()
}

/// Where it is when the client is told; `None` if it cannot be told anything then.
fn acknowledged(walk: &Walk<'_>, era: usize, by: usize) -> Option<Copies> {
    let world = &walk.worlds[era];
    if !world.can_act(by) {
        return None;
    }
    let mut copies = Copies::at(walk.nodes(), by, walk.own_hold());
    if let Mode::Semisync { wait_for, .. } = walk.terms.mode {
        let mut others = world.reached_from(by);
        others.remove(&by);
        let needed = match walk.has_takeover_before(era) {
            // Who has taken over waits for no more replicas than are left.
            true => others.len().min(wait_for as usize),
            false => wait_for as usize,
        };
        if others.len() < needed {
            return None;
        }
        // A replica answers when the events are in its relay log, flushed or not: "Semisynchronous
        // Replication" in the MySQL Reference Manual, and `sync_relay_log`.
        copies.several = Several {
            at_least: needed,
            among: others,
            hold: match walk.terms.sync_relay_log {
                1 => Hold::Flushed,
                _ => Hold::HandedOver,
            },
        };
    }
    Some(copies)
}

impl Commit<'_> {
    fn pass(&mut self, at: usize) -> Result<(), Reason> {
        let step = &self.walk.steps[at];
        let nodes = &step.nodes[..];
        match step.deed {
            Deed::Kill(_) => self.end_servers(at, Hold::HandedOver),
            Deed::PowerCut(..) => self.end_servers(at, Hold::Flushed),
            Deed::DestroyDisk(_) | Deed::FailDisk(_) => {
                self.copies.lose_all(nodes);
                self.note_loss(at, Reason::DiskGone, Reason::ReceiversGone);
            }
            Deed::Restart(_) if self.walk.terms.relay_log_recovery => {
                self.copies.several.drop_at(nodes.iter().copied());
                self.note_elsewhere(Reason::RelayLogDropped);
            }
            // Who joins anew is not counted on.
            Deed::Rejoin(_) | Deed::BeginRejoin(_) => {
                self.copies.several.drop_at(nodes.iter().copied());
                self.note_elsewhere(Reason::ReceiversGone);
            }
            Deed::Promote(promotion) => self.promote(at, promotion)?,
            Deed::Bootstrap(_) | Deed::ForceMembers(_) => return Err(Reason::NotBuilt),
            // A restart gives back what a kill took; the others take nothing from anybody.
            _ => {}
        }
        Ok(())
    }

    fn leader(&self, at: usize) -> Option<usize> {
        self.walk.worlds[at].leader
    }

    /// Servers end, and with them all that is held less safely than that.
    fn end_servers(&mut self, at: usize, least: Hold) {
        let (held, not, relay) = match least {
            Hold::Flushed => (
                Reason::Flushed,
                Reason::NotFlushed,
                Reason::RelayLogNotFlushed,
            ),
            _ => (
                Reason::HandedOver,
                Reason::NotHandedOver,
                Reason::ReceiversGone,
            ),
        };
        let nodes = &self.walk.steps[at].nodes;
        self.copies.lose_below(least, nodes);
        let leader = self.leader(at).filter(|leader| nodes.contains(leader));
        if leader.is_some() && self.reason != Reason::Flushed {
            self.reason = held;
            self.covers_reads &= self.is_logged_before_it_is_seen(least);
        }
        if let Some(leader) = leader
            && self.walk.terms.comes_back_as_replica
            && self.walk.terms.has_binary_log
        {
            self.copies.lose_all(&[leader]);
            self.note_loss(at, Reason::CutOff, relay);
        }
        self.note_loss(at, not, relay);
    }

    /// A server with a binary log shows a transaction only when that log holds it. Of a source's
    /// loss of power: a replica may have shown it before, in versions that send what is not
    /// flushed.
    fn is_logged_before_it_is_seen(&self, least: Hold) -> bool {
        let is_alone = self.walk.terms.mode == Mode::Single;
        self.walk.terms.has_binary_log && (is_alone || least < Hold::Flushed)
    }

    fn note_loss(&mut self, at: usize, own: Reason, elsewhere: Reason) {
        let is_held = self
            .leader(at)
            .is_some_and(|leader| self.copies.is_at(leader));
        if !is_held && self.own_loss == Reason::Unclear {
            self.own_loss = own;
        }
        self.note_elsewhere(elsewhere);
    }

    fn note_elsewhere(&mut self, reason: Reason) {
        let is_semisync = matches!(self.walk.terms.mode, Mode::Semisync { .. });
        let is_first = self.elsewhere == Reason::NotReceivedElsewhere;
        if is_semisync && is_first && self.copies.several.at_least == 0 {
            self.elsewhere = reason;
        }
    }

    fn promote(&mut self, at: usize, promotion: Promotion) -> Result<(), Reason> {
        let before = self.leader(at);
        let chosen = self.leader(at + 1).ok_or(Reason::Unclear)?;
        if before == Some(chosen) {
            return Ok(());
        }
        let at_hand = self.at_hand(at, before);
        let left = self.copies.several.left_in(&at_hand);
        // All follow one source: who has received most has received all that any other has.
        let is_best = promotion.choose == Choose::MostReceived || promotion.is_given_others;
        if left == 0 {
            let is_gone = self.copies.several.at_least > 0;
            return Err(if is_gone {
                Reason::ReceiversGone
            } else {
                self.elsewhere
            });
        }
        if !at_hand.contains(&chosen) || (!is_best && left < at_hand.len()) {
            return Err(Reason::ChosenMayLack);
        }
        self.copies = Copies::at(self.walk.nodes(), chosen, self.walk.own_hold());
        self.reason = Reason::ReceivedElsewhere;
        self.own_loss = Reason::Unclear;
        self.hangs_on_alone = true;
        self.covers_reads = is_best
            && !self.has_come_back(at, before)
            && self.shows_only_what_was_received(&at_hand, before);
        Ok(())
    }

    /// Whether it was started anew before that step: it shows then what no replica has acknowledged
    /// (MySQL bug 99370).
    fn has_come_back(&self, at: usize, leader: Option<usize>) -> bool {
        let is_it = |node: &usize| Some(*node) == leader;
        let mut before = self.walk.steps[..at].iter();
        before.any(|step| matches!(step.deed, Deed::Restart(_)) && step.nodes.iter().any(is_it))
    }

    /// Replicas that were looked at, or could be.
    fn at_hand(&self, at: usize, before: Option<usize>) -> BTreeSet<usize> {
        let looked_at = self.walk.candidates.iter();
        let looked_at: BTreeSet<usize> = looked_at.map(|one| usize::from(one.node)).collect();
        if !looked_at.is_empty() {
            return looked_at;
        }
        let world = &self.walk.worlds[at];
        let beside = before.filter(|node| world.is_cut_off(*node));
        let beside = beside.map(|node| world.reached_from(node));
        let beside = beside.unwrap_or_default();
        let is_left =
            |node: &usize| world.can_act(*node) && Some(*node) != before && !beside.contains(node);
        (0..self.walk.nodes()).filter(is_left).collect()
    }

    /// With AFTER_SYNC nobody at the source sees what no replica has received; a replica that is
    /// not at hand may have shown more.
    fn shows_only_what_was_received(
        &self,
        at_hand: &BTreeSet<usize>,
        before: Option<usize>,
    ) -> bool {
        let is_after_sync = matches!(
            self.walk.terms.mode,
            Mode::Semisync {
                wait_point: WaitPoint::AfterSync,
                ..
            }
        );
        let mut others = (0..self.walk.nodes()).filter(|node| Some(*node) != before);
        is_after_sync && others.all(|node| at_hand.contains(&node))
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
            covers_reads: self.covers_reads,
            hangs_on_alone: self.hangs_on_alone,
        })
    }
}
