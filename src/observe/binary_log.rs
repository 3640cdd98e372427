//! What a server's binary log holds, read from its files as recovery left them.
//!
//! By a reader of our own: one that is made for streams takes the torn end of a log for a broken
//! stream. Layout: MySQL Internals, "Binlog Event"; alike in all flavours for the events read here.
//! MySQL's compressed transactions: `binary_log::Transaction_payload_event` in its source.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use ruzstd::decoding::StreamingDecoder;

use crate::error::{Result, Tried};

const MAGIC: &[u8] = b"\xfebin";
/// Of MySQL's, where `binlog_encryption` is on.
const MAGIC_ENCRYPTED: &[u8] = b"\xfdbin";
const HEADER_BYTES: usize = 19;
/// Where a header tells the type and the length of its event.
const TYPE_AT: usize = 4;
const LENGTH_AT: usize = 9;

/// Ends a transaction of InnoDB's.
const XID_EVENT: u8 = 16;
const TABLE_MAP_EVENT: u8 = 19;
const WRITE_ROWS_EVENT_V1: u8 = 23;
const WRITE_ROWS_EVENT_V2: u8 = 30;
/// MySQL's: a whole transaction, compressed.
const TRANSACTION_PAYLOAD_EVENT: u8 = 40;
/// MariaDB's, with `encrypt_binlog`: all that follows is encrypted.
const START_ENCRYPTION_EVENT: u8 = 164;
/// MariaDB's, with `log_bin_compress`: rows written, in both forms.
const WRITE_ROWS_COMPRESSED_EVENT_V1: u8 = 166;
const WRITE_ROWS_COMPRESSED_EVENT: u8 = 169;

/// Fields before a payload: what a number says, until the mark.
const PAYLOAD_END_MARK: u64 = 0;
const PAYLOAD_BYTES: u64 = 1;
const PAYLOAD_COMPRESSION: u64 = 2;
const COMPRESSION_ZSTD: u64 = 0;
const COMPRESSION_NONE: u64 = 255;

/// Of events on rows: the number of the table, and flags.
const TABLE_NUMBER_BYTES: usize = 6;
const FLAGS_BYTES: usize = 2;
const KEY_BYTES: usize = 8;

/// What a log says, or why it cannot be read.
pub type Numbers = std::result::Result<BTreeSet<u64>, &'static str>;

/// Numbers of all whole transactions in the binary logs of a data directory that inserted into
/// `table`, which has a single column, a BIGINT that is never NULL. A reason where a log is in a
/// form that is not read here: what it holds is not known then.
///
/// # Errors
/// A breakdown if the folder or one of its logs cannot be read.
pub fn numbers(data: &Path, table: &str) -> Result<Numbers> {
    let mut all = BTreeSet::new();
    for path in files(data)? {
        let bytes = fs::read(&path).tried(|| format!("read {}", path.display()))?;
        match numbers_in(&bytes, table) {
            Ok(numbers) => all.extend(numbers),
            Err(why) => return Ok(Err(why)),
        }
    }
    Ok(Ok(all))
}

/// `binlog.000001` and so on: the index names them too, but may itself have been cut.
fn files(data: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(data).tried(|| format!("list {}", data.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let is_log = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = name.strip_prefix("binlog.").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    Ok(paths.filter(is_log).collect())
}

fn numbers_in(file: &[u8], table: &str) -> Numbers {
    if file.starts_with(MAGIC_ENCRYPTED) {
        return Err("it is encrypted");
    }
    let mut reading = Reading::default();
    let events = file.strip_prefix(MAGIC).unwrap_or_default();
    reading.take(events, table)?;
    Ok(reading.whole)
}

/// What was found in a log so far.
#[derive(Default)]
struct Reading {
    whole: BTreeSet<u64>,
    /// Of a transaction without its end, which was never committed by this log.
    open: Vec<u64>,
    is_ours: bool,
}

impl Reading {
    fn take(&mut self, bytes: &[u8], table: &str) -> std::result::Result<(), &'static str> {
        for event in events(bytes) {
            match event.kind {
                TABLE_MAP_EVENT => self.is_ours = table_name(event.body) == Some(table.as_bytes()),
                WRITE_ROWS_EVENT_V1 | WRITE_ROWS_EVENT_V2 if self.is_ours => {
                    self.open.extend(key(&event));
                }
                XID_EVENT => self.whole.extend(self.open.drain(..)),
                TRANSACTION_PAYLOAD_EVENT => self.take(&unpacked(event.body)?, table)?,
                START_ENCRYPTION_EVENT => return Err("it is encrypted"),
                WRITE_ROWS_COMPRESSED_EVENT_V1 | WRITE_ROWS_COMPRESSED_EVENT if self.is_ours => {
                    return Err("its rows are compressed as MariaDB does, which is not read here");
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The events of a compressed transaction, which have no checksums of their own.
fn unpacked(body: &[u8]) -> std::result::Result<Vec<u8>, &'static str> {
    let (compression, payload) = payload(body).ok_or("a compressed transaction makes no sense")?;
    match compression {
        COMPRESSION_NONE => Ok(payload.to_vec()),
        COMPRESSION_ZSTD => zstd(payload).ok_or("a compressed transaction cannot be unpacked"),
        _ => Err("its transactions are compressed in a way that is not read here"),
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
fn packed(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let length = match first {
        0..=250 => return Some((u64::from(*first), rest)),
        252 => 2,
        253 => 3,
        254 => 8,
        _ => return None,
    };
    let (number, rest) = rest.split_at_checked(length)?;
    let digits = number.iter().rev();
    Some((
        digits.fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        rest,
    ))
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

struct Event<'f> {
    kind: u8,
    /// With its checksum, if it has one.
    body: &'f [u8],
}

/// All events up to the first that is not all there.
fn events(bytes: &[u8]) -> impl Iterator<Item = Event<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let kind = *rest.get(TYPE_AT)?;
        let length = rest.get(LENGTH_AT..LENGTH_AT + 4)?;
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        let (event, after) = rest.split_at_checked(length)?;
        let body = event.get(HEADER_BYTES..)?;
        rest = after;
        Some(Event { kind, body })
    })
}

/// Of a table's map: after the names' lengths come the names, each with a zero.
fn table_name(body: &[u8]) -> Option<&[u8]> {
    let (_, rest) = body.split_at_checked(TABLE_NUMBER_BYTES + FLAGS_BYTES)?;
    let (database_bytes, rest) = rest.split_first()?;
    let rest = rest.get(usize::from(*database_bytes) + 1..)?;
    let (name_bytes, rest) = rest.split_first()?;
    rest.get(..usize::from(*name_bytes))
}

/// The first row's only column.
fn key(event: &Event<'_>) -> Option<u64> {
    let mut at = TABLE_NUMBER_BYTES + FLAGS_BYTES;
    if event.kind == WRITE_ROWS_EVENT_V2 {
        // More data, whose length counts itself.
        let extra = event.body.get(at..at + 2)?;
        at += usize::from(u16::from_le_bytes(extra.try_into().ok()?));
    }
    // One column; which are there; which are NULL: a byte each.
    at += 3;
    let key = event.body.get(at..at + KEY_BYTES)?;
    Some(u64::from_le_bytes(key.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER_BYTES + body.len()).unwrap();
        let mut event = vec![0, 0, 0, 0, kind, 1, 0, 0, 0];
        event.extend(length.to_le_bytes());
        event.extend([0; 6]);
        event.extend(body);
        event
    }

    fn found(file: &[u8]) -> BTreeSet<u64> {
        numbers_in(file, "ledger").expect("a form that is read")
    }

    fn map(table: &str) -> Vec<u8> {
        let mut body = vec![0; 8];
        body.extend(b"\x06acklab\0");
        body.push(table.len() as u8);
        body.extend(table.as_bytes());
        body.extend(b"\0\x01\x08\0\0");
        event(TABLE_MAP_EVENT, &body)
    }

    fn insert(kind: u8, number: u64) -> Vec<u8> {
        let mut body = vec![0; 8];
        if kind == WRITE_ROWS_EVENT_V2 {
            body.extend([2, 0]);
        }
        body.extend([1, 0xff, 0]);
        body.extend(number.to_le_bytes());
        body.extend([0xc4; 4]); // a checksum
        event(kind, &body)
    }

    fn transaction(kind: u8, table: &str, number: u64) -> Vec<u8> {
        [map(table), insert(kind, number), event(XID_EVENT, &[0; 12])].concat()
    }

    #[test]
    fn whole_transactions_on_the_table_are_found() {
        let file = [
            MAGIC.to_vec(),
            event(15, &[0; 90]),
            transaction(WRITE_ROWS_EVENT_V2, "ledger", 7),
            transaction(WRITE_ROWS_EVENT_V1, "ledger", 1 << 40),
            transaction(WRITE_ROWS_EVENT_V2, "other", 8),
            event(162, &[0; 19]), // of MariaDB's own
            transaction(WRITE_ROWS_EVENT_V2, "ledger", 9),
        ]
        .concat();
        assert_eq!(found(&file), [7, 9, 1 << 40].into());
        // The last one's end is torn off.
        let torn = &file[..file.len() - 1];
        assert_eq!(found(torn), [7, 1 << 40].into());
        assert!(found(b"").is_empty());
        assert!(found(&file[1..]).is_empty());
    }

    /// What a cut leaves of a log can be anything.
    #[test]
    fn zeros_and_nonsense_end_a_log() {
        let good = transaction(WRITE_ROWS_EVENT_V2, "ledger", 7);
        for rest in [vec![0; 64], vec![0xff; 64], event(WRITE_ROWS_EVENT_V2, &[])] {
            let file = [MAGIC.to_vec(), good.clone(), rest, good.clone()].concat();
            assert_eq!(found(&file), [7].into());
        }
        assert_eq!(table_name(&[9; 9]), None);
    }

    /// A transaction as `binlog_transaction_compression` writes it, with a checksum behind.
    fn compressed(events: &[u8]) -> Vec<u8> {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let payload = ruzstd::encoding::compress_to_vec(events, level);
        let long = |number: usize| [vec![252], (number as u16).to_le_bytes().to_vec()].concat();
        let size = long(payload.len());
        let fields = [
            vec![2, 1, 0],
            vec![3, 3],
            long(events.len()),
            vec![1, size.len() as u8],
            size,
            vec![0],
        ];
        let body = [fields.concat(), payload, vec![0xc4; 4]].concat();
        event(TRANSACTION_PAYLOAD_EVENT, &body)
    }

    /// A server that lost nothing was called broken: all its commits were "only in the table".
    #[test]
    fn compressed_transactions_are_read() {
        let within = transaction(WRITE_ROWS_EVENT_V2, "ledger", 7);
        let more = transaction(WRITE_ROWS_EVENT_V2, "ledger", 8);
        let other = transaction(WRITE_ROWS_EVENT_V2, "other", 9);
        let plain = transaction(WRITE_ROWS_EVENT_V2, "ledger", 10);
        let parts = [within, more, other]
            .map(|events| compressed(&events))
            .concat();
        let file = [MAGIC.to_vec(), parts, plain].concat();
        assert_eq!(found(&file), [7, 8, 10].into());
        assert_eq!(found(&file[..file.len() - 1]), [7, 8].into());
        let nonsense = event(TRANSACTION_PAYLOAD_EVENT, &[2, 1, 0, 0, 9, 9, 9]);
        let file = [MAGIC, &nonsense].concat();
        assert!(numbers_in(&file, "ledger").is_err());
    }

    #[test]
    fn what_is_not_read_is_not_taken_for_nothing() {
        let rows = |kind| [map("ledger"), event(kind, &[0; 40])].concat();
        for form in [
            rows(WRITE_ROWS_COMPRESSED_EVENT_V1),
            rows(WRITE_ROWS_COMPRESSED_EVENT),
            event(START_ENCRYPTION_EVENT, &[0; 17]),
        ] {
            assert!(numbers_in(&[MAGIC, &form].concat(), "ledger").is_err());
        }
        assert!(numbers_in(b"\xfdbin and so on", "ledger").is_err());
        let elsewhere = [map("other"), event(WRITE_ROWS_COMPRESSED_EVENT, &[0; 40])].concat();
        assert!(found(&[MAGIC, &elsewhere].concat()).is_empty());
    }

    #[test]
    fn only_logs_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let log = [MAGIC.to_vec(), transaction(WRITE_ROWS_EVENT_V1, "t", 3)].concat();
        for name in ["binlog.000001", "binlog.index", "relay.000001", "binlog."] {
            fs::write(folder.path().join(name), &log).unwrap();
        }
        assert_eq!(files(folder.path()).unwrap().len(), 1);
        assert_eq!(numbers(folder.path(), "t").unwrap(), Ok([3].into()));
        assert!(numbers(Path::new("/no/such"), "t").is_err());
    }
}
