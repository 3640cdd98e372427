//! Cells of four articles' studies, with the figures that the articles published: what a repeat on
//! their machines would show.

use super::super::applied::LagState;
use super::super::interval::Estimate;
use super::super::summary::{
    AfterLoad, ByRound, CellSummary, CpuPerCommit, Doing, Extremes, LagSummary,
};
use super::super::timeline::Dips;
use crate::plan::Point;
use crate::study::articles::numbers;

/// A median with an interval of 2 % to each side.
pub fn about(median: f64) -> Option<Estimate> {
    Some(Estimate {
        median,
        low: Some(median * 0.98),
        high: Some(median * 1.02),
    })
}

/// A cell measured in three rounds.
pub fn measured(label: &str, workload: &str) -> CellSummary {
    CellSummary {
        id: format!("{label}/{workload}"),
        label: label.into(),
        server: "mysql".into(),
        workload: workload.into(),
        connections: 30,
        client_site: "a".into(),
        distances: "250 µs".into(),
        rtt_us_asked: Some(250.0),
        rtt_us_got: Some(260.0),
        rounds: 3,
        measure_s: 3.0,
        cpu_us_per_commit: CpuPerCommit {
            writer: Some(310.0),
            ..CpuPerCommit::default()
        },
        ..CellSummary::default()
    }
}

/// mysqlslap's seconds in each load.
fn slapped(label: &str, loads: &[&str], seconds: &[f64]) -> Vec<CellSummary> {
    let cell = |(load, seconds): (&&str, &f64)| CellSummary {
        run_s: about(*seconds),
        iterations_s: Some(Extremes {
            mean: *seconds,
            min: seconds * 0.9,
            max: seconds * 1.2,
            count: 6,
        }),
        connect_share: Some(0.4),
        workload_in_full: format!("mysqlslap {load}, 500 queries"),
        ..measured(label, &format!("mysqlslap {load}"))
    };
    loads.iter().zip(seconds).map(cell).collect()
}

pub const LOADS: [&str; 5] = ["key", "read", "write", "mixed", "update"];

/// `gmo-innodb-cluster-2022`.
pub fn innodb_cluster() -> Vec<CellSummary> {
    let modes = ["group", "group-multi", "async 2 nodes", "semisync 2 nodes"];
    let of = |(column, mode): (usize, &&str)| {
        let all = LOADS.map(|load| numbers("gmo-innodb-cluster-2022", &[load])[column]);
        slapped(mode, &LOADS, &all)
    };
    let mut cells: Vec<CellSummary> = modes.iter().enumerate().flat_map(of).collect();
    cells.extend(taken_apart());
    for (label, write, update) in [
        ("group compresses all", 0.295, 0.322),
        ("group spin loops", 0.310, 0.340),
    ] {
        cells.extend(slapped(label, &["write", "update"], &[write, update]));
    }
    let large = [
        ("group", 9.0),
        ("group no compression", 5.0),
        ("group spin loops", 15.0),
    ];
    cells.extend(large.map(|(label, rate)| CellSummary {
        throughput_per_s: about(rate),
        ..measured(label, "2 MB")
    }));
    cells
}

/// The cluster's run with one thing changed at a time: Router, third node, TLS.
fn taken_apart() -> Vec<CellSummary> {
    let loads = ["key", "read", "write"];
    let router = slapped("group router", &loads, &[0.265, 4.425, 0.354]);
    let through = router.into_iter().map(|mut cell| {
        cell.cpu_us_per_commit.front = Some(120.0);
        cell
    });
    through
        .chain(slapped("async 3 nodes", &loads, &[0.16, 3.5, 0.16]))
        .chain(slapped("group no TLS", &loads, &[0.107, 3.9, 0.21]))
        .collect()
}

/// `gmo-galera-2022`.
pub fn galera() -> Vec<CellSummary> {
    let rows = [
        ("default", "default"),
        ("default buffer_pool", "buffer_pool_12_8g"),
        ("default slave_threads 4", "slave_threads_4"),
        ("default slave_threads 2", "slave_threads_2"),
        ("default flush_log 2", "flush_log_at_trx_commit_2"),
        ("default autoinc_lock_mode 1", "autoinc_lock_mode_2"),
        ("default io_capacity 3000", "io_capacity_3000"),
        ("default tuned A", "tuned_a"),
        ("default tuned B", "tuned_b"),
    ];
    let of = |(label, row): (&str, &str)| {
        slapped(label, &LOADS, &numbers("gmo-galera-2022", &[row, "avg"]))
    };
    let mut cells: Vec<CellSummary> = rows.into_iter().flat_map(of).collect();
    let mut through = slapped("default via haproxy", &LOADS, &[0.03, 7.4, 0.5, 0.3, 0.6]);
    through[2].cpu_us_per_commit.front = Some(21.5);
    cells.extend(through);
    cells.extend(
        ["flush 0.25 ms", "flush 4 ms"]
            .into_iter()
            .flat_map(on_other_disks),
    );
    cells.push(CellSummary {
        throughput_per_s: about(900.0),
        ..measured("default", "update_index")
    });
    cells.push(CellSummary {
        throughput_per_s: about(1_100.0),
        errors: [("1213".to_owned(), 37)].into(),
        server_counters: [("wsrep_local_cert_failures".to_owned(), 30.0)].into(),
        ..measured("spread", "update_index")
    });
    cells
}

/// The article's gains once more, where a flush takes another time.
fn on_other_disks(disks: &str) -> impl Iterator<Item = CellSummary> {
    let runs = [
        ("default", 0.474),
        ("default slave_threads 4", 0.068),
        ("default flush_log 2", 0.064),
    ];
    runs.into_iter().map(move |(label, run_s)| CellSummary {
        run_s: about(run_s),
        disks: Some(disks.to_owned()),
        ..measured(label, "mysqlslap write")
    })
}

/// A source and what its replica applies.
fn applied(label: &str, committed: f64, applied: f64) -> CellSummary {
    CellSummary {
        connections: 64,
        throughput_per_s: about(committed),
        applied_per_s: about(applied),
        by_round: with_p95_us(2_400.0),
        lag_ms: vec![LagSummary {
            node: "b".into(),
            max: Some(1.5),
            catch_up: Some(12.0),
            ..LagSummary::default()
        }],
        ..measured(label, "update_index")
    }
}

/// A rung of a ladder at the article's connections.
fn rung(label: &str, offered_per_s: u32, lag: LagState) -> CellSummary {
    CellSummary {
        workload: format!("update_index at {offered_per_s}/s"),
        offered_per_s: Some(offered_per_s),
        lag_state: Some(lag),
        point: Point {
            server: label.into(),
            rate_per_s: Some(offered_per_s),
            ..Point::default()
        },
        ..applied(label, f64::from(offered_per_s), f64::from(offered_per_s))
    }
}

/// One ladder of each kind.
fn ladders() -> Vec<CellSummary> {
    use LagState::{Bounded, Grows, Overloaded};
    let of = |(label, states): (&str, [LagState; 3])| {
        let rungs = [1_000, 2_000, 4_000].into_iter().zip(states);
        rungs
            .map(|(rate, lag)| rung(label, rate, lag))
            .collect::<Vec<_>>()
    };
    let states = [
        ("1 applier", [Bounded, Grows, Grows]),
        ("write set 16", [Bounded; 3]),
        ("5.6 1 applier", [Grows, Grows, Overloaded]),
        ("semisync 2 nodes", [Bounded, Bounded, Overloaded]),
    ];
    states.into_iter().flat_map(of).collect()
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
    let mut cells = vec![
        applied("1 applier", 47_332.0, 2_065.0),
        applied("write set 16", 47_000.0, 30_000.0),
        applied("5.6 1 applier", 30_000.0, 2_000.0),
        applied("5.6 by database 16", 30_000.0, 2_100.0),
        applied("logical clock 16", 47_000.0, 30_000.0),
        applied("semisync 2 nodes", 21_000.0, 21_000.0),
    ];
    for (connections, far) in [(1, false), (1, true), (64, false), (64, true)] {
        cells.push(CellSummary {
            connections,
            throughput_per_s: about(if far { 9_900.0 } else { 10_000.0 }),
            rtt_us_asked: Some(if far { 2_150.0 } else { 250.0 }),
            distances: if far { "2.15 ms" } else { "250 µs" }.into(),
            by_round: with_p95_us(if far { 2_500.0 } else { 2_400.0 }),
            ..measured("group", "update_index")
        });
    }
    for (label, connections, scatter) in [
        ("group", 32, 0.30),
        ("group", 64, 0.35),
        ("group no flow control", 32, 0.05),
        ("group no flow control", 64, 0.06),
    ] {
        cells.push(CellSummary {
            connections,
            measure_s: 15.0,
            unevenness: about(scatter),
            server_counters: match label {
                "group" => [("gr_flow_control_throttle_count".to_owned(), 9_000.0)].into(),
                _ => [].into(),
            },
            ..measured(label, "update_index")
        });
    }
    cells.push(CellSummary {
        connections: 64,
        measure_s: 300.0,
        throughput_per_s: about(10_000.0),
        dips: Some(Dips {
            watched_s: 300,
            longest_round_s: 300,
            count: 5,
            depth: Some(0.4),
            gaps_s: vec![60, 59, 61, 60],
            median_gap_s: Some(60.0),
        }),
        ..measured("group", "update_index")
    });
    cells.extend(ladders());
    cells
}

/// A stand-in's rate, on disks of that name.
fn reached(label: &str, workload: &str, rate: f64, disks: &str) -> CellSummary {
    CellSummary {
        connections: 16,
        throughput_per_s: about(rate),
        usd_per_million_queries: about(10.0 / rate),
        disks: Some(disks.into()),
        ..measured(label, workload)
    }
}

/// Of the time after a load, over all of it and in single seconds.
pub fn busy_after(share: f64, least: f64, most: f64) -> AfterLoad {
    AfterLoad {
        node: "a".into(),
        watched_s: 60.0,
        after: Doing {
            busy_share: Some(share),
            ..Doing::default()
        },
        busy_share_least: Some(least),
        busy_share_most: Some(most),
        ..AfterLoad::default()
    }
}

/// `clouds-2015`.
pub fn clouds() -> Vec<CellSummary> {
    let plain = "flush 200 µs, 3000 IOPS";
    let mut cells = Vec::new();
    for (label, reads, updates) in [
        ("local volume", 15_500.0, 8_400.0),
        ("5.6 local volume", 15_000.0, 4_800.0),
        ("5.7 local volume", 15_200.0, 8_400.0),
        ("sync standby", 15_000.0, 600.0),
        ("async standby", 15_000.0, 2_000.0),
        ("4 of 6", 36_000.0, 1_800.0),
    ] {
        cells.push(reached(label, "reads", reads, plain));
        cells.push(reached(label, "updates", updates, plain));
    }
    cells.push(CellSummary {
        client_site: "b".into(),
        ..reached("local volume", "reads", 7_500.0, plain)
    });
    let starved = [
        ("3000 IOPS, 450 Mbit/s", 3_000.0),
        ("10000 IOPS, 450 Mbit/s", 3_400.0),
        ("10000 IOPS, any rate", 9_000.0),
    ];
    cells.extend(starved.map(|(disks, rate)| reached("16 MB pool", "reads", rate, disks)));
    cells.push(CellSummary {
        throughput_per_s: None,
        watch_after_s: Some(60.0),
        after_load: vec![busy_after(0.12, 0.0, 0.45)],
        ..reached("local volume", "updates", 8_400.0, plain)
    });
    cells
}
