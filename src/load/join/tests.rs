//! Drivers that join over TLS: threads here, and some that are made of lines alone.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::enter::{Inside, drive, enter};
use super::hello::{Answer, Hello};
use super::tls::Identity;
use super::*;
use crate::error::Result;
use crate::load::clock::Clock;
use crate::load::job::tests::example;
use crate::load::job::{Command, Reply, Snapshot, new_histogram};
use crate::load::tally::Tally;
use crate::record::histogram;
use crate::study::workload::{Parameter, Transaction};
use crate::study::{Statement, Workload};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
const STUDY: &str = "rounds = 2\n";

fn door() -> Door {
    let study = StudyName::of("ours.toml", STUDY);
    Door::open("127.0.0.1:0".parse().unwrap(), study).unwrap()
}

/// Where to come, and with what.
fn way_in(door: &Door) -> (String, Ticket) {
    (door.address().to_string(), door.ticket().clone())
}

fn joined(door: Door, drivers: u32, within: Duration) -> Joined {
    let command = "acklab drive --join …".to_owned();
    let patience = Patience {
        drivers,
        within,
        command,
    };
    Joined::new(door, patience)
}

fn entry(address: &str, ticket: &Ticket) -> Entry {
    Entry {
        address: address.to_owned(),
        ticket: TicketFrom::Variable(ticket.clone()),
        study: None,
        within: PATIENCE,
    }
}

/// A driver as it is, on a thread.
fn driver(entry: Entry) -> JoinHandle<Result<()>> {
    thread::spawn(move || join(&entry, &mut |_| {}))
}

/// Comes in. On a busy machine it says too late who it is: then it comes again, as a driver does.
fn come_in(mut socket: TcpStream, (address, ticket): (&str, &Ticket)) -> Inside {
    let hello = Hello::of(ticket, None);
    loop {
        match enter(socket, (address, PATIENCE), ticket, &hello).unwrap() {
            Ok(inside) => return inside,
            Err(_) => socket = TcpStream::connect(address).unwrap(),
        }
    }
}

/// Comes in, and then does with each command what it is told; it leaves where there is no answer.
/// It is at the door before this returns.
fn made(
    (address, ticket): &(String, Ticket),
    answer: impl Fn(Command) -> Option<Reply> + Send + 'static,
) -> JoinHandle<()> {
    let socket = TcpStream::connect(address).unwrap();
    let (address, ticket) = (address.clone(), ticket.clone());
    thread::spawn(move || {
        let mut inside = come_in(socket, (&address, &ticket));
        loop {
            let mut line = String::new();
            if inside.stream().read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let Some(reply) = answer(serde_json::from_str(&line).unwrap()) else {
                return;
            };
            let mut text = serde_json::to_string(&reply).unwrap();
            text.push('\n');
            inside
                .stream()
                .get_mut()
                .write_all(text.as_bytes())
                .unwrap();
        }
    })
}

/// Why it is not let in.
fn refused(address: &str, ticket: &Ticket, hello: &Hello) -> String {
    loop {
        let socket = TcpStream::connect(address).unwrap();
        if let Err(error) = enter(socket, (address, PATIENCE), ticket, hello) {
            return error.to_string();
        }
    }
}

/// What every driver says that is well.
fn well(command: &Command) -> Reply {
    match command {
        Command::Clock => Reply::Clock {
            heard_ns: 5,
            answered_ns: 5,
        },
        Command::Start(_) => Reply::Started { connected_s: 0.0 },
        Command::Begin { .. } => Reply::Begun { late_s: 0.0 },
        Command::Mark | Command::MarkAt { .. } | Command::Stop => {
            let mut latency = new_histogram();
            latency.record_n(1_000, 10).unwrap();
            Reply::Snapshot(Box::new(Snapshot {
                window_s: 1.0,
                commits: 10,
                latency_us: histogram::encode(&latency),
                ..Snapshot::default()
            }))
        }
        other => panic!("{other:?}"),
    }
}

fn gathered(joined: &mut Joined) -> (Result<()>, Vec<String>) {
    let mut told = Vec::new();
    let outcome = joined.gather(&mut |words| told.push(words));
    (outcome, told)
}

#[test]
fn drivers_join_are_set_by_their_clocks_and_go_when_the_run_is_over() {
    let door = door();
    let (address, ticket) = way_in(&door);
    let study = Some(StudyName::of("a/copy.toml", STUDY));
    let drivers = [
        driver(entry(&address, &ticket)),
        driver(Entry {
            study,
            ..entry(&address, &ticket)
        }),
    ];
    let mut joined = joined(door, 2, PATIENCE);
    let (outcome, told) = gathered(&mut joined);
    outcome.unwrap();
    assert!(
        told[0].starts_with("waiting for 2 drivers; each is started with: "),
        "{told:?}"
    );
    for (number, line) in (1..).zip(&told[1..]) {
        assert!(line.starts_with(&format!("driver {number} (")), "{line}");
        assert!(
            line.contains("has joined; its clock is ") && line.contains(" this host's, ± "),
            "{line}"
        );
    }
    // All are here: nobody is told anything.
    let (outcome, told) = gathered(&mut joined);
    assert_eq!((outcome, told.len()), (Ok(()), 0));
    assert!(
        joined
            .told()
            .contains("2 drivers that had joined, on one host; ")
    );
    drop(joined);
    for driver in drivers {
        assert_eq!(driver.join().unwrap(), Ok(()));
    }
}

#[test]
fn a_stranger_another_version_and_another_study_are_not_let_in() {
    let door = door();
    let (address, ticket) = way_in(&door);
    let knocking = thread::spawn(move || {
        let hello = Hello::of(&ticket, None);
        let refused = |ticket: &Ticket, hello: &Hello| refused(&address, ticket, hello);
        let mut all = Vec::new();
        // The right certificate and a wrong token.
        let guess = Ticket::to(&ticket.fingerprint);
        all.push(refused(&guess, &Hello::of(&guess, None)));
        let old = Hello {
            version: "0.0.9".to_owned(),
            ..hello.clone()
        };
        all.push(refused(&ticket, &old));
        let other = StudyName::of("theirs.toml", "rounds = 3\n");
        all.push(refused(&ticket, &Hello::of(&ticket, Some(other))));
        // The right token and another certificate: it is told to nobody.
        let elsewhere = Ticket {
            fingerprint: "0f".repeat(32),
            ..ticket.clone()
        };
        let wrong = join(&entry(&address, &elsewhere), &mut |_| {}).unwrap_err();
        assert_eq!(wrong.exit_code(), 2);
        all.push(wrong.to_string());
        // No TLS at all, and nothing more.
        let mut plain = TcpStream::connect(&address).unwrap();
        plain.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let _ = plain.read_to_end(&mut Vec::new());
        let last = made(&(address.clone(), ticket.clone()), |command| {
            Some(well(&command))
        });
        (all, ticket, last)
    });
    let mut joined = joined(door, 1, PATIENCE);
    let (outcome, told) = gathered(&mut joined);
    outcome.unwrap();
    drop(joined);
    let (refused, ticket, last) = knocking.join().unwrap();
    last.join().unwrap();
    let expected = [
        "its token is not this run's",
        "it is acklab \"0.0.9\"",
        "it is for the study theirs.toml, and the run is of ours.toml",
        "environment: ACKLAB_TOKEN: is of another run: the certificate at 127.0.0.1:",
    ];
    for (refused, expected) in refused.iter().zip(expected) {
        assert!(refused.contains(expected), "{refused}");
    }
    for expected in &expected[..3] {
        let is_told = |line: &String| line.contains("was not let in") && line.contains(expected);
        assert!(told.iter().any(is_told), "{told:?}");
    }
    let strangers = told.iter().filter(|line| line.contains("was not let in"));
    assert!(strangers.count() >= 5, "{told:?}");
    assert!(!told.concat().contains(&ticket.token[..]), "{told:?}");
}

/// Each byte alone came in time, and TLS waits for the rest of what they begin.
#[test]
fn a_stranger_who_says_nothing_whole_is_sent_away() {
    /// Of a first record that says it has 16 KiB: half a minute of them.
    const BYTES_MAX: usize = 300;
    let door = door();
    let way_in = way_in(&door);
    let mut socket = TcpStream::connect(&way_in.0).unwrap();
    let stranger = thread::spawn(move || {
        let head = [0x16, 3, 1, 0x40, 0];
        let mut bytes = head.into_iter().chain(std::iter::repeat(0)).take(BYTES_MAX);
        bytes.all(|byte| {
            thread::sleep(Duration::from_millis(100));
            socket.write_all(&[byte]).is_ok()
        })
    });
    let one = made(&way_in, |command| Some(well(&command)));
    let mut joined = joined(door, 1, PATIENCE);
    let (outcome, told) = gathered(&mut joined);
    outcome.unwrap();
    assert!(
        told[1].ends_with("was not let in: no answer in 2 s"),
        "{told:?}"
    );
    assert!(!stranger.join().unwrap(), "it said all that it had to say");
    drop(joined);
    one.join().unwrap();
}

/// As when a run is started again: whoever waits with the old file takes the new one.
#[test]
fn a_driver_waits_for_the_file_of_the_run_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let door = door();
    let (address, ticket) = way_in(&door);
    let old = Ticket::to(&"0f".repeat(32));
    std::fs::write(&path, old.text()).unwrap();
    let waits = Entry {
        ticket: TicketFrom::File(path.clone()),
        ..entry(&address, &old)
    };
    let (tell, told) = channel();
    let driver = thread::spawn(move || join(&waits, &mut |words| tell.send(words).unwrap()));
    let mut joined = joined(door, 1, PATIENCE);
    let run = thread::spawn(move || gathered(&mut joined));
    let first = told.recv().unwrap();
    assert!(first.contains("token is of another run"), "{first}");
    let _file = TicketFile::write(&path, &ticket).unwrap();
    run.join().unwrap().0.unwrap();
    assert_eq!(driver.join().unwrap(), Ok(()));
}

#[test]
fn a_driver_whose_file_stays_of_another_run_is_told_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let door = door();
    let way_in = way_in(&door);
    let old = Ticket::to(&"0f".repeat(32));
    std::fs::write(&path, old.text()).unwrap();
    let waits = Entry {
        ticket: TicketFrom::File(path.clone()),
        within: Duration::from_secs(5),
        ..entry(&way_in.0, &old)
    };
    let mut joined = joined(door, 1, PATIENCE);
    let run = thread::spawn(move || gathered(&mut joined));
    let told = join(&waits, &mut |_| {}).unwrap_err();
    assert_eq!(told.exit_code(), 2);
    let expected = format!(
        "command line: --token: given {}; is of another",
        path.display()
    );
    assert!(told.to_string().starts_with(&expected), "{told}");
    let last = made(&way_in, |command| Some(well(&command)));
    let (outcome, told) = run.join().unwrap();
    outcome.unwrap();
    last.join().unwrap();
    let refused = told.iter().filter(|line| line.contains("was not let in"));
    assert!(
        refused.count() < 4,
        "it knocks with a ticket once: {told:?}"
    );
}

#[test]
fn too_few_drivers_are_told_by_who_is_missing() {
    let door = door();
    let one = made(&way_in(&door), |command| Some(well(&command)));
    let mut joined = joined(door, 3, Duration::ZERO);
    let (outcome, _) = gathered(&mut joined);
    let told = outcome.unwrap_err();
    assert_eq!(told.exit_code(), 4);
    let expected = "could not gather 3 drivers: 1 of 3 are here after 0 s: driver 2: it never \
                    came; driver 3: it never came";
    assert_eq!(told.to_string(), expected);
    drop(joined);
    one.join().unwrap();
}

#[test]
fn a_load_is_driven_by_all_and_joined() {
    let door = door();
    let all = [1, 2, 3].map(|_| made(&way_in(&door), |command| Some(well(&command))));
    let mut joined = joined(door, 3, PATIENCE);
    gathered(&mut joined).0.unwrap();
    let job = crate::load::Job {
        connections: 2,
        ..example()
    };
    joined.start(&job).unwrap();
    // Two connections are two drivers' at most.
    assert_eq!(joined.mark().unwrap().commits, 20);
    assert_eq!(joined.stop().unwrap().commits, 20);
    assert_eq!(joined.take_missing(), [""; 0]);
    let job = crate::load::Job {
        connections: 9,
        ..job
    };
    joined.start(&job).unwrap();
    let window = joined.mark().unwrap();
    let latency = histogram::decode(&window.latency_us).unwrap();
    assert_eq!((window.commits, latency.len()), (30, 30));
    drop(joined);
    all.into_iter().for_each(|driver| driver.join().unwrap());
}

/// Two snapshots under load and one at its end, of a driver that began so late, and of one
/// transaction each 10 ms.
fn snapshots(late: Duration) -> Vec<Snapshot> {
    let all_begin = Instant::now();
    let begin = all_begin + late;
    let mut tally = Tally::new(begin, &[], false, true);
    let mut ended = (1..).map(|number: u32| begin + Duration::from_millis(10) * number);
    let mut next = ended.next().unwrap();
    let marks = [1_020, 2_500, 3_030].map(|ms| all_begin + Duration::from_millis(ms));
    let mut until = |mark: Instant| {
        while next < mark {
            tally.transaction(next, (next, next), 1);
            next = ended.next().unwrap();
        }
        tally.snapshot(mark)
    };
    marks.into_iter().map(&mut until).collect()
}

/// A mark may come when a second has ended for one driver and not for another.
#[test]
fn each_second_is_told_once_with_what_all_did() {
    let door = door();
    let all = [0, 50].map(|ms| {
        let told = Mutex::new(snapshots(Duration::from_millis(ms)).into_iter());
        made(&way_in(&door), move |command| match command {
            Command::MarkAt { .. } | Command::Stop => {
                let next = told.lock().unwrap().next().unwrap();
                Some(Reply::Snapshot(Box::new(next)))
            }
            other => Some(well(&other)),
        })
    });
    let mut joined = joined(door, 2, PATIENCE);
    gathered(&mut joined).0.unwrap();
    let job = crate::load::Job {
        connections: 4,
        ..example()
    };
    joined.start(&job).unwrap();
    let (first, second) = (joined.mark().unwrap(), joined.mark().unwrap());
    let told = [first, second, joined.stop().unwrap()];
    let seconds = told.each_ref().map(|snapshot| {
        let timeline = snapshot.timeline.iter().map(|told| told.second);
        let counts = timeline.map(|one| (one.second, one.transactions));
        counts.collect::<Vec<_>>()
    });
    // A transaction that ends with a second is the next one's; of the third second one driver saw
    // no end.
    assert_eq!(seconds, [vec![], vec![(0, 198), (1, 200)], vec![]]);
    drop(joined);
    all.into_iter().for_each(|driver| driver.join().unwrap());
}

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
    let job = crate::load::Job {
        connections: 4,
        ..example()
    };
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

/// A driver whose clock is so far ahead of this machine's, and the moments at which it was told to
/// do something, less that.
fn by_its_clock(
    way_in: &(String, Ticket),
    (clock, ahead_ns): (Clock, i64),
) -> (JoinHandle<()>, Receiver<u64>) {
    let (tell, told) = channel();
    let driver = made(way_in, move |command| {
        match command {
            Command::Clock => {
                let now_ns = clock.now_ns().saturating_add_signed(ahead_ns);
                return Some(Reply::Clock {
                    heard_ns: now_ns,
                    answered_ns: now_ns,
                });
            }
            Command::Begin { at_ns } | Command::MarkAt { at_ns } => {
                tell.send(at_ns.saturating_add_signed(-ahead_ns)).unwrap();
            }
            _ => {}
        }
        Some(well(&command))
    });
    (driver, told)
}

/// One clock is an hour ahead and one an hour behind: each is told the same moment by its own.
#[test]
fn each_driver_is_told_a_moment_of_its_own_clock() {
    const HOUR_NS: i64 = 3_600_000_000_000;
    let (door, clock) = (door(), Clock::new());
    let all = [HOUR_NS, -HOUR_NS].map(|ahead_ns| by_its_clock(&way_in(&door), (clock, ahead_ns)));
    let mut joined = joined(door, 2, PATIENCE);
    let (outcome, told) = gathered(&mut joined);
    outcome.unwrap();
    let told = told[1..].concat();
    assert!(
        told.contains("ms ahead of") && told.contains("ms behind"),
        "{told}"
    );
    let job = crate::load::Job {
        connections: 4,
        ..example()
    };
    for step in 0..2 {
        let asked_ns = clock.now_ns();
        if step == 0 {
            joined.start(&job).unwrap();
        } else {
            joined.mark().unwrap();
        }
        for (_, told) in &all {
            // It lies ahead, further than clocks are uncertain; an error of sign is two hours.
            let at_ns = told.recv().unwrap();
            let ahead = Duration::from_nanos(at_ns.saturating_sub(asked_ns));
            assert!(
                at_ns > asked_ns && ahead < PATIENCE,
                "step {step}: {ahead:?}"
            );
        }
    }
    drop(joined);
    for (driver, _) in all {
        driver.join().unwrap();
    }
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

#[test]
fn whoever_is_late_is_named() {
    let door = door();
    let late = made(&way_in(&door), |command| {
        Some(match command {
            Command::Begin { .. } => Reply::Begun { late_s: 0.3 },
            Command::MarkAt { .. } => match well(&command) {
                Reply::Snapshot(snapshot) => Reply::Snapshot(Box::new(Snapshot {
                    late_s: 0.05,
                    ..*snapshot
                })),
                other => other,
            },
            other => well(&other),
        })
    });
    let mut joined = joined(door, 1, PATIENCE);
    gathered(&mut joined).0.unwrap();
    joined.start(&example()).unwrap();
    joined.mark().unwrap();
    let missing = joined.take_missing();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0].ends_with("it began 0.300 s late"), "{missing:?}");
    drop(joined);
    late.join().unwrap();
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

/// What keeps a load from running at all ends the run, as of one driver: it is no driver's fault.
#[test]
fn a_driver_that_cannot_connect_is_a_breakdown_that_names_it() {
    let door = door();
    let all = [1, 2].map(|_| {
        made(&way_in(&door), |command| match command {
            Command::Start(job) if job.driver == 1 => Some(Reply::Failed {
                tried: "connect session 0".to_owned(),
                status: "refused".to_owned(),
            }),
            other => Some(well(&other)),
        })
    });
    let mut joined = joined(door, 2, PATIENCE);
    gathered(&mut joined).0.unwrap();
    let job = crate::load::Job {
        connections: 4,
        ..example()
    };
    let told = joined.start(&job).unwrap_err().to_string();
    assert!(
        told.starts_with("could not connect session 0 (driver 2 ("),
        "{told}"
    );
    assert!(told.ends_with(": refused"), "{told}");
    drop(joined);
    all.into_iter().for_each(|driver| driver.join().unwrap());
}

#[test]
fn a_driver_finds_no_run_in_time_or_a_run_that_goes_without_a_word() {
    let ticket = Ticket::to(&"0f".repeat(32));
    let nobody = Entry {
        within: Duration::ZERO,
        ..entry("127.0.0.1:1", &ticket)
    };
    let told = join(&nobody, &mut |_| {}).unwrap_err();
    assert_eq!(told.exit_code(), 4);
    assert!(told.to_string().contains("refused"), "{told}");
    let no_file = Entry {
        ticket: TicketFrom::File("/no/such/token".into()),
        ..nobody
    };
    let told = join(&no_file, &mut |_| {}).unwrap_err().to_string();
    assert!(told.contains("/no/such/token is not there"), "{told}");
}

/// As when it is killed: there is no end of TLS, only one of the connection.
#[test]
fn a_run_that_is_gone_without_a_word_is_no_end_that_was_meant() {
    let identity = Identity::new().unwrap();
    let ticket = Ticket::to(&identity.fingerprint);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let driver = driver(entry(&address, &ticket));
    let (socket, _) = listener.accept().unwrap();
    let tls = rustls::ServerConnection::new(identity.config.clone()).unwrap();
    let mut stream = BufReader::new(rustls::StreamOwned::new(tls, socket));
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    let hello: Hello = serde_json::from_str(&line).unwrap();
    assert_eq!(hello.token, ticket.token);
    let welcome = Answer::Welcome {
        number: 1,
        of: 1,
        study: "ours.toml".to_owned(),
    };
    let welcome = format!("{}\n", serde_json::to_string(&welcome).unwrap());
    let own = stream.get_mut();
    own.write_all(welcome.as_bytes())
        .and_then(|()| own.flush())
        .unwrap();
    drop(stream);
    let told = driver.join().unwrap().unwrap_err();
    assert_eq!(told.exit_code(), 4);
    assert!(
        told.to_string().ends_with("the run is gone without a word"),
        "{told}"
    );
}
