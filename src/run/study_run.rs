//! From a study to its record, at any target: which cell is next, what is measured again, what is
//! kept, and what is told of it.

use std::time::Duration;

use super::again::{AGAIN_MAX, AGAIN_SHARE, place, unmade_of, voided};
use super::events::{CampaignStep, Event, Events, Injected, Step};
use super::keeper::Keeper;
use super::measure::{STOLEN_SHARE_MAX, measure};
use super::order::Order;
use super::target::Target;
use crate::error::{Mistake, Result};
use crate::plan::{self, Cell, Outcome, Schedule, Turn};
use crate::record::Measurement;
use crate::record::packed::PackedCampaign;
use crate::record::trials::Campaign;

/// A host that steals CPU time does so for some seconds: before a measurement is made again, it is
/// asked at most so often whether it still does,
pub(super) const CALM_LOOKS_MAX: u32 = 20;
/// so long after one another,
const CALM_LOOK: Duration = Duration::from_secs(1);
/// and in a whole run at most so often.
pub(super) const CALM_LOOKS_OF_RUN_MAX: u32 = 180;

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
    let outcomes = earlier_outcomes(order);
    let turns = schedule.turns(&outcomes);
    check_is_beginning(order, &turns)?;
    events.tell(Event::StepsAdded(trials_ahead(order)));
    if !turns.is_empty() {
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
        cells_kept: header.cells.len(),
        keeper: Keeper::open(order, header)?,
        foreseen: turns.get(..outcomes.len()).unwrap_or(&turns).to_vec(),
        outcomes,
        unmade: unmade_of(order).cloned(),
        made_again: 0,
        calm_looks: 0,
        entered: None,
    };
    let outcome = run.measure_and_break(turns, schedule);
    // What servers said tells most where it ends early.
    let kept = run.keeper.keep_logs(&run.target.logs());
    outcome.and(kept)?;
    events.tell(Event::Finished);
    run.keeper.finish()
}

/// How long each trial takes that is not in the record yet, in their order.
fn trials_ahead(order: &Order) -> Vec<Duration> {
    let earlier = || order.earlier.iter();
    let campaigns = earlier().flat_map(|record| record.campaigns.values().flatten());
    let campaigns: usize = campaigns.map(|kept| kept.light.trials.len()).sum();
    let injected = plan::injected(&order.study, order.plan.part);
    let injected = injected.into_iter().skip(campaigns);
    injected.collect()
}

/// Of the measurements that are there already.
fn earlier_outcomes(order: &Order) -> Vec<Outcome> {
    made(order)
        .map(|measurement| measurement.outcome(Duration::ZERO))
        .collect()
}

/// All that is there but what is to be made again.
fn made(order: &Order) -> impl Iterator<Item = &Measurement> {
    let unmade = unmade_of(order).map(place);
    let all = order.earlier.iter().flat_map(|record| &record.measurements);
    all.filter(move |one| Some(place(one)) != unmade)
}

/// What is there already must be what the schedule would have measured first.
fn check_is_beginning(order: &Order, turns: &[Turn]) -> Result<()> {
    let mut there: Vec<(u32, usize, u32)> = made(order).map(place).collect();
    let first = turns.iter().take(there.len());
    let mut first: Vec<(u32, usize, u32)> = first.map(|t| (t.round, t.cell, t.repeat)).collect();
    there.sort_unstable();
    first.sort_unstable();
    match there == first {
        true => Ok(()),
        false => {
            let given = order.record.display().to_string();
            let allowed = "was measured in another order than this study: begin a new record";
            Err(Mistake::new("command line", "--resume", &given, allowed).into())
        }
    }
}

/// A study under way.
struct StudyRun<'a, T> {
    order: &'a Order,
    target: &'a mut T,
    events: &'a dyn Events,
    keeper: Keeper<'a>,
    /// How many cells the record knows.
    cells_kept: usize,
    /// Of all turns so far.
    outcomes: Vec<Outcome>,
    /// All turns that are certain, those taken included; told as steps.
    foreseen: Vec<Turn>,
    /// What a run before ended with, until it is made again.
    unmade: Option<Measurement>,
    /// How many disturbed measurements were made again.
    made_again: usize,
    /// How often the host was seen to steal CPU time before one was.
    calm_looks: u32,
    /// The round, and the mode in force.
    entered: Option<(u32, usize)>,
}

impl<T: Target> StudyRun<'_, T> {
    /// All turns, beginning with these, then all faults.
    fn measure_and_break(&mut self, turns: Vec<Turn>, schedule: &mut dyn Schedule) -> Result<()> {
        self.foresee(turns, schedule.cells());
        while let Some(turn) = self.foreseen.get(self.outcomes.len()).copied() {
            self.join(schedule.cells())?;
            self.take_turn(turn, &schedule.cells()[turn.cell])?;
            self.foresee(schedule.turns(&self.outcomes), schedule.cells());
        }
        self.run_campaigns()
    }

    /// Cells that the schedule has added become part of the record.
    fn join(&mut self, cells: &[Cell]) -> Result<()> {
        self.keeper.join(&cells[self.cells_kept..])?;
        self.cells_kept = cells.len();
        Ok(())
    }

    /// Tells of the turns that have become certain.
    fn foresee(&mut self, turns: Vec<Turn>, cells: &[Cell]) {
        let more = turns.iter().skip(self.foreseen.len());
        let study = &self.order.study;
        let time = |turn: &Turn| plan::turn_time(study, &cells[turn.cell], turn.offered);
        let more: Vec<Duration> = more.map(time).collect();
        if !more.is_empty() {
            self.events.tell(Event::StepsAdded(more));
        }
        self.foreseen = turns;
    }

    /// Measures a cell, at the rate that the turn has for it, and keeps what was measured.
    fn take_turn(&mut self, turn: Turn, cell: &Cell) -> Result<()> {
        let offered = turn.offered;
        let at_rate = offered.map(|offered| cell.at(&self.order.study, offered));
        let cell = at_rate.as_ref().unwrap_or(cell);
        let begun_ms = self.target.unix_ms();
        self.begin_step(turn, cell);
        self.enter(turn, cell)?;
        let measurement = self.measured(turn, cell)?;
        self.keeper.append(&measurement)?;
        let (round, cell) = (turn.round, turn.cell);
        for &flag in &measurement.flags {
            self.events.tell(Event::Flagged { round, cell, flag });
        }
        for lag in &measurement.lag {
            self.events.tell(Event::Lagged {
                round,
                cell,
                node: lag.node.clone(),
                lag_ms: lag.lag_ms_p50(),
            });
        }
        let took_ms = self.target.unix_ms().saturating_sub(begun_ms);
        let outcome = measurement.outcome(Duration::from_millis(took_ms));
        self.outcomes.push(outcome);
        self.events.tell(Event::Measured(outcome));
        self.events.tell(Event::StepEnded);
        Ok(())
    }

    fn begin_step(&mut self, turn: Turn, cell: &Cell) {
        let study = &self.order.study;
        let last = self.foreseen.last().map_or(turn.round, |last| last.round);
        // A part's rounds have the numbers that they have in the whole.
        let last = self.order.plan.part.map_or(last, |_| study.rounds);
        self.events.tell(Event::StepBegun(Step::Cell {
            round: turn.round,
            rounds: last,
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

    /// A disturbed measurement is made again: links were late, CPU time was stolen, or a driver was
    /// lost. None is the mode's fault, so that nothing is chosen by its outcome. It is
    /// kept with the one that takes its place: what made the links late may have made the servers
    /// slow.
    fn measured(&mut self, turn: Turn, cell: &Cell) -> Result<Measurement> {
        let study = &self.order.study;
        let at = (turn.round, turn.cell, turn.repeat);
        let before = self.unmade.take_if(|one| place(one) == at);
        let mut voided = before.map_or_else(Vec::new, voided);
        let again_max = (self.foreseen.len() as f64 * AGAIN_SHARE).ceil() as usize;
        loop {
            let measurement = measure(self.target, study, (turn, cell), self.events)?;
            for who in &measurement.drivers_missing {
                let (of, text) = ("drivers".to_owned(), format!("void: {who}"));
                self.events.tell(Event::Words { of, text });
            }
            let made_again = voided.len() as u32;
            if !measurement.is_disturbed()
                || made_again == AGAIN_MAX
                || self.made_again == again_max
            {
                return Ok(Measurement {
                    made_again,
                    voided,
                    ..measurement
                });
            }
            if let Err(error) = self.target.gather() {
                // Nobody makes it again: it is kept as it is.
                self.keeper.append(&Measurement {
                    made_again,
                    voided,
                    ..measurement
                })?;
                return Err(error);
            }
            self.made_again += 1;
            voided.push(measurement);
            let (round, cell) = (turn.round, turn.cell);
            self.events.tell(Event::MadeAgain { round, cell });
            self.await_calm()?;
        }
    }

    /// Waits until the host steals no more than a measurement may lose, or has been asked often.
    fn await_calm(&mut self) -> Result<()> {
        let left = CALM_LOOKS_OF_RUN_MAX - self.calm_looks;
        for _ in 0..CALM_LOOKS_MAX.min(left) {
            if self.target.next()?.stolen_now() <= STOLEN_SHARE_MAX {
                break;
            }
            self.calm_looks += 1;
            self.target.wait(CALM_LOOK)?;
        }
        Ok(())
    }

    /// After the last round: the faults that the study asks for. Each trial is kept as it ends.
    fn run_campaigns(&mut self) -> Result<()> {
        let study = &self.order.study;
        let (keeper, events) = (&mut self.keeper, self.events);
        for (mode, spec) in study.modes.iter().enumerate() {
            let mut injections = study.injections.iter();
            if !injections.any(|one| one.modes.contains(&spec.label)) {
                continue;
            }
            let target = self.target.next()?;
            let earlier = self.order.earlier.as_ref();
            let kept = earlier.and_then(|record| record.campaigns.get(&mode));
            let light = |packed: &PackedCampaign| packed.light.clone();
            let kept: Vec<Campaign> = kept.into_iter().flatten().map(light).collect();
            let of = (self.order.plan.part, &kept[..]);
            target.run_campaigns(mode, of, &mut |step| match step {
                CampaignStep::Begun(step) => {
                    events.tell(Event::StepBegun(step));
                    Ok(())
                }
                CampaignStep::Ended { number, one } => {
                    keeper.append_campaign(mode, number, one)?;
                    let injected = Injected::of(&spec.label, number, one);
                    events.tell(Event::Injected(injected));
                    events.tell(Event::StepEnded);
                    Ok(())
                }
            })?;
        }
        Ok(())
    }
}
