use crate::analysis::example::{Example, Truth, Waits, apart, equal, six, unequal};
use crate::analysis::summarise;
use crate::analysis::summary::{Anatomy, Source, WaitsFor};
use crate::record::LinkTraffic;
use crate::record::store::Record;
use crate::study::Distances;

/// A mode that waits so, with peers near and far in turn.
fn example(waits: Waits, round_trips: f64) -> Example {
    with(
        waits,
        round_trips,
        vec![unequal(0.25, 8.0), unequal(8.0, 0.25)],
    )
}

fn with(waits: Waits, round_trips: f64, others: Vec<Distances>) -> Example {
    let mut truth: Truth = six().remove(2);
    (truth.waits, truth.round_trips) = (waits, round_trips);
    let mut distances = Example::default().distances;
    distances.extend(others);
    Example {
        truths: vec![truth],
        distances,
        ..Example::default()
    }
}

fn anatomy(record: &Record) -> Anatomy {
    summarise(record).anatomy.remove(0)
}

fn said(waits: Waits, round_trips: f64) -> WaitsFor {
    let anatomy = anatomy(&example(waits, round_trips).record());
    anatomy.waits_for.unwrap()
}

#[test]
fn unequal_distances_tell_whom_a_mode_waits_for() {
    assert_eq!(said(Waits::Nearest, 1.0), WaitsFor::Nearest);
    assert_eq!(said(Waits::Farthest, 1.0), WaitsFor::Farthest);
    assert_eq!(said(Waits::For([1.0, 1.0]), 1.0), WaitsFor::Each);
    assert_eq!(
        said(Waits::For([1.0, 0.0]), 1.0),
        WaitsFor::Site("b".into())
    );
    assert_eq!(
        said(Waits::For([0.0, 2.0]), 1.0),
        WaitsFor::Site("c".into())
    );
    assert_eq!(said(Waits::Nearest, 0.0), WaitsFor::Nobody);
}

#[test]
fn the_best_of_all_candidates_is_not_named_if_it_foretells_wrongly() {
    let mixed = said(
        Waits::Mixed {
            far: 0.8,
            near: 0.2,
        },
        1.0,
    );
    assert_eq!(mixed, WaitsFor::Undecided);
    assert_eq!(said(Waits::For([1.0, 0.5]), 1.0), WaitsFor::Undecided);
    // A twentieth of the way is within what a candidate may be off by.
    let nearly = said(
        Waits::Mixed {
            far: 0.96,
            near: 0.04,
        },
        1.0,
    );
    assert_eq!(nearly, WaitsFor::Farthest);
}

#[test]
fn the_way_round_is_told_by_the_distance_between_the_peers() {
    let others = || {
        vec![
            apart(4.0, 4.0, 0.25),
            apart(4.0, 4.0, 16.0),
            apart(2.15, 8.0, 8.0),
        ]
    };
    let ring = anatomy(&with(Waits::Ring, 1.5, others()).record());
    assert_eq!(ring.waits_for, Some(WaitsFor::Ring));
    assert!((ring.round_trips.unwrap().value - 1.5).abs() < 0.01);
    // Nobody goes round for a single round trip.
    let one = anatomy(&with(Waits::Ring, 1.0, others()).record());
    assert_eq!(one.waits_for, Some(WaitsFor::Undecided));
}

#[test]
fn order_and_then_the_farthest_is_told_from_a_ring_by_its_round_trips() {
    // Of these the way round is as long: only the number of round trips differs.
    let of = |waits, trips| anatomy(&example(waits, trips).record()).waits_for;
    assert_eq!(
        of(Waits::OrderAndFarthest, 3.0),
        Some(WaitsFor::OrderAndFarthest)
    );
    assert_eq!(of(Waits::Ring, 1.5), Some(WaitsFor::Ring));
    let between = with(Waits::OrderAndFarthest, 3.0, vec![apart(4.0, 8.0, 4.0)]);
    assert_eq!(
        anatomy(&between.record()).waits_for,
        Some(WaitsFor::OrderAndFarthest)
    );
}

#[test]
fn two_candidates_that_foretell_alike_leave_it_undecided() {
    let example = with(
        Waits::Nearest,
        1.0,
        vec![unequal(2.0, 2.1), unequal(2.1, 2.0)],
    );
    let said = anatomy(&example.record()).waits_for;
    assert_eq!(said, Some(WaitsFor::Undecided));
}

#[test]
fn without_a_line_nothing_is_foretold() {
    let mut example = example(Waits::Nearest, 1.0);
    example.distances.remove(1);
    let said = anatomy(&example.record()).waits_for;
    assert_eq!(said, Some(WaitsFor::Undecided));
}

/// The record with delays of the window that are `share` of what was asked, both ways together.
fn with_links(share: f64) -> Record {
    let mut record = Example {
        distances: [0.25, 2.15, 8.0].map(equal).into(),
        ..example(Waits::Nearest, 1.0)
    }
    .record();
    let cells = record.header.cells.clone();
    for measurement in &mut record.measurements {
        let distances = &cells[measurement.cell].distances;
        let link = |(from, to): (&str, &str)| LinkTraffic {
            from: from.into(),
            to: to.into(),
            packets: 100,
            delay_us: Some(distances.rtt(from, to).unwrap().as_secs_f64() * share * 0.5e6),
            ..LinkTraffic::default()
        };
        let ways = [("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")];
        measurement.links = ways.map(link).into();
    }
    record
}

#[test]
fn round_trip_times_are_those_of_the_window_and_not_of_the_probe() {
    let anatomy = anatomy(&with_links(1.25));
    assert_eq!(anatomy.rtt_from, Source::Window);
    assert!(
        (anatomy.round_trips.unwrap().value - 0.8).abs() < 0.005,
        "{anatomy:?}"
    );
}

#[test]
fn one_measurement_without_delays_leaves_all_to_the_probes() {
    let mut record = with_links(1.25);
    record.measurements[0].links.clear();
    let anatomy = anatomy(&record);
    assert_eq!(anatomy.rtt_from, Source::Probe);
    assert!(
        (anatomy.round_trips.unwrap().value - 1.0).abs() < 0.005,
        "{anatomy:?}"
    );
}

#[test]
fn each_peer_gets_its_slope() {
    let peers = anatomy(&example(Waits::For([1.0, 0.5]), 1.0).record())
        .per_peer
        .unwrap();
    assert!((peers["b"].value - 1.0).abs() < 0.005, "{peers:?}");
    assert!((peers["c"].value - 0.5).abs() < 0.005, "{peers:?}");
    assert!(peers["b"].low.is_some());
}
