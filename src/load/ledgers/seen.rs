//! What a reader has seen: which rows are new to it, and which are gone.

use std::collections::{BTreeMap, HashSet};

use crate::record::history::Token;

/// Rows are not seen in the order of their keys, which are given before the commit. So a look
/// begins so many rows before the newest, more than transfers can be under way at once,
const NARROW_ROWS: usize = 64;
/// and now and then further before, so that what hung long is seen too, and what is gone is missed.
/// Each time, that would cost servers and links several times as much as all the rest of a look.
const WIDE_ROWS: usize = 256;
const WIDE_ONE_IN: u64 = 32;

/// All rows of the table as last seen, by their keys.
#[derive(Debug, Default)]
pub struct Seen {
    rows: BTreeMap<u64, Token>,
    /// All tokens that were ever seen.
    shown: HashSet<Token>,
    looks: u64,
}

/// What one look adds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub new: Vec<Token>,
    pub gone: Vec<Token>,
}

impl Seen {
    /// The key after which the next look reads: 0 where that is all.
    pub fn next_after(&mut self) -> u64 {
        let rows = match self.looks % WIDE_ONE_IN {
            0 => WIDE_ROWS,
            _ => NARROW_ROWS,
        };
        self.looks += 1;
        self.rows.keys().rev().nth(rows).copied().unwrap_or(0)
    }

    /// All rows after that key, by a look.
    pub fn take(&mut self, after: u64, read: &[(u64, Token)]) -> Change {
        let there: HashSet<Token> = read.iter().map(|(_, token)| *token).collect();
        let before = self.rows.split_off(&(after + 1));
        self.rows.extend(read.iter().copied());
        let tokens = read.iter().map(|(_, token)| *token);
        Change {
            new: tokens.filter(|token| self.shown.insert(*token)).collect(),
            gone: before
                .into_values()
                .filter(|token| !there.contains(token))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look at a table.
    fn look(seen: &mut Seen, table: &BTreeMap<u64, Token>) -> Change {
        let after = seen.next_after();
        let read: Vec<(u64, Token)> = table
            .range(after + 1..)
            .map(|(id, token)| (*id, *token))
            .collect();
        seen.take(after, &read)
    }

    fn change(new: &[Token], gone: &[Token]) -> Change {
        Change {
            new: new.to_vec(),
            gone: gone.to_vec(),
        }
    }

    #[test]
    fn rows_are_new_once_and_gone_once() {
        let mut seen = Seen::default();
        let mut table: BTreeMap<u64, Token> = [(1, 10), (3, 30)].into();
        assert_eq!(look(&mut seen, &table), change(&[10, 30], &[]));
        assert_eq!(look(&mut seen, &table), change(&[], &[]));
        // One with a lower key that was committed later.
        table.insert(2, 20);
        assert_eq!(look(&mut seen, &table), change(&[20], &[]));
        table.remove(&3);
        assert_eq!(look(&mut seen, &table), change(&[], &[30]));
        assert_eq!(look(&mut seen, &table), change(&[], &[]));
        // Its key is given again, and it comes back under another: it is no news.
        table.extend([(3, 31), (4, 30)]);
        assert_eq!(look(&mut seen, &table), change(&[31], &[]));
        table.insert(3, 32);
        assert_eq!(look(&mut seen, &table), change(&[32], &[31]));
    }

    #[test]
    fn a_look_reads_a_margin_and_now_and_then_a_wider_one() {
        let mut seen = Seen::default();
        // Keys may have gaps.
        let table: BTreeMap<u64, Token> = (1..=1_000).map(|n| (n * 3, n)).collect();
        assert_eq!(look(&mut seen, &table).new.len(), 1_000);
        let after: Vec<u64> = (0..32).map(|_| seen.next_after()).collect();
        assert!(after[..31].iter().all(|id| *id == 3 * (1_000 - 64)));
        assert_eq!(after[31], 3 * (1_000 - 256));
    }

    #[test]
    fn a_table_that_was_thrown_back_is_read_from_its_beginning() {
        let mut seen = Seen::default();
        let mut table: BTreeMap<u64, Token> = (1..=500).map(|id| (id, id)).collect();
        look(&mut seen, &table);
        table.retain(|id, _| *id <= 100);
        let mut gone = 0;
        for _ in 0..20 {
            gone += look(&mut seen, &table).gone.len();
        }
        assert_eq!(gone, 400);
        // Keys are given anew from there on.
        table.insert(101, 9_000);
        assert_eq!(look(&mut seen, &table), change(&[9_000], &[]));
        table.clear();
        for _ in 0..4 {
            look(&mut seen, &table);
        }
        table.insert(1, 9_001);
        assert_eq!(look(&mut seen, &table), change(&[9_001], &[]));
    }
}
