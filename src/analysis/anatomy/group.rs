//! The measurements that one anatomy is made of.

use std::collections::{BTreeMap, BTreeSet};

use super::delays::{self, Delays, Pair};
use crate::analysis::interval::Risk;
use crate::analysis::summary::Source;
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
    pub rtts_us: BTreeMap<Pair, f64>,
    /// Flush time got on the writer's disk, where it is an emulated one, and by site.
    pub flush_us: Option<f64>,
    pub flushes_us: BTreeMap<String, f64>,
    /// What the writer's disk flushed in the window, and how many commits there were.
    pub flushes: Option<u64>,
    pub commits: u64,
    pub window_s: f64,
}

/// All samples of a mode, workload and client site, at one connection.
pub struct Group<'a> {
    /// Void ones included.
    pub all: Vec<&'a Measurement>,
    pub samples: Vec<Sample<'a>>,
    /// Where round-trip times and flush times come from: all of one source, or slopes would take
    /// in what the sources differ by.
    pub rtt_from: Source,
    pub flush_from: Source,
    pub risk: Risk,
}

/// One connection, no search for a rate, and nothing on the links but their distance.
pub fn is_plain(point: &Point) -> bool {
    let distances = &point.distances;
    let is_alone = point.connections == 1 && point.knee.is_none();
    is_alone && distances.jitter.is_none() && distances.rate_bits_per_s.is_none()
}

/// Whether points differ in what an anatomy moves, and in nothing else; what is looked at when the
/// load is over moves nothing.
pub fn is_alike(one: &Point, other: &Point) -> bool {
    let moved = [Axis::Distances, Axis::Disks, Axis::Window, Axis::WatchAfter];
    is_plain(other) && one.without(&moved) == other.without(&moved)
}

impl<'a> Group<'a> {
    /// Of the record's measurements those of cells at points like the first; `points` are those of
    /// all its cells.
    pub fn of(record: &'a Record, points: &'a [Point], first: &Point) -> Group<'a> {
        let cells = &record.header.cells;
        let is_moved = |m: &&Measurement| cells[m.cell].moved.is_some();
        let is_member = |m: &&Measurement| is_alike(first, &points[m.cell]) && !is_moved(m);
        let all: Vec<&Measurement> = record.measurements.iter().filter(is_member).collect();
        let sites = &record.header.study.sites;
        // Of a cell that is measured several times in a round the first is paired with the others.
        let mut seen = BTreeSet::new();
        let sound = all.iter().filter(|m| !m.is_void());
        let sound = sound.filter(|m| seen.insert((m.round, m.cell)));
        let sound: Vec<(&Measurement, &Point)> = sound.map(|m| (*m, &points[m.cell])).collect();
        let told = sound
            .iter()
            .map(|(m, point)| delays::in_window(m, point, sites));
        let told = Told::by_all(&told.collect::<Vec<Delays>>());
        Group {
            samples: sound
                .iter()
                .filter_map(|(m, point)| told.sample(m, point, sites))
                .collect(),
            rtt_from: source(!told.pairs.is_empty()),
            flush_from: source(told.has_flushes),
            risk: Risk::of(&record.header.study),
            all,
        }
    }

    /// The samples of which `is_asked` holds.
    pub fn only(&self, is_asked: impl Fn(&Sample) -> bool) -> Group<'a> {
        let samples = self.samples.iter().filter(|sample| is_asked(sample));
        Group {
            all: self.all.clone(),
            samples: samples.cloned().collect(),
            ..*self
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

fn source(is_window: bool) -> Source {
    match is_window {
        true => Source::Window,
        false => Source::Probe,
    }
}

/// What every measurement of a group tells of its own window.
struct Told {
    pairs: Vec<Pair>,
    /// Of the writer's disk.
    has_flushes: bool,
}

impl Told {
    fn by_all(windows: &[Delays]) -> Told {
        let everywhere = |pair: &Pair| windows.iter().all(|d| d.rtts_us.contains_key(pair));
        let pairs = windows.first().map(|delays| delays.rtts_us.keys());
        let has_flush = |delays: &Delays| delays.writer_flush_us.is_some();
        Told {
            pairs: pairs
                .into_iter()
                .flatten()
                .filter(|pair| everywhere(pair))
                .cloned()
                .collect(),
            has_flushes: !windows.is_empty() && windows.iter().all(has_flush),
        }
    }

    fn sample<'a>(
        &self,
        measurement: &Measurement,
        point: &'a Point,
        sites: &[String],
    ) -> Option<Sample<'a>> {
        let latency = histogram::checked(&measurement.latency_us);
        let probed = delays::probed(measurement);
        let window = delays::in_window(measurement, point, sites);
        let has_x = !probed.rtts_us.is_empty() || !probed.flushes_us.is_empty();
        if latency.len() < SAMPLES_NEEDED || !has_x {
            return None;
        }
        let mut rtts_us = probed.rtts_us;
        rtts_us.extend(
            self.pairs
                .iter()
                .map(|pair| (pair.clone(), window.rtts_us[pair])),
        );
        let flushes_us = match self.has_flushes {
            true => window.flushes_us,
            false => probed.flushes_us,
        };
        let flush_us = match self.has_flushes {
            true => window.writer_flush_us,
            false => probed.writer_flush_us,
        };
        Some(Sample {
            cell: measurement.cell,
            point,
            round: measurement.round,
            latency_us: latency.median_equivalent(latency.value_at_quantile(0.5)) as f64,
            rtt_us: self.rtt_us(measurement, &rtts_us),
            rtts_us,
            flush_us,
            flushes_us,
            flushes: disks::writer(measurement).map(|disk| disk.flushes),
            commits: measurement.commits,
            window_s: measurement.window_s,
        })
    }

    /// The mean over all pairs of sites whose window tells, or over all; of equal distances only.
    fn rtt_us(&self, measurement: &Measurement, rtts_us: &BTreeMap<Pair, f64>) -> Option<f64> {
        let probed = cells::mean_rtt_us(measurement)?;
        let told = self.pairs.iter().map(|pair| rtts_us[pair]);
        let told: Vec<f64> = told.collect();
        Some(match told.is_empty() {
            true => probed,
            false => told.iter().sum::<f64>() / told.len() as f64,
        })
    }
}
