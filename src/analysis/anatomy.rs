//! Anatomy of a commit: how many round trips and flushes it waits for, and for whom.
//!
//! `latency = work + round trips · RTT + flushes · flush time`: a line over RTT and one over flush
//! time are fitted in each round on its own, so that the figures of all rounds give an interval.
//! See docs/method/anatomy-of-a-commit.md.

mod apart;
mod counted;
mod delays;
mod flushes;
mod group;
mod lines;
mod peers;
mod sum;

use super::flags::{self, Asked};
use super::summary::{Anatomy, Counted, Halves, Value};
use super::{called, disks, terms};
use crate::plan::{Axis, Point};
use crate::record::Header;
use crate::record::store::Record;
use crate::study::Mode;
pub use apart::Apart;
use group::{Group, is_alike, is_plain};
use lines::Lines;
pub use peers::{NONE as FEWEST_TRIPS, possible as possible_waits};

/// The anatomy of every mode, workload and client site that has cells at one connection.
pub fn summarise(record: &Record) -> Vec<Anatomy> {
    let Header { study, cells, .. } = &record.header;
    let points: Vec<Point> = cells.iter().map(|cell| Point::of(study, cell)).collect();
    let mut firsts: Vec<&Point> = Vec::new();
    let unmoved = points.iter().zip(cells).filter(|(_, c)| c.moved.is_none());
    for (point, _) in unmoved.filter(|(point, _)| is_plain(point)) {
        if !firsts.iter().any(|first| is_alike(first, point)) {
            firsts.push(point);
        }
    }
    let groups = firsts
        .iter()
        .map(|first| (first, Group::of(record, &points, first)));
    groups
        .map(|(first, group)| anatomy(&record.header, first, &group))
        .collect()
}

fn anatomy(header: &Header, first: &Point, group: &Group) -> Anatomy {
    let sites = &header.study.sites;
    let base = group.base();
    let level = group.only(|sample| match base {
        Some(base) => sample.point.is_same_in(base, Axis::Disks),
        None => sample.point.disks.is_none(),
    });
    let lines = Lines::over_distances(&level);
    let axis = flushes::Moved::of(group, base);
    let on_axis = axis.samples(group);
    let flush_lines = Lines::over_flush_times(&on_axis);
    let (halves, flushes_halves) = (lines.halves(), flush_lines.halves());
    let flushes = flush_lines.slope();
    let alone = flushes.filter(|_| first.mode == Mode::Single);
    let counted = flushes.and_then(|_| counted::counted(&on_axis, alone));
    let held = counted.filter(|count| count.agrees.is_some());
    let flush_us = base.and_then(|base| base.disks.as_ref());
    let flush_us = flush_us.map(disks::flush_us_asked);
    Anatomy {
        distances: lines.points as u32,
        rounds: lines.fits.len() as u32,
        round_trips: lines.slope(),
        round_trips_by_round: lines.slopes_by_round(),
        flushes,
        flush_times: flush_lines.points as u32,
        flush_rounds: flush_lines.fits.len() as u32,
        work_us: lines
            .work(flush_us, &flush_lines)
            .or_else(|| alone.and_then(|_| flush_lines.intercept())),
        lack_of_fit: lines.lack_of_fit(),
        flushes_lack_of_fit: flush_lines.lack_of_fit(),
        halves,
        flushes_halves,
        round_trips_systematic: systematic(halves, None),
        flushes_systematic: systematic(flushes_halves, alone.zip(held)),
        flushes_counted: counted,
        rtt_from: group.rtt_from,
        flush_from: group.flush_from,
        adds: sum::adds(group, base, &axis),
        flushes_by_site: flushes::by_site(group, base, sites),
        waits_for: peers::waits_for(&level, sites, &lines),
        per_peer: peers::per_peer(&level, sites),
        flags: flags::count(&group.all, Asked::of(header, first)),
        ..named(header, first)
    }
}

/// What the slope may be off by, though it comes out alike in every round: as much as its halves
/// differ, or as it differs from the count that it should be, whichever is more.
fn systematic(halves: Option<Halves>, counted: Option<(Value, Counted)>) -> Option<f64> {
    let of_halves = halves.map(|halves| halves.difference.value.abs());
    let of_count = counted.map(|(slope, count)| (slope.value - count.per_commit.value).abs());
    of_halves.into_iter().chain(of_count).reduce(f64::max)
}

fn named(header: &Header, first: &Point) -> Anatomy {
    let spec = &header.study.modes[first.row];
    Anatomy {
        label: spec.label.clone(),
        server: spec.server.clone(),
        mode: spec.mode.name().to_owned(),
        settings: terms::settings(spec),
        client_site: first.client_site.clone(),
        workload: called::workload(first),
        file_system: header.file_system.clone(),
        log_layout: terms::log_layout(spec).to_owned(),
        point: first.clone(),
        ..Anatomy::default()
    }
}

#[cfg(test)]
mod tests;
