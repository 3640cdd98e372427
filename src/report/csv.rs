//! One row per cell, every figure in its own column, units in the titles.

use crate::analysis::Summary;
use crate::analysis::applied::LagState;
use crate::analysis::interval::Estimate;
use crate::analysis::summary::{
    AfterLoad, ByRole, CellSummary, Doing, HandshakeSummary, LagSummary, Per,
};

/// A column's title and what stands in it.
type Figure = (String, Box<dyn Fn(&CellSummary) -> String>);

/// One figure of a replica's lag.
type OfLag = fn(&LagSummary) -> Option<f64>;

/// One figure of the disks.
type OfDisks = fn(&CellSummary) -> ByRole;

/// RFC 4180, with a row of titles.
pub fn render(summary: &Summary) -> String {
    let columns = columns(summary);
    let mut text = row(columns.iter().map(|(title, _)| title.clone()));
    for cell in &summary.cells {
        text += &row(columns.iter().map(|(_, figure)| figure(cell)));
    }
    text
}

fn row(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
    fields.join(",") + "\r\n"
}

fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

fn columns(summary: &Summary) -> Vec<Figure> {
    let mut columns = names();
    columns.extend(rates());
    columns.extend(latencies());
    columns.extend(costs());
    if summary
        .cells
        .iter()
        .any(|cell| cell.offered_per_s.is_some())
    {
        columns.extend(offered());
    }
    let front = |cell: &CellSummary| cell.cpu_us_per_commit.front;
    if summary.cells.iter().any(|cell| front(cell).is_some()) {
        columns.push(number("cpu_us_per_commit_front", front));
    }
    if summary.cells.iter().any(|cell| cell.disks.is_some()) {
        columns.extend(on_disks());
    }
    if summary.cells.iter().any(|cell| !cell.after_load.is_empty()) {
        columns.extend(after_load());
    }
    if summary
        .cells
        .iter()
        .any(|cell| !cell.handshakes_us.is_empty())
    {
        columns.extend(handshakes());
    }
    if !summary.endpoints.is_empty() {
        columns.push(counters_per_commit());
    }
    columns.extend(replicas(summary));
    columns.extend(doubts());
    columns
}

fn text(title: &str, pick: impl Fn(&CellSummary) -> String + 'static) -> Figure {
    (title.to_owned(), Box::new(pick))
}

fn number(title: &str, pick: impl Fn(&CellSummary) -> Option<f64> + 'static) -> Figure {
    text(title, move |cell| {
        pick(cell)
            .map(|figure| figure.to_string())
            .unwrap_or_default()
    })
}

fn estimate(
    title: &str,
    pick: impl Fn(&CellSummary) -> Option<Estimate> + Copy + 'static,
) -> [Figure; 3] {
    [
        number(&format!("{title}_median"), move |cell| {
            Some(pick(cell)?.median)
        }),
        number(&format!("{title}_low"), move |cell| pick(cell)?.low),
        number(&format!("{title}_high"), move |cell| pick(cell)?.high),
    ]
}

fn names() -> Vec<Figure> {
    vec![
        text("id", |cell| cell.id.clone()),
        text("label", |cell| cell.label.clone()),
        text("server", |cell| cell.server.clone()),
        text("mode", |cell| cell.mode.clone()),
        text("settings", |cell| joined(&cell.settings, "=")),
        text("baseline", |cell| cell.baseline.clone().unwrap_or_default()),
        text("peer_at_ack", |cell| cell.peer_at_ack.clone()),
        text("client_site", |cell| cell.client_site.clone()),
        text("workload", |cell| cell.workload.clone()),
        text("connections", |cell| cell.connections.to_string()),
        text("distances", |cell| cell.distances.clone()),
        number("measure_s", |cell| Some(cell.measure_s)),
        number("rtt_us_asked", |cell| cell.rtt_us_asked),
        number("rtt_us_got", |cell| cell.rtt_us_got),
        text("rounds", |cell| cell.rounds.to_string()),
        text("rounds_void", |cell| cell.rounds_void.to_string()),
        text("per", |cell| match cell.per {
            Per::Commit => "commit".to_owned(),
            Per::Transaction => "transaction".to_owned(),
        }),
    ]
}

fn rates() -> Vec<Figure> {
    let mut columns = Vec::from(estimate("throughput_per_s", |cell| cell.throughput_per_s));
    columns.extend(estimate("applied_per_s", |cell| cell.applied_per_s));
    columns.extend(estimate("unevenness", |cell| cell.unevenness));
    columns.extend(estimate("usd_per_million_queries", |cell| {
        cell.usd_per_million_queries
    }));
    columns.push(number("unchanged_per_s", |cell| cell.unchanged_per_s));
    columns.extend(estimate("ratio", |cell| cell.ratio));
    columns.push(text("difference_shown", |cell| {
        cell.difference_shown
            .map(|shown| shown.to_string())
            .unwrap_or_default()
    }));
    columns.extend(estimate("run_s", |cell| cell.run_s));
    columns.push(number("connect_share", |cell| cell.connect_share));
    columns
}

fn offered() -> Vec<Figure> {
    let lag_state = |cell: &CellSummary| cell.lag_state.map(LagState::name).unwrap_or_default();
    let offered = number("offered_per_s", |cell| cell.offered_per_s.map(f64::from));
    let share = estimate("applied_share", |cell| cell.applied_share);
    let lag = text("lag_state", move |cell| lag_state(cell).to_owned());
    std::iter::once(offered).chain(share).chain([lag]).collect()
}

fn latencies() -> Vec<Figure> {
    vec![
        number("latency_us_p50", |cell| cell.latency_us.p50),
        number("latency_us_p95", |cell| cell.latency_us.p95),
        number("latency_us_p99", |cell| cell.latency_us.p99),
        number("latency_us_p999", |cell| cell.latency_us.p999),
        number("latency_us_max", |cell| cell.latency_us.max),
        text("latency_samples", |cell| {
            cell.latency_us.samples.to_string()
        }),
    ]
}

fn costs() -> Vec<Figure> {
    vec![
        number("cpu_us_per_commit_writer", |cell| {
            cell.cpu_us_per_commit.writer
        }),
        number("cpu_us_per_commit_client", |cell| {
            cell.cpu_us_per_commit.client
        }),
        number("cpu_us_per_commit_links", |cell| {
            cell.cpu_us_per_commit.links
        }),
        number("cpu_us_per_commit_links_spin", |cell| {
            cell.cpu_us_per_commit.links_spin
        }),
        number("bytes_per_commit_client", |cell| {
            cell.bytes_per_commit.client
        }),
        number("bytes_per_commit_replication", |cell| {
            cell.bytes_per_commit.replication
        }),
        number("packets_per_commit_client", |cell| {
            cell.packets_per_commit.client
        }),
        number("packets_per_commit_replication", |cell| {
            cell.packets_per_commit.replication
        }),
        number("host_busy_share", |cell| cell.host_busy),
        text("commit_time_us", |cell| joined(&cell.commit_time_us, "=")),
        text("server_counters", |cell| joined(&cell.server_counters, "=")),
    ]
}

/// Of the writer, where servers are watched after the load.
fn after_load() -> Vec<Figure> {
    type OfSpan = fn(&AfterLoad) -> Doing;
    type OfDoing = fn(&Doing) -> Option<f64>;
    let spans: [(&str, OfSpan); 4] = [
        ("idle", |of| of.idle),
        ("window", |of| of.window),
        ("after", |of| of.after),
        ("end", |of| of.end),
    ];
    let figures: [(&str, OfDoing); 6] = [
        ("cpu_s_per_s", |of| of.cpu_s_per_s),
        ("reads_per_s", |of| of.reads_per_s),
        ("writes_per_s", |of| of.writes_per_s),
        ("bytes_read_per_s", |of| of.bytes_read_per_s),
        ("bytes_written_per_s", |of| of.bytes_written_per_s),
        ("busy_share", |of| of.busy_share),
    ];
    let mut columns = vec![number("after_load_watched_s", |cell| {
        Some(cell.after_load.first()?.watched_s)
    })];
    for (span, of_span) in spans {
        columns.extend(figures.map(|(name, pick)| {
            number(&format!("after_load_{name}_{span}"), move |cell| {
                pick(&of_span(cell.after_load.first()?))
            })
        }));
    }
    columns
}

/// Of the writer, or of the front.
fn handshakes() -> Vec<Figure> {
    type OfHandshake = fn(&HandshakeSummary) -> f64;
    let figures: [(&str, OfHandshake); 3] = [
        ("min", |made| made.min),
        ("p50", |made| made.p50),
        ("max", |made| made.max),
    ];
    let writer = |(name, pick): (&str, OfHandshake)| {
        number(&format!("handshake_us_{name}_writer"), move |cell| {
            cell.handshakes_us.first().map(pick)
        })
    };
    figures.map(writer).into()
}

/// Only of servers that somebody else runs.
fn counters_per_commit() -> Figure {
    text("counters_per_commit", |cell| {
        let known = cell.counters_per_commit.iter();
        let known = known.filter_map(|(name, figure)| Some((name.clone(), (*figure)?)));
        joined(&known.collect(), "=")
    })
}

/// Only where disks are emulated.
fn on_disks() -> Vec<Figure> {
    let mut columns = vec![
        text("disks", |cell| cell.disks.clone().unwrap_or_default()),
        number("flush_us_asked", |cell| cell.flush_us_asked),
        number("flush_us_got", |cell| cell.flush_us_got),
        number("flush_us_floor", |cell| cell.flush_us_floor),
        number("commits_per_flush", |cell| cell.commits_per_flush),
        number("disk_busy_share", |cell| cell.disk_busy_share),
        number("degraded_s", |cell| cell.degraded_s),
    ];
    let by_role: [(&str, OfDisks); 7] = [
        ("flushes", |cell| cell.flushes_per_commit),
        ("reads", |cell| cell.reads_per_commit),
        ("writes", |cell| cell.writes_per_commit),
        ("bytes_read", |cell| cell.bytes_read_per_commit),
        ("bytes_written", |cell| cell.bytes_written_per_commit),
        ("flush_time_us", |cell| cell.flush_time_us_per_commit),
        ("disk_cpu_us", |cell| cell.disk_cpu_us_per_commit),
    ];
    for (name, pick) in by_role {
        let title = |role: &str| format!("{name}_per_commit_{role}");
        columns.push(number(&title("writer"), move |cell| pick(cell).writer));
        columns.push(number(&title("replica"), move |cell| pick(cell).replica));
    }
    columns
}

/// Columns for each node that is a replica anywhere.
fn replicas(summary: &Summary) -> Vec<Figure> {
    let cpu = summary
        .cells
        .iter()
        .flat_map(|cell| &cell.cpu_us_per_commit.replicas);
    let lag = summary.cells.iter().flat_map(|cell| &cell.lag_ms);
    let nodes = cpu
        .map(|replica| &replica.node)
        .chain(lag.map(|lag| &lag.node));
    let nodes: std::collections::BTreeSet<String> = nodes.cloned().collect();
    nodes.into_iter().flat_map(|node| replica(&node)).collect()
}

fn replica(node: &str) -> Vec<Figure> {
    let mut columns = vec![{
        let node = node.to_owned();
        number(&format!("cpu_us_per_commit_replica_{node}"), move |cell| {
            let mut all = cell.cpu_us_per_commit.replicas.iter();
            all.find(|replica| replica.node == node)
                .map(|replica| replica.cpu_us)
        })
    }];
    let figures: [(&str, OfLag); 4] = [
        ("p50", |lag| lag.p50),
        ("p95", |lag| lag.p95),
        ("max", |lag| lag.max),
        ("catch_up", |lag| lag.catch_up),
    ];
    columns.extend(figures.map(|(name, pick)| {
        let node = node.to_owned();
        number(&format!("lag_ms_{node}_{name}"), move |cell| {
            pick(cell.lag_ms.iter().find(|lag| lag.node == node)?)
        })
    }));
    columns
}

fn doubts() -> Vec<Figure> {
    vec![
        text("errors", |cell| {
            let each = cell.errors.iter();
            let each = each.map(|error| format!("{}:{}", error.number, error.count));
            each.collect::<Vec<_>>().join("; ")
        }),
        text("flags", |cell| {
            let flag = |f: &crate::analysis::summary::FlagCount| {
                format!("{} {}/{}", f.flag.name(), f.rounds, f.of)
            };
            let flags: Vec<String> = cell.flags.iter().map(flag).collect();
            flags.join("; ")
        }),
    ]
}

fn joined<V: std::fmt::Display>(
    map: &std::collections::BTreeMap<String, V>,
    between: &str,
) -> String {
    let pairs: Vec<String> = map
        .iter()
        .map(|(name, v)| format!("{name}{between}{v}"))
        .collect();
    pairs.join("; ")
}
