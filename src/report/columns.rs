//! The figures of a cell, one row each: what CSV calls it, where tables have it and under which
//! title, and how it comes from the cell. The order is that of CSV.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use super::entry::{Absent, Entry, Mark, Quantity, Style};
use super::figure::{Figure, Figures, Part, Title, count, estimate, number, words};
use super::numbers::Unit::{self, Bytes, Dollars, Number, Ratio, Seconds, Share, Time, Trips};
use super::{contention, ground, label};
use crate::analysis::Summary;
use crate::analysis::applied::LagState;
use crate::analysis::summary::{
    AfterLoad, Anatomy, Axis, ByRole, CellSummary, CpuPerCommit, Doing, HandshakeSummary,
    LagSummary, Percentiles,
};
use crate::study::Mode;

const PEER: &str = "a peer has at ack";

/// One figure of a replica's lag.
type OfLag = fn(&LagSummary) -> Option<f64>;
/// One figure of the disks.
type OfDisks = fn(&CellSummary) -> ByRole;
/// Whether any round of it was measured, void ones included.
pub fn is_measured(cell: &CellSummary) -> bool {
    cell.rounds + cell.rounds_void > 0
}

/// All figures of this record's cells; those that its study has none of are without a name.
pub fn figures(summary: &Summary) -> Figures<'_> {
    let any = |has: fn(&CellSummary) -> bool| summary.cells.iter().any(has);
    let parts = [
        (true, names()),
        (true, rates()),
        (true, latencies()),
        (true, costs(summary)),
        (any(|cell| cell.offered_per_s.is_some()), offered()),
        (any(|cell| cell.applied_after), applied_alone()),
        (any(|cell| cell.moved.is_some()), ground::moved()),
        (any(|cell| cell.schemas > 1), ground::schemas()),
        (any(|cell| !cell.cpu_speed.is_full()), ground::speeds()),
        (any(|cell| cell.pace_us.is_some()), paced()),
        (any(|cell| cell.cpu_us_per_commit.front.is_some()), front()),
        (any(|cell| cell.contention.is_some()), contention::figures()),
        (any(|cell| cell.disks.is_some()), on_disks()),
        (any(|cell| !cell.after_load.is_empty()), after_load()),
        (any(|cell| !cell.handshakes_us.is_empty()), handshakes()),
        (!summary.endpoints.is_empty(), counters_per_commit()),
        (true, replicas(summary)),
        (true, doubts()),
    ];
    let named = |(has_name, mut figures): (bool, Vec<_>)| {
        let unnamed = figures.iter_mut().filter(|_| !has_name);
        unnamed.for_each(|figure: &mut Figure| figure.name.clear());
        figures
    };
    parts.into_iter().flat_map(named).collect()
}

fn names() -> Figures<'static> {
    let peer = Figure::new("peer_at_ack", peer_at_ack);
    vec![
        words("id", |cell| cell.id.clone()),
        words("label", |cell| cell.label.clone()),
        words("server", |cell| cell.server.clone()),
        words("mode", |cell| cell.mode.clone()),
        words("settings", |cell| joined(&cell.settings, "=")),
        words("baseline", |cell| cell.baseline.clone().unwrap_or_default()),
        peer.at(Part::Reached, 0, PEER).at(Part::Paced, 0, PEER),
        words("client_site", |cell| cell.client_site.clone()),
        words("workload", |cell| cell.workload.clone()),
        count("connections", |cell| cell.connections.into()),
        words("distances", |cell| cell.distances.clone()),
        number("measure_s", Seconds, |cell| Some(cell.measure_s)),
        number("rtt_us_asked", Time, |cell| cell.rtt_us_asked),
        number("rtt_us_got", Time, |cell| cell.rtt_us_got),
        count("rounds", |cell| cell.rounds.into()),
        count("rounds_void", |cell| cell.rounds_void.into()),
        words("per", |cell| label::one(cell.per)),
    ]
}

/// A single server has no peer.
fn peer_at_ack(cell: &CellSummary) -> Entry {
    let said = Entry::from(&cell.peer_at_ack[..]);
    said.marked(cell.point.mode == Mode::Single, Mark::NoSuchThing)
}

fn rates() -> Figures<'static> {
    let throughput = Figure::estimate("throughput_per_s", throughput);
    let ratio = Figure::estimate("ratio", versus);
    let cpu_ratio = Figure::new("", |cell| {
        Entry::number(cell.cpu_ratio.map(|r| r.median), Ratio)
    });
    let added = Figure::estimate("added_us", added);
    let usd = |cell: &CellSummary| cell.usd_per_million_queries;
    let shown = |cell: &CellSummary| {
        cell.difference_shown
            .map_or("", |shown| if shown { "true" } else { "false" })
    };
    let run = estimate("run_s", Seconds, |cell| cell.run_s);
    let connect = number("connect_share", Share, |cell| cell.connect_share);
    vec![
        throughput.titled(Part::Reached, 1, Title::Rate),
        estimate("applied_per_s", Number(2), |cell| cell.applied_per_s),
        estimate("unevenness", Share, |cell| cell.unevenness),
        estimate("usd_per_million_queries", Dollars, usd),
        number("unchanged_per_s", Number(2), |cell| cell.unchanged_per_s),
        ratio.titled(Part::Reached, 2, Title::Versus),
        cpu_ratio.at(Part::Reached, 3, "CPU\nsum"),
        added.titled(Part::Paced, 4, Title::Adds),
        words("difference_shown", shown),
        run.at(Part::Runs, 0, "to run all queries"),
        connect.at(Part::Runs, 1, "of which connecting"),
    ]
}

/// Its rate, or why it has none.
pub fn throughput(cell: &CellSummary) -> Entry {
    match cell.throughput_per_s {
        None if is_measured(cell) => Entry::Absent(Absent::Void),
        None => Entry::Absent(Absent::NotMeasured),
        estimate => Entry::range(estimate, Number(2)),
    }
}

/// Its rate over its baseline's, with what there is to doubt about it.
pub fn versus(cell: &CellSummary) -> Entry {
    let is_none_shown = cell.difference_shown == Some(false);
    match cell.baseline {
        None => Entry::Absent(Absent::Baseline),
        Some(_) => match cell.is_ratio_shared && cell.ratio.is_some() {
            true => Entry::range(cell.ratio, Ratio).marked(true, Mark::Shared),
            false if cell.is_alike => Entry::range(cell.ratio, Ratio).marked(true, Mark::Alike),
            false => Entry::range(cell.ratio, Ratio).marked(is_none_shown, Mark::NoDifference),
        },
    }
}

/// In time per commit; unknown if the interval is wider than the latency that it is a part of.
pub fn added(cell: &CellSummary) -> Entry {
    let Some(added) = cell.added_us else {
        return Entry::NOTHING;
    };
    let ends = added.low.zip(added.high);
    let is_wider = |us: f64| ends.is_some_and(|(low, high)| high - low > us);
    let is_unknown = cell.latency_us.p50.is_some_and(is_wider);
    let is_none_shown = added.excludes(0.0) == Some(false);
    let mark = match cell.is_alike {
        true => Mark::Alike,
        false => Mark::NoDifference,
    };
    Entry::plus_minus(Some(added.into()), Time)
        .marked(is_none_shown || cell.is_alike, mark)
        .marked(is_unknown, Mark::Unknown)
}

fn offered() -> Figures<'static> {
    let lag_state = |cell: &CellSummary| cell.lag_state.map(LagState::name).unwrap_or_default();
    vec![
        number("offered_per_s", Unit::Count, |cell| {
            cell.offered_per_s.map(f64::from)
        }),
        estimate("applied_share", Share, |cell| cell.applied_share),
        words("lag_state", lag_state),
    ]
}

/// Only where appliers rest under load.
fn applied_alone() -> Figures<'static> {
    let per_s = |cell: &CellSummary| cell.applied_alone_per_s;
    let cpu_us = |cell: &CellSummary| cell.applied_alone_cpu_us;
    vec![
        estimate("applied_alone_per_s", Number(2), per_s),
        number("applied_alone_cpu_us", Time, cpu_us),
    ]
}

fn paced() -> Figures<'static> {
    vec![number("pace_us", Time, |cell| cell.pace_us)]
}

fn latencies() -> Figures<'static> {
    let p50 = percentile("latency_us_p50", |all| (all.p50, all.at_least.p50));
    let p95 = percentile("latency_us_p95", |all| (all.p95, all.at_least.p95));
    let p99 = percentile("latency_us_p99", |all| (all.p99, all.at_least.p99));
    vec![
        p50.at(Part::Reached, 4, "p50").at(Part::Paced, 1, "p50"),
        p95.at(Part::Paced, 2, "p95"),
        p99.at(Part::Reached, 5, "p99").at(Part::Paced, 3, "p99"),
        number("latency_us_p99_low", Time, |cell| cell.p99_us?.low),
        number("latency_us_p99_high", Time, |cell| cell.p99_us?.high),
        number("latency_us_p999", Time, |cell| cell.latency_us.p999),
        number("latency_us_max", Time, |cell| cell.latency_us.max),
        count("latency_samples", |cell| cell.latency_us.samples),
        count("latency_unfinished", |cell| cell.latency_us.unfinished),
        words("latency_at_least", at_least),
    ]
}

/// Percentiles that are lower bounds, by name.
fn at_least(cell: &CellSummary) -> String {
    let all = cell.latency_us.at_least;
    let named = [("p50", all.p50), ("p95", all.p95), ("p99", all.p99)];
    let named = named.into_iter().filter(|(_, is_it)| *is_it);
    named.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

fn percentile(name: &str, pick: fn(&Percentiles) -> (Option<f64>, bool)) -> Figure<'static> {
    Figure::new(name, move |cell| {
        let (us, is_at_least) = pick(&cell.latency_us);
        Entry::number(us, Time).marked(is_at_least, Mark::AtLeast)
    })
}

fn costs(summary: &Summary) -> Figures<'_> {
    let writer = move |cell: &CellSummary| cpu(summary, cell.cpu_us_per_commit.writer);
    let writer = Figure::new("cpu_us_per_commit_writer", writer);
    let trips = Figure::new("", move |cell| round_trips(summary, cell));
    let replica = Figure::new("", move |cell| cpu_of_replicas(summary, cell));
    let bytes = |cell: &CellSummary| replicated(cell.bytes_per_commit.replication, Bytes);
    let bytes = Figure::new("bytes_per_commit_replication", bytes);
    let packets = |cell: &CellSummary| replicated(cell.packets_per_commit.replication, Number(2));
    let packets = Figure::new("packets_per_commit_replication", packets);
    let [of_bytes, of_packets]: [fn(&CellSummary) -> Option<f64>; 2] = [
        |cell| cell.bytes_per_commit.client,
        |cell| cell.packets_per_commit.client,
    ];
    vec![
        (trips.at(Part::Costs, 0, "round\ntrips")).at(Part::Paced, 5, "round\ntrips"),
        (writer.at(Part::Costs, 1, "CPU\nwriter")).at(Part::Paced, 7, "CPU\nwriter"),
        number("cpu_us_per_commit_servers", Time, cpu_of_servers).at(Part::Paced, 8, "CPU\nall"),
        replica.at(Part::Costs, 2, "CPU\nreplica"),
        cpu_of("client", |cpu| cpu.client).at(Part::Costs, 3, "CPU\nclient"),
        cpu_of("links", |cpu| cpu.links).at(Part::Costs, 5, "CPU\nlinks"),
        cpu_of("links_spin", |cpu| cpu.links_spin),
        number("bytes_per_commit_client", Bytes, of_bytes),
        (bytes.at(Part::Costs, 6, "bytes\nrepl.")).at(Part::Paced, 9, "bytes\nrepl."),
        number("packets_per_commit_client", Number(2), of_packets),
        packets.at(Part::Costs, 7, "packets\nrepl."),
        lag(|lag| lag.p50).at(Part::Costs, 8, "lag\np50"),
        lag(|lag| lag.max).at(Part::Costs, 9, "lag\nmax"),
        number("host_busy_share", Share, |cell| cell.host_busy),
        words("commit_time_us", |cell| joined(&cell.commit_time_us, "=")),
        words("server_counters", |cell| joined(&cell.server_counters, "=")),
    ]
}

fn cpu_of(who: &str, pick: fn(&CpuPerCommit) -> Option<f64>) -> Figure<'static> {
    let name = format!("cpu_us_per_commit_{who}");
    number(&name, Time, move |cell| pick(&cell.cpu_us_per_commit))
}

fn front() -> Figures<'static> {
    vec![cpu_of("front", |cpu| cpu.front).at(Part::Costs, 4, "CPU\nfront")]
}

/// Of the anatomy of the same mode and load, at whatever distance.
fn round_trips(summary: &Summary, cell: &CellSummary) -> Entry {
    let anatomy = anatomy_of(summary, cell).filter(|_| is_measured(cell));
    let trips = anatomy.and_then(|anatomy| anatomy.round_trips);
    let brief = |trips| Quantity {
        style: Style::Brief,
        ..Quantity::plus_minus(trips, Trips)
    };
    trips.map(brief).into()
}

/// The anatomy of the same mode and load, at whatever distance.
pub fn anatomy_of<'s>(summary: &'s Summary, cell: &CellSummary) -> Option<&'s Anatomy> {
    let axes = [Axis::Distances, Axis::Disks, Axis::Window, Axis::WatchAfter];
    let rest = cell.point.without(&axes);
    let mut anatomies = summary.anatomy.iter();
    anatomies.find(|anatomy| anatomy.point.without(&axes) == rest)
}

/// Of servers that somebody else runs, CPU is not known here: the table says so.
fn cpu(summary: &Summary, us: Option<f64>) -> Entry {
    match (us, summary.endpoints.is_empty()) {
        (None, false) => Entry::Absent(Absent::Unknown),
        (us, _) => Entry::number(us, Time),
    }
}

fn cpu_of_replicas(summary: &Summary, cell: &CellSummary) -> Entry {
    let endpoint = cell.point.endpoint.as_ref();
    if endpoint.is_some_and(|endpoint| endpoint.replicas.is_empty()) {
        return Entry::NOTHING;
    }
    let replicas = &cell.cpu_us_per_commit.replicas;
    let sum: f64 = replicas.iter().map(|replica| replica.cpu_us).sum();
    let mean = (!replicas.is_empty()).then(|| sum / replicas.len() as f64);
    cpu(summary, mean)
}

/// Of the writer and all replicas together.
fn cpu_of_servers(cell: &CellSummary) -> Option<f64> {
    let replicas = cell.cpu_us_per_commit.replicas.iter();
    let replicas_us: f64 = replicas.map(|replica| replica.cpu_us).sum();
    Some(cell.cpu_us_per_commit.writer? + replicas_us)
}

fn replicated(figure: Option<f64>, unit: Unit) -> Entry {
    Entry::number(figure, unit).marked(figure == Some(0.0), Mark::NoSuchThing)
}

/// Of the replica farthest behind; at least so much where a beat was waited for in vain.
fn lag(figure: OfLag) -> Figure<'static> {
    Figure::new("", move |cell| {
        let lags = cell.lag_ms.iter();
        let lags = lags.filter_map(|lag| Some((figure(lag)?, lag)));
        let worst = lags.max_by(|(one, _), (other, _)| one.total_cmp(other));
        let is_beyond = worst.is_some_and(|(ms, lag)| lag.beyond > 0 && Some(ms) == lag.max);
        let us = worst.map(|(ms, _)| ms * 1e3);
        Entry::number(us, Time).marked(is_beyond, Mark::AtLeast)
    })
}

/// Of the writer, where servers are watched after the load.
fn after_load() -> Figures<'static> {
    type OfSpan = fn(&AfterLoad) -> Doing;
    type OfDoing = fn(&Doing) -> Option<f64>;
    let spans: [(&str, OfSpan); 4] = [
        ("idle", |of| of.idle),
        ("window", |of| of.window),
        ("after", |of| of.after),
        ("end", |of| of.end),
    ];
    let doings: [(&str, Unit, OfDoing); 6] = [
        ("cpu_s_per_s", Share, |of| of.cpu_s_per_s),
        ("reads_per_s", Number(2), |of| of.reads_per_s),
        ("writes_per_s", Number(2), |of| of.writes_per_s),
        ("bytes_read_per_s", Bytes, |of| of.bytes_read_per_s),
        ("bytes_written_per_s", Bytes, |of| of.bytes_written_per_s),
        ("busy_share", Share, |of| of.busy_share),
    ];
    let watched = |cell: &CellSummary| Some(cell.after_load.first()?.watched_s);
    let mut figures = vec![number("after_load_watched_s", Seconds, watched)];
    for (span, of_span) in spans {
        figures.extend(doings.map(|(name, unit, pick)| {
            number(&format!("after_load_{name}_{span}"), unit, move |cell| {
                pick(&of_span(cell.after_load.first()?))
            })
        }));
    }
    figures
}

/// Of the writer, or of the front.
fn handshakes() -> Figures<'static> {
    let of_first = |name, pick: fn(&HandshakeSummary) -> f64| {
        number(name, Time, move |cell| cell.handshakes_us.first().map(pick))
    };
    vec![
        of_first("handshake_us_min_writer", |made| made.min),
        of_first("handshake_us_p50_writer", |made| made.p50),
        of_first("handshake_us_max_writer", |made| made.max),
    ]
}

/// Only of servers that somebody else runs.
fn counters_per_commit() -> Figures<'static> {
    vec![words("counters_per_commit", |cell| {
        let known = cell.counters_per_commit.iter();
        let known = known.filter_map(|(name, figure)| Some((name.clone(), (*figure)?)));
        joined(&known.collect(), "=")
    })]
}

/// Only where disks are emulated.
fn on_disks() -> Figures<'static> {
    let shared = |cell: &CellSummary| cell.commits_per_flush;
    let shared = number("commits_per_flush", Number(2), shared);
    let mut figures = vec![
        words("disks", |cell| cell.disks.clone().unwrap_or_default()),
        number("flush_us_asked", Time, |cell| cell.flush_us_asked),
        number("flush_us_got", Time, |cell| cell.flush_us_got),
        number("flush_us_floor", Time, |cell| cell.flush_us_floor),
        shared.at(Part::OnDisk, 2, "commits\nper flush"),
        number("disk_busy_share", Share, |cell| cell.disk_busy_share),
        number("degraded_s", Seconds, |cell| cell.degraded_s),
    ];
    let flushes = by_role("flushes", Number(2), |cell| cell.flushes_per_commit);
    let [of_writer, of_replica] = on_disk(flushes, 0, "flushes");
    let flushes = [of_writer.at(Part::Paced, 6, "flushes"), of_replica];
    let writes = by_role("writes", Number(2), |cell| cell.writes_per_commit);
    let bytes = by_role("bytes_written", Bytes, |cell| cell.bytes_written_per_commit);
    let times = by_role("flush_time_us", Time, |cell| cell.flush_time_us_per_commit);
    let pairs = [
        flushes,
        by_role("reads", Number(2), |cell| cell.reads_per_commit),
        on_disk(writes, 5, "writes"),
        by_role("bytes_read", Bytes, |cell| cell.bytes_read_per_commit),
        on_disk(bytes, 7, "bytes"),
        on_disk(times, 3, "in flush"),
        by_role("disk_cpu_us", Time, |cell| cell.disk_cpu_us_per_commit),
    ];
    figures.extend(pairs.into_iter().flatten());
    figures
}

/// Of the writer's disk, and of the replicas'.
fn by_role(name: &str, unit: Unit, pick: OfDisks) -> [Figure<'static>; 2] {
    let name = |role| format!("{name}_per_commit_{role}");
    [
        number(&name("writer"), unit, move |cell| pick(cell).writer),
        number(&name("replica"), unit, move |cell| pick(cell).replica),
    ]
}

fn on_disk(
    [writer, replica]: [Figure<'static>; 2],
    place: u32,
    what: &str,
) -> [Figure<'static>; 2] {
    [
        writer.at(Part::OnDisk, place, &format!("{what}\nwriter")),
        replica.at(Part::OnDisk, place + 1, &format!("{what}\nreplica")),
    ]
}

/// Figures of each node that is a replica anywhere.
fn replicas(summary: &Summary) -> Figures<'static> {
    let cpu = |cell: &CellSummary| cell.cpu_us_per_commit.replicas.clone();
    let cpu = summary
        .cells
        .iter()
        .flat_map(cpu)
        .map(|replica| replica.node);
    let lag = summary.cells.iter().flat_map(|cell| &cell.lag_ms);
    let nodes: BTreeSet<String> = cpu.chain(lag.map(|lag| lag.node.clone())).collect();
    nodes.into_iter().flat_map(|node| replica(&node)).collect()
}

fn replica(node: &str) -> Figures<'static> {
    let own = node.to_owned();
    let cpu = move |cell: &CellSummary| {
        let mut all = cell.cpu_us_per_commit.replicas.iter();
        Some(all.find(|replica| replica.node == own)?.cpu_us)
    };
    let mut figures = vec![number(
        &format!("cpu_us_per_commit_replica_{node}"),
        Time,
        cpu,
    )];
    let lags: [(&str, OfLag); 4] = [
        ("p50", |lag| lag.p50),
        ("p95", |lag| lag.p95),
        ("max", |lag| lag.max),
        ("catch_up", |lag| lag.catch_up),
    ];
    figures.extend(lags.map(|(name, pick)| {
        let own = node.to_owned();
        // In ms, as the title says.
        number(&format!("lag_ms_{node}_{name}"), Number(2), move |cell| {
            pick(cell.lag_ms.iter().find(|lag| lag.node == own)?)
        })
    }));
    figures
}

fn doubts() -> Figures<'static> {
    let flags = |cell: &CellSummary| {
        let flags: Vec<String> = cell.flags.iter().map(label::flag).collect();
        flags.join("; ")
    };
    vec![
        words("errors", |cell| {
            let each = cell.errors.iter();
            let each = each.map(|error| format!("{}:{}", error.number, error.count));
            each.collect::<Vec<_>>().join("; ")
        }),
        words("flags", flags),
    ]
}

fn joined<V: Display>(map: &BTreeMap<String, V>, between: &str) -> String {
    let pairs: Vec<String> = map
        .iter()
        .map(|(name, v)| format!("{name}{between}{v}"))
        .collect();
    pairs.join("; ")
}
