//! Bars below their names: one for each of several, of one part or of several parts in a row.

use super::ink::{INK, Ink, stroke};
use super::legend::{Item, Swatch, rows};
use super::letters::{Anchor, LINE, SMALL, TEXT, line, width, wrapped};
use super::scale::Scale;
use super::sheet::{Picture, WIDTH};
use crate::report::markup::{Element, pixels};

/// Of a bar, of the space below it, and half of the small bar at an interval's end.
const HEIGHT: f64 = 14.0;
const BELOW: f64 = 12.0;
const CAP: f64 = 6.0;
/// Around the scale, so that half a figure fits at both ends.
const SIDE: f64 = 18.0;
const TICKS: usize = 7;
/// Between a name and the figure on its line.
const GAP: f64 = 12.0;
const NOTHING: &str = "Nothing here was measured that could be drawn.";

/// Bars of one unit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bars {
    pub unit: String,
    /// What each part of a bar is; one without a name, where bars have no parts.
    pub parts: Vec<String>,
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bar {
    pub name: String,
    /// Their lengths, one behind the other; one that is below zero has none among several.
    pub parts: Vec<f64>,
    /// Of its interval.
    pub ends: Option<(f64, f64)>,
    /// Its figure in words, beside its name.
    pub told: String,
}

impl Bar {
    /// Where it ends; below zero too, if it has one part.
    fn length(&self) -> f64 {
        match self.parts[..] {
            [one] => one,
            _ => self.parts.iter().map(|part| part.max(0.0)).sum(),
        }
    }

    fn is_sound(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.is_finite())
    }

    fn sound_ends(&self) -> Option<(f64, f64)> {
        self.ends
            .filter(|(low, high)| low.is_finite() && high.is_finite())
    }

    /// Below its name, from a height on, and where it ends.
    fn drawn(&self, scale: &Scale, y: f64) -> (Element, f64) {
        let group = Element::new("g").with("class", "bar");
        let (heading, top) = heading(self, y);
        let mut group = group.children(heading);
        let mut from = 0.0;
        let is_alone = self.parts.len() == 1;
        for (index, part) in self.parts.iter().enumerate() {
            let to = if is_alone {
                *part
            } else {
                from + part.max(0.0)
            };
            group = group.child(part_of(scale, (index, (from, to)), top));
            from = to;
        }
        if let Some(ends) = self.sound_ends() {
            group = group.child(interval(scale, ends, top + HEIGHT / 2.0));
        }
        let told = format!("{}: {}", self.name, self.told);
        (group.child(Element::new("title").text(told)), top + HEIGHT)
    }
}

impl Bars {
    /// Drawn; words where there is no bar.
    pub fn picture(mut self, title: &str) -> Picture {
        self.bars.retain(Bar::is_sound);
        if self.bars.is_empty() {
            return Picture::of_words(title, NOTHING);
        }
        let scale = self.scale();
        let mut inside = Vec::new();
        let mut y = 0.0;
        for bar in &self.bars {
            let (drawn, end) = bar.drawn(&scale, y);
            inside.push(drawn);
            y = end + BELOW;
        }
        let (axis, end) = self.axis(&scale, y);
        inside.insert(0, Element::new("g").with("class", "axes").children(axis));
        let (legend, end) = rows(&self.legend(), end);
        inside.push(Element::new("g").with("class", "legend").children(legend));
        Picture::new(title, &self.says(), end + 4.0, inside)
    }

    fn scale(&self) -> Scale {
        let ends = self.bars.iter().flat_map(|bar| {
            let (low, high) = bar.sound_ends().unwrap_or_default();
            [bar.length(), low, high]
        });
        let (least, most) = ends.fold((0.0, 0.0), |(least, most), end| {
            (f64::min(least, end), f64::max(most, end))
        });
        Scale::linear((least, most), (SIDE, WIDTH - SIDE))
    }

    fn axis(&self, scale: &Scale, y: f64) -> (Vec<Element>, f64) {
        let [left, right, top] = [SIDE, WIDTH - SIDE, y].map(pixels);
        let path = format!("M{left},{top} H{right}");
        let axis = Element::new("path").with("d", path).with("class", "axis");
        let mut drawn = vec![axis.with("stroke", INK)];
        let mut end = f64::NEG_INFINITY;
        for (figure, name) in scale.ticks(TICKS) {
            let x = scale.at(figure);
            let half = width(&name, SMALL) / 2.0;
            if x - half < end + 6.0 || x + half > WIDTH {
                continue;
            }
            end = x + half;
            let path = format!("M{},{top} v5", pixels(x));
            let tick = Element::new("path").with("d", path).with("class", "tick");
            drawn.push(tick.with("stroke", INK));
            drawn.push(line(&name, (x, y + LINE), SMALL, Anchor::Middle));
        }
        let mut foot = y + 2.0 * LINE;
        for title in wrapped(&self.unit, SMALL, WIDTH) {
            drawn.push(line(&title, (WIDTH / 2.0, foot), SMALL, Anchor::Middle));
            foot += LINE;
        }
        (drawn, foot - LINE / 2.0)
    }

    fn legend(&self) -> Vec<Item> {
        let named = self.parts.iter().enumerate();
        let named = named.filter(|(_, name)| !name.is_empty());
        named
            .map(|(index, name)| Item {
                swatch: Swatch::Part(Ink::of(index)),
                name: name.clone(),
            })
            .collect()
    }

    /// For those who do not see it.
    fn says(&self) -> String {
        let each = self.bars.iter();
        let each: Vec<String> = each
            .map(|bar| format!("{}: {}", bar.name, bar.told))
            .collect();
        format!("{}. {}.", self.unit, each.join("; "))
    }
}

/// One part, between two figures, with its upper end at that height.
fn part_of(scale: &Scale, (index, (from, to)): (usize, (f64, f64)), y: f64) -> Element {
    let (from, to) = (scale.at(from.min(to)), scale.at(from.max(to)));
    let part = Element::new("rect").with("class", "part");
    let part = part.at("x", from).at("y", y);
    let part = part.at("width", to - from).at("height", HEIGHT);
    part.with("fill", Ink::of(index).colour())
}

/// A name, with its figure at the right of its last line or below it; and where they end.
fn heading(bar: &Bar, y: f64) -> (Vec<Element>, f64) {
    let names = wrapped(&bar.name, TEXT, WIDTH);
    let tolds = wrapped(&bar.told, TEXT, WIDTH);
    let foot = |index: usize| y + LINE * (index as f64 + 0.8);
    let last = names.last().map_or(0.0, |name| width(name, TEXT));
    let first = tolds.first().map_or(0.0, |told| width(told, TEXT));
    let is_beside = !names.is_empty() && last + GAP + first <= WIDTH;
    let below = names.len() - usize::from(is_beside);
    let name =
        |(index, name): (usize, &String)| line(name, (0.0, foot(index)), TEXT, Anchor::Start);
    let told = |(index, told): (usize, &String)| {
        let place = (WIDTH, foot(below + index));
        line(told, place, TEXT, Anchor::End).with("class", "told")
    };
    let mut drawn: Vec<Element> = names.iter().enumerate().map(name).collect();
    drawn.extend(tolds.iter().enumerate().map(told));
    let lines = names.len().max(below + tolds.len());
    (drawn, y + LINE * lines as f64 + 3.0)
}

fn interval(scale: &Scale, (low, high): (f64, f64), y: f64) -> Element {
    let [low, high] = [low, high].map(|end| pixels(scale.at(end)));
    let [top, middle, bottom] = [y - CAP, y, y + CAP].map(pixels);
    let path = format!("M{low},{middle} H{high} M{low},{top} V{bottom} M{high},{top} V{bottom}");
    stroke(&path, INK).with("class", "interval")
}
