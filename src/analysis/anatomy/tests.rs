use crate::analysis::example::{Example, anatomy_points, eight, equal, flush, slow_at};
use crate::analysis::summarise;
use crate::analysis::summary::{Anatomy, Shape, Source, Sum};
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
    let straight = bent(0.0);
    let (lack, halves) = (straight.lack_of_fit.unwrap(), straight.halves.unwrap());
    assert!(lack.p.unwrap() > 0.05, "{lack:?}");
    assert_eq!(halves.shape, Some(Shape::Straight), "{halves:?}");
    assert!(straight.round_trips_systematic.unwrap() < 0.05);
    let bent = bent(600.0);
    let (lack, halves) = (bent.lack_of_fit.unwrap(), bent.halves.unwrap());
    assert!(lack.p.unwrap() < 0.001, "{lack:?}");
    assert!(
        lack.residual_us_max > 250.0 && lack.share > 0.05,
        "{lack:?}"
    );
    // 600 µs over 1.9 ms more in the near half, over 5.85 ms less in the far.
    assert_eq!(halves.shape, Some(Shape::Bent), "{halves:?}");
    assert!((halves.near.value - 1.32).abs() < 0.03, "{halves:?}");
    assert!((halves.far.value - 0.90).abs() < 0.03, "{halves:?}");
    assert!((bent.round_trips_systematic.unwrap() - 0.42).abs() < 0.05);
}

/// The example on disks, with what every flush really took and the flushes counted changed.
fn with_disks(change: fn(&mut crate::record::DiskUse, &Measurement)) -> Anatomy {
    let mut record = Example::anatomy().record();
    for measurement in &mut record.measurements {
        let mut disks = std::mem::take(&mut measurement.disks);
        disks.iter_mut().for_each(|disk| change(disk, measurement));
        measurement.disks = disks;
    }
    of(&anatomies(&record), "mysql single").clone()
}

#[test]
fn flush_times_are_those_of_the_window_and_not_of_the_probe() {
    let plain = with_disks(|_, _| ());
    assert_eq!(plain.flush_from, Source::Window);
    // Every flush took a quarter longer than the probes found: so many fewer are in series.
    let slower = with_disks(|disk, _| disk.flush_time_us *= 1.25);
    assert!(
        (slower.flushes.unwrap().value - 2.4).abs() < 0.01,
        "{slower:?}"
    );
    let idle = with_disks(|disk, _| disk.flushes = disk.flushes.min(19));
    assert_eq!(idle.flush_from, Source::Probe);
    assert!((idle.flushes.unwrap().value - 3.0).abs() < 0.01, "{idle:?}");
}

#[test]
fn the_slope_is_held_against_the_flushes_counted() {
    let plain = with_disks(|_, _| ());
    let count = plain.flushes_counted.unwrap();
    assert!((count.per_commit.value - 3.0).abs() < 0.01, "{count:?}");
    assert_eq!(count.agrees, Some(true));
    assert!(plain.flushes_systematic.unwrap() < 0.05);
    let off = with_disks(|disk, _| {
        let fewer = disk.flushes * 29 / 30;
        disk.flush_time_us *= fewer as f64 / disk.flushes as f64;
        disk.flushes = fewer;
    });
    let count = off.flushes_counted.unwrap();
    assert!((count.per_commit.value - 2.9).abs() < 0.02, "{count:?}");
    assert_eq!(count.agrees, Some(false));
    assert!(off.flushes_systematic.unwrap() > 0.09, "{off:?}");
}

#[test]
fn what_a_server_flushes_by_the_clock_is_no_flush_of_a_commit() {
    let busy = with_disks(|disk, measurement| {
        let by_clock = 2.0 * measurement.window_s;
        disk.flush_time_us *= 1.0 + by_clock / disk.flushes as f64;
        disk.flushes += by_clock as u64;
    });
    let count = busy.flushes_counted.unwrap();
    assert!((count.background_per_s - 2.0).abs() < 0.05, "{count:?}");
    assert_eq!(count.agrees, Some(true), "{count:?}");
}

/// Paced commits without a flush come at one rate, whatever a flush takes.
#[test]
fn where_all_points_commit_alike_what_is_more_may_be_the_background_s() {
    let agrees = |per_commit: f64| {
        let mut record = Example::anatomy().record();
        for measurement in &mut record.measurements {
            measurement.commits = (measurement.window_s * 100.0) as u64;
            let flushes = (measurement.commits as f64 * per_commit) as u64;
            for disk in &mut measurement.disks {
                disk.flush_time_us *= flushes as f64 / disk.flushes as f64;
                disk.flushes = flushes;
            }
        }
        let anatomy = of(&anatomies(&record), "mysql single").clone();
        (
            anatomy.flushes_counted.unwrap().agrees,
            anatomy.flushes_systematic.unwrap() < 0.05,
        )
    };
    assert_eq!(agrees(3.0), (Some(true), true));
    assert_eq!(agrees(3.12), (None, true));
    assert_eq!(agrees(2.88), (Some(false), false));
}

#[test]
fn a_commit_that_waits_for_others_has_no_count_to_agree_with() {
    let all = anatomies(&Example::anatomy().record());
    let count = of(&all, "mysql semisync").flushes_counted.unwrap();
    assert_eq!(count.agrees, None);
}

#[test]
fn flushes_in_series_are_the_truth_and_leave_round_trips_alone() {
    let all = anatomies(&Example::anatomy().record());
    for (label, round_trips) in [("mysql single", 0.0), ("mysql semisync", 1.0)] {
        let anatomy = of(&all, label);
        let (n, k) = (anatomy.round_trips.unwrap(), anatomy.flushes.unwrap());
        assert!((n.value - round_trips).abs() < 0.002, "{label} {n:?}");
        assert!((k.value - 3.0).abs() < 0.005, "{label} {k:?}");
        assert!(k.low.is_some());
        assert_eq!((anatomy.distances, anatomy.rounds), (3, 4));
        assert_eq!((anatomy.flush_times, anatomy.flush_rounds), (3, 4));
        assert!(anatomy.flushes_lack_of_fit.unwrap().residual_us_max < 20.0);
        assert_eq!(anatomy.file_system.as_deref(), Some("ext4"));
        assert_eq!(anatomy.log_layout, "binlog appended");
    }
}

#[test]
fn terms_that_add_are_told_from_terms_that_overlap() {
    let all = anatomies(&Example::anatomy().record());
    let [adds] = &of(&all, "mysql semisync").adds[..] else {
        panic!("one cell has both raised")
    };
    assert_eq!(
        (&adds.distances[..], &adds.disks[..]),
        ("2.15 ms", "flush 4 ms")
    );
    assert_eq!((adds.verdict, adds.rounds), (Some(Sum::Adds), 4));
    assert!(adds.difference_us.value.abs() < 50.0, "{adds:?}");
    let [hides] = &of(&all, "mysql mirror").adds[..] else {
        panic!("one cell has both raised")
    };
    assert_eq!(hides.verdict, Some(Sum::Overlaps));
    // Half of five round trips of 2.15 ms, of which 0.25 ms hide nothing in the other cells' sum:
    // half of 1.25 ms hid there already.
    let hidden_us = 0.5 * 5.0 * 2150.0 - 0.5 * 5.0 * 250.0;
    assert!(
        (hides.difference_us.value + hidden_us).abs() < 60.0,
        "{hides:?}"
    );
    assert!((hides.sum_us - hides.got_us - hidden_us).abs() < 60.0);
}

#[test]
fn without_a_cell_with_both_raised_nothing_is_said_of_the_sum() {
    let mut on_disks = anatomy_points();
    on_disks.pop();
    let example = Example {
        on_disks,
        ..Example::anatomy()
    };
    let all = anatomies(&example.record());
    assert!(all.iter().all(|a| a.adds.is_empty() && a.flushes.is_some()));
}

#[test]
fn one_round_has_a_sum_without_a_verdict() {
    let example = Example {
        rounds: 1,
        ..Example::anatomy()
    };
    let all = anatomies(&example.record());
    let adds = &of(&all, "mysql mirror").adds[0];
    assert_eq!((adds.verdict, adds.difference_us.low), (None, None));
}

#[test]
fn two_flush_times_draw_no_line() {
    let mut on_disks = anatomy_points();
    on_disks.remove(3);
    let example = Example {
        on_disks,
        ..Example::anatomy()
    };
    let all = anatomies(&example.record());
    let single = of(&all, "mysql single");
    assert_eq!((single.flushes, single.flush_times), (None, 2));
    assert!(single.round_trips.is_some() && !single.adds.is_empty());
}

#[test]
fn work_is_what_is_left_without_the_flush_time_asked() {
    let slow = [1.0, 2.0, 4.0].map(|flush_ms| (equal(0.25), flush(flush_ms)));
    let far = [2.15, 8.0].map(|rtt_ms| (equal(rtt_ms), flush(1.0)));
    let example = Example {
        on_disks: slow.into_iter().chain(far).collect(),
        ..Example::anatomy()
    };
    let all = anatomies(&example.record());
    let single = of(&all, "mysql single");
    assert!(
        (single.work_us.unwrap().value - 1300.0).abs() < 15.0,
        "{single:?}"
    );
    assert_eq!((single.distances, single.flush_times), (3, 3));
}

#[test]
fn a_slow_disk_at_one_site_tells_whose_flushes_count() {
    let mut truths = eight();
    truths[2].flushes = [2.0, 1.0, 0.0];
    let mut on_disks = anatomy_points();
    on_disks.extend(["a", "b", "c"].map(|site| (equal(0.25), slow_at(site, 4.0))));
    let example = Example {
        truths,
        on_disks,
        ..Example::default()
    };
    let all = anatomies(&example.record());
    let semisync = of(&all, "mysql semisync");
    let by_site = semisync.flushes_by_site.as_ref().unwrap();
    for (site, flushes) in [("a", 2.0), ("b", 1.0), ("c", 0.0)] {
        assert!((by_site[site].value - flushes).abs() < 0.01, "{by_site:?}");
    }
    assert!((semisync.flushes.unwrap().value - 3.0).abs() < 0.01);
    assert_eq!((semisync.flush_times, semisync.adds.len()), (3, 1));
}

#[test]
fn drawn_flush_times_are_no_point_of_a_line() {
    let mut drawn = flush(2.0);
    drawn.label = "drawn".into();
    drawn.all.flush = crate::study::Delay::Uniform {
        low: std::time::Duration::ZERO,
        high: std::time::Duration::from_millis(4),
    };
    let mut on_disks = anatomy_points();
    on_disks[3].1 = drawn;
    let example = Example {
        on_disks,
        ..Example::anatomy()
    };
    let all = anatomies(&example.record());
    assert_eq!(of(&all, "mysql single").flush_times, 2);
}
