//! A line in each round: latency over one thing that was moved while all else stood still.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::group::{Group, Sample};
use crate::analysis::fit::{Fit, least_squares};
use crate::analysis::interval::{Noise, estimate};
use crate::analysis::summary::{LackOfFit, Value};

/// Points that a line must be drawn through: two always lie on one.
const POINTS_NEEDED: usize = 3;

/// One line per round.
pub struct Lines {
    /// Points that each line was, or would have been, drawn through.
    pub points: usize,
    pub fits: Vec<Line>,
}

/// A round's line, and the latency of each of its points.
pub struct Line {
    round: u32,
    fit: Fit,
    latencies: Vec<f64>,
}

impl Lines {
    /// Latency over the round-trip time, where all sites are equally far apart.
    pub fn over_distances(group: &Group) -> Lines {
        let rounds = group.whole_rounds(|point| point.rtt_us.is_some());
        Lines::through(&rounds, |point| point.rtt_us)
    }

    /// Latency over the flush time of the writer's disk.
    pub fn over_flush_times(group: &Group) -> Lines {
        let rounds = group.whole_rounds(|point| point.flush_us.is_some());
        Lines::through(&rounds, |point| point.flush_us)
    }

    fn through(rounds: &[Vec<&Sample>], x: fn(&Sample) -> Option<f64>) -> Lines {
        let points = rounds.first().map_or(0, |points| points.len());
        let fits = match points >= POINTS_NEEDED {
            true => rounds
                .iter()
                .filter_map(|points| Line::through(points, x))
                .collect(),
            false => vec![],
        };
        Lines { points, fits }
    }

    /// What one unit more of the moved thing adds to the latency.
    pub fn slope(&self) -> Option<Value> {
        let slopes: Vec<f64> = self
            .fits
            .iter()
            .map(|line| line.fit.coefficients[1])
            .collect();
        estimate(&slopes, Noise::Adds).map(Value::from)
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
        estimate(&works, Noise::Adds).map(Value::from)
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
            latencies,
        })
    }
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
