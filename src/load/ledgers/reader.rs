//! A reader: one look after the other at the transfers that a node shows.

use std::net::SocketAddr;
use std::sync::Arc;

use super::memory::Memory;
use super::note::Note;
use super::plan::Level;
use super::seen::Seen;
use super::sql;
use super::talk::{Next, Talk};
use crate::load::wire::rows::fields;
use crate::record::history::{Look, Token};

/// One reader, as a machine.
pub struct Reader {
    /// Its number in its driver.
    number: u32,
    target: SocketAddr,
    level: Level,
    times: Times,
    memory: Arc<Memory>,
    seen: Seen,
    phase: Phase,
    /// Of the look under way: when it began, the key after which it reads, what it has read, and
    /// whether all of that could be.
    begun_us: u64,
    after: u64,
    /// What was answered to all but the look itself, if that can be read.
    answer: Option<String>,
    rows: Vec<(u64, Token)>,
    is_readable: bool,
}

/// When a reader begins its next look.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// So long after the last one began.
    pub every_us: u64,
    /// So long after one failed.
    pub rest_us: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Preparing,
    /// How far the writer is.
    Asking,
    /// Until its node is there.
    Waiting,
    Looking,
}

impl Reader {
    /// The reader of that number at a server, with its level.
    pub fn new(
        (number, target, level): (u32, SocketAddr, &Level),
        times: Times,
        memory: Arc<Memory>,
    ) -> Self {
        Reader {
            number,
            target,
            level: level.clone(),
            times,
            memory,
            seen: Seen::default(),
            phase: Phase::Idle,
            begun_us: 0,
            after: 0,
            answer: None,
            rows: Vec::new(),
            is_readable: true,
        }
    }

    /// Begins a look.
    fn look(&mut self, now_us: u64) -> Next {
        self.begun_us = now_us;
        match &self.level {
            Level::Awaited(wait) => {
                self.phase = Phase::Asking;
                self.answer = None;
                Next::Ask(wait.executed.clone())
            }
            _ => self.select(),
        }
    }

    /// The writer has told how far it is.
    fn wait(&mut self, now_us: u64) -> Next {
        match (&self.level, self.answer.take()) {
            (Level::Awaited(wait), Some(gtids)) => {
                self.phase = Phase::Waiting;
                Next::Ask(wait.wait.replace("{gtids}", &gtids))
            }
            // To wait for nothing would pass for a look that is up to date.
            _ => self.missed(now_us),
        }
    }

    /// Its node is there, or was waited for long enough.
    fn waited(&mut self, now_us: u64) -> Next {
        match &self.level {
            Level::Awaited(wait) if self.answer.as_ref() != Some(&wait.good) => self.missed(now_us),
            _ => self.select(),
        }
    }

    fn select(&mut self) -> Next {
        self.after = self.seen.next_after();
        self.select_after()
    }

    fn select_after(&mut self) -> Next {
        self.rows.clear();
        self.is_readable = true;
        self.phase = Phase::Looking;
        Next::Ask(sql::select_after(self.after))
    }

    fn looked(&mut self, now_us: u64) -> Next {
        if !self.is_readable {
            return self.missed(now_us);
        }
        let change = self.seen.take(self.after, &self.rows);
        let is_thrown_back = !change.gone.is_empty() && self.after > 0;
        self.note(Look {
            begun_us: self.begun_us,
            ended_us: Some(now_us),
            new: change.new,
            gone: change.gone,
        });
        if is_thrown_back {
            // New rows may have the keys of those that are gone, and of others before them: another
            // look, at all of them.
            self.begun_us = now_us;
            self.after = 0;
            return self.select_after();
        }
        let next_us = self.begun_us + self.times.every_us;
        if next_us <= now_us {
            return self.look(now_us);
        }
        self.phase = Phase::Idle;
        Next::Rest(next_us)
    }

    /// The look has failed.
    fn missed(&mut self, now_us: u64) -> Next {
        self.note(Look {
            begun_us: self.begun_us,
            ended_us: None,
            new: Vec::new(),
            gone: Vec::new(),
        });
        self.phase = Phase::Idle;
        Next::Rest(now_us + self.times.rest_us)
    }

    fn note(&self, look: Look) {
        self.memory.append(&Note::Look(self.number, look).words());
    }
}

impl Talk for Reader {
    fn target(&self) -> SocketAddr {
        match &self.level {
            Level::Awaited(wait) if self.phase == Phase::Asking => wait.at,
            Level::Elsewhere { target, .. } => *target,
            _ => self.target,
        }
    }

    /// What it takes to connect is no part of a look.
    fn ready(&mut self, now_us: u64) -> Next {
        match &self.level {
            Level::Told(statement) => {
                self.phase = Phase::Preparing;
                Next::Ask(statement.clone())
            }
            _ => self.look(now_us),
        }
    }

    fn row(&mut self, row: &[u8]) {
        match (self.phase, keyed(row)) {
            (Phase::Looking, Some(row)) => self.rows.push(row),
            (Phase::Looking, None) => self.is_readable = false,
            // A level may answer what it likes.
            (Phase::Idle | Phase::Preparing, _) => {}
            (Phase::Asking | Phase::Waiting, _) => self.answer = text(row),
        }
    }

    fn well(&mut self, now_us: u64) -> Next {
        match self.phase {
            Phase::Idle | Phase::Preparing => self.look(now_us),
            Phase::Asking => self.wait(now_us),
            Phase::Waiting => self.waited(now_us),
            Phase::Looking => self.looked(now_us),
        }
    }

    fn failed(&mut self, _number: u16, now_us: u64) -> Next {
        match self.phase {
            Phase::Asking | Phase::Waiting | Phase::Looking => self.missed(now_us),
            Phase::Idle | Phase::Preparing => {
                self.phase = Phase::Idle;
                Next::Leave
            }
        }
    }

    fn rested(&mut self, now_us: u64) -> Next {
        self.look(now_us)
    }

    fn lost(&mut self, now_us: u64) {
        if matches!(self.phase, Phase::Asking | Phase::Waiting | Phase::Looking) {
            self.missed(now_us);
        }
        self.phase = Phase::Idle;
    }

    /// A look may be left alone at any time: nothing is changed by one.
    fn stop(&mut self) {}

    fn is_at_work(&self) -> bool {
        false
    }
}

/// The one value of a row, on one line.
fn text(row: &[u8]) -> Option<String> {
    let [value] = fields::<1>(row)?;
    Some(String::from_utf8_lossy(value).replace('\n', ""))
}

/// A row of [`sql::select_after`].
fn keyed(row: &[u8]) -> Option<(u64, Token)> {
    let [id, token] = fields::<2>(row)?.map(|field| std::str::from_utf8(field).ok());
    Some((id?.parse().ok()?, Token::from_str_radix(token?, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::plan::Wait;
    use super::*;
    use crate::lab::link::realtime::now_ns;

    const TIMES: Times = Times {
        every_us: 1_000,
        rest_us: 50_000,
    };

    fn reader(level: &Level) -> (Reader, Arc<Memory>) {
        let memory = Arc::new(Memory::create(0, 1 << 16, now_ns()).unwrap().1);
        let target = SocketAddr::from(([198, 18, 0, 1], 3306));
        let reader = Reader::new((4, target, level), TIMES, Arc::clone(&memory));
        (reader, memory)
    }

    fn row(id: u64, token: Token) -> Vec<u8> {
        let (id, token) = (id.to_string(), format!("{token:016x}"));
        let lengths = [[id.len() as u8], [16]];
        [
            &lengths[0][..],
            id.as_bytes(),
            &lengths[1],
            token.as_bytes(),
        ]
        .concat()
    }

    fn looks(memory: &Memory) -> Vec<Look> {
        let notes = memory.entries().map(|entry| Note::read(&entry));
        let look = |note: Option<Note>| match note {
            Some(Note::Look(4, look)) => look,
            other => panic!("{other:?}"),
        };
        notes.map(look).collect()
    }

    fn seen(times_us: (u64, u64), new: &[Token], gone: &[Token]) -> Look {
        Look {
            begun_us: times_us.0,
            ended_us: Some(times_us.1),
            new: new.to_vec(),
            gone: gone.to_vec(),
        }
    }

    const ALL: &str = "SELECT id, token FROM transfers WHERE id > 0";

    /// It shows these rows, and the look ends well.
    fn shows(reader: &mut Reader, rows: std::ops::RangeInclusive<u64>, now_us: u64) -> Next {
        rows.for_each(|id| reader.row(&row(id, id)));
        reader.well(now_us)
    }

    #[test]
    fn a_table_that_was_thrown_back_is_read_once_more_from_its_beginning() {
        let (mut reader, memory) = reader(&Level::Plain);
        reader.ready(10);
        shows(&mut reader, 1..=100, 20);
        reader.rested(1_015);
        // It ends at row 20 now, far before where looks begin, and row 21 was given to another.
        assert_eq!(reader.well(1_020), Next::Ask(ALL.into()));
        (1..=20).for_each(|id| reader.row(&row(id, id)));
        reader.row(&row(21, 900));
        reader.well(1_030);
        let all: Vec<Look> = looks(&memory);
        let gone = |look: &Look| {
            let mut gone = look.gone.clone();
            gone.sort_unstable();
            gone
        };
        let of = |tokens: std::ops::RangeInclusive<Token>| tokens.collect::<Vec<Token>>();
        let [_, first, second] = &all[..] else {
            panic!("{all:?}")
        };
        assert_eq!((gone(first), gone(second)), (of(37..=100), of(21..=36)));
        assert_eq!((&first.new[..], &second.new[..]), (&[][..], &[900][..]));
        assert_eq!((first.begun_us, first.ended_us), (1_015, Some(1_020)));
        assert_eq!((second.begun_us, second.ended_us), (1_020, Some(1_030)));
    }

    #[test]
    fn looks_tell_what_is_new_and_what_is_gone() {
        let (mut reader, memory) = reader(&Level::Plain);
        assert_eq!(reader.ready(10), Next::Ask(ALL.into()));
        reader.row(&row(1, u64::MAX));
        reader.row(&row(2, 7));
        // It rests from the beginning of one to the beginning of the next.
        assert_eq!(reader.well(300), Next::Rest(1_010));
        assert_eq!(reader.rested(1_015), Next::Ask(ALL.into()));
        reader.row(&row(1, u64::MAX));
        reader.row(&row(3, 8));
        // One that took long is followed at once.
        assert_eq!(reader.well(2_500), Next::Ask(ALL.into()));
        assert_eq!(reader.well(2_600), Next::Rest(3_500));
        let expected = [
            seen((10, 300), &[u64::MAX, 7], &[]),
            seen((1_015, 2_500), &[8], &[7]),
            seen((2_500, 2_600), &[], &[u64::MAX, 8]),
        ];
        assert_eq!(looks(&memory), expected);
    }

    #[test]
    fn a_level_is_set_once_for_each_connection() {
        let level = "SET SESSION wsrep_sync_wait = 1";
        let (mut reader, memory) = reader(&Level::Told(level.into()));
        assert_eq!(reader.ready(1), Next::Ask(level.into()));
        // Whatever it answers is no row of the table.
        reader.row(b"\x01x");
        assert_eq!(reader.well(2), Next::Ask(ALL.into()));
        reader.well(3);
        assert_eq!(reader.rested(1_002), Next::Ask(ALL.into()));
        reader.well(1_003);
        reader.lost(1_500);
        assert_eq!(reader.ready(2_000), Next::Ask(level.into()));
        // A server that does not know it.
        assert_eq!(reader.failed(1193, 2_001), Next::Leave);
        assert_eq!(looks(&memory).len(), 2);
    }

    #[test]
    fn a_node_is_waited_for_from_the_beginning_of_a_look() {
        let writer = SocketAddr::from(([198, 18, 0, 2], 3306));
        let level = Level::Awaited(Wait {
            at: writer,
            executed: "SELECT how far".into(),
            wait: "SELECT wait('{gtids}')".into(),
            good: "0".into(),
        });
        let (mut reader, memory) = reader(&level);
        let own = reader.target();
        // It has logged in at its node, then at the writer, where it asks anew.
        let asked = Next::Ask("SELECT how far".into());
        assert_eq!((reader.ready(5), reader.target()), (asked, writer));
        let asked = Next::Ask("SELECT how far".into());
        assert_eq!((reader.ready(10), reader.target()), (asked, writer));
        reader.row(b"\x08x:1-9,\ny");
        let waits = Next::Ask("SELECT wait('x:1-9,y')".into());
        assert_eq!((reader.well(300), reader.target()), (waits, own));
        reader.row(b"\x010");
        assert_eq!(reader.well(600), Next::Ask(ALL.into()));
        reader.row(&row(1, 7));
        assert_eq!(reader.well(900), Next::Rest(1_010));
        // It is not there in time.
        reader.rested(1_010);
        reader.row(b"\x01z");
        reader.well(1_100);
        reader.row(b"\x011");
        assert_eq!(reader.well(1_200), Next::Rest(51_200));
        // How far the writer is cannot be read: it is NULL.
        reader.rested(51_200);
        reader.row(b"\xfb");
        assert_eq!(reader.well(51_300), Next::Rest(101_300));
        // The writer is lost.
        reader.rested(101_300);
        reader.lost(102_000);
        assert_eq!(reader.target(), own);
        let looks = looks(&memory);
        assert_eq!(looks[0], seen((10, 900), &[7], &[]));
        let failed: Vec<bool> = looks.iter().map(|look| look.ended_us.is_none()).collect();
        assert_eq!(failed, [false, true, true, true]);
    }

    #[test]
    fn the_writer_may_be_looked_at_from_elsewhere() {
        let target = SocketAddr::from(([198, 18, 0, 2], 3306));
        let (mut reader, _memory) = reader(&Level::Elsewhere { node: 0, target });
        assert_eq!(reader.target(), target);
        assert_eq!(reader.ready(1), Next::Ask(ALL.into()));
    }

    #[test]
    fn what_failed_saw_nothing() {
        let (mut reader, memory) = reader(&Level::Plain);
        reader.ready(1);
        reader.row(&row(1, 5));
        assert_eq!(reader.failed(1047, 2), Next::Rest(50_002));
        reader.rested(50_002);
        reader.row(&row(1, 5));
        reader.lost(50_003);
        reader.ready(60_000);
        reader.row(b"\x011\xfb");
        assert_eq!(reader.well(60_001), Next::Rest(110_001));
        reader.rested(110_001);
        reader.row(&row(1, 5));
        reader.well(110_002);
        let looks = looks(&memory);
        let ended: Vec<Option<u64>> = looks.iter().map(|look| look.ended_us).collect();
        assert_eq!(ended, [None, None, None, Some(110_002)]);
        assert_eq!(looks[3].new, [5]);
        assert!(looks[..3].iter().all(|look| look.new.is_empty()));
        // Lost while it rests: that is no look.
        reader.lost(120_000);
        assert_eq!(memory.entries().count(), 4);
    }

    #[test]
    fn rows_are_a_key_and_a_token() {
        assert_eq!(keyed(&row(12, 0xab)), Some((12, 0xab)));
        for odd in [&b"\x011"[..], b"\x01x\x011", b"\x011\x01x", b"\x011\xfb"] {
            assert_eq!(keyed(odd), None, "{odd:?}");
        }
    }
}
