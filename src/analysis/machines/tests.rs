use super::*;
use crate::analysis::cells;
use crate::analysis::example::{Example, anatomy_points, equal, flush};
use crate::plan::PartOf;
use crate::record::packed::PackedCampaign;
use crate::record::trials::{Campaign, Trial};
use crate::record::{Flag, Host, PartFacts, Resumed};
use crate::study::fault::Durability;
use crate::study::faults::Fault;

fn host(name: &str) -> Host {
    Host {
        machine: Some(name.to_owned()),
        ..Host::default()
    }
}

/// The example in so many rounds, each machine having one part of it.
fn merged(rounds: u32, machines: &[&str]) -> Record {
    let example = Example {
        rounds,
        ..Example::default()
    };
    dealt_out(&example, machines)
}

fn dealt_out(example: &Example, machines: &[&str]) -> Record {
    let mut record = example.record();
    for one in &mut record.measurements {
        one.round += 1;
    }
    let parts = PartOf::all(machines.len() as u32).zip(machines);
    let facts = |(part, name): (PartOf, &&str)| PartFacts {
        part,
        command_line: vec![],
        started_unix_ms: 0,
        host: host(name),
        self_test: None,
        labs: vec![],
    };
    record.header.parts = parts.map(facts).collect();
    record.header.host = host(machines[0]);
    record
}

fn told(record: &Record) -> Option<Machines> {
    summarise(
        record,
        &cells::summarise(record),
        &anatomy::summarise(record),
    )
}

fn figure(machines: &Machines, of: Of, what: What) -> &MachineFigure {
    let mut all = machines.figures.iter();
    let found = all.find(|one| one.of == of && one.what == what);
    found.unwrap_or_else(|| panic!("{of:?} has no {what:?}"))
}

#[test]
fn parts_of_one_machine_are_one_machine() {
    assert_eq!(told(&Example::default().record()), None);
    assert_eq!(told(&merged(6, &["a", "a", "a"])), None);
}

#[test]
fn each_machine_has_its_own_median_and_few_have_no_interval() {
    let record = merged(6, &["a", "b", "a"]);
    let machines = told(&record).unwrap();
    let rounds = machines.machines.iter().map(|machine| &machine.rounds[..]);
    assert!(rounds.eq([&[1, 3, 4, 6][..], &[2, 5]]));
    let parts = machines.machines.iter().map(|machine| machine.parts.len());
    assert!(parts.eq([2, 1]));
    let rates = figure(&machines, Of::Cells(0), What::Throughput);
    let by_round = &cells::summarise(&record)[0].by_round.throughput_per_s;
    let second = (by_round[&2] * by_round[&5]).sqrt();
    assert!((rates.by_machine[1].unwrap() / second - 1.0).abs() < 1e-9);
    assert!(
        machines
            .figures
            .iter()
            .all(|one| one.over_machines.is_none())
    );
    let lines = figure(&machines, Of::Anatomy(2), What::RoundTrips);
    let trips = lines.by_machine.iter().flatten();
    assert!(trips.clone().count() == 2 && trips.clone().all(|trips| (trips - 1.0).abs() < 0.02));
}

#[test]
fn five_machines_have_an_interval_of_their_own() {
    let record = merged(10, &["a", "b", "c", "d", "e"]);
    let machines = told(&record).unwrap();
    let ratio = figure(&machines, Of::Cells(1), What::Ratio);
    let over = ratio.over_machines.unwrap();
    let values: Vec<f64> = ratio.by_machine.iter().flatten().copied().collect();
    let expected = crate::analysis::interval::estimate(&values, Noise::Multiplies, Risk::ONE_LOOK);
    assert_eq!((values.len(), Some(over)), (5, expected));
    let is_whole = |one: &MachineFigure| one.over_machines.is_some();
    assert!(
        machines.figures.iter().all(is_whole),
        "{:?}",
        machines.figures.len()
    );
}

#[test]
fn a_machine_that_gives_another_ratio_is_told_and_one_that_is_only_slower_is_not_in_ratios() {
    let mut record = merged(12, &["a", "b", "c"]);
    let semisync = |cell: usize| record.header.cells[cell].mode == 2;
    let is_it: Vec<bool> = (0..record.header.cells.len()).map(semisync).collect();
    for one in &mut record.measurements {
        // All of the second machine is slower; on the third one mode is, by half.
        let slower = match one.round % 3 {
            2 => 0.8,
            0 if is_it[one.cell] => 0.5,
            _ => 1.0,
        };
        one.commits = (one.commits as f64 * slower) as u64;
    }
    let machines = told(&record).unwrap();
    let differ = |cell, what| figure(&machines, Of::Cells(cell), what).differ;
    assert_eq!(differ(2, What::Ratio), Some(true));
    assert_eq!(differ(1, What::Ratio), Some(false));
    let seldom = machines
        .figures
        .iter()
        .filter(|one| one.differ == Some(true));
    let are_semisync_s = |one: &MachineFigure| match one.of {
        Of::Cells(cell) => is_it[cell] || one.what == What::Throughput,
        _ => false,
    };
    assert!(
        seldom.clone().all(are_semisync_s),
        "{:?}",
        seldom.collect::<Vec<_>>()
    );
}

#[test]
fn a_part_that_went_on_elsewhere_has_rounds_of_both_machines() {
    let mut record = merged(6, &["a", "a"]);
    record.header.resumed = vec![Resumed {
        part: Some(PartOf { number: 2, of: 2 }),
        host: host("b"),
        ..Resumed::default()
    }];
    for one in record.measurements.iter_mut().filter(|one| one.round >= 4) {
        one.segment = usize::from(one.round % 2 == 0);
    }
    let machines = told(&record).unwrap();
    let rounds = machines.machines.iter().map(|machine| &machine.rounds[..]);
    assert!(rounds.eq([&[1, 2, 3, 5][..], &[4, 6]]));
    assert_eq!(machines.rounds_split, [0; 0]);
    // What one began and another ended is nobody's.
    record
        .measurements
        .iter_mut()
        .filter(|one| one.round == 4)
        .take(2)
        .for_each(|one| {
            one.segment = 0;
        });
    let machines = told(&record).unwrap();
    assert_eq!(machines.rounds_split, [4]);
    let of_b = figure(&machines, Of::Cells(0), What::Throughput).by_machine[1];
    let last = cells::summarise(&record)[0].by_round.throughput_per_s[&6];
    assert!((of_b.unwrap() / last - 1.0).abs() < 1e-9);
}

/// A round on each of two machines, with two points where both distance and flush time are raised.
/// In the first round cells at that distance and flush time are void.
fn with_a_void_corner(rtt_ms: f64, flush_ms: f64) -> Machines {
    let mut example = Example::anatomy();
    example.rounds = 2;
    example.on_disks = anatomy_points();
    example.on_disks.push((equal(8.0), flush(4.0)));
    let mut record = dealt_out(&example, &["a", "b"]);
    let (distances, disks) = (equal(rtt_ms), Some(flush(flush_ms)));
    let cells = &record.header.cells;
    for one in record.measurements.iter_mut().filter(|one| one.round == 1) {
        let cell = &cells[one.cell];
        if cell.distances == distances && cell.disks == disks {
            one.flags.push(Flag::LateLinks);
        }
    }
    told(&record).unwrap()
}

#[test]
fn a_point_that_a_round_lacks_leaves_the_others_in_their_places() {
    let machines = with_a_void_corner(2.15, 4.0);
    for row in 0..8 {
        let there = |what| {
            let values = &figure(&machines, Of::Anatomy(row), what).by_machine;
            values.iter().map(Option::is_some).collect::<Vec<bool>>()
        };
        assert_eq!(there(What::BeyondSum(0)), [false, true], "{row}");
        assert_eq!(there(What::BeyondSum(1)), [true, true], "{row}");
        assert_eq!(there(What::RoundTrips), [true, true], "{row}");
    }
}

#[test]
fn a_round_that_lacks_a_point_of_the_line_has_none_on_other_disks() {
    let machines = with_a_void_corner(2.15, 0.0);
    for what in [What::RoundTrips, What::Work] {
        let values = &figure(&machines, Of::Anatomy(2), what).by_machine;
        assert!(values[0].is_none() && values[1].is_some(), "{values:?}");
    }
}

#[test]
fn single_rounds_tell_nothing_of_whether_machines_differ() {
    let machines = told(&merged(2, &["a", "b"])).unwrap();
    let is_open = |one: &MachineFigure| (one.differ, one.chance_if_alike) == (None, None);
    assert!(machines.figures.iter().all(is_open));
}

/// Trials of the first mode, each with its number and how often the run had been gone on with.
fn with_trials(record: &mut Record, trials: &[(u32, usize)]) {
    let trial = |&(number, segment)| Trial {
        number,
        segment,
        ..Trial::default()
    };
    let campaign = Campaign {
        durability: Durability::STRICT,
        fault: Fault::default(),
        trials: trials.iter().map(trial).collect(),
    };
    record.campaigns = [(0, vec![PackedCampaign::of(&campaign)])].into();
}

#[test]
fn a_machine_that_ran_trials_alone_is_told_and_is_in_no_figure() {
    let went_on = |machine| Resumed {
        host: host(machine),
        ..Resumed::default()
    };
    let mut record = Example::default().record();
    record.header.host = host("a");
    record.header.resumed = vec![went_on("b")];
    with_trials(&mut record, &[(0, 0), (0, 0)]);
    assert_eq!(told(&record), None, "older trials say nothing");
    with_trials(&mut record, &[(1, 0), (2, 1), (3, 1)]);
    let machines = told(&record).unwrap();
    let done = machines.machines.iter();
    let done: Vec<(bool, usize)> = done
        .map(|one| (one.rounds.is_empty(), one.trials))
        .collect();
    assert_eq!(done, [(false, 1), (true, 2)]);
    assert!(machines.figures.is_empty(), "they are the record's own");
    // Beside five that measured.
    let mut record = merged(10, &["a", "b", "c", "d", "e"]);
    record.header.resumed = vec![Resumed {
        part: Some(PartOf { number: 1, of: 5 }),
        ..went_on("f")
    }];
    let without = told(&record).unwrap();
    with_trials(&mut record, &[(1, 1), (2, 0)]);
    let with = told(&record).unwrap();
    let trials: Vec<usize> = with.machines.iter().map(|one| one.trials).collect();
    assert_eq!(trials, [0, 1, 0, 0, 0, 1]);
    for (with, without) in with.figures.iter().zip(&without.figures) {
        assert_eq!(with.by_machine[..5], without.by_machine[..]);
        assert_eq!(
            (with.by_machine[5], with.over_machines),
            (None, without.over_machines)
        );
        assert_eq!(with.differ, without.differ);
    }
}
