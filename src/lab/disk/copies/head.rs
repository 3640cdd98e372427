//! The copy at the writer: what it tells the others, and when a request is done.

mod catch_up;
mod done;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::book::{Book, Reign, Ticket, blocks_of};
use super::journal;
use super::machine::{Action, Change, Link, PINGS, Reach, Terms};
use super::peer::{Peer, Stage};
use super::wire::{Hello, Message};
use super::{Ack, WhenShort};
use crate::lab::disk::pace::Kind;
use crate::lab::disk::store::{Epoch, Store, WriteNumber};

/// How often a copy that is not waited for write by write says what it has received.
const ANSWER_BYTES: u64 = 64 * 1024;

/// The machine at the writer. The store it is given is the node's own copy, always the same.
///
/// With [`WhenShort::Degrade`] it goes on alone no sooner than one timeout after it last heard the
/// other copy, and no sooner than one timeout after it began: a copy that can show that it was
/// heard less than that ago ([`super::promote::Touch::Proven`]) has all that was ever reported
/// done. A copy that was left behind and cannot be reached does not know it; all that can
/// be said then is that it cannot show the opposite, and it is not promoted unless by force.
///
/// With [`WhenShort::Error`] requests fail from then on, those under way too. Nothing is reported
/// done that the other copy has not, so either of them has all that ever was.
#[derive(Debug)]
pub struct Head {
    terms: Terms,
    book: Book,
    reign: Reign,
    peers: Vec<Peer>,
    /// The last write, and the last epoch begun.
    written: u64,
    sealed: u64,
    /// Not yet done, by ticket, which is also the write's number on the wire.
    writes: BTreeMap<Ticket, Write>,
    /// Not yet done, by epoch.
    flushes: VecDeque<Flush>,
    /// The first epoch with all blocks that commit a journal; zero before the first such block.
    commit_epoch: u64,
    /// Not yet durable here.
    own_flushes: VecDeque<OwnFlush>,
    reach: Reach,
    /// From when the time to going on alone, or to failing, counts.
    short_since: Duration,
    /// It has too few copies, and was told to fail then.
    is_failing: bool,
    fenced_by: Option<u64>,
    out: Vec<Action>,
}

#[derive(Debug)]
struct Write {
    request: u64,
    number: WriteNumber,
    /// Whether its local time is over.
    is_over: bool,
    /// The flush behind it waits for it.
    is_left_to_flush: bool,
}

#[derive(Debug)]
struct Flush {
    epoch: u64,
    /// `None` for the head's own.
    request: Option<u64>,
    /// The head's own disk is enough.
    is_local: bool,
}

#[derive(Debug)]
struct OwnFlush {
    ticket: Ticket,
    epoch: u64,
    own_epoch: Epoch,
}

impl Head {
    /// A head that begins with what the book's node holds; `sealed` epochs have been begun before.
    pub(super) fn new(
        terms: Terms,
        mut book: Book,
        reign: Reign,
        sealed: u64,
        now: Duration,
    ) -> Head {
        let fenced_by = (book.promised > reign.generation).then_some(book.promised);
        book.promised = book.promised.max(reign.generation);
        book.led = reign.generation;
        book.is_overruled = false;
        book.is_behind = false;
        let mut head = Head {
            peers: (0..terms.peers).map(|_| Peer::away(now)).collect(),
            terms,
            book,
            reign,
            written: 0,
            sealed,
            writes: BTreeMap::new(),
            flushes: VecDeque::new(),
            commit_epoch: 0,
            own_flushes: VecDeque::new(),
            reach: Reach::Short,
            short_since: now,
            is_failing: false,
            fenced_by,
            out: Vec::new(),
        };
        if head.whole_copies() >= head.terms.write_quorum {
            head.reach = Reach::Enough;
        }
        head
    }

    /// Lets a mirror's head begin without the other copy, until that has caught up for the first
    /// time. For `Block` and `Error`, when [`super::promote::choose`] allows it;
    /// [`WhenShort::Degrade`] gets there by itself, in its own time.
    pub fn begin_alone(&mut self, now: Duration) -> Vec<Action> {
        if self.reach == Reach::Short && self.terms.when_short != WhenShort::Degrade {
            self.is_failing = false;
            self.set_reach(now, Reach::Alone);
            self.settle();
        }
        self.done()
    }

    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Its own time in office.
    pub fn reign(&self) -> &Reign {
        &self.reign
    }

    /// Flushes begun, those of earlier reigns included: the volume's newest epoch.
    pub fn sealed(&self) -> u64 {
        self.sealed
    }

    /// Whether requests can be done. Before `Enough` or `Alone` for the first time, nobody should
    /// be shown what the volume holds: it may have to be taken back by a later promotion.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    pub fn is_fenced(&self) -> bool {
        self.fenced_by.is_some()
    }

    fn refuses(&self) -> bool {
        self.is_fenced() || self.is_failing
    }

    /// Copies that have all, the head's own included.
    pub fn whole_copies(&self) -> usize {
        1 + self.peers.iter().filter(|peer| peer.is_whole()).count()
    }

    /// How often [`Head::passed`] is to be called.
    pub fn interval(&self) -> Duration {
        self.terms.timeout / PINGS
    }

    /// The writer writes, at most [`super::wire::DATA_BYTES_MAX`] at once.
    pub fn write(
        &mut self,
        store: &mut Store,
        request: u64,
        offset: u64,
        data: &[u8],
    ) -> Vec<Action> {
        if self.refuses() {
            return vec![Action::Fail { request }];
        }
        let bytes = data.len() as u64;
        let number = store.write(offset, data);
        let ticket = self.book.ticket();
        self.written = ticket.0;
        self.book.mark(offset, bytes, self.sealed + 1);
        let commits = self.terms.ack == Ack::ProtocolC && journal::is_committed_by(data);
        if commits {
            self.commit_epoch = self.sealed + 1;
        }
        let write = Write {
            request,
            number,
            is_over: false,
            is_left_to_flush: commits,
        };
        self.writes.insert(ticket, write);
        self.begin(ticket, Kind::Write, bytes);
        self.forward(ticket.0, offset, data);
        self.done()
    }

    /// The writer flushes.
    pub fn flush(&mut self, store: &mut Store, request: u64) -> Vec<Action> {
        if self.refuses() {
            return vec![Action::Fail { request }];
        }
        let is_local = self.may_flush_alone();
        self.begin_flush(store, Some(request), is_local);
        self.done()
    }

    /// A request to the node's own disk is over. `is_durable` says whether a completed write
    /// outlives a power cut, on a disk without a write cache.
    pub fn over(&mut self, store: &mut Store, ticket: Ticket, is_durable: bool) -> Vec<Action> {
        if self.is_fenced() {
            return Vec::new();
        }
        if let Some(write) = self.writes.get_mut(&ticket) {
            write.is_over = true;
            if is_durable {
                store.harden_write(write.number);
                self.book.is_exact = false;
            }
        }
        let of_ticket = |flush: &OwnFlush| flush.ticket == ticket;
        if let Some(at) = self.own_flushes.iter().position(of_ticket) {
            // What is durable in order is durable at once: earlier flushes are done by this one.
            let last = self.own_flushes.drain(..=at).next_back();
            let last = last.expect("the range holds the one that was found");
            store.harden(last.own_epoch);
            self.book.harden(&self.reign, last.epoch);
        }
        self.settle();
        self.done()
    }

    /// A peer has connected.
    pub fn connected(&mut self, now: Duration, peer: usize) -> Vec<Action> {
        if self.is_fenced() {
            self.out.push(Action::HangUp {
                link: Link::Peer(peer),
            });
            return self.done();
        }
        self.lose(now, peer);
        self.peers[peer].greet(now);
        let answer_bytes = match self.terms.ack {
            Ack::Write | Ack::ProtocolC => 1,
            Ack::Flush => ANSWER_BYTES.min(self.terms.unanswered_bytes_max / 4),
        };
        let hello = Hello {
            reign: self.reign.clone(),
            sealed: self.sealed,
            bytes: self.book.bytes,
            timeout: self.terms.timeout,
            answer_bytes,
        };
        self.send(peer, Message::Hello(hello));
        self.done()
    }

    /// A peer's connection is gone.
    pub fn lost(&mut self, now: Duration, peer: usize) -> Vec<Action> {
        self.lose(now, peer);
        self.done()
    }

    /// Time has passed: asks for signs of life, gives up who is silent, and sees whether the head
    /// has to go on alone. To be called every [`Head::interval`].
    pub fn passed(&mut self, now: Duration) -> Vec<Action> {
        for peer in 0..self.peers.len() {
            if self.peers[peer].is_away() {
                continue;
            }
            if now.saturating_sub(self.peers[peer].heard_at) > self.terms.timeout {
                self.hang_up(now, peer);
            } else {
                let token = now.as_micros() as u64;
                self.send(peer, Message::Ping { token });
            }
        }
        self.review(now);
        self.done()
    }

    /// A peer has said something.
    pub fn heard(
        &mut self,
        store: &mut Store,
        now: Duration,
        peer: usize,
        message: Message,
    ) -> Vec<Action> {
        if self.is_fenced() || self.peers[peer].is_away() {
            return Vec::new();
        }
        self.peers[peer].heard_at = now;
        match message {
            Message::Welcome(welcome) => self.welcomed(store, peer, &welcome),
            Message::Received { seq, bytes } => {
                self.peers[peer].answered(seq, bytes);
                self.fill(store, peer);
            }
            Message::Durable { epoch } => self.durable(now, peer, epoch),
            Message::Refused { generation } if generation > self.reign.generation => {
                self.book.is_overruled = true;
                self.fence(now, generation);
            }
            Message::Unfit { bytes } => {
                let change = Change::Unfit { peer, bytes };
                self.out.push(Action::Report(change));
                self.hang_up(now, peer);
            }
            Message::Ping { token } => self.send(peer, Message::Pong { token }),
            Message::Pong { .. } => (),
            _ => self.hang_up(now, peer),
        }
        self.settle();
        self.done()
    }

    /// Somebody has come to this very node with a newer generation, a promotion or its head: this
    /// one fails all I/O from now on, and should [`Head::retire`].
    pub fn overruled(&mut self, now: Duration, generation: u64) -> Vec<Action> {
        if !self.is_fenced() && generation > self.reign.generation {
            self.fence(now, generation);
        }
        self.done()
    }

    fn fence(&mut self, now: Duration, generation: u64) {
        self.fenced_by = Some(generation);
        let change = Change::Fenced {
            at: now,
            generation,
        };
        self.out.push(Action::Report(change));
        self.fail_requests();
        for (at, peer) in self.peers.iter_mut().enumerate() {
            peer.stage = Stage::Away;
            self.out.push(Action::HangUp {
                link: Link::Peer(at),
            });
        }
    }

    /// All that the writer waits for fails. Flushes of the head's own go on.
    fn fail_requests(&mut self) {
        let writes = std::mem::take(&mut self.writes);
        let writes = writes.into_values().map(|write| write.request);
        let flushes = std::mem::take(&mut self.flushes).into_iter();
        let (asked, own): (VecDeque<Flush>, _) = flushes.partition(|it| it.request.is_some());
        self.flushes = own;
        let failed = writes.chain(asked.into_iter().filter_map(|flush| flush.request));
        self.out
            .extend(failed.map(|request| Action::Fail { request }));
    }

    /// Gives up the office: what is left is the book of a copy. Requests not yet done are
    /// forgotten; connections are to be closed.
    pub fn retire(self) -> Book {
        self.book
    }

    fn begin_flush(&mut self, store: &mut Store, request: Option<u64>, is_local: bool) {
        self.sealed += 1;
        let flush = OwnFlush {
            ticket: self.book.ticket(),
            epoch: self.sealed,
            own_epoch: store.seal(),
        };
        self.begin(flush.ticket, Kind::Flush, 0);
        self.own_flushes.push_back(flush);
        let epoch = self.sealed;
        self.flushes.push_back(Flush {
            epoch,
            request,
            is_local,
        });
        for peer in 0..self.peers.len() {
            if self.peers[peer].is_live() {
                self.send(peer, Message::Flush { epoch });
            }
        }
    }

    /// Tells the others of a write.
    fn forward(&mut self, seq: u64, offset: u64, data: &[u8]) {
        let mut shared: Option<Arc<[u8]>> = None;
        for at in 0..self.peers.len() {
            let peer = &mut self.peers[at];
            if let Stage::Filling(dirty) = &mut peer.stage {
                dirty.add(blocks_of(offset, data.len() as u64));
            }
            if !peer.is_live() {
                continue;
            }
            if peer.unanswered_bytes() + data.len() as u64 > self.terms.unanswered_bytes_max {
                // What this does to the head's reach is seen as soon as the time is known.
                peer.stage = Stage::Away;
                let link = Link::Peer(at);
                self.out.push(Action::HangUp { link });
                continue;
            }
            let data = shared.get_or_insert_with(|| data.into()).clone();
            self.send(at, Message::Write { seq, offset, data });
        }
    }

    fn durable(&mut self, now: Duration, at: usize, epoch: u64) {
        let peer = &mut self.peers[at];
        peer.durable = peer.durable.max(epoch);
        if let Stage::Closing { epoch: closing } = peer.stage
            && epoch >= closing
        {
            peer.stage = Stage::Whole;
            self.send(at, Message::Counted);
            self.review(now);
        }
    }

    fn lose(&mut self, now: Duration, peer: usize) {
        self.peers[peer].stage = Stage::Away;
        self.review(now);
    }

    fn hang_up(&mut self, now: Duration, peer: usize) {
        self.out.push(Action::HangUp {
            link: Link::Peer(peer),
        });
        self.lose(now, peer);
    }

    /// Sees whether the head's reach is another now.
    fn review(&mut self, now: Duration) {
        if self.is_fenced() {
            return;
        }
        if self.whole_copies() >= self.terms.write_quorum {
            self.is_failing = false;
            self.set_reach(now, Reach::Enough);
            return;
        }
        if self.reach == Reach::Enough {
            // The last sign of life of any copy; the one that was lost gave none after it.
            let heard_at = self.peers.iter().map(|peer| peer.heard_at).max();
            self.short_since = heard_at.unwrap_or(now);
            self.set_reach(now, Reach::Short);
        }
        if self.reach != Reach::Short || now < self.short_since + self.terms.timeout {
            return;
        }
        match self.terms.when_short {
            WhenShort::Block => {}
            WhenShort::Degrade => {
                self.set_reach(now, Reach::Alone);
                self.settle();
            }
            WhenShort::Error => {
                self.is_failing = true;
                self.fail_requests();
            }
        }
    }

    fn set_reach(&mut self, now: Duration, reach: Reach) {
        if self.reach != reach {
            self.reach = reach;
            let change = Change::Reach { at: now, reach };
            self.out.push(Action::Report(change));
        }
    }

    fn begin(&mut self, ticket: Ticket, kind: Kind, bytes: u64) {
        self.out.push(Action::Begin {
            ticket: Some(ticket),
            kind,
            bytes,
        });
    }

    fn send(&mut self, peer: usize, message: Message) {
        self.peers[peer].sent(message.data_bytes());
        let to = Link::Peer(peer);
        self.out.push(Action::Send { to, message });
    }

    fn done(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.out)
    }
}
