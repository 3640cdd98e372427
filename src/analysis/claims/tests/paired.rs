use super::super::Verdict::{Confirmed, Undecided};
use super::super::{Figure, ratio};
use crate::analysis::example::{Example, Truth, Waits, equal, spec};
use crate::analysis::{Summary, summarise};
use crate::record::Iteration;
use crate::record::store::Record;
use crate::study::{Consistency, Mode, MysqlslapLoad, WaitPoint, Workload};

/// The article's three modes and their seconds.
const MODES: [(&str, f64); 3] = [
    ("async 2 nodes", 0.10),
    ("semisync 2 nodes", 0.12),
    ("group", 0.20),
];

fn truth(label: &str) -> Truth {
    let mode = match label {
        "group" => Mode::Group {
            consistency: Consistency::Eventual,
        },
        "async 2 nodes" => Mode::Async,
        _ => Mode::Semisync {
            wait_for: 1,
            wait_point: WaitPoint::AfterSync,
            timeout: std::time::Duration::from_secs(10),
        },
    };
    Truth {
        spec: spec(label, mode, 2, None),
        work_us: 1_000.0,
        waits: Waits::Nearest,
        round_trips: 0.0,
        flushes: [0.0; 3],
        hidden: 0.0,
    }
}

/// mysqlslap's inserts on a host that gets slower by a fifth from round to round; single
/// measurements stray by up to 1 %.
fn drifting() -> Record {
    let example = Example {
        truths: MODES.map(|(label, _)| truth(label)).into(),
        workload: Workload::Mysqlslap {
            load: MysqlslapLoad::Write,
            int_cols: 1,
            char_cols: 1,
            autoincrement: true,
            write_number: 100,
            number_of_queries: 300,
            iterations: 1,
            catch_up: false,
        },
        connections: vec![30],
        distances: vec![equal(0.25)],
        ..Example::default()
    };
    let mut record = example.record();
    record.header.study.article = Some("gmo-innodb-cluster-2022".into());
    for measurement in &mut record.measurements {
        let (round, cell) = (measurement.round, measurement.cell);
        let wiggle = 1.0 + 0.01 * f64::from((round * 7 + cell as u32 * 3) % 5) / 5.0;
        let seconds = MODES[cell].1 * 1.2_f64.powi(round as i32) * wiggle;
        measurement.iterations = vec![Iteration {
            seconds,
            connect_seconds: seconds / 10.0,
            queries: 300,
        }];
    }
    record
}

/// Rounds of every other cell get numbers that no other has.
fn without_shared_rounds(mut record: Record) -> Record {
    let others = record.measurements.iter_mut().filter(|m| m.cell % 2 == 1);
    others.for_each(|measurement| measurement.round += 100);
    record
}

fn figures(summary: &Summary) -> Vec<&Figure> {
    let claims = summary.claims.iter();
    claims.flat_map(|claim| &claim.figures).collect()
}

#[test]
fn drift_that_cells_share_leaves_a_claim_decided() {
    let summary = summarise(&drifting());
    let verdicts = [summary.claims[0].verdict, summary.claims[1].verdict];
    assert_eq!(verdicts, [Confirmed, Confirmed]);
    for figure in figures(&summary) {
        assert!(figure.high / figure.low < 1.05, "{figure:?}");
        assert!(figure.low <= figure.value && figure.value <= figure.high);
    }
}

#[test]
fn without_shared_rounds_both_intervals_together_leave_it_open() {
    let summary = summarise(&without_shared_rounds(drifting()));
    let first = &summary.claims[0];
    assert_eq!(first.verdict, Undecided);
    assert_eq!(first.figures.len(), 2);
    for (figure, ratio) in first.figures.iter().zip([1.2, 1.2 / 0.72]) {
        assert!((figure.value / ratio - 1.0).abs() < 0.02, "{figure:?}");
        assert!(figure.low < 1.0 && figure.high / figure.low > 3.0);
    }
}

#[test]
fn rounds_that_both_have_are_enough() {
    let mut record = drifting();
    record.measurements.retain(|m| m.cell != 1 || m.round > 0);
    let figure = &summarise(&record).claims[0].figures[0];
    assert!(figure.high / figure.low < 1.05, "{figure:?}");
    // One shared round gives no interval, and three of the other cell do not make up for it.
    record.measurements.retain(|m| m.cell != 1 || m.round == 3);
    assert!(summarise(&record).claims[0].figures.is_empty());
}

#[test]
fn throughput_is_paired_as_the_ratio_over_the_baseline_is() {
    let summary = summarise(&Example::default().record());
    let of = |label: &str| {
        let mut cells = summary.cells.iter();
        cells.find(|cell| cell.label == label).expect("measured")
    };
    let (semisync, single) = (of("mysql semisync"), of("mysql single"));
    let figure = ratio("commits/s".into(), semisync, single).expect("an interval");
    let of_cells = semisync.ratio.expect("a baseline");
    assert_eq!(
        (Some(figure.low), figure.value, Some(figure.high)),
        (of_cells.low, of_cells.median, of_cells.high)
    );
}

#[test]
fn a_round_without_a_single_commit_gives_no_range() {
    let mut record = Example::default().record();
    assert_eq!(record.header.cells[2].mode, 2);
    let measurements = record.measurements.iter_mut();
    let stuck = measurements.filter(|m| (m.cell, m.round) == (2, 1));
    stuck.for_each(|measurement| measurement.commits = 0);
    let summary = summarise(&record);
    let (semisync, single) = (&summary.cells[2], &summary.cells[0]);
    assert_eq!(ratio("commits/s".into(), semisync, single), None);
    assert_eq!(ratio("commits/s".into(), single, semisync), None);
}
