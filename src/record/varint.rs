//! Whole numbers in as few bytes as they need: LEB128, as in DWARF (appendix C of version 5) and
//! Protocol Buffers.

/// Seven bits in a byte; the eighth says that more follow.
const MORE: u8 = 0x80;

/// Numbers, written one after the other.
#[derive(Debug, Default)]
pub struct Out(Vec<u8>);

impl Out {
    pub fn number(&mut self, mut number: u64) {
        while number >= u64::from(MORE) {
            self.0.push(number as u8 | MORE);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// A number by its distance from another: short if they are near.
    pub fn near(&mut self, other: u64, number: u64) {
        self.number(distance(other, number));
    }

    /// All eight bytes of one that chance has made.
    pub fn whole(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// The same, read. Each is `None` where the bytes end too early, or are of something else.
#[derive(Debug)]
pub struct In<'b>(&'b [u8]);

impl<'b> In<'b> {
    pub fn of(bytes: &'b [u8]) -> In<'b> {
        In(bytes)
    }

    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & !MORE) << shift;
            if *byte < MORE {
                return Some(number);
            }
        }
        None
    }

    pub fn near(&mut self, other: u64) -> Option<u64> {
        self.number().map(|far| at_distance(other, far))
    }

    pub fn whole(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Whether nothing follows.
    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

/// How far a number is from another, in either direction: 0, −1, 1, −2, 2 … are 0, 1, 2, 3, 4 …
/// (the zigzag of Protocol Buffers). Any two numbers have one.
pub fn distance(other: u64, number: u64) -> u64 {
    let far = number.wrapping_sub(other) as i64;
    ((far << 1) ^ (far >> 63)) as u64
}

/// The number at that distance from another.
pub fn at_distance(other: u64, distance: u64) -> u64 {
    let far = (distance >> 1) as i64 ^ -((distance & 1) as i64);
    other.wrapping_add(far as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_numbers_and_small_distances_take_one_byte() {
        let length = |write: fn(&mut Out)| {
            let mut out = Out::default();
            write(&mut out);
            out.into_bytes().len()
        };
        assert_eq!(length(|out| out.number(127)), 1);
        assert_eq!(length(|out| out.number(128)), 2);
        assert_eq!(length(|out| out.number(u64::MAX)), 10);
        assert_eq!(length(|out| out.near(1_000_000, 1_000_063)), 1);
        assert_eq!(length(|out| out.near(1_000_000, 999_936)), 1);
        assert_eq!(length(|out| out.whole(0)), 8);
        assert_eq!([0, 1, 2, 3].map(|far| at_distance(10, far)), [10, 9, 11, 8]);
    }

    #[test]
    fn what_ends_too_early_is_no_number() {
        assert_eq!(In::of(&[]).number(), None);
        assert_eq!(In::of(&[0x80]).number(), None);
        assert_eq!(In::of(&[0x80; 11]).number(), None, "longer than any");
        assert_eq!(In::of(&[1; 7]).whole(), None);
    }

    proptest! {
        #[test]
        fn numbers_are_read_as_they_were_written(
            numbers in prop::collection::vec(any::<(u64, u64, u64)>(), 0..20),
        ) {
            let mut out = Out::default();
            for (plain, other, near) in &numbers {
                out.number(*plain);
                out.near(*other, *near);
                out.whole(*plain);
            }
            let bytes = out.into_bytes();
            let mut read = In::of(&bytes);
            for (plain, other, near) in &numbers {
                prop_assert_eq!(read.number(), Some(*plain));
                prop_assert_eq!(read.near(*other), Some(*near));
                prop_assert_eq!(read.whole(), Some(*plain));
            }
            prop_assert!(read.is_at_end());
        }
    }
}
