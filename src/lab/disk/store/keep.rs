//! An image that can be gone back to: only blocks that have changed since are put back.

use super::{Store, block_range, durable_block};

impl Store {
    /// As it is now the disk can be gone back to, and no more to what was kept before. All that is
    /// volatile becomes durable.
    ///
    /// From then on what a block held is set aside before it changes for the first time: this takes
    /// memory for as much as is changed.
    pub fn keep(&mut self) {
        let epoch = self.seal();
        self.harden(epoch);
        self.past.begin();
    }

    /// All is as it was when it was kept, as often as one likes; how many blocks were put back.
    /// What is volatile is gone, and flushes and writes that were under way can no longer harden
    /// anything. `None`, and nothing is done, if nothing was kept.
    pub fn go_back(&mut self) -> Option<u64> {
        let changed = self.past.take_changes()?;
        self.drop_volatile();
        let blocks = changed.len() as u64;
        for (block, before) in changed {
            self.past.mark(block, before.is_some());
            let durable = durable_block(&mut self.durable, block);
            match before {
                Some(image) => durable.copy_from_slice(&image[..]),
                None => durable.fill(0),
            }
        }
        Some(blocks)
    }

    /// All is gone: zeros, as of a new disk. What was kept can still be gone back to, and takes
    /// memory for all that it holds from now on.
    pub fn wipe(&mut self) {
        self.drop_volatile();
        for block in self.past.written_blocks() {
            self.past.note(block, &self.durable[block_range(block)]);
            durable_block(&mut self.durable, block).fill(0);
            self.past.mark(block, false);
        }
    }

    fn drop_volatile(&mut self) {
        for versions in self.take_volatile().into_values() {
            self.pages.give_back(versions);
        }
    }
}
