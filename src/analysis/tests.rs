use super::example::{Example, equal, kept};
use super::summary::CellSummary;
use super::*;
use crate::record::Flag;
use crate::record::store::Record;

fn cell<'a>(summary: &'a Summary, label: &str, distances: &str) -> &'a CellSummary {
    let mut cells = summary.cells.iter();
    let is_it = |cell: &&CellSummary| cell.label == label && cell.distances == distances;
    cells.find(is_it).unwrap()
}

fn near(one: f64, other: f64, share: f64) -> bool {
    (one - other).abs() <= share * other.abs()
}

#[test]
fn ratios_are_paired_while_the_host_slows_down() {
    let summary = summarise(&Example::default().record());
    let group = cell(&summary, "mysql group", "2.15 ms");
    let ratio = group.ratio.unwrap();
    let truth = 1300.0 / (1900.0 + 1.5 * 2150.0);
    assert!(near(ratio.median, truth, 0.01), "{ratio:?}");
    assert!(
        ratio.high.unwrap() - ratio.low.unwrap() < 0.05 * truth,
        "{ratio:?}"
    );
    assert_eq!(group.difference_shown, Some(true));
    let rate = group.throughput_per_s.unwrap();
    assert!(
        rate.high.unwrap() / rate.low.unwrap() > 1.3,
        "the rate itself drifts: {rate:?}"
    );
    let single = cell(&summary, "mysql single", "2.15 ms");
    assert_eq!((single.ratio, single.difference_shown), (None, None));
}

/// At an offered rate all commit as much: what a row is told by is its latency.
#[test]
fn at_an_offered_rate_rows_are_alike_whose_latency_is() {
    let mut record = Example::default().record();
    record.header.study.until = Some(0.05);
    for cell in &mut record.header.cells {
        cell.rate_per_s = Some(100);
    }
    let is_alike = |record: &Record| cell(&summarise(record), "mysql group", "2.15 ms").is_alike;
    assert!(!is_alike(&record));
    let all = record.measurements.clone();
    let base = |one: &Measurement| {
        let Header { study, cells, .. } = &record.header;
        let base = rounds::baseline_of(study, cells, one.cell)?;
        all.iter().find(|m| (m.cell, m.round) == (base, one.round))
    };
    let latencies: Vec<Option<String>> = all
        .iter()
        .map(|one| base(one).map(|base| base.latency_us.clone()))
        .collect();
    for (one, latency) in record.measurements.iter_mut().zip(latencies) {
        one.latency_us = latency.unwrap_or(std::mem::take(&mut one.latency_us));
    }
    assert!(is_alike(&record));
    record.header.study.until = None;
    assert!(!is_alike(&record), "nobody asked within what");
}

#[test]
fn rounds_that_never_caught_up_keep_their_rate() {
    let mut record = kept("group-replication-2017");
    let slow = |record: &Record| {
        let mut cells = summarise(record).cells.into_iter();
        cells.find(|cell| cell.label == "1 applier" && cell.offered_per_s == Some(2_000))
    };
    let before = slow(&record).unwrap();
    let later = record.measurements.iter_mut().filter(|m| m.round > 1);
    for lag in later.flat_map(|m| &mut m.lag) {
        lag.catch_up_ms = None;
    }
    let after = slow(&record).unwrap();
    assert!(before.applied_per_s.is_some());
    assert_eq!(after.applied_per_s, before.applied_per_s);
    let lag = &after.lag_ms[0];
    assert_eq!((lag.catch_up, lag.not_caught_up), (None, after.rounds - 1));
}

#[test]
fn percentiles_need_ten_samples_beyond() {
    let example = Example::default();
    let mut record = example.record();
    let four = summarise(&record).cells[0].latency_us;
    assert_eq!(
        (four.samples, four.p50, four.max),
        (8000, Some(1300.0), Some(5203.0))
    );
    assert!(
        four.p99.is_some() && four.p999.is_none(),
        "8 of 8,000 lie beyond p99.9"
    );
    record.measurements.retain(|m| m.round == 0);
    record.measurements[0].latency_us = {
        let mut histogram = crate::record::histogram::empty();
        histogram.record_n(100, 19).unwrap();
        crate::record::histogram::encode(&histogram)
    };
    let one = summarise(&record).cells[0].latency_us;
    assert_eq!((one.p50, one.max), (None, Some(100.0)));
}

#[test]
fn void_measurements_enter_no_figure_but_are_counted() {
    let mut record = Example::default().record();
    let sound = summarise(&record).cells[2].clone();
    let void = record
        .measurements
        .iter_mut()
        .find(|m| m.cell == 2 && m.round == 1);
    let void = void.unwrap();
    void.flags.push(Flag::LateLinks);
    void.commits *= 100;
    void.cpu.writer_us = Some(0.0);
    let summary = summarise(&record);
    let cell = &summary.cells[2];
    assert_eq!((cell.rounds, cell.rounds_void), (3, 1));
    assert!(cell.throughput_per_s.unwrap().median < 2.0 * sound.throughput_per_s.unwrap().median);
    assert_eq!(cell.cpu_us_per_commit.writer, Some(310.0));
    assert_eq!(
        (cell.flags[0].flag, cell.flags[0].rounds, cell.flags[0].of),
        (Flag::LateLinks, 1, 4)
    );
}

/// With so many void measurements of a hundredth of the rate before each sound one.
fn with_void(count: usize) -> crate::analysis::summary::CellSummary {
    let mut record = Example::default().record();
    for measurement in record.measurements.iter_mut().filter(|m| m.cell == 2) {
        let mut void = measurement.clone();
        void.flags.push(Flag::LateLinks);
        void.commits /= 100;
        (void.packets, void.late_packets) = (100, 7);
        measurement.made_again = count as u32;
        measurement.voided = vec![void; count];
    }
    summarise(&record).cells[2].clone()
}

#[test]
fn figures_with_void_measurements_stand_beside_those_without() {
    let (none, two) = (with_void(0), with_void(2));
    assert_eq!(none.with_void, None);
    assert_eq!(two.throughput_per_s, none.throughput_per_s);
    assert_eq!((two.rounds, two.rounds_void), (4, 0));
    let with = two.with_void.unwrap();
    let (first, low) = (&with.void[0], none.throughput_per_s.unwrap().low.unwrap());
    assert_eq!((with.void.len(), first.round), (8, 0));
    assert_eq!(
        (&first.flags[..], first.late_share),
        (&[Flag::LateLinks][..], 0.07)
    );
    assert!(with.throughput_per_s.unwrap().median < low && with.throughput_is_outside);
    // Their latencies are the same.
    assert_eq!(with.latency_us.p50, none.latency_us.p50);
    assert!(!with.p50_is_outside);
}

#[test]
fn a_ratio_uses_only_rounds_that_both_have() {
    let mut record = Example::default().record();
    record.measurements.retain(|m| m.cell != 0 || m.round == 2);
    let summary = summarise(&record);
    let ratio = summary.cells[1].ratio.unwrap();
    assert_eq!(
        (ratio.low, summary.cells[1].difference_shown),
        (None, None),
        "one pair"
    );
    assert_eq!(summary.cells[1].rounds, 4);
}

#[test]
fn writing_without_commits_gives_no_costs_and_a_flag() {
    let mut record = Example::default().record();
    record.measurements.iter_mut().for_each(|m| m.commits = 0);
    let summary = summarise(&record);
    let cell = &summary.cells[1];
    assert_eq!(cell.cpu_us_per_commit.writer, None);
    assert_eq!(cell.flags[0].flag, Flag::NoRows);
    assert_eq!(
        (cell.throughput_per_s.unwrap().median, cell.ratio),
        (0.0, None)
    );
}

#[test]
fn distances_asked_and_got_stand_side_by_side() {
    let mut example = Example::default();
    example.distances = vec![equal(0.25), super::example::unequal(0.25, 8.0)];
    let cell = summarise(&example.record()).cells[6].clone();
    assert_eq!((cell.rtt_us_asked, cell.rtt_us_got), (None, None));
    let far = cell
        .rtts_us
        .iter()
        .find(|pair| pair.to_site == "c" && pair.from_site == "a");
    assert_eq!(
        far.map(|pair| (pair.asked, pair.got)),
        Some((8000.0, Some(8010.0)))
    );
}

#[test]
fn servers_that_are_busy_without_load_are_remarked_on() {
    let mut record = Example::default().record();
    let idle = summarise(&record).remarks.len();
    let of_one = record.measurements.iter_mut().filter(|m| m.cell == 2);
    for measurement in of_one {
        let busy = [("a", 150_000.0), ("b", 160_000.0)];
        measurement.cpu.idle_us_per_s = busy.map(|(node, us)| (node.to_owned(), us)).into();
    }
    let summary = summarise(&record);
    assert_eq!(summary.remarks.len(), idle + 1);
    let said = format!("{} 0.31.", summary.cells[2].label);
    assert!(
        summary.remarks[idle].contains(&said),
        "{:?}",
        summary.remarks
    );
}

#[test]
fn seconds_without_a_copy_are_added_up() {
    use crate::record::{Degraded, Second};
    let mut record = Example::anatomy().record();
    let alone = record.measurements.iter_mut().filter(|m| m.cell == 6);
    for measurement in alone.take(2) {
        let span = |from_ms, to_ms| Degraded { from_ms, to_ms };
        measurement.degraded = vec![span(100, Some(600)), span(2_500, None)];
        measurement.timeline = vec![Second {
            second: 3,
            ..Second::default()
        }];
    }
    let cell = &summarise(&record).cells[6];
    assert_eq!(cell.degraded_s, Some(2.0 * (0.5 + 1.5)));
    assert_eq!(
        (cell.flags[0].flag, cell.flags[0].rounds),
        (Flag::Degraded, 2)
    );
    assert_eq!(summarise(&record).cells[7].degraded_s, None);
}

/// There are hundreds for each server: they stay in the record.
#[test]
fn variables_of_a_run_that_went_on_elsewhere_are_not_told() {
    let mut record = Example::default().record();
    record.header.resumed = vec![Resumed {
        measurements: 4,
        labs: record.header.labs.clone(),
        self_test: Some(vec![]),
        ..Resumed::default()
    }];
    assert!(!record.header.labs.is_empty());
    let told = Resumed {
        labs: vec![],
        ..record.header.resumed[0].clone()
    };
    assert_eq!(summarise(&record).resumed, [told]);
}
