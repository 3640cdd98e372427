//! A paced load: each session rests between its transactions, so that each meets idle servers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use super::job::Job;

/// How long sessions rest, and how their first transactions are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    rest: Duration,
    sessions: u32,
    driver: u32,
    drivers: u32,
}

impl Pace {
    /// The job's, if it has one.
    pub fn of(job: &Job) -> Option<Pace> {
        job.pace.map(|rest| Pace {
            rest,
            sessions: job.connections.max(1),
            driver: job.driver,
            drivers: job.drivers.max(1),
        })
    }

    /// From the end of a session's transaction to the beginning of its next.
    pub fn rest(&self) -> Duration {
        self.rest
    }

    /// From the beginning of the load to a session's first transaction: all sessions of all drivers
    /// lie evenly over one rest, so that they do not come all at once.
    pub fn first(&self, session: usize) -> Duration {
        let place = session as f64 + f64::from(self.driver) / f64::from(self.drivers);
        self.rest.mul_f64(place / f64::from(self.sessions))
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
        assert_eq!(of(1).rest(), rest);
    }

    proptest! {
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
