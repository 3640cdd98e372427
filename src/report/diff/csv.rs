//! A row for each figure, what matters first.

use super::names;
use crate::analysis::diff::told::{Diff, Figure};
use crate::analysis::interval::Estimate;
use crate::analysis::summary::FlagCount;
use crate::report::csv::row;
use crate::report::label;

/// Titles; a quantity's name has the unit of `a` and `b`.
const TITLES: [&str; 25] = [
    "verdict",
    "quantity",
    "label",
    "label_b",
    "workload",
    "connections",
    "distances",
    "disks",
    "client_site",
    "moved",
    "rounds_a",
    "rounds_b",
    "a",
    "b",
    "ratio_median",
    "ratio_low",
    "ratio_high",
    "difference_median",
    "difference_low",
    "difference_high",
    "smallest_shown",
    "open",
    "shared",
    "flags_a",
    "flags_b",
];

/// RFC 4180, with a row of titles.
pub fn render(diff: &Diff) -> String {
    let mut text = row(TITLES.map(str::to_owned).into_iter());
    for figure in &diff.figures {
        text += &row(fields(figure).into_iter());
    }
    text
}

fn fields(figure: &Figure) -> Vec<String> {
    let place = &figure.place;
    let words = |words: &Option<String>| words.clone().unwrap_or_default();
    let mut fields = vec![
        names::verdict(figure.verdict).to_owned(),
        figure.quantity.name().to_owned(),
        place.label.clone(),
        words(&figure.label_b),
        place.workload.clone(),
        place
            .connections
            .map_or_else(String::new, |many| many.to_string()),
        words(&place.distances),
        words(&place.disks),
        words(&place.client_site),
        words(&place.moved),
        figure.rounds_a.to_string(),
        figure.rounds_b.to_string(),
        number(figure.a),
        number(figure.b),
    ];
    fields.extend(ends(figure.ratio));
    fields.extend(ends(figure.difference));
    fields.extend([
        number(figure.smallest_shown),
        figure.open.map_or_else(String::new, names::why),
        figure.is_shared.to_string(),
        flags(&figure.flags_a),
        flags(&figure.flags_b),
    ]);
    fields
}

fn number(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

fn ends(of: Option<Estimate>) -> [String; 3] {
    let ends = [
        of.map(|of| of.median),
        of.and_then(|of| of.low),
        of.and_then(|of| of.high),
    ];
    ends.map(number)
}

fn flags(flags: &[FlagCount]) -> String {
    let flags: Vec<String> = flags.iter().map(label::flag).collect();
    flags.join("; ")
}
