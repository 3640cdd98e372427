//! A driver at a server that does nothing but answer.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::null_server::{ANSWER_BYTES, Request, Service, Told, address, login, statement};
use crate::error::{Result, Tried, breakdown};
use crate::lab::child::{Child, Manner};
use crate::lab::node::pause;
use crate::load::{Driver, Job, Snapshot, merge};
use crate::observe::cpu::process_cpu_us;
use crate::record::histogram;
use crate::record::self_test::Check;
use crate::record::store::Record;
use crate::study::{SysbenchLoad, Workload};

/// Whoever listens to what comes out, check by check.
pub type Telling<'t> = dyn FnMut(&Check) + 't;

/// What a part may use.
pub struct Parts<'p> {
    /// Runs a study by its name and text on real servers.
    pub run_study: &'p mut dyn FnMut(&str, &str) -> Result<Record>,
    /// The same of the study that finds its limits.
    pub run_limits: &'p mut dyn FnMut(&str, &str) -> Result<Record>,
}

const TRIED: &str = "serve nothing";
const GREETING_BYTES_MAX: usize = 256;
/// Warm-up before each window.
const WARM_UP: Duration = Duration::from_millis(500);

/// A load that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub service: Service,
    pub connections: u32,
    pub rate_per_s: Option<f64>,
    pub pace: Option<Duration>,
    pub window: Duration,
}

/// What came of it.
pub struct Seen {
    /// Of the window.
    pub window: Snapshot,
    /// From the first statement to the last, and what the server counted meanwhile.
    pub whole: Snapshot,
    pub served: Told,
    /// CPU time of the driver over the window.
    pub driver_share: f64,
}

impl Seen {
    /// Latency in the window, as the driver has it, in µs.
    pub fn latency_us(&self) -> Result<Histogram<u64>> {
        histogram::joined(
            &self.window.latency_us,
            self.window.unfinished_us.as_deref(),
        )
    }

    /// What the server itself took for each statement, in µs.
    pub fn served_us(&self) -> Result<Histogram<u64>> {
        histogram::decode(&self.served.took_us)
    }
}

/// Drives a load at a server of its own.
///
/// # Errors
/// A breakdown if either cannot be started, or ends.
pub fn drive(load: &Load) -> Result<Seen> {
    let mut server = start("null-server", "the null server")?;
    server.ask::<Told>(TRIED, &Request::Serve(load.service))?;
    let at: Told = server.ask(TRIED, &Request::Tell)?;
    let mut driver = Driver::spawn(own_verb("drive")?)?;
    driver.start(&job(load, &at))?;
    pause(WARM_UP)?;
    let warm = driver.mark()?;
    // From here on, so that what is drawn up to the window's end is the window's.
    if !matches!(load.service, Service::After(_)) {
        server.ask::<Told>(TRIED, &Request::Serve(load.service))?;
    }
    let (begun, from_us) = (Instant::now(), cpu_us(&driver)?);
    pause(load.window)?;
    let window = driver.mark()?;
    let used_us = cpu_us(&driver)? - from_us;
    let driver_share = used_us / (begun.elapsed().as_secs_f64() * 1e6);
    let rest = driver.stop()?;
    let served: Told = server.ask(TRIED, &Request::Tell)?;
    Ok(Seen {
        whole: merge(vec![warm, window.clone(), rest])?,
        window,
        served,
        driver_share,
    })
}

/// What a client sees that does nothing but ask and wait, so often, a pause before each: in µs, and
/// what the server took of it.
///
/// # Errors
/// A breakdown if the server cannot be started, or ends.
pub fn bare_client(
    service: Service,
    (times, pause_before): (u32, Duration),
) -> Result<(Histogram<u64>, Histogram<u64>)> {
    let what = || "ask a server that does nothing".to_owned();
    let mut server = start("null-server", "the null server")?;
    server.ask::<Told>(TRIED, &Request::Serve(service))?;
    let at: Told = server.ask(TRIED, &Request::Tell)?;
    let mut stream = TcpStream::connect(address(&at)).tried(what)?;
    stream.set_nodelay(true).tried(what)?;
    let mut greeting = [0; GREETING_BYTES_MAX];
    stream.read(&mut greeting).tried(what)?;
    let mut answer = [0; ANSWER_BYTES];
    stream.write_all(&login()).tried(what)?;
    stream.read_exact(&mut answer).tried(what)?;
    let mut seen_us = histogram::empty();
    for _ in 0..times {
        pause(pause_before)?;
        let begun = Instant::now();
        stream.write_all(&statement()).tried(what)?;
        stream.read_exact(&mut answer).tried(what)?;
        let us = begun.elapsed().as_micros() as u64;
        seen_us.record(us.max(1)).tried(what)?;
    }
    let told: Told = server.ask(TRIED, &Request::Tell)?;
    Ok((seen_us, histogram::decode(&told.took_us)?))
}

fn cpu_us(driver: &Driver) -> Result<f64> {
    let used = process_cpu_us(driver.pid());
    used.ok_or_else(|| breakdown("read the driver's CPU time", "it has ended"))
}

fn start(verb: &str, name: &str) -> Result<Child> {
    let manner = Manner {
        name: name.to_owned(),
        answer_limit: Some(Duration::from_secs(10)),
        ends_itself: false,
    };
    Child::spawn(own_verb(verb)?, manner)
}

fn own_verb(verb: &str) -> Result<Command> {
    let program = std::env::current_exe().tried(|| "find this program".to_owned())?;
    let mut command = Command::new(program);
    command.arg(verb);
    Ok(command)
}

fn job(load: &Load, at: &Told) -> Job {
    let seed = match load.service {
        Service::OneAtATime { seed, .. } => seed,
        _ => 7,
    };
    Job {
        targets: vec![address(at)],
        user: "acklab".to_owned(),
        password: "".into(),
        databases: vec!["acklab".to_owned()],
        tls: false,
        workload: Workload::Sysbench {
            load: SysbenchLoad::UpdateIndex,
            tables: 1,
            table_size: 1_000,
            prepared: false,
        },
        connections: load.connections,
        seed,
        driver: 0,
        drivers: 1,
        unique_from: 0,
        rate_per_s: load.rate_per_s,
        pace: load.pace,
        slowdown: None,
        waits: false,
        guest: None,
    }
}

/// A quantile in ms; a breakdown where nothing was seen.
pub fn quantile_ms(of: &Histogram<u64>, share: f64) -> Result<f64> {
    if of.is_empty() {
        return Err(breakdown("measure latency", "no statement was answered"));
    }
    Ok(of.median_equivalent(of.value_at_quantile(share)) as f64 / 1e3)
}
