//! What points, and what is counted there, are called in tables and charts.

use super::numbers::{count, time};
use crate::analysis::Summary;
use crate::analysis::called::pressure;
use crate::analysis::summary::{CellSummary, FlagCount, Per, Point};
use crate::analysis::worth::Disaster;

/// `commit`
pub fn one(per: Per) -> &'static str {
    match per {
        Per::Commit => "commit",
        Per::Transaction => "transaction",
    }
}

/// `commits/s`
pub fn rate(per: Per) -> &'static str {
    match per {
        Per::Commit => "commits/s",
        Per::Transaction => "transactions/s",
    }
}

/// `update_index at 500/s`, `update_index paced 20 ms`, or with what tells its workload from
/// another one of that name.
pub fn workload(summary: &Summary, point: &Point) -> String {
    let name = point.workload.label();
    let is_twin = |cell: &CellSummary| {
        let other = &cell.point;
        let fast = |point: &Point| (point.rate_per_s, point.pace, point.knee);
        let is_as_fast = fast(other) == fast(point);
        is_as_fast && other.workload != point.workload && other.workload.label() == name
    };
    let name = match summary.cells.iter().any(is_twin) {
        true => point.workload.label_in_full(),
        false => name,
    };
    name + &pressure(point)
}

/// `1 connection`
pub fn connections(connections: u32) -> String {
    count(connections.into(), "connection")
}

/// `client beside the writer (250 µs)`
pub fn client(summary: &Summary, site: &str) -> String {
    if !summary.endpoints.is_empty() {
        return "client on this host".to_owned();
    }
    match summary.sites.first() {
        Some(writer) if writer == site => {
            let rtt = time(summary.rtt_us_within_site);
            format!("client beside the writer ({rtt})")
        }
        _ => format!("client at site {site}"),
    }
}

/// `, disks: flush 1 ms`, where disks are emulated.
pub fn disks(label: Option<&String>) -> String {
    label.map_or_else(String::new, |label| format!(", disks: {label}"))
}

/// `, client at b, disks: flush 1 ms, watched 60 s after, applied after`: where that says anything.
pub fn surroundings(summary: &Summary, cell: &CellSummary) -> String {
    let mut said = String::new();
    if summary.sites.first() != Some(&cell.client_site) {
        said += &format!(", client at {}", cell.client_site);
    }
    said += &disks(cell.disks.as_ref());
    if cell.measure_s != summary.measure_s {
        said += &format!(", {} s", cell.measure_s);
    }
    if let Some(watch_s) = cell.watch_after_s {
        said += &format!(", watched {watch_s} s after");
    }
    if cell.applied_after {
        said += ", applied after";
    }
    said
}

/// `host-bound 2/4`
pub fn flag(count: &FlagCount) -> String {
    format!("{} {}/{}", count.flag.name(), count.rounds, count.of)
}

/// What befell a mode: `the writer's machine dies`.
pub fn disaster(disaster: Disaster) -> &'static str {
    match disaster {
        Disaster::WriterDies => "the writer's machine dies",
        Disaster::SiteLost => "the writer's site is lost",
        Disaster::AllLosePower => "all lose their power",
    }
}
