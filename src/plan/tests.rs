use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::study::{ModeSpec, SysbenchLoad, builtin, capabilities, written};

fn parsed(text: &str) -> Study {
    let no_file = |_: &str| Err("no files here".to_owned());
    written::parse(text, "test.toml", &capabilities::sample(), &no_file)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn built_in(name: &str) -> Study {
    parsed(builtin(name).expect(name))
}

fn minutes(study: &Study) -> f64 {
    estimate(study, &plan(study)).as_secs_f64() / 60.0
}

#[test]
fn built_in_studies_keep_their_time() {
    let [default, quick, full] = ["compare", "compare-quick", "compare-full"].map(built_in);
    assert_eq!(plan(&default).cells.len(), 30);
    assert!(
        minutes(&default) <= 7.6,
        "{} min of 8, nearly half of one spare",
        minutes(&default)
    );
    assert_eq!(plan(&quick).cells.len(), 18);
    assert!(
        minutes(&quick) <= 2.75,
        "{} min of 3, a quarter spare",
        minutes(&quick)
    );
    assert!(full.rounds >= 6);
    assert!(
        minutes(&full) <= 42.0,
        "{} min of 45, three spare",
        minutes(&full)
    );
}

#[test]
fn the_estimate_grows_with_windows_rounds_and_nodes() {
    let study = built_in("compare");
    let longer = Study {
        measure: study.measure * 2,
        ..study.clone()
    };
    let more = Study {
        rounds: study.rounds + 1,
        ..study.clone()
    };
    let mut wider = study.clone();
    wider.modes[1].nodes = 5;
    for changed in [longer, more, wider] {
        assert!(minutes(&changed) > minutes(&study));
    }
}

#[test]
fn cells_stand_in_table_order_under_readable_ids() {
    let plan = plan(&built_in("compare"));
    let ids: Vec<&str> = plan.cells.iter().map(|cell| cell.id.as_str()).collect();
    assert_eq!(ids[0], "mysql-single/update_index/1c/a/0.25ms");
    assert_eq!(ids[1], "mysql-async/update_index/1c/a/0.25ms");
    assert_eq!(ids[8], "mysql-semisync/update_index/1c/a/2.15ms");
    assert_eq!(ids[29], "mariadb-galera/update_index/4c/a/2.15ms");
}

#[test]
fn unequal_distances_have_ids_of_their_own() {
    let plan = plan(&built_in("compare-full"));
    let id = "mysql-semisync-2-2/update_index/1c/a/b-near-2.15-ms-c-far-8-ms";
    assert!(plan.cells.iter().any(|cell| cell.id == id), "{id}");
}

#[test]
fn a_point_that_two_sweeps_ask_for_is_one_cell() {
    let mut study = built_in("compare");
    study.sweeps.push(study.sweeps[0].clone());
    assert_eq!(plan(&study).cells.len(), 30);
}

/// A change here means that old seeds no longer give the order they gave.
#[test]
fn a_seed_means_the_same_order_for_ever() {
    let plan = plan(&built_in("compare-quick"));
    assert_eq!(plan.rounds.len(), 3);
    insta::assert_snapshot!(format!("{:?}", plan.rounds[0]), @"[17, 11, 5, 1, 7, 13, 6, 0, 12, 4, 10, 16, 2, 8, 14, 15, 9, 3]");
    insta::assert_snapshot!(format!("{:?}", plan.rounds[2]), @"[9, 3, 15, 12, 6, 0, 1, 7, 13, 2, 8, 14, 10, 16, 4, 5, 11, 17]");
}

#[test]
fn another_round_changes_none_before_it() {
    let study = built_in("compare");
    let longer = Study {
        rounds: study.rounds + 3,
        ..study.clone()
    };
    assert_eq!(plan(&longer).rounds[..4], plan(&study).rounds[..]);
}

#[test]
fn every_place_is_equally_likely() {
    let mut first = [0u32; 5];
    for round in 0..5_000 {
        let mut items = [0, 1, 2, 3, 4];
        shuffle(&mut items, &mut generator(7, round));
        first[items[0]] += 1;
    }
    // 1000 expected of each; the standard deviation is 28.
    assert!(
        first.iter().all(|count| (860..=1140).contains(count)),
        "{first:?}"
    );
}

#[test]
fn labs_of_the_default_study() {
    let labs = labs(&built_in("compare"));
    let shown: Vec<_> = labs
        .iter()
        .map(|lab| (lab.name.as_str(), lab.modes.clone(), lab.nodes))
        .collect();
    let expected = [
        ("mysql replication", vec![0, 1, 2], 3),
        ("mysql group", vec![3], 3),
        ("mariadb replication", vec![4], 1),
        ("mariadb galera", vec![5], 3),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn labs_of_the_full_study() {
    let study = built_in("compare-full");
    let labs = labs(&study);
    let names: Vec<_> = labs
        .iter()
        .map(|lab| (lab.name.as_str(), lab.nodes))
        .collect();
    let expected = [
        ("mysql replication", 3),
        ("mysql replication no binlog", 1),
        ("mysql group", 3),
        ("mariadb replication", 3),
        ("mariadb galera", 3),
        ("mariadb galera no binlog", 3),
    ];
    assert_eq!(names, expected);
    let served: BTreeSet<usize> = labs.iter().flat_map(|lab| lab.modes.clone()).collect();
    assert_eq!(served.len(), study.modes.len());
}

#[test]
fn groups_of_different_size_are_different_labs() {
    let mut study = built_in("compare");
    let group: ModeSpec = study.modes[3].clone();
    study.modes.push(ModeSpec {
        label: "pair".to_owned(),
        nodes: 2,
        ..group
    });
    let names: Vec<String> = labs(&study).into_iter().map(|lab| lab.name).collect();
    assert!(names.contains(&"mysql group 2".to_owned()), "{names:?}");
}

prop_compose! {
    fn any_study()(
        labels in prop::collection::vec("[a-b ]{0,3}", 1..5),
        connections in prop::collection::vec(1u32..4, 1..4),
        rtts_us in prop::collection::vec(0u64..3_000, 1..4),
        table_sizes in prop::collection::vec(100u32..103, 1..3),
        rounds in 1u32..5,
        seed: u64,
    ) -> Study {
        let mut study = built_in("compare");
        let spec = study.modes[1].clone();
        study.modes = labels.into_iter().map(|label| ModeSpec { label, ..spec.clone() }).collect();
        let sweep = &mut study.sweeps[0];
        sweep.connections = connections;
        sweep.workloads = table_sizes.into_iter().map(|table_size| Workload::Sysbench {
            load: SysbenchLoad::Delete, tables: 1, table_size, prepared: true,
        }).collect();
        let distances = sweep.distances[0].clone();
        sweep.distances = rtts_us.into_iter().map(|rtt_us| Distances {
            // Two labels for many distances: ids have to be made unique.
            label: format!("{}", rtt_us % 2),
            pairs: distances.pairs.iter().map(|(a, b, _)| {
                (a.clone(), b.clone(), Duration::from_micros(rtt_us))
            }).collect(),
        }).collect();
        Study { rounds, seed, ..study }
    }
}

fn blocks(plan: &Plan, round: &[usize]) -> usize {
    let modes: Vec<usize> = round.iter().map(|cell| plan.cells[*cell].mode).collect();
    1 + modes.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

proptest! {
    #[test]
    fn each_round_holds_every_cell_once_in_one_block_per_mode(study in any_study()) {
        let plan = plan(&study);
        prop_assert_eq!(plan.rounds.len(), study.rounds as usize);
        for round in &plan.rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..plan.cells.len()).collect::<Vec<_>>());
            prop_assert_eq!(blocks(&plan, round), study.modes.len());
        }
    }

    #[test]
    fn ids_are_unique(study in any_study()) {
        let plan = plan(&study);
        let ids: BTreeSet<&str> = plan.cells.iter().map(|cell| cell.id.as_str()).collect();
        prop_assert_eq!(ids.len(), plan.cells.len());
    }

    #[test]
    fn the_same_seed_gives_the_same_plan(study in any_study()) {
        prop_assert_eq!(plan(&study), plan(&study.clone()));
    }

    #[test]
    fn another_seed_gives_another_order(seed: u64, other: u64) {
        prop_assume!(seed != other);
        let study = built_in("compare");
        let rounds = |seed| plan(&Study { seed, ..study.clone() }).rounds;
        prop_assert_ne!(rounds(seed), rounds(other));
    }

    #[test]
    fn every_mode_is_served_by_exactly_one_lab_that_is_large_enough(study in any_study()) {
        let labs = labs(&study);
        for (index, spec) in study.modes.iter().enumerate() {
            let serving: Vec<_> = labs.iter().filter(|lab| lab.modes.contains(&index)).collect();
            prop_assert_eq!(serving.len(), 1);
            prop_assert!(serving[0].nodes >= spec.nodes);
        }
    }
}
