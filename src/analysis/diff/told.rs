//! What can be said of two records: plain types. Written as JSON they are a stable interface;
//! docs/record.md documents every key.

use serde::Serialize;

use super::limit::Limit;
use super::quantity::Quantity;
use crate::analysis::summary::{Estimate, FlagCount};
use crate::analysis::worth;

/// One of the two records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Which {
    A,
    B,
}

impl Which {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Which::A => "A",
            Which::B => "B",
        }
    }
}

/// Two records, held against each other. A is what was, B what is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    pub a: Side,
    pub b: Side,
    /// Both are of one and the same run.
    pub is_same_run: bool,
    /// What is called alike lies within this share of 1.
    pub alike_within: f64,
    /// By what share runs of one build stray from each other at least: a standard deviation.
    pub between_runs: f64,
    /// How the runs differ, but for their figures.
    pub differs: Vec<Difference>,
    pub counts: Counts,
    /// Worse ones first, then better, then those that cannot be told, then those alike.
    pub figures: Vec<Figure>,
    /// What was lost after faults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<TrialsHeld>,
    /// What became of each limit that was set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitCame>,
    /// What one record alone has.
    pub only_in_a: Vec<Place>,
    pub only_in_b: Vec<Place>,
    /// What both have and nobody can compare. A sentence each.
    pub not_compared: Vec<String>,
}

/// A record, and the run that it is of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// What it was opened by.
    pub record: String,
    pub study: String,
    pub started_unix_ms: u64,
    pub finished: bool,
    /// Rounds in which anything was measured.
    pub rounds: u32,
    pub acklab_version: String,
}

/// Something that the runs do not have alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    pub what: String,
    pub a: String,
    pub b: String,
}

/// How many figures have each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub figures: usize,
    pub worse: usize,
    pub better: usize,
    pub alike: usize,
    pub cannot_tell: usize,
}

/// What tables call a cell, or a row of the anatomy. Nothing is decided by it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Place {
    pub label: String,
    pub workload: String,
    /// Absent of what is told of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distances: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disks: Option<String>,
    /// Where it is not the writer's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_site: Option<String>,
    /// What it has otherwise than the cell before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<String>,
}

/// One quantity at one place, in both records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    pub verdict: Verdict,
    /// Why it cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<Open>,
    pub quantity: Quantity,
    #[serde(flatten)]
    pub place: Place,
    /// What B calls the row, where it is another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_b: Option<String>,
    /// Medians over rounds; where either record is of several machines, over machines.
    pub a: Option<f64>,
    pub b: Option<f64>,
    /// Rounds that have a figure.
    pub rounds_a: usize,
    pub rounds_b: usize,
    /// B over A; absent of round trips, which may be zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Estimate>,
    /// B less A, of round trips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Estimate>,
    /// By what share, or how many round trips, B would have to be more for four of five such pairs
    /// to show it as one of so many figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_shown: Option<f64>,
    /// Whether A or B waited for the host's CPUs so much that it tells of the host.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
    /// Doubts, void measurements included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags_a: Vec<FlagCount>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags_b: Vec<FlagCount>,
}

/// What B is, held against A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Worse,
    Better,
    CannotTell,
    Alike,
}

/// Why nobody can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Open {
    /// A record has the cell in one round only, and so no interval.
    OneRound(Which),
    /// A record lacks the figure: not measured, or too little of it.
    Lacks(Which),
    /// Some round of a record lacks it: those that are left say nothing of that one.
    LacksInARound(Which),
    /// Several machines measured a record, and one of the two has fewer than tell how machines
    /// stray.
    SeveralMachines,
    /// It has a value of zero, and so no ratio.
    Zero,
    /// Alone it would be a difference, as one of so many it may be chance.
    AsOneOfMany,
    /// Its interval holds both no difference and one that matters.
    Wide,
}

/// Trials of one fault on the servers of one mode, in both records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialsHeld {
    pub verdict: Verdict,
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_b: Option<String>,
    pub fault: String,
    pub a: Losses,
    pub b: Losses,
    /// How often trials of one and the same part so far by chance (Fisher's exact test, two-sided);
    /// absent where a record is undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
}

/// How many trials lost something.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Losses {
    pub with_loss: usize,
    /// Of these: those with a loss, and those that are conclusive without one.
    pub trials: usize,
    /// Ends of the share of such faults that lose something, as a record's report has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_share_min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_share_max: Option<f64>,
    pub verdict: worth::Verdict,
}

/// What became of a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitCame {
    #[serde(flatten)]
    pub limit: Limit,
    pub verdict: LimitVerdict,
    /// Indices into the figures: where it is exceeded, and where nobody can tell.
    pub exceeded: Vec<usize>,
    pub open: Vec<usize>,
    /// In how many it is kept.
    pub kept: usize,
}

/// Whether a limit is kept in all cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitVerdict {
    Exceeded,
    CannotTell,
    Kept,
}
