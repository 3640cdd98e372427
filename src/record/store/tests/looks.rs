//! Looks at records, at rest and while they are written.

use std::fs::File;

use nix::fcntl::{Flock, FlockArg};

use super::*;

#[test]
fn a_look_tells_what_there_is_and_whether_somebody_writes() {
    let (folder, path, mut store) = created();
    assert!(
        Look::at(&path).is_err() && !is_written(&path),
        "no file yet"
    );
    store.append(&measurement(0, 0)).unwrap();
    let look = Look::at(&path).unwrap();
    assert_eq!(
        (look.measurements, look.trials, look.finished),
        (1, 0, false)
    );
    assert_eq!(look.header, header());
    assert!(is_written(&path) && has_mark(&path));
    store.finish().unwrap();
    assert!(Look::at(&path).unwrap().finished && !is_written(&path));
    let other = folder.path().join("other");
    std::fs::write(&other, "no record").unwrap();
    assert!(!has_mark(&other) && !has_mark(&folder.path().join("absent")));
}

#[test]
fn a_look_in_the_way_of_a_writer_is_waited_for() {
    let (_folder, path, mut store) = created();
    store.append(&measurement(0, 0)).unwrap();
    drop(store);
    let looking = File::open(&path).unwrap();
    let looking = Flock::lock(looking, FlockArg::LockSharedNonblock).unwrap();
    assert!(!is_written(&path), "others may look as well");
    assert!(lock(&path).unwrap().is_none(), "for ever");
    drop(looking);
    assert!(lock(&path).unwrap().is_some());
}

#[test]
fn a_follower_hears_each_thing_once() {
    let (_folder, path, mut store) = created();
    store.append(&measurement(0, 1)).unwrap();
    let mut follower = Follower::of(&path);
    let first = follower.look().unwrap();
    assert_eq!(first.header, Some(header()));
    assert_eq!(first.measurements, [measurement(0, 1)]);
    let nothing = News {
        header: None,
        measurements: vec![],
        trials: vec![],
        finished: false,
    };
    assert_eq!(follower.look().unwrap(), nothing);
    store.join(&[cell(2)]).unwrap();
    // Of a smaller key: it comes by when it was kept.
    store.append(&measurement(0, 0)).unwrap();
    let next = follower.look().unwrap();
    assert_eq!(next.header.unwrap().cells.len(), 3);
    assert_eq!(next.measurements, [measurement(0, 0)]);
    store.finish().unwrap();
    assert!(follower.look().unwrap().finished);
}

/// Also in the place of the last row, whose number would be free.
#[test]
fn a_follower_hears_of_what_was_made_again() {
    let (_folder, path, mut store) = created();
    for cell in [0, 1] {
        store.append(&measurement(0, cell)).unwrap();
    }
    let mut follower = Follower::of(&path);
    follower.look().unwrap();
    let again = |commits| Measurement {
        commits,
        ..measurement(0, 1)
    };
    for commits in [7, 8] {
        store.replace(&again(commits)).unwrap();
        assert_eq!(follower.look().unwrap().measurements, [again(commits)]);
    }
    let kept = Record::open(&path).unwrap().measurements;
    assert_eq!(kept, [measurement(0, 0), again(8)]);
    assert!(store.append(&again(9)).is_err(), "it has one");
}

#[test]
fn half_a_record_is_told_as_damaged() {
    let (_folder, path, mut store) = created();
    for round in 0..20 {
        store.append(&measurement(round, 0)).unwrap();
    }
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    for left in [whole.len() / 2, whole.len() - 4096, 4096, 200] {
        std::fs::write(&path, &whole[..left]).unwrap();
        let told = given(Look::at(&path).unwrap_err());
        assert!(told.contains("damaged"), "{left}: {told}");
    }
}

/// Whoever may change nothing cannot roll back; who may does it, and then all can read.
#[test]
fn what_a_kill_cut_off_is_told_by_who_may_not_mend_it() {
    let (folder, path, mut store) = created();
    store.append(&measurement(0, 0)).unwrap();
    // More than is held in memory: the journal is on disk, and then the file is written to.
    let pages = store.connection.pragma_update(None, "cache_size", 1);
    pages.unwrap();
    let transaction = store.connection.transaction().unwrap();
    for round in 1..20 {
        let body = body_of(&measurement(round, 0)).unwrap();
        insert(&transaction, "INSERT", &measurement(round, 0), &body).unwrap();
    }
    let killed = folder.path().join("killed.acklab");
    std::fs::copy(journal_of(&path), journal_of(&killed)).unwrap();
    std::fs::copy(&path, &killed).unwrap();
    drop(transaction);
    let before = (
        std::fs::read(&killed).unwrap(),
        std::fs::read(journal_of(&killed)).unwrap(),
    );
    let looks = [
        Look::at(&killed).unwrap_err(),
        Follower::of(&killed).look().unwrap_err(),
        Record::open_as_it_is(&killed).unwrap_err(),
    ];
    for error in looks {
        let told = given(error);
        assert!(told.contains("killed while it wrote"), "{told}");
    }
    let after = (
        std::fs::read(&killed).unwrap(),
        std::fs::read(journal_of(&killed)).unwrap(),
    );
    assert!(before == after, "nothing is changed");
    assert_eq!(Record::open(&killed).unwrap().measurements.len(), 1);
    assert_eq!(Look::at(&killed).unwrap().measurements, 1);
}
