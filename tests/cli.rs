//! The command line where no lab is needed: no root, no servers.

#[path = "cli/records.rs"]
mod records;
#[path = "common/terminal.rs"]
mod terminal;

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::termios::{LocalFlags, tcgetattr};
use terminal::at_terminal;

const VERBS: [&str; 22] = [
    "compare",
    "run",
    "limits",
    "studies",
    "report",
    "pack",
    "merge",
    "diff",
    "serve",
    "predict",
    "break",
    "drive",
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
    for hidden in ["switch", "null-server", "health", "man"] {
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
    let mut command = command(folder.path(), &["run", "study.toml"]);
    command.env_remove("ACKLAB_PASSWORD");
    let (mut child, mut terminal) = at_terminal(command);
    let begin = Instant::now();
    let is_shown = || {
        let settings = tcgetattr(&terminal).expect("settings");
        settings.local_flags.contains(LocalFlags::ECHO)
    };
    while is_shown() {
        let is_in_time = begin.elapsed() < Duration::from_secs(60);
        assert!(is_in_time && child.try_wait().expect("a status").is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
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
