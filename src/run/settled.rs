//! When a load at an offered rate has warmed up: latency neither rises nor falls any more.

use std::time::Duration;

use crate::error::Result;
use crate::load::Snapshot;
use crate::plan::{SETTLE_STEP, SETTLE_STEPS};
use crate::record::histogram;

/// Latency is looked at once in this time,
pub const STEP: Duration = SETTLE_STEP;
/// over so many such times,
const STEPS: usize = SETTLE_STEPS as usize;
/// and no more after so many.
const STEPS_MAX: usize = 50;
/// Kendall's S of eight values in random order is as far from nothing as this, or farther, in 3 of
/// 100 cases (Kendall, "Rank Correlation Methods", appendix table 1).
const S_OF_A_TREND: i32 = 18;

/// What was seen so far.
#[derive(Default)]
pub struct Settling {
    medians_us: Vec<u64>,
    steps: usize,
}

impl Settling {
    /// Takes in a step. What ended in it is judged, however long it had been due: of what became
    /// due in it none would be seen to take longer than the step. A step in which nothing ended
    /// tells nothing.
    ///
    /// # Errors
    /// A breakdown if the driver's answer is damaged.
    pub fn take(&mut self, step: &Snapshot) -> Result<()> {
        self.steps += 1;
        if let Some(text) = &step.ended_us {
            let ended = histogram::decode(text)?;
            self.medians_us.push(ended.value_at_quantile(0.5));
        }
        Ok(())
    }

    /// Whether the last medians have no trend; `None` while more are to be looked at.
    pub fn is_over(&self) -> Option<bool> {
        let from = self.medians_us.len().checked_sub(STEPS);
        let last = from.map(|from| &self.medians_us[from..]);
        match last {
            Some(last) if kendalls_s(last).abs() < S_OF_A_TREND => Some(true),
            _ if self.steps >= STEPS_MAX => Some(false),
            _ => None,
        }
    }
}

/// Pairs that rise less pairs that fall.
fn kendalls_s(values: &[u64]) -> i32 {
    let signs = (0..values.len()).flat_map(|from| {
        let later = values[from + 1..].iter();
        later.map(move |later| later.cmp(&values[from]) as i32)
    });
    signs.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(medians_us: &[u64]) -> Option<bool> {
        let settling = Settling {
            medians_us: medians_us.to_vec(),
            steps: medians_us.len(),
        };
        settling.is_over()
    }

    #[test]
    fn a_step_tells_of_what_ended_in_it_and_nothing_where_none_did() {
        let mut ended = histogram::empty();
        ended.record(200_000).unwrap();
        let late = Snapshot {
            ended_us: Some(histogram::encode(&ended)),
            ..Snapshot::default()
        };
        let mut settling = Settling::default();
        settling.take(&late).unwrap();
        settling.take(&Snapshot::default()).unwrap();
        assert_eq!((settling.steps, settling.medians_us.len()), (2, 1));
        assert!(settling.medians_us[0].abs_diff(200_000) < 200);
        for _ in 2..STEPS_MAX {
            assert_eq!(settling.is_over(), None);
            settling.take(&Snapshot::default()).unwrap();
        }
        assert_eq!(settling.is_over(), Some(false), "nothing ends");
    }

    #[test]
    fn what_neither_rises_nor_falls_has_settled_after_eight_looks() {
        let level = [5, 7, 4, 6, 5, 7, 6, 5];
        assert_eq!(judge(&level), Some(true));
        assert_eq!(judge(&level[..7]), None);
        assert_eq!(judge(&[]), None);
    }

    #[test]
    fn a_cache_that_fills_is_waited_for_and_a_queue_that_grows_given_up() {
        let filling: Vec<u64> = (0..12).map(|step| 100 - 5 * step).collect();
        assert_eq!(judge(&filling), None);
        let filled: Vec<u64> = filling
            .into_iter()
            .chain([40, 42, 39, 41, 40, 38, 41, 42])
            .collect();
        assert_eq!(judge(&filled), Some(true));
        let growing: Vec<u64> = (0..50).collect();
        assert_eq!(judge(&growing[..49]), None);
        assert_eq!(judge(&growing), Some(false));
    }

    /// All orders of eight values: as many have such an S as the table says.
    #[test]
    fn a_trend_is_seen_by_chance_in_three_of_a_hundred() {
        let mut orders = vec![vec![]];
        for value in 0..8_u64 {
            let longer = |order: &Vec<u64>| {
                (0..=order.len())
                    .map(|place| {
                        let mut order = order.clone();
                        order.insert(place, value);
                        order
                    })
                    .collect::<Vec<_>>()
            };
            orders = orders.iter().flat_map(longer).collect();
        }
        assert_eq!(orders.len(), 40_320);
        let seen = orders
            .iter()
            .filter(|order| judge(order) != Some(true))
            .count();
        let share = seen as f64 / orders.len() as f64;
        assert!((0.025..0.035).contains(&share), "{share}");
    }
}
