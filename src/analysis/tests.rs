use super::example::{CLIMBER, Example, equal, laddered, six};
use super::summary::{CellSummary, Per};
use super::*;
use crate::record::{Flag, Iteration};
use crate::study::{SysbenchLoad, Workload};

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

#[test]
fn async_is_not_told_from_single_where_it_is_as_fast() {
    let mut truths = six();
    truths[1].work_us = 1300.0;
    let example = Example {
        truths,
        ..Example::default()
    };
    let summary = summarise(&example.record());
    assert_eq!(
        cell(&summary, "mysql async", "8 ms").difference_shown,
        Some(false)
    );
}

#[test]
fn offered_rates_are_a_ladder_and_closed_loops_are_none() {
    use super::applied::LagState::{Bounded, Grows};
    let summary = summarise(&laddered());
    let [ladder] = &summary.ladders[..] else {
        panic!("{:?}", summary.ladders)
    };
    assert_eq!((&ladder.label[..], ladder.rungs.len()), (CLIMBER, 3));
    let limits = (ladder.bounded_up_to_per_s, ladder.beyond_per_s);
    assert_eq!(limits, (Some(1_000), Some(2_000)));
    let lag: Vec<_> = ladder.rungs.iter().map(|rung| rung.lag).collect();
    assert_eq!(lag, [Bounded, Bounded, Grows]);
    let offered = summary.cells.iter().filter(|c| c.offered_per_s.is_some());
    let percent = |c: &CellSummary| (c.applied_share.unwrap().median * 100.0).round();
    let shares: Vec<f64> = offered.map(percent).collect();
    assert_eq!(shares, [100.0, 99.0, 70.0]);
    let example = summarise(&Example::default().record());
    assert!(example.ladders.is_empty());
}

#[test]
fn rounds_that_never_caught_up_keep_their_rate() {
    let mut record = laddered();
    let later = record.measurements.iter_mut().filter(|m| m.round > 0);
    for lag in later.flat_map(|m| &mut m.lag) {
        lag.catch_up_ms = None;
    }
    let summary = summarise(&record);
    let mut cells = summary.cells.iter();
    let slow = cells.find(|c| c.offered_per_s == Some(2_000)).unwrap();
    assert_eq!(slow.by_round.applied_per_s.len(), slow.rounds as usize);
    let (applied, committed) = (slow.applied_per_s.unwrap(), slow.throughput_per_s.unwrap());
    assert!(
        (applied.median / committed.median - 0.7).abs() < 0.001,
        "{slow:?}"
    );
    let lag = &slow.lag_ms[0];
    assert_eq!((lag.catch_up, lag.not_caught_up), (None, slow.rounds - 1));
}

#[test]
fn costs_are_per_commit() {
    let summary = summarise(&Example::default().record());
    let semisync = cell(&summary, "mysql semisync", "0.25 ms");
    let cpu = &semisync.cpu_us_per_commit;
    assert_eq!(cpu.writer, Some(310.0));
    assert_eq!((cpu.replicas.len(), cpu.replicas[1].cpu_us), (2, 280.0));
    assert_eq!(semisync.bytes_per_commit.replication, Some(1520.0));
    assert_eq!(semisync.packets_per_commit.client, Some(2.0));
    assert_eq!(semisync.lag_ms[0].p50, Some(1.98));
    assert_eq!(semisync.lag_ms[0].catch_up, Some(12.0));
    assert_eq!(
        cell(&summary, "mysql single", "8 ms")
            .bytes_per_commit
            .replication,
        Some(0.0)
    );
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
fn a_reading_workload_counts_transactions() {
    let reading = Workload::Sysbench {
        load: SysbenchLoad::PointSelect,
        tables: 1,
        table_size: 10,
        prepared: true,
    };
    let example = Example {
        workload: reading,
        ..Example::default()
    };
    let mut record = example.record();
    for measurement in &mut record.measurements {
        measurement.unchanged = std::mem::take(&mut measurement.commits);
    }
    let summary = summarise(&record);
    let cell = &summary.cells[0];
    assert_eq!(cell.per, Per::Transaction);
    assert!(cell.throughput_per_s.unwrap().median > 100.0);
    assert_eq!(cell.cpu_us_per_commit.writer, Some(310.0));
    assert_eq!(cell.flags, []);
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
fn a_record_without_measurements_has_cells_without_figures() {
    let mut record = Example::default().record();
    record.measurements.clear();
    record.finished = false;
    let summary = summarise(&record);
    assert_eq!((summary.cells.len(), summary.measurements_asked), (18, 72));
    assert_eq!(
        (summary.cells[0].rounds, summary.cells[0].throughput_per_s),
        (0, None)
    );
    assert!(
        summary
            .anatomy
            .iter()
            .all(|anatomy| anatomy.round_trips.is_none())
    );
}

#[test]
fn distances_asked_and_got_stand_side_by_side() {
    let mut example = Example::default();
    let equal_cell = summarise(&example.record()).cells[6].clone();
    assert_eq!(
        (equal_cell.rtt_us_asked, equal_cell.rtt_us_got),
        (Some(2150.0), Some(2160.0))
    );
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
fn mysqlslaps_seconds_are_medians_of_its_iterations() {
    let mut record = Example::default().record();
    for measurement in &mut record.measurements {
        measurement.iterations = [2.0, 3.0, 10.0]
            .map(|seconds| Iteration {
                seconds,
                connect_seconds: seconds / 10.0,
                queries: 100,
            })
            .to_vec();
    }
    let summary = summarise(&record);
    assert!(near(summary.cells[0].run_s.unwrap().median, 3.0, 1e-9));
    assert!(near(summary.cells[0].connect_share.unwrap(), 0.1, 1e-9));
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
fn a_summary_survives_the_way_through_json() {
    let mut summary = summarise(&Example::default().record());
    for cell in &mut summary.cells {
        assert_eq!(cell.by_round.throughput_per_s.len(), 4);
        let point = std::mem::take(&mut cell.point);
        assert_eq!(point.connections, 1);
    }
    for anatomy in &mut summary.anatomy {
        anatomy.point = crate::plan::Point::default();
    }
    let text = serde_json::to_string(&summary).unwrap();
    let again: Summary = serde_json::from_str(&text).unwrap();
    assert_eq!(again, summary);
}

#[test]
fn disks_asked_and_got_stand_side_by_side_with_what_a_commit_asks_of_them() {
    let summary = summarise(&Example::anatomy().record());
    let of = |label: &str| {
        let mut cells = summary.cells.iter();
        let is_it = |cell: &&CellSummary| {
            cell.label == label && cell.disks.as_deref() == Some("flush 1 ms")
        };
        cells.find(is_it).unwrap()
    };
    let semisync = of("mysql semisync");
    let times = (
        semisync.flush_us_asked,
        semisync.flush_us_got,
        semisync.flush_us_floor,
    );
    assert_eq!(times, (Some(1000.0), Some(1242.0), Some(240.0)));
    let flushes = semisync.flushes_per_commit;
    assert!(near(flushes.writer.unwrap(), 3.0, 0.01));
    assert!(near(flushes.replica.unwrap(), 2.5, 0.01));
    assert!(near(semisync.commits_per_flush.unwrap(), 1.0 / 3.0, 0.01));
    assert_eq!(semisync.bytes_written_per_commit.writer, Some(32_000.0));
    let in_flush_us = semisync.flush_time_us_per_commit.replica.unwrap();
    assert!(near(in_flush_us, 2.5 * 1_040.0, 0.01));
    assert!(of("mysql single").flushes_per_commit.replica.is_none());
    let copies = of("mysql quorum block mirror 4/6").flushes_per_commit;
    assert!(near(copies.replica.unwrap(), 2.5, 0.01));
}

#[test]
fn a_ratio_is_taken_at_the_same_disks() {
    let summary = summarise(&Example::anatomy().record());
    let slow = summary
        .cells
        .iter()
        .find(|cell| cell.label == "mysql semisync" && cell.disks.as_deref() == Some("flush 1 ms"));
    let truth = (1300.0 + 3.0 * 1000.0) / (1500.0 + 250.0 + 3.0 * 1000.0);
    assert!(near(slow.unwrap().ratio.unwrap().median, truth, 0.01));
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
