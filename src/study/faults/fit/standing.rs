//! Who is left after each step of a schedule, as far as it can be told beforehand.
//!
//! Where a role will be found out only then, the first who can have it stands in for whoever will:
//! how many are left is the same.

use super::super::{Between, Deed, Target};
use crate::study::mode::Family;
use crate::study::{Mode, ModeSpec, nodes};

/// The nodes of a mode.
pub struct Standing {
    mode: Mode,
    nodes: Vec<Node>,
    /// Who takes writes, or took them last.
    writer: usize,
    /// Of a group or cluster: it has a majority, or was made whole without one.
    has_quorum: bool,
    /// Somebody took over, from fewer copies than a write needs if need be.
    is_taken_over: bool,
    are_links_touched: bool,
    are_disks_touched: bool,
    are_appliers_blocked: bool,
}

struct Node {
    site: String,
    is_up: bool,
    has_disk: bool,
    /// Why its disk takes no writes now.
    refuses: Option<Refuses>,
    is_paused: bool,
    /// No client reaches it.
    is_cut: bool,
    /// Of a group or cluster: it is a member.
    is_in: bool,
}

/// What ends it: a power cut or being resumed, being resumed, nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refuses {
    Stalled,
    Full,
    Failed,
}

impl Node {
    fn of(site: String) -> Node {
        Node {
            site,
            is_up: true,
            has_disk: true,
            refuses: None,
            is_paused: false,
            is_cut: false,
            is_in: true,
        }
    }

    fn is_well(&self) -> bool {
        self.is_up && !self.is_paused && self.refuses.is_none()
    }
}

impl Standing {
    /// Before the first step all are well, and the first node writes.
    pub fn of(spec: &ModeSpec, sites: &[String]) -> Standing {
        let stand = nodes::sites_of(sites, spec.nodes);
        Standing {
            mode: spec.mode,
            nodes: stand.into_iter().map(Node::of).collect(),
            writer: 0,
            has_quorum: true,
            is_taken_over: false,
            are_links_touched: false,
            are_disks_touched: false,
            are_appliers_blocked: false,
        }
    }

    /// What a deed makes of them.
    ///
    /// # Errors
    /// Says why it would come to nothing.
    pub fn undergo(&mut self, deed: &Deed) -> Result<(), String> {
        if let Some(links) = deed.links() {
            self.are_links_touched = true;
            self.check_apart(&links)?;
            return self.part(deed, &links);
        }
        let whom = self.whom(deed.target())?;
        match deed {
            Deed::Kill(_) => self.end(&whom),
            Deed::PowerCut(..) => {
                self.goes_on(&whom, &[Refuses::Stalled]);
                self.end(&whom)
            }
            Deed::DestroyDisk(_) => {
                whom.iter().for_each(|&i| self.nodes[i].has_disk = false);
                self.lose(&whom);
                Ok(())
            }
            Deed::Pause(_) => self.pause(&whom),
            Deed::Resume(_) => self.resume(&whom),
            Deed::SlowDisk(..) => {
                self.are_disks_touched = true;
                self.check_up(&whom)
            }
            Deed::StallDisk(_) => {
                self.are_disks_touched = true;
                self.refuse(&whom, Refuses::Stalled)
            }
            Deed::FillDisk(..) => {
                self.are_disks_touched = true;
                self.refuse(&whom, Refuses::Full)
            }
            Deed::FailDisk(_) => self.refuse(&whom, Refuses::Failed),
            Deed::BlockAppliers(_) => self.block(&whom),
            Deed::Restart(_) => self.restart(&whom),
            Deed::Promote(_) => self.promote(),
            Deed::Bootstrap(_) => self.bootstrap(&whom),
            Deed::ForceMembers(_) => self.force(&whom),
            Deed::Rejoin(_) | Deed::BeginRejoin(_) => self.rejoin(&whom),
            Deed::HealLinks => {
                self.nodes.iter_mut().for_each(|node| node.is_cut = false);
                undone(&mut self.are_links_touched, "touches links")
            }
            Deed::ResumeDisk(_) => {
                self.goes_on(&whom, &[Refuses::Stalled, Refuses::Full]);
                undone(&mut self.are_disks_touched, "stalls, slows or fills a disk")
            }
            Deed::FreeAppliers(_) => undone(&mut self.are_appliers_blocked, "blocks appliers"),
            Deed::CutLinks(_) | Deed::LoseOnLinks(..) | Deed::SlowLinks(..) => Ok(()),
        }
    }

    /// Whether somebody takes writes in the end.
    ///
    /// # Errors
    /// Says that nobody does, and what would help.
    pub fn left(&self) -> Result<(), String> {
        let writer = &self.nodes[self.writer];
        let is_writer_well = writer.is_well();
        let needed = match self.mode {
            Mode::Quorum { write_quorum, .. } if !self.is_taken_over => write_quorum as usize,
            _ => 0,
        };
        let left = self.nodes.iter().filter(|node| node.is_up).count();
        let advice = match self.mode.family() {
            Family::Group | Family::Galera => {
                let members = self.nodes.iter().filter(|node| node.is_in);
                let mut well = members.filter(|node| self.has_quorum && node.is_well());
                match well.next() {
                    None => "no majority of members: force members, or bootstrap one",
                    Some(first) if first.is_cut && well.all(|node| node.is_cut) => {
                        "no member that a client reaches: heal links"
                    }
                    Some(_) => return Ok(()),
                }
            }
            _ if writer.is_up && writer.refuses.is_some() => {
                "a writer whose disk takes no writes: resume it, or let another take over"
            }
            _ if is_writer_well && writer.is_cut => "a writer that no client reaches: heal links",
            _ if is_writer_well && left >= needed => return Ok(()),
            _ if is_writer_well => "fewer copies than a write waits for: promote one of them",
            Family::Replication if self.nodes.len() < 2 => "no server: restart it",
            _ => "nobody who takes writes: promote a replica, or restart the writer",
        };
        Err(format!("leaves {advice}"))
    }

    /// Nodes of a role; of none where a deed names none.
    fn whom(&self, target: Option<Target>) -> Result<Vec<usize>, String> {
        let Some(target) = target else {
            return Ok(vec![]);
        };
        let found = self.nodes_of(target);
        match found.is_empty() {
            true => Err(format!("{:?} is nobody by then", target.words())),
            false => Ok(found),
        }
    }

    fn nodes_of(&self, target: Target) -> Vec<usize> {
        let count = self.nodes.len();
        let all = 0..count;
        let first = |number: usize| (0..count).take(number).collect::<Vec<usize>>();
        match target {
            Target::Writer => vec![self.writer],
            Target::FirstWriter => vec![0],
            Target::Replica(number) => {
                let place = (number as usize).checked_sub(1);
                let found = place.and_then(|place| self.replicas().nth(place));
                found.into_iter().collect()
            }
            Target::Replicas => self.replicas().collect(),
            Target::MostReceived => self.receivers().into_iter().take(1).collect(),
            Target::LeastReceived => self.receivers().into_iter().rev().take(1).collect(),
            Target::Site => {
                let is_there = |i: &usize| self.nodes[*i].site == self.nodes[0].site;
                all.filter(is_there).collect()
            }
            Target::All => all.collect(),
            Target::Lost => {
                let is_lost = |node: &Node| !node.is_up || self.is_cluster() && !node.is_in;
                let is_there = |i: &usize| self.nodes[*i].has_disk && is_lost(&self.nodes[*i]);
                all.filter(is_there).collect()
            }
            Target::First(number) => first(number as usize),
            Target::Minority => first(count.saturating_sub(1) / 2),
            Target::Majority => first(count / 2 + 1),
            Target::Donor => {
                let gives = |i: &usize| self.nodes[*i].is_well() && self.nodes[*i].is_in;
                self.replicas().filter(gives).take(1).collect()
            }
        }
    }

    fn replicas(&self) -> impl Iterator<Item = usize> {
        let writer = self.writer;
        (0..self.nodes.len()).filter(move |i| *i != writer)
    }

    /// Those that may have received most, or least.
    fn receivers(&self) -> Vec<usize> {
        let is_up = |i: &usize| self.nodes[*i].is_up;
        if (0..self.nodes.len()).any(|i| is_up(&i)) {
            return self.replicas().filter(is_up).collect();
        }
        let all = 0..self.nodes.len();
        all.filter(|i| self.nodes[*i].has_disk).collect()
    }

    fn is_cluster(&self) -> bool {
        matches!(self.mode.family(), Family::Group | Family::Galera)
    }

    fn members(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_in).count()
    }

    fn check_up(&self, whom: &[usize]) -> Result<(), String> {
        match whom.iter().any(|&i| self.nodes[i].is_up) {
            true => Ok(()),
            false => Err("its server does not run by then".to_owned()),
        }
    }

    /// Clients of a site stay with it. Any other node that is cut off with them is reached by none.
    fn part(&mut self, deed: &Deed, links: &Between) -> Result<(), String> {
        let is_cut = matches!(deed, Deed::CutLinks(_)) && links.with_clients;
        if is_cut && links.from != Target::Site {
            let from = self.whom(Some(links.from))?;
            from.iter().for_each(|&i| self.nodes[i].is_cut = true);
        }
        Ok(())
    }

    /// Whether there is something on both ends of links.
    fn check_apart(&self, links: &Between) -> Result<(), String> {
        let from = self.whom(Some(links.from))?;
        let to = match links.to {
            Some(to) => self.whom(Some(to))?,
            None => {
                let all = 0..self.nodes.len();
                all.filter(|i| !from.contains(i)).collect()
            }
        };
        if to.is_empty() && !links.with_clients {
            return Err("there is nobody on the other side: say with_clients = true".to_owned());
        }
        match to.iter().any(|i| from.contains(i)) {
            true => Err("from and to are the same node, or share one".to_owned()),
            false => Ok(()),
        }
    }

    fn end(&mut self, whom: &[usize]) -> Result<(), String> {
        self.check_up(whom)?;
        self.lose(whom);
        Ok(())
    }

    /// They are gone. A group or cluster goes on if more than half of its members are left.
    fn lose(&mut self, whom: &[usize]) {
        let before = self.members();
        for &i in whom {
            let node = &mut self.nodes[i];
            (node.is_up, node.is_paused, node.is_in) = (false, false, false);
        }
        if !self.is_cluster() {
            return;
        }
        let after = self.members();
        self.has_quorum &= 2 * after > before || before == after;
        let first = self.nodes.iter().position(|node| node.is_in);
        if let Some(first) = first.filter(|_| self.has_quorum) {
            self.writer = first;
        }
    }

    fn pause(&mut self, whom: &[usize]) -> Result<(), String> {
        self.check_up(whom)?;
        whom.iter().for_each(|&i| self.nodes[i].is_paused = true);
        Ok(())
    }

    fn resume(&mut self, whom: &[usize]) -> Result<(), String> {
        let is_paused = whom.iter().any(|&i| self.nodes[i].is_paused);
        whom.iter().for_each(|&i| self.nodes[i].is_paused = false);
        match is_paused {
            true => Ok(()),
            false => Err("no step before it pauses them".to_owned()),
        }
    }

    fn refuse(&mut self, whom: &[usize], why: Refuses) -> Result<(), String> {
        whom.iter().for_each(|&i| self.nodes[i].refuses = Some(why));
        self.check_up(whom)
    }

    /// Disks that refused for one of these reasons take writes again.
    fn goes_on(&mut self, whom: &[usize], over: &[Refuses]) {
        for &i in whom {
            let refuses = &mut self.nodes[i].refuses;
            *refuses = refuses.filter(|why| !over.contains(why));
        }
    }

    fn block(&mut self, whom: &[usize]) -> Result<(), String> {
        if whom.contains(&self.writer) {
            return Err("the writer applies nothing: name replicas".to_owned());
        }
        self.are_appliers_blocked = true;
        self.check_up(whom)
    }

    fn restart(&mut self, whom: &[usize]) -> Result<(), String> {
        let down: Vec<usize> = self.those(whom, |node| !node.is_up);
        if down.is_empty() {
            return Err("no step before it ends them".to_owned());
        }
        let whole = self.those(&down, |node| node.has_disk);
        whole.iter().for_each(|&i| self.nodes[i].is_up = true);
        have_disks(&whole)
    }

    fn promote(&mut self) -> Result<(), String> {
        let heir = self.replicas().find(|i| self.nodes[*i].is_well());
        let Some(heir) = heir else {
            return Err("leaves nobody who could take over".to_owned());
        };
        (self.writer, self.is_taken_over) = (heir, true);
        Ok(())
    }

    fn bootstrap(&mut self, whom: &[usize]) -> Result<(), String> {
        let [first] = *whom else {
            return Err("one node alone begins anew: name one".to_owned());
        };
        have_disks(&self.those(whom, |node| node.has_disk))?;
        self.nodes.iter_mut().for_each(|node| node.is_in = false);
        let node = &mut self.nodes[first];
        (node.is_up, node.is_in) = (true, true);
        (self.writer, self.has_quorum) = (first, true);
        Ok(())
    }

    fn force(&mut self, whom: &[usize]) -> Result<(), String> {
        self.check_up(whom)?;
        let up = self.those(whom, |node| node.is_up);
        up.iter().for_each(|&i| self.nodes[i].is_in = true);
        self.has_quorum = true;
        if !self.nodes[self.writer].is_up {
            self.writer = up[0];
        }
        Ok(())
    }

    fn rejoin(&mut self, whom: &[usize]) -> Result<(), String> {
        if self.left().is_err() {
            return Err("there is nobody whom they could join".to_owned());
        }
        let whole = self.those(whom, |node| node.has_disk);
        for &i in &whole {
            let node = &mut self.nodes[i];
            (node.is_up, node.is_in) = (true, true);
        }
        have_disks(&whole)
    }

    fn those(&self, whom: &[usize], is_it: impl Fn(&Node) -> bool) -> Vec<usize> {
        let found = whom.iter().filter(|i| is_it(&self.nodes[**i]));
        found.copied().collect()
    }
}

fn have_disks(whole: &[usize]) -> Result<(), String> {
    match whole.is_empty() {
        true => Err("their disks are gone: they cannot come back".to_owned()),
        false => Ok(()),
    }
}

/// What an earlier step has done is undone.
fn undone(is_done: &mut bool, what: &str) -> Result<(), String> {
    match std::mem::take(is_done) {
        true => Ok(()),
        false => Err(format!("no step before it {what}")),
    }
}
