//! Keys and strings as sysbench 1.0.20 draws them, from a portable seeded generator.
//!
//! The formulas restate `sb_rand_special`, `sb_rand_uniform` and `sb_rand_str` of sysbench's
//! `sb_rand.c` with its defaults (`rand-spec-iter` 12, `rand-spec-pct` 1, `rand-spec-res` 75),
//! quirks included; the generator below them is ChaCha8, so a seed means the same everywhere.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Draws that are summed for the bell-shaped part (`rand-spec-iter`).
const BELL_DRAWS: u32 = 12;
/// Share of the range that holds the special values (`rand-spec-pct`).
const SPECIAL_SHARE: f64 = 0.01;
/// One over the share of draws that are *not* special (`rand-spec-res`).
const RANGE_FACTOR: f64 = 100.0 / (100.0 - 75.0);

/// A stream of random numbers.
#[derive(Clone)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// The stream of one session: same seed and stream, same numbers, on every machine.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Draws(generator)
    }

    /// Evenly from 0 up to, not including, 1.
    pub fn unit(&mut self) -> f64 {
        // 53 bits: what an f64 holds.
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Evenly from `min` to `max`, both included.
    pub fn uniform(&mut self, min: i64, max: i64) -> i64 {
        let span = (max as i128 - min as i128 + 1) as u128;
        let product = u128::from(self.0.next_u64()) * span;
        (min as i128 + (product >> 64) as i128) as i64
    }

    /// sysbench's default distribution: a quarter of the draws bell-shaped over the whole range,
    /// the others even within the middle hundredth of it.
    pub fn special(&mut self, min: i64, max: i64) -> i64 {
        let span = (max - min) as f64;
        let unit = self.unit();
        if unit * span * RANGE_FACTOR < span {
            let sum: f64 = (0..BELL_DRAWS).map(|_| self.unit()).sum();
            return min + (sum * span / f64::from(BELL_DRAWS)) as i64;
        }
        // As in the original, `unit` is at least 0.25 here and not stretched back to 0…1:
        // the lowest quarter of the special values is never drawn.
        let special_span = span * SPECIAL_SHARE;
        let offset = unit * (special_span + 1.0) + span / 2.0 - span * SPECIAL_SHARE / 2.0;
        min + offset as i64
    }

    /// Exponentially distributed with this mean: the time until the next of independent events.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Appends `template` with each `#` replaced by a digit.
    pub fn digits(&mut self, template: &[u8], out: &mut Vec<u8>) {
        for &byte in template {
            out.push(match byte {
                b'#' => b'0' + ((u64::from(self.0.next_u32()) * 10) >> 32) as u8,
                other => other,
            });
        }
    }

    /// Appends `length` bytes drawn evenly from `alphabet`.
    pub fn letters(&mut self, alphabet: &[u8], length: usize, out: &mut Vec<u8>) {
        let size = alphabet.len() as u64;
        for _ in 0..length {
            out.push(alphabet[((u64::from(self.0.next_u32()) * size) >> 32) as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square distance of two histograms drawn with the same number of draws.
    fn chi_square(ours: &[u64], theirs: &[u64]) -> f64 {
        ours.iter()
            .zip(theirs)
            .filter(|(a, b)| **a + **b > 0)
            .map(|(&a, &b)| (a as f64 - b as f64).powi(2) / (a + b) as f64)
            .sum()
    }

    #[test]
    fn a_seed_and_stream_give_the_same_numbers() {
        let draw = |seed, stream| -> Vec<i64> {
            let mut draws = Draws::new(seed, stream);
            (0..50).map(|_| draws.special(1, 1_000_000)).collect()
        };
        assert_eq!(draw(7, 3), draw(7, 3));
        assert_ne!(draw(7, 3), draw(7, 4));
        assert_ne!(draw(7, 3), draw(8, 3));
    }

    #[test]
    fn uniform_reaches_both_ends_and_all_of_i64() {
        let mut draws = Draws::new(1, 0);
        let mut seen = [0u64; 3];
        (0..3000).for_each(|_| seen[(draws.uniform(-1, 1) + 1) as usize] += 1);
        assert!(seen.iter().all(|&count| count > 800), "{seen:?}");
        draws.uniform(i64::MIN, i64::MAX);
        assert_eq!(draws.uniform(5, 5), 5);
    }

    #[test]
    fn special_stays_within_its_range() {
        let mut draws = Draws::new(1, 0);
        for max in [1, 2, 3, 10, 99, 100, 101, 1000] {
            for _ in 0..2000 {
                let key = draws.special(1, max);
                assert!((1..=max).contains(&key), "{key} of {max}");
            }
        }
    }

    #[test]
    fn special_is_distributed_as_in_sysbench() {
        let mut ours = vec![0u64; SYSBENCH_EDGES.len() + 1];
        let mut draws = Draws::new(42, 0);
        for _ in 0..200_000 {
            let key = draws.special(1, 10_000);
            ours[SYSBENCH_EDGES.partition_point(|&edge| edge <= key)] += 1;
        }
        let distance = chi_square(&ours, &SYSBENCH_COUNTS);
        assert!(distance < CHI_SQUARE_BOUND, "{distance}: {ours:?}");
        let mut even = vec![0u64; SYSBENCH_EDGES.len() + 1];
        for _ in 0..200_000 {
            let key = draws.uniform(1, 10_000);
            even[SYSBENCH_EDGES.partition_point(|&edge| edge <= key)] += 1;
        }
        assert!(chi_square(&even, &SYSBENCH_COUNTS) > 100.0 * CHI_SQUARE_BOUND);
    }

    /// Bins, finest where the special hundredth begins and ends.
    const SYSBENCH_EDGES: [i64; 21] = [
        2000, 3000, 4000, 4500, 4951, 4975, 4976, 4990, 5000, 5010, 5020, 5030, 5040, 5050, 5051,
        5052, 5060, 5500, 6000, 7000, 8000,
    ];

    /// What 200,000 calls of `sysbench.rand.special(1, 10000)` of sysbench 1.0.20 gave.
    const SYSBENCH_COUNTS: [u64; 22] = [
        2, 354, 5592, 8118, 9955, 546, 520, 27956, 20088, 19870, 20197, 20047, 20053, 20048, 1953,
        1015, 203, 9627, 7979, 5495, 381, 1,
    ];

    /// 99.9th percentile of chi-square with 21 degrees of freedom.
    const CHI_SQUARE_BOUND: f64 = 46.8;

    #[test]
    fn strings_keep_their_template() {
        let mut out = Vec::new();
        Draws::new(1, 0).digits(b"##-#", &mut out);
        assert_eq!((out.len(), out[2]), (4, b'-'));
        assert!(out[0].is_ascii_digit() && out[3].is_ascii_digit());
        let mut seen = std::collections::BTreeSet::new();
        let mut draws = Draws::new(1, 0);
        for _ in 0..200 {
            out.clear();
            draws.digits(b"#", &mut out);
            seen.insert(out[0]);
        }
        assert_eq!(seen.len(), 10);
    }
}
