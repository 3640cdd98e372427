//! What a server's binary log holds, read from its files as recovery left them, or from what was
//! sent to a replica.
//!
//! By a reader of our own: one that is made for streams takes the torn end of a log for a broken
//! stream.
//!
//! - here: tokens in the files of a data directory
//! - `stream`: tokens in what a source has sent to a replica
//! - `transactions`: what both find; `events`, `rows`: how it is laid out

mod events;
mod rows;
pub mod stream;
mod transactions;

use std::fs;
use std::path::{Path, PathBuf};

use self::events::Stop;
use self::stream::token;
use self::transactions::Transactions;
use crate::error::{Result, Tried};
use crate::record::trials::Delivered;

const MAGIC: &[u8] = b"\xfebin";
/// Of MySQL's, where `binlog_encryption` is on.
const MAGIC_ENCRYPTED: &[u8] = b"\xfdbin";

/// Tokens of all whole transactions in the binary logs of a node's data directory that inserted
/// into `table`, whose last column is a token, CHAR(16) of hexadecimal digits.
///
/// # Errors
/// A breakdown if the folder or one of its logs cannot be read.
pub fn logged(node: u8, data: &Path, table: &str) -> Result<Delivered> {
    let mut found = Delivered {
        node,
        ..Delivered::default()
    };
    let mut paths = files(data)?;
    paths.sort_unstable();
    if paths.is_empty() {
        found.unread = Some("there is no file of that name".to_owned());
    }
    for path in paths {
        let bytes = fs::read(&path).tried(|| format!("read {}", path.display()))?;
        match found_in(&bytes, table, token) {
            Ok(tokens) => found.tokens.extend(tokens),
            Err(why) => {
                found.unread = Some(why.to_owned());
                break;
            }
        }
    }
    Ok(found)
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

/// The last columns of rows that were inserted, in order.
fn found_in(
    file: &[u8],
    table: &str,
    value: fn(&[u8]) -> Option<u64>,
) -> std::result::Result<Vec<u64>, &'static str> {
    if file.starts_with(MAGIC_ENCRYPTED) {
        return Err("it is encrypted");
    }
    let mut found = Transactions::of(table, value);
    let events = file.strip_prefix(MAGIC).unwrap_or_default();
    match found.take(events) {
        Err(Stop::Form(why)) => Err(why),
        // What a cut leaves of a log can be anything: there it ends.
        Ok(()) | Err(Stop::Torn(_)) => Ok(found.whole),
    }
}

#[cfg(test)]
mod tests {
    use super::events::samples::event;
    use super::rows::{WRITE_ROWS_EVENT_V1, WRITE_ROWS_EVENT_V2};
    use super::transactions::{
        START_ENCRYPTION_EVENT, TABLE_MAP_EVENT, TRANSACTION_PAYLOAD_EVENT,
        WRITE_ROWS_COMPRESSED_EVENT, WRITE_ROWS_COMPRESSED_EVENT_V1, XID_EVENT,
    };
    use std::collections::BTreeSet;

    use super::*;

    fn found(file: &[u8]) -> BTreeSet<u64> {
        let found = found_in(file, "ledger", number).expect("a form that is read");
        found.into_iter().collect()
    }

    /// A BIGINT.
    fn number(value: &[u8]) -> Option<u64> {
        Some(u64::from_le_bytes(value.try_into().ok()?))
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

    #[test]
    fn a_table_that_is_not_as_expected_is_not_known() {
        // Its last column is an INT.
        let mut body = vec![0; 8];
        body.extend(b"\x06acklab\0\x06ledger\0\x01\x03\0\0");
        let map = event(TABLE_MAP_EVENT, &body);
        let rows = event(
            WRITE_ROWS_EVENT_V1,
            &[0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 7, 0, 0, 0],
        );
        let file = [MAGIC, &map, &rows, &event(XID_EVENT, &[0; 12])].concat();
        assert!(found_in(&file, "ledger", number).is_err());
        assert!(found_in(&file, "other", number).is_ok_and(|numbers| numbers.is_empty()));
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
        assert!(found_in(&file, "ledger", number).is_err());
    }

    #[test]
    fn what_is_not_read_is_not_taken_for_nothing() {
        let rows = |kind| [map("ledger"), event(kind, &[0; 40])].concat();
        for form in [
            rows(WRITE_ROWS_COMPRESSED_EVENT_V1),
            rows(WRITE_ROWS_COMPRESSED_EVENT),
            event(START_ENCRYPTION_EVENT, &[0; 17]),
        ] {
            assert!(found_in(&[MAGIC, &form].concat(), "ledger", number).is_err());
        }
        assert!(found_in(b"\xfdbin and so on", "ledger", number).is_err());
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
        let of = |table: &str| logged(4, folder.path(), table).unwrap();
        assert!(of("t").unread.is_some(), "its last column is no token");
        let other = of("other");
        assert_eq!((other.node, other.tokens, other.unread), (4, vec![], None));
        assert!(logged(4, Path::new("/no/such"), "t").is_err());
        let empty = tempfile::tempdir().unwrap();
        assert!(logged(4, empty.path(), "t").unwrap().unread.is_some());
    }
}
