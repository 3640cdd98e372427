//! Flushes on a commit's path: which points differ in flush time only, and whose flush counts.

use std::collections::BTreeMap;

use super::{Group, Point};
use crate::analysis::interval::{Noise, estimate};
use crate::analysis::summary::Value;
use crate::plan::Cell;
use crate::study::{Delay, Disk, Disks, Distances};

/// Less than this between two flush times got tells nothing of a slope, in µs.
const APART_US: f64 = 100.0;

/// Points at one distance whose disks differ in nothing but a flush time that all of them share.
pub struct Axis<'a> {
    /// One of them, which says what they have in common.
    pub first: Option<&'a Cell>,
}

impl<'a> Axis<'a> {
    /// Of several such axes the one with most flush times; then one through the base disks; then
    /// the one at the shortest distance.
    pub fn of(group: &Group<'a>, base: Option<&Disks>) -> Axis<'a> {
        let mut cells: BTreeMap<usize, &'a Cell> = BTreeMap::new();
        cells.extend(group.points.iter().map(|point| (point.cell, point.asked)));
        let rank = |first: &&Cell| {
            let members = cells.values().filter(|cell| is_on_axis(first, cell));
            let through_base = members.clone().any(|cell| cell.disks.as_ref() == base);
            let rtt = first.distances.pairs.iter().map(|(_, _, rtt)| *rtt).max();
            (members.count(), through_base, std::cmp::Reverse(rtt))
        };
        let on_some = cells.values().filter(|cell| is_on_axis(cell, cell));
        Axis {
            first: on_some.copied().max_by_key(rank),
        }
    }

    /// The points on it.
    pub fn points(&self, group: &Group<'a>) -> Group<'a> {
        group.only(|point| self.holds(point.asked))
    }

    /// Whether a cell is one of them.
    pub fn holds(&self, cell: &Cell) -> bool {
        self.first.is_some_and(|first| is_on_axis(first, cell))
    }

    /// Whether disks are those of one of them, at whatever distance.
    pub fn holds_disks(&self, disks: &Disks) -> bool {
        let first = self.first.and_then(|first| first.disks.as_ref());
        first.is_some_and(|first| differ_in_flush_only(first, disks))
    }

    /// The distance they share.
    pub fn distances(&self) -> Option<&'a Distances> {
        self.first.map(|first| &first.distances)
    }
}

fn is_on_axis(first: &Cell, cell: &Cell) -> bool {
    match (&first.disks, &cell.disks) {
        (Some(one), Some(other)) => {
            first.distances == cell.distances && differ_in_flush_only(one, other)
        }
        _ => false,
    }
}

/// Both have one constant flush time for all sites, and are alike in all else.
fn differ_in_flush_only(one: &Disks, other: &Disks) -> bool {
    let rest = |disks: &Disks| {
        let rest = disks.with_flush(Delay::NONE);
        (rest.all, rest.by_site)
    };
    one.equal_flush().is_some() && other.equal_flush().is_some() && rest(one) == rest(other)
}

/// By site: what the flush time of the disks there alone adds, where a cell raises it there and
/// leaves everything else as it is at the base disks.
pub fn by_site(
    group: &Group,
    base: Option<&Disks>,
    sites: &[String],
) -> Option<BTreeMap<String, Value>> {
    let base = base?;
    let of_site = |site: &String| {
        let slopes: Vec<f64> = group
            .points
            .iter()
            .filter(|point| {
                let disks = point.disks();
                disks.is_some_and(|disks| raised_site(base, disks, sites) == Some(site))
            })
            .filter_map(|point| slope_from_base(group, base, point, site))
            .collect();
        Some((site.clone(), estimate(&slopes, Noise::Adds)?.into()))
    };
    let found: BTreeMap<String, Value> = sites.iter().filter_map(of_site).collect();
    (!found.is_empty()).then_some(found)
}

/// The one site whose disks differ from the base's, if they do in flush time only.
fn raised_site<'s>(base: &Disks, disks: &Disks, sites: &'s [String]) -> Option<&'s String> {
    let mut differing = sites.iter().filter(|site| base.of(site) != disks.of(site));
    let site = differing.next()?;
    let rest = |disk: Disk| Disk {
        flush: Delay::NONE,
        ..disk
    };
    let is_flush = rest(base.of(site)) == rest(disks.of(site));
    (differing.next().is_none() && is_flush).then_some(site)
}

/// Against the same round's point at the base disks and the same distances.
fn slope_from_base(group: &Group, base: &Disks, raised: &Point, site: &str) -> Option<f64> {
    let mut level = group
        .points
        .iter()
        .filter(|point| point.round == raised.round);
    let level = level.find(|point| {
        point.disks() == Some(base) && point.asked.distances == raised.asked.distances
    })?;
    let apart_us = raised.flushes_us.get(site)? - level.flushes_us.get(site)?;
    (apart_us.abs() >= APART_US).then(|| (raised.latency_us - level.latency_us) / apart_us)
}
