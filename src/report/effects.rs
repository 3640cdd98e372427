//! What the variables of a screening design do, alone and together with another.

use super::entry::{Entry, Mark};
use super::label;
use super::numbers::{NOTHING, Unit, count, digits, ratio};
use super::page::{Block, Table};
use crate::analysis::Summary;
use crate::analysis::effects::{Effect, Effects, Factor};

/// Of pairs without an interaction this share is named all the same: an interval leaves the true
/// value out so often (docs/method/intervals.md).
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
        Block::Notes(what_does_not_add_up(effects)),
    ]
}

fn heading(summary: &Summary, effects: &Effects) -> String {
    format!(
        "Effects on {} of {}: {}, {}, {}, sites {} apart{}; {} runs, {}; {}",
        label::rate(effects.per),
        effects.label,
        effects.workload,
        label::connections(effects.connections),
        label::client(summary, &effects.client_site),
        effects.distances,
        label::disks(effects.disks.as_ref()),
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
        let factor = members(effects, effect).next();
        let told = |pick: fn(&Factor) -> &String| {
            factor.map_or(Entry::NOTHING, |factor| pick(factor)[..].into())
        };
        vec![
            effect.of[..].into(),
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
            Some(true) => "does not add up".into(),
            _ => Entry::NOTHING,
        };
        vec![effect.of[..].into(), size(effect), verdict, aliases(effect)]
    };
    table.rows = effects.interactions.iter().map(row).collect();
    table.without_empty_columns()
}

/// `1.52 1.42–1.61`, with `~` where the interval holds 1.
fn size(effect: &Effect) -> Entry {
    let is_none_shown = effect.ratio.is_some() && effect.shown == Some(false);
    Entry::range(effect.ratio, Unit::Ratio).marked(is_none_shown, Mark::NoDifference)
}

fn aliases(effect: &Effect) -> Entry {
    match effect.aliases.is_empty() {
        true => Entry::NOTHING,
        false => effect.aliases.join(", ").into(),
    }
}

/// The variables whose effect it is.
fn members<'e>(effects: &'e Effects, effect: &'e Effect) -> impl Iterator<Item = &'e Factor> {
    let members = effect.factors.iter();
    members.filter_map(|factor| effects.factors.get(*factor))
}

/// Which effects do not add up, and how far that can be trusted.
fn what_does_not_add_up(effects: &Effects) -> Vec<String> {
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
    let members: Vec<String> = members(effects, pair)
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
