//! Events of a binary log: where each begins and ends, and what a compressed transaction holds.
//!
//! Layout: MySQL Internals, "Binlog Event"; alike in all flavours. MySQL's compressed transactions:
//! `binary_log::Transaction_payload_event` in its source.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

/// Bytes before an event's body.
pub const HEADER_BYTES: usize = 19;
/// Where a header tells the type and the length of its event.
const TYPE_AT: usize = 4;
const LENGTH_AT: usize = 9;

/// Fields before a payload: what a number says, until the mark.
const PAYLOAD_END_MARK: u64 = 0;
const PAYLOAD_BYTES: u64 = 1;
const PAYLOAD_COMPRESSION: u64 = 2;
const COMPRESSION_ZSTD: u64 = 0;
const COMPRESSION_NONE: u64 = 255;

/// Why no more is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It is in a form that is not read here: what it holds is not known.
    Form(&'static str),
    /// It makes no sense, as the end of a log that was torn.
    Torn(&'static str),
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'f> {
    pub kind: u8,
    /// With its checksum, if it has one.
    pub body: &'f [u8],
}

/// All events up to the first that is not all there.
pub fn events(bytes: &[u8]) -> impl Iterator<Item = Event<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let kind = *rest.get(TYPE_AT)?;
        let (event, after) = rest.split_at_checked(length(rest)?)?;
        let body = event.get(HEADER_BYTES..)?;
        rest = after;
        Some(Event { kind, body })
    })
}

/// How many bytes the event takes that begins here, its header and checksum among them.
pub fn length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(LENGTH_AT..LENGTH_AT + 4)?;
    usize::try_from(little_endian(length)).ok()
}

/// The events of a compressed transaction, which have no checksums of their own.
///
/// # Errors
/// Why they cannot be had.
pub fn unpacked(body: &[u8]) -> Result<Vec<u8>, Stop> {
    let nonsense = Stop::Form("a compressed transaction makes no sense");
    let (compression, payload) = payload(body).ok_or(nonsense)?;
    match compression {
        COMPRESSION_NONE => Ok(payload.to_vec()),
        COMPRESSION_ZSTD => {
            zstd(payload).ok_or(Stop::Form("a compressed transaction cannot be unpacked"))
        }
        _ => Err(Stop::Form(
            "its transactions are compressed in a way that is not read here",
        )),
    }
}

/// How it is compressed, and the bytes. Fields: type, length and value, each a packed integer.
fn payload(body: &[u8]) -> Option<(u64, &[u8])> {
    let (mut compression, mut bytes) = (COMPRESSION_NONE, None);
    let mut rest = body;
    loop {
        let (field, after) = packed(rest)?;
        if field == PAYLOAD_END_MARK {
            let bytes = bytes.unwrap_or(after.len() as u64);
            return Some((compression, after.get(..usize::try_from(bytes).ok()?)?));
        }
        let (length, after) = packed(after)?;
        let (value, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
        match field {
            PAYLOAD_BYTES => bytes = Some(packed(value)?.0),
            PAYLOAD_COMPRESSION => compression = packed(value)?.0,
            _ => {}
        }
        rest = after;
    }
}

/// MySQL's length-encoded integer, and what follows it.
pub fn packed(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let length = match first {
        0..=250 => return Some((u64::from(*first), rest)),
        252 => 2,
        253 => 3,
        254 => 8,
        _ => return None,
    };
    let (number, rest) = rest.split_at_checked(length)?;
    Some((little_endian(number), rest))
}

/// A number of at most eight bytes, the least first.
pub fn little_endian(bytes: &[u8]) -> u64 {
    let digits = bytes.iter().rev();
    digits.fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// All frames, one after another.
fn zstd(mut frames: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while !frames.is_empty() {
        let mut frame = StreamingDecoder::new(&mut frames).ok()?;
        frame.read_to_end(&mut bytes).ok()?;
    }
    Some(bytes)
}

/// Events as a server writes them.
#[cfg(test)]
pub mod samples {
    use super::HEADER_BYTES;

    pub fn event(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER_BYTES + body.len()).unwrap();
        let mut event = vec![0, 0, 0, 0, kind, 1, 0, 0, 0];
        event.extend(length.to_le_bytes());
        event.extend([0; 6]);
        event.extend(body);
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_integers_are_read() {
        assert_eq!(packed(&[250, 9]), Some((250, &[9][..])));
        assert_eq!(packed(&[252, 1, 2, 9]), Some((0x0201, &[9][..])));
        assert_eq!(packed(&[253, 1, 2, 3]), Some((0x03_0201, &[][..])));
        assert_eq!(
            packed(&[254, 1, 0, 0, 0, 0, 0, 0, 2]).unwrap().0,
            2 << 56 | 1
        );
        for torn in [&[][..], &[251], &[255], &[252, 1], &[254, 1, 0, 0]] {
            assert_eq!(packed(torn), None);
        }
    }

    #[test]
    fn an_event_that_is_not_all_there_ends_them() {
        let mut event = vec![0u8; HEADER_BYTES];
        event[TYPE_AT] = 16;
        event[LENGTH_AT] = 21;
        event.extend([7, 8]);
        let log = [&event[..], &event[..], &event[..20]].concat();
        let found: Vec<Event<'_>> = events(&log).collect();
        let one = Event {
            kind: 16,
            body: &[7, 8],
        };
        assert_eq!(found, [one, one]);
        assert_eq!(length(&log), Some(21));
        // No event is shorter than its header.
        assert_eq!(events(&[0; 64]).count(), 0);
    }
}
