//! Whether what variables gain adds up, by a screening design.

use super::{Figure, Finding, Verdict, range};
use crate::analysis::effects::{Effect, Effects};
use crate::analysis::interval::Estimate;

/// Two gains that come to nine tenths of their product, or more, are taken as adding up.
const NEARLY_ALL: f64 = 0.9;

/// The first design over variables of that mode that has whole rounds under that workload.
pub fn design<'e>(all: &'e [Effects], label: &str, workload: &str) -> Option<&'e Effects> {
    all.iter().find(|effects| {
        effects.label == label && effects.workload == workload && effects.rounds > 0
    })
}

/// Whether the two variables that gain most do not add up: only these can confirm it, for of many
/// pairs some would be named by chance. It takes all pairs to contradict it. Without a figure where
/// no two gain; `None` without intervals.
pub fn most_do_not_add_up(effects: &Effects) -> Option<Finding> {
    let gains = gains(effects)?;
    let [first, second, ..] = gains[..] else {
        let reason = "by the screening design fewer than two variables gain: nothing could add up";
        return Some(Finding::undecided(reason));
    };
    let pair = pair(effects, first, second)?;
    let figure = figure(effects, pair)?;
    Some(Finding {
        verdict: match () {
            () if figure.high < 1.0 => Verdict::Confirmed,
            () if all_add_up(effects) => Verdict::Contradicted,
            () => Verdict::Undecided,
        },
        figures: vec![figure],
        reason: "the two variables that gain most by the screening design do not add up if they \
                 come to less than the product of their gains; all do if no pair comes to less \
                 than nine tenths of it"
            .to_owned(),
    })
}

fn all_add_up(effects: &Effects) -> bool {
    let low = |pair: &Effect| pair.ratio.and_then(|ratio| ratio.low);
    let mut pairs = effects.interactions.iter();
    pairs.all(|pair| low(pair).is_some_and(|low| low >= NEARLY_ALL))
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
    let ratio = pair.ratio?;
    let (low, high) = range(&ratio)?;
    Some(Figure {
        what: format!(
            "commits/s with {} over the product of each alone",
            names(effects, pair)
        ),
        unit: "times".to_owned(),
        value: ratio.median,
        low,
        high,
    })
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

/// All that a design shows, in two sentences at most: each variable alone, and the pairs.
pub fn told(effects: &Effects) -> Vec<String> {
    let times = |ratio: &Estimate| match range(ratio) {
        Some((low, high)) => format!("{:.2} times ({low:.2} to {high:.2})", ratio.median),
        None => format!("{:.2} times (no interval)", ratio.median),
    };
    let said = |effect: &Effect| {
        let ratio = effect.ratio.as_ref()?;
        Some(format!("{} {}", names(effects, effect), times(ratio)))
    };
    let alone: Vec<String> = effects.main.iter().filter_map(said).collect();
    let pairs = effects.interactions.iter();
    let shown = pairs.filter(|pair| pair.shown == Some(true));
    let shown: Vec<String> = shown.filter_map(said).collect();
    let of_pairs = match shown.is_empty() {
        true => "no two of them are shown not to add up.".to_owned(),
        false => format!(
            "they do not add up, and together change the product of each alone by: {}.",
            shown.join(", ")
        ),
    };
    vec![
        format!(
            "commits/s of {}, high over low, in {} runs that vary all at once, {} rounds: {}.",
            effects.workload,
            effects.runs,
            effects.rounds,
            alone.join(", ")
        ),
        of_pairs,
    ]
}
