//! What grows with the connections, and what with the distance: a line for each mode, with the
//! interval of each of its points.

use plotters::prelude::*;

use super::canvas::{self, Area, Drawn, font, tick, top};
use super::chart::{Chart, file_name, groups};
use crate::analysis::Summary;
use crate::analysis::interval::Estimate;
use crate::analysis::summary::{Axis, CellSummary};
use crate::report::label::{self, connections, surroundings, workload};

const HEIGHT: u32 = 480;
/// Room for the names beside the chart.
const LEGEND_WIDTH: u32 = 240;
/// Fewer distances draw no line.
const DISTANCES: usize = 3;

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
    across: &'static str,
    up: String,
    /// Whether the axis across holds powers of two.
    are_powers: bool,
}

/// Rates against the number of connections, where there are two numbers or more.
pub fn over_connections(summary: &Summary) -> Vec<Chart> {
    let chart = |cells: &Vec<&CellSummary>| {
        let first = cells[0];
        let lines = lines(cells, 2, |cell| {
            let across = f64::from(cell.connections).log2();
            Some(Point {
                asked: across,
                across,
                estimate: cell.throughput_per_s?,
            })
        });
        let around = surroundings(summary, first);
        let load = workload(summary, &first.point);
        let title = format!("{load} against connections, {}{around}", first.distances);
        let axes = Axes {
            across: "connections",
            up: label::rate(first.per).to_owned(),
            are_powers: true,
        };
        let name = file_name("connections", &[&load, &first.distances, &around]);
        drawn(name, &title, &axes, &lines)
    };
    let groups = groups(summary, &[Axis::Connections]);
    groups.iter().filter_map(chart).collect()
}

/// Time per commit against the round-trip time got, where there are three distances or more.
pub fn over_distance(summary: &Summary) -> Vec<Chart> {
    let chart = |cells: &Vec<&CellSummary>| {
        let first = cells[0];
        let lines = lines(cells, DISTANCES, |cell| {
            Some(Point {
                asked: cell.rtt_us_asked?,
                across: cell.rtt_us_got? / 1e3,
                estimate: ms_each(cell)?,
            })
        });
        let around = surroundings(summary, first);
        let connections = connections(first.connections);
        let load = workload(summary, &first.point);
        let title = format!("{load} against distance, {connections}{around}");
        let one = label::one(first.per);
        let axes = Axes {
            across: "round-trip time between sites, got, ms",
            up: format!("ms per {one} of each connection"),
            are_powers: false,
        };
        let parts = [&load[..], &format!("{}c", first.connections), &around];
        drawn(file_name("distance", &parts), &title, &axes, &lines)
    };
    let groups = groups(summary, &[Axis::Distances]);
    groups.iter().filter_map(chart).collect()
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
        svg: canvas::svg(title, HEIGHT, |area| {
            let (plot, beside) = area.split_horizontally(canvas::WIDTH - LEGEND_WIDTH);
            draw_lines(&plot, axes, lines)?;
            let names: Vec<&str> = lines.iter().map(|line| line.name).collect();
            canvas::legend(&beside, &names)
        }),
    })
}

fn draw_lines(area: &Area, axes: &Axes, lines: &[Line]) -> Drawn {
    let points = || lines.iter().flat_map(|line| &line.points);
    let highest = points()
        .map(|point| top(point.estimate))
        .fold(0.0, f64::max);
    let farthest = points().map(|point| point.across).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(-0.04 * farthest..farthest * 1.04, 0.0..highest * 1.06)?;
    let across = |x: &f64| match axes.are_powers {
        true if x.fract().abs() < 1e-6 => tick(x.exp2()),
        true => String::new(),
        false if *x < 0.0 => String::new(),
        false => tick(*x),
    };
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(axes.across)
        .y_desc(&axes.up)
        .x_labels(9)
        .x_label_formatter(&across)
        .y_label_formatter(&|value| tick(*value))
        .label_style(font(13))
        .axis_desc_style(font(14))
        .draw()?;
    for (index, line) in lines.iter().enumerate() {
        let colour = canvas::colour(index);
        let mark = canvas::mark(index);
        let medians = line
            .points
            .iter()
            .map(|point| (point.across, point.estimate.median));
        let through = LineSeries::new(medians.clone(), colour.stroke_width(2));
        chart.draw_series(through)?;
        chart.draw_series(medians.map(|at| Circle::new(at, 4, mark)))?;
        for point in &line.points {
            let (x, Estimate { low, high, .. }) = (point.across, point.estimate);
            if let (Some(low), Some(high)) = (low, high) {
                let upright = vec![(x, low), (x, high)];
                chart.draw_series([PathElement::new(upright, colour.stroke_width(2))])?;
                let caps =
                    [low, high].map(|end| EmptyElement::at((x, end)) + canvas::level_cap(colour));
                chart.draw_series(caps)?;
            }
        }
    }
    Ok(())
}
