//! Appliers that rest under load, and have the machine to themselves after it.

use acklab::record::Measurement;
use acklab::record::counter::{ROWS_UPDATED, ROWS_UPDATED_ANYWHERE};
use acklab::record::store::Record;
use serde_json::Value;

use crate::ground::{Ground, on_ground};
use crate::report::{check_no_errors, flags, number};
use crate::studies::report_of;

/// Twice, so that what one measurement left at rest the next would find so.
const RESTED: &str = r#"
rounds = 2
warmup = "0.3s"
measure = "1s"
[[mode]]
server = "mysql"
mode = "async"
nodes = 2
appliers = 1
baseline = "none"
[[mode]]
server = "mariadb"
mode = "semisync"
nodes = 2
baseline = "none"
[[sweep]]
workload = "update_index"
connections = 8
rtt = "0.25ms"
apply = "after"
[[sweep]]
workload = "update_index"
connections = 8
rtt = "0.25ms"
rounds = 1
"#;

/// What is told of appliers that rested, and nothing of lag.
fn check_rested(cell: &Value) {
    let id = &cell["id"];
    check_no_errors(cell);
    assert!(number(&cell["throughput_per_s"]["median"]) > 0.0, "{id}");
    assert!(number(&cell["applied_alone_per_s"]["median"]) > 0.0, "{id}");
    let cpu_us = number(&cell["applied_alone_cpu_us"]);
    assert!((1.0..100_000.0).contains(&cpu_us), "{id}: {cpu_us}");
    assert_eq!(cell["lag_ms"], Value::Array(vec![]), "{id}");
    assert!(cell["applied_per_s"].is_null(), "{id}: {cell}");
    // All was applied before the next measurement began.
    assert!(!flags(cell).contains(&"behind"), "{id}: {cell}");
    assert!(!flags(cell).contains(&"downgraded"), "{id}: {cell}");
}

/// Under load the replica changed no row; all that was committed there was still to be applied.
fn check_nothing_was_applied(measurement: &Measurement) {
    let [alone] = &measurement.applied_alone[..] else {
        panic!("one replica: {:?}", measurement.applied_alone);
    };
    assert_eq!(alone.node, "b");
    assert!(alone.waiting >= measurement.commits, "{alone:?}");
    assert!(alone.commits < alone.waiting, "{alone:?}");
    let status = &measurement.status;
    let counters = [ROWS_UPDATED, ROWS_UPDATED_ANYWHERE];
    let counts = |name: &&str| status["a"].contains_key(*name);
    let counter = counters.into_iter().find(counts).expect("rows updated");
    let changed = status["b"].get(counter).copied();
    assert_eq!(changed.unwrap_or(0.0), 0.0, "{counter}");
}

fn check_record(ground: &Ground) {
    let record = Record::open(&ground.work.join("r.acklab")).expect("a record");
    let of_rested = |m: &&Measurement| !m.applied_alone.is_empty();
    let rested = record.measurements.iter().filter(of_rested);
    assert_eq!(rested.clone().count(), 4);
    rested.for_each(check_nothing_was_applied);
}

#[test]
fn lab_study_appliers_rest_under_load_and_apply_alone_after_it() {
    on_ground("study: applying after the load", |ground| {
        let report = report_of(ground, RESTED, &[]);
        let is_rested = |cell: &&Value| cell["applied_after"] == true;
        let (rested, plain): (Vec<&Value>, Vec<&Value>) =
            report.cells().iter().partition(is_rested);
        assert_eq!((rested.len(), plain.len()), (2, 2));
        rested.into_iter().for_each(check_rested);
        for cell in plain {
            assert!(cell["applied_alone_per_s"].is_null(), "{cell}");
            assert!(cell["lag_ms"][0]["catch_up"].is_number(), "{cell}");
        }
        check_record(ground);
        let printed = ground.run(&["report", "r.acklab"]).good();
        // Wherever lines were broken.
        let printed: Vec<&str> = printed.split_whitespace().collect();
        let printed = printed.join(" ");
        for words in ["replicas apply after the load", "applied/s alone"] {
            assert!(printed.contains(words), "no {words} in {printed}");
        }
    });
}
