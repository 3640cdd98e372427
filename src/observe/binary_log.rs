//! What a server's binary log holds, read from its files as recovery left them.
//!
//! By a reader of our own: one that is made for streams takes the torn end of a log for a broken
//! stream. Layout: MySQL Internals, "Binlog Event"; alike in all flavours for the events read here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Result, Tried};

const MAGIC: &[u8] = b"\xfebin";
const HEADER_BYTES: usize = 19;
/// Where a header tells the type and the length of its event.
const TYPE_AT: usize = 4;
const LENGTH_AT: usize = 9;

/// Ends a transaction of InnoDB's.
const XID_EVENT: u8 = 16;
const TABLE_MAP_EVENT: u8 = 19;
const WRITE_ROWS_EVENT_V1: u8 = 23;
const WRITE_ROWS_EVENT_V2: u8 = 30;

/// Of events on rows: the number of the table, and flags.
const TABLE_NUMBER_BYTES: usize = 6;
const FLAGS_BYTES: usize = 2;
const KEY_BYTES: usize = 8;

/// Numbers of all whole transactions in the binary logs of a data directory that inserted into
/// `table`, which has a single column, a BIGINT that is never NULL.
///
/// # Errors
/// A breakdown if the folder or one of its logs cannot be read.
pub fn numbers(data: &Path, table: &str) -> Result<BTreeSet<u64>> {
    let mut all = BTreeSet::new();
    for path in files(data)? {
        let bytes = fs::read(&path).tried(|| format!("read {}", path.display()))?;
        all.extend(numbers_in(&bytes, table));
    }
    Ok(all)
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

/// A transaction without its end was never committed by this log.
fn numbers_in(file: &[u8], table: &str) -> BTreeSet<u64> {
    let mut whole = BTreeSet::new();
    let mut open = Vec::new();
    let mut is_ours = false;
    for event in events(file) {
        match event.kind {
            TABLE_MAP_EVENT => is_ours = table_name(event.body) == Some(table.as_bytes()),
            WRITE_ROWS_EVENT_V1 | WRITE_ROWS_EVENT_V2 if is_ours => open.extend(key(&event)),
            XID_EVENT => whole.extend(open.drain(..)),
            _ => {}
        }
    }
    whole
}

struct Event<'f> {
    kind: u8,
    /// With its checksum, if it has one.
    body: &'f [u8],
}

/// All events up to the first that is not all there.
fn events(file: &[u8]) -> impl Iterator<Item = Event<'_>> {
    let mut rest = file.strip_prefix(MAGIC).unwrap_or_default();
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
        assert_eq!(numbers_in(&file, "ledger"), [7, 9, 1 << 40].into());
        // The last one's end is torn off.
        let torn = &file[..file.len() - 1];
        assert_eq!(numbers_in(torn, "ledger"), [7, 1 << 40].into());
        assert!(numbers_in(b"", "ledger").is_empty());
        assert!(numbers_in(&file[1..], "ledger").is_empty());
    }

    /// What a cut leaves of a log can be anything.
    #[test]
    fn zeros_and_nonsense_end_a_log() {
        let good = transaction(WRITE_ROWS_EVENT_V2, "ledger", 7);
        for rest in [vec![0; 64], vec![0xff; 64], event(WRITE_ROWS_EVENT_V2, &[])] {
            let file = [MAGIC.to_vec(), good.clone(), rest, good.clone()].concat();
            assert_eq!(numbers_in(&file, "ledger"), [7].into());
        }
        assert_eq!(table_name(&[9; 9]), None);
    }

    #[test]
    fn only_logs_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let log = [MAGIC.to_vec(), transaction(WRITE_ROWS_EVENT_V1, "t", 3)].concat();
        for name in ["binlog.000001", "binlog.index", "relay.000001", "binlog."] {
            fs::write(folder.path().join(name), &log).unwrap();
        }
        assert_eq!(files(folder.path()).unwrap().len(), 1);
        assert_eq!(numbers(folder.path(), "t").unwrap(), [3].into());
        assert!(numbers(Path::new("/no/such"), "t").is_err());
    }
}
