//! What the seconds of a cell show: how even its rate is, and whether it dips.

use std::time::Duration;

use super::interval::median;
pub use super::summary::Dips;
use super::summary::Per;
use crate::record::Measurement;

/// Cells that are asked to be shorter are not looked at second by second.
pub const LONG: Duration = Duration::from_secs(8);
/// Fewer seconds of steady load say nothing of how even it is.
const SECONDS_FOR_EVENNESS: usize = 8;
/// Fewer say nothing of dips.
const SECONDS_FOR_DIPS: usize = 30;
/// A second belongs to a dip if its rate is below this share of the median second's.
const DIP_BELOW: f64 = 0.7;
/// Dips of one round from which gaps between them are told.
const DIPS_FOR_GAPS: usize = 3;

/// A dip in one measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dip {
    /// From the start of the load, the end excluded.
    pub from_s: u32,
    pub to_s: u32,
    pub depth: f64,
}

/// The rates of whole seconds after the warm-up, each with its number from the start of the load.
pub fn steady(measurement: &Measurement, warmup_s: f64, per: Per) -> Vec<(u32, f64)> {
    // The second in which the warm-up ends is left out: accounts are read there.
    let from = warmup_s.ceil() as u32;
    let seconds = measurement.timeline.iter().filter(|s| s.second >= from);
    let rate = |second: &crate::record::Second| match per {
        Per::Commit => second.commits as f64,
        Per::Transaction => second.transactions as f64,
    };
    seconds
        .map(|second| (second.second, rate(second)))
        .collect()
}

/// Standard deviation of the seconds' rates over their mean; `None` with too few seconds.
pub fn unevenness(rates: &[(u32, f64)]) -> Option<f64> {
    if rates.len() < SECONDS_FOR_EVENNESS {
        return None;
    }
    let count = rates.len() as f64;
    let mean = rates.iter().map(|(_, rate)| rate).sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|(_, rate)| (rate - mean).powi(2)).sum();
    (mean > 0.0).then(|| (squares / (count - 1.0)).sqrt() / mean)
}

/// The dips of one measurement, in order; `None` with too few seconds.
pub fn dips(rates: &[(u32, f64)]) -> Option<Vec<Dip>> {
    if rates.len() < SECONDS_FOR_DIPS {
        return None;
    }
    let all: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
    let typical = median(&all).filter(|typical| *typical > 0.0)?;
    let mut dips: Vec<Dip> = Vec::new();
    for &(second, rate) in rates.iter().filter(|(_, rate)| *rate < DIP_BELOW * typical) {
        let depth = 1.0 - rate / typical;
        match dips.last_mut().filter(|dip| dip.to_s == second) {
            Some(dip) => {
                dip.to_s = second + 1;
                dip.depth = dip.depth.max(depth);
            }
            None => dips.push(Dip {
                from_s: second,
                to_s: second + 1,
                depth,
            }),
        }
    }
    Some(dips)
}

/// The dips of all rounds together; `None` where no round was long enough.
pub fn dips_of_rounds(rounds: &[Vec<(u32, f64)>]) -> Option<Dips> {
    let found: Vec<Vec<Dip>> = rounds.iter().filter_map(|rates| dips(rates)).collect();
    if found.is_empty() {
        return None;
    }
    let lengths_s = rounds.iter().map(|rates| rates.len());
    let long_s = lengths_s.filter(|seconds| *seconds >= SECONDS_FOR_DIPS);
    let long_s: Vec<u32> = long_s.map(|seconds| seconds as u32).collect();
    let depths: Vec<f64> = found.iter().flatten().map(|dip| dip.depth).collect();
    let with_period = found.iter().filter(|dips| dips.len() >= DIPS_FOR_GAPS);
    let apart_s = |pair: &[Dip]| pair[1].from_s - pair[0].from_s;
    let gaps_s = with_period.flat_map(|dips| dips.windows(2).map(apart_s));
    let gaps_s: Vec<u32> = gaps_s.collect();
    let as_floats: Vec<f64> = gaps_s.iter().copied().map(f64::from).collect();
    Some(Dips {
        watched_s: long_s.iter().sum(),
        longest_round_s: long_s.iter().copied().max().unwrap_or(0),
        count: depths.len() as u32,
        depth: median(&depths),
        median_gap_s: median(&as_floats),
        gaps_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Second;

    fn rates(rate: impl Fn(u32) -> f64, seconds: u32) -> Vec<(u32, f64)> {
        (0..seconds).map(|second| (second, rate(second))).collect()
    }

    #[test]
    fn a_fall_every_minute_has_its_period_and_depth() {
        let every_minute = rates(|s| if s % 60 < 3 && s > 9 { 400.0 } else { 1_000.0 }, 300);
        let dips = dips_of_rounds(&[every_minute]).unwrap();
        assert_eq!((dips.count, dips.watched_s), (4, 300));
        assert_eq!(
            (dips.median_gap_s, &dips.gaps_s[..]),
            (Some(60.0), &[60; 3][..])
        );
        assert!((dips.depth.unwrap() - 0.6).abs() < 1e-9, "{dips:?}");
    }

    #[test]
    fn two_dips_have_no_period_and_small_waves_are_none() {
        let two = dips_of_rounds(&[rates(|s| if s == 20 || s == 50 { 1.0 } else { 9.0 }, 80)]);
        let two = two.unwrap();
        assert_eq!((two.count, two.median_gap_s), (2, None));
        let waves = rates(|s| 1_000.0 + 250.0 * f64::from(s % 2), 60);
        assert_eq!(dips(&waves), Some(vec![]));
        assert_eq!(dips(&waves[..29]), None);
        assert_eq!(dips_of_rounds(&[waves[..29].to_vec()]), None);
    }

    #[test]
    fn gaps_are_those_within_rounds_and_the_longest_round_is_known() {
        let fall = |at: [u32; 3]| move |s: u32| if at.contains(&s) { 1.0 } else { 9.0 };
        let (one, two) = ([20, 50, 90], [5, 10, 99]);
        let rounds = [rates(fall(one), 100), rates(fall(two), 120)];
        let dips = dips_of_rounds(&rounds).unwrap();
        assert_eq!(dips.gaps_s, [30, 40, 5, 89]);
        assert_eq!((dips.watched_s, dips.longest_round_s), (220, 120));
        assert_eq!(dips.median_gap_s, Some(35.0));
    }

    #[test]
    fn evenness_is_scatter_over_the_mean() {
        let waves = rates(|s| if s % 2 == 0 { 90.0 } else { 110.0 }, 10);
        let got = unevenness(&waves).unwrap();
        assert!((got - 0.1054).abs() < 1e-3, "{got}");
        assert_eq!(unevenness(&waves[..7]), None);
        assert_eq!(unevenness(&rates(|_| 0.0, 10)), None);
    }

    #[test]
    fn the_warm_up_is_left_out() {
        let second = |second| Second {
            second,
            commits: 5,
            transactions: 7,
            ..Second::default()
        };
        let measurement = Measurement {
            timeline: (0..4).map(second).collect(),
            ..Measurement::default()
        };
        let kept = steady(&measurement, 1.5, Per::Commit);
        assert_eq!(kept, [(2, 5.0), (3, 5.0)]);
        assert_eq!(steady(&measurement, 0.0, Per::Transaction)[0], (0, 7.0));
    }
}
