//! Runs that are stopped or break down, and what goes on from there.

use super::*;
use crate::record::ServerLog;
use crate::record::store::server_logs;

/// Whatever goes wrong, and at whichever step: the target, as it is closed, finds no applier at
/// rest.
#[test]
fn appliers_are_started_again_however_the_measurement_ended() {
    let steps = run(&rested(), Script::default()).target.steps();
    let mut held = 0;
    for (at, step) in steps.iter().enumerate() {
        for trouble in [Trouble::CtrlC(at), Trouble::Breakdown(at)] {
            let ran = run(&rested(), troubled(trouble));
            assert!(!ran.target.0.borrow().do_appliers_rest, "{step}");
            assert!(ran.taken("start appliers") >= ran.taken("hold appliers"));
            held += ran.taken("hold appliers");
        }
    }
    assert!(held > steps.len(), "{held}");
}

/// One on slower CPUs.
fn slowed() -> Study {
    written::sample(&format!("{SMALL}cpu_speed = 0.5\n"))
}

#[test]
fn cpus_are_slower_from_before_the_load_until_replicas_have_caught_up() {
    let ran = run(&slowed(), Script::default());
    ran.outcome.as_ref().unwrap();
    let steps = between(&ran.target.steps(), "begin watch", "set distances");
    let expected = [
        "begin watch",
        "slow CPUs",
        "start load 1c round 1",
        "wait 1s",
        "status",
        "mark",
        "accounts",
        "wait 2s",
        "mark",
        "accounts",
        "status",
        "lag",
        "stop load",
        "catch up",
        "free CPUs",
        "check alive",
        "end watch",
        "probe again",
    ];
    assert_eq!(steps, expected);
}

/// Whatever goes wrong, and at whichever step: no CPU is left slower.
#[test]
fn cpus_are_freed_however_the_measurement_ended() {
    let steps = run(&slowed(), Script::default()).target.steps();
    for (at, step) in steps.iter().enumerate() {
        for trouble in [Trouble::CtrlC(at), Trouble::Breakdown(at)] {
            let ran = run(&slowed(), troubled(trouble));
            assert!(!ran.target.0.borrow().are_cpus_slow, "{step}");
            let begun = ran.taken("slow CPUs");
            // One that could not begin has nothing to end.
            assert!((0..=1).contains(&(begun - ran.taken("free CPUs"))));
        }
    }
}

#[test]
fn each_iteration_of_mysqlslap_has_its_reload_before_it() {
    let own = "[workload.w]\ntool = \"mysqlslap\"\nload = \"write\"\niterations = 2\n\
               catch_up = true\n[[sweep]]";
    let text = SMALL.replace("[[sweep]]", own);
    let study = written::sample(&text.replace("update_index", "w"));
    let ran = run(&study, Script::default());
    ran.outcome.as_ref().unwrap();
    let steps = between(&ran.target.steps(), "begin watch", "set distances");
    let read = ["status", "accounts"];
    // Reading the counters is left out, too.
    let left_out = [
        "accounts",
        "status",
        "reload",
        "wait level",
        "status",
        "accounts",
        "iterate",
    ];
    let end = [
        "accounts",
        "status",
        "lag",
        "catch up",
        "check alive",
        "end watch",
        "probe again",
    ];
    let expected = [&["begin watch"][..], &read, &left_out, &left_out, &end].concat();
    assert_eq!(steps, expected);
    assert_eq!(ran.record().measurements[0].iterations.len(), 2);
}

#[test]
fn modes_are_entered_once_in_each_round() {
    let second = "[[mode]]\nserver = \"mysql\"\nmode = \"async\"\n[[sweep]]";
    let text = SMALL
        .replace("rounds = 1", "rounds = 2")
        .replace("[[sweep]]", second);
    let study = written::sample(&text);
    let ran = run(&study, Script::default());
    ran.outcome.as_ref().unwrap();
    let counts = ["begin round", "enter mode", "start load"].map(|name| ran.taken(name));
    assert_eq!(counts, [2, 4, 8]);
    let turns = plan(&study).schedule().turns(&[]);
    let expected: Vec<(u32, usize)> = turns.iter().map(|turn| (turn.round, turn.cell)).collect();
    assert_eq!(ran.measured(), expected, "the plan's own order");
}

#[test]
fn nobody_watches_after_a_load_that_is_void() {
    let mut study = Study {
        rounds: 1,
        ..small()
    };
    study.sweeps[0].watch_after = Some(std::time::Duration::from_secs(5));
    let late_at_first = Script {
        late: vec![true, false],
        ..Script::default()
    };
    let ran = run(&study, late_at_first);
    ran.outcome.as_ref().unwrap();
    let steps = ran.target.steps();
    let count = |name: &str| steps.iter().filter(|step| step.starts_with(name)).count();
    assert_eq!(count("begin watch"), count("watch after") + 1);
    assert!(ran.record().measurements.iter().all(|m| !m.is_void()));
}

#[test]
fn a_void_measurement_is_made_again_and_not_for_ever() {
    let again = |late: &[bool]| {
        let study = Study {
            rounds: 8,
            ..small()
        };
        let late_as = Script {
            late: late.to_vec(),
            ..Script::default()
        };
        let ran = run(&study, late_as);
        ran.outcome.as_ref().unwrap();
        let told = ran.count(|event| matches!(event, Event::MadeAgain { .. }));
        let kept = &ran.record().measurements;
        assert_eq!(
            (kept.len(), ran.target.0.borrow().late.len()),
            (16, late.len())
        );
        let made: Vec<u32> = kept.iter().map(|m| m.made_again).collect();
        assert_eq!(made.iter().sum::<u32>() as usize, told);
        let of_each = |m: &Measurement| {
            // What was made again is kept with its reason.
            let are_void = m.voided.iter().all(|v| v.is_void() && v.late_packets == 6);
            assert!(are_void && m.voided.len() == m.made_again as usize);
            m.is_void()
        };
        let voids = kept.iter().filter(|m| of_each(m)).count();
        (made.into_iter().max().unwrap(), told, voids)
    };
    // Six late packets of a hundred void a measurement, five do not.
    assert_eq!(again(&[]), (0, 0, 0));
    assert_eq!(again(&[true, false]), (1, 1, 0));
    assert_eq!(again(&[true; 3]), (AGAIN_MAX, 2, 1));
    // A quarter of sixteen may be made again in all.
    assert_eq!(again(&[true; 100]), (AGAIN_MAX, 4, 16));
}

/// It enters no figure, whoever is missing is told, and it is made again with another driver.
#[test]
fn a_measurement_that_a_driver_was_lost_in_is_void_and_made_again() {
    let script = Script {
        lost: vec![true, false],
        ..Script::default()
    };
    let ran = run(&small(), script);
    ran.outcome.as_ref().unwrap();
    let names = |event: &Event| matches!(event, Event::Words { text, .. } if text.contains("driver 2 (h2)"));
    assert_eq!(ran.count(names), 1);
    let first = &ran.record().measurements[0];
    assert!(!first.is_void() && first.drivers_missing.is_empty());
    let [void] = &first.voided[..] else {
        panic!("{:?}", first.voided);
    };
    assert!(void.is_void() && void.flags == [Flag::DriverMissing]);
    assert_eq!(void.drivers_missing.len(), 1);
}

/// What was measured without it is kept, as void, and the run can be gone on with.
#[test]
fn a_run_ends_where_nobody_comes_for_a_driver_that_is_lost() {
    let script = Script {
        lost: vec![false, true],
        is_left_alone: true,
        ..Script::default()
    };
    let ran = run(&small(), script);
    let told = ran.outcome.as_ref().unwrap_err().to_string();
    assert_eq!(told, "could not gather 2 drivers: 1 of 2 are here");
    let record = ran.record();
    let are_void: Vec<bool> = record.measurements.iter().map(|m| m.is_void()).collect();
    assert_eq!((are_void, record.finished), (vec![false, true], false));
    assert_eq!(record.measurements[1].flags, [Flag::DriverMissing]);
    assert!(ran.target.0.borrow().is_closed);
}

/// Nobody came for a driver in a measurement; then there are drivers again.
#[test]
fn a_run_that_a_missing_driver_ended_makes_that_measurement_again() {
    let mut order = order(&small());
    let script = |lost: &[bool], is_left_alone| Script {
        lost: lost.to_vec(),
        is_left_alone,
        ..Script::default()
    };
    let mut go_on = |script, earlier: Option<Record>| {
        order.1.earlier = earlier;
        run_as(&mut order.1.plan.schedule(), &order, script)
    };
    // In the second measurement, and once more when that is made again.
    let first = go_on(script(&[false, true], true), None);
    let second = go_on(script(&[true], true), first.record.clone());
    assert!(first.outcome.is_err() && second.outcome.is_err());
    let void = |ran: &Ran| {
        let void = ran.record().measurements[1].clone();
        assert!(void.is_void() && ran.record().measurements.len() == 2);
        (void.made_again, void.voided.len())
    };
    assert_eq!((void(&first), void(&second)), ((0, 0), (1, 1)));
    // Stopped before it is made again it is still there.
    let stopped = go_on(troubled(Trouble::CtrlC(5)), second.record.clone());
    assert_eq!(stopped.record().measurements, second.record().measurements);
    let last = go_on(script(&[], false), stopped.record.clone());
    last.outcome.as_ref().unwrap();
    assert_eq!(last.measured().len(), 1, "the first is not made again");
    let record = last.record();
    let [sound, again] = &record.measurements[..] else {
        panic!("{:?}", record.measurements);
    };
    assert_eq!(sound, &first.record().measurements[0]);
    assert!(!again.is_void() && again.drivers_missing.is_empty());
    assert_eq!((again.made_again, again.segment), (AGAIN_MAX, 3));
    let is_plain = |one: &Measurement| one.is_void() && one.voided.is_empty();
    assert!(again.voided.iter().all(is_plain) && again.voided.len() == 2);
    assert!(record.finished && trials(record) == TRIALS as usize);
}

/// One run made it again as often as any may.
#[test]
fn what_was_void_again_and_again_is_not_made_again_by_going_on() {
    let study = Study {
        rounds: 8,
        ..small()
    };
    let stopped = (0..).step_by(5).find_map(|at| {
        let order = order(&study);
        let script = Script {
            lost: vec![true; 3],
            ..troubled(Trouble::CtrlC(at))
        };
        let ran = run_as(&mut order.1.plan.schedule(), &order, script);
        ran.record.map(|record| (order, record))
    });
    let (mut order, record) = stopped.expect("the first that is kept");
    let [void] = &record.measurements[..] else {
        panic!("{:?}", record.measurements);
    };
    assert_eq!((void.is_void(), void.made_again), (true, AGAIN_MAX));
    order.1.earlier = Some(record.clone());
    let second = run_as(&mut order.1.plan.schedule(), &order, Script::default());
    assert_eq!(second.measured().len(), 15);
    assert_eq!(second.record().measurements[0], *void);
}

#[test]
fn a_measurement_that_was_robbed_of_cpu_time_is_made_again_and_the_last_one_kept() {
    let robbed = |stolen: &[f64]| {
        let script = Script {
            stolen: stolen.to_vec(),
            ..Script::default()
        };
        let study = Study {
            rounds: 8,
            ..small()
        };
        let ran = run(&study, script);
        ran.outcome.as_ref().unwrap();
        let first = ran.record().measurements[0].clone();
        assert!(!first.is_void());
        (first.made_again, first.flags, first.voided.len())
    };
    assert_eq!(robbed(&[0.10]), (0, vec![], 0));
    assert_eq!(robbed(&[0.11]), (1, vec![], 1));
    // A host that is a poor guest at all times has figures, and they say so.
    let always = robbed(&[0.3; 3]);
    assert_eq!(always, (AGAIN_MAX, vec![Flag::Stolen], 2));
}

#[test]
fn replicas_that_are_never_level_leave_one_doubt() {
    let mut study = small();
    study.sweeps[0].watch_after = Some(std::time::Duration::from_secs(5));
    let behind = Script {
        is_behind: true,
        ..Script::default()
    };
    let ran = run(&study, behind);
    assert_eq!(ran.record().measurements[0].flags, [Flag::Behind]);
    let is_doubt =
        |event: &Event| matches!(event, Event::Flagged { flag, .. } if *flag == Flag::Behind);
    assert_eq!(ran.count(is_doubt), 2);
}

pub fn troubled(trouble: Trouble) -> Script {
    Script {
        trouble: Some(trouble),
        ..Script::default()
    }
}

/// Whatever goes wrong, and at whichever step: what is finished is kept, the run is not marked as
/// gone through, and nothing is left behind.
#[test]
fn at_every_step_ctrl_c_and_breakdowns_keep_what_is_finished() {
    let whole = run(&small(), Script::default());
    let steps = whole.target.steps();
    for at in 0..steps.len() {
        for trouble in [Trouble::CtrlC(at), Trouble::Breakdown(at)] {
            let ran = run(&small(), troubled(trouble));
            let where_ = format!("{trouble:?}, {}", steps[at]);
            check_ended(&ran, trouble, at + 1 == steps.len(), &where_);
            let taken = ran.target.steps();
            let common = taken.len().min(at + 1);
            assert_eq!(taken[..common], steps[..common], "{where_}");
        }
    }
}

fn check_ended(ran: &Ran, trouble: Trouble, is_last: bool, at: &str) {
    let is_ok = match (&ran.outcome, trouble) {
        (Err(Error::Interrupted), Trouble::CtrlC(_)) => false,
        // Nothing comes after the last step.
        (Ok(()), Trouble::CtrlC(_)) if is_last => true,
        (Err(Error::Breakdown(why)), Trouble::Breakdown(_)) if why.status == "as scripted" => false,
        (outcome, _) => panic!("{at}: {outcome:?}"),
    };
    let (measured, ended) = (
        ran.measured(),
        ran.count(|event| *event == Event::StepEnded),
    );
    assert_eq!(measured.len() + trials_kept(ran), ended, "{at}");
    assert_eq!(ran.events.contains(&Event::Finished), is_ok, "{at}");
    let Some(record) = &ran.record else {
        assert_eq!(measured, [], "{at}");
        return;
    };
    assert_eq!(record.finished, is_ok, "{at}");
    let kept = record.measurements.iter().map(|m| (m.round, m.cell));
    assert_eq!(
        BTreeSet::from_iter(kept),
        BTreeSet::from_iter(measured),
        "{at}"
    );
}

/// Whoever misses it first: a probe, the load, or what comes after that.
#[test]
fn of_a_server_that_dies_in_a_measurement_its_own_end_is_told() {
    let steps = run(&small(), Script::default()).target.steps();
    let of_the_run = "load tables, header, begin round, enter mode, fault, close";
    let is_of_the_run = |step: &str| (of_the_run.split(", ")).any(|name| step.starts_with(name));
    for (dies_at, step) in steps.iter().enumerate() {
        if is_of_the_run(step) {
            continue;
        }
        let script = Script {
            dies_at: Some(dies_at),
            ..Script::default()
        };
        let told = run(&small(), script).outcome.unwrap_err().to_string();
        assert!(told.contains("it has died"), "{step}: {told}");
    }
}

#[test]
fn what_servers_said_is_kept_however_the_run_ended() {
    let log = ServerLog {
        lab: "mysql-single".to_owned(),
        node: "a".to_owned(),
        log: "ready for connections\n".to_owned(),
    };
    let steps = run(&small(), Script::default()).target.steps().len();
    for trouble in [None, Some(Trouble::Breakdown(steps - 1))] {
        let order = order(&small());
        let script = Script {
            trouble,
            logs: vec![log.clone()],
            ..Script::default()
        };
        let ran = run_as(&mut order.1.plan.schedule(), &order, script);
        assert_eq!(ran.outcome.is_ok(), trouble.is_none());
        let kept = server_logs(&order.1.record).unwrap();
        assert_eq!(kept, std::slice::from_ref(&log), "{trouble:?}");
    }
}

#[test]
fn what_could_not_be_closed_is_told_beside_what_ended_the_run() {
    let ended = |trouble| {
        let script = Script {
            trouble,
            cannot_close: true,
            ..Script::default()
        };
        let ran = run(&small(), script);
        let error = ran.outcome.as_ref().unwrap_err().to_string();
        (ran, error)
    };
    assert!(ended(None).1.contains("could not close"));
    let (ran, error) = ended(Some(Trouble::Breakdown(5)));
    assert!(error.contains("could not start front"), "{error}");
    let beside = |event: &Event| matches!(event, Event::AlsoFailed(e) if e.to_string().contains("could not close"));
    assert_eq!(ran.count(beside), 1);
}

/// Stopped at each step, gone on with, and stopped nowhere else: the record is that of a run which
/// was never stopped.
#[test]
fn a_run_that_was_stopped_anywhere_is_gone_on_with_to_the_same_record() {
    let study = Study {
        rounds: 2,
        ..small()
    };
    let whole = run(&study, Script::default());
    let steps = whole.target.steps().len();
    let mut resumed = 0;
    for at in 0..steps {
        let mut order = order(&study);
        let script = |trouble| Script {
            trouble,
            ..Script::default()
        };
        let stopped = Some(Trouble::CtrlC(at));
        let first = run_as(&mut order.1.plan.schedule(), &order, script(stopped));
        let Some(record) = first.record else { continue };
        let there = record.measurements.len();
        order.1.earlier = Some(record);
        let second = run_as(&mut order.1.plan.schedule(), &order, script(None));
        second.outcome.as_ref().unwrap();
        assert_eq!(second.measured().len(), 4 - there, "stopped at step {at}");
        assert_eq!(
            trials_kept(&second),
            TRIALS as usize,
            "stopped at step {at}"
        );
        let kept = second.record();
        let cells = |record: &Record| -> Vec<(u32, usize)> {
            let all = record.measurements.iter();
            all.map(|m| (m.round, m.cell)).collect()
        };
        assert_eq!(cells(kept), cells(whole.record()));
        assert!(kept.finished);
        assert_eq!(kept.header.resumed.len(), 1);
        assert_eq!(kept.header.resumed[0].measurements, there);
        resumed += 1;
    }
    assert!(resumed > 10, "{resumed} of {steps}");
}

/// One mode in search of its knee.
const SEEKING: &str = "rounds = 2\nwarmup = \"1s\"\nmeasure = \"2s\"\n\
                       [[mode]]\nserver = \"mysql\"\nmode = \"single\"\n\
                       [[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n\
                       knee = { p99 = \"20ms\" }\n";

/// The knee lies at 300/s.
fn latency_us(offered_per_s: u32) -> u64 {
    if offered_per_s <= 300 { 15_000 } else { 25_000 }
}

#[test]
fn a_search_that_was_stopped_is_gone_on_with_to_the_same_record() {
    let study = written::sample(SEEKING);
    let script = |trouble| Script {
        trouble,
        latency_us: Some(latency_us),
        ..Script::default()
    };
    let tried = |record: &Record| -> Vec<(u32, usize, u32, Option<u32>)> {
        let all = record.measurements.iter();
        all.map(|m| (m.round, m.cell, m.turn, m.offered_per_s))
            .collect()
    };
    let whole = run(&study, script(None));
    whole.outcome.as_ref().unwrap();
    let expected = tried(whole.record());
    let below = expected.iter().filter(|(_, cell, ..)| *cell == 1);
    let below: Vec<Option<u32>> = below.map(|(.., rate)| *rate).collect();
    assert_eq!(below, [Some(207), Some(207)], "{expected:?}");
    assert!(expected.contains(&(1, 0, 0, Some(98))), "{expected:?}");
    assert_eq!(whole.record().header.cells.len(), 2);
    let mut went_on = 0;
    for at in (0..whole.target.steps().len()).step_by(23) {
        let mut order = order(&study);
        let stopped = script(Some(Trouble::CtrlC(at)));
        let first = run_as(&mut order.1.plan.schedule(), &order, stopped);
        let Some(record) = first.record else { continue };
        went_on += 1;
        order.1.earlier = Some(record);
        let second = run_as(&mut order.1.plan.schedule(), &order, script(None));
        second.outcome.as_ref().unwrap();
        assert_eq!(tried(second.record()), expected, "stopped at step {at}");
    }
    assert!(went_on > 5, "{went_on}");
}

#[test]
fn what_was_measured_in_another_order_is_not_gone_on_with() {
    let study = small();
    let mut order = order(&study);
    let stopped = (0..).map(|at| Script {
        trouble: Some(Trouble::Breakdown(at)),
        ..Script::default()
    });
    let mut records =
        stopped.filter_map(|script| run_as(&mut order.1.plan.schedule(), &order, script).record);
    let mut record = records.next().expect("one measurement");
    drop(records);
    assert_eq!(record.measurements.len(), 1);
    record.measurements[0].cell = 1 - record.measurements[0].cell;
    order.1.earlier = Some(record);
    let refused = run_as(&mut order.1.plan.schedule(), &order, Script::default());
    let said = refused.outcome.unwrap_err().to_string();
    assert!(said.contains("in another order"), "{said}");
    assert_eq!(refused.target.steps().len(), 0, "no lab was loaded");
}

#[test]
fn what_is_made_again_waits_until_the_host_is_calm_but_not_for_ever() {
    let waited = |asked: &[f64]| {
        let script = Script {
            stolen: vec![0.3; 100],
            stolen_when_asked: asked.to_vec(),
            ..Script::default()
        };
        let study = Study {
            rounds: 30,
            ..small()
        };
        let ran = run(&study, script);
        ran.outcome.as_ref().unwrap();
        let left = ran.target.0.borrow().stolen_when_asked.len();
        (ran.taken("wait 1s"), asked.len() - left)
    };
    let (calm, _) = waited(&[]);
    // Two are robbed, and the third look finds nothing stolen.
    assert_eq!(waited(&[0.2, 0.11, 0.1]), (calm + 2, 3));
    // Again and again for so long, and for so long in all.
    let once = [vec![0.2; CALM_LOOKS_MAX as usize], vec![0.0; 100]].concat();
    assert_eq!(waited(&once).0, calm + CALM_LOOKS_MAX as usize);
    let always = vec![0.2; 1000];
    let most = CALM_LOOKS_OF_RUN_MAX as usize;
    assert_eq!(waited(&always), (calm + most, most));
}
