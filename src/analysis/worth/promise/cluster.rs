//! A commit in a group or a cluster, whose members choose by themselves who goes on.

use std::collections::BTreeSet;

use super::copies::{Copies, Hold, Several};
use super::walk::{Fate, Kept, Walk};
use super::world::World;
use crate::analysis::worth::promised::Reason;
use crate::study::faults::{Between, Deed};
use crate::study::{Consistency, Mode};

/// A commit on its way through the steps.
struct Commit<'w> {
    walk: &'w Walk<'w>,
    /// Who acknowledged it.
    by: usize,
    copies: Copies,
    /// Those who are sure to hold it and have been among those who go on ever since.
    kept: BTreeSet<usize>,
    /// Why who acknowledged it holds it on its disk, or does not.
    own: Reason,
    /// Of a cluster that was begun anew: why the first one holds it.
    begun_with: Option<Reason>,
}

/// What becomes of a commit that this node acknowledged after so many steps.
pub fn fate(walk: &Walk<'_>, era: usize, by: usize) -> Fate {
    let world = &walk.worlds[era];
    if world.is_forced && !world.is_in_a_view(by) {
        return Fate::Lost(Reason::NotTheWriter);
    }
    let Some(mut several) = acknowledged(walk, world, by) else {
        return Fate::Impossible;
    };
    let mut before = walk.steps[..era].iter();
    if before.any(|step| is_partial_cut(step.deed)) {
        several.lose_minority();
    }
    let mut copies = Copies::at(walk.nodes(), by, walk.own_hold());
    copies.several = several;
    let mut commit = Commit {
        walk,
        by,
        copies,
        kept: [by].into(),
        own: Reason::Untouched,
        begun_with: None,
    };
    for at in era..walk.steps.len() {
        if let Err(reason) = commit.pass(at) {
            return Fate::Lost(reason);
        }
    }
    commit.end()
}

/// Whether some members lose sight of some others: any minority may be put out then.
fn is_partial_cut(deed: Deed) -> bool {
    matches!(deed, Deed::CutLinks(Between { to: Some(_), .. }))
}

/// Whether all members have a commit before its client is told.
fn is_at_all(mode: Mode) -> bool {
    match mode {
        Mode::Galera => true,
        Mode::Group { consistency } | Mode::GroupMulti { consistency } => matches!(
            consistency,
            Consistency::After | Consistency::BeforeAndAfter
        ),
        _ => false,
    }
}

/// Who has received it when the client is told; `None` if it cannot be told anything then.
///
/// A group waits for a majority ("Group Replication" in the MySQL Reference Manual), in memory;
/// with AFTER for all who are left. Galera delivers to all of the primary component or to nobody.
fn acknowledged(walk: &Walk<'_>, world: &World, by: usize) -> Option<Several> {
    let part = world.members_beside(by);
    if !part.contains(&by) {
        return None;
    }
    let view = world.smallest_view(&part)?;
    let among: BTreeSet<usize> = part.intersection(view).copied().collect();
    let at_least = match is_at_all(walk.terms.mode) {
        true => among.len(),
        false => view.len() / 2 + 1,
    };
    Some(Several {
        at_least,
        among,
        hold: Hold::Memory,
    })
}

impl Commit<'_> {
    fn pass(&mut self, at: usize) -> Result<(), Reason> {
        let step = &self.walk.steps[at];
        let nodes = &step.nodes[..];
        match step.deed {
            Deed::Kill(_) => self.end_servers(nodes, Hold::HandedOver),
            Deed::PowerCut(..) => self.end_servers(nodes, Hold::Flushed),
            Deed::DestroyDisk(_) | Deed::FailDisk(_) => {
                self.copies.lose_all(nodes);
                self.note(nodes, Reason::DiskGone, Reason::DiskGone);
            }
            deed if is_partial_cut(deed) => {
                self.copies.several.lose_minority();
                self.kept.clear();
            }
            Deed::Bootstrap(_) => return self.begin_anew(at),
            Deed::ForceMembers(_) => self.force(nodes)?,
            // They choose by themselves; who was asked to lead is a member like any other.
            Deed::Promote(_) | Deed::Rejoin(_) | Deed::BeginRejoin(_) => {}
            // A restart gives back what a kill took; the others take nothing from anybody.
            _ => {}
        }
        self.go_on_without(at)
    }

    fn end_servers(&mut self, nodes: &[usize], least: Hold) {
        self.copies.lose_below(least, nodes);
        let (held, not) = match least {
            Hold::Flushed => (Reason::Flushed, Reason::NotFlushed),
            _ => (Reason::HandedOver, Reason::NotHandedOver),
        };
        self.note(nodes, held, not);
    }

    fn note(&mut self, nodes: &[usize], held: Reason, not: Reason) {
        self.kept.retain(|node| !nodes.contains(node));
        if !nodes.contains(&self.by) {
            return;
        }
        let is_lost = matches!(
            self.own,
            Reason::NotFlushed | Reason::NotHandedOver | Reason::DiskGone
        );
        match self.copies.is_at(self.by) {
            true if self.own != Reason::Flushed => self.own = held,
            false if !is_lost => self.own = not,
            _ => {}
        }
    }

    /// Those who are silent are put out; what only they have is lost as soon as others go on.
    fn go_on_without(&mut self, at: usize) -> Result<(), Reason> {
        let Some(part) = self.walk.worlds[at + 1].serving() else {
            return Ok(());
        };
        let gone = (0..self.walk.nodes()).filter(|node| !part.contains(node));
        self.copies.several.drop_at(gone);
        self.kept.retain(|node| part.contains(node));
        match self.is_held() {
            true => Ok(()),
            false => Err(Reason::MajorityGone),
        }
    }

    fn is_held(&self) -> bool {
        !self.kept.is_empty() || self.copies.several.at_least > 0
    }

    fn force(&mut self, members: &[usize]) -> Result<(), Reason> {
        self.kept.retain(|node| members.contains(node));
        match self.kept.is_empty() {
            true => Err(Reason::Forced),
            false => Ok(()),
        }
    }

    /// What only memory held is gone, and of the disks only that of the first one counts.
    fn begin_anew(&mut self, at: usize) -> Result<(), Reason> {
        let [first] = self.walk.steps[at].nodes[..] else {
            return Err(Reason::Unclear);
        };
        let is_as_far = self.walk.terms.mode == Mode::Galera && self.is_as_far(first);
        let at_own = self.copies.at_node(self.by);
        let hold = match self.copies.at_node(first) {
            Hold::Nothing if is_as_far => at_own,
            hold => hold,
        };
        if hold == Hold::Nothing {
            let is_gone = at_own == Hold::Nothing && self.begun_with.is_none();
            return Err(if is_gone {
                self.own
            } else {
                Reason::WrongMember
            });
        }
        self.copies = Copies::at(self.walk.nodes(), first, hold);
        self.kept = [first].into();
        self.begun_with = Some(self.own);
        Ok(())
    }

    /// Whether a node was seen to have executed all that the one who acknowledged it has.
    fn is_as_far(&self, node: usize) -> bool {
        let executed = |of: usize| {
            let mut all = self.walk.candidates.iter();
            let found = all.find(|one| usize::from(one.node) == of);
            found.map(|one| one.executed)
        };
        executed(self.by).is_some_and(|own| executed(node).is_some_and(|there| there >= own))
    }

    fn end(&self) -> Fate {
        if !self.is_held() {
            let is_own = self.own != Reason::Untouched && !self.copies.is_at(self.by);
            let reason = if is_own {
                self.own
            } else {
                Reason::MajorityGone
            };
            return Fate::Lost(reason);
        }
        let by_others = match is_at_all(self.walk.terms.mode) {
            true => Reason::HeldByAllNodes,
            false => Reason::HeldByMajority,
        };
        let by_itself = self.kept.contains(&self.by).then_some(Reason::Untouched);
        Fate::Held(Kept {
            reason: self.begun_with.or(by_itself).unwrap_or(by_others),
            // Who was left behind goes on showing what it has.
            covers_reads: !self.walk.worlds.iter().any(|world| world.is_forced),
            hangs_on_alone: false,
        })
    }
}
