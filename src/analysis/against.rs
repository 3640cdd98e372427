//! What each mode adds to the row that the user holds all others against, and whom it waits for.

use std::collections::BTreeMap;

use super::summary::{AddedAt, Against, Anatomy, Axis, CellSummary, ModeAgainst, WaitsFor};
use crate::study::Study;

/// Less than this share of the nearest peer's distance is no wait for a peer.
const NOBODY: f64 = 0.5;
/// Round trips of a commit that are taken for possible, where no series of distances tells them.
const TRIPS: std::ops::RangeInclusive<f64> = 0.7..=3.0;
/// A peer whose distance makes up so much of what is waited for is the one that counts.
const MOST: f64 = 0.8;

/// `None` where the study has no such row.
pub fn of(study: &Study, cells: &[CellSummary], anatomy: &[Anatomy]) -> Option<Against> {
    let baseline = study.baseline.clone()?;
    let labels = study.modes.iter().map(|spec| &spec.label);
    let modes = labels.filter_map(|label| {
        let plain = cells.iter().filter(|cell| cell.moved.is_none());
        let own = plain.filter(|cell| cell.label == *label);
        let held: Vec<&CellSummary> = own.filter(|cell| cell.added_us.is_some()).collect();
        mode(study, cells, anatomy, &held)
    });
    Some(Against {
        baseline,
        modes: modes.collect(),
    })
}

fn mode(
    study: &Study,
    cells: &[CellSummary],
    anatomy: &[Anatomy],
    held: &[&CellSummary],
) -> Option<ModeAgainst> {
    let first = held.iter().min_by_key(|cell| cell.connections)?;
    let peers_us = peers(study, first);
    let own = anatomy.iter().find(|anatomy| is_of(anatomy, first));
    let (waits_for, counts) = own
        .and_then(|anatomy| by_distances(anatomy, &peers_us))
        .unwrap_or_else(|| by_latency(cells, first, &peers_us));
    Some(ModeAgainst {
        label: first.label.clone(),
        waits_for,
        counts,
        at: held.iter().filter_map(|cell| at(study, cell)).collect(),
    })
}

fn at(study: &Study, cell: &CellSummary) -> Option<AddedAt> {
    Some(AddedAt {
        id: cell.id.clone(),
        workload: cell.workload.clone(),
        connections: cell.connections,
        distances: cell.distances.clone(),
        rtt_us: peers(study, cell),
        p50_us: cell.latency_us.p50,
        added_us: cell.added_us?,
        queue_factor: cell.queue_factor,
    })
}

/// Round-trip time from the writer's site to each site in which the mode has a node.
fn peers(study: &Study, cell: &CellSummary) -> BTreeMap<String, f64> {
    let mut sites = study.sites.iter().take(cell.point.nodes as usize);
    let Some(writer) = sites.next() else {
        return BTreeMap::new();
    };
    let got = |site: &String| {
        let ends = [writer, site];
        let is_it = |from: &String, to: &String| ends.contains(&from) && ends.contains(&to);
        let mut pairs = cell.rtts_us.iter();
        let pair = pairs.find(|pair| is_it(&pair.from_site, &pair.to_site))?;
        pair.got
    };
    let asked = |site: &String| {
        let rtt = cell.point.distances.rtt(writer, site)?;
        Some(rtt.as_secs_f64() * 1e6)
    };
    let rtt_us = |site: &String| Some((site.clone(), got(site).or_else(|| asked(site))?));
    sites.filter_map(rtt_us).collect()
}

/// Whether an anatomy is that of this cell, moved in its distances.
fn is_of(anatomy: &Anatomy, cell: &CellSummary) -> bool {
    let moved = [Axis::Distances, Axis::Disks, Axis::WatchAfter];
    anatomy.point.without(&moved) == cell.point.without(&moved)
}

/// What a study that moved single distances tells; `None` if it moved none, or could not tell.
fn by_distances(
    anatomy: &Anatomy,
    peers_us: &BTreeMap<String, f64>,
) -> Option<(WaitsFor, Option<String>)> {
    let is_told = |whom: &WaitsFor| *whom != WaitsFor::Undecided;
    let waits_for = anatomy.waits_for.clone().filter(is_told)?;
    let counts = match waits_for {
        WaitsFor::Each | WaitsFor::Ring => most(anatomy, peers_us),
        _ => None,
    };
    Some((waits_for, counts))
}

/// The peer whose round trips, at its distance, make up most of the wait.
fn most(anatomy: &Anatomy, peers_us: &BTreeMap<String, f64>) -> Option<String> {
    let trips = anatomy.per_peer.as_ref()?;
    let wait = |(site, us): (&String, &f64)| Some((site.clone(), trips.get(site)?.value * us));
    let waits: Vec<(String, f64)> = peers_us.iter().filter_map(wait).collect();
    let all: f64 = waits.iter().map(|(_, us)| us.max(0.0)).sum();
    let is_most = |(_, us): &(String, f64)| all > 0.0 && *us >= MOST * all;
    waits.into_iter().find(is_most).map(|(site, _)| site)
}

/// What the latency above that of a server without peers tells: whose distance, gone once to three
/// times, it can be; or that of all peers one after the other. Undecided where two ways fit, or
/// none; then a peer that makes up most of either is still known to count.
fn by_latency(
    cells: &[CellSummary],
    cell: &CellSummary,
    peers_us: &BTreeMap<String, f64>,
) -> (WaitsFor, Option<String>) {
    let mut by_distance: Vec<(&String, f64)> = peers_us.iter().map(|(s, us)| (s, *us)).collect();
    by_distance.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let Some((_, nearest_us)) = by_distance.first() else {
        return (WaitsFor::Nobody, None);
    };
    let undecided = (WaitsFor::Undecided, None);
    let Some(wait_us) = wait_us(cells, cell).filter(|_| is_known(cell)) else {
        return undecided;
    };
    if wait_us < NOBODY * nearest_us {
        return (WaitsFor::Nobody, None);
    }
    let can_be = |us: f64| TRIPS.contains(&(wait_us / us));
    let mut fitting = (0..by_distance.len()).filter(|place| can_be(by_distance[*place].1));
    let (Some(place), None) = (fitting.next(), fitting.next()) else {
        return undecided;
    };
    let (site, us) = by_distance[place];
    let all_us: f64 = by_distance.iter().map(|(_, us)| us).sum();
    if by_distance.len() > 1 && can_be(all_us) {
        let counts = (us >= MOST * all_us).then(|| site.clone());
        return (WaitsFor::Undecided, counts);
    }
    let whom = match place {
        0 => WaitsFor::Nearest,
        last if last + 1 == by_distance.len() => WaitsFor::Farthest,
        _ => WaitsFor::Site(site.clone()),
    };
    (whom, None)
}

/// Whether a latency is told well enough to tell from it whom it holds a wait for.
fn is_known(cell: &CellSummary) -> bool {
    let added = cell.added_us.zip(cell.latency_us.p50);
    added.is_some_and(|(added_us, p50_us)| {
        added_us.low.is_some() && !AddedAt::is_wide(added_us, p50_us)
    })
}

/// The median above that of the same server alone, under the same load.
fn wait_us(cells: &[CellSummary], cell: &CellSummary) -> Option<f64> {
    let is_alone = |one: &&CellSummary| {
        one.point.nodes == 1 && one.server == cell.server && one.point.load() == cell.point.load()
    };
    let alone = cells.iter().find(is_alone)?;
    Some(cell.latency_us.p50? - alone.latency_us.p50?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::{Estimate, Value};

    fn cell(nodes: u32, p50_us: f64) -> CellSummary {
        let mut cell = CellSummary::default();
        cell.point.nodes = nodes;
        cell.latency_us.p50 = Some(p50_us);
        cell.added_us = Some(Estimate {
            median: 0.0,
            low: Some(-100.0),
            high: Some(100.0),
        });
        cell
    }

    fn zones(b: f64, c: f64) -> BTreeMap<String, f64> {
        BTreeMap::from([("b".to_owned(), b), ("c".to_owned(), c)])
    }

    fn told(p50_us: f64, peers_us: &BTreeMap<String, f64>) -> WaitsFor {
        let cells = [cell(1, 3_000.0), cell(3, p50_us)];
        by_latency(&cells, &cells[1], peers_us).0
    }

    #[test]
    fn latency_tells_whom_a_commit_waits_for_where_only_one_can_be_it() {
        let zones = zones(2_000.0, 30_000.0);
        assert_eq!(told(3_400.0, &zones), WaitsFor::Nobody);
        assert_eq!(told(5_300.0, &zones), WaitsFor::Nearest);
        // Once to c, or to b and then to c: c counts either way.
        let cells = [cell(1, 3_000.0), cell(3, 36_900.0)];
        let told_far = by_latency(&cells, &cells[1], &zones);
        assert_eq!(told_far, (WaitsFor::Undecided, Some("c".to_owned())));
        assert_eq!(
            told(15_000.0, &zones),
            WaitsFor::Undecided,
            "no whole number of trips"
        );
    }

    #[test]
    fn peers_alike_are_not_told_apart() {
        assert_eq!(told(5_300.0, &zones(2_000.0, 2_200.0)), WaitsFor::Undecided);
        assert_eq!(told(3_100.0, &zones(2_000.0, 2_200.0)), WaitsFor::Nobody);
    }

    #[test]
    fn a_latency_that_nobody_knows_tells_nothing() {
        let mut cells = [cell(1, 3_000.0), cell(3, 5_300.0)];
        let of = |cells: &[CellSummary]| by_latency(cells, &cells[1], &zones(2_000.0, 30_000.0)).0;
        assert_eq!(of(&cells), WaitsFor::Nearest);
        cells[1].added_us = Some(Estimate {
            median: 2_300.0,
            low: Some(-714.0),
            high: Some(5_360.0),
        });
        assert_eq!(of(&cells), WaitsFor::Undecided);
        cells[1].added_us = Some(Estimate::without_interval(2_300.0));
        assert_eq!(of(&cells), WaitsFor::Undecided);
    }

    #[test]
    fn a_server_alone_waits_for_nobody_and_without_it_nothing_is_told() {
        assert_eq!(told(9_000.0, &BTreeMap::new()), WaitsFor::Nobody);
        let cells = [cell(3, 9_000.0)];
        let (whom, _) = by_latency(&cells, &cells[0], &zones(2_000.0, 30_000.0));
        assert_eq!(whom, WaitsFor::Undecided);
    }

    #[test]
    fn of_both_the_farther_counts_where_it_is_most_of_the_wait() {
        let trips = |value| Value {
            value,
            low: None,
            high: None,
        };
        let anatomy = Anatomy {
            waits_for: Some(WaitsFor::Each),
            per_peer: Some(
                [("b", 1.0), ("c", 1.0)]
                    .map(|(s, v)| (s.to_owned(), trips(v)))
                    .into(),
            ),
            ..Anatomy::default()
        };
        let told = |b, c| by_distances(&anatomy, &zones(b, c)).and_then(|(_, counts)| counts);
        assert_eq!(told(2_000.0, 30_000.0).as_deref(), Some("c"));
        assert_eq!(told(20_000.0, 30_000.0), None);
        let unsure = Anatomy {
            waits_for: Some(WaitsFor::Undecided),
            ..anatomy
        };
        assert_eq!(by_distances(&unsure, &zones(1.0, 1.0)), None);
    }
}
