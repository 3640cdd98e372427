//! Flushes on a commit's path: which points differ in flush time only, and whose flush counts.

use std::collections::BTreeMap;

use super::group::{Group, Sample};
use crate::analysis::interval::{Noise, estimate};
use crate::analysis::summary::Value;
use crate::plan::{Axis, Point};
use crate::study::{Delay, Disk, Disks};

/// Less than this between two flush times got tells nothing of a slope, in µs.
const APART_US: f64 = 100.0;

/// Points at one distance whose disks differ in nothing but a flush time that all of them share.
pub struct Moved<'a> {
    /// One of them, which says what they have in common.
    pub first: Option<&'a Point>,
}

impl<'a> Moved<'a> {
    /// Of several such rows the one with most flush times; then one through the base; then the one
    /// at the shortest distance.
    pub fn of(group: &Group<'a>, base: Option<&Point>) -> Moved<'a> {
        let cells = group.cells();
        let rank = |first: &&Point| {
            let members = cells.values().filter(|point| is_beside(first, point));
            let is_base = |point: &&Point| match base {
                Some(base) => point.is_same_in(base, Axis::Disks),
                None => false,
            };
            let through_base = members.clone().any(is_base);
            let rtt = first.distances.pairs.iter().map(|(_, _, rtt)| *rtt).max();
            (members.count(), through_base, std::cmp::Reverse(rtt))
        };
        let in_some = cells.values().filter(|point| is_beside(point, point));
        Moved {
            first: in_some.copied().max_by_key(rank),
        }
    }

    /// The samples of these points.
    pub fn samples(&self, group: &Group<'a>) -> Group<'a> {
        let holds = |point: &Point| self.first.is_some_and(|first| is_beside(first, point));
        group.only(|sample| holds(sample.point))
    }

    /// Whether the disks are those of one of them, at whatever distance.
    pub fn has_disks_of(&self, point: &Point) -> bool {
        self.first
            .is_some_and(|first| differ_in_flush_only(first, point))
    }
}

fn is_beside(first: &Point, point: &Point) -> bool {
    first.is_same_in(point, Axis::Distances) && differ_in_flush_only(first, point)
}

/// Both have disks of one constant flush time for all sites, alike in all else.
fn differ_in_flush_only(one: &Point, other: &Point) -> bool {
    let (Some(one), Some(other)) = (&one.disks, &other.disks) else {
        return false;
    };
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
    base: Option<&Point>,
    sites: &[String],
) -> Option<BTreeMap<String, Value>> {
    let base = base?;
    let base_disks = base.disks.as_ref()?;
    let of_site = |site: &String| {
        let is_raised_there = |sample: &&Sample| {
            let disks = sample.point.disks.as_ref();
            disks.is_some_and(|disks| raised_site(base_disks, disks, sites) == Some(site))
        };
        let raised = group.samples.iter().filter(is_raised_there);
        let slopes = raised.filter_map(|sample| slope_from_base(group, base, sample, site));
        let slopes: Vec<f64> = slopes.collect();
        let slope = estimate(&slopes, Noise::Adds, group.risk)?;
        Some((site.clone(), slope.into()))
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

/// Against the same round's sample at the base disks and the same distances.
fn slope_from_base(group: &Group, base: &Point, raised: &Sample, site: &str) -> Option<f64> {
    let is_level = |sample: &&Sample| {
        sample.round == raised.round
            && sample.point.is_same_in(base, Axis::Disks)
            && sample.point.is_same_in(raised.point, Axis::Distances)
    };
    let level = group.samples.iter().find(is_level)?;
    let apart_us = raised.flushes_us.get(site)? - level.flushes_us.get(site)?;
    (apart_us.abs() >= APART_US).then(|| (raised.latency_us - level.latency_us) / apart_us)
}
