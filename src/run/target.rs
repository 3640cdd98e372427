//! What can be measured: running labs, somebody else's servers, and in tests a script.
//!
//! A target knows how each step of a measurement is done. In which order, how often, and what of it
//! is kept is not its affair: see `measure` and `study_run`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::events::{CampaignStep, Events};
use super::order::Order;
use super::window::{Accounts, NodeStatus, Reading};
use crate::error::{Error, Result, breakdown};
use crate::lab::node::pause;
use crate::lab::sandbox::stop_asked;
use crate::load::{Iterations, Snapshot};
use crate::observe::host;
use crate::plan::{Cell, PartOf};
use crate::record::trials::Campaign;
use crate::record::{AppliedAlone, Header, Lag, Measurement, ServerLog};

/// For how long all CPUs are kept busy to see what is stolen of them: with two, 40 ticks.
const ASK_FOR_CPUS: Duration = Duration::from_millis(200);

/// At which end of a window servers are read: the writer last as it begins and first as it ends, so
/// that its counters change in the window and hardly beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Begin,
    End,
}

/// The steps of a run, in about the order in which they are taken. What a target has no use for it
/// leaves as it is here. Each error is a breakdown, or a mistake that only servers know of.
pub trait Target {
    /// Creates and fills the tables of all the study's workloads.
    fn load_tables(&mut self) -> Result<()>;

    /// The head of the record.
    fn header(&mut self, order: &Order) -> Result<Header>;

    /// Waits for whoever has been lost without whom nothing can be measured.
    fn gather(&mut self) -> Result<()> {
        Ok(())
    }

    /// Finds out anew what changes slowly.
    fn begin_round(&mut self) -> Result<()> {
        Ok(())
    }

    /// Has the servers go over to a cell's mode; watches them idle for a while, the first time.
    fn enter_mode(&mut self, _cell: &Cell) -> Result<()> {
        Ok(())
    }

    fn set_distances(&mut self, _cell: &Cell) -> Result<()> {
        Ok(())
    }

    /// Starts what the clients connect to, where that is not a server.
    fn start_front(&mut self, _cell: &Cell) -> Result<()> {
        Ok(())
    }

    /// Fills the workload's tables anew where running it uses them up.
    fn renew_tables(&mut self, cell: &Cell) -> Result<()>;

    /// Waits until the replicas have applied all that was committed; false if not in time.
    fn wait_level(&mut self, cell: &Cell) -> Result<bool>;

    /// Makes the disks what the cell asks for, and probes them.
    fn set_disks(&mut self, _cell: &Cell, _into: &mut Measurement) -> Result<()> {
        Ok(())
    }

    /// Measures the round trips that the cell will have.
    fn probe(&mut self, cell: &Cell, into: &mut Measurement) -> Result<()>;

    /// From here on what should not happen under load is looked for.
    fn begin_watch(&mut self, _cell: &Cell, _into: &mut Measurement) -> Result<()> {
        Ok(())
    }

    /// Makes CPUs as slow as the cell asks, until they are freed.
    fn slow_cpus(&mut self, _cell: &Cell) -> Result<()> {
        Ok(())
    }

    /// All CPUs are as fast again as the host gives them.
    fn free_cpus(&mut self) {}

    /// Has the cell's replicas apply nothing until they are told to; they go on receiving.
    fn hold_appliers(&mut self, _cell: &Cell) -> Result<()> {
        Ok(())
    }

    /// Has them apply again; those that do go on.
    fn start_appliers(&mut self, _cell: &Cell) -> Result<()> {
        Ok(())
    }

    /// Has replicas whose appliers rest apply again, and watches what they do; its load has ended.
    fn apply_alone(&mut self, _cell: &Cell) -> Result<Vec<AppliedAlone>> {
        Ok(vec![])
    }

    /// Connects all clients and starts the load.
    fn start_load(&mut self, cell: &Cell, round: u32) -> Result<()>;

    /// Everything since the last mark, or since the load's start.
    fn mark(&mut self) -> Result<Snapshot>;

    /// Ends the load; everything since the last mark.
    fn stop_load(&mut self, cell: &Cell) -> Result<Snapshot>;

    /// Loads the table of a workload in mysqlslap's manner.
    fn reload(&mut self, cell: &Cell, round: u32) -> Result<()>;

    /// Runs one iteration of such a workload on the table just loaded.
    fn iterate(&mut self) -> Result<Iterations>;

    /// Counters of all servers. Reading takes time, over a network a round trip each.
    fn status(&mut self, cell: &Cell, edge: Edge) -> Result<NodeStatus>;

    fn accounts(&mut self, cell: &Cell) -> Result<Accounts>;

    /// Writes what happened between two readings into a measurement.
    fn used(&mut self, cell: &Cell, from: &Reading, to: &Reading, into: &mut Measurement);

    /// How far each replica is behind while the load runs.
    fn lag(&mut self, cell: &Cell) -> Result<Vec<Lag>>;

    /// How long each takes to apply the rest after it.
    fn catch_up(&mut self, cell: &Cell, lags: &mut [Lag]) -> Result<()>;

    /// A breakdown with its last words if a server has ended.
    fn check_alive(&mut self, _cell: &Cell) -> Result<()> {
        Ok(())
    }

    /// Watches servers and disks for as long as the cell asks; its load has ended.
    fn watch_after(&mut self, _cell: &Cell, _into: &mut Measurement) -> Result<()> {
        Ok(())
    }

    /// What was seen of what should not happen.
    fn end_watch(&mut self, _cell: &Cell, _into: &mut Measurement) -> Result<()> {
        Ok(())
    }

    /// Probes again what was probed before the load.
    fn probe_again(&mut self, cell: &Cell, into: &mut Measurement) -> Result<()>;

    /// Injects all faults that the study asks for in a mode, of a part its trials alone, but for
    /// those that were kept before, of which only their number counts. What `tell` returns ends it.
    fn run_campaigns(
        &mut self,
        _mode: usize,
        _of: (Option<PartOf>, &[Campaign]),
        _tell: &mut dyn FnMut(CampaignStep) -> Result<()>,
    ) -> Result<()> {
        let status = "these servers are somebody else's";
        Err(breakdown("inject a fault", status))
    }

    /// The ends of its servers' logs, as far as they can be read, whatever became of the servers.
    fn logs(&mut self) -> Vec<ServerLog> {
        vec![]
    }

    /// Leaves things as they were found, however the run ended.
    fn close(self, _events: &dyn Events) -> Result<()>
    where
        Self: Sized,
    {
        Ok(())
    }

    /// The share of CPU time, 0 to 1, that the host below takes away at present.
    fn stolen_now(&mut self) -> f64 {
        host::stolen_when_busy(ASK_FOR_CPUS)
    }

    /// Lets that time pass; a request to stop is heard meanwhile.
    fn wait(&mut self, span: Duration) -> Result<()> {
        wait(span)
    }

    /// What time it is.
    fn unix_ms(&self) -> u64 {
        unix_ms()
    }

    /// Whether the user has asked to stop.
    fn is_stop_asked(&self) -> bool {
        stop_asked()
    }

    /// The target, for its next step, unless the user has asked to stop.
    fn next(&mut self) -> Result<&mut Self>
    where
        Self: Sized,
    {
        match self.is_stop_asked() {
            true => Err(Error::Interrupted),
            false => Ok(self),
        }
    }
}

/// What time it is, on the host's clock.
pub(super) fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(0)
}

/// Sleeps in steps, so that a request to stop is heard.
pub(super) fn wait(span: Duration) -> Result<()> {
    let start = Instant::now();
    loop {
        let left = span.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        pause(left.min(Duration::from_millis(100)))?;
    }
}
