//! What an up-to-date read costs, and how often a plain one does not show what was acknowledged.

use std::collections::BTreeMap;

use super::table::brief;
use crate::analysis::summary::{Estimate, Value};
use crate::analysis::worth::{AGES_MS, FreshReads, ModeWorth, Share};
use crate::report::entry::{Entry, Mark};
use crate::report::numbers::Unit;
use crate::report::page::{Block, Table};

/// Nothing where no campaign left its servers alone.
pub fn blocks(worth: &[ModeWorth]) -> Vec<Block> {
    let of_mode = |one: &ModeWorth| {
        let reads = one.fresh.iter().map(|it| row(one, it));
        reads.chain(commit(one)).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<Entry>> = worth.iter().flat_map(of_mode).collect();
    if rows.is_empty() {
        return vec![];
    }
    let titles: Vec<String> = (0..AGES_MS.len()).map(title).collect();
    let mut columns = vec![
        ("mode", true),
        ("node, level", true),
        ("takes", false),
        ("adds to a\nplain one", false),
    ];
    columns.extend(titles.iter().map(|title| (&title[..], false)));
    let mut table = Table::new(&columns);
    table.rows = rows;
    let heading = "Fresh reads: what they cost, and how stale reads are while nothing is done";
    vec![
        Block::Heading(heading.to_owned()),
        Block::Table(table.without_empty_columns()),
        Block::Notes(notes(worth)),
    ]
}

/// `b`, `b, looks at a`, `b, BEFORE`
fn way(fresh: &FreshReads) -> String {
    match (&fresh.looks_at, &fresh.level) {
        (Some(other), _) => format!("{}, looks at {other}", fresh.node),
        (None, Some(level)) => format!("{}, {}", fresh.node, short(level)),
        (None, None) => fresh.node.clone(),
    }
}

fn row(one: &ModeWorth, fresh: &FreshReads) -> Vec<Entry> {
    let time = |us: Option<Estimate>| brief(us.map(Value::from), Unit::Time);
    let is_shown = fresh.added_us.and_then(|added| added.excludes(0.0));
    let mut row = vec![
        one.label[..].into(),
        way(fresh).into(),
        time(fresh.look_us),
        time(fresh.added_us).marked(is_shown == Some(false), Mark::NoDifference),
    ];
    let share = |class: usize| fresh.classes.get(class).and_then(|class| class.share);
    row.extend((0..AGES_MS.len()).map(|class| percent(share(class))));
    row
}

/// What a commit takes there, below its reads.
fn commit(one: &ModeWorth) -> Option<Vec<Entry>> {
    one.fresh.first()?;
    let mut row = vec![
        one.label[..].into(),
        "a commit".into(),
        brief(one.commit_us.map(Value::from), Unit::Time),
    ];
    row.resize_with(4 + AGES_MS.len(), || brief(None, Unit::Time));
    Some(row)
}

/// Of a statement that sets a level what it is set to, of a wait its name: all of it stands in a
/// note.
fn short(level: &str) -> &str {
    if let Some((name, _)) = (level.strip_prefix("SELECT ")).and_then(|it| it.split_once('(')) {
        return name;
    }
    let value = level.rsplit('=').next().unwrap_or(level);
    value.trim_matches(|c: char| c == ' ' || c == '\'' || c == '"')
}

/// In per cent: the titles say so.
fn percent(share: Option<Share>) -> Entry {
    let value = share.map(|share| Value {
        value: share.share * 100.0,
        low: Some(share.low * 100.0),
        high: Some(share.high * 100.0),
    });
    brief(value, Unit::Number(2))
}

/// `stale %,\n1–10 ms`
fn title(class: usize) -> String {
    let from = AGES_MS[class];
    match AGES_MS.get(class + 1) {
        Some(until) => format!("stale %,\n{from}–{until} ms"),
        None => format!("stale %,\n{from} ms on"),
    }
}

fn notes(worth: &[ModeWorth]) -> Vec<String> {
    let mut notes = vec![
        "takes: the median of looks, by a reader that stands beside its node, until it has all \
         rows; a commit: from COMMIT to its answer, by eight clients beside the first node; ± over \
         trials"
            .to_owned(),
        "stale %: reads that did not show a commit, of those begun so long after it had been \
         acknowledged; ± as for so many reads (Wilson 1927)"
            .to_owned(),
    ];
    let fresh = || worth.iter().flat_map(|one| &one.fresh);
    if fresh().any(|it| it.added_us.is_some()) {
        let added = "adds to a plain one: from the same place at the same time, paired by trial; a \
                     plain one has the level that the mode is set to; ~: no difference shown";
        notes.insert(1, added.to_owned());
    }
    let levels = fresh().filter_map(|it| it.level.as_deref());
    let levels: BTreeMap<&str, &str> = levels.map(|level| (level, short(level))).collect();
    let told = levels
        .iter()
        .map(|(level, short)| format!("{short}: {level}"));
    notes.extend(told);
    if fresh().any(|it| it.looks_at.is_some()) {
        notes.push("looks at …: from beside another node, over the link between them".to_owned());
    }
    let failed = |one: &ModeWorth| {
        let of = |it: &FreshReads| {
            let (failed, all) = (it.failed, it.failed + it.looks);
            let told = format!("{}, {}: {failed} of {all} looks", one.label, way(it));
            (failed > 0).then(|| format!("{told} did not come to their end: in no figure"))
        };
        one.fresh.iter().filter_map(of).collect::<Vec<String>>()
    };
    notes.extend(worth.iter().flat_map(failed));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_called_by_what_it_is_set_to() {
        let group = "SET SESSION group_replication_consistency = 'BEFORE'";
        assert_eq!(short(group), "BEFORE");
        assert_eq!(short("SET SESSION wsrep_sync_wait = 1"), "1");
        assert_eq!(short("SELECT 1"), "SELECT 1");
        let wait = "SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtids}', 2)";
        assert_eq!(short(wait), "WAIT_FOR_EXECUTED_GTID_SET");
    }

    #[test]
    fn a_share_has_its_interval_in_little_room() {
        let share = Share {
            share: 0.123,
            low: 0.081,
            high: 0.172,
        };
        assert_eq!(percent(Some(share)).to_string(), "12.3 ±4.90");
        let none = Share::of(0.0, 20);
        assert_eq!(percent(none).to_string(), "0.00 ±16.1");
        assert!(percent(None).is_nothing());
    }
}
