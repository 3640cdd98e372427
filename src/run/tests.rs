//! The very loop that labs and endpoints run in, at a target that follows a script.

mod apart;
mod parts;
mod scripted;
mod stopped;

use std::collections::BTreeSet;

use tempfile::TempDir;

use super::again::AGAIN_MAX;
use super::events::{Event, Step};
use super::order::Order;
use super::study_run::{CALM_LOOKS_MAX, CALM_LOOKS_OF_RUN_MAX, run_study};
use super::whole::{Whole, trials};
use crate::error::{Error, Result};
use crate::plan::{Cell, Outcome, Schedule, StudyPart, Turn, parts, plan};
use crate::record::store::Record;
use crate::record::{Flag, Measurement};
use crate::study::{Study, written};
use scripted::{Recorder, Script, Scripted, TRIALS, Trouble};

/// One mode at two distances, once, with a fault after it.
const SMALL: &str = "rounds = 1\nwarmup = \"1s\"\nmeasure = \"2s\"\nimages = {}\n\
                     [[mode]]\nserver = \"mysql\"\nmode = \"single\"\n\
                     [[fault]]\nname = \"no-fault\"\ntrials = 2\n\
                     [[sweep]]\nworkload = \"update_index\"\nrtt = [\"1ms\", \"2ms\"]\n";

fn small() -> Study {
    written::sample(SMALL)
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
    ran.record.as_ref().map_or(0, trials)
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
        machine: None,
        round_left_out: None,
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
    // What is told of a measurement beside its figures comes before them.
    let lagged = |event: &Event| match event {
        Event::Lagged { node, lag_ms, .. } => node == "b" && *lag_ms == Some(2.0),
        _ => false,
    };
    assert_eq!(ran.count(lagged), 2);
    let lagged = ran.events.iter().position(lagged).unwrap();
    assert!(lagged < order[3], "{lagged}");
    let injected = ran.events.iter().filter_map(|event| match event {
        Event::Injected(injected) => Some((&injected.fault[..], injected.number)),
        _ => None,
    });
    let expected = [("made-up", 1), ("made-up", 2)];
    assert_eq!(injected.collect::<Vec<_>>(), expected);
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
        injections: vec![],
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
