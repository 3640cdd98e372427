//! What a driver writes into the log of its memory, as words.

use std::iter;

use crate::record::history::{Look, Token};

/// The first word's lowest byte says what follows.
const LOSS: u64 = 1;
const LOOK: u64 = 2;
/// So much of a reason is kept.
const REASON_BYTES: usize = 160;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Why a connection was lost or refused, or what a server refused.
    Loss(String),
    /// What a reader, by its number in its driver, saw.
    Look(u32, Look),
}

impl Note {
    /// A loss is its length in bytes and its text; a look is the reader's number, its times, how
    /// many tokens are new, those, and those that are gone.
    pub fn words(&self) -> Vec<u64> {
        match self {
            Note::Loss(reason) => {
                let bytes = reason.as_bytes();
                let bytes = &bytes[..bytes.len().min(REASON_BYTES)];
                let head = LOSS | (bytes.len() as u64) << 8;
                iter::once(head).chain(bytes.chunks(8).map(word)).collect()
            }
            Note::Look(reader, look) => {
                let ended = look.ended_us.map_or(0, |ended_us| ended_us + 1);
                let head = [
                    LOOK | u64::from(*reader) << 8,
                    look.begun_us,
                    ended,
                    look.new.len() as u64,
                ];
                [&head[..], &look.new, &look.gone].concat()
            }
        }
    }

    /// `None` if it is no entry of ours.
    pub fn read(words: &[u64]) -> Option<Note> {
        let (first, rest) = words.split_first()?;
        match first & 0xff {
            LOSS => {
                let bytes: Vec<u8> = rest.iter().flat_map(|word| word.to_le_bytes()).collect();
                let reason = bytes.get(..usize::try_from(first >> 8).ok()?)?;
                Some(Note::Loss(String::from_utf8_lossy(reason).into_owned()))
            }
            LOOK => {
                let [begun_us, ended, count, tokens @ ..] = rest else {
                    return None;
                };
                let (new, gone) = tokens.split_at_checked(usize::try_from(*count).ok()?)?;
                let look = Look {
                    begun_us: *begun_us,
                    ended_us: ended.checked_sub(1),
                    new: Vec::<Token>::from(new),
                    gone: Vec::<Token>::from(gone),
                };
                Some(Note::Look(u32::try_from(first >> 8).ok()?, look))
            }
            _ => None,
        }
    }
}

/// Up to eight bytes, the first lowest.
fn word(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(whole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_reason_is_cut_and_nonsense_is_none() {
        let note = Note::Loss("x".repeat(1_000));
        let Some(Note::Loss(kept)) = Note::read(&note.words()) else {
            panic!("no loss");
        };
        assert_eq!(kept, "x".repeat(REASON_BYTES));
        for nonsense in [&[][..], &[0], &[9, 1], &[LOSS | 99 << 8, 1], &[LOOK, 1, 2]] {
            assert_eq!(Note::read(nonsense), None, "{nonsense:?}");
        }
        // More new ones than there are.
        assert_eq!(Note::read(&[LOOK, 1, 2, 3, 4]), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            reason in "[ -~é]{0,60}",
            (reader, begun_us) in (any::<u32>(), any::<u64>()),
            ended_us in proptest::option::of(0..u64::MAX),
            (new, gone) in (any::<Vec<u64>>(), any::<Vec<u64>>()),
        ) {
            let look = Look { begun_us, ended_us, new, gone };
            for note in [Note::Loss(reason), Note::Look(reader, look)] {
                let read = Note::read(&note.words());
                prop_assert_eq!(read, Some(note));
            }
        }
    }
}
