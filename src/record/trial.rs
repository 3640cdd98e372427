//! What happened when servers under load were ended on purpose. Transactions go by number.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::study::fault::{Durability, Fault};

/// What clients were told, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    /// "Done."
    pub acknowledged: BTreeSet<u64>,
    /// An error of the server's, which rolled the transaction back.
    pub refused: BTreeSet<u64>,
    /// Nothing: the connection broke while it was on its way.
    pub unanswered: BTreeSet<u64>,
}

/// One server or cluster with one pair of settings, ended again and again in one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub durability: Durability,
    pub fault: Fault,
    /// In the order in which they happened.
    pub cuts: Vec<Cut>,
}

/// One end of the server, and what was there when it was back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// What the clients were told since the end before.
    pub outcomes: Outcomes,
    /// In the table after recovery, and not at the recovery before. Of a cluster: of all nodes that
    /// are left, or of the one that begins it anew.
    pub present: BTreeSet<u64>,
    /// In the binary log after recovery, and not at the recovery before; `None` without a binary
    /// log of whole rows, and where another server takes over, whose own is not looked at.
    pub logged: Option<BTreeSet<u64>>,
    /// In the table at the recovery before, and no more.
    pub vanished: BTreeSet<u64>,
    /// Writes to 4 KiB blocks that the disk lost; none at a SIGKILL.
    pub dropped_writes: u64,
    /// Why the server did not come up again, if it did not: then nothing could be read, and its
    /// data were made anew.
    pub no_start: Option<String>,
    /// From the server's new start, or from when another one or the nodes that are left were to
    /// take over, until it accepted connections, or they could be read.
    pub recovery: Duration,
}
