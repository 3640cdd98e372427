//! Rounds that end by themselves: when figures are as narrow as was asked, or the time is up.
//!
//! Figures are looked at after rounds that were fixed beforehand, with intervals wide enough for
//! all looks together; see [`interval`](super::interval). docs/method/rounds.md says what
//! comes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::interval::{LOOKS, Noise, Risk, estimate};
use super::rounds::baseline_of;
use super::summary::{Estimate, Per};
use super::terms;
use crate::plan::{Cell, Outcome, Plan, Schedule, Turn, cell_time, forming};
use crate::study::Study;

/// The rounds of a plan, up to where they end.
///
/// A cell is measured until its main figure is narrow: its ratio to the baseline's, paired by
/// round, of throughput or, where it is paced or offered a rate, of the median latency; the figure
/// itself where it is held against nothing. A baseline goes on as long as one of those that are
/// held against it, and is measured √n times a round where n modes are: each ratio has its noise.
pub struct Sequential<'p> {
    study: &'p Study,
    plan: &'p Plan,
    /// Of each cell the one that it is held against.
    bases: Vec<Option<usize>>,
}

/// What a run with a budget takes at least: forming the labs, and one round.
pub fn least(study: &Study, plan: &Plan) -> Duration {
    up_to(study, plan, 1)
}

/// What a run takes at least that ends when figures are narrow.
pub fn until_first_look(study: &Study, plan: &Plan) -> Duration {
    up_to(study, plan, LOOKS[0])
}

/// What it takes with all of its rounds.
pub fn most(study: &Study, plan: &Plan) -> Duration {
    up_to(study, plan, study.rounds)
}

fn up_to(study: &Study, plan: &Plan, rounds: u32) -> Duration {
    let sequential = Sequential::of(study, plan);
    let all = (0..plan.cells.len()).collect();
    let turns = (1..=rounds).flat_map(|round| sequential.round(round, &all));
    let times = turns.map(|turn| cell_time(study, &plan.cells[turn.cell]));
    forming(study) + times.sum::<Duration>()
}

impl Schedule for Sequential<'_> {
    fn cells(&self) -> &[Cell] {
        &self.plan.cells
    }

    fn turns(&mut self, so_far: &[Outcome]) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        let mut open: BTreeSet<usize> = (0..self.plan.cells.len()).collect();
        for round in 1..=self.plan.rounds.len() as u32 {
            let done = so_far.get(..turns.len());
            if self.study.until.is_some() && LOOKS.contains(&(round - 1)) {
                let Some(done) = done else { break };
                open.retain(|cell| self.is_open(*cell, done));
            }
            let next = self.round(round, &open);
            let is_begun = so_far.len() > turns.len();
            let has_time = |done| self.has_time(&next, done);
            if round > 1 && !is_begun && self.study.budget.is_some() && !done.is_some_and(has_time)
            {
                break;
            }
            if next.is_empty() {
                break;
            }
            turns.extend(next);
        }
        turns
    }
}

impl<'p> Sequential<'p> {
    /// Of a study that asks for figures as narrow as that, has a budget, or both.
    pub fn of(study: &'p Study, plan: &'p Plan) -> Self {
        let all = 0..plan.cells.len();
        Sequential {
            study,
            plan,
            bases: all
                .map(|cell| baseline_of(study, &plan.cells, cell))
                .collect(),
        }
    }

    /// The turns of a round in which these cells are still measured, and those that they are held
    /// against.
    fn round(&self, round: u32, open: &BTreeSet<usize>) -> Vec<Turn> {
        let held = open.iter().filter_map(|cell| self.bases[*cell]);
        let held: BTreeSet<usize> = held.collect();
        let is_asked = |cell: &&usize| open.contains(cell) || held.contains(cell);
        let Some(planned) = self.plan.rounds.get(round as usize - 1) else {
            return vec![];
        };
        let cells: Vec<usize> = planned.iter().filter(is_asked).copied().collect();
        let mode = |cell: &usize| self.plan.cells[*cell].mode;
        let mut blocks: Vec<Vec<usize>> = (cells.chunk_by(|one, other| mode(one) == mode(other)))
            .map(<[usize]>::to_vec)
            .collect();
        for (block, times) in self.repeated(&blocks, open) {
            spread(&mut blocks, &block, times);
        }
        let mut seen: BTreeMap<usize, u32> = BTreeMap::new();
        let turn = |cell: usize| {
            let count = seen.entry(cell).or_default();
            *count += 1;
            Turn {
                round,
                cell,
                repeat: *count - 1,
                offered: None,
            }
        };
        blocks.into_iter().flatten().map(turn).collect()
    }

    /// Blocks of baselines, and how often each is measured: the root of how many modes are held
    /// against it.
    fn repeated(&self, blocks: &[Vec<usize>], open: &BTreeSet<usize>) -> Vec<(Vec<usize>, usize)> {
        let times = |block: &Vec<usize>| {
            let is_held = |cell: &&usize| self.bases[**cell].is_some_and(|b| block.contains(&b));
            let modes = open.iter().filter(is_held);
            let modes: BTreeSet<usize> = modes.map(|cell| self.plan.cells[*cell].mode).collect();
            (modes.len() as f64).sqrt().round() as usize
        };
        let with_times = blocks.iter().map(|block| (block.clone(), times(block)));
        with_times.filter(|(_, times)| *times > 1).collect()
    }

    /// Whether a cell's own main figure is not known well enough yet. One that is held against
    /// nothing, while others are against it, has none: it goes on as long as one of these.
    fn is_open(&self, cell: usize, so_far: &[Outcome]) -> bool {
        let is_foot = self.bases[cell].is_none() && self.bases.contains(&Some(cell));
        !is_foot && !self.is_figure_narrow(cell, so_far)
    }

    fn is_figure_narrow(&self, cell: usize, so_far: &[Outcome]) -> bool {
        let figure = self.main_figure(cell, so_far);
        let half = figure.and_then(|figure| {
            let (low, high) = (figure.low?, figure.high?);
            Some((high - low) / 2.0 / figure.median)
        });
        half.zip(self.study.until)
            .is_some_and(|(half, asked)| half <= asked)
    }

    fn main_figure(&self, cell: usize, so_far: &[Outcome]) -> Option<Estimate> {
        let own = self.by_round(cell, so_far);
        let base = self.bases[cell].map(|base| self.by_round(base, so_far));
        let of_round = |(round, own): (&u32, &f64)| match &base {
            Some(base) => Some(own / base.get(round)?),
            None => Some(*own),
        };
        let values: Vec<f64> = own.iter().filter_map(of_round).collect();
        estimate(&values, Noise::Multiplies, Risk::of(self.study))
    }

    /// Throughput of a cell in each round; its median latency where it is paced or offered a rate,
    /// which decide its throughput.
    fn by_round(&self, cell: usize, so_far: &[Outcome]) -> BTreeMap<u32, f64> {
        let cell_of = &self.plan.cells[cell];
        let is_given = cell_of.is_given();
        let per = terms::per(&cell_of.workload);
        let figure = |outcome: &Outcome| match per {
            _ if is_given => outcome.latency_us_p50.map(|us| us as f64),
            Per::Commit => Some(outcome.commits_per_s),
            Per::Transaction => Some(outcome.transactions_per_s),
        };
        let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for outcome in so_far.iter().filter(|one| one.cell == cell && !one.is_void) {
            rounds
                .entry(outcome.round)
                .or_default()
                .extend(figure(outcome));
        }
        rounds.retain(|_, values| !values.is_empty());
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let rounds = rounds.into_iter();
        rounds
            .map(|(round, values)| (round, mean(values)))
            .collect()
    }

    /// Whether a round fits in what is left of the budget, if it goes on as it went so far.
    fn has_time(&self, round: &[Turn], so_far: &[Outcome]) -> bool {
        let estimate = |cell: usize| cell_time(self.study, &self.plan.cells[cell]).as_secs_f64();
        let timed = so_far.iter().filter(|outcome| !outcome.took.is_zero());
        let (took, foreseen) = timed.fold((0.0, 0.0), |(took, foreseen), one| {
            (took + one.took.as_secs_f64(), foreseen + estimate(one.cell))
        });
        let pace = if foreseen > 0.0 { took / foreseen } else { 1.0 };
        let next: f64 = round.iter().map(|turn| estimate(turn.cell)).sum();
        let budget = self.study.budget.unwrap_or(Duration::MAX);
        forming(self.study).as_secs_f64() + took + next * pace <= budget.as_secs_f64()
    }
}

/// Puts a block into a row of blocks so often, one of which is there, as far from each other as can
/// be.
fn spread(blocks: &mut Vec<Vec<usize>>, block: &[usize], times: usize) {
    let Some(first) = blocks.iter().position(|one| one == block) else {
        return;
    };
    let others = blocks.len() - 1;
    let mut places: Vec<usize> = (1..times)
        .map(|number| (first + number * others / times) % (others + 1))
        .collect();
    places.sort_unstable();
    for (already, place) in places.into_iter().enumerate() {
        blocks.insert(place + already, block.to_vec());
    }
}

#[cfg(test)]
mod tests;
