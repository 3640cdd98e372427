//! Claims of `gmo-galera-2022`.

use super::super::Verdict::{Confirmed, Contradicted, Undecided};
use super::super::{Claim, Material, judge};
use super::articles::{GALERA, changed, claims_of, material, sentence, study, verdicts};
use crate::analysis::effects::{Effect, Effects};
use crate::analysis::example::articles::{about, galera};
use crate::analysis::example::screened;
use crate::analysis::interval::Estimate;
use crate::analysis::promise::Terms;
use crate::analysis::summarise;
use crate::analysis::summary::{CellSummary, ModeToll, Value};
use crate::analysis::trial::toll;
use crate::record::trial::{Series, Trial};
use crate::study::Mode;
use crate::study::fault::{Durability, Fault, Leaves, Scope};

#[test]
fn galera_as_published_contradicts_one_of_its_own_claims() {
    // The text says more than ten times, its table 7.0.
    let expected = [
        Confirmed,
        Contradicted,
        Confirmed,
        Confirmed,
        Undecided,
        Confirmed,
    ];
    assert_eq!(verdicts(GALERA, &galera()), expected);
}

#[test]
fn galeras_study_has_the_modes_that_its_claims_name() {
    let study = study(GALERA);
    let plan = crate::plan::plan(&study);
    let has_on = |label: &str, workload: &str, disks: Option<&str>| {
        plan.cells.iter().any(|cell| {
            let on = cell.disks.as_ref().map(|disks| &disks.label[..]);
            study.modes[cell.mode].label == label
                && cell.workload.label() == workload
                && (disks.is_none() || on == disks)
        })
    };
    let has = |label: &str, workload: &str| has_on(label, workload, None);
    for cell in galera() {
        let disks = cell.disks.as_deref();
        assert!(
            has_on(&cell.label, &cell.workload, disks),
            "{} {disks:?}",
            cell.id
        );
    }
    for (label, workload) in [
        ("default flush_log 0", "mysqlslap write"),
        ("default flush_log 0", "mysqlslap update"),
        ("default slave_threads 2", "mysqlslap write caught up"),
        ("default slave_threads 2", "mysqlslap update caught up"),
    ] {
        assert!(has(label, workload), "{label} {workload}");
    }
}

#[test]
fn galera_that_is_otherwise_contradicts() {
    let write = "mysqlslap write";
    let run = |seconds| move |cell: &mut CellSummary| cell.run_s = about(seconds);
    let slow = changed(galera(), "default flush_log 2", write, run(0.3));
    assert_eq!(verdicts(GALERA, &slow)[0], Contradicted);
    let threads = changed(galera(), "default slave_threads 4", write, run(0.03));
    assert_eq!(verdicts(GALERA, &threads)[1], Confirmed);
    let together = changed(galera(), "default tuned A", write, run(0.03));
    assert_eq!(verdicts(GALERA, &together)[2], Contradicted);
    let capacity = changed(galera(), "default io_capacity 3000", write, run(0.2));
    assert_eq!(verdicts(GALERA, &capacity)[3], Contradicted);
    let spread = &claims_of(GALERA, &galera(), false)[5];
    // 1100 commits/s, three rounds of three seconds.
    let share = "of all nodes: 37, that is 3.74 per 1000 commits";
    assert!(spread.reason.contains(share), "{spread:?}");
    let calm = changed(galera(), "spread", "update_index", |cell| {
        cell.errors = Default::default()
    });
    assert_eq!(verdicts(GALERA, &calm)[5], Contradicted);
}

/// The first two claims, after a change to the cells on other disks.
fn gains_elsewhere(change: impl Fn(&mut CellSummary)) -> [Claim; 2] {
    let mut cells = galera();
    let elsewhere = cells.iter_mut().filter(|cell| cell.disks.is_some());
    elsewhere.for_each(change);
    let mut claims = claims_of(GALERA, &cells, false).into_iter();
    [claims.next().unwrap(), claims.next().unwrap()]
}

#[test]
fn a_gain_must_be_so_however_long_a_flush_takes() {
    let at_4_ms = |run_s| {
        move |cell: &mut CellSummary| {
            if cell.disks.as_deref() == Some("flush 4 ms") && cell.label == "default" {
                cell.run_s = about(run_s);
            }
        }
    };
    let depends = "it depends on how long a flush takes";
    for claim in gains_elsewhere(at_4_ms(1.8)) {
        assert_eq!(claim.verdict, Undecided, "{claim:?}");
        assert!(claim.reason.contains(depends), "{claim:?}");
    }
    let unmeasured = gains_elsewhere(|cell| cell.run_s = None);
    for claim in unmeasured {
        assert_eq!(claim.verdict, Undecided, "{claim:?}");
        assert!(claim.reason.contains("other times were not"), "{claim:?}");
    }
}

#[test]
fn what_is_faster_together_need_not_be_the_first_set() {
    let write = "mysqlslap write";
    let fast = changed(galera(), "default tuned B", write, |cell| {
        cell.run_s = about(0.03)
    });
    assert_eq!(verdicts(GALERA, &fast)[2], Contradicted);
    let missing = changed(galera(), "default tuned B", write, |cell| cell.run_s = None);
    assert_eq!(verdicts(GALERA, &missing)[2], Undecided);
}

#[test]
fn deadlocks_are_held_against_the_commits_beside_them() {
    // 900 and 1100 commits/s for as long.
    let told = |one: u64, many: u64| {
        let with = |cells, label, count: u64| {
            changed(cells, label, "update_index", |cell| {
                cell.errors = [(1213, count)].into();
            })
        };
        let cells = with(with(galera(), "default", one), "spread", many);
        verdicts(GALERA, &cells)[5]
    };
    assert_eq!(told(1, 5_000), Confirmed);
    assert_eq!(told(100, 5_000), Confirmed);
    // Within ten times of each other: alike.
    assert_eq!(told(4, 37), Undecided);
    assert_eq!(told(1_000, 1_000), Undecided);
    // Too few to tell.
    assert_eq!(told(0, 3), Undecided);
    assert_eq!(
        (told(5_000, 0), told(5_000, 10)),
        (Contradicted, Contradicted)
    );
    let idle = changed(galera(), "default", "update_index", |cell| {
        cell.throughput_per_s = None;
    });
    assert_eq!(verdicts(GALERA, &idle)[5], Undecided);
}

#[test]
fn a_parameter_dominates_only_those_that_were_measured() {
    let without = |label: &str| {
        let mut cells = galera();
        cells.retain(|cell| cell.label != label || cell.workload != "mysqlslap write");
        cells
    };
    let missing = without("default io_capacity 3000");
    let first = &claims_of(GALERA, &missing, false)[0];
    assert_eq!(first.verdict, Undecided);
    assert!(
        first.reason.ends_with("default io_capacity 3000"),
        "{first:?}"
    );
    // One that takes no longer contradicts, whatever the others would have done.
    let run = |seconds| move |cell: &mut CellSummary| cell.run_s = about(seconds);
    let write = "mysqlslap write";
    let fast = changed(missing.clone(), "default slave_threads 2", write, run(0.05));
    assert_eq!(verdicts(GALERA, &fast)[0], Contradicted);
    // All together are no faster than one of them: then not than the best either.
    let third = &claims_of(GALERA, &missing, false)[2];
    assert_eq!(third.verdict, Confirmed);
    // That they are faster than the best of those measured shows nothing of the one missing.
    let tuned = |cells| changed(cells, "default tuned A", write, run(0.03));
    let third = &claims_of(GALERA, &tuned(missing), false)[2];
    assert_eq!(third.verdict, Undecided);
    assert!(
        third.reason.ends_with("default io_capacity 3000"),
        "{third:?}"
    );
    assert_eq!(verdicts(GALERA, &tuned(galera()))[2], Contradicted);
}

#[test]
fn updates_after_catching_up_are_told_of_too() {
    let mut cells = galera();
    for load in ["write", "update"] {
        for label in ["default", "default slave_threads 4"] {
            let workload = format!("mysqlslap {load}");
            let is_it = |cell: &&CellSummary| cell.label == label && cell.workload == workload;
            let mut own = cells.iter().find(is_it).unwrap().clone();
            own.workload += " caught up";
            cells.push(own);
        }
    }
    let material = material(&cells);
    let said = judge(GALERA, &material).unwrap().0.unseen;
    sentence(&said, "default slave_threads 4 makes inserts");
    sentence(&said, "default slave_threads 4 makes updates");
}

/// A cluster that lost so many of a hundred commits with one node, and with all.
fn terms(durability: Durability) -> Terms {
    Terms {
        mode: Mode::Galera,
        sites: ["a", "b", "c"].map(String::from).into(),
        durability,
        has_binary_log: true,
    }
}

fn fifth_claim(flush_log: u32, with_one: usize, with_all: usize) -> Claim {
    fifth_claim_unread(flush_log, with_one, with_all, None)
}

/// The same where the cluster may not have come back at all.
fn fifth_claim_unread(
    flush_log: u32,
    with_one: usize,
    with_all: usize,
    no_start: Option<&str>,
) -> Claim {
    let leaves = Leaves::Nothing;
    let of = |fault, lost: usize| {
        let mut cut = Trial::default();
        cut.outcomes.acknowledged = (0..100).collect();
        cut.present = (lost as u64..100).collect();
        cut.refused = no_start.map(str::to_owned);
        let series = Series {
            durability: Durability {
                flush_log,
                sync_binlog: 1,
            },
            fault,
            trials: vec![cut],
        };
        ModeToll {
            label: "default flush_log 2".to_owned(),
            server: "mariadb".to_owned(),
            mode: "galera".to_owned(),
            toll: toll(&series, &terms(series.durability)),
        }
    };
    let tolls = [
        of(Fault::power_cut(leaves, Scope::Node), with_one),
        of(Fault::power_cut(leaves, Scope::All), with_all),
    ];
    let cells = galera();
    let material = Material {
        tolls: &tolls,
        ..material(&cells)
    };
    judge(GALERA, &material).expect("an article").1.remove(4)
}

#[test]
fn a_cluster_outlives_one_node_and_is_lost_with_all() {
    let claim = fifth_claim(2, 0, 7);
    assert_eq!(claim.verdict, Confirmed, "{claim:?}");
    let parts = ["power cut 0 of 100 in 1", "cluster loss 7 of 100 in 1"];
    for part in parts {
        assert!(claim.reason.contains(part), "{claim:?}");
    }
    assert_eq!(fifth_claim(2, 1, 7).verdict, Contradicted);
    assert_eq!(fifth_claim(2, 1, 0).verdict, Contradicted);
    assert_eq!(fifth_claim(2, 0, 0).verdict, Undecided, "shows nothing");
    let unread = fifth_claim_unread(2, 100, 100, Some("no primary component"));
    assert_eq!(unread.verdict, Undecided);
    assert!(unread.reason.contains("was not read"), "{unread:?}");
    let flushed = fifth_claim(1, 0, 0);
    assert_eq!(flushed.verdict, Undecided);
    assert!(flushed.reason.contains("was not tried"), "{flushed:?}");
}

/// A design over inserts in which the second variable and the fifth gain by half each, and both
/// together come to `times` their product; all other pairs add up.
fn screened_inserts(times: f64) -> Vec<Effects> {
    let mut all = summarise(&screened(16)).effects;
    all[0].label = "default".into();
    all[0].workload = "mysqlslap write".into();
    pair(&mut all[0], "ab").ratio = about(1.0);
    pair(&mut all[0], "be").ratio = about(times);
    all
}

fn pair<'e>(effects: &'e mut Effects, letters: &str) -> &'e mut Effect {
    let mut pairs = effects.interactions.iter_mut();
    pairs.find(|pair| pair.of == letters).expect("a pair")
}

fn third_claim(effects: &[Effects]) -> Claim {
    let cells = galera();
    let material = Material {
        effects,
        ..material(&cells)
    };
    let (_, mut claims) = judge(GALERA, &material).expect("an article");
    claims.remove(2)
}

#[test]
fn whether_effects_add_up_is_judged_by_the_two_that_gain_most() {
    let told = |times| third_claim(&screened_inserts(times));
    let verdicts = [0.5, 1.0, 1.2].map(|times| told(times).verdict);
    assert_eq!(verdicts, [Confirmed, Contradicted, Contradicted]);
    let mut wide = screened_inserts(0.8);
    pair(&mut wide[0], "be").ratio = Some(Estimate {
        median: 0.8,
        low: Some(0.5),
        high: Some(1.2),
    });
    assert_eq!(third_claim(&wide).verdict, Undecided);
    // Another pair that does not add up is no proof, but leaves no room for the contrary.
    let mut other = screened_inserts(1.0);
    pair(&mut other[0], "ab").ratio = about(0.5);
    assert_eq!(third_claim(&other).verdict, Undecided);
    let claim = told(0.5);
    let what = &claim.figures[2].what;
    let both = "sync_binlog 0 and innodb_buffer_pool_size 64M";
    assert!(what.contains(both), "{claim:?}");
}

#[test]
fn without_two_gains_or_without_intervals_only_all_together_are_judged() {
    let with = |shown| {
        let mut effects = screened_inserts(1.0);
        let main = effects[0].main.iter_mut();
        main.filter(|effect| effect.of != "b")
            .for_each(|effect| effect.shown = shown);
        third_claim(&effects)
    };
    for (shown, is_told) in [(Some(false), true), (None, false)] {
        let claim = with(shown);
        assert_eq!((claim.verdict, claim.figures.len()), (Confirmed, 2));
        assert_eq!(
            claim.reason.contains("fewer than two"),
            is_told,
            "{claim:?}"
        );
    }
    // A design of which no round is whole says nothing.
    let mut none = screened_inserts(1.0);
    none[0].rounds = 0;
    assert_eq!(third_claim(&none).figures.len(), 2);
}

#[test]
fn tables_hold_what_was_measured_above_what_was_published() {
    let cells = galera();
    let material = material(&cells);
    let (article, _) = judge(GALERA, &material).unwrap();
    let grid = &article.tables[0];
    assert_eq!((grid.rows.len(), grid.columns.len()), (19, 5));
    let [here, there] = [&grid.rows[0], &grid.rows[1]];
    assert_eq!(
        (&here.published, there.published.as_deref()),
        (&None, Some("default"))
    );
    let published = Value {
        value: 0.474,
        low: Some(0.416),
        high: Some(0.652),
    };
    assert_eq!(there.figures[2], Some(published));
    assert_eq!(here.figures[2].unwrap().value, 0.474);
    // A published row without one of ours above it would have no name.
    let mut fewer = galera();
    fewer.retain(|cell| cell.label != "default tuned B");
    let material = Material {
        cells: &fewer,
        ..material
    };
    let (article, _) = judge(GALERA, &material).unwrap();
    assert_eq!(article.tables[0].rows.len(), 17);
    // Nothing measured, no table.
    let none = Material {
        cells: &[],
        ..material
    };
    assert!(judge(GALERA, &none).unwrap().0.tables.is_empty());
}
