//! Real sysbench and real mysqlslap beside acklab, in turn on one real server, server and client
//! each held to a CPU of their own:
//!
//!     cargo bench --bench parity                       all of it, half an hour to an hour
//!     cargo bench --bench parity -- --short            three loads, three pairs, two minutes
//!     cargo bench --bench parity -- --part keys --load delete --server mariadb
//!
//! Exit code 1 unless statements and queries are the same, keys fit, and the medians of all pairs
//! are within a tenth; a higher rate of acklab's is none of the server's if that works as long for
//! each transaction. Where they are not, more pairs are run and decide with them, but for those of
//! a host that was busy with something else; no bound is loosened. Wants root, two CPUs, and
//! Debian's package `sysbench`; mysqlslap comes with acklab's own servers.

mod judge;
mod log;
mod pairs;
mod place;
mod slap;
mod statements;
mod tools;

#[path = "../../tests/common/mod.rs"]
#[allow(dead_code)]
mod common;
#[path = "../../tests/lab/ground.rs"]
#[allow(dead_code)]
mod ground;

use std::process::ExitCode;
use std::time::Duration;

use acklab::error::Result;
use acklab::study::SysbenchLoad;
use clap::{Parser, ValueEnum};

use crate::judge::{Figure, Ratios};
use ground::{Ground, on_ground, with_lab};
use pairs::{Effort, Table};
use place::Place;
use slap::Tool;
use tools::{Load, Run};

const SPAN: Duration = Duration::from_secs(2);
const FULL: Effort = Effort { pairs: 5, tries: 5 };
const SHORT: Effort = Effort { pairs: 3, tries: 6 };
const SHORT_LOADS: [SysbenchLoad; 3] = [
    SysbenchLoad::PointSelect,
    SysbenchLoad::ReadWrite,
    SysbenchLoad::UpdateIndex,
];
/// Connections at an offered rate.
const CONNECTIONS: [u32; 2] = [16, 64];
/// The offered rate, as a share of what the slower of both tools reaches without one. At half of it
/// sysbench's threads wait for the client's one CPU; at a quarter both tools wait for a CPU that
/// has gone to sleep, which only acklab's latency counts.
const OFFERED_SHARE: f64 = 1.0 / 3.0;
const SLAP_CONNECTIONS: [u32; 2] = [1, 16];

#[derive(Parser)]
struct Wish {
    /// Three loads at one connection, three pairs: at most two minutes
    #[arg(long, conflicts_with = "part")]
    short: bool,
    /// Only these parts
    #[arg(long, value_enum)]
    part: Vec<Part>,
    /// Only these of sysbench's workloads
    #[arg(long, value_parser = load_named)]
    load: Vec<SysbenchLoad>,
    /// A server of the catalogue; by default both
    #[arg(long, value_parser = ["mysql", "mariadb"])]
    server: Option<String>,
    /// cargo's own
    #[arg(long, hide = true)]
    bench: bool,
}

impl Wish {
    fn loads(&self) -> Vec<SysbenchLoad> {
        let is_wanted = |load: &SysbenchLoad| self.load.is_empty() || self.load.contains(load);
        SysbenchLoad::ALL.into_iter().filter(is_wanted).collect()
    }
}

fn load_named(name: &str) -> std::result::Result<SysbenchLoad, String> {
    let named = |load: &SysbenchLoad| load.name() == name;
    let names = SysbenchLoad::ALL.map(|load| load.name()).join(", ");
    let found = SysbenchLoad::ALL.into_iter().find(named);
    found.ok_or_else(|| format!("allowed: {names}"))
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Statements per transaction
    Counts,
    /// Distribution of keys
    Keys,
    /// Transactions per second at one connection
    Throughput,
    /// Median latency at an offered rate
    Latency,
    /// mysqlslap's queries
    Queries,
    /// mysqlslap's seconds
    Seconds,
}

fn main() -> ExitCode {
    let wish = Wish::parse();
    // `cargo test --all-targets` would run this as well.
    if !wish.bench {
        return ExitCode::SUCCESS;
    }
    if !tools::is_there("sysbench") {
        eprintln!("parity: sysbench is missing: install the package `sysbench`");
        return ExitCode::from(4);
    }
    let servers = match (&wish.server, wish.short) {
        (Some(server), _) => vec![server.as_str()],
        (None, true) => vec!["mysql"],
        (None, false) => vec!["mysql", "mariadb"],
    };
    let mut is_met = true;
    for server in servers {
        match in_lab(server, &wish) {
            Ok(is_met_here) => is_met &= is_met_here,
            Err(error) => {
                eprintln!("parity: {error}");
                return ExitCode::from(4);
            }
        }
    }
    println!(
        "\n{}",
        if is_met {
            "all bounds met"
        } else {
            "bounds NOT met"
        }
    );
    ExitCode::from(u8::from(!is_met))
}

/// Everything on one server, on a thread that enters its namespace.
fn in_lab(server: &str, wish: &Wish) -> Result<bool> {
    let mut outcome = Ok(false);
    on_ground(&format!("parity on {server}"), |ground| {
        with_lab(ground, &["single", "--server", server], || {
            let inside = || measure(ground, server, wish);
            let done = std::thread::scope(|scope| scope.spawn(inside).join());
            outcome = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
    });
    outcome
}

fn measure(ground: &Ground, server: &str, wish: &Wish) -> Result<bool> {
    let place = Place::enter(ground)?;
    println!("\n## {server} {}", place.version);
    if wish.short {
        let is_same = statements::same_counts(&place, &SHORT_LOADS)?;
        return Ok(throughput(&place, &SHORT_LOADS, SHORT)? && is_same);
    }
    let loads = wish.loads();
    let wants = |part| wish.part.is_empty() || wish.part.contains(&part);
    let mut is_met = true;
    if wants(Part::Counts) {
        is_met &= statements::same_counts(&place, &loads)?;
    }
    if wants(Part::Keys) {
        is_met &= statements::same_keys(&place, &loads)?;
    }
    if wants(Part::Throughput) {
        is_met &= throughput(&place, &loads, FULL)?;
    }
    if wants(Part::Latency) {
        is_met &= latency(&place, &loads, FULL)?;
    }
    if wants(Part::Queries) {
        is_met &= slap::same_queries(&place, &Tool::of(&place, server)?)?;
    }
    if wants(Part::Seconds) {
        let tool = Tool::of(&place, server)?;
        is_met &= slap::same_seconds(&place, &tool, &SLAP_CONNECTIONS, FULL)?;
    }
    Ok(is_met)
}

/// Both tools as fast as they can, on one connection.
fn throughput(place: &Place, loads: &[SysbenchLoad], effort: Effort) -> Result<bool> {
    let title = format!(
        "Transactions per second at 1 connection, {} s a run",
        SPAN.as_secs()
    );
    let mut table = Table::begin(&title, "per s", "sysbench");
    for &load in loads {
        tools::fill(place, load)?;
        let closed = Load {
            load,
            connections: 1,
            rate_per_s: None,
        };
        let ours = || acklab_run(place, closed).map(per_s);
        let theirs = || sysbench_run(place, closed).map(per_s);
        table.row(place, load.name(), effort, ours, theirs)?;
    }
    Ok(table.is_met())
}

/// Both tools at one offered rate below saturation.
fn latency(place: &Place, loads: &[SysbenchLoad], effort: Effort) -> Result<bool> {
    let title = "Median latency at an offered rate, from the due time";
    let mut table = Table::begin(title, "µs", "sysbench");
    let mut services = String::new();
    for connections in CONNECTIONS {
        for &load in loads {
            tools::fill(place, load)?;
            let offered = offered(place, load, connections)?;
            let mut service_us = vec![];
            let ours = || {
                let run = acklab_run(place, offered)?;
                service_us.extend(run.service_us_p50);
                Ok(run.latency_us_p50)
            };
            let mut theirs = || Ok(sysbench_run(place, offered)?.latency_us_p50);
            let rate = offered.rate_per_s.unwrap_or(0);
            let name = format!("{}, {connections} connections, {rate}/s", load.name());
            if !table.row(place, &name, effort, ours, &mut theirs)? {
                table.control(place, effort.pairs, theirs)?;
            }
            let median_us = Ratios::of(service_us).median();
            services += &format!("| {name} | {median_us:.0} |\n");
        }
    }
    println!("\nThe same runs of acklab from the first statement sent\n");
    println!("| load | acklab, µs |\n|---|---|\n{services}");
    Ok(table.is_met())
}

fn per_s(run: Run) -> Figure {
    Figure::per_s(run.per_s, run.server_cpu_us)
}

/// A run that is compared.
fn acklab_run(place: &Place, load: Load) -> Result<Run> {
    tools::acklab(place, load, SPAN)?.sound("acklab")
}

fn sysbench_run(place: &Place, load: Load) -> Result<Run> {
    tools::sysbench(place, load, SPAN)?.sound("sysbench")
}

/// A third of what the slower tool reaches. Only what is compared must be free of errors: this
/// is no more than a choice.
fn offered(place: &Place, load: SysbenchLoad, connections: u32) -> Result<Load> {
    let closed = Load {
        load,
        connections,
        rate_per_s: None,
    };
    let span = Duration::from_secs(1);
    let reached = |run: Run| run.per_s;
    let ours = reached(tools::acklab(place, closed, span)?);
    let theirs = reached(tools::sysbench(place, closed, span)?);
    let rate_per_s = Some((OFFERED_SHARE * ours.min(theirs)) as u32);
    Ok(Load {
        rate_per_s,
        ..closed
    })
}
