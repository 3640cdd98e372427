use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::time::APPLYING;
use super::*;
use crate::study::moving::{self, CpuParts};
use crate::study::{
    Delay, Disk, Distances, Front, FrontAt, ModeSpec, Proxy, SysbenchLoad, Thing, Workload,
    builtin, written,
};

const FRONT: Front = Front {
    proxy: Proxy::Router,
    at: FrontAt::Client,
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
        ("compare-full", 45.0),
        ("anatomy", 43.0),
        ("group-commit", 34.0),
        ("gmo-innodb-cluster-2022", 39.0),
        ("clouds-2015", 24.0),
    ] {
        let minutes = minutes(&built_in(name));
        assert!(minutes <= most, "{name}: {minutes} min of {most}");
    }
    let names = ["compare", "compare-quick", "anatomy", "group-commit"];
    let cells = names.map(|name| plan(&built_in(name)).cells.len());
    assert_eq!(cells, [24, 18, 131, 91]);
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
        assert!(whole <= 40.0, "{key}: {whole} min");
        assert!(short <= 4.5, "{key}: {short} min of 5, half of one spare");
        // Intervals need rounds.
        assert!(study.rounds >= 3 && quick(study).rounds >= 3, "{key}");
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
}

#[test]
fn a_sweep_whose_replicas_apply_after_the_load_has_cells_and_time_of_its_own() {
    let mut study = built_in("compare-quick");
    let rested = Sweep {
        modes: vec!["mysql async".to_owned()],
        apply: Apply::After,
        ..study.sweeps[0].clone()
    };
    let plain = Sweep {
        apply: Apply::Meanwhile,
        ..rested.clone()
    };
    study.sweeps = vec![plain, rested];
    let cells = plan(&study).cells;
    let (plain, rested) = cells.split_at(cells.len() / 2);
    assert_eq!(rested[0].id, format!("{}/applied-after", plain[0].id));
    let of = |cell: &Cell| Point::of(&study, cell);
    assert_eq!(of(&plain[0]).differs_in(&of(&rested[0])), [Axis::Apply]);
    let longer = cell_time(&study, &rested[0]) - cell_time(&study, &plain[0]);
    assert_eq!(longer, (study.warmup + study.measure) * APPLYING);
}

/// What a thing that is moved changes.
fn axes(thing: Thing) -> &'static [Axis] {
    match thing {
        Thing::Distance | Thing::LinkRate => &[Axis::Distances],
        Thing::Read | Thing::Write | Thing::Flush | Thing::Iops | Thing::Bandwidth => {
            &[Axis::Disks]
        }
        Thing::WriterCpu | Thing::ReplicasCpu | Thing::RestCpu | Thing::SharedCpu => {
            &[Axis::CpuSpeed]
        }
        Thing::Appliers => &[Axis::Row, Axis::Appliers],
        Thing::Schemas => &[Axis::Schemas],
        Thing::Connections => &[Axis::Connections],
        Thing::Pace => &[Axis::Pace],
    }
}

#[test]
fn what_is_moved_follows_its_own_point_and_differs_in_nothing_else() {
    let mut study = written::sample(
        r#"
network = { rate = "1Gbit/s" }
disk = { read = "1ms", write = "1ms", flush = "1ms", iops = 3000, bandwidth = "150MB/s" }
[[mode]]
server = "mysql"
mode = "single"
[[mode]]
server = "mysql"
mode = "group"
[[sweep]]
workload = "update_index"
connections = [2, 3]
pace = "10ms"
rtt = ["2ms", "2.5ms"]
"#,
    );
    // Asked for twice, and measured once, with all that is moved from it.
    study.sweeps.push(Sweep {
        connections: vec![3],
        ..study.sweeps[0].clone()
    });
    let asked = plan(&study).cells;
    for parts in [
        CpuParts::None,
        CpuParts::Shared,
        CpuParts::Writer,
        CpuParts::All,
    ] {
        let whole = moving::limits(&study, parts).unwrap();
        let cells = plan(&whole).cells;
        let points: Vec<Point> = cells.iter().map(|cell| Point::of(&whole, cell)).collect();
        let (mut base, mut met) = (0, BTreeSet::new());
        for (index, cell) in cells.iter().enumerate() {
            let Some(moved) = cell.moved else {
                base = index;
                continue;
            };
            met.insert(moved.thing);
            let found = points[base].differs_in(&points[index]);
            assert_eq!(found, axes(moved.thing), "{}", cell.id);
            let word = moved.thing.word();
            assert!(cell.id.ends_with(&format!("/moved-{word}")), "{}", cell.id);
        }
        let cpus = match parts {
            CpuParts::None => 0,
            CpuParts::Shared => 1,
            CpuParts::Writer => 2,
            CpuParts::All => 3,
        };
        assert_eq!(met.len(), Thing::ALL.len() - 4 + cpus, "{met:?}");
        // One distance moved is another's own: they are two cells all the same.
        let kept = cells.iter().filter(|cell| cell.moved.is_none());
        let kept: Vec<&str> = kept.map(|cell| &cell.id[..]).collect();
        assert_eq!(kept.len(), asked.len());
        assert!(asked.iter().all(|cell| kept.contains(&&cell.id[..])));
        let ids: BTreeSet<&str> = cells.iter().map(|cell| &cell.id[..]).collect();
        assert_eq!(ids.len(), cells.len());
    }
}

#[test]
fn slower_cpus_and_further_schemas_have_cells_of_their_own() {
    let mut study = built_in("compare-quick");
    study.sweeps.truncate(1);
    let plain = plan(&study).cells;
    let some = CpuSpeed {
        writer: 0.8,
        ..CpuSpeed::default()
    };
    study.sweeps[0].cpu_speeds = vec![CpuSpeed::default(), CpuSpeed::of_all(0.5), some];
    study.sweeps[0].schemas = vec![1, 2];
    let cells = plan(&study).cells;
    assert_eq!(cells.len(), 3 * 2 * plain.len());
    let of_first = |id: &str| {
        let whole = format!("{}{id}", plain[0].id);
        let found = cells.iter().find(|cell| cell.id == whole);
        Point::of(&study, found.expect(&whole))
    };
    let base = of_first("");
    assert_eq!(base, Point::of(&study, &plain[0]));
    for (id, differs) in [
        ("/2-schemas", vec![Axis::Schemas]),
        ("/cpus50", vec![Axis::CpuSpeed]),
        ("/cpus80-100-100", vec![Axis::CpuSpeed]),
        ("/cpus50/2-schemas", vec![Axis::CpuSpeed, Axis::Schemas]),
    ] {
        assert_eq!(base.differs_in(&of_first(id)), differs, "{id}");
    }
}

#[test]
fn a_lab_has_as_many_schemas_as_its_modes_are_measured_with_and_takes_their_time() {
    let text = "[[mode]]\nserver = \"mysql\"\nmode = \"async\"\n\
                [[mode]]\nserver = \"mariadb\"\nmode = \"async\"\n\
                [[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n\
                [[sweep]]\nworkload = \"insert\"\nrtt = \"1ms\"\n\
                schemas = [2, 4]\nmodes = \"mariadb async\"\n";
    let study = written::sample(text);
    let of_labs = labs(&study);
    let schemas: Vec<u32> = of_labs.iter().map(|lab| lab.schemas(&study)).collect();
    assert_eq!(schemas, [1, 4]);
    let mut fewer = study.clone();
    fewer.sweeps[1].schemas = vec![2];
    assert_eq!(forming(&study) - forming(&fewer), Duration::from_secs(2));
}

#[test]
fn slower_replicas_take_longer_to_catch_up() {
    let study = built_in("compare-full");
    let cells = plan(&study).cells;
    let many = cells.iter().find(|cell| {
        study.modes[cell.mode].label == "mysql async"
            && cell.connections == 64
            && cell.pace.is_none()
    });
    let full = many.expect("64 connections");
    let half = Cell {
        cpu_speed: CpuSpeed::of_all(0.5),
        ..full.clone()
    };
    // A load of 1.3 s, and 1.1 times the root of 64 as long.
    let longer = cell_time(&study, &half) - cell_time(&study, full);
    assert!((longer.as_secs_f64() - 11.44).abs() < 1e-6, "{longer:?}");
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
        ("mysql group 2", 1, 3),
        ("mysql mirror", 1, 2),
        ("mysql mirror 2", 1, 2),
        ("mysql mirror 3", 1, 2),
        ("mysql quorum", 1, 6),
        ("mariadb replication", 3, 3),
        ("mariadb replication 2", 1, 1),
        ("mariadb galera", 1, 3),
        ("mariadb mirror", 1, 2),
    ];
    assert_eq!(shown, expected);
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
    // 20 beats: 20 ms, two round trips and five flushes of 0.5 ms each.
    for cell in &paced {
        let rtt = cell.distances.equal_rtt().expect("equal distances");
        let beats = (Duration::from_micros(22_500) + rtt * 2) * 20;
        let expected = if has_one_server(cell) {
            Duration::ZERO
        } else {
            beats
        };
        assert_eq!(longer(cell), expected, "{}", cell.id);
    }
}

#[test]
fn probes_of_links_and_disks_take_their_time() {
    let study = built_in("compare");
    let all = plan(&study).cells;
    let of = |label: &str, rtt_us: u64| {
        let rtt = Some(Duration::from_micros(rtt_us));
        let cell = all.iter().find(|cell| {
            study.modes[cell.mode].label == label && cell.distances.equal_rtt() == rtt
        });
        cell_time(&study, cell.expect(label))
    };
    // Three links, probed eleven times before and after.
    let farther = of("mysql single", 8_000) - of("mysql single", 250);
    assert_eq!(farther, Duration::from_micros(7_750) * 3 * 22);
}

#[test]
fn replicas_of_a_closed_loop_need_time_to_catch_up() {
    let study = built_in("compare-full");
    let all = plan(&study).cells;
    let of = |label: &str, connections: u32| {
        let is_it = |cell: &&Cell| {
            let own = (study.modes[cell.mode].label.as_str(), cell.connections);
            own == (label, connections) && cell.pace.is_none()
        };
        all.iter().find(is_it).expect(label).clone()
    };
    let time = |label: &str, connections| cell_time(&study, &of(label, connections));
    // A load of 1.3 s: 5.72 s after 16 connections, 11.44 s after 64.
    let more = time("mysql async", 64) - time("mysql async", 16);
    assert!((more.as_secs_f64() - 5.72).abs() < 1e-6, "{more:?}");
    assert_eq!(time("mysql single", 64), time("mysql single", 16));
    assert_eq!(time("mariadb galera", 64), time("mariadb galera", 16));
    let reads = Cell {
        workload: Workload::sysbench(SysbenchLoad::PointSelect),
        ..of("mysql async", 64)
    };
    assert_eq!(cell_time(&study, &reads), time("mariadb galera", 64));
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
fn the_estimate_grows_with_what_there_is_to_do() {
    let mysqlslap = |change: fn(&mut u32, &mut u32)| {
        move |study: &mut Study| {
            let sweeps = study.sweeps.iter_mut();
            for workload in sweeps.flat_map(|sweep| &mut sweep.workloads) {
                if let Workload::Mysqlslap {
                    write_number,
                    iterations,
                    ..
                } = workload
                {
                    change(write_number, iterations);
                }
            }
        }
    };
    type Change<'c> = &'c dyn Fn(&mut Study);
    let changes: [(&str, Change); 7] = [
        ("compare", &|study| study.measure *= 2),
        ("compare", &|study| study.rounds += 1),
        ("compare", &|study| study.modes[1].nodes = 5),
        // Its nodes have disks of their own already.
        ("group-replication-2017", &|study| {
            study.images = built_in("anatomy").images
        }),
        ("compare", &|study| study.handshakes = true),
        ("gmo-innodb-cluster-2022", &mysqlslap(|rows, _| *rows *= 2)),
        ("gmo-innodb-cluster-2022", &mysqlslap(|_, runs| *runs *= 2)),
    ];
    for (index, (name, change)) in changes.iter().enumerate() {
        let mut changed = built_in(name);
        change(&mut changed);
        let before = minutes(&built_in(name));
        assert!(minutes(&changed) > before, "change {index}");
    }
}

/// Without load they are watched once for each set of variables.
#[test]
fn the_estimate_has_a_look_at_idle_servers_for_each_variant() {
    let mut study = built_in("gmo-galera-2022");
    study.rounds = 0;
    study.injections.clear();
    let before = estimate(&study, &plan(&study));
    let variant = study.modes.iter().find(|spec| spec.varied.is_some());
    study.modes.push(variant.expect("a variant").clone());
    let after = estimate(&study, &plan(&study));
    assert_eq!(after - before, idle_watch(&study));
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
    let id = "mysql-semisync-2-2/update_index/1c-paced10ms/a/b-near-2.15-ms-c-far-8-ms/flush0.5ms/for-2.1s";
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
fn modes_share_servers_unless_they_need_their_own() {
    type Change = fn(&mut ModeSpec);
    let changes: [(&str, bool, Change); 8] = [
        ("mysql mirror", false, |_| {}),
        ("mysql async", false, |spec| spec.front = Some(FRONT)),
        ("mysql async", false, |spec| spec.slowdown = Some(0.1)),
        ("mysql async", true, |spec| {
            spec.memory_bytes = Some(1 << 30)
        }),
        ("mysql async", true, |spec| spec.image_bytes = Some(2 << 30)),
        ("mysql async", true, |spec| spec.tls = Some(true)),
        ("mysql async", true, |spec| {
            (spec.appliers, spec.nodes) = (1, 2)
        }),
        ("mysql group", true, |spec| spec.nodes = 2),
    ];
    for (label, is_own, change) in changes {
        let mut study = built_in("anatomy");
        let before = labs(&study).len();
        let own = study.modes.iter().find(|spec| spec.label == label);
        let mut spec = own.expect(label).clone();
        spec.label = "again".to_owned();
        change(&mut spec);
        study.modes.push(spec.clone());
        let labs = labs(&study);
        assert_eq!(labs.len() - before, usize::from(is_own), "{spec:?}");
        let mut serving = labs
            .iter()
            .filter(|lab| lab.modes.last() == Some(&(study.modes.len() - 1)));
        let lab = serving.next().expect("a lab");
        assert_eq!(lab.modes.len() == 1, is_own, "{spec:?}");
        let has = (lab.memory_bytes, lab.tls);
        assert_eq!(has, (spec.memory_bytes, spec.tls == Some(true)));
        let of_all = study.images.as_ref().map(|images| images.bytes);
        let own = lab.images(&study).map(|images| images.bytes);
        assert_eq!(own, spec.image_bytes.or(of_all));
        if is_own {
            assert_eq!((lab.nodes, lab.appliers), (spec.nodes, spec.appliers));
        }
    }
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
