//! What an article could not see: figures that its tool has no word for, as sentences.

use super::Material;
use super::pick::is_host_bound;
use crate::analysis::applied::BEHIND_SHARE;
use crate::analysis::summary::{Anatomy, CellSummary, LagSummary, Value};

/// A figure in words: three digits at most.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// `group 1.05, async 0.02`: of the cells that have the figure.
fn each(cells: &[&CellSummary], figure: impl Fn(&CellSummary) -> Option<f64>) -> Option<String> {
    let said = |cell: &&CellSummary| Some(format!("{} {}", cell.label, short(figure(cell)?)));
    let said: Vec<String> = cells.iter().filter_map(said).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// One sentence if any cell has the figure.
fn line(
    cells: &[&CellSummary],
    what: &str,
    figure: impl Fn(&CellSummary) -> Option<f64>,
) -> Option<String> {
    each(cells, figure).map(|said| format!("{what}: {said}."))
}

/// What cells that differ in nothing but the mode cost, as far as it was measured.
pub fn costs(cells: &[&CellSummary]) -> Vec<String> {
    // Of one that lags it is known only what the part took that it has applied.
    let keeps_up = |cell: &CellSummary| {
        let share = cell.applied_share.map(|share| share.median);
        share.is_none_or(|share| share >= 1.0 - BEHIND_SHARE)
    };
    let replicas = |cell: &CellSummary| {
        let used = cell.cpu_us_per_commit.replicas.iter().map(|r| r.cpu_us);
        Some(used.sum::<f64>()).filter(|sum| *sum > 0.0 && keeps_up(cell))
    };
    let catch_up = |cell: &CellSummary| {
        let of = |lag: &LagSummary| lag.catch_up.filter(|_| lag.not_caught_up == 0);
        // One that was given up is behind by nobody knows how much.
        let all: Option<Vec<f64>> = cell.lag_ms.iter().map(of).collect();
        all?.into_iter().reduce(f64::max).map(|ms| ms / 1e3)
    };
    let replicated = |cell: &CellSummary| cell.bytes_per_commit.replication;
    let lines = [
        line(cells, "CPU of the writer per commit, µs", |c| {
            c.cpu_us_per_commit.writer
        }),
        line(cells, "CPU of the front per commit, µs", |c| {
            c.cpu_us_per_commit.front
        }),
        line(
            cells,
            "CPU of all replicas together per commit, µs, where they keep up",
            replicas,
        ),
        line(cells, "bytes between the servers per commit", |cell| {
            replicated(cell).filter(|bytes| *bytes > 0.0)
        }),
        line(
            cells,
            "seconds until the last replica had caught up",
            catch_up,
        ),
        line(cells, "flushes of the writer's disk per commit", |c| {
            c.flushes_per_commit.writer
        }),
    ];
    lines.into_iter().flatten().collect()
}

/// The part of each run of a load that went into connecting, in per cent.
pub fn connecting(cells: &[&CellSummary]) -> Vec<String> {
    let load = cells.first().map_or("", |cell| &cell.workload);
    let what = format!("per cent of the time of {load} that went into connecting");
    let share = |cell: &CellSummary| cell.connect_share.map(|share| share * 100.0);
    line(cells, &what, share).into_iter().collect()
}

/// What the writer and a front before it compute for each transaction of a load.
pub fn cpu(cells: &[&CellSummary]) -> Vec<String> {
    let load = cells.first().map_or("", |cell| &cell.workload);
    let what = |whose: &str| format!("CPU of the {whose} per transaction of {load}, µs");
    let lines = [
        line(cells, &what("writer"), |c| c.cpu_us_per_commit.writer),
        line(cells, &what("front"), |c| c.cpu_us_per_commit.front),
    ];
    lines.into_iter().flatten().collect()
}

/// Round trips of each mode that has them.
pub fn round_trips(material: &Material) -> Vec<String> {
    let said = |anatomy: &Anatomy| {
        let Value { value, low, high } = anatomy.round_trips?;
        let (low, high) = (short(low?), short(high?));
        Some(format!(
            "{} {} ({low} to {high})",
            anatomy.label,
            short(value)
        ))
    };
    let said: Vec<String> = material.anatomy.iter().filter_map(said).collect();
    match said.is_empty() {
        true => vec![],
        false => vec![format!(
            "round trips between sites that a commit waits for, at one connection: {}.",
            said.join(", ")
        )],
    }
}

/// How busy the host was, in per cent, where one machine holds everything.
pub fn limits(cells: &[&CellSummary]) -> Vec<String> {
    let busy = |cell: &CellSummary| cell.host_busy.map(|share| share * 100.0);
    let reads = |cell: &CellSummary| cell.reads_per_commit.writer;
    let lines = [
        line(cells, "per cent of all CPUs that were busy", busy),
        line(cells, "reads of the writer's disk per commit", reads),
    ];
    lines.into_iter().flatten().collect()
}

/// In how many of these cells the host's CPUs were the limit.
pub fn host_bound(cells: &[CellSummary]) -> Vec<String> {
    let measured: Vec<&CellSummary> = cells.iter().filter(|cell| cell.rounds > 0).collect();
    let of = measured.len();
    match measured
        .into_iter()
        .filter(|cell| is_host_bound(cell))
        .count()
    {
        0 => vec![],
        bound => vec![format!(
            "in {bound} of {of} cells all nodes together had used up this host's CPUs in \
             some round: there the host is the limit, as one may have been in the article."
        )],
    }
}
