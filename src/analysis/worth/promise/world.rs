//! Who runs, who reaches whom, and who is in charge, step by step.

use std::collections::BTreeSet;

use crate::study::faults::{Between, Deed};

/// Nodes between two steps.
#[derive(Debug, Clone)]
pub struct World {
    nodes: Vec<Node>,
    /// Memberships that may be in force: a node that is silent is put out some time later.
    views: Vec<BTreeSet<usize>>,
    /// Who takes writes, in a mode with one writer that does not choose it by itself; `None`:
    /// nobody knows.
    pub leader: Option<usize>,
    /// Somebody has said by force who is a member.
    pub is_forced: bool,
}

#[derive(Debug, Clone)]
struct Node {
    is_up: bool,
    is_paused: bool,
    is_member: bool,
    /// Cuts that it is on the first side of, by their steps: those who have the same reach each
    /// other.
    cuts: Vec<usize>,
}

impl World {
    /// All is well.
    pub fn new(nodes: usize, leader: usize) -> World {
        let node = Node {
            is_up: true,
            is_paused: false,
            is_member: true,
            cuts: vec![],
        };
        World {
            nodes: vec![node; nodes],
            views: vec![(0..nodes).collect()],
            leader: Some(leader),
            is_forced: false,
        }
    }

    /// What a step makes of it.
    pub fn after(&self, at: usize, deed: Deed, befallen: &[usize]) -> World {
        let mut next = self.clone();
        match deed {
            Deed::Kill(_) | Deed::PowerCut(..) | Deed::DestroyDisk(_) | Deed::FailDisk(_) => {
                next.each(befallen, |node| {
                    (node.is_up, node.is_paused, node.is_member) = (false, false, false);
                });
            }
            Deed::Restart(_) => next.each(befallen, |node| node.is_up = true),
            Deed::Pause(_) => next.each(befallen, |node| node.is_paused = true),
            Deed::Resume(_) => next.each(befallen, |node| node.is_paused = false),
            Deed::CutLinks(Between { to: None, .. }) => {
                next.each(befallen, |node| node.cuts.push(at));
            }
            Deed::HealLinks => next.nodes.iter_mut().for_each(|node| node.cuts.clear()),
            Deed::Promote(_) => next.leader = only(befallen),
            Deed::Bootstrap(_) | Deed::ForceMembers(_) => next.begin_anew(befallen),
            Deed::Rejoin(_) => next.rejoin(befallen),
            // They may be members by the next step, or not yet.
            Deed::BeginRejoin(_) => next.each(befallen, |node| {
                (node.is_up, node.is_paused, node.is_member) = (true, false, true);
            }),
            // Of a cut between two sets some may go on reaching both.
            Deed::CutLinks(Between { to: Some(_), .. })
            | Deed::LoseOnLinks(..)
            | Deed::SlowLinks(..)
            | Deed::StallDisk(_)
            | Deed::ResumeDisk(_)
            | Deed::SlowDisk(..)
            | Deed::FillDisk(..)
            | Deed::BlockAppliers(_)
            | Deed::FreeAppliers(_) => {}
        }
        next.note_view();
        next
    }

    fn each(&mut self, which: &[usize], change: impl Fn(&mut Node)) {
        for &index in which {
            if let Some(node) = self.nodes.get_mut(index) {
                change(node);
            }
        }
    }

    fn begin_anew(&mut self, with: &[usize]) {
        self.nodes
            .iter_mut()
            .for_each(|node| node.is_member = false);
        self.each(with, |node| {
            (node.is_up, node.is_member) = (true, true);
        });
        self.views = vec![with.iter().copied().collect()];
        self.leader = only(with);
        self.is_forced = true;
    }

    fn rejoin(&mut self, coming: &[usize]) {
        let mut view = self.serving().unwrap_or_default();
        view.extend(coming);
        self.each(coming, |node| {
            (node.is_up, node.is_paused, node.is_member) = (true, false, true);
        });
        self.views = vec![view];
    }

    /// Who is left and serves may by now be the whole membership, or not yet.
    fn note_view(&mut self) {
        if let Some(part) = self.serving()
            && !self.views.contains(&part)
        {
            self.views.push(part);
        }
    }

    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    pub fn can_act(&self, node: usize) -> bool {
        let found = self.nodes.get(node);
        found.is_some_and(|node| node.is_up && !node.is_paused)
    }

    /// Whether links are cut between that node and some other.
    pub fn is_cut_off(&self, node: usize) -> bool {
        self.nodes
            .get(node)
            .is_some_and(|node| !node.cuts.is_empty())
    }

    /// Those who run and can be reached from a node, itself among them if it runs.
    pub fn reached_from(&self, node: usize) -> BTreeSet<usize> {
        let Some(from) = self.nodes.get(node) else {
            return BTreeSet::new();
        };
        let is_beside = |other: &usize| self.nodes[*other].cuts == from.cuts;
        let all = (0..self.count()).filter(|other| self.can_act(*other));
        all.filter(is_beside).collect()
    }

    /// The members among them.
    pub fn members_beside(&self, node: usize) -> BTreeSet<usize> {
        let mut beside = self.reached_from(node);
        beside.retain(|other| self.nodes[*other].is_member);
        beside
    }

    /// The members who are so many in a membership that may be in force that they go on.
    pub fn serving(&self) -> Option<BTreeSet<usize>> {
        let parts = (0..self.count()).map(|node| self.members_beside(node));
        let going_on = parts.filter(|part| self.smallest_view(part).is_some());
        going_on.max_by_key(BTreeSet::len)
    }

    /// Of the memberships in which these are a majority the one that asks least of them.
    pub fn smallest_view(&self, part: &BTreeSet<usize>) -> Option<&BTreeSet<usize>> {
        let has_majority =
            |view: &&BTreeSet<usize>| 2 * part.intersection(view).count() > view.len();
        let views = self.views.iter().filter(has_majority);
        views.min_by_key(|view| view.len())
    }

    /// Whether it may be a member still.
    pub fn is_in_a_view(&self, node: usize) -> bool {
        self.views.iter().any(|view| view.contains(&node))
    }
}

fn only(nodes: &[usize]) -> Option<usize> {
    match nodes {
        [one] => Some(*one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::faults::{Target, Way};

    fn cut() -> Deed {
        Deed::CutLinks(Between {
            from: Target::Site,
            to: None,
            way: Way::Both,
            with_clients: false,
        })
    }

    #[test]
    fn a_majority_goes_on_on_either_side_of_a_cut() {
        let world = World::new(3, 0);
        let without_first = world.after(0, cut(), &[0]);
        assert_eq!(without_first.serving(), Some([1, 2].into()));
        let without_others = world.after(0, cut(), &[1, 2]);
        assert_eq!(without_others.serving(), Some([1, 2].into()));
        assert_eq!(without_first.reached_from(0), [0].into());
        assert!(without_first.is_cut_off(0) && !without_first.is_cut_off(1));
        let healed = without_first.after(1, Deed::HealLinks, &[]);
        assert_eq!(healed.serving(), Some([0, 1, 2].into()));
        let halves = World::new(4, 0).after(0, cut(), &[0, 1]);
        assert_eq!(halves.serving(), None);
    }

    /// Of five, two that are put out leave three, of whom two are enough.
    #[test]
    fn who_was_put_out_is_not_counted_any_more() {
        let kill = Deed::Kill(Target::Writer);
        let three = World::new(5, 0).after(0, kill, &[0, 1]);
        let two = three.after(1, kill, &[2]);
        assert_eq!(two.serving(), Some([3, 4].into()));
        assert_eq!(World::new(5, 0).after(0, kill, &[0, 1, 2]).serving(), None);
        let view = two.smallest_view(&[3, 4].into());
        assert_eq!(view, Some(&[3, 4].into()));
        assert!(two.smallest_view(&[0, 1].into()).is_none());
    }

    #[test]
    fn who_is_begun_anew_with_is_alone_until_others_join() {
        let all = World::new(3, 0).after(0, Deed::Kill(Target::All), &[0, 1, 2]);
        let up = all.after(1, Deed::Restart(Target::All), &[0, 1, 2]);
        assert_eq!(up.serving(), None, "they run, and are no members");
        let one = up.after(2, Deed::Bootstrap(Target::FirstWriter), &[0]);
        assert_eq!((one.serving(), one.leader), (Some([0].into()), Some(0)));
        assert!(one.is_forced && !one.is_in_a_view(1));
        let joined = one.after(3, Deed::Rejoin(Target::Lost), &[1, 2]);
        assert_eq!(joined.serving(), Some([0, 1, 2].into()));
    }

    #[test]
    fn a_node_that_rests_is_not_at_hand() {
        let paused = World::new(3, 0).after(0, Deed::Pause(Target::Writer), &[0, 7]);
        assert_eq!(paused.serving(), Some([1, 2].into()));
        let resumed = paused.after(1, Deed::Resume(Target::FirstWriter), &[0]);
        assert!(resumed.can_act(0) && !resumed.can_act(7));
    }
}
