//! What grows with the connections, and what with the distance: a line for each mode, with the
//! interval of each of its points.

use super::chart::{Chart, Subject, ends, file_name, groups, told};
use crate::analysis::Summary;
use crate::analysis::interval::Estimate;
use crate::analysis::summary::{Axis, CellSummary};
use crate::report::entry::Entry;
use crate::report::label::{self, connections, surroundings, workload};
use crate::report::numbers::Unit;
use crate::report::page::Table;
use crate::report::picture::{self, Plot, Series, Way};

/// What lies across.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    Connections,
    Distance,
}

/// A mode's points, from left to right.
struct Line<'s> {
    /// In the study's table of modes.
    row: usize,
    name: &'s str,
    points: Vec<Point>,
}

/// One of its cells.
struct Point {
    /// What was asked for: a line has one point of each.
    asked: f64,
    across: f64,
    estimate: Estimate,
}

/// What stands at the axes.
struct Axes {
    along: Along,
    across: &'static str,
    up: String,
}

/// Everything that lines can show.
pub fn charts(summary: &Summary) -> Vec<Chart> {
    let mut all = over(summary, Along::Connections);
    all.extend(over(summary, Along::Distance));
    all
}

/// A chart for each load that was measured at several of these.
pub fn over(summary: &Summary, along: Along) -> Vec<Chart> {
    let groups = groups(summary, &[along.axis()]);
    let groups = groups.iter();
    groups
        .filter_map(|cells| along.chart(summary, cells))
        .collect()
}

impl Along {
    fn axis(self) -> Axis {
        match self {
            Along::Connections => Axis::Connections,
            Along::Distance => Axis::Distances,
        }
    }

    /// Fewer draw no line.
    fn points(self) -> usize {
        match self {
            Along::Connections => 2,
            Along::Distance => 3,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Along::Connections => "connections",
            Along::Distance => "round-trip time between sites, got, ms",
        }
    }

    fn chart(self, summary: &Summary, cells: &[&CellSummary]) -> Option<Chart> {
        let first = cells[0];
        let lines = lines(cells, self.points(), |cell| self.point(cell));
        let around = surroundings(summary, first);
        let load = workload(summary, &first.point);
        let count = format!("{}c", first.connections);
        let (what, name) = match self {
            Along::Connections => (
                format!("against connections, {}{around}", first.distances),
                file_name("connections", &[&load, &first.distances, &around]),
            ),
            Along::Distance => (
                format!(
                    "against distance, {}{around}",
                    connections(first.connections)
                ),
                file_name("distance", &[&load, &count, &around]),
            ),
        };
        let axes = Axes {
            along: self,
            across: self.title(),
            up: self.up(first),
        };
        drawn(name, &format!("{}: {load} {what}", axes.up), &axes, &lines)
    }

    fn up(self, first: &CellSummary) -> String {
        match self {
            Along::Connections => label::rate(first.per).to_owned(),
            Along::Distance => format!("ms per {} of each connection", label::one(first.per)),
        }
    }

    fn point(self, cell: &CellSummary) -> Option<Point> {
        match self {
            Along::Connections => Some(Point {
                asked: f64::from(cell.connections),
                across: f64::from(cell.connections),
                estimate: cell.throughput_per_s?,
            }),
            Along::Distance => Some(Point {
                asked: cell.rtt_us_asked?,
                across: cell.rtt_us_got? / 1e3,
                estimate: ms_each(cell)?,
            }),
        }
    }
}

/// The mean time that a connection takes for one, its rest apart, with the interval of the rate
/// turned over.
fn ms_each(cell: &CellSummary) -> Option<Estimate> {
    let rate = cell.throughput_per_s.filter(|rate| rate.median > 0.0)?;
    let rest_ms = cell.pace_us.unwrap_or(0.0) / 1e3;
    let each = |rate: f64| 1e3 * f64::from(cell.connections) / rate - rest_ms;
    Some(Estimate {
        median: each(rate.median),
        low: rate.high.map(each),
        high: rate.low.map(each),
    })
}

/// Modes that have so many points or more. Of cells for which the same was asked, the first in the
/// study's order: others differ in what no axis shows, such as a link's rate.
fn lines<'s>(
    cells: &[&'s CellSummary],
    points: usize,
    point: impl Fn(&CellSummary) -> Option<Point>,
) -> Vec<Line<'s>> {
    let mut lines: Vec<Line> = Vec::new();
    for cell in cells {
        let Some(found) = point(cell) else { continue };
        match lines.iter_mut().find(|line| line.row == cell.point.row) {
            Some(line) if line.points.iter().any(|known| known.asked == found.asked) => {}
            Some(line) => line.points.push(found),
            None => lines.push(Line {
                row: cell.point.row,
                name: &cell.label,
                points: vec![found],
            }),
        }
    }
    lines.retain(|line| line.points.len() >= points);
    for line in &mut lines {
        let across = |point: &Point| point.across;
        line.points
            .sort_by(|one, other| across(one).total_cmp(&across(other)));
    }
    lines
}

fn drawn(name: String, title: &str, axes: &Axes, lines: &[Line]) -> Option<Chart> {
    (!lines.is_empty()).then(|| Chart {
        name,
        subject: Subject::Cells,
        title: title.to_owned(),
        picture: plot(axes, lines).picture(title),
        table: table(axes, lines),
    })
}

fn plot(axes: &Axes, lines: &[Line]) -> Plot {
    let told = |point: &Point| {
        let at = place(point.across);
        format!("{at} {}: {} {}", axes.across, told(point.estimate), axes.up)
    };
    let point = |point: &Point| picture::Point {
        across: point.across,
        up: point.estimate.median,
        ends: ends(point.estimate),
        told: told(point),
    };
    let series = |line: &Line| Series {
        name: line.name.to_owned(),
        way: Way::Line,
        points: line.points.iter().map(point).collect(),
    };
    Plot {
        across: picture::Axis {
            title: axes.across.to_owned(),
            is_log: axes.along == Along::Connections,
            ticks: (axes.along == Along::Connections).then(|| measured_at(lines)),
            ..picture::Axis::default()
        },
        up: picture::Axis {
            title: axes.up.clone(),
            ..picture::Axis::default()
        },
        series: lines.iter().map(series).collect(),
        ..Plot::default()
    }
}

/// Every place across, once.
fn measured_at(lines: &[Line]) -> Vec<f64> {
    let points = lines.iter().flat_map(|line| &line.points);
    let mut all: Vec<f64> = points.map(|point| point.across).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// With as many digits as tell two places apart.
fn place(figure: f64) -> String {
    let text = format!("{figure:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn table(axes: &Axes, lines: &[Line]) -> Table {
    let mut table = Table::new(&[("mode", true), (axes.across, false), (&axes.up[..], false)]);
    let unit = match axes.along {
        Along::Connections => Unit::Count,
        Along::Distance => Unit::Number(2),
    };
    let row = |line: &Line, point: &Point| {
        vec![
            Entry::from(line.name),
            Entry::number(Some(point.across), unit),
            Entry::range(Some(point.estimate), Unit::Number(2)),
        ]
    };
    let rows = lines.iter().flat_map(|line| {
        let points = line.points.iter();
        points.map(|point| row(line, point)).collect::<Vec<_>>()
    });
    table.rows = rows.collect();
    table
}
