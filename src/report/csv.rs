//! One row per cell, every figure in its own column, units in the titles.

use super::columns::{Figure, figures};
use super::entry::Entry;
use crate::analysis::Summary;

/// RFC 4180, with a row of titles.
pub fn render(summary: &Summary) -> String {
    let figures = figures(summary);
    let mut text = row(figures.iter().flat_map(titles));
    for cell in &summary.cells {
        text += &row(figures
            .iter()
            .flat_map(|figure| fields(figure, &(figure.entry)(cell))));
    }
    text
}

fn row(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
    fields.join(",") + "\r\n"
}

fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

/// None of a figure that only tables have.
fn titles(figure: &Figure) -> Vec<String> {
    let name = figure.name.iter();
    match figure.is_estimate {
        true => name
            .flat_map(|name| ["median", "low", "high"].map(|end| format!("{name}_{end}")))
            .collect(),
        false => name.cloned().collect(),
    }
}

/// As many as there are titles; empty where there is no figure.
fn fields(figure: &Figure, entry: &Entry) -> Vec<String> {
    let quantity = entry.quantity();
    let median = quantity.map(|quantity| quantity.number);
    let ends = quantity.and_then(|quantity| quantity.ends());
    let text = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
    match (&figure.name, entry) {
        (None, _) => vec![],
        (_, Entry::Words(words)) => vec![words.clone()],
        _ if figure.is_estimate => [median, ends.map(|ends| ends.0), ends.map(|ends| ends.1)]
            .map(text)
            .into(),
        _ => vec![text(median)],
    }
}
