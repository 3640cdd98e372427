//! What colours and marks stand for: swatches with names, in rows below a picture.

use super::ink::{BAD, INK, Ink};
use super::letters::{Anchor, LINE, SMALL, line, width, wrapped};
use super::sheet::WIDTH;
use crate::report::markup::Element;

/// A swatch with the space behind it, and the space behind a name.
const SWATCH: f64 = 30.0;
const GAP: f64 = 14.0;

/// One name.
pub struct Item {
    pub swatch: Swatch,
    pub name: String,
}

/// What stands before it.
#[derive(Debug, Clone, PartialEq)]
pub enum Swatch {
    /// A line with its mark, a line alone, a mark alone, a filled part.
    Line(Ink),
    Thin(Ink),
    Mark(Ink),
    Part(Ink),
    /// A shaded span, and a thing that was done, by its number.
    Shade,
    Number(String),
}

/// Rows of names from a height on, and where they end.
pub fn rows(items: &[Item], from: f64) -> (Vec<Element>, f64) {
    let mut drawn = Vec::new();
    let (mut x, mut y) = (0.0, from);
    for item in items {
        let lines = wrapped(&item.name, SMALL, WIDTH - SWATCH);
        let widest = lines
            .iter()
            .map(|line| width(line, SMALL))
            .fold(0.0, f64::max);
        if x > 0.0 && x + SWATCH + widest > WIDTH {
            (x, y) = (0.0, y + LINE);
        }
        drawn.push(item.swatch.at(x, y + LINE / 2.0));
        for (index, text) in lines.iter().enumerate() {
            let foot = y + LINE * index as f64 + LINE / 2.0 + SMALL * 0.35;
            drawn.push(line(text, (x + SWATCH, foot), SMALL, Anchor::Start));
        }
        let is_long = lines.len() > 1;
        x = if is_long {
            0.0
        } else {
            x + SWATCH + widest + GAP
        };
        y += LINE * lines.len().saturating_sub(1) as f64;
        y += if is_long { LINE } else { 0.0 };
    }
    let end = if x > 0.0 { y + LINE } else { y };
    (drawn, end)
}

impl Swatch {
    /// Its middle at that height.
    fn at(&self, x: f64, y: f64) -> Element {
        let across = format!("M{x:.0},{y:.0} h24");
        let middle = (x + 12.0, y);
        let group = Element::new("g").with("class", "swatch");
        match self {
            Swatch::Line(ink) => group.child(ink.line(&across)).child(ink.mark(middle)),
            Swatch::Thin(ink) => group.child(ink.line(&across)),
            Swatch::Mark(ink) => group.child(ink.mark(middle)),
            Swatch::Part(ink) => group.child(square(x, y, ink.colour(), 1.0)),
            Swatch::Shade => group.child(square(x, y, BAD, 0.3)),
            Swatch::Number(number) => {
                let foot = (x + 12.0, y + SMALL * 0.35);
                let number = line(number, foot, SMALL, Anchor::Middle);
                let upright = format!("M{x:.0},{:.0} v12", y - 6.0);
                group.child(fault_line(&upright)).child(number)
            }
        }
    }
}

/// Where something was done.
pub fn fault_line(path: &str) -> Element {
    let line = Element::new("path").with("d", path).with("fill", "none");
    let line = line.with("stroke", INK).with("stroke-dasharray", "3 3");
    line.with("class", "fault")
}

fn square(x: f64, y: f64, colour: &str, opacity: f64) -> Element {
    let square = Element::new("rect").at("x", x + 5.0).at("y", y - 6.0);
    let square = square.at("width", 14.0).at("height", 12.0);
    square.with("fill", colour).at("fill-opacity", opacity)
}
