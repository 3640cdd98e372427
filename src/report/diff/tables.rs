//! Figures and faults of both records, what matters first.

use super::names;
use crate::analysis::diff::quantity::Quantity;
use crate::analysis::diff::told::{Diff, Figure, Losses, Open, TrialsHeld, Verdict};
use crate::analysis::interval::Estimate;
use crate::report::entry::{Entry, Mark};
use crate::report::numbers::Unit;
use crate::report::page::{Block, Table};

/// A table has no more rows for people; CSV has all.
const ROWS_MAX: usize = 100;

/// What stands under one heading.
pub struct Part {
    pub heading: &'static str,
    /// Whether it is what a reader came for.
    pub is_news: bool,
    pub blocks: Vec<Block>,
}

/// Each under its heading; none without rows.
pub fn parts(diff: &Diff) -> Vec<Part> {
    let of = |verdicts: &[Verdict]| {
        let all = diff.figures.iter();
        let found = all.filter(|figure| verdicts.contains(&figure.verdict));
        found.collect::<Vec<&Figure>>()
    };
    let differ = blocks(&of(&[Verdict::Worse, Verdict::Better]), verdict);
    let open = blocks(&of(&[Verdict::CannotTell]), shown_from);
    let alike = blocks(&of(&[Verdict::Alike]), |_| Entry::NOTHING);
    let parts = [
        ("Worse and better in B", true, differ),
        ("Lost after faults", true, trials(&diff.trials)),
        ("Cannot be told", false, open),
        ("Alike", false, alike),
    ];
    let there = parts
        .into_iter()
        .filter(|(_, _, blocks)| !blocks.is_empty());
    let part = |(heading, is_news, blocks)| Part {
        heading,
        is_news,
        blocks,
    };
    there.map(part).collect()
}

/// What stands in a table's last columns.
type Last = fn(&Figure) -> Entry;

fn blocks(figures: &[&Figure], last: Last) -> Vec<Block> {
    if figures.is_empty() {
        return vec![];
    }
    let mut table = Table::new(&[
        ("mode", true),
        ("load", true),
        ("figure", true),
        ("A", false),
        ("B", false),
        ("B over A", false),
        ("", true),
    ]);
    let rows = figures.iter().take(ROWS_MAX);
    table.rows = rows.map(|figure| row(figure, last(figure))).collect();
    let more = figures.len().saturating_sub(ROWS_MAX);
    let more = (more > 0).then(|| format!("and {more} more: --format csv has all"));
    let notes = more.map(|line| Block::Notes(vec![line]));
    let table = Block::Table(table.without_empty_columns());
    std::iter::once(table).chain(notes).collect()
}

fn row(figure: &Figure, last: Entry) -> Vec<Entry> {
    let label = names::both(&figure.place.label, figure.label_b.as_ref());
    let of = |value: Option<f64>| Entry::number(value, unit(figure.quantity));
    let held = held(figure);
    let is_shared = figure.is_shared && !held.is_nothing();
    vec![
        Entry::from(label).marked(names::is_doubtful(figure), Mark::Doubt),
        names::load(&figure.place).into(),
        figure.quantity.word().into(),
        of(figure.a),
        of(figure.b),
        held.marked(is_shared, Mark::Shared),
        last,
    ]
}

fn unit(quantity: Quantity) -> Unit {
    match quantity {
        Quantity::Throughput => Unit::Number(0),
        Quantity::P50 | Quantity::P95 | Quantity::P99 | Quantity::Cpu => Unit::Time,
        Quantity::Flushes | Quantity::RoundTrips => Unit::Trips,
    }
}

/// `1.32 1.18–1.47`, and of round trips `+0.50 ±0.04`.
fn held(figure: &Figure) -> Entry {
    match (figure.ratio, figure.difference) {
        (Some(ratio), _) => Entry::range(Some(ratio), Unit::Ratio),
        (None, Some(less)) if less.median < 0.0 => {
            // Turned round, its ends change places.
            let turned = Estimate {
                median: -less.median,
                low: less.high.map(|end| -end),
                high: less.low.map(|end| -end),
            };
            Entry::plus_minus(Some(turned.into()), Unit::Trips).marked(true, Mark::Less)
        }
        (None, Some(more)) => {
            Entry::plus_minus(Some(more.into()), Unit::Trips).marked(true, Mark::More)
        }
        (None, None) => Entry::NOTHING,
    }
}

fn verdict(figure: &Figure) -> Entry {
    names::verdict(figure.verdict).into()
}

/// `shown from 12.3 %`, or why there is no interval.
fn shown_from(figure: &Figure) -> Entry {
    let unit = match figure.quantity {
        Quantity::RoundTrips => Unit::Trips,
        _ => Unit::Share,
    };
    let smallest = figure.smallest_shown.map(|least| {
        let least = Entry::number(Some(least), unit);
        format!("shown from {least}")
    });
    // A wide interval tells so itself.
    let why = figure
        .open
        .filter(|open| *open != Open::Wide)
        .map(names::why);
    let said: Vec<String> = why.into_iter().chain(smallest).collect();
    said.join("; ").into()
}

fn trials(trials: &[TrialsHeld]) -> Vec<Block> {
    if trials.is_empty() {
        return vec![];
    }
    let mut table = Table::new(&[
        ("mode", true),
        ("fault", true),
        ("A lost in", false),
        ("B lost in", false),
        ("A", true),
        ("B", true),
        ("B is", true),
    ]);
    let row = |one: &TrialsHeld| {
        let cells = [
            names::both(&one.label, one.label_b.as_ref()),
            one.fault.clone(),
            lost(one.a),
            lost(one.b),
            one.a.verdict.word().to_owned(),
            one.b.verdict.word().to_owned(),
            names::verdict(one.verdict).to_owned(),
        ];
        cells.map(Entry::from).to_vec()
    };
    table.rows = trials.iter().map(row).collect();
    let note = "lost in: trials with something lost, of those that showed it or showed that there \
                was none. They part where chance alone would do so too rarely (Fisher's exact \
                test), as one of all figures.";
    vec![Block::Table(table), Block::Notes(vec![note.to_owned()])]
}

fn lost(losses: Losses) -> String {
    format!("{} of {}", losses.with_loss, losses.trials)
}
