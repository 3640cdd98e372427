//! An article's table in its own form: what was published, and what was measured here.

use super::figure::value;
use super::select::{Points, distinct};
use super::tell;
use crate::analysis::summary::Value;
use crate::analysis::summary::claims::{Grid, GridRow};
use crate::plan::Axis;
use crate::study::articles::{Article, Row, Table};

/// The table, if there is anything measured in it.
pub fn grid(points: Points, table: &Table) -> Option<Grid> {
    let mut rows = match &table.each {
        Some(names) => each(points, table, names),
        None => fixed(points, table),
    };
    rows.retain(|row| row.figures.iter().any(Option::is_some));
    let is_measured = rows.iter().any(|row| row.published.is_none());
    let columns = table.column.iter();
    is_measured.then(|| Grid {
        title: table.title.clone(),
        unit: table.unit.clone(),
        columns: columns.map(|column| column.name.clone()).collect(),
        rows,
    })
}

/// Each row as measured, and as published below it.
fn fixed(points: Points, table: &Table) -> Vec<GridRow> {
    let rows = table.row.iter().flat_map(|row| {
        let here = table.column.iter().map(|column| {
            let cells = points.measured(&format!("{} {}", row.of, column.of));
            value(cells.first()?, &column.figure, points)
        });
        let here = GridRow {
            name: row.name.clone(),
            published: None,
            figures: here.collect(),
            note: row.note.clone(),
        };
        [here, published(points.article, table, row, &row.name)]
    });
    rows.collect()
}

/// A row for each point that its name tells from others, and below it what was published of it.
fn each(points: Points, table: &Table, names: &str) -> Vec<GridRow> {
    let mut cells = points.measured(names);
    cells.sort_by_key(|cell| (cell.point.row, cell.rtt_us_asked.map(|us| us as u64)));
    let told_by: Vec<Axis> = tell::TELLING.into_iter().chain([Axis::Row]).collect();
    let cells = distinct(cells, &told_by);
    let rows = cells.iter().flat_map(|cell| {
        let figures = table.column.iter();
        let figures = figures.map(|column| value(cell, &column.figure, points));
        let name = tell::cell(cell, &cells);
        let below = table.row.iter();
        let below = below.filter(|row| points.planned(&row.of).contains(cell));
        let below = below.map(|row| published(points.article, table, row, &name));
        let below: Vec<GridRow> = below.collect();
        let here = GridRow {
            name,
            published: None,
            figures: figures.collect(),
            note: None,
        };
        [here].into_iter().chain(below)
    });
    rows.collect()
}

/// Single figures as they are, two as the ends of a range, which has no middle of its own; or one
/// list for all columns, with lists of the ends of ranges around it.
fn published(article: &Article, table: &Table, row: &Row, name: &str) -> GridRow {
    let numbers = |place: &String| article.numbers(place);
    let lists: Vec<Vec<f64>> = row.at.iter().chain(&row.ends).map(numbers).collect();
    let figure = |column: usize| {
        if row.at.len() == 1 {
            let of = |list: usize| lists.get(list)?.get(column).copied();
            let (low, high) = (of(1), of(2));
            return of(0).map(|value| Value { value, low, high });
        }
        let list = lists.get(column)?;
        let (low, high) = (*list.first()?, *list.last()?);
        let range = (list.len() > 1).then_some((low, high));
        let (value, (low, high)) = (low, range.unzip());
        Some(Value { value, low, high })
    };
    let first = row.at.first().and_then(|at| at.split('.').next());
    let called = row.published.as_deref().or(first).unwrap_or_default();
    GridRow {
        name: name.to_owned(),
        published: Some(called.to_owned()),
        figures: (0..table.column.len()).map(figure).collect(),
        note: None,
    }
}
