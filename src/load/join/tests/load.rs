//! What all do at one time, and what it comes to.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use super::*;
use crate::load::tally::Tally;

#[test]
fn a_load_is_driven_by_all_and_joined() {
    let door = door();
    let all = [1, 2, 3].map(|_| made(&way_in(&door), |command| Some(well(&command))));
    let mut joined = joined(door, 3, PATIENCE);
    gathered(&mut joined).0.unwrap();
    let job = job(2);
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
    let job = job(4);
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
    let job = job(4);
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
