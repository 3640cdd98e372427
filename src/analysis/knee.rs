//! Knees: the highest rates that keep a limit of latency, as the searches of a record found them.

use std::collections::BTreeMap;
use std::time::Duration;

use super::called;
use super::interval::{Noise, Risk, estimate};
use super::summary::{Estimate, Knee, KneeEnd, KneeRate, RoundKnee};
use crate::plan::knee::{
    Found, RATIO, Search, Seek, Verdict, index_of, knee_per_s, rate_per_s, typical,
};
use crate::plan::{Cell, Point};
use crate::record::store::Record;
use crate::record::{Header, Measurement};

/// Of each search of the study, in its order.
pub fn knees(record: &Record) -> Vec<Knee> {
    let cells = (0..).zip(&record.header.cells);
    let searches = cells.filter(|(_, cell)| cell.is_search());
    let seeks = searches.filter_map(|(index, cell)| Some((index, cell, cell.knee?)));
    seeks
        .map(|(index, cell, seek)| knee(record, index, cell, seek))
        .collect()
}

fn knee(record: &Record, index: usize, cell: &Cell, seek: Seek) -> Knee {
    let study = &record.header.study;
    let mut rounds: BTreeMap<u32, Vec<&Measurement>> = BTreeMap::new();
    for measurement in record.measurements.iter().filter(|m| m.cell == index) {
        rounds
            .entry(measurement.round)
            .or_default()
            .push(measurement);
    }
    let (kept, rounds) = replayed(&record.header, rounds, seek);
    let knees: Vec<f64> = kept.into_iter().map(knee_per_s).collect();
    let point = Point::of(study, cell);
    Knee {
        label: study.modes[cell.mode].label.clone(),
        workload: called::workload(&Point {
            knee: None,
            ..point.clone()
        }),
        connections: cell.connections,
        client_site: cell.client_site.clone(),
        distances: cell.distances.label.clone(),
        disks: cell.disks.as_ref().map(|disks| disks.label.clone()),
        p99_us_max: seek.p99.as_secs_f64() * 1e6,
        knee_per_s: estimate(&knees, Noise::Multiplies, Risk::of(study))
            .map(|estimate| as_known(estimate, &rounds, record.finished)),
        rounds,
        point,
    }
}

/// What each round's search came to, and where those that found a knee last kept the limit. A
/// search begins near the knees of earlier rounds of its own part: a part knows of no other.
fn replayed(
    header: &Header,
    rounds: BTreeMap<u32, Vec<&Measurement>>,
    seek: Seek,
) -> (Vec<i32>, Vec<RoundKnee>) {
    let mut of_parts: BTreeMap<Option<usize>, Vec<i32>> = BTreeMap::new();
    let (mut kept, mut all) = (Vec::new(), Vec::new());
    for (round, tried) in rounds {
        let mut parts = header.parts.iter();
        let own = parts.position(|one| one.part.has(round));
        let known = of_parts.entry(own).or_default();
        let (found, told) = searched_in(round, &tried, seek, typical(known));
        if let Some(Found::Knee(last)) = found {
            known.push(last);
            kept.push(last);
        }
        all.push(told);
    }
    (kept, all)
}

/// Rounds whose knee lay beyond what could be offered, or whose search was given up, are in no
/// figure: an interval of the others would speak of those alone. The last round of a run that was
/// cut short may just not have ended.
fn as_known(estimate: Estimate, rounds: &[RoundKnee], is_finished: bool) -> Estimate {
    let is_beyond = |(place, round): (usize, &RoundKnee)| match round.end {
        KneeEnd::Below | KneeEnd::Above | KneeEnd::DriverFull => true,
        KneeEnd::Found => false,
        KneeEnd::Open => is_finished || place + 1 < rounds.len(),
    };
    match rounds.iter().enumerate().any(is_beyond) {
        true => Estimate::without_interval(estimate.median),
        false => no_narrower(estimate),
    }
}

/// Within one round's bracket nobody knows more: rounds that agree do not make it narrower.
fn no_narrower(estimate: Estimate) -> Estimate {
    let half = RATIO.sqrt();
    Estimate {
        median: estimate.median,
        low: estimate.low.map(|low| low.min(estimate.median / half)),
        high: estimate.high.map(|high| high.max(estimate.median * half)),
    }
}

/// What a search came to, from what it tried, in that order; it began near the knees of earlier
/// rounds.
fn searched_in(
    round: u32,
    tried: &[&Measurement],
    seek: Seek,
    near: Option<i32>,
) -> (Option<Found>, RoundKnee) {
    let mut search = Search::new(near);
    // A rate is what most looks at it say: its figure is of the newest of these.
    let mut p99_us: BTreeMap<(i32, bool), Option<f64>> = BTreeMap::new();
    for measurement in tried {
        let outcome = measurement.outcome(Duration::ZERO);
        let index = measurement.offered_per_s.and_then(index_of);
        let verdict = outcome.verdict(seek.p99);
        if let (Some(index), Some(verdict)) = (index, verdict) {
            let seen = (index, verdict == Verdict::Keeps);
            p99_us.insert(seen, outcome.latency_us_p99.map(|us| us as f64));
        }
        search.take(verdict);
    }
    let (found, bracket) = (search.found(), search.bracket());
    let rate = |index: i32, is_kept: bool| KneeRate {
        offered_per_s: rate_per_s(index),
        p99_us: p99_us.get(&(index, is_kept)).copied().flatten(),
    };
    let told = RoundKnee {
        round,
        end: match found {
            Some(Found::Knee(_)) => KneeEnd::Found,
            Some(Found::Driver(_)) => KneeEnd::DriverFull,
            Some(Found::Above(_)) => KneeEnd::Above,
            Some(Found::Below(_)) => KneeEnd::Below,
            None => KneeEnd::Open,
        },
        kept: bracket.kept.map(|index| rate(index, true)),
        broke: bracket.broke.map(|index| rate(index, false)),
        measurements: tried.len() as u32,
    };
    (found, told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PartOf;
    use crate::plan::knee::Part;
    use crate::record::{CpuUsed, Flag, Host, PartFacts, histogram};
    use crate::study::written;

    /// One mode in search of its knee.
    const TEXT: &str = r#"
rounds = 4
[[mode]]
server = "mysql"
mode = "single"
[[sweep]]
workload = "update_index"
connections = 16
rtt = "1ms"
knee = { p99 = "20ms" }
"#;

    /// A measurement of the search at that rate.
    fn tried(round: u32, offered_per_s: u32, p99_us: u64) -> Measurement {
        let mut latency_us = histogram::empty();
        latency_us.record_n(p99_us, 100).unwrap();
        Measurement {
            round,
            offered_per_s: Some(offered_per_s),
            window_s: 1.0,
            due: 100,
            latency_us: histogram::encode(&latency_us),
            ..Measurement::default()
        }
    }

    /// A whole search at a server with that knee, and where it was the last to keep the limit.
    fn searched_near(
        round: u32,
        knee_per_s: f64,
        near: Option<i32>,
    ) -> (Vec<Measurement>, Option<i32>) {
        let mut search = Search::new(near);
        let mut all = Vec::new();
        while let Some(asked) = search.asks() {
            let offered_per_s = asked.offered().rate_per_s;
            let keeps = f64::from(offered_per_s) <= knee_per_s;
            all.push(tried(
                round,
                offered_per_s,
                if keeps { 15_000 } else { 25_000 },
            ));
            let outcome = all[all.len() - 1].outcome(Duration::ZERO);
            search.take(outcome.verdict(Duration::from_millis(20)));
        }
        let kept = match search.found() {
            Some(Found::Knee(kept)) => Some(kept),
            _ => None,
        };
        (all, kept)
    }

    /// A rate that held in most looks at it is told with a percentile within the limit, though the
    /// newest look was another.
    #[test]
    fn what_is_told_of_a_rate_is_of_the_looks_that_decided_it() {
        // 995/s.
        let knee = 176;
        let mut looks: BTreeMap<i32, u32> = BTreeMap::new();
        let (mut search, mut all, mut last_at_knee) = (Search::new(None), vec![], true);
        while let Some(asked) = search.asks() {
            let look = looks.entry(asked.index).or_default();
            *look += u32::from(asked.is_fine);
            let keeps = match (asked.index - knee, *look) {
                (0, 3) => false,
                (1, 2) => true,
                (above, _) => above <= 0,
            };
            if asked.index == knee {
                last_at_knee = keeps;
            }
            let p99_us = if keeps { 15_000 } else { 25_000 };
            all.push(tried(1, asked.offered().rate_per_s, p99_us));
            let outcome = all[all.len() - 1].outcome(Duration::ZERO);
            search.take(outcome.verdict(Duration::from_millis(20)));
        }
        assert_eq!(
            (search.found(), last_at_knee),
            (Some(Found::Knee(knee)), false)
        );
        let told = only(all).rounds.remove(0);
        let p99_us = [told.kept, told.broke].map(|rate| rate.expect("a rate").p99_us.unwrap());
        assert!(p99_us[0] < 20_000.0 && p99_us[1] > 20_000.0, "{p99_us:?}");
    }

    fn searched(round: u32, knee_per_s: f64) -> Vec<Measurement> {
        searched_near(round, knee_per_s, None).0
    }

    /// A search in each round, beside the knees of those before.
    fn searched_over(knees_per_s: &[f64]) -> Vec<Measurement> {
        let (mut all, mut known) = (Vec::new(), Vec::new());
        for (round, knee_per_s) in (1..).zip(knees_per_s) {
            let (tried, kept) = searched_near(round, *knee_per_s, typical(&known));
            known.extend(kept);
            all.extend(tried);
        }
        all
    }

    fn record(measurements: Vec<Measurement>) -> Record {
        let study = written::sample(TEXT);
        Record {
            header: Header {
                cells: crate::plan::plan(&study).cells,
                study,
                ..Header::default()
            },
            measurements,
            campaigns: BTreeMap::new(),
            finished: true,
        }
    }

    fn only(measurements: Vec<Measurement>) -> Knee {
        let mut all = knees(&record(measurements));
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn a_knee_has_an_interval_over_the_rounds_that_found_it() {
        let knee = only(searched_over(&[1_000.5, 1_040.5, 990.5, 1_010.5]));
        let estimate = knee.knee_per_s.expect("a knee");
        assert!(
            (estimate.median / 1_005.0).ln().abs() < 0.04,
            "{estimate:?}"
        );
        assert!(estimate.low.is_some() && estimate.high.is_some());
        let ends: Vec<KneeEnd> = knee.rounds.iter().map(|round| round.end).collect();
        assert_eq!(ends, [KneeEnd::Found; 4]);
        assert_eq!(knee.p99_us_max, 20_000.0);
        assert_eq!(knee.workload, "update_index");
        let (kept, broke) = (knee.rounds[0].kept.unwrap(), knee.rounds[0].broke.unwrap());
        assert!(kept.offered_per_s <= 1_000 && broke.offered_per_s > 1_000);
        let p99_us = [kept, broke].map(|rate| rate.p99_us.unwrap().round());
        assert!((p99_us[0] - 15_000.0).abs() < 20.0, "{p99_us:?}");
        assert!((p99_us[1] - 25_000.0).abs() < 30.0, "{p99_us:?}");
    }

    /// Each part begins from nothing, whatever the other found in a round before.
    #[test]
    fn parts_that_were_searched_apart_come_to_what_they_came_to_alone() {
        let alone = [1_000.5, 1_040.5];
        let apart = |number: u32| {
            let mut own = searched_over(&alone);
            own.iter_mut()
                .for_each(|one| one.round = 2 * (one.round - 1) + number);
            own
        };
        let mut merged = record([apart(1), apart(2)].concat());
        let part = |part: PartOf| PartFacts {
            part,
            command_line: vec![],
            started_unix_ms: 0,
            host: Host::default(),
            self_test: None,
            labs: vec![],
        };
        merged.header.parts = PartOf::all(2).map(part).collect();
        let merged = knees(&merged).remove(0);
        let own = only(searched_over(&alone));
        let told = |knee: &Knee, places: [usize; 2]| {
            let rounds = places.map(|place| knee.rounds[place].clone());
            rounds.map(|round| (round.end, round.kept, round.broke))
        };
        assert!(own.rounds.iter().all(|round| round.end == KneeEnd::Found));
        for places in [[0, 2], [1, 3]] {
            assert_eq!(told(&merged, places), told(&own, [0, 1]));
        }
        let median = |knee: &Knee| knee.knee_per_s.expect("a knee").median;
        assert!((median(&merged) / median(&own) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn rounds_whose_knee_lies_beyond_what_is_offered_leave_the_others_without_an_interval() {
        let knee = only(searched_over(&[1_000.5, 1_040.5, 990.5, 1_010.5, 1.0]));
        assert_eq!(knee.rounds[4].end, KneeEnd::Below);
        let estimate = knee.knee_per_s.expect("a knee");
        assert!((estimate.median / 1_005.0).ln().abs() < 0.04);
        assert_eq!((estimate.low, estimate.high), (None, None));
    }

    #[test]
    fn a_search_that_was_given_up_leaves_the_others_without_an_interval() {
        let mut all = searched_over(&[1_000.5, 1_040.5, 990.5, 1_010.5]);
        let mut left = 3;
        all.retain(|measurement| {
            let is_second = measurement.round == 2;
            left -= i32::from(is_second);
            !is_second || left >= 0
        });
        let knee = only(all);
        assert_eq!(knee.rounds[1].end, KneeEnd::Open);
        let estimate = knee.knee_per_s.expect("a knee");
        assert_eq!((estimate.low, estimate.high), (None, None));
    }

    #[test]
    fn rounds_that_agree_know_the_knee_no_better_than_its_bracket() {
        let all = searched_over(&[1_000.5; 4]);
        let estimate = only(all).knee_per_s.expect("a knee");
        let (low, high) = (estimate.low.unwrap(), estimate.high.unwrap());
        assert!((high / low - RATIO).abs() < 1e-9, "{estimate:?}");
    }

    #[test]
    fn where_the_driver_is_full_or_the_search_was_cut_short_there_is_no_figure() {
        let mut full = searched(1, 1_000.5);
        for measurement in &mut full {
            measurement.cpu = CpuUsed {
                client_us: 0.9e6,
                ..CpuUsed::default()
            };
        }
        let knee = only(full);
        assert_eq!(knee.rounds[0].end, KneeEnd::DriverFull);
        assert_eq!(knee.knee_per_s, None);
        let mut cut = searched(1, 1_000.5);
        cut.truncate(4);
        let knee = only(cut);
        assert_eq!((knee.rounds[0].end, knee.knee_per_s), (KneeEnd::Open, None));
        assert!(only(vec![]).rounds.is_empty());
    }

    #[test]
    fn void_measurements_and_other_rates_decide_nothing() {
        let mut all = searched(1, 1_000.5);
        let sound = only(all.clone());
        all.push(Measurement {
            flags: vec![Flag::LateLinks],
            ..tried(1, all[0].offered_per_s.unwrap(), 25_000)
        });
        all.push(tried(1, 99, 25_000));
        let with = only(all);
        assert_eq!(with.knee_per_s, sound.knee_per_s);
        assert_eq!(
            with.rounds[0].measurements,
            sound.rounds[0].measurements + 2
        );
    }

    #[test]
    fn a_search_is_no_cell_of_the_tables_and_what_is_below_is() {
        let record = record(searched(1, 1_000.5));
        let summary = crate::analysis::summarise(&record);
        assert_eq!(summary.cells.len(), 1);
        let knee = summary.cells[0].point.knee.expect("below a knee");
        assert_eq!(knee.part, Part::Below);
        assert_eq!(summary.knees.len(), 1);
        // Of a search, and below it, nobody knows how many there are to be.
        assert_eq!(summary.measurements_asked, record.measurements.len());
    }
}
