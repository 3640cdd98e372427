//! Flushes of the writer's disk by its own count, to hold the slope against.

use std::collections::BTreeMap;

use super::group::{Group, Sample};
use super::lines::SAME_SLOPE;
use crate::analysis::fit::least_squares;
use crate::analysis::interval::{Noise, estimate, median};
use crate::analysis::summary::{Counted, Value};

/// Commits per second must differ by so much for background flushes to be told from those of
/// commits.
const RATES_APART: f64 = 1.5;

/// `flushes = per commit · commits + background · seconds`, fitted over the points of the flush
/// line in each round. Where all of them commit at much the same rate nothing is taken for
/// background. `slope` is what must agree with it, where commits wait for this disk alone.
pub fn counted(group: &Group, slope: Option<Value>) -> Option<Counted> {
    let mut rounds: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
    for sample in group
        .samples
        .iter()
        .filter(|sample| sample.flushes.is_some())
    {
        rounds.entry(sample.round).or_default().push(sample);
    }
    let fits: Option<Vec<Fit>> = rounds.values().map(|samples| fit(samples)).collect();
    let fits = fits?;
    let per_commit: Vec<f64> = fits.iter().map(|fit| fit.per_commit).collect();
    let per_commit: Value = estimate(&per_commit, Noise::Adds, group.risk)?.into();
    let per_s = |fit: &Fit| fit.background_per_s.unwrap_or(0.0);
    let background: Vec<f64> = fits.iter().map(per_s).collect();
    let is_told_apart = fits.iter().all(|fit| fit.background_per_s.is_some());
    let agrees = |slope: Value| match per_commit.value - slope.value {
        more if more.abs() <= SAME_SLOPE => Some(true),
        more if more > 0.0 && !is_told_apart => None,
        _ => Some(false),
    };
    Some(Counted {
        per_commit,
        background_per_s: median(&background)?,
        agrees: slope.and_then(agrees),
    })
}

struct Fit {
    per_commit: f64,
    /// `None` where it could not be told from commits.
    background_per_s: Option<f64>,
}

fn fit(samples: &[&Sample]) -> Option<Fit> {
    let flushes: Vec<f64> = samples
        .iter()
        .filter_map(|s| s.flushes)
        .map(|f| f as f64)
        .collect();
    let rates = samples.iter().map(|s| s.commits as f64 / s.window_s);
    let (least, most) = rates.fold((f64::MAX, 0.0), |(least, most), rate| {
        (rate.min(least), rate.max(most))
    });
    let has_background = most >= RATES_APART * least;
    let row = |s: &&Sample| match has_background {
        true => vec![s.commits as f64, s.window_s],
        false => vec![s.commits as f64],
    };
    let rows: Vec<Vec<f64>> = samples.iter().map(row).collect();
    let fit = least_squares(&rows, &flushes)?;
    Some(Fit {
        per_commit: fit.coefficients[0],
        background_per_s: fit.coefficients.get(1).copied(),
    })
}
