//! Claims of `clouds-2015`.

use super::super::Verdict::{Confirmed, Contradicted, Undecided};
use super::super::{GridRow, judge};
use super::articles::{CLOUDS, changed, claims_of, material, sentence, study, verdicts};
use crate::analysis::example::articles::{about, busy_after, clouds};
use crate::analysis::summary::{CellSummary, FlagCount};
use crate::record::{Flag, counter};

#[test]
fn clouds_as_published() {
    let open = Undecided;
    let expected = [
        Confirmed, Confirmed, Confirmed, open, Confirmed, Confirmed, open, open, open,
    ];
    assert_eq!(verdicts(CLOUDS, &clouds()), expected);
}

#[test]
fn clouds_that_are_otherwise_contradict() {
    let rate = |rate| move |cell: &mut CellSummary| cell.throughput_per_s = about(rate);
    let mut cells = clouds();
    let far = cells
        .iter_mut()
        .find(|cell| cell.client_site == "b")
        .unwrap();
    far.throughput_per_s = about(14_000.0);
    assert_eq!(verdicts(CLOUDS, &cells)[0], Contradicted);
    // About half at one number of connections, and not at another: it depends.
    let near = cells
        .iter()
        .find(|cell| cell.label == "local volume" && cell.workload == "reads");
    let mut pair = [near.unwrap().clone(), near.unwrap().clone()];
    pair.iter_mut().for_each(|cell| cell.connections = 1);
    pair[1].client_site = "b".into();
    pair[1].throughput_per_s = about(7_700.0);
    cells.extend(pair);
    let first = &claims_of(CLOUDS, &cells, false)[0];
    assert_eq!(
        (first.verdict, first.figures.len()),
        (Undecided, 2),
        "{first:?}"
    );
    let standby = changed(clouds(), "sync standby", "updates", rate(8_300.0));
    let got = verdicts(CLOUDS, &standby);
    assert_eq!((got[1], got[4]), (Contradicted, Contradicted));
    let newer = changed(clouds(), "5.7 local volume", "updates", rate(4_800.0));
    assert_eq!(verdicts(CLOUDS, &newer)[2], Contradicted);
    let mut without = clouds();
    without.retain(|cell| cell.label != "5.7 local volume");
    let third = &claims_of(CLOUDS, &without, false)[2];
    assert_eq!((third.verdict, third.figures.len()), (Undecided, 2));
    let mut more = clouds();
    let fast = |cell: &&mut CellSummary| cell.disks.as_deref() == Some("10000 IOPS, 450 Mbit/s");
    more.iter_mut().filter(fast).for_each(rate(8_000.0));
    assert_eq!(verdicts(CLOUDS, &more)[5], Contradicted);
}

#[test]
fn a_disk_after_the_load_is_judged_by_one_of_5_7_alone() {
    let fourth = |cells: &[CellSummary]| claims_of(CLOUDS, cells, false).swap_remove(3);
    let newest = fourth(&clouds());
    assert_eq!((newest.verdict, newest.figures.len()), (Undecided, 1));
    assert!(newest.reason.contains("needs a 5.7 server"), "{newest:?}");
    let with = |share, least, most| {
        let mut cells = clouds();
        let is_it = |cell: &&CellSummary| cell.label == "5.7 local volume";
        let mut own = cells.iter().find(is_it).unwrap().clone();
        own.after_load = vec![busy_after(share, least, most)];
        cells.push(own);
        fourth(&cells).verdict
    };
    let verdicts = [
        with(0.3, 0.2, 0.4),
        with(0.05, 0.0, 0.1),
        with(0.3, 0.0, 0.6),
    ];
    assert_eq!(verdicts, [Confirmed, Contradicted, Undecided]);
}

#[test]
fn counters_that_stand_still_are_looked_for_on_an_endpoint_called_aurora() {
    let ninth = |label: &str, counters: &[(&str, Option<f64>)]| {
        let mut cells = clouds();
        let counters = counters
            .iter()
            .map(|(name, each)| ((*name).to_owned(), *each));
        cells.push(CellSummary {
            counters_per_commit: counters.collect(),
            ..cells[0].clone()
        });
        cells.last_mut().unwrap().label = label.into();
        claims_of(CLOUDS, &cells, false).swap_remove(8).verdict
    };
    let commits = (counter::ENGINE_COMMITS, Some(1.0));
    let still = [commits, (counter::DATA_WRITES, None)];
    assert_eq!(ninth("my Aurora", &still), Confirmed);
    let moved = [commits, (counter::DATA_WRITES, Some(2.5))];
    assert_eq!(ninth("my Aurora", &moved), Contradicted);
    // Nothing was committed, or the counter is not shown, or it is somebody else.
    let nothing = [
        (counter::ENGINE_COMMITS, None),
        (counter::DATA_WRITES, None),
    ];
    assert_eq!(ninth("my Aurora", &nothing), Undecided);
    assert_eq!(ninth("my Aurora", &[commits]), Undecided);
    assert_eq!(ninth("rds", &moved), Undecided);
}

#[test]
fn a_range_has_no_middle_and_reads_and_updates_on_other_disks_say_so() {
    let mut cells = clouds();
    let starved = |cell: &&CellSummary| cell.label == "16 MB pool";
    let mut updates = cells.iter().find(starved).unwrap().clone();
    updates.workload = "updates".into();
    updates.disks = Some("3000 IOPS, any rate".into());
    let material = |cells: &[CellSummary]| {
        let material = material(cells);
        judge(CLOUDS, &material)
            .unwrap()
            .0
            .tables
            .swap_remove(0)
            .rows
    };
    let note = |rows: &[GridRow]| {
        let noted: Vec<_> = rows.iter().filter_map(|row| row.note.clone()).collect();
        noted
    };
    let blocks = "blocks, not log records";
    assert_eq!(note(&material(&cells)), [blocks]);
    cells.push(updates);
    let rows = material(&cells);
    let said = "reads on 3000 IOPS, 450 Mbit/s, updates on 3000 IOPS, any rate";
    assert_eq!(note(&rows), [blocks, said]);
    let is_range = |row: &&GridRow| row.published.as_deref() == Some("cloudsql_async");
    let range = rows.iter().find(is_range).unwrap().figures[1].unwrap();
    assert_eq!((range.low, range.high), (Some(1_000.0), Some(3_000.0)));
    assert_eq!(range.value, 1_000.0);
}

fn unseen(cells: &[CellSummary]) -> Vec<String> {
    let material = material(cells);
    judge(CLOUDS, &material).unwrap().0.unseen
}

#[test]
fn the_first_limit_is_what_moves_a_figure_most() {
    let of_starved = |cells: &[CellSummary]| {
        let said = unseen(cells).into_iter();
        said.filter(|said| said.starts_with("16 MB pool, reads, 16 conn"))
            .collect::<Vec<String>>()
    };
    let [said] = &of_starved(&clouds())[..] else {
        panic!("{:?}", unseen(&clouds()))
    };
    assert!(said.contains("3000/s (2940 to 3060)"), "{said}");
    assert!(
        said.contains("IOPS, 450 Mbit/s: 1.13 times (1.09 to 1.18)"),
        "{said}"
    );
    assert!(
        said.ends_with("what moves it most is the buffer pool."),
        "{said}"
    );
    let flat = |cell: &mut CellSummary| cell.throughput_per_s = about(3_000.0);
    let flat_pool = changed(clouds(), "16 MB pool", "reads", flat);
    let flat_all = changed(flat_pool.clone(), "local volume", "reads", flat);
    assert!(of_starved(&flat_pool)[0].ends_with("is the buffer pool."));
    assert!(of_starved(&flat_all)[0].ends_with("none of what was moved is the limit."));
    let vague = changed(flat_all, "local volume", "reads", |cell| {
        let rate = cell.throughput_per_s.as_mut().unwrap();
        (rate.median, rate.high) = (3_300.0, Some(9_000.0));
    });
    assert!(
        of_starved(&vague)[0].ends_with("the limit is open."),
        "{vague:?}"
    );
}

#[test]
fn what_a_stand_in_uses_stands_beside_its_rate() {
    let busy = changed(clouds(), "sync standby", "updates", |cell| {
        cell.writes_per_commit.writer = Some(4.0);
        cell.reads_per_commit.writer = Some(0.5);
        cell.bytes_read_per_commit.writer = Some(0.0);
        cell.bytes_written_per_commit.writer = Some(25_000.0);
        cell.disk_busy_share = Some(0.75);
        cell.usd_per_million_queries = None;
    });
    let all = unseen(&busy);
    let own = |said: &&String| said.starts_with("sync standby, updates");
    let said = all.iter().find(own).expect("a sentence");
    let expected = "0.19 of a core for its server, 2700 IOPS, 120 Mbit/s of its disk's path, \
                    75.0 % of its disk's time; no copy for one in another zone: 14.0 times";
    assert!(said.contains(expected), "{said}");
    assert!(
        said.ends_with("what moves it most is the copy's place."),
        "{said}"
    );
    assert!(all.iter().any(|said| said.contains("no price")), "{all:?}");
    assert!(
        !unseen(&clouds())
            .iter()
            .any(|said| said.contains("no price"))
    );
}

/// But for a server of the user's own.
#[test]
fn clouds_study_has_the_cells_that_its_claims_name() {
    let study = study(CLOUDS);
    let plan = crate::plan::plan(&study);
    let own = |cell: &CellSummary| cell.label == "5.7 local volume";
    for cell in clouds().iter().filter(|cell| !own(cell)) {
        let has = |planned: &crate::plan::Cell| {
            let disks = planned.disks.as_ref().map(|disks| disks.label.clone());
            let is_named = cell.label == "16 MB pool";
            study.modes[planned.mode].label == cell.label
                && planned.workload.label() == cell.workload
                && (planned.connections, &planned.client_site)
                    == (cell.connections, &cell.client_site)
                && planned.watch_after.is_some() == cell.watch_after_s.is_some()
                && (!is_named || disks == cell.disks)
        };
        assert!(plan.cells.iter().any(has), "{} {:?}", cell.id, cell.disks);
    }
    for distances in [
        "0.7 ms",
        "0.7 ms, 25 Mbit/s",
        "0.7 ms, 450 Mbit/s",
        "0.5 to 8 ms",
    ] {
        let at = |planned: &&crate::plan::Cell| planned.distances.label == distances;
        let found: Vec<_> = plan.cells.iter().filter(at).collect();
        let [found] = found[..] else {
            panic!("{distances}: {found:?}")
        };
        assert_eq!((found.connections, &found.client_site[..]), (16, "b"));
    }
}

#[test]
fn cells_that_the_host_limited_are_counted_among_those_with_figures() {
    let is_told = |said: &String| said.contains("used up this host's CPUs");
    assert!(!unseen(&clouds()).iter().any(is_told));
    let mut cells = clouds();
    for cell in &mut cells[..3] {
        cell.flags = vec![FlagCount {
            flag: Flag::HostBound,
            rounds: 1,
            of: 4,
        }];
    }
    // All its rounds were void.
    cells[0].rounds = 0;
    let count = format!("in 2 of {} cells", cells.len() - 1);
    let all = unseen(&cells);
    let told = all.iter().find(|said| is_told(said)).expect("a sentence");
    assert!(told.starts_with(&count), "{told}");
}

#[test]
fn the_most_connections_are_held_against_the_next_fewer() {
    let of = |fewer_per_s: f64| {
        let mut cells = clouds();
        cells.push(CellSummary {
            connections: 4,
            throughput_per_s: about(fewer_per_s),
            ..cells[0].clone()
        });
        sentence(&unseen(&cells), "local volume, reads, 16 connections").to_owned()
    };
    let full = of(15_300.0);
    assert!(full.contains("16 connections for 4: 1.01 times"), "{full}");
    assert!(
        full.ends_with("none of what was moved is the limit."),
        "{full}"
    );
    let more = of(8_000.0);
    assert!(
        more.ends_with("moves it most is the number of connections."),
        "{more}"
    );
}
