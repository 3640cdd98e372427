//! A figure of a cell: what CSV calls it, where tables have it, and how it comes from the cell.

use super::entry::Entry;
use super::numbers::Unit;
use crate::analysis::interval::Estimate;
use crate::analysis::summary::CellSummary;

/// A figure of a cell.
pub struct Figure<'s> {
    /// Its title in CSV, units and all; empty for what only tables have.
    pub name: String,
    /// Whether CSV has `_median`, `_low` and `_high` of it.
    pub is_estimate: bool,
    /// Its place in a table, from left to right, and its title there.
    pub shown: Option<(Part, u32, Title)>,
    /// How it comes from a cell.
    pub entry: Box<dyn Fn(&CellSummary) -> Entry + 's>,
}

/// The tables of a group of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Reached,
    Runs,
    Costs,
    Cpus,
    OnDisk,
}

/// What stands over a column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Title {
    Is(String),
    /// Commits or transactions per second.
    Rate,
    /// What the row is held against.
    Versus,
}

/// Figures that belong together.
pub type Figures<'s> = Vec<Figure<'s>>;

impl<'s> Figure<'s> {
    /// A single number, or words.
    pub fn new(name: &str, entry: impl Fn(&CellSummary) -> Entry + 's) -> Figure<'s> {
        Figure {
            name: name.to_owned(),
            is_estimate: false,
            shown: None,
            entry: Box::new(entry),
        }
    }

    /// A figure with an interval.
    pub fn estimate(name: &str, entry: impl Fn(&CellSummary) -> Entry + 's) -> Figure<'s> {
        Figure {
            is_estimate: true,
            ..Figure::new(name, entry)
        }
    }

    /// With a place in a table.
    pub fn at(self, part: Part, place: u32, title: &str) -> Figure<'s> {
        self.titled(part, place, Title::Is(title.to_owned()))
    }

    /// The same where what stands over the column depends on the table.
    pub fn titled(self, part: Part, place: u32, title: Title) -> Figure<'s> {
        Figure {
            shown: Some((part, place, title)),
            ..self
        }
    }
}

/// Words.
pub fn words<'s, W: Into<String>>(name: &str, pick: impl Fn(&CellSummary) -> W + 's) -> Figure<'s> {
    Figure::new(name, move |cell| Entry::Words(pick(cell).into()))
}

/// A number without an interval.
pub fn number<'s>(
    name: &str,
    unit: Unit,
    pick: impl Fn(&CellSummary) -> Option<f64> + 's,
) -> Figure<'s> {
    Figure::new(name, move |cell| Entry::number(pick(cell), unit))
}

/// So many.
pub fn count<'s>(name: &str, pick: impl Fn(&CellSummary) -> u64 + 's) -> Figure<'s> {
    number(name, Unit::Count, move |cell| Some(pick(cell) as f64))
}

/// A number with its interval.
pub fn estimate<'s>(
    name: &str,
    unit: Unit,
    pick: impl Fn(&CellSummary) -> Option<Estimate> + 's,
) -> Figure<'s> {
    Figure::estimate(name, move |cell| Entry::range(pick(cell), unit))
}
