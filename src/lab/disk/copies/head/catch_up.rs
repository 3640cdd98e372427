//! How a copy that lacks something gets it.

use super::super::book::BLOCK_BYTES;
use super::super::peer::{Dirty, Stage};
use super::super::wire::{Message, Welcome};
use super::Head;
use crate::lab::disk::store::Store;

/// Data under way to a copy that is being caught up: enough to fill 100 ms at 80 Mbit/s, or 8 ms
/// at 1 Gbit/s, and little enough that the writer's own data does not wait long behind it.
const RESYNC_WINDOW_BYTES: u64 = 1 << 20;

impl Head {
    /// A copy has said what it holds: all that changed since is sent.
    pub(super) fn welcomed(&mut self, store: &mut Store, peer: usize, welcome: &Welcome) {
        if !matches!(self.peers[peer].stage, Stage::Greeting) {
            return;
        }
        let is_full = !self.can_build_on(welcome);
        let epoch = if is_full { 0 } else { welcome.epoch };
        let dirty = Dirty::of(self.book.changed_after(epoch));
        self.peers[peer].stage = Stage::Filling(dirty);
        self.send(peer, Message::Resync { is_full });
        self.fill(store, peer);
    }

    fn can_build_on(&self, welcome: &Welcome) -> bool {
        let Welcome {
            volume,
            generation,
            epoch,
            is_exact,
        } = *welcome;
        is_exact && self.reign.holds(volume, generation, epoch, self.sealed)
    }

    /// Sends blocks to a copy that lacks some, as many as may be under way. After the last one it
    /// gets writes and flushes as they come; the first flush, of the head's own, makes all of it
    /// durable.
    pub(super) fn fill(&mut self, store: &mut Store, at: usize) {
        let window = RESYNC_WINDOW_BYTES.min(self.terms.unanswered_bytes_max / 2);
        loop {
            let peer = &mut self.peers[at];
            let room = peer.unanswered_bytes() < window;
            let Stage::Filling(dirty) = &mut peer.stage else {
                return;
            };
            if !room {
                return;
            }
            let Some(block) = dirty.take() else {
                break;
            };
            self.send_block(store, at, block);
        }
        let seq = self.written;
        self.send(at, Message::Synced { seq });
        let epoch = self.sealed + 1;
        self.peers[at].stage = Stage::Closing { epoch };
        self.begin_flush(store, None, false);
    }

    fn send_block(&mut self, store: &Store, at: usize, block: u64) {
        let range = self.book.range(block);
        let mut data = [0; BLOCK_BYTES as usize];
        let data = &mut data[..(range.end - range.start) as usize];
        store.read(range.start, data);
        let message = Message::Block {
            epoch: self.book.changed(block),
            offset: range.start,
            data: (&*data).into(),
        };
        self.send(at, message);
    }
}
