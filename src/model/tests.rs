use std::collections::BTreeMap;

use super::*;
use crate::analysis::example::{Example, equal, flush, six, unequal};
use crate::analysis::summary::WaitsFor;
use crate::plan::PartOf;
use crate::record::store::Record;
use crate::record::{EndpointFacts, Flag, Host, PartFacts, histogram};
use crate::study::{Disks, Distances};

/// Sites so far apart, in µs, on disks of that flush time; each node on two CPUs of its own.
fn at([ab, ac, bc]: [f64; 3], flush_us: Option<f64>, connections: u32) -> At {
    let pair = |one: &str, other: &str, us| (one.to_owned(), other.to_owned(), us);
    At {
        rtts_us: vec![pair("a", "b", ab), pair("a", "c", ac), pair("b", "c", bc)],
        flush_us,
        connections,
        cpus: Cpus::Own(2),
    }
}

fn equally(us: f64, flush_us: Option<f64>) -> At {
    at([us; 3], flush_us, 1)
}

/// Distances and flush times moved one by one, then both.
fn on_disks() -> Example {
    Example {
        on_disks: crate::analysis::example::anatomy_points(),
        ..Example::default()
    }
}

fn model(example: &Example) -> Model {
    Model::of(&example.record()).expect("a record that tells")
}

fn told(model: &Model, label: &str, at: &At) -> ModeForetold {
    let modes = model.predict(at).modes;
    let mut own = modes.into_iter().filter(|mode| mode.label == label);
    own.next().expect("a mode of the record")
}

fn p50_us(model: &Model, label: &str, at: &At) -> Span {
    let foretold = told(model, label, at).foretold.expect("foretold");
    foretold.p50_us.expect("a median")
}

fn is_near(got: f64, expected: f64) -> bool {
    (got / expected - 1.0).abs() < 0.003
}

fn is_one(span: Span, expected: f64) -> bool {
    span.is_one() && is_near(span.low, expected)
}

#[test]
fn work_round_trips_and_flushes_that_are_known_are_found_and_foretold() {
    let model = model(&on_disks());
    for (label, work_us, round_trips) in [
        ("mysql single", 1_300.0, 0.0),
        ("mysql async", 1_320.0, 0.0),
        ("mysql semisync", 1_500.0, 1.0),
        ("mysql group", 1_900.0, 1.5),
        ("mariadb galera", 1_400.0, 1.0),
    ] {
        // Distances got are 10 µs longer than those that make the truth.
        let truth =
            |rtt_us: f64, flush_us: f64| work_us + round_trips * (rtt_us - 10.0) + 3.0 * flush_us;
        let foretold =
            |rtt_us: f64, flush_us: f64| p50_us(&model, label, &equally(rtt_us, Some(flush_us)));
        for (rtt_us, flush_us) in [(2_160.0, 1_000.0), (5_000.0, 2_000.0), (30_000.0, 0.0)] {
            let got = foretold(rtt_us, flush_us);
            assert!(is_one(got, truth(rtt_us, flush_us)), "{label} {got:?}");
        }
        let slopes = told(&model, label, &equally(1.0, None)).slopes;
        assert!(
            (slopes.round_trips - round_trips).abs() < 0.01,
            "{label} {slopes:?}"
        );
        assert!(
            (slopes.flushes.unwrap() - 3.0).abs() < 0.02,
            "{label} {slopes:?}"
        );
        assert!((slopes.flushes_counted.unwrap() - 3.0).abs() < 0.02);
    }
}

#[test]
fn a_line_is_held_against_the_anatomy_s() {
    let model = model(&on_disks());
    let slopes = told(&model, "mysql group", &equally(1.0, None)).slopes;
    let of_anatomy = slopes
        .round_trips_of_anatomy
        .expect("three distances")
        .value;
    assert!((of_anatomy - slopes.round_trips).abs() < 0.01);
}

#[test]
fn with_one_flush_time_the_count_is_taken() {
    let on_disks: Vec<(Distances, Disks)> = [0.25, 2.15, 8.0]
        .map(|rtt_ms| (equal(rtt_ms), flush(0.5)))
        .to_vec();
    let model = model(&Example {
        on_disks,
        ..Example::default()
    });
    let got = p50_us(&model, "mysql semisync", &equally(2_160.0, Some(4_000.0)));
    assert!(is_one(got, 1_500.0 + 2_150.0 + 3.0 * 4_000.0), "{got:?}");
    let unsaid = p50_us(&model, "mysql semisync", &equally(2_160.0, None));
    assert!(is_one(unsaid, 1_500.0 + 2_150.0 + 1_500.0), "{unsaid:?}");
}

#[test]
fn on_the_host_s_own_disk_another_flush_time_is_ignored() {
    let model = model(&Example::default());
    let slow = equally(2_160.0, Some(50_000.0));
    let got = p50_us(&model, "mysql semisync", &slow);
    assert_eq!(
        got,
        p50_us(&model, "mysql semisync", &equally(2_160.0, None))
    );
    let flushes = told(&model, "mysql semisync", &slow).slopes.flushes;
    assert_eq!(flushes, None);
    let beside = model.predict(&slow).beside;
    let flush = beside.iter().find(|one| one.what == What::FlushTime);
    assert_eq!(flush.map(|one| one.place), Some(Place::Ignored));
}

#[test]
fn whom_a_mode_waits_for_decides_which_distance_counts() {
    let zones = at([2_000.0, 30_000.0, 30_000.0], None, 1);
    // Equal distances alone leave it open: from the shortest to the longest way.
    let undecided = model(&Example::default());
    let got = p50_us(&undecided, "mysql semisync", &zones);
    assert!(
        is_near(got.low, 3_490.0) && is_near(got.high, 31_490.0),
        "{got:?}"
    );
    assert_eq!(undecided.predict(&zones).held.not_foretold, 0);
    let mut distances = Example::default().distances;
    distances.extend([unequal(0.25, 8.0), unequal(8.0, 0.25)]);
    let decided = model(&Example {
        distances,
        ..Example::default()
    });
    let waits = |label: &str| {
        let told = told(&decided, label, &zones);
        told.coefficients.single.waits_for
    };
    assert_eq!(waits("mysql semisync"), [WaitsFor::Nearest]);
    assert_eq!(waits("mariadb galera"), [WaitsFor::Farthest]);
    assert_eq!(waits("mysql group"), [WaitsFor::Each]);
    assert_eq!(waits("mysql single"), [WaitsFor::Nobody]);
    let got = |label| p50_us(&decided, label, &zones);
    assert!(is_one(got("mysql semisync"), 1_500.0 + 1_990.0));
    assert!(is_one(got("mariadb galera"), 1_400.0 + 29_990.0));
    assert!(is_one(got("mysql group"), 1_900.0 + 1.5 * 15_990.0));
}

#[test]
fn each_cell_is_foretold_by_the_others_and_the_interval_holds() {
    let model = model(&on_disks());
    let prediction = model.predict(&equally(2_000.0, Some(500.0)));
    let single = &prediction.held.single;
    assert_eq!((single.cells, prediction.held.not_foretold), (36, 0));
    assert!(single.median.unwrap() < 0.01 && single.nine_in_ten.unwrap() < 0.01);
    assert!(single.factor.unwrap() < 1.01, "{single:?}");
    let mode = told(&model, "mysql semisync", &equally(2_000.0, Some(500.0)));
    let (foretold, kept) = (mode.foretold.unwrap(), mode.p50_us.unwrap());
    let p50_us = foretold.p50_us.unwrap();
    assert!(kept.low <= p50_us.low && p50_us.high <= kept.high);
}

#[test]
fn pairs_that_are_not_got_alike_leave_no_cell_of_an_undecided_mode_out() {
    let mut record = Example::default().record();
    for rtt in record.measurements.iter_mut().flat_map(|m| &mut m.rtts) {
        let off = if rtt.to_site == "c" { 1.01 } else { 0.99 };
        rtt.rtt_us_before *= off;
        rtt.rtt_us_after *= off;
    }
    let held = Model::of(&record)
        .unwrap()
        .predict(&equally(1_000.0, None))
        .held;
    assert_eq!((held.single.cells, held.not_foretold), (18, 0));
}

#[test]
fn a_cell_that_is_off_is_seen_when_it_is_left_out() {
    let mut record = on_disks().record();
    let of_group = |cell: &crate::plan::Cell| cell.mode == 3;
    let cell = record.header.cells.iter().position(of_group).unwrap();
    let other = record
        .measurements
        .iter()
        .find(|m| m.cell == cell + 6)
        .unwrap();
    let latency_us = other.latency_us.clone();
    let mut own = record.measurements.iter_mut().filter(|m| m.cell == cell);
    own.by_ref().for_each(|m| m.latency_us = latency_us.clone());
    let prediction = Model::of(&record).unwrap().predict(&equally(1_000.0, None));
    let id = &record.header.cells[cell].id;
    let left_out = prediction
        .held
        .cells
        .iter()
        .find(|left| left.id == *id)
        .unwrap();
    let ratio = left_out.p50_us_foretold / left_out.p50_us_got;
    assert!(ratio < 0.7, "{left_out:?}");
}

#[test]
fn the_tail_is_that_of_all_residuals() {
    let model = model(&Example::default());
    let mode = told(&model, "mysql single", &equally(2_000.0, None));
    let foretold = mode.foretold.unwrap();
    let p99 = foretold.p99_us.expect("24,000 commits");
    // 5 % of the example's commits take 1.6 times the median or more, 0.75 % four times.
    assert!(is_one(p99, 1_300.0 * 1.6), "{p99:?}");
    // Each cell's is foretold by the others, and its interval is kept by nine in ten of them.
    let held = model.predict(&equally(2_000.0, None)).held;
    assert!(held.single_p99.cells >= 9, "{:?}", held.single_p99);
    let within = mode.p99_us.expect("an interval");
    assert!(within.low <= p99.low && p99.high <= within.high);
}

#[test]
fn what_is_asked_is_told_to_be_inside_or_far_outside() {
    let model = model(&on_disks());
    let far = at([2_000.0, 1e7, 1e7], Some(500.0), 1);
    let prediction = model.predict(&far);
    let place = |what: &What| {
        let beside = prediction.beside.iter().find(|one| one.what == *what);
        beside.map(|one| one.place)
    };
    let distance = |from: &str, to: &str| What::Distance {
        from: from.to_owned(),
        to: to.to_owned(),
    };
    assert_eq!(place(&distance("a", "b")), Some(Place::Inside));
    let above = Some(Place::Above {
        times: Some(1_250.0),
    });
    assert_eq!(place(&distance("a", "c")), above);
    assert_eq!(place(&What::FlushTime), Some(Place::Inside));
    assert_eq!(place(&What::Connections), Some(Place::Inside));
    assert_eq!(place(&What::Cpus), Some(Place::Unmeasured));
    // It is foretold all the same.
    assert!(prediction.modes.iter().all(|mode| mode.foretold.is_some()));
}

#[test]
fn without_cells_of_several_connections_they_are_not_foretold() {
    let model = model(&Example::default());
    let many = at([2_000.0; 3], None, 32);
    for mode in model.predict(&many).modes {
        let foretold = mode.foretold.unwrap();
        assert_eq!((foretold.p50_us, foretold.commits_per_s), (None, None));
        assert!(foretold.p99_us.is_none() && foretold.most.is_none());
        assert_eq!(foretold.limits, [], "nothing limits what nobody foretells");
        assert!(!mode.trust.is_trusted);
    }
}

#[test]
fn cells_of_several_connections_tell_how_commits_share() {
    let example = Example {
        connections: vec![1, 4, 16],
        ..on_disks()
    };
    let model = model(&example);
    let many = at([2_160.0; 3], Some(1_000.0), 16);
    let mode = told(&model, "mysql semisync", &many);
    let several = mode
        .coefficients
        .several
        .as_ref()
        .expect("cells of several");
    // Each commit of the example takes 310 µs of CPU and three flushes, however many there are.
    assert!(several.writer_cpu.fall < 1e-9 && several.writer_cpu.growth < 1e-9);
    assert!(is_near(several.writer_cpu.rest_us, 310.0));
    assert_eq!(several.pipeline.map(|pipeline| pipeline.power), Some(0.0));
    let foretold = mode.foretold.unwrap();
    // Flushes one after the other: 3 · (1,000 + 240) µs for each.
    let most = foretold.most.expect("flushes in turn are bounded");
    assert!(is_near(most.commits_per_s.low, 1e6 / 3_720.0), "{most:?}");
    let per_s = foretold.commits_per_s.unwrap();
    assert!(per_s.low <= most.commits_per_s.low && per_s.low > 0.9 * most.commits_per_s.low);
    assert_eq!(foretold.limits, [Limit::Flushes]);
    // The example's 16 connections wait for nothing, so nobody foretells them that way.
    assert!(!mode.trust.is_trusted && mode.trust.shared_cells > 0);
    let held = model.predict(&many).held;
    assert!(held.several.cells > 0 && held.several_per_s.median.unwrap() > TRUSTED);
}

/// One mode whose single commits take 1 ms, all of it the writer's CPU, and no peers.
fn on_cpus_alone() -> Coefficients {
    Coefficients {
        sites: vec!["a".to_owned()],
        single: Single {
            work_us: 1_000.0,
            round_trips: 0.0,
            waits_for: vec![WaitsFor::Nobody],
            flushes: None,
            flush_us: 0.0,
            mean_ratio: 1.0,
            tail_us: None,
        },
        several: Some(Several {
            writer_cpu: Demand {
                rest_us: 1_000.0,
                growth: 0.0,
                fall: 0.0,
            },
            host_cpu: None,
            pipeline: None,
            appliers: None,
            medians: vec![],
            p99s: vec![AtConnections {
                connections: 4,
                ratio: 2.0,
            }],
        }),
    }
}

#[test]
fn cpus_alone_are_shared_as_the_textbook_says() {
    let of = |connections: u32, cpus: Cpus| {
        let place = At {
            connections,
            cpus,
            ..at([0.0; 3], None, 1)
        };
        evaluate(&on_cpus_alone(), &place).unwrap()
    };
    let one = of(4, Cpus::Own(1));
    assert!(is_one(one.p50_us.unwrap(), 4_000.0) && is_one(one.commits_per_s.unwrap(), 1_000.0));
    assert!(is_one(one.p99_us.unwrap(), 8_000.0));
    assert_eq!(one.limits, [Limit::Cpus]);
    let four = of(4, Cpus::Own(4));
    assert!(is_one(four.p50_us.unwrap(), 1_000.0) && is_one(four.commits_per_s.unwrap(), 4_000.0));
    let most = four.most.unwrap();
    assert!(is_one(most.commits_per_s, 4_000.0));
    assert_eq!(most.from_connections, Some(4));
    assert_eq!(
        of(4, Cpus::Shared(2)).commits_per_s,
        None,
        "nobody knows of the host"
    );
}

#[test]
fn appliers_that_hold_the_writer_back_are_the_limit() {
    let mut coefficients = on_cpus_alone();
    let appliers = Appliers {
        threads: 1,
        flushes: 2.0,
        floor_us: 0.0,
        together: 1.0,
        cpu_us: 2_000.0,
        hold_back: true,
    };
    let several = coefficients.several.as_mut().unwrap();
    several.appliers = Some(appliers);
    let place = At {
        connections: 8,
        ..at([0.0; 3], None, 1)
    };
    let held = evaluate(&coefficients, &place).unwrap();
    assert!(is_one(held.commits_per_s.unwrap(), 500.0));
    assert_eq!(
        (held.limits, held.replicas_per_s),
        (vec![Limit::Appliers], Some(500.0))
    );
    let appliers = Appliers {
        hold_back: false,
        ..appliers
    };
    coefficients.several.as_mut().unwrap().appliers = Some(appliers);
    let free = evaluate(&coefficients, &place).unwrap();
    assert!(is_one(free.commits_per_s.unwrap(), 2_000.0));
    assert_eq!(free.replicas_per_s, Some(500.0), "they fall behind");
}

#[test]
fn coefficients_read_again_foretell_the_same() {
    let example = Example {
        connections: vec![1, 16],
        ..on_disks()
    };
    let model = model(&example);
    let place = at([2_000.0, 9_000.0, 7_000.0], Some(700.0), 24);
    for (label, coefficients) in model.coefficients() {
        let text = serde_json::to_string(coefficients).unwrap();
        let again: Coefficients = serde_json::from_str(&text).unwrap();
        assert_eq!(&again, coefficients, "{label}");
        assert_eq!(
            evaluate(&again, &place),
            evaluate(coefficients, &place),
            "{label}"
        );
    }
    assert_eq!(model.coefficients().count(), 6);
}

#[test]
fn another_record_is_foretold_by_the_first() {
    let first = model(&Example::default());
    let elsewhere = Example {
        distances: vec![equal(1.0), equal(5.0)],
        ..Example::default()
    };
    let checked = &first.check(&[elsewhere.record()])[0];
    let single = &checked.single;
    assert_eq!((single.errors.cells, checked.not_foretold), (12, 0));
    assert!(single.errors.median.unwrap() < 0.01);
    // Both records are made alike, so what the first misses by a rounding the second does too.
    assert!(single.within.unwrap() >= 0.5, "{single:?}");
    let mut slower = elsewhere.record();
    let half = |cell: &mut crate::plan::Cell| cell.connections = 2;
    slower.header.cells.iter_mut().for_each(half);
    assert_eq!(
        first.check(&[slower])[0].not_foretold,
        12,
        "it knows of one connection only"
    );
}

/// The same record of a day on which all took so many times as long.
fn slower(times: f64) -> Record {
    let mut record = Example::default().record();
    for measurement in &mut record.measurements {
        let mut stretched = histogram::empty();
        for step in histogram::decode(&measurement.latency_us)
            .unwrap()
            .iter_recorded()
        {
            let us = step.value_iterated_to() as f64 * times;
            stretched
                .record_n(us as u64, step.count_at_value())
                .unwrap();
        }
        measurement.latency_us = histogram::encode(&stretched);
    }
    record
}

#[test]
fn records_of_other_days_widen_the_interval() {
    let first = || model(&Example::default());
    let own = first().predict(&equally(2_000.0, None));
    let days = [slower(1.2), slower(1.1)];
    let known = first().with_days(&days).predict(&equally(2_000.0, None));
    let factor = known.held.single.factor.unwrap();
    assert!((factor - 1.2).abs() < 0.02, "{factor}");
    for (own, known) in own.modes.iter().zip(&known.modes) {
        let (own, known) = (own.p50_us.unwrap(), known.p50_us.unwrap());
        assert!(
            known.low < own.low && known.high > own.high,
            "{own:?} {known:?}"
        );
    }
    // The slowest day is beyond what the others tell of; the other lies within what it tells.
    let within: Vec<_> = known.checked.iter().map(|day| day.single.within).collect();
    assert_eq!(within, [Some(0.0), Some(1.0)]);
}

fn refused(change: impl FnOnce(&mut Record)) -> Refusal {
    let mut record = Example::default().record();
    change(&mut record);
    match Model::of(&record) {
        Ok(_) => panic!("it is not refused"),
        Err(refusal) => refusal,
    }
}

#[test]
fn each_record_that_tells_nothing_is_refused_in_words() {
    let endpoints = refused(|record| record.header.endpoints = vec![EndpointFacts::default()]);
    let nothing = refused(|record| record.measurements.clear());
    let void = refused(|record| {
        let all = record.measurements.iter_mut();
        all.for_each(|m| m.flags.push(Flag::LateLinks));
    });
    let one_round = refused(|record| record.measurements.retain(|m| m.round == 0));
    let no_line = refused(|record| {
        let all = record.header.cells.iter_mut();
        all.for_each(|cell| cell.connections = 4);
    });
    assert_eq!(endpoints, Refusal::Endpoints);
    assert_eq!((nothing, void), (Refusal::Nothing, Refusal::Nothing));
    assert_eq!(one_round, Refusal::OneRound);
    assert_eq!(no_line, Refusal::NoLine);
    let all = [endpoints, nothing, one_round, no_line, Refusal::Faults];
    for refusal in all.into_iter().chain([Refusal::Machines]) {
        assert!(refusal.words().contains("give"), "{refusal:?}");
    }
}

/// The example, every second round of which another machine with so many CPUs measured.
fn on_two_machines(cpus: [u32; 2]) -> Record {
    let mut record = Example::default().record();
    let part = |(part, cpus): (PartOf, u32)| PartFacts {
        part,
        command_line: vec![],
        started_unix_ms: 0,
        host: Host {
            machine: Some(part.to_string()),
            cpus,
            ..Host::default()
        },
        self_test: None,
        labs: vec![],
    };
    record.header.parts = PartOf::all(2).zip(cpus).map(part).collect();
    record
}

#[test]
fn machines_of_several_sizes_foretell_nothing_and_are_held_against_nothing() {
    let unlike = on_two_machines([2, 8]);
    assert_eq!(Model::of(&unlike).err(), Some(Refusal::Machines));
    let first = model(&Example::default());
    let checked = |record: Record| first.check(&[record])[0].single.errors.cells;
    assert_eq!(checked(unlike), 0);
    assert!(checked(on_two_machines([2, 2])) > 0);
}

/// The head's machine may be one that measured nothing.
#[test]
fn machines_alike_have_the_cpus_that_they_have() {
    let mut record = on_two_machines([8, 8]);
    record.header.host.cpus = 2;
    let facts = facts::facts(&record);
    assert!(!facts.is_empty() && facts.iter().all(|fact| fact.cpus == Cpus::Shared(8)));
    let busy = |record: &Record| facts::facts(record)[0].host_busy_us.expect("a host");
    let of_two = busy(&on_two_machines([2, 2]));
    assert!(busy(&record) > of_two, "{of_two}");
}

#[test]
fn a_record_of_faults_alone_is_refused() {
    let mut record = crate::analysis::worth::example();
    record.header.cells.clear();
    record.measurements.clear();
    let refusal = Model::of(&record).err();
    assert_eq!(refusal, Some(Refusal::Faults));
}

#[test]
fn a_mode_at_one_distance_is_told_to_lack_others() {
    let example = Example {
        distances: vec![equal(2.0)],
        ..Example::default()
    };
    let model = model(&example);
    let lacking = model.predict(&equally(2_000.0, None)).lacking;
    let by_label: BTreeMap<&str, Lack> = lacking.iter().map(|l| (&l.label[..], l.lack)).collect();
    assert_eq!(by_label.get("mysql semisync"), Some(&Lack::OneDistance));
    assert_eq!(
        by_label.get("mysql single"),
        None,
        "it waits for no distance"
    );
    let got = p50_us(&model, "mysql single", &equally(9_000.0, None));
    assert!(is_one(got, 1_300.0), "{got:?}");
}

#[test]
fn a_mode_that_was_not_measured_is_told_to_lack_it() {
    let mut record = Example::default().record();
    let of_group = |cell: usize, record: &Record| record.header.cells[cell].mode == 3;
    let sound: Vec<bool> = (record.measurements.iter())
        .map(|m| !of_group(m.cell, &record))
        .collect();
    let mut keep = sound.into_iter();
    record.measurements.retain(|_| keep.next().unwrap_or(false));
    let prediction = Model::of(&record).unwrap().predict(&equally(2_000.0, None));
    let [lacking] = &prediction.lacking[..] else {
        panic!("{:?}", prediction.lacking);
    };
    assert_eq!(
        (&lacking.label[..], lacking.lack),
        ("mysql group", Lack::NoSingle)
    );
    assert_eq!(six().len() - 1, prediction.modes.len());
}
