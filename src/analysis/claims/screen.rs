//! Whether what variables gain adds up, by a screening design.

use super::figure::{Figure, range};
use super::tell;
use super::verdict::{Outcome, Verdict, within, word};
use crate::analysis::effects::{Effect, Effects};
use crate::analysis::summary::CellSummary;

/// The first design with whole rounds over variables of one of these rows, under their workload.
pub fn design<'e>(all: &'e [Effects], cells: &[&CellSummary]) -> Option<&'e Effects> {
    let is_of = |effects: &Effects, cell: &CellSummary| {
        (&effects.label, &effects.workload) == (&cell.label, &cell.workload)
    };
    let is_it =
        |effects: &&Effects| effects.rounds > 0 && cells.iter().any(|cell| is_of(effects, cell));
    all.iter().find(is_it)
}

/// Whether the two variables that gain most do not add up: only these can confirm it, for of many
/// pairs some would be named by chance. It takes all pairs to contradict it. `None` without
/// intervals, and where no two gain: nothing could add up.
pub fn judged(all: &[Effects], cells: &[&CellSummary]) -> Option<Outcome> {
    let effects = design(all, cells)?;
    let [first, second, ..] = gains(effects)?[..] else {
        return None;
    };
    let of_two = figure(effects, pair(effects, first, second)?)?;
    let (less, all) = (word("less"), word("adds_up"));
    let pairs = effects.interactions.iter();
    let verdict = match within(&less, of_two.low, of_two.high) {
        Verdict::Confirmed => Verdict::Confirmed,
        _ if pairs.into_iter().all(|pair| low(pair) > all.low) => Verdict::Contradicted,
        _ => Verdict::Undecided,
    };
    Some(Outcome {
        verdict,
        figures: vec![of_two],
        notes: vec![
            "the two variables that gain most by the screening design do not add up if they come \
             to less than the product of their gains; all do if no pair comes to less than nine \
             tenths of it"
                .to_owned(),
        ],
    })
}

fn low(effect: &Effect) -> Option<f64> {
    effect.ratio.and_then(|ratio| ratio.low)
}

/// Effects of one variable that are shown to gain, the greatest first; `None` without intervals.
fn gains(effects: &Effects) -> Option<Vec<&Effect>> {
    let median = |effect: &Effect| effect.ratio.map_or(1.0, |ratio| ratio.median);
    if effects.main.iter().any(|effect| effect.shown.is_none()) {
        return None;
    }
    let shown = effects.main.iter().filter(|e| e.shown == Some(true));
    let mut gains: Vec<&Effect> = shown.filter(|effect| median(effect) > 1.0).collect();
    gains.sort_by(|one, other| median(other).total_cmp(&median(one)));
    Some(gains)
}

/// The interaction of two variables, if no other effect hides in it.
fn pair<'e>(effects: &'e Effects, one: &Effect, other: &Effect) -> Option<&'e Effect> {
    let mut pairs = effects.interactions.iter();
    pairs.find(|pair| {
        let holds = |effect: &Effect| pair.of.contains(&effect.of);
        holds(one) && holds(other) && pair.aliases.is_empty()
    })
}

fn figure(effects: &Effects, pair: &Effect) -> Option<Figure> {
    let names = names(effects, pair);
    let what = format!("commits/s with {names} over the product of each alone");
    tell::figure(what, "times", pair.ratio?.into())
}

/// `innodb_io_capacity 3000 and wsrep_slave_threads 4`: with their high levels.
fn names(effects: &Effects, effect: &Effect) -> String {
    let factors = effects.factors.iter();
    let held = factors.filter(|factor| effect.of.contains(&factor.letter));
    let held: Vec<String> = held
        .map(|factor| format!("{} {}", factor.name, factor.high))
        .collect();
    held.join(" and ")
}

/// All that a design shows, in two sentences: each variable alone, and the pairs.
pub fn told(effects: &Effects) -> Vec<String> {
    let said = |effect: &Effect| {
        let ratio = effect.ratio.as_ref()?;
        let range = range(ratio).map_or_else(
            || "no interval".to_owned(),
            |(low, high)| format!("{low:.2} to {high:.2}"),
        );
        let names = names(effects, effect);
        Some(format!("{names} {:.2} times ({range})", ratio.median))
    };
    let alone: Vec<String> = effects.main.iter().filter_map(said).collect();
    let pairs = effects.interactions.iter();
    let shown = pairs.filter(|pair| pair.shown == Some(true));
    let shown: Vec<String> = shown.filter_map(said).collect();
    let (workload, runs, rounds) = (&effects.workload, effects.runs, effects.rounds);
    let alone = alone.join(", ");
    let of_pairs = match shown.is_empty() {
        true => "no two of them are shown not to add up.".to_owned(),
        false => format!(
            "they do not add up, and together change the product of each alone by: {}.",
            shown.join(", ")
        ),
    };
    vec![
        format!(
            "commits/s of {workload}, high over low, in {runs} runs that vary all at once, \
             {rounds} rounds: {alone}."
        ),
        of_pairs,
    ]
}
