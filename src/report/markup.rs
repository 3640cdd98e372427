//! Markup: what is opened is closed, and texts and attributes are escaped. Pictures and the page
//! are written with it.

use std::fmt;

/// Elements of HTML that have neither content nor an end.
const VOID: [&str; 4] = ["br", "input", "link", "meta"];
/// What a line may end behind, so that no file is one line alone.
const ENDS_LINE: [&str; 14] = [
    "dd", "details", "div", "dt", "figure", "g", "h2", "h3", "li", "p", "section", "svg", "table",
    "tr",
];

/// An element, its attributes and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    inside: Vec<Inside>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Inside {
    Element(Element),
    Text(String),
    /// A style sheet or a script of our own: no record's text can stand here.
    Ours(&'static str),
}

impl Element {
    /// Without anything in it.
    pub fn new(name: &'static str) -> Element {
        Element {
            name,
            attributes: vec![],
            inside: vec![],
        }
    }

    /// With an attribute.
    pub fn with(mut self, attribute: &'static str, value: impl Into<String>) -> Element {
        self.attributes.push((attribute, value.into()));
        self
    }

    /// With a length or a place, in pixels.
    pub fn at(self, attribute: &'static str, px: f64) -> Element {
        self.with(attribute, pixels(px))
    }

    /// With a text behind what is in it.
    pub fn text(mut self, text: impl Into<String>) -> Element {
        self.inside.push(Inside::Text(text.into()));
        self
    }

    /// With an element behind what is in it.
    pub fn child(mut self, child: Element) -> Element {
        self.inside.push(Inside::Element(child));
        self
    }

    /// With elements behind what is in it.
    pub fn children(mut self, children: impl IntoIterator<Item = Element>) -> Element {
        let children = children.into_iter().map(Inside::Element);
        self.inside.extend(children);
        self
    }

    /// With a style sheet or a script of our own.
    pub fn ours(mut self, text: &'static str) -> Element {
        self.inside.push(Inside::Ours(text));
        self
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.name)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"{}\"", escaped(value))?;
        }
        f.write_str(">")?;
        if VOID.contains(&self.name) {
            return Ok(());
        }
        for inside in &self.inside {
            match inside {
                Inside::Element(element) => write!(f, "{element}")?,
                Inside::Text(text) => f.write_str(&escaped(text))?,
                Inside::Ours(text) => f.write_str(text)?,
            }
        }
        write!(f, "</{}>", self.name)?;
        match ENDS_LINE.contains(&self.name) {
            true => f.write_str("\n"),
            false => Ok(()),
        }
    }
}

/// A text as it stands between tags and in attributes. What XML has no character for is U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' | '\r' => safe.push(c),
            c if c.is_control() || ['\u{FFFE}', '\u{FFFF}'].contains(&c) => safe.push('\u{FFFD}'),
            c => safe.push(c),
        }
    }
    safe
}

/// With one decimal at most. What is no number is 0: a picture never says NaN.
pub fn pixels(px: f64) -> String {
    let rounded = match px.is_finite() {
        true => (px * 10.0).round() / 10.0,
        false => 0.0,
    };
    // The sum has no minus sign where it is zero.
    (rounded + 0.0).to_string()
}

#[cfg(test)]
pub mod check;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_a_record_is_no_markup() {
        let hostile = "</p><script>alert('x & \"y\"')</script>\u{0}";
        let told = Element::new("p").with("title", hostile).text(hostile);
        let text = told.to_string();
        assert_eq!(text.matches('<').count(), 2, "{text}");
        assert!(text.contains("&lt;script&gt;alert(&#39;x &amp; &quot;y&quot;&#39;)"));
        assert!(text.contains('\u{FFFD}'), "{text}");
        assert_eq!(check::balanced(&text), Ok(()));
    }

    #[test]
    fn elements_close_in_their_order_and_void_ones_do_not() {
        let all = Element::new("div")
            .child(Element::new("meta").with("name", "x"))
            .children(["a", "b"].map(|text| Element::new("span").text(text)))
            .child(Element::new("style").ours("a > b {}"));
        let expected = "<div><meta name=\"x\"><span>a</span><span>b</span>\
                        <style>a > b {}</style></div>\n";
        assert_eq!(all.to_string(), expected);
        assert_eq!(check::balanced(expected), Ok(()));
    }

    #[test]
    fn pixels_are_short_and_always_numbers() {
        let all = [12.0, 12.34, -0.01, f64::NAN, f64::INFINITY].map(pixels);
        assert_eq!(all, ["12", "12.3", "0", "0", "0"]);
    }
}
