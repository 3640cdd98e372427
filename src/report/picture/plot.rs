//! Lines and points over two axes, with their intervals, shaded spans and what was done when.

use super::frame::{Axis, Frame};
use super::ink::{BAD, CAP, Ink, path, stroke};
use super::legend::{Item, Swatch, fault_line, rows};
use super::letters::{Anchor, LINE, SMALL, line, width};
use super::scale::{Scale, short};
use super::sheet::Picture;
use crate::report::markup::{Element, pixels};

/// Of the room between the axes.
const HEIGHT: f64 = 240.0;
/// A line without marks has so many points at most: of more, the least and the most of each few.
const POINTS_MAX: usize = 480;
/// Rows of numbers above steps that were done at nearly the same time.
const ROWS_MAX: usize = 4;
const NOTHING: &str = "Nothing here was measured that could be drawn.";

/// A picture over two axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plot {
    pub across: Axis,
    pub up: Axis,
    pub series: Vec<Series>,
    pub spans: Vec<Span>,
    pub uprights: Vec<Upright>,
}

/// What belongs together, under one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub name: String,
    pub way: Way,
    /// From left to right.
    pub points: Vec<Point>,
}

/// How it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Joined, each point with its mark and interval.
    Line,
    /// Marks and intervals alone.
    Points,
    /// Joined, without marks.
    Thin,
    /// As steps, each from its own point to the next.
    Steps,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Point {
    pub across: f64,
    pub up: f64,
    /// Of its interval.
    pub ends: Option<(f64, f64)>,
    /// What it says to those who point at it.
    pub told: String,
}

/// A shaded span, named below; spans of one name are named once.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub from: f64,
    pub to: f64,
    pub name: String,
}

/// Something that was done, by its number; named below.
#[derive(Debug, Clone, PartialEq)]
pub struct Upright {
    pub at: f64,
    pub number: String,
    pub name: String,
}

impl Plot {
    /// Drawn; words where there is no figure.
    pub fn picture(mut self, title: &str) -> Picture {
        self.leave_out_nonsense();
        let Some((of_across, of_up)) = self.ends() else {
            return Picture::of_words(title, NOTHING);
        };
        // Narrower than the axis will be: there are no more rows then than here.
        let narrow = self.across.scale(of_across, (0.0, 400.0));
        let rows_above = self.numbers(&narrow).len();
        let top = LINE + 6.0 + LINE * rows_above as f64;
        let heights = (top, top + HEIGHT);
        let frame = Frame::of((&self.across, of_across), (&self.up, of_up), heights);
        let (axes, end) = frame.drawn(&self.across, &self.up);
        let mut inside = vec![
            Element::new("g")
                .with("class", "axes")
                .with("data-across", &self.across.title[..])
                .with("data-up", &self.up.title[..])
                .children(axes),
        ];
        inside.extend(self.spans.iter().map(|span| shaded(&frame, heights, span)));
        let uprights = self.uprights.iter();
        inside.extend(uprights.map(|upright| done(&frame, heights, upright)));
        inside.extend(self.numbered(&frame, top));
        let series = self.series.iter().enumerate();
        inside.extend(series.map(|(index, series)| drawn(&frame, Ink::of(index), series)));
        let (legend, height) = rows(&self.legend(), end + 8.0);
        inside.push(Element::new("g").with("class", "legend").children(legend));
        Picture::new(title, &self.says(), height + 4.0, inside)
    }

    /// What is no number has no place.
    fn leave_out_nonsense(&mut self) {
        let is_sound = |point: &Point| {
            let is_on = !self.across.is_log || point.across > 0.0;
            point.across.is_finite() && point.up.is_finite() && is_on
        };
        for series in &mut self.series {
            series.points.retain(is_sound);
            for point in &mut series.points {
                let ends = point.ends;
                point.ends = ends.filter(|(low, high)| low.is_finite() && high.is_finite());
            }
        }
        self.series.retain(|series| !series.points.is_empty());
        let are_sound = |span: &Span| span.from.is_finite() && span.to.is_finite();
        self.spans.retain(are_sound);
        self.uprights.retain(|upright| upright.at.is_finite());
    }

    /// The least and the most of both axes; `None` without a point.
    fn ends(&self) -> Option<((f64, f64), (f64, f64))> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let spans = self.spans.iter().flat_map(|span| [span.from, span.to]);
        let done = self.uprights.iter().map(|upright| upright.at);
        let across = points().map(|point| point.across);
        let up = points().flat_map(|point| {
            let (low, high) = point.ends.unwrap_or((point.up, point.up));
            [point.up, low, high]
        });
        Some((range(across.chain(spans).chain(done))?, range(up)?))
    }

    /// Which uprights have their numbers in which row, so that no two touch.
    fn numbers(&self, across: &Scale) -> Vec<Vec<&Upright>> {
        let mut rows: Vec<(f64, Vec<&Upright>)> = Vec::new();
        let mut all: Vec<&Upright> = self.uprights.iter().collect();
        all.sort_by(|one, other| one.at.total_cmp(&other.at));
        for upright in all {
            let x = across.at(upright.at);
            let half = width(&upright.number, SMALL) / 2.0 + 2.0;
            let is_full = rows.len() >= ROWS_MAX;
            match rows.iter_mut().find(|(end, _)| *end <= x - half) {
                Some((end, row)) => {
                    *end = x + half;
                    row.push(upright);
                }
                // The legend still names it.
                None if is_full => {}
                None => rows.push((x + half, vec![upright])),
            }
        }
        rows.into_iter().map(|(_, row)| row).collect()
    }

    fn numbered(&self, frame: &Frame, top: f64) -> Vec<Element> {
        let rows = self.numbers(&frame.across);
        let numbers = rows.into_iter().enumerate().flat_map(|(row, uprights)| {
            let foot = top - 5.0 - LINE * row as f64;
            let number = move |upright: &Upright| {
                let place = (frame.across.at(upright.at), foot);
                let number = line(&upright.number, place, SMALL, Anchor::Middle);
                number.with("class", "number")
            };
            uprights.into_iter().map(number).collect::<Vec<_>>()
        });
        numbers.collect()
    }

    fn legend(&self) -> Vec<Item> {
        let swatch = |index: usize, way: Way| match way {
            Way::Line => Swatch::Line(Ink::of(index)),
            Way::Points => Swatch::Mark(Ink::of(index)),
            Way::Thin | Way::Steps => Swatch::Thin(Ink::of(index)),
        };
        let series = self.series.iter().enumerate();
        let series = series.map(|(index, series)| Item {
            swatch: swatch(index, series.way),
            name: series.name.clone(),
        });
        let mut names: Vec<&str> = self.spans.iter().map(|span| &span.name[..]).collect();
        names.dedup();
        let spans = names.into_iter().map(|name| Item {
            swatch: Swatch::Shade,
            name: name.to_owned(),
        });
        let done = self.uprights.iter().map(|upright| Item {
            swatch: Swatch::Number(upright.number.clone()),
            name: upright.name.clone(),
        });
        series.chain(spans).chain(done).collect()
    }

    /// For those who do not see it.
    fn says(&self) -> String {
        let series = self.series.iter().map(|series| match series.way {
            Way::Line | Way::Points => {
                let told = series.points.iter().map(|point| &point.told[..]);
                format!("{}: {}", series.name, told.collect::<Vec<_>>().join("; "))
            }
            Way::Thin | Way::Steps => {
                format!("{}: a line of {} points", series.name, series.points.len())
            }
        });
        let done = self.uprights.iter();
        let done = done.map(|upright| format!("{} {}", upright.number, upright.name));
        let all: Vec<String> = series.chain(done).collect();
        format!(
            "{} over {}. {}.",
            self.up.title,
            self.across.title,
            all.join(". ")
        )
    }
}

fn range(figures: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    figures.fold(None, |ends, figure| match ends {
        None => Some((figure, figure)),
        Some((least, most)) => Some((f64::min(least, figure), f64::max(most, figure))),
    })
}

/// One series, in a group of its own that can be switched off.
fn drawn(frame: &Frame, ink: Ink, series: &Series) -> Element {
    let group = Element::new("g").with("class", "series");
    let group = group.with("data-name", &series.name[..]);
    let place = |point: &Point| (frame.across.at(point.across), frame.up.at(point.up));
    let through = |points: &[Point]| ink.line(&path(points.iter().map(place)));
    let marks = || {
        series
            .points
            .iter()
            .map(|point| marked(frame, ink, place(point), point))
    };
    match series.way {
        Way::Line => group.child(through(&series.points)).children(marks()),
        Way::Points => group.children(marks()),
        Way::Thin => {
            let points = thinned(&series.points);
            figured(group, &points).child(through(&points))
        }
        Way::Steps => {
            let points = thinned(&series.points);
            let path = steps(points.iter().map(place));
            figured(group, &points).child(ink.line(&path))
        }
    }
}

/// With the figure of each corner of its line, for those who point at it: `0.5:752 1.5:748 …`
fn figured(group: Element, points: &[Point]) -> Element {
    let each = points.iter();
    let each = each.map(|point| format!("{}:{}", short(point.across), short(point.up)));
    group.with("data-figures", each.collect::<Vec<_>>().join(" "))
}

/// `M1,9 H2 V5 …`
fn steps(places: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in places {
        let (x, y) = (pixels(x), pixels(y));
        match path.is_empty() {
            true => path = format!("M{x},{y}"),
            false => path += &format!(" H{x} V{y}"),
        }
    }
    path
}

/// The interval below its mark, which says its figure.
fn marked(frame: &Frame, ink: Ink, (x, y): (f64, f64), point: &Point) -> Element {
    let group = Element::new("g").with("class", "point");
    let group = match point.ends {
        Some((low, high)) => {
            let [from, to] = [low, high].map(|end| pixels(frame.up.at(end)));
            let [left, middle, right] = [x - CAP, x, x + CAP].map(pixels);
            let line =
                format!("M{middle},{from} V{to} M{left},{from} H{right} M{left},{to} H{right}");
            let interval = stroke(&line, ink.colour()).with("class", "interval");
            group.child(interval)
        }
        None => group,
    };
    let told = Element::new("title").text(&point.told[..]);
    group.child(ink.mark((x, y))).child(told)
}

fn shaded(frame: &Frame, (top, bottom): (f64, f64), span: &Span) -> Element {
    let [from, to] = [span.from, span.to].map(|figure| frame.across.at(figure));
    let band = Element::new("rect").at("x", from).at("y", top);
    let band = band.at("width", to - from).at("height", bottom - top);
    let band = band.with("fill", BAD).with("fill-opacity", "0.18");
    band.with("class", "span")
}

fn done(frame: &Frame, (top, bottom): (f64, f64), upright: &Upright) -> Element {
    let x = pixels(frame.across.at(upright.at));
    let path = format!("M{x},{} V{}", pixels(top), pixels(bottom));
    let told = format!("{} {}", upright.number, upright.name);
    let told = Element::new("title").text(told);
    Element::new("g").child(fault_line(&path)).child(told)
}

/// Of each few points the least and the most, so that no dip is lost.
fn thinned(points: &[Point]) -> Vec<Point> {
    if points.len() <= POINTS_MAX {
        return points.to_vec();
    }
    let few = points.chunks((points.len() * 2).div_ceil(POINTS_MAX));
    let both = few.flat_map(|few| {
        let up = |one: &&Point, other: &&Point| one.up.total_cmp(&other.up);
        let mut both: Vec<&Point> = [few.iter().min_by(up), few.iter().max_by(up)]
            .into_iter()
            .flatten()
            .collect();
        both.sort_by(|one, other| one.across.total_cmp(&other.across));
        both
    });
    both.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(length: usize) -> Vec<Point> {
        let point = |second: usize| Point {
            across: second as f64,
            up: if second == 777 {
                0.0
            } else {
                1_000.0 + (second % 7) as f64
            },
            ..Point::default()
        };
        (0..length).map(point).collect()
    }

    #[test]
    fn a_long_course_keeps_its_dips() {
        let thin = thinned(&course(5_000));
        assert!(thin.len() <= POINTS_MAX, "{}", thin.len());
        assert!(thin.iter().any(|point| point.up == 0.0));
        let is_in_order = |pair: &[Point]| pair[0].across <= pair[1].across;
        assert!(thin.windows(2).all(is_in_order));
        assert_eq!(thinned(&course(100)).len(), 100);
    }

    #[test]
    fn numbers_of_steps_at_one_time_do_not_touch() {
        let upright = |at: f64, number: usize| Upright {
            at,
            number: number.to_string(),
            name: "power cut".to_owned(),
        };
        let plot = Plot {
            uprights: vec![upright(1.0, 1), upright(1.01, 2), upright(5.0, 3)],
            ..Plot::default()
        };
        let rows = plot.numbers(&Scale::linear((0.0, 10.0), (0.0, 500.0)));
        let counts: Vec<usize> = rows.iter().map(Vec::len).collect();
        assert_eq!(counts, [2, 1]);
    }
}
