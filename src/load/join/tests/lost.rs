//! Drivers that are lost, and those that take their place.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;

use super::*;
use crate::load::join::enter::drive;
use crate::study::workload::{Parameter, Transaction};
use crate::study::{Statement, Workload};

#[test]
fn whoever_is_lost_under_load_is_named_and_another_takes_its_place() {
    let door = door();
    let stays = made(&way_in(&door), |command| Some(well(&command)));
    let way_in = way_in(&door);
    let leaves = made(&way_in, |command| match command {
        Command::MarkAt { .. } => None,
        other => Some(well(&other)),
    });
    let mut joined = joined(door, 2, PATIENCE);
    gathered(&mut joined).0.unwrap();
    let job = job(4);
    joined.start(&job).unwrap();
    assert_eq!(joined.mark().unwrap().commits, 10);
    assert_eq!(joined.stop().unwrap().commits, 10);
    leaves.join().unwrap();
    let missing = joined.take_missing();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(
        missing[0].starts_with("driver ") && missing[0].ends_with("was cut"),
        "{missing:?}"
    );
    assert_eq!(joined.take_missing(), [""; 0], "told once");
    let next = made(&way_in, |command| Some(well(&command)));
    let (outcome, told) = gathered(&mut joined);
    outcome.unwrap();
    assert!(
        told[0].starts_with("waiting for 1 of 2 drivers"),
        "whoever was cut off is waited for by nobody: {told:?}"
    );
    joined.start(&job).unwrap();
    assert_eq!(joined.stop().unwrap().commits, 20);
    drop(joined);
    stays.join().unwrap();
    next.join().unwrap();
}

/// It is there, and says nothing: it may still load the servers until it has noticed.
#[test]
fn nobody_takes_the_place_of_a_silent_driver_before_it_has_noticed() {
    const NOTICED: Duration = Duration::from_secs(5);
    let door = door();
    let way_in = way_in(&door);
    let (over, is_over) = channel::<()>();
    let is_over = Mutex::new(is_over);
    let silent = made(&way_in, move |command| match command {
        Command::MarkAt { .. } => {
            let _ = is_over.lock().unwrap().recv();
            None
        }
        other => Some(well(&other)),
    });
    let mut joined = joined(door, 1, PATIENCE).noticing_within(NOTICED);
    gathered(&mut joined).0.unwrap();
    joined.start(&example()).unwrap();
    joined.mark().unwrap();
    joined.stop().unwrap();
    let missing = joined.take_missing();
    assert!(missing[0].ends_with("no answer in 10 s"), "{missing:?}");
    let next = made(&way_in, |command| Some(well(&command)));
    let (outcome, told) = gathered(&mut joined);
    outcome.unwrap();
    let expected = [
        "nobody is let in for ",
        "waiting for 1 drivers",
        "driver 1 (",
    ];
    let mut all = told.iter().zip(expected);
    assert!(
        told.len() == 3 && all.all(|(told, expected)| told.starts_with(expected)),
        "{told:?}"
    );
    drop((over, joined));
    silent.join().unwrap();
    next.join().unwrap();
}

/// When the last has come, the first is found gone: the wait for another begins anew.
#[test]
fn whoever_is_lost_while_others_are_waited_for_is_waited_for_as_long() {
    let door = door();
    let way_in = way_in(&door);
    let asked = AtomicU32::new(0);
    // It tells its clock as it joins, and is gone when all are asked.
    let leaves = made(&way_in, move |command| {
        let is_first = asked.fetch_add(1, Ordering::Relaxed) < 8;
        is_first.then(|| well(&command))
    });
    let mut joined = joined(door, 2, PATIENCE);
    let run = thread::spawn(move || (gathered(&mut joined), joined));
    // One stays, and one takes the place of whoever leaves.
    let stays = made(&way_in, |command| Some(well(&command)));
    leaves.join().unwrap();
    let next = made(&way_in, |command| Some(well(&command)));
    let ((outcome, told), joined) = run.join().unwrap();
    outcome.unwrap();
    let starts = told
        .iter()
        .filter(|line| line.starts_with("waiting for 1 of 2 drivers"));
    assert_eq!(starts.count(), 1, "{told:?}");
    drop(joined);
    stays.join().unwrap();
    next.join().unwrap();
}

/// Rows with keys that count on: `INSERT INTO t VALUES (?)`.
fn inserting() -> Workload {
    let insert = Statement {
        sql: "INSERT INTO t VALUES (?)".to_owned(),
        parameters: vec![Parameter::Unique { start: 1 }],
    };
    Workload::Custom {
        name: "inserting".to_owned(),
        setup: Vec::new(),
        transactions: vec![Transaction {
            name: "insert".to_owned(),
            weight: 1,
            statements: vec![insert],
        }],
        prepared: true,
    }
}

/// Where numbers go on after a load of two drivers from 40 on, each of which tells that the next is
/// 1,000, unless it leaves before.
fn unique_next(workload: Workload, leave: [fn(&Command) -> bool; 2]) -> u64 {
    let door = door();
    let all = leave.map(|leaves| {
        made(&way_in(&door), move |command| match well(&command) {
            _ if leaves(&command) => None,
            Reply::Snapshot(snapshot) => Some(Reply::Snapshot(Box::new(Snapshot {
                unique_next: 1_000,
                ..*snapshot
            }))),
            other => Some(other),
        })
    });
    let mut joined = joined(door, 2, PATIENCE);
    gathered(&mut joined).0.unwrap();
    let job = crate::load::Job {
        connections: 4,
        unique_from: 40,
        workload,
        ..example()
    };
    joined.start(&job).unwrap();
    joined.mark().unwrap();
    let next = joined.stop().unwrap().unique_next;
    drop(joined);
    all.into_iter().for_each(|driver| driver.join().unwrap());
    next
}

/// Which keys it has inserted nobody knows, and a table keeps them.
#[test]
fn unique_numbers_of_whoever_was_lost_are_not_used_again() {
    const FAR: u64 = 100_000_000;
    let stays: fn(&Command) -> bool = |_| false;
    let at_stop: fn(&Command) -> bool = |command| *command == Command::Stop;
    let at_once: fn(&Command) -> bool = |command| matches!(command, Command::MarkAt { .. });
    assert_eq!(unique_next(inserting(), [stays, stays]), 1_000);
    assert!(unique_next(inserting(), [stays, at_stop]) > 1_000 + FAR);
    assert!(unique_next(inserting(), [at_once, at_once]) > 40 + FAR);
    let other = unique_next(example().workload, [stays, at_stop]);
    assert_eq!(other, 1_000, "it has no such numbers");
}

/// A scheduler starts again whoever ends with another exit code than 0, and no other.
#[test]
fn a_driver_that_the_run_gave_up_on_does_not_end_as_if_the_run_were_over() {
    let door = door();
    let (address, ticket) = way_in(&door);
    let socket = TcpStream::connect(&address).unwrap();
    let given_up = thread::spawn(move || {
        let mut inside = come_in(socket, (&address, &ticket));
        let mut line = String::new();
        inside.stream().read_line(&mut line).unwrap();
        // No answer to what it was asked.
        let wrong = format!("{}\n", serde_json::to_string(&Reply::Stopped).unwrap());
        let own = inside.stream().get_mut();
        own.write_all(wrong.as_bytes()).unwrap();
        drive(inside, &address)
    });
    let mut joined = joined(door, 1, Duration::ZERO);
    let (outcome, told) = gathered(&mut joined);
    assert_eq!(outcome.unwrap_err().exit_code(), 4);
    assert!(
        told[1].ends_with("it answered another question"),
        "{told:?}"
    );
    let told = given_up.join().unwrap().unwrap_err();
    assert_eq!(told.exit_code(), 4);
    drop(joined);
}
