//! A run as its record tells it: the same events, as far as they are kept.
//!
//! What is not in a record is left out: what is said while labs are formed, and a cell before it is
//! measured. Which one that is follows from the study, where its order is settled beforehand.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::state::{Live, ends_by_itself};
use crate::error::{Result, breakdown};
use crate::plan::{self, Cell, Outcome, Plan, Schedule};
use crate::record::packed::PackedCampaign;
use crate::record::store::{Follower, NewTrial, News};
use crate::record::{Header, Measurement, Resumed};
use crate::run::{Event, Injected, Step};
use crate::study::Study;
use crate::study::breaking::NAME;

/// A run that is followed by its record.
#[derive(Debug)]
pub struct Recorded {
    path: PathBuf,
    follower: Follower,
    live: Live,
    /// From the first look on.
    told: Option<Told>,
    is_finished: bool,
}

impl Recorded {
    /// Of a record of which nothing was read yet.
    pub fn of(path: &Path) -> Recorded {
        Recorded {
            path: path.to_owned(),
            follower: Follower::of(path),
            live: Live::default(),
            told: None,
            is_finished: false,
        }
    }

    /// Reads what has come since the last time; all anew once the run has been gone on with.
    ///
    /// # Errors
    /// Those of [`Follower::look`]; a breakdown if what is there does not fit together.
    pub fn look(&mut self) -> Result<()> {
        let mut news = self.follower.look()?;
        // Rows may have gone out with a round, and later ones have their numbers.
        let told = self.told.as_ref();
        if told.is_some_and(|told| told.is_from_before(&news)) {
            *self = Recorded::of(&self.path);
            news = self.follower.look()?;
        }
        self.is_finished = news.finished;
        if self.told.is_none()
            && let Some(header) = &news.header
        {
            let told = Told::of(header.clone());
            self.live = Live::of(&header.study, &told.plan);
            self.told = Some(told);
        }
        let Some(told) = &mut self.told else {
            return Err(breakdown("follow a record", "it has no head"));
        };
        for (at, event) in told.events(news)? {
            self.live.take(&event, at);
        }
        Ok(())
    }

    pub fn live(&self) -> &Live {
        &self.live
    }

    /// Whether the run went through to its end.
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// How long the run, or its last part, had been going on at that time.
    pub fn since_start(&self, unix_ms: u64) -> Duration {
        let begun_ms = self.told.as_ref().map_or(unix_ms, |told| told.begun_ms);
        Duration::from_millis(unix_ms.saturating_sub(begun_ms))
    }
}

/// What has been told of a record.
#[derive(Debug)]
struct Told {
    header: Header,
    plan: Plan,
    /// When the run began, or went on last.
    begun_ms: u64,
    /// What was there before, of a run that went on.
    before: Resumed,
    outcomes: Vec<Outcome>,
    /// Round, cell and turn of the last of them.
    last: Option<(u32, usize, u32)>,
    trials: usize,
    /// Turns whose time was told.
    foreseen: usize,
    is_begun: bool,
}

impl Told {
    fn of(header: Header) -> Told {
        // Those of a merged record are of its parts.
        let is_merged = !header.parts.is_empty();
        let before = header.resumed.last().filter(|_| !is_merged).cloned();
        let begun_ms = match &before {
            Some(resumed) => resumed.started_unix_ms,
            None => header.started_unix_ms,
        };
        Told {
            plan: plan::plan(&header.study).of_part(header.part),
            begun_ms,
            before: before.unwrap_or_default(),
            header,
            outcomes: vec![],
            last: None,
            trials: 0,
            foreseen: 0,
            is_begun: false,
        }
    }

    /// Whether the run has been gone on with since.
    fn is_from_before(&self, news: &News) -> bool {
        let begun = |header: &Header| (header.started_unix_ms, header.resumed.clone());
        let now = news.header.as_ref().map(begun);
        now.is_some_and(|now| now != begun(&self.header))
    }

    /// What a run tells of it, each with its moment.
    fn events(&mut self, news: News) -> Result<Vec<(Duration, Event)>> {
        let mut events = Vec::new();
        if let Some(header) = news.header {
            self.header = header;
        }
        if !self.is_begun {
            self.is_begun = true;
            let trials = plan::injected(&self.header.study, self.header.part);
            let left = trials.into_iter().skip(self.before.trials);
            events.push((Duration::ZERO, Event::StepsAdded(left.collect())));
            events.extend(self.foresee());
        }
        let mut at = None;
        for measurement in news.measurements {
            at = Some(self.measured(&measurement, &mut events)?);
            events.extend(self.foresee());
        }
        for trial in news.trials {
            at = Some(self.injected(&trial, &mut events)?);
        }
        if news.finished {
            events.push((at.unwrap_or_default(), Event::Finished));
        } else if let Some(at) = at {
            events.extend(self.next().map(|step| (at, Event::StepBegun(step))));
        }
        Ok(events)
    }

    /// Turns that have become certain; none where the run ends by itself.
    fn foresee(&mut self) -> Option<(Duration, Event)> {
        let study = &self.header.study;
        if ends_by_itself(study) {
            return None;
        }
        let turns = self.plan.schedule().turns(&self.outcomes);
        let first = self.foreseen.max(self.before.measurements);
        let new = turns.iter().skip(first);
        let time =
            |turn: &plan::Turn| plan::turn_time(study, &self.plan.cells[turn.cell], turn.offered);
        let new: Vec<Duration> = new.map(time).collect();
        self.foreseen = turns.len();
        (!new.is_empty()).then_some((Duration::ZERO, Event::StepsAdded(new)))
    }

    /// What is measured now, if that is certain. Parts of `break` have orders of their own.
    fn next(&self) -> Option<Step> {
        let study = &self.header.study;
        if ends_by_itself(study) || study.name == NAME {
            return None;
        }
        let turns = self.plan.schedule().turns(&self.outcomes);
        let turn = turns.get(self.outcomes.len())?;
        let cell = &self.plan.cells[turn.cell];
        let offered = turn.offered.map(|offered| cell.at(study, offered));
        let cell = offered.unwrap_or_else(|| cell.clone());
        Some(step(study, turn.round, (turn.cell, cell)))
    }

    /// When it had ended.
    fn measured(
        &mut self,
        measurement: &Measurement,
        events: &mut Vec<(Duration, Event)>,
    ) -> Result<Duration> {
        let (round, index) = (measurement.round, measurement.cell);
        let study = &self.header.study;
        let known = self.header.cells.get(index);
        let known = known.filter(|cell| cell.mode < study.modes.len());
        let nowhere = || breakdown("follow a record", "a measurement is of no cell of it");
        let cell = Cell {
            rate_per_s: measurement
                .offered_per_s
                .or(known.and_then(|cell| cell.rate_per_s)),
            ..known.cloned().ok_or_else(nowhere)?
        };
        let is_before = self.outcomes.len() < self.before.measurements;
        let begun = self.moment(measurement.started_unix_ms);
        let load_s = measurement.load_s.max(measurement.window_s);
        let ended = begun + Duration::try_from_secs_f64(load_s).unwrap_or_default();
        let outcome = measurement.outcome(ended - begun);
        let at = (round, index, measurement.turn);
        // What a run ended with for want of a driver is made again: one step more.
        if self.last.replace(at) == Some(at) {
            self.outcomes.pop();
            let more = vec![plan::turn_time(study, &cell, None)];
            events.push((begun, Event::StepsAdded(more)));
        }
        let begin = step(study, round, (index, cell));
        self.outcomes.push(outcome);
        // What was there before is no step of this run.
        if is_before {
            return Ok(ended);
        }
        let mut all = vec![Event::StepBegun(begin)];
        let second = |second| Event::Second {
            round,
            cell: index,
            second,
        };
        all.extend(measurement.timeline.iter().copied().map(second));
        all.extend(measurement.flags.iter().map(|&flag| Event::Flagged {
            round,
            cell: index,
            flag,
        }));
        all.extend(measurement.lag.iter().map(|lag| Event::Lagged {
            round,
            cell: index,
            node: lag.node.clone(),
            lag_ms: lag.lag_ms_p50(),
        }));
        all.extend([Event::Measured(outcome), Event::StepEnded]);
        let moment = |event: &Event| match event {
            Event::StepBegun(_) => begun,
            _ => ended,
        };
        events.extend(all.into_iter().map(|event| (moment(&event), event)));
        Ok(ended)
    }

    /// When it had ended.
    fn injected(
        &mut self,
        trial: &NewTrial,
        events: &mut Vec<(Duration, Event)>,
    ) -> Result<Duration> {
        let study = &self.header.study;
        let mode = study.modes.get(trial.mode);
        let nowhere = || breakdown("follow a record", "a trial is of no mode of it");
        let label = mode.ok_or_else(nowhere)?.label.clone();
        let one = PackedCampaign::whole(&trial.one);
        let first = one.trials.first();
        let begun = self.moment(first.map_or(0, |trial| trial.started_unix_ms));
        let watched_us = first.and_then(|trial| trial.watched_us).unwrap_or(0);
        let ended = begun + Duration::from_micros(watched_us);
        let mut injections = study.injections.iter();
        let asked = injections.find(|it| it.fault == one.fault && it.modes.contains(&label));
        let injected = Injected::of(&label, trial.number, &one);
        let step = Step::Fault {
            label,
            fault: one.fault.name.clone(),
            number: trial.number,
            of: asked.map_or(trial.number, |it| it.trials),
        };
        self.trials += 1;
        if self.trials > self.before.trials {
            events.extend([
                (begun, Event::StepBegun(step)),
                (ended, Event::Injected(injected)),
                (ended, Event::StepEnded),
            ]);
        }
        Ok(ended)
    }

    fn moment(&self, unix_ms: u64) -> Duration {
        Duration::from_millis(unix_ms.saturating_sub(self.begun_ms))
    }
}

fn step(study: &Study, round: u32, (index, cell): (usize, Cell)) -> Step {
    Step::Cell {
        round,
        rounds: study.rounds,
        label: study.modes[cell.mode].label.clone(),
        index,
        cell: Box::new(cell),
    }
}
