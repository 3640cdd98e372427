//! With unequal distances: what each peer's distance adds, and for whom a commit waits.

use std::collections::BTreeMap;

use super::apart::Apart;
use super::delays::Pair;
use super::group::{Group, Sample};
use super::lines::{Line, Lines};
use crate::analysis::fit::{Fit, least_squares};
use crate::analysis::interval::{Noise, estimate};
use crate::analysis::summary::{Value, WaitsFor};

/// A candidate foretells a latency if it is off by no more than this many of a commit's round
/// trips to the farthest site, and is named if it foretells all.
const AGREES: f64 = 0.05;
/// Fewer round trips than this are none.
pub const NONE: f64 = 0.1;
/// A candidate that says how many round trips a commit takes at equal distances may be off by so
/// much of them.
const TRIPS_SHARE: f64 = 0.1;

/// Round trips by peer: one plane per round over equal and unequal distances. `None` unless there
/// are two peers and unequal distances.
pub fn per_peer(group: &Group, sites: &[String]) -> Option<BTreeMap<String, Value>> {
    let [writer, peers @ ..] = sites else {
        return None;
    };
    let [_, _] = peers else {
        return None;
    };
    group.samples.iter().find(|point| point.rtt_us.is_none())?;
    let rounds = group.whole_rounds(|_| true);
    let planes = rounds
        .iter()
        .filter_map(|points| plane(points, writer, peers));
    let planes: Vec<Fit> = planes.collect();
    let slope = |(index, peer): (usize, &String)| {
        let slopes: Vec<f64> = planes
            .iter()
            .map(|fit| fit.coefficients[index + 1])
            .collect();
        let slope = estimate(&slopes, Noise::Adds, group.risk)?;
        Some((peer.clone(), slope.into()))
    };
    peers.iter().enumerate().map(slope).collect()
}

fn plane(points: &[&Sample], writer: &str, peers: &[String]) -> Option<Fit> {
    let row = |point: &&Sample| {
        let to = |peer: &String| between(&point.rtts_us, writer, peer);
        Some(vec![1.0, to(&peers[0])?, to(&peers[1])?])
    };
    let rows: Option<Vec<Vec<f64>>> = points.iter().map(row).collect();
    let latencies: Vec<f64> = points.iter().map(|point| point.latency_us).collect();
    least_squares(&rows?, &latencies)
}

fn between(rtts_us: &BTreeMap<Pair, f64>, one: &str, other: &str) -> Option<f64> {
    let (one, other) = (one.to_owned(), other.to_owned());
    let pair = match one < other {
        true => (one, other),
        false => (other, one),
    };
    rtts_us.get(&pair).copied()
}

/// Whom a commit waits for, of unequal distances: the one candidate that foretells every latency
/// there from the line over equal distances, if the scatter of the rounds leaves no other. `None`
/// without unequal distances.
pub fn waits_for(group: &Group, sites: &[String], lines: &Lines) -> Option<WaitsFor> {
    let unequal = group.only(|sample| sample.rtt_us.is_none());
    let cells = unequal.cells();
    if cells.is_empty() {
        return None;
    }
    let Some(slope) = lines.slope() else {
        return Some(WaitsFor::Undecided);
    };
    let is_none = |trips: f64| trips.abs() < NONE;
    let trips = slope.value;
    if is_none(trips) {
        let ends = slope.low.zip(slope.high);
        let is_sure = ends.is_some_and(|(low, high)| is_none(low) && is_none(high));
        return Some(match is_sure {
            true => WaitsFor::Nobody,
            false => WaitsFor::Undecided,
        });
    }
    let samples = |cell: &usize| {
        let of_cell = unequal.samples.iter().filter(|sample| sample.cell == *cell);
        of_cell.collect::<Vec<&Sample>>()
    };
    let places: Vec<Vec<&Sample>> = cells.keys().map(samples).collect();
    let fits = |candidate: &Candidate| -> Vec<Foretold> {
        let each = places.iter();
        each.map(|place| candidate.foretells(place, sites, lines, trips))
            .collect()
    };
    let all = candidates(sites).into_iter();
    let all = all.filter(|candidate| candidate.fits(trips));
    let all = all.map(|candidate| (fits(&candidate), candidate.whom));
    let mut possible = all.filter(|(fits, _)| fits.iter().all(|fit| fit.may_agree));
    Some(match (possible.next(), possible.next()) {
        (Some((fits, whom)), None) if fits.iter().all(|fit| fit.agrees) => whom,
        _ => WaitsFor::Undecided,
    })
}

/// Whether a candidate foretells a latency, and whether it may as far as the rounds' scatter tells.
struct Foretold {
    agrees: bool,
    may_agree: bool,
}

/// A way to wait.
struct Candidate {
    whom: WaitsFor,
    /// Round trips at equal distances, where it says how many.
    trips: Option<f64>,
}

impl Candidate {
    fn of_any_trips(whom: WaitsFor) -> Candidate {
        Candidate { whom, trips: None }
    }

    fn fits(&self, trips: f64) -> bool {
        let is_near = |own: f64| (trips - own).abs() <= TRIPS_SHARE * own;
        self.trips.is_none_or(is_near)
    }

    /// Whether the latency of one cell is what each round's own line says of the distance that this
    /// comes to.
    fn foretells(
        &self,
        place: &[&Sample],
        sites: &[String],
        lines: &Lines,
        trips: f64,
    ) -> Foretold {
        let off = |sample: &&Sample| {
            let line = lines.fits.iter().find(|line| line.round == sample.round)?;
            self.off_by(sample, sites, line)
        };
        let offs: Vec<(f64, f64)> = place.iter().filter_map(off).collect();
        let count = offs.len() as f64;
        let offs_us: Vec<f64> = offs.iter().map(|(off_us, _)| *off_us).collect();
        let off_us = offs_us.iter().sum::<f64>() / count;
        let farthest_us = offs.iter().map(|(_, farthest_us)| farthest_us).sum::<f64>() / count;
        let most_us = AGREES * trips.abs() * farthest_us;
        let off = estimate(&offs_us, Noise::Adds, lines.risk);
        let ends = off.and_then(|off| off.low.zip(off.high));
        Foretold {
            agrees: off_us.abs() <= most_us,
            may_agree: ends.is_none_or(|(low, high)| low <= most_us && high >= -most_us),
        }
    }

    /// The latency got less the one foretold, and the longest of all distances.
    fn off_by(&self, sample: &Sample, sites: &[String], line: &Line) -> Option<(f64, f64)> {
        let apart = Apart::of(sites, |one, other| between(&sample.rtts_us, one, other))?;
        let foretold_us = line.at(apart.equal_to(&self.whom, sites)?);
        Some((sample.latency_us - foretold_us, apart.longest()))
    }
}

fn candidates(sites: &[String]) -> Vec<Candidate> {
    let peers = sites.len().saturating_sub(1);
    if peers < 2 {
        return vec![];
    }
    let kth = |k: usize| match k {
        1 => WaitsFor::Nearest,
        _ if k == peers => WaitsFor::Farthest,
        _ => WaitsFor::Kth(k as u32),
    };
    let by_distance = (1..=peers).map(kth);
    let by_site = sites[1..].iter().cloned().map(WaitsFor::Site);
    let any = by_distance.chain(by_site).chain([WaitsFor::Each]);
    let of_trips = [(WaitsFor::Ring, 1.5), (WaitsFor::OrderAndFarthest, 3.0)];
    let of_trips = of_trips.map(|(whom, trips)| Candidate {
        whom,
        trips: Some(trips),
    });
    any.map(Candidate::of_any_trips).chain(of_trips).collect()
}

/// All ways to wait that a commit of so many round trips may have, where no unequal distances were
/// measured that would tell which. With one peer there is one way, with none nobody is waited for.
pub fn possible(sites: &[String], trips: f64) -> Vec<WaitsFor> {
    match sites.len() {
        0 | 1 => vec![WaitsFor::Nobody],
        2 => vec![WaitsFor::Nearest],
        _ => {
            let fitting = candidates(sites).into_iter().filter(|one| one.fits(trips));
            fitting.map(|one| one.whom).collect()
        }
    }
}

#[cfg(test)]
mod tests;
