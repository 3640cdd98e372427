//! What all charts share: ground, title, colours, intervals, figures on axes.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::analysis::interval::Estimate;
use crate::report::numbers::digits;

/// Of every chart, in pixels.
pub const WIDTH: u32 = 960;
const TITLE_HEIGHT: u32 = 36;
const FONT: &str = "sans-serif";
/// Half the width of the small bar at each end of an interval.
const CAP: i32 = 5;

/// Told apart by people who see colours differently, too (after Okabe and Ito, without yellow).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(110, 80, 40),
    RGBColor(90, 90, 90),
];

/// A place to draw, in pixels.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Drawing into a text cannot fail but by a fault of ours.
pub type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// The colour of the n-th of several.
pub fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

/// How the n-th of several is marked: full, and hollow once all colours are used up.
pub fn mark(index: usize) -> ShapeStyle {
    ShapeStyle {
        color: colour(index).into(),
        filled: index < COLOURS.len(),
        stroke_width: 2,
    }
}

/// Text of that height in pixels.
pub fn font(height: u32) -> TextStyle<'static> {
    (FONT, height).into_font().color(&BLACK)
}

/// A whole chart: white, its title on top, the rest as `draw` has it.
///
/// # Panics
/// If what is drawn does not fit the library's rules: a fault of this room.
pub fn svg(title: &str, height: u32, draw: impl FnOnce(&Area) -> Drawn) -> String {
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        let whole = || -> Drawn {
            root.fill(&WHITE)?;
            root.draw(&Text::new(title.to_owned(), (12, 12), font(17)))?;
            let (_, below) = root.split_vertically(TITLE_HEIGHT);
            draw(&below)?;
            root.present()
        };
        whole().expect("drawing into a text cannot fail");
    }
    text
}

/// A figure at an axis: no more digits than it needs.
pub fn tick(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `752 (742 to 761)`
pub fn label(estimate: Estimate) -> String {
    let short = |value: f64| match value.abs() < 1.0 {
        true => format!("{value:.3}"),
        false => digits(value, 2),
    };
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!(
                "{} ({} to {})",
                short(estimate.median),
                short(low),
                short(high)
            )
        }
        _ => format!("{} (no interval)", short(estimate.median)),
    }
}

/// The largest figure that an estimate reaches.
pub fn top(estimate: Estimate) -> f64 {
    estimate
        .high
        .unwrap_or(estimate.median)
        .max(estimate.median)
}

/// The small bar at the end of an interval that runs from left to right.
pub fn upright_cap() -> PathElement<(i32, i32)> {
    PathElement::new(vec![(0, -CAP), (0, CAP)], BLACK.stroke_width(2))
}

/// The small bar at the end of an interval that runs from bottom to top.
pub fn level_cap(colour: RGBColor) -> PathElement<(i32, i32)> {
    PathElement::new(vec![(-CAP, 0), (CAP, 0)], colour.stroke_width(2))
}

/// Names beside a chart, each with its colour.
pub fn legend(area: &Area, names: &[&str]) -> Drawn {
    for (index, name) in names.iter().enumerate() {
        let y = 16 + 22 * index as i32;
        area.draw(&Rectangle::new([(4, y), (18, y + 10)], mark(index)))?;
        let style = font(13);
        area.draw(&Text::new((*name).to_owned(), (24, y - 2), style))?;
    }
    Ok(())
}
