//! Verbs that read a record: `report`, `diff`, `judge`.

use std::fs::File;
use std::path::Path;

use super::{acklab, run, text};

#[test]
fn a_report_wants_a_record() {
    let (code, out, err) = run(&["report", "absent.acklab"]);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("absent.acklab"), "{err}");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("x.acklab"), "no record").expect("a file");
    let output = acklab(folder.path(), &["report", "x.acklab"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("x.acklab"), "{output:?}");
}

/// Another record's anatomy stands beside; what is none is told in one line.
#[test]
fn a_report_has_another_anatomy_beside() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["anatomy-short", "gmo-innodb-cluster-2022"] {
        let packed = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures")
            .join(format!("{name}.acklab.zip"));
        let mut packed = zip::ZipArchive::new(File::open(packed).unwrap()).unwrap();
        let mut record = File::create(folder.path().join(format!("{name}.acklab"))).unwrap();
        std::io::copy(&mut packed.by_index(0).unwrap(), &mut record).unwrap();
    }
    let beside = |record: &str, other: &str, format: &str| {
        let words = ["report", record, "--beside", other, "--format", format];
        let output = acklab(folder.path(), &words);
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let (code, out, err) = beside("anatomy-short.acklab", "anatomy-short.acklab", "text");
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("The same beside anatomy-short.acklab"),
        "{out}"
    );
    let (_, out, _) = beside("anatomy-short.acklab", "anatomy-short.acklab", "json");
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    let row = &summary["anatomy"][0];
    assert!(row["round_trips"]["value"].is_f64(), "{row}");
    assert_eq!(row["beside"]["round_trips"], row["round_trips"]);
    assert_eq!(row["beside"]["flushes"], row["flushes"]);
    for (record, other, why) in [
        (
            "anatomy-short.acklab",
            "gmo-innodb-cluster-2022.acklab",
            "has no anatomy",
        ),
        ("anatomy-short.acklab", "absent.acklab", "absent.acklab"),
    ] {
        let (code, out, err) = beside(record, other, "text");
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        assert!(
            err.contains(why) && err.trim_end().lines().count() == 1,
            "{err}"
        );
    }
    let (code, out, err) = beside(
        "gmo-innodb-cluster-2022.acklab",
        "anatomy-short.acklab",
        "text",
    );
    assert_eq!(code, Some(0));
    assert!(!out.contains("The same beside"), "{out}");
    assert!(err.contains("has no anatomy"), "{err}");
}

/// A kept record, unpacked into a folder.
fn unpack(name: &str, folder: &Path) -> String {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(format!("{name}.acklab.zip"));
    let mut packed = zip::ZipArchive::new(File::open(packed).unwrap()).unwrap();
    let file = format!("{name}.acklab");
    let mut record = File::create(folder.join(&file)).unwrap();
    std::io::copy(&mut packed.by_index(0).unwrap(), &mut record).unwrap();
    file
}

/// Holds the second record of a folder against the first.
fn diff(folder: &Path, records: [&str; 2], options: &[&str]) -> (Option<i32>, String, String) {
    let output = acklab(folder, &[&["diff"][..], &records[..], options].concat());
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn a_record_held_against_itself_is_neither_better_nor_worse() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["compare", "anatomy-short", "power-cut"] {
        unpack(name, folder.path());
        let record = format!("{name}.acklab");
        let both = [&record[..], &record[..]];
        let (code, out, err) = diff(folder.path(), both, &[]);
        assert_eq!((code, &err[..]), (Some(0), ""), "{name}");
        assert!(out.contains("of one and the same run"), "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
        let (_, out, _) = diff(folder.path(), both, &["--format", "csv"]);
        let differs = |line: &str| line.starts_with("worse,") || line.starts_with("better,");
        assert!(!out.lines().any(differs), "{name}: {out}");
    }
    let compare = ["compare.acklab", "compare.acklab"];
    let (_, out, _) = diff(folder.path(), compare, &["--format", "markdown"]);
    assert!(
        out.starts_with("**0 of ") && out.contains("<details>"),
        "{out}"
    );
    let (_, out, _) = diff(folder.path(), compare, &["--format", "json"]);
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    let counts = &told["counts"];
    assert!(counts["figures"].as_u64() > Some(18 * 3), "{counts}");
    let differ = ["worse", "better"].map(|verdict| counts[verdict].as_u64());
    assert_eq!(differ, [Some(0), Some(0)]);
}

#[test]
fn a_limit_decides_how_diff_ends() {
    let folder = tempfile::tempdir().unwrap();
    unpack("compare", folder.path());
    let (a, b) = ("compare.acklab", "slower.acklab");
    std::fs::copy(folder.path().join(a), folder.path().join(b)).unwrap();
    let slower = rusqlite::Connection::open(folder.path().join(b)).unwrap();
    let sql = "UPDATE measurement SET body = json_set(body, '$.commits', \
               CAST(json_extract(body, '$.commits') / 20 AS INTEGER))";
    slower.execute(sql, []).unwrap();
    drop(slower);
    let end = |records: [&str; 2], limit: &str| {
        let (code, out, err) = diff(folder.path(), records, &["--limit", limit]);
        assert_eq!(err, "");
        (code, out)
    };
    let (code, out) = end([a, b], "throughput:-5%");
    assert_eq!(code, Some(1), "{out}");
    assert!(
        out.contains("limit throughput:-5% EXCEEDED: mysql "),
        "{out}"
    );
    let (code, out) = end([a, a], "throughput:-1%");
    assert_eq!(code, Some(3), "three short rounds: {out}");
    let (code, out) = end([a, a], "p50:+900%");
    assert_eq!(code, Some(0), "{out}");
    assert!(
        out.contains("limit p50:+900% kept in all of 18 figures"),
        "{out}"
    );
}

#[test]
fn what_is_not_comparable_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["compare", "gmo-innodb-cluster-2022", "anatomy-short"] {
        unpack(name, folder.path());
    }
    let whole = std::fs::read(folder.path().join("compare.acklab")).unwrap();
    let half = &whole[..whole.len() / 2];
    std::fs::write(folder.path().join("half.acklab"), half).unwrap();
    std::fs::write(folder.path().join("newer.acklab"), &whole).unwrap();
    let newer = rusqlite::Connection::open(folder.path().join("newer.acklab")).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    for (other, why) in [
        ("gmo-innodb-cluster-2022.acklab", "nothing in common"),
        ("anatomy-short.acklab", "B is on emulated disks"),
        ("half.acklab", "damaged"),
        ("newer.acklab", "schema version 99"),
    ] {
        let (code, out, err) = diff(folder.path(), ["compare.acklab", other], &[]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{other}: {err}");
        assert!(err.contains(why) && err.lines().count() == 1, "{err}");
    }
}

#[test]
fn a_record_is_written_as_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let record = unpack("compare", folder.path());
    let write = |words: &[&str]| {
        let words = [&["report", &record][..], words].concat();
        let output = acklab(folder.path(), &words);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        (output.status.code(), out, err)
    };
    let read = || std::fs::read_to_string(folder.path().join("out.html")).unwrap();
    let written = write(&["--html", "out.html"]);
    assert_eq!(written, (Some(0), "out.html\n".to_owned(), String::new()));
    let page = read();
    assert!(page.starts_with("<!DOCTYPE html>"), "{}", &page[..100]);
    assert!(page.contains("mysql semisync") && page.len() < 3_000_000);
    // One that is there is replaced.
    let (code, _, err) = write(&["--html", "out.html", "--baseline", "mysql async"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(read().contains("takes more than mysql async"));
    std::fs::create_dir(folder.path().join("there")).unwrap();
    for (words, why) in [
        (&["--html", "there"][..], "is a folder"),
        (
            &["--html", "there/../compare.acklab"],
            "is the record itself",
        ),
        (&["--html", "absent/out.html"], "in a folder that is there"),
        (
            &["--html", "out.html", "--baseline", "mysql asink"],
            "mysql asink",
        ),
    ] {
        let (code, out, err) = write(words);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{words:?}: {err}");
        assert!(err.contains(why), "{words:?}: {err}");
    }
    let connection = rusqlite::Connection::open(folder.path().join(&record)).unwrap();
    connection.execute("DELETE FROM measurement", []).unwrap();
    drop(connection);
    let (code, _, err) = write(&["--html", "none.html"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("no finished measurement"), "{err}");
    let names = std::fs::read_dir(folder.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, ["compare.acklab", "out.html", "there"]);
}

#[test]
fn only_a_record_with_schedules_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join("compare.acklab.zip");
    let mut packed = zip::ZipArchive::new(File::open(packed).unwrap()).unwrap();
    let mut record = File::create(folder.path().join("old.acklab")).unwrap();
    std::io::copy(&mut packed.by_index(0).unwrap(), &mut record).unwrap();
    let output = acklab(folder.path(), &["judge", "old.acklab"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        text(&output.stderr).contains("holds no trial"),
        "{output:?}"
    );
}

/// Kept records of which something is wrong, and what is said of each.
fn unsound(folder: &Path) -> Vec<(&'static str, &'static str)> {
    let whole = std::fs::read(folder.join(unpack("compare", folder))).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    write("cut.acklab", &whole[..whole.len() / 2]);
    write("empty.acklab", b"");
    write("text.acklab", b"[[mode]]\nserver = \"mysql\"\n");
    write("newer.acklab", &whole);
    let newer = rusqlite::Connection::open(folder.join("newer.acklab")).unwrap();
    newer.pragma_update(None, "user_version", 1_000).unwrap();
    vec![
        ("cut.acklab", "damaged"),
        ("empty.acklab", "an empty file"),
        ("text.acklab", "another kind of file"),
        ("newer.acklab", "use a newer acklab"),
        ("absent.acklab", "no readable file"),
    ]
}

#[test]
fn every_verb_refuses_what_is_no_whole_record() {
    let folder = tempfile::tempdir().unwrap();
    for (name, why) in unsound(folder.path()) {
        for words in [
            &["report", name][..],
            &["report", name, "--html", "page.html"],
            &["report", name, "--format", "json"],
            &["diff", "compare.acklab", name],
            &["predict", name, "--distances", "ab=2ms,ac=30ms,bc=30ms"],
            &["judge", name],
            &["pack", name],
        ] {
            let output = acklab(folder.path(), words);
            let (out, err) = (text(&output.stdout), text(&output.stderr));
            let code = output.status.code();
            assert_eq!((code, out.as_str()), (Some(2), ""), "{words:?}: {err}");
            assert!(err.contains(why) && err.contains(name), "{words:?}: {err}");
        }
    }
    assert!(!folder.path().join("page.html").exists());
}
