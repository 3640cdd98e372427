//! A slowdown of a size that is known, planted in a mode: is it found, and told as large as it is?

use super::probe::{Parts, Telling};
use crate::analysis;
use crate::analysis::interval::median;
use crate::analysis::summary::{CellSummary, Estimate};
use crate::error::Result;
use crate::record::self_test::Check;

/// This share of the slowdowns is to be found.
const FOUND: f64 = 0.8;
/// This share of the intervals is to hold the truth.
const HELD: f64 = 0.9;
/// The median of all ratios may be off the truth by less than this share of it.
const BIAS: f64 = 0.01;

/// So much, measured in so many rounds.
struct Planted {
    slowdown: f64,
    rounds: u32,
}

/// In short the first alone.
const PLANTED: [Planted; 2] = [
    Planted {
        slowdown: 0.10,
        rounds: 4,
    },
    Planted {
        slowdown: 0.05,
        rounds: 8,
    },
];

impl Planted {
    /// Throughput of a slowed mode over that of the plain one.
    fn truth(&self) -> f64 {
        1.0 - self.slowdown
    }

    fn name(&self) -> String {
        format!("{:.0} % with {} rounds", self.slowdown * 100.0, self.rounds)
    }
}

/// The study: pairs of a mode and its slowed copy. Each has its own, so that what befalls one
/// measurement is in one ratio only.
fn study(planted: &Planted, is_quick: bool) -> String {
    let (pairs, rtts) = match is_quick {
        true => (3, "[\"2ms\", \"4ms\"]"),
        false => (10, "[\"0.5ms\", \"1ms\", \"2ms\", \"4ms\"]"),
    };
    let Planted { slowdown, rounds } = planted;
    let mode = |label: &str, lines: &str| {
        format!(
            "[[mode]]\nserver = \"mysql\"\nmode = \"semisync\"\nlabel = \"{label}\"\n\
             {lines}\n"
        )
    };
    let pair = |number: u32| {
        let plain = format!("plain {number}");
        let lines = format!("baseline = \"{plain}\"\nslowdown = {slowdown}");
        let slowed = mode(&format!("slowed {number}"), &lines);
        mode(&plain, "baseline = \"none\"") + &slowed
    };
    let modes: String = (1..=pairs).map(pair).collect();
    format!(
        "name = \"self-test\"\ntitle = \"a mode and its slowed copies\"\nrounds = {rounds}\n\
         warmup = \"0.2s\"\nmeasure = \"0.8s\"\n{modes}[[sweep]]\nworkload = \"update_index\"\n\
         rtt = {rtts}\n"
    )
}

/// Runs the studies on real servers, and looks for what was planted.
pub fn run(parts: &mut Parts, tell: &mut Telling, is_quick: bool) -> Result<Vec<Check>> {
    let last = if is_quick { 1 } else { PLANTED.len() };
    let mut all = Vec::new();
    for planted in &PLANTED[..last] {
        let name = format!("self-test-slowdown-{}-rounds", planted.rounds);
        let record = (parts.run_study)(&name, &study(planted, is_quick))?;
        for check in checks(planted, &analysis::summarise(&record).cells) {
            tell(&check);
            all.push(check);
        }
    }
    Ok(all)
}

fn checks(planted: &Planted, cells: &[CellSummary]) -> Vec<Check> {
    let slowed = cells.iter().filter(|cell| cell.point.slowdown.is_some());
    // A pair that has no ratio shows nothing, and counts.
    let all = slowed.clone().count();
    let ratios: Vec<Estimate> = slowed.filter_map(|cell| cell.ratio).collect();
    vec![
        found(planted, &ratios, all),
        unbiased(planted, &ratios, all),
        held(planted, &ratios, all),
    ]
}

/// A slowdown is found where the whole interval lies below 1.
fn found(planted: &Planted, ratios: &[Estimate], all: usize) -> Check {
    let is_below = |ratio: &&Estimate| ratio.high.is_some_and(|high| high < 1.0);
    let count = ratios.iter().filter(is_below).count();
    let what = format!("a slowdown of {}", planted.name());
    enough(what, (count, all), FOUND, "are found")
}

fn held(planted: &Planted, ratios: &[Estimate], all: usize) -> Check {
    let holds = |ratio: &&Estimate| ratio.excludes(planted.truth()) == Some(false);
    let count = ratios.iter().filter(holds).count();
    let what = format!("its interval, {}", planted.name());
    enough(what, (count, all), HELD, "hold it")
}

/// So many of some, where this share of them should. Chance may take one of few, and no bound is
/// loosened for it.
fn enough(what: String, (count, of): (usize, usize), share: f64, verb: &str) -> Check {
    // Not one more for what is left by rounding.
    let least = (of as f64 * share - 1e-9).ceil() as usize;
    Check {
        what,
        must_hold: format!("at least {least} of {of} {verb}: {:.0} %", share * 100.0),
        reached: format!("{count} of {of}"),
        holds: count >= least && count > 0,
    }
}

fn unbiased(planted: &Planted, ratios: &[Estimate], all: usize) -> Check {
    let medians: Vec<f64> = ratios.iter().map(|ratio| ratio.median).collect();
    let bias = median(&medians).map(|middle| middle / planted.truth() - 1.0);
    Check {
        what: format!("median of all its ratios, {}", planted.name()),
        must_hold: format!("within {:.0} % of {:.2}", BIAS * 100.0, planted.truth()),
        reached: bias.map_or("none".to_owned(), |bias| {
            format!("{:+.2} % off it", bias * 100.0)
        }),
        holds: ratios.len() == all && bias.is_some_and(|bias| bias.abs() < BIAS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::Point;

    const TENTH: &Planted = &PLANTED[0];

    fn ratio(median: f64, half: f64) -> Estimate {
        Estimate {
            median,
            low: Some(median - half),
            high: Some(median + half),
        }
    }

    /// Of pairs that all have a ratio.
    fn hold(check: fn(&Planted, &[Estimate], usize) -> Check, ratios: &[Estimate]) -> bool {
        check(TENTH, ratios, ratios.len()).holds
    }

    /// So many ratios of the first kind, and the rest of 40 of the second.
    fn mixed(count: usize, first: Estimate, second: Estimate) -> Vec<Estimate> {
        let kind = |number| if number < count { first } else { second };
        (0..40).map(kind).collect()
    }

    #[test]
    fn four_fifths_are_to_be_found_below_one() {
        let with = |count, other| hold(found, &mixed(count, ratio(0.9, 0.05), other));
        let wide = ratio(0.9, 0.2);
        assert_eq!((with(32, wide), with(31, wide)), (true, false));
        assert!(!with(31, ratio(1.1, 0.05)), "found on the wrong side");
        let bare = Estimate::without_interval(0.5);
        assert!(!with(31, bare), "no interval");
        assert!(!hold(found, &[]), "nothing was measured");
        assert!(!hold(found, &[wide]));
    }

    #[test]
    fn nine_of_ten_intervals_are_to_hold_what_was_planted() {
        let (near, far) = (ratio(0.91, 0.02), ratio(0.93, 0.02));
        let with = |count| hold(held, &mixed(count, near, far));
        assert_eq!((with(36), with(35)), (true, false));
        assert!(!hold(held, &[]));
    }

    #[test]
    fn a_bias_is_seen_though_every_interval_holds_the_truth() {
        let all = |median| hold(unbiased, &[ratio(median, 0.1); 5]);
        assert_eq!(
            (all(0.908), all(0.892), all(0.91), all(0.89)),
            (true, true, false, false)
        );
        assert!(!hold(unbiased, &[]));
    }

    #[test]
    fn only_what_was_slowed_is_looked_at() {
        let cell = |slowdown, median| CellSummary {
            ratio: Some(ratio(median, 0.01)),
            point: Point {
                slowdown,
                ..Point::default()
            },
            ..CellSummary::default()
        };
        let good = |cells: &[CellSummary]| checks(TENTH, cells).iter().all(|check| check.holds);
        let mut cells = vec![cell(None, 1.3), cell(Some(0.1), 0.9)];
        assert!(good(&cells));
        cells[1].ratio = None;
        assert!(!good(&cells));
        // Pairs without a ratio are not left out of the account.
        let mut forty = vec![cell(Some(0.1), 0.9); 40];
        forty[1..].iter_mut().for_each(|cell| cell.ratio = None);
        let told = checks(TENTH, &forty);
        assert!(told.iter().all(|check| !check.holds), "{told:?}");
    }

    #[test]
    fn its_studies_are_without_mistakes() {
        for planted in &PLANTED {
            for (is_quick, modes) in [(true, 6), (false, 20)] {
                let study = crate::study::written::sample(&study(planted, is_quick));
                assert_eq!((study.modes.len(), study.rounds), (modes, planted.rounds));
                for pair in study.modes.chunks(2) {
                    assert_eq!((pair[0].slowdown, &pair[0].baseline), (None, &None));
                    assert_eq!(pair[1].slowdown, Some(planted.slowdown));
                    assert_eq!(pair[1].baseline.as_ref(), Some(&pair[0].label));
                }
            }
        }
    }
}
