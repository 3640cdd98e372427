//! What cells, and pairs of them, are called beside a figure.

use crate::analysis::summary::CellSummary;
use crate::plan::Axis;
use crate::study::Apply;

/// Axes of a load that tell cells of one workload apart.
pub const TELLING: [Axis; 8] = [
    Axis::Connections,
    Axis::Distances,
    Axis::Disks,
    Axis::ClientSite,
    Axis::Window,
    Axis::Apply,
    Axis::CpuSpeed,
    Axis::Schemas,
];

/// `1 connection`, `2.15 ms`, `client at b`; nothing for axes that tables have no word for.
fn on_axis(cell: &CellSummary, axis: Axis) -> Option<String> {
    match axis {
        Axis::Connections if cell.connections == 1 => Some("1 connection".to_owned()),
        Axis::Connections => Some(format!("{} connections", cell.connections)),
        Axis::Distances => Some(cell.distances.clone()),
        Axis::Disks => cell.disks.clone(),
        Axis::ClientSite => Some(format!("client at {}", cell.client_site)),
        Axis::Window => Some(format!("{} s", cell.measure_s)),
        Axis::Apply => Some(match cell.point.apply {
            Apply::Meanwhile => "applied meanwhile".to_owned(),
            Apply::After => "applied after the load".to_owned(),
        }),
        Axis::CpuSpeed if cell.point.cpu_speed.is_full() => Some("CPUs at 100%".to_owned()),
        Axis::CpuSpeed => Some(cell.point.cpu_speed.words()),
        Axis::Schemas if cell.point.schemas <= 1 => Some("1 schema".to_owned()),
        Axis::Schemas => Some(format!("{} schemas", cell.point.schemas)),
        _ => None,
    }
}

/// `group`, or `group, 16 connections` where cells of other connections are `among` them.
pub fn cell(cell: &CellSummary, among: &[&CellSummary]) -> String {
    let mut words = vec![cell.label.clone()];
    words.extend(apart(cell, among, &[]));
    words.join(", ")
}

/// `group over async`; `group, 2.15 ms over 250 µs, 16 connections`
pub fn pair(of: &CellSummary, over: &CellSummary, among: &[&CellSummary]) -> String {
    let differ = of.point.differs_in(&over.point);
    let both = |axis: &Axis| {
        let (one, other) = (on_axis(of, *axis)?, on_axis(over, *axis)?);
        Some(format!("{one} over {other}"))
    };
    let mut words = match of.point.row == over.point.row {
        true => vec![of.label.clone()],
        false => vec![format!("{} over {}", of.label, over.label)],
    };
    words.extend(differ.iter().filter_map(both));
    words.extend(apart(of, among, &differ));
    words.join(", ")
}

/// A cell's words on axes in which it differs from others.
fn apart(cell: &CellSummary, among: &[&CellSummary], but: &[Axis]) -> Vec<String> {
    let differs = |axis: &Axis| {
        let own = cell.point.value(*axis);
        among.iter().any(|other| other.point.value(*axis) != own)
    };
    let axes = TELLING.iter().filter(|axis| !but.contains(axis));
    axes.filter(|axis| differs(axis))
        .filter_map(|axis| on_axis(cell, *axis))
        .collect()
}
