//! Answers to commands, read with as little work as tells how they ended. Rows are thrown away, or
//! handed out as they come.

use super::frame::{FRAME_MAX, Frames, Packet};

const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;
const MORE_RESULTS_EXIST: u16 = 0x0008;

/// More than any OK or ERR packet needs to be read.
const KEEP: usize = 1024;

/// What a server's error is, but for its text: small, since each one passes by here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// The server's own number of it.
    pub number: u16,
    sqlstate: Option<[u8; 5]>,
}

impl Failure {
    /// Its SQLSTATE; empty where the server told none.
    pub fn sqlstate(&self) -> &str {
        let told = self.sqlstate.as_ref().map(|five| std::str::from_utf8(five));
        told.and_then(Result::ok).unwrap_or_default()
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Well, having changed this many rows.
    Well { changed_rows: u64 },
    /// A statement is prepared under this id.
    Prepared { id: u32 },
    /// With an error of the server, whose text is [`Answer::message`].
    Failed(Failure),
    /// With something that is not MySQL's protocol.
    Garbled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    First,
    PrepareFirst,
    /// Definitions still to come; then, where the server sends them, an EOF packet.
    Columns(u64),
    ColumnsEnd,
    Rows,
    /// Definitions of a prepared statement: parameters first, then columns.
    PrepareSkip {
        packets: u64,
    },
}

/// Reads one answer at a time, from pieces of any size.
#[derive(Debug)]
pub struct Answer {
    frames: Frames,
    reading: Reading,
}

#[derive(Debug)]
struct Reading {
    phase: Phase,
    deprecate_eof: bool,
    changed_rows: u64,
    prepared_id: u32,
    /// Of the last error; kept for the next one, so that errors allocate nothing.
    message: Vec<u8>,
}

impl Answer {
    /// `deprecate_eof`: the session has agreed on `CLIENT_DEPRECATE_EOF`.
    pub fn new(deprecate_eof: bool) -> Self {
        Answer {
            frames: Frames::new(KEEP),
            reading: Reading {
                phase: Phase::First,
                deprecate_eof,
                changed_rows: 0,
                prepared_id: 0,
                message: Vec::new(),
            },
        }
    }

    /// The next answer is one to a query or to the execution of a prepared statement.
    pub fn expect_result(&mut self) {
        self.reading.phase = Phase::First;
        self.reading.changed_rows = 0;
    }

    /// The next answer is one to the preparation of a statement.
    pub fn expect_prepared(&mut self) {
        self.reading.phase = Phase::PrepareFirst;
    }

    /// The text of the last error.
    pub fn message(&self) -> String {
        text(&self.reading.message)
    }

    /// Reads a piece; tells how the command ended once its answer is whole.
    pub fn feed(&mut self, input: &[u8]) -> Option<Ended> {
        self.feed_rows(input, |_| {})
    }

    /// The same; the first 1,024 bytes of every row, at least, go to `row` as they came.
    /// `rows::fields` takes them apart.
    pub fn feed_rows(&mut self, mut input: &[u8], mut row: impl FnMut(&[u8])) -> Option<Ended> {
        while let Some(packet) = self.frames.next(&mut input) {
            if self.reading.is_row(packet) {
                row(packet.head);
            }
            let ended = self.reading.packet(packet);
            if ended.is_some() {
                // Nothing may follow: the next command is not sent yet.
                return if input.is_empty() {
                    ended
                } else {
                    Some(Ended::Garbled)
                };
            }
        }
        None
    }
}

impl Reading {
    fn packet(&mut self, packet: Packet) -> Option<Ended> {
        let Some(&first) = packet.head.first() else {
            return Some(Ended::Garbled);
        };
        if first == ERR {
            return Some(self.failed(packet.head));
        }
        match self.phase {
            Phase::First => self.first(first, packet),
            Phase::PrepareFirst => self.prepared(first, packet.head),
            Phase::Columns(1) => self.go(if self.deprecate_eof {
                Phase::Rows
            } else {
                Phase::ColumnsEnd
            }),
            Phase::Columns(left) => self.go(Phase::Columns(left - 1)),
            Phase::ColumnsEnd => self.go(Phase::Rows),
            Phase::Rows if self.is_end(first, packet.length) => self.rows_end(packet.head),
            Phase::Rows => None,
            Phase::PrepareSkip { packets: 1 } => Some(self.prepared_whole()),
            Phase::PrepareSkip { packets } => self.go(Phase::PrepareSkip {
                packets: packets - 1,
            }),
        }
    }

    fn failed(&mut self, head: &[u8]) -> Ended {
        let Some((failure, message)) = failure(head) else {
            return Ended::Garbled;
        };
        self.message.clear();
        self.message.extend_from_slice(message);
        Ended::Failed(failure)
    }

    fn go(&mut self, phase: Phase) -> Option<Ended> {
        self.phase = phase;
        None
    }

    fn first(&mut self, first: u8, packet: Packet) -> Option<Ended> {
        match first {
            OK => self.result_end(packet.head),
            LOCAL_INFILE => Some(Ended::Garbled),
            _ => match lenenc(packet.head) {
                Some((columns, _)) if columns > 0 => self.go(Phase::Columns(columns)),
                _ => Some(Ended::Garbled),
            },
        }
    }

    /// A row may begin with 0xfe too, but is then longer than these packets can be.
    fn is_end(&self, first: u8, length: usize) -> bool {
        let limit = if self.deprecate_eof { FRAME_MAX } else { 9 };
        first == EOF && length < limit
    }

    fn is_row(&self, packet: Packet) -> bool {
        let is_row = |first: u8| first != ERR && !self.is_end(first, packet.length);
        self.phase == Phase::Rows && packet.head.first().copied().is_some_and(is_row)
    }

    fn rows_end(&mut self, head: &[u8]) -> Option<Ended> {
        if self.deprecate_eof {
            return self.result_end(head);
        }
        // EOF: warnings, then status flags.
        let Some(status) = head.get(3..5) else {
            return Some(Ended::Garbled);
        };
        self.after_result(u16::from_le_bytes([status[0], status[1]]))
    }

    /// OK: changed rows, last inserted id, status flags.
    fn result_end(&mut self, head: &[u8]) -> Option<Ended> {
        let parsed = lenenc(&head[1..]).and_then(|(changed, rest)| {
            let (_, rest) = lenenc(rest)?;
            Some((changed, rest.first_chunk::<2>()?))
        });
        let Some((changed, status)) = parsed else {
            return Some(Ended::Garbled);
        };
        self.changed_rows += changed;
        self.after_result(u16::from_le_bytes(*status))
    }

    fn after_result(&mut self, status: u16) -> Option<Ended> {
        if status & MORE_RESULTS_EXIST != 0 {
            return self.go(Phase::First);
        }
        Some(Ended::Well {
            changed_rows: self.changed_rows,
        })
    }

    /// Prepared: id, number of columns, number of parameters.
    fn prepared(&mut self, first: u8, head: &[u8]) -> Option<Ended> {
        let Some(body) = head.get(1..9).filter(|_| first == OK) else {
            return Some(Ended::Garbled);
        };
        self.prepared_id = u32::from_le_bytes([body[0], body[1], body[2], body[3]]);
        let columns = u64::from(u16::from_le_bytes([body[4], body[5]]));
        let parameters = u64::from(u16::from_le_bytes([body[6], body[7]]));
        let ends = u64::from(!self.deprecate_eof);
        let block = |definitions: u64| definitions + ends * u64::from(definitions > 0);
        match block(parameters) + block(columns) {
            0 => Some(self.prepared_whole()),
            packets => self.go(Phase::PrepareSkip { packets }),
        }
    }

    fn prepared_whole(&self) -> Ended {
        Ended::Prepared {
            id: self.prepared_id,
        }
    }
}

/// ERR: number, `#` and five bytes of SQLSTATE where the server tells it, text. `None`: no such
/// packet.
pub fn failure(head: &[u8]) -> Option<(Failure, &[u8])> {
    let (number, rest) = head.get(1..)?.split_first_chunk::<2>()?;
    let number = u16::from_le_bytes(*number);
    let told = rest
        .strip_prefix(b"#")
        .and_then(<[u8]>::split_first_chunk::<5>);
    let (sqlstate, message) = match told {
        Some((sqlstate, message)) => (Some(*sqlstate), message),
        None => (None, rest),
    };
    Some((Failure { number, sqlstate }, message))
}

/// What a server wrote, whatever its bytes are.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A length-encoded integer and what follows it.
pub fn lenenc(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let width = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        0xfb | 0xff => return None,
        small => return Some((u64::from(small), rest)),
    };
    let (digits, rest) = rest.split_at_checked(width)?;
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(digits);
    Some((u64::from_le_bytes(wide), rest))
}

#[cfg(test)]
mod tests {
    use super::super::frame::{begin_packet, finish_packet};
    use super::*;

    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for (i, payload) in payloads.iter().enumerate() {
            let start = begin_packet(&mut out);
            out.extend_from_slice(payload);
            finish_packet(&mut out, start, i as u8 + 1);
        }
        out
    }

    /// Feeds the bytes cut at every offset; the answer must be the same, and come at the end.
    fn ended(deprecate_eof: bool, is_prepare: bool, payloads: &[&[u8]]) -> Ended {
        let bytes = packets(payloads);
        let mut seen = None;
        for cut in 0..bytes.len() {
            let mut answer = Answer::new(deprecate_eof);
            if is_prepare {
                answer.expect_prepared();
            } else {
                answer.expect_result();
            }
            assert_eq!(answer.feed(&bytes[..cut]), None, "cut at {cut}");
            let ended = answer.feed(&bytes[cut..]).expect("a whole answer");
            assert_eq!(*seen.get_or_insert(ended), ended, "cut at {cut}");
        }
        seen.unwrap()
    }

    fn well(changed_rows: u64) -> Ended {
        Ended::Well { changed_rows }
    }

    #[test]
    fn changed_rows_come_from_the_ok_packet() {
        assert_eq!(ended(true, false, &[&[0, 1, 0, 2, 0, 0, 0]]), well(1));
        assert_eq!(
            ended(true, false, &[&[0, 0xfc, 0x2c, 1, 0, 2, 0, 0, 0]]),
            well(300)
        );
        // A large insert id stands between the changed rows and the flags.
        let with_id = [0, 1, 0xfd, 1, 2, 3, 2, 0, 0, 0];
        assert_eq!(ended(true, false, &[&with_id]), well(1));
    }

    #[test]
    fn result_sets_end_with_or_without_eof_packets() {
        let row = b"\x03abc";
        let old = [0xfe, 0, 0, 2, 0];
        let new = [0xfe, 0, 0, 2, 0, 0, 0];
        assert_eq!(
            ended(false, false, &[&[1], b"def", &old, row, row, &old]),
            well(0)
        );
        assert_eq!(
            ended(true, false, &[&[2], b"def", b"def", row, &new]),
            well(0)
        );
        assert_eq!(ended(true, false, &[&[1], b"def", &new]), well(0));
        // A long row that begins with 0xfe, the length code of a huge field, is no end.
        let mut long_row = vec![0xfe; 400];
        long_row[1] = 0;
        assert_eq!(
            ended(false, false, &[&[1], b"d", &old, &long_row, &old]),
            well(0)
        );
    }

    #[test]
    fn several_results_are_one_answer() {
        let more = [0, 2, 0, 0x0a, 0, 0, 0];
        let last = [0, 3, 0, 2, 0, 0, 0];
        assert_eq!(ended(true, false, &[&more, &last]), well(5));
        let rows_end = [0xfe, 0, 0, 0x0a, 0];
        let old = [0xfe, 0, 0, 2, 0];
        let parts: [&[u8]; 6] = [&[1], b"def", &old, b"\x01x", &rows_end, &last];
        assert_eq!(ended(false, false, &parts), well(3));
    }

    #[test]
    fn errors_carry_number_state_and_text() {
        let error = b"\xff\x26\x04#23000Duplicate entry";
        let expected = Ended::Failed(Failure {
            number: 1062,
            sqlstate: Some(*b"23000"),
        });
        assert_eq!(ended(true, false, &[error]), expected);
        let late: [&[u8]; 4] = [&[1], b"def", b"\x01x", error];
        assert_eq!(ended(true, false, &late), expected);
        assert_eq!(ended(true, true, &[error]), expected);
        let (early, message) = failure(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!((early.number, early.sqlstate()), (1040, ""));
        assert_eq!(text(message), "Too many connections");
        assert_eq!(failure(b"\xff\x10"), None);
    }

    #[test]
    fn each_error_has_its_own_text() {
        let mut answer = Answer::new(true);
        for (packet, state, message) in [
            (
                &b"\xff\xbd\x04#40001Deadlock found"[..],
                "40001",
                "Deadlock found",
            ),
            (b"\xff\x05\x05#70100Late\xff", "70100", "Late\u{fffd}"),
        ] {
            answer.expect_result();
            let Some(Ended::Failed(failure)) = answer.feed(&packets(&[packet])) else {
                panic!("no error");
            };
            assert_eq!(
                (failure.sqlstate(), &answer.message()[..]),
                (state, message)
            );
        }
    }

    #[test]
    fn preparing_skips_the_definitions() {
        let prepared = |columns, parameters| [0, 7, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0];
        let id = Ended::Prepared { id: 7 };
        assert_eq!(ended(true, true, &[&prepared(0, 0)]), id);
        assert_eq!(ended(true, true, &[&prepared(1, 2), b"p", b"p", b"c"]), id);
        let eof = [0xfe, 0, 0, 2, 0];
        let parts: [&[u8]; 6] = [&prepared(1, 2), b"p", b"p", &eof, b"c", &eof];
        assert_eq!(ended(false, true, &parts), id);
        assert_eq!(ended(false, true, &[&prepared(0, 1), b"p", &eof]), id);
    }

    #[test]
    fn garbage_is_told() {
        for payload in [&[][..], &[0], &[0, 1], &[0xfb, 1], &[0, 0xff, 0, 0, 0]] {
            let bytes = packets(&[payload]);
            assert_eq!(
                Answer::new(true).feed(&bytes),
                Some(Ended::Garbled),
                "{payload:?}"
            );
        }
        // More than was asked for.
        let ok = [0, 1, 0, 2, 0, 0, 0];
        let twice = packets(&[&ok, &ok]);
        assert_eq!(Answer::new(true).feed(&twice), Some(Ended::Garbled));
    }
}
