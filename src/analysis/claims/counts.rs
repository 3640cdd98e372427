//! Verdicts by counts: of commits that ends of servers cost, of errors, of dips.

use std::ops::RangeInclusive;

use super::tell;
use super::verdict::{Outcome, Verdict};
use crate::analysis::summary::{CellSummary, ModeToll, Reason};
use crate::analysis::timeline::Dips;
use crate::study::articles::{Loss, Trials};

/// Errors per commit within this factor of each other are alike.
const TIMES_AS_MANY: f64 = 10.0;
/// With one rate and as many commits on both sides so many fall all to one of them by chance in one
/// of 1000 cases.
const ENOUGH: u64 = 10;
/// Commits in which errors would have shown.
const COMMITS_ENOUGH: f64 = 1_000.0;
/// Dips at random moments make so many gaps of about a period in fewer than one of 400 cells, at
/// any number of dips; a test counts it.
const GAPS: usize = 4;
/// The share of all gaps that must be such.
const REGULAR_SHARE: f64 = 0.8;

/// What can happen is shown by having seen it once in `some`, and never in `none`. Not to have seen
/// it shows nothing: the moments were drawn.
pub fn seen(tolls: &[ModeToll], what: Loss, none: &Trials, some: &Trials) -> Outcome {
    let of = |trials: &Trials| -> Vec<&ModeToll> {
        let is_it = |of: &&ModeToll| is_among(trials, of) && count(what, of).is_some();
        tolls.iter().filter(is_it).collect()
    };
    let (none, some) = (of(none), of(some));
    let sum = |of: &[&ModeToll]| of.iter().filter_map(|of| count(what, of)).sum::<usize>();
    let all: Vec<&ModeToll> = none.iter().chain(&some).copied().collect();
    // Of what was not read nobody knows whether it is lost.
    let unread_after = |of: &&ModeToll| of.toll.no_start + of.toll.unread.len();
    let unread: usize = all.iter().map(unread_after).sum();
    let verdict = match (none.len(), some.len()) {
        _ if unread > 0 => Verdict::Undecided,
        _ if sum(&none) > 0 => Verdict::Contradicted,
        (1.., 1..) if sum(&some) > 0 => Verdict::Confirmed,
        _ => Verdict::Undecided,
    };
    let told: Vec<String> = all.iter().map(|of| ended(what, of)).collect();
    let mut outcome = match told.is_empty() {
        true => Outcome::new(verdict, "open: no server was ended so".to_owned()),
        false => Outcome::new(verdict, format!("{}: {}", name(what), told.join(", "))),
    };
    let is_open = verdict == Verdict::Undecided && !told.is_empty();
    let why = match unread {
        0 => "open: not to have seen it shows nothing, more ends might".to_owned(),
        _ => format!("open: {unread} times a server did not come back, and was not read"),
    };
    outcome.notes.extend(is_open.then_some(why));
    outcome
}

fn name(what: Loss) -> &'static str {
    match what {
        Loss::Lost => "acknowledged commits that are missing after so many ends",
        Loss::Apart => "commits in the table or in the binary log only, after so many ends",
    }
}

/// `group flow control, cluster loss 37 of 4100 in 3`
fn ended(what: Loss, of: &ModeToll) -> String {
    let (count, toll) = (count(what, of).unwrap_or(0), &of.toll);
    let (fault, all, times) = (toll.fault.label(), toll.acknowledged, toll.cuts);
    format!("{}, {fault} {count} of {all} in {times}", of.label)
}

fn is_among(asked: &Trials, of: &ModeToll) -> bool {
    let durability = of.toll.durability;
    let is_any = |names: &[String], own: &str| names.is_empty() || names.iter().any(|n| n == own);
    of.toll.acknowledged > 0
        && is_any(&asked.mode, &of.mode)
        && (asked.scope.is_empty() || asked.scope.contains(&of.toll.fault.scope))
        && asked
            .flush_log
            .is_none_or(|asked| asked == durability.flush_log)
        && asked
            .sync_binlog
            .is_none_or(|asked| asked == durability.sync_binlog)
}

/// `None` where that end does not tell: logs are compared only where no flush may be missing.
fn count(what: Loss, of: &ModeToll) -> Option<usize> {
    let uncovered = of.toll.promise.reason == Reason::HeldInOneSite;
    match what {
        Loss::Lost => Some(of.toll.lost),
        Loss::Apart => of.toll.apart().filter(|_| !uncovered),
    }
}

/// Whether far more errors are told of, or far fewer, for as many commits.
pub fn more_often((of, over): (&CellSummary, &CellSummary), numbers: &[u16]) -> Outcome {
    let [many, one] = [of, over].map(|cell| Errors::of(cell, numbers));
    let far_more = |above: &Errors, below: &Errors| {
        above.errors >= ENOUGH && above.rate() >= TIMES_AS_MANY * below.rate()
    };
    let enough = |side: &Errors| side.commits >= COMMITS_ENOUGH;
    let verdict = match () {
        () if many.commits.min(one.commits) <= 0.0 => Verdict::Undecided,
        () if many.errors == 0 && enough(&many) && enough(&one) => Verdict::Contradicted,
        () if far_more(&many, &one) => Verdict::Confirmed,
        () if far_more(&one, &many) => Verdict::Contradicted,
        () => Verdict::Undecided,
    };
    let numbers: Vec<String> = numbers.iter().map(u16::to_string).collect();
    let numbers = numbers.join(", ");
    let note = format!(
        "errors ({numbers}) told to clients of {}: {}, of {}: {}; ten times as often and ten or \
         more is taken as far more often, anything within ten times as alike",
        over.label,
        one.in_words(),
        of.label,
        many.in_words(),
    );
    Outcome::new(verdict, note)
}

/// Errors of a cell, and about so many commits beside them, over all rounds.
struct Errors {
    errors: u64,
    commits: f64,
}

impl Errors {
    fn of(cell: &CellSummary, numbers: &[u16]) -> Errors {
        Errors {
            errors: numbers
                .iter()
                .map(|number| super::figure::errors(cell, *number))
                .sum(),
            commits: super::figure::commits(cell),
        }
    }

    fn rate(&self) -> f64 {
        self.errors as f64 / self.commits
    }

    fn in_words(&self) -> String {
        match self.errors {
            0 => "0".to_owned(),
            errors => format!(
                "{errors}, that is {:.2} per 1000 commits",
                self.rate() * 1e3
            ),
        }
    }
}

/// Regular dips at one of the cells confirm it, at any rate. That there are fewer than such periods
/// contradicts it at a high one, at all of them.
pub fn regular(cells: &[&CellSummary], period_s: RangeInclusive<u32>, high: f64) -> Outcome {
    let rate = |cell: &CellSummary| cell.throughput_per_s.map_or(0.0, |rate| rate.median);
    let of = |cell: &&CellSummary| {
        let dips = cell.dips.as_ref()?;
        Some(match () {
            () if are_regular(&dips.gaps_s, &period_s) => Verdict::Confirmed,
            () if rate(cell) >= high && are_too_few(dips, &period_s) => Verdict::Contradicted,
            () => Verdict::Undecided,
        })
    };
    let verdicts: Vec<Option<Verdict>> = cells.iter().map(of).collect();
    let across = crate::study::articles::Across::Any;
    let verdict = Verdict::across(across, &verdicts, &[]);
    let mut notes: Vec<String> = cells
        .iter()
        .filter_map(|cell| dips(cell, rate(cell)))
        .collect();
    let is_slow = !cells.iter().any(|cell| rate(cell) >= high);
    let open = match verdict {
        Verdict::Undecided if notes.is_empty() => Some("open: nothing was watched so long".into()),
        Verdict::Undecided if is_slow => Some(format!(
            "open: to see none decides something from {high:.0} commits/s on only"
        )),
        _ => None,
    };
    notes.push(format!(
        "it takes {GAPS} gaps, four fifths of all, of {} to {} s",
        period_s.start(),
        period_s.end()
    ));
    notes.extend(open);
    Outcome {
        verdict,
        figures: vec![],
        notes,
    }
}

fn are_regular(gaps_s: &[u32], period_s: &RangeInclusive<u32>) -> bool {
    let regular = gaps_s.iter().filter(|gap| period_s.contains(*gap)).count();
    regular >= GAPS && regular as f64 >= REGULAR_SHARE * gaps_s.len() as f64
}

/// Fewer than rounds that long must hold, wherever the first one falls.
fn are_too_few(dips: &Dips, period_s: &RangeInclusive<u32>) -> bool {
    let longest_s = dips.longest_round_s.max(1);
    dips.count < dips.watched_s / longest_s * (longest_s / period_s.end())
}

fn dips(cell: &CellSummary, rate: f64) -> Option<String> {
    let dips = cell.dips.as_ref()?;
    let gaps: Vec<String> = dips.gaps_s.iter().map(u32::to_string).collect();
    let gaps = match gaps.is_empty() {
        true => String::new(),
        false => format!(", {} s apart", gaps.join(", ")),
    };
    let depth = dips
        .depth
        .map(|share| format!(", by {:.0} %", share * 100.0));
    let (name, count, watched_s) = (tell::cell(cell, &[]), dips.count, dips.watched_s);
    let depth = depth.unwrap_or_default();
    Some(format!(
        "{name}, {rate:.0} commits/s: {count} dips in {watched_s} s{depth}{gaps}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    const MINUTE: RangeInclusive<u32> = 50..=70;
    const TRIALS: u32 = 20_000;

    /// Gaps between so many falls at random seconds of five minutes; neighbours are one dip.
    fn random_gaps(draws: &mut ChaCha8Rng, falls: u32) -> Vec<u32> {
        let mut seconds: Vec<u32> = (0..falls).map(|_| draws.random_range(0..300)).collect();
        seconds.sort_unstable();
        seconds.dedup();
        let mut starts = seconds.clone();
        starts.retain(|second| *second == 0 || !seconds.contains(&(second - 1)));
        starts.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// The share of random dips that pass, at the number of them at which most do.
    fn worst(passes: impl Fn(&[u32]) -> bool) -> f64 {
        let mut draws = ChaCha8Rng::seed_from_u64(60);
        let mut share = |falls: u32| {
            let passed = (0..TRIALS).filter(|_| passes(&random_gaps(&mut draws, falls)));
            passed.count() as f64 / f64::from(TRIALS)
        };
        (3..=16).map(&mut share).fold(0.0, f64::max)
    }

    #[test]
    fn random_dips_are_hardly_ever_regular() {
        let chance = worst(|gaps| are_regular(gaps, &MINUTE));
        assert!(chance < 1.0 / 400.0, "{chance}");
        // A rule that goes by fewer gaps would be caught.
        let by_two = |gaps: &[u32]| gaps.iter().filter(|gap| MINUTE.contains(gap)).count() >= 2;
        assert!(worst(by_two) > 0.1);
    }

    #[test]
    fn one_stray_gap_of_five_is_let_through() {
        let is = |gaps: &[u32]| are_regular(gaps, &MINUTE);
        assert!(is(&[60, 59, 61, 50]) && is(&[60, 60, 12, 60, 60]));
        assert!(!is(&[60; 3]) && !is(&[60, 60, 71, 60]) && !is(&[60, 60, 12, 60, 60, 9]));
    }
}
