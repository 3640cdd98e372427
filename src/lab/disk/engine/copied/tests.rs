//! A mirror's two disks in one place: messages are handed over by the test.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use super::*;
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
