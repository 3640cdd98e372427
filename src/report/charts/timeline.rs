//! The rate of each second of a long cell, a line for each round, with its dips marked.

use super::chart::{Chart, Subject, file_name, measured};
use crate::analysis::Summary;
use crate::analysis::interval::median;
use crate::analysis::summary::CellSummary;
use crate::analysis::timeline::{Dip, dips, steady};
use crate::record::Measurement;
use crate::record::store::Record;
use crate::report::entry::Entry;
use crate::report::label::{self, connections, surroundings, workload};
use crate::report::numbers::Unit;
use crate::report::page::Table;
use crate::report::picture::{Axis, Plot, Point, Series, Span, Way};

/// Rows of the table below, at most: of a longer cell each is of several seconds.
const ROWS_MAX: u32 = 60;
const SECONDS: &str = "seconds from the start of the load";

/// One round's seconds after the warm-up.
struct Course {
    name: String,
    rates: Vec<(u32, f64)>,
    dips: Vec<Dip>,
    /// From when to when its volume had too few copies, in s.
    short: Vec<(f64, f64)>,
}

/// Of all cells that are long enough to tell how even they are.
pub fn charts(record: &Record, summary: &Summary) -> Vec<Chart> {
    let plain = summary.cells.iter().filter(|cell| cell.moved.is_none());
    let long = plain.filter(|cell| cell.unevenness.is_some());
    long.map(|cell| chart(record, summary, cell)).collect()
}

fn chart(record: &Record, summary: &Summary, cell: &CellSummary) -> Chart {
    let course = |measurement: &&Measurement| {
        let rates = steady(measurement, summary.warmup_s, cell.per);
        Course {
            name: format!("round {}", measurement.round),
            dips: dips(&rates).unwrap_or_default(),
            short: short(measurement),
            rates,
        }
    };
    let of_cell = measured(record, cell);
    let courses: Vec<Course> = of_cell.iter().map(course).collect();
    let around = surroundings(summary, cell);
    let workload = workload(summary, &cell.point);
    let connections = connections(cell.connections);
    // Shorter cells are not looked through for dips.
    let dips = match cell.dips {
        Some(_) => "; dips shaded",
        None => "",
    };
    let unit = label::rate(cell.per);
    let title = format!(
        "{unit} by the second, {}: {workload}, {connections}, {}{around}{dips}",
        cell.label, cell.distances
    );
    let parts = [
        &cell.label[..],
        &workload,
        &format!("{}c", cell.connections),
        &cell.distances,
        &around,
    ];
    Chart {
        name: file_name("seconds", &parts),
        subject: Subject::Seconds,
        picture: plot(unit, &courses).picture(&title),
        table: table(unit, &courses),
        title,
    }
}

/// Spans in which a volume had too few of its copies.
fn short(measurement: &Measurement) -> Vec<(f64, f64)> {
    let end_s = measurement
        .timeline
        .last()
        .map_or(0.0, |last| f64::from(last.second) + 1.0);
    let spans = measurement.degraded.iter().map(|span| {
        let to_s = span.to_ms.map_or(end_s, |ms| ms as f64 / 1e3);
        (span.from_ms as f64 / 1e3, to_s)
    });
    spans.filter(|(from_s, to_s)| from_s < to_s).collect()
}

fn plot(unit: &str, courses: &[Course]) -> Plot {
    // A second's rate stands at its middle.
    let point = |(second, rate): &(u32, f64)| Point {
        across: f64::from(*second) + 0.5,
        up: *rate,
        ..Point::default()
    };
    let series = |course: &Course| Series {
        name: course.name.clone(),
        way: Way::Thin,
        points: course.rates.iter().map(point).collect(),
    };
    let span = |dip: &Dip| Span {
        from: f64::from(dip.from_s),
        to: f64::from(dip.to_s),
        name: "dip".to_owned(),
    };
    let dips = courses.iter().flat_map(|it| &it.dips).map(span);
    let short = courses.iter().flat_map(|it| &it.short);
    let short = short.map(|(from, to)| Span {
        from: *from,
        to: *to,
        name: "too few copies".to_owned(),
    });
    Plot {
        across: Axis {
            title: SECONDS.to_owned(),
            ..Axis::default()
        },
        up: Axis {
            title: unit.to_owned(),
            ..Axis::default()
        },
        series: courses.iter().map(series).collect(),
        spans: dips.chain(short).collect(),
        ..Plot::default()
    }
}

/// Each row a second, or the median of several.
fn table(unit: &str, courses: &[Course]) -> Table {
    let seconds = || courses.iter().flat_map(|course| &course.rates);
    let first = seconds().map(|(second, _)| *second).min().unwrap_or(0);
    let last = seconds().map(|(second, _)| *second).max().unwrap_or(0);
    let step = (last + 1 - first).div_ceil(ROWS_MAX).max(1);
    let title = match step {
        1 => "second".to_owned(),
        _ => format!("from second, median of {step}"),
    };
    let names: Vec<String> = courses
        .iter()
        .map(|course| format!("{}, {unit}", course.name))
        .collect();
    let mut columns = vec![(&title[..], true)];
    columns.extend(names.iter().map(|name| (&name[..], false)));
    let mut table = Table::new(&columns);
    let row = |from: u32| {
        let of_course = |course: &Course| {
            let inside = |(second, _): &&(u32, f64)| (from..from + step).contains(second);
            let rates = course.rates.iter().filter(inside);
            let rates: Vec<f64> = rates.map(|(_, rate)| *rate).collect();
            Entry::number(median(&rates), Unit::Number(2))
        };
        let mut row = vec![Entry::from(from.to_string())];
        row.extend(courses.iter().map(of_course));
        row
    };
    table.rows = (first..=last).step_by(step as usize).map(row).collect();
    table
}
