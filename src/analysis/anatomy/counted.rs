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
    let fits: Option<Vec<[f64; 2]>> = rounds.values().map(|samples| fit(samples)).collect();
    let fits = fits?;
    let of = |at: usize| fits.iter().map(|fit| fit[at]).collect::<Vec<f64>>();
    let per_commit: Value = estimate(&of(0), Noise::Adds)?.into();
    Some(Counted {
        per_commit,
        background_per_s: median(&of(1))?,
        agrees: slope.map(|slope| (slope.value - per_commit.value).abs() <= SAME_SLOPE),
    })
}

fn fit(samples: &[&Sample]) -> Option<[f64; 2]> {
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
    Some([
        fit.coefficients[0],
        fit.coefficients.get(1).copied().unwrap_or(0.0),
    ])
}
