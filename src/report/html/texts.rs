//! Sentences as elements.

use crate::report::markup::Element;

/// A paragraph; what stands between backticks is what to type.
pub fn paragraph(text: &str) -> Element {
    Element::new("p").children(typed(text))
}

/// A list of sentences.
pub fn sentences(all: impl IntoIterator<Item = String>) -> Element {
    let line = |text: String| Element::new("li").children(typed(&text));
    let list = Element::new("ul").with("class", "sentences");
    list.children(all.into_iter().map(line))
}

fn typed(text: &str) -> Vec<Element> {
    let parts = text.split('`').enumerate();
    let part = |(place, text): (usize, &str)| {
        let name = if place % 2 == 1 { "code" } else { "span" };
        Element::new(name).text(text)
    };
    parts
        .filter(|(_, text)| !text.is_empty())
        .map(part)
        .collect()
}
