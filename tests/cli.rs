//! The command line where no lab is needed: no root, no servers.

use std::path::Path;
use std::process::{Command, Output};

const VERBS: [&str; 10] = [
    "compare", "run", "report", "servers", "check", "up", "exec", "sql", "status", "down",
];

fn acklab(cache: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acklab"));
    command
        .args(arguments)
        .env("ACKLAB_CACHE", cache)
        .current_dir(cache);
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
    for hidden in ["switch", "drive"] {
        assert!(!listed.iter().any(|line| line.starts_with(hidden)), "{out}");
    }
}

#[test]
fn what_is_unknown_is_a_mistake() {
    for (arguments, part) in [
        (&["compere"][..], "compere"),
        (&["compare", "--quik"], "--quik"),
        (&["compare", "--quick", "--full"], "--full"),
        (&["run"], "STUDY"),
        (&["run", "comparee"], "comparee"),
        (&["run", "compare", "--measure", "2"], "250us"),
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

#[test]
fn servers_are_listed_with_their_state() {
    let (code, out, err) = run(&["servers"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let line = out
        .lines()
        .find(|line| line.trim_start().starts_with("mysql "));
    assert!(
        line.is_some_and(|line| line.contains("not fetched")),
        "{out}"
    );
}

#[test]
fn no_lab_is_up_in_an_empty_cache() {
    let (code, out, err) = run(&["status"]);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(
        err.contains("no lab is up") && err.contains("acklab up"),
        "{err}"
    );
}
