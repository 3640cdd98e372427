//! What grows with the connections, with the distance and with the time of a flush: a line for
//! each mode, with the interval of each of its points.

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
    /// What each flush of the disks takes.
    Flush,
}

/// What is drawn above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Up {
    /// Commits, or transactions, in a second.
    Rate,
    /// The time that a connection takes for one.
    Each,
    /// The 99th percentile of that time.
    P99,
}

/// Along the connections rates are compared, along what is waited for times; of several connections
/// rates, too.
const KINDS: [(Along, Up); 8] = [
    (Along::Connections, Up::Rate),
    (Along::Connections, Up::P99),
    (Along::Distance, Up::Rate),
    (Along::Distance, Up::Each),
    (Along::Distance, Up::P99),
    (Along::Flush, Up::Rate),
    (Along::Flush, Up::Each),
    (Along::Flush, Up::P99),
];

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
    let kinds = KINDS.into_iter();
    kinds
        .flat_map(|(along, up)| over(summary, along, up))
        .collect()
}

/// A chart for each load that was measured at several of these.
pub fn over(summary: &Summary, along: Along, up: Up) -> Vec<Chart> {
    let groups = groups(summary, &[along.axis()]);
    let groups = groups.iter();
    groups
        .filter_map(|cells| chart(summary, (along, up), cells))
        .collect()
}

fn chart(summary: &Summary, (along, up): (Along, Up), cells: &[&CellSummary]) -> Option<Chart> {
    let first = cells[0];
    // One connection's rate is its time turned over.
    if up == Up::Rate && along != Along::Connections && first.connections == 1 {
        return None;
    }
    let lines = lines(cells, along.points(), |cell| {
        let (asked, across) = along.place(cell)?;
        let estimate = up.estimate(cell)?;
        Some(Point {
            asked,
            across,
            estimate,
        })
    });
    let load = workload(summary, &first.point);
    let (what, parts) = along.told(summary, first);
    let axes = Axes {
        along,
        across: along.title(),
        up: up.title(first),
    };
    let kind = format!("{}{}", up.kind(along), along.word());
    let mut names = vec![&load[..]];
    names.extend(parts.iter().map(String::as_str));
    let title = format!("{}: {load} against {what}", axes.up);
    drawn(file_name(&kind, &names), &title, &axes, &lines)
}

impl Along {
    fn axis(self) -> Axis {
        match self {
            Along::Connections => Axis::Connections,
            Along::Distance => Axis::Distances,
            Along::Flush => Axis::Disks,
        }
    }

    /// Fewer draw no line.
    fn points(self) -> usize {
        match self {
            Along::Connections => 2,
            Along::Distance | Along::Flush => 3,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Along::Connections => "connections",
            Along::Distance => "distance",
            Along::Flush => "flush",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Along::Connections => "connections",
            Along::Distance => "round-trip time between sites, got, ms",
            Along::Flush => "time of a flush of the writer's disk, got, ms",
        }
    }

    /// What was asked for, and where it is drawn.
    fn place(self, cell: &CellSummary) -> Option<(f64, f64)> {
        let connections = f64::from(cell.connections);
        match self {
            Along::Connections => Some((connections, connections)),
            Along::Distance => Some((cell.rtt_us_asked?, cell.rtt_us_got? / 1e3)),
            Along::Flush => Some((cell.flush_us_asked?, cell.flush_us_got? / 1e3)),
        }
    }

    /// What all cells have in common besides the load, in words and for a file's name.
    fn told(self, summary: &Summary, first: &CellSummary) -> (String, Vec<String>) {
        let around = surroundings(summary, first);
        let count = format!("{}c", first.connections);
        let (connections, distances) = (connections(first.connections), &first.distances);
        match self {
            Along::Connections => (
                format!("connections, {distances}{around}"),
                vec![distances.clone(), around],
            ),
            Along::Distance => (
                format!("distance, {connections}{around}"),
                vec![count, around],
            ),
            Along::Flush => {
                let plain = CellSummary {
                    disks: None,
                    ..first.clone()
                };
                let around = surroundings(summary, &plain);
                (
                    format!("flush time, {connections}, {distances}{around}"),
                    vec![count, distances.clone(), around],
                )
            }
        }
    }
}

impl Up {
    /// Begins a file's name.
    fn kind(self, along: Along) -> &'static str {
        match (self, along) {
            (Up::Rate, Along::Distance | Along::Flush) => "rate-",
            (Up::Rate | Up::Each, _) => "",
            (Up::P99, _) => "p99-",
        }
    }

    fn title(self, first: &CellSummary) -> String {
        let one = label::one(first.per);
        match self {
            Up::Rate => label::rate(first.per).to_owned(),
            Up::Each => format!("ms per {one} of each connection"),
            Up::P99 => format!("p99, ms per {one}"),
        }
    }

    fn estimate(self, cell: &CellSummary) -> Option<Estimate> {
        match self {
            Up::Rate => cell.throughput_per_s,
            Up::Each => ms_each(cell),
            Up::P99 => p99_ms(cell),
        }
    }
}

/// Not where it is known only that it is at least so much.
fn p99_ms(cell: &CellSummary) -> Option<Estimate> {
    let alone = cell.latency_us.p99.map(Estimate::without_interval);
    let us = cell.p99_us.or(alone)?;
    (!cell.latency_us.at_least.p99).then(|| us.map(|us| us / 1e3))
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
        subject: Subject::Lines,
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
fn measured_at(lines: &[Line]) -> Vec<(f64, String)> {
    let points = lines.iter().flat_map(|line| &line.points);
    let mut all: Vec<f64> = points.map(|point| point.across).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all.into_iter()
        .map(|figure| (figure, place(figure)))
        .collect()
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
        Along::Distance | Along::Flush => Unit::Number(2),
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
