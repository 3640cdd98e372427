//! Who is who in a trial, as far as servers have to be asked for it.

use super::roles;
use super::stage::Stage;
use crate::error::{Result, breakdown};
use crate::lab::mode::candidates::Had;
use crate::lab::mode::component::{self, Component};
use crate::lab::mode::members::State as MemberState;
use crate::lab::mode::{faults, regroup};
use crate::study::faults::Target;
use crate::study::mode::Family;

impl Stage<'_, '_> {
    pub fn family(&self) -> Family {
        self.subject.spec.mode.family()
    }

    /// Whether its nodes choose by themselves who takes writes.
    pub fn is_cluster(&self) -> bool {
        matches!(self.family(), Family::Group | Family::Galera)
    }

    /// Who takes the clients' writes now, or took them last: of a group or cluster who has
    /// acknowledged them since somebody was last told to; of several that take them the first.
    pub fn writer(&mut self) -> usize {
        if self.subject.spec.mode.is_multi_writer()
            && let Some(first) = faults::writers(self.lab()).first()
        {
            return *first;
        }
        let since_us = self.state.writer_since_us;
        match self.crowd.newest() {
            Some((at_us, Some(node))) if self.is_cluster() && at_us > since_us => node,
            _ => self.state.writer,
        }
    }

    /// Whether node `i`'s server runs, or its copy of the volume has power.
    pub fn is_alive(&mut self, i: usize) -> bool {
        match self.subject.has_copies() {
            true => {
                let disks = &self.state.disks;
                !disks.powerless.contains(&i) && !disks.gone.contains(&i)
            }
            false => self.lab().nodes[i].is_up(),
        }
    }

    /// Whether node `i` has come back: its server answers; where it has none, its copy has power.
    pub fn is_back(&mut self, i: usize) -> bool {
        match self.subject.has_copies() && i != self.state.writer {
            true => self.is_alive(i),
            false => self.lab().nodes[i].answers(),
        }
    }

    /// All nodes that are alive.
    pub fn alive(&mut self) -> Vec<usize> {
        (0..self.count()).filter(|&i| self.is_alive(i)).collect()
    }

    /// All nodes whose disks are left.
    pub fn whole(&self) -> Vec<usize> {
        let gone = &self.state.disks.gone;
        (0..self.count()).filter(|i| !gone.contains(i)).collect()
    }

    /// The nodes of a role, by index: one at least.
    ///
    /// # Errors
    /// A breakdown if nobody has it, or a server does not answer that would know.
    pub fn nodes_of(&mut self, target: Target) -> Result<Vec<usize>> {
        let writer = self.writer();
        let found = match roles::plain(target, &self.subject.sites(), writer) {
            Some(found) => found,
            None => self.looked_up(target)?,
        };
        match found.is_empty() {
            true => {
                let tried = format!("find whom a step befalls ({})", target.words());
                Err(breakdown(tried, "it is nobody by now"))
            }
            false => Ok(found),
        }
    }

    fn looked_up(&mut self, target: Target) -> Result<Vec<usize>> {
        Ok(match target {
            Target::Lost => {
                let whole = self.whole().into_iter();
                whole.filter(|&i| self.is_lost(i)).collect()
            }
            Target::Donor => self.donors(),
            _ => {
                let had = self.holdings()?;
                roles::pick(target, &had).into_iter().collect()
            }
        })
    }

    /// It is not alive, or was put out.
    fn is_lost(&mut self, i: usize) -> bool {
        !self.is_alive(i) || self.is_cluster() && faults::is_expelled(self.lab(), i)
    }

    /// What each replica has that is alive. While nobody is alive, what each node has whose disk is
    /// left, the writer too; members of a group are started to tell, and join nobody by that.
    ///
    /// # Errors
    /// A breakdown if a server does not come up, or goes away meanwhile.
    pub fn holdings(&mut self) -> Result<Vec<Had>> {
        let alive = self.alive();
        if !alive.is_empty() {
            let writer = self.writer();
            let replicas = alive.into_iter().filter(|i| *i != writer);
            let replicas: Vec<usize> = replicas.collect();
            return faults::had(self.lab(), &replicas);
        }
        let whole = self.whole();
        self.power_on(&whole)?;
        if self.family() == Family::Group {
            for &i in &whole {
                faults::restart(self.lab(), i, false)?;
            }
        }
        faults::kept(self.lab(), &whole)
    }

    /// What nodes of Galera say of themselves that answer soon.
    pub fn components(&mut self) -> Vec<(usize, Component)> {
        let count = self.count();
        let nodes = self.lab().nodes.iter_mut().take(count).enumerate();
        let said = nodes.filter_map(|(i, node)| {
            let said = node.briefly(|admin| admin.pairs(component::ASK))?;
            Some((i, Component::read(&said)))
        });
        said.collect()
    }

    /// Members that give a state transfer now. In a group nobody says who does.
    fn donors(&mut self) -> Vec<usize> {
        if self.family() != Family::Galera {
            return vec![];
        }
        let all = self.components().into_iter();
        let donors = all.filter(|(_, one)| one.is_donor());
        donors.map(|(i, _)| i).collect()
    }

    /// Whether a member gives or takes a state transfer.
    pub fn is_transferring(&mut self) -> bool {
        match self.family() {
            Family::Galera => !self.donors().is_empty(),
            Family::Group => {
                let views = regroup::views(self.lab());
                let mut seen = views.iter().flat_map(|view| view.members.values());
                seen.any(|seen| seen.state == MemberState::Recovering)
            }
            _ => false,
        }
    }
}
