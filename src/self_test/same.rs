//! A mode held against itself: nothing may differ, and figures say how often something seems to.

use super::chance::at_most;
use super::probe::{Parts, Telling};
use crate::analysis::interval::{Noise, Risk, estimate, median};
use crate::analysis::summary::{Anatomy, CellSummary, Estimate, Value};
use crate::analysis::{self, Summary};
use crate::error::Result;
use crate::record::self_test::Check;

/// An interval misses so often where nothing differs.
const MISSED: f64 = 0.05;
/// The median of all ratios may be off by this.
const MEDIAN_OFF: f64 = 0.02;
/// What is counted for each commit may be off by this.
const COUNT_OFF: f64 = 0.005;

/// What the mode is called that the others are copies of.
const ORIGINAL: &str = "one";

/// The study: one mode, and copies of it under other names.
fn study(is_quick: bool) -> String {
    let (copies, rtts) = match is_quick {
        true => (2, "[\"1ms\", \"2ms\", \"4ms\"]"),
        false => (10, "[\"0.5ms\", \"1ms\", \"2ms\", \"4ms\"]"),
    };
    let mode = |label: &str, baseline: &str| {
        format!(
            "[[mode]]\nserver = \"mysql\"\nmode = \"semisync\"\nlabel = \"{label}\"\n\
             baseline = \"{baseline}\"\n"
        )
    };
    let modes: String = (1..=copies)
        .map(|number| mode(&format!("same {number}"), ORIGINAL))
        .collect();
    let connections = if is_quick { "[1]" } else { "[1, 4]" };
    format!(
        "name = \"self-test\"\ntitle = \"a mode and its copies\"\nrounds = 4\nwarmup = \"0.2s\"\n\
         measure = \"0.8s\"\n{}{modes}[[sweep]]\nworkload = \"update_index\"\n\
         connections = {connections}\nrtt = {rtts}\n[[sweep]]\nworkload = \"point_select\"\n\
         connections = {connections}\nrtt = {rtts}\n",
        mode(ORIGINAL, "none")
    )
}

/// Runs the study on real servers, and looks for differences.
pub fn run(parts: &mut Parts, tell: &mut Telling, is_quick: bool) -> Result<Vec<Check>> {
    let record = (parts.run_study)("self-test-same", &study(is_quick))?;
    let checks = checks(&analysis::summarise(&record));
    checks.iter().for_each(tell);
    Ok(checks)
}

fn checks(summary: &Summary) -> Vec<Check> {
    let copies: Vec<&CellSummary> = (summary.cells.iter())
        .filter(|cell| cell.baseline.is_some())
        .collect();
    let rates = copies.iter().filter_map(|cell| cell.ratio);
    let p95s = copies.iter().filter_map(|copy| p95_ratio(copy, summary));
    let (rates, p95s): (Vec<Estimate>, Vec<Estimate>) = (rates.collect(), p95s.collect());
    let counts = copies.iter().filter_map(|copy| count_off(copy, summary));
    vec![
        excluded("throughput", &rates),
        middle("throughput", &rates),
        excluded("p95", &p95s),
        middle("p95", &p95s),
        counted(counts.collect()),
        slopes(summary),
    ]
}

/// The cell that this one is a copy of.
fn original<'s>(copy: &CellSummary, summary: &'s Summary) -> Option<&'s CellSummary> {
    let mut cells = summary.cells.iter();
    cells.find(|cell| cell.baseline.is_none() && cell.point.load() == copy.point.load())
}

fn p95_ratio(copy: &CellSummary, summary: &Summary) -> Option<Estimate> {
    let (own, base) = (&copy.by_round, &original(copy, summary)?.by_round);
    let ratio = |(round, us): (&u32, &f64)| Some(us / base.p95_us.get(round)?);
    let ratios: Vec<f64> = own.p95_us.iter().filter_map(ratio).collect();
    estimate(&ratios, Noise::Multiplies, Risk::ONE_LOOK).filter(|ratio| ratio.low.is_some())
}

/// Bytes between the servers for each commit, over the original's, less 1.
fn count_off(copy: &CellSummary, summary: &Summary) -> Option<f64> {
    let base = original(copy, summary)?.bytes_per_commit.replication;
    Some(copy.bytes_per_commit.replication? / base.filter(|bytes| *bytes > 0.0)? - 1.0)
}

fn excluded(what: &str, ratios: &[Estimate]) -> Check {
    let different = ratios
        .iter()
        .filter(|ratio| ratio.excludes(1.0) == Some(true));
    let (different, most) = (different.count(), at_most(MISSED, ratios.len()));
    Check {
        what: format!("{what} of a mode over its own"),
        must_hold: format!("at most {most} of {} ratios exclude 1", ratios.len()),
        reached: format!("{different} of {}", ratios.len()),
        holds: different <= most && !ratios.is_empty(),
    }
}

fn middle(what: &str, ratios: &[Estimate]) -> Check {
    let medians: Vec<f64> = ratios.iter().map(|ratio| ratio.median).collect();
    let middle = median(&medians);
    Check {
        what: format!("median of all ratios of {what}"),
        must_hold: format!("within {:.0} % of 1", MEDIAN_OFF * 100.0),
        reached: middle.map_or("none".to_owned(), |middle| format!("{middle:.4}")),
        holds: middle.is_some_and(|middle| (middle - 1.0).abs() <= MEDIAN_OFF),
    }
}

fn counted(off: Vec<f64>) -> Check {
    let off: Vec<f64> = off.into_iter().map(f64::abs).collect();
    let middle = median(&off);
    let most = off.iter().copied().fold(0.0, f64::max);
    Check {
        what: "bytes between servers for each commit".to_owned(),
        must_hold: format!(
            "half of them within {:.1} % of the original's",
            COUNT_OFF * 100.0
        ),
        reached: middle.map_or("none".to_owned(), |middle| {
            format!("{:.2} %, at most {:.2} %", middle * 100.0, most * 100.0)
        }),
        holds: middle.is_some_and(|middle| middle <= COUNT_OFF),
    }
}

/// Round trips of each copy against those of the original: intervals that do not meet.
fn slopes(summary: &Summary) -> Check {
    let all: Vec<(&Anatomy, Value)> = (summary.anatomy.iter())
        .filter_map(|anatomy| Some((anatomy, anatomy.round_trips?)))
        .filter(|(_, trips)| trips.low.is_some() && trips.high.is_some())
        .collect();
    let (originals, copies): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(anatomy, _)| anatomy.label == ORIGINAL);
    let meets = |(copy, own): &(&Anatomy, Value)| {
        let mut same = originals.iter();
        same.any(|(one, trips)| {
            one.workload == copy.workload && trips.low <= own.high && own.low <= trips.high
        })
    };
    let different = copies.iter().filter(|copy| !meets(copy)).count();
    let most = at_most(MISSED, copies.len());
    let off = copies.iter().filter_map(|(copy, own)| {
        let mut same = originals.iter();
        let one = same.find(|(one, _)| one.workload == copy.workload)?;
        Some((own.value - one.1.value).abs())
    });
    let greatest = off.fold(0.0, f64::max);
    Check {
        what: "round trips of each copy".to_owned(),
        must_hold: format!(
            "at most {most} of {} apart from the original's",
            copies.len()
        ),
        reached: format!("{different}; they differ by {greatest:.3} at most"),
        holds: different <= most && !copies.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(median: f64) -> Estimate {
        Estimate {
            median,
            low: Some(median - 0.01),
            high: Some(median + 0.01),
        }
    }

    #[test]
    fn as_many_may_seem_to_differ_as_do_by_chance_and_no_more() {
        let with = |different: usize| {
            let ratios: Vec<Estimate> = (0..24)
                .map(|number| ratio(if number < different { 1.1 } else { 1.0 }))
                .collect();
            excluded("throughput", &ratios).holds
        };
        assert_eq!((with(3), with(4)), (true, false));
        assert!(!excluded("throughput", &[]).holds, "nothing was measured");
    }

    #[test]
    fn a_bias_of_all_ratios_is_seen_though_none_excludes_one() {
        let all = |median| middle("p95", &[ratio(median); 5]).holds;
        assert_eq!((all(1.019), all(0.975)), (true, false));
        assert!(!middle("p95", &[]).holds);
        assert!(counted(vec![0.004, -0.004, 0.2]).holds);
        assert!(!counted(vec![0.006, -0.006, 0.0]).holds);
    }

    #[test]
    fn its_studies_are_without_mistakes() {
        for (is_quick, modes) in [(true, 3), (false, 11)] {
            let study = crate::study::written::sample(&study(is_quick));
            assert_eq!(study.modes.len(), modes);
            assert!(
                study.modes[1..]
                    .iter()
                    .all(|spec| spec.baseline.as_deref() == Some(ORIGINAL))
            );
            assert_eq!(study.modes[0].baseline, None);
        }
    }
}
