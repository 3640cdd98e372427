//! Anatomy of a commit: how many round trips and flushes it waits for, and for whom.
//!
//! `latency = work + round trips · RTT + flushes · flush time`: a line over RTT and one over flush
//! time are fitted in each round on its own, so that the figures of all rounds give an interval.
//! See docs/method.md.

mod flushes;
mod lines;
mod peers;
mod sum;

use std::collections::BTreeMap;

use super::summary::Anatomy;
use super::{cells, disks, flags, terms};
use crate::plan::Cell;
use crate::record::store::Record;
use crate::record::{Header, Measurement, histogram};
use crate::study::Disks;
use lines::Lines;

/// Samples needed for a round's median: ten beyond it.
const SAMPLES_NEEDED: u64 = 20;

/// One cell in one round.
#[derive(Debug, Clone, PartialEq)]
struct Point<'a> {
    /// The cell's index, and what it was to be.
    cell: usize,
    asked: &'a Cell,
    round: u32,
    latency_us: f64,
    /// The one round-trip time between all sites, where it is one.
    rtt_us: Option<f64>,
    rtts_us: BTreeMap<(String, String), f64>,
    /// Flush time got on the writer's disk, where it is an emulated one, and by site.
    flush_us: Option<f64>,
    flushes_us: BTreeMap<String, f64>,
}

impl Point<'_> {
    fn disks(&self) -> Option<&Disks> {
        self.asked.disks.as_ref()
    }
}

/// All points of a mode, workload and client site, at one connection.
struct Group<'a> {
    /// Void ones included.
    all: Vec<&'a Measurement>,
    points: Vec<Point<'a>>,
}

/// The anatomy of every mode, workload and client site that has cells at one connection.
pub fn summarise(record: &Record) -> Vec<Anatomy> {
    let header = &record.header;
    let mut firsts: Vec<&Cell> = Vec::new();
    for cell in header.cells.iter().filter(|cell| is_plain(cell)) {
        if !firsts.iter().any(|first| is_alike(first, cell)) {
            firsts.push(cell);
        }
    }
    firsts.iter().map(|first| anatomy(record, first)).collect()
}

/// One connection, and nothing on the links but their distance.
fn is_plain(cell: &Cell) -> bool {
    let distances = &cell.distances;
    cell.connections == 1 && distances.jitter.is_none() && distances.rate_bits_per_s.is_none()
}

fn is_alike(one: &Cell, other: &Cell) -> bool {
    is_plain(other)
        && (other.rate_per_s, other.measure) == (one.rate_per_s, one.measure)
        && one.mode == other.mode
        && one.workload == other.workload
        && one.client_site == other.client_site
}

fn anatomy(record: &Record, first: &Cell) -> Anatomy {
    let sites = &record.header.study.sites;
    let group = Group::of(record, first);
    let base = group.base_disks();
    let level = group.only(|point| point.disks() == base);
    let lines = Lines::over_distances(&level);
    let axis = flushes::Axis::of(&group, base);
    let flush_lines = Lines::over_flush_times(&axis.points(&group));
    let round_trips = lines.slope();
    let per_peer = peers::per_peer(&level, sites);
    Anatomy {
        distances: lines.points as u32,
        rounds: lines.fits.len() as u32,
        round_trips,
        flushes: flush_lines.slope(),
        flush_times: flush_lines.points as u32,
        flush_rounds: flush_lines.fits.len() as u32,
        work_us: lines.work(base.map(disks::flush_us_asked), &flush_lines),
        lack_of_fit: lines.lack_of_fit(),
        flushes_lack_of_fit: flush_lines.lack_of_fit(),
        adds: sum::adds(&group, base, &axis),
        flushes_by_site: flushes::by_site(&group, base, sites),
        waits_for: per_peer
            .is_some()
            .then(|| peers::waits_for(&level, sites, round_trips)),
        per_peer,
        flags: flags::count(&group.all, terms::per(&first.workload)),
        ..named(&record.header, first)
    }
}

fn named(header: &Header, first: &Cell) -> Anatomy {
    let spec = &header.study.modes[first.mode];
    Anatomy {
        point: crate::plan::Point::of(&header.study, first),
        label: spec.label.clone(),
        server: spec.server.clone(),
        mode: spec.mode.name().to_owned(),
        settings: terms::settings(spec),
        client_site: first.client_site.clone(),
        workload: cells::workload(first),
        file_system: header.file_system.clone(),
        log_layout: terms::log_layout(spec).to_owned(),
        ..Anatomy::default()
    }
}

impl<'a> Group<'a> {
    fn of(record: &'a Record, first: &Cell) -> Group<'a> {
        let is_member = |m: &&Measurement| is_alike(first, &record.header.cells[m.cell]);
        let all: Vec<&Measurement> = record.measurements.iter().filter(is_member).collect();
        let sound = all.iter().filter(|m| !m.is_void());
        Group {
            points: sound
                .filter_map(|m| point(m, &record.header.cells[m.cell]))
                .collect(),
            all,
        }
    }

    /// The points of which `is_asked` holds.
    fn only(&self, is_asked: impl Fn(&Point) -> bool) -> Group<'a> {
        let points = self.points.iter().filter(|point| is_asked(point));
        Group {
            all: self.all.clone(),
            points: points.cloned().collect(),
        }
    }

    /// The disks at which most distances were measured, of several the fastest: round trips are
    /// told there. `None` without emulated disks.
    fn base_disks(&self) -> Option<&'a Disks> {
        let mut cells: BTreeMap<usize, &'a Cell> = BTreeMap::new();
        let equal = self.points.iter().filter(|point| point.rtt_us.is_some());
        cells.extend(equal.map(|point| (point.cell, point.asked)));
        let disks = || cells.values().filter_map(|cell| cell.disks.as_ref());
        let rank = |one: &&Disks| {
            let count = disks().filter(|other| other == one).count();
            (count, std::cmp::Reverse(one.all.flush.median()))
        };
        disks().max_by_key(rank)
    }

    /// Rounds that have every cell of which `is_asked` holds and any round has a point.
    fn whole_rounds(&self, is_asked: impl Fn(&Point) -> bool) -> Vec<Vec<&Point<'a>>> {
        let mut rounds: BTreeMap<u32, Vec<&Point<'a>>> = BTreeMap::new();
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

fn point<'a>(measurement: &Measurement, asked: &'a Cell) -> Option<Point<'a>> {
    let latency = histogram::checked(&measurement.latency_us);
    let rtts_us = cells::rtts_by_site(measurement);
    let flush_us = disks::flush_us_of_writer(measurement);
    let has_x = !rtts_us.is_empty() || flush_us.is_some();
    if latency.len() < SAMPLES_NEEDED || !has_x {
        return None;
    }
    Some(Point {
        cell: measurement.cell,
        asked,
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

#[cfg(test)]
mod tests;
