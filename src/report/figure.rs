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
    /// Its places in tables, from left to right, and its titles there.
    pub shown: Vec<Place>,
    /// How it comes from a cell.
    pub entry: Box<dyn Fn(&CellSummary) -> Entry + 's>,
}

/// Where a figure stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub part: Part,
    /// From left to right.
    pub column: u32,
    pub title: Title,
}

/// The tables of a group of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The first table of commits that come one at a time onto idle machines; what it shows, the
    /// table of costs below it need not.
    Paced,
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
    /// What it adds to that.
    Adds,
}

/// Figures that belong together.
pub type Figures<'s> = Vec<Figure<'s>>;

impl<'s> Figure<'s> {
    /// A figure without an interval, in no table.
    pub fn new(name: &str, entry: impl Fn(&CellSummary) -> Entry + 's) -> Figure<'s> {
        Figure {
            name: name.to_owned(),
            is_estimate: false,
            shown: vec![],
            entry: Box::new(entry),
        }
    }

    /// A figure with an interval, in no table.
    pub fn estimate(name: &str, entry: impl Fn(&CellSummary) -> Entry + 's) -> Figure<'s> {
        Figure {
            is_estimate: true,
            ..Figure::new(name, entry)
        }
    }

    /// It stands in one more table.
    pub fn at(self, part: Part, column: u32, title: &str) -> Figure<'s> {
        self.titled(part, column, Title::Is(title.to_owned()))
    }

    /// It stands in one more table, under a title that the table knows.
    pub fn titled(mut self, part: Part, column: u32, title: Title) -> Figure<'s> {
        self.shown.push(Place {
            part,
            column,
            title,
        });
        self
    }

    /// Where it stands in that part.
    pub fn place(&self, part: Part) -> Option<&Place> {
        self.shown.iter().find(|place| place.part == part)
    }
}

/// Words.
pub fn words<'s, W: Into<String>>(name: &str, pick: impl Fn(&CellSummary) -> W + 's) -> Figure<'s> {
    Figure::new(name, move |cell| Entry::Words(pick(cell).into()))
}

/// A number, if there is one.
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

/// A number with its interval as a range.
pub fn estimate<'s>(
    name: &str,
    unit: Unit,
    pick: impl Fn(&CellSummary) -> Option<Estimate> + 's,
) -> Figure<'s> {
    Figure::estimate(name, move |cell| Entry::range(pick(cell), unit))
}
