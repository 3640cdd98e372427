//! Sessions that rest between their transactions: paced, so that each transaction meets idle
//! servers; or slowed, so that a share of what they would have done is missing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use super::job::Job;

/// How long sessions rest, and how their first transactions are spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    rest: Rest,
    sessions: u32,
    driver: u32,
    drivers: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Rest {
    /// So long after each transaction.
    Span(Duration),
    /// Until this share of the time from when the transaction was to begin is rest.
    Share(f64),
}

impl Pace {
    /// The job's, if it has one.
    pub fn of(job: &Job) -> Option<Pace> {
        let slowed = job.slowdown.map(Rest::Share);
        Some(Pace {
            rest: job.pace.map(Rest::Span).or(slowed)?,
            sessions: job.connections.max(1),
            driver: job.driver,
            drivers: job.drivers.max(1),
        })
    }

    /// Until when a session rests whose transaction was to begin at `due`, began at `begun` and
    /// ended at `end`. Slowed, that counts from `due`: where a timer rang late, the next rest is
    /// shorter by as much, so that over many transactions the share is exact.
    pub fn until(&self, (due, begun): (Instant, Instant), end: Instant) -> Instant {
        match self.rest {
            Rest::Span(span) => end + span,
            Rest::Share(share) => due + (end - begun).div_f64(1.0 - share),
        }
    }

    /// From the beginning of the load to a session's first transaction: paced, all sessions of all
    /// drivers lie evenly over one rest, so that they do not come all at once.
    pub fn first(&self, session: usize) -> Duration {
        let Rest::Span(span) = self.rest else {
            return Duration::ZERO;
        };
        let place = session as f64 + f64::from(self.driver) / f64::from(self.drivers);
        span.mul_f64(place / f64::from(self.sessions))
    }
}

/// Sessions that rest, the first to begin again first, each at most once.
#[derive(Default)]
pub struct Rests {
    queue: BinaryHeap<Reverse<(Instant, usize)>>,
    is_in: Vec<bool>,
}

impl Rests {
    /// Nobody of so many sessions yet.
    pub fn of(sessions: usize) -> Self {
        Rests {
            queue: BinaryHeap::new(),
            is_in: vec![false; sessions],
        }
    }

    /// This session rests until then, unless it does already.
    pub fn push(&mut self, until: Instant, index: usize) {
        if !std::mem::replace(&mut self.is_in[index], true) {
            self.queue.push(Reverse((until, index)));
        }
    }

    /// When the first of them begins again.
    pub fn next(&self) -> Option<Instant> {
        self.queue.peek().map(|Reverse((until, _))| *until)
    }

    /// Takes the first of them.
    pub fn pop(&mut self) -> Option<usize> {
        let Reverse((_, index)) = self.queue.pop()?;
        self.is_in[index] = false;
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::load::job::tests::example;

    #[test]
    fn a_job_without_a_pace_has_none() {
        assert_eq!(Pace::of(&job(1, 0, 1, None)), None);
    }

    fn job(connections: u32, driver: u32, drivers: u32, pace: Option<Duration>) -> Job {
        Job {
            connections,
            driver,
            drivers,
            pace,
            ..example()
        }
    }

    #[test]
    fn first_transactions_of_all_drivers_lie_evenly_over_one_rest() {
        let rest = Duration::from_millis(60);
        let of = |driver| Pace::of(&job(3, driver, 2, Some(rest))).unwrap();
        let firsts = |driver| (0..3).map(move |session| of(driver).first(session));
        let mut all: Vec<u128> = firsts(0).chain(firsts(1)).map(|d| d.as_millis()).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 10, 20, 30, 40, 50]);
        let begun = Instant::now();
        let end = begun + rest / 2;
        assert_eq!(of(1).until((begun - rest, begun), end), end + rest);
    }

    fn slowed(share: f64) -> Pace {
        let slowdown = Some(share);
        let job = Job {
            slowdown,
            ..example()
        };
        Pace::of(&job).unwrap()
    }

    #[test]
    fn who_is_slowed_begins_with_the_others_and_rests_after_each_transaction() {
        assert_eq!(slowed(0.2).first(1), Duration::ZERO);
        let ms = Duration::from_millis;
        let begun = Instant::now();
        let until = slowed(0.2).until((begun, begun), begun + ms(8));
        assert_eq!(until, begun + ms(10));
    }

    proptest! {
        /// Each takes so long, and the timer that ends a rest rings so late.
        #[test]
        fn the_planted_share_is_rest_however_late_timers_ring(
            share in 0.001f64..0.9,
            all in proptest::collection::vec((1u64..5_000, 0u64..500), 1..100)
        ) {
            let (us, load) = (Duration::from_micros, Instant::now());
            let (mut due, mut end, mut at_work) = (load, load, Duration::ZERO);
            for (takes_us, late_us) in all {
                let begun = if due > end { due + us(late_us) } else { end };
                end = begun + us(takes_us);
                at_work += us(takes_us);
                due = slowed(share).until((due, begun), end);
            }
            let whole = due - load;
            let work = at_work.as_secs_f64() / whole.as_secs_f64();
            prop_assert!((work - (1.0 - share)).abs() < 1e-3, "{work} of {share}");
        }

        #[test]
        fn rests_end_in_the_order_of_their_times_and_nobody_rests_twice(
            asked in proptest::collection::vec((0u64..1_000, 0usize..20), 0..60)
        ) {
            let begin = Instant::now();
            let mut rests = Rests::of(20);
            let mut expected: Vec<(u64, usize)> = vec![];
            for (ms, index) in asked {
                rests.push(begin + Duration::from_millis(ms), index);
                if !expected.iter().any(|(_, other)| *other == index) {
                    expected.push((ms, index));
                }
            }
            expected.sort_unstable();
            let taken = std::iter::from_fn(|| {
                let until = rests.next()?;
                Some(((until - begin).as_millis() as u64, rests.pop()?))
            });
            prop_assert_eq!(taken.collect::<Vec<_>>(), expected);
        }
    }
}
