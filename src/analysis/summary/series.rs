//! What became of acknowledged commits when servers were ended, and what was promised.

use serde::Serialize;

use crate::study::fault::{Durability, Fault};

/// What became of one mode's commits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeSeries {
    pub label: String,
    pub server: String,
    pub mode: String,
    #[serde(flatten)]
    pub series: SeriesSummary,
}

/// A series, judged. Counts of transactions, where nothing else is said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesSummary {
    #[serde(flatten)]
    pub durability: Durability,
    pub fault: Fault,
    /// Trials.
    pub trials: usize,
    /// In trials after which something could be read, or the server refused to start.
    pub acknowledged: usize,
    /// Acknowledged and missing.
    pub lost: usize,
    /// Of these, acknowledged while a promise was given.
    pub lost_promised: usize,
    /// Trials.
    pub trials_with_loss: usize,
    /// Where none was lost: the share of such faults that may take something all the same, at most,
    /// with 95 % confidence (Clopper and Pearson, Biometrika 26, 1934: 1 - 0.05^(1/n) of n trials).
    pub loss_share_max: Option<f64>,
    /// Trials after which the server itself refused to start: nothing of it could be read.
    pub no_start: usize,
    /// What it said then, one for each such trial.
    pub refusals: Vec<String>,
    /// Why nothing could be read after others, which is not the server's doing or not known to be:
    /// what was acknowledged in them is in no count.
    pub unread: Vec<String>,
    /// Acknowledged and missing, though another that was begun after that is present. `None` in a
    /// record without times.
    pub holes: Option<usize>,
    /// Never answered and present: innocent.
    pub recovered: usize,
    /// Present though refused or never sent, or read and later gone.
    pub phantom: usize,
    /// In the table after recovery, and not in the binary log: replicas would never get them.
    /// `None` without a binary log of whole rows.
    pub only_in_table: Option<usize>,
    /// In the binary log after recovery, and not in the table: only replicas would have them.
    pub only_in_log: Option<usize>,
    /// Of a lost source: on another replica, and not on the one that takes its place.
    pub only_elsewhere: usize,
    /// On their way when the fault came.
    pub in_flight: usize,
    /// Trials in which the source, or the volume, had gone on alone before its power went.
    pub trials_alone: usize,
    /// Writes to 4 KiB blocks that the disks lost.
    pub dropped_writes: u64,
    /// From the server's start until it accepted connections: the longest.
    pub recovery_s_max: f64,
    pub promise: Promise,
    /// What was missing to decide.
    pub missing: Vec<String>,
    pub verdict: Verdict,
}

/// What came of a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Kept,
    Broken,
    /// Mode and settings promise nothing for this fault, and something was lost;
    LostNoPromise,
    /// or nothing was.
    NoneLostNoPromise,
    /// [`SeriesSummary::missing`] says what was missing to know.
    Undecided,
}

impl Verdict {
    /// What tables say.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Kept => "kept",
            Verdict::Broken => "BROKEN",
            Verdict::LostNoPromise => "lost, no promise",
            Verdict::NoneLostNoPromise => "none lost, no promise",
            Verdict::Undecided => "undecided",
        }
    }
}

/// Whether each acknowledged commit must be there after a fault, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Promise {
    pub is_given: bool,
    /// It holds only for as long as the server, or its volume, has not gone on alone.
    pub unless_alone: bool,
    pub reason: Reason,
}

/// Why a promise is given, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    HandedOver,
    NotHandedOver,
    Flushed,
    NotFlushed,
    ReceivedElsewhere,
    NotReceivedElsewhere,
    HeldByAllNodes,
    HeldElsewhere,
    HeldInOneSite,
    NotBuilt,
}

impl Reason {
    /// In a sentence after "promised:" or "not promised:".
    pub fn words(self) -> &'static str {
        match self {
            Reason::HandedOver => "each commit is handed to the operating system first",
            Reason::NotHandedOver => "with flush_log 0 a commit can be in the server's memory only",
            Reason::Flushed => "each commit is flushed first, in both logs where there are two",
            Reason::NotFlushed => "not every commit is flushed first, in both logs",
            Reason::ReceivedElsewhere => "a replica in another site has received each commit",
            Reason::NotReceivedElsewhere => "no replica in another site need have received it",
            Reason::HeldByAllNodes => "all nodes have received each commit",
            Reason::HeldElsewhere => "a copy in another site holds what is flushed",
            Reason::HeldInOneSite => "the copies in one site alone may hold what is flushed",
            Reason::NotBuilt => "what takes over from such a mode is not built",
        }
    }
}
