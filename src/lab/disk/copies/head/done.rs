//! When a request is done.

use std::collections::VecDeque;

use super::super::Ack;
use super::super::book::Ticket;
use super::super::machine::{Action, Reach};
use super::super::peer::Peer;
use super::{Flush, Head, Write};

impl Head {
    /// Whether a flush that begins now is done as soon as it is on the head's own disk.
    ///
    /// All writes done before it are in the memory of the other copy then: each of them waited for
    /// that, but for those that commit a journal, and these are known to be durable there.
    pub(super) fn may_flush_alone(&self) -> bool {
        self.terms.ack == Ack::ProtocolC
            && self.reach == Reach::Enough
            && self.commit_epoch <= self.durable_epoch()
    }

    /// Completes what enough copies have.
    pub(super) fn settle(&mut self) {
        let (durable, own) = (self.durable_epoch(), self.book.epoch);
        let flushes = std::mem::take(&mut self.flushes);
        let is_done = |flush: &Flush| match flush.is_local {
            true => flush.epoch <= own,
            false => flush.epoch <= durable,
        };
        let (done, left): (VecDeque<Flush>, _) = flushes.into_iter().partition(is_done);
        self.flushes = left;
        self.complete(done.into_iter().filter_map(|flush| flush.request));
        let received = Ticket(self.received());
        let is_done = |(ticket, write): &(&Ticket, &Write)| {
            write.is_over && (**ticket <= received || write.is_left_to_flush)
        };
        let done: Vec<Ticket> = self
            .writes
            .iter()
            .filter(is_done)
            .map(|(ticket, _)| *ticket)
            .collect();
        let done = done.iter().filter_map(|ticket| self.writes.remove(ticket));
        let done: Vec<u64> = done.map(|write| write.request).collect();
        self.complete(done);
    }

    fn complete(&mut self, requests: impl IntoIterator<Item = u64>) {
        let complete = |request| Action::Complete { request };
        self.out.extend(requests.into_iter().map(complete));
    }

    /// The last epoch that enough copies hold on their disks.
    fn durable_epoch(&self) -> u64 {
        self.mark(self.book.epoch, |peer| peer.durable)
    }

    /// The last write that need not be waited for any more, but for the head's own disk.
    fn received(&self) -> u64 {
        match self.terms.ack {
            Ack::Write | Ack::ProtocolC => self.mark(u64::MAX, |peer| peer.received),
            Ack::Flush => u64::MAX,
        }
    }

    /// The greatest number that as many whole copies as are needed have reached.
    fn mark(&self, own: u64, of: impl Fn(&Peer) -> u64) -> u64 {
        let whole = self.peers.iter().filter(|peer| peer.is_whole());
        let mut marks: Vec<u64> = whole.map(of).chain([own]).collect();
        marks.sort_unstable_by(|a, b| b.cmp(a));
        let needed = self.needed().max(1);
        marks.get(needed - 1).copied().unwrap_or(0)
    }

    /// Copies that a request waits for now.
    fn needed(&self) -> usize {
        match self.reach {
            Reach::Alone => 1,
            Reach::Enough | Reach::Short => self.terms.write_quorum,
        }
    }
}
