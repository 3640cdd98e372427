//! An offered rate: transactions that become due by themselves, whatever the servers do.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::keys::Draws;
use crate::error::{Result, breakdown};

/// Due times, one after the other, at random intervals: exponential ones, as sysbench draws them
/// for its `--rate`. What no session could take stays due and is taken later: nothing is skipped,
/// and it costs no memory to be late.
pub struct Arrivals {
    draws: Draws,
    mean_s: f64,
    /// Due time of the first that no session has taken; `None` until the load begins.
    next: Option<Instant>,
    /// Nothing becomes due after this.
    end: Option<Instant>,
    taken: u64,
    /// Where the last look ended: how many had become due, and when the next does. It is drawn from
    /// a copy of the stream, so that each is looked at once, however many wait.
    seen: u64,
    unseen: Option<(Draws, Instant)>,
}

/// What became due since the last look, and what of everything has not been begun yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Due {
    pub due: u64,
    pub backlog: u64,
    /// Of those that became due since the last look, the times of those not begun.
    pub waiting: Vec<Instant>,
}

impl Arrivals {
    /// So many transactions each second on the average.
    ///
    /// # Errors
    /// A rate that is no positive number.
    pub fn new(rate_per_s: f64, draws: Draws) -> Result<Self> {
        if !rate_per_s.is_finite() || rate_per_s <= 0.0 {
            let tried = format!("offer {rate_per_s} transactions each second");
            return Err(breakdown(tried, "a rate must be more than 0"));
        }
        Ok(Arrivals {
            draws,
            mean_s: rate_per_s.recip(),
            next: None,
            end: None,
            taken: 0,
            seen: 0,
            unseen: None,
        })
    }

    /// The load begins: from now on transactions become due.
    pub fn begin(&mut self, now: Instant) {
        if self.next.is_none() {
            let first = now + gap(&mut self.draws, self.mean_s);
            self.next = Some(first);
            self.unseen = Some((self.draws.clone(), first));
        }
    }

    /// Nothing becomes due any more, and nothing that is due can be taken.
    pub fn end(&mut self, now: Instant) {
        self.end.get_or_insert(now);
    }

    /// When the next one is due, be it past or to come.
    pub fn next(&self) -> Option<Instant> {
        self.next.filter(|_| self.end.is_none())
    }

    /// Takes the one that has been due for the longest; tells since when.
    pub fn take(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next().filter(|next| *next <= now)?;
        self.next = Some(due + gap(&mut self.draws, self.mean_s));
        self.taken += 1;
        Some(due)
    }

    /// What became due since the last call.
    pub fn look(&mut self, now: Instant) -> Due {
        let until = self.end.unwrap_or(now);
        let before = self.seen;
        let mut waiting = Vec::new();
        if let Some((draws, next)) = &mut self.unseen {
            while *next <= until {
                if self.seen >= self.taken {
                    waiting.push(*next);
                }
                self.seen += 1;
                *next += gap(draws, self.mean_s);
            }
        }
        Due {
            due: self.seen - before,
            backlog: self.seen.saturating_sub(self.taken),
            waiting,
        }
    }
}

fn gap(draws: &mut Draws, mean_s: f64) -> Duration {
    Duration::from_secs_f64(draws.exponential(mean_s))
}

/// Sessions without work, the longest idle first, each at most once.
#[derive(Default)]
pub struct Idle {
    queue: VecDeque<usize>,
    is_in: Vec<bool>,
}

impl Idle {
    /// Nobody of so many sessions yet.
    pub fn of(sessions: usize) -> Self {
        Idle {
            queue: VecDeque::new(),
            is_in: vec![false; sessions],
        }
    }

    /// This session waits for work, unless it does already.
    pub fn push(&mut self, index: usize) {
        if !std::mem::replace(&mut self.is_in[index], true) {
            self.queue.push_back(index);
        }
    }

    /// The session that has waited the longest.
    pub fn pop(&mut self) -> Option<usize> {
        let index = self.queue.pop_front()?;
        self.is_in[index] = false;
        Some(index)
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(rate_per_s: f64, seed: u64) -> Arrivals {
        Arrivals::new(rate_per_s, Draws::new(seed, 0)).unwrap()
    }

    fn after(begin: Instant, seconds: f64) -> Instant {
        begin + Duration::from_secs_f64(seconds)
    }

    /// All that is due within so many seconds, as seconds from the beginning.
    fn due_times(arrivals: &mut Arrivals, seconds: f64) -> Vec<f64> {
        let begin = Instant::now();
        arrivals.begin(begin);
        let taken = std::iter::from_fn(|| arrivals.take(after(begin, seconds)));
        taken.map(|due| (due - begin).as_secs_f64()).collect()
    }

    #[test]
    fn intervals_are_exponential_at_the_rate_asked() {
        let times = due_times(&mut arrivals(500.0, 3), 100.0);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean * 500.0 - 1.0).abs() < 0.02, "{mean}");
        // Of an exponential distribution 1/e are above the mean, and 1/e² above twice of it.
        let above = |times: f64| {
            let count = gaps.iter().filter(|gap| **gap > times / 500.0).count();
            count as f64 / gaps.len() as f64
        };
        assert!((above(1.0) - (-1f64).exp()).abs() < 0.01, "{}", above(1.0));
        assert!((above(2.0) - (-2f64).exp()).abs() < 0.01, "{}", above(2.0));
    }

    #[test]
    fn a_seed_gives_the_same_times() {
        let rounded = |seed| -> Vec<u64> {
            let times = due_times(&mut arrivals(1000.0, seed), 1.0);
            times.iter().map(|time| (time * 1e6) as u64).collect()
        };
        assert_eq!(rounded(1), rounded(1));
        assert_ne!(rounded(1), rounded(2));
    }

    #[test]
    fn nothing_is_skipped_and_what_is_late_keeps_its_time() {
        let prompt = due_times(&mut arrivals(100.0, 5), 10.0);
        let (mut late, begin) = (arrivals(100.0, 5), Instant::now());
        late.begin(begin);
        // Nobody takes anything for eight seconds.
        let first = late.look(after(begin, 8.0));
        let expected = prompt.iter().filter(|time| **time <= 8.0).count() as u64;
        assert_eq!((first.due, first.backlog), (expected, expected));
        let waiting = first.waiting.iter();
        let waiting: Vec<f64> = waiting.map(|due| (*due - begin).as_secs_f64()).collect();
        assert_eq!(waiting, prompt[..expected as usize]);
        assert_eq!(
            late.look(after(begin, 8.0)),
            Due {
                backlog: expected,
                ..Due::default()
            }
        );
        let taken = std::iter::from_fn(|| late.take(after(begin, 10.0)));
        let times: Vec<f64> = taken.map(|due| (due - begin).as_secs_f64()).collect();
        assert_eq!(times, prompt);
        let second = late.look(after(begin, 10.0));
        let rest = prompt.len() as u64 - expected;
        assert_eq!((second.due, second.backlog), (rest, 0));
    }

    #[test]
    fn after_the_end_nothing_becomes_due_and_what_is_left_is_told() {
        let (mut arrivals, begin) = (arrivals(100.0, 5), Instant::now());
        assert_eq!(arrivals.take(after(begin, 9.0)), None, "not begun");
        arrivals.begin(begin);
        assert!(arrivals.take(after(begin, 1.0)).is_some());
        arrivals.end(after(begin, 1.0));
        assert_eq!(arrivals.take(after(begin, 2.0)), None);
        let left = arrivals.look(after(begin, 2.0));
        assert!(left.due == left.backlog + 1 && left.due > 50, "{left:?}");
        assert_eq!(left.waiting.len() as u64, left.backlog);
        let later = arrivals.look(after(begin, 5.0));
        assert_eq!((later.due, later.backlog), (0, left.backlog));
    }

    #[test]
    fn only_a_positive_number_is_a_rate() {
        for rate_per_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Arrivals::new(rate_per_s, Draws::new(1, 0)).is_err());
        }
    }

    #[test]
    fn the_longest_idle_is_the_first_and_nobody_waits_twice() {
        let mut idle = Idle::of(3);
        [2, 0, 2, 1].into_iter().for_each(|index| idle.push(index));
        assert_eq!((idle.pop(), idle.pop()), (Some(2), Some(0)));
        idle.push(2);
        assert_eq!(
            (idle.pop(), idle.pop(), idle.pop()),
            (Some(1), Some(2), None)
        );
        assert!(idle.is_empty());
    }
}
