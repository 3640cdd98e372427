//! One row per cell, every figure in its own column, units in the titles.

use crate::analysis::Summary;
use crate::analysis::interval::Estimate;
use crate::analysis::summary::{CellSummary, LagSummary, Per};

/// A column's title and what stands in it.
type Figure = (String, Box<dyn Fn(&CellSummary) -> String>);

/// One figure of a replica's lag.
type OfLag = fn(&LagSummary) -> Option<f64>;

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
        text("errors", |cell| joined(&cell.errors, ":")),
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
