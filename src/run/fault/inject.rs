//! A fault is injected, and watched: what it is meant to befall has to be seen to be gone.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use super::subject::Subject;
use crate::error::{Result, breakdown};
use crate::lab::Lab;
use crate::lab::disk::Volume;
use crate::lab::mode::{Company, company};
use crate::lab::network::is_answered;
use crate::lab::node::{Node, pause};
use crate::load::ledger::Ledger;
use crate::record::trial::{Alone, Bite};
use crate::study::fault::{Cause, Fault, Leaves, Moment, Scope};

/// A first commit takes no longer.
const FIRST_LIMIT: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(1);
/// An echo that takes so much longer than its distance is lost.
const ECHO_LIMIT: Duration = Duration::from_millis(300);

/// What was done, and seen.
pub(super) struct Injected {
    pub bite: Bite,
    pub alone: Option<Alone>,
    pub dropped_writes: u64,
}

/// Has the servers work until the moment comes, and injects the fault.
pub(super) fn inject(
    subject: &mut Subject,
    fault: Fault,
    moment: &Moment,
    ledger: &Ledger,
) -> Result<Injected> {
    let begun = subject.company(None);
    work(subject.writer(), ledger, moment.load)?;
    match fault.cause {
        Cause::Kill => Ok(kill(subject, ledger)),
        Cause::PowerCut(leaves) => {
            let fault = (fault.scope, leaves);
            cut_power(subject, fault, (moment, ledger), begun)
        }
    }
}

/// From the first acknowledged transaction on.
fn work(node: &mut Node, ledger: &Ledger, length: Duration) -> Result<()> {
    node.wait_until("a first row is in the ledger", FIRST_LIMIT, |node| {
        node.check_alive("work")?;
        Ok(ledger.acknowledged() > 0)
    })?;
    let start = Instant::now();
    while start.elapsed() < length {
        pause(STEP)?;
    }
    node.check_alive("work")
}

fn kill(subject: &mut Subject, ledger: &Ledger) -> Injected {
    let ended_us = ledger.now_us();
    let writer = [subject.writer];
    let (servers, servers_ended) = end_servers(subject.lab(), &writer);
    Injected {
        bite: Bite {
            servers,
            servers_ended,
            ended_us,
            ..Bite::default()
        },
        alone: None,
        dropped_writes: 0,
    }
}

/// Links are cut at the nodes' own ends; a while later all their disks fail at one moment, and
/// their servers are killed. Then it is decided what is left on each disk.
fn cut_power(
    subject: &mut Subject,
    (scope, leaves): (Scope, Leaves),
    (moment, ledger): (&Moment, &Ledger),
    begun: Option<Company>,
) -> Result<Injected> {
    let inside = subject.inside(scope);
    let was_heard = subject.hears_outside(scope, &inside)?;
    let at_the_cut = subject.company(begun);
    subject.cut_links(scope, &inside)?;
    let links_cut_us = ledger.now_us();
    pause(moment.isolated)?;
    // From here on no answer can count: the server may still give some, from memory.
    let ended_us = ledger.go_deaf();
    let at_the_end = subject.company(at_the_cut);
    let lab = subject.lab();
    let disks: Vec<&Volume> = inside
        .iter()
        .map(|&i| lab.volume(i))
        .collect::<Result<_>>()?;
    let late_us = Volume::freeze_all(&disks)?;
    let (servers, servers_ended) = end_servers(lab, &inside);
    // Each disk keeps what it keeps by draws of its own.
    let cut = |i: usize| leaves.cut(moment.seed).drawn_anew(i as u64);
    let dropped = |&i: &usize| Ok(lab.volume(i)?.cut_power(cut(i))?.dropped.writes);
    let dropped_writes = inside.iter().map(dropped).sum::<Result<u64>>()?;
    let is_heard = subject.hears_outside(scope, &inside)?;
    Ok(Injected {
        bite: Bite {
            servers,
            servers_ended,
            links_silent: Some(was_heard && !is_heard),
            disks: inside.len() as u32,
            disks_frozen: late_us.len() as u32,
            freeze_late_us_max: late_us.into_iter().max().unwrap_or(0),
            links_cut_us: Some(links_cut_us),
            ended_us,
        },
        alone: alone(begun, at_the_cut, at_the_end),
        dropped_writes,
    })
}

/// How many servers ran there, and how many of their processes are gone after they were killed.
fn end_servers(lab: &mut Lab, inside: &[usize]) -> (u32, u32) {
    let pids: Vec<u32> = inside.iter().filter_map(|&i| lab.nodes[i].pid()).collect();
    inside.iter().for_each(|&i| lab.nodes[i].kill());
    let is_gone = |pid: &&u32| !Path::new(&format!("/proc/{pid}")).exists();
    let gone = pids.iter().filter(is_gone).count();
    (pids.len() as u32, gone as u32)
}

/// What three looks at whoever may go on alone tell: before the load, as the links were cut, and
/// when no answer counted any more.
fn alone(
    begun: Option<Company>,
    at_the_cut: Option<Company>,
    at_the_end: Option<Company>,
) -> Option<Alone> {
    let (begun, at_the_cut, at_the_end) = (begun?, at_the_cut?, at_the_end?);
    let went = |from: Company, to: Company| to.is_alone || to.times > from.times;
    Some(if begun.is_alone || went(begun, at_the_cut) {
        Alone::Before
    } else if went(at_the_cut, at_the_end) {
        Alone::SinceLinksWereCut
    } else {
        Alone::Never
    })
}

impl Subject<'_> {
    /// Whether the writer goes on without the others, where its mode may. One that does not say is
    /// not known to.
    fn company(&mut self, before: Option<Company>) -> Option<Company> {
        let (writer, mode) = (self.writer, self.spec.mode);
        let company = company(self.lab(), writer, &mode, before);
        company.ok().flatten()
    }

    /// Nothing passes between these nodes and the others until distances are set again.
    fn cut_links(&mut self, scope: Scope, inside: &[usize]) -> Result<()> {
        let nodes = inside
            .iter()
            .map(|&i| &self.rig.lab_at(self.rig.lab_index(self.mode)).nodes[i]);
        let places: Vec<(String, String)> = nodes
            .map(|node| (node.place.name.clone(), node.site().to_owned()))
            .collect();
        let network = &self.rig.network;
        if let (Scope::Site, Some((_, site))) = (scope, places.first()) {
            return network.cut_off(site, self.distances);
        }
        let names: Vec<String> = places.into_iter().map(|(name, _)| name).collect();
        network.isolate(&names, self.distances)
    }

    /// Whether an echo from the first of these nodes is answered by somebody who is not befallen.
    fn hears_outside(&mut self, scope: Scope, inside: &[usize]) -> Result<bool> {
        let lab = self.rig.lab_at(self.rig.lab_index(self.mode));
        let from = &lab.nodes[inside[0]];
        let is_inside = |name: &str| inside.iter().any(|&i| lab.nodes[i].place.name == name);
        let members = self.rig.network.members().iter();
        let mut others = members.filter(|member| match scope {
            Scope::Site => member.site != from.site(),
            Scope::Node | Scope::All => !is_inside(&member.name),
        });
        let none = || breakdown("see whether links are cut", "nobody stands outside");
        let to = others.next().ok_or_else(none)?;
        let rtt = (self.rig.network).rtt_asked(self.distances, from.site(), &to.site);
        let address: Ipv4Addr = to.address;
        is_answered(&from.place, address, rtt * 2 + ECHO_LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_on_alone_is_seen_by_its_own_counters() {
        let look = |is_alone, times| Some(Company { is_alone, times });
        let with = look(false, 3);
        assert_eq!(alone(with, with, with), Some(Alone::Never));
        assert_eq!(
            alone(with, with, look(true, 3)),
            Some(Alone::SinceLinksWereCut)
        );
        assert_eq!(
            alone(with, with, look(false, 4)),
            Some(Alone::SinceLinksWereCut)
        );
        assert_eq!(
            alone(with, look(false, 4), look(false, 4)),
            Some(Alone::Before)
        );
        assert_eq!(alone(look(true, 3), with, with), Some(Alone::Before));
        assert_eq!(alone(with, with, None), None, "not known");
    }
}
