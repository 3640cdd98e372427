//! Parts of a study, and the record that is made of them: no root, no servers.

#[path = "common/fixtures.rs"]
mod fixtures;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use acklab::analysis::summarise;
use acklab::plan::PartOf;
use acklab::record::store::{Record, Store, server_logs};
use acklab::record::{Header, Resumed, ServerLog};
use acklab::report::{Format, render, worth};
use fixtures::unpacked;
use rusqlite::Connection;

/// Records in `tests/fixtures`.
const RECORDS: [&str; 8] = [
    "anatomy-short",
    "clouds-2015",
    "compare",
    "gmo-galera-2022",
    "gmo-innodb-cluster-2022",
    "group-commit",
    "group-replication-2017",
    "power-cut",
];

/// What a run of that part would have kept of a whole record, under a head that may differ; all of
/// it, or so many measurements and no trials.
fn part(whole: &Path, part: PartOf, change: impl Fn(&mut Header), kept: Option<usize>) -> PathBuf {
    let record = Record::open(whole).expect("a record");
    let path = whole.with_file_name(format!("part-{}.acklab", part.number));
    let mut header = Header {
        part: Some(part),
        ..record.header.clone()
    };
    change(&mut header);
    let mut store = Store::create(&path, &header).expect("a place");
    let own = record.measurements.iter().filter(|one| part.has(one.round));
    for one in own.take(kept.unwrap_or(usize::MAX)) {
        store.append(one).expect("a measurement");
    }
    if kept.is_some() {
        return path;
    }
    for (mode, campaigns) in &record.campaigns {
        for packed in campaigns {
            let campaign = packed.unpacked().expect("a campaign");
            for (number, trial) in (1..).zip(&campaign.trials) {
                if part.has(number) {
                    let mut one = campaign.clone();
                    one.trials = vec![trial.clone()];
                    store.append_campaign(*mode, number, &one).expect("a trial");
                }
            }
        }
    }
    let log = ServerLog {
        lab: "of some mode".to_owned(),
        node: format!("of part {part}"),
        log: "[Note] ready\n".to_owned(),
    };
    store.keep_logs(&[log]).expect("logs");
    store.finish().expect("an end");
    path
}

/// All parts of a record, as one machine would have made them.
fn split(whole: &Path, of: u32) -> Vec<PathBuf> {
    PartOf::all(of)
        .map(|own| part(whole, own, |_| (), None))
        .collect()
}

/// Exit code, standard output and standard error.
fn acklab(words: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_acklab"))
        .args(words)
        .output();
    let output = output.expect("the program");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Merges these into `all.acklab` in their folder.
fn merge(parts: &[PathBuf], options: &[&str]) -> (Option<i32>, String, String) {
    let all = parts[0].with_file_name("all.acklab");
    let parts = parts.iter().map(|path| path.to_str().expect("text"));
    let words: Vec<&str> = ["merge"].into_iter().chain(parts).collect();
    acklab(&[&words[..], &["-o", all.to_str().expect("text")], options].concat())
}

/// All reports that can be made of a record, by their format.
fn reports(path: &Path) -> BTreeMap<&'static str, String> {
    let record = Record::open(path).expect("a record");
    let is_of_faults = record.header.cells.is_empty();
    let summary = summarise(&record);
    let formats = Format::ALL.into_iter();
    let formats = formats.filter(|(word, _)| !is_of_faults || worth::FORMATS.contains(word));
    let told = formats.map(|(word, format)| match is_of_faults {
        true => (word, worth::render(&summary, format)),
        false => (word, render(&summary, format)),
    });
    told.collect()
}

fn is_told_alike(name: &str, one: &Path, other: &Path) {
    let (one, other) = (reports(one), reports(other));
    assert_eq!(one.len(), other.len());
    for (format, text) in &one {
        assert!(
            *text == other[format],
            "{name}, {format}:\n{}",
            other[format]
        );
    }
}

#[test]
fn what_was_split_by_rounds_and_merged_is_told_as_the_whole_byte_for_byte() {
    for name in RECORDS {
        let folder = tempfile::tempdir().expect("a folder");
        let whole = unpacked(name, folder.path());
        let header = Record::open(&whole).expect("a record").header;
        let most = match header.cells.is_empty() {
            true => 2, // trials of each fault
            false => header.study.rounds,
        };
        for of in 1..=most {
            let mut parts = split(&whole, of);
            // Their order on the command line says nothing.
            parts.reverse();
            let (code, out, err) = merge(&parts, &[]);
            assert_eq!((code, &err[..]), (Some(0), ""), "{name} in {of}: {err}");
            assert!(out.contains("measured by 1 machine"), "{out}");
            let all = folder.path().join("all.acklab");
            is_told_alike(name, &whole, &all);
            let left = folder.path().read_dir().expect("a folder").count();
            assert_eq!(left, 2 + of as usize, "something lies beside the records");
            for path in parts.iter().chain([&all]) {
                std::fs::remove_file(path).expect("a file");
            }
        }
    }
}

/// The test above can fail: a part of which a single measurement is another.
#[test]
fn another_measurement_is_another_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = unpacked("compare", folder.path());
    let parts = split(&whole, 2);
    let connection = Connection::open(&parts[1]).expect("a record");
    let sql = "UPDATE measurement SET body = json_set(body, '$.commits', 1)
               WHERE rowid = (SELECT min(rowid) FROM measurement)";
    assert_eq!(connection.execute(sql, []).expect("a row"), 1);
    drop(connection);
    assert_eq!(merge(&parts, &[]).0, Some(0));
    let (one, other) = (reports(&whole), reports(&folder.path().join("all.acklab")));
    assert!(one.iter().all(|(format, text)| *text != other[format]));
}

#[test]
fn logs_and_machines_of_all_parts_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = unpacked("compare", folder.path());
    let of = PartOf::all(2);
    let parts: Vec<PathBuf> = of
        .map(|own| {
            let change = |header: &mut Header| {
                header.host.machine = Some(format!("machine of {own}"));
                header.host.cpus += own.number;
                header.command_line.push(format!("--part={own}"));
                header.remarks.push(format!("only {own}"));
            };
            part(&whole, own, change, None)
        })
        .collect();
    let (code, out, err) = merge(&parts, &[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("2 parts") && out.contains("measured by 2 machines"),
        "{out}"
    );
    let all = folder.path().join("all.acklab");
    let logs: Vec<_> = parts
        .iter()
        .map(|path| server_logs(path).expect("logs"))
        .collect();
    assert_eq!(server_logs(&all).expect("logs"), logs.concat());
    let header = Record::open(&all).expect("a record").header;
    let kept = [0, 1].map(|at| header.parts[at].clone());
    for (path, facts) in parts.iter().zip(kept) {
        let own = Record::open(path).expect("a record").header;
        assert_eq!((Some(facts.part), facts.host), (own.part, own.host));
        assert_eq!(
            (facts.labs, facts.command_line),
            (own.labs, own.command_line)
        );
    }
    assert_eq!(header.part, None);
    let words = Record::open(&whole).expect("a record").header.command_line;
    let (words, own) = words.split_at(words.len() - 2);
    assert_eq!(own[0], "--record");
    assert_eq!(
        header.command_line, words,
        "those of the whole, into no part's record"
    );
    let told: Vec<&str> = header
        .remarks
        .iter()
        .rev()
        .take(2)
        .map(String::as_str)
        .collect();
    assert_eq!(told, ["Part 2: only 2/2", "Part 1: only 1/2"]);
    let report = &reports(&all)["text"];
    assert!(report.contains("2 machines: what each came to"), "{report}");
    assert!(
        report.lines().all(|line| line.chars().count() <= 100),
        "{report}"
    );
}

/// Parts of a record, one of them changed; what `merge` says of them, which must be one mistake.
fn refused(change: impl Fn(&mut Header)) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = unpacked("compare", folder.path());
    let mut parts = PartOf::all(2);
    let [one, two] = [(); 2].map(|()| parts.next().expect("a part"));
    let parts = [
        part(&whole, one, |_| (), None),
        part(&whole, two, change, None),
    ];
    is_refused(&parts, &[])
}

fn is_refused(parts: &[PathBuf], options: &[&str]) -> String {
    let (code, out, err) = merge(parts, options);
    assert_eq!((code, &out[..]), (Some(2), ""), "{err}");
    let folder = parts[0].parent().expect("a folder");
    let mut entries = folder.read_dir().expect("a folder");
    let is_new = |name: &str| name == "all.acklab" || name.contains("unfinished");
    let left = entries.any(|entry| is_new(&entry.expect("a file").file_name().to_string_lossy()));
    assert!(!left, "something was written: {err}");
    err
}

#[test]
fn parts_of_another_study_version_or_settings_are_refused() {
    let told = refused(|header| header.study.measure *= 2);
    assert!(
        told.contains("part-2.acklab: given a part of another study, or of one with other options"),
        "{told}"
    );
    assert!(told.contains("part-1.acklab was begun by `"), "{told}");
    let told = refused(|header| header.study.seed += 1);
    assert!(told.contains("another study"), "{told}");
    let told = refused(|header| header.acklab_version = "9.9.9".to_owned());
    assert!(told.contains("given a record of acklab 9.9.9; "), "{told}");
    let told = refused(|header| header.servers[0].version = "9.9.9".to_owned());
    assert!(
        told.contains("→ 9.9.9") && told.contains("fetch the same servers"),
        "{told}"
    );
    let told = refused(|header| {
        for node in header
            .labs
            .iter_mut()
            .flat_map(|lab| lab.variables.values_mut())
        {
            node.insert("sync_binlog".to_owned(), "77".to_owned());
        }
    });
    assert!(
        told.contains("sync_binlog") && told.contains("→ 77"),
        "{told}"
    );
    // Set so on a machine that a part has gone on on.
    let told = refused(|header| {
        let mut labs = header.labs.clone();
        let nodes = labs.iter_mut().flat_map(|lab| lab.variables.values_mut());
        nodes.for_each(|node| drop(node.insert("sync_binlog".to_owned(), "78".to_owned())));
        let went_on = Resumed {
            labs,
            ..Resumed::default()
        };
        header.resumed.push(went_on);
    });
    assert!(
        told.contains("sync_binlog") && told.contains("→ 78"),
        "{told}"
    );
    let told = refused(|header| header.part = Some(PartOf { number: 2, of: 4 }));
    assert!(told.contains("part-2.acklab: given part 2/4; "), "{told}");
    // What a machine is differs as it may.
    let folder = tempfile::tempdir().expect("a folder");
    let whole = unpacked("compare", folder.path());
    let other = |header: &mut Header| header.host.cpus = 99;
    let all = PartOf::all(2).map(|own| part(&whole, own, other, None));
    assert_eq!(merge(&all.collect::<Vec<_>>(), &[]).0, Some(0));
}

#[test]
fn what_is_no_part_or_named_twice_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = unpacked("compare", folder.path());
    let parts = split(&whole, 2);
    let apart = tempfile::tempdir().expect("a folder");
    let only = PartOf { number: 1, of: 1 };
    let other = unpacked("compare", apart.path());
    let alone = part(&other, only, |header| header.part = None, None);
    let told = is_refused(&[parts[0].clone(), alone], &[]);
    assert!(
        told.contains("part-1.acklab: given a record of a whole study; "),
        "{told}"
    );
    let twice = folder.path().join("copy.acklab");
    std::fs::copy(&parts[0], &twice).expect("a copy");
    let told = is_refused(&[parts[0].clone(), twice, parts[1].clone()], &[]);
    assert!(told.contains("given part 1/2 once more; "), "{told}");
    let absent = folder.path().join("absent.acklab");
    let told = is_refused(&[absent.clone(), parts[0].clone()], &[]);
    assert!(
        told.contains("absent.acklab: given no readable file"),
        "{told}"
    );
    std::fs::write(&absent, "no record").expect("a file");
    let told = is_refused(&[absent, parts[0].clone()], &[]);
    assert!(told.contains("name a record that acklab wrote"), "{told}");
    let older = Connection::open(&parts[1]).expect("a record");
    older
        .pragma_update(None, "user_version", 5)
        .expect("a version");
    let told = is_refused(&parts, &[]);
    assert!(
        told.contains("given a record of schema version 5; "),
        "{told}"
    );
    older
        .pragma_update(None, "user_version", 6)
        .expect("a version");
    let sql = "UPDATE measurement SET round = 1 WHERE round = 2";
    older.execute(sql, []).expect("rows");
    let told = is_refused(&parts, &[]);
    assert!(
        told.contains("given round 1 in a record of part 2/2; "),
        "{told}"
    );
}

#[test]
fn a_merged_record_is_neither_merged_again_nor_gone_on_with_nor_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = unpacked("compare", folder.path());
    let parts = split(&whole, 2);
    assert_eq!(merge(&parts[..1], &["--partial"]).0, Some(0));
    let all = folder.path().join("all.acklab");
    let bytes = std::fs::read(&all).expect("a record");
    let (code, _, err) = merge(&parts, &[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains("this file exists already: name a new one"),
        "{err}"
    );
    assert_eq!(std::fs::read(&all).expect("a record"), bytes);
    let merged = folder.path().join("merged.acklab");
    std::fs::rename(&all, &merged).expect("a record");
    let told = is_refused(&[merged.clone(), parts[1].clone()], &[]);
    assert!(
        told.contains("given a record that was merged already; "),
        "{told}"
    );
    let merged = merged.to_str().expect("text");
    let (code, _, err) = acklab(&["run", "compare-quick", "--resume", merged]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("was merged from parts"), "{err}");
}

#[test]
fn what_is_missing_is_told_and_merged_without_only_if_that_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = unpacked("compare", folder.path());
    let rounds = Record::open(&whole).expect("a record").header.study.rounds;
    let first = PartOf { number: 1, of: 2 };
    let half = part(&whole, first, |_| (), Some(1));
    let told = is_refused(std::slice::from_ref(&half), &[]);
    let lines = [
        "part 1/2 (",
        "round 1 is half done",
        "did not go through to its end",
    ];
    assert!(lines.iter().all(|line| told.contains(line)), "{told}");
    assert!(
        told.contains("part 2/2: no record of it is named; it has round"),
        "{told}"
    );
    assert!(
        told.contains("--resume FILE") && told.contains("--partial"),
        "{told}"
    );
    assert_eq!(rounds, 3, "the third is of the same part as the first");
    assert!(told.contains("round 3 is missing"), "{told}");
    let (code, out, err) = merge(&[half], &["--partial"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.contains("missing: part 2/2") && out.contains("1 part"),
        "{out}{err}"
    );
    let report = &reports(&folder.path().join("all.acklab"))["text"];
    assert!(
        report.contains("PARTIAL") && report.contains(": 1 of "),
        "{report}"
    );
}

#[test]
fn trials_that_are_missing_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = unpacked("power-cut", folder.path());
    let parts = split(&whole, 2);
    let connection = Connection::open(&parts[0]).expect("a record");
    let sql = "DELETE FROM fault_trial WHERE rowid = (SELECT max(rowid) FROM fault_trial)";
    connection.execute(sql, []).expect("a row");
    let told = is_refused(&parts, &[]);
    assert!(
        told.contains("4 of 5 trials are there") && !told.contains("part 2/2"),
        "{told}"
    );
    let sql =
        "UPDATE fault_trial SET number = 2 WHERE rowid = (SELECT max(rowid) FROM fault_trial)";
    connection.execute(sql, []).expect("a row");
    let told = is_refused(&parts, &[]);
    assert!(
        told.contains("given trial 2 in a record of part 1/2; "),
        "{told}"
    );
}

#[test]
fn a_part_whose_run_goes_on_is_not_merged() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = unpacked("compare", folder.path());
    let parts = split(&whole, 2);
    let writer = Store::resume(&parts[1]).expect("nobody else's");
    let told = is_refused(&parts, &[]);
    assert!(told.contains("its run is still going on"), "{told}");
    drop(writer);
    assert_eq!(merge(&parts, &[]).0, Some(0));
}

/// What `run` says of a part, before it looks whether it could run at all.
fn run_part(options: &[&str]) -> String {
    let cache = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_acklab"))
        .args(["run", "compare-quick"])
        .args(options)
        .env("ACKLAB_CACHE", cache.path())
        .current_dir(cache.path())
        .output()
        .expect("the program");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    told
}

#[test]
fn parts_that_there_cannot_be_are_refused_with_what_is_allowed() {
    for (given, allowed) in [
        ("0/8", "the first is 1/8 and the last 8/8"),
        ("9/8", "the first is 1/8 and the last 8/8"),
        ("x", "as 3/8: the third of eight"),
        ("-1/8", "as 3/8: the third of eight"),
    ] {
        let told = run_part(&["--part", given]);
        assert!(told.contains(given) && told.contains(allowed), "{told}");
    }
    let told = run_part(&["--part", "2/9", "--rounds", "8"]);
    assert!(told.contains("--part: given 2/9; "), "{told}");
    assert!(
        told.contains("has 8 rounds") && told.contains("at most 8 parts"),
        "{told}"
    );
    for ends in [["--until", "5%"], ["--budget", "90min"]] {
        let told = run_part(&["--part", "1/2", ends[0], ends[1]]);
        assert!(
            told.contains("--part: given 1/2; ") && told.contains("--rounds"),
            "{told}"
        );
    }
}

#[test]
fn a_part_that_is_gone_on_with_knows_which_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = unpacked("compare", folder.path());
    let own = PartOf { number: 1, of: 2 };
    let half = part(&whole, own, |_| (), Some(1));
    let half = half.to_str().expect("text");
    let told = run_part(&["--resume", half, "--part", "2/2"]);
    assert!(
        told.contains("--part: given 2/2; the record is of part 1/2"),
        "{told}"
    );
    let connection = Connection::open(half).expect("a record");
    let sql = "UPDATE run SET header = json_remove(header, '$.part')";
    connection.execute(sql, []).expect("a row");
    drop(connection);
    let told = run_part(&["--resume", half, "--part", "1/2"]);
    assert!(told.contains("the record is of the whole study"), "{told}");
}
