//! What the variables of a screening design do, alone and together with another.

use super::cells::client;
use super::numbers::{NOTHING, count, digits, ratio, with_interval};
use super::page::{Block, Table};
use crate::analysis::Summary;
use crate::analysis::effects::{Effect, Effects, Factor};
use crate::analysis::summary::Per;

/// Of pairs without an interaction this share is named all the same: an interval leaves the true
/// value out so often (docs/method.md, "Intervals").
const BY_CHANCE: f64 = 0.04;

/// Two tables for each design and point that has a whole round.
pub fn blocks(summary: &Summary) -> Vec<Block> {
    let whole = summary.effects.iter().filter(|effects| effects.rounds > 0);
    whole
        .flat_map(|effects| of_design(summary, effects))
        .collect()
}

fn of_design(summary: &Summary, effects: &Effects) -> Vec<Block> {
    vec![
        Block::Heading(heading(summary, effects)),
        Block::Table(main(effects)),
        Block::Space,
        Block::Table(interactions(effects)),
        Block::Notes(said(effects)),
    ]
}

fn heading(summary: &Summary, effects: &Effects) -> String {
    let what = match effects.per {
        Per::Commit => "commits/s",
        Per::Transaction => "transactions/s",
    };
    let disks = effects.disks.as_ref();
    let disks = disks
        .map(|label| format!(", disks: {label}"))
        .unwrap_or_default();
    format!(
        "Effects on {what} of {}: {}, {}, {}, sites {} apart{disks}; {} runs, {}; {}",
        effects.label,
        effects.workload,
        count(effects.connections.into(), "connection"),
        client(summary, &effects.client_site),
        effects.distances,
        effects.runs,
        kind(effects.resolution),
        count(effects.rounds.into(), "round"),
    )
}

/// As such designs are called: with a Roman number.
fn kind(resolution: Option<u32>) -> String {
    let number = match resolution {
        None => return "all combinations".to_owned(),
        Some(3) => "III".to_owned(),
        Some(4) => "IV".to_owned(),
        Some(5) => "V".to_owned(),
        Some(6) => "VI".to_owned(),
        Some(7) => "VII".to_owned(),
        Some(more) => more.to_string(),
    };
    format!("resolution {number}")
}

fn main(effects: &Effects) -> Table {
    let columns = [
        ("", true),
        ("variable", true),
        ("low", true),
        ("high", true),
        ("high\nover low", false),
        ("or it is", true),
    ];
    let mut table = Table::new(&columns);
    let row = |effect: &Effect| {
        let mut factors = effects.factors.iter();
        let factor = factors.find(|factor| factor.letter == effect.of);
        let told = |pick: fn(&Factor) -> &String| {
            factor.map_or_else(|| NOTHING.to_owned(), |factor| pick(factor).clone())
        };
        vec![
            effect.of.clone(),
            told(|factor| &factor.name),
            told(|factor| &factor.low),
            told(|factor| &factor.high),
            size(effect),
            aliases(effect),
        ]
    };
    table.rows = effects.main.iter().map(row).collect();
    table.without_empty_columns()
}

fn interactions(effects: &Effects) -> Table {
    let columns = [
        ("pair", true),
        ("both over the\nproduct of each", false),
        ("", true),
        ("or it is", true),
    ];
    let mut table = Table::new(&columns);
    let row = |effect: &Effect| {
        let verdict = match effect.shown {
            Some(true) => "does not add up",
            _ => NOTHING,
        };
        vec![
            effect.of.clone(),
            size(effect),
            verdict.to_owned(),
            aliases(effect),
        ]
    };
    table.rows = effects.interactions.iter().map(row).collect();
    table.without_empty_columns()
}

/// `1.52 1.42–1.61`, with `~` where the interval holds 1.
fn size(effect: &Effect) -> String {
    let Some(estimate) = effect.ratio else {
        return NOTHING.to_owned();
    };
    let mark = if effect.shown == Some(false) {
        " ~"
    } else {
        ""
    };
    with_interval(estimate, ratio) + mark
}

fn aliases(effect: &Effect) -> String {
    match effect.aliases.is_empty() {
        true => NOTHING.to_owned(),
        false => effect.aliases.join(", "),
    }
}

/// Which effects do not add up, and how far that can be trusted.
fn said(effects: &Effects) -> Vec<String> {
    let pairs = &effects.interactions;
    let shown = pairs.iter().filter(|pair| pair.shown == Some(true));
    let mut said: Vec<String> = shown.map(|pair| in_words(effects, pair)).collect();
    if pairs.iter().any(|pair| pair.shown.is_none()) {
        said.push("no interval with one round: nothing can be said to add up or not".to_owned());
        return said;
    }
    if said.is_empty() {
        said.push("no two effects are shown not to add up".to_owned());
    }
    let hidden = effects
        .main
        .iter()
        .flat_map(|effect| &effect.aliases)
        .count();
    if hidden > 0 {
        let hidden = count(hidden as u64, "pair");
        said.push(format!(
            "{hidden} cannot be told from what one variable does alone"
        ));
    }
    let by_chance = digits(BY_CHANCE * pairs.len() as f64, 1);
    let pairs = count(pairs.len() as u64, "pair");
    said.push(format!(
        "of {pairs} about {by_chance} would be named by chance alone"
    ));
    said
}

/// `a (x) and b (y): both together give 0.13 times what each alone would multiply to`
fn in_words(effects: &Effects, pair: &Effect) -> String {
    let factors = effects.factors.iter();
    let members = factors.filter(|factor| pair.of.contains(&factor.letter));
    let members: Vec<String> = members
        .map(|one| format!("{} ({})", one.letter, one.name))
        .collect();
    let times = pair
        .ratio
        .map_or_else(|| NOTHING.to_owned(), |found| ratio(found.median));
    let others = match pair.aliases.is_empty() {
        true => String::new(),
        false => format!(", or the cause is {}", pair.aliases.join(", ")),
    };
    format!(
        "{} do not add up: both together give {times} times what each alone would multiply \
         to{others}",
        members.join(" and ")
    )
}
