//! Cells of four articles' studies as they are planned, with the figures that the articles
//! published: what a repeat on their machines would show.

use super::super::applied::LagState;
use super::super::cells;
use super::super::interval::Estimate;
use super::super::summary::{AfterLoad, ByRound, CellSummary, Doing, Extremes, LagSummary};
use super::super::timeline::Dips;
use super::Example;
use crate::plan::plan;
use crate::record::counter;
use crate::study::articles::article;
use crate::study::{Study, builtin, capabilities, written};

pub const LOADS: [&str; 5] = ["key", "read", "write", "mixed", "update"];

/// A study as read.
pub fn study(text: &str) -> Study {
    let no_file = |_: &str| Err("no files here".to_owned());
    written::parse(text, "study.toml", &capabilities::sample(), &no_file).expect("no mistake")
}

/// All cells of a study; none is measured.
pub fn planned(study: Study) -> Vec<CellSummary> {
    let mut record = Example::default().record();
    record.measurements.clear();
    record.header.cells = plan(&study).cells;
    record.header.study = study;
    cells::summarise(&record)
}

/// Of a built-in study.
fn planned_of(key: &str) -> Vec<CellSummary> {
    planned(study(builtin(key).expect("a study")))
}

/// A median with an interval of 2 % to each side.
pub fn about(median: f64) -> Option<Estimate> {
    Some(Estimate {
        median,
        low: Some(median * 0.98),
        high: Some(median * 1.02),
    })
}

/// Measures the cells of one mode and workload of which something holds.
pub fn set(
    cells: &mut [CellSummary],
    (label, workload): (&str, &str),
    is_it: impl Fn(&CellSummary) -> bool,
    change: impl Fn(&mut CellSummary),
) {
    let is_one = |cell: &&mut CellSummary| cell.label == label && cell.workload == workload;
    let mut found = 0;
    for cell in cells.iter_mut().filter(is_one).filter(|cell| is_it(cell)) {
        found += 1;
        cell.rounds = 3;
        cell.rtt_us_got = cell.rtt_us_asked.map(|us| us + 10.0);
        cell.cpu_us_per_commit.writer = Some(310.0);
        change(cell);
    }
    assert!(found > 0, "{label} {workload}");
}

fn all(_: &CellSummary) -> bool {
    true
}

fn set_rate(cells: &mut [CellSummary], which: (&str, &str), per_s: f64) {
    set(cells, which, all, |cell| {
        cell.throughput_per_s = about(per_s)
    });
}

/// mysqlslap's seconds in each load.
fn slap(cells: &mut [CellSummary], label: &str, loads: &[&str], seconds: &[f64]) {
    for (load, seconds) in loads.iter().zip(seconds) {
        set(cells, (label, &format!("mysqlslap {load}")), all, |cell| {
            cell.run_s = about(*seconds);
            cell.connect_share = Some(0.4);
            cell.iterations_s = Some(Extremes {
                mean: *seconds,
                min: seconds * 0.9,
                max: seconds * 1.2,
                count: 6,
            });
        });
    }
}

/// Its loads as its study has them, each begun when replicas have caught up.
const CAUGHT_UP: [&str; 5] = [
    "key caught up",
    "read caught up",
    "write caught up",
    "mixed caught up",
    "update caught up",
];

/// `gmo-innodb-cluster-2022`.
pub fn innodb_cluster() -> Vec<CellSummary> {
    let key = "gmo-innodb-cluster-2022";
    let mut cells = planned_of(key);
    let published = article(key).expect("an article");
    let modes = [
        "group router",
        "group-multi router",
        "async 2 nodes",
        "semisync 2 nodes",
    ];
    for (column, mode) in modes.into_iter().enumerate() {
        let all = LOADS.map(|load| published.numbers(load)[column]);
        slap(&mut cells, mode, &CAUGHT_UP, &all);
    }
    let (three, two) = (&CAUGHT_UP[..3], ["write caught up", "update caught up"]);
    for (label, loads, seconds) in [
        ("group", &CAUGHT_UP[..], &[0.16, 3.4, 0.27, 0.24, 0.29][..]),
        ("group-multi", &CAUGHT_UP, &[0.16, 3.4, 0.3, 0.23, 0.27]),
        ("async 3 nodes", three, &[0.16, 3.5, 0.16]),
        ("group no TLS", three, &[0.08, 3.4, 0.21]),
        ("group knobs", &two, &[0.27, 0.29]),
        ("group knobs compresses all", &two, &[0.27, 0.29]),
        ("group knobs spin loops", &two, &[0.28, 0.31]),
    ] {
        slap(&mut cells, label, loads, seconds);
    }
    for (label, p50_us) in [
        ("async 2 nodes", 3_300.0),
        ("semisync 2 nodes", 4_000.0),
        ("group", 5_000.0),
        ("group knobs", 5_000.0),
        ("group knobs compresses all", 5_050.0),
        ("group knobs spin loops", 4_900.0),
    ] {
        set(&mut cells, (label, "insert paced 10 ms"), all, |cell| {
            cell.by_round.p50_us = with_p95_us(p50_us).p95_us;
        });
    }
    for load in CAUGHT_UP {
        let which = ("group router", &format!("mysqlslap {load}")[..]);
        set(&mut cells, which, all, |cell| {
            cell.cpu_us_per_commit.front = Some(120.0);
        });
    }
    let (long, longest) = ("100 to 900 kB", "2 MB");
    for (label, load, rate) in [
        ("group knobs", longest, 9.0),
        ("group knobs no compression", longest, 5.0),
        ("group knobs spin loops", longest, 9.5),
        ("group knobs", long, 16.0),
        ("group knobs compresses from 100 kB", long, 28.0),
        ("group knobs spin loops", long, 16.5),
    ] {
        set_rate(&mut cells, (label, load), rate);
    }
    cells
}

/// `gmo-galera-2022`.
pub fn galera() -> Vec<CellSummary> {
    let key = "gmo-galera-2022";
    let mut cells = planned_of(key);
    let published = article(key).expect("an article");
    for (setting, row) in [
        ("", "default"),
        (" buffer_pool", "buffer_pool_12_8g"),
        (" slave_threads 4", "slave_threads_4"),
        (" slave_threads 2", "slave_threads_2"),
        (" flush_log 2", "flush_log_at_trx_commit_2"),
        (" autoinc_lock_mode 1", "autoinc_lock_mode_2"),
        (" io_capacity 3000", "io_capacity_3000"),
        (" tuned A", "tuned_a"),
        (" tuned B", "tuned_b"),
    ] {
        let seconds = published.numbers(&format!("{row}.avg"));
        let [key, write, mixed, update] = [0, 2, 3, 4].map(|load| seconds[load]);
        let (dealt, loads) = (format!("balanced{setting}"), ["key", "write", "mixed"]);
        slap(&mut cells, &dealt, &loads, &[key, write, mixed]);
        // Updates of these two are not measured.
        if ![" buffer_pool", " autoinc_lock_mode 1"].contains(&setting) {
            let one = format!("default{setting}");
            slap(&mut cells, &one, &["update"], &[update]);
        }
    }
    slap(&mut cells, "default", &["key", "write"], &[0.02, 0.5]);
    let through = (["key", "write", "update"], [0.03, 0.5, 0.6]);
    slap(&mut cells, "default via haproxy", &through.0, &through.1);
    let updates = "update_index";
    set_rate(&mut cells, ("default", updates), 900.0);
    set_rate(&mut cells, ("balanced", updates), 1_100.0);
    set(&mut cells, ("balanced", updates), all, |cell| {
        let failures = counter::GALERA_CERTIFICATION_FAILURES.to_owned();
        cell.errors = [(1213, 37)].into();
        cell.server_counters = [(failures, 30.0)].into();
    });
    cells
}

/// A source and what its replica applies.
fn apply(cell: &mut CellSummary, committed: f64, applied: f64) {
    cell.throughput_per_s = about(committed);
    cell.by_round = with_p95_us(2_400.0);
    if cell.applied_after {
        cell.applied_alone_per_s = about(applied);
        cell.applied_alone_cpu_us = Some(310.0);
        return;
    }
    cell.applied_per_s = about(applied);
    cell.lag_ms = vec![LagSummary {
        node: "b".into(),
        max: Some(1.5),
        catch_up: Some(12.0),
        ..LagSummary::default()
    }];
}

/// One ladder of each kind.
fn climb(cells: &mut [CellSummary]) {
    use LagState::{Bounded, Grows, Overloaded};
    let (coarse, fine) = (&[1_000, 2_000][..], &[1_000, 1_400, 2_000][..]);
    for (label, rates, states) in [
        ("1 applier", coarse, &[Bounded, Grows][..]),
        ("write set 16", fine, &[Bounded; 3]),
        ("mariadb optimistic 16", coarse, &[Grows, Overloaded]),
        ("semisync 2 nodes", fine, &[Bounded, Bounded, Overloaded]),
    ] {
        for (&rate, &lag) in rates.iter().zip(states) {
            let which = (label, &format!("update_index at {rate}/s")[..]);
            set(cells, which, all, |cell| {
                cell.lag_state = Some(lag);
                apply(cell, f64::from(rate), f64::from(rate));
            });
        }
    }
}

/// The 95th percentile of three rounds.
pub fn with_p95_us(p95_us: f64) -> ByRound {
    let rounds = [(0, 0.99), (1, 1.0), (2, 1.01)];
    ByRound {
        p95_us: rounds.map(|(round, stray)| (round, p95_us * stray)).into(),
        ..ByRound::default()
    }
}

/// `group-replication-2017`.
pub fn group_replication() -> Vec<CellSummary> {
    let mut cells = planned_of("group-replication-2017");
    let (updates, by_commits) = ("update_index", "by commit order");
    for (label, load, committed, applied) in [
        ("1 applier", updates, 47_332.0, 2_065.0),
        ("write set 16", updates, 47_000.0, 30_000.0),
        ("5.7 1 applier", updates, 47_332.0, 2_065.0),
        ("5.7 by database 16", updates, 47_000.0, 2_100.0),
        ("5.7 logical clock 16", updates, 47_000.0, 30_000.0),
        ("semisync 2 nodes", updates, 21_000.0, 21_000.0),
        ("1 applier", by_commits, 47_332.0, 2_065.0),
        ("write set 16", by_commits, 47_000.0, 30_000.0),
        ("semisync 2 nodes", by_commits, 21_000.0, 21_000.0),
    ] {
        let change = |cell: &mut CellSummary| apply(cell, committed, applied);
        set(&mut cells, (label, load), all, change);
    }
    for rate in [80, 160] {
        let load = format!("update_index at {rate}/s");
        set(&mut cells, ("group", &load), all, |cell| {
            let is_far = cell.rtt_us_asked.is_some_and(|us| us > 300.0);
            cell.throughput_per_s = about(if is_far { 9_900.0 } else { 10_000.0 });
            cell.by_round = with_p95_us(if is_far { 2_500.0 } else { 2_400.0 });
        });
    }
    let is_steered = |cell: &CellSummary| cell.measure_s == 8.0;
    for (label, scatter, throttled) in [
        ("group", 0.30, 9_000.0),
        ("group no flow control", 0.05, 0.0),
    ] {
        set(&mut cells, (label, updates), is_steered, |cell| {
            cell.unevenness = about(scatter + f64::from(cell.connections) / 1e3);
            cell.server_counters = [(counter::GROUP_THROTTLED.to_owned(), throttled)].into();
        });
    }
    let is_long = |cell: &CellSummary| cell.measure_s == 300.0;
    let long = ("group", "with 1000 rows at 1000/s");
    set(&mut cells, long, is_long, |cell| {
        // Measured once, so without an interval.
        cell.rounds = 1;
        cell.throughput_per_s = Some(Estimate::without_interval(25_000.0));
        cell.dips = Some(dips());
    });
    climb(&mut cells);
    cells
}

/// Five minutes with a dip in each.
pub fn dips() -> Dips {
    Dips {
        watched_s: 300,
        longest_round_s: 300,
        count: 5,
        depth: Some(0.4),
        gaps_s: vec![60, 59, 61, 60],
        median_gap_s: Some(60.0),
    }
}

/// Of the time after a load, and its interval.
pub fn busy_after(share: f64, low: f64, high: f64) -> AfterLoad {
    AfterLoad {
        node: "a".into(),
        watched_s: 60.0,
        after: Doing {
            busy_share: Some(share),
            ..Doing::default()
        },
        busy_share_low: Some(low),
        busy_share_high: Some(high),
        ..AfterLoad::default()
    }
}

/// `clouds-2015`.
pub fn clouds() -> Vec<CellSummary> {
    let mut cells = planned_of("clouds-2015");
    let reach = |rate: f64| {
        move |cell: &mut CellSummary| {
            cell.throughput_per_s = about(rate);
            cell.usd_per_million_queries = about(10.0 / rate);
        }
    };
    let is_first = |cell: &CellSummary| {
        cell.client_site == "a" && cell.connections == 16 && cell.watch_after_s.is_none()
    };
    for (label, reads, updates) in [
        ("local volume", 15_500.0, 8_400.0),
        ("5.6 local volume", 15_000.0, 4_800.0),
        ("5.7 local volume", 15_200.0, 8_400.0),
        ("sync standby", 15_000.0, 1_700.0),
        ("async standby", 15_000.0, 2_000.0),
        ("4 of 6", 36_000.0, 1_800.0),
    ] {
        set(&mut cells, (label, "reads"), is_first, reach(reads));
        set(&mut cells, (label, "updates"), is_first, reach(updates));
    }
    // Cloud SQL's zones are nearer than RDS's, and its standby is slower.
    let is_cloud_sql = |cell: &CellSummary| cell.rtt_us_asked == Some(850.0);
    let updates = ("sync standby", "updates");
    set(&mut cells, updates, is_cloud_sql, reach(600.0));
    let is_other = |cell: &CellSummary| {
        let is_near = cell.client_site == "a" && cell.watch_after_s.is_none();
        is_near && cell.connections != 16 && cell.rtt_us_asked == Some(2_150.0)
    };
    let is_far = |cell: &CellSummary| cell.client_site == "b" && cell.rtt_us_asked == Some(2_150.0);
    for (load, near, far) in [("reads", 15_500.0, 7_500.0), ("updates", 8_400.0, 4_000.0)] {
        set(&mut cells, ("local volume", load), is_other, reach(near));
        set(&mut cells, ("local volume", load), is_far, reach(far));
    }
    let (reads, updates) = ("starved reads", "starved updates");
    for (label, load, disks, rate) in [
        ("5.6 16 MB pool", reads, "3000 IOPS, 450 Mbit/s", 9_500.0),
        ("5.6 16 MB pool", reads, "10000 IOPS, 450 Mbit/s", 10_000.0),
        ("5.6 16 MB pool", reads, "3000 IOPS, any rate", 10_000.0),
        ("5.6 16 MB pool", reads, "10000 IOPS, any rate", 12_000.0),
        ("5.6 16 MB pool", updates, "3000 IOPS, any rate", 1_000.0),
        ("5.6 16 MB pool", updates, "10000 IOPS, any rate", 2_000.0),
        ("5.7 16 MB pool", reads, "3000 IOPS, any rate", 8_000.0),
        ("5.7 16 MB pool", reads, "10000 IOPS, any rate", 8_100.0),
    ] {
        let is_on = |cell: &CellSummary| cell.disks.as_deref() == Some(disks);
        set(&mut cells, (label, load), is_on, reach(rate));
    }
    let is_watched = |cell: &CellSummary| cell.watch_after_s.is_some();
    let volume = ("local volume", "updates");
    set(&mut cells, volume, is_watched, |cell| {
        cell.after_load = vec![busy_after(0.12, 0.0, 0.45)];
    });
    cells
}
