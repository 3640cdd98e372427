//! A whole picture.

use super::ink::INK;
use super::letters::{Anchor, LINE, TEXT, line, wrapped};
use crate::report::markup::{Element, pixels};

/// Of every picture, in pixels. It is scaled to where it stands: on a screen of 400 pixels letters
/// are still ten pixels high.
pub const WIDTH: f64 = 480.0;
/// Around everything in a file.
const MARGIN: f64 = 10.0;
const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, \
                    sans-serif";
/// What a reader without style sheets sees: a light ground.
const GROUND: &str = "#ffffff";
const DARK_INK: &str = "#1b1f24";
/// A dark ground for those who ask for one.
const STYLE: &str = include_str!("picture.css");
const NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// A picture, drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// What it shows, in a line.
    title: String,
    /// The same for those who do not see it, with its figures.
    says: String,
    /// Without what stands around it, in tenths of a pixel.
    height: u32,
    inside: Vec<Element>,
}

impl Picture {
    /// A picture of that height in pixels, [`WIDTH`] wide.
    pub fn new(title: &str, says: &str, height: f64, inside: Vec<Element>) -> Picture {
        Picture {
            title: title.to_owned(),
            says: says.to_owned(),
            height: (height.clamp(LINE, 1e6) * 10.0) as u32,
            inside,
        }
    }

    /// Words where there is nothing to draw.
    pub fn of_words(title: &str, words: &str) -> Picture {
        let lines = wrapped(words, TEXT, WIDTH);
        let inside = text_lines(&lines, 0.0);
        Picture::new(title, words, LINE * lines.len() as f64 + 6.0, inside)
    }

    /// A file of its own, with its title above and a ground below everything.
    pub fn file(&self) -> String {
        let whole = WIDTH + 2.0 * MARGIN;
        let title = wrapped(&self.title, TEXT, WIDTH);
        let above = MARGIN + LINE * title.len() as f64 + 8.0;
        let height = above + self.height() + MARGIN;
        let ground = Element::new("rect")
            .with("class", "ground")
            .with("fill", GROUND);
        let ground = ground.at("width", whole).at("height", height);
        let heading = Element::new("g").with("font-weight", "600");
        let heading = heading
            .children(text_lines(&title, MARGIN))
            .with("class", "heading");
        let shift = |y: f64| format!("translate({} {})", pixels(MARGIN), pixels(y));
        let place = |y: f64, element: Element| element.with("transform", shift(y));
        let body = Element::new("g").children(self.inside.iter().cloned());
        let svg = Element::new("svg").with("xmlns", NAMESPACE);
        let svg = self.framed(svg, (whole, height)).with("role", "img");
        let svg = svg.at("width", whole).at("height", height);
        let svg = svg.with("font-family", FONT).with("color", DARK_INK);
        let svg = svg.child(Element::new("title").text(&self.title[..]));
        let svg = svg.child(Element::new("desc").text(&self.says[..]));
        let svg = svg.child(Element::new("style").ours(STYLE)).child(ground);
        svg.children([place(0.0, heading), place(above, body)])
            .to_string()
    }

    /// A part of a page, whose caption says what it shows. `id` begins the names of its parts.
    pub fn inline(&self, id: &str) -> Element {
        let (title, says) = (format!("{id}-title"), format!("{id}-says"));
        let named =
            |name: &'static str, id: &str, text: &str| Element::new(name).with("id", id).text(text);
        let svg = self.framed(Element::new("svg"), (WIDTH, self.height()));
        let svg = svg.with("role", "img");
        let svg = svg
            .with("aria-labelledby", &title[..])
            .with("aria-describedby", &says[..]);
        let svg = svg.child(named("title", &title, &self.title));
        let svg = svg.child(named("desc", &says, &self.says));
        svg.children(self.inside.iter().cloned())
    }

    fn height(&self) -> f64 {
        f64::from(self.height) / 10.0
    }

    fn framed(&self, svg: Element, (width, height): (f64, f64)) -> Element {
        let view = format!("0 0 {} {}", pixels(width), pixels(height));
        let svg = svg.with("class", "picture").with("viewBox", view);
        svg.at("font-size", TEXT).with("fill", INK)
    }
}

/// Lines of text from a height on.
fn text_lines(lines: &[String], from: f64) -> Vec<Element> {
    let foot = |index: usize| from + LINE * (index as f64 + 0.8);
    let lines = lines.iter().enumerate();
    lines
        .map(|(index, text)| line(text, (0.0, foot(index)), TEXT, Anchor::Start))
        .collect()
}
