//! Memory that a driver shares with its parent, and that outlives it: what clients were told, and
//! what readers saw.
//!
//! A memfd, made by the parent and inherited by the driver, which alone writes to it, from one
//! thread. All of it are 64-bit words of the machine, read and written as atomics:
//!
//! ```text
//! word 0        head, 64 words: what it is, its clock, counts
//! word 64       slots of 8 words, one for each transfer, in the order of their beginnings
//! then          the log: entries one after the other, each its length in words, then these words
//! ```
//!
//! | word of the head | |
//! |---|---|
//! | 0 | `MAGIC` |
//! | 1 | the clients' start, ns of the monotonic clock: all times are µs since |
//! | 2 | number of slots |
//! | 3 | slots in use: those below it are whole |
//! | 4 | transfers acknowledged |
//! | 5 | the newest of them: its time and 1, times 256, and the node; 0 for none |
//! | 6 | COMMITs sent and not answered |
//! | 7 | words of the log in use: those below it are whole |
//! | 8 | entries for which the log had no room |
//! | 9 | 1 if a transfer was not begun for want of a slot |
//!
//! | word of a slot | |
//! |---|---|
//! | 0 | token |
//! | 1 | from, to (16 bits each), amount (32 bits), from the low end |
//! | 2 | when it was begun |
//! | 3 | when its COMMIT was sent, and 1; 0 for never |
//! | 4 | when it ended |
//! | 5 | state (8 bits): 1 begun, 2 COMMIT sent, 3 acknowledged, 4 refused, 5 unanswered; node |
//!
//! What is to be sent is noted before, what was answered before anything else is done. So a driver
//! may be killed at any moment: a transfer that it left in state 1 was rolled back with its
//! connection, and nobody knows of one in state 2.

use std::fs::File;
use std::io;
use std::iter;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::MmapRaw;
use nix::sys::memfd::{MFdFlags, memfd_create};

use super::draw::Drawn;
use crate::lab::link::realtime::now_ns;
use crate::record::history::{Answer, Transfer};

/// `ledger 1`
const MAGIC: u64 = 0x6c65_6467_6572_2031;
const WORD_BYTES: usize = 8;
const HEAD_WORDS: usize = 64;
const SLOT_WORDS: usize = 8;

// Words of the head.
const MAGIC_AT: usize = 0;
const START_NS_AT: usize = 1;
const SLOTS_AT: usize = 2;
const IN_USE_AT: usize = 3;
const ACKNOWLEDGED_AT: usize = 4;
const NEWEST_AT: usize = 5;
const IN_FLIGHT_AT: usize = 6;
const LOG_AT: usize = 7;
const UNKEPT_AT: usize = 8;
const IS_FULL_AT: usize = 9;

// Words of a slot.
const TOKEN: usize = 0;
const MOVED: usize = 1;
const BEGUN_US: usize = 2;
const COMMIT_US: usize = 3;
const ENDED_US: usize = 4;
const STATE: usize = 5;

// States of a slot.
const BEGUN: u64 = 1;
const COMMITTING: u64 = 2;
const ACKNOWLEDGED: u64 = 3;
const REFUSED: u64 = 4;
const UNANSWERED: u64 = 5;

/// A transfer's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(usize);

/// The mapped memory.
#[derive(Debug)]
pub struct Memory {
    map: MmapRaw,
    slots: usize,
}

impl Memory {
    /// New memory for so many transfers and a log of so many bytes, in a file that can be handed
    /// on. What is not used of it costs nothing.
    ///
    /// # Errors
    /// When the kernel refuses so large a file or mapping.
    pub fn create(slots: u32, log_bytes: usize, start_ns: u64) -> io::Result<(File, Memory)> {
        let slots = slots as usize;
        let words = HEAD_WORDS + slots * SLOT_WORDS + log_bytes / WORD_BYTES;
        let file = File::from(memfd_create("acklab-ledger", MFdFlags::MFD_CLOEXEC)?);
        file.set_len((words * WORD_BYTES) as u64)?;
        let map = MmapRaw::map_raw(&file)?;
        let memory = Memory { map, slots };
        memory.set(START_NS_AT, start_ns);
        memory.set(SLOTS_AT, slots as u64);
        memory.set(MAGIC_AT, MAGIC);
        Ok((file, memory))
    }

    /// The memory in a file that was inherited. The file need not stay open.
    ///
    /// # Errors
    /// When it cannot be mapped, or is none of ours.
    pub fn open(file: &File) -> io::Result<Memory> {
        let map = MmapRaw::map_raw(file)?;
        let mut memory = Memory { map, slots: 0 };
        let is_ours = memory.words() >= HEAD_WORDS && memory.get(MAGIC_AT) == MAGIC;
        let slots = match is_ours {
            true => usize::try_from(memory.get(SLOTS_AT)).ok(),
            false => None,
        };
        let room = memory.words().saturating_sub(HEAD_WORDS) / SLOT_WORDS;
        let slots = slots.filter(|slots| *slots <= room);
        memory.slots = slots.ok_or_else(|| io::Error::other("it is no ledger's memory"))?;
        Ok(memory)
    }

    /// The time since the clients' start, in µs.
    pub fn now_us(&self) -> u64 {
        now_ns().saturating_sub(self.get(START_NS_AT)) / 1_000
    }

    /// A transfer's first statement is about to be sent to that node. `None` if there is no slot.
    pub fn begin(&self, drawn: &Drawn, node: u8, at_us: u64) -> Option<Slot> {
        let slot = Slot(self.get(IN_USE_AT) as usize);
        if slot.0 >= self.slots {
            self.set(IS_FULL_AT, 1);
            return None;
        }
        let at = slot.at();
        let accounts = u64::from(drawn.from) | (u64::from(drawn.to) << 16);
        self.set(at + TOKEN, drawn.token);
        self.set(at + MOVED, accounts | (u64::from(drawn.amount) << 32));
        self.set(at + BEGUN_US, at_us);
        self.set(at + STATE, BEGUN | (u64::from(node) << 8));
        self.set(IN_USE_AT, slot.0 as u64 + 1);
        Some(slot)
    }

    /// Its COMMIT is about to be sent.
    pub fn commit(&self, slot: Slot, at_us: u64) {
        self.set(slot.at() + COMMIT_US, at_us + 1);
        self.set_state(slot, COMMITTING);
        self.set(IN_FLIGHT_AT, self.get(IN_FLIGHT_AT) + 1);
    }

    /// It has ended.
    pub fn end(&self, slot: Slot, answer: Answer, at_us: u64) {
        let before = self.state(slot);
        self.set(slot.at() + ENDED_US, at_us);
        self.set_state(slot, state_of(answer));
        if before == COMMITTING {
            self.set(IN_FLIGHT_AT, self.get(IN_FLIGHT_AT).saturating_sub(1));
        }
        if answer == Answer::Acknowledged {
            let node = self.get(slot.at() + STATE) >> 8;
            self.set(NEWEST_AT, ((at_us + 1) << 8) | node);
            self.set(ACKNOWLEDGED_AT, self.get(ACKNOWLEDGED_AT) + 1);
        }
    }

    /// Transfers acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.get(ACKNOWLEDGED_AT)
    }

    /// When the newest acknowledgement came, and from which node.
    pub fn newest(&self) -> Option<(u64, u8)> {
        let newest = self.get(NEWEST_AT);
        let at_us = (newest >> 8).checked_sub(1)?;
        Some((at_us, newest as u8))
    }

    /// COMMITs sent and not answered.
    pub fn in_flight(&self) -> u32 {
        u32::try_from(self.get(IN_FLIGHT_AT)).unwrap_or(u32::MAX)
    }

    /// Whether a transfer was not begun for want of a slot.
    pub fn is_full(&self) -> bool {
        self.get(IS_FULL_AT) == 1
    }

    /// All transfers, in the order of their beginnings. Those that are under way count as given up
    /// at that time.
    pub fn transfers(&self, now_us: u64) -> Vec<Transfer> {
        let in_use = (self.get(IN_USE_AT) as usize).min(self.slots);
        let each = (0..in_use).map(|slot| self.transfer(Slot(slot), now_us));
        each.collect()
    }

    fn transfer(&self, slot: Slot, now_us: u64) -> Transfer {
        let at = slot.at();
        // First, so that all that it stands for is there.
        let state = self.get(at + STATE);
        let ended_us = self.get(at + ENDED_US);
        let (answer, ended_us) = match state & 0xff {
            ACKNOWLEDGED => (Answer::Acknowledged, ended_us),
            REFUSED => (Answer::Refused, ended_us),
            UNANSWERED => (Answer::Unanswered, ended_us),
            COMMITTING => (Answer::Unanswered, now_us),
            _ => (Answer::Refused, now_us),
        };
        let moved = self.get(at + MOVED);
        Transfer {
            token: self.get(at + TOKEN),
            from: moved as u16,
            to: (moved >> 16) as u16,
            amount: (moved >> 32) as u32,
            node: (state >> 8) as u8,
            begun_us: self.get(at + BEGUN_US),
            commit_us: self.get(at + COMMIT_US).checked_sub(1),
            ended_us,
            answer,
        }
    }

    /// Adds an entry to the log, if there is room.
    pub fn append(&self, entry: &[u64]) {
        let used = self.get(LOG_AT) as usize;
        let at = self.log_at() + used;
        if at + 1 + entry.len() > self.words() {
            self.set(UNKEPT_AT, self.get(UNKEPT_AT) + 1);
            return;
        }
        self.set(at, entry.len() as u64);
        let places = at + 1..;
        places
            .zip(entry)
            .for_each(|(place, word)| self.set(place, *word));
        self.set(LOG_AT, (used + 1 + entry.len()) as u64);
    }

    /// All entries of the log, in order.
    pub fn entries(&self) -> impl Iterator<Item = Vec<u64>> {
        let end = (self.log_at() + self.get(LOG_AT) as usize).min(self.words());
        let mut at = self.log_at();
        iter::from_fn(move || {
            let first = at + 1;
            if first > end {
                return None;
            }
            let after = first.checked_add(self.get(at) as usize)?;
            if after > end {
                return None;
            }
            at = after;
            Some((first..after).map(|place| self.get(place)).collect())
        })
    }

    /// Entries for which the log had no room.
    pub fn unkept(&self) -> u64 {
        self.get(UNKEPT_AT)
    }

    fn state(&self, slot: Slot) -> u64 {
        self.get(slot.at() + STATE) & 0xff
    }

    /// The node stays.
    fn set_state(&self, slot: Slot, state: u64) {
        let at = slot.at() + STATE;
        self.set(at, (self.get(at) & !0xff) | state);
    }

    fn log_at(&self) -> usize {
        HEAD_WORDS + self.slots * SLOT_WORDS
    }

    fn words(&self) -> usize {
        self.map.len() / WORD_BYTES
    }

    fn get(&self, at: usize) -> u64 {
        self.word(at).load(Ordering::Acquire)
    }

    fn set(&self, at: usize, value: u64) {
        self.word(at).store(value, Ordering::Release);
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < self.words(), "word {at} of a ledger's memory");
        let words = self.map.as_mut_ptr().cast::<u64>();
        // SAFETY: it lies within the mapping, which begins at a page and lives as long as `self`,
        // and nobody touches a word of it but as an atomic.
        unsafe { AtomicU64::from_ptr(words.add(at)) }
    }
}

impl Slot {
    /// Its first word.
    fn at(self) -> usize {
        HEAD_WORDS + self.0 * SLOT_WORDS
    }
}

fn state_of(answer: Answer) -> u64 {
    match answer {
        Answer::Acknowledged => ACKNOWLEDGED,
        Answer::Refused => REFUSED,
        Answer::Unanswered => UNANSWERED,
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::waitpid;
    use nix::unistd::{ForkResult, fork, pause};

    use super::*;

    fn memory(slots: u32, log_bytes: usize) -> Memory {
        Memory::create(slots, log_bytes, now_ns()).unwrap().1
    }

    fn drawn(token: u64) -> Drawn {
        Drawn {
            token,
            from: 1,
            to: 65_535,
            amount: u32::MAX,
        }
    }

    #[test]
    fn what_was_noted_is_read_again() {
        let memory = memory(4, 0);
        assert_eq!((memory.newest(), memory.transfers(9)), (None, vec![]));
        let first = memory.begin(&drawn(u64::MAX), 3, 0).unwrap();
        memory.commit(first, 0);
        let second = memory.begin(&drawn(2), 255, 5).unwrap();
        assert_eq!(memory.in_flight(), 1);
        memory.end(first, Answer::Acknowledged, 7);
        memory.end(second, Answer::Refused, 8);
        let counts = (memory.acknowledged(), memory.in_flight());
        assert_eq!((counts, memory.newest()), ((1, 0), Some((7, 3))));
        let [one, two] = memory.transfers(9)[..] else {
            panic!("not two transfers");
        };
        let expected = Transfer {
            token: u64::MAX,
            from: 1,
            to: 65_535,
            amount: u32::MAX,
            node: 3,
            begun_us: 0,
            commit_us: Some(0),
            ended_us: 7,
            answer: Answer::Acknowledged,
        };
        assert_eq!(one, expected);
        let told = (two.node, two.begun_us, two.commit_us, two.ended_us);
        assert_eq!((told, two.answer), ((255, 5, None, 8), Answer::Refused));
    }

    #[test]
    fn what_is_under_way_is_given_up_by_whether_its_commit_was_sent() {
        let memory = memory(3, 0);
        memory.begin(&drawn(1), 0, 1).unwrap();
        let sent = memory.begin(&drawn(2), 0, 2).unwrap();
        memory.commit(sent, 3);
        let ended = memory.begin(&drawn(3), 0, 4).unwrap();
        memory.commit(ended, 5);
        memory.end(ended, Answer::Unanswered, 6);
        let told: Vec<(Answer, u64)> = memory
            .transfers(10)
            .iter()
            .map(|transfer| (transfer.answer, transfer.ended_us))
            .collect();
        let expected = [
            (Answer::Refused, 10),
            (Answer::Unanswered, 10),
            (Answer::Unanswered, 6),
        ];
        assert_eq!(told, expected);
        assert_eq!((memory.acknowledged(), memory.in_flight()), (0, 1));
    }

    #[test]
    fn without_a_slot_nothing_is_begun_and_it_is_told() {
        let memory = memory(1, 0);
        assert!(memory.begin(&drawn(1), 0, 1).is_some() && !memory.is_full());
        assert!(memory.begin(&drawn(2), 0, 2).is_none() && memory.is_full());
        assert_eq!(memory.transfers(3).len(), 1);
    }

    #[test]
    fn the_log_keeps_what_it_has_room_for() {
        // After a slot, so that neither reaches into the other.
        let memory = memory(1, 8 * WORD_BYTES);
        let slot = memory.begin(&drawn(7), 1, 1).unwrap();
        let entries = [vec![1, u64::MAX], vec![], vec![3, 4]];
        entries.iter().for_each(|entry| memory.append(entry));
        assert_eq!(memory.unkept(), 0);
        memory.append(&[5]);
        assert_eq!(memory.unkept(), 1);
        memory.append(&[]);
        memory.append(&[]);
        assert_eq!(memory.unkept(), 2);
        memory.end(slot, Answer::Refused, 2);
        let kept: Vec<Vec<u64>> = memory.entries().collect();
        assert_eq!(kept[..3], entries);
        assert_eq!(kept[3..], [Vec::<u64>::new()]);
        assert_eq!(memory.transfers(3)[0].token, 7);
    }

    #[test]
    fn only_a_ledgers_memory_is_opened() {
        let (file, ours) = Memory::create(2, 64, now_ns()).unwrap();
        let theirs = Memory::open(&file).unwrap();
        drop(file);
        let slot = theirs.begin(&drawn(5), 2, 3).unwrap();
        theirs.commit(slot, 4);
        theirs.append(&[9]);
        assert_eq!(ours.transfers(9)[0].token, 5);
        assert_eq!(ours.entries().collect::<Vec<_>>(), [vec![9]]);
        assert_eq!((ours.slots, theirs.slots), (2, 2));

        let other = memfd_create("acklab-test", MFdFlags::MFD_CLOEXEC).unwrap();
        let other = File::from(other);
        for bytes in [8, 4096] {
            other.set_len(bytes).unwrap();
            assert!(Memory::open(&other).is_err(), "{bytes} bytes of nothing");
        }
    }

    /// The driver is another process, and is killed.
    #[test]
    fn an_outcome_outlives_who_noted_it() {
        let memory = memory(4, 64);
        // SAFETY: the child only touches memory that is there, and waits to be killed.
        let child = match unsafe { fork() }.unwrap() {
            ForkResult::Parent { child } => child,
            ForkResult::Child => {
                for token in 1..=2 {
                    if let Some(slot) = memory.begin(&drawn(token), 1, token) {
                        memory.commit(slot, token);
                        if token == 1 {
                            memory.end(slot, Answer::Acknowledged, 9);
                        }
                    }
                }
                memory.begin(&drawn(3), 1, 3);
                memory.append(&[7]);
                loop {
                    pause();
                }
            }
        };
        let limit = Instant::now() + Duration::from_secs(60);
        while memory.entries().count() == 0 && Instant::now() < limit {
            sleep(Duration::from_millis(1));
        }
        kill(child, Signal::SIGKILL).unwrap();
        waitpid(child, None).unwrap();
        assert_eq!((memory.acknowledged(), memory.in_flight()), (1, 1));
        assert_eq!(memory.newest(), Some((9, 1)));
        let transfers = memory.transfers(100);
        let told: Vec<Answer> = transfers.iter().map(|transfer| transfer.answer).collect();
        let expected = [Answer::Acknowledged, Answer::Unanswered, Answer::Refused];
        assert_eq!(told, expected);
    }
}
