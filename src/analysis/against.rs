//! What each mode adds to the row that the user holds all others against, and whom it waits for.

use std::collections::BTreeMap;

use super::interval::{Noise, Risk};
use super::rounds::over_rounds;
use super::summary::{
    AddedAt, Against, Anatomy, Axis, CellSummary, Estimate, ModeAgainst, WaitsFor,
};
use crate::study::{ModeSpec, Study};

/// Less than this share of the nearest peer's distance is no wait for a peer.
const NOBODY: f64 = 0.5;
/// Round trips of a commit that are taken for possible, where no series of distances tells them.
const TRIPS: std::ops::RangeInclusive<f64> = 0.7..=3.0;
/// A peer whose distance makes up so much of what is waited for is the one that counts.
const MOST: f64 = 0.8;

/// `None` where the study has no such row.
pub fn of(study: &Study, cells: &[CellSummary], anatomy: &[Anatomy]) -> Option<Against> {
    Some(Against {
        baseline: study.baseline.clone()?,
        modes: modes(study, cells, anatomy),
    })
}

/// Each mode against the row that it is held against, whichever that is: the user's, or else its
/// own server's.
pub fn modes(study: &Study, cells: &[CellSummary], anatomy: &[Anatomy]) -> Vec<ModeAgainst> {
    let labels = study.modes.iter().map(|spec| &spec.label);
    let modes = labels.filter_map(|label| {
        let plain = cells.iter().filter(|cell| cell.moved.is_none());
        let own = plain.filter(|cell| cell.label == *label);
        let held: Vec<&CellSummary> = own.filter(|cell| cell.added_us.is_some()).collect();
        mode(study, cells, anatomy, &held)
    });
    modes.collect()
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
        .unwrap_or_else(|| by_latency(wait_us(study, cells, first), &peers_us));
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
/// times, it can be; or that of all peers one after the other. Undecided where its interval holds
/// more than one way, or none, or part of one; then a peer that makes up most of either is still
/// known to count.
fn by_latency(
    wait_us: Option<Estimate>,
    peers_us: &BTreeMap<String, f64>,
) -> (WaitsFor, Option<String>) {
    let mut by_distance: Vec<(&String, f64)> = peers_us.iter().map(|(s, us)| (s, *us)).collect();
    by_distance.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let Some((_, nearest_us)) = by_distance.first() else {
        return (WaitsFor::Nobody, None);
    };
    let undecided = (WaitsFor::Undecided, None);
    let Some((low, high)) = wait_us.and_then(|wait| wait.low.zip(wait.high)) else {
        return undecided;
    };
    if high < NOBODY * nearest_us {
        return (WaitsFor::Nobody, None);
    }
    let trips = |us: f64| (low / us, high / us);
    let can_be = |us: f64| {
        let (least, most) = trips(us);
        least <= *TRIPS.end() && most >= *TRIPS.start()
    };
    let must_be = |us: f64| {
        let (least, most) = trips(us);
        TRIPS.contains(&least) && TRIPS.contains(&most)
    };
    let mut possible = (0..by_distance.len()).filter(|place| can_be(by_distance[*place].1));
    let (Some(place), None) = (possible.next(), possible.next()) else {
        return undecided;
    };
    let (site, us) = by_distance[place];
    if !must_be(us) {
        return undecided;
    }
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

/// The median above that of the same server alone, under the same load and set as alike as there
/// is one, paired by round. `None` where no such server was measured.
fn wait_us(study: &Study, cells: &[CellSummary], cell: &CellSummary) -> Option<Estimate> {
    let spec = |of: &CellSummary| study.modes.iter().find(|spec| spec.label == of.label);
    let own = spec(cell)?;
    let is_alone = |one: &&CellSummary| {
        one.point.nodes == 1 && one.server == cell.server && one.point.load() == cell.point.load()
    };
    let alone = cells.iter().filter(is_alone);
    let alone = alone.filter_map(|one| Some((one, spec(one)?)));
    let alone = alone.filter(|(_, one)| one.slowdown.is_none());
    // The first of those that are most alike.
    let likeness = |one: &ModeSpec| (one.binary_log == own.binary_log, one.likeness(own));
    let most = alone.rev().max_by_key(|(_, one)| likeness(one));
    let (alone, _) = most?;
    let (with, without) = (&cell.by_round.p50_us, &alone.by_round.p50_us);
    let less = |(round, us): (&u32, &f64)| Some((*round, us - without.get(round)?));
    let waits: BTreeMap<u32, f64> = with.iter().filter_map(less).collect();
    // Each sound round has a throughput.
    let (sound, alone) = (&cell.by_round, &alone.by_round);
    let rounds = sound.throughput_per_s.keys();
    let both = rounds.filter(|round| alone.throughput_per_s.contains_key(round));
    over_rounds(&waits, both.count() as u32, Noise::Adds, Risk::of(study))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::Value;

    fn wait(low: f64, high: f64) -> Option<Estimate> {
        Some(Estimate {
            median: (low + high) / 2.0,
            low: Some(low),
            high: Some(high),
        })
    }

    fn zones(b: f64, c: f64) -> BTreeMap<String, f64> {
        BTreeMap::from([("b".to_owned(), b), ("c".to_owned(), c)])
    }

    fn told(low: f64, high: f64, peers_us: &BTreeMap<String, f64>) -> WaitsFor {
        by_latency(wait(low, high), peers_us).0
    }

    #[test]
    fn latency_tells_whom_a_commit_waits_for_where_only_one_can_be_it() {
        let zones = zones(2_000.0, 30_000.0);
        assert_eq!(told(300.0, 500.0, &zones), WaitsFor::Nobody);
        assert_eq!(told(2_200.0, 2_400.0, &zones), WaitsFor::Nearest);
        // Once to c, or to b and then to c: c counts either way.
        let told_far = by_latency(wait(33_800.0, 34_000.0), &zones);
        assert_eq!(told_far, (WaitsFor::Undecided, Some("c".to_owned())));
        let none = told(11_900.0, 12_100.0, &zones);
        assert_eq!(none, WaitsFor::Undecided, "no whole number of trips");
    }

    #[test]
    fn a_wait_whose_interval_holds_two_ways_tells_nothing() {
        let zones = zones(250.0, 8_000.0);
        // What a replica's work adds at its source: no wait for the one 0.25 ms away.
        assert_eq!(told(66.0, 284.0, &zones), WaitsFor::Undecided);
        assert_eq!(told(-40.0, 400.0, &zones), WaitsFor::Undecided);
        assert_eq!(told(-40.0, 100.0, &zones), WaitsFor::Nobody);
        assert_eq!(told(200.0, 300.0, &zones), WaitsFor::Nearest);
        assert_eq!(
            told(150.0, 300.0, &zones),
            WaitsFor::Undecided,
            "part of one way"
        );
    }

    #[test]
    fn peers_alike_are_not_told_apart() {
        let zones = zones(2_000.0, 2_200.0);
        assert_eq!(told(2_250.0, 2_350.0, &zones), WaitsFor::Undecided);
        assert_eq!(told(50.0, 150.0, &zones), WaitsFor::Nobody);
    }

    #[test]
    fn a_server_alone_waits_for_nobody_and_without_an_interval_nothing_is_told() {
        assert_eq!(told(8_900.0, 9_100.0, &BTreeMap::new()), WaitsFor::Nobody);
        let zones = zones(2_000.0, 30_000.0);
        let bare = Some(Estimate::without_interval(2_300.0));
        for unknown in [None, bare] {
            assert_eq!(by_latency(unknown, &zones).0, WaitsFor::Undecided);
        }
    }

    fn cell(label: &str, nodes: u32, p50_us: &[f64]) -> CellSummary {
        let mut cell = CellSummary {
            label: label.to_owned(),
            rounds: 4,
            ..CellSummary::default()
        };
        cell.point.nodes = nodes;
        cell.by_round.p50_us = (1..).zip(p50_us.iter().copied()).collect();
        cell.by_round.throughput_per_s = (1..=4).map(|round| (round, 100.0)).collect();
        cell
    }

    #[test]
    fn a_wait_is_that_above_a_server_alone_which_is_alike_round_by_round() {
        let spec = |label: &str, flush: &str| ModeSpec {
            label: label.to_owned(),
            variables: BTreeMap::from([(
                "innodb_flush_log_at_trx_commit".to_owned(),
                flush.to_owned(),
            )]),
            ..ModeSpec::default()
        };
        let study = Study {
            modes: vec![spec("loose", "0"), spec("alone", "1"), spec("async", "1")],
            ..Study::default()
        };
        let base = [5_000.0, 5_400.0, 5_100.0, 5_200.0];
        let own = base.map(|us| us + 2_000.0);
        let cells = [
            cell("loose", 1, &[1_000.0; 4]),
            cell("alone", 1, &base),
            cell("async", 3, &own),
        ];
        let wait = wait_us(&study, &cells, &cells[2]).expect("a server alone");
        assert_eq!((wait.low, wait.high), (Some(2_000.0), Some(2_000.0)));
        let lacking = [cell("alone", 1, &base), cell("async", 3, &own[..3])];
        let wait = wait_us(&study, &lacking, &lacking[1]).expect("three rounds");
        assert_eq!(wait.low, None, "a round does not tell");
        // Each was disturbed in another round: the two that they share tell.
        let mut apart = [cell("alone", 1, &base), cell("async", 3, &own)];
        for (cell, round) in apart.iter_mut().zip([2, 3]) {
            cell.rounds = 3;
            cell.by_round.p50_us.remove(&round);
            cell.by_round.throughput_per_s.remove(&round);
        }
        let wait = wait_us(&study, &apart, &apart[1]).expect("two rounds");
        assert_eq!(wait.low, Some(2_000.0));
        assert_eq!(wait_us(&study, &cells[2..], &cells[2]), None);
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
