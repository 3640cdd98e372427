//! What happened when faults were injected into servers under load. Transactions go by number.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::study::fault::{Durability, Fault, Moment};

/// What clients were told, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    /// "Done."
    pub acknowledged: BTreeSet<u64>,
    /// An error of the server's that says that the transaction was rolled back. In a record without
    /// `times`: any error.
    pub refused: BTreeSet<u64>,
    /// Nothing that tells: the connection broke while it was on its way, or an error came after
    /// which it may be there or not.
    pub unanswered: BTreeSet<u64>,
    /// When each was begun and answered; none in a record of before they were kept.
    #[serde(default)]
    pub times: Vec<Timed>,
}

/// A transaction's number; when it was begun; when its answer was there, if one came. In µs of one
/// monotonic clock since the load began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed(pub u64, pub u64, pub Option<u64>);

/// Trials of one fault on the servers of one mode with one pair of settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub durability: Durability,
    pub fault: Fault,
    /// In the order in which they happened.
    #[serde(alias = "cuts")]
    pub trials: Vec<Trial>,
}

/// A fault, injected once, and what was there afterwards. What an older record does not hold is
/// `None`: not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Drawn before it.
    #[serde(default)]
    pub moment: Option<Moment>,
    #[serde(default)]
    pub started_unix_ms: u64,
    /// What was seen of the fault itself.
    #[serde(default)]
    pub bite: Option<Bite>,
    /// Of a mode that may go on without the others, whether it did.
    #[serde(default)]
    pub alone: Option<Alone>,
    /// What the clients were told since the trial before.
    pub outcomes: Outcomes,
    /// In the table after recovery, and not at the recovery before. Of a cluster: of all nodes that
    /// are left, or of the one that begins it anew; of a source that is lost: on the replica that
    /// takes its place.
    pub present: BTreeSet<u64>,
    /// On another replica that is left, and not on that one.
    #[serde(default)]
    pub elsewhere: BTreeSet<u64>,
    /// In the binary log after recovery, and not at the recovery before; `None` without a binary
    /// log of whole rows, and where another server takes over, whose own is not looked at.
    pub logged: Option<BTreeSet<u64>>,
    /// Why the binary log could not be read, though there is one.
    #[serde(default)]
    pub log_unread: Option<String>,
    /// In the table at the recovery before, and no more.
    pub vanished: BTreeSet<u64>,
    /// Writes to 4 KiB blocks that the disks lost; none at a SIGKILL.
    pub dropped_writes: u64,
    /// The server's own words, where it ended by itself for what it found in its data. Nothing
    /// could be read then, and its data were made anew.
    #[serde(default)]
    pub refused: Option<String>,
    /// Why nothing could be read, where that is the lab's doing, or not known to be the server's:
    /// an older record does not tell them apart.
    #[serde(default, alias = "no_start")]
    pub unread: Option<String>,
    /// From the server's new start, or from when another one or the nodes that are left were to
    /// take over, until it accepted connections, or they could be read.
    pub recovery: Duration,
}

/// What was seen of a fault: whether it befell what it was meant to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bite {
    /// Servers that ran where it was injected, and those whose process was gone then.
    pub servers: u32,
    pub servers_ended: u32,
    /// Whether an echo from there was answered before the links were cut, and none after; `None`
    /// where no link is cut.
    pub links_silent: Option<bool>,
    /// Disks that were to lose their power, and those that said that they did.
    pub disks: u32,
    pub disks_frozen: u32,
    /// How much later than the one moment that all were given the last of them did, in µs.
    pub freeze_late_us_max: u64,
    /// When links were cut, and when the power went or the server was killed; in µs since the load
    /// began. Answers after the second were not counted.
    pub links_cut_us: Option<u64>,
    pub ended_us: u64,
}

/// Whether a source or a head went on without the others, by its own counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alone {
    Never,
    /// After the links were cut, and before the power went.
    SinceLinksWereCut,
    /// Some time before.
    Before,
}
