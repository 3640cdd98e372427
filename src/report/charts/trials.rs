//! Trials of faults: what clients had of one, with its steps marked; and what a mode loses against
//! what it costs.

use plotters::prelude::*;

use super::canvas::{self, Area, Drawn, font, tick};
use super::chart::{Chart, file_name};
use crate::analysis::Summary;
use crate::analysis::worth::{Course, Judged, ModeWorth};

const HEIGHT: u32 = 400;
/// Room for the steps beside the chart, and for the modes.
const LEGEND_WIDTH: u32 = 270;
const GAP: RGBColor = RGBColor(204, 0, 0);
/// Windows in a second.
const WINDOWS_PER_S: f64 = 10.0;
/// Beside an axis, so that what is zero can be seen.
const BELOW: f64 = -0.03;

/// Of each campaign the trial in which nobody was served for longest.
pub fn courses(summary: &Summary) -> Vec<Chart> {
    summary.worth.iter().filter_map(course_chart).collect()
}

fn course_chart(one: &ModeWorth) -> Option<Chart> {
    let trials = one.courses.iter().zip(&one.worth.each);
    let gap_us = |(_, judged): &(&Course, &Judged)| {
        let s = judged.service.no_service_s.unwrap_or(0.0);
        (s * 1e6) as u64
    };
    let (course, judged) = trials
        .filter(|(course, _)| !course.acknowledged_per_100_ms.is_empty())
        .max_by_key(gap_us)?;
    let fault = &one.worth.fault;
    let title = format!(
        "{}, {fault}: commits acknowledged (seed {}); steps marked, no service shaded",
        one.label, course.seed
    );
    Some(Chart {
        name: file_name("trial", &[&one.label, fault]),
        svg: canvas::svg(&title, HEIGHT, |area| {
            let (plot, beside) = area.split_horizontally(canvas::WIDTH - LEGEND_WIDTH);
            draw_course(&plot, course, gap(judged))?;
            let names: Vec<String> = course
                .steps
                .iter()
                .map(|step| format!("{} {}", step.step, step.deed))
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            canvas::legend(&beside, &names)
        }),
    })
}

/// From when to when nobody was served, in s.
fn gap(judged: &Judged) -> Option<(f64, f64)> {
    let from_s = judged.service.from_us? as f64 / 1e6;
    Some((from_s, from_s + judged.service.no_service_s?))
}

fn draw_course(area: &Area, course: &Course, gap: Option<(f64, f64)>) -> Drawn {
    let windows = course.acknowledged_per_100_ms.iter();
    let rates = windows.map(|count| f64::from(*count) * WINDOWS_PER_S);
    // A window's rate stands at its middle.
    let middles = (0..).map(|window| (f64::from(window) + 0.5) / WINDOWS_PER_S);
    let points: Vec<(f64, f64)> = middles.zip(rates).collect();
    let highest = points.iter().map(|(_, rate)| *rate).fold(1.0, f64::max) * 1.06;
    let ends = course.steps.iter().map(|step| step.ended_s);
    let ends = ends.chain(points.iter().map(|(at, _)| *at));
    let last = ends.chain(gap.map(|(_, to)| to)).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_top(18)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..last * 1.02, 0.0..highest)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("seconds from the clients' start")
        .y_desc("commits/s")
        .x_label_formatter(&|value| tick(*value))
        .y_label_formatter(&|value| tick(*value))
        .label_style(font(13))
        .axis_desc_style(font(14))
        .draw()?;
    if let Some((from, to)) = gap {
        let band = Rectangle::new([(from, 0.0), (to, highest)], GAP.mix(0.18).filled());
        chart.draw_series([band])?;
    }
    chart.draw_series(LineSeries::new(points, BLACK.stroke_width(2)))?;
    for (index, step) in course.steps.iter().enumerate() {
        let colour = canvas::colour(index);
        let upright = vec![(step.begun_s, 0.0), (step.begun_s, highest)];
        chart.draw_series([PathElement::new(upright, colour.stroke_width(2))])?;
        let number = Text::new(step.step.to_string(), (-3, -14), font(13));
        chart.draw_series([EmptyElement::at((step.begun_s, highest)) + number])?;
    }
    Ok(())
}

/// A mode at one fault.
struct Point<'s> {
    name: &'s str,
    p50_ms: f64,
    /// Of its trials those that lost something, and what share of such faults may.
    lossy_share: f64,
    low: f64,
    high: f64,
}

/// Where prices were measured: each fault that befell two modes or more.
pub fn cost_and_worth(summary: &Summary) -> Vec<Chart> {
    let mut faults: Vec<(&str, Vec<Point>)> = Vec::new();
    for one in summary.worth.iter().filter(|one| !one.is_control) {
        let Some(point) = point(one) else {
            continue;
        };
        match faults.iter_mut().find(|(name, _)| *name == one.worth.fault) {
            Some((_, points)) => points.push(point),
            None => faults.push((&one.worth.fault, vec![point])),
        }
    }
    let told = faults.into_iter().filter(|(_, points)| points.len() > 1);
    told.map(|(fault, points)| worth_chart(fault, &points))
        .collect()
}

fn point(one: &ModeWorth) -> Option<Point<'_>> {
    let (lossy, sound) = (one.worth.trials_with_loss, one.worth.trials_sound);
    let p50_us = one.price.as_ref()?.p50_us?;
    (sound > 0).then(|| Point {
        name: &one.label,
        p50_ms: p50_us / 1e3,
        lossy_share: lossy as f64 / sound as f64,
        low: one.worth.loss_share_min.unwrap_or(0.0),
        high: one.worth.loss_share_max.unwrap_or(1.0),
    })
}

fn worth_chart(fault: &str, points: &[Point]) -> Chart {
    let title = format!("{fault}: what is lost against what a commit takes");
    Chart {
        name: file_name("worth", &[fault]),
        svg: canvas::svg(&title, HEIGHT, |area| {
            let (plot, beside) = area.split_horizontally(canvas::WIDTH - LEGEND_WIDTH);
            draw_points(&plot, points)?;
            let names: Vec<&str> = points.iter().map(|point| point.name).collect();
            canvas::legend(&beside, &names)
        }),
    }
}

fn draw_points(area: &Area, points: &[Point]) -> Drawn {
    let longest = points.iter().map(|point| point.p50_ms).fold(0.0, f64::max) * 1.06;
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..longest.max(1.0), BELOW..1.0 - BELOW)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("ms for one commit, median, nothing else at work")
        .y_desc("share of faults that lose something, 95 %")
        .x_label_formatter(&|value| tick(*value))
        .y_label_formatter(&|value| tick(*value))
        .label_style(font(13))
        .axis_desc_style(font(14))
        .draw()?;
    for (index, point) in points.iter().enumerate() {
        let colour = canvas::colour(index);
        let ends = [point.low, point.high].map(|share| (point.p50_ms, share));
        chart.draw_series([PathElement::new(ends, colour.stroke_width(2))])?;
        let caps = ends.map(|end| EmptyElement::at(end) + canvas::level_cap(colour));
        chart.draw_series(caps)?;
        let at = (point.p50_ms, point.lossy_share);
        chart.draw_series([Circle::new(at, 6, canvas::mark(index))])?;
    }
    Ok(())
}
