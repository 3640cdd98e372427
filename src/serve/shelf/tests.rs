//! What is found in a folder.

use std::path::PathBuf;

use super::*;
use crate::record::store::{SCHEMA_VERSION, Store};
use crate::record::{Header, Measurement, histogram};
use crate::study::{ModeSpec, Study};

fn header(title: &str, started_unix_ms: u64) -> Header {
    Header {
        study: Study {
            title: title.to_owned(),
            modes: vec![ModeSpec {
                label: "mysql single".to_owned(),
                ..ModeSpec::default()
            }],
            ..Study::default()
        },
        cells: vec![Default::default()],
        started_unix_ms,
        ..Header::default()
    }
}

/// A record with one measurement, still open.
fn record(folder: &Path, name: &str, started_unix_ms: u64) -> (PathBuf, Store) {
    let path = folder.join(name);
    let mut store = Store::create(&path, &header(name, started_unix_ms)).unwrap();
    let measurement = Measurement {
        window_s: 1.0,
        latency_us: histogram::encode(&histogram::empty()),
        ..Measurement::default()
    };
    store.append(&measurement).unwrap();
    (path, store)
}

fn state(told: &Told) -> Option<State> {
    match &told.what {
        What::Record { state, .. } => Some(*state),
        What::Unreadable(_) => None,
    }
}

#[test]
fn records_are_listed_the_newest_first_with_how_far_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (_, old) = record(folder.path(), "old.acklab", 1_000);
    old.finish().unwrap();
    let (_, running) = record(folder.path(), "without an ending", 3_000);
    let (_, stopped) = record(folder.path(), "stopped.acklab", 2_000);
    drop(stopped);
    std::fs::write(folder.path().join("notes.txt"), "no record").unwrap();
    let shelf = Shelf::of(folder.path()).unwrap();
    let told = |shelf: &Shelf| -> Vec<(String, Option<State>)> {
        let all = shelf.told().unwrap();
        all.iter()
            .map(|told| (told.name.clone(), state(told)))
            .collect()
    };
    let expected = |running| {
        [
            ("without an ending".to_owned(), Some(running)),
            ("stopped.acklab".to_owned(), Some(State::Open)),
            ("old.acklab".to_owned(), Some(State::Finished)),
        ]
    };
    assert_eq!(told(&shelf), expected(State::Running));
    // Nothing of the file has changed; who writes is asked all the same.
    drop(running);
    assert_eq!(told(&shelf), expected(State::Open));
}

#[test]
fn what_cannot_be_read_is_listed_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (newer, store) = record(folder.path(), "newer.acklab", 1_000);
    drop(store);
    let connection = rusqlite::Connection::open(&newer).unwrap();
    let version = connection.pragma_update(None, "user_version", SCHEMA_VERSION + 1);
    version.unwrap();
    drop(connection);
    let (cut, store) = record(folder.path(), "cut.acklab", 1_000);
    drop(store);
    let whole = std::fs::read(&cut).unwrap();
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    std::fs::write(folder.path().join("empty.acklab"), "").unwrap();
    std::fs::write(folder.path().join("text.acklab"), "no record").unwrap();
    let shelf = Shelf::of(folder.path()).unwrap();
    let all = shelf.told().unwrap();
    for (name, why) in [
        ("newer.acklab", "use a newer acklab"),
        ("cut.acklab", "damaged"),
        ("empty.acklab", "an empty file"),
        ("text.acklab", "another kind of file"),
    ] {
        let told = all.iter().find(|told| told.name == name);
        let Some(What::Unreadable(said)) = told.map(|told| &told.what) else {
            panic!("{name}: {told:?}");
        };
        assert!(said.contains(why), "{name}: {said}");
        let page = shelf.page(&shelf.find(name).unwrap());
        assert!(matches!(page, Found::Unreadable(_)), "{name}: {page:?}");
    }
}

#[test]
fn only_names_of_the_list_lead_to_a_file() {
    let outside = tempfile::tempdir().unwrap();
    let (secret, _store) = record(outside.path(), "secret.acklab", 1_000);
    let folder = outside.path().join("shown");
    std::fs::create_dir(&folder).unwrap();
    let (own, _store) = record(&folder, "own.acklab", 1_000);
    std::os::unix::fs::symlink(&secret, folder.join("link.acklab")).unwrap();
    std::fs::create_dir(folder.join("folder.acklab")).unwrap();
    std::fs::copy(&own, folder.join(".hidden.acklab")).unwrap();
    let shelf = Shelf::of(&folder).unwrap();
    assert_eq!(shelf.find("own.acklab"), Some(own));
    let absolute = secret.to_str().unwrap();
    for name in [
        "../secret.acklab",
        "./own.acklab",
        "shown/own.acklab",
        absolute,
        "link.acklab",
        "folder.acklab",
        ".hidden.acklab",
        "own.acklab-journal",
        "",
        ".",
        "..",
    ] {
        assert_eq!(shelf.find(name), None, "{name}");
    }
}

#[test]
fn a_folder_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let told = |path: &Path| Shelf::of(path).map(drop).unwrap_err().to_string();
    assert!(told(&file).contains("name the folder that it is in"));
    let absent = told(&folder.path().join("absent"));
    assert!(
        absent.contains("FOLDER") && absent.contains("that is there"),
        "{absent}"
    );
    assert_eq!(Shelf::of(folder.path()).unwrap().told().unwrap(), []);
}

#[test]
fn nothing_in_the_folder_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = record(folder.path(), "r.acklab", 1_000);
    drop(store);
    let before = (
        std::fs::read(&path).unwrap(),
        stamp(&path.metadata().unwrap()),
    );
    let shelf = Shelf::of(folder.path()).unwrap();
    shelf.told().unwrap();
    assert!(matches!(shelf.page(&path), Found::Page(_) | Found::Empty));
    shelf.look(&mut Recorded::of(&path)).unwrap();
    let after = (
        std::fs::read(&path).unwrap(),
        stamp(&path.metadata().unwrap()),
    );
    assert!(before == after);
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
}
