//! What whole transactions in a binary log have written into one table. One reader for all that
//! brings events: files, and what a link carried.

use std::collections::BTreeMap;

use super::events::{Event, Stop, events, unpacked};
use super::rows::{Columns, TableMap, WRITE_ROWS_EVENT_V1, WRITE_ROWS_EVENT_V2, table_number};

/// Ends a transaction of InnoDB's.
pub const XID_EVENT: u8 = 16;
pub const TABLE_MAP_EVENT: u8 = 19;
/// Each begins a transaction: MySQL's, with or without a number, or with a tag; MariaDB's.
pub const GTID_EVENT: u8 = 33;
const ANONYMOUS_GTID_EVENT: u8 = 34;
const GTID_TAGGED_EVENT: u8 = 42;
pub const MARIADB_GTID_EVENT: u8 = 162;
/// MySQL's: a whole transaction, compressed.
pub const TRANSACTION_PAYLOAD_EVENT: u8 = 40;
/// MariaDB's, with `encrypt_binlog`: all that follows is encrypted.
pub const START_ENCRYPTION_EVENT: u8 = 164;
/// MariaDB's, with `log_bin_compress`: rows written, in both forms.
pub const WRITE_ROWS_COMPRESSED_EVENT_V1: u8 = 166;
pub const WRITE_ROWS_COMPRESSED_EVENT: u8 = 169;

/// What was found so far.
pub struct Transactions<'t> {
    table: &'t str,
    /// Reads the last column.
    value: fn(&[u8]) -> Option<u64>,
    /// Values of all rows of whole transactions, in the log's order.
    pub whole: Vec<u64>,
    /// Of a transaction without its end, which was never committed by this log.
    open: Vec<u64>,
    /// Of the table, by what rows name it by.
    layouts: BTreeMap<u64, Columns>,
}

impl<'t> Transactions<'t> {
    /// To find what rows of a table have in their last column.
    pub fn of(table: &'t str, value: fn(&[u8]) -> Option<u64>) -> Transactions<'t> {
        Transactions {
            table,
            value,
            whole: Vec::new(),
            open: Vec::new(),
            layouts: BTreeMap::new(),
        }
    }

    /// Reads on, up to the first event that is not all there.
    ///
    /// # Errors
    /// Why no more can be read. What was found before stays.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        events(bytes).try_for_each(|event| self.take_one(&event))
    }

    fn take_one(&mut self, event: &Event<'_>) -> Result<(), Stop> {
        match event.kind {
            GTID_EVENT | ANONYMOUS_GTID_EVENT | GTID_TAGGED_EVENT | MARIADB_GTID_EVENT => {
                self.open.clear();
            }
            TABLE_MAP_EVENT => self.note(event.body)?,
            WRITE_ROWS_EVENT_V1 | WRITE_ROWS_EVENT_V2 => self.read_rows(event)?,
            XID_EVENT => self.whole.append(&mut self.open),
            TRANSACTION_PAYLOAD_EVENT => self.take(&unpacked(event.body)?)?,
            START_ENCRYPTION_EVENT => return Err(Stop::Form("it is encrypted")),
            WRITE_ROWS_COMPRESSED_EVENT_V1 | WRITE_ROWS_COMPRESSED_EVENT
                if self.layout(event).is_some() =>
            {
                return Err(Stop::Form(
                    "its rows are compressed as MariaDB does, which is not read here",
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// A number may come to stand for another table.
    fn note(&mut self, body: &[u8]) -> Result<(), Stop> {
        let map = TableMap::read(body)?;
        self.layouts.remove(&map.number);
        if map.name == self.table.as_bytes() {
            self.layouts.insert(map.number, map.columns()?);
        }
        Ok(())
    }

    fn read_rows(&mut self, event: &Event<'_>) -> Result<(), Stop> {
        let Some(columns) = self.layout(event) else {
            return Ok(());
        };
        let unknown = Stop::Form("a row's last column is not what it should be");
        let values = columns.last_values(event)?.into_iter();
        let values: Option<Vec<u64>> = values.map(self.value).collect();
        self.open.extend(values.ok_or(unknown)?);
        Ok(())
    }

    /// The table's, if the event is about it.
    fn layout(&self, event: &Event<'_>) -> Option<&Columns> {
        self.layouts.get(&table_number(event.body)?)
    }
}
