//! From a study to its record, at any target: which cell is next, what is measured again, what is
//! kept, and what is told of it.

use super::events::{Event, Events, Step, TrialStep};
use super::measure::{measure, outcome};
use super::order::Order;
use super::target::Target;
use crate::error::Result;
use crate::plan::{self, Cell, Outcome, Schedule, Turn};
use crate::record::Measurement;
use crate::record::store::Store;

/// A void measurement is made again at most this often,
pub(super) const AGAIN_MAX: u32 = 2;
/// and a run makes this share of its measurements again at most, so that its length is bounded.
pub(super) const AGAIN_SHARE: f64 = 0.25;

/// Runs a study at a target, which is closed however that ends. Every finished cell is in the
/// record, whatever happens later.
///
/// # Errors
/// What the target could not do; [`Error::Interrupted`] if the user asked to stop. Also a breakdown
/// if it could not be closed, told beside another that came before.
///
/// [`Error::Interrupted`]: crate::error::Error::Interrupted
pub fn run_study<T: Target>(
    order: &Order,
    schedule: &mut dyn Schedule,
    mut target: T,
    events: &dyn Events,
) -> Result<()> {
    let outcome = run_to_the_end(order, schedule, &mut target, events);
    match (outcome, target.close(events)) {
        (Err(error), Err(left)) => {
            events.tell(Event::AlsoFailed(left));
            Err(error)
        }
        (outcome, closed) => outcome.and(closed),
    }
}

fn run_to_the_end<T: Target>(
    order: &Order,
    schedule: &mut dyn Schedule,
    target: &mut T,
    events: &dyn Events,
) -> Result<()> {
    let foreseen = plan::steps(&order.study, &order.plan);
    events.tell(Event::StepsAdded(foreseen));
    let turns = order.plan.turns().count();
    if turns > 0 {
        events.tell(Event::LoadingTables);
        target.next()?.load_tables()?;
    }
    let header = target.next()?.header(order)?;
    for advice in header.endpoints.iter().flat_map(|facts| &facts.advice) {
        events.tell(Event::Advice(advice.clone()));
    }
    let mut run = StudyRun {
        order,
        target,
        events,
        store: Store::create(&order.record, &header)?,
        cells_kept: header.cells.len(),
        outcomes: Vec::new(),
        turns_foreseen: turns,
        again_left: (turns as f64 * AGAIN_SHARE).ceil() as usize,
        entered: None,
    };
    while let Some(turn) = schedule.next(&run.outcomes) {
        run.join(schedule.cells())?;
        run.take_turn(turn, &schedule.cells()[turn.cell])?;
    }
    run.inject_faults()?;
    events.tell(Event::Finished);
    run.store.finish()
}

/// A study under way.
struct StudyRun<'a, T> {
    order: &'a Order,
    target: &'a mut T,
    events: &'a dyn Events,
    store: Store,
    /// How many cells the record knows.
    cells_kept: usize,
    /// Of all turns so far.
    outcomes: Vec<Outcome>,
    /// How many turns were told as steps.
    turns_foreseen: usize,
    /// How many void measurements may still be made again.
    again_left: usize,
    /// The round, and the mode in force.
    entered: Option<(u32, usize)>,
}

impl<T: Target> StudyRun<'_, T> {
    /// Cells that the schedule has added become part of the record.
    fn join(&mut self, cells: &[Cell]) -> Result<()> {
        self.store.join(&cells[self.cells_kept..])?;
        self.cells_kept = cells.len();
        Ok(())
    }

    /// Measures a cell and keeps what was measured.
    fn take_turn(&mut self, turn: Turn, cell: &Cell) -> Result<()> {
        self.begin_step(turn, cell);
        self.enter(turn, cell)?;
        let measurement = self.measured(turn, cell)?;
        self.store.append(&measurement)?;
        let (round, cell) = (turn.round, turn.cell);
        for &flag in &measurement.flags {
            self.events.tell(Event::Flagged { round, cell, flag });
        }
        let outcome = outcome(&measurement);
        self.outcomes.push(outcome);
        self.events.tell(Event::Measured(outcome));
        self.events.tell(Event::StepEnded);
        Ok(())
    }

    fn begin_step(&mut self, turn: Turn, cell: &Cell) {
        let study = &self.order.study;
        if self.outcomes.len() >= self.turns_foreseen {
            let more = vec![plan::cell_time(study, cell)];
            self.events.tell(Event::StepsAdded(more));
        }
        self.events.tell(Event::StepBegun(Step::Cell {
            round: turn.round,
            rounds: study.rounds.max(turn.round),
            label: study.modes[cell.mode].label.clone(),
            index: turn.cell,
            cell: Box::new(cell.clone()),
        }));
    }

    /// Each round is a beginning, also where it goes on with the mode that ended the one before.
    fn enter(&mut self, turn: Turn, cell: &Cell) -> Result<()> {
        if self.entered.map(|(round, _)| round) != Some(turn.round) {
            self.target.next()?.begin_round()?;
        }
        if self.entered != Some((turn.round, cell.mode)) {
            self.target.next()?.enter_mode(cell)?;
            self.entered = Some((turn.round, cell.mode));
        }
        Ok(())
    }

    /// A void measurement is made again: what voids it is the links' lateness, a fault of the
    /// host's and not of the mode's, so that nothing is chosen by its outcome. It is kept with the
    /// one that takes its place: what made the links late may have made the servers slow.
    fn measured(&mut self, turn: Turn, cell: &Cell) -> Result<Measurement> {
        let study = &self.order.study;
        let mut voided = Vec::new();
        loop {
            let measurement = measure(self.target, study, (turn, cell), self.events)?;
            let made_again = voided.len() as u32;
            if !measurement.is_void() || made_again == AGAIN_MAX || self.again_left == 0 {
                return Ok(Measurement {
                    made_again,
                    voided,
                    ..measurement
                });
            }
            self.again_left -= 1;
            voided.push(measurement);
            let (round, cell) = (turn.round, turn.cell);
            self.events.tell(Event::MadeAgain { round, cell });
        }
    }

    /// After the last round: the faults that the study asks for. Each trial is kept as it ends.
    fn inject_faults(&mut self) -> Result<()> {
        let study = &self.order.study;
        let (store, events) = (&mut self.store, self.events);
        for (mode, spec) in study.modes.iter().enumerate() {
            if study.faults_of(spec).is_empty() {
                continue;
            }
            let target = self.target.next()?;
            target.inject_faults(mode, &mut |step| match step {
                TrialStep::Begun(step) => {
                    events.tell(Event::StepBegun(step));
                    Ok(())
                }
                TrialStep::Ended { number, one } => {
                    store.append_trial(mode, number, one)?;
                    events.tell(Event::StepEnded);
                    Ok(())
                }
            })?;
        }
        Ok(())
    }
}
