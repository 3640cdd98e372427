//! Colours, dashes and marks of several things in one picture.

use crate::report::markup::{Element, pixels};

/// Told apart by people who see colours differently, too (Okabe and Ito 2008, without yellow and
/// black), and on a dark ground as on a light one.
const COLOURS: [&str; 8] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D46", "#7F7F7F",
];
/// What is bad: a span without service, a dip.
pub const BAD: &str = "#D55E00";
/// The colour of texts, whatever the ground.
pub const INK: &str = "currentColor";
/// Of lines, one after the other.
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];
/// Half the size of a mark, and half the bar at an interval's end.
const HALF: f64 = 4.5;
pub const CAP: f64 = 5.0;

/// How the n-th of several is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ink(usize);

impl Ink {
    pub fn of(index: usize) -> Ink {
        Ink(index)
    }

    pub fn colour(self) -> &'static str {
        COLOURS[self.0 % COLOURS.len()]
    }

    /// Whether all colours are used up: marks are hollow then.
    fn is_hollow(self) -> bool {
        self.0 >= COLOURS.len()
    }

    /// A line along a path.
    pub fn line(self, path: &str) -> Element {
        let line = stroke(path, self.colour());
        let turn = self.0 / COLOURS.len();
        match DASHES[(self.0 + turn) % DASHES.len()] {
            "" => line,
            dashes => line.with("stroke-dasharray", dashes),
        }
    }

    /// A mark; four shapes take turns.
    pub fn mark(self, (x, y): (f64, f64)) -> Element {
        let (left, top, size) = (x - HALF, y - HALF, 2.0 * HALF);
        let mark = match self.0 % 4 {
            0 => Element::new("circle").at("cx", x).at("cy", y).at("r", HALF),
            1 => {
                let square = Element::new("rect").at("x", left).at("y", top);
                square.at("width", size).at("height", size)
            }
            2 => shape(&[(x, top), (x + HALF, y + HALF), (left, y + HALF)]),
            _ => shape(&[
                (x, top - 1.0),
                (x + HALF + 1.0, y),
                (x, y + HALF + 1.0),
                (left - 1.0, y),
            ]),
        };
        let mark = mark.with("class", "mark");
        match self.is_hollow() {
            true => {
                let hollow = mark.with("fill", "none").with("stroke", self.colour());
                hollow.with("stroke-width", "2")
            }
            false => mark.with("fill", self.colour()),
        }
    }
}

/// A line of two pixels along a path.
pub fn stroke(path: &str, colour: &str) -> Element {
    let line = Element::new("path").with("d", path).with("fill", "none");
    line.with("stroke", colour).with("stroke-width", "2")
}

/// A path through places: `M1,2 3,4`.
pub fn path(places: impl IntoIterator<Item = (f64, f64)>) -> String {
    let each = places.into_iter();
    let each: Vec<String> = each
        .map(|(x, y)| format!("{},{}", pixels(x), pixels(y)))
        .collect();
    match each.is_empty() {
        true => String::new(),
        false => format!("M{}", each.join(" ")),
    }
}

fn shape(corners: &[(f64, f64)]) -> Element {
    let path = path(corners.iter().copied()) + "Z";
    Element::new("path").with("d", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sixteen_all_differ() {
        let drawn = |index: usize| {
            let ink = Ink::of(index);
            format!("{}{}", ink.mark((10.0, 10.0)), ink.line("M0,0 1,1"))
        };
        let mut all: Vec<String> = (0..16).map(drawn).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 16);
    }

    #[test]
    fn a_path_goes_through_its_places() {
        assert_eq!(path([(1.0, 2.0), (3.25, 4.0)]), "M1,2 3.3,4");
        assert_eq!(path([]), "");
    }
}
