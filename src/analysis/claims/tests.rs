mod articles;
mod clouds;
mod galera;
mod group_replication;
mod innodb_cluster;
mod paired;

use std::time::Duration;

use super::Verdict::{self, Confirmed, Contradicted, Undecided};
use crate::analysis::example::{at_the_far_end, group_commit};
use crate::analysis::{Summary, summarise};
use crate::record::store::Record;
use crate::record::trial::{Series, Trial};
use crate::study::fault::{Durability, Fault, Leaves, Scope};
use crate::study::{Mode, WaitPoint};

fn verdicts(summary: &Summary) -> Vec<Verdict> {
    summary.claims.iter().map(|claim| claim.verdict).collect()
}

#[test]
fn claims_that_hold_are_confirmed_and_those_without_a_measurement_are_not() {
    let summary = summarise(&group_commit());
    let expected = [Confirmed, Confirmed, Undecided, Undecided];
    assert_eq!(verdicts(&summary), expected);
    let [first, second, third, last] = &summary.claims[..] else {
        panic!("{:?}", summary.claims)
    };
    // Four flushes in series, each of one round trip of 4.01 ms as got, that nobody shares.
    let slow = &first.figures[0];
    assert!((0.245..0.255).contains(&slow.value), "{slow:?}");
    assert!(
        slow.low <= slow.value && slow.value <= slow.high,
        "{slow:?}"
    );
    assert!(first.reason.contains("4.01 ms") && first.reason.contains("249 commits/s"));
    // Eight share a flush at 64 connections; the one without group commit decides nothing.
    let rises: Vec<f64> = second
        .figures
        .iter()
        .map(|figure| figure.value.round())
        .collect();
    assert_eq!(rises, [8.0, 8.0, 1.0]);
    let saved: Vec<f64> = third
        .figures
        .iter()
        .map(|figure| figure.value.round())
        .collect();
    assert_eq!(saved, [16.0, 2.0, 2.0]);
    assert!(last.figures.is_empty() && !last.reason.is_empty());
    let article = summary.article.expect("it was asked for");
    assert!(article.servers.contains("5.6.6-labs") && article.figures.is_empty());
}

#[test]
fn a_server_that_shares_flushes_after_all_contradicts() {
    let mut record = group_commit();
    at_the_far_end(&mut record, "mysql-5.5 sync_binlog=1", |_| 8.0);
    let summary = summarise(&record);
    assert_eq!(verdicts(&summary)[..2], [Contradicted, Confirmed]);
    let most = &summary.claims[0].figures[0];
    assert!((1.95..2.05).contains(&most.value), "{most:?}");
    assert!(most.what.contains("64 connections"), "{most:?}");
}

#[test]
fn one_flat_server_contradicts_the_rise_of_all() {
    let mut record = group_commit();
    at_the_far_end(&mut record, "mysql-5.6 sync_binlog=1", |_| 1.0 / 9.0);
    assert_eq!(
        verdicts(&summarise(&record))[..2],
        [Confirmed, Contradicted]
    );
}

#[test]
fn a_range_across_the_bound_decides_nothing() {
    let mut record = group_commit();
    let uneven = |round: u32| 4.0 * [0.8, 1.0, 1.2][round as usize];
    at_the_far_end(&mut record, "mysql-5.5 sync_binlog=1", uneven);
    assert_eq!(verdicts(&summarise(&record))[..2], [Undecided, Confirmed]);
    let uneven = |round: u32| [0.8, 1.0, 1.2][round as usize] / 8.0;
    at_the_far_end(&mut record, "mysql sync_binlog=1", uneven);
    assert_eq!(verdicts(&summarise(&record))[..2], [Undecided, Undecided]);
}

#[test]
fn without_intervals_or_more_connections_nothing_is_decided() {
    let mut record = group_commit();
    record
        .measurements
        .retain(|measurement| measurement.round == 0);
    let summary = summarise(&record);
    assert_eq!(verdicts(&summary), [Undecided; 4]);
    assert!(summary.claims.iter().all(|claim| claim.figures.is_empty()));
    let mut record = group_commit();
    let cells = record.header.cells.clone();
    let is_alone = |index: usize| cells[index].connections == 1;
    record
        .measurements
        .retain(|measurement| is_alone(measurement.cell));
    assert_eq!(verdicts(&summarise(&record)), [Undecided; 4]);
}

#[test]
fn nothing_saved_contradicts_the_half_that_is_looked_at() {
    let mut record = group_commit();
    for server in ["mysql-5.5", "mysql-5.6", "mysql"] {
        let label = format!("{server} sync_binlog=0");
        at_the_far_end(&mut record, &label, |_| 1.0 / 20.0);
    }
    assert_eq!(verdicts(&summarise(&record))[2], Contradicted);
}

#[test]
fn that_nothing_is_saved_takes_every_server() {
    let flat = |labels: &[&str]| {
        let mut record = with_cuts(|label| 40 * u64::from(label.ends_with('0')));
        for server in labels {
            let label = format!("{server} sync_binlog=0");
            at_the_far_end(&mut record, &label, |_| 1.0 / 20.0);
        }
        record
    };
    let third = |record: &Record| verdicts(&summarise(record))[2];
    let all = flat(&["mysql-5.5", "mysql-5.6", "mysql"]);
    assert_eq!(third(&all), Contradicted);
    let mut one_open = flat(&["mysql-5.5", "mysql-5.6"]);
    let uneven = |round: u32| [0.4, 1.0, 2.5][round as usize] / 2.0;
    at_the_far_end(&mut one_open, "mysql sync_binlog=0", uneven);
    assert_eq!(third(&one_open), Undecided);
    let mut one_missing = all;
    let mut modes = one_missing.header.study.modes.iter();
    let mode = modes.position(|spec| spec.label == "mysql sync_binlog=0");
    let mode = mode.expect("a mode");
    let cells = one_missing.header.cells.clone();
    let measured = &mut one_missing.measurements;
    measured.retain(|measurement| cells[measurement.cell].mode != mode);
    assert_eq!(third(&one_missing), Undecided);
}

#[test]
fn one_of_many_is_enough_and_none_takes_all() {
    let any = Verdict::of_any;
    assert_eq!(any(&[Some(Contradicted), None, Some(Confirmed)]), Confirmed);
    assert_eq!(any(&[Some(Contradicted), Some(Undecided)]), Undecided);
    assert_eq!(any(&[Some(Contradicted), None]), Undecided);
    assert_eq!(any(&[Some(Contradicted); 2]), Contradicted);
    assert_eq!(any(&[]), Undecided);
}

#[test]
fn a_study_of_its_own_has_no_claims() {
    let mut record = group_commit();
    record.header.study.article = None;
    let summary = summarise(&record);
    assert_eq!((summary.article, summary.claims.len()), (None, 0));
}

/// All modes of the example lose power; these many commits are in the table only.
fn with_cuts(apart: impl Fn(&str) -> u64) -> Record {
    let mut record = group_commit();
    for (mode, spec) in record.header.study.modes.iter().enumerate() {
        let sync_binlog = spec.variables.get("sync_binlog").map(String::as_str);
        let cut = Trial {
            present: (0..apart(&spec.label)).collect(),
            logged: Some([].into()),
            ..Trial::default()
        };
        let series = Series {
            durability: Durability {
                flush_log: 1,
                sync_binlog: u32::from(sync_binlog != Some("0")),
            },
            fault: Fault::power_cut(Leaves::Nothing, Scope::Node),
            trials: vec![cut],
        };
        record.series.insert(mode, vec![series]);
    }
    record
}

#[test]
fn logs_that_disagree_only_without_flushes_confirm() {
    let summary = summarise(&with_cuts(|label| 40 * u64::from(label.ends_with('0'))));
    let third = &summary.claims[2];
    assert_eq!(third.verdict, Confirmed, "{third:?}");
    assert!(third.reason.contains("sync_binlog=0 40 in 1"), "{third:?}");
    assert_eq!(
        summary.tolls.len(),
        summary
            .tolls
            .iter()
            .filter(|toll| toll.toll.cuts == 1)
            .count()
    );
}

#[test]
fn logs_that_always_agree_show_nothing_and_ones_that_never_do_contradict() {
    let third = |apart: u64| summarise(&with_cuts(|_| apart)).claims[2].verdict;
    assert_eq!((third(0), third(40)), (Undecided, Contradicted));
}

/// Two modes of the example lose their source, with so many commits lost.
fn with_lost_sources(semisync: u64, asynchronous: u64) -> Record {
    let mut record = group_commit();
    let modes = [
        (Mode::Async, asynchronous),
        (
            Mode::Semisync {
                wait_for: 1,
                wait_point: WaitPoint::AfterSync,
                timeout: Duration::from_secs(10),
            },
            semisync,
        ),
    ];
    for (index, (mode, lost)) in modes.into_iter().enumerate() {
        record.header.study.modes[index].mode = mode;
        let mut cut = Trial::default();
        cut.outcomes.acknowledged = (0..100).collect();
        cut.present = (lost..100).collect();
        let series = Series {
            durability: Durability::LOOSE,
            fault: Fault::power_cut(Leaves::Nothing, Scope::Site),
            trials: vec![cut],
        };
        record.series.insert(index, vec![series]);
    }
    record
}

#[test]
fn semisync_is_safe_where_async_was_seen_to_lose() {
    let last = |semisync, asynchronous| {
        let summary = summarise(&with_lost_sources(semisync, asynchronous));
        let last = summary.claims.last().expect("four claims").clone();
        (last.verdict, last.reason)
    };
    let (verdict, reason) = last(0, 7);
    assert_eq!(verdict, Confirmed);
    assert!(reason.contains(" 0 of 100 in 1") && reason.contains(" 7 of 100 in 1"));
    assert_eq!(last(0, 0).0, Undecided);
    assert_eq!(last(1, 7).0, Contradicted);
}
