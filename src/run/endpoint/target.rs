//! The steps of a measurement at somebody else's servers: what is left of those of a lab.

use super::endpoints::{Endpoint, Endpoints};
use super::header;
use crate::error::Result;
use crate::lab::endpoint::handshakes;
use crate::lab::mode::CATCH_UP_LIMIT;
use crate::lab::sql::Ask;
use crate::load::{Iterations, Snapshot};
use crate::observe::lag::{self, Beats};
use crate::observe::status;
use crate::plan::Cell;
use crate::record::{Flag, Handshakes, Header, Lag, Measurement};
use crate::run::events::Events;
use crate::run::order::Order;
use crate::run::rig::{distinct_tables, uses_up_tables};
use crate::run::target::{Edge, Target};
use crate::run::window::{Accounts, NodeStatus, Reading};

impl Target for Endpoints<'_> {
    fn load_tables(&mut self) -> Result<()> {
        let workloads = distinct_tables(self.study);
        for endpoint in &mut self.all {
            for workload in &workloads {
                endpoint.load(workload, self.study.seed)?;
            }
        }
        Ok(())
    }

    fn header(&mut self, order: &Order) -> Result<Header> {
        let now = self.unix_ms();
        header::header(order, self, now)
    }

    fn renew_tables(&mut self, cell: &Cell) -> Result<()> {
        match uses_up_tables(&cell.workload) {
            true => self.all[cell.mode].load(&cell.workload, self.study.seed),
            false => Ok(()),
        }
    }

    fn wait_level(&mut self, cell: &Cell) -> Result<bool> {
        let (writer, replicas, heartbeat) = self.all[cell.mode].beat();
        lag::is_level(writer, replicas, &heartbeat, CATCH_UP_LIMIT)
    }

    fn probe(&mut self, cell: &Cell, into: &mut Measurement) -> Result<()> {
        into.handshakes = probe(&mut self.all[cell.mode])?;
        Ok(())
    }

    fn gather(&mut self) -> Result<()> {
        self.drivers.gather(self.events)
    }

    fn begin_watch(&mut self, _cell: &Cell, _into: &mut Measurement) -> Result<()> {
        self.gather()
    }

    fn start_load(&mut self, cell: &Cell, round: u32) -> Result<()> {
        let job = self.all[cell.mode].job(self.study, cell, round);
        self.drivers.start(&job).map(drop)
    }

    fn mark(&mut self) -> Result<Snapshot> {
        self.drivers.mark()
    }

    fn stop_load(&mut self, cell: &Cell) -> Result<Snapshot> {
        let rest = self.drivers.stop()?;
        self.all[cell.mode].used_numbers(rest.unique_next);
        Ok(rest)
    }

    fn reload(&mut self, cell: &Cell, round: u32) -> Result<()> {
        let job = self.all[cell.mode].job(self.study, cell, round);
        self.drivers.reload(&job)
    }

    fn iterate(&mut self) -> Result<Iterations> {
        self.drivers.iterate()
    }

    fn status(&mut self, cell: &Cell, edge: Edge) -> Result<NodeStatus> {
        let mut servers: Vec<_> = self.all[cell.mode].servers().collect();
        if edge == Edge::Begin {
            servers.reverse();
        }
        let counters = servers.into_iter().map(|server| {
            let counters = status::read(server, None)?;
            Ok((server.name().to_owned(), counters))
        });
        counters.collect()
    }

    fn accounts(&mut self, _cell: &Cell) -> Result<Accounts> {
        Ok(self.drivers.accounts())
    }

    fn used(&mut self, cell: &Cell, from: &Reading, to: &Reading, into: &mut Measurement) {
        from.accounts.client_until(&to.accounts, into);
        from.status_until(to, self.all[cell.mode].writer.name(), into);
    }

    fn lag(&mut self, cell: &Cell) -> Result<Vec<Lag>> {
        let beats = Beats::of(cell.window(self.study), cell.pace);
        let (writer, replicas, heartbeat) = self.all[cell.mode].beat();
        match replicas.is_empty() {
            true => Ok(vec![]),
            false => lag::measure_on(writer, replicas, &heartbeat, beats),
        }
    }

    fn catch_up(&mut self, cell: &Cell, lags: &mut [Lag]) -> Result<()> {
        let (writer, replicas, heartbeat) = self.all[cell.mode].beat();
        lag::catch_up_on(writer, replicas, &heartbeat, lags)
    }

    fn end_watch(&mut self, _cell: &Cell, into: &mut Measurement) -> Result<()> {
        into.drivers_missing = self.drivers.take_missing();
        if !into.drivers_missing.is_empty() {
            into.flags.push(Flag::DriverMissing);
        }
        Ok(())
    }

    fn probe_again(&mut self, cell: &Cell, into: &mut Measurement) -> Result<()> {
        into.add_handshakes(probe(&mut self.all[cell.mode])?);
        Ok(())
    }

    fn close(self, events: &dyn Events) -> Result<()> {
        self.leave(events)
    }
}

/// Round trips to all servers; also finds out where the writer's name leads now.
fn probe(endpoint: &mut Endpoint) -> Result<Vec<Handshakes>> {
    let mut all = Vec::new();
    for access in endpoint.accesses().to_vec() {
        let made = handshakes(&access)?;
        if all.is_empty() {
            endpoint.target = made.target;
        }
        all.push(Handshakes {
            node: access.name,
            rtts_us: made.rtts_us,
        });
    }
    Ok(all)
}
