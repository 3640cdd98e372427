//! What comes of it: the first lines.

use super::names::{LINES_MAX, place};
use crate::analysis::diff::told::{Diff, Figure, LimitCame, LimitVerdict, Open, Verdict};
use crate::report::numbers::{count, ratio};
use crate::study::units::show_percent;

/// `3 of 24 figures are worse in B, 1 is better, 12 are alike (within 5%), 8 cannot be told.`
pub fn summary(diff: &Diff) -> String {
    let counts = diff.counts;
    if counts.figures == 0 {
        return match diff.trials.is_empty() {
            true => "Both records have cells in common, and neither has measured them.".to_owned(),
            false => "No cell was measured in both records; faults were tried in both.".to_owned(),
        };
    }
    let figures = count(counts.figures as u64, "figure");
    let is = |many: usize| format!("{many} {}", if many == 1 { "is" } else { "are" });
    let worse = match counts.worse {
        1 => "is",
        _ => "are",
    };
    format!(
        "{} of {figures} {worse} worse in B, {} better, {} alike (within {}), {} cannot be told.",
        counts.worse,
        is(counts.better),
        is(counts.alike),
        show_percent(diff.alike_within),
        counts.cannot_tell
    )
}

/// Limits, faults, and what a reader must know first.
pub fn more(diff: &Diff) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for came in &diff.limits {
        lines.extend(limit(diff, came));
    }
    lines.extend(trials(diff));
    for (name, side) in [("A", &diff.a), ("B", &diff.b)] {
        let line = format!(
            "{name} has one round only, and one round has no interval: measure with --rounds 4"
        );
        lines.extend((side.rounds == 1).then_some(line));
    }
    let is_of_several = |figure: &Figure| figure.open == Some(Open::SeveralMachines);
    if diff.figures.iter().any(is_of_several) {
        let line = "Rounds of several machines are no independent rounds: such records are told \
                    apart by machines, of which each needs five.";
        lines.push(line.to_owned());
    }
    if diff.is_same_run {
        let line = "A and B are of one and the same run: nothing could differ.";
        lines.push(line.to_owned());
    }
    lines
}

/// Each place where it is exceeded, or that it is nowhere, or cannot be told.
fn limit(diff: &Diff, came: &LimitCame) -> Vec<String> {
    let limit = came.limit;
    let all = came.exceeded.len() + came.open.len() + came.kept;
    let open = came.open.len();
    let mut lines: Vec<String> = (came.exceeded.iter().take(LINES_MAX))
        .map(|at| format!("limit {limit} EXCEEDED: {}", told(&diff.figures[*at])))
        .collect();
    let more = came.exceeded.len().saturating_sub(LINES_MAX);
    lines.extend((more > 0).then(|| format!("limit {limit} EXCEEDED in {more} more places")));
    let figures = count(all as u64, "figure");
    lines.extend(match came.verdict {
        LimitVerdict::Kept => Some(format!("limit {limit} kept in all of {figures}")),
        LimitVerdict::Exceeded if open == 0 => None,
        _ if all == 0 => Some(format!(
            "limit {limit}: cannot be told, for no cell that both have has such a figure"
        )),
        _ => Some(format!(
            "limit {limit}: cannot be told in {open} of {figures}: more {} may tell",
            more_of(diff, came)
        )),
    });
    lines
}

/// What would tell more.
fn more_of(diff: &Diff, came: &LimitCame) -> &'static str {
    let mut open = came.open.iter();
    let is_of_several = |at: &usize| diff.figures[*at].open == Some(Open::SeveralMachines);
    match open.all(is_of_several) {
        true => "machines",
        false => "rounds",
    }
}

/// `mysql group, update_index, 1 connection, 2.15 ms: p99 of B is 1.42 (1.31 to 1.53) times A's`
fn told(figure: &Figure) -> String {
    let (place, quantity) = (place(&figure.place), figure.quantity.word());
    let Some(of) = figure.ratio else {
        return format!("{place}: {quantity}");
    };
    let ends = of.low.zip(of.high);
    let ends = ends.map(|(low, high)| format!(" ({} to {})", ratio(low), ratio(high)));
    let times = ratio(of.median);
    format!(
        "{place}: {quantity} of B is {times}{} times A's",
        ends.unwrap_or_default()
    )
}

fn trials(diff: &Diff) -> Option<String> {
    let all = diff.trials.len();
    let of = |verdict: Verdict| {
        let trials = diff.trials.iter();
        trials.filter(|one| one.verdict == verdict).count()
    };
    (all > 0).then(|| {
        format!(
            "Of {} that both tried B lost more after {}, less after {}; {} cannot be told.",
            count(all as u64, "fault"),
            of(Verdict::Worse),
            of(Verdict::Better),
            of(Verdict::CannotTell)
        )
    })
}
