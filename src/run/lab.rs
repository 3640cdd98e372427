//! The target of most studies: labs of real servers, with the links and the disks that were asked.

use std::net::SocketAddrV4;
use std::ops::Range;
use std::path::Path;

use super::campaign::{self, Asked, Work};
use super::events::{CampaignStep, Events};
use super::order::Order;
use super::rig::Rig;
use super::slowed::Slowed;
use super::target::{Edge, Target};
use super::window::{Accounts, NodeStatus, Reading, read_status};
use super::{activity, disks, header};
use crate::error::Result;
use crate::lab::Lab;
use crate::lab::handshake::rtts_us;
use crate::lab::mode::CATCH_UP_LIMIT;
use crate::lab::netns::Place;
use crate::lab::network::probe_rtt_us;
use crate::lab::node::{Node, PORT};
use crate::lab::servers::{Cache, Catalogue};
use crate::load::{Iterations, Snapshot, mark_all, start_all, stop_all};
use crate::observe::applying;
use crate::observe::lag::{self, Beats};
use crate::plan::{Cell, PartOf, idle_watch};
use crate::record::trials::Campaign;
use crate::record::{
    Activity, AppliedAlone, Flag, Handshakes, Header, Lag, Measurement, RttGot, ServerLog, counter,
};
use crate::study::{Mode, Study};

/// How much is kept of the end of a server's log: a start, and some hundred lines after it.
const LOG_BYTES: usize = 32 << 10;

/// The labs of a study. Dropped, all that runs in them ends.
pub struct Labs<'s> {
    /// While CPUs are slower than this host gives them. The first to be dropped: servers end on
    /// CPUs that are free.
    slowed: Option<Slowed>,
    rig: Rig,
    study: &'s Study,
    run_folder: &'s Path,
    /// The drivers at work, or last at work.
    drivers: Range<usize>,
    copies: Option<disks::CopiesWatch>,
}

impl<'s> Labs<'s> {
    /// Starts everything. Servers must have been fetched.
    pub fn form(
        study: &'s Study,
        cache: &Cache,
        run_folder: &'s Path,
        events: &dyn Events,
    ) -> Result<Labs<'s>> {
        let catalogue = Catalogue::builtin();
        Ok(Labs {
            slowed: None,
            rig: Rig::build(study, &catalogue, cache, run_folder, events)?,
            study,
            run_folder,
            drivers: 0..0,
            copies: None,
        })
    }

    /// Indices of the nodes that follow the writer in the cell's mode.
    fn replicas(&mut self, cell: &Cell) -> Range<usize> {
        let spec = &self.study.modes[cell.mode];
        1..self.rig.lab(cell.mode).members(spec).end
    }

    /// The round-trip time between each pair of sites, between this lab's nodes where it has any
    /// there, else between the clients of those sites.
    fn probe_sites(&self, cell: &Cell) -> Result<Vec<RttGot>> {
        let rig = &self.rig;
        let lab = rig.lab_at(rig.lab_index(cell.mode));
        let place = |site: &String| -> &Place {
            let node = lab.nodes.iter().find(|node| node.site() == site);
            node.map_or_else(|| &rig.network.clients[site], |node| &node.place)
        };
        let probed = |from_site: &String, to_site: &String| {
            let asked = rig.network.rtt_asked(&cell.distances, from_site, to_site);
            let (from, to) = (place(from_site), place(to_site));
            Ok(RttGot {
                from: from_site.clone(),
                to: to_site.clone(),
                from_site: from_site.clone(),
                to_site: to_site.clone(),
                rtt_us_asked: asked.as_secs_f64() * 1e6,
                rtt_us_before: probe_rtt_us(from, to.address)?,
                rtt_us_after: 0.0,
            })
        };
        let sites = (1..).zip(&self.study.sites);
        let pairs = sites.flat_map(|(next, from)| {
            let others = &self.study.sites[next..];
            others.iter().map(move |to| (from, to))
        });
        pairs.map(|(from, to)| probed(from, to)).collect()
    }

    /// Round trips from the client to what it connects to, if the study asks for them.
    fn shake_hands(&mut self, cell: &Cell) -> Result<Vec<Handshakes>> {
        if !self.study.handshakes {
            return Ok(vec![]);
        }
        let (node, target) = match self.rig.fronts.address(cell) {
            Some(front) => ("front", front),
            None => {
                let writer = &self.rig.lab(cell.mode).nodes[0];
                ("writer", SocketAddrV4::new(writer.place.address, PORT))
            }
        };
        let client = &self.rig.network.clients[&cell.client_site];
        let made = client.netns.run(|| rtts_us(target.into(), node))?;
        Ok(vec![Handshakes {
            node: node.to_owned(),
            rtts_us: made?,
        }])
    }
}

impl Target for Labs<'_> {
    fn load_tables(&mut self) -> Result<()> {
        self.rig.load_tables(self.study)
    }

    fn header(&mut self, order: &Order) -> Result<Header> {
        let now = self.unix_ms();
        header::header(order, &mut self.rig, self.run_folder, now)
    }

    fn begin_round(&mut self) -> Result<()> {
        self.rig.network.refresh_floor()
    }

    fn enter_mode(&mut self, cell: &Cell) -> Result<()> {
        let spec = &self.study.modes[cell.mode];
        let rig = &mut self.rig;
        rig.enter(cell.mode, spec, &cell.distances)?;
        rig.watch_idle(cell.mode, spec, idle_watch(self.study))
    }

    fn set_distances(&mut self, cell: &Cell) -> Result<()> {
        self.rig.network.set_distances(&cell.distances)
    }

    fn start_front(&mut self, cell: &Cell) -> Result<()> {
        self.rig.raise_front(self.study, cell)
    }

    fn renew_tables(&mut self, cell: &Cell) -> Result<()> {
        self.rig.renew_tables(cell, self.study.seed)
    }

    /// Where clients write to all nodes, the first may be behind another, too.
    fn wait_level(&mut self, cell: &Cell) -> Result<bool> {
        let spec = &self.study.modes[cell.mode];
        let followers = match spec.spread {
            true => self.rig.lab(cell.mode).members(spec),
            false => self.replicas(cell),
        };
        for i in followers {
            if !self.rig.lab(cell.mode).catch_up(i, CATCH_UP_LIMIT)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn set_disks(&mut self, cell: &Cell, into: &mut Measurement) -> Result<()> {
        if let Some(disks) = &cell.disks {
            let lab = self.rig.lab(cell.mode);
            let members = lab.members(&self.study.modes[cell.mode]);
            into.disks_got = disks::set_and_probe(lab, disks, members)?;
        }
        Ok(())
    }

    fn probe(&mut self, cell: &Cell, into: &mut Measurement) -> Result<()> {
        into.rtts = self.probe_sites(cell)?;
        into.handshakes = self.shake_hands(cell)?;
        Ok(())
    }

    fn begin_watch(&mut self, cell: &Cell, into: &mut Measurement) -> Result<()> {
        into.in_force = self.rig.lab(cell.mode).in_force();
        let idle = self.rig.idle(cell.mode, &self.study.modes[cell.mode]);
        into.cpu.idle_us_per_s = (idle.iter())
            .map(|idle| (idle.node.clone(), idle.cpu_us / idle.span_s))
            .collect();
        into.cpu.idle_watched_s = idle.first().map(|idle| idle.span_s);
        self.copies = disks::CopiesWatch::begin(self.rig.lab(cell.mode))?;
        Ok(())
    }

    fn slow_cpus(&mut self, cell: &Cell) -> Result<()> {
        // No CPU is held twice, whatever became of the last cell.
        self.slowed = None;
        self.slowed = self.rig.slow(cell.cpu_speed)?;
        Ok(())
    }

    fn free_cpus(&mut self) {
        self.slowed = None;
    }

    fn hold_appliers(&mut self, cell: &Cell) -> Result<()> {
        let replicas = self.replicas(cell);
        self.rig.lab(cell.mode).hold_appliers(replicas)
    }

    fn start_appliers(&mut self, cell: &Cell) -> Result<()> {
        let replicas = self.replicas(cell);
        self.rig.lab(cell.mode).start_appliers(replicas)
    }

    fn apply_alone(&mut self, cell: &Cell) -> Result<Vec<AppliedAlone>> {
        let replicas = self.replicas(cell);
        applying::alone(self.rig.lab(cell.mode), replicas, cell.window(self.study))
    }

    fn start_load(&mut self, cell: &Cell, round: u32) -> Result<()> {
        let (drivers, jobs) = self.rig.jobs(self.study, cell, round);
        self.drivers = drivers.clone();
        start_all(&mut self.rig.drivers[drivers], &jobs).map(drop)
    }

    fn mark(&mut self) -> Result<Snapshot> {
        mark_all(&mut self.rig.drivers[self.drivers.clone()])
    }

    fn stop_load(&mut self, cell: &Cell) -> Result<Snapshot> {
        let rest = stop_all(&mut self.rig.drivers[self.drivers.clone()])?;
        self.rig.used_numbers(cell.mode, rest.unique_next);
        Ok(rest)
    }

    fn reload(&mut self, cell: &Cell, round: u32) -> Result<()> {
        let (drivers, jobs) = self.rig.jobs(self.study, cell, round);
        self.drivers = drivers;
        self.rig.drivers[self.drivers.start].reload(&jobs[0])
    }

    fn iterate(&mut self) -> Result<Iterations> {
        self.rig.drivers[self.drivers.start].iterate()
    }

    fn status(&mut self, cell: &Cell, _edge: Edge) -> Result<NodeStatus> {
        read_status(self.rig.lab(cell.mode))
    }

    fn accounts(&mut self, cell: &Cell) -> Result<Accounts> {
        let held = self.slowed.as_mut().map(Slowed::held).transpose()?;
        let rig = &mut self.rig;
        rig.fronts.check_alive(cell)?;
        let front = rig.fronts.pid(cell);
        let lab = rig.lab_at(rig.lab_index(cell.mode));
        let accounts = Accounts::now(lab, &rig.network, &rig.drivers, front)?;
        Ok(accounts.with_held(held.unwrap_or_default()))
    }

    fn used(&mut self, cell: &Cell, from: &Reading, to: &Reading, into: &mut Measurement) {
        let replicas = self.replicas(cell);
        let lab = self.rig.lab(cell.mode);
        from.accounts.until(&to.accounts, lab, replicas, into);
        if let Some(slowed) = &self.slowed {
            slowed.tell(&from.accounts.held_until(&to.accounts), into);
        }
        from.status_until(to, lab.nodes[0].name(), into);
    }

    fn lag(&mut self, cell: &Cell) -> Result<Vec<Lag>> {
        let replicas = self.replicas(cell);
        let beats = Beats::of(cell.window(self.study), cell.pace);
        lag::measure(self.rig.lab(cell.mode), replicas, beats)
    }

    fn catch_up(&mut self, cell: &Cell, lags: &mut [Lag]) -> Result<()> {
        let replicas = self.replicas(cell);
        lag::catch_up(self.rig.lab(cell.mode), replicas, lags)
    }

    fn check_alive(&mut self, cell: &Cell) -> Result<()> {
        self.rig.check_alive(cell)
    }

    fn watch_after(&mut self, cell: &Cell, into: &mut Measurement) -> Result<()> {
        let span = cell.watch_after.unwrap_or_default();
        let lab = self.rig.lab(cell.mode);
        let servers = lab.members(&self.study.modes[cell.mode]).end;
        let after = activity::watch(lab, servers, span)?;
        let takes_part = |idle: &&Activity| after.iter().any(|after| after.node == idle.node);
        let idle = self.rig.idle(cell.mode, &self.study.modes[cell.mode]);
        into.activity = idle.iter().filter(takes_part).cloned().collect();
        into.activity.extend(after);
        Ok(())
    }

    fn end_watch(&mut self, cell: &Cell, into: &mut Measurement) -> Result<()> {
        let lab = self.rig.lab(cell.mode);
        if let Some(copies) = self.copies.take() {
            into.degraded = copies.end(lab)?;
        }
        let writer = into.status.get(lab.nodes[0].name());
        let grew = |name: &&str| writer.is_some_and(|w| w.get(*name).is_some_and(|n| *n > 0.0));
        let fell_back = [
            counter::SEMISYNC_UNACKNOWLEDGED,
            counter::SEMISYNC_FALL_BACKS,
        ];
        let mode = &self.study.modes[cell.mode].mode;
        if matches!(mode, Mode::Semisync { .. }) && fell_back.iter().any(grew) {
            into.flags.push(Flag::Downgraded);
        }
        Ok(())
    }

    fn probe_again(&mut self, cell: &Cell, into: &mut Measurement) -> Result<()> {
        let after = self.probe_sites(cell)?;
        for (rtt, after) in into.rtts.iter_mut().zip(after) {
            rtt.rtt_us_after = after.rtt_us_before;
        }
        into.add_handshakes(self.shake_hands(cell)?);
        disks::probe_again(self.rig.lab(cell.mode), &mut into.disks_got)
    }

    fn run_campaigns(
        &mut self,
        mode: usize,
        (part, kept): (Option<PartOf>, &[Campaign]),
        tell: &mut dyn FnMut(CampaignStep) -> Result<()>,
    ) -> Result<()> {
        let asked = Asked::of(self.study, mode);
        let work = Work {
            mode,
            asked: &asked,
            part,
            kept,
        };
        campaign::run_all(self.study, &mut self.rig, work, tell)
    }

    fn logs(&mut self) -> Vec<ServerLog> {
        let of_lab = |lab: &Lab| {
            let of_node = |node: &Node| ServerLog {
                lab: lab.spec.name.clone(),
                node: node.name().to_owned(),
                log: node.log_end(LOG_BYTES),
            };
            lab.nodes.iter().map(of_node).collect::<Vec<ServerLog>>()
        };
        let mut logs: Vec<ServerLog> = self.rig.labs().iter().flat_map(of_lab).collect();
        logs.retain(|log| !log.log.is_empty());
        logs
    }
}
