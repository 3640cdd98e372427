//! Who has power in a trial: a node without any is dark, and what is left on its disk is decided
//! before anybody touches it again, or its links work again.

use std::thread;

use super::stage::{Seen, Stage, UnseenCuts};
use crate::error::{Result, breakdown};
use crate::lab::disk::CutReport;
use crate::lab::link::{Change, CutEchoes, LinkChange, LinkSeen};
use crate::lab::netns::Place;
use crate::record::trials::Done;
use crate::study::disk::PowerCut;

impl Stage<'_, '_> {
    /// Nothing is to pass between these nodes and anybody any more, at their own ends; with `site`,
    /// neither between the clients in the first writer's site and anybody. In force once links are
    /// laid: see [`Stage::lay_links`].
    pub fn darken(&mut self, nodes: &[usize], site: bool) {
        self.state.wires.dark.extend(nodes);
        self.state.wires.is_site_dark |= site;
    }

    /// Links are what distances make of them, and steps of that.
    ///
    /// # Errors
    /// A breakdown if the link switch has died.
    pub fn lay_links(&self) -> Result<()> {
        let changes = self.state.wires.all(&self.subject.places());
        let network = &self.subject.rig.network;
        match changes.is_empty() {
            true => network.set_distances(self.subject.distances),
            false => network.set_links(self.subject.distances, &changes),
        }
    }

    /// Whether changes of links, which are in force, can be seen, and how.
    ///
    /// # Errors
    /// As there.
    pub fn see_links(&self, changes: &[LinkChange]) -> Result<(bool, String)> {
        let network = &self.subject.rig.network;
        Ok(told(&network.see_links(changes, &self.node_places())?))
    }

    /// Whether a way is as distances make it, of which this change was undone.
    ///
    /// # Errors
    /// As there.
    pub fn is_undone(&self, change: Change, way: (&str, &str)) -> Result<bool> {
        let (network, distances) = (&self.subject.rig.network, self.subject.distances);
        network.is_undone(distances, change, way, &self.node_places())
    }

    /// Sends echoes into cuts, which are in force: see [`Stage::seen_later`].
    ///
    /// # Errors
    /// As there.
    pub fn send_into_cuts(&self, cuts: &[LinkChange]) -> Result<Vec<CutEchoes>> {
        let network = &self.subject.rig.network;
        network.send_into_cuts(cuts, &self.node_places())
    }

    /// What is seen of the step under way, whose cuts show only when answers would have come: until
    /// then it has not been seen to bite. No step waits for that. See [`Stage::see_all_cuts`].
    pub fn seen_later(
        &mut self,
        echoes: Vec<CutEchoes>,
        (nodes, is_whole, said): (Vec<usize>, bool, String),
    ) -> Seen {
        self.state.unseen_cuts.push(UnseenCuts {
            step: self.state.step,
            echoes,
            is_whole,
        });
        Seen {
            nodes,
            bite: Some(false),
            said,
        }
    }

    /// Looks for all cuts that echoes were sent into: no answer has come, and the switch has
    /// dropped at least those.
    ///
    /// # Errors
    /// A breakdown if the link switch has died.
    pub fn see_all_cuts(&mut self, steps: &mut [Done]) -> Result<()> {
        for unseen in std::mem::take(&mut self.state.unseen_cuts) {
            let (bite, said) = told(&self.subject.rig.network.see_cuts(unseen.echoes)?);
            let done = steps.iter_mut().filter(|done| done.step == unseen.step);
            done.for_each(|done| {
                done.bite = Some(unseen.is_whole && bite);
                let between = if done.seen.is_empty() { "" } else { "; " };
                done.seen = format!("{}{between}{said}", done.seen);
            });
        }
        Ok(())
    }

    fn node_places(&self) -> Vec<&Place> {
        let nodes = self.subject.lab_seen().nodes.iter();
        nodes.map(|node| &node.place).collect()
    }

    /// These nodes have power again, and their links are what steps have made of them. Those whose
    /// disks are gone do not come back.
    ///
    /// # Errors
    /// A breakdown if a disk does not come back, or the link switch has died.
    pub fn power_on(&mut self, nodes: &[usize]) -> Result<()> {
        self.settle(nodes)?;
        let mut is_lighter = false;
        for node in nodes {
            if !self.state.disks.gone.contains(node) {
                self.state.disks.powerless.remove(node);
                is_lighter |= self.state.wires.power_on(*node);
            }
        }
        if !is_lighter {
            return Ok(());
        }
        self.lay_links()
    }

    /// Decides what is left on those of these nodes' disks whose power was cut, and shows it. All
    /// at the same time: most of it is waiting for the kernel.
    ///
    /// # Errors
    /// A breakdown if a file system does not come back: the disk is of no use then.
    pub fn settle(&mut self, nodes: &[usize]) -> Result<()> {
        let uncut = &mut self.state.disks.uncut;
        let due = nodes.iter().filter_map(|&i| Some((i, uncut.remove(&i)?)));
        let due: Vec<(usize, (PowerCut, usize))> = due.collect();
        let lab = self.subject.lab_seen();
        let volumes = due.iter().map(|(i, (cut, _))| Ok((lab.volume(*i)?, *cut)));
        let volumes = volumes.collect::<Result<Vec<_>>>()?;
        let reports: Vec<Result<CutReport>> = thread::scope(|scope| {
            let running: Vec<_> = volumes
                .into_iter()
                .map(|(volume, cut)| scope.spawn(move || volume.cut_power(cut)))
                .collect();
            let panicked = |_| Err(breakdown("cut the power", "a thread has panicked"));
            let ended = running.into_iter();
            ended
                .map(|thread| thread.join().unwrap_or_else(panicked))
                .collect()
        });
        for (report, (_, (_, step))) in reports.into_iter().zip(due) {
            let writes = report?.dropped.writes;
            *self.state.disks.dropped_writes.entry(step).or_default() += writes;
        }
        Ok(())
    }
}

/// Whether all of them show it, and what they said.
fn told(seen: &[LinkSeen]) -> (bool, String) {
    let said: Vec<&str> = seen.iter().map(|one| &one.seen[..]).collect();
    (seen.iter().all(|one| one.bite), said.join("; "))
}
