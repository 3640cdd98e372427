//! How long to hold a CPU, and how long to let go of it then. Pure: the clock is the caller's.
//!
//! Whoever sleeps wakes up late, by as much as a tenth of a rest. So no hold is of a fixed length:
//! each pays what an account of all holds and rests so far owes.

/// A hold and the rest after it take about so long,
const PERIOD_NS: f64 = 500_000.0;
/// or less: nobody waits much longer than this for a hold to end. Packets that are late by twice as
/// much would void a cell.
const HOLD_NS: f64 = 150_000.0;
/// No hold is longer than this.
const HOLD_NS_MAX: f64 = 5_000_000.0;
/// A turn that took longer than this, but for its hold, found the host standing still: nobody ran,
/// so that nothing is owed for it.
const STANDSTILL_NS: u64 = 10_000_000;
/// Rests are longer or shorter by up to this share: what comes at a beat of its own, as the
/// kernel's tick does, must not find the CPU held always, or never.
const STRAY: f64 = 0.2;
/// Its multiples, less their whole parts, lie evenly between 0 and 1 (Knuth, TAOCP 6.4).
const GOLDEN_RATIO: f64 = 0.618_033_988_749_895;

/// For how long a CPU was held, of how long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    pub held_ns: u64,
    pub elapsed_ns: u64,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    pub hold_ns: u64,
    pub rest_ns: u64,
}

/// A share of a CPU's time that is to be held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duty {
    share: f64,
    rest_ns: f64,
}

impl Duty {
    /// Leaves others that share of the time: above 0, at most 1.
    pub fn leaving(speed: f64) -> Duty {
        let share = 1.0 - speed;
        let hold_ns = (share * PERIOD_NS).min(HOLD_NS);
        let rest_ns = match share > 0.0 {
            true => hold_ns * speed / share,
            false => PERIOD_NS,
        };
        Duty { share, rest_ns }
    }

    /// The hold after which, and after the rest that follows it, the account is even; that rest.
    /// Turns are numbered from 0.
    pub fn turn(&self, account: Account, number: u64) -> Turn {
        let stray = (number as f64 * GOLDEN_RATIO).fract() * 2.0 - 1.0;
        let rest_ns = self.rest_ns * (1.0 + STRAY * stray);
        let (held_ns, elapsed_ns) = (account.held_ns as f64, account.elapsed_ns as f64);
        // held + hold = share × (elapsed + hold + rest)
        let owed_ns = self.share * (elapsed_ns + rest_ns) - held_ns;
        let hold_ns = owed_ns / (1.0 - self.share);
        Turn {
            hold_ns: hold_ns.clamp(0.0, HOLD_NS_MAX) as u64,
            rest_ns: rest_ns as u64,
        }
    }
}

/// How long the host stood still in the last turn.
pub fn standstill_ns(before: Account, now: Account) -> u64 {
    let held_ns = now.held_ns.saturating_sub(before.held_ns);
    let rested_ns = (now.elapsed_ns.saturating_sub(before.elapsed_ns)).saturating_sub(held_ns);
    if rested_ns > STANDSTILL_NS {
        rested_ns
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Nanoseconds of a second.
    const SECOND_NS: u64 = 1_000_000_000;

    /// The account after so long, where each hold takes that much longer than it should, and each
    /// rest, one after another.
    fn account_after(span_ns: u64, speed: f64, longer_ns: &[(u64, u64)]) -> Account {
        let duty = Duty::leaving(speed);
        let mut account = Account::default();
        for (number, (hold_ns, rest_ns)) in (0..).zip(longer_ns.iter().cycle()) {
            if account.elapsed_ns >= span_ns {
                break;
            }
            let turn = duty.turn(account, number);
            let held_ns = turn.hold_ns + hold_ns;
            account.held_ns += held_ns;
            account.elapsed_ns += held_ns + turn.rest_ns + rest_ns;
        }
        account
    }

    fn speed_of(account: Account) -> f64 {
        1.0 - account.held_ns as f64 / account.elapsed_ns as f64
    }

    #[test]
    fn holds_are_short_and_rests_in_their_proportion() {
        let first = |speed| Duty::leaving(speed).turn(Account::default(), 0);
        // The first rest is the shortest: 80 %.
        let turn = |hold_ns, rest_ns| Turn { hold_ns, rest_ns };
        assert!(first(0.8).rest_ns.abs_diff(320_000) < 2);
        assert!(first(0.8).hold_ns.abs_diff(80_000) < 2);
        assert!(first(0.5).hold_ns.abs_diff(120_000) < 2);
        assert!(first(0.5).rest_ns.abs_diff(120_000) < 2);
        assert_eq!(first(1.0), turn(0, 400_000), "nothing is held");
    }

    #[test]
    fn rests_differ_from_one_to_the_next_and_stray_no_farther_than_they_may() {
        let duty = Duty::leaving(0.8);
        let rest = |number| duty.turn(Account::default(), number).rest_ns;
        let rests: Vec<u64> = (0..1_000).map(rest).collect();
        assert!(rests.iter().all(|ns| (319_999..=480_001).contains(ns)));
        assert!(
            rests
                .windows(2)
                .all(|pair| pair[0].abs_diff(pair[1]) > 10_000)
        );
        let mean_ns = rests.iter().sum::<u64>() / 1_000;
        assert!(mean_ns.abs_diff(400_000) < 1_000, "{mean_ns}");
    }

    #[test]
    fn what_a_standstill_has_left_owing_is_paid_back_bit_by_bit() {
        let duty = Duty::leaving(0.5);
        let behind = Account {
            held_ns: 0,
            elapsed_ns: SECOND_NS,
        };
        assert_eq!(duty.turn(behind, 0).hold_ns, HOLD_NS_MAX as u64);
        let ahead = Account {
            held_ns: SECOND_NS,
            elapsed_ns: SECOND_NS,
        };
        assert_eq!(duty.turn(ahead, 0).hold_ns, 0);
        assert!(duty.turn(ahead, 0).rest_ns > 0);
    }

    #[test]
    fn what_the_host_stood_still_for_is_forgiven_and_a_late_wake_up_is_not() {
        let account = |held_ns, elapsed_ns| Account {
            held_ns,
            elapsed_ns,
        };
        let before = account(1_000_000, 5_000_000);
        let late = account(1_200_000, 6_000_000);
        assert_eq!(standstill_ns(before, late), 0);
        let stood = account(1_200_000, 205_200_000);
        assert_eq!(standstill_ns(before, stood), 200_000_000);
        assert_eq!(standstill_ns(before, before), 0);
    }

    proptest! {
        #[test]
        fn late_wake_ups_do_not_add_up(
            speed in 0.05f64..1.0,
            longer_ns in prop::collection::vec((0u64..2_000, 0u64..150_000), 1..20),
        ) {
            let early = account_after(SECOND_NS / 4, speed, &longer_ns);
            let late = account_after(SECOND_NS, speed, &longer_ns);
            for account in [early, late] {
                let off = (speed_of(account) - speed).abs();
                prop_assert!(off < 0.006, "{off} at {speed} {account:?}");
            }
        }

        #[test]
        fn the_more_is_owed_the_longer_is_the_hold(
            speed in 0.05f64..1.0,
            held_ns in 0u64..SECOND_NS,
            more_ns in 0u64..SECOND_NS,
            number in 0u64..1_000_000,
        ) {
            let duty = Duty::leaving(speed);
            let hold = |held_ns| {
                let account = Account { held_ns, elapsed_ns: SECOND_NS };
                duty.turn(account, number).hold_ns
            };
            prop_assert!(hold(held_ns) >= hold(held_ns + more_ns));
            prop_assert!(hold(held_ns) <= HOLD_NS_MAX as u64);
        }
    }
}
