//! The command line where no lab is needed: no root, no servers.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::pty::openpty;
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::setsid;

const VERBS: [&str; 20] = [
    "compare",
    "run",
    "limits",
    "studies",
    "report",
    "pack",
    "diff",
    "serve",
    "predict",
    "break",
    "judge",
    "servers",
    "check",
    "self-test",
    "up",
    "exec",
    "sql",
    "status",
    "down",
    "completions",
];

fn command(cache: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acklab"));
    command
        .args(arguments)
        .env("ACKLAB_CACHE", cache)
        .current_dir(cache);
    command
}

fn acklab(cache: &Path, arguments: &[&str]) -> Output {
    let mut command = command(cache, arguments);
    command.output().expect("the program")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs the program on an empty cache.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let cache = tempfile::tempdir().expect("a folder");
    let output = acklab(cache.path(), arguments);
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn help_lists_every_verb() {
    let (code, out, err) = run(&["--help"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let listed: Vec<&str> = out
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .collect();
    for verb in VERBS {
        let is_it = |line: &&str| line.split_whitespace().next() == Some(verb);
        assert!(listed.iter().any(is_it), "{verb} is not in\n{out}");
        let (code, out, _) = run(&[verb, "--help"]);
        assert!(
            code == Some(0) && out.contains("Usage: acklab"),
            "{verb}: {out}"
        );
    }
    for hidden in ["switch", "drive", "health", "man"] {
        assert!(!listed.iter().any(|line| line.starts_with(hidden)), "{out}");
    }
}

#[test]
fn every_verb_is_completed_and_has_a_man_page() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish"] {
        let (code, out, err) = run(&["completions", shell]);
        assert_eq!((code, &err[..]), (Some(0), ""), "{shell}");
        let missing: Vec<&str> = VERBS
            .into_iter()
            .filter(|verb| !out.contains(verb))
            .collect();
        assert_eq!(missing, [""; 0], "{shell}");
        std::fs::write(folder.path().join(shell), out).expect("a file");
    }
    let script = "set -e; source ./bash; complete -p acklab";
    let output = Command::new("bash")
        .args(["-c", script])
        .current_dir(folder.path())
        .output()
        .expect("bash");
    let told = text(&output.stdout);
    assert!(
        output.status.success() && told.contains("acklab"),
        "{output:?}"
    );
    let output = acklab(folder.path(), &["man", "pages/1"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = |name: &str| {
        let path = folder.path().join("pages/1").join(name);
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    assert!(
        page("acklab.1").contains(".TH acklab 1"),
        "{}",
        page("acklab.1")
    );
    for verb in VERBS {
        let text = page(&format!("acklab-{verb}.1"));
        assert!(
            text.contains(concat!("acklab ", env!("CARGO_PKG_VERSION"))),
            "{text}"
        );
    }
    assert!(page("acklab-servers-install.1").contains("NAME"));
    let entries = std::fs::read_dir(folder.path().join("pages/1")).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let names: Vec<String> = names.map(|name| name.expect("text")).collect();
    assert!(
        !names
            .iter()
            .any(|name| name.contains("help") || name.contains("-man")),
        "{names:?}"
    );
    std::fs::write(folder.path().join("file"), "").expect("a file");
    let output = acklab(folder.path(), &["man", "file/x"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn what_is_unknown_is_a_mistake() {
    for (arguments, part) in [
        (&["compere"][..], "compere"),
        (&["compare", "--quik"], "--quik"),
        (&["compare", "--quick", "--full"], "--full"),
        (&["run", "compare", "--quick"], "[quick]"),
        (
            &["report", "x", "--charts", "y", "--format", "csv"],
            "--charts",
        ),
        (&["report", "x", "--html", "y", "--charts", "z"], "--charts"),
        (&["run"], "STUDY"),
        (&["run", "compare", "--again", "x"], "--again"),
        (&["run", "--again", "x", "--rounds", "3"], "--rounds"),
        (&["run", "--again", "absent.acklab"], "absent.acklab"),
        (&["pack"], "RECORD"),
        (&["completions", "tcsh"], "bash"),
        (&["run", "comparee"], "comparee"),
        (&["limits"], "STUDY"),
        (&["limits", "comparee"], "comparee"),
        (&["limits", "gmo-galera-2022"], "closed loops only"),
        (&["run", "compare", "--measure", "2"], "250us"),
        (
            &["compare", "--connections", "1,x"],
            "must be a whole number from 1",
        ),
        (&["break", "--mode", "galerra"], "galerra"),
        (&["break", "--quick", "link-cut"], "--quick"),
        (&["break", "link-cutt"], "did you mean link-cut?"),
        (&["break", "8"], "has no fault"),
        (
            &["break", "disk-fails", "--mode", "group"],
            "cannot be in group",
        ),
        (
            &["break", "--distances", "ab=2ms"],
            "each pair of sites: ab=2ms,ac=2ms,bc=2ms",
        ),
        (&["diff", "one.acklab"], "<B>"),
        (&["diff", "absent.acklab", "absent.acklab"], "absent.acklab"),
        (&["diff", "a", "b", "--limit", "p99:-10%"], "p99:+10%"),
        (&["diff", "a", "b", "--limit", "lag:+10%"], "throughput:-5%"),
        (&["diff", "a", "b", "--alike", "0%"], "above 0%"),
        (&["judge"], "RECORD"),
        (&["judge", "absent.acklab"], "absent.acklab"),
        (&["exec", "a"], "COMMAND"),
        (&[], "Usage"),
    ] {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(part), "{arguments:?}: {err}");
    }
}

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
fn a_reader_that_stops_reading_early_is_no_fault() {
    let folder = tempfile::tempdir().unwrap();
    for words in [&["studies"][..], &["check"], &["servers"]] {
        let mut command = command(folder.path(), words);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_ne!(
            output.status.code(),
            Some(101),
            "{words:?}: {}",
            text(&output.stderr)
        );
        assert!(
            output.stderr.is_empty(),
            "{words:?}: {}",
            text(&output.stderr)
        );
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
fn faults_are_listed() {
    let (code, out, err) = run(&["break", "--list"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    for word in ["power-cut", "(control)", "docs/fault-model.md"] {
        assert!(out.contains(word), "{word} is not in\n{out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let (code, out, _) = run(&["break", "17", "--list"]);
    assert_eq!(code, Some(0));
    for word in [
        "old-writer-unfenced",
        "step 1",
        "both sides of the cut took writes",
        "not forked",
    ] {
        assert!(out.contains(word), "{word} is not in\n{out}");
    }
    let (code, _, err) = run(&["break", "old-writer", "--list"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("is no fault"), "{err}");
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

#[test]
fn studies_are_listed_with_their_minutes() {
    let (code, out, err) = run(&["studies"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let line = |name: &str| {
        let found = out
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name));
        found
            .unwrap_or_else(|| panic!("{name} is not in\n{out}"))
            .split_whitespace()
    };
    for name in [
        "gmo-innodb-cluster-2022",
        "group-commit",
        "clouds-2015",
        "group-replication-2017",
        "gmo-galera-2022",
    ] {
        let minutes: Vec<f64> = line(name)
            .skip(1)
            .take(2)
            .map(|n| n.parse().unwrap())
            .collect();
        let [whole, quick] = minutes[..] else {
            panic!("{out}")
        };
        assert!(
            whole <= 40.0 && quick <= 5.0 && quick < whole,
            "{name}: {whole} {quick}"
        );
    }
    assert_eq!(line("compare").nth(2), Some("–"));
    assert!(out.contains("also sync-binlog-group-commit-2012"), "{out}");
}

#[test]
fn a_built_in_study_is_printed_to_begin_with() {
    let (code, out, err) = run(&["studies", "clouds-2015"]);
    assert_eq!((code, &err[..]), (Some(0), ""));
    assert_eq!(out, include_str!("../studies/clouds-2015.toml"));
    let (code, out, err) = run(&["studies", "clouds-2014"]);
    assert_eq!((code, &out[..]), (Some(2), ""));
    assert!(
        err.contains("given clouds-2014") && err.contains("clouds-2015"),
        "{err}"
    );
}

#[test]
fn check_says_what_this_machine_can_do() {
    let (code, out, err) = run(&["check"]);
    assert_eq!(err, "");
    for what in [
        "root",
        "namespaces",
        "TUN",
        "cgroups",
        "CPUs",
        "clock",
        "fsync",
        "apt",
        "npm",
        "mvn",
        "FUSE",
        "loop",
        "ext4",
    ] {
        let is_it = |line: &str| line.split_whitespace().nth(1) == Some(what);
        assert!(out.lines().any(is_it), "{what} is not in\n{out}");
    }
    // What is missing is told with what is lost by it.
    assert_eq!(
        out.matches("NO ").count(),
        out.matches("without it: ").count(),
        "{out}"
    );
    match code {
        Some(0) => assert!(out.contains("This machine can run studies."), "{out}"),
        Some(3) => assert!(out.contains("This machine cannot run studies"), "{out}"),
        other => panic!("{other:?}: {out}"),
    }
}

/// Root may write everywhere, but nobody makes a folder below a file.
#[test]
fn check_is_a_list_where_no_cache_can_be_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a file");
    for (variable, value) in [("ACKLAB_CACHE", file.join("cache")), ("HOME", file)] {
        let mut check = Command::new(env!("CARGO_BIN_EXE_acklab"));
        check.arg("check").env_remove("XDG_CACHE_HOME");
        check.env_remove("ACKLAB_CACHE").env(variable, value);
        let output = check.output().expect("the program");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(err, "");
        let line = out.lines().find(|line| line.starts_with("NO  fsync"));
        let line = line.unwrap_or_else(|| panic!("{out}"));
        assert!(line.contains("could not make"), "{out}");
        assert!(out.contains("open files"), "{out}");
        assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    }
}

#[test]
fn servers_are_listed_with_their_state() {
    let (code, out, err) = run(&["servers"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let line = |server: &str| {
        let mut lines = out.lines().map(str::trim);
        let found = lines.find(|line| line.split_whitespace().next() == Some(server));
        found.unwrap_or_else(|| panic!("{server} is not in\n{out}"))
    };
    assert!(line("mysql").contains("not fetched"), "{out}");
    // What is known of a server before it is fetched.
    let old = line("mysql-5.5");
    assert!(
        old.contains("5.5.9") && old.contains("maven") && old.ends_with(" single mirror quorum"),
        "{out}"
    );
    let newer = line("mysql-5.6");
    assert!(
        newer.contains("npm") && newer.ends_with(" single async mirror quorum"),
        "{out}"
    );
}

#[test]
fn fetching_without_its_client_names_the_package() {
    let folder = tempfile::tempdir().expect("a folder");
    for (server, advice) in [
        ("mysql-5.6", "apt-get install npm"),
        ("mysql-5.5", "apt-get install maven"),
    ] {
        let mut command = command(folder.path(), &["servers", "install", server]);
        let output = command.env("PATH", folder.path()).output().expect("acklab");
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(advice), "{err}");
        let left = std::fs::read_dir(folder.path().join("servers")).expect("servers");
        assert_eq!(left.count(), 0, "something half-done was left");
    }
}

#[test]
fn no_lab_is_up_in_an_empty_cache() {
    let told = "acklab: no lab is up: start one first with `acklab up MODE`\n";
    let is_root = nix::unistd::geteuid().is_root();
    for (arguments, needs_root) in [
        (&["status"][..], false),
        (&["exec", "a", "--", "true"], true),
        (&["sql", "a", "SELECT 1"], true),
        (&["down"], true),
    ] {
        if is_root || !needs_root {
            let (code, out, err) = run(arguments);
            let said = (code, out.as_str(), err.as_str());
            assert_eq!(said, (Some(2), "", told), "{arguments:?}");
        }
    }
}

/// What `up` checks is a study, but the user has not written one.
#[test]
fn mistakes_of_up_name_its_own_options() {
    for (words, start) in [
        (
            &["up", "semisink"][..],
            "acklab up: MODE: given \"semisink\"; ",
        ),
        (
            &["up", "group", "--rtt", "-1ms"],
            "acklab up: --rtt: given \"-1ms\"; ",
        ),
        (
            &["up", "group", "--nodes", "1"],
            "acklab up: --nodes: given 1; ",
        ),
        (
            &["up", "async", "--server", "oracle"],
            "acklab up: --server: given \"oracle\"; ",
        ),
    ] {
        let (code, out, err) = run(words);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        let first = err.lines().next().unwrap_or_default();
        assert!(first.contains(start), "{err}");
    }
}

const OF_AN_ENDPOINT: &str = r#"
    [[mode]]
    mode = "endpoint"
    writer = "mysql://someone@127.0.0.1:1"
    [[sweep]]
    workload = "point_select"
    "#;

/// Without a file and in an empty environment, whoever sits at the terminal is asked.
#[test]
fn a_password_typed_at_a_terminal_is_not_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("study.toml"), OF_AN_ENDPOINT).expect("a file");
    let pty = openpty(None, None).expect("a terminal");
    let end = || pty.slave.try_clone().expect("a descriptor");
    let mut command = command(folder.path(), &["run", "study.toml"]);
    command.env_remove("ACKLAB_PASSWORD");
    command.stdin(end()).stdout(end()).stderr(end());
    // SAFETY: both only make a system call, which is allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            setsid()?;
            match libc::ioctl(0, libc::TIOCSCTTY, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        })
    };
    let mut child = command.spawn().expect("the program");
    drop((command, pty.slave));
    let begin = Instant::now();
    let is_shown = || {
        let terminal = tcgetattr(&pty.master).expect("settings");
        terminal.local_flags.contains(LocalFlags::ECHO)
    };
    while is_shown() {
        let is_in_time = begin.elapsed() < Duration::from_secs(60);
        assert!(is_in_time && child.try_wait().expect("a status").is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut terminal = File::from(pty.master);
    terminal.write_all(b"s3cret\n").expect("somebody reads");
    let mut shown = Vec::new();
    // Fails when the other end is closed, which is when all has been read.
    let _ = terminal.read_to_end(&mut shown);
    let shown = text(&shown);
    let code = child.wait().expect("an end").code();
    assert!(
        shown.contains("password of someone at 127.0.0.1:1: "),
        "{shown}"
    );
    assert!(
        code == Some(4) && shown.contains("refused"),
        "{code:?}: {shown}"
    );
    assert!(!shown.contains("s3cret"), "{shown}");
}
