//! Memory limits of real servers, and modes of one study that differ in what they are given.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use acklab::lab::memory::MemoryLimit;
use acklab::record::store::Record;

use crate::ground::{Ground, on_ground};
use crate::kills::{ENDLESS, Victim, kill_at, start_study, wait_for_record};
use crate::report::{check_cell, check_no_errors};
use crate::studies::report_of;

fn study(memory: &str) -> String {
    format!(
        "sites = [\"a\"]\nwarmup = \"0.1s\"\nmeasure = \"0.4s\"\n[[mode]]\nserver = \"mariadb\"\n\
         mode = \"single\"\nmemory = \"{memory}\"\n[[sweep]]\nworkload = \"update_index\"\n\
         rtt = \"0.25ms\"\n"
    )
}

/// The control groups of this ground's runs, by their journals.
fn groups(ground: &Ground) -> BTreeSet<PathBuf> {
    let journals = ground.run_folders().into_iter();
    let texts = journals.map(|folder| fs::read_to_string(folder.join("cgroups")));
    let lines: Vec<String> = texts.map(Result::unwrap_or_default).collect();
    let paths = lines
        .iter()
        .flat_map(|text| text.lines())
        .map(PathBuf::from);
    paths.filter(|path| path.exists()).collect()
}

/// What a command comes to, and the groups that there were meanwhile.
fn watched<T: Send>(ground: &Ground, command: impl FnOnce() -> T + Send) -> (T, BTreeSet<PathBuf>) {
    std::thread::scope(|scope| {
        let running = scope.spawn(command);
        let mut seen = BTreeSet::new();
        while !running.is_finished() {
            seen.extend(groups(ground));
            std::thread::sleep(Duration::from_millis(10));
        }
        let outcome = running.join();
        let outcome = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (outcome, seen)
    })
}

/// There were groups, and none of them is there any more.
fn are_gone(groups: &BTreeSet<PathBuf>) {
    assert!(!groups.is_empty(), "none was seen");
    none_is_left(groups);
}

fn none_is_left(groups: &BTreeSet<PathBuf>) {
    let left: Vec<&PathBuf> = groups.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Whether a server of this ground's is in a group of ours.
fn is_limited(ground: &Ground) -> bool {
    let in_group = |pid: &i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        text.contains("/acklab-") && text.contains("-mariadb-replication.a")
    };
    ground.processes().iter().any(in_group)
}

#[test]
fn lab_memory_limit_holds_a_server_and_leaves_nothing() {
    on_ground("memory: limits", |ground| {
        // Killed with all who would clean up: the next command sweeps.
        for victim in [Victim::Everyone, Victim::First] {
            let record = format!("{victim:?}.acklab");
            let mut child = start_study(ground, &study("1GB"), &record, ENDLESS);
            wait_for_record(ground, &mut child, &record);
            let groups = groups(ground);
            assert!(is_limited(ground) && groups.len() == 1, "{groups:?}");
            kill_at(ground, child, Duration::ZERO, victim);
            are_gone(&groups);
        }
        let whole = || report_of(ground, &study("1GB"), &["--rounds", "1"]);
        let (report, groups) = watched(ground, whole);
        let cell = &report.cells()[0];
        check_cell(cell);
        assert_eq!(cell["settings"]["memory_bytes"], "1000000000");
        assert_eq!(cell["label"], "mariadb single in 1 GB");
        are_gone(&groups);
    });
}

/// As after a kill: nobody holds the run's folder, but a process is still in its group.
#[test]
fn lab_memory_group_in_use_is_waited_for_and_not_forgotten() {
    on_ground("memory: groups in use", |ground| {
        let dead_run = |seconds: &str| {
            let folder = ground.cache.join("run/dead");
            fs::create_dir_all(&folder).expect("a run folder");
            let group = MemoryLimit::make("dead", 1 << 20, &folder).expect("a group");
            let mut command = Command::new("sleep");
            group.enter(command.arg(seconds)).expect("a group to enter");
            let sleeper = command.spawn().expect("a process");
            // Whoever would have removed it has been killed.
            std::mem::forget(group);
            (sleeper, groups(ground))
        };
        let sweep = || ground.run(&["status"]).fails(2, &["no lab is up"]);
        let (mut ending, there) = dead_run("0.5");
        sweep();
        are_gone(&there);
        ending.wait().expect("an end");
        let (mut staying, there) = dead_run("60");
        sweep();
        assert!(there.len() == 1 && there == groups(ground), "{there:?}");
        staying.kill().expect("a process of ours");
        staying.wait().expect("an end");
        sweep();
        are_gone(&there);
    });
}

#[test]
fn lab_memory_limit_that_kills_is_a_breakdown() {
    on_ground("memory: killed by its limit", |ground| {
        let file = ground.file("study.toml", &study("32MB"));
        let short = || ground.run(&["run", file, "--record", "r.acklab"]);
        let (ended, groups) = watched(ground, short);
        let parts = [
            "node mariadb-replication.a",
            "the server ended: signal: 9 (SIGKILL), killed by its memory limit of 32 MB",
        ];
        ended.fails(4, &parts);
        ground.nothing_left();
        // What killed it was there, too shortly to be seen by whoever is busy.
        none_is_left(&groups);
    });
}

/// Number of nodes and of applier threads as axes: modes that differ in them get what they asked.
const SIZES: &str = r#"
rounds = 1
warmup = "0.1s"
measure = "0.4s"
[[mode]]
server = "mariadb"
mode = "async"
nodes = 2
appliers = 1
[[mode]]
server = "mariadb"
mode = "async"
appliers = 8
[[mode]]
server = "mariadb"
mode = "galera"
nodes = 2
[[mode]]
server = "mariadb"
mode = "galera"
nodes = 3
appliers = 2
[[sweep]]
workload = "update_index"
connections = 2
rtt = "0.5ms"
"#;

#[test]
fn lab_study_has_modes_of_different_size() {
    on_ground("study: sizes", |ground| {
        let report = report_of(ground, SIZES, &[]);
        let told = |cell: &serde_json::Value| {
            check_cell(cell);
            check_no_errors(cell);
            let label = cell["label"].as_str().expect("a label").to_owned();
            let replicas = &cell["cpu_us_per_commit"]["replicas"];
            (label, replicas.as_array().expect("replicas").len())
        };
        let told: Vec<(String, usize)> = report.cells().iter().map(told).collect();
        let expected = [
            ("mariadb async 2 nodes 1 applier", 1),
            ("mariadb async 8 appliers", 2),
            ("mariadb galera 2 nodes", 1),
            ("mariadb galera 2 appliers", 2),
        ];
        assert_eq!(
            told,
            expected.map(|(label, nodes)| (label.to_owned(), nodes))
        );
        let record = Record::open(&ground.work.join("r.acklab")).expect("a record");
        let appliers = |name: &str| {
            let labs = record.header.labs.iter();
            let of_a = labs.filter_map(|lab| lab.variables.get("a")?.get(name).cloned());
            of_a.collect::<Vec<String>>()
        };
        assert_eq!(appliers("slave_parallel_threads")[..2], ["1", "8"]);
        assert_eq!(appliers("wsrep_slave_threads")[2..], ["4", "2"]);
    });
}
