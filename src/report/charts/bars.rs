//! Modes side by side: a bar and its interval for each, one chart for each point of the axes.

use super::chart::{Chart, Subject, ends, file_name, groups, told};
use crate::analysis::Summary;
use crate::analysis::interval::Estimate;
use crate::analysis::summary::CellSummary;
use crate::report::entry::Entry;
use crate::report::label::{self, connections, surroundings, workload};
use crate::report::numbers::Unit;
use crate::report::page::Table;
use crate::report::picture::{Bar, Bars};

/// Of all points at which two modes or more were measured.
pub fn charts(summary: &Summary) -> Vec<Chart> {
    groups(summary, &[])
        .iter()
        .filter_map(|group| chart(summary, group))
        .collect()
}

/// mysqlslap's manner is compared by its seconds, all else by its rate.
fn chart(summary: &Summary, cells: &[&CellSummary]) -> Option<Chart> {
    let first = cells[0];
    let in_runs = cells.iter().any(|cell| cell.run_s.is_some());
    let figure = |cell: &CellSummary| match in_runs {
        true => cell.run_s,
        false => cell.throughput_per_s,
    };
    let unit = match in_runs {
        true => "seconds to run all queries",
        false => label::rate(first.per),
    };
    let measured = cells.iter();
    let measured = measured.filter_map(|cell| Some((&cell.label[..], figure(cell)?)));
    let measured: Vec<(&str, Estimate)> = measured.collect();
    let around = surroundings(summary, first);
    let load = workload(summary, &first.point);
    let title = format!(
        "{load}, {}, {}{around}",
        connections(first.connections),
        first.distances
    );
    let parts = [
        &load[..],
        &format!("{}c", first.connections),
        &first.distances,
        &around,
    ];
    (measured.len() > 1).then(|| Chart {
        name: file_name("bars", &parts),
        subject: Subject::Bars,
        picture: bars(unit, &measured).picture(&format!("{unit}: {title}")),
        table: table(unit, &measured),
        title: format!("{unit}: {title}"),
    })
}

/// A bar for each, from zero on.
fn bars(unit: &str, measured: &[(&str, Estimate)]) -> Bars {
    let bar = |(name, estimate): &(&str, Estimate)| Bar {
        name: (*name).to_owned(),
        parts: vec![estimate.median],
        ends: ends(*estimate),
        told: told(*estimate),
    };
    Bars {
        unit: unit.to_owned(),
        parts: vec![],
        bars: measured.iter().map(bar).collect(),
    }
}

fn table(unit: &str, measured: &[(&str, Estimate)]) -> Table {
    let mut table = Table::new(&[("mode", true), (unit, false)]);
    let row = |(name, estimate): &(&str, Estimate)| {
        let figure = Entry::range(Some(*estimate), Unit::Number(2));
        vec![Entry::from(*name), figure]
    };
    table.rows = measured.iter().map(row).collect();
    table
}
