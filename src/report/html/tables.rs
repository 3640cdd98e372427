//! Tables as elements.

use crate::report::entry::Entry;
use crate::report::markup::Element;
use crate::report::page::{Column, Table};

/// A table that scrolls within its own frame; its caption is for those who do not see it.
pub fn element(table: &Table, caption: &str) -> Element {
    let titles = table.columns.iter().map(title);
    let head = Element::new("tr").children(titles);
    let row = |row: &Vec<Entry>| {
        let cells = table.columns.iter().zip(row).enumerate();
        let cells = cells.map(|(place, (column, entry))| cell(place, column, entry));
        Element::new("tr").children(cells)
    };
    let rows = Element::new("tbody").children(table.rows.iter().map(row));
    let caption_of = Element::new("caption")
        .with("class", "unseen")
        .text(caption);
    let grid = Element::new("table").child(caption_of);
    let grid = grid.child(Element::new("thead").child(head)).child(rows);
    scrolled(caption, grid)
}

/// Within a frame that a keyboard reaches.
pub fn scrolled(caption: &str, grid: Element) -> Element {
    let frame = Element::new("div")
        .with("class", "scroll")
        .with("tabindex", "0");
    let frame = frame.with("role", "group").with("aria-label", caption);
    frame.child(grid)
}

/// A cell of a table whose rows are cards where room is short.
pub struct Card {
    pub text: String,
    /// To what it rests on.
    pub link: Option<String>,
    /// What else is known of the cell: a class, a name.
    pub more: Vec<(&'static str, String)>,
}

/// A table whose rows become cards on a narrow screen: roles keep it one for those who hear it, and
/// each cell knows its title. The first column, `mode`, names the row.
pub fn cards(
    caption: &str,
    class: &'static str,
    titles: &[&str],
    rows: Vec<(String, Vec<Card>)>,
) -> Element {
    let head = std::iter::once(&"mode").chain(titles);
    let head = head.map(|title| named(title, "columnheader", "col"));
    let row = |(name, cells): (String, Vec<Card>)| {
        let cells = titles
            .iter()
            .zip(cells)
            .map(|(title, card)| card.element(title));
        let row = role("tr", "row").child(named(&name, "rowheader", "row"));
        row.children(cells)
    };
    let caption_of = Element::new("caption")
        .with("class", "unseen")
        .text(caption);
    let head = role("thead", "rowgroup").child(role("tr", "row").children(head));
    let body = role("tbody", "rowgroup").children(rows.into_iter().map(row));
    let grid = role("table", "table")
        .with("class", class)
        .child(caption_of);
    scrolled(caption, grid.child(head).child(body))
}

impl Card {
    fn element(self, title: &str) -> Element {
        let cell = role("td", "cell").with("data-title", title);
        let more = self.more.into_iter();
        let cell = more.fold(cell, |cell, (name, value)| cell.with(name, value));
        match self.link {
            Some(link) => cell.child(Element::new("a").with("href", link).text(self.text)),
            None => cell.text(self.text),
        }
    }
}

fn role(name: &'static str, role: &str) -> Element {
    Element::new(name).with("role", role)
}

fn named(title: &str, of: &str, scope: &str) -> Element {
    role("th", of).with("scope", scope).text(title)
}

fn title(column: &Column) -> Element {
    // A word that text breaks may be broken, and need not.
    let words = column.title.replace("-\n", "\u{AD}").replace('\n', " ");
    let element = match words.is_empty() {
        true => Element::new("td"),
        false => Element::new("th").with("scope", "col"),
    };
    numeric(element, column).text(words)
}

fn cell(place: usize, column: &Column, entry: &Entry) -> Element {
    let element = match place {
        0 => Element::new("th").with("scope", "row"),
        _ => Element::new("td"),
    };
    numeric(element, column).text(entry.to_string())
}

fn numeric(element: Element, column: &Column) -> Element {
    match column.is_words {
        true => element,
        false => element.with("class", "n"),
    }
}
