//! Tokens of whole transactions in what a source has sent to a replica, as a link carried it.
//!
//! A connection begins with logging in and with questions, each answered by packets of MySQL's
//! client/server protocol: a length of 3 bytes, a number, a payload. Once the replica has asked for
//! the log, each payload is a zero and an event; of a semi-synchronous source two bytes stand
//! between them (MySQL's source: `sql/rpl_binlog_sender.cc`, `plugin/semisync/semisync.h`; alike in
//! MariaDB). The rest is as in files.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::events::{HEADER_BYTES, Stop, length, little_endian};
use super::transactions::Transactions;
use crate::lab::link::stream::{Kept, Stream};
use crate::record::history::Token;
use crate::record::trials::Delivered;

/// Before the payload of a packet.
const PACKET_HEADER_BYTES: usize = 4;
/// A payload of so many bytes goes on in the next packet.
const PAYLOAD_BYTES_MAX: usize = 0xff_ffff;
/// No answer before the log is longer: what seems so is no plain text.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// What a payload begins with.
const OK: u8 = 0;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// Behind a zero: the next byte tells whether an acknowledgement is wanted.
const SEMI_SYNC_MARK: u8 = 0xef;
/// So much of a payload tells how long its event is.
const TOLD_BYTES: usize = 3 + HEADER_BYTES;
/// Hexadecimal digits.
const TOKEN_DIGITS: usize = 16;

/// What a connection's stream says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Of whole transactions, in order.
    pub tokens: Vec<Token>,
    /// Why the stream could not be read to its end, if so.
    pub unread: Option<String>,
}

/// What links have delivered of a table to a node at that address, whose last column is a token,
/// CHAR(16) of hexadecimal digits. Of a transaction that was sent again after a reconnection the
/// first counts. A node that nothing came to is not taken for one without transactions.
///
/// TLS and compression of that connection must be off; with either the stream cannot be read.
pub fn delivered(node: u8, address: Ipv4Addr, kept: &Kept, table: &str) -> Delivered {
    let streams = kept.streams.iter();
    let to_node = streams.filter(|stream| *stream.to.ip() == address);
    let read: Vec<(u16, Tokens)> = to_node
        .map(|stream| (stream.to.port(), tokens_in_stream(stream, table)))
        .collect();
    let mut seen = BTreeSet::new();
    let all = read
        .iter()
        .flat_map(|(_, read)| read.tokens.iter().copied());
    let tokens = all.filter(|token| seen.insert(*token)).collect();
    let mut unread = read.iter().filter_map(|(port, read)| {
        let why = read.unread.as_ref()?;
        Some(format!("the connection to port {port}: {why}"))
    });
    let not_kept = kept.lost.as_ref();
    let not_kept = not_kept.map(|why| format!("not all could be kept: {why}"));
    let nothing = || read.is_empty().then(|| "nothing of it was seen".to_owned());
    Delivered {
        node,
        tokens,
        unread: not_kept.or_else(|| unread.next()).or_else(nothing),
    }
}

/// Tokens that whole transactions in a stream have written into a table. What was on its way when
/// the stream ended has no end, and does not count.
pub fn tokens_in_stream(stream: &Stream, table: &str) -> Tokens {
    let mut found = Transactions::of(table, token);
    let unread = read(stream, &mut found).err();
    Tokens {
        tokens: found.whole,
        unread: unread.map(str::to_owned),
    }
}

/// A token, as the ledger writes it.
pub(super) fn token(value: &[u8]) -> Option<Token> {
    let is_token = value.len() == TOKEN_DIGITS && value.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(value).ok().filter(|_| is_token)?;
    Token::from_str_radix(digits, 16).ok()
}

/// Up to the end, or up to where the source ended it.
fn read(stream: &Stream, found: &mut Transactions<'_>) -> Result<(), &'static str> {
    let mut has_events = false;
    let mut last_number = None;
    let mut rest = &stream.bytes[..];
    while let Some(header) = Header::read(rest) {
        let is_log = has_events || !stream.is_from_start;
        if !is_log && !header.is_answer(last_number) {
            return Err("its beginning makes no sense: is it encrypted or compressed?");
        }
        let Some((payload, after)) = payload(rest) else {
            let there = &rest[PACKET_HEADER_BYTES..];
            let is_torn = !is_log || has_events && is_end(there) || header.may_begin(there);
            return is_torn.then_some(()).ok_or(no_event(stream));
        };
        if let Some(at) = event_at(&payload, payload.len()) {
            found.take(&payload[at..]).map_err(reason)?;
            has_events = true;
        } else if has_events && is_end(&payload) {
            return Ok(());
        } else if is_log {
            return Err(no_event(stream));
        }
        last_number = Some(header.number);
        rest = after;
    }
    Ok(())
}

/// Whether the source ends the log with this payload.
fn is_end(payload: &[u8]) -> bool {
    matches!(payload.first(), Some(&(END | ERROR)))
}

fn no_event(stream: &Stream) -> &'static str {
    match stream.is_from_start {
        true => "something in it is no event",
        false => "it was kept from its middle on, and something in it is no event",
    }
}

fn reason(stop: Stop) -> &'static str {
    match stop {
        Stop::Form(why) | Stop::Torn(why) => why,
    }
}

/// What stands before a packet's payload.
struct Header {
    bytes: usize,
    number: u8,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Header> {
        let [low, middle, high, number] = *bytes.first_chunk::<PACKET_HEADER_BYTES>()?;
        Some(Header {
            bytes: usize::try_from(little_endian(&[low, middle, high])).ok()?,
            number,
        })
    }

    /// Whether it can be a packet before the log. Numbers begin anew with each question, which has
    /// the first; while logging in both sides count on.
    fn is_answer(&self, last_number: Option<u8>) -> bool {
        let may_follow = match last_number {
            None => self.number == 0,
            Some(last) => self.number == 1 || [1, 2].contains(&self.number.wrapping_sub(last)),
        };
        may_follow && self.bytes <= ANSWER_BYTES_MAX
    }

    /// Whether this can be the beginning of a payload with an event, whose end did not come.
    fn may_begin(&self, payload: &[u8]) -> bool {
        let is_unknown = payload.len() < TOLD_BYTES || self.bytes == PAYLOAD_BYTES_MAX;
        is_unknown || event_at(payload, self.bytes).is_some()
    }
}

/// The whole payload that begins here, and what follows it.
fn payload(bytes: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let (part, mut rest) = part(bytes)?;
    let mut payload = Cow::Borrowed(part);
    let mut goes_on = part.len() == PAYLOAD_BYTES_MAX;
    while goes_on {
        let (part, after) = self::part(rest)?;
        payload.to_mut().extend_from_slice(part);
        goes_on = part.len() == PAYLOAD_BYTES_MAX;
        rest = after;
    }
    Some((payload, rest))
}

/// What one packet holds of it.
fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let header = Header::read(bytes)?;
    bytes[PACKET_HEADER_BYTES..].split_at_checked(header.bytes)
}

/// Where in a payload of so many bytes the event begins. It tells its own length, which nothing
/// else in a stream does by chance.
fn event_at(payload: &[u8], payload_bytes: usize) -> Option<usize> {
    let is_marked = payload.get(1) == Some(&SEMI_SYNC_MARK);
    let is_event = |at: &usize| {
        let bytes = payload.get(*at..).and_then(length);
        bytes.is_some_and(|bytes| bytes >= HEADER_BYTES && at + bytes == payload_bytes)
    };
    let mut places = [Some(1), is_marked.then_some(3)].into_iter().flatten();
    let found = places.find(is_event);
    found.filter(|_| payload.first() == Some(&OK))
}

#[cfg(test)]
mod tests;
