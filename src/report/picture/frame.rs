//! The axes of a plot: where they stand, what is written at them.

use super::ink::INK;
use super::letters::{Anchor, LINE, SMALL, line, width, wrapped};
use super::scale::Scale;
use super::sheet::WIDTH;
use crate::report::markup::{Element, pixels};

/// Between a figure and its axis, and between two figures.
const GAP: f64 = 6.0;
/// Figures at an axis, at most.
const TICKS_UP: usize = 6;
const TICKS_ACROSS: usize = 9;
/// Right of the last figure.
const RIGHT: f64 = 8.0;

/// One axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    pub title: String,
    /// From where to where; where nothing is said from zero, or below it, to the largest figure.
    pub range: Option<(f64, f64)>,
    /// Equal ratios are equally far apart.
    pub is_log: bool,
    /// Where figures stand, and what they are called; where nothing is said round ones.
    pub ticks: Option<Vec<(f64, String)>>,
}

/// Both axes, in pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub across: Scale,
    pub up: Scale,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Axis {
    /// A figure and its name for each that stands there.
    fn ticks(&self, scale: &Scale, most: usize) -> Vec<(f64, String)> {
        let Some(ticks) = &self.ticks else {
            return scale.ticks(most);
        };
        let inside = ticks.iter().filter(|(figure, _)| scale.holds(*figure));
        inside.cloned().collect()
    }

    /// Its scale for figures between these two.
    pub fn scale(&self, (least, most): (f64, f64), pixels: (f64, f64)) -> Scale {
        let range = match (self.range, self.is_log) {
            (Some(range), _) => range,
            // Some room on both sides, which is a ratio there.
            (None, true) => (least / 1.15, most * 1.15),
            (None, false) => (least.min(0.0), most.max(0.0) * 1.06),
        };
        match self.is_log {
            true => Scale::log(range, pixels),
            false => Scale::linear(range, pixels),
        }
    }
}

impl Frame {
    /// Axes for figures between these ends, the plot's own room between these heights.
    pub fn of(
        (across, of_across): (&Axis, (f64, f64)),
        (up, of_up): (&Axis, (f64, f64)),
        (top, bottom): (f64, f64),
    ) -> Frame {
        let upright = up.scale(of_up, (bottom, top));
        let names = up.ticks(&upright, TICKS_UP);
        let widths = names.iter().map(|(_, name)| width(name, SMALL));
        let left = widths.fold(0.0, f64::max) + GAP + 2.0;
        let right = WIDTH - RIGHT;
        Frame {
            across: across.scale(of_across, (left, right)),
            up: upright,
            left,
            right,
            top,
            bottom,
        }
    }

    /// Both axes with their figures and titles, and where they end.
    pub fn drawn(&self, across: &Axis, up: &Axis) -> (Vec<Element>, f64) {
        let mut drawn = vec![line(&up.title, (0.0, SMALL), SMALL, Anchor::Start)];
        drawn.push(self.axes());
        drawn.extend(self.figures_up(up));
        drawn.extend(self.figures_across(across));
        let titles = wrapped(&across.title, SMALL, WIDTH - self.left);
        let middle = (self.left + self.right) / 2.0;
        let from = self.bottom + LINE * 2.0;
        for (index, title) in titles.iter().enumerate() {
            let foot = (middle, from + LINE * index as f64);
            drawn.push(line(title, foot, SMALL, Anchor::Middle));
        }
        (drawn, from + LINE * (titles.len() as f64 - 0.5))
    }

    fn axes(&self) -> Element {
        let [left, top, bottom, right] = [self.left, self.top, self.bottom, self.right].map(pixels);
        let path = format!("M{left},{top} V{bottom} H{right}");
        let axes = Element::new("path").with("d", path).with("fill", "none");
        axes.with("stroke", INK).with("class", "axis")
    }

    fn figures_up(&self, up: &Axis) -> Vec<Element> {
        let mut drawn = Vec::new();
        let mut last = f64::INFINITY;
        for (figure, name) in up.ticks(&self.up, TICKS_UP) {
            let y = self.up.at(figure);
            if y + LINE > last {
                continue;
            }
            last = y;
            drawn.push(self.grid(y));
            let foot = (self.left - GAP, y + SMALL * 0.35);
            drawn.push(line(&name, foot, SMALL, Anchor::End));
        }
        drawn
    }

    fn grid(&self, y: f64) -> Element {
        let [left, right, y] = [self.left, self.right, y].map(pixels);
        let path = format!("M{left},{y} H{right}");
        let grid = Element::new("path").with("d", path).with("class", "grid");
        grid.with("stroke", INK).with("stroke-opacity", "0.15")
    }

    /// Those that would touch the one before are left out.
    fn figures_across(&self, across: &Axis) -> Vec<Element> {
        let mut drawn = Vec::new();
        let mut end = f64::NEG_INFINITY;
        for (figure, name) in across.ticks(&self.across, TICKS_ACROSS) {
            let x = self.across.at(figure);
            let half = width(&name, SMALL) / 2.0;
            if x - half < end + GAP || x + half > WIDTH {
                continue;
            }
            end = x + half;
            let path = format!("M{},{} v5", pixels(x), pixels(self.bottom));
            let tick = Element::new("path").with("d", path).with("class", "tick");
            drawn.push(tick.with("stroke", INK));
            let foot = (x, self.bottom + LINE);
            drawn.push(line(&name, foot, SMALL, Anchor::Middle));
        }
        drawn
    }
}
