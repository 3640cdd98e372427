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
