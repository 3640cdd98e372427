use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::study::{
    Delay, Disk, Distances, Front, FrontAt, ModeSpec, Proxy, SysbenchLoad, builtin, written,
};

fn built_in(name: &str) -> Study {
    written::sample(builtin(name).expect(name))
}

fn minutes(study: &Study) -> f64 {
    estimate(study, &plan(study)).as_secs_f64() / 60.0
}

#[test]
fn built_in_studies_keep_their_time() {
    for (name, most) in [
        ("compare", 7.6),
        ("compare-quick", 3.2),
        ("compare-full", 42.0),
    ] {
        let minutes = minutes(&built_in(name));
        assert!(
            minutes <= most,
            "{name}: {minutes} min of {most} with some spare"
        );
    }
    let cells = |name| plan(&built_in(name)).cells.len();
    assert_eq!((cells("compare"), cells("compare-quick")), (24, 18));
    assert!(built_in("compare-full").rounds >= 6);
}

/// The study as `--quick` has it.
fn quick(study: Study) -> Study {
    study.shortened().expect("it has a short run")
}

#[test]
fn repeats_of_articles_keep_their_time() {
    for key in crate::study::articles::article_keys() {
        let study = built_in(&key);
        let (whole, short) = (minutes(&study), minutes(&quick(study.clone())));
        assert!(whole <= 45.0, "{key}: {whole} min");
        assert!(short <= 4.5, "{key}: {short} min of 5, half of one spare");
        // Intervals need rounds.
        assert!(study.rounds >= 3 && quick(study).rounds >= 3, "{key}");
    }
}

#[test]
fn galeras_parameters_share_servers_and_are_screened_in_pairs() {
    let study = built_in("gmo-galera-2022");
    let without_cuts = Study {
        power_cuts: 0,
        faults: vec![],
        ..study.clone()
    };
    let measuring = minutes(&without_cuts);
    assert!(measuring <= 33.0, "{measuring} min");
    let cut_minutes = minutes(&study) - measuring;
    assert!(
        cut_minutes > 1.0,
        "clusters come back slowly: {cut_minutes} min"
    );
    assert_eq!(labs(&study).len(), 1);
    let [screen] = &study.screens[..] else {
        panic!("{:?}", study.screens)
    };
    assert_eq!(
        (screen.runs.len(), screen.design.resolution()),
        (16, Some(5))
    );
    let cells = plan(&study).cells;
    for run in &screen.runs {
        let own = cells
            .iter()
            .filter(|cell| study.modes[cell.mode].label == *run);
        assert_eq!(own.count(), 1, "{run}");
    }
}

#[test]
fn the_cluster_is_measured_on_equal_terms_in_all_loads() {
    let study = built_in("gmo-innodb-cluster-2022");
    let whole = minutes(&study);
    assert!(whole <= 30.0, "{whole} min");
    let cells = plan(&study).cells;
    let loads = |label: &str| -> BTreeSet<String> {
        let own = cells.iter().filter(|c| study.modes[c.mode].label == label);
        let loads = own.map(|cell| cell.workload.label());
        loads.filter(|load| load.starts_with("mysqlslap")).collect()
    };
    let published = loads("group");
    assert_eq!(published.len(), 5);
    for label in ["async 3 nodes", "semisync 3 nodes", "group router"] {
        assert_eq!(loads(label), published, "{label}");
    }
}

#[test]
fn a_sweep_can_have_modes_a_window_and_rounds_of_its_own() {
    let mut study = built_in("compare-quick");
    study.sweeps.push(Sweep {
        modes: vec!["mysql async".to_owned(), "mysql group".to_owned()],
        measure: Some(Duration::from_secs(300)),
        rounds: Some(1),
        ..study.sweeps[0].clone()
    });
    let plan = plan(&study);
    assert_eq!(plan.cells.len(), 18 + 2 * 3);
    let own: Vec<&Cell> = plan.cells[18..].iter().collect();
    assert!(own.iter().all(|cell| cell.window(&study).as_secs() == 300));
    let id = "mysql-async/update_index/1c-paced10ms/a/0.25ms/flush0.5ms/for-5min";
    assert_eq!(own[0].id, id);
    assert_eq!(plan.cells[0].window(&study), study.measure);
    let counts: Vec<usize> = plan.rounds.iter().map(Vec::len).collect();
    assert_eq!(counts, [24, 18, 18]);
    let without = Study {
        sweeps: study.sweeps[..1].to_vec(),
        ..study.clone()
    };
    let longer = minutes(&study) - minutes(&without);
    assert!((longer - 6.0 * 5.0).abs() < 0.5, "{longer}");
}

#[test]
fn a_sweep_can_watch_what_follows_the_load() {
    let study = built_in("clouds-2015");
    let watched = |cell: &&Cell| cell.watch_after.is_some();
    let cells = plan(&study).cells;
    let own: Vec<&Cell> = cells.iter().filter(watched).collect();
    assert!(own.iter().all(|cell| cell.rounds(&study) == 1));
    assert!(own[0].id.ends_with("/watched-after-1min"), "{}", own[0].id);
    // The same point without is a cell of its own.
    let plain = own[0].id.replace("/watched-after-1min", "");
    assert!(cells.iter().any(|cell| cell.id == plain), "{plain}");
    let mut shorter = study.clone();
    for sweep in &mut shorter.sweeps {
        sweep.watch_after = sweep.watch_after.map(|span| span / 2);
    }
    let longer = minutes(&study) - minutes(&shorter);
    assert!((longer - 0.5 * own.len() as f64).abs() < 1e-6, "{longer}");
    assert!(minutes(&study) <= 20.0, "{} min of 20", minutes(&study));
}

#[test]
fn handshakes_take_their_round_trips() {
    let with = built_in("clouds-2015");
    let without = Study {
        handshakes: false,
        ..with.clone()
    };
    let near_s = |study: &Study| {
        let mut study = study.clone();
        study.sweeps.truncate(1);
        study.sweeps[0].rounds = Some(1);
        (minutes(&study) * 60.0, plan(&study).cells.len() as f64)
    };
    let ((with_s, cells), (without_s, _)) = (near_s(&with), near_s(&without));
    let expected_s = 22.0 * with.network.rtt_within_site.as_secs_f64() * cells;
    assert!(
        (with_s - without_s - expected_s).abs() < 1e-6,
        "{with_s} {without_s}"
    );
}

#[test]
fn more_rows_and_iterations_of_mysqlslap_take_longer() {
    let study = built_in("gmo-innodb-cluster-2022");
    let with = |change: fn(&mut Workload)| {
        let mut study = study.clone();
        let workloads = study
            .sweeps
            .iter_mut()
            .flat_map(|sweep| &mut sweep.workloads);
        workloads.for_each(change);
        minutes(&study)
    };
    let rows = with(|workload| {
        if let Workload::Mysqlslap { write_number, .. } = workload {
            *write_number *= 2;
        }
    });
    let iterations = with(|workload| {
        if let Workload::Mysqlslap { iterations, .. } = workload {
            *iterations *= 2;
        }
    });
    assert!(
        minutes(&study) * 1.2 < rows && rows < iterations,
        "{rows} {iterations}"
    );
}

#[test]
fn modes_that_differ_in_tls_share_no_lab() {
    let mut study = built_in("compare-quick");
    let before = labs(&study).len();
    study.modes[1].tls = Some(true);
    let labs = labs(&study);
    assert_eq!(labs.len(), before + 1);
    let own = labs
        .iter()
        .find(|lab| lab.modes == [1])
        .expect("a lab of its own");
    assert!(own.tls && labs.iter().filter(|lab| lab.tls).count() == 1);
    study.tls = true;
    study.modes[1].tls = None;
    assert_eq!(super::labs(&study).len(), before);
}

#[test]
fn the_anatomy_keeps_its_time_and_raises_one_thing_at_a_time() {
    let study = built_in("anatomy");
    let plan = plan(&study);
    assert_eq!((study.modes.len(), plan.cells.len()), (19, 6 * 19));
    assert!(minutes(&study) <= 24.5, "{} min", minutes(&study));
    let points: Vec<String> = plan.cells[..]
        .iter()
        .step_by(19)
        .map(|cell| cell.id.clone())
        .collect();
    let of_single = |apart: &str| format!("mysql-single/update_index/1c/a/{apart}");
    let expected = [
        "0.25ms/flush0ms",
        "2.15ms/flush0ms",
        "8ms/flush0ms",
        "0.25ms/flush1ms",
        "0.25ms/flush4ms",
        "2.15ms/flush4ms",
    ];
    assert_eq!(points, expected.map(of_single));
}

#[test]
fn labs_of_the_anatomy() {
    let study = built_in("anatomy");
    let labs = labs(&study);
    let shown: Vec<_> = labs
        .iter()
        .map(|lab| (lab.name.as_str(), lab.modes.len(), lab.nodes))
        .collect();
    let expected = [
        ("mysql replication", 3, 3),
        ("mysql replication no binlog", 1, 1),
        ("mysql replication 2", 1, 1),
        ("mysql replication 3", 1, 1),
        ("mysql replication 4", 1, 1),
        ("mysql replication 5", 1, 3),
        ("mysql group", 2, 3),
        ("mysql mirror", 1, 2),
        ("mysql mirror 2", 1, 2),
        ("mysql quorum", 1, 6),
        ("mariadb replication", 3, 3),
        ("mariadb replication 2", 1, 1),
        ("mariadb galera", 1, 3),
        ("mariadb mirror", 1, 2),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn volumes_that_wait_alike_share_a_lab() {
    let mut study = built_in("anatomy");
    let own = study
        .modes
        .iter()
        .position(|spec| spec.label == "mysql mirror");
    let again = ModeSpec {
        label: "again".to_owned(),
        ..study.modes[own.unwrap()].clone()
    };
    study.modes.push(again);
    let serving = labs(&study)
        .into_iter()
        .find(|lab| lab.name == "mysql mirror");
    assert_eq!(serving.unwrap().modes, [own.unwrap(), 19]);
}

#[test]
fn disks_have_ids_of_their_own() {
    let mut study = built_in("compare-quick");
    let mut slow_b = flush("flush 1 ms, b: flush 5 ms", 1);
    slow_b.by_site.insert("b".to_owned(), flush("", 5).all);
    study.sweeps[0].disks = vec![flush("flush 1 ms", 1), flush("fast", 0), slow_b];
    study.sweeps.push(study.sweeps[0].clone());
    let cells = plan(&study).cells;
    assert_eq!(cells.len(), 3 * 18);
    let ends = |cell: usize| {
        cells[cell]
            .id
            .rsplit_once("0.25ms/")
            .map(|(_, end)| end.to_owned())
    };
    let ends: Vec<_> = [0, 6, 12].map(ends).into_iter().flatten().collect();
    assert_eq!(ends, ["flush1ms", "fast", "flush-1-ms-b-flush-5-ms"]);
}

#[test]
fn paces_are_an_axis_and_a_paced_cell_takes_longer_only_for_its_beats() {
    let mut study = built_in("compare");
    study.sweeps.truncate(1);
    let unpaced = plan(&study).cells;
    let paces = [20, 50].map(Duration::from_millis);
    study.sweeps[0].paces = paces.to_vec();
    let paced = plan(&study).cells;
    assert_eq!(paced.len(), 2 * unpaced.len());
    for pace in paces {
        let of_pace = paced.iter().filter(|cell| cell.pace == Some(pace));
        assert_eq!(of_pace.count(), unpaced.len());
    }
    assert!(paced[0].id.contains("c-paced20ms/"), "{}", paced[0].id);
    let longer = |cell: &Cell| {
        let plain = Cell {
            pace: None,
            ..cell.clone()
        };
        cell_time(&study, cell) - cell_time(&study, &plain)
    };
    let has_one_server = |cell: &Cell| study.modes[cell.mode].mode.has_one_server();
    for cell in &paced {
        let expected = if has_one_server(cell) { 0 } else { 1 };
        assert_eq!(longer(cell), Duration::from_secs(expected), "{}", cell.id);
    }
}

#[test]
fn rates_are_an_axis_whose_cells_tell_their_rate() {
    let mut study = built_in("compare");
    study.sweeps.truncate(1);
    study.sweeps[0].paces.clear();
    let closed = plan(&study).cells;
    study.sweeps[0].rates_per_s = vec![500, 2_000];
    let open = plan(&study).cells;
    assert_eq!(open.len(), 2 * closed.len());
    assert!(closed.iter().all(|cell| cell.rate_per_s.is_none()));
    let rated = |rate| {
        open.iter()
            .filter(move |cell| cell.rate_per_s == Some(rate))
    };
    assert_eq!(
        (rated(500).count(), rated(2_000).count()),
        (closed.len(), closed.len())
    );
    assert!(rated(500).all(|cell| cell.id.contains("c-500ps/")));
}

#[test]
fn the_study_of_group_commit_keeps_its_time_and_asks_what_the_article_did() {
    let study = built_in("group-commit");
    let plan = plan(&study);
    assert_eq!(
        (study.modes.len(), plan.cells.len()),
        (8, 6 * 4 * 7 + 2 * 3)
    );
    assert!(minutes(&study) <= 30.0, "{} min", minutes(&study));
    let servers: BTreeSet<&str> = study.modes.iter().map(|spec| &spec.server[..]).collect();
    assert_eq!(servers, ["mysql", "mysql-5.5", "mysql-5.6"].into());
    let connections: BTreeSet<u32> = plan.cells.iter().map(|cell| cell.connections).collect();
    assert_eq!(connections, [1, 2, 4, 8, 16, 32, 64].into());
}

#[test]
fn the_estimate_grows_with_windows_rounds_and_nodes() {
    let mut study = built_in("compare");
    let images = study.images.take();
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
    let mut on_disks = study.clone();
    on_disks.images = images;
    for changed in [longer, more, wider, on_disks] {
        assert!(minutes(&changed) > minutes(&study));
    }
}

#[test]
fn cells_stand_in_table_order_under_readable_ids() {
    let plan = plan(&built_in("compare"));
    let ids: Vec<&str> = plan.cells.iter().map(|cell| cell.id.as_str()).collect();
    let paced = "update_index/1c-paced10ms/a";
    assert_eq!(ids[0], format!("mysql-single/{paced}/0.25ms/flush0.5ms"));
    assert_eq!(ids[1], format!("mysql-async/{paced}/0.25ms/flush0.5ms"));
    assert_eq!(ids[8], format!("mysql-semisync/{paced}/2.15ms/flush0.5ms"));
    let last = "mariadb-galera/update_index/4c/a/2.15ms/flush0.5ms/for-1.5s";
    assert_eq!(ids[23], last);
}

#[test]
fn unequal_distances_have_ids_of_their_own() {
    let plan = plan(&built_in("compare-full"));
    let id = "mysql-semisync-2-2/update_index/1c-paced10ms/a/b-near-2.15-ms-c-far-8-ms/flush0.5ms";
    assert!(plan.cells.iter().any(|cell| cell.id == id), "{id}");
}

#[test]
fn a_point_that_two_sweeps_ask_for_is_one_cell() {
    let mut study = built_in("compare");
    study.sweeps.push(study.sweeps[0].clone());
    assert_eq!(plan(&study).cells.len(), 24);
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
fn a_front_shares_servers_and_a_memory_limit_does_not() {
    let mut study = built_in("compare");
    let before = labs(&study).len();
    let asynchronous: ModeSpec = study.modes[1].clone();
    let with = |label: &str, front, memory_bytes| ModeSpec {
        label: label.to_owned(),
        front,
        memory_bytes,
        ..asynchronous.clone()
    };
    let front = Front {
        proxy: Proxy::Router,
        at: FrontAt::Client,
    };
    study.modes.push(with("fronted", Some(front), None));
    assert_eq!(labs(&study).len(), before);
    study.modes.push(with("limited", None, Some(1_000_000_000)));
    let all = labs(&study);
    assert_eq!(all.len(), before + 1);
    assert_eq!(all[before].memory_bytes, Some(1_000_000_000));
}

#[test]
fn modes_of_other_sizes_get_what_they_ask_for() {
    let mut study = built_in("compare");
    let replicated = study.modes[1].clone();
    let known = labs(&study);
    study.modes.push(ModeSpec {
        label: "one applier".to_owned(),
        appliers: 1,
        nodes: 2,
        ..replicated
    });
    let all = labs(&study);
    let own = &all[known.len()];
    assert_eq!((own.appliers, own.nodes, own.modes.len()), (1, 2, 1));
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
        flushes_ms in prop::collection::vec(0u64..4, 0..3),
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
            ..Distances::default()
        }).collect();
        // Here too: some points are the same, some only look so.
        sweep.disks = flushes_ms.into_iter().map(|ms| Disks {
            label: format!("disks {}", ms % 2),
            ..flush("", ms)
        }).collect();
        Study { rounds, seed, ..study }
    }
}

/// Disks that do nothing but flush slowly.
fn flush(label: &str, ms: u64) -> Disks {
    Disks {
        label: label.to_owned(),
        all: Disk {
            flush: Delay::Constant(Duration::from_millis(ms)),
            ..Disk::default()
        },
        by_site: BTreeMap::new(),
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
