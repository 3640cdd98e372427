//! The rate of each second of a long cell, a line for each round, with its dips marked.

use plotters::prelude::*;

use super::canvas::{self, Area, Drawn, font, tick};
use super::chart::{Chart, file_name};
use crate::analysis::Summary;
use crate::analysis::summary::CellSummary;
use crate::analysis::timeline::{Dip, dips, steady};
use crate::record::Measurement;
use crate::record::store::Record;
use crate::report::label::{self, connections, surroundings, workload};

const HEIGHT: u32 = 400;
/// Room for the names beside the chart.
const LEGEND_WIDTH: u32 = 130;
const DIP: RGBColor = RGBColor(204, 0, 0);

/// One round's seconds after the warm-up.
struct Course {
    name: String,
    rates: Vec<(u32, f64)>,
    dips: Vec<Dip>,
}

/// Of all cells that are long enough to tell how even they are.
pub fn charts(record: &Record, summary: &Summary) -> Vec<Chart> {
    let plain = summary.cells.iter().filter(|cell| cell.moved.is_none());
    let long = plain.filter(|cell| cell.unevenness.is_some());
    long.map(|cell| chart(record, summary, cell)).collect()
}

fn chart(record: &Record, summary: &Summary, cell: &CellSummary) -> Chart {
    let is_its = |m: &&Measurement| record.header.cells[m.cell].id == cell.id && !m.is_void();
    let of_cell = record.measurements.iter().filter(is_its);
    let course = |measurement: &Measurement| {
        let rates = steady(measurement, summary.warmup_s, cell.per);
        Course {
            name: format!("round {}", measurement.round),
            dips: dips(&rates).unwrap_or_default(),
            rates,
        }
    };
    let courses: Vec<Course> = of_cell.map(course).collect();
    let around = surroundings(summary, cell);
    let workload = workload(summary, &cell.point);
    let connections = connections(cell.connections);
    // Shorter cells are not looked through for dips.
    let dips = match cell.dips {
        Some(_) => "; dips shaded",
        None => "",
    };
    let title = format!(
        "{}: {workload}, {connections}, {}{around}{dips}",
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
        svg: canvas::svg(&title, HEIGHT, |area| {
            let (plot, beside) = area.split_horizontally(canvas::WIDTH - LEGEND_WIDTH);
            draw(&plot, label::rate(cell.per), &courses)?;
            let names: Vec<&str> = courses.iter().map(|course| &course.name[..]).collect();
            canvas::legend(&beside, &names)
        }),
    }
}

fn draw(area: &Area, unit: &str, courses: &[Course]) -> Drawn {
    let seconds = || courses.iter().flat_map(|course| &course.rates);
    let highest = seconds().map(|(_, rate)| *rate).fold(0.0, f64::max) * 1.06;
    let last = seconds()
        .map(|(second, _)| f64::from(*second))
        .fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..last + 1.0, 0.0..highest.max(1.0))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("seconds from the start of the load")
        .y_desc(unit)
        .x_label_formatter(&|value| tick(*value))
        .y_label_formatter(&|value| tick(*value))
        .label_style(font(13))
        .axis_desc_style(font(14))
        .draw()?;
    for dip in courses.iter().flat_map(|course| &course.dips) {
        let (from, to) = (f64::from(dip.from_s), f64::from(dip.to_s));
        let band = Rectangle::new([(from, 0.0), (to, highest)], DIP.mix(0.18).filled());
        chart.draw_series([band])?;
    }
    for (index, course) in courses.iter().enumerate() {
        // A second's rate stands at its middle.
        let points = course
            .rates
            .iter()
            .map(|(second, rate)| (f64::from(*second) + 0.5, *rate));
        let colour = canvas::colour(index);
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
    }
    Ok(())
}
