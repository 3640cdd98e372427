use std::net::SocketAddrV4;

use proptest::prelude::*;

use super::super::events::samples::event;
use super::super::rows::{WRITE_ROWS_EVENT_V1, WRITE_ROWS_EVENT_V2};
use super::super::transactions::{
    GTID_EVENT, MARIADB_GTID_EVENT, TABLE_MAP_EVENT, TRANSACTION_PAYLOAD_EVENT,
    WRITE_ROWS_COMPRESSED_EVENT_V1, XID_EVENT,
};
use super::*;

const TABLE: &str = "transfers";
const QUERY_EVENT: u8 = 2;
const ROTATE_EVENT: u8 = 4;
const FORMAT_DESCRIPTION_EVENT: u8 = 15;
const HEARTBEAT_EVENT: u8 = 27;
const UPDATE_ROWS_EVENT_V1: u8 = 24;
const UPDATE_ROWS_EVENT_V2: u8 = 31;
const CHECKSUM: [u8; 4] = [0xc4; 4];

/// How a source writes.
#[derive(Debug, Clone, Copy)]
struct Dialect {
    gtid: u8,
    write_rows: u8,
    update_rows: u8,
    is_semi_sync: bool,
    has_checksums: bool,
}

const MYSQL: Dialect = Dialect {
    gtid: GTID_EVENT,
    write_rows: WRITE_ROWS_EVENT_V2,
    update_rows: UPDATE_ROWS_EVENT_V2,
    is_semi_sync: false,
    has_checksums: true,
};
const MARIADB: Dialect = Dialect {
    gtid: MARIADB_GTID_EVENT,
    write_rows: WRITE_ROWS_EVENT_V1,
    update_rows: UPDATE_ROWS_EVENT_V1,
    ..MYSQL
};

impl Dialect {
    fn all() -> Vec<Dialect> {
        let mut all = Vec::new();
        for dialect in [MYSQL, MARIADB] {
            for is_semi_sync in [false, true] {
                for has_checksums in [false, true] {
                    all.push(Dialect {
                        is_semi_sync,
                        has_checksums,
                        ..dialect
                    });
                }
            }
        }
        all
    }

    fn event(self, kind: u8, body: &[u8]) -> Vec<u8> {
        match self.has_checksums {
            true => event(kind, &[body, &CHECKSUM].concat()),
            false => event(kind, body),
        }
    }

    /// The events of a transaction with these rows, its number apart.
    fn inside(self, tokens: &[Token]) -> Vec<Vec<u8>> {
        let accounts = map(5, "accounts", &[3, 8], &[]);
        let balance = [5, 0, 0, 0, 0, 0, 1, 0, 2, 0, 2, 3, 3, 0, 0, 0, 0, 0];
        let transfers = map(6, TABLE, &[8, 3, 3, 3, 254], &[254, 16]);
        vec![
            self.event(QUERY_EVENT, b"and so on: BEGIN"),
            self.event(TABLE_MAP_EVENT, &accounts),
            self.event(self.update_rows, &balance),
            self.event(TABLE_MAP_EVENT, &transfers),
            self.event(self.write_rows, &self.rows(tokens)),
            self.event(XID_EVENT, &[7, 0, 0, 0, 0, 0, 0, 0]),
        ]
    }

    fn transaction(self, tokens: &[Token]) -> Vec<Vec<u8>> {
        let gtid = self.event(self.gtid, &[1; 25]);
        std::iter::once(gtid).chain(self.inside(tokens)).collect()
    }

    /// Of table 6, in one event.
    fn rows(self, tokens: &[Token]) -> Vec<u8> {
        let mut body = vec![6, 0, 0, 0, 0, 0, 1, 0];
        if self.write_rows == WRITE_ROWS_EVENT_V2 {
            // Its own length, and three bytes that nobody asked for.
            body.extend([5, 0, 1, 2, 3]);
        }
        body.extend([5, 0xff]);
        for (id, token) in (1u64..).zip(tokens) {
            body.push(0xe0);
            body.extend(id.to_le_bytes());
            body.extend([1, 0, 0, 0, 2, 0, 0, 0, 100, 0, 0, 0]);
            body.push(16);
            body.extend(format!("{token:016x}").bytes());
        }
        body
    }

    /// A connection from its beginning on: greeting, OK, a question of one row, and the log.
    fn connection(self, events: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = [
            packet(0, b"\x0a9.7.1\0and so on"),
            packet(2, &[0, 0, 0, 2, 0, 0, 0]),
            packet(1, &[1]),
            packet(2, b"\x03def\0\0\0\x01?\0"),
            packet(3, b"\x0517000"),
            packet(4, &[0xfe, 0, 0, 2, 0]),
        ]
        .concat();
        let begin = [
            self.event(ROTATE_EVENT, b"\x04\0\0\0\0\0\0\0binlog.000001"),
            self.event(FORMAT_DESCRIPTION_EVENT, &[4; 100]),
        ];
        bytes.extend(self.log(1, &[&begin[..], events].concat()));
        bytes
    }

    /// Packets of the log, of which the first has that number.
    fn log(self, first: u8, events: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut number = first;
        for event in events {
            let mark: &[u8] = match self.is_semi_sync {
                true => &[SEMI_SYNC_MARK, 1],
                false => &[],
            };
            bytes.extend(packet(number, &[&[OK][..], mark, event].concat()));
            number = number.wrapping_add(1);
        }
        bytes
    }
}

fn map(number: u8, table: &str, types: &[u8], metadata: &[u8]) -> Vec<u8> {
    let mut body = vec![number, 0, 0, 0, 0, 0, 1, 0];
    body.extend(b"\x06acklab\0");
    body.push(table.len() as u8);
    body.extend(table.bytes());
    body.extend([0, types.len() as u8]);
    body.extend(types);
    body.push(metadata.len() as u8);
    body.extend(metadata);
    // Which may be NULL, and which numbers have no sign.
    body.extend([0, 1, 1, 0]);
    body
}

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&length[..3], &[number], payload].concat()
}

fn stream(bytes: &[u8]) -> Stream {
    Stream {
        from: SocketAddrV4::new(Ipv4Addr::new(198, 18, 0, 1), 3306),
        to: SocketAddrV4::new(Ipv4Addr::new(198, 18, 0, 2), 40_000),
        is_from_start: true,
        bytes: bytes.to_vec(),
        has_gap: false,
    }
}

fn found(bytes: &[u8]) -> Vec<Token> {
    let read = tokens_in_stream(&stream(bytes), TABLE);
    assert_eq!(read.unread, None);
    read.tokens
}

fn unread(bytes: &[u8]) -> String {
    tokens_in_stream(&stream(bytes), TABLE).unread.unwrap()
}

#[test]
fn tokens_of_whole_transactions_are_found_in_every_dialect() {
    for dialect in Dialect::all() {
        let events = [
            dialect.transaction(&[u64::MAX]),
            vec![dialect.event(HEARTBEAT_EVENT, b"binlog.000001")],
            dialect.transaction(&[2, 3, 4]),
            dialect.transaction(&[]),
        ];
        let bytes = dialect.connection(&events.concat());
        assert_eq!(found(&bytes), [u64::MAX, 2, 3, 4], "{dialect:?}");
    }
}

/// A transaction counts from the last byte of its last event on, wherever the stream ends.
#[test]
fn a_torn_end_is_no_transaction() {
    for dialect in Dialect::all() {
        let one = dialect.connection(&dialect.transaction(&[1]));
        let both = [dialect.transaction(&[1]), dialect.transaction(&[2])].concat();
        let both = dialect.connection(&both);
        assert_eq!(found(&both), [1, 2]);
        for length in 0..both.len() {
            let expected: &[Token] = if length < one.len() { &[] } else { &[1] };
            assert_eq!(found(&both[..length]), expected, "{dialect:?} {length}");
        }
    }
}

/// After a source's restart its dump begins in the middle of nothing.
#[test]
fn a_transaction_that_another_begins_after_is_none() {
    let mut events = MYSQL.transaction(&[1]);
    events.pop();
    events.extend(MYSQL.transaction(&[2]));
    assert_eq!(found(&MYSQL.connection(&events)), [2]);
}

#[test]
fn other_tables_do_not_count() {
    let bytes = MYSQL.connection(&MYSQL.transaction(&[1, 2]));
    let read = tokens_in_stream(&stream(&bytes), "accounts");
    assert_eq!(read, Tokens::default());
    // A number that has come to stand for another table.
    let mut events = MYSQL.transaction(&[1]);
    let again = MYSQL.event(TABLE_MAP_EVENT, &map(6, "other", &[8], &[]));
    let at = events.len() - 2;
    events.insert(at, again);
    assert!(found(&MYSQL.connection(&events)).is_empty());
}

#[test]
fn compressed_transactions_are_read() {
    // Their events have no checksums.
    let within = Dialect {
        has_checksums: false,
        ..MYSQL
    };
    let payload = ruzstd::encoding::compress_to_vec(
        &within.inside(&[7, 8]).concat()[..],
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let size = (payload.len() as u16).to_le_bytes();
    // Compression, by zstd; size of the payload; the end.
    let fields = [2, 1, 0, 1, 3, 252, size[0], size[1], 0];
    let body = [&fields[..], &payload].concat();
    let events = [
        MYSQL.event(GTID_EVENT, &[1; 25]),
        MYSQL.event(TRANSACTION_PAYLOAD_EVENT, &body),
    ];
    let both = [&events[..], &MYSQL.transaction(&[9])].concat();
    assert_eq!(found(&MYSQL.connection(&both)), [7, 8, 9]);
    let mut torn = body;
    torn[9] ^= 0xff;
    let torn = MYSQL.event(TRANSACTION_PAYLOAD_EVENT, &torn);
    let why = unread(&MYSQL.connection(&[torn]));
    assert_eq!(why, "a compressed transaction cannot be unpacked");
}

#[test]
fn what_is_in_a_form_that_is_not_read_is_said() {
    let mut events = MARIADB.transaction(&[1]);
    events.extend(MARIADB.transaction(&[2]));
    let rows = MARIADB.event(WRITE_ROWS_COMPRESSED_EVENT_V1, &[6, 0, 0, 0, 0, 0, 1, 0]);
    let at = events.len() - 2;
    events[at] = rows;
    let read = tokens_in_stream(&stream(&MARIADB.connection(&events)), TABLE);
    assert_eq!(read.tokens, [1], "what came before stays");
    assert!(read.unread.unwrap().contains("compressed as MariaDB does"));
}

#[test]
fn a_token_that_is_none_is_said() {
    let mut events = MYSQL.transaction(&[1]);
    let row = events[5].len() - CHECKSUM.len() - TOKEN_DIGITS;
    events[5][row] = b'+';
    let why = unread(&MYSQL.connection(&events));
    assert!(why.contains("not what it should be"), "{why}");
    assert_eq!(token(b"00000000000000ff"), Some(255));
    for other in [&b"ff"[..], b"00000000000000fg", b"+0000000000000ff", b""] {
        assert_eq!(token(other), None);
    }
}

#[test]
fn encryption_and_compression_of_a_connection_are_seen() {
    let greeting = packet(0, b"\x0a9.7.1\0and so on");
    let tls = [&greeting[..], &[0x16, 3, 3, 0, 122, 2, 0, 0, 118, 3, 3]].concat();
    assert!(unread(&tls).contains("encrypted or compressed"));
    let ok = packet(2, &[0, 0, 0, 2, 0, 0, 0]);
    // Three more bytes in each header: what they hold is not compressed, so short as it is.
    let inner = packet(1, &[0, 0, 0, 2, 0, 0, 0]);
    let header = [inner.len() as u8, 0, 0, 1, 0, 0, 0];
    let answer = [&header[..], &inner].concat();
    let compressed = [&greeting[..], &ok, &answer, &answer, &answer].concat();
    assert!(unread(&compressed).contains("encrypted or compressed"));
}

#[test]
fn a_source_may_end_the_log() {
    for end in [&[END, 0, 0, 2, 0][..], b"\xff\xd4\x04#HY000Could not find"] {
        let mut bytes = MYSQL.connection(&MYSQL.transaction(&[1]));
        bytes.extend(packet(9, end));
        bytes.extend(packet(10, &[1, 2, 3]));
        assert_eq!(found(&bytes), [1]);
    }
}

#[test]
fn nonsense_in_the_log_is_said() {
    let whole = MYSQL.connection(&MYSQL.transaction(&[1]));
    let why = |more: &[u8]| unread(&[&whole[..], more].concat());
    assert_eq!(why(&packet(9, &[1, 2, 3])), "something in it is no event");
    let mut long = event(XID_EVENT, &[0; 20]);
    long[9] += 1;
    let nonsense = packet(9, &[&[OK][..], &long].concat());
    assert_eq!(why(&nonsense), "something in it is no event");
    // Also where its end did not come.
    let torn = &nonsense[..nonsense.len() - 5];
    assert_eq!(why(torn), "something in it is no event");
}

#[test]
fn a_stream_that_was_kept_from_its_middle_on_begins_with_an_event() {
    for dialect in Dialect::all() {
        let log = dialect.log(200, &dialect.transaction(&[1, 2]));
        let middle = Stream {
            is_from_start: false,
            ..stream(&log)
        };
        let read = tokens_in_stream(&middle, TABLE);
        assert_eq!((&read.tokens[..], read.unread), (&[1, 2][..], None));
        for skipped in 1..log.len() - 30 {
            let amid = Stream {
                bytes: log[skipped..].to_vec(),
                ..middle.clone()
            };
            let read = tokens_in_stream(&amid, TABLE);
            let is_event = starts_with_an_event(&amid.bytes);
            assert_eq!(read.unread.is_none(), is_event, "{dialect:?} {skipped}");
        }
    }
}

fn starts_with_an_event(bytes: &[u8]) -> bool {
    let first = payload(bytes).map(|(payload, _)| payload);
    first.is_some_and(|payload| event_at(&payload, payload.len()).is_some())
}

#[test]
fn a_payload_of_several_packets_is_put_together() {
    let long = event(XID_EVENT, &vec![0; PAYLOAD_BYTES_MAX]);
    let whole = [&[OK][..], &long].concat();
    let (first, second) = whole.split_at(PAYLOAD_BYTES_MAX);
    let mut events = MYSQL.transaction(&[1]);
    events.pop();
    let mut bytes = MYSQL.connection(&events);
    bytes.extend(packet(8, first));
    assert!(found(&bytes).is_empty());
    bytes.extend(packet(9, second));
    assert_eq!(found(&bytes), [1]);
    bytes.extend(MYSQL.log(10, &MYSQL.transaction(&[2])));
    assert_eq!(found(&bytes), [1, 2]);
}

/// A node's tokens come from all of its connections, each of them once.
#[test]
fn reconnections_are_read_together() {
    let to = |address: [u8; 4], port: u16, bytes: Vec<u8>| Stream {
        to: SocketAddrV4::new(Ipv4Addr::from(address), port),
        ..stream(&bytes)
    };
    let connection = |tokens: &[Token]| {
        let events: Vec<Vec<u8>> = tokens
            .iter()
            .flat_map(|token| MYSQL.transaction(&[*token]))
            .collect();
        MYSQL.connection(&events)
    };
    let (ours, other) = ([198, 18, 0, 2], [198, 18, 0, 3]);
    let mut torn = connection(&[1, 2, 3]);
    torn.truncate(torn.len() - 1);
    let mut kept = Kept {
        streams: vec![
            to(ours, 40_000, torn),
            to(other, 40_000, connection(&[9])),
            to(ours, 40_002, connection(&[2, 3, 4])),
        ],
        lost: None,
    };
    let of = |kept: &Kept, address: [u8; 4]| delivered(7, address.into(), kept, TABLE);
    let both = of(&kept, ours);
    assert_eq!((both.node, &both.tokens[..]), (7, &[1, 2, 3, 4][..]));
    assert_eq!(both.unread, None);
    assert_eq!(of(&kept, other).tokens, [9]);
    let nobody = of(&kept, [198, 18, 0, 4]);
    assert_eq!(nobody.unread.unwrap(), "nothing of it was seen");

    kept.streams[2].bytes = vec![9; 40];
    let broken = of(&kept, ours);
    assert_eq!(broken.tokens, [1, 2]);
    assert!(
        broken
            .unread
            .unwrap()
            .starts_with("the connection to port 40002: ")
    );
    kept.lost = Some("the disk is full".to_owned());
    let unread = of(&kept, other).unread.unwrap();
    assert_eq!(unread, "not all could be kept: the disk is full");
}

proptest! {
    /// Whatever comes: an answer, and no panic.
    #[test]
    fn no_stream_is_too_strange(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        at in 0usize..2_000,
        is_from_start in any::<bool>(),
    ) {
        let mut whole = MYSQL.connection(&MYSQL.transaction(&[1, 2]));
        let at = at % whole.len();
        whole.truncate(at);
        whole.extend(bytes);
        let changed = Stream { is_from_start, ..stream(&whole) };
        let read = tokens_in_stream(&changed, TABLE);
        prop_assert!(read.tokens.len() <= 2);
    }
}
