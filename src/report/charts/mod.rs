//! Charts of a record, as SVG: bars of modes, lines over connections and over distance, timelines.
//! Each stands on a white ground of its own, so that it is legible on any page.

mod bars;
mod canvas;
mod lines;
mod timeline;

use std::collections::BTreeMap;

use crate::analysis::Summary;
use crate::analysis::summary::{CellSummary, Per};
use crate::record::store::Record;
use crate::study::slug;

/// One chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// Unique within the record; what its file is called, without an ending.
    pub name: String,
    pub svg: String,
}

/// Everything of a record that can be drawn, in the order of its report.
pub fn charts(record: &Record, summary: &Summary) -> Vec<Chart> {
    let mut all = bars::charts(summary);
    all.extend(lines::over_connections(summary));
    all.extend(lines::over_distance(summary));
    all.extend(timeline::charts(record, summary));
    number_twins(&mut all);
    all
}

/// Points that differ in what no name holds get numbers.
fn number_twins(charts: &mut [Chart]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for chart in charts {
        let count = seen.entry(chart.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            chart.name = format!("{}-{count}", chart.name);
        }
    }
}

/// Cells in groups: those of a group agree in all that `key` gives.
fn grouped<K: PartialEq>(
    summary: &Summary,
    key: impl Fn(&CellSummary) -> K,
) -> Vec<Vec<&CellSummary>> {
    let mut groups: Vec<Vec<&CellSummary>> = Vec::new();
    for cell in summary.cells.iter().filter(|cell| cell.rounds > 0) {
        match groups.iter_mut().find(|group| key(group[0]) == key(cell)) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

/// Windows and watches as asked, for comparing: cells that differ in these are no twins.
fn spans(cell: &CellSummary) -> (u64, Option<u64>) {
    (
        cell.measure_s.to_bits(),
        cell.watch_after_s.map(f64::to_bits),
    )
}

/// `commits/s`
fn rate_unit(cell: &CellSummary) -> &'static str {
    match cell.per {
        Per::Commit => "commits/s",
        Per::Transaction => "transactions/s",
    }
}

/// `, client at b, disks: flush 1 ms, watched 60 s after`: where that says anything.
fn surroundings(summary: &Summary, cell: &CellSummary) -> String {
    let mut said = String::new();
    if summary.sites.first() != Some(&cell.client_site) {
        said += &format!(", client at {}", cell.client_site);
    }
    if let Some(disks) = &cell.disks {
        said += &format!(", disks: {disks}");
    }
    if cell.measure_s != summary.measure_s {
        said += &format!(", {} s", cell.measure_s);
    }
    if let Some(watch_s) = cell.watch_after_s {
        said += &format!(", watched {watch_s} s after");
    }
    said
}

/// A name for a file, of what tells its chart from all others.
fn file_name(kind: &str, parts: &[&str]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| slug(part)).collect();
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    std::iter::once(kind.to_owned())
        .chain(parts)
        .collect::<Vec<_>>()
        .join("-")
}

#[cfg(test)]
mod tests;
