//! What becomes of a request, and when it is answered. No clock and no thread: time comes in,
//! answers come out. `R` is whatever it takes to answer one request.

mod copied;
mod image;
mod member;
mod trouble;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::condition::Condition;
use super::copies::Ticket;
use super::counters::{LATE_BOUND_US, VolumeCounters};
use super::pace::{Kind, Pace};
use super::store::{CutReport, Epoch, Store};
use crate::study::disk::{Disk, PowerCut};
use member::Member;

/// What is asked of the disk.
#[derive(Debug, Clone, Copy)]
pub enum Request<'d> {
    Read { offset: u64, bytes: usize },
    Write { offset: u64, data: &'d [u8] },
    Flush,
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Data(Vec<u8>),
    /// So many bytes.
    Written(u32),
    Flushed,
    /// An I/O error: past the end, or its [`Condition`] is such.
    Failed,
}

/// A disk at work.
pub struct Engine<R> {
    store: Store,
    pace: Pace,
    disk: Disk,
    is_upkeep: bool,
    condition: Condition,
    /// When it last stalled.
    stalled_at: Duration,
    /// It has lost its power, and nobody has been told yet: see [`Engine::halt`].
    is_halted: bool,
    /// Asked since then.
    unheard: Vec<R>,
    under_way: BinaryHeap<UnderWay<R>>,
    arrivals: u64,
    counters: VolumeCounters,
    /// Its part in a volume of several copies, if it has one.
    member: Option<Member<R>>,
    /// Not handed out yet.
    answers: Vec<(R, Answer)>,
}

/// A request that is not answered yet.
struct UnderWay<R> {
    due: Duration,
    /// Keeps requests due at the same time in the order in which they came.
    number: u64,
    arrived: Duration,
    work: Work<R>,
}

/// What is left to do when the time has come.
enum Work<R> {
    Read(Vec<u8>, R),
    /// In the store only when it is answered: no flush that begins before covers it.
    Write {
        offset: u64,
        data: Vec<u8>,
        reply: R,
    },
    Flush(Epoch, R),
    /// Of one of several copies: its own disk's part of a request.
    Own(Ticket, Kind),
}

impl<R> Engine<R> {
    /// A disk in upkeep: see [`Engine::set_upkeep`].
    pub fn new(store: Store, disk: Disk, seed: u64) -> Engine<R> {
        Engine {
            store,
            pace: Pace::new(disk, seed),
            disk,
            is_upkeep: true,
            condition: Condition::Works,
            stalled_at: Duration::ZERO,
            is_halted: false,
            unheard: Vec::new(),
            under_way: BinaryHeap::new(),
            arrivals: 0,
            counters: VolumeCounters::default(),
            member: None,
            answers: Vec::new(),
        }
    }

    /// Size of the image.
    pub fn bytes(&self) -> u64 {
        self.store.bytes()
    }

    /// Requests that come from now on take another time.
    pub fn set(&mut self, disk: Disk) {
        self.disk = disk;
        self.pace.set(disk);
    }

    /// In upkeep requests are answered at once, and nothing is counted: making a file system and
    /// checking it are no part of what is emulated.
    pub fn set_upkeep(&mut self, is_upkeep: bool) {
        self.is_upkeep = is_upkeep;
    }

    /// The counters so far; the largest lateness begins anew.
    pub fn read_counters(&mut self) -> VolumeCounters {
        let counters = self.counters;
        self.counters.lateness_us_max = 0;
        counters
    }

    /// When [`Engine::release`] is to be called next.
    pub fn next_due(&self) -> Option<Duration> {
        if self.is_halted {
            return None;
        }
        let next = self.under_way.peek().filter(|_| !self.is_stalled());
        let answer_due = next.map(|next| next.due);
        let pass_due = self.member.as_ref().and_then(Member::pass_due);
        answer_due.into_iter().chain(pass_due).min()
    }

    /// Takes a request that has come `now`. What is answered at once, this or others, comes back;
    /// the rest comes out of later calls.
    pub fn submit(&mut self, now: Duration, request: Request, reply: R) -> Vec<(R, Answer)> {
        if self.is_halted {
            self.unheard.push(reply);
        } else if self.condition.fails() || !self.is_within(&request) {
            self.fail(reply);
        } else if self.member.is_some() {
            self.submit_to_role(now, request, reply);
        } else {
            self.take(now, request, reply);
        }
        std::mem::take(&mut self.answers)
    }

    /// Does what is due at `until`, which may lie a little ahead of `now`.
    pub fn release(&mut self, until: Duration, now: Duration) -> Vec<(R, Answer)> {
        if self.is_halted {
            return Vec::new();
        }
        self.finish_due(until, now);
        self.pass(until, now);
        std::mem::take(&mut self.answers)
    }

    /// The power fails, and nobody is told: whoever asks waits, as for a machine that is gone,
    /// until [`Engine::freeze`]. What is asked from now on never reaches the disk, and copies hear
    /// and say nothing.
    pub fn halt(&mut self) {
        if !self.condition.fails() {
            self.condition = Condition::NoPower;
            self.is_halted = true;
            self.hang_up();
        }
    }

    /// The power fails: all that is under way comes to nothing, and so does whatever is asked
    /// later. Nothing is said to copies any more, or heard from them.
    pub fn freeze(&mut self) -> Vec<(R, Answer)> {
        if self.condition != Condition::Destroyed {
            self.condition = Condition::NoPower;
        }
        self.fail_all();
        std::mem::take(&mut self.answers)
    }

    /// What the cut leaves is the image from now on, and there is power again, in upkeep.
    pub fn cut(&mut self, cut: PowerCut) -> CutReport {
        self.begin_anew();
        match &mut self.member {
            Some(member) => member.cut(&mut self.store, cut),
            None => self.store.cut(cut),
        }
    }

    fn begin_anew(&mut self) {
        self.is_upkeep = true;
        self.condition = Condition::Works;
        self.pace.set(self.disk);
    }

    /// All that is under way comes to nothing, and no copy is spoken to any more.
    fn fail_all(&mut self) {
        self.is_halted = false;
        for reply in std::mem::take(&mut self.unheard) {
            self.fail(reply);
        }
        let under_way = std::mem::take(&mut self.under_way).into_sorted_vec();
        // The one due first is the greatest.
        for request in under_way.into_iter().rev() {
            match request.work {
                Work::Read(_, reply) | Work::Flush(_, reply) => self.fail(reply),
                // It may have reached the disk: the cut decides.
                Work::Write {
                    offset,
                    data,
                    reply,
                } => {
                    self.store.write(offset, &data);
                    self.fail(reply);
                }
                Work::Own(..) => (),
            }
        }
        self.fall_silent();
    }

    /// Takes a request to a volume without copies, or a read.
    fn take(&mut self, now: Duration, request: Request, reply: R) {
        let due = self.due(now, &request);
        let is_at_once = due <= now && !self.is_stalled();
        if let (Request::Write { offset, data }, true) = (&request, is_at_once) {
            return self.written(*offset, data, reply, Duration::ZERO);
        }
        let work = self.begin(request, reply);
        let request = self.under_way(now, due, work);
        if is_at_once {
            self.finish(request, now);
        } else {
            self.under_way.push(request);
        }
    }

    fn under_way(&mut self, now: Duration, due: Duration, work: Work<R>) -> UnderWay<R> {
        self.arrivals += 1;
        UnderWay {
            due,
            number: self.arrivals,
            arrived: now,
            work,
        }
    }

    fn finish_due(&mut self, until: Duration, now: Duration) {
        if self.is_stalled() {
            return;
        }
        let is_due = |next: &UnderWay<R>| next.due <= until;
        while self.under_way.peek().is_some_and(is_due) {
            let Some(request) = self.under_way.pop() else {
                return;
            };
            // The rest never waited for the timer.
            if request.due > request.arrived {
                self.count_lateness(now.saturating_sub(request.due));
            }
            self.finish(request, now);
        }
    }

    fn is_stalled(&self) -> bool {
        self.condition == Condition::Stalled
    }

    fn is_within(&self, request: &Request) -> bool {
        let (offset, bytes) = match request {
            Request::Read { offset, bytes } => (*offset, *bytes),
            Request::Write { offset, data } => (*offset, data.len()),
            Request::Flush => (0, 0),
        };
        let end = offset.checked_add(bytes as u64);
        end.is_some_and(|end| end <= self.store.bytes())
    }

    fn due(&mut self, now: Duration, request: &Request) -> Duration {
        let (kind, bytes) = match request {
            Request::Read { bytes, .. } => (Kind::Read, *bytes),
            Request::Write { data, .. } => (Kind::Write, data.len()),
            Request::Flush => (Kind::Flush, 0),
        };
        self.due_of(now, kind, bytes as u64)
    }

    fn due_of(&mut self, now: Duration, kind: Kind, bytes: u64) -> Duration {
        if self.is_upkeep {
            return now;
        }
        self.pace.due(now, kind, bytes)
    }

    fn begin(&mut self, request: Request, reply: R) -> Work<R> {
        match request {
            Request::Read { offset, bytes } => {
                let mut data = vec![0; bytes];
                self.store.read(offset, &mut data);
                Work::Read(data, reply)
            }
            Request::Write { offset, data } => Work::Write {
                offset,
                data: data.to_vec(),
                reply,
            },
            Request::Flush => Work::Flush(self.store.seal(), reply),
        }
    }

    fn finish(&mut self, request: UnderWay<R>, now: Duration) {
        let took = now.saturating_sub(request.arrived);
        let (reply, answer) = match request.work {
            Work::Read(data, reply) => {
                self.count(Kind::Read, data.len() as u64, took);
                (reply, Answer::Data(data))
            }
            Work::Write {
                offset,
                data,
                reply,
            } => return self.written(offset, &data, reply, took),
            Work::Flush(epoch, reply) => {
                self.store.harden(epoch);
                self.count(Kind::Flush, 0, took);
                (reply, Answer::Flushed)
            }
            Work::Own(ticket, kind) => return self.own_over(now, ticket, kind, took),
        };
        self.answers.push((reply, answer));
    }

    /// A write's time is over: it is done, and without a write cache durable.
    fn written(&mut self, offset: u64, data: &[u8], reply: R, took: Duration) {
        let number = self.store.write(offset, data);
        if !self.disk.write_cache {
            self.store.harden_write(number);
        }
        self.count(Kind::Write, data.len() as u64, took);
        self.answers
            .push((reply, Answer::Written(data.len() as u32)));
    }

    fn fail(&mut self, reply: R) {
        self.counters.failed_requests += 1;
        self.answers.push((reply, Answer::Failed));
    }

    /// Counts a request that is done.
    fn count(&mut self, kind: Kind, bytes: u64, took: Duration) {
        if self.is_upkeep {
            return;
        }
        let counters = &mut self.counters;
        match kind {
            Kind::Read => {
                counters.reads += 1;
                counters.bytes_read += bytes;
            }
            Kind::Write => {
                counters.writes += 1;
                counters.bytes_written += bytes;
            }
            Kind::Flush => {
                counters.flushes += 1;
                counters.flush_ns_sum += took.as_nanos() as u64;
            }
        }
    }

    fn count_lateness(&mut self, lateness: Duration) {
        let counters = &mut self.counters;
        let lateness_us = lateness.as_micros() as u64;
        counters.timed_replies += 1;
        counters.late_replies += u64::from(lateness_us > LATE_BOUND_US);
        counters.lateness_us_max = counters.lateness_us_max.max(lateness_us);
        counters.lateness_ns_sum += lateness.as_nanos() as u64;
    }
}

/// The one due first is the greatest, as the heap wants it.
impl<R> Ord for UnderWay<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl<R> PartialOrd for UnderWay<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R> PartialEq for UnderWay<R> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<R> Eq for UnderWay<R> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::disk::Delay;

    const BYTES: u64 = 1 << 20;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn without_power_nobody_is_answered_until_it_is_told() {
        let mut engine = engine(slow());
        engine.submit(ms(0), write(0, &[1]), 1);
        engine.release(ms(2), ms(2));
        engine.submit(ms(3), write(0, &[2]), 2);
        engine.submit(ms(3), Request::Flush, 3);
        engine.halt();
        assert_eq!(engine.condition(), Condition::NoPower);
        assert_eq!(engine.submit(ms(4), write(0, &[3]), 4), []);
        assert_eq!(
            (engine.next_due(), engine.release(ms(99), ms(99))),
            (None, vec![])
        );
        let failed = engine.freeze();
        let whose: Vec<u32> = failed.iter().map(|(reply, _)| *reply).collect();
        assert_eq!(whose, [4, 2, 3]);
        assert!(failed.iter().all(|(_, answer)| *answer == Answer::Failed));
        // The write under way may have reached the disk; the one that came later never did.
        engine.cut(PowerCut::KeepAll);
        assert_eq!(first_byte(&mut engine), 2);
        // What had no power anyway fails at once.
        engine.freeze();
        engine.halt();
        assert_eq!(
            engine.submit(ms(100), Request::Flush, 5),
            [(5, Answer::Failed)]
        );
    }

    /// Replies are numbers here.
    fn engine(disk: Disk) -> Engine<u32> {
        let mut engine = Engine::new(Store::in_memory(BYTES).unwrap(), disk, 7);
        engine.set_upkeep(false);
        engine
    }

    fn slow() -> Disk {
        Disk {
            read: Delay::Constant(ms(1)),
            write: Delay::Constant(ms(2)),
            flush: Delay::Constant(ms(5)),
            ..Disk::default()
        }
    }

    fn write(offset: u64, data: &[u8]) -> Request<'_> {
        Request::Write { offset, data }
    }

    /// What stands in the first byte.
    fn first_byte(engine: &mut Engine<u32>) -> u8 {
        engine.set_upkeep(true);
        let read = Request::Read {
            offset: 0,
            bytes: 1,
        };
        let answers = engine.submit(ms(0), read, 0);
        engine.set_upkeep(false);
        match &answers[..] {
            [(0, Answer::Data(data))] => data[0],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_a_setting_all_is_answered_at_once() {
        let mut engine = engine(Disk::default());
        let done = engine.submit(ms(1), write(0, b"abc"), 1);
        assert_eq!(done, [(1, Answer::Written(3))]);
        let done = engine.submit(ms(1), Request::Flush, 2);
        assert_eq!(done, [(2, Answer::Flushed)]);
        let read = Request::Read {
            offset: 1,
            bytes: 2,
        };
        let done = engine.submit(ms(1), read, 3);
        assert_eq!(done, [(3, Answer::Data(b"bc".to_vec()))]);
        assert_eq!(engine.next_due(), None);
    }

    #[test]
    fn answers_come_when_they_are_due_and_in_order() {
        let mut engine = engine(slow());
        assert_eq!(engine.submit(ms(10), Request::Flush, 1), []);
        assert_eq!(engine.submit(ms(10), write(0, b"x"), 2), []);
        assert_eq!(engine.submit(ms(10), write(1, b"y"), 3), []);
        assert_eq!(engine.next_due(), Some(ms(12)));
        assert_eq!(engine.release(ms(11), ms(11)), []);
        let both = [(2, Answer::Written(1)), (3, Answer::Written(1))];
        assert_eq!(engine.release(ms(12), ms(12)), both);
        assert_eq!(engine.release(ms(15), ms(16)), [(1, Answer::Flushed)]);
        let counters = engine.read_counters();
        assert_eq!((counters.writes, counters.bytes_written), (2, 2));
        assert_eq!((counters.flushes, counters.flush_ns_sum), (1, 6_000_000));
        assert_eq!((counters.timed_replies, counters.late_replies), (3, 1));
        assert_eq!(counters.lateness_us_max, 1_000);
        assert_eq!(engine.read_counters().lateness_us_max, 0);
    }

    #[test]
    fn upkeep_takes_no_time_and_is_not_counted() {
        let mut engine = engine(slow());
        engine.set_upkeep(true);
        assert_eq!(engine.submit(ms(1), Request::Flush, 1).len(), 1);
        assert_eq!(engine.submit(ms(1), write(0, b"x"), 2).len(), 1);
        assert_eq!(engine.read_counters(), VolumeCounters::default());
    }

    #[test]
    fn past_the_end_is_an_error() {
        let mut engine = engine(Disk::default());
        for offset in [BYTES, u64::MAX] {
            let failed = engine.submit(ms(0), write(offset, b"x"), 1);
            assert_eq!(failed, [(1, Answer::Failed)]);
        }
        assert_eq!(engine.read_counters().failed_requests, 2);
    }

    #[test]
    fn a_flush_under_way_at_the_cut_has_not_happened() {
        let mut engine = engine(slow());
        engine.submit(ms(0), write(0, b"x"), 1);
        engine.release(ms(2), ms(2));
        assert_eq!(engine.submit(ms(3), Request::Flush, 2), []);
        assert_eq!(engine.freeze(), [(2, Answer::Failed)]);
        let failed = engine.submit(ms(4), write(0, b"z"), 3);
        assert_eq!(failed, [(3, Answer::Failed)]);
        assert_eq!(engine.release(ms(99), ms(99)), []);
        engine.cut(PowerCut::DropAll);
        assert_eq!(first_byte(&mut engine), 0);
    }

    /// A flush covers what was answered before it began, as a disk's does.
    #[test]
    fn a_flush_does_not_cover_a_write_in_flight() {
        let mut engine = engine(slow());
        engine.submit(ms(0), write(0, b"x"), 1);
        // The flush begins while the write is on its way; both are answered.
        engine.submit(ms(1), Request::Flush, 2);
        let both = [(1, Answer::Written(1)), (2, Answer::Flushed)];
        assert_eq!(engine.release(ms(6), ms(6)), both);
        assert_eq!(first_byte(&mut engine), b'x');
        engine.freeze();
        engine.cut(PowerCut::DropAll);
        assert_eq!(first_byte(&mut engine), 0);
    }

    #[test]
    fn a_write_in_flight_at_the_cut_may_be_there_or_not() {
        for (cut, left) in [(PowerCut::DropAll, 0), (PowerCut::KeepAll, b'x')] {
            let mut engine = engine(slow());
            engine.submit(ms(0), write(0, b"x"), 1);
            assert_eq!(engine.freeze(), [(1, Answer::Failed)]);
            let report = engine.cut(cut);
            assert_eq!(report.kept.writes + report.dropped.writes, 1);
            assert_eq!(first_byte(&mut engine), left);
        }
    }

    #[test]
    fn a_flush_that_was_answered_holds() {
        let mut engine = engine(slow());
        engine.submit(ms(0), write(0, b"x"), 1);
        assert_eq!(engine.release(ms(2), ms(2)).len(), 1);
        engine.submit(ms(2), Request::Flush, 2);
        assert_eq!(engine.release(ms(7), ms(7)).len(), 1);
        engine.submit(ms(8), write(0, b"y"), 3);
        engine.freeze();
        engine.cut(PowerCut::DropAll);
        assert_eq!(first_byte(&mut engine), b'x');
    }

    #[test]
    fn without_a_write_cache_an_answered_write_holds() {
        let mut engine = engine(Disk {
            write_cache: false,
            ..slow()
        });
        engine.submit(ms(0), write(0, b"x"), 1);
        engine.release(ms(2), ms(2));
        engine.submit(ms(2), write(0, b"y"), 2);
        engine.freeze();
        engine.cut(PowerCut::DropAll);
        assert_eq!(first_byte(&mut engine), b'x');
    }
}
