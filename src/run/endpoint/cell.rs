//! One cell at somebody else's servers, measured once.

use std::collections::BTreeMap;
use std::time::Duration;

use super::party::{Host, Party};
use crate::error::Result;
use crate::lab::endpoint::handshakes;
use crate::lab::mode::CATCH_UP_LIMIT;
use crate::lab::node::pause;
use crate::lab::sql::Ask;
use crate::load::{Driver, in_a_row};
use crate::observe::cpu::process_cpu_us;
use crate::observe::host::HostCpu;
use crate::observe::{lag, status};
use crate::plan::Cell;
use crate::record::{CpuUsed, Flag, Handshakes, Measurement};
use crate::run::cell::{NodeStatus, leave_out, take, take_status, unix_ms, wait};
use crate::run::rig::uses_up_tables;
use crate::study::{Study, Workload};

/// Measures one cell.
pub fn measure(
    party: &mut Party,
    study: &Study,
    cell: &Cell,
    index: usize,
    round: u32,
) -> Result<Measurement> {
    let host = party.host(cell.mode);
    if uses_up_tables(&cell.workload) {
        host.load(&cell.workload, study.seed)?;
    }
    // Its replicas have this to apply first, and what an earlier cell left them.
    let flags = wait_for_replicas(host)?;
    let mut measurement = Measurement {
        flags,
        round,
        cell: index,
        started_unix_ms: unix_ms(),
        handshakes: probe(party.host(cell.mode))?,
        ..Measurement::default()
    };
    match cell.workload {
        Workload::Mysqlslap { .. } => iterate(party, study, cell, &mut measurement)?,
        _ => drive(party, study, cell, &mut measurement)?,
    }
    let after = probe(party.host(cell.mode))?;
    for (made, after) in measurement.handshakes.iter_mut().zip(after) {
        made.rtts_us.extend(after.rtts_us);
    }
    Ok(measurement)
}

/// Round trips to all servers; also finds out where the writer's name leads now.
fn probe(host: &mut Host) -> Result<Vec<Handshakes>> {
    let mut all = Vec::new();
    for access in host.accesses().to_vec() {
        let made = handshakes(&access)?;
        if all.is_empty() {
            host.target = made.target;
        }
        all.push(Handshakes {
            node: access.name,
            rtts_us: made.rtts_us,
        });
    }
    Ok(all)
}

/// Until replicas have applied all that their writer has committed; the doubt that remains where
/// they do not in time.
fn wait_for_replicas(host: &mut Host) -> Result<Vec<Flag>> {
    let (heartbeat, limit) = (host.heartbeat(), CATCH_UP_LIMIT);
    let is_level = lag::is_level(&mut host.writer, &mut host.replicas, &heartbeat, limit)?;
    Ok(match is_level {
        true => vec![],
        false => vec![Flag::Behind],
    })
}

/// What can be counted on this side.
struct Accounts {
    client_us: f64,
    host: HostCpu,
}

impl Accounts {
    fn now(driver: &Driver) -> Accounts {
        Accounts {
            client_us: process_cpu_us(driver.pid()).unwrap_or(0.0),
            host: HostCpu::now(),
        }
    }

    /// Moves this reading forward by what was used between two others.
    fn leave_out(&mut self, from: &Accounts, to: &Accounts) {
        self.client_us += to.client_us - from.client_us;
        self.host.add_since(&to.host, &from.host);
    }

    fn until(&self, end: &Accounts, into: &mut Measurement) {
        into.cpu = CpuUsed {
            client_us: end.client_us - self.client_us,
            ..CpuUsed::default()
        };
        let (busy, stolen) = end.host.shares_since(&self.host);
        into.host_busy = busy;
        into.host_stolen = stolen;
    }
}

fn read_status(host: &mut Host) -> Result<NodeStatus> {
    let mut all = BTreeMap::new();
    let replicas = host.replicas.iter_mut();
    for server in std::iter::once(&mut host.writer).chain(replicas) {
        let counters = status::read(server, None)?;
        all.insert(server.name().to_owned(), counters);
    }
    Ok(all)
}

/// Warm-up, measured window, lag while the load still runs, catching up after it.
fn drive(party: &mut Party, study: &Study, cell: &Cell, into: &mut Measurement) -> Result<()> {
    let (driver, host) = party.pair(cell.mode);
    driver.start(&host.job(study, cell, into.round))?;
    let outcome = watch(driver, host, (study, cell), into);
    let rest = driver.stop()?;
    host.used_numbers(rest.unique_next);
    outcome?;
    into.load_s += rest.window_s;
    into.timeline.extend(rest.timeline);
    catch_up(host, into)
}

fn watch(
    driver: &mut Driver,
    host: &mut Host,
    (study, cell): (&Study, &Cell),
    into: &mut Measurement,
) -> Result<()> {
    let window = cell.window(study);
    wait(study.warmup)?;
    let status_before = read_status(host)?;
    let warm = driver.mark()?;
    into.timeline.extend(warm.timeline);
    let begin = Accounts::now(driver);
    wait(window)?;
    let snapshot = driver.mark()?;
    begin.until(&Accounts::now(driver), into);
    let status_after = read_status(host)?;
    into.load_s = warm.window_s - warm.connected_s + snapshot.window_s;
    take(snapshot, into);
    take_status(&status_before, &status_after, host.writer.name(), into);
    lags(host, window, into)
}

fn lags(host: &mut Host, window: Duration, into: &mut Measurement) -> Result<()> {
    if host.replicas.is_empty() {
        return Ok(());
    }
    let heartbeat = host.heartbeat();
    let (writer, replicas) = (&mut host.writer, &mut host.replicas[..]);
    into.lag = lag::measure_on(writer, replicas, &heartbeat, window)?;
    Ok(())
}

fn catch_up(host: &mut Host, into: &mut Measurement) -> Result<()> {
    let heartbeat = host.heartbeat();
    let (writer, replicas) = (&mut host.writer, &mut host.replicas[..]);
    lag::catch_up_on(writer, replicas, &heartbeat, &mut into.lag)
}

/// mysqlslap's manner: a number of iterations, each reload left out of all accounts.
fn iterate(party: &mut Party, study: &Study, cell: &Cell, into: &mut Measurement) -> Result<()> {
    let Workload::Mysqlslap {
        iterations,
        catch_up: waits,
        ..
    } = cell.workload
    else {
        return Ok(());
    };
    let (driver, host) = party.pair(cell.mode);
    let job = host.job(study, cell, into.round);
    let mut status_before = read_status(host)?;
    let mut begin = Accounts::now(driver);
    let mut parts = Vec::new();
    for _ in 0..iterations {
        pause(Duration::ZERO)?;
        let (status_idle, idle) = (read_status(host)?, Accounts::now(driver));
        driver.reload(&job)?;
        if waits {
            into.flags.extend(wait_for_replicas(host)?);
        }
        begin.leave_out(&idle, &Accounts::now(driver));
        leave_out(&mut status_before, &status_idle, &read_status(host)?);
        parts.push(driver.iterate()?);
    }
    begin.until(&Accounts::now(driver), into);
    let status_after = read_status(host)?;
    let outcome = in_a_row(parts)?;
    take(outcome.snapshot, into);
    into.iterations = outcome.iterations;
    take_status(&status_before, &status_after, host.writer.name(), into);
    lags(host, cell.window(study), into)?;
    catch_up(host, into)
}
