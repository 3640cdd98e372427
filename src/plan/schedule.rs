//! What is measured next, given what was found so far.

use std::time::Duration;

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
    /// Those that changed no row included.
    pub transactions_per_s: f64,
    /// Of transactions that ended well; `None` if none did.
    pub latency_us_p50: Option<u64>,
    pub latency_us_p99: Option<u64>,
    /// What it took, all that came before and after its window included; nothing where it was made
    /// in an earlier run.
    pub took: Duration,
}

/// A cell that is to be measured now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// From 1 on; a new round begins with servers and links set anew.
    pub round: u32,
    /// Index among the cells of the schedule.
    pub cell: usize,
    /// How often the cell was measured in this round before.
    pub repeat: u32,
}

/// Decides what is measured. It is asked after each measurement, so that it may look back: repeat
/// a cell until its interval is narrow, or add cells in search of a limit.
pub trait Schedule {
    /// All cells so far, by index. One that joins comes last; none is ever changed or taken away.
    fn cells(&self) -> &[Cell];

    /// All turns that are certain by now: those whose outcomes these are, in their order, and what
    /// follows them. Without any that follow, the run ends. No round comes after a later one. What
    /// was certain once stays so.
    fn turns(&mut self, so_far: &[Outcome]) -> Vec<Turn>;
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
        let turn = |round, cell| Turn {
            round,
            cell,
            repeat: 0,
        };
        rounds.flat_map(move |(round, cells)| cells.iter().map(move |&cell| turn(round, cell)))
    }
}

impl Schedule for FixedRounds<'_> {
    fn cells(&self) -> &[Cell] {
        &self.plan.cells
    }

    fn turns(&mut self, _so_far: &[Outcome]) -> Vec<Turn> {
        self.plan.turns().collect()
    }
}
