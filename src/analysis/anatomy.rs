//! Anatomy of a commit: how many round trips and flushes it waits for, and for whom.
//!
//! `latency = work + round trips · RTT + flushes · flush time`: a line over RTT and one over flush
//! time are fitted in each round on its own, so that the figures of all rounds give an interval.
//! See docs/method.md.

mod flushes;
mod group;
mod lines;
mod peers;
mod sum;

use super::flags::{self, Asked};
use super::summary::Anatomy;
use super::{cells, disks, terms};
use crate::plan::{Axis, Point};
use crate::record::Header;
use crate::record::store::Record;
use group::{Group, is_alike, is_plain};
use lines::Lines;

/// The anatomy of every mode, workload and client site that has cells at one connection.
pub fn summarise(record: &Record) -> Vec<Anatomy> {
    let Header { study, cells, .. } = &record.header;
    let points: Vec<Point> = cells.iter().map(|cell| Point::of(study, cell)).collect();
    let mut firsts: Vec<&Point> = Vec::new();
    for point in points.iter().filter(|point| is_plain(point)) {
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
    let flush_lines = Lines::over_flush_times(&axis.samples(group));
    let round_trips = lines.slope();
    let per_peer = peers::per_peer(&level, sites);
    let flush_us = base.and_then(|base| base.disks.as_ref());
    let flush_us = flush_us.map(disks::flush_us_asked);
    Anatomy {
        distances: lines.points as u32,
        rounds: lines.fits.len() as u32,
        round_trips,
        flushes: flush_lines.slope(),
        flush_times: flush_lines.points as u32,
        flush_rounds: flush_lines.fits.len() as u32,
        work_us: lines.work(flush_us, &flush_lines),
        lack_of_fit: lines.lack_of_fit(),
        flushes_lack_of_fit: flush_lines.lack_of_fit(),
        adds: sum::adds(group, base, &axis),
        flushes_by_site: flushes::by_site(group, base, sites),
        waits_for: per_peer
            .is_some()
            .then(|| peers::waits_for(&level, sites, round_trips)),
        per_peer,
        flags: flags::count(&group.all, Asked::of(header, first)),
        ..named(header, first)
    }
}

fn named(header: &Header, first: &Point) -> Anatomy {
    let spec = &header.study.modes[first.row];
    Anatomy {
        label: spec.label.clone(),
        server: spec.server.clone(),
        mode: spec.mode.name().to_owned(),
        settings: terms::settings(spec),
        client_site: first.client_site.clone(),
        workload: cells::workload(first),
        file_system: header.file_system.clone(),
        log_layout: terms::log_layout(spec).to_owned(),
        point: first.clone(),
        ..Anatomy::default()
    }
}

#[cfg(test)]
mod tests;
