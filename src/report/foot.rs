//! How a report ends: how to read it, what its doubts mean, and how to make it again.

use std::collections::BTreeSet;

use super::numbers::{percent, time};
use super::page::Block;
use crate::analysis::Summary;
use crate::analysis::interval::LOOKS;
use crate::analysis::summary::{Anatomy, Per, Source, Value};
use crate::record::{Flag, SEMISYNC_WAIT};
use crate::study::units::show_percent;

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
    lines.extend(until(summary));
    lines.extend(smallest_shown(summary));
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
    lines.extend(of_limits(summary));
    lines.extend(of_contention(summary));
    lines.extend(of_disks(summary));
    lines.extend(of_some_cells(summary));
    lines.extend(of_endpoints(summary));
    lines
}

/// How it was decided when to end.
fn until(summary: &Summary) -> Option<String> {
    let share = show_percent(summary.until?);
    let is_alike = summary.cells.iter().any(|cell| cell.is_alike);
    let alike = format!(" = means alike: all of that interval lies within {share} of 1.");
    let looks = LOOKS.map(|round| round.to_string()).join(", ");
    Some(format!(
        "Rounds: a row was measured until half the interval of its vs, or at a pace or an offered \
         rate of its median latency over the baseline's, was below {share}. It was looked at after \
         rounds {looks}; intervals are wider by what so many looks miss.{}",
        if is_alike { &alike } else { "" }
    ))
}

/// Between which sizes of a difference the rows can tell.
fn smallest_shown(summary: &Summary) -> Vec<String> {
    let plain = || summary.cells.iter().filter(|cell| cell.moved.is_none());
    let shares = plain().filter(|cell| !cell.is_ratio_shared);
    let shares = shares.filter_map(|cell| Some((cell.smallest_shown?, &cell.label[..])));
    let added = plain().filter_map(|cell| Some((cell.smallest_added_us?, &cell.label[..])));
    let share = |share: f64| match share > 1.0 {
        true => "none below 100 %".to_owned(),
        false => percent(share),
    };
    let both = [
        ("throughput", "by row", range(shares.collect(), share)),
        (
            "median commit",
            "by row at a pace or an offered rate",
            range(added.collect(), time),
        ),
    ];
    let said = |(what, rows, range): (&str, &str, Option<String>)| {
        Some(format!(
            "Smallest difference from the baseline's {what} that four of five such runs would \
             show, {rows}: {}.",
            range?
        ))
    };
    both.into_iter().filter_map(said).collect()
}

/// `3 % (async) to 12 % (group)`
fn range(mut told: Vec<(f64, &str)>, size: impl Fn(f64) -> String) -> Option<String> {
    told.sort_by(|one, other| one.0.total_cmp(&other.0));
    let said = |(least, label): &(f64, &str)| format!("{} ({label})", size(*least));
    let (least, most) = (told.first()?, told.last()?);
    Some(match told.len() {
        1 => said(least),
        _ => format!("{} to {}", said(least), said(most)),
    })
}

/// What only a record tells in which one thing after the other was moved.
fn of_limits(summary: &Summary) -> Option<String> {
    let line = "Moved: times a quarter longer, capacities and CPU a fifth less, each in cells of \
                their own in the same rounds. Elasticity: by what power throughput follows; 1: it \
                alone decides, 0: it does not matter. All times and capacities come to 1, or to \
                little more where several share the time. Below them is how the load is laid out, \
                which is in no sum.";
    (!summary.limits.is_empty()).then(|| line.to_owned())
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
    let mut cells = summary.cells.iter();
    let is_slowed = cells.any(|cell| !cell.cpu_speed.is_full());
    let lines = [
        (
            is_slowed,
            "CPUs at so many %: a process of acklab's own holds each for the rest of its time, so \
             that it is slower for everybody there; got: in the window. More than 2 % off what was \
             asked is drifted.",
        ),
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
        Flag::DriverBound => {
            "a load driver, which is one thread, used more than 80 % of a core: it, not the \
             servers, may be what was measured."
        }
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
        Flag::DriverMissing => {
            "a driver that was started elsewhere was lost, or late; such measurements are void and \
             left out."
        }
        Flag::Stolen => {
            "whatever this host is a guest of took more than 10 % of its CPU time in the window. \
             Such measurements are made again, at most twice; of these the last was no better."
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
        Flag::NotSettled => {
            "latency still rose or fell when the warm-up had lasted five seconds: the window is of \
             a queue that grows or a cache that fills, and a longer one would say something else."
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
