//! What emulated disks were asked for, and what that was for each commit.

use super::numbers::{bytes, digits, or_nothing, time};
use super::page::Table;
use crate::analysis::summary::{ByRole, CellSummary, Per};

/// What the disks did in cells of one group; `None` where none is emulated or measured.
pub fn table(cells: &[&CellSummary]) -> Option<Table> {
    let is_told = |cell: &&&CellSummary| cell.flushes_per_commit.writer.is_some();
    let told: Vec<&&CellSummary> = cells.iter().filter(is_told).collect();
    let title = match told.first()?.per {
        Per::Commit => "on disk, per commit",
        Per::Transaction => "on disk, per transaction",
    };
    let mut table = Table::new(&[
        (title, true),
        ("flushes\nwriter", false),
        ("flushes\nreplica", false),
        ("commits\nper flush", false),
        ("in flush\nwriter", false),
        ("in flush\nreplica", false),
        ("writes\nwriter", false),
        ("writes\nreplica", false),
        ("bytes\nwriter", false),
        ("bytes\nreplica", false),
    ]);
    table.rows = told.iter().map(|cell| row(cell)).collect();
    Some(table.without_empty_columns())
}

fn row(cell: &CellSummary) -> Vec<String> {
    let count = |n: f64| digits(n, 2);
    let mut row = vec![cell.label.clone()];
    row.extend(pair(cell.flushes_per_commit, count));
    row.push(or_nothing(cell.commits_per_flush, count));
    row.extend(pair(cell.flush_time_us_per_commit, time));
    row.extend(pair(cell.writes_per_commit, count));
    row.extend(pair(cell.bytes_written_per_commit, bytes));
    row
}

fn pair(of: ByRole, format: impl Fn(f64) -> String) -> [String; 2] {
    [of.writer, of.replica].map(|figure| or_nothing(figure, &format))
}
