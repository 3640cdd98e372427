//! Modes side by side: a bar and its interval for each, one chart for each point of the axes.

use plotters::prelude::*;

use super::canvas::{self, Area, Drawn, font, tick, top};
use super::chart::{Chart, file_name, groups};
use crate::analysis::Summary;
use crate::analysis::interval::Estimate;
use crate::analysis::summary::CellSummary;
use crate::report::label::{self, connections, surroundings, workload};

/// Height of a bar with the space around it, and of all else, in pixels.
const BAR_HEIGHT: u32 = 34;
const REST_HEIGHT: u32 = 110;
/// Room for the modes' names.
const NAMES_WIDTH: u32 = 230;

/// One bar.
struct Bar<'s> {
    name: &'s str,
    estimate: Estimate,
}

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
    let bar = |cell: &&'_ CellSummary| match in_runs {
        true => cell.run_s,
        false => cell.throughput_per_s,
    };
    let bars: Vec<Bar> = cells
        .iter()
        .filter_map(|cell| {
            Some(Bar {
                name: &cell.label,
                estimate: bar(cell)?,
            })
        })
        .collect();
    let unit = match in_runs {
        true => "seconds to run all queries",
        false => label::rate(first.per),
    };
    let connections = connections(first.connections);
    let around = surroundings(summary, first);
    let load = workload(summary, &first.point);
    let title = format!("{load}, {connections}, {}{around}", first.distances);
    let parts = [
        &load[..],
        &format!("{}c", first.connections),
        &first.distances,
        &around,
    ];
    (bars.len() > 1).then(|| Chart {
        name: file_name("bars", &parts),
        svg: draw(&title, unit, &bars),
    })
}

fn draw(title: &str, unit: &str, bars: &[Bar]) -> String {
    let height = REST_HEIGHT + BAR_HEIGHT * bars.len() as u32;
    canvas::svg(title, height, |area| draw_bars(area, unit, bars))
}

fn draw_bars(area: &Area, unit: &str, bars: &[Bar]) -> Drawn {
    let most = bars.iter().map(|bar| top(bar.estimate)).fold(0.0, f64::max);
    // Room for the figures at the bars' ends.
    let width = most * 1.35;
    let count = bars.len();
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(24)
        .x_label_area_size(44)
        .y_label_area_size(NAMES_WIDTH)
        .build_cartesian_2d(0.0..width, (0..count).into_segmented())?;
    // The first mode stands on top; the axis counts from below.
    let place = |index: usize| count - 1 - index;
    let name = |value: &SegmentValue<usize>| match value {
        SegmentValue::CenterOf(at) if *at < count => bars[place(*at)].name.to_owned(),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(unit)
        .x_labels(7)
        .x_label_formatter(&|value| tick(*value))
        .set_tick_mark_size(LabelAreaPosition::Left, 5)
        .y_labels(count)
        .y_label_formatter(&name)
        .label_style(font(13))
        .axis_desc_style(font(14))
        .draw()?;
    for (index, bar) in bars.iter().enumerate() {
        let at = place(index);
        let middle = SegmentValue::CenterOf(at);
        let Estimate { median, low, high } = bar.estimate;
        let ends = [
            (0.0, SegmentValue::Exact(at)),
            (median, SegmentValue::Exact(at + 1)),
        ];
        let mut body = Rectangle::new(ends, canvas::colour(0).mix(0.75).filled());
        body.set_margin(6, 6, 0, 0);
        chart.draw_series([body])?;
        if let (Some(low), Some(high)) = (low, high) {
            let line = vec![(low, middle.clone()), (high, middle.clone())];
            chart.draw_series([PathElement::new(line, BLACK.stroke_width(2))])?;
            let caps = [low, high]
                .map(|end| EmptyElement::at((end, middle.clone())) + canvas::upright_cap());
            chart.draw_series(caps)?;
        }
        let figure = Text::new(canvas::label(bar.estimate), (10, -7), font(13));
        chart.draw_series([EmptyElement::at((top(bar.estimate), middle)) + figure])?;
    }
    Ok(())
}
