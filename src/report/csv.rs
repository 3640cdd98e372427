//! One row per cell, every figure in its own column, units in the titles.

use super::columns::figures;
use super::entry::Entry;
use super::figure::Figure;
use crate::analysis::Summary;

/// RFC 4180, with a row of titles.
pub fn render(summary: &Summary) -> String {
    let mut figures = figures(summary);
    figures.retain(|figure| !figure.name.is_empty());
    let mut text = row(figures.iter().flat_map(titles));
    for cell in &summary.cells {
        text += &row(figures
            .iter()
            .flat_map(|figure| fields(figure, &(figure.entry)(cell))));
    }
    text
}

/// A line of them.
pub fn row(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
    fields.join(",") + "\r\n"
}

fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

fn titles(figure: &Figure) -> Vec<String> {
    let name = &figure.name;
    match figure.is_estimate {
        true => ["median", "low", "high"]
            .map(|end| format!("{name}_{end}"))
            .into(),
        false => vec![name.clone()],
    }
}

/// As many as there are titles; empty where there is no figure.
fn fields(figure: &Figure, entry: &Entry) -> Vec<String> {
    let (median, ends) = match entry.plain() {
        Entry::Words(words) => return vec![words.clone()],
        Entry::Quantity(quantity) => (Some(quantity.number), quantity.ends),
        _ => (None, None),
    };
    let (low, high) = ends.unzip();
    let numbers = match figure.is_estimate {
        true => vec![median, low, high],
        false => vec![median],
    };
    let text = |number: Option<f64>| number.map_or_else(String::new, |n| n.to_string());
    numbers.into_iter().map(text).collect()
}
