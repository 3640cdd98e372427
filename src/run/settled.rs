//! When a load at an offered rate has warmed up: latency neither rises nor falls any more.

use std::time::Duration;

use crate::error::Result;
use crate::load::{Snapshot, latency_at_least};
use crate::plan::{SETTLE_STEP, SETTLE_STEPS};

/// Latency is looked at once in this time,
pub const STEP: Duration = SETTLE_STEP;
/// over so many such times,
const STEPS: usize = SETTLE_STEPS as usize;
/// and no more after so many.
const STEPS_MAX: usize = 50;
/// Kendall's S of eight values in random order is as far from nothing as this, or farther, in 3 of
/// 100 cases (Kendall, "Rank Correlation Methods", appendix table 1).
const S_OF_A_TREND: i32 = 18;

/// Of the transactions that became due in a step; nothing where none did.
pub fn median_us(step: &Snapshot) -> Result<u64> {
    Ok(latency_at_least(step)?.value_at_quantile(0.5))
}

/// Whether the last medians have no trend; `None` while more are to be looked at.
pub fn judge(medians_us: &[u64]) -> Option<bool> {
    let last = medians_us.get(medians_us.len().checked_sub(STEPS)?..)?;
    match kendalls_s(last).abs() < S_OF_A_TREND {
        true => Some(true),
        false if medians_us.len() >= STEPS_MAX => Some(false),
        false => None,
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
