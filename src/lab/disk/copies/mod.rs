//! Synchronous block copies: a volume of which every node holds a copy, and one node writes.
//!
//! - here: the words that all parts share
//! - `book`: what a node knows of its copy besides the blocks
//! - `head`, `peer`: the machine at the writer; `copy`: the one everywhere else
//! - `wire`: what they say to each other; `transport`: how it gets there
//! - `role`: either machine, and how a node turns from one into the other
//! - `promote`: which copy may take over
//!
//! The machines know no clock, no socket and no thread: they are told what happened and answer
//! with [`Action`]s, which whoever drives them carries out in order.
//!
//! **What holds.** The head numbers its flushes: these are the volume's *epochs*. At any time each
//! copy is durable at exactly what the head held when some epoch's flush began, and it knows
//! which. A copy that came back counts for no quorum until it has caught up, and what it is sent
//! meanwhile becomes durable in one step. With W over half of N and R = N - W + 1: once R copies
//! have promised to obey a newer generation only, one of them has every flush that was
//! reported done, and the old head has too few to finish another.
//!
//! What a write is worth that was done ([`Ack::Write`]) and not flushed: it is in the memory of W
//! nodes, and outlives the head's if one of the others is promoted that kept its power and
//! was not being caught up.

mod book;
mod copy;
mod head;
mod peer;
pub mod promote;
mod role;
#[cfg(test)]
mod tests;
pub mod transport;
pub mod wire;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use book::{Book, PastGeneration, Reign};
pub use copy::Copy;
pub use head::Head;
pub use role::Role;
use wire::Message;

use super::pace::Kind;
pub use crate::study::mode::{Ack, WhenShort};

/// Signs of life asked for in each timeout: one or two may come late.
const PINGS: u32 = 4;

/// What a head serves, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Tells volumes apart; not zero, which stands for none.
    pub volume: u64,
    /// Copies besides the head's own: N - 1.
    pub peers: usize,
    /// W: copies, the head's own included, that a request waits for.
    pub write_quorum: usize,
    pub ack: Ack,
    /// `Degrade` is for mirrors, N = 2 and W = 2.
    pub when_short: WhenShort,
    /// A peer that says nothing for so long is taken for lost.
    pub timeout: Duration,
    /// A peer that leaves more than this unanswered is dropped, and caught up later.
    pub unanswered_bytes_max: u64,
}

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Link {
    /// From a head to one of its peers, numbered from 0; the same whenever it is made again.
    Peer(usize),
    /// Answered by a node, numbered as they come.
    Caller(usize),
}

/// Names a request to the node's own disk. Never used twice at one node, so that what is over late
/// means nothing to the machine that came after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(super) u64);

/// What whoever drives a machine has to do, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Send {
        to: Link,
        message: Message,
    },
    /// The connection is of no use any more. Nothing that still comes from it is to be handed in.
    HangUp {
        link: Link,
    },
    /// The node's own disk begins a request; `over` is to be called with the ticket when its time
    /// is over. A flush takes no less than the requests begun before it. Without a ticket, the
    /// time counts and its end matters to nobody.
    Begin {
        ticket: Option<Ticket>,
        kind: Kind,
        bytes: u64,
    },
    /// A request of the writer is done.
    Complete {
        request: u64,
    },
    /// A request of the writer has failed, as all later ones will.
    Fail {
        request: u64,
    },
    /// Something for the record.
    Report(Change),
}

/// What befell a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Its reach is another since `at`.
    Reach { at: Duration, reach: Reach },
    /// A copy has promised to obey a newer generation only. All I/O fails from now on.
    Fenced { at: Duration, generation: u64 },
    /// A copy's image is not as large as the head's; it will never count.
    Unfit { peer: usize, bytes: u64 },
}

/// How many whole copies a head has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// W or more.
    Enough,
    /// Fewer: requests wait.
    Short,
    /// Fewer, and the head goes on without.
    Alone,
}
