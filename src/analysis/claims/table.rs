//! An article's table in its own form: what was published, and what was measured here.

use super::figure::{ladder, value};
use super::select::{Points, axes};
use super::tell;
use crate::analysis::applied::{LagState, given_up};
use crate::analysis::ladder::Reach;
use crate::analysis::summary::claims::{Grid, GridRow};
use crate::analysis::summary::{CellSummary, Value};
use crate::plan::Axis;
use crate::study::articles::{self, Row, Table};

/// The table, if there is anything measured in it.
pub fn grid(points: Points, table: &Table) -> Option<Grid> {
    let rows: Vec<GridRow> = match &table.each {
        Some(names) => each(points, table, names),
        None => table
            .row
            .iter()
            .flat_map(|row| fixed(points, table, row))
            .collect(),
    };
    let is_measured = rows.iter().any(|row| row.published.is_none());
    is_measured.then(|| Grid {
        title: table.title.clone(),
        unit: table.unit.clone(),
        columns: table
            .column
            .iter()
            .map(|column| column.name.clone())
            .collect(),
        rows,
    })
}

/// A row as measured, and as published below it; without one that has no figures.
fn fixed(points: Points, table: &Table, row: &Row) -> Vec<GridRow> {
    let cells = table.column.iter().map(|column| {
        let names = format!("{} {}", row.of, column.of);
        points.measured(&names).first().copied()
    });
    let cells: Vec<Option<&CellSummary>> = cells.collect();
    let both = cells.iter().zip(&table.column);
    let here = both.map(|(cell, column)| value((*cell)?, &column.figure, points.cells));
    let apart = on_other_disks(&cells, table);
    let first = row.at.first().and_then(|at| at.split('.').next());
    let name = row.published.as_deref().or(first).unwrap_or_default();
    let rows = [
        GridRow {
            name: row.name.clone(),
            published: None,
            figures: here.collect(),
            note: apart.or(row.note.clone()),
        },
        GridRow {
            name: row.name.clone(),
            published: Some(name.to_owned()),
            figures: published(points.article, table, row),
            note: None,
        },
    ];
    let has_figures = |row: &GridRow| row.figures.iter().any(Option::is_some);
    rows.into_iter().filter(has_figures).collect()
}

/// `reads on 3000 IOPS, updates on 10000 IOPS`: where the disks of a row's columns differ.
fn on_other_disks(cells: &[Option<&CellSummary>], table: &Table) -> Option<String> {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (cell, column) in cells.iter().zip(&table.column) {
        let disks = cell.and_then(|cell| cell.disks.as_deref());
        if let Some(disks) = disks.filter(|disks| !seen.iter().any(|(_, other)| other == disks)) {
            seen.push((&column.name, disks));
        }
    }
    let said = seen
        .iter()
        .map(|(name, disks)| format!("{name} on {disks}"));
    let said: Vec<String> = said.collect();
    (said.len() > 1).then(|| said.join(", "))
}

/// Single figures as they are, two as the ends of a range, which has no middle of its own.
fn published(article: &articles::Article, table: &Table, row: &Row) -> Vec<Option<Value>> {
    let of = |place: &String| article.numbers(place);
    if let ([all], columns) = (&row.at[..], table.column.len()) {
        let ends: Vec<Vec<f64>> = row.ends.iter().map(of).collect();
        let end = |at: usize, place: usize| ends.get(at).and_then(|end| end.get(place)).copied();
        let all = of(all).into_iter().enumerate().take(columns);
        let with = |(place, value)| Value {
            value,
            low: end(0, place),
            high: end(1, place),
        };
        return all.map(with).map(Some).collect();
    }
    let one = |place: &String| {
        let found = of(place);
        let (low, high) = (found.first()?, found.last()?);
        let is_range = found.len() > 1;
        Some(Value {
            value: *low,
            low: is_range.then_some(*low),
            high: is_range.then_some(*high),
        })
    };
    row.at.iter().map(one).collect()
}

/// A row for each point, and below it what was published of it; only of those rows of the table of
/// modes that have points beside, if that is asked.
fn each(points: Points, table: &Table, names: &str) -> Vec<GridRow> {
    let told_by = match &table.told_by[..] {
        [] => vec![],
        names => axes(names),
    };
    let mut rows = Vec::new();
    for cell in told_apart(points, table, names, &told_by) {
        let here = of_cell(points, table, cell, &told_by);
        let name = here.name.clone();
        rows.push(here);
        let below = table.row.iter();
        let below = below.filter(|row| points.planned(&row.of).contains(&cell));
        rows.extend(below.map(|row| GridRow {
            name: name.clone(),
            published: row.published.clone(),
            figures: published(points.article, table, row),
            note: None,
        }));
    }
    rows
}

/// The first of all cells that a row's name does not tell apart.
fn told_apart<'s>(
    points: Points<'s>,
    table: &Table,
    names: &str,
    told_by: &[Axis],
) -> Vec<&'s CellSummary> {
    let mut cells = points.measured(names);
    if let Some(beside) = &table.beside {
        let all = points.measured(beside);
        let rest = |cell: &CellSummary| {
            let axes = [Axis::Distances, Axis::Connections];
            all.iter()
                .any(|other| other.point.without(&axes) == cell.point.without(&axes))
        };
        cells.retain(|cell| rest(cell));
    }
    if told_by.contains(&Axis::Distances) {
        cells.sort_by_key(|cell| (cell.point.row, cell.rtt_us_asked.map(|us| us as u64)));
    }
    let is_alike = |one: &CellSummary, other: &CellSummary| {
        let mut axes = told_by.iter().chain(&[Axis::Row]);
        axes.all(|axis| one.point.value(*axis) == other.point.value(*axis))
    };
    let mut kept: Vec<&CellSummary> = Vec::new();
    for cell in cells {
        if !kept.iter().any(|other| is_alike(other, cell)) {
            kept.push(cell);
        }
    }
    kept
}

fn of_cell(points: Points, table: &Table, cell: &CellSummary, told_by: &[Axis]) -> GridRow {
    let mut name = vec![cell.label.clone()];
    name.extend(told_by.iter().filter_map(|axis| tell::on_axis(cell, *axis)));
    let figures = table.column.iter();
    let figures = figures.map(|column| value(cell, &column.figure, points.cells));
    GridRow {
        name: name.join(", "),
        published: None,
        figures: figures.collect(),
        note: match table.is_noted {
            true if cell.offered_per_s.is_some() => rungs(points, cell),
            true => given_up(cell),
            false => None,
        },
    }
}

/// How far up a ladder goes, where figures do not say it, and which rungs are none.
fn rungs(points: Points, cell: &CellSummary) -> Option<String> {
    let ladder = ladder(cell, points.cells)?;
    let over = ladder
        .rungs
        .iter()
        .filter(|rung| rung.lag == LagState::Overloaded);
    let over: Vec<String> = over.map(|rung| rung.offered_per_s.to_string()).collect();
    let over = match over.is_empty() {
        true => None,
        false => Some(format!("not committed as offered: {}", over.join(", "))),
    };
    let reach = match ladder.reach {
        Reach::Some | Reach::NothingCounted => None,
        reach => Some(reach.name().to_owned()),
    };
    let said: Vec<String> = [reach, over].into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}
