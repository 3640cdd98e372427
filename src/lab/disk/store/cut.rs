//! What a power cut leaves of a block's volatile versions, as a pure draw.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::study::disk::PowerCut;

/// What a version is an image of: the unit of ext4 and of the page cache.
pub const BLOCK_BYTES: usize = 4096;

/// An amount of volatile writing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Writes to single 4 KiB blocks: a write of 16 KiB is four or five.
    pub writes: u64,
    /// Bytes written, a byte written twice counted twice.
    pub bytes: u64,
}

impl Amount {
    pub(super) fn add(&mut self, more: Amount) {
        self.writes += more.writes;
        self.bytes += more.bytes;
    }
}

/// What became of the writes that were volatile at a cut. Each is counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutReport {
    /// Reached the disk, if only to be overwritten by a later one that also did.
    pub kept: Amount,
    /// Left no trace.
    pub dropped: Amount,
    /// Reached the disk in some sectors of their block.
    pub torn: Amount,
}

impl CutReport {
    /// Adds the versions of one block, oldest first.
    pub(super) fn add(&mut self, versions: impl Iterator<Item = Amount>, left: &Left) {
        for (at, amount) in versions.enumerate() {
            let kind = match at {
                _ if at < left.reached => &mut self.kept,
                _ if at == left.reached && left.is_torn() => &mut self.torn,
                _ => &mut self.dropped,
            };
            kind.add(amount);
        }
    }
}

/// What is left of one block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// How many of its versions reached the disk: the last of these is there.
    pub(super) reached: usize,
    /// Which sectors show the version after it, the first sector being the lowest bit.
    torn: u8,
    sector_bytes: usize,
}

impl Left {
    fn whole(reached: usize) -> Left {
        Left {
            reached,
            torn: 0,
            sector_bytes: BLOCK_BYTES,
        }
    }

    fn is_torn(&self) -> bool {
        self.torn != 0
    }

    /// Whether the block is another than it was.
    pub(super) fn is_something(&self) -> bool {
        self.reached > 0 || self.is_torn()
    }

    /// The bytes of the block that show the next version.
    pub(super) fn torn_sectors(&self) -> impl Iterator<Item = Range<usize>> {
        let sectors = 0..sectors_in_block(self.sector_bytes);
        let torn = sectors.filter(|sector| self.torn & (1 << sector) != 0);
        torn.map(|sector| {
            let start = sector as usize * self.sector_bytes;
            start..(start + self.sector_bytes).min(BLOCK_BYTES)
        })
    }
}

fn sectors_in_block(sector_bytes: usize) -> u32 {
    BLOCK_BYTES.div_ceil(sector_bytes) as u32
}

/// Decides for each block. A block's draw depends on the seed, its number and how many versions it
/// has, not on other blocks.
pub(super) struct Lot {
    cut: PowerCut,
    /// How likely each step from one version to the next reached the disk. Drawn once, so that
    /// some cuts lose nearly all and some nearly nothing; a fair coin for each block would
    /// hardly ever come near either end.
    luck: f64,
}

impl Lot {
    pub(super) fn new(cut: PowerCut) -> Lot {
        let luck = match cut {
            PowerCut::DropAll => 0.0,
            PowerCut::KeepAll => 1.0,
            PowerCut::Random { seed } | PowerCut::Torn { seed, .. } => stream(seed, 0).random(),
        };
        Lot { cut, luck }
    }

    /// What is left of a block with so many volatile versions.
    pub(super) fn draw(&self, block: u64, versions: usize) -> Left {
        match self.cut {
            PowerCut::DropAll => Left::whole(0),
            PowerCut::KeepAll => Left::whole(versions),
            PowerCut::Random { seed } => self.reach(&mut stream(seed, block + 1), versions),
            PowerCut::Torn { seed, sector_bytes } => {
                let mut chance = stream(seed, block + 1);
                let left = self.reach(&mut chance, versions);
                if left.reached < versions {
                    tear(left, &mut chance, sector_bytes)
                } else {
                    left
                }
            }
        }
    }

    fn reach(&self, chance: &mut ChaCha8Rng, versions: usize) -> Left {
        let reached = (0..versions).filter(|_| chance.random_bool(self.luck));
        Left::whole(reached.count())
    }
}

/// Tears half of the blocks. Sectors are 512 to 4096 bytes; with 4096, a block is one sector and
/// stays whole.
fn tear(left: Left, chance: &mut ChaCha8Rng, sector_bytes: u32) -> Left {
    let sector_bytes = (sector_bytes as usize).clamp(512, BLOCK_BYTES);
    let sectors = sectors_in_block(sector_bytes);
    if sectors == 1 || chance.random_bool(0.5) {
        return left;
    }
    // Neither none of the sectors nor all.
    let all = u8::MAX >> (u8::BITS - sectors);
    Left {
        torn: chance.random_range(1..all),
        sector_bytes,
        ..left
    }
}

fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    chance.set_stream(number);
    chance
}
