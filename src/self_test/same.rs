//! A mode held against itself: nothing may differ, and figures say how often something seems to.

use std::collections::BTreeSet;

use super::chance::at_most;
use super::probe::{Parts, Telling};
use crate::analysis::interval::{Noise, Risk, estimate, median};
use crate::analysis::summary::{CellSummary, Estimate, Value};
use crate::analysis::{self, Summary};
use crate::error::Result;
use crate::record::self_test::Check;

/// An interval misses so often where nothing differs.
const MISSED: f64 = 0.05;
/// The median of all ratios may be off by this.
const MEDIAN_OFF: f64 = 0.02;
/// What is counted for each commit may be off by this.
const COUNT_OFF: f64 = 0.005;
/// The share of all figures of a kind that must be there: a cell may be void, or too short for a
/// percentile.
const THERE: f64 = 0.75;

/// The study: a mode under two names, several times. Each copy has an original of its own, so that
/// what befalls one measurement is in one ratio only. The whole has 120 ratios of a kind.
fn study(is_quick: bool) -> String {
    let (pairs, rounds) = if is_quick { (2, 3) } else { (10, 4) };
    let mode = |label: &str, baseline: &str| {
        format!(
            "[[mode]]\nserver = \"mysql\"\nmode = \"semisync\"\nlabel = \"{label}\"\n\
             baseline = \"{baseline}\"\n"
        )
    };
    let pair = |number: u32| {
        let original = format!("one {number}");
        mode(&original, "none") + &mode(&format!("same {number}"), &original)
    };
    let modes: String = (1..=pairs).map(pair).collect();
    let connections = if is_quick { "[1]" } else { "[1, 4]" };
    format!(
        "name = \"self-test\"\ntitle = \"a mode and its copies\"\nrounds = {rounds}\n\
         warmup = \"0.2s\"\nmeasure = \"0.8s\"\n{modes}[[sweep]]\n\
         workload = [\"update_index\", \"point_select\"]\n\
         connections = {connections}\nrtt = [\"1ms\", \"2ms\", \"4ms\"]\n"
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
    let planned = copies.len();
    vec![
        excluded("throughput", &rates, planned),
        middle("throughput", &rates),
        excluded("p95", &p95s, planned),
        middle("p95", &p95s),
        // Of its two loads one is of reads, which are not replicated.
        counted(counts.collect(), planned / 2),
        slopes(summary),
    ]
}

/// Whether so many of those that are planned are there that they tell of all.
fn are_there(count: usize, planned: usize) -> bool {
    count > 0 && count as f64 >= THERE * planned as f64
}

fn least(planned: usize) -> String {
    let least = (THERE * planned as f64).ceil();
    format!("at least {least:.0} of {planned} measured")
}

/// The cell that this one is a copy of.
fn original<'s>(copy: &CellSummary, summary: &'s Summary) -> Option<&'s CellSummary> {
    let baseline = copy.baseline.as_ref()?;
    let mut cells = summary.cells.iter();
    cells.find(|cell| cell.label == *baseline && cell.point.load() == copy.point.load())
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

fn excluded(what: &str, ratios: &[Estimate], planned: usize) -> Check {
    let different = ratios
        .iter()
        .filter(|ratio| ratio.excludes(1.0) == Some(true));
    let (different, most) = (different.count(), at_most(MISSED, ratios.len()));
    Check {
        what: format!("{what} of a mode over its own"),
        must_hold: format!(
            "at most {most} of {} ratios exclude 1; {}",
            ratios.len(),
            least(planned)
        ),
        reached: format!("{different} of {}", ratios.len()),
        holds: different <= most && are_there(ratios.len(), planned),
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

fn counted(off: Vec<f64>, planned: usize) -> Check {
    let off: Vec<f64> = off.into_iter().map(f64::abs).collect();
    let middle = median(&off);
    let most = off.iter().copied().fold(0.0, f64::max);
    Check {
        what: "bytes between servers for each commit".to_owned(),
        must_hold: format!(
            "within {:.1} % of the original's; {}",
            COUNT_OFF * 100.0,
            least(planned)
        ),
        reached: middle.map_or("none".to_owned(), |middle| {
            format!(
                "{:.2} % off, half of them {:.2} % at most",
                most * 100.0,
                middle * 100.0
            )
        }),
        holds: are_there(off.len(), planned) && most <= COUNT_OFF,
    }
}

/// Round trips of each copy against those of its original.
fn slopes(summary: &Summary) -> Check {
    let copies =
        (summary.cells.iter()).filter_map(|cell| Some((&cell.label, cell.baseline.as_ref()?)));
    let pairs: BTreeSet<(&String, &String)> = copies.collect();
    let loads: BTreeSet<&String> = summary.cells.iter().map(|cell| &cell.workload).collect();
    let planned = pairs.len() * loads.len();
    let of = |label: &str| -> Vec<(&String, Value)> {
        let all = summary.anatomy.iter().filter(|one| one.label == label);
        all.filter_map(|one| Some((&one.workload, one.round_trips?)))
            .collect()
    };
    let both = pairs.into_iter().flat_map(|(copy, original)| {
        let originals = of(original);
        let both = of(copy).into_iter().filter_map(|(workload, own)| {
            let mut same = originals.iter().filter(|(other, _)| *other == workload);
            Some((own, same.next()?.1))
        });
        both.collect::<Vec<(Value, Value)>>()
    });
    apart(&both.collect::<Vec<(Value, Value)>>(), planned)
}

/// A copy's value and its original's each.
fn apart(both: &[(Value, Value)], planned: usize) -> Check {
    let half = |value: &Value| Some((value.high? - value.low?) / 2.0);
    // A difference has the interval of both: half as wide as the root of the sum of their squares.
    let is_same = |(own, one): &(Value, Value)| {
        Some((own.value - one.value).abs() <= half(own)?.hypot(half(one)?))
    };
    // Where a slope has no interval it is not known to be the same.
    let known: Vec<bool> = both.iter().filter_map(is_same).collect();
    let different = known.iter().filter(|is_same| !**is_same).count();
    let most = at_most(MISSED, known.len());
    let off = both.iter().map(|(own, one)| (own.value - one.value).abs());
    let greatest = off.fold(0.0, f64::max);
    Check {
        what: "round trips of each copy".to_owned(),
        must_hold: format!(
            "at most {most} of {} differ from the original's; {}",
            known.len(),
            least(planned)
        ),
        reached: format!("{different}; they differ by {greatest:.3} at most"),
        holds: different <= most && are_there(known.len(), planned),
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
            excluded("throughput", &ratios, 24).holds
        };
        assert_eq!((with(3), with(4)), (true, false));
        assert!(
            !excluded("throughput", &[], 0).holds,
            "nothing was measured"
        );
        let some = |there: usize| excluded("p95", &vec![ratio(1.0); there], 120).holds;
        assert_eq!((some(90), some(89)), (true, false), "most must be there");
    }

    #[test]
    fn a_bias_of_all_ratios_is_seen_though_none_excludes_one() {
        let all = |median| middle("p95", &[ratio(median); 5]).holds;
        assert_eq!((all(1.019), all(0.975)), (true, false));
        assert!(!middle("p95", &[]).holds);
        assert!(counted(vec![0.004, -0.004, 0.0], 3).holds);
        assert!(!counted(vec![0.006, 0.001, 0.0], 3).holds, "one is enough");
        assert!(!counted(vec![0.0; 3], 5).holds, "most must be there");
        assert!(!counted(Vec::new(), 0).holds);
    }

    #[test]
    fn round_trips_are_held_against_those_of_the_own_original() {
        let trips = |value: f64| Value {
            value,
            low: Some(value - 0.1),
            high: Some(value + 0.1),
        };
        let all = |own| apart(&[(trips(own), trips(1.0)); 40], 40);
        assert!(all(1.14).holds && !all(1.15).holds);
        assert!(all(1.15).reached.starts_with("40;"), "{:?}", all(1.15));
        assert!(!apart(&[], 0).holds);
        assert!(
            !apart(&[(trips(1.0), trips(1.0)); 29], 40).holds,
            "most must be there"
        );
        let open = Value {
            low: None,
            ..trips(1.0)
        };
        assert!(!apart(&[(trips(1.0), trips(1.0)), (open, trips(1.0))], 2).holds);
    }

    #[test]
    fn its_studies_are_without_mistakes() {
        for (is_quick, modes, ratios) in [(true, 4, 12), (false, 20, 120)] {
            let study = crate::study::written::sample(&study(is_quick));
            assert_eq!(study.modes.len(), modes);
            for pair in study.modes.chunks(2) {
                assert_eq!(pair[0].baseline, None);
                assert_eq!(pair[1].baseline.as_ref(), Some(&pair[0].label));
            }
            assert_eq!(crate::plan::plan(&study).cells.len(), 2 * ratios);
        }
    }
}
