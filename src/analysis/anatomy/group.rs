//! The measurements that one anatomy is made of.

use std::collections::BTreeMap;

use crate::analysis::{cells, disks};
use crate::plan::{Axis, Point};
use crate::record::store::Record;
use crate::record::{Measurement, histogram};

/// Samples needed for a round's median: ten beyond it.
const SAMPLES_NEEDED: u64 = 20;

/// One cell in one round.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// The cell's index, and what it was to be.
    pub cell: usize,
    pub point: &'a Point,
    pub round: u32,
    pub latency_us: f64,
    /// The one round-trip time between all sites, where it is one.
    pub rtt_us: Option<f64>,
    pub rtts_us: BTreeMap<(String, String), f64>,
    /// Flush time got on the writer's disk, where it is an emulated one, and by site.
    pub flush_us: Option<f64>,
    pub flushes_us: BTreeMap<String, f64>,
}

/// All samples of a mode, workload and client site, at one connection.
pub struct Group<'a> {
    /// Void ones included.
    pub all: Vec<&'a Measurement>,
    pub samples: Vec<Sample<'a>>,
}

/// One connection, and nothing on the links but their distance.
pub fn is_plain(point: &Point) -> bool {
    let distances = &point.distances;
    point.connections == 1 && distances.jitter.is_none() && distances.rate_bits_per_s.is_none()
}

/// Whether points differ in what an anatomy moves, and in nothing else; what is looked at when the
/// load is over moves nothing.
pub fn is_alike(one: &Point, other: &Point) -> bool {
    let moved = [Axis::Distances, Axis::Disks, Axis::WatchAfter];
    is_plain(other) && one.without(&moved) == other.without(&moved)
}

impl<'a> Group<'a> {
    /// Of the record's measurements those of cells at points like the first; `points` are those of
    /// all its cells.
    pub fn of(record: &'a Record, points: &'a [Point], first: &Point) -> Group<'a> {
        let is_member = |m: &&Measurement| is_alike(first, &points[m.cell]);
        let all: Vec<&Measurement> = record.measurements.iter().filter(is_member).collect();
        let sound = all.iter().filter(|m| !m.is_void());
        Group {
            samples: sound.filter_map(|m| sample(m, &points[m.cell])).collect(),
            all,
        }
    }

    /// The samples of which `is_asked` holds.
    pub fn only(&self, is_asked: impl Fn(&Sample) -> bool) -> Group<'a> {
        let samples = self.samples.iter().filter(|sample| is_asked(sample));
        Group {
            all: self.all.clone(),
            samples: samples.cloned().collect(),
        }
    }

    /// The cells that have samples, by their index.
    pub fn cells(&self) -> BTreeMap<usize, &'a Point> {
        let cells = self
            .samples
            .iter()
            .map(|sample| (sample.cell, sample.point));
        cells.collect()
    }

    /// One of the points at the disks at which most distances were measured, of several the
    /// fastest: round trips are told there. `None` without emulated disks.
    pub fn base(&self) -> Option<&'a Point> {
        let cells = self.only(|sample| sample.rtt_us.is_some()).cells();
        let rank = |one: &&Point| {
            let is_there = |other: &&&Point| other.is_same_in(one, Axis::Disks);
            let flush = one.disks.as_ref().map(|disks| disks.all.flush.median());
            (
                cells.values().filter(is_there).count(),
                std::cmp::Reverse(flush),
            )
        };
        let on_disks = cells
            .values()
            .copied()
            .filter(|point| point.disks.is_some());
        on_disks.max_by_key(rank)
    }

    /// Rounds that have every cell of which `is_asked` holds and any round has a sample.
    pub fn whole_rounds(&self, is_asked: impl Fn(&Sample) -> bool) -> Vec<Vec<&Sample<'a>>> {
        let mut rounds: BTreeMap<u32, Vec<&Sample<'a>>> = BTreeMap::new();
        for sample in self.samples.iter().filter(|sample| is_asked(sample)) {
            rounds.entry(sample.round).or_default().push(sample);
        }
        let mut seen: Vec<usize> = rounds
            .values()
            .flatten()
            .map(|sample| sample.cell)
            .collect();
        seen.sort_unstable();
        seen.dedup();
        let whole = rounds.into_values();
        let mut whole: Vec<_> = whole
            .filter(|samples| samples.len() == seen.len())
            .collect();
        whole
            .iter_mut()
            .for_each(|samples| samples.sort_by_key(|sample| sample.cell));
        whole
    }
}

fn sample<'a>(measurement: &Measurement, point: &'a Point) -> Option<Sample<'a>> {
    let latency = histogram::checked(&measurement.latency_us);
    let rtts_us = cells::rtts_by_site(measurement);
    let flush_us = disks::flush_us_of_writer(measurement);
    let has_x = !rtts_us.is_empty() || flush_us.is_some();
    if latency.len() < SAMPLES_NEEDED || !has_x {
        return None;
    }
    Some(Sample {
        cell: measurement.cell,
        point,
        round: measurement.round,
        latency_us: latency.median_equivalent(latency.value_at_quantile(0.5)) as f64,
        rtt_us: cells::mean_rtt_us(measurement),
        rtts_us: rtts_us
            .into_iter()
            .map(|(pair, (_, got))| (pair, got))
            .collect(),
        flush_us,
        flushes_us: disks::flush_us_by_site(measurement),
    })
}
