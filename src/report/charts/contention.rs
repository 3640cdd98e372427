//! Who waited for a CPU: the share of those who share CPUs, a bar for each mode.

use super::chart::{Chart, Subject, file_name, groups};
use crate::analysis::Summary;
use crate::analysis::summary::{CellSummary, Contention};
use crate::report::entry::Entry;
use crate::report::label::{connections, surroundings, workload};
use crate::report::numbers::{Unit, percent};
use crate::report::page::Table;
use crate::report::picture::{Bar, Bars};

const UNIT: &str = "% of the time that they ran or waited, of all who share CPUs";

/// One for each point at which somebody looked.
pub fn charts(summary: &Summary) -> Vec<Chart> {
    groups(summary, &[])
        .iter()
        .filter_map(|cells| chart(summary, cells))
        .collect()
}

fn chart(summary: &Summary, cells: &[&CellSummary]) -> Option<Chart> {
    let first = cells[0];
    let told = cells.iter();
    let told = told.filter_map(|cell| Some((&cell.label[..], cell.contention?)));
    let told: Vec<(&str, Contention)> = told.collect();
    let load = workload(summary, &first.point);
    let around = surroundings(summary, first);
    let title = format!(
        "CPU waited for: {load}, {}, {}{around}",
        connections(first.connections),
        first.distances
    );
    let parts = [
        &load[..],
        &format!("{}c", first.connections),
        &first.distances,
        &around,
    ];
    (!told.is_empty()).then(|| Chart {
        name: file_name("contention", &parts),
        subject: Subject::Contention,
        picture: bars(&told).picture(&title),
        table: table(&told),
        title,
    })
}

fn bars(told: &[(&str, Contention)]) -> Bars {
    let bar = |(name, of): &(&str, Contention)| Bar {
        name: (*name).to_owned(),
        parts: vec![of.all * 100.0],
        ends: None,
        told: percent(of.all),
    };
    Bars {
        unit: UNIT.to_owned(),
        parts: vec![],
        bars: told.iter().map(bar).collect(),
    }
}

fn table(told: &[(&str, Contention)]) -> Table {
    let mut table = Table::new(&[
        ("mode", true),
        ("all", false),
        ("writer", false),
        ("replicas", false),
        ("client", false),
        ("front", false),
        ("links", false),
        ("disks", false),
        ("emulators' part of all CPU time", false),
    ]);
    let row = |(name, of): &(&str, Contention)| {
        let shares = [
            Some(of.all),
            of.writer,
            of.replicas,
            of.client,
            of.front,
            of.links,
            of.disks,
            Some(of.emulators_cpu_share),
        ];
        let mut row = vec![Entry::from(*name)];
        row.extend(shares.map(|share| Entry::number(share, Unit::Share)));
        row
    };
    table.rows = told.iter().map(row).collect();
    table.without_empty_columns()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::Example;
    use crate::analysis::summarise;

    #[test]
    fn a_bar_is_as_long_as_its_share_and_without_any_there_is_no_chart() {
        let mut summary = summarise(&Example::default().record());
        assert_eq!(charts(&summary), []);
        for cell in &mut summary.cells {
            cell.contention = Some(Contention {
                all: 0.25,
                writer: Some(0.4),
                ..Contention::default()
            });
        }
        let charts = charts(&summary);
        assert_eq!(charts.len(), 3);
        assert!(charts[0].svg().contains(">25.0 %<"), "{}", charts[0].svg());
        let columns: Vec<&str> = charts[0]
            .table
            .columns
            .iter()
            .map(|it| &it.title[..])
            .collect();
        assert_eq!(columns[..3], ["mode", "all", "writer"]);
        assert!(!columns.contains(&"front"), "{columns:?}");
    }
}
