//! Rows in events of a binary log: how a table's map lays them out, and what stands in their last
//! column.
//!
//! Layout: MySQL Internals, "TABLE_MAP_EVENT" and "ROWS_EVENT"; columns as
//! `Field::pack` writes them. Optional fields of newer maps stand behind all that is read here.

use super::events::{Event, Stop, little_endian, packed};

/// Rows written, as MariaDB and MySQL up to 5.5 tell them, and as MySQL does since 5.6: with more
/// data before the columns.
pub const WRITE_ROWS_EVENT_V1: u8 = 23;
pub const WRITE_ROWS_EVENT_V2: u8 = 30;

/// Of events on rows: the number of the table, and flags.
const TABLE_NUMBER_BYTES: usize = 6;
const FLAGS_BYTES: usize = 2;
/// At the end of an event, if the log has checksums. No row that is read here is so short.
const CHECKSUM_BYTES: usize = 4;

/// Types of columns. Of ENUM and SET a map says that they are CHAR, and then what they are.
const TINY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const LONGLONG: u8 = 8;
const INT24: u8 = 9;
const VARCHAR: u8 = 15;
const CHAR: u8 = 254;
/// Of a CHAR's type: bits that hold the upper bits of its length, turned round.
const CHAR_LENGTH_BITS: u8 = 0x30;

const NO_MAP: Stop = Stop::Torn("a table's map makes no sense");
const NO_ROWS: Stop = Stop::Torn("rows make no sense");

/// Which table a map is about, and how its rows are laid out.
#[derive(Debug)]
pub struct TableMap<'e> {
    /// What rows name the table by.
    pub number: u64,
    pub name: &'e [u8],
    /// From the number of columns on.
    layout: &'e [u8],
}

/// The columns of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Columns(Vec<Column>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Fixed {
        bytes: usize,
    },
    /// Its length stands before it, in so many bytes.
    Text {
        length_bytes: usize,
    },
}

/// Which table an event on rows is about.
pub fn table_number(body: &[u8]) -> Option<u64> {
    body.get(..TABLE_NUMBER_BYTES).map(little_endian)
}

impl<'e> TableMap<'e> {
    /// After number and flags come the names of database and table, each with its length before and
    /// a zero behind.
    ///
    /// # Errors
    /// That it makes no sense.
    pub fn read(body: &'e [u8]) -> Result<TableMap<'e>, Stop> {
        let read = || {
            let (_, rest) = body.split_at_checked(TABLE_NUMBER_BYTES + FLAGS_BYTES)?;
            let (_, rest) = name(rest)?;
            let (name, layout) = name(rest)?;
            Some(TableMap {
                number: table_number(body)?,
                name,
                layout,
            })
        };
        read().ok_or(NO_MAP)
    }

    /// # Errors
    /// That it makes no sense, or that a column is of a type that is not read here.
    pub fn columns(&self) -> Result<Columns, Stop> {
        let (types, mut metadata) = self.types().ok_or(NO_MAP)?;
        let column = |kind: &u8| column(*kind, &mut metadata);
        let columns: Vec<Column> = types.iter().map(column).collect::<Result<_, Stop>>()?;
        Ok(Columns(columns))
    }

    /// Types of all columns, and more on some of them.
    fn types(&self) -> Option<(&'e [u8], &'e [u8])> {
        let (count, rest) = packed(self.layout)?;
        let (types, rest) = rest.split_at_checked(usize::try_from(count).ok()?)?;
        let (metadata_bytes, rest) = packed(rest)?;
        let metadata = rest.get(..usize::try_from(metadata_bytes).ok()?)?;
        Some((types, metadata))
    }
}

fn name(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = packed(bytes)?;
    let (name, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((name, rest.get(1..)?))
}

fn column(kind: u8, metadata: &mut &[u8]) -> Result<Column, Stop> {
    let other = Stop::Form("a table has a column of a type that is not read here");
    match kind {
        TINY => Ok(Column::Fixed { bytes: 1 }),
        SHORT => Ok(Column::Fixed { bytes: 2 }),
        INT24 => Ok(Column::Fixed { bytes: 3 }),
        LONG => Ok(Column::Fixed { bytes: 4 }),
        LONGLONG => Ok(Column::Fixed { bytes: 8 }),
        VARCHAR => Ok(text(u16::from_le_bytes(two(metadata)?))),
        CHAR => {
            let [kind, low] = two(metadata)?;
            let high = u16::from(!kind & CHAR_LENGTH_BITS) << 4;
            match kind | CHAR_LENGTH_BITS {
                CHAR => Ok(text(high | u16::from(low))),
                _ => Err(other),
            }
        }
        _ => Err(other),
    }
}

/// A column of so many bytes at most.
fn text(bytes_max: u16) -> Column {
    Column::Text {
        length_bytes: if bytes_max > 255 { 2 } else { 1 },
    }
}

fn two(metadata: &mut &[u8]) -> Result<[u8; 2], Stop> {
    let (two, rest) = metadata.split_first_chunk::<2>().ok_or(NO_MAP)?;
    *metadata = rest;
    Ok(*two)
}

impl Column {
    /// Its value at the beginning of these bytes, and what follows it.
    fn value(self, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        match self {
            Column::Fixed { bytes: length } => bytes.split_at_checked(length),
            Column::Text { length_bytes } => {
                let (length, rest) = bytes.split_at_checked(length_bytes)?;
                rest.split_at_checked(usize::try_from(little_endian(length)).ok()?)
            }
        }
    }
}

impl Columns {
    /// What stands in the last column of each row that an event has written.
    ///
    /// # Errors
    /// That the event makes no sense, or that its rows have no such value.
    pub fn last_values<'e>(&self, event: &Event<'e>) -> Result<Vec<&'e [u8]>, Stop> {
        let (are_there, mut rest) = self.rows(event).ok_or(NO_ROWS)?;
        let mut last_is_there = false;
        let mut columns = Vec::new();
        for (at, column) in self.0.iter().enumerate() {
            last_is_there = is_set(are_there, at);
            columns.extend(last_is_there.then_some(*column));
        }
        if !last_is_there {
            return Err(Stop::Form("rows are written without their last column"));
        }
        let mut values = Vec::new();
        while rest.len() > CHECKSUM_BYTES {
            let (value, after) = row(&columns, rest).ok_or(NO_ROWS)?;
            values.push(value.ok_or(Stop::Form("a last column is NULL"))?);
            rest = after;
        }
        match rest.len() {
            0 | CHECKSUM_BYTES => Ok(values),
            _ => Err(NO_ROWS),
        }
    }

    /// Bits of the columns that its rows have, and the rows.
    fn rows<'e>(&self, event: &Event<'e>) -> Option<(&'e [u8], &'e [u8])> {
        let (_, mut rest) = event
            .body
            .split_at_checked(TABLE_NUMBER_BYTES + FLAGS_BYTES)?;
        if event.kind == WRITE_ROWS_EVENT_V2 {
            // More data, whose length counts itself.
            let extra = little_endian(rest.get(..2)?);
            rest = rest.get(usize::try_from(extra).ok()?..)?;
        }
        let (count, rest) = packed(rest)?;
        let count = usize::try_from(count).ok()?;
        let is_whole = count == self.0.len();
        rest.split_at_checked(count.div_ceil(8))
            .filter(|_| is_whole)
    }
}

/// The last of these columns in the row that begins here, if it is not NULL, and what follows the
/// row.
fn row<'e>(columns: &[Column], bytes: &'e [u8]) -> Option<(Option<&'e [u8]>, &'e [u8])> {
    let (nulls, mut rest) = bytes.split_at_checked(columns.len().div_ceil(8))?;
    let mut last = None;
    for (at, column) in columns.iter().enumerate() {
        last = None;
        if !is_set(nulls, at) {
            let (value, after) = column.value(rest)?;
            last = Some(value);
            rest = after;
        }
    }
    Some((last, rest))
}

/// The first is the lowest bit of the first byte.
fn is_set(bits: &[u8], at: usize) -> bool {
    bits.get(at / 8)
        .is_some_and(|byte| byte >> (at % 8) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map of table 7, `acklab.transfers`.
    fn map(types: &[u8], metadata: &[u8]) -> Vec<u8> {
        let mut body = vec![7, 0, 0, 0, 0, 0, 1, 0];
        body.extend(b"\x06acklab\0\x09transfers\0");
        body.push(types.len() as u8);
        body.extend(types);
        body.push(metadata.len() as u8);
        body.extend(metadata);
        // Which may be NULL, more on them, a checksum.
        body.extend([0, 1, 1, 0, 9, 9, 9, 9]);
        body
    }

    fn columns(types: &[u8], metadata: &[u8]) -> Result<Columns, Stop> {
        TableMap::read(&map(types, metadata)).unwrap().columns()
    }

    /// Rows of table 7: `more` before the columns, which of three are there, and the rows.
    fn rows(kind: u8, more: &[u8], are_there: u8, rows: &[&[u8]]) -> Vec<u8> {
        let mut body = vec![7, 0, 0, 0, 0, 0, 1, 0];
        if kind == WRITE_ROWS_EVENT_V2 {
            body.extend((more.len() as u16 + 2).to_le_bytes());
            body.extend(more);
        }
        body.extend([3, are_there]);
        body.extend(rows.concat());
        body
    }

    const TYPES: [u8; 3] = [LONG, VARCHAR, CHAR];
    const METADATA: [u8; 4] = [44, 1, CHAR, 16];

    fn values(body: &[u8], kind: u8) -> Result<Vec<&[u8]>, Stop> {
        let columns = columns(&TYPES, &METADATA).unwrap();
        columns.last_values(&Event { kind, body })
    }

    /// Of three columns: four bytes, a VARCHAR(300), a CHAR(16).
    const FIRST: &[u8] = b"\0\x01\0\0\0\x02\0ab\x05hello";
    const SECOND: &[u8] = b"\x02\x02\0\0\0\x06world!";

    #[test]
    fn a_map_tells_number_name_and_columns() {
        let body = map(&TYPES, &METADATA);
        let map = TableMap::read(&body).unwrap();
        assert_eq!((map.number, map.name), (7, &b"transfers"[..]));
        let expected = [
            Column::Fixed { bytes: 4 },
            Column::Text { length_bytes: 2 },
            Column::Text { length_bytes: 1 },
        ];
        assert_eq!(map.columns().unwrap().0, expected);
    }

    #[test]
    fn numbers_have_the_bytes_of_their_types() {
        let columns = columns(&[TINY, SHORT, INT24, LONG, LONGLONG], &[]).unwrap();
        let bytes = [1, 2, 3, 4, 8].map(|bytes| Column::Fixed { bytes });
        assert_eq!(columns.0, bytes);
    }

    /// CHAR(255) of four bytes each: 1,020, whose upper bits stand in the type.
    #[test]
    fn a_long_char_has_a_longer_length() {
        let columns = columns(&[CHAR], &[CHAR ^ 0x30, 0xfc]).unwrap();
        assert_eq!(columns.0, [Column::Text { length_bytes: 2 }]);
    }

    #[test]
    fn other_types_are_not_taken_for_known_ones() {
        let enumeration = columns(&[CHAR], &[247, 1]);
        let datetime = columns(&[LONG, 18, CHAR], &[0, CHAR, 16]);
        for outcome in [enumeration, datetime] {
            assert!(matches!(outcome, Err(Stop::Form(_))), "{outcome:?}");
        }
        assert_eq!(columns(&[CHAR], &[CHAR]), Err(NO_MAP));
    }

    #[test]
    fn a_torn_map_is_none() {
        assert_eq!(TableMap::read(&[9; 9]).unwrap_err(), NO_MAP);
        let body = map(&TYPES, &METADATA);
        for length in 0..body.len() {
            let read = TableMap::read(&body[..length]);
            let columns = read.and_then(|map| map.columns());
            // All but what stands behind it.
            assert_eq!(columns.is_ok(), length >= body.len() - 8, "{length}");
        }
    }

    #[test]
    fn every_row_of_an_event_is_read() {
        for kind in [WRITE_ROWS_EVENT_V1, WRITE_ROWS_EVENT_V2] {
            for checksum in [&b""[..], &[0xc4; 4]] {
                let body = rows(kind, b"", 0xff, &[FIRST, SECOND, FIRST, checksum]);
                let expected = [&b"hello"[..], b"world!", b"hello"];
                assert_eq!(values(&body, kind).unwrap(), expected);
            }
        }
    }

    #[test]
    fn more_data_before_the_rows_is_stepped_over() {
        let body = rows(WRITE_ROWS_EVENT_V2, b"more", 0xff, &[FIRST]);
        assert_eq!(values(&body, WRITE_ROWS_EVENT_V2).unwrap(), [b"hello"]);
    }

    #[test]
    fn columns_that_are_not_written_take_no_room() {
        let body = rows(WRITE_ROWS_EVENT_V1, b"", 0b100, &[b"\0\x05hello", b"\0\0"]);
        // The second row is as short as a checksum, and shorter: no row of ours is.
        assert_eq!(values(&body, WRITE_ROWS_EVENT_V1), Err(NO_ROWS));
        let body = rows(WRITE_ROWS_EVENT_V1, b"", 0b100, &[b"\0\x05hello"]);
        assert_eq!(values(&body, WRITE_ROWS_EVENT_V1).unwrap(), [b"hello"]);
        let body = rows(WRITE_ROWS_EVENT_V1, b"", 0b011, &[FIRST]);
        let outcome = values(&body, WRITE_ROWS_EVENT_V1);
        assert!(matches!(outcome, Err(Stop::Form(_))), "{outcome:?}");
    }

    #[test]
    fn a_last_column_that_is_null_is_not_known() {
        let row = b"\x04\x01\0\0\0\x02\0ab";
        let body = rows(WRITE_ROWS_EVENT_V1, b"", 0xff, &[row]);
        let outcome = values(&body, WRITE_ROWS_EVENT_V1);
        assert!(matches!(outcome, Err(Stop::Form(_))), "{outcome:?}");
    }

    #[test]
    fn torn_rows_make_no_sense() {
        let body = rows(WRITE_ROWS_EVENT_V2, b"", 0xff, &[FIRST, SECOND]);
        let whole = body.len();
        let first = whole - SECOND.len();
        for length in 0..whole {
            // What is left of the second row may look like a checksum.
            if ![first - FIRST.len(), first].contains(&length)
                && ![first - FIRST.len() + 4, first + 4].contains(&length)
            {
                let outcome = values(&body[..length], WRITE_ROWS_EVENT_V2);
                assert_eq!(outcome, Err(NO_ROWS), "{length}");
            }
        }
        let mut other_count = body;
        other_count[10] = 4;
        assert_eq!(values(&other_count, WRITE_ROWS_EVENT_V2), Err(NO_ROWS));
    }
}
