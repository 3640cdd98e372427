//! The very loop that labs and endpoints run in, at a target that follows a script.

mod scripted;

use std::collections::BTreeSet;

use tempfile::TempDir;

use super::events::{Event, Step};
use super::order::Order;
use super::study_run::{AGAIN_MAX, run_study};
use super::whole::{Whole, trials};
use crate::error::{Error, Result};
use crate::plan::{Cell, Outcome, Schedule, StudyPart, Turn, parts, plan};
use crate::record::store::Record;
use crate::record::{Flag, Measurement};
use crate::study::{Study, written};
use scripted::{Recorder, Script, Scripted, TRIALS, Trouble};

/// One mode at two distances, once, with a power cut after it.
const SMALL: &str = "rounds = 1\nwarmup = \"1s\"\nmeasure = \"2s\"\n\
                     [[mode]]\nserver = \"mysql\"\nmode = \"single\"\n\
                     [[sweep]]\nworkload = \"update_index\"\nrtt = [\"1ms\", \"2ms\"]\n";

fn small() -> Study {
    Study {
        power_cuts: TRIALS,
        ..written::sample(SMALL)
    }
}

/// What came of a run.
struct Ran {
    outcome: Result<()>,
    target: Scripted,
    events: Vec<Event>,
    /// `None` where no file appeared.
    record: Option<Record>,
}

fn run(study: &Study, script: Script) -> Ran {
    let order = order(study);
    run_as(&mut order.1.plan.schedule(), &order, script)
}

/// Of the one fault of the one mode.
fn trials_kept(ran: &Ran) -> usize {
    let all = ran.record.iter().flat_map(|record| record.series.get(&0));
    all.flatten().map(|series| series.trials.len()).sum()
}

fn order(study: &Study) -> (TempDir, Order) {
    let folder = tempfile::tempdir().unwrap();
    let order = Order {
        study: study.clone(),
        study_text: String::new(),
        plan: plan(study),
        command_line: vec![],
        record: folder.path().join("r.acklab"),
        earlier: None,
        whole: None,
        self_test: vec![],
    };
    (folder, order)
}

fn run_as(schedule: &mut dyn Schedule, (folder, order): &(TempDir, Order), script: Script) -> Ran {
    let (target, events) = (Scripted::new(script), Recorder::default());
    let outcome = run_study(order, schedule, target.clone(), &events);
    assert!(target.0.borrow().is_closed);
    let has_record = order.record.exists();
    let left = folder.path().read_dir().unwrap().count();
    assert_eq!(
        left,
        usize::from(has_record),
        "something lies beside the record"
    );
    Ran {
        outcome,
        target,
        events: events.0.into_inner(),
        record: has_record.then(|| Record::open(&order.record).unwrap()),
    }
}

impl Ran {
    fn record(&self) -> &Record {
        self.record.as_ref().expect("a record")
    }

    /// Round and cell of each measurement that was told as kept.
    fn measured(&self) -> Vec<(u32, usize)> {
        let outcomes = self.events.iter().filter_map(|event| match event {
            Event::Measured(outcome) => Some((outcome.round, outcome.cell)),
            _ => None,
        });
        outcomes.collect()
    }

    /// How often a step was taken.
    fn taken(&self, name: &str) -> usize {
        let steps = self.target.steps();
        steps.iter().filter(|step| step.starts_with(name)).count()
    }

    fn count(&self, is_it: impl Fn(&Event) -> bool) -> usize {
        self.events.iter().filter(|event| is_it(event)).count()
    }
}

/// The steps from one on, up to another.
fn between(steps: &[String], from: &str, to: &str) -> Vec<String> {
    let start = steps
        .iter()
        .position(|step| step.starts_with(from))
        .unwrap();
    let length = steps[start..].iter().position(|step| step.starts_with(to));
    steps[start..start + length.unwrap()].to_vec()
}

#[test]
fn a_measurement_is_a_row_of_steps() {
    let mut study = small();
    study.sweeps[0].watch_after = Some(std::time::Duration::from_secs(5));
    let ran = run(&study, Script::default());
    ran.outcome.as_ref().unwrap();
    let steps = ran.target.steps();
    assert_eq!(
        steps[..4],
        ["load tables", "header", "begin round", "enter mode 0"]
    );
    let expected = [
        "start front",
        "renew tables",
        "wait level",
        "set disks",
        "probe",
        "begin watch",
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
        "check alive",
        "wait level",
        "watch after",
        "end watch",
        "probe again",
    ];
    assert_eq!(between(&steps, "start front", "set distances"), expected);
    assert_eq!(steps.last().unwrap(), "fault in mode 0");
    assert!(ran.record().finished);
    assert_eq!(trials_kept(&ran), 2);
    // The script's clock alone has moved: by two warm-ups and two windows.
    assert_eq!(ran.target.0.borrow().now.as_secs(), 6);
    let began: Vec<u64> = ran
        .record()
        .measurements
        .iter()
        .map(|m| m.started_unix_ms)
        .collect();
    assert_eq!(BTreeSet::from_iter(began), [0, 3_000].into());
}

/// One whose replicas apply after the load, twice.
fn rested() -> Study {
    let text = SMALL.replace("\"single\"", "\"async\"");
    written::sample(&format!("{text}apply = \"after\"\n"))
}

#[test]
fn appliers_rest_under_load_and_have_the_machine_to_themselves_after_it() {
    let ran = run(&rested(), Script::default());
    ran.outcome.as_ref().unwrap();
    let steps = between(&ran.target.steps(), "begin watch", "set distances");
    let expected = [
        "begin watch",
        "hold appliers",
        "start load 1c round 1",
        "wait 1s",
        "status",
        "mark",
        "accounts",
        "wait 2s",
        "mark",
        "accounts",
        "status",
        "stop load",
        "apply alone",
        "start appliers",
        "wait level",
        "check alive",
        "end watch",
        "probe again",
    ];
    assert_eq!(steps, expected);
    for measurement in &ran.record().measurements {
        assert_eq!(measurement.applied_alone[0].waiting, 300);
        assert_eq!(measurement.lag, []);
    }
}

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
    let left_out = [
        "status",
        "accounts",
        "reload",
        "wait level",
        "accounts",
        "status",
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

fn troubled(trouble: Trouble) -> Script {
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
    for at in (0..whole.target.steps().len()).step_by(23) {
        let mut order = order(&study);
        let stopped = script(Some(Trouble::CtrlC(at)));
        let first = run_as(&mut order.1.plan.schedule(), &order, stopped);
        let Some(record) = first.record else { continue };
        order.1.earlier = Some(record);
        let second = run_as(&mut order.1.plan.schedule(), &order, script(None));
        second.outcome.as_ref().unwrap();
        assert_eq!(tried(second.record()), expected, "stopped at step {at}");
    }
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
fn progress_is_told_step_by_step_and_second_by_second() {
    let ran = run(&small(), Script::default());
    let foreseen = ran.events.iter().filter_map(|event| match event {
        Event::StepsAdded(steps) => Some(steps.len()),
        _ => None,
    });
    // Two trials, and two cells before them.
    assert_eq!(foreseen.collect::<Vec<_>>(), [2, 2]);
    let begun = ran.count(|event| matches!(event, Event::StepBegun(Step::Cell { .. })));
    assert_eq!((begun, ran.measured().len()), (2, 2));
    assert_eq!(ran.events.last(), Some(&Event::Finished));
    let at = |is_it: fn(&Event) -> bool| ran.events.iter().position(is_it).unwrap();
    let order = [
        at(|event| *event == Event::LoadingTables),
        at(|event| matches!(event, Event::StepBegun(_))),
        at(|event| matches!(event, Event::Second { .. })),
        at(|event| matches!(event, Event::Measured(_))),
        at(|event| *event == Event::StepEnded),
    ];
    assert!(order.is_sorted(), "{order:?}");
    let seconds = ran.count(|event| matches!(event, Event::Second { .. }));
    let kept: usize = ran
        .record()
        .measurements
        .iter()
        .map(|m| m.timeline.len())
        .sum();
    assert_eq!((seconds, kept), (6, 6));
}

fn at_rate(rate: fn(u32) -> f64) -> Script {
    Script {
        rate: Some(rate),
        ..Script::default()
    }
}

/// Twice the connections as long as that brings a tenth more.
struct Climb(Vec<Cell>);

impl Schedule for Climb {
    fn cells(&self) -> &[Cell] {
        &self.0
    }

    fn turns(&mut self, so_far: &[Outcome]) -> Vec<Turn> {
        let is_over = match so_far {
            [.., before, last] => last.commits_per_s < before.commits_per_s * 1.1,
            _ => false,
        };
        if !is_over && so_far.len() == self.0.len() {
            let last = &self.0[self.0.len() - 1];
            let connections = last.connections * 2;
            self.0.push(Cell {
                id: format!("{connections} connections"),
                connections,
                ..last.clone()
            });
        }
        let turn = |cell| Turn {
            round: 1,
            cell,
            repeat: 0,
            offered: None,
        };
        (0..self.0.len()).map(turn).collect()
    }
}

#[test]
fn a_schedule_may_look_back_and_its_cells_join_the_record() {
    let study = Study {
        power_cuts: 0,
        ..small()
    };
    let mut order = order(&study);
    order.1.plan.cells.truncate(1);
    order.1.plan.rounds = vec![vec![0]];
    let mut climb = Climb(order.1.plan.cells.clone());
    let rate = |connections: u32| f64::from(connections.min(4)) * 100.0;
    let ran = run_as(&mut climb, &order, at_rate(rate));
    ran.outcome.as_ref().unwrap();
    let record = ran.record();
    let connections: Vec<u32> = record.header.cells.iter().map(|c| c.connections).collect();
    assert_eq!(connections, [1, 2, 4, 8]);
    assert_eq!(record.header.cells, climb.0);
    assert_eq!(ran.measured(), [(1, 0), (1, 1), (1, 2), (1, 3)]);
    assert!(record.finished);
    // One step was foreseen, the others were told when they came.
    let added = ran.count(|event| matches!(event, Event::StepsAdded(steps) if steps.len() == 1));
    assert_eq!(added, 4);
}

/// Two modes with labs of their own, a schedule in each.
const APART: &str = "rounds = 2\nwarmup = \"1s\"\nmeasure = \"2s\"\nimages = {}\n\
                     [[mode]]\nserver = \"mysql\"\nmode = \"single\"\n\
                     [[mode]]\nserver = \"mariadb\"\nmode = \"galera\"\n\
                     [[sweep]]\nworkload = \"update_index\"\nrtt = [\"1ms\", \"2ms\"]\n\
                     [[fault]]\nname = \"no-fault\"\ntrials = 2\n";

/// The order of one part, in a record of the whole.
fn order_of(part: &StudyPart, (whole, is_last): (&Study, bool), record: &std::path::Path) -> Order {
    let (own, all) = (plan(&part.study), plan(whole).cells);
    let whole = Whole {
        study: whole.clone(),
        modes: part.modes.clone(),
        places: part.places(&own.cells, &all).unwrap(),
        cells: all,
        resumed: None,
        is_last,
    };
    let earlier = record.exists().then(|| Record::open(record).unwrap());
    Order {
        study: part.study.clone(),
        study_text: String::new(),
        plan: own,
        command_line: vec![],
        record: record.to_owned(),
        earlier: earlier.map(|record| whole.own(&record)),
        whole: Some(whole),
        self_test: vec![],
    }
}

/// Runs a part, gone on with if it was begun before, until it is to be stopped.
fn run_part(order: &Order, trouble: Option<Trouble>) -> Result<()> {
    let script = Script {
        trouble,
        ..Script::default()
    };
    let target = Scripted::new(script);
    run_study(
        order,
        &mut order.plan.schedule(),
        target,
        &Recorder::default(),
    )
}

#[test]
fn schedules_come_last_and_are_kept_trial_by_trial() {
    let mut study = written::sample(APART);
    study.modes.truncate(1);
    study.injections[0].modes.truncate(1);
    let ran = run(&study, Script::default());
    ran.outcome.as_ref().unwrap();
    let steps = ran.target.steps();
    assert_eq!(steps[steps.len() - 2..], ["schedule in mode 0"; 2]);
    assert_eq!(trials(ran.record()), TRIALS as usize);
    for at in steps.len() - 2..steps.len() {
        let ran = run(&study, troubled(Trouble::Breakdown(at)));
        let kept = at + 2 - steps.len();
        assert_eq!(trials(ran.record()), kept, "broken down at {at}");
        assert!(!ran.record().finished);
    }
}

/// Labs that stand one after the other have one record, which is that of all of them together.
#[test]
fn parts_of_a_study_have_one_record() {
    let whole = written::sample(APART);
    let together = run(&whole, Script::default());
    let all = parts(&whole);
    assert_eq!(all.len(), 2);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.acklab");
    for (index, part) in all.iter().enumerate() {
        let is_last = index + 1 == all.len();
        // Stopped in the midst of it, and gone on with.
        let stopped = order_of(part, (&whole, is_last), &path);
        let outcome = run_part(&stopped, Some(Trouble::CtrlC(60)));
        assert!(matches!(outcome, Err(Error::Interrupted)), "{outcome:?}");
        assert!(!Record::open(&path).unwrap().finished);
        let mut order = order_of(part, (&whole, is_last), &path);
        let before = order.earlier.as_ref().unwrap().measurements.len();
        assert!(before > 0);
        order.whole.as_mut().unwrap().resumed = Some((before, 0));
        run_part(&order, None).unwrap();
        let record = Record::open(&path).unwrap();
        assert_eq!(record.finished, is_last);
        assert_eq!(record.header.resumed.len(), index + 1);
    }
    let record = Record::open(&path).unwrap();
    let expected = together.record();
    assert_eq!(record.header.study, expected.header.study);
    assert_eq!(record.header.cells, expected.header.cells);
    let measured = |record: &Record| -> BTreeSet<(u32, usize)> {
        let all = record.measurements.iter();
        all.map(|m| (m.round, m.cell)).collect()
    };
    assert_eq!(measured(&record), measured(expected));
    assert_eq!(record.campaigns, expected.campaigns);
    assert_eq!(record.campaigns.len(), 2);
}
