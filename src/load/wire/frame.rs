//! Packets and frames: a packet longer than a frame can be is continued in further ones.

/// The longest body of a frame; a frame of this length is continued by the next.
pub const FRAME_MAX: usize = 0xff_ffff;

const HEADER: usize = 4;

/// A whole packet, or the first bytes of a long one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Sequence number of its last frame.
    pub sequence: u8,
    /// Length of the whole packet, also where `head` is shorter.
    pub length: usize,
    /// At least the first `keep` bytes of it.
    pub head: &'a [u8],
}

/// Cuts a stream of bytes into packets, wherever the pieces it is fed begin and end. What is not
/// kept of a long packet is skipped without being stored.
#[derive(Debug)]
pub struct Frames {
    keep: usize,
    header: [u8; HEADER],
    header_length: usize,
    body_left: usize,
    length: usize,
    kept: Vec<u8>,
    /// The packet in `kept` was handed out: the next call begins another.
    is_handed_out: bool,
}

impl Frames {
    /// Keeps up to `keep` bytes of every packet that is not fed in one piece.
    pub fn new(keep: usize) -> Self {
        Frames {
            keep,
            header: [0; HEADER],
            header_length: 0,
            body_left: 0,
            length: 0,
            kept: Vec::new(),
            is_handed_out: true,
        }
    }

    /// The next packet that `input` completes; what it takes is cut off `input`.
    pub fn next<'p, 'i: 'p>(&'p mut self, input: &mut &'i [u8]) -> Option<Packet<'p>> {
        if self.is_handed_out {
            if let Some(packet) = whole_packet(input) {
                return Some(packet);
            }
            self.is_handed_out = false;
            self.length = 0;
            self.kept.clear();
        }
        while self.take_header(input) {
            self.take_body(input);
            if self.body_left > 0 {
                return None;
            }
            self.header_length = 0;
            if body_length(self.header) < FRAME_MAX {
                self.is_handed_out = true;
                return Some(Packet {
                    sequence: self.header[3],
                    length: self.length,
                    head: &self.kept,
                });
            }
        }
        None
    }

    /// Whether the header of a frame is whole.
    fn take_header(&mut self, input: &mut &[u8]) -> bool {
        if self.header_length == HEADER {
            return true;
        }
        while self.header_length < HEADER {
            let Some((first, rest)) = input.split_first() else {
                return false;
            };
            self.header[self.header_length] = *first;
            self.header_length += 1;
            *input = rest;
        }
        self.body_left = body_length(self.header);
        self.length += self.body_left;
        true
    }

    fn take_body(&mut self, input: &mut &[u8]) {
        let (body, rest) = input.split_at(self.body_left.min(input.len()));
        let room = self.keep.saturating_sub(self.kept.len()).min(body.len());
        self.kept.extend_from_slice(&body[..room]);
        self.body_left -= body.len();
        *input = rest;
    }
}

/// The fast path: nearly every packet lies whole in what was read.
fn whole_packet<'a>(input: &mut &'a [u8]) -> Option<Packet<'a>> {
    let (header, rest) = input.split_first_chunk::<HEADER>()?;
    let length = body_length(*header);
    if length >= FRAME_MAX || rest.len() < length {
        return None;
    }
    let (head, rest) = rest.split_at(length);
    *input = rest;
    Some(Packet {
        sequence: header[3],
        length,
        head,
    })
}

fn body_length(header: [u8; HEADER]) -> usize {
    u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize
}

/// Leaves room for a header; `finish_packet` fills it in.
pub fn begin_packet(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    start
}

/// Fills in the header of the packet that began at `start`, in several frames if it is long.
pub fn finish_packet(out: &mut Vec<u8>, start: usize, sequence: u8) {
    let length = out.len() - start - HEADER;
    if length < FRAME_MAX {
        write_header(&mut out[start..], length, sequence);
        return;
    }
    let payload = out.split_off(start + HEADER);
    out.truncate(start);
    append_frames(out, &payload, sequence);
}

fn append_frames(out: &mut Vec<u8>, payload: &[u8], mut sequence: u8) {
    let mut rest = payload;
    loop {
        let (body, after) = rest.split_at(rest.len().min(FRAME_MAX));
        let start = begin_packet(out);
        out.extend_from_slice(body);
        write_header(&mut out[start..], body.len(), sequence);
        // A last frame of full length needs an empty one behind it.
        if body.len() < FRAME_MAX {
            return;
        }
        sequence = sequence.wrapping_add(1);
        rest = after;
    }
}

fn write_header(at: &mut [u8], length: usize, sequence: u8) {
    at[..3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
    at[3] = sequence;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(payload: &[u8], sequence: u8) -> Vec<u8> {
        let mut out = Vec::new();
        let start = begin_packet(&mut out);
        out.extend_from_slice(payload);
        finish_packet(&mut out, start, sequence);
        out
    }

    fn read_all(frames: &mut Frames, mut input: &[u8], seen: &mut Vec<(u8, usize, Vec<u8>)>) {
        while let Some(packet) = frames.next(&mut input) {
            seen.push((packet.sequence, packet.length, packet.head.to_vec()));
        }
        assert!(input.is_empty());
    }

    #[test]
    fn packets_come_whole_wherever_the_stream_is_cut() {
        let bytes = [packet(b"one", 0), packet(b"", 1), packet(b"three", 2)].concat();
        let expected = [
            (0, 3, b"one".to_vec()),
            (1, 0, Vec::new()),
            (2, 5, b"three".to_vec()),
        ];
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let mut frames = Frames::new(100);
                let mut seen = Vec::new();
                read_all(&mut frames, &bytes[..first], &mut seen);
                read_all(&mut frames, &bytes[first..second], &mut seen);
                read_all(&mut frames, &bytes[second..], &mut seen);
                assert_eq!(seen, expected, "cut at {first} and {second}");
            }
        }
    }

    #[test]
    fn long_packets_are_framed_and_read_again() {
        for length in [FRAME_MAX - 1, FRAME_MAX, FRAME_MAX + 1, 2 * FRAME_MAX] {
            let payload: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let bytes = packet(&payload, 254);
            let frame_count = length / FRAME_MAX + 1;
            assert_eq!(bytes.len(), length + frame_count * HEADER);
            let mut frames = Frames::new(16);
            let mut seen = Vec::new();
            for piece in bytes.chunks(1 << 20) {
                read_all(&mut frames, piece, &mut seen);
            }
            let sequence = 254u8.wrapping_add(frame_count as u8 - 1);
            assert_eq!(seen, [(sequence, length, payload[..16].to_vec())]);
            // What follows a long packet begins at its own header.
            seen.clear();
            read_all(&mut frames, &packet(b"next", 0), &mut seen);
            assert_eq!(seen, [(0, 4, b"next".to_vec())]);
        }
    }
}
