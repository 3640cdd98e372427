//! What keeps a mode from committing more: the elasticity of its throughput over each thing that
//! was moved.

use super::chart::{Chart, Subject, ends, file_name, told};
use crate::analysis::Summary;
use crate::analysis::interval::Estimate;
use crate::analysis::summary::{CellSummary, Limits};
use crate::report::entry::Entry;
use crate::report::label::{connections, surroundings, workload};
use crate::report::limits::name;
use crate::report::numbers::Unit;
use crate::report::page::Table;
use crate::report::picture::{Bar, Bars};

const UNIT: &str = "elasticity: 1 where it alone decides, 0 where it does not matter";

/// One for each point from which something was moved.
pub fn charts(summary: &Summary) -> Vec<Chart> {
    let all = summary.limits.iter();
    all.filter_map(|limits| {
        let mut cells = summary.cells.iter();
        let base = cells.find(|cell| cell.id == limits.id)?;
        chart(summary, limits, base)
    })
    .collect()
}

fn chart(summary: &Summary, limits: &Limits, base: &CellSummary) -> Option<Chart> {
    let rows = limits.moved.iter();
    let rows = rows.filter_map(|row| Some((name(row.thing), row.elasticity?)));
    let mut rows: Vec<(String, Estimate)> = rows.collect();
    rows.sort_by(|(_, one), (_, other)| other.median.total_cmp(&one.median));
    let load = workload(summary, &base.point);
    let around = surroundings(summary, base);
    let title = format!(
        "What holds {} back: {load}, {}, {}{around}",
        limits.label,
        connections(limits.connections),
        limits.distances
    );
    let parts = [
        &limits.label[..],
        &load,
        &format!("{}c", limits.connections),
        &limits.distances,
        &around,
    ];
    (!rows.is_empty()).then(|| Chart {
        name: file_name("limits", &parts),
        subject: Subject::Limits,
        picture: bars(&rows).picture(&title),
        table: table(&rows),
        title,
    })
}

fn bars(rows: &[(String, Estimate)]) -> Bars {
    let bar = |(name, of): &(String, Estimate)| Bar {
        name: name.clone(),
        parts: vec![of.median],
        ends: ends(*of),
        told: told(*of),
    };
    Bars {
        unit: UNIT.to_owned(),
        parts: vec![],
        bars: rows.iter().map(bar).collect(),
    }
}

fn table(rows: &[(String, Estimate)]) -> Table {
    let mut table = Table::new(&[
        ("moved", true),
        ("elasticity", false),
        ("at least", false),
        ("at most", false),
    ]);
    let trips = |figure: Option<f64>| Entry::number(figure, Unit::Trips);
    let row = |(name, of): &(String, Estimate)| {
        let median = trips(Some(of.median));
        vec![name[..].into(), median, trips(of.low), trips(of.high)]
    };
    table.rows = rows.iter().map(row).collect();
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, limited};
    use crate::analysis::summarise;

    #[test]
    fn the_largest_stands_first() {
        let summary = summarise(&limited());
        let charts = charts(&summary);
        let is_of_group = |chart: &&Chart| chart.title.contains("mysql group");
        let chart = charts.iter().find(is_of_group).expect("a chart");
        let rows = &chart.table.rows;
        let figure = |row: usize| rows[row][1].to_string().parse::<f64>().unwrap();
        assert!((1..rows.len()).all(|row| figure(row - 1) >= figure(row)));
        assert_eq!(super::charts(&summarise(&Example::default().record())), []);
    }
}
