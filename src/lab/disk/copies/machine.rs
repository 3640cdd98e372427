//! What a machine is held to, and what it answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::book::Ticket;
use super::wire::Message;
use crate::lab::disk::pace::Kind;
use crate::study::mode::{Ack, WhenShort};

/// Signs of life asked for in each timeout: one or two may come late.
pub const PINGS: u32 = 4;

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
    /// `Degrade` and `Error` are for mirrors, N = 2 and W = 2.
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
    /// A request of the writer has failed. What it wrote may be there all the same.
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
    /// Fewer: requests wait, or fail.
    Short,
    /// Fewer, and the head goes on without.
    Alone,
}
