//! A line in each round: latency over one thing that was moved while all else stood still.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::group::{Group, Sample};
use crate::analysis::fit::{Fit, least_squares};
use crate::analysis::interval::{Noise, Risk, estimate};
use crate::analysis::summary::{Halves, LackOfFit, Shape, Value};

/// Points that a line must be drawn through: two always lie on one.
const POINTS_NEEDED: usize = 3;

/// Slopes this far apart are one slope.
pub const SAME_SLOPE: f64 = 0.05;

/// One line per round.
pub struct Lines {
    /// Points that each line was, or would have been, drawn through.
    pub points: usize,
    pub fits: Vec<Line>,
    pub risk: Risk,
}

/// A round's line, and the latency of each of its points.
pub struct Line {
    pub round: u32,
    fit: Fit,
    latencies: Vec<f64>,
    /// Slopes of its near half and its far half.
    halves: Option<[f64; 2]>,
}

impl Lines {
    /// Latency over the round-trip time, where all sites are equally far apart.
    pub fn over_distances(group: &Group) -> Lines {
        let rounds = group.whole_rounds(|point| point.rtt_us.is_some());
        Lines::through(&rounds, |point| point.rtt_us, group.risk)
    }

    /// Latency over the flush time of the writer's disk.
    pub fn over_flush_times(group: &Group) -> Lines {
        let rounds = group.whole_rounds(|point| point.flush_us.is_some());
        Lines::through(&rounds, |point| point.flush_us, group.risk)
    }

    fn through(rounds: &[Vec<&Sample>], x: fn(&Sample) -> Option<f64>, risk: Risk) -> Lines {
        let points = rounds.first().map_or(0, |points| points.len());
        let fits = match points >= POINTS_NEEDED {
            true => rounds
                .iter()
                .filter_map(|points| Line::through(points, x))
                .collect(),
            false => vec![],
        };
        Lines { points, fits, risk }
    }

    /// What one unit more of the moved thing adds to the latency.
    pub fn slope(&self) -> Option<Value> {
        let slopes: Vec<f64> = self
            .fits
            .iter()
            .map(|line| line.fit.coefficients[1])
            .collect();
        estimate(&slopes, Noise::Adds, self.risk).map(Value::from)
    }

    /// The same of each round.
    pub fn slopes_by_round(&self) -> BTreeMap<u32, f64> {
        let slope = |line: &Line| (line.round, line.fit.coefficients[1]);
        self.fits.iter().map(slope).collect()
    }

    /// The latency at nothing of the moved thing.
    pub fn intercept(&self) -> Option<Value> {
        let intercepts: Vec<f64> = self.fits.iter().map(|line| line.at(0.0)).collect();
        estimate(&intercepts, Noise::Adds, self.risk).map(Value::from)
    }

    /// The latency at no distance and, as far as lines over flush times tell, no flush time asked.
    pub fn work(&self, flush_us_asked: Option<f64>, flushes: &Lines) -> Option<Value> {
        let asked_us = flush_us_asked.filter(|_| !flushes.fits.is_empty());
        let of_round = |round: u32| {
            let mut all = flushes.fits.iter();
            all.find(|line| line.round == round)
        };
        let work = |line: &Line| {
            let in_flushes = match asked_us {
                Some(us) if us > 0.0 => of_round(line.round)?.fit.coefficients[1] * us,
                _ => 0.0,
            };
            Some(line.fit.coefficients[0] - in_flushes)
        };
        let works: Vec<f64> = self.fits.iter().filter_map(work).collect();
        estimate(&works, Noise::Adds, self.risk).map(Value::from)
    }

    /// How its near half and its far half differ.
    pub fn halves(&self) -> Option<Halves> {
        let halves: Option<Vec<[f64; 2]>> = self.fits.iter().map(|line| line.halves).collect();
        let halves = halves?;
        let over_rounds = |figure: fn(&[f64; 2]) -> f64| {
            let figures: Vec<f64> = halves.iter().map(figure).collect();
            estimate(&figures, Noise::Adds, self.risk).map(Value::from)
        };
        let difference = over_rounds(|[near, far]| far - near)?;
        Some(Halves {
            near: over_rounds(|[near, _]| *near)?,
            far: over_rounds(|[_, far]| *far)?,
            difference,
            shape: shape(difference),
        })
    }

    /// How far each point's residual, averaged over rounds, strays from zero.
    pub fn lack_of_fit(&self) -> Option<LackOfFit> {
        let rounds = self.fits.len();
        let residuals: Vec<&[f64]> = self
            .fits
            .iter()
            .map(|line| &line.fit.residuals[..])
            .collect();
        let latencies: Vec<&[f64]> = self.fits.iter().map(|line| &line.latencies[..]).collect();
        let mean =
            |all: &[&[f64]], d: usize| all.iter().map(|one| one[d]).sum::<f64>() / rounds as f64;
        let strays = (0..self.points).map(|d| (mean(&residuals, d), mean(&latencies, d)));
        let (stray, latency) = strays.max_by(|one, other| one.0.abs().total_cmp(&other.0.abs()))?;
        (rounds > 0).then(|| LackOfFit {
            residual_us_max: stray.abs(),
            share: stray.abs() / (latency - stray).abs(),
            p: chance(&residuals, self.points),
        })
    }
}

impl Line {
    fn through(points: &[&Sample], x: fn(&Sample) -> Option<f64>) -> Option<Line> {
        let row = |point: &&Sample| x(point).map(|x| vec![1.0, x]);
        let rows: Vec<Vec<f64>> = points.iter().filter_map(row).collect();
        let latencies: Vec<f64> = points.iter().map(|point| point.latency_us).collect();
        Some(Line {
            round: points.first()?.round,
            fit: least_squares(&rows, &latencies)?,
            halves: halves(&rows, &latencies),
            latencies,
        })
    }

    /// The latency that it foretells.
    pub fn at(&self, x: f64) -> f64 {
        self.fit.coefficients[0] + self.fit.coefficients[1] * x
    }
}

/// Slopes through the lower half of the points and through the upper; the middle one of an odd
/// number is in both.
fn halves(rows: &[Vec<f64>], latencies: &[f64]) -> Option<[f64; 2]> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|one, other| rows[*one][1].total_cmp(&rows[*other][1]));
    let half = order.len().div_ceil(2);
    let slope = |part: &[usize]| {
        let part_rows: Vec<Vec<f64>> = part.iter().map(|at| rows[*at].clone()).collect();
        let part_latencies: Vec<f64> = part.iter().map(|at| latencies[*at]).collect();
        Some(least_squares(&part_rows, &part_latencies)?.coefficients[1])
    };
    Some([slope(&order[..half])?, slope(&order[order.len() - half..])?])
}

/// `None` without an interval.
fn shape(difference: Value) -> Option<Shape> {
    let (low, high) = (difference.low?, difference.high?);
    let is_same = -SAME_SLOPE <= low && high <= SAME_SLOPE;
    let is_other = high < -SAME_SLOPE || low > SAME_SLOPE;
    Some(match (is_same, is_other) {
        (true, _) => Shape::Straight,
        (_, true) => Shape::Bent,
        _ => Shape::Undecided,
    })
}

/// An F test: squares of the residuals' means against their scatter between rounds. Each round has
/// had its own line taken off, so both have `points - 2` degrees of freedom per round.
fn chance(residuals: &[&[f64]], points: usize) -> Option<f64> {
    let rounds = residuals.len();
    let free = points
        .checked_sub(2)
        .filter(|free| *free > 0 && rounds > 1)? as f64;
    let (mut of_means, mut scatter) = (0.0, 0.0);
    for d in 0..points {
        let mean = residuals.iter().map(|one| one[d]).sum::<f64>() / rounds as f64;
        of_means += rounds as f64 * mean.powi(2);
        scatter += residuals
            .iter()
            .map(|one| (one[d] - mean).powi(2))
            .sum::<f64>();
    }
    let free_scatter = free * (rounds - 1) as f64;
    let ratio = (of_means / free) / (scatter / free_scatter);
    let spread = FisherSnedecor::new(free, free_scatter).ok()?;
    ratio.is_finite().then(|| spread.sf(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_ends(low: f64, high: f64) -> Option<Shape> {
        shape(Value {
            value: (low + high) / 2.0,
            low: Some(low),
            high: Some(high),
        })
    }

    #[test]
    fn a_wide_interval_says_neither_straight_nor_bent() {
        assert_eq!(of_ends(-0.05, 0.05), Some(Shape::Straight));
        assert_eq!(of_ends(-0.06, 0.05), Some(Shape::Undecided));
        assert_eq!(of_ends(0.04, 0.9), Some(Shape::Undecided));
        assert_eq!(of_ends(0.06, 0.9), Some(Shape::Bent));
        assert_eq!(of_ends(-0.9, -0.06), Some(Shape::Bent));
    }

    #[test]
    fn halves_are_taken_by_distance_and_share_the_middle_one() {
        let rows = |xs: &[f64]| xs.iter().map(|x| vec![1.0, *x]).collect::<Vec<_>>();
        let is = |halves: Option<[f64; 2]>, truth: [f64; 2]| {
            let pairs = halves.unwrap().into_iter().zip(truth);
            pairs.fold(true, |all, (slope, true_one)| {
                all && (slope - true_one).abs() < 1e-9
            })
        };
        let xs = rows(&[64.0, 8.0, 32.0, 16.0]);
        assert!(is(halves(&xs, &[90.0, 10.0, 26.0, 18.0]), [1.0, 2.0]));
        let xs = rows(&[0.0, 1.0, 2.0]);
        assert!(is(halves(&xs, &[0.0, 3.0, 5.0]), [3.0, 2.0]));
        assert_eq!(halves(&rows(&[1.0, 1.0, 2.0, 3.0]), &[1.0; 4]), None);
    }
}
