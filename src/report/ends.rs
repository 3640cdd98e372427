//! How a report begins and ends: on what terms it was measured, and how to read it.

use std::collections::{BTreeMap, BTreeSet};

use super::numbers::{count, time, utc};
use super::page::Block;
use crate::analysis::Summary;
use crate::analysis::summary::Per;
use crate::record::Flag;

/// Settings of the modes that belong to the terms.
const SETTINGS: [&str; 2] = ["appliers", "binary_log"];

/// What precedes the tables.
pub fn head(summary: &Summary) -> Vec<Block> {
    let title = format!("acklab {}: {}", summary.study, summary.title);
    let mut facts = vec![fact("run", run(summary))];
    if !summary.finished {
        facts.insert(0, fact("PARTIAL", partial(summary)));
    }
    facts.extend(summary.servers.iter().map(|server| {
        let said = format!("{} {} ({})", server.name, server.version, server.source);
        fact("server", said)
    }));
    facts.push(fact("host", host(summary)));
    let (alike, unlike) = terms(summary);
    facts.push(fact("alike", alike.join(", ")));
    facts.extend(unlike.into_iter().map(|said| fact("not alike", said)));
    facts.extend(labs(summary));
    facts.extend(
        summary
            .remarks
            .iter()
            .map(|remark| fact("remark", remark.clone())),
    );
    vec![Block::Title(title), Block::Facts(facts)]
}

fn fact(name: &str, said: String) -> (String, String) {
    (name.to_owned(), said)
}

fn run(summary: &Summary) -> String {
    let rounds = count(summary.rounds_asked.into(), "round");
    format!(
        "{rounds}, seed {}; each cell {} s warm-up, {} s measured; {}; acklab {}",
        summary.seed,
        summary.warmup_s,
        summary.measure_s,
        utc(summary.started_unix_ms),
        summary.acklab_version
    )
}

fn partial(summary: &Summary) -> String {
    format!(
        "the run did not go through to its end: {} of {} measurements are here",
        summary.measurements, summary.measurements_asked
    )
}

fn host(summary: &Summary) -> String {
    let host = &summary.host;
    format!(
        "{}, {}, {:.1} GiB, kernel {}; fsync {} and links' own round trip {} (medians)",
        host.cpu_model,
        count(host.cpus.into(), "CPU"),
        host.memory_bytes as f64 / f64::from(1 << 30),
        host.kernel,
        time(host.fsync_us_p50),
        time(host.link_floor_us_p50)
    )
}

/// What all servers and modes share, and what they do not.
fn terms(summary: &Summary) -> (Vec<String>, Vec<String>) {
    let tls = if summary.tls { "TLS on" } else { "TLS off" };
    let (mut alike, mut unlike) = (vec![tls.to_owned()], vec![]);
    let settings = SETTINGS.map(|name| (name.to_owned(), by_setting(summary, name)));
    let settings = settings.iter().map(|(name, values)| (name, values));
    for (name, values) in settings.chain(&summary.terms) {
        let mut each = values.iter();
        match (each.next(), values.len()) {
            (Some((value, _)), 1) => alike.push(format!("{name} {value}")),
            (Some(_), _) => unlike.push(format!("{name} {}", by_value(values))),
            (None, _) => {}
        }
    }
    (alike, unlike)
}

fn by_value(values: &BTreeMap<String, Vec<String>>) -> String {
    let said =
        |(value, places): (&String, &Vec<String>)| format!("{value} ({})", places.join(", "));
    let said: Vec<String> = values.iter().map(said).collect();
    said.join("; ")
}

/// Value → labels of the modes that have it. A mode without replicas has no appliers.
fn by_setting(summary: &Summary, name: &str) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for cell in summary
        .cells
        .iter()
        .filter(|cell| cell.mode != "single" || name != "appliers")
    {
        if let Some(value) = cell.settings.get(name) {
            let labels = values.entry(value.clone()).or_default();
            if !labels.contains(&cell.label) {
                labels.push(cell.label.clone());
            }
        }
    }
    values
}

fn labs(summary: &Summary) -> Vec<(String, String)> {
    let ready = |(family, ready_s): (&String, f64)| format!("{family} {ready_s:.1} s");
    let labs = summary
        .labs
        .iter()
        .map(|lab| ready((&lab.family, lab.ready_s)));
    let labs: Vec<String> = labs.collect();
    let overridden = summary.labs.iter().flat_map(|lab| &lab.overridden);
    let overridden: BTreeSet<String> = overridden
        .map(|o| format!("{}: yours {}, used {}", o.name, o.given, o.used))
        .collect();
    let mut facts = Vec::new();
    if !labs.is_empty() {
        facts.push(fact("ready after", labs.join(", ")));
    }
    facts.extend(overridden.into_iter().map(|said| fact("overridden", said)));
    facts
}

/// What follows the tables.
pub fn foot(summary: &Summary) -> Vec<Block> {
    let mut lines = reading(summary);
    let flags = summary.cells.iter().flat_map(|cell| &cell.flags);
    let flags: BTreeSet<Flag> = flags.map(|count| count.flag).collect();
    lines.extend(
        flags
            .into_iter()
            .map(|flag| format!("! {}: {}", flag.name(), meaning(flag))),
    );
    lines.push(format!("Again: {}", again(summary)));
    vec![
        Block::Heading("How to read this".to_owned()),
        Block::Lines(lines),
    ]
}

fn reading(summary: &Summary) -> Vec<String> {
    let mut lines = vec![
        "752 742–761: median over rounds and its interval, which holds the true value in at least \
         93 of 100 such studies."
            .to_owned(),
        "vs: throughput over the baseline's of the same server, paired by round. ~ means no \
         difference shown: the interval holds 1."
            .to_owned(),
        "p50, p99: of all rounds together. – means no figure: nothing to measure, or fewer than \
         ten samples beyond a percentile."
            .to_owned(),
        "CPU, bytes and packets: medians over rounds, both directions; replica: mean of the \
         replicas; lag: of the replica farthest behind."
            .to_owned(),
    ];
    if summary.cells.iter().any(|cell| cell.per == Per::Commit) {
        let line = "A commit is a transaction that changed at least one row.";
        lines.push(line.to_owned());
    }
    if summary
        .anatomy
        .iter()
        .any(|anatomy| anatomy.round_trips.is_some())
    {
        let line = "Round trips: slope of the median latency over the RTT got between sites, at 1 \
                    connection and equal distances, a line per round; misfit: largest distance of \
                    a median from the line. ±? stands for no interval.";
        lines.push(line.to_owned());
    }
    if summary
        .anatomy
        .iter()
        .any(|anatomy| anatomy.per_peer.is_some())
    {
        let line = "Of peer: slopes of a plane over both peers' distances. A mode that waits for \
                    the nearest or the farthest splits its round trips between them; then the \
                    model named under \"waits for\" fits clearly better than the plane.";
        lines.push(line.to_owned());
    }
    lines
}

fn meaning(flag: Flag) -> &'static str {
    match flag {
        Flag::HostBound => "the host's CPUs were saturated; the figure tells of the host.",
        Flag::Drifted => {
            "round-trip times before and after, or asked and got, differ by more than \
             10 % and 100 µs."
        }
        Flag::Downgraded => "semi-sync fell back to async for a while, without telling clients.",
        Flag::Errors => "some transactions failed; they are counted, never retried.",
        Flag::NoRows => "no transaction changed a row though the workload writes.",
        Flag::LateLinks => "links delivered late; such measurements are void and left out.",
    }
}

fn again(summary: &Summary) -> String {
    let given = summary.command_line.join(" ");
    let has_seed = summary
        .command_line
        .iter()
        .any(|word| word.starts_with("--seed"));
    match has_seed {
        true => given,
        false => format!("{given} --seed {}", summary.seed),
    }
}
