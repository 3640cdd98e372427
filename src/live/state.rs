//! What is known of a run while it goes on, folded from what it tells.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ahead::Ahead;
use super::preview::Preview;
use super::words::{line, load, step_line};
use crate::plan::{Outcome, Plan};
use crate::record::{Flag, Second};
use crate::run::{Event, Injected, Step};
use crate::study::Study;

/// So much is kept of each: a state is sent at every event.
const ROWS_MAX: usize = 40;
const WORDS_MAX: usize = 8;
const SECONDS_MAX: usize = 600;

/// A run under way. It can be sent: to whoever shows it in a terminal, or on a page. Moments are
/// spans since the run's beginning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Live {
    pub title: String,
    pub ahead: Ahead,
    /// What the same command still has to do after these steps takes so long.
    pub later: Duration,
    /// What is done now, and since when.
    pub now: String,
    pub since: Duration,
    /// Seconds of the load of the cell that is measured, or was measured last, from the load's
    /// start on, and the commits of each; told when the driver gives account.
    pub seconds: Vec<(u32, u64)>,
    /// What was measured, the newest first; not all of it.
    pub rows: VecDeque<Row>,
    /// Trials of faults, the newest first; not all of them.
    pub trials: VecDeque<Trial>,
    /// The first rows of the study.
    pub preliminary: Vec<String>,
    /// What was said last, the oldest first.
    pub words: VecDeque<String>,
    /// How many steps it takes is not known beforehand.
    pub ends_by_itself: bool,
    pub is_finished: bool,
    /// What is needed to go on, and not to be shown.
    #[serde(skip)]
    pub unsent: Unsent,
}

/// What a state needs to go on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unsent {
    preview: Preview,
    /// Of the measurement under way, as far as it was told.
    next: Row,
    /// They are of the cell before.
    are_seconds_old: bool,
}

/// One measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub round: u32,
    /// The mode's.
    pub label: String,
    /// `4 conn.`
    pub load: String,
    pub distances: String,
    pub commits_per_s: f64,
    pub latency_us_p50: Option<u64>,
    pub latency_us_p99: Option<u64>,
    pub lags: Vec<NodeLag>,
    pub flags: Vec<Flag>,
    /// It enters no figure.
    pub is_void: bool,
}

/// How far a replica was behind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeLag {
    pub node: String,
    pub ms: Option<f64>,
}

/// One trial of a fault.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub label: String,
    pub fault: String,
    pub number: u32,
    pub acknowledged: usize,
    /// Acknowledged, and not on every node that serves: not judged yet. `None`: not read.
    pub missing: Option<usize>,
    /// Why nothing can be judged, or a server's words.
    pub trouble: Option<String>,
}

impl Live {
    /// Of a study of which nothing has run yet.
    pub fn of(study: &Study, plan: &Plan) -> Live {
        Live {
            title: study.title.clone(),
            unsent: Unsent {
                preview: Preview::of(study, plan),
                ..Unsent::default()
            },
            ends_by_itself: ends_by_itself(study),
            ..Live::default()
        }
    }

    /// Takes in what happened at that moment.
    pub fn take(&mut self, event: &Event, at: Duration) {
        match event {
            Event::StepsAdded(more) => self.ahead.add(more),
            Event::StepBegun(step) => self.begin(step, at),
            Event::MadeAgain { .. } => {
                self.seconds.clear();
                self.say("this measurement was disturbed: it is made again".to_owned());
            }
            Event::Second { second, .. } => self.add(*second),
            Event::Flagged { flag, .. } => self.unsent.next.flags.push(*flag),
            Event::Lagged { node, lag_ms, .. } => self.unsent.next.lags.push(NodeLag {
                node: node.clone(),
                ms: *lag_ms,
            }),
            Event::Measured(outcome) => self.measured(outcome),
            Event::Injected(injected) => self.injected(injected),
            Event::StepEnded => self.ahead.end(at),
            Event::AlsoFailed(error) => self.say(error.to_string()),
            Event::Finished => {
                self.is_finished = true;
                self.do_now("all steps have ended", at);
            }
            other => {
                if let Some(line) = line(other) {
                    self.do_now(&line, at);
                    self.say(line);
                }
            }
        }
    }

    /// How long the rest takes, with what comes after these steps.
    pub fn left(&self, now: Duration) -> Duration {
        self.ahead.left(now) + self.later
    }

    fn begin(&mut self, step: &Step, at: Duration) {
        self.ahead.begin(at);
        self.do_now(&step_line(step), at);
        self.unsent.are_seconds_old = true;
        self.unsent.next = match step {
            Step::Cell {
                round, label, cell, ..
            } => Row {
                round: *round,
                label: label.clone(),
                load: load(cell),
                distances: cell.distances.label.clone(),
                ..Row::default()
            },
            Step::Fault { .. } => Row::default(),
        };
    }

    fn do_now(&mut self, what: &str, at: Duration) {
        what.clone_into(&mut self.now);
        self.since = at;
    }

    fn add(&mut self, second: Second) {
        // Those of the cell before are shown until there are new ones.
        if std::mem::take(&mut self.unsent.are_seconds_old) {
            self.seconds.clear();
        }
        self.seconds.push((second.second, second.commits));
        let more = self.seconds.len().saturating_sub(SECONDS_MAX);
        self.seconds.drain(..more);
    }

    fn measured(&mut self, outcome: &Outcome) {
        let told = self.unsent.preview.take(outcome);
        self.preliminary.extend(told);
        self.rows.push_front(Row {
            commits_per_s: outcome.commits_per_s,
            latency_us_p50: outcome.latency_us_p50,
            latency_us_p99: outcome.latency_us_p99,
            is_void: outcome.is_void,
            ..std::mem::take(&mut self.unsent.next)
        });
        self.rows.truncate(ROWS_MAX);
    }

    fn injected(&mut self, injected: &Injected) {
        self.trials.push_front(Trial {
            label: injected.label.clone(),
            fault: injected.fault.clone(),
            number: injected.number,
            acknowledged: injected.acknowledged,
            missing: injected.missing,
            trouble: injected.trouble.clone(),
        });
        self.trials.truncate(ROWS_MAX);
    }

    fn say(&mut self, line: String) {
        self.words.push_back(line);
        let more = self.words.len().saturating_sub(WORDS_MAX);
        self.words.drain(..more);
    }
}

/// Whether rounds are measured until figures are narrow or the time is up: what is measured next
/// does not follow from the study and what was measured.
pub fn ends_by_itself(study: &Study) -> bool {
    study.until.is_some() || study.budget.is_some()
}
