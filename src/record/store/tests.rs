//! Records as files.

mod killed;
mod schedules;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use rand::{RngExt, SeedableRng};

use super::*;
use crate::record::history::{Answer, History, Transfer};
use crate::record::trial::{Series, Trial};
use crate::record::trials::{self, Done};
use crate::record::{Degraded, DiskGot, DiskUse, Host, Lag, LinkTraffic};
use crate::study::fault::{Durability, Fault, Leaves, Scope};
use crate::study::faults;
use crate::study::{Disk, Disks, Distances, ImagePlace, Images, ModeSpec, Study, Sweep};

fn cell(number: u32) -> Cell {
    Cell {
        id: format!("cell {number}"),
        connections: number + 1,
        distances: Distances {
            label: "0.25 ms".into(),
            pairs: vec![("a".into(), "b".into(), Duration::from_micros(250))],
            ..Distances::default()
        },
        disks: Some(Disks {
            label: "flush 0 ms".into(),
            all: Disk::default(),
            by_site: [].into(),
        }),
        client_site: "a".into(),
        ..Cell::default()
    }
}

fn header() -> Header {
    let single = ModeSpec {
        label: "mysql single".into(),
        server: "mysql".into(),
        nodes: 1,
        ..ModeSpec::default()
    };
    Header {
        study: Study {
            name: "small".into(),
            article: Some("clouds-2015".into()),
            seed: u64::MAX,
            warmup: Duration::from_millis(1500),
            sites: vec!["a".into()],
            images: Some(Images {
                place: ImagePlace::Memory,
                bytes: 1 << 30,
            }),
            modes: vec![single],
            ..Study::default()
        },
        cells: (0..2).map(cell).collect(),
        started_unix_ms: 1,
        host: Host {
            fsync_us_p50: 310.5,
            ..Host::default()
        },
        file_system: Some("ext4".into()),
        ..Header::default()
    }
}

fn measurement(round: u32, cell: usize) -> Measurement {
    let mut latency = histogram::empty();
    latency.record_n(1_300, 99).unwrap();
    latency.record(9_000).unwrap();
    let lag = Lag {
        node: "b".into(),
        lag_ms: vec![1.25; 500],
        catch_up_ms: None,
    };
    let link = LinkTraffic {
        from: "a".into(),
        to: "b".into(),
        packets: 400,
        bytes: 90_000,
        is_client: false,
        delay_us: Some(1_080.5),
    };
    Measurement {
        round,
        cell,
        window_s: 2.0,
        commits: 100,
        latency_us: histogram::encode(&latency),
        errors: [(1213, 4)].into(),
        lag: vec![lag],
        links: vec![link],
        disks_got: vec![DiskGot {
            node: "a".into(),
            flush_us_before: 240.5,
            ..DiskGot::default()
        }],
        disks: vec![DiskUse {
            node: "a".into(),
            flushes: 300,
            ..DiskUse::default()
        }],
        degraded: vec![Degraded {
            from_ms: 500,
            to_ms: None,
        }],
        ..Measurement::default()
    }
}

/// Takes keys out of a JSON document, at any depth.
fn without(value: &mut serde_json::Value, keys: &[&str]) {
    match value {
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| without(item, keys)),
        serde_json::Value::Object(object) => {
            object.retain(|key, _| !keys.contains(&key.as_str()));
            object.values_mut().for_each(|inner| without(inner, keys));
        }
        _ => {}
    }
}

fn without_disks(text: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
    let new = ["images", "disks", "disks_got", "degraded", "file_system"];
    without(&mut value, &new);
    value.to_string()
}

/// Makes a record what acklab wrote before it knew disks.
fn grow_old(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "user_version", 1).unwrap();
    let header: String = connection
        .query_row("SELECT header FROM run", [], |row| row.get(0))
        .unwrap();
    let body: String = connection
        .query_row("SELECT body FROM measurement", [], |row| row.get(0))
        .unwrap();
    let (old_header, old_body) = (without_disks(&header), without_disks(&body));
    assert!(old_header != header && old_body != body);
    connection
        .execute("UPDATE run SET header = ?1", [old_header])
        .unwrap();
    connection
        .execute("UPDATE measurement SET body = ?1", [old_body])
        .unwrap();
}

#[test]
fn a_record_from_before_there_were_disks_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old");
    let mut header = header();
    header.study.sweeps.push(Sweep::default());
    let mut store = Store::create(&path, &header).unwrap();
    store.append(&measurement(0, 1)).unwrap();
    drop(store);
    grow_old(&path);
    let record = Record::open(&path).unwrap();
    header.study.images = None;
    header.file_system = None;
    header.cells.iter_mut().for_each(|cell| cell.disks = None);
    assert_eq!(record.header, header);
    let expected = Measurement {
        disks_got: vec![],
        disks: vec![],
        degraded: vec![],
        ..measurement(0, 1)
    };
    assert_eq!(record.measurements, [expected]);
}

/// A record to be written in a folder of its own.
fn created() -> (tempfile::TempDir, std::path::PathBuf, Store) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.acklab");
    let store = Store::create(&path, &header()).unwrap();
    (folder, path, store)
}

fn given(error: Error) -> String {
    match &error {
        Error::Mistakes(mistakes) => mistakes[0].to_string(),
        _ => panic!("no mistake but {error:?}"),
    }
}

#[test]
fn what_was_kept_is_read_back() {
    let (folder, path, mut store) = created();
    assert!(
        !path.exists() && !store.is_on_disk(),
        "no record before a measurement"
    );
    store.append(&measurement(0, 1)).unwrap();
    assert!(!Record::open(&path).unwrap().finished);
    store.append(&measurement(0, 0)).unwrap();
    let mut later = header();
    later.remarks.push("All nodes share one journal.".into());
    store.update_header(&later).unwrap();
    let trial = |number| Trial {
        present: [number, 5].into(),
        recovery: Duration::from_millis(900),
        ..Trial::default()
    };
    let series = |fault, trials: Vec<Trial>| Series {
        durability: Durability::LOOSE,
        fault,
        trials,
    };
    let node = Fault::power_cut(Leaves::Nothing, Scope::Node);
    for fault in [Fault::KILL, node] {
        for number in 1..=2 {
            let one = series(fault, vec![trial(number.into())]);
            store.append_trial(0, number, &one).unwrap();
            let again = store.append_trial(0, number, &one);
            assert!(again.is_err(), "it has one");
        }
    }
    let kept = [Fault::KILL, node].map(|fault| series(fault, vec![trial(1), trial(2)]));
    store.finish().unwrap();
    let record = Record::open(&path).unwrap();
    assert_eq!(record.series, [(0, kept.to_vec())].into());
    assert_eq!(record.header, later);
    assert_eq!(record.measurements, [measurement(0, 0), measurement(0, 1)]);
    assert!(record.finished);
    assert_eq!(folder.path().read_dir().unwrap().count(), 1, "one file");
}

#[test]
fn cells_join_a_record_that_is_being_written() {
    let (_folder, path, mut store) = created();
    store.join(&[cell(2)]).unwrap();
    store.append(&measurement(0, 2)).unwrap();
    store.join(&[]).unwrap();
    store.join(&[cell(3), cell(4)]).unwrap();
    store.append(&measurement(0, 4)).unwrap();
    let record = Record::open(&path).unwrap();
    // Whatever else the header says is as it was: times, and a seed of 64 bits.
    let expected = Header {
        cells: (0..5).map(cell).collect(),
        ..header()
    };
    assert_eq!(record.header, expected);
    assert_eq!(record.measurements, [measurement(0, 2), measurement(0, 4)]);
    // SQL sees them too.
    let connection = Connection::open(&path).unwrap();
    let sql = "SELECT connections FROM cell WHERE cell = 4";
    let connections: u32 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(connections, 5);
}

/// A mode's trials of one fault were one row; older still, a mode had one at most.
#[test]
fn a_series_of_an_older_record_is_read() {
    let (_folder, path, mut store) = created();
    store.append(&measurement(0, 0)).unwrap();
    drop(store);
    let older = r#"DROP TABLE trial;
        CREATE TABLE series (mode INTEGER PRIMARY KEY, body TEXT NOT NULL);
        INSERT INTO series VALUES (0, '{"durability":{"flush_log":1,"sync_binlog":1},
          "fault":{"site-loss":{"leaves":"nothing","is_covered":true}},"cuts":[{
            "outcomes":{"acknowledged":[1,2],"refused":[],"unanswered":[3]},"present":[1,2],
            "logged":null,"vanished":[],"dropped_writes":7,"no_start":"not in 120 s",
            "recovery":{"secs":1,"nanos":0}}]}');"#;
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(older).unwrap();
    let record = Record::open(&path).unwrap();
    let series = &record.series[&0][0];
    let fault = Fault::power_cut(Leaves::Nothing, Scope::Site);
    assert_eq!(
        (series.durability, series.fault),
        (Durability::STRICT, fault)
    );
    let trial = &series.trials[0];
    assert_eq!(trial.outcomes.acknowledged, [1, 2].into());
    assert_eq!((trial.bite, trial.moment), (None, None), "not known");
    assert_eq!(trial.unread.as_deref(), Some("not in 120 s"));
}

/// What a trial found is there whatever becomes of the next, and of the program.
#[test]
fn each_trial_is_in_the_record_as_it_ends() {
    let (_folder, path, mut store) = created();
    for number in 1..=8 {
        let one = Series {
            durability: Durability::STRICT,
            fault: Fault::KILL,
            trials: vec![Trial::default()],
        };
        store.append_trial(0, number, &one).unwrap();
        let record = Record::open(&path).unwrap();
        assert_eq!(record.series[&0][0].trials.len(), number as usize);
        assert!(!record.finished);
    }
    let connection = Connection::open(&path).unwrap();
    let sql = "SELECT cause || ' ' || scope FROM trial WHERE number = 8";
    let fault: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(fault, "kill node");
}

#[test]
fn a_record_is_gone_on_with_by_one_at_a_time_and_keeps_all() {
    let (_folder, path, mut store) = created();
    store.append(&measurement(1, 0)).unwrap();
    let refused = given(Store::resume(&path).unwrap_err());
    assert!(refused.contains("still going on"), "{refused}");
    drop(store);
    let mut store = Store::resume(&path).unwrap();
    assert!(given(Store::resume(&path).unwrap_err()).contains("still going on"));
    let again = Measurement {
        turn: 1,
        ..measurement(1, 0)
    };
    store.append(&again).unwrap();
    assert!(store.append(&again).is_err(), "it was kept before");
    store.finish().unwrap();
    let record = Record::open(&path).unwrap();
    let turns: Vec<u32> = record.measurements.iter().map(|m| m.turn).collect();
    assert_eq!((turns, record.finished), (vec![0, 1], true));
}

#[test]
fn a_run_without_a_measurement_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("r"), &header()).unwrap();
    store.finish().unwrap();
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn columns_and_views_answer_sql() {
    let (_folder, path, mut store) = created();
    store.append(&measurement(0, 0)).unwrap();
    let connection = Connection::open(&path).unwrap();
    let number = |sql: &str| -> f64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(number("SELECT commits_per_s FROM measurement"), 50.0);
    assert_eq!(
        number("SELECT latency_us_p50 + 0.0 FROM measurement"),
        1300.0
    );
    assert_eq!(
        number("SELECT sum(bytes) + 0.0 FROM link WHERE NOT is_client"),
        90_000.0
    );
    assert_eq!(
        number("SELECT number * 10.0 + errors FROM error_count"),
        12_134.0
    );
    assert_eq!(number("SELECT max(lag_ms) FROM lag WHERE node = 'b'"), 1.25);
    assert_eq!(number("SELECT warmup_ms FROM run"), 1500.0);
    let of_cell = "SELECT connections + 0.0 FROM cell
                   WHERE label = 'mysql single' AND workload = 'update_index' AND cell = 1";
    assert_eq!(number(of_cell), 2.0);
}

#[test]
fn every_view_can_be_read() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    let sql = "SELECT name FROM sqlite_master WHERE type IN ('view', 'table')";
    let mut statement = connection.prepare(sql).unwrap();
    let names = statement
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap();
    let names: Vec<String> = names.map(|name| name.unwrap()).collect();
    assert!(names.len() > 12);
    for name in names {
        connection
            .prepare(&format!("SELECT * FROM {name}"))
            .unwrap();
    }
}

#[test]
fn the_same_measurement_twice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(&folder.path().join("r"), &header()).unwrap();
    store.append(&measurement(0, 0)).unwrap();
    assert!(store.append(&measurement(0, 0)).is_err());
    store.append(&measurement(1, 0)).unwrap();
}

#[test]
fn a_damaged_measurement_is_refused_and_a_cell_that_is_not_there_is_found() {
    let (_folder, path, mut store) = created();
    let mut bad = measurement(0, 0);
    bad.latency_us = "nonsense!".into();
    assert!(store.append(&bad).is_err() && !path.exists());
    store.append(&measurement(0, 2)).unwrap();
    let message = given(Record::open(&path).unwrap_err());
    assert!(message.contains("cell 2, which is not there"), "{message}");
    let (_folder, path, mut store) = created();
    let mut bad = measurement(0, 0);
    bad.host_busy = f64::NAN;
    assert!(store.append(&bad).is_err());
    assert!(!path.exists());
}

#[test]
fn a_bad_place_is_a_mistake_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "mine").unwrap();
    let message = given(Store::create(&taken, &header()).unwrap_err());
    assert!(
        message.contains("taken") && message.contains("exists already"),
        "{message}"
    );
    let nowhere = folder.path().join("no/where");
    let message = given(Store::create(&nowhere, &header()).unwrap_err());
    assert!(message.contains("folder does not exist"), "{message}");
}

#[test]
fn what_is_no_record_is_a_mistake_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it");
    let message = || given(Record::open(&path).unwrap_err());
    assert!(message().contains("no readable file") && message().contains("/it:"));
    std::fs::write(&path, "").unwrap();
    assert!(message().contains("an empty file"));
    std::fs::write(&path, "name = \"small\"").unwrap();
    assert!(message().contains("another kind of file"));
    std::fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(message().contains("another SQLite database"));
    other
        .pragma_update(None, "application_id", APPLICATION_ID)
        .unwrap();
    other
        .pragma_update(None, "user_version", SCHEMA_VERSION + 1)
        .unwrap();
    let newer = format!("schema version {}", SCHEMA_VERSION + 1);
    assert!(message().contains(&newer), "{}", message());
    other
        .pragma_update(None, "user_version", SCHEMA_VERSION)
        .unwrap();
    assert!(message().contains("damaged"), "{}", message());
}

#[test]
fn a_cut_off_copy_is_a_mistake() {
    let (folder, path, mut store) = created();
    for round in 0..20 {
        store.append(&measurement(round, 0)).unwrap();
    }
    let bytes = std::fs::read(&path).unwrap();
    let copy = folder.path().join("copy");
    std::fs::write(&copy, &bytes[..bytes.len() / 2]).unwrap();
    assert!(given(Record::open(&copy).unwrap_err()).contains("damaged"));
}
