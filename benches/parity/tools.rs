//! One run of each tool.

use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use acklab::error::{Result, Tried, breakdown};
use acklab::load::{self, Driver, Job, Snapshot};
use acklab::record::histogram;
use acklab::study::{SysbenchLoad, Workload};
use mysql::prelude::Queryable;

use crate::judge::{SysbenchRun, few_failed, sysbench_run};
use crate::place::{DATABASE, Place, USER};

/// sysbench's own defaults.
const TABLES: u32 = 1;
const TABLE_SIZE: u32 = 10_000;
const SEED: u64 = 1;
/// Far longer than a number of transactions takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A load of either tool.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub load: SysbenchLoad,
    pub connections: u32,
    /// Transactions offered each second over all connections; else each begins when the last
    /// has ended.
    pub rate_per_s: Option<u32>,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    pub transactions: u64,
    pub per_s: f64,
    /// At an offered rate from the time when a transaction was due.
    pub latency_us_p50: f64,
    /// At an offered rate, from its first statement; sysbench does not tell it.
    pub service_us_p50: Option<f64>,
    pub errors: u64,
    /// CPU time of the server for each transaction; those of logging in included.
    pub server_cpu_us: f64,
}

impl Run {
    /// The run, if it may be compared.
    pub fn sound(self, tool: &str) -> Result<Run> {
        few_failed(tool, self.errors, self.transactions)?;
        Ok(self)
    }
}

pub fn workload(load: SysbenchLoad) -> Workload {
    Workload::Sysbench {
        load,
        tables: TABLES,
        table_size: TABLE_SIZE,
        prepared: true,
    }
}

/// Fresh tables.
pub fn fill(place: &Place, load: SysbenchLoad) -> Result<()> {
    let mut admin = place.admin()?;
    let database = [
        format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"),
        format!("USE {DATABASE}"),
    ];
    for sql in database
        .into_iter()
        .chain(load::setup_statements(&workload(load), SEED))
    {
        admin.query_drop(sql).tried(|| "make tables".to_owned())?;
    }
    Ok(())
}

/// Fresh tables where a load uses them up, before each of its runs.
fn refill(place: &Place, load: SysbenchLoad) -> Result<()> {
    match load {
        SysbenchLoad::Insert | SysbenchLoad::Delete => fill(place, load),
        _ => Ok(()),
    }
}

pub fn job(place: &Place, workload: &Workload, connections: u32) -> Job {
    Job {
        targets: vec![place.address],
        user: USER.to_owned(),
        password: String::new().into(),
        databases: vec![DATABASE.to_owned()],
        tls: false,
        workload: workload.clone(),
        connections,
        seed: SEED,
        driver: 0,
        drivers: 1,
        unique_from: 0,
        rate_per_s: None,
        pace: None,
        slowdown: None,
        waits: false,
        guest: None,
    }
}

pub fn driver() -> Result<Driver> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acklab"));
    command.arg("drive");
    Driver::spawn(command)
}

/// acklab for so long, all connected.
pub fn acklab(place: &Place, load: Load, span: Duration) -> Result<Run> {
    refill(place, load.load)?;
    let mut job = job(place, &workload(load.load), load.connections);
    job.rate_per_s = load.rate_per_s.map(f64::from);
    let mut driver = driver()?;
    driver.start(&job)?;
    driver.mark()?;
    let before_us = place.server_cpu_us();
    std::thread::sleep(span);
    let window = driver.mark()?;
    let server_us = place.server_cpu_us() - before_us;
    driver.stop()?;
    run_of(&window, server_us)
}

fn run_of(window: &Snapshot, server_us: f64) -> Result<Run> {
    let median = |text: &str| -> Result<f64> {
        let histogram = histogram::decode(text)?;
        Ok(histogram.value_at_quantile(0.5) as f64)
    };
    let transactions = window.commits + window.unchanged;
    let service = window.service_us.as_deref().map(median);
    Ok(Run {
        transactions,
        per_s: transactions as f64 / window.window_s,
        latency_us_p50: median(&window.latency_us)?,
        service_us_p50: service.transpose()?,
        errors: window.errors.total(),
        server_cpu_us: server_us / transactions as f64,
    })
}

/// acklab on one connection until at least so many transactions have ended; how many.
pub fn acklab_count(place: &Place, load: SysbenchLoad, count: u64) -> Result<u64> {
    let mut driver = driver()?;
    driver.start(&job(place, &workload(load), 1))?;
    let deadline = Instant::now() + PATIENCE;
    let mut done = 0;
    while done < count {
        let part = driver.mark()?;
        done += part.commits + part.unchanged;
        if Instant::now() > deadline || !part.errors.is_empty() {
            let status = format!("{done} had ended, errors: {:?}", part.errors);
            return Err(breakdown(format!("run {count} transactions"), status));
        }
    }
    let rest = driver.stop()?;
    Ok(done + rest.commits + rest.unchanged)
}

/// sysbench for so long.
pub fn sysbench(place: &Place, load: Load, span: Duration) -> Result<Run> {
    refill(place, load.load)?;
    let mut options = vec![
        format!("--threads={}", load.connections),
        format!("--time={}", span.as_secs()),
    ];
    options.extend(load.rate_per_s.map(|rate| format!("--rate={rate}")));
    let before_us = place.server_cpu_us();
    let run = run_sysbench(place, load.load, &options)?;
    let server_us = place.server_cpu_us() - before_us;
    Ok(Run {
        transactions: run.transactions,
        per_s: run.per_s,
        latency_us_p50: run.latency_us_p50,
        service_us_p50: None,
        errors: run.errors,
        server_cpu_us: server_us / run.transactions as f64,
    })
}

/// sysbench on one connection for so many transactions; how many they were.
pub fn sysbench_count(
    place: &Place,
    load: SysbenchLoad,
    count: u64,
    further: &[&str],
) -> Result<u64> {
    let mut options = vec![
        "--threads=1".to_owned(),
        "--time=0".to_owned(),
        format!("--events={count}"),
        format!("--rand-seed={SEED}"),
    ];
    options.extend(further.iter().map(|&option| option.to_owned()));
    Ok(run_sysbench(place, load, &options)?.transactions)
}

fn run_sysbench(place: &Place, load: SysbenchLoad, options: &[String]) -> Result<SysbenchRun> {
    let mut command = Command::new("sysbench");
    command
        .arg(format!("oltp_{}", load.name()))
        .arg(format!("--mysql-host={}", place.address.ip()))
        .arg(format!("--mysql-port={}", place.address.port()))
        .arg(format!("--mysql-user={USER}"))
        .arg(format!("--mysql-db={DATABASE}"))
        .arg(format!("--tables={TABLES}"))
        .arg(format!("--table-size={TABLE_SIZE}"))
        .args(["--mysql-ssl=off", "--percentile=50", "--histogram=on"])
        .args(options)
        .arg("run");
    let text = output(&mut command)?;
    let missing = || breakdown("read sysbench's report", text.clone());
    sysbench_run(&text).ok_or_else(missing)
}

/// What a program printed; it must have ended well.
pub fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().tried(|| format!("run {name}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(breakdown(
        format!("run {command:?}"),
        format!("{text}{told}"),
    ))
}

/// Whether a program is there at all.
pub fn is_there(program: &str) -> bool {
    let asked = Command::new(program).arg("--version").output();
    !asked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}
