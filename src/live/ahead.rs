//! Steps of a run, done and ahead, and how long the rest takes.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Steps, and the time that is left. Moments are spans since the run's beginning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ahead {
    /// Estimates of all that have not ended, in their order.
    #[serde(skip)]
    steps: VecDeque<Duration>,
    done: usize,
    all: usize,
    /// Estimates: of all that are done, of all that are not, and of the first of these.
    of_done: Duration,
    of_left: Duration,
    of_next: Duration,
    /// When the first step began.
    begun: Option<Duration>,
    /// When the last one ended that has; before that when the first began.
    ended: Duration,
}

impl Ahead {
    /// These come before all others that are still ahead.
    pub fn add(&mut self, more: &[Duration]) {
        for step in more.iter().rev() {
            self.steps.push_front(*step);
        }
        self.all += more.len();
        self.of_left += more.iter().sum::<Duration>();
        self.of_next = self.steps.front().copied().unwrap_or_default();
    }

    /// A step begins.
    pub fn begin(&mut self, at: Duration) {
        if self.begun.is_none() {
            self.begun = Some(at);
            self.ended = at;
        }
    }

    /// It has ended.
    pub fn end(&mut self, at: Duration) {
        let step = self.steps.pop_front().unwrap_or_default();
        self.done += 1;
        self.all = self.all.max(self.done);
        self.of_done += step;
        self.of_left = self.of_left.saturating_sub(step);
        self.of_next = self.steps.front().copied().unwrap_or_default();
        self.ended = at;
    }

    /// How many steps have ended, and how many there are as far as is known.
    pub fn done_of(&self) -> (usize, usize) {
        (self.done, self.all)
    }

    /// The estimates of what is left, times how wrong those of what is done were. A step that takes
    /// longer takes nothing from those behind it.
    pub fn left(&self, now: Duration) -> Duration {
        let Some(begun) = self.begun else {
            return self.of_left;
        };
        let took = self.ended.saturating_sub(begun).as_secs_f64();
        let wrong = match self.of_done.as_secs_f64() {
            0.0 => 1.0,
            foreseen => took / foreseen,
        };
        let [left, next] = [self.of_left, self.of_next].map(|span| span.as_secs_f64() * wrong);
        let of_next = now.saturating_sub(self.ended).as_secs_f64().min(next);
        Duration::try_from_secs_f64(left - of_next).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(all: &[u64]) -> Vec<Duration> {
        all.iter().copied().map(Duration::from_secs).collect()
    }

    fn at(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    #[test]
    fn what_is_left_follows_the_estimates_and_how_wrong_they_were() {
        let mut ahead = Ahead::default();
        ahead.add(&seconds(&[1, 1, 60, 2]));
        assert_eq!(
            ahead.left(at(50)),
            at(64),
            "labs are formed before the first"
        );
        ahead.begin(at(100));
        assert_eq!(ahead.left(at(100)), at(64));
        ahead.end(at(102));
        ahead.end(at(104));
        // Twice as long as estimated so far: so will be the long one.
        assert_eq!(ahead.left(at(104)), at(124));
        assert_eq!(ahead.left(at(134)), at(94));
        assert_eq!(ahead.left(at(904)), at(4), "it takes longer still");
        ahead.end(at(162));
        assert_eq!(ahead.left(at(162)), at(2));
        ahead.end(at(164));
        assert_eq!((ahead.left(at(164)), ahead.done_of()), (at(0), (4, 4)));
    }

    #[test]
    fn steps_that_nobody_foresaw_come_next() {
        let mut ahead = Ahead::default();
        ahead.add(&seconds(&[1, 2, 3]));
        ahead.begin(at(0));
        ahead.end(at(1));
        ahead.add(&seconds(&[9, 8]));
        assert_eq!(ahead.steps, seconds(&[9, 8, 2, 3]));
        assert_eq!((ahead.done_of(), ahead.left(at(1))), ((1, 5), at(22)));
        ahead.end(at(10));
        assert_eq!(ahead.left(at(10)), at(13));
    }

    #[test]
    fn what_is_sent_tells_the_same() {
        let mut ahead = Ahead::default();
        ahead.add(&seconds(&[4, 8]));
        ahead.begin(at(0));
        ahead.end(at(6));
        let sent = serde_json::to_string(&ahead).unwrap();
        let got: Ahead = serde_json::from_str(&sent).unwrap();
        assert_eq!(got.left(at(8)), ahead.left(at(8)));
        assert_eq!(got.done_of(), (1, 2));
    }
}
