//! One chart, what it is called, and which cells are drawn together.

use crate::analysis::Summary;
use crate::analysis::interval::Estimate;
use crate::analysis::summary::{Axis, CellSummary};
use crate::record::Measurement;
use crate::record::store::Record;
use crate::report::group::{grouped, load_but};
use crate::report::label::{connections, surroundings, workload};
use crate::report::numbers::digits;
use crate::report::page::Table;
use crate::report::picture::Picture;
use crate::study::slug;

/// One chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Unique within the record; what its file is called, without an ending.
    pub name: String,
    pub subject: Subject,
    /// What it shows, in a line.
    pub title: String,
    pub picture: Picture,
    /// The figures that are drawn.
    pub table: Table,
}

/// What charts are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Rates of modes side by side.
    Bars,
    /// Rates and latencies along connections, distance and flush time.
    Lines,
    /// What a commit consists of.
    Anatomy,
    /// What keeps modes from committing more.
    Limits,
    /// Who waited for a CPU.
    Contention,
    /// How latency is spread.
    Percentiles,
    /// How far replicas are behind, and what flow control holds back for them.
    Behind,
    /// Seconds of long cells.
    Seconds,
    /// A trial of a fault: of the campaign at that place in the summary.
    Trial(usize),
    /// What is lost against what a commit takes.
    Worth,
}

impl Chart {
    /// As a file of its own.
    pub fn svg(&self) -> String {
        self.picture.file()
    }
}

/// Measured cells in groups that differ in their mode and in these axes alone.
pub fn groups<'s>(summary: &'s Summary, within: &[Axis]) -> Vec<Vec<&'s CellSummary>> {
    let plain = summary.cells.iter().filter(|cell| cell.moved.is_none());
    let measured = plain.filter(|cell| cell.rounds > 0);
    grouped(measured, |cell| load_but(&cell.point, within))
}

/// The measurements of a cell that are not void.
pub fn measured<'r>(record: &'r Record, cell: &CellSummary) -> Vec<&'r Measurement> {
    let mut cells = record.header.cells.iter();
    let index = cells.position(|known| known.id == cell.id);
    let is_its = |m: &&Measurement| Some(m.cell) == index && !m.is_void();
    record.measurements.iter().filter(is_its).collect()
}

/// What tells a point's chart from all others, for its title and for a file's name.
pub fn named(summary: &Summary, cell: &CellSummary) -> (String, Vec<String>) {
    let load = workload(summary, &cell.point);
    let around = surroundings(summary, cell);
    let title = format!(
        "{load}, {}, {}{around}",
        connections(cell.connections),
        cell.distances
    );
    let count = format!("{}c", cell.connections);
    (title, vec![load, count, cell.distances.clone(), around])
}

/// A name for a file, of what tells its chart from all others.
pub fn file_name(kind: &str, parts: &[&str]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| slug(part)).collect();
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    std::iter::once(kind.to_owned())
        .chain(parts)
        .collect::<Vec<_>>()
        .join("-")
}

/// Both ends of an interval, where it has any.
pub fn ends(estimate: Estimate) -> Option<(f64, f64)> {
    estimate.low.zip(estimate.high)
}

/// `752 (742 to 761)`
pub fn told(estimate: Estimate) -> String {
    let short = |value: f64| match value.abs() < 1.0 {
        true => format!("{value:.3}"),
        false => digits(value, 2),
    };
    match ends(estimate) {
        Some((low, high)) => {
            let [median, low, high] = [estimate.median, low, high].map(short);
            format!("{median} ({low} to {high})")
        }
        None => format!("{} (no interval)", short(estimate.median)),
    }
}
