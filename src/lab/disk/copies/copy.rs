//! A copy elsewhere: it follows a head, makes durable what it is told to, and knows its place.

use std::collections::VecDeque;
use std::time::Duration;

use super::book::{Book, Reign, Ticket};
use super::head::Head;
use super::machine::{Action, Link, PINGS, Terms};
use super::promote::{Survey, Touch};
use super::wire::{Hello, Message, Welcome};
use crate::lab::disk::pace::Kind;
use crate::lab::disk::store::{CutReport, Epoch, Store};
use crate::study::disk::PowerCut;

/// The machine of a copy. The store it is given is the node's own, always the same.
///
/// It obeys the newest generation that it has heard of, be it from that generation's head or from
/// whoever promotes one, and refuses all older ones.
///
/// Whether a head that may go on alone ([`super::WhenShort::Degrade`]) has left it behind, a copy
/// knows in three cases only: it was told so when it was caught up again; it was the head itself;
/// or the head has answered a ping that was sent less than one timeout ago. A copy that lies
/// on the far side of a cut link for longer cannot know, whatever it does.
#[derive(Debug)]
pub struct Copy {
    book: Book,
    stream: Option<Stream>,
    /// Begun and not yet done, oldest first.
    flushes: VecDeque<Flush>,
    out: Vec<Action>,
}

/// What comes from one head over one connection.
#[derive(Debug)]
struct Stream {
    /// `None` once the connection is gone. What has come by then still stands.
    link: Option<Link>,
    reign: Reign,
    stage: Stage,
    /// The last epoch begun, here or, until blocks have all come, at the head.
    sealed: u64,
    /// The last write received.
    seq: u64,
    /// Data received, and how much of it the head has been told of.
    bytes: u64,
    answered_bytes: u64,
    answer_bytes: u64,
    /// When the head last gave a sign of life.
    heard_at: Duration,
    /// When the last ping was sent that the head has answered.
    proven_at: Option<Duration>,
    timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It has said what it holds.
    Welcomed,
    /// Blocks come.
    Filling,
    /// All has come, but is not durable yet.
    Live,
    /// All is here, and the durable layer is of this reign.
    Whole,
}

#[derive(Debug)]
struct Flush {
    ticket: Ticket,
    epoch: u64,
    own_epoch: Epoch,
}

impl Copy {
    /// A copy that follows nobody yet.
    pub fn new(book: Book) -> Copy {
        Copy {
            book,
            stream: None,
            flushes: VecDeque::new(),
            out: Vec::new(),
        }
    }

    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Whether it has all that its head has sent, and its durable layer is of that head's reign.
    pub fn is_whole(&self) -> bool {
        let stream = self.stream.as_ref();
        stream.is_some_and(|stream| stream.stage == Stage::Whole)
    }

    /// What it would tell whoever promotes.
    pub fn survey(&self, now: Duration) -> Survey {
        let (generation, sealed, seq) = self.position();
        Survey {
            volume: self.book.reign.volume,
            generation,
            sealed,
            seq,
            durable_epoch: self.book.epoch,
            led: self.book.led,
            touch: self.touch(now),
        }
    }

    /// Generation, epochs begun, and writes received of what it would go on with as a head.
    fn position(&self) -> (u64, u64, u64) {
        match &self.stream {
            Some(of) if of.stage == Stage::Whole => (of.reign.generation, of.sealed, of.seq),
            _ => (self.book.reign.generation, self.book.epoch, 0),
        }
    }

    fn touch(&self, now: Duration) -> Touch {
        if self.book.is_behind {
            return Touch::Behind;
        }
        if self.book.was_last_head() {
            return Touch::Proven;
        }
        let stream = self.stream.as_ref();
        let proven_at = stream.and_then(|stream| Some(stream.proven_at? + stream.timeout));
        match proven_at {
            _ if !self.is_whole() => Touch::DurableOnly,
            Some(until) if now < until => Touch::Proven,
            _ => Touch::Unsure,
        }
    }

    /// Somebody who connected has said something.
    pub fn heard(
        &mut self,
        store: &mut Store,
        now: Duration,
        link: Link,
        message: Message,
    ) -> Vec<Action> {
        match message {
            Message::Hello(hello) => self.greeted(store, now, link, hello),
            Message::Promise { generation } => self.asked(now, link, generation),
            message => self.follow(store, now, link, message),
        }
        self.done()
    }

    /// A connection is gone.
    pub fn lost(&mut self, link: Link) {
        if let Some(stream) = &mut self.stream
            && stream.link == Some(link)
        {
            stream.link = None;
        }
    }

    /// How often [`Copy::passed`] is to be called; `None` without a head to follow.
    pub fn interval(&self) -> Option<Duration> {
        let stream = self.stream.as_ref()?;
        stream.link.map(|_| stream.timeout / PINGS)
    }

    /// Time has passed: asks the head for a sign of life, and gives it up if it is silent. To be
    /// called every [`Copy::interval`].
    pub fn passed(&mut self, now: Duration) -> Vec<Action> {
        if let Some(stream) = &mut self.stream
            && let Some(link) = stream.link
        {
            let is_silent = now.saturating_sub(stream.heard_at) > stream.timeout;
            let token = now.as_micros() as u64;
            self.out.push(if is_silent {
                stream.link = None;
                Action::HangUp { link }
            } else {
                let message = Message::Ping { token };
                Action::Send { to: link, message }
            });
        }
        self.done()
    }

    /// A request to the node's own disk is over.
    pub fn over(&mut self, store: &mut Store, ticket: Ticket) -> Vec<Action> {
        let at = self.flushes.iter().position(|of| of.ticket == ticket);
        if let (Some(at), Some(stream)) = (at, &mut self.stream) {
            // What is durable in order is durable at once: earlier flushes are done by this one.
            let last = self.flushes.drain(..=at).next_back();
            let Flush {
                epoch, own_epoch, ..
            } = last.expect("the range holds the one that was found");
            store.harden(own_epoch);
            self.book.harden(&stream.reign, epoch);
            stream.stage = Stage::Whole;
            if let Some(to) = stream.link {
                let message = Message::Durable { epoch };
                self.out.push(Action::Send { to, message });
            }
        }
        self.done()
    }

    /// The power goes at this node: what the cut leaves is durable then, the rest is gone, and so
    /// are all connections.
    ///
    /// A copy that is being caught up keeps what it had before, whatever the cut would leave of
    /// the blocks that came: these stand aside until they are all there, since some of them
    /// without the others would be nobody's data.
    pub fn power_cut(&mut self, store: &mut Store, cut: PowerCut) -> CutReport {
        let is_mixed = self.stream.is_some() && !self.is_whole();
        let cut = if is_mixed { PowerCut::DropAll } else { cut };
        let was_clean = store.volatile_bytes() == 0;
        let report = store.cut(cut);
        self.book.is_exact &= was_clean || cut == PowerCut::DropAll;
        self.stream = None;
        self.flushes.clear();
        report
    }

    /// Becomes the head of a newer generation, with all that it has received. All connections are
    /// to be closed. [`super::promote::choose`] says when this is allowed; a head that is not
    /// obeyed by enough copies completes nothing.
    pub fn promote(
        mut self,
        store: &mut Store,
        now: Duration,
        terms: Terms,
        generation: u64,
    ) -> Head {
        let (_, sealed, _) = self.position();
        let stream = self.stream.take();
        let before = match &stream {
            Some(stream) if stream.stage == Stage::Whole => &stream.reign,
            Some(_) => {
                store.cut(PowerCut::DropAll);
                &self.book.reign
            }
            None => &self.book.reign,
        };
        let reign = before.next(terms.volume, generation, sealed);
        Head::new(terms, self.book, reign, sealed, now)
    }

    /// A head says that it is one.
    fn greeted(&mut self, store: &mut Store, now: Duration, link: Link, hello: Hello) {
        let refusal = if hello.reign.generation < self.book.promised {
            Some(Message::Refused {
                generation: self.book.promised,
            })
        } else if hello.bytes != self.book.bytes {
            Some(Message::Unfit {
                bytes: self.book.bytes,
            })
        } else {
            None
        };
        if let Some(message) = refusal {
            self.out.push(Action::Send { to: link, message });
            self.out.push(Action::HangUp { link });
            return;
        }
        self.leave_stream(link);
        self.book.promised = hello.reign.generation;
        self.book.led = 0;
        // What is not durable may be another head's, or end where this connection does not begin.
        store.cut(PowerCut::DropAll);
        self.flushes.clear();
        self.stream = Some(Stream::new(link, hello, now));
        let message = Message::Welcome(Welcome {
            volume: self.book.reign.volume,
            generation: self.book.reign.generation,
            epoch: self.book.epoch,
            is_exact: self.book.is_exact,
        });
        self.out.push(Action::Send { to: link, message });
    }

    /// Somebody wants to promote a copy.
    fn asked(&mut self, now: Duration, link: Link, generation: u64) {
        let promised = self.book.promised;
        let message = if generation <= promised {
            Message::Refused {
                generation: promised,
            }
        } else {
            let survey = self.survey(now);
            self.book.promised = generation;
            self.refuse_stream(generation);
            Message::Promised(survey)
        };
        self.out.push(Action::Send { to: link, message });
    }

    /// Tells the head it followed that there is a newer generation. What has come stands.
    fn refuse_stream(&mut self, generation: u64) {
        let stream = self.stream.as_mut();
        if let Some(to) = stream.and_then(|stream| stream.link.take()) {
            let message = Message::Refused { generation };
            self.out.push(Action::Send { to, message });
            self.out.push(Action::HangUp { link: to });
        }
    }

    /// Ends the connection that it followed so far, if that is another.
    fn leave_stream(&mut self, new_link: Link) {
        let stream = self.stream.take();
        let old_link = stream.and_then(|stream| stream.link);
        if let Some(link) = old_link.filter(|link| *link != new_link) {
            self.out.push(Action::HangUp { link });
        }
    }

    /// Does what the head says, if it is the one that is followed and says what makes sense.
    fn follow(&mut self, store: &mut Store, now: Duration, link: Link, message: Message) {
        let Some(stream) = &mut self.stream else {
            return self.out.push(Action::HangUp { link });
        };
        if stream.link != Some(link) {
            return self.out.push(Action::HangUp { link });
        }
        stream.heard_at = now;
        match (stream.stage, message) {
            (_, Message::Ping { token }) => {
                let message = Message::Pong { token };
                self.out.push(Action::Send { to: link, message });
            }
            (_, Message::Pong { token }) => stream.proven_at = Some(Duration::from_micros(token)),
            (Stage::Welcomed, Message::Resync { is_full }) => self.begin_fill(store, is_full),
            (
                Stage::Filling,
                Message::Block {
                    epoch,
                    offset,
                    data,
                },
            ) if self.book.has(offset, data.len() as u64) => {
                self.take(store, epoch, offset, &data);
            }
            (Stage::Filling, Message::Synced { seq }) => self.end_fill(seq),
            (Stage::Live | Stage::Whole, Message::Write { seq, offset, data })
                if self.book.has(offset, data.len() as u64) =>
            {
                stream.seq = seq;
                let epoch = stream.sealed + 1;
                self.take(store, epoch, offset, &data);
            }
            (Stage::Live | Stage::Whole, Message::Flush { epoch }) => self.flush(store, epoch),
            (Stage::Whole, Message::Counted) => self.book.is_behind = false,
            _ => {
                stream.link = None;
                self.out.push(Action::HangUp { link });
            }
        }
    }

    /// What is durable is behind from now on. If all of it has to go, it becomes zeros here: these
    /// too are durable only with the rest.
    fn begin_fill(&mut self, store: &mut Store, is_full: bool) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        stream.stage = Stage::Filling;
        self.book.is_behind = true;
        if !is_full {
            return;
        }
        let epoch = stream.sealed + 1;
        let written: Vec<u64> = self.book.changed_after(0).collect();
        for block in written {
            let range = self.book.range(block);
            let zeros = vec![0; (range.end - range.start) as usize];
            store.write(range.start, &zeros);
            self.book.mark(range.start, zeros.len() as u64, epoch);
        }
    }

    fn end_fill(&mut self, seq: u64) {
        if let Some(stream) = &mut self.stream {
            stream.stage = Stage::Live;
            stream.seq = seq;
            stream.answer(&mut self.out);
        }
    }

    /// Data that changed in that epoch.
    fn take(&mut self, store: &mut Store, epoch: u64, offset: u64, data: &[u8]) {
        let bytes = data.len() as u64;
        store.write(offset, data);
        self.book.mark(offset, bytes, epoch);
        self.out.push(Action::Begin {
            ticket: None,
            kind: Kind::Write,
            bytes,
        });
        if let Some(stream) = &mut self.stream {
            stream.bytes += bytes;
            if stream.bytes - stream.answered_bytes >= stream.answer_bytes {
                stream.answer(&mut self.out);
            }
        }
    }

    fn flush(&mut self, store: &mut Store, epoch: u64) {
        let ticket = self.book.ticket();
        if let Some(stream) = &mut self.stream {
            stream.sealed = epoch;
        }
        self.flushes.push_back(Flush {
            ticket,
            epoch,
            own_epoch: store.seal(),
        });
        self.out.push(Action::Begin {
            ticket: Some(ticket),
            kind: Kind::Flush,
            bytes: 0,
        });
    }

    fn done(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.out)
    }
}

impl Stream {
    fn new(link: Link, hello: Hello, now: Duration) -> Stream {
        Stream {
            link: Some(link),
            reign: hello.reign,
            stage: Stage::Welcomed,
            sealed: hello.sealed,
            seq: 0,
            bytes: 0,
            answered_bytes: 0,
            answer_bytes: hello.answer_bytes,
            heard_at: now,
            proven_at: None,
            timeout: hello.timeout,
        }
    }

    /// Tells the head what has come.
    fn answer(&mut self, out: &mut Vec<Action>) {
        self.answered_bytes = self.bytes;
        if let Some(to) = self.link {
            let message = Message::Received {
                seq: self.seq,
                bytes: self.bytes,
            };
            out.push(Action::Send { to, message });
        }
    }
}
