//! Clocks of processes on different machines: how far one is ahead of another, and how wrong that
//! may be.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time of day when it was made, and from then on time as it passes: nobody sets it.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    made: Instant,
    made_ns: u64,
}

impl Clock {
    /// Set by this machine's time of day.
    pub fn new() -> Clock {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Clock {
            made: Instant::now(),
            made_ns: nanos(now.unwrap_or_default()),
        }
    }

    /// Nanoseconds since 1970.
    pub fn now_ns(&self) -> u64 {
        self.made_ns + nanos(self.made.elapsed())
    }

    /// The moment when it shows that.
    pub fn moment(&self, ns: u64) -> Instant {
        self.made + Duration::from_nanos(ns.saturating_sub(self.made_ns))
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A question for the time and its answer: sent and received by our clock, heard and answered by
/// theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    pub sent_ns: u64,
    pub heard_ns: u64,
    pub answered_ns: u64,
    pub received_ns: u64,
}

/// How far their clock is ahead of ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offset {
    pub ahead_ns: i64,
    /// It may be wrong by so much either way.
    pub uncertain_ns: u64,
}

impl Offset {
    /// By the exchange with the shortest round trip, as NTP has it (RFC 5905, sections 8 and 10):
    /// `((T2 - T1) + (T3 - T4)) / 2`. It is exact if both ways took the same time; whatever they
    /// took, it is wrong by half the round trip at most. `None` of no exchange.
    pub fn of(exchanges: &[Exchange]) -> Option<Offset> {
        let best = exchanges.iter().min_by_key(|one| one.round_trip_ns())?;
        let there = i128::from(best.heard_ns) - i128::from(best.sent_ns);
        let back = i128::from(best.answered_ns) - i128::from(best.received_ns);
        Some(Offset {
            ahead_ns: i64::try_from((there + back) / 2).unwrap_or(i64::MAX),
            uncertain_ns: best.round_trip_ns().div_ceil(2),
        })
    }

    /// What their clock shows when ours shows that.
    pub fn theirs(&self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.ahead_ns)
    }

    /// `its clock is 1.250 ms ahead of this host's, ± 0.100 ms`
    pub fn told(&self) -> String {
        let ms = |ns: u64| ns as f64 / 1e6;
        let way = if self.ahead_ns < 0 {
            "behind"
        } else {
            "ahead of"
        };
        format!(
            "its clock is {:.3} ms {way} this host's, ± {:.3} ms",
            ms(self.ahead_ns.unsigned_abs()),
            ms(self.uncertain_ns)
        )
    }
}

impl Exchange {
    /// Without the time that the other took to answer.
    fn round_trip_ns(&self) -> u64 {
        let all = self.received_ns.saturating_sub(self.sent_ns);
        all.saturating_sub(self.answered_ns.saturating_sub(self.heard_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Their clock is so far ahead; so long there, and so long back.
    fn exchange(ahead: i64, there: u64, back: u64) -> Exchange {
        let sent_ns = 1_000_000_000;
        let heard_ns = (sent_ns + there).saturating_add_signed(ahead);
        let answered_ns = heard_ns + 70;
        Exchange {
            sent_ns,
            heard_ns,
            answered_ns,
            received_ns: answered_ns.saturating_add_signed(-ahead) + back,
        }
    }

    #[test]
    fn the_shortest_round_trip_tells_the_offset_within_half_of_it() {
        for ahead in [-5_000_000, 0, 3_000_000] {
            let even = Offset::of(&[exchange(ahead, 400, 400)]);
            let expected = Offset {
                ahead_ns: ahead,
                uncertain_ns: 400,
            };
            assert_eq!(even, Some(expected));
            // The whole round trip on the way there is the worst that there is.
            let uneven = Offset::of(&[exchange(ahead, 800, 0)]).unwrap();
            assert_eq!(uneven.ahead_ns - ahead, 400);
            assert_eq!(uneven.uncertain_ns, 400);
            let slow = [exchange(ahead, 90_000, 400), exchange(ahead, 400, 400)];
            assert_eq!(Offset::of(&slow), Some(expected));
        }
        assert_eq!(Offset::of(&[]), None);
    }

    #[test]
    fn a_moment_is_translated_and_told() {
        let behind = Offset {
            ahead_ns: -1_250_000,
            uncertain_ns: 100_000,
        };
        assert_eq!(behind.theirs(5_000_000), 3_750_000);
        let told = behind.told();
        assert_eq!(told, "its clock is 1.250 ms behind this host's, ± 0.100 ms");
        let ahead = Offset {
            ahead_ns: 250_000,
            ..behind
        };
        assert!(ahead.told().contains("0.250 ms ahead of this host's"));
    }

    #[test]
    fn a_clock_goes_on_from_when_it_was_made() {
        let clock = Clock::new();
        let now = clock.now_ns();
        assert!(clock.moment(now) <= Instant::now());
        assert!(clock.moment(now + 1_000_000_000_000) > Instant::now());
        assert_eq!(clock.moment(0), clock.made, "before it was made");
    }
}
