//! Whether throughput dips every minute.

use super::KEY;
use crate::analysis::claims::pick::Cells;
use crate::analysis::claims::{Finding, Verdict, connections};
use crate::analysis::summary::CellSummary;
use crate::analysis::timeline::Dips;
use crate::study::articles;

/// Times from one dip to the next that are taken as a minute.
const PERIOD_S: std::ops::RangeInclusive<u32> = 50..=70;
/// Dips at random moments make so many such gaps in fewer than one of 400 cells, at any number of
/// dips; a test counts it.
const GAPS: usize = 4;
/// The share of all gaps that must be such.
const REGULAR_SHARE: f64 = 0.8;
/// So many gaps take as long, in one go.
const WATCH_S: u32 = GAPS as u32 * *PERIOD_S.end();
/// From this share of what the article's source committed on a rate is high as well.
const HIGH_SHARE: f64 = 0.5;

/// "Throughput dips every 60 s at high rates."
pub fn every_minute(cells: Cells) -> Finding {
    let is_watched = |cell: &CellSummary| {
        let longest_s = cell.dips.as_ref().map(|dips| dips.longest_round_s);
        longest_s.is_some_and(|longest_s| longest_s >= WATCH_S)
    };
    let watched = cells.with(is_watched);
    if watched.is_empty() {
        let reason = format!("nothing was watched for {WATCH_S} s in one go");
        return Finding::undecided(&reason);
    }
    let verdicts: Vec<Verdict> = watched.iter().map(|cell| of_cell(cell)).collect();
    let told: Vec<String> = watched.iter().map(|cell| told(cell)).collect();
    let verdict = match () {
        () if verdicts.contains(&Verdict::Confirmed) => Verdict::Confirmed,
        () if verdicts.iter().all(|v| *v == Verdict::Contradicted) => Verdict::Contradicted,
        () => Verdict::Undecided,
    };
    let is_fast = watched.iter().any(|cell| is_high(cell));
    let slow = match verdict == Verdict::Undecided && !is_fast {
        true => format!(
            "; that is no high rate, where the article's source committed {:.0}: to see none here \
             decides nothing",
            article_per_s()
        ),
        false => String::new(),
    };
    Finding {
        verdict,
        figures: vec![],
        reason: format!(
            "{}. It takes {GAPS} gaps, four fifths of all, of {} to {} s{slow}",
            told.join("; "),
            PERIOD_S.start(),
            PERIOD_S.end()
        ),
    }
}

/// Regular dips confirm at any rate. That there are fewer than minutes contradicts at a high one.
fn of_cell(cell: &CellSummary) -> Verdict {
    let Some(dips) = &cell.dips else {
        return Verdict::Undecided;
    };
    match () {
        () if are_regular(&dips.gaps_s) => Verdict::Confirmed,
        () if is_high(cell) && are_too_few(dips) => Verdict::Contradicted,
        () => Verdict::Undecided,
    }
}

fn are_regular(gaps_s: &[u32]) -> bool {
    let regular = gaps_s.iter().filter(|gap| PERIOD_S.contains(*gap)).count();
    regular >= GAPS && regular as f64 >= REGULAR_SHARE * gaps_s.len() as f64
}

/// Fewer than rounds that long must hold, wherever the first one falls.
fn are_too_few(dips: &Dips) -> bool {
    let longest_s = dips.longest_round_s.max(1);
    dips.count < dips.watched_s / longest_s * (longest_s / PERIOD_S.end())
}

fn article_per_s() -> f64 {
    let published = articles::numbers(KEY, &["source_trx_per_s"]);
    published.first().copied().unwrap_or(f64::INFINITY)
}

fn is_high(cell: &CellSummary) -> bool {
    let rate = cell.throughput_per_s.map(|rate| rate.median);
    rate.is_some_and(|rate| rate >= HIGH_SHARE * article_per_s())
}

fn told(cell: &CellSummary) -> String {
    let Some(dips) = &cell.dips else {
        return String::new();
    };
    let gaps: Vec<String> = dips.gaps_s.iter().map(u32::to_string).collect();
    let gaps = match gaps.is_empty() {
        true => String::new(),
        false => format!(", {} s apart", gaps.join(", ")),
    };
    let depth = dips
        .depth
        .map(|share| format!(", by {:.0} %", share * 100.0));
    let rate = cell
        .throughput_per_s
        .map_or(0.0, |estimate| estimate.median);
    format!(
        "{}, {}, {rate:.0} commits/s: {} dips in {} s{}{gaps}",
        cell.label,
        connections(cell.connections),
        dips.count,
        dips.watched_s,
        depth.unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::interval::median;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

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
        let chance = worst(are_regular);
        assert!(chance < 1.0 / 400.0, "{chance}");
        // The check would catch a rule that goes by three dips and their median gap.
        let by_median = |gaps: &[u32]| {
            let gaps: Vec<f64> = gaps.iter().copied().map(f64::from).collect();
            let typical = median(&gaps).filter(|_| gaps.len() >= 2);
            typical.is_some_and(|gap| (50.0..=70.0).contains(&gap))
        };
        let chance = worst(by_median);
        assert!(chance > 0.1, "{chance}");
    }

    #[test]
    fn too_few_are_fewer_than_the_longest_period_leaves() {
        let few = |count, watched_s| {
            are_too_few(&Dips {
                watched_s,
                longest_round_s: 300,
                count,
                depth: None,
                gaps_s: vec![],
                median_gap_s: None,
            })
        };
        assert!(few(3, 300) && !few(4, 300));
        assert!(few(7, 600) && !few(8, 600));
    }

    #[test]
    fn one_stray_gap_of_five_is_let_through() {
        assert!(are_regular(&[60, 59, 61, 50]));
        assert!(are_regular(&[60, 60, 12, 60, 60]));
        assert!(!are_regular(&[60, 60, 60]));
        assert!(!are_regular(&[60, 60, 71, 60]));
        assert!(!are_regular(&[60, 60, 12, 60, 60, 9]));
    }
}
