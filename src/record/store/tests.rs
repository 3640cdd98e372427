//! Records as files.

mod killed;
mod looks;
mod schedules;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use rand::{RngExt, SeedableRng};

use super::*;
use crate::error::Error;
use crate::record::history::{Answer, History, Transfer};
use crate::record::trials::{self, Done};
use crate::record::{Degraded, DiskGot, DiskUse, Host, Lag, LinkTraffic, ServerLog};
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
        lost_packets: 3,
        queue_full_packets: 2,
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
fn a_record_of_a_newer_acklab_is_told_and_not_read() {
    let (_folder, path, mut store) = created();
    store.append(&measurement(0, 0)).unwrap();
    drop(store);
    let newer = SCHEMA_VERSION + 1;
    let connection = Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "user_version", newer)
        .unwrap();
    drop(connection);
    let told = given(Record::open(&path).unwrap_err());
    let found = format!("a record of schema version {newer}");
    assert!(
        told.contains(&found) && told.contains("use a newer acklab"),
        "{told}"
    );
    let told = given(Store::resume(&path).unwrap_err());
    assert!(told.contains(&found), "{told}");
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
    store.finish().unwrap();
    let record = Record::open(&path).unwrap();
    assert_eq!(record.header, later);
    assert_eq!(record.measurements, [measurement(0, 0), measurement(0, 1)]);
    assert!(record.finished);
    assert_eq!(folder.path().read_dir().unwrap().count(), 1, "one file");
}

fn log(node: &str) -> ServerLog {
    ServerLog {
        lab: "mysql-single".into(),
        node: node.into(),
        log: "[Note] ready\n".into(),
    }
}

#[test]
fn servers_logs_are_kept_beside_and_change_nothing_else() {
    let (_folder, path, mut store) = created();
    store.keep_logs(&[]).unwrap();
    store.keep_logs(&[log("a")]).unwrap();
    assert!(!path.exists(), "they alone make no record");
    store.append(&measurement(0, 0)).unwrap();
    drop(store);
    assert_eq!(server_logs(&path).unwrap(), [log("a")]);
    let mut store = Store::resume(&path).unwrap();
    store.keep_logs(&[log("b")]).unwrap();
    store.finish().unwrap();
    assert_eq!(server_logs(&path).unwrap(), [log("a"), log("b")]);
    let record = Record::open(&path).unwrap();
    assert_eq!(record.measurements, [measurement(0, 0)]);
    let (_folder, path, mut store) = created();
    store.append(&measurement(0, 0)).unwrap();
    assert!(server_logs(&path).unwrap().is_empty());
    assert!(server_logs(&path.with_file_name("absent")).is_err());
}

#[test]
fn a_copy_has_other_texts_and_nothing_of_the_old_ones() {
    let (folder, path, mut store) = created();
    let mut other = header();
    other.remarks = vec!["planted ".repeat(20_000)];
    store.update_header(&other).unwrap();
    store.append(&measurement(0, 0)).unwrap();
    other.remarks = vec!["planted at last".into()];
    store.update_header(&other).unwrap();
    store.keep_logs(&[log("planted")]).unwrap();
    let to = folder.path().join("copy");
    let tables = std::cell::RefCell::new(Vec::new());
    copy(&path, &to, &|table, text| {
        tables.borrow_mut().push(table.to_owned());
        text.contains("planted")
            .then(|| text.replace("planted", "gone"))
    })
    .unwrap();
    let bytes = std::fs::read(&to).unwrap();
    let is_there = |word: &[u8]| bytes.windows(word.len()).any(|part| part == word);
    assert!(!is_there(b"planted") && is_there(b"gone at last"));
    other.remarks = vec!["gone at last".into()];
    let copied = Record::open(&to).unwrap();
    assert_eq!(copied.header, other);
    assert_eq!(copied.measurements, [measurement(0, 0)]);
    assert_eq!(server_logs(&to).unwrap(), [log("gone")]);
    assert!(
        copy(&path, &to, &|_, _| None).is_err(),
        "it is there already"
    );
    let mut tables = tables.into_inner();
    tables.dedup();
    assert_eq!(
        tables,
        ["run", "measurement", "server_log"],
        "in this order"
    );
    assert!(copy(&folder.path().join("none"), &to, &|_, _| None).is_err());
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

/// They were of another kind, and are told by the acklab that made them.
#[test]
fn trials_of_an_older_record_are_counted_and_not_read() {
    let (_folder, path, mut store) = created();
    store.append(&measurement(0, 0)).unwrap();
    drop(store);
    assert_eq!(Record::open(&path).unwrap().header, header());
    let older = "CREATE TABLE trial (mode INTEGER, body TEXT); INSERT INTO trial VALUES (0, '{}'), (1, '{}');";
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(older).unwrap();
    let record = Record::open(&path).unwrap();
    assert!(record.campaigns.is_empty());
    let remark = record.header.remarks.last().expect("a remark");
    assert!(remark.starts_with("2 trials of an older kind"), "{remark}");
}
