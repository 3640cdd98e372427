//! What a run tells while it goes on. It prints nothing itself: whoever listens decides what is
//! shown. The record holds what is kept.

use std::time::Duration;

use crate::error::Error;
use crate::plan::{Cell, Outcome};
use crate::record::trials::{Campaign, Trial};
use crate::record::{Flag, Second};

/// Whoever listens to a run: lines, the live view, a test.
pub trait Events {
    /// Takes one event, in the order in which they happen. It must not keep the run waiting.
    fn tell(&self, event: Event);
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A server program, or a database at an endpoint, is being prepared: whole words of whoever
    /// does it.
    Words {
        of: String,
        text: String,
    },
    /// The servers of a lab are being started.
    LabStarting {
        lab: String,
        nodes: usize,
    },
    /// They can be used, so long after they were begun with.
    LabReady {
        lab: String,
        after: Duration,
    },
    /// The servers at an endpoint are being connected to.
    Connecting {
        label: String,
    },
    /// They can be used, in this database.
    EndpointReady {
        label: String,
        after: Duration,
        database: String,
    },
    LoadingTables,
    /// What a lab would have set otherwise at an endpoint, where nothing is set.
    Advice(String),
    /// These steps are next, and take about so long each. Told before the first, and again where
    /// more are asked for than were foreseen.
    StepsAdded(Vec<Duration>),
    StepBegun(Step),
    /// A measurement was disturbed (`Measurement::is_disturbed`): it is made again.
    MadeAgain {
        round: u32,
        cell: usize,
    },
    /// A second of a cell's load. Told when the driver gives account: at the ends of warm-up,
    /// window and load.
    Second {
        round: u32,
        cell: usize,
        second: Second,
    },
    /// A doubt about the measurement that is told next: its figure is not what it seems.
    Flagged {
        round: u32,
        cell: usize,
        flag: Flag,
    },
    /// How far a replica was behind in the measurement that is told next, in ms: the middle one of
    /// its heartbeats; `None` where it was not looked at.
    Lagged {
        round: u32,
        cell: usize,
        node: String,
        lag_ms: Option<f64>,
    },
    /// A measurement's figures. It is in the record.
    Measured(Outcome),
    /// What a first look sees of a trial of a fault. It is in the record, and not judged yet.
    Injected(Injected),
    /// The step that was begun last has ended, and what it found is in the record.
    StepEnded,
    /// A bad end beside the one that the run returns, such as a database that could not be dropped.
    AlsoFailed(Error),
    /// All steps have ended.
    Finished,
}

/// One step of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A cell is measured.
    Cell {
        round: u32,
        rounds: u32,
        /// The mode's.
        label: String,
        index: usize,
        cell: Box<Cell>,
    },
    /// A server under load is ended on purpose, and what is left is read back.
    Fault {
        /// The mode's, or its settings'.
        label: String,
        /// What the fault is called.
        fault: String,
        /// From 1 on.
        number: u32,
        of: u32,
    },
}

/// A trial of a fault, as a first look sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Injected {
    /// The mode's.
    pub label: String,
    /// What the fault is called.
    pub fault: String,
    /// From 1 on.
    pub number: u32,
    pub acknowledged: usize,
    /// Acknowledged, and not on every node that serves; `None` where nodes were not read.
    pub missing: Option<usize>,
    /// Why nothing can be judged, or the words of a server that refused its data.
    pub trouble: Option<String>,
}

impl Injected {
    /// Of a campaign of one trial.
    pub fn of(label: &str, number: u32, one: &Campaign) -> Injected {
        let trial = one.trials.first();
        let (acknowledged, missing) = trial.map_or((0, None), Trial::acknowledged_and_missing);
        let trouble = trial.and_then(|it| it.undecided.as_ref().or(it.refused.as_ref()));
        Injected {
            label: label.to_owned(),
            fault: one.fault.name.clone(),
            number,
            acknowledged,
            missing: missing.filter(|_| trouble.is_none()),
            trouble: trouble.cloned(),
        }
    }
}

/// What injecting faults tells whoever runs it.
pub enum CampaignStep<'t> {
    /// A trial begins.
    Begun(Step),
    /// It has ended: a campaign of it alone, to be kept at once. Its number counts from 1 on.
    Ended { number: u32, one: &'t Campaign },
}
