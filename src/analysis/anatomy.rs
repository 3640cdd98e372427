//! Anatomy of a commit: how many round trips it waits for, and for whom.
//!
//! `latency = work + round trips · RTT` is fitted in each round on its own, so that the figures of
//! all rounds give an interval. See docs/method.md.

mod peers;

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::fit::{Fit, least_squares};
use super::interval::{Noise, estimate};
use super::summary::{Anatomy, LackOfFit, Value};
use super::{cells, flags, terms};
use crate::plan::Cell;
use crate::record::store::Record;
use crate::record::{Header, Measurement, histogram};

/// Equal distances that a line must be drawn through.
const DISTANCES_NEEDED: usize = 3;
/// Samples needed for a round's median: ten beyond it.
const SAMPLES_NEEDED: u64 = 20;

/// One cell in one round.
#[derive(Debug, Clone, PartialEq)]
struct Point {
    cell: usize,
    round: u32,
    latency_us: f64,
    /// The one round-trip time between all sites, where it is one.
    rtt_us: Option<f64>,
    rtts_us: BTreeMap<(String, String), f64>,
}

/// All points of a mode, workload and client site, at one connection.
struct Group<'a> {
    /// Void ones included.
    all: Vec<&'a Measurement>,
    points: Vec<Point>,
}

/// The anatomy of every mode, workload and client site that has cells at one connection.
pub fn summarise(record: &Record) -> Vec<Anatomy> {
    let header = &record.header;
    let mut firsts: Vec<&Cell> = Vec::new();
    for cell in header.cells.iter().filter(|cell| cell.connections == 1) {
        if !firsts.iter().any(|first| is_alike(first, cell)) {
            firsts.push(cell);
        }
    }
    firsts.iter().map(|first| anatomy(record, first)).collect()
}

fn is_alike(one: &Cell, other: &Cell) -> bool {
    other.connections == one.connections
        && one.mode == other.mode
        && one.workload == other.workload
        && one.client_site == other.client_site
}

fn anatomy(record: &Record, first: &Cell) -> Anatomy {
    let group = Group::of(record, first);
    let lines = Lines::through(&group);
    let round_trips = lines.estimate(1);
    let per_peer = peers::per_peer(&group, &record.header.study.sites);
    Anatomy {
        distances: lines.distances as u32,
        rounds: lines.fits.len() as u32,
        round_trips,
        work_us: lines.estimate(0),
        lack_of_fit: lines.lack_of_fit(),
        waits_for: per_peer
            .is_some()
            .then(|| peers::waits_for(&group, &record.header.study.sites, round_trips)),
        per_peer,
        flags: flags::count(&group.all, terms::per(&first.workload)),
        ..named(&record.header, first)
    }
}

fn named(header: &Header, first: &Cell) -> Anatomy {
    let spec = &header.study.modes[first.mode];
    Anatomy {
        label: spec.label.clone(),
        server: spec.server.clone(),
        mode: spec.mode.name().to_owned(),
        settings: terms::settings(spec),
        client_site: first.client_site.clone(),
        workload: first.workload.label(),
        ..Anatomy::default()
    }
}

impl<'a> Group<'a> {
    fn of(record: &'a Record, first: &Cell) -> Group<'a> {
        let is_member = |m: &&Measurement| is_alike(first, &record.header.cells[m.cell]);
        let all: Vec<&Measurement> = record.measurements.iter().filter(is_member).collect();
        let sound = all.iter().filter(|m| !flags::is_void(m));
        Group {
            points: sound.filter_map(|m| point(m)).collect(),
            all,
        }
    }

    /// Rounds that have every cell of which `is_asked` holds and any round has a point.
    fn whole_rounds(&self, is_asked: impl Fn(&Point) -> bool) -> Vec<Vec<&Point>> {
        let mut rounds: BTreeMap<u32, Vec<&Point>> = BTreeMap::new();
        for point in self.points.iter().filter(|point| is_asked(point)) {
            rounds.entry(point.round).or_default().push(point);
        }
        let mut seen: Vec<usize> = rounds.values().flatten().map(|point| point.cell).collect();
        seen.sort_unstable();
        seen.dedup();
        let whole = rounds.into_values();
        let mut whole: Vec<_> = whole.filter(|points| points.len() == seen.len()).collect();
        whole
            .iter_mut()
            .for_each(|points| points.sort_by_key(|point| point.cell));
        whole
    }
}

fn point(measurement: &Measurement) -> Option<Point> {
    let latency = histogram::checked(&measurement.latency_us);
    let rtts_us = cells::rtts_by_site(measurement);
    if latency.len() < SAMPLES_NEEDED || rtts_us.is_empty() {
        return None;
    }
    Some(Point {
        cell: measurement.cell,
        round: measurement.round,
        latency_us: latency.median_equivalent(latency.value_at_quantile(0.5)) as f64,
        rtt_us: cells::mean_rtt_us(measurement),
        rtts_us: rtts_us
            .into_iter()
            .map(|(pair, (_, got))| (pair, got))
            .collect(),
    })
}

/// One line per round.
struct Lines {
    distances: usize,
    /// With the latency of each point.
    fits: Vec<(Fit, Vec<f64>)>,
}

impl Lines {
    fn through(group: &Group) -> Lines {
        let rounds = group.whole_rounds(|point| point.rtt_us.is_some());
        let distances = rounds.first().map_or(0, |points| points.len());
        let fits = match distances >= DISTANCES_NEEDED {
            true => rounds.iter().filter_map(|points| line(points)).collect(),
            false => vec![],
        };
        Lines { distances, fits }
    }

    fn estimate(&self, coefficient: usize) -> Option<Value> {
        let values: Vec<f64> = self
            .fits
            .iter()
            .map(|(fit, _)| fit.coefficients[coefficient])
            .collect();
        estimate(&values, Noise::Adds).map(Value::from)
    }

    /// How far each distance's residual, averaged over rounds, strays from zero.
    fn lack_of_fit(&self) -> Option<LackOfFit> {
        let rounds = self.fits.len();
        let residuals: Vec<&[f64]> = self
            .fits
            .iter()
            .map(|(fit, _)| &fit.residuals[..])
            .collect();
        let latencies: Vec<&[f64]> = self.fits.iter().map(|(_, y)| &y[..]).collect();
        let mean =
            |all: &[&[f64]], d: usize| all.iter().map(|one| one[d]).sum::<f64>() / rounds as f64;
        let strays = (0..self.distances).map(|d| (mean(&residuals, d), mean(&latencies, d)));
        let (stray, latency) = strays.max_by(|one, other| one.0.abs().total_cmp(&other.0.abs()))?;
        (rounds > 0).then(|| LackOfFit {
            residual_us_max: stray.abs(),
            share: stray.abs() / (latency - stray).abs(),
            p: chance(&residuals, self.distances),
        })
    }
}

fn line(points: &[&Point]) -> Option<(Fit, Vec<f64>)> {
    let row = |point: &&Point| point.rtt_us.map(|rtt_us| vec![1.0, rtt_us]);
    let rows: Vec<Vec<f64>> = points.iter().filter_map(row).collect();
    let latencies: Vec<f64> = points.iter().map(|point| point.latency_us).collect();
    Some((least_squares(&rows, &latencies)?, latencies))
}

/// An F test: squares of the residuals' means against their scatter between rounds. Each round has
/// had its own line taken off, so both have `distances - 2` degrees of freedom per round.
fn chance(residuals: &[&[f64]], distances: usize) -> Option<f64> {
    let rounds = residuals.len();
    let free = distances
        .checked_sub(2)
        .filter(|free| *free > 0 && rounds > 1)? as f64;
    let (mut of_means, mut scatter) = (0.0, 0.0);
    for d in 0..distances {
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
mod tests;
