//! What a head knows of one other copy.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

/// One of the other copies, as seen by the head.
#[derive(Debug)]
pub struct Peer {
    pub stage: Stage,
    /// When it last gave a sign of life.
    pub heard_at: Duration,
    /// The last write that it has said it received, and the last epoch that it has said is durable,
    /// since it connected.
    pub received: u64,
    pub durable: u64,
    /// Data bytes since it connected: sent, and those of which it has said that they came.
    sent_bytes: u64,
    answered_bytes: u64,
}

/// How far a copy has come.
#[derive(Debug)]
pub enum Stage {
    /// No connection, or none that can still be used.
    Away,
    /// Connected, and asked what it holds.
    Greeting,
    /// It gets the blocks that it lacks; writes only add to them.
    Filling(Dirty),
    /// It has got them all, and all writes since, but has not yet made this epoch durable.
    Closing { epoch: u64 },
    /// It has all, and counts.
    Whole,
}

impl Peer {
    /// A peer that has not connected yet.
    pub fn away(now: Duration) -> Peer {
        Peer {
            stage: Stage::Away,
            heard_at: now,
            received: 0,
            durable: 0,
            sent_bytes: 0,
            answered_bytes: 0,
        }
    }

    /// It has connected; nothing that was true of an earlier connection is of this one.
    pub fn greet(&mut self, now: Duration) {
        *self = Peer {
            stage: Stage::Greeting,
            ..Peer::away(now)
        };
    }

    pub fn is_away(&self) -> bool {
        matches!(self.stage, Stage::Away)
    }

    pub fn is_whole(&self) -> bool {
        matches!(self.stage, Stage::Whole)
    }

    /// Whether it gets writes and flushes as they come.
    pub fn is_live(&self) -> bool {
        matches!(self.stage, Stage::Closing { .. } | Stage::Whole)
    }

    /// Data bytes of which it has not yet said that they came.
    pub fn unanswered_bytes(&self) -> u64 {
        self.sent_bytes.saturating_sub(self.answered_bytes)
    }

    pub fn sent(&mut self, bytes: u64) {
        self.sent_bytes += bytes;
    }

    pub fn answered(&mut self, seq: u64, bytes: u64) {
        self.received = self.received.max(seq);
        self.answered_bytes = self.answered_bytes.max(bytes);
    }
}

/// Blocks that a copy lacks. They are taken round and round, so that one which is written all the
/// time does not keep the others waiting.
#[derive(Debug, Default)]
pub struct Dirty {
    blocks: BTreeSet<u64>,
    next: u64,
}

impl Dirty {
    pub fn of(blocks: impl Iterator<Item = u64>) -> Dirty {
        Dirty {
            blocks: blocks.collect(),
            next: 0,
        }
    }

    pub fn add(&mut self, blocks: Range<u64>) {
        self.blocks.extend(blocks);
    }

    /// The next block to be sent; `None` when there is none left.
    pub fn take(&mut self) -> Option<u64> {
        let onward = self.blocks.range(self.next..).next();
        let block = *onward.or_else(|| self.blocks.first())?;
        self.blocks.remove(&block);
        self.next = block + 1;
        Some(block)
    }
}
