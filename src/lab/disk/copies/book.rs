//! What a node knows of its copy besides the blocks themselves.

use std::ops::Range;

/// The unit in which changes are remembered and copies are caught up.
pub const BLOCK_BYTES: u64 = 4096;

/// Names a request to the node's own disk. Never used twice at one node, so that what is over late
/// means nothing to the machine that came after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(in crate::lab::disk) u64);

/// An ended generation of a volume: up to which epoch it is part of what came after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastGeneration {
    pub generation: u64,
    pub last_epoch: u64,
}

/// One head's time in office.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reign {
    /// Zero for none.
    pub volume: u64,
    /// Rises with each promotion; zero for none.
    pub generation: u64,
    /// The generations before it, oldest first. A head that never made an epoch durable has none.
    pub before: Vec<PastGeneration>,
}

impl Reign {
    /// Whether what a copy durably holds is something that this reign, with `sealed` epochs
    /// begun, held at that epoch. If so, later epochs are all that the copy lacks.
    pub fn holds(&self, volume: u64, generation: u64, epoch: u64, sealed: u64) -> bool {
        let past = self.before.iter().find(|of| of.generation == generation);
        let last_epoch = match past {
            Some(past) => past.last_epoch,
            None if generation == self.generation => sealed,
            None => return false,
        };
        volume == self.volume && epoch <= last_epoch
    }

    /// The next reign over the same blocks, if this one's part ends with `last_epoch`.
    pub fn next(&self, volume: u64, generation: u64, last_epoch: u64) -> Reign {
        let mut before = self.before.clone();
        if self.generation > 0 {
            before.push(PastGeneration {
                generation: self.generation,
                last_epoch,
            });
        }
        Reign {
            volume,
            generation,
            before,
        }
    }
}

/// A node's knowledge of its copy. All of it outlives a power cut, as the image's durable layer
/// does.
#[derive(Debug, Clone)]
pub struct Book {
    pub(super) bytes: u64,
    /// Whose data is durable here.
    pub(super) reign: Reign,
    /// Up to which epoch; zero for a blank copy.
    pub(super) epoch: u64,
    /// Heads of an older generation than this are refused.
    pub(super) promised: u64,
    /// The generation that this node led last; zero once it has followed another.
    pub(super) led: u64,
    /// Whether that head heard, before it ended, that a newer generation was promised elsewhere.
    pub(super) is_overruled: bool,
    /// Whether the durable blocks are that epoch's, and nothing else. A power cut that leaves
    /// some later writes ends this.
    pub(super) is_exact: bool,
    /// Whether a head has said that it went on without this copy, and not yet that it counts.
    pub(super) is_behind: bool,
    /// For each block, no less than the epoch in which it last changed; zero: never written. Goes
    /// up only: what a power cut takes back is sent once too often, never too seldom.
    changed: Vec<u64>,
    numbers: u64,
}

impl Book {
    /// Of an image of so many zeros, a copy of nothing yet.
    pub fn blank(bytes: u64) -> Book {
        Book {
            bytes,
            reign: Reign::default(),
            epoch: 0,
            promised: 0,
            led: 0,
            is_overruled: false,
            is_exact: true,
            is_behind: false,
            changed: vec![0; bytes.div_ceil(BLOCK_BYTES) as usize],
            numbers: 0,
        }
    }

    /// Of an image of zeros that takes the place of one that is lost. `promised` is the newest
    /// generation ever asked for: the lost copy may have promised it, and a head that this promise
    /// has shut out must not get in again.
    pub fn replaced(bytes: u64, promised: u64) -> Book {
        Book {
            promised,
            ..Book::blank(bytes)
        }
    }

    /// Of the same node, which knows `later` by now, once its image is again what it was when it
    /// knew this. What it has promised since still stands: so whoever leads the volume next has
    /// another generation than all who led it meanwhile, and none stands for two histories. Nor
    /// does a ticket stand for two requests.
    pub fn gone_back_to(&self, later: &Book) -> Book {
        Book {
            promised: self.promised.max(later.promised),
            numbers: self.numbers.max(later.numbers),
            ..self.clone()
        }
    }

    /// Size of the image.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whose data is durable here, and up to which of its epochs; epoch zero for a blank copy.
    pub fn durable(&self) -> (&Reign, u64) {
        (&self.reign, self.epoch)
    }

    /// Whether it led, with what is durable here, and nobody can have led since, as far as is known
    /// here. If it gave its promise to another generation, or heard of one given, whoever got them
    /// may have led, and gone on alone. If it made nothing durable of its own reign, then what it
    /// took over may have been reported done by a head that went on alone, and be durable there
    /// only.
    pub(super) fn was_last_head(&self) -> bool {
        let is_durable = self.reign.generation == self.led;
        self.led > 0 && self.led == self.promised && !self.is_overruled && is_durable
    }

    /// Heads of an older generation than this are refused.
    pub fn promised(&self) -> u64 {
        self.promised
    }

    /// The durable layer is now exactly what this reign held at that epoch.
    pub(super) fn harden(&mut self, reign: &Reign, epoch: u64) {
        if self.reign != *reign {
            self.reign = reign.clone();
        }
        self.epoch = epoch;
        self.is_exact = true;
    }

    /// Bytes were written in that epoch.
    pub(super) fn mark(&mut self, offset: u64, bytes: u64, epoch: u64) {
        for block in blocks_of(offset, bytes) {
            let changed = &mut self.changed[block as usize];
            *changed = (*changed).max(epoch);
        }
    }

    /// When a block last changed.
    pub(super) fn changed(&self, block: u64) -> u64 {
        self.changed[block as usize]
    }

    /// Blocks that changed after that epoch. After epoch zero: all ever written.
    pub(super) fn changed_after(&self, epoch: u64) -> impl Iterator<Item = u64> {
        let changed = (0..).zip(&self.changed);
        changed
            .filter(move |(_, changed)| **changed > epoch)
            .map(|(block, _)| block)
    }

    /// The bytes of a block; the image's last one may be short.
    pub(super) fn range(&self, block: u64) -> Range<u64> {
        let start = block * BLOCK_BYTES;
        start..self.bytes.min(start + BLOCK_BYTES)
    }

    /// Whether these bytes lie within the image.
    pub(super) fn has(&self, offset: u64, bytes: u64) -> bool {
        let end = offset.checked_add(bytes);
        end.is_some_and(|end| end <= self.bytes)
    }

    /// A number that this node never used before; each is greater than the last.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.numbers += 1;
        Ticket(self.numbers)
    }
}

/// The blocks that so many bytes touch.
pub(super) fn blocks_of(offset: u64, bytes: u64) -> Range<u64> {
    let first = offset / BLOCK_BYTES;
    match bytes {
        0 => first..first,
        _ => first..(offset + bytes).div_ceil(BLOCK_BYTES),
    }
}
