//! What an article could not see: figures that its tool has no word for, as sentences.

use super::figure::{value, words};
use super::rule::compared;
use super::select::{Points, distinct};
use crate::plan::Axis;
use crate::study::articles::{Compared, Quantity, Unseen};

/// The sentences of one kind, as far as it was measured.
pub fn sentences(points: Points, unseen: &Unseen) -> Vec<String> {
    match unseen {
        Unseen::Each {
            say,
            of,
            figure,
            times,
        } => {
            let line = |quantity| {
                let what = say.as_deref().unwrap_or(words(quantity).0);
                sentence(what, each(points, of, quantity, times.unwrap_or(1.0)))
            };
            figure.iter().filter_map(line).collect()
        }
        Unseen::Ratios { say, pairs } => sentence(say, ratios(points, pairs)).into_iter().collect(),
        Unseen::Words { of, say } => {
            let is_there = !points.measured(of).is_empty();
            is_there.then(|| say.clone()).into_iter().collect()
        }
    }
}

fn sentence(what: &str, figures: Vec<String>) -> Option<String> {
    (!figures.is_empty()).then(|| format!("{what}: {}.", figures.join(", ")))
}

/// `group 1.05`, `async 0.02`: one for each row, for a label stands once in a sentence. None if it
/// is zero in all of them, but for the time to catch up.
fn each(points: Points, names: &str, quantity: &Quantity, times: f64) -> Vec<String> {
    let mut cells = points.measured(names);
    cells.sort_by_key(|cell| cell.point.row);
    let cells = distinct(cells, &[Axis::Row]).into_iter();
    let figure = |cell| Some((cell, value(cell, quantity, points)?.value * times));
    let all: Vec<_> = cells.filter_map(figure).collect();
    let tells = *quantity == Quantity::CatchUp || all.iter().any(|(_, value)| *value != 0.0);
    let told = all.iter().filter(|_| tells);
    told.map(|(cell, value)| format!("{} {}", cell.label, short(*value)))
        .collect()
}

fn ratios(points: Points, pairs: &[Compared]) -> Vec<String> {
    let figures = pairs.iter().flat_map(|pair| compared(points, pair));
    let told = figures.map(|figure| {
        let [value, low, high] = [figure.value, figure.low, figure.high].map(short);
        format!("{} {value} {} ({low} to {high})", figure.what, figure.unit)
    });
    told.collect()
}

/// Three digits at most.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
