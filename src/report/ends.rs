//! How a report begins and ends: on what terms it was measured, and how to read it.

use std::collections::{BTreeMap, BTreeSet};

use super::numbers::{count, time, utc};
use super::page::Block;
use crate::analysis::Summary;
use crate::analysis::summary::{Anatomy, CellSummary, LabSummary, Per, Source, Value};
use crate::record::{Flag, SEMISYNC_WAIT};

/// Settings of the modes that belong to the terms.
const SETTINGS: [&str; 3] = [TLS, APPLIERS, "binary_log"];
const TLS: &str = "TLS";
const APPLIERS: &str = "appliers";

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
    facts.extend(endpoints(summary));
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
    if summary.measurements_made_again > 0 {
        facts.push(fact("remark", made_again(summary)));
    }
    vec![Block::Title(title), Block::Facts(facts)]
}

fn made_again(summary: &Summary) -> String {
    let times = u64::from(summary.measurements_made_again);
    let measurements = count(times, "void measurement");
    format!("{measurements} (links delivered late) made again at once and left out")
}

fn fact(name: &str, said: String) -> (String, String) {
    (name.to_owned(), said)
}

fn run(summary: &Summary) -> String {
    let rounds = count(summary.rounds_asked.into(), "round");
    let short = if summary.is_quick {
        "short run (--quick), "
    } else {
        ""
    };
    format!(
        "{short}{rounds}, seed {}; each cell {} s warm-up, {} s measured; {}; acklab {}",
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
    let machine = format!(
        "{}, {}, {:.1} GiB, kernel {}",
        host.cpu_model,
        count(host.cpus.into(), "CPU"),
        host.memory_bytes as f64 / f64::from(1 << 30),
        host.kernel
    );
    if !summary.endpoints.is_empty() {
        return format!("{machine}; the client's: of the servers' nothing is known");
    }
    format!(
        "{machine}; fsync {} and links' own round trip {} (medians)",
        time(host.fsync_us_p50),
        time(host.link_floor_us_p50)
    )
}

/// Servers that somebody else runs: where they are, and what a lab would have set there.
fn endpoints(summary: &Summary) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    for endpoint in &summary.endpoints {
        let places = endpoint.places.join(", ");
        let said = format!("{}: {places}; TLS {}", endpoint.label, endpoint.tls);
        facts.push(fact("endpoint", said));
        let advice = endpoint.advice.iter();
        let advice = advice.map(|said| fact("advice", format!("{}: {said}", endpoint.label)));
        facts.extend(advice);
    }
    facts
}

/// What all servers and modes share, and what they do not.
fn terms(summary: &Summary) -> (Vec<String>, Vec<String>) {
    let (mut alike, mut unlike) = (vec![], vec![]);
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
    let said = |(value, places): (&String, &Vec<String>)| {
        let value = if value.is_empty() { "none" } else { value };
        format!("{value} ({})", places.join(", "))
    };
    let said: Vec<String> = values.iter().map(said).collect();
    said.join("; ")
}

/// Value → labels of the modes that have it. A mode without replicas has no appliers.
fn by_setting(summary: &Summary, name: &str) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let has_it = |cell: &&CellSummary| name != APPLIERS || !cell.point.mode.has_one_server();
    for cell in summary.cells.iter().filter(has_it) {
        let of_study = if summary.tls { "on" } else { "off" };
        let value = match name {
            TLS => Some(cell.settings.get("tls").map_or(of_study, String::as_str)),
            _ => cell.settings.get(name).map(String::as_str),
        };
        if let Some(value) = value {
            let labels = values.entry(value.to_owned()).or_default();
            if !labels.contains(&cell.label) {
                labels.push(cell.label.clone());
            }
        }
    }
    values
}

fn labs(summary: &Summary) -> Vec<(String, String)> {
    let ready = |(index, lab): (usize, &LabSummary)| {
        let says_more = lab.modes != [&lab.family[..]];
        let modes = match says_more && is_one_more(summary, index) {
            true => format!(" ({})", lab.modes.join(", ")),
            false => String::new(),
        };
        format!("{}{modes} {:.1} s", lab.family, lab.ready_s)
    };
    let labs: Vec<String> = summary.labs.iter().enumerate().map(ready).collect();
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

/// Whether a lab before it is of the same kind, and has its name without the number: a reader
/// wants to know which it is.
fn is_one_more(summary: &Summary, index: usize) -> bool {
    let kind = |lab: &LabSummary| {
        let mut cells = summary.cells.iter();
        let point = &cells.find(|cell| lab.modes.contains(&cell.label))?.point;
        Some((&point.server, point.mode.family(), point.binary_log))
    };
    let own = kind(&summary.labs[index]);
    let mut before = summary.labs[..index].iter();
    own.is_some() && before.any(|lab| kind(lab) == own)
}

/// What follows the tables.
pub fn foot(summary: &Summary) -> Vec<Block> {
    let mut lines = reading(summary);
    let flags = summary.cells.iter().flat_map(|cell| &cell.flags);
    let flags: BTreeSet<Flag> = flags.map(|count| count.flag).collect();
    let tells = summary.cells.iter().any(|cell| cell.contention.is_some());
    let told = |flag: Flag| format!("! {}: {}", flag.name(), meaning(flag, tells));
    lines.extend(flags.into_iter().map(told));
    lines.push(again(&summary.command_line, summary.seed));
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
                    a median from the line; sys: difference between the slopes of its near and \
                    its far half, or from the flushes counted. ±? stands for no interval.";
        lines.push(line.to_owned());
    }
    if summary.anatomy.iter().any(is_partly_probed) {
        let line = "Delays got: of some modes by probes before and after the window; too few \
                    packets or flushes in it told of them, or the record is older.";
        lines.push(line.to_owned());
    }
    if summary
        .anatomy
        .iter()
        .any(|anatomy| anatomy.per_peer.is_some())
    {
        let line = "Of peer: slopes of a plane over both peers' distances. A mode that waits for \
                    the nearest or the farthest splits its round trips between them. Waits for: \
                    the only way to wait that foretells all latencies there within 0.05 round \
                    trips of the longest distance, from the line over equal ones.";
        lines.push(line.to_owned());
    }
    if summary.effects.iter().any(|effects| effects.rounds > 0) {
        let line = "Effects: ratios of throughput, geometric means over all runs of the design, \
                    paired by round. A run is called after its variables at their high level. Two \
                    effects add up if both changes together give what each alone multiplies to. \
                    \"Or it is\": effects that no run tells from this one.";
        lines.push(line.to_owned());
    }
    lines.extend(of_contention(summary));
    lines.extend(of_disks(summary));
    lines.extend(of_some_cells(summary));
    lines.extend(of_endpoints(summary));
    lines
}

/// What only a record tells in which it was looked at.
fn of_contention(summary: &Summary) -> Vec<String> {
    let mut cells = summary.cells.iter();
    let is_told = cells.any(|cell| cell.contention.is_some());
    let mut cells = summary.cells.iter();
    let is_shared = cells.any(|cell| cell.is_ratio_shared);
    let lines = [
        (
            is_told,
            "CPU waited for: time ready to run without a CPU, over that and run time together; \
             all: of all who share CPUs. Emulators: what links and disks took of all CPU time. \
             CPU sum: of servers, links, disks and clients for each commit, over the baseline's.",
        ),
        (
            is_shared,
            "(0.66) shared: not the mode's price. One of both rows waited for the host's CPUs, \
             which its nodes share; where CPU sum is about 1 over that ratio, one is the other.",
        ),
    ];
    let told = lines.into_iter().filter(|(is_told, _)| *is_told);
    told.map(|(_, line)| line.to_owned()).collect()
}

/// What only some studies ask for.
fn of_some_cells(summary: &Summary) -> Vec<String> {
    let is_lab = summary.endpoints.is_empty();
    let mut cells = summary.cells.iter();
    let has_handshakes = is_lab && cells.any(|cell| !cell.handshakes_us.is_empty());
    let mut cells = summary.cells.iter();
    let is_watched = cells.any(|cell| !cell.after_load.is_empty());
    let mut cells = summary.cells.iter();
    let is_beyond = cells.any(|cell| cell.lag_ms.iter().any(|lag| lag.beyond > 0));
    let mut cells = summary.cells.iter();
    let waits_shared = cells.any(|cell| cell.commit_time_us.contains_key(SEMISYNC_WAIT));
    let mut cells = summary.cells.iter();
    let is_paced = cells.any(|cell| cell.pace_us.is_some());
    let lines = [
        (
            is_paced,
            "Paced: a connection begins its next transaction so long after the end of its last \
             one, in all modes alike. Latency is the transaction's own, what it waited for shared \
             CPUs included; throughput tells of the pace.",
        ),
        (
            is_beyond,
            "≥ before a lag: a replica did not show a heartbeat for as long as it was waited for.",
        ),
        (
            waits_shared,
            "semisync acknowledgement: the source's waits over all commits. Commits that go \
             through the binary log as a group wait once, so with many connections it is shorter \
             than a round trip.",
        ),
        (
            has_handshakes,
            "TCP handshake: round trip from the client to what it connects to, before and after \
             each window; median (least to most) of all rounds.",
        ),
        (
            is_watched,
            "After the load: from when replicas had caught up; in brackets the same in the \
             measured window, and before the load, as the mode was entered. Disk busy: share of \
             time in which the kernel had a request under way there, as iostat's %util.",
        ),
    ];
    let told = lines.into_iter().filter(|(is_told, _)| *is_told);
    told.map(|(_, line)| line.to_owned()).collect()
}

/// What only a record of somebody else's servers has.
fn of_endpoints(summary: &Summary) -> Vec<String> {
    if summary.endpoints.is_empty() {
        return vec![];
    }
    [
        "Endpoints: unknown stands for what cannot be seen from outside: their CPU, their disks, \
         what passes between them, what a peer has at the acknowledgement.",
        "TCP handshake: round trip from here to the server, before and after each window; median \
         (least to most) of all rounds. Lag is measured from here: it holds the round trip to the \
         replica.",
        "Counters are the whole server's: the work of others there is in them. – is a counter that \
         did not move when commits were made to move it.",
    ]
    .map(str::to_owned)
    .into()
}

/// A mode with fewer than so many round trips, or flushes, has next to none to tell of.
const FEW_TRIPS: f64 = 0.1;

/// Whether a slope is over what probes found.
fn is_partly_probed(anatomy: &Anatomy) -> bool {
    let is_probed = |slope: Option<Value>, from| {
        from == Source::Probe && slope.is_some_and(|slope| slope.value.abs() >= FEW_TRIPS)
    };
    is_probed(anatomy.round_trips, anatomy.rtt_from)
        || is_probed(anatomy.flushes, anatomy.flush_from)
}

/// What only a record with emulated disks has.
fn of_disks(summary: &Summary) -> Vec<String> {
    let has_disks = summary.cells.iter().any(|cell| cell.disks.is_some());
    let has_flushes = summary
        .anatomy
        .iter()
        .any(|anatomy| anatomy.flushes.is_some());
    let lines = [
        (
            has_disks,
            "Flush got: median of a direct write and its flush on the mounted volume of the \
             writer; floor: the same with no flush time added.",
        ),
        (
            has_disks,
            "On disk: what emulated disks were asked for, the file system's own writes and \
             flushes included; replica: mean of the replicas, or of the volume's copies; in \
             flush: time in which a flush was under way.",
        ),
        (
            has_flushes,
            "Flushes: slope of the median latency over the flush time got, all disks alike, at \
             one distance: flushes in series, the file system's own included. They belong to that \
             file system and layout of the log. Counted on disk: flushes of the writer's disk per \
             commit by its own count, without those that come by the clock.",
        ),
        (
            has_flushes,
            "Both raised: latency with distance and flush time raised, less the sum of what each \
             adds alone. adds: the interval lies within 5 % of the sum; a time: so much less or \
             more; ~: no difference shown.",
        ),
    ];
    let told = lines.into_iter().filter(|(is_told, _)| *is_told);
    told.map(|(_, line)| line.to_owned()).collect()
}

fn meaning(flag: Flag, tells_contention: bool) -> &'static str {
    match flag {
        Flag::HostBound if tells_contention => {
            "servers, links, disks or clients waited for the host's CPUs for more than 10 % of the \
             time that they ran or waited; the figure tells of the host."
        }
        Flag::HostBound => "the host's CPUs were saturated; the figure tells of the host.",
        Flag::NodeBound => "a node's own CPUs were full: a result, as on a machine of that size.",
        Flag::Drifted => {
            "round-trip times or flush times before and after, or asked and got, differ by more \
             than 10 % and 100 µs."
        }
        Flag::Downgraded => "semi-sync fell back to async for a while, without telling clients.",
        Flag::Degraded => {
            "a volume had too few of its copies for a while: it waited, or went on alone (degrade)."
        }
        Flag::Overloaded => {
            "more was offered than was answered; latency is that of a growing queue."
        }
        Flag::Errors => "some transactions failed; they are counted, never retried.",
        Flag::NoRows => "no transaction changed a row though the workload writes.",
        Flag::LateLinks => {
            "links delivered late; such measurements are void and left out. On an idle host, give \
             them a rate: without one a burst is due all at once."
        }
        Flag::LinksStarved => {
            "the emulated network had no real-time priority for over 5 % of the window: it queued \
             for a CPU beside the servers, so distances under load may be longer than asked."
        }
        Flag::LateDisks => {
            "emulated disks answered more than 5 % of what takes time there over 300 µs late."
        }
        Flag::Behind => {
            "the load, or the watch after it, began while replicas still applied what came before; \
             ten minutes were not enough."
        }
        Flag::NotIdle => {
            "paced, but the host was busy for 30 % or more of its CPU time, stolen time in it and \
             the switch's spin not: a commit did not meet idle machines."
        }
        Flag::NotApplied => {
            "paced, but fewer than 95 % of the heartbeats were applied on all replicas by the time \
             the connection's next commit was to begin."
        }
    }
}

/// How to measure the same once more.
pub fn again(command_line: &[String], seed: u64) -> String {
    let given = command_line.join(" ");
    let has_seed = command_line.iter().any(|word| word.starts_with("--seed"));
    match has_seed {
        true => format!("Again: {given}"),
        false => format!("Again: {given} --seed {seed}"),
    }
}
