//! What is known of a run from what it tells, and what a terminal shows of it.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::error::breakdown;
use crate::plan::{Outcome, Plan, plan};
use crate::record::store::Store;
use crate::record::{Flag, Header, Lag, Measurement, Resumed, Second, histogram};
use crate::run::{Event, Injected, Step};
use crate::study::{Study, written};

const TEXT: &str = r#"
title = "Two ways, near and far"
rounds = 2

[[mode]]
server = "mysql"
mode = "single"

[[mode]]
server = "mysql"
mode = "semisync"

[[sweep]]
workload = "update_index"
pace = "10ms"
rtt = ["0.25ms", "8ms"]
"#;

fn study() -> (Study, Plan) {
    let study = written::sample(TEXT);
    let plan = plan(&study);
    (study, plan)
}

fn at(second: u64) -> Duration {
    Duration::from_secs(second)
}

fn begun((study, plan): &(Study, Plan), index: usize, round: u32) -> Event {
    let cell = plan.cells[index].clone();
    Event::StepBegun(Step::Cell {
        round,
        rounds: 2,
        label: study.modes[cell.mode].label.clone(),
        index,
        cell: Box::new(cell),
    })
}

fn measured(cell: usize, p50_us: u64) -> Event {
    Event::Measured(Outcome {
        round: 1,
        cell,
        commits_per_s: 47.6,
        latency_us_p50: Some(p50_us),
        latency_us_p99: Some(p50_us * 3),
        ..Outcome::default()
    })
}

/// Of a lab that is formed, a cell measured with doubts, and one under way.
fn a_run(of: &(Study, Plan)) -> Vec<(Duration, Event)> {
    let lab = "mysql replication".to_owned();
    let second = |second: u32| Event::Second {
        round: 1,
        cell: 1,
        second: Second {
            second,
            commits: 40 + u64::from(second) * 3,
            ..Second::default()
        },
    };
    let lagged = |node: &str, lag_ms| Event::Lagged {
        round: 1,
        cell: 1,
        node: node.to_owned(),
        lag_ms,
    };
    let flagged = Event::Flagged {
        round: 1,
        cell: 1,
        flag: Flag::HostBound,
    };
    let mut all = vec![
        (
            at(0),
            Event::LabStarting {
                lab: lab.clone(),
                nodes: 3,
            },
        ),
        (at(9), Event::LabReady { lab, after: at(9) }),
        (at(9), Event::LoadingTables),
        (at(10), Event::StepsAdded(vec![at(10); 8])),
        (at(10), begun(of, 0, 1)),
        (at(22), measured(0, 3_000)),
        (at(22), Event::StepEnded),
        (at(22), begun(of, 1, 1)),
    ];
    all.extend((0..9).map(|number| (at(33), second(number))));
    all.extend([
        (at(34), lagged("b", Some(1.25))),
        (at(34), lagged("c", None)),
        (at(34), flagged),
        (at(34), measured(1, 3_200)),
        (at(34), Event::StepEnded),
    ]);
    all
}

fn after(of: &(Study, Plan), events: &[(Duration, Event)]) -> Live {
    let mut live = Live::of(&of.0, &of.1);
    for (moment, event) in events {
        live.take(event, *moment);
    }
    live
}

fn shown(live: &Live, (width, height): (u16, u16), now: Duration) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let drawn = terminal.draw(|frame| draw(frame, live, now, false));
    drawn.unwrap();
    terminal.backend().to_string()
}

#[test]
fn a_measurement_has_what_was_told_of_it_and_the_next_has_not() {
    let of = study();
    let mut events = a_run(&of);
    events.extend([
        (at(34), begun(&of, 2, 1)),
        (at(46), measured(2, 3_000)),
        (at(46), Event::StepEnded),
    ]);
    let live = after(&of, &events);
    assert_eq!(live.rows.len(), 3);
    assert!(live.rows[0].lags.is_empty() && live.rows[0].flags.is_empty());
    let doubted = &live.rows[1];
    assert_eq!((&doubted.label[..], doubted.round), ("mysql semisync", 1));
    assert_eq!(doubted.flags, [Flag::HostBound]);
    assert_eq!(lags(&doubted.lags), "b 1.25 ms, c –");
    assert_eq!(live.ahead.done_of(), (3, 8));
    // Each took 12 s and not 10.
    assert_eq!(live.left(at(46)), at(60));
    assert_eq!(live.seconds.len(), 9, "until there are others");
    events.push((
        at(50),
        Event::Second {
            round: 1,
            cell: 2,
            second: Second::default(),
        },
    ));
    assert_eq!(after(&of, &events).seconds.len(), 1);
}

#[test]
fn what_a_disturbed_measurement_told_goes_with_it() {
    let of = study();
    let mut events = a_run(&of);
    events.truncate(events.len() - 2);
    events.push((at(34), Event::MadeAgain { round: 1, cell: 1 }));
    let live = after(&of, &events);
    assert!(live.seconds.is_empty());
    let last = live.words.back().unwrap();
    assert!(last.contains("made again"), "{last}");
}

#[test]
fn what_ends_badly_beside_the_run_is_said() {
    let of = study();
    let error = breakdown("drop a database", "no connection");
    let live = after(
        &of,
        &[(at(1), Event::AlsoFailed(error)), (at(2), Event::Finished)],
    );
    assert_eq!(live.words, ["could not drop a database: no connection"]);
    assert!(live.is_finished);
}

#[test]
fn what_is_kept_of_a_long_run_is_bounded() {
    let of = study();
    let mut events = vec![(at(0), begun(&of, 0, 1))];
    for number in 0..2_000 {
        events.push((at(1), measured(0, 3_000)));
        events.push((at(1), Event::Advice(number.to_string())));
        events.push((at(1), Event::Injected(Injected::default())));
        events.push((
            at(1),
            Event::Second {
                round: 1,
                cell: 0,
                second: Second::default(),
            },
        ));
    }
    let live = after(&of, &events);
    assert_eq!(live.words.back().unwrap(), "advice: 1999");
    let sent = serde_json::to_string(&live).unwrap().len();
    assert!(sent < 100_000, "{sent} bytes");
}

#[test]
fn frame_while_servers_start() {
    let of = study();
    let live = after(&of, &a_run(&of)[..1]);
    insta::assert_snapshot!(shown(&live, (100, 12), at(4)));
}

#[test]
fn frame_of_a_study_under_way() {
    let of = study();
    let mut events = a_run(&of);
    events.push((at(34), begun(&of, 2, 1)));
    let live = after(&of, &events);
    insta::assert_snapshot!(shown(&live, (100, 24), at(40)));
}

#[test]
fn frame_of_faults() {
    let of = study();
    let fault = |number| {
        Event::StepBegun(Step::Fault {
            label: "mysql async".to_owned(),
            fault: "writer-dies".to_owned(),
            number,
            of: 5,
        })
    };
    let injected = |number, missing, trouble: Option<&str>| {
        Event::Injected(Injected {
            label: "mysql async".to_owned(),
            fault: "writer-dies".to_owned(),
            number,
            acknowledged: 1_234,
            missing,
            trouble: trouble.map(str::to_owned),
        })
    };
    let events = [
        (at(0), Event::StepsAdded(vec![at(20); 5])),
        (at(30), fault(1)),
        (at(50), injected(1, Some(2), None)),
        (at(50), Event::StepEnded),
        (at(50), fault(2)),
        (at(70), injected(2, None, Some("step 2 was not reached"))),
        (at(70), Event::StepEnded),
        (at(70), fault(3)),
    ];
    let live = Live {
        later: at(600),
        ..after(&of, &events)
    };
    insta::assert_snapshot!(shown(&live, (100, 14), at(75)));
}

#[test]
fn no_terminal_is_too_small() {
    let of = study();
    let live = after(&of, &a_run(&of));
    for width in [1, 2, 7, 20, 79] {
        for height in [1, 2, 3, 5, 9, 16] {
            shown(&live, (width, height), at(40));
        }
    }
}

#[test]
fn who_is_sent_the_state_sees_the_same() {
    let of = study();
    let live = after(&of, &a_run(&of));
    let sent: Live = serde_json::from_str(&serde_json::to_string(&live).unwrap()).unwrap();
    let size = (100, 24);
    assert_eq!(shown(&sent, size, at(40)), shown(&live, size, at(40)));
}

/// One whose load took 5 s.
fn kept(cell: usize, round: u32, started_s: u64) -> Measurement {
    let mut latency = histogram::empty();
    latency.record_n(3_000, 200).unwrap();
    Measurement {
        round,
        cell,
        started_unix_ms: started_s * 1_000,
        window_s: 4.0,
        load_s: 5.0,
        commits: 400,
        latency_us: histogram::encode(&latency),
        timeline: (0..5)
            .map(|second| Second {
                second,
                commits: 100,
                ..Second::default()
            })
            .collect(),
        lag: vec![Lag {
            node: "b".to_owned(),
            lag_ms: vec![1.0, 2.0, 30.0],
            catch_up_ms: None,
        }],
        flags: vec![Flag::NotIdle],
        ..Measurement::default()
    }
}

fn header((study, plan): &(Study, Plan)) -> Header {
    Header {
        study: study.clone(),
        cells: plan.cells.clone(),
        started_unix_ms: 100_000,
        ..Header::default()
    }
}

#[test]
fn a_growing_record_tells_the_same_as_a_run() {
    let of = study();
    let (_, plan) = &of;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.acklab");
    let mut store = Store::create(&path, &header(&of)).unwrap();
    let order = plan.rounds[0].clone();
    store.append(&kept(order[0], 1, 100)).unwrap();
    let mut recorded = Recorded::of(&path);
    recorded.look().unwrap();
    let label = |index: usize| of.0.modes[plan.cells[index].mode].label.clone();
    assert_eq!(recorded.live().rows[0].label, label(order[0]));
    assert_eq!(recorded.live().ahead.done_of(), (1, 8));
    assert!(
        recorded.live().now.contains(&label(order[1])),
        "what is next"
    );
    store.append(&kept(order[1], 1, 110)).unwrap();
    recorded.look().unwrap();
    let live = recorded.live();
    let row = &live.rows[0];
    assert_eq!(
        (row.commits_per_s, row.latency_us_p50),
        (100.0, Some(3_001))
    );
    assert_eq!(
        (lags(&row.lags), &row.flags[..]),
        ("b 2.00 ms".to_owned(), &[Flag::NotIdle][..])
    );
    assert_eq!((live.rows.len(), live.seconds.len()), (2, 5));
    // Two steps took 15 s in all, and six are left.
    assert_eq!(recorded.since_start(115_000), at(15));
    let left_s = live.left(at(15)).as_secs();
    assert!((30..60).contains(&left_s), "{left_s} s");
    recorded.look().unwrap();
    assert_eq!(recorded.live().rows.len(), 2, "each is told once");
    assert!(!recorded.is_finished());
    store.finish().unwrap();
    recorded.look().unwrap();
    assert!(recorded.is_finished() && recorded.live().is_finished);
}

/// What was there before took its time on another day.
#[test]
fn a_run_that_went_on_counts_from_there() {
    let of = study();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.acklab");
    let resumed = Resumed {
        started_unix_ms: 900_000,
        measurements: 3,
        ..Resumed::default()
    };
    let header = Header {
        resumed: vec![resumed],
        ..header(&of)
    };
    let mut store = Store::create(&path, &header).unwrap();
    let order = of.1.rounds[0].clone();
    for (number, cell) in order.iter().enumerate() {
        let started_s = if number < 3 { 100 } else { 900 };
        store.append(&kept(*cell, 1, started_s)).unwrap();
    }
    let mut recorded = Recorded::of(&path);
    recorded.look().unwrap();
    let live = recorded.live();
    assert_eq!((live.ahead.done_of(), live.rows.len()), ((1, 5), 1));
    assert_eq!(recorded.since_start(905_000), at(5));
}

/// The record whose first round was half done, as one who follows it and as one who comes later
/// sees it.
fn seen_twice(go_on: &dyn Fn(&mut Store, &Header, &[usize])) -> [(usize, usize, String); 2] {
    let of = study();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.acklab");
    let mut store = Store::create(&path, &header(&of)).unwrap();
    let order = of.1.rounds[0].clone();
    for cell in &order[..2] {
        store.append(&kept(*cell, 1, 100)).unwrap();
    }
    let mut followed = Recorded::of(&path);
    followed.look().unwrap();
    drop(store);
    let mut store = Store::resume(&path).unwrap();
    go_on(&mut store, &header(&of), &order);
    let mut later = Recorded::of(&path);
    [&mut followed, &mut later].map(|recorded| {
        recorded.look().unwrap();
        let live = recorded.live();
        let (done, all) = live.ahead.done_of();
        let rows = live.rows.iter().map(|row| row.commits_per_s.to_string());
        (done, all, rows.collect::<Vec<_>>().join(" ") + &live.now)
    })
}

/// Rows that are new have the numbers of those that are gone.
#[test]
fn who_follows_a_run_that_goes_on_elsewhere_misses_nothing() {
    let resumed = Resumed {
        started_unix_ms: 900_000,
        measurements_left_out: 2,
        ..Resumed::default()
    };
    let heads: [&dyn Fn(&mut Header); 2] = [
        &|header| header.resumed = vec![resumed.clone()],
        // Nothing is left of what was there: it is told as begun anew.
        &|header| header.started_unix_ms = 900_000,
    ];
    for change in heads {
        let [followed, later] = seen_twice(&|store, header, order| {
            let mut header = header.clone();
            change(&mut header);
            store.go_on(&header, Some(1)).unwrap();
            for (cell, commits) in order.iter().zip([800, 1_200]) {
                let one = Measurement {
                    commits,
                    ..kept(*cell, 1, 900)
                };
                store.append(&one).unwrap();
            }
        });
        assert_eq!(followed, later);
        assert_eq!((later.0, later.1), (2, 8));
        assert!(
            later.2.contains("200") && later.2.contains("300"),
            "{later:?}"
        );
    }
}

/// It is made again in its own place: what comes after it is what was to come.
#[test]
fn what_is_made_again_after_going_on_is_one_step_more() {
    let of = study();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.acklab");
    let mut store = Store::create(&path, &header(&of)).unwrap();
    let order = of.1.rounds[0].clone();
    for cell in &order[..2] {
        store.append(&kept(*cell, 1, 100)).unwrap();
    }
    let resumed = Resumed {
        started_unix_ms: 900_000,
        measurements: 2,
        ..Resumed::default()
    };
    let header = Header {
        resumed: vec![resumed],
        ..header(&of)
    };
    store.go_on(&header, None).unwrap();
    let mut recorded = Recorded::of(&path);
    recorded.look().unwrap();
    assert_eq!(recorded.live().ahead.done_of(), (0, 6));
    store.replace(&kept(order[1], 1, 900)).unwrap();
    recorded.look().unwrap();
    assert_eq!(recorded.live().ahead.done_of(), (1, 7));
    let next = of.1.cells[order[2]].mode;
    assert!(recorded.live().now.contains(&of.0.modes[next].label));
    assert_eq!(recorded.live().rows.len(), 1);
}
