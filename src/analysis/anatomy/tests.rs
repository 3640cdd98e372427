use crate::analysis::example::{Example, Truth, Waits, equal, six, unequal};
use crate::analysis::summarise;
use crate::analysis::summary::Anatomy;
use crate::record::store::Record;
use crate::record::{Flag, Measurement, histogram};

fn of<'a>(all: &'a [Anatomy], label: &str) -> &'a Anatomy {
    all.iter().find(|anatomy| anatomy.label == label).unwrap()
}

fn anatomies(record: &Record) -> Vec<Anatomy> {
    summarise(record).anatomy
}

#[test]
fn slopes_and_intercepts_are_the_truth() {
    let all = anatomies(&Example::default().record());
    let truths = [
        ("mysql single", 0.0, 1300.0),
        ("mysql semisync", 1.0, 1500.0),
        ("mysql group", 1.5, 1900.0),
        ("mariadb galera", 1.0, 1400.0),
    ];
    for (label, round_trips, work_us) in truths {
        let anatomy = of(&all, label);
        let value = anatomy.round_trips.unwrap();
        assert!(
            (value.value - round_trips).abs() < 0.002,
            "{label} {value:?}"
        );
        // Distances got are 10 µs longer than asked, which the line puts into the work.
        let work = anatomy.work_us.unwrap().value;
        assert!(
            (work + 10.0 * round_trips - work_us).abs() < 5.0,
            "{label} {work}"
        );
        assert!(anatomy.lack_of_fit.unwrap().residual_us_max < 5.0);
        assert_eq!((anatomy.rounds, anatomy.distances), (4, 3));
        assert_eq!((&anatomy.per_peer, &anatomy.waits_for), (&None, &None));
    }
}

#[test]
fn two_distances_draw_no_line() {
    let example = Example {
        distances: vec![equal(0.25), equal(8.0)],
        ..Example::default()
    };
    let all = anatomies(&example.record());
    assert!(
        all.iter()
            .all(|a| a.round_trips.is_none() && a.lack_of_fit.is_none())
    );
}

#[test]
fn more_than_one_connection_draws_no_line() {
    let example = Example {
        connections: vec![4],
        ..Example::default()
    };
    assert_eq!(anatomies(&example.record()), []);
}

#[test]
fn rounds_cut_short_and_void_rounds_are_left_out() {
    let mut record = Example::default().record();
    record.measurements.retain(|m| m.round < 3 || m.cell < 8);
    let void = record
        .measurements
        .iter_mut()
        .find(|m| m.round == 1 && m.cell == 14);
    void.unwrap().flags.push(Flag::LateLinks);
    let all = anatomies(&record);
    assert_eq!(of(&all, "mysql single").rounds, 3);
    assert_eq!(of(&all, "mysql semisync").rounds, 2);
}

#[test]
fn one_round_has_a_slope_without_an_interval() {
    let example = Example {
        rounds: 1,
        ..Example::default()
    };
    let all = anatomies(&example.record());
    let anatomy = of(&all, "mysql semisync");
    assert_eq!(anatomy.round_trips.unwrap().low, None);
    assert_eq!(anatomy.lack_of_fit.unwrap().p, None);
}

fn shift_latency(measurement: &mut Measurement, us: f64) {
    let old = histogram::decode(&measurement.latency_us).unwrap();
    let mut new = histogram::empty();
    for value in old.iter_recorded() {
        let shifted = value.value_iterated_to() as f64 + us;
        new.record_n(shifted as u64, value.count_at_value())
            .unwrap();
    }
    measurement.latency_us = histogram::encode(&new);
}

/// The record with scatter of up to ±20 µs, and the middle distance bent by `bend_us`.
fn bent(bend_us: f64) -> Anatomy {
    let mut record = Example::default().record();
    for measurement in &mut record.measurements {
        let scatter = f64::from((measurement.round * 13 + measurement.cell as u32 * 5) % 11);
        let is_middle = (6..12).contains(&measurement.cell);
        shift_latency(measurement, 4.0 * (scatter - 5.0));
        shift_latency(measurement, if is_middle { bend_us } else { 0.0 });
    }
    of(&anatomies(&record), "mysql semisync").clone()
}

#[test]
fn a_bent_line_is_told_from_scatter() {
    let straight = bent(0.0).lack_of_fit.unwrap();
    assert!(straight.p.unwrap() > 0.05, "{straight:?}");
    let bent = bent(600.0).lack_of_fit.unwrap();
    assert!(bent.p.unwrap() < 0.001, "{bent:?}");
    assert!(
        bent.residual_us_max > 250.0 && bent.share > 0.05,
        "{bent:?}"
    );
}

/// What is said of a mode that waits so, with peers near and far in turn.
fn waits(waits: Waits, round_trips: f64) -> Anatomy {
    let mut truth: Truth = six().remove(2);
    (truth.waits, truth.round_trips) = (waits, round_trips);
    let mut distances = Example::default().distances;
    distances.extend([unequal(0.25, 8.0), unequal(8.0, 0.25)]);
    let example = Example {
        truths: vec![truth],
        distances,
        ..Example::default()
    };
    anatomies(&example.record()).remove(0)
}

#[test]
fn unequal_distances_tell_whom_a_mode_waits_for() {
    let said = |model, trips| waits(model, trips).waits_for.unwrap();
    assert_eq!(said(Waits::Nearest, 1.0), "nearest");
    assert_eq!(said(Waits::Farthest, 1.0), "farthest");
    assert_eq!(said(Waits::For([1.0, 0.5]), 1.0), "both");
    assert_eq!(said(Waits::For([1.0, 0.0]), 1.0), "b");
    assert_eq!(said(Waits::For([0.0, 2.0]), 1.0), "c");
    assert_eq!(said(Waits::Nearest, 0.0), "nobody");
}

#[test]
fn each_peer_gets_its_slope() {
    let peers = waits(Waits::For([1.0, 0.5]), 1.0).per_peer.unwrap();
    assert!((peers["b"].value - 1.0).abs() < 0.005, "{peers:?}");
    assert!((peers["c"].value - 0.5).abs() < 0.005, "{peers:?}");
    assert!(peers["b"].low.is_some());
}

#[test]
fn where_no_model_is_clearly_best_it_says_undecided() {
    let mut truth = six().remove(2);
    truth.waits = Waits::Nearest;
    let mut distances = Example::default().distances;
    distances.extend([unequal(2.0, 2.1), unequal(2.1, 2.0)]);
    let example = Example {
        truths: vec![truth],
        distances,
        ..Example::default()
    };
    let mut record = example.record();
    for measurement in &mut record.measurements {
        let scatter = [30.0, -25.0, 40.0, -45.0, 5.0][measurement.cell];
        shift_latency(measurement, scatter);
    }
    assert_eq!(
        anatomies(&record)[0].waits_for.as_deref(),
        Some("undecided")
    );
}
