//! What is measured next, given what was found so far.

use super::{Cell, Plan};

/// What came of one measurement, as far as it may decide what is measured next.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Outcome {
    /// From 1 on.
    pub round: u32,
    /// Index among the cells of the schedule.
    pub cell: usize,
    /// It enters no figure: its links were late.
    pub is_void: bool,
    pub commits_per_s: f64,
    /// Of transactions that ended well; `None` if none did.
    pub latency_us_p50: Option<u64>,
    pub latency_us_p99: Option<u64>,
}

/// A cell that is to be measured now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// From 1 on; a new round begins with servers and links set anew.
    pub round: u32,
    /// Index among the cells of the schedule.
    pub cell: usize,
}

/// Decides what is measured. It is asked after each measurement, so that it may look back: repeat
/// a cell until its interval is narrow, or add cells in search of a limit.
pub trait Schedule {
    /// All cells so far, by index. One that joins comes last; none is ever changed or taken away.
    fn cells(&self) -> &[Cell];

    /// The next turn, given what came of all before, in their order; `None` at the end. No cell has
    /// two turns in one round, and no round comes after a later one.
    fn next(&mut self, so_far: &[Outcome]) -> Option<Turn>;
}

/// The rounds of a plan, whatever comes of them.
pub struct FixedRounds<'p> {
    plan: &'p Plan,
}

impl Plan {
    /// Its rounds as a schedule.
    pub fn schedule(&self) -> FixedRounds<'_> {
        FixedRounds { plan: self }
    }

    /// All turns of its rounds, in their order.
    pub fn turns(&self) -> impl Iterator<Item = Turn> {
        let rounds = (1..).zip(&self.rounds);
        rounds.flat_map(|(round, cells)| cells.iter().map(move |&cell| Turn { round, cell }))
    }
}

impl Schedule for FixedRounds<'_> {
    fn cells(&self) -> &[Cell] {
        &self.plan.cells
    }

    fn next(&mut self, so_far: &[Outcome]) -> Option<Turn> {
        self.plan.turns().nth(so_far.len())
    }
}
