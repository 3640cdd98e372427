//! Synchronous block copies: a volume of which every node holds a copy, and one node writes.
//!
//! - `machine`: the words that all parts share
//! - `book`: what a node knows of its copy besides the blocks
//! - `head`, `peer`: the machine at the writer; `copy`: the one everywhere else
//! - `journal`: which blocks commit a file system's journal
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
//! With [`Ack::ProtocolC`], for mirrors, a flush that was done is durable at the head, and in the
//! other copy's memory: it is there unless that lost its power, or is being caught up.
//!
//! What a write is worth that was done ([`Ack::Write`]) and not flushed: it is in the memory of W
//! nodes, and outlives the head's if one of the others is promoted that kept its power and
//! was not being caught up.

mod book;
mod copy;
mod head;
mod journal;
mod machine;
mod peer;
pub mod promote;
mod role;
#[cfg(test)]
mod tests;
pub mod transport;
pub mod wire;

pub use book::{Book, PastGeneration, Reign, Ticket};
pub use copy::Copy;
pub use head::Head;
pub use machine::{Action, Change, Link, Reach, Terms};
pub use role::Role;

pub use crate::study::mode::{Ack, WhenShort};
