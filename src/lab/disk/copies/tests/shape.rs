//! How many copies, how many of them must hold a write, and what is waited for.

use std::time::Duration;

use crate::lab::disk::copies::promote::Rule;
use crate::lab::disk::copies::{Ack, Terms, WhenShort};

pub const VOLUME: u64 = 77;
pub const TIMEOUT: Duration = Duration::from_millis(100);

/// N, W and the policies.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub copies: usize,
    /// What the head waits for.
    pub write_quorum: usize,
    /// What whoever promotes takes W to be: the same, but in a control.
    pub promised_quorum: usize,
    pub ack: Ack,
    /// What whoever promotes takes it to be: the same, but in a control.
    pub promised_ack: Ack,
    pub when_short: WhenShort,
}

impl Shape {
    pub fn quorum(copies: usize, write_quorum: usize, ack: Ack) -> Shape {
        Shape {
            copies,
            write_quorum,
            promised_quorum: write_quorum,
            ack,
            promised_ack: ack,
            when_short: WhenShort::Block,
        }
    }

    pub fn mirror(ack: Ack, when_short: WhenShort) -> Shape {
        Shape {
            when_short,
            ..Shape::quorum(2, 2, ack)
        }
    }

    pub fn is_control(&self) -> bool {
        self.write_quorum < self.promised_quorum || self.ack != self.promised_ack
    }

    pub fn terms(&self) -> Terms {
        Terms {
            volume: VOLUME,
            peers: self.copies - 1,
            write_quorum: self.write_quorum,
            ack: self.ack,
            when_short: self.when_short,
            timeout: TIMEOUT,
            unanswered_bytes_max: 64 * 1024,
        }
    }

    pub fn rule(&self, alone_generation: u64) -> Rule {
        Rule {
            volume: VOLUME,
            copies: self.copies,
            write_quorum: self.promised_quorum,
            ack: self.promised_ack,
            when_short: self.when_short,
            alone_generation,
            is_forced: false,
            followers: 0,
        }
    }
}
