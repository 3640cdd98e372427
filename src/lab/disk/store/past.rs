//! What the durable blocks of a disk were when its image was kept.

use std::collections::BTreeMap;

use super::cut::BLOCK_BYTES;

/// What a block held then: `None` for zeros that nobody had ever written.
pub(super) type Before = Option<Box<[u8; BLOCK_BYTES]>>;

/// Blocks as they were, of those only that have changed since: going back costs what was changed,
/// not what there is.
pub(super) struct Past {
    /// A bit for each block that has been written. All others are zeros, and are not read for that:
    /// it would make pages of a sparse image real.
    written: Vec<u64>,
    /// `None` where no image was kept.
    pub(super) before: Option<BTreeMap<u64, Before>>,
}

impl Past {
    /// Of a disk of so many bytes, all zeros.
    pub(super) fn of(bytes: u64) -> Past {
        let blocks = bytes.div_ceil(BLOCK_BYTES as u64);
        Past {
            written: vec![0; blocks.div_ceil(u64::BITS.into()) as usize],
            before: None,
        }
    }

    /// As the disk is now it can be gone back to.
    pub(super) fn begin(&mut self) {
        self.before = Some(BTreeMap::new());
    }

    /// To be told before a durable block changes, with what it holds.
    pub(super) fn note(&mut self, block: u64, held: &[u8]) {
        let was_written = self.is_written(block);
        self.mark(block, true);
        if let Some(before) = &mut self.before {
            let image = || was_written.then(|| boxed(held));
            before.entry(block).or_insert_with(image);
        }
    }

    /// What the blocks held that have changed since; from now on none has. `None` where no image
    /// was kept.
    pub(super) fn take_changes(&mut self) -> Option<BTreeMap<u64, Before>> {
        self.before.as_mut().map(std::mem::take)
    }

    /// A block that is not written is known to be zeros.
    pub(super) fn mark(&mut self, block: u64, is_written: bool) {
        let (word, bit) = place(block);
        match is_written {
            true => self.written[word] |= bit,
            false => self.written[word] &= !bit,
        }
    }

    /// In the order of their numbers.
    pub(super) fn written_blocks(&self) -> Vec<u64> {
        let blocks = 0..self.written.len() as u64 * u64::from(u64::BITS);
        blocks.filter(|block| self.is_written(*block)).collect()
    }

    fn is_written(&self, block: u64) -> bool {
        let (word, bit) = place(block);
        self.written[word] & bit != 0
    }
}

/// The word that holds a block's bit, and the bit.
fn place(block: u64) -> (usize, u64) {
    let bits = u64::from(u64::BITS);
    ((block / bits) as usize, 1 << (block % bits))
}

fn boxed(held: &[u8]) -> Box<[u8; BLOCK_BYTES]> {
    let mut image = Box::new([0; BLOCK_BYTES]);
    image.copy_from_slice(held);
    image
}
