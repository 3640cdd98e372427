//! A mirror's two disks in one place: messages are handed over by the test.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use super::*;
use crate::lab::disk::condition::Condition;
use crate::lab::disk::copies::{Change, Reach, Terms};
use crate::lab::disk::store::Store;
use crate::study::disk::{Delay, Disk, PowerCut};
use crate::study::mode::{Ack, WhenShort};

const BYTES: u64 = 1 << 20;
const PEER: Link = Link::Peer(0);
const CALLER: Link = Link::Caller(0);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What was said and not yet handed over.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<VecDeque<Message>>>);

impl Speak for Pipe {
    fn send(&self, message: &Message) {
        self.0.lock().unwrap().push_back(message.clone());
    }

    fn hang_up(&self) {
        self.0.lock().unwrap().clear();
    }
}

impl Pipe {
    fn next(&self) -> Option<Message> {
        self.0.lock().unwrap().pop_front()
    }
}

struct Mirror {
    head: Engine<u32>,
    copy: Engine<u32>,
    to_head: Pipe,
    to_copy: Pipe,
}

impl Mirror {
    /// Whole, out of upkeep, with these disks.
    fn of(head: Disk, copy: Disk) -> Mirror {
        let member = |disk| {
            let store = Store::in_memory(BYTES).unwrap();
            let mut engine = Engine::new(store, disk, 7);
            engine.follow();
            engine
        };
        let mut mirror = Mirror {
            head: member(head),
            copy: member(copy),
            to_head: Pipe::default(),
            to_copy: Pipe::default(),
        };
        assert_eq!(mirror.head.lead(ms(0), &lead()), Ok(vec![]));
        mirror.connect();
        mirror.exchange(ms(0));
        assert_eq!(mirror.standing().whole_copies, 2);
        mirror.head.set_upkeep(false);
        mirror.copy.set_upkeep(false);
        mirror
    }

    fn connect(&mut self) {
        let (to_head, to_copy) = (self.to_head.clone(), self.to_copy.clone());
        self.copy.connected(ms(0), CALLER, Box::new(to_head));
        self.head.connected(ms(0), PEER, Box::new(to_copy));
    }

    /// Hands over all messages; what the head answers comes back.
    fn exchange(&mut self, now: Duration) -> Vec<(u32, Answer)> {
        let mut answers = Vec::new();
        loop {
            if let Some(message) = self.to_copy.next() {
                self.copy.heard(now, CALLER, message);
            } else if let Some(message) = self.to_head.next() {
                answers.extend(self.head.heard(now, PEER, message));
            } else {
                return answers;
            }
        }
    }

    fn standing(&mut self) -> Standing {
        self.head.standing(ms(0)).unwrap()
    }

    /// The head writes, and both make it durable.
    fn put(&mut self, value: u8) {
        let data = [value];
        let write = Request::Write {
            offset: 0,
            data: &data,
        };
        self.head.submit(ms(10), write, 1);
        self.exchange(ms(10));
        self.head.submit(ms(10), Request::Flush, 2);
        assert_eq!(self.exchange(ms(10)), [(2, Answer::Flushed)]);
    }

    /// The head leads again, in that generation, until both are whole.
    fn lead_again(&mut self, generation: u64) {
        let lead = Lead {
            generation,
            is_new: false,
            ..lead()
        };
        assert_eq!(self.head.lead(ms(20), &lead), Ok(vec![]));
        self.connect();
        self.exchange(ms(20));
        assert_eq!(self.standing().whole_copies, 2);
    }
}

/// What a disk holds, whatever its part.
fn first_byte(engine: &Engine<u32>) -> u8 {
    let mut byte = [0];
    engine.store.read(0, &mut byte);
    byte[0]
}

fn lead() -> Lead {
    Lead {
        terms: Terms {
            volume: 7,
            peers: 1,
            write_quorum: 2,
            ack: Ack::Write,
            when_short: WhenShort::Block,
            timeout: ms(1_000),
            unanswered_bytes_max: 1 << 20,
        },
        peers: vec![SocketAddr::from(([198, 18, 0, 2], 1))],
        generation: 1,
        is_new: true,
        is_alone: false,
        limit: ms(1_000),
    }
}

fn flush_of(flush_ms: u64) -> Disk {
    Disk {
        flush: Delay::Constant(ms(flush_ms)),
        write: Delay::Constant(ms(1)),
        ..Disk::default()
    }
}

const WRITE: Request = Request::Write {
    offset: 0,
    data: b"abc",
};

#[test]
fn a_request_waits_for_both_disks() {
    let mut mirror = Mirror::of(flush_of(2), flush_of(5));
    assert_eq!(mirror.head.submit(ms(10), WRITE, 1), []);
    // The other side has it, and the head's own disk takes longer.
    assert_eq!(mirror.exchange(ms(10)), []);
    let written = mirror.head.release(ms(11), ms(11));
    assert_eq!(written, [(1, Answer::Written(3))]);
    assert_eq!(mirror.head.submit(ms(20), Request::Flush, 2), []);
    assert_eq!(mirror.exchange(ms(20)), []);
    // Durable here, not there.
    assert_eq!(mirror.head.release(ms(22), ms(22)), []);
    assert_eq!(mirror.copy.next_due(), Some(ms(25)));
    mirror.copy.release(ms(25), ms(25));
    assert_eq!(mirror.exchange(ms(26)), [(2, Answer::Flushed)]);
    let counted = [mirror.head.read_counters(), mirror.copy.read_counters()];
    for counters in counted {
        assert_eq!((counters.writes, counters.bytes_written), (1, 3));
        assert_eq!(counters.flushes, 1);
    }
    // From its arrival to the last answer; the copy's own time.
    assert_eq!(counted.map(|of| of.flush_ns_sum / 1_000_000), [6, 5]);
}

/// A write to a copy is answered when it is received; its time is part of the next flush's.
#[test]
fn a_copys_flush_takes_no_less_than_its_writes() {
    let slow = Disk {
        write: Delay::Constant(ms(30)),
        ..flush_of(5)
    };
    let mut mirror = Mirror::of(Disk::default(), slow);
    mirror.head.submit(ms(10), WRITE, 1);
    assert_eq!(mirror.exchange(ms(10)), [(1, Answer::Written(3))]);
    mirror.head.submit(ms(12), Request::Flush, 2);
    mirror.exchange(ms(12));
    assert_eq!(mirror.copy.next_due(), Some(ms(40)));
}

#[test]
fn without_power_nothing_is_waited_for_and_nothing_is_heard() {
    let mut mirror = Mirror::of(Disk::default(), Disk::default());
    assert_eq!(mirror.head.submit(ms(10), Request::Flush, 1), []);
    assert_eq!(mirror.head.freeze(), [(1, Answer::Failed)]);
    assert_eq!(mirror.exchange(ms(10)), []);
    assert_eq!(mirror.head.next_due(), None);
    assert!(mirror.head.promise(ms(11), 2).is_err());
    mirror.head.cut(PowerCut::DropAll);
    assert!(!mirror.head.leads());
    assert_eq!(mirror.head.submit(ms(12), WRITE, 2), [(2, Answer::Failed)]);
    assert_eq!(mirror.standing().fenced_by, None);
}

#[test]
fn a_head_that_promises_another_generation_fails_all() {
    let mut mirror = Mirror::of(Disk::default(), Disk::default());
    assert_eq!(mirror.head.submit(ms(10), WRITE, 1), []);
    let (survey, answers) = mirror.head.promise(ms(11), 2).unwrap();
    assert_eq!((survey.led, answers), (1, vec![(1, Answer::Failed)]));
    let read = Request::Read {
        offset: 0,
        bytes: 1,
    };
    assert_eq!(mirror.head.submit(ms(12), read, 2), [(2, Answer::Failed)]);
    let standing = mirror.standing();
    assert_eq!((standing.is_head, standing.fenced_by), (false, Some(2)));
    let fenced = Change::Fenced {
        at: ms(11),
        generation: 2,
    };
    assert_eq!(standing.changes.last(), Some(&fenced));
    // Told once; and promised once.
    assert_eq!(mirror.standing().changes, []);
    assert!(mirror.head.promise(ms(13), 2).is_err());
    assert!(mirror.head.lead(ms(13), &lead()).is_err());
}

#[test]
fn a_silent_copy_is_given_up_in_time() {
    let mut mirror = Mirror::of(Disk::default(), Disk::default());
    let mut now = ms(0);
    while mirror.standing().reach == Some(Reach::Enough) {
        now = mirror.head.next_due().expect("a look at the time");
        mirror.head.release(now, now);
    }
    assert!(now > ms(1_000) && now <= ms(1_250), "{now:?}");
}

#[test]
fn a_disk_without_copies_cannot_lead() {
    let mut engine: Engine<u32> = Engine::new(Store::in_memory(BYTES).unwrap(), Disk::default(), 7);
    assert!(engine.lead(ms(0), &lead()).is_err());
    assert!(engine.standing(ms(0)).is_err());
    engine.follow();
    let lonely = Lead {
        peers: vec![],
        ..lead()
    };
    let reason = engine.lead(ms(0), &lonely).unwrap_err();
    assert!(reason.contains("1 peers"), "{reason}");
}

/// Only its own disk stands still: it says so by saying nothing of it.
#[test]
fn a_copy_whose_disk_stalls_is_waited_for_and_not_given_up() {
    let mut mirror = Mirror::of(Disk::default(), Disk::default());
    mirror.copy.stall(ms(5)).unwrap();
    mirror.head.submit(ms(10), WRITE, 1);
    assert_eq!(mirror.exchange(ms(10)), [(1, Answer::Written(3))]);
    mirror.head.submit(ms(10), Request::Flush, 2);
    assert_eq!(mirror.exchange(ms(10)), []);
    for now in (250..3_000).step_by(250).map(ms) {
        mirror.head.release(now, now);
        mirror.copy.release(now, now);
        assert_eq!(mirror.exchange(now), []);
    }
    assert_eq!(mirror.standing().reach, Some(Reach::Enough));
    mirror.copy.go_on(ms(3_000));
    assert_eq!(mirror.exchange(ms(3_000)), [(2, Answer::Flushed)]);
}

#[test]
fn a_head_whose_disk_stalls_finishes_nothing() {
    let mut mirror = Mirror::of(Disk::default(), Disk::default());
    mirror.head.stall(ms(5)).unwrap();
    assert_eq!(mirror.head.submit(ms(10), WRITE, 1), []);
    assert_eq!(mirror.exchange(ms(10)), []);
    assert_eq!(mirror.head.go_on(ms(20)), [(1, Answer::Written(3))]);
}

#[test]
fn a_copy_whose_disk_fails_is_silent_and_can_come_back() {
    let mut mirror = Mirror::of(Disk::default(), Disk::default());
    mirror.copy.fail_requests();
    assert!(mirror.copy.promise(ms(1), 2).is_err());
    assert_eq!(mirror.head.submit(ms(10), Request::Flush, 1), []);
    assert_eq!(mirror.exchange(ms(10)), []);
    mirror.copy.mend().unwrap();
    mirror.connect();
    // What it was not told of it gets now, and the flush is done.
    assert_eq!(mirror.exchange(ms(11)), [(1, Answer::Flushed)]);
    assert_eq!(mirror.standing().whole_copies, 2);
}

/// Of the generations that led meanwhile nothing is left but their numbers.
#[test]
fn copies_kept_together_go_back_together() {
    let mut mirror = Mirror::of(Disk::default(), Disk::default());
    mirror.put(1);
    mirror.head.keep().unwrap();
    mirror.copy.keep().unwrap();
    for generation in 2..5 {
        mirror.put(9);
        mirror.put(9);
        mirror.head.freeze();
        mirror.copy.freeze();
        assert_eq!(mirror.head.go_back(), Ok(1));
        assert_eq!(mirror.copy.go_back(), Ok(1));
        assert!(!mirror.head.leads());
        mirror.copy.set_upkeep(false);
        let before = mirror.copy.read_counters();
        mirror.lead_again(generation);
        let counted = mirror.copy.read_counters().since(&before);
        // They are alike: no block had to be sent.
        assert_eq!((counted.writes, counted.flushes), (0, 1));
        assert_eq!(first_byte(&mirror.head), 1);
        assert_eq!(first_byte(&mirror.copy), 1);
        assert_eq!(mirror.head.condition(), Condition::Works);
    }
}

/// The same generation went on after the image was kept: what it did then is no part of the volume
/// any more.
#[test]
fn a_copy_that_did_not_go_back_is_made_anew() {
    let mut mirror = Mirror::of(Disk::default(), Disk::default());
    mirror.put(1);
    mirror.head.keep().unwrap();
    mirror.put(9);
    mirror.head.freeze();
    mirror.copy.freeze();
    assert_eq!(mirror.head.go_back(), Ok(1));
    mirror.copy.cut(PowerCut::DropAll);
    assert_eq!(first_byte(&mirror.copy), 9);
    mirror.lead_again(2);
    assert_eq!(first_byte(&mirror.copy), 1);
}

/// A generation that was promised is never given to another head, not even after going back.
#[test]
fn what_was_promised_holds_after_going_back() {
    let mut mirror = Mirror::of(Disk::default(), Disk::default());
    mirror.put(1);
    mirror.copy.keep().unwrap();
    mirror.copy.promise(ms(11), 7).unwrap();
    mirror.copy.freeze();
    mirror.copy.go_back().unwrap();
    assert_eq!(mirror.copy.standing(ms(12)).unwrap().promised, 7);
    assert!(mirror.copy.promise(ms(12), 7).is_err());
    mirror.copy.destroy();
    mirror.copy.renew().unwrap();
    let standing = mirror.copy.standing(ms(13)).unwrap();
    assert_eq!((standing.promised, standing.durable_epoch), (7, 0));
}

/// It would take part of an epoch for the whole.
#[test]
fn a_copy_is_kept_only_when_all_of_it_is_durable() {
    let mut mirror = Mirror::of(Disk::default(), Disk::default());
    mirror.head.submit(ms(10), WRITE, 1);
    mirror.exchange(ms(10));
    assert!(mirror.copy.keep().is_err() && mirror.head.keep().is_err());
}
