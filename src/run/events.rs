//! What a run tells while it goes on. It prints nothing itself: whoever listens decides what is
//! shown. The record holds what is kept.

use std::time::Duration;

use crate::error::Error;
use crate::plan::{Cell, Outcome};
use crate::record::trials::Campaign;
use crate::record::{Flag, Second};

/// Whoever listens to a run: a progress bar, a test.
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
    /// The host disturbed a measurement (`Measurement::is_disturbed`): it is made again.
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
    /// A measurement's figures. It is in the record.
    Measured(Outcome),
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

/// What injecting faults tells whoever runs it.
pub enum CampaignStep<'t> {
    /// A trial begins.
    Begun(Step),
    /// It has ended: a campaign of it alone, to be kept at once. Its number counts from 1 on.
    Ended { number: u32, one: &'t Campaign },
}
