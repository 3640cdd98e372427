//! Claims of `gmo-innodb-cluster-2022`.

use super::super::Verdict::{Confirmed, Contradicted, Undecided};
use super::super::judge;
use super::articles::{INNODB, changed, material, sentence, study, verdicts};
use crate::analysis::example::articles::{about, innodb_cluster};
use crate::analysis::interval::Estimate;
use crate::analysis::summary::CellSummary;
use crate::study::Workload;
use crate::study::workload::Parameter;

#[test]
fn the_cluster_as_published() {
    let expected = [
        Confirmed, Confirmed, Confirmed, Confirmed, Confirmed, Confirmed,
    ];
    assert_eq!(verdicts(INNODB, &innodb_cluster()), expected);
}

#[test]
fn a_cluster_that_is_otherwise_contradicts() {
    let slow = changed(
        innodb_cluster(),
        "async 2 nodes",
        "mysqlslap write",
        |cell| {
            cell.run_s = about(0.28);
        },
    );
    assert_eq!(verdicts(INNODB, &slow)[..2], [Contradicted, Contradicted]);
    let mut multi = innodb_cluster();
    for cell in multi.iter_mut().filter(|cell| cell.label == "group-multi") {
        cell.run_s = about(cell.run_s.unwrap().median * 1.3);
    }
    assert_eq!(verdicts(INNODB, &multi)[2], Contradicted);
    let tuned = changed(
        innodb_cluster(),
        "group spin loops",
        "mysqlslap write",
        |cell| {
            cell.run_s = about(0.15);
        },
    );
    assert_eq!(verdicts(INNODB, &tuned)[4], Contradicted);
    assert_eq!(verdicts(INNODB, &neither_gains())[5], Contradicted);
}

/// 2 MB each: slower without compression, and no faster with spinning.
fn neither_gains() -> Vec<CellSummary> {
    changed(innodb_cluster(), "group spin loops", "2 MB", |cell| {
        cell.throughput_per_s = about(9.1);
    })
}

#[test]
fn that_no_setting_gains_takes_all_of_them() {
    let sixth = |cells: &[CellSummary]| verdicts(INNODB, cells)[5];
    let wide = |cell: &mut CellSummary| {
        let rate = cell.throughput_per_s.as_mut().unwrap();
        (rate.low, rate.high) = (Some(5.0), Some(30.0));
    };
    let open = changed(neither_gains(), "group spin loops", "2 MB", wide);
    assert_eq!(sixth(&open), Undecided);
    let is_spun = |cell: &CellSummary| cell.label == "group spin loops" && cell.workload == "2 MB";
    let mut missing = neither_gains();
    missing.retain(|cell| !is_spun(cell));
    assert_eq!(sixth(&missing), Undecided);
    // One that gains is enough, whatever became of the other.
    let mut one = innodb_cluster();
    one.retain(|cell| cell.label != "group no compression");
    assert_eq!(sixth(&one), Confirmed);
}

#[test]
fn a_router_is_judged_where_one_was_measured() {
    let router = |load: &str, seconds| {
        let change = move |cell: &mut CellSummary| cell.run_s = about(seconds);
        changed(innodb_cluster(), "group router", load, change)
    };
    let slow = router("mysqlslap read", 3.916 * 1.6);
    assert_eq!(verdicts(INNODB, &slow)[3], Contradicted);
    let free = router("mysqlslap key", 0.214);
    assert_eq!(verdicts(INNODB, &free)[3], Contradicted);
    let mut without = innodb_cluster();
    without.retain(|cell| cell.label != "group router");
    assert_eq!(verdicts(INNODB, &without)[3], Undecided);
}

/// What is said beside the claims.
fn unseen_of(cells: &[CellSummary]) -> Vec<String> {
    let material = material(cells);
    judge(INNODB, &material).expect("an article").0.unseen
}

#[test]
fn a_run_is_taken_apart_into_router_consensus_nodes_and_tls() {
    let said = unseen_of(&innodb_cluster());
    let whole = sentence(&said, "write, what the article compares");
    // 0.354 s over 0.146 s; 2.42 = 1.20 · 1.84 · 1.10.
    assert!(whole.contains("group router over async 2 nodes 2.42 times (2.33 to 2.52)"));
    assert!(whole.ends_with("multiply to it."), "{whole}");
    for (part, figure) in [
        ("Router over direct", "group router over group 1.20 times"),
        ("consensus over none", "group over async 3 nodes 1.84 times"),
        (
            "three nodes over two",
            "async 3 nodes over async 2 nodes 1.10 times",
        ),
        ("TLS over none", "group over group no TLS 1.40 times"),
    ] {
        let said = sentence(&said, &format!("write, {part}: "));
        assert!(said.contains(figure), "{said}");
        // One pair was measured, and nothing is said of the others.
        assert!(
            !said.contains(", async router") && !said.contains(", semisync"),
            "{said}"
        );
    }
    let front = sentence(&said, "CPU of the front per transaction of mysqlslap key");
    assert!(front.ends_with("µs: group router 120."), "{front}");
}

#[test]
fn a_part_that_was_not_measured_is_not_told_of() {
    let mut cells = innodb_cluster();
    cells.retain(|cell| cell.label != "async 3 nodes");
    let said = unseen_of(&cells);
    let whole = sentence(&said, "key, what the article compares");
    assert!(!whole.contains("multiply"), "{whole}");
    assert!(!said.iter().any(|sentence| sentence.contains("consensus")));
    assert!(!said.iter().any(|sentence| sentence.contains("three nodes")));
    sentence(&said, "key, Router over direct: ");
    // Measured without an interval, it is as good as not measured.
    let open = changed(innodb_cluster(), "group", "mysqlslap key", |cell| {
        cell.run_s = cell.run_s.map(|run| Estimate {
            low: None,
            high: None,
            ..run
        });
    });
    let said = unseen_of(&open);
    assert!(
        !said
            .iter()
            .any(|sentence| sentence.starts_with("key, Router"))
    );
    assert!(!sentence(&said, "key, what").contains("multiply"));
    assert_eq!(unseen_of(&[]), Vec::<String>::new());
}

/// What the rules look for, the study measures.
#[test]
fn the_clusters_study_has_the_modes_that_its_claims_name() {
    let study = study(INNODB);
    let plan = crate::plan::plan(&study);
    for cell in innodb_cluster() {
        let has = |planned: &crate::plan::Cell| {
            study.modes[planned.mode].label == cell.label
                && planned.workload.label() == cell.workload
        };
        assert!(plan.cells.iter().any(has), "{}", cell.id);
    }
    let mode = |label: &str| study.modes.iter().find(|spec| spec.label == label);
    let threshold = |label: &str| {
        let variables = &mode(label).expect("a mode").variables;
        variables["group_replication_compression_threshold"].clone()
    };
    assert_eq!(threshold("group compresses all"), "100");
    assert_eq!(threshold("group no compression"), "0");
}

/// The number behind those words.
fn behind(sql: &str, words: &str) -> u64 {
    let rest = sql.split_once(words).expect(words).1;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect(words)
}

/// Half of a row of 2 MB is drawn, in a block that stands there several times, but longer than LZ4
/// looks back; the other half is one text over and over.
#[test]
fn large_rows_compress_about_as_text_does() {
    const LZ4_WINDOW: u64 = 65_536;
    let study = study(INNODB);
    let plan = crate::plan::plan(&study);
    let mut cells = plan.cells.iter();
    let large = cells.find(|cell| cell.workload.label() == "2 MB").unwrap();
    let Workload::Custom {
        transactions,
        setup,
        ..
    } = &large.workload
    else {
        panic!("{large:?}")
    };
    let statement = &transactions[0].statements[0];
    let [_, Parameter::Text { length: piece }] = statement.parameters[..] else {
        panic!("{statement:?}")
    };
    let drawn = setup.last().expect("a drawn text");
    // Base64 makes four letters of three bytes, 76 a line.
    let letters = behind(drawn, "RANDOM_BYTES(").div_ceil(3) * 4;
    let block = behind(drawn, "i < ") * (letters + (letters - 1) / 76);
    let all = block * behind(drawn, "SEPARATOR ''), ");
    let same = u64::from(piece) * behind(&statement.sql, "REPEAT(?, ");
    assert!(block > LZ4_WINDOW, "{block}");
    assert!(all + same > 2_000_000, "{all} {same}");
    assert!(all.abs_diff(same) * 20 < same, "{all} {same}");
}
