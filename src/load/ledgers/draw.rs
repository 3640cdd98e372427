//! Transfers, drawn by a session's own seeded stream.

use std::ops::Range;

use crate::load::keys::Draws;
use crate::record::history::Token;

/// Accounts are numbered from 0 on; the first that a session knows is its hot one.
pub const ACCOUNTS: u16 = 64;
/// What every account has at the start: more than any trial moves away.
pub const START_BALANCE: i64 = 1_000_000_000;
/// One transfer in so many debits the hot account.
const HOT_ONE_IN: i64 = 8;
const AMOUNT_MAX: i64 = 100;

/// A token has the session's number in its top 8 bits, 32 bits drawn at random, and below them the
/// number of the transfer: so that no two of a trial are the same.
const SESSION_AT: u32 = 56;
const RANDOM_AT: u32 = 24;

/// A transfer to be made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drawn {
    pub token: Token,
    pub from: u16,
    pub to: u16,
    pub amount: u32,
}

/// Where a session's transfers come from.
pub struct Drawing {
    draws: Draws,
    session: u8,
    /// Those that it moves amounts between: two at least.
    accounts: Range<u16>,
    count: u64,
}

impl Drawing {
    /// Same seed, session and accounts, same transfers.
    pub fn new(seed: u64, session: u8, accounts: Range<u16>) -> Self {
        Drawing {
            draws: Draws::new(seed, u64::from(session)),
            session,
            accounts,
            count: 0,
        }
    }

    /// The next.
    pub fn draw(&mut self) -> Drawn {
        let last = self.accounts.len() as i64 - 1;
        let from = match self.draws.uniform(1, HOT_ONE_IN) {
            1 => 0,
            _ => self.draws.uniform(1, last),
        };
        // Any but that one.
        let to = self.draws.uniform(0, last - 1);
        let to = if to < from { to } else { to + 1 };
        Drawn {
            token: self.token(),
            from: self.accounts.start + from as u16,
            to: self.accounts.start + to as u16,
            amount: self.draws.uniform(1, AMOUNT_MAX) as u32,
        }
    }

    fn token(&mut self) -> Token {
        let random = self.draws.uniform(0, i64::from(u32::MAX)) as u64;
        let number = self.count & ((1 << RANDOM_AT) - 1);
        self.count += 1;
        (u64::from(self.session) << SESSION_AT) | (random << RANDOM_AT) | number
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn drawn(seed: u64, session: u8, count: usize) -> Vec<Drawn> {
        drawn_among(0..ACCOUNTS, (seed, session), count)
    }

    fn drawn_among(accounts: Range<u16>, (seed, session): (u64, u8), count: usize) -> Vec<Drawn> {
        let mut drawing = Drawing::new(seed, session, accounts);
        (0..count).map(|_| drawing.draw()).collect()
    }

    #[test]
    fn a_transfer_goes_from_one_account_to_another() {
        let all = drawn(7, 3, 20_000);
        for one in &all {
            assert!(one.from < ACCOUNTS && one.to < ACCOUNTS && one.from != one.to);
            assert!((1..=100).contains(&one.amount), "{one:?}");
        }
        let each: BTreeSet<(u16, u16)> = all.iter().map(|one| (one.from, one.to)).collect();
        let [from, to] = [
            each.iter().map(|pair| pair.0).collect::<BTreeSet<u16>>(),
            each.iter().map(|pair| pair.1).collect(),
        ];
        assert_eq!((from.len(), to.len()), (64, 64));
    }

    #[test]
    fn a_session_touches_no_account_but_its_own() {
        let all = drawn_among(32..64, (7, 3), 20_000);
        let touched: BTreeSet<u16> = all.iter().flat_map(|one| [one.from, one.to]).collect();
        assert_eq!(touched, (32..64).collect());
        let hot = all.iter().filter(|one| one.from == 32).count();
        assert!((2_300..2_700).contains(&hot), "{hot}");
        assert!(all.iter().all(|one| one.from != one.to));
    }

    #[test]
    fn one_in_eight_debits_the_hot_account() {
        let hot = drawn(1, 0, 8_000);
        let hot = hot.iter().filter(|one| one.from == 0).count();
        assert!((900..1_100).contains(&hot), "{hot}");
    }

    #[test]
    fn no_token_comes_twice_and_sessions_have_their_own() {
        let sessions = [drawn(5, 0, 5_000), drawn(5, 1, 5_000), drawn(5, 255, 5_000)];
        let tokens: BTreeSet<Token> = sessions.iter().flatten().map(|one| one.token).collect();
        assert_eq!(tokens.len(), 15_000);
        let tops: BTreeSet<u64> = tokens.iter().map(|token| token >> SESSION_AT).collect();
        assert_eq!(tops, [0, 1, 255].into());
        // What one seed draws, another does not.
        let other: BTreeSet<Token> = drawn(6, 0, 5_000).iter().map(|one| one.token).collect();
        assert!(other.is_disjoint(&tokens));
        assert_eq!(drawn(5, 1, 100), sessions[1][..100]);
    }
}
