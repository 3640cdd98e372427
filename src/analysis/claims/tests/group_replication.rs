use super::super::Verdict::{Confirmed, Contradicted, Undecided};
use super::super::{Claim, judge};
use super::articles::{changed, claims_of, material, study, verdicts};
use crate::analysis::example::articles::{about, group_replication, with_p95_us};
use crate::analysis::summary::{CellSummary, FlagCount};
use crate::analysis::timeline::Dips;
use crate::record::{Flag, counter};

pub const GROUP: &str = "group-replication-2017";
const LOAD: &str = "update_index";

/// The claim of that number, from 0, after a change to one mode's cells.
fn claim_with(number: usize, label: &str, change: impl Fn(&mut CellSummary)) -> Claim {
    claim_of(number, &changed(group_replication(), label, LOAD, change))
}

fn claim_of(number: usize, cells: &[CellSummary]) -> Claim {
    claims_of(GROUP, cells, false).remove(number)
}

fn applies(per_s: f64) -> impl Fn(&mut CellSummary) {
    move |cell| cell.applied_per_s = about(per_s)
}

#[test]
fn replicas_and_groups_as_published() {
    assert_eq!(verdicts(GROUP, &group_replication()), [Confirmed; 6]);
}

#[test]
fn replicas_and_groups_that_are_otherwise_contradict() {
    let of = |number, label, per_s| claim_with(number, label, applies(per_s)).verdict;
    assert_eq!(of(0, "1 applier", 30_000.0), Contradicted);
    assert_eq!(of(1, "5.6 by database 16", 9_000.0), Contradicted);
    assert_eq!(of(1, "logical clock 16", 3_000.0), Contradicted);
    assert_eq!(of(2, "semisync 2 nodes", 15_000.0), Contradicted);
    let worn_out = claim_with(2, "semisync 2 nodes", |cell| {
        cell.applied_per_s = about(15_000.0);
        cell.flags = vec![FlagCount {
            flag: Flag::HostBound,
            rounds: 1,
            of: 3,
        }];
    });
    assert_eq!(worn_out.verdict, Undecided);
    assert!(worn_out.reason.contains("CPUs"), "{worn_out:?}");
    let mut newest = group_replication();
    newest.retain(|cell| cell.label != "logical clock 16");
    let second = claim_of(1, &newest);
    assert_eq!(second.verdict, Undecided);
    assert!(second.reason.contains("5.7 or 8.0"), "{second:?}");
}

#[test]
fn semi_sync_by_commit_order_goes_before_write_sets() {
    let mut own = group_replication();
    let mut semisync = own
        .iter()
        .find(|cell| cell.label == "semisync 2 nodes")
        .cloned()
        .expect("a cell");
    semisync.label = "semisync logical clock 16".into();
    semisync.applied_per_s = about(15_000.0);
    own.push(semisync);
    let third = claim_of(2, &own);
    assert_eq!(third.verdict, Contradicted);
    assert!(!third.reason.contains("write set"), "{third:?}");
}

#[test]
fn a_lag_that_was_not_seen_to_its_end_is_told_as_no_less() {
    let told = |beyond| {
        let claim = claim_with(2, "semisync 2 nodes", |cell| {
            cell.lag_ms[0].beyond = beyond;
        });
        claim.reason
    };
    assert!(told(0).contains("was 1.5 ms"), "{}", told(0));
    assert!(told(1).contains("was 1.5 ms or more"), "{}", told(1));
}

#[test]
fn where_one_applier_keeps_up_appliers_decide_nothing() {
    let old = claim_with(1, "5.6 1 applier", applies(29_500.0));
    assert_eq!(old.verdict, Undecided);
    assert!(old.reason.contains("5.6 1 applier keeps up"), "{old:?}");
    // Slower than one applier, and the one keeps up: neither helps nor hardly helps.
    let one = claim_with(1, "1 applier", applies(46_500.0));
    assert_eq!(one.verdict, Undecided);
    assert!(one.reason.contains("; 1 applier keeps up"), "{one:?}");
    let free = claim_with(2, "write set 16", applies(46_500.0));
    assert_eq!(free.verdict, Undecided);
    assert_eq!(free.figures.len(), 3);
    assert!(free.reason.contains("keeps up here too"), "{free:?}");
}

#[test]
fn a_gain_that_the_source_cuts_off_is_no_small_gain() {
    let committing = |label: &str, committed: f64, one: f64, many: f64| {
        let cells = changed(group_replication(), label, LOAD, |cell| {
            cell.throughput_per_s = about(committed);
            cell.applied_per_s = about(many);
        });
        let reference = if label.starts_with("5.6") {
            "5.6 1 applier"
        } else {
            "1 applier"
        };
        claim_of(1, &changed(cells, reference, LOAD, applies(one)))
    };
    // One applies 2,000 of 30,000 elsewhere; here the source gives only a little more.
    let cut = committing("logical clock 16", 3_000.0, 2_000.0, 2_950.0);
    assert_eq!(cut.verdict, Undecided);
    assert!(cut.reason.contains("logical clock 16 keeps up"), "{cut:?}");
    let lagging = committing("logical clock 16", 4_500.0, 2_000.0, 2_950.0);
    assert_eq!(lagging.verdict, Contradicted);
    let great = committing("logical clock 16", 6_000.0, 2_000.0, 5_950.0);
    assert_eq!(great.verdict, Confirmed);
    let hardly = committing("5.6 by database 16", 2_200.0, 2_000.0, 2_200.0);
    assert_eq!(hardly.verdict, Undecided);
    let more = committing("5.6 by database 16", 6_000.0, 2_000.0, 5_950.0);
    assert_eq!(more.verdict, Contradicted);
}

/// Groups far apart, at those numbers of connections, with so many commits/s and that percentile.
fn far(connections: &[u32], per_s: f64, p95_us: f64) -> Claim {
    let mut cells = group_replication();
    let is_far = |cell: &&mut CellSummary| {
        cell.distances == "2.15 ms" && connections.contains(&cell.connections)
    };
    for cell in cells.iter_mut().filter(is_far) {
        cell.throughput_per_s = about(per_s);
        cell.by_round = with_p95_us(p95_us);
    }
    claim_of(3, &cells)
}

#[test]
fn distance_that_counts_at_all_connections_contradicts_and_at_some_it_depends() {
    assert_eq!(far(&[1, 64], 3_000.0, 8_000.0).verdict, Contradicted);
    let some = far(&[1], 3_000.0, 8_000.0);
    assert_eq!((some.verdict, some.figures.len()), (Undecided, 4));
    assert!(some.reason.contains("number of connections"), "{some:?}");
}

#[test]
fn response_time_is_judged_by_itself() {
    assert_eq!(far(&[1, 64], 9_900.0, 8_000.0).verdict, Contradicted);
    let cells = changed(group_replication(), "group", LOAD, |cell| {
        cell.by_round.p95_us.clear();
    });
    assert_eq!(claim_of(3, &cells).verdict, Undecided);
}

/// Flow control with so many transactions held back in the long windows, and that scatter.
fn steered(throttled: f64, scatter: f64) -> Claim {
    claim_with(4, "group", |cell| {
        cell.unevenness = cell.unevenness.and(about(scatter));
        let counters = cell.server_counters.values_mut();
        counters.for_each(|count| *count = throttled);
    })
}

#[test]
fn flow_control_that_never_acted_makes_nothing_unstable() {
    assert_eq!(steered(9_000.0, 0.35).verdict, Confirmed);
    let idle = steered(0.0, 0.35);
    assert_eq!(idle.verdict, Undecided);
    assert!(idle.reason.contains("0 times with 32"), "{idle:?}");
    assert_eq!(steered(0.0, 0.02).verdict, Undecided);
    // What other cells counted is no evidence.
    let mut elsewhere = group_replication();
    for cell in elsewhere.iter_mut().filter(|cell| cell.label == "group") {
        let counts = std::mem::take(&mut cell.server_counters);
        if cell.measure_s != 15.0 || cell.connections == 32 {
            cell.server_counters = counts;
        }
        if cell.measure_s == 300.0 {
            let name = counter::GROUP_THROTTLED.to_owned();
            cell.server_counters.insert(name, 9_000.0);
        }
    }
    assert_eq!(claim_of(4, &elsewhere).verdict, Undecided);
}

#[test]
fn more_scatter_that_is_still_little_is_not_unstable() {
    // Twice as much as without, and a tenth of the mean.
    assert_eq!(steered(9_000.0, 0.12).verdict, Contradicted);
    assert_eq!(steered(9_000.0, 0.02).verdict, Contradicted);
    let both = changed(group_replication(), "group no flow control", LOAD, |cell| {
        cell.unevenness = cell.unevenness.and(about(0.5));
    });
    assert_eq!(claim_of(4, &both).verdict, Contradicted);
}

/// The watched group at that rate with those dips.
fn dipping(per_s: f64, change: impl Fn(Dips) -> Dips) -> Claim {
    claim_with(5, "group", |cell| {
        if let Some(dips) = cell.dips.take() {
            cell.throughput_per_s = about(per_s);
            cell.dips = Some(change(dips));
        }
    })
}

#[test]
fn dips_must_come_back_four_times_and_be_missed_at_a_high_rate() {
    let none = |dips| Dips {
        count: 0,
        gaps_s: vec![],
        median_gap_s: None,
        ..dips
    };
    let slow = dipping(10_000.0, none);
    assert_eq!(slow.verdict, Undecided);
    assert!(slow.reason.contains("no high rate") && slow.reason.contains("47332"));
    assert_eq!(dipping(30_000.0, none).verdict, Contradicted);
    let three = |dips| Dips {
        count: 3,
        gaps_s: vec![55, 66],
        median_gap_s: Some(60.5),
        ..dips
    };
    assert_eq!(dipping(10_000.0, three).verdict, Undecided);
    let many = |dips| Dips {
        count: 9,
        gaps_s: vec![12, 60, 33, 58, 61, 20, 9, 40],
        ..dips
    };
    assert_eq!(dipping(30_000.0, many).verdict, Undecided);
}

#[test]
fn short_rounds_do_not_add_up_to_a_long_look() {
    let short = dipping(30_000.0, |dips| Dips {
        longest_round_s: 100,
        ..dips
    });
    assert_eq!(short.verdict, Undecided);
    assert!(short.reason.contains("280 s in one go"), "{short:?}");
}

#[test]
fn an_offered_rate_is_no_measure_of_what_a_source_commits() {
    let mut cells = group_replication();
    cells.rotate_right(12);
    assert!(cells[0].offered_per_s.is_some(), "{:?}", cells[0]);
    assert_eq!(verdicts(GROUP, &cells), [Confirmed; 6]);
}

#[test]
fn replicas_and_groups_have_tables_of_their_own_form() {
    let mut cells = group_replication();
    cells[0].lag_ms[0].not_caught_up = 2;
    let material = material(&cells);
    let tables = judge(GROUP, &material).unwrap().0.tables;
    let row = |table: usize, name: &str| {
        let mut rows = tables[table].rows.iter();
        rows.find(|row| row.name == name && row.published.is_none())
            .unwrap_or_else(|| panic!("{name}: {:?}", tables[table]))
    };
    let told = |table, name| -> Vec<Option<f64>> {
        let figures = row(table, name).figures.iter();
        let rounded = |value: f64| (value * 1e6).round() / 1e6;
        figures
            .map(|figure| Some(rounded(figure.as_ref()?.value)))
            .collect()
    };
    let p95 = told(0, "1 applier");
    assert_eq!(p95, [Some(47_332.0), Some(2_065.0), Some(2.4)]);
    let far = told(1, "group, 2.15 ms, 64 connections");
    assert_eq!(far, [Some(9_900.0), None, Some(2.5)]);
    let watched = told(2, "group, 64 connections, 300 s");
    let scatter = told(2, "group no flow control, 64 connections, 15 s");
    assert_eq!(watched, [None, Some(5.0), Some(40.0), Some(60.0)]);
    assert_eq!(scatter, [Some(6.0), None, None, None]);
    let some = told(3, "1 applier");
    assert_eq!(some, [Some(1_000.0), Some(2_000.0), Some(4_000.0)]);
    let note = |table, name| row(table, name).note.as_deref();
    let given_up = "not caught up within 60 s in 2 of 3 rounds";
    assert_eq!(note(0, "1 applier"), Some(given_up));
    assert_eq!(note(0, "write set 16"), None);
    assert_eq!(note(3, "1 applier"), None);
    assert_eq!(note(3, "write set 16"), Some("all"));
    let none = "none of those offered; not committed as offered: 4000";
    assert_eq!(note(3, "5.6 1 applier"), Some(none));
    let all = "all; not committed as offered: 4000";
    assert_eq!(note(3, "semisync 2 nodes"), Some(all));
}

#[test]
fn a_row_stays_where_no_rate_of_applying_is_known() {
    let cells = changed(group_replication(), "1 applier", LOAD, |cell| {
        cell.applied_per_s = None;
        cell.lag_ms[0].catch_up = None;
        cell.lag_ms[0].not_caught_up = 3;
    });
    let material = material(&cells);
    let tables = judge(GROUP, &material).unwrap().0.tables;
    let row = &tables[0].rows[0];
    assert!(
        row.name == "1 applier" && row.figures[1].is_none(),
        "{row:?}"
    );
    let note = row.note.as_deref().unwrap_or_default();
    assert!(note.contains("3 of 3"), "{row:?}");
}

/// But for a server of the user's own.
#[test]
fn the_groups_study_has_the_cells_that_its_claims_name() {
    let study = study(GROUP);
    let plan = crate::plan::plan(&study);
    let has = |label: &str, connections: u32, rate: Option<u32>, window_s: Option<f64>| {
        plan.cells.iter().any(|planned| {
            study.modes[planned.mode].label == label
                && (planned.connections, planned.rate_per_s) == (connections, rate)
                && window_s.is_none_or(|s| planned.window(&study).as_secs_f64() == s)
        })
    };
    let own = |cell: &CellSummary| cell.label == "logical clock 16";
    for cell in group_replication().iter().filter(|cell| !own(cell)) {
        let window_s = (cell.measure_s >= 15.0).then_some(cell.measure_s);
        let is_there = has(&cell.label, cell.connections, cell.offered_per_s, window_s);
        assert!(is_there, "{} {}", cell.id, cell.connections);
    }
    for connections in [32, 64] {
        assert!(has(
            "group flow control at 800",
            connections,
            None,
            Some(15.0)
        ));
    }
}

/// Where its default did nothing, flow control is judged as it is for this machine's rate.
#[test]
fn flow_control_is_judged_where_it_acted() {
    let mut cells = changed(group_replication(), "group", LOAD, |cell| {
        cell.server_counters.clear();
    });
    assert_eq!(claim_of(4, &cells).verdict, Undecided);
    let unsteady = group_replication();
    let unsteady = unsteady
        .iter()
        .filter(|cell| cell.label == "group" && cell.measure_s == 15.0);
    cells.extend(unsteady.map(|cell| CellSummary {
        label: "group flow control at 800".into(),
        ..cell.clone()
    }));
    let claim = claim_of(4, &cells);
    assert_eq!(claim.verdict, Confirmed);
    assert!(
        claim.reason.contains("by default it did not act at both"),
        "{claim:?}"
    );
}
