//! The one table: what is lost beside what it costs.

use crate::analysis::summary::Value;
use crate::analysis::worth::{ModeWorth, Verdict};
use crate::report::entry::{Entry, Mark, Quantity, Style};
use crate::report::numbers::Unit;
use crate::report::page::{Block, Table};

/// What stands behind a count that should not be.
const BAD: &str = "BAD";

/// A row for each campaign, and how to read it. Columns without a figure are left out.
pub fn blocks(worth: &[ModeWorth]) -> Vec<Block> {
    let mut table = Table::new(&[
        ("mode and settings", true),
        ("fault", true),
        ("acked", false),
        ("lost", false),
        ("reco-\nvered", false),
        ("phan-\ntom", false),
        ("stale\nmax", false),
        ("no\nservice", false),
        ("verdict", true),
        ("vs single", false),
        ("round\ntrips", false),
    ]);
    table.rows = worth.iter().map(row).collect();
    let has_price = worth.iter().any(|one| one.price.is_some());
    let mut notes = notes(has_price);
    notes.extend(worth.iter().filter_map(missed_by_readers));
    vec![
        Block::Table(table.without_empty_columns()),
        Block::Notes(notes),
    ]
}

fn row(one: &ModeWorth) -> Vec<Entry> {
    let (worth, counts) = (&one.worth, &one.worth.counts);
    let price = one.price.as_ref();
    let ratio = price.and_then(|price| price.rate_ratio);
    let trips = price.and_then(|price| price.round_trips);
    let ms = |ms: Option<f64>| Entry::number(ms.map(|ms| ms * 1e3), Unit::Time);
    let no_service_us = worth.no_service_s_max.map(|s| s * 1e6);
    let label = match one.is_control {
        true => format!("control: {}", one.label),
        false => one.label.clone(),
    };
    vec![
        label.into(),
        worth.fault[..].into(),
        Entry::count(counts.acknowledged),
        bad(counts.lost, counts.lost_promised > 0),
        Entry::count(counts.recovered),
        bad(counts.phantom_reads, counts.phantom_promised > 0),
        ms(worth.stale_ms_max),
        Entry::number(no_service_us, Unit::Time)
            .marked(worth.trials_without_return > 0, Mark::AtLeast),
        verdict(one).into(),
        brief(ratio.map(Value::from), Unit::Ratio),
        brief(trips, Unit::Trips),
    ]
}

fn bad(count: usize, is_bad: bool) -> Entry {
    match is_bad {
        true => format!("{count} {BAD}").into(),
        false => Entry::count(count),
    }
}

/// A figure with its interval as ±, in little room.
pub fn brief(value: Option<Value>, unit: Unit) -> Entry {
    let quantity = value.map(|value| Quantity {
        style: Style::Brief,
        ..Quantity::plus_minus(value, unit)
    });
    quantity.into()
}

/// Of a control whether it fired; it is no promise that is tried there.
fn verdict(one: &ModeWorth) -> String {
    let word = one.worth.verdict.word();
    match &one.worth.control {
        Some(came) if came.has_fired() && one.worth.verdict != Verdict::Undecided => {
            format!("control fired ({word})")
        }
        Some(came) if !came.has_fired() => "control silent".to_owned(),
        _ => word.to_owned(),
    }
}

/// What no look went back to.
fn missed_by_readers(one: &ModeWorth) -> Option<String> {
    let (count, label, fault) = (one.worth.missed_by_readers, &one.label, &one.worth.fault);
    (count > 0).then(|| {
        format!("{label}, {fault}: no look went back to {count} commits: in no figure of staleness")
    })
}

fn notes(has_price: bool) -> Vec<String> {
    let mut notes = vec![
        "acked: acknowledged to a client. lost: acknowledged, and not there in the end; BAD where \
         it was promised"
            .to_owned(),
        "recovered: never answered, and there: innocent. phantom: seen by a reader, not refused, \
         and not there in the end; BAD where it was promised to whoever saw it"
            .to_owned(),
        "stale max: the longest from an acknowledgement until a look began that did not show it. \
         no service: the longest without any acknowledgement (≥: nobody was served again)"
            .to_owned(),
    ];
    if has_price {
        let line = "vs single: how many commits one client makes while it makes one at a single \
                    server, in its rounds; round trips: on a commit's way between sites. Labs that \
                    did not stand at the same time were measured one after the other";
        notes.push(line.to_owned());
    }
    notes
}
