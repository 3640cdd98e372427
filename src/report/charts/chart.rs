//! One chart, what it is called, and which cells are drawn together.

use crate::analysis::Summary;
use crate::analysis::summary::{Axis, CellSummary};
use crate::report::group::{grouped, load_but};
use crate::study::slug;

/// One chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    /// Unique within the record; what its file is called, without an ending.
    pub name: String,
    pub svg: String,
}

/// Measured cells in groups that differ in their mode and in these axes alone.
pub fn groups<'s>(summary: &'s Summary, within: &[Axis]) -> Vec<Vec<&'s CellSummary>> {
    let plain = summary.cells.iter().filter(|cell| cell.moved.is_none());
    let measured = plain.filter(|cell| cell.rounds > 0);
    grouped(measured, |cell| load_but(&cell.point, within))
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
