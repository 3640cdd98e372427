//! Percentiles of latency over all rounds of a cell.

use std::collections::BTreeSet;

use hdrhistogram::Histogram;

use super::interval::{Risk, student};
use super::summary::{AtLeast, Estimate, Percentiles};
use crate::record::{Measurement, histogram};

/// Samples that must lie beyond a percentile for it to be given.
pub const BEYOND: f64 = 10.0;
/// A percentile is called a lower bound where transactions that had not ended might raise it by
/// more than this.
const MORE: f64 = 1.01;

/// Transactions of some measurements; those that had not ended count with what they had taken.
struct Pool {
    all_us: Histogram<u64>,
    ended_us: Histogram<u64>,
}

impl Pool {
    fn of(measurements: &[&Measurement]) -> Pool {
        let mut pool = Pool {
            all_us: histogram::empty(),
            ended_us: histogram::empty(),
        };
        for measurement in measurements {
            let both = [
                (&mut pool.all_us, histogram::checked_at_least(measurement)),
                (
                    &mut pool.ended_us,
                    histogram::checked(&measurement.latency_us),
                ),
            ];
            for (sum, one) in both {
                sum.add(&one).expect("a growing histogram takes any value");
            }
        }
        pool
    }

    fn at(&self, share: f64) -> f64 {
        let value = self.all_us.value_at_quantile(share);
        self.all_us.median_equivalent(value) as f64
    }

    /// `None` with too few samples beyond it.
    fn percentile(&self, share: f64) -> Option<f64> {
        let is_backed = self.all_us.len() as f64 * (1.0 - share) >= BEYOND - 1e-6;
        is_backed.then(|| self.at(share))
    }

    /// A percentile of what all will have taken, by those that ended and how long the others had
    /// taken when the window did (the product-limit estimate: Kaplan and Meier, 1958,
    /// "Nonparametric estimation from incomplete observations"). `None` if too few ended to tell.
    fn if_all_had_ended(&self, share: f64) -> Option<f64> {
        let mut under_way = self.all_us.len() as f64;
        let mut longer = 1.0;
        for step in self.all_us.iter_recorded() {
            let value = step.value_iterated_to();
            let ended = self.ended_us.count_at(value) as f64;
            longer *= 1.0 - ended / under_way;
            if longer <= (1.0 - share) * (1.0 + 1e-9) {
                return Some(self.all_us.median_equivalent(value) as f64);
            }
            under_way -= step.count_at_value() as f64;
        }
        None
    }

    /// Whether a percentile would be higher if those that have not ended took for ever.
    fn may_be_more(&self, share: f64) -> bool {
        let (samples, ended) = (self.all_us.len() as f64, self.ended_us.len() as f64);
        let rank = share * samples;
        let at_most = || self.ended_us.value_at_quantile(rank / ended) as f64;
        ended < samples && (rank > ended || at_most() > self.at(share) * MORE)
    }
}

/// Of all rounds together.
pub fn latency(measurements: &[&Measurement]) -> Percentiles {
    let pool = Pool::of(measurements);
    let samples = pool.all_us.len();
    Percentiles {
        p50: pool.percentile(0.5),
        p95: pool.percentile(0.95),
        p99: pool.percentile(0.99),
        p999: pool.percentile(0.999),
        max: (samples > 0).then(|| pool.all_us.max() as f64),
        samples,
        unfinished: samples - pool.ended_us.len(),
        at_least: AtLeast {
            p50: pool.may_be_more(0.5),
            p95: pool.may_be_more(0.95),
            p99: pool.may_be_more(0.99),
        },
    }
}

/// The 99th percentile of all rounds together, with an interval: the share of each round that lies
/// above it scatters from round to round, and so the percentile may be that of any share which is
/// as likely (Woodruff, 1952, "Confidence intervals for medians and other position measures"). Too
/// few samples have no upper end, and so no interval.
pub fn p99(measurements: &[&Measurement], risk: Risk) -> Option<Estimate> {
    p99_of(&pools_by_round(measurements), risk)
}

fn pools_by_round(measurements: &[&Measurement]) -> Vec<Histogram<u64>> {
    let numbers: BTreeSet<u32> = measurements.iter().map(|m| m.round).collect();
    let of_round = |number: &u32| {
        let own = measurements.iter().filter(|m| m.round == *number);
        Pool::of(&own.copied().collect::<Vec<_>>()).all_us
    };
    numbers.iter().map(of_round).collect()
}

fn p99_of(rounds: &[Histogram<u64>], risk: Risk) -> Option<Estimate> {
    over_rounds(&together(rounds), rounds, 0.99, risk)
}

fn together(rounds: &[Histogram<u64>]) -> Histogram<u64> {
    let mut all = histogram::empty();
    for round in rounds {
        all.add(round).expect("a growing histogram takes any value");
    }
    all
}

/// A percentile of all rounds, which `all` holds together. `None` with too few samples beyond it.
fn over_rounds(
    all: &Histogram<u64>,
    rounds: &[Histogram<u64>],
    share: f64,
    risk: Risk,
) -> Option<Estimate> {
    if (all.len() as f64) * (1.0 - share) < BEYOND - 1e-6 {
        return None;
    }
    let at = |share: f64| all.median_equivalent(all.value_at_quantile(share)) as f64;
    let bound = all.lowest_equivalent(all.value_at_quantile(share));
    let below = |round: &Histogram<u64>| round.quantile_below(bound.saturating_sub(1));
    let shares: Vec<f64> = rounds.iter().map(below).collect();
    let half = student(&shares, risk).map(|(low, high)| (high - low) / 2.0);
    let ends = half.filter(|half| share - half > 0.0 && share + half < 1.0);
    Some(Estimate {
        median: at(share),
        low: ends.map(|half| at(share - half)),
        high: ends.map(|half| at(share + half)),
    })
}

/// Shares of transactions at which a curve of percentiles has its points.
pub const CURVE: [f64; 9] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.999_5, 0.999_9];

/// A point of such a curve: what so large a share of transactions did not exceed, in µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnCurve {
    pub share: f64,
    pub us: Estimate,
    /// Transactions that had not ended might raise it.
    pub is_at_least: bool,
}

/// The curve of all rounds together, each point with its interval as [`p99`]; without those beyond
/// which there are too few samples.
pub fn curve(measurements: &[&Measurement], risk: Risk) -> Vec<OnCurve> {
    let rounds = pools_by_round(measurements);
    let all = together(&rounds);
    let pool = Pool::of(measurements);
    let point = |share: f64| {
        Some(OnCurve {
            share,
            us: over_rounds(&all, &rounds, share, risk)?,
            is_at_least: pool.may_be_more(share),
        })
    };
    CURVE.into_iter().filter_map(point).collect()
}

/// A round's median latency, for ratios.
pub fn p50(measurement: &Measurement) -> Option<f64> {
    of_round(measurement, 0.5)
}

/// The same of the 95th percentile.
pub fn p95(measurement: &Measurement) -> Option<f64> {
    of_round(measurement, 0.95)
}

/// And of the 99th, which takes a thousand transactions in that round.
pub fn p99_in_round(measurement: &Measurement) -> Option<f64> {
    of_round(measurement, 0.99)
}

/// A percentile of one round, of which a transaction or two had often not ended. To leave such
/// rounds out would leave out slow ones rather than fast ones. `None` with too few samples beyond
/// it, or where those that had not ended reach down to it: then it is only known to be no less.
fn of_round(measurement: &Measurement, share: f64) -> Option<f64> {
    let pool = Pool::of(&[measurement]);
    pool.percentile(share)?;
    pool.if_all_had_ended(share)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn of(values: &[u64]) -> Histogram<u64> {
        let mut all = histogram::empty();
        for value in values {
            all.record(*value).unwrap();
        }
        all
    }

    fn measured(ended: &[u64], unfinished: &[u64]) -> Measurement {
        Measurement {
            latency_us: histogram::encode(&of(ended)),
            unfinished_us: (!unfinished.is_empty()).then(|| histogram::encode(&of(unfinished))),
            ..Measurement::default()
        }
    }

    #[test]
    fn a_percentile_among_the_unfinished_is_a_lower_bound() {
        // 970 end in 1 ms, 30 hang from the first moments of the window on.
        let hanging = measured(&[1_000; 970], &[9_970_000; 30]);
        let found = latency(&[&hanging]);
        assert_eq!((found.samples, found.unfinished), (1_000, 30));
        assert_eq!((found.at_least.p50, found.at_least.p95), (false, false));
        assert!(found.at_least.p99 && found.p99 > Some(9e6));
        assert!(p50(&hanging).is_some() && p95(&hanging).is_some());
        let stuck = measured(&[1_000; 900], &[9_970_000; 100]);
        assert!(p50(&stuck).is_some());
        assert_eq!(p95(&stuck), None, "only known to be no less");
        // A few that are under way at the end change nothing.
        let ended: Vec<u64> = (1..=9_990).collect();
        let few = latency(&[&measured(&ended, &[300; 10])]);
        assert_eq!(few.at_least, AtLeast::default());
        // Two hundred of them might raise the 99th.
        let many = latency(&[&measured(&ended, &[300; 200])]);
        assert!(many.at_least.p99);
    }

    #[test]
    fn a_round_is_not_lost_for_one_transaction_that_had_not_ended() {
        // Ended and not: all that is known of those that take more than 4 ms ends at 6.
        let ms = |all: &[u64]| all.iter().map(|ms| ms * 1_000).collect::<Vec<u64>>();
        let (ended, unfinished) = (
            ms(&[2; 50].into_iter().chain([6; 25]).collect::<Vec<_>>()),
            ms(&[4; 50]),
        );
        let pool = Pool::of(&[&measured(&ended, &unfinished)]);
        let near =
            |found: Option<f64>, ms: f64| found.is_some_and(|us| (us / 1e3 - ms).abs() < 0.01);
        // 75 of 125 take longer than 2 ms.
        assert!(near(pool.if_all_had_ended(0.39), 2.0) && near(pool.if_all_had_ended(0.41), 6.0));
        assert!(near(pool.if_all_had_ended(0.95), 6.0));
        let ended: Vec<u64> = (1..=230).map(|number: u64| number.pow(3)).collect();
        let one = measured(&ended, &[3_000]);
        let may_be_more = latency(&[&one]).at_least.p95;
        assert!(may_be_more, "it may be the longest of all");
        let (with, without) = (p95(&one).unwrap(), p95(&measured(&ended, &[])).unwrap());
        assert!((with / without - 1.0).abs() < 0.02, "{with} {without}");
    }

    /// Transactions of known distribution, cut off at a window's end: in each of many rounds.
    #[test]
    fn what_was_cut_off_does_not_make_a_percentile_lower() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let (mut sum, mut dropped) = (0.0, 0);
        let rounds = 300;
        for _ in 0..rounds {
            let (mut ended, mut unfinished) = (Vec::new(), Vec::new());
            for _ in 0..400 {
                // Due at any moment of 2 s; exponential, 50 ms on the average.
                let left_us = random.random_range(0.0..2_000_000.0_f64);
                let took_us = -50_000.0 * random.random_range(f64::EPSILON..1.0_f64).ln();
                match took_us <= left_us {
                    true => ended.push(took_us as u64 + 1),
                    false => unfinished.push(left_us as u64 + 1),
                }
            }
            match p95(&measured(&ended, &unfinished)) {
                Some(us) => sum += us,
                None => dropped += 1,
            }
        }
        let mean_us = sum / f64::from(rounds - dropped);
        let truth_us = 50_000.0 * 20.0_f64.ln();
        assert_eq!(dropped, 0);
        assert!(
            (mean_us / truth_us - 1.0).abs() < 0.02,
            "{mean_us} {truth_us}"
        );
    }

    #[test]
    fn one_bad_round_of_many_leaves_no_interval() {
        let mut rounds = vec![of(&[5_000; 1_000]); 9];
        rounds.push(of(&[[5_000; 800].as_slice(), &[50_000; 200]].concat()));
        let found = p99_of(&rounds, Risk::ONE_LOOK).unwrap();
        assert!(found.median > 49_000.0, "{found:?}");
        assert_eq!((found.low, found.high), (None, None));
        assert_eq!(p99_of(&rounds[..1], Risk::ONE_LOOK).unwrap().low, None);
        assert_eq!(p99_of(&[of(&[5_000; 900])], Risk::ONE_LOOK), None);
    }

    #[test]
    fn a_curve_has_the_points_that_samples_allow_and_rises() {
        let values: Vec<u64> = (1..=2_000).collect();
        let one = measured(&values, &[]);
        let two = Measurement {
            round: 1,
            ..measured(&values, &[])
        };
        let found = curve(&[&one, &two], Risk::ONE_LOOK);
        let shares: Vec<f64> = found.iter().map(|point| point.share).collect();
        // Of 4,000 ten lie beyond 99.75 %.
        assert_eq!(shares, CURVE[..6]);
        assert!(
            found
                .windows(2)
                .all(|pair| pair[0].us.median < pair[1].us.median)
        );
        assert!((found[0].us.median - 1_000.0).abs() < 2.0, "{found:?}");
        assert!(
            found
                .iter()
                .all(|point| point.us.low.is_some() && !point.is_at_least)
        );
        let p99 = p99(&[&one, &two], Risk::ONE_LOOK);
        assert_eq!(Some(found[4].us), p99);
        let hanging = measured(&[1_000; 970], &[9_970_000; 30]);
        let found = curve(&[&hanging], Risk::ONE_LOOK);
        let known: Vec<bool> = found.iter().map(|point| point.is_at_least).collect();
        assert_eq!(known, [false, false, false, false, true]);
        assert_eq!(curve(&[], Risk::ONE_LOOK), []);
    }

    /// Exponential latencies of a mean that strays by a tenth from round to round.
    #[test]
    fn the_interval_holds_the_true_percentile() {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut even = move || -> f64 { random.random_range(f64::MIN_POSITIVE..1.0) };
        let mut round = |samples: usize| {
            let stray: f64 = (0..12).map(|_| even()).sum::<f64>() - 6.0;
            let mean_us = 1_000.0 * (0.1 * stray).exp();
            let values: Vec<u64> = (0..samples)
                .map(|_| (-even().ln() * mean_us) as u64 + 1)
                .collect();
            of(&values)
        };
        let truth = {
            let many: Vec<Histogram<u64>> = (0..400).map(|_| round(500)).collect();
            p99_of(&many, Risk::ONE_LOOK).unwrap().median
        };
        for rounds in [4, 6, 12] {
            let found = (0..400).filter_map(|_| {
                let rounds: Vec<Histogram<u64>> = (0..rounds).map(|_| round(2_000)).collect();
                let found = p99_of(&rounds, Risk::ONE_LOOK).unwrap();
                found.excludes(truth)
            });
            let found: Vec<bool> = found.collect();
            let held = found.iter().filter(|excludes| !**excludes).count();
            let share = held as f64 / found.len() as f64;
            println!("{rounds} rounds: {share:.3} of {}", found.len());
            assert!(
                share >= 0.90 && found.len() > 200,
                "{rounds} rounds: {share}"
            );
        }
    }
}
