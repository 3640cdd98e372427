//! Cells by what a study calls its modes, and ratios between them.

use super::{Figure, paired, times};
use crate::analysis::summary::CellSummary;
use crate::record::Flag;

/// The cells of one article's study.
#[derive(Clone, Copy)]
pub struct Cells<'s> {
    pub all: &'s [CellSummary],
}

impl<'s> Cells<'s> {
    /// The first cell of that mode and workload, in the order of the study.
    pub fn of(&self, label: &str, workload: &str) -> Option<&'s CellSummary> {
        self.first(|cell| cell.label == label && cell.workload == workload)
    }

    /// The first cell of which something holds.
    pub fn first(&self, is_it: impl Fn(&CellSummary) -> bool) -> Option<&'s CellSummary> {
        self.all.iter().find(|cell| is_it(cell) && cell.rounds > 0)
    }

    /// All cells of which something holds, in the order of the study.
    pub fn with(&self, is_it: impl Fn(&CellSummary) -> bool) -> Vec<&'s CellSummary> {
        let measured = self.all.iter().filter(|cell| cell.rounds > 0);
        measured.filter(|cell| is_it(cell)).collect()
    }

    /// Time of `above` over that of `below` to run all queries of a load of mysqlslap's.
    pub fn runs(&self, load: &str, above: &str, below: &str) -> Option<Figure> {
        let workload = format!("mysqlslap {load}");
        let run = |label| paired::run(self.of(label, &workload)?);
        let what = format!("{load}: time of {above} over {below}");
        times(what, run(above)?, run(below)?)
    }
}

/// Whether all nodes together had used up this host's CPUs in some round.
pub fn is_host_bound(cell: &CellSummary) -> bool {
    let mut flags = cell.flags.iter();
    flags.any(|count| count.flag == Flag::HostBound)
}

/// All of them, if there is one and none is missing.
pub fn all<T>(items: impl IntoIterator<Item = Option<T>>) -> Option<Vec<T>> {
    let found: Option<Vec<T>> = items.into_iter().collect();
    found.filter(|found| !found.is_empty())
}
