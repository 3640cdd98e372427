//! What TCP connections have carried one way, from the packets that were handed over. Pure.
//!
//! Packets are those of TUN devices without offload: one read is one packet, and none of TCP's is a
//! fragment. IPv4: RFC 791, section 3.1; TCP: RFC 9293, section 3.1.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

const IP_HEADER_BYTES: usize = 20;
const TCP: u8 = 6;
/// In an IPv4 header: more fragments follow, or this is not the first one.
const FRAGMENT: u16 = 0x3fff;
/// Begins a connection: the first byte that follows has the next number.
const SYN: u8 = 0x02;

/// What one packet carries of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'p> {
    pub from: SocketAddrV4,
    pub to: SocketAddrV4,
    /// Sequence number of the payload's first byte.
    pub number: u32,
    /// Whether that is the connection's first byte this way.
    pub is_first: bool,
    pub payload: &'p [u8],
}

impl<'p> Segment<'p> {
    /// `None` for what is not one whole TCP segment in IPv4.
    pub fn of(packet: &'p [u8]) -> Option<Segment<'p>> {
        let is_whole = usize::from(word(packet, 2)?) == packet.len();
        let is_fragment = word(packet, 6)? & FRAGMENT != 0;
        if packet.first()? >> 4 != 4 || *packet.get(9)? != TCP || !is_whole || is_fragment {
            return None;
        }
        let tcp = packet.get(usize::from(packet.first()? & 0x0f) * 4..)?;
        let payload = tcp.get(usize::from(tcp.get(12)? >> 4) * 4..)?;
        let is_first = tcp.get(13)? & SYN != 0;
        let number = u32::from_be_bytes(tcp.get(4..8)?.try_into().ok()?);
        Some(Segment {
            from: SocketAddrV4::new(address(packet, 12)?, word(tcp, 0)?),
            to: SocketAddrV4::new(address(packet, 16)?, word(tcp, 2)?),
            number: number.wrapping_add(u32::from(is_first)),
            is_first,
            payload,
        })
    }

    /// Whether it adds anything to a stream: most of what comes back only acknowledges.
    pub fn is_of_use(&self) -> bool {
        self.is_first || !self.payload.is_empty()
    }
}

/// What one connection has carried one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    pub from: SocketAddrV4,
    pub to: SocketAddrV4,
    /// Its first byte is its connection's first. Otherwise it was kept from somewhere on.
    pub is_from_start: bool,
    /// Up to the first byte that never came: all that a program at its end can have read.
    pub bytes: Vec<u8>,
    /// Whether more came, from behind one that did not.
    pub has_gap: bool,
}

/// What was kept of some links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Of each connection one, in the order of their beginnings.
    pub streams: Vec<Stream>,
    /// Why not everything was kept, if so: streams end too early then.
    pub lost: Option<String>,
}

/// The streams in packets that stand one behind the other, in the order in which they were handed
/// over. A connection that takes the ports of an older one is another.
pub fn streams(packets: &[u8]) -> Vec<Stream> {
    let mut known: Vec<Assembly> = Vec::new();
    let segments = self::packets(packets).filter_map(Segment::of);
    for segment in segments.filter(Segment::is_of_use) {
        let mut newest_first = known.iter_mut().rev();
        match newest_first.find(|assembly| assembly.is_of(&segment)) {
            Some(assembly) => assembly.take(&segment),
            None => known.push(Assembly::begin(&segment)),
        }
    }
    known.into_iter().map(Assembly::finish).collect()
}

/// Each packet tells its own length.
fn packets(packets: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = packets;
    std::iter::from_fn(move || {
        let bytes = usize::from(word(rest, 2)?).max(IP_HEADER_BYTES);
        let (packet, after) = rest.split_at_checked(bytes)?;
        rest = after;
        Some(packet)
    })
}

/// A stream that is put together.
struct Assembly<'p> {
    stream: Stream,
    /// The number of the connection's first byte, if that was seen.
    first: Option<u32>,
    /// The number of the byte that comes next.
    next: u32,
    /// What came too early, by its place in the stream.
    ahead: BTreeMap<i64, &'p [u8]>,
}

impl<'p> Assembly<'p> {
    fn begin(segment: &Segment<'p>) -> Assembly<'p> {
        let mut assembly = Assembly {
            stream: Stream {
                from: segment.from,
                to: segment.to,
                is_from_start: segment.is_first,
                bytes: Vec::new(),
                has_gap: false,
            },
            first: segment.is_first.then_some(segment.number),
            next: segment.number,
            ahead: BTreeMap::new(),
        };
        assembly.take(segment);
        assembly
    }

    /// A beginning that was sent again has the same number.
    fn is_of(&self, segment: &Segment<'p>) -> bool {
        let ends = (self.stream.from, self.stream.to);
        let is_another = segment.is_first && self.first != Some(segment.number);
        ends == (segment.from, segment.to) && !is_another
    }

    /// Numbers go round: what is less than half of all numbers away lies ahead.
    fn take(&mut self, segment: &Segment<'p>) {
        let ahead = segment.number.wrapping_sub(self.next) as i32;
        self.put(self.end() + i64::from(ahead), segment.payload);
        while let Some(entry) = self.ahead.first_entry() {
            if *entry.key() > self.stream.bytes.len() as i64 {
                break;
            }
            let (place, piece) = entry.remove_entry();
            self.put(place, piece);
        }
    }

    /// Of what is there already, the first to come stays, as with a kernel. A place below zero is
    /// before what was kept.
    fn put(&mut self, place: i64, piece: &'p [u8]) {
        let end = self.end();
        if place > end {
            let there = self.ahead.entry(place).or_insert(piece);
            if there.len() < piece.len() {
                *there = piece;
            }
            return;
        }
        let new = piece.get((end - place) as usize..).unwrap_or_default();
        self.stream.bytes.extend_from_slice(new);
        self.next = self.next.wrapping_add(new.len() as u32);
    }

    fn end(&self) -> i64 {
        self.stream.bytes.len() as i64
    }

    fn finish(self) -> Stream {
        Stream {
            has_gap: !self.ahead.is_empty(),
            ..self.stream
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    let word = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes(word.try_into().ok()?))
}

fn address(packet: &[u8], at: usize) -> Option<Ipv4Addr> {
    let bytes: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
    Some(Ipv4Addr::from(bytes))
}

/// Packets as a server sends them to a replica.
#[cfg(test)]
pub(super) mod samples {
    pub const SERVER_PORT: u16 = 3306;

    /// To that port of the replica's. The header has an option, as most do.
    pub fn packet(port_to: u16, number: u32, is_first: bool, payload: &[u8]) -> Vec<u8> {
        let length = 20 + 24 + payload.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, super::TCP, 0, 0]);
        packet.extend([198, 18, 0, 1, 198, 18, 0, 2]);
        packet.extend(SERVER_PORT.to_be_bytes());
        packet.extend(port_to.to_be_bytes());
        packet.extend(number.to_be_bytes());
        packet.extend([0; 4]);
        let syn = if is_first { super::SYN } else { 0 };
        packet.extend([6 << 4, 0x10 | syn]);
        packet.extend([0; 6]);
        packet.extend([1; 4]);
        packet.extend(payload);
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{SERVER_PORT, packet};
    use super::*;
    use proptest::prelude::*;

    const PORT: u16 = 40_000;

    /// A beginning whose first byte has this number, and pieces at these places.
    fn sent(port: u16, first: u32, pieces: &[(usize, &[u8])]) -> Vec<u8> {
        let begin = packet(port, first.wrapping_sub(1), true, b"");
        let piece = |(at, bytes): &(usize, &[u8])| {
            packet(port, first.wrapping_add(*at as u32), false, bytes)
        };
        let rest = pieces.iter().flat_map(piece);
        begin.into_iter().chain(rest).collect()
    }

    fn only(packets: &[u8]) -> Stream {
        let mut streams = streams(packets);
        assert_eq!(streams.len(), 1, "{streams:?}");
        streams.remove(0)
    }

    #[test]
    fn a_segment_is_read() {
        let bytes = packet(PORT, 7, false, b"hello");
        let segment = Segment::of(&bytes).unwrap();
        assert_eq!(segment.from.to_string(), "198.18.0.1:3306");
        assert_eq!(segment.to.to_string(), "198.18.0.2:40000");
        assert_eq!((segment.number, segment.payload), (7, &b"hello"[..]));
        assert_eq!(segment.from.port(), SERVER_PORT);
        assert!(segment.is_of_use() && !segment.is_first);
        let first = packet(PORT, u32::MAX, true, b"");
        let first = Segment::of(&first).unwrap();
        assert_eq!((first.number, first.is_first), (0, true));
        assert!(first.is_of_use());
        let only_acknowledges = packet(PORT, 7, false, b"");
        assert!(!Segment::of(&only_acknowledges).unwrap().is_of_use());
    }

    #[test]
    fn what_is_no_whole_segment_is_none() {
        let good = packet(PORT, 7, false, b"hello");
        let changed = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        let udp = changed(9, 17);
        let more_fragments = changed(6, 0x20);
        let later_fragment = changed(7, 1);
        let version_6 = changed(0, 0x65);
        for bytes in [udp, more_fragments, later_fragment, version_6] {
            assert_eq!(Segment::of(&bytes), None);
        }
        for length in 0..good.len() {
            assert_eq!(Segment::of(&good[..length]), None);
        }
    }

    #[test]
    fn order_repetition_and_overlap_do_not_matter() {
        let pieces: [(usize, &[u8]); 6] = [
            (5, b"fgh"),
            (0, b"abc"),
            (0, b"abc"),
            (7, b"hij"),
            (2, b"cdef"),
            (1, b"bcd"),
        ];
        let stream = only(&sent(PORT, 1_000, &pieces));
        assert_eq!(stream.bytes, b"abcdefghij");
        assert!(stream.is_from_start && !stream.has_gap);
    }

    #[test]
    fn a_stream_ends_at_its_first_gap() {
        let pieces: [(usize, &[u8]); 3] = [(0, b"abc"), (4, b"efg"), (4, b"ef")];
        let stream = only(&sent(PORT, 1_000, &pieces));
        assert_eq!(stream.bytes, b"abc");
        assert!(stream.has_gap);
    }

    #[test]
    fn numbers_go_round() {
        let pieces: [(usize, &[u8]); 3] = [(0, b"abc"), (6, b"ghi"), (3, b"def")];
        for first in [u32::MAX - 4, u32::MAX, 0, 1 << 31] {
            assert_eq!(only(&sent(PORT, first, &pieces)).bytes, b"abcdefghi");
        }
    }

    #[test]
    fn connections_are_kept_apart_by_ports_and_beginnings() {
        let packets = [
            sent(PORT, 10, &[(0, b"one")]),
            sent(PORT + 1, 10, &[(0, b"two")]),
            packet(PORT, 13, false, b" goes on"),
            // The beginning once more, and then a new one at the same ports.
            packet(PORT, 9, true, b""),
            sent(PORT, 500, &[(0, b"three")]),
        ];
        let streams = streams(&packets.concat());
        let bytes: Vec<&[u8]> = streams.iter().map(|stream| &stream.bytes[..]).collect();
        assert_eq!(bytes, [&b"one goes on"[..], b"two", b"three"]);
        let ports: Vec<u16> = streams.iter().map(|stream| stream.to.port()).collect();
        assert_eq!(ports, [PORT, PORT + 1, PORT]);
        assert!(streams.iter().all(|stream| stream.is_from_start));
    }

    #[test]
    fn a_stream_may_begin_in_the_middle_and_says_so() {
        let packets = [
            packet(PORT, 700, false, b"middle"),
            packet(PORT, 690, false, b"before and "),
            packet(PORT, 706, false, b" and end"),
        ];
        let stream = only(&packets.concat());
        assert!(!stream.is_from_start);
        assert_eq!(stream.bytes, b"middle and end");
    }

    #[test]
    fn a_torn_end_and_nonsense_are_no_packets() {
        let whole = sent(PORT, 10, &[(0, b"one")]);
        let torn = packet(PORT, 13, false, b"two");
        let packets = [&whole[..], &torn[..torn.len() - 1]].concat();
        assert_eq!(only(&packets).bytes, b"one");
        assert!(streams(&[0; 1_000]).is_empty());
        assert!(streams(&[]).is_empty());
    }

    /// Pieces that cover everything, and some more, in any order.
    fn pieces() -> impl Strategy<Value = Vec<(usize, usize)>> {
        let sizes = proptest::collection::vec(1usize..60, 1..20);
        let again = proptest::collection::vec((0usize..1_000, 0usize..80), 0..10);
        (sizes, again).prop_flat_map(|(sizes, again)| {
            let total: usize = sizes.iter().sum();
            let mut pieces = Vec::new();
            let mut at = 0;
            for size in sizes {
                pieces.push((at, at + size));
                at += size;
            }
            for (from, length) in again {
                let from = from % total;
                pieces.push((from, (from + length).min(total)));
            }
            Just(pieces).prop_shuffle()
        })
    }

    fn assembled(first: u32, data: &[u8], pieces: &[(usize, usize)]) -> Stream {
        let pieces = pieces.iter().map(|(from, to)| (*from, &data[*from..*to]));
        let pieces: Vec<(usize, &[u8])> = pieces.collect();
        only(&sent(PORT, first, &pieces))
    }

    proptest! {
        #[test]
        fn whatever_came_is_put_together(first in any::<u32>(), pieces in pieces()) {
            let total = pieces.iter().map(|(_, to)| *to).max().unwrap_or(0);
            let data: Vec<u8> = (0..total).map(|at| (at * 7 + at / 251) as u8).collect();
            let stream = assembled(first, &data, &pieces);
            prop_assert_eq!(&stream.bytes, &data);
            prop_assert!(!stream.has_gap);
        }

        #[test]
        fn what_did_not_come_ends_it(
            first in any::<u32>(),
            pieces in pieces(),
            hole in 0usize..1_000,
        ) {
            let total = pieces.iter().map(|(_, to)| *to).max().unwrap_or(0);
            let data: Vec<u8> = (0..total).map(|at| (at * 7 + at / 251) as u8).collect();
            let hole = hole % total;
            let came: Vec<(usize, usize)> = pieces
                .into_iter()
                .filter(|(from, to)| !(*from..*to).contains(&hole))
                .collect();
            let is_there = |at: &usize| came.iter().any(|(from, to)| (*from..*to).contains(at));
            let end = (0..total).take_while(is_there).count();
            let stream = assembled(first, &data, &came);
            prop_assert_eq!(&stream.bytes[..], &data[..end]);
            prop_assert_eq!(stream.has_gap, (end..total).any(|at| is_there(&at)));
        }
    }
}
