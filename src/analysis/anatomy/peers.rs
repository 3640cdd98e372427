//! With unequal distances: what each peer's distance adds, and for whom a commit waits.

use std::collections::BTreeMap;

use super::group::{Group, Sample};
use crate::analysis::fit::{Fit, least_squares};
use crate::analysis::interval::{Noise, estimate};
use crate::analysis::summary::Value;

/// A model must leave this many times less variance than any other to be named.
const CLEARLY: f64 = 4.0;
/// Fewer round trips than this are none.
const NONE: f64 = 0.1;
/// A peer whose slope is so many times the other's is the one waited for.
const ALONE: f64 = 4.0;

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
        Some((peer.clone(), estimate(&slopes, Noise::Adds)?.into()))
    };
    peers.iter().enumerate().map(slope).collect()
}

/// Whom a commit waits for: which of "the nearest", "the farthest" and "each with a share of its
/// own" leaves clearly the least unexplained of the latencies, averaged over rounds.
pub fn waits_for(group: &Group, sites: &[String], round_trips: Option<Value>) -> String {
    let is_none = |trips: Value| trips.value.abs() < NONE;
    if round_trips.is_some_and(is_none) {
        return "nobody".to_owned();
    }
    let verdict = mean_points(group, sites).and_then(|points| verdict(&points, sites));
    verdict.unwrap_or_else(|| "undecided".to_owned())
}

/// Distances to both peers, and latency.
type Place = ([f64; 2], f64);

fn verdict(places: &[Place], sites: &[String]) -> Option<String> {
    let nearest = model(places, |[b, c]| vec![1.0, b.min(c)])?;
    let farthest = model(places, |[b, c]| vec![1.0, b.max(c)])?;
    let each = model(places, |[b, c]| vec![1.0, b, c])?;
    let variances = [nearest.variance()?, farthest.variance()?, each.variance()?];
    let (best, least) = variances
        .iter()
        .enumerate()
        .min_by(|a, b| a.1.total_cmp(b.1))?;
    let mut others = variances
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != best);
    if !others.all(|(_, other)| *other > CLEARLY * least && *other > 0.0) {
        return None;
    }
    Some(match best {
        0 => "nearest".to_owned(),
        1 => "farthest".to_owned(),
        _ => shares(each.coefficients[1], each.coefficients[2], sites),
    })
}

fn shares(b: f64, c: f64, sites: &[String]) -> String {
    let dominates = |one: f64, other: f64| one.abs() >= ALONE * other.abs();
    match (dominates(b, c), dominates(c, b)) {
        (true, false) => sites[1].clone(),
        (false, true) => sites[2].clone(),
        _ => "both".to_owned(),
    }
}

fn model(places: &[Place], row: fn([f64; 2]) -> Vec<f64>) -> Option<Fit> {
    let rows: Vec<Vec<f64>> = places.iter().map(|(rtts_us, _)| row(*rtts_us)).collect();
    let latencies: Vec<f64> = places.iter().map(|(_, latency_us)| *latency_us).collect();
    least_squares(&rows, &latencies)
}

fn plane(points: &[&Sample], writer: &str, peers: &[String]) -> Option<Fit> {
    let places: Option<Vec<Place>> = points.iter().map(|p| place(p, writer, peers)).collect();
    model(&places?, |[b, c]| vec![1.0, b, c])
}

fn place(point: &Sample, writer: &str, peers: &[String]) -> Option<Place> {
    let to = |peer: &str| {
        let (writer, peer) = (writer.to_owned(), peer.to_owned());
        let pair = if writer < peer {
            (writer, peer)
        } else {
            (peer, writer)
        };
        point.rtts_us.get(&pair).copied()
    };
    Some(([to(&peers[0])?, to(&peers[1])?], point.latency_us))
}

/// Each cell's place, averaged over the rounds that have them all.
fn mean_points(group: &Group, sites: &[String]) -> Option<Vec<Place>> {
    let rounds = group.whole_rounds(|_| true);
    let count = rounds.len() as f64;
    let cells = rounds.first()?.len();
    let mut means = vec![([0.0, 0.0], 0.0); cells];
    for (mean, point) in rounds
        .iter()
        .flat_map(|round| round.iter().copied().enumerate())
    {
        let ([b, c], latency_us) = place(point, &sites[0], &sites[1..])?;
        means[mean].0[0] += b / count;
        means[mean].0[1] += c / count;
        means[mean].1 += latency_us / count;
    }
    Some(means)
}
