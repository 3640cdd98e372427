//! Real proxies between clients and real servers: what flows through them, what they cost, and
//! their bad days.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use acklab::lab::servers::Cache;
use acklab::record::Measurement;
use acklab::record::store::Record;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::ground::{Ground, on_bare_ground, on_ground};
use crate::kills::{ENDLESS, start_study_told, wait_for_record};
use crate::report::{check_cell, check_no_errors, number};
use crate::studies::report_of;

const WAYS: &str = r#"
rounds = 1
sites = ["a"]
warmup = "0.2s"
measure = "0.8s"
[[mode]]
server = "mysql"
mode = "single"
front = ["direct", "router", "haproxy"]
[[mode]]
server = "mysql"
mode = "single"
front = ["router", "haproxy"]
front_at = "own"
[[sweep]]
workload = "update_index"
connections = 4
rtt = "0.25ms"
"#;

/// Measurements of the record `r.acklab`, by the label of their mode.
fn measured(ground: &Ground) -> BTreeMap<String, Measurement> {
    let record = Record::open(&ground.work.join("r.acklab")).expect("a record");
    let header = &record.header;
    let label = |m: &Measurement| header.study.modes[header.cells[m.cell].mode].label.clone();
    let all = record.measurements.iter();
    all.map(|m| (label(m), m.clone())).collect()
}

/// Links that carried anything, as `client.a a`.
fn links(measurement: &Measurement) -> BTreeSet<String> {
    let both = |link: &acklab::record::LinkTraffic| format!("{} {}", link.from, link.to);
    measurement.links.iter().map(both).collect()
}

fn change(measurement: &Measurement, node: &str, name: &str) -> f64 {
    let counters = measurement.status.get(node);
    let found = counters.and_then(|counters| counters.get(name));
    found.copied().unwrap_or(0.0)
}

#[test]
fn lab_front_lets_commits_through_and_is_accounted() {
    on_ground("front: ways to a server", |ground| {
        let report = report_of(ground, WAYS, &[]);
        assert_eq!(report.cells().len(), 5);
        let found = measured(ground);
        for cell in report.cells() {
            check_cell(cell);
            check_no_errors(cell);
            let label = cell["label"].as_str().expect("a label");
            let cpu = &cell["cpu_us_per_commit"]["front"];
            match label {
                "mysql single" => assert!(cpu.is_null(), "{cpu}"),
                _ => assert!(number(cpu) > 0.0, "{label}"),
            }
            let measurement = &found[label];
            let updates = change(measurement, "a", "Com_update");
            assert!(
                updates >= measurement.commits as f64 * 0.9,
                "{label}: {updates}"
            );
            let expected: BTreeSet<&str> = match label.ends_with("apart") {
                true => [
                    "a front.a",
                    "client.a front.a",
                    "front.a a",
                    "front.a client.a",
                ]
                .into(),
                false => ["a client.a", "client.a a"].into(),
            };
            let found: BTreeSet<String> = links(measurement);
            let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
            assert_eq!(found, expected, "{label}");
        }
        fronts_are_told(ground, &report.0);
    });
}

/// In settings, among the servers, in the tables and in a column.
fn fronts_are_told(ground: &Ground, report: &Value) {
    let cells = report["cells"].as_array().expect("cells");
    let own = cells
        .iter()
        .find(|cell| cell["label"] == "mysql single via haproxy apart");
    let settings = &own.expect("a cell")["settings"];
    assert_eq!(
        (&settings["front"], &settings["front_at"]),
        (&"haproxy".into(), &"own".into())
    );
    let servers = report["servers"].as_array().expect("servers");
    let names: Vec<&str> = servers
        .iter()
        .filter_map(|server| server["name"].as_str())
        .collect();
    assert_eq!(names, ["mysql", "router", "haproxy"]);
    let text = ground.run(&["report", "r.acklab"]).good();
    assert!(text.contains("front"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    let csv = ground
        .run(&["report", "r.acklab", "--format", "csv"])
        .good();
    assert!(
        csv.lines()
            .next()
            .expect("titles")
            .contains("cpu_us_per_commit_front")
    );
    let list = ground.run(&["servers"]).good();
    for name in ["router", "haproxy"] {
        let is_it = |line: &str| line.contains(name) && line.contains("as a front");
        assert!(list.lines().any(is_it), "{list}");
    }
}

/// Each iteration connects anew, so that handshakes fall into the counts.
const ENCRYPTED: &str = r#"
rounds = 1
sites = ["a", "b"]
tls = true
# Inserts: updates of the same rows from two nodes would conflict.
[workload.slap]
tool = "mysqlslap"
load = "write"
number_of_queries = 200
[[mode]]
server = "mysql"
mode = "single"
front = ["router", "haproxy"]
[[mode]]
server = "mariadb"
mode = "galera"
nodes = 2
spread = true
front = ["haproxy", "router"]
[[sweep]]
workload = "slap"
connections = 4
rtt = "1ms"
"#;

#[test]
fn lab_front_passes_tls_through_and_takes_servers_in_turn() {
    on_ground("front: TLS and several servers", |ground| {
        let report = report_of(ground, ENCRYPTED, &[]);
        assert_eq!(report.cells().len(), 4);
        let found = measured(ground);
        for cell in report.cells() {
            check_no_errors(cell);
            let label = cell["label"].as_str().expect("a label");
            assert!(number(&cell["cpu_us_per_commit"]["front"]) > 0.0, "{label}");
            let nodes = if label.contains("galera") {
                &["a", "b"][..]
            } else {
                &["a"]
            };
            for node in nodes {
                let of = |name: &str| change(&found[label], node, name);
                let (all, encrypted) = (of("Connections"), of("Ssl_finished_accepts"));
                let own = 4.0 / nodes.len() as f64;
                assert!(
                    all >= own && encrypted >= own,
                    "{label} {node}: {all} {encrypted}"
                );
            }
        }
    });
}

/// Two rounds: between the blocks the group changes from one primary to three and back, under
/// Routers that run on.
const BOOTSTRAPPED: &str = r#"
rounds = 2
sites = ["a", "b", "c"]
tls = true
[workload.slap]
tool = "mysqlslap"
load = "write"
auto_generate_sql_write_number = 50
number_of_queries = 160
iterations = 5
[[mode]]
server = "mysql"
mode = "group"
front = ["router", "router-bootstrapped"]
[[mode]]
server = "mysql"
mode = "group-multi"
front = "router-bootstrapped"
[[sweep]]
workload = "slap"
connections = 8
rtt = "1ms"
"#;

/// TLS ends in a Router that has bootstrapped itself: so it can give the next client a connection
/// that another one has left, which a Router that only passes TLS through cannot.
#[test]
fn lab_front_that_has_bootstrapped_itself_finds_a_primary_and_ends_tls() {
    on_ground("front: a Router that bootstraps itself", |ground| {
        let report = report_of(ground, BOOTSTRAPPED, &[]);
        let found = measured(ground);
        assert_eq!((report.cells().len(), found.len()), (3, 3));
        for cell in report.cells() {
            check_no_errors(cell);
            let label = cell["label"].as_str().expect("a label");
            assert!(number(&cell["cpu_us_per_commit"]["front"]) > 0.0, "{label}");
            // One primary takes all, though a group may have three.
            let inserts = |node: &str| change(&found[label], node, "Com_insert");
            let most = ["a", "b", "c"].map(inserts).into_iter().fold(0.0, f64::max);
            let commits = found[label].commits as f64;
            assert!(most >= commits * 0.9, "{label}: {most} of {commits}");
        }
        // Five iterations connect eight clients each.
        let [passed, ended] = ["", "-bootstrapped"].map(|word| {
            let measurement = &found[&format!("mysql group via router{word}")];
            let of = |name: &str| change(measurement, "a", name);
            (of("Connections"), of("Ssl_finished_accepts"))
        });
        assert!(passed.0 >= 40.0 && passed.1 >= 40.0, "{passed:?}");
        assert!(
            ended.0 < passed.0 && ended.1 < passed.1,
            "{ended:?} {passed:?}"
        );
        let settings = &report.cell("through it", |cell| cell["mode"] == "group-multi")["settings"];
        assert_eq!(settings["front"], "router-bootstrapped");
    });
}

const LONG: &str = r#"
sites = ["a"]
warmup = "0.1s"
measure = "0.5s"
[[mode]]
server = "mariadb"
mode = "single"
front = "haproxy"
[[sweep]]
workload = "update_index"
connections = 2
rtt = "0.25ms"
"#;

#[test]
fn lab_front_that_is_killed_is_a_breakdown() {
    on_ground("front: killed", |ground| {
        let mut child = start_study_told(ground, LONG, "r.acklab", ENDLESS);
        wait_for_record(ground, &mut child, "r.acklab");
        let is_front = |pid: &i32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains("sbin/haproxy\0-db")
        };
        let pid = ground.processes().into_iter().find(is_front);
        let pid = Pid::from_raw(pid.expect("a proxy"));
        kill(pid, Signal::SIGKILL).expect("a proxy that can be killed");
        let output = child.wait_with_output().expect("an end");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{told}");
        for part in [
            "could not connect through haproxy (at client.a)",
            "it ended: signal: 9",
        ] {
            assert!(told.contains(part), "no {part:?} in\n{told}");
        }
        ground.nothing_left();
    });
}

/// A proxy whose fetched files are damaged: its own last words are told.
#[test]
fn lab_front_that_does_not_start_is_a_breakdown() {
    on_bare_ground("front: does not start", |ground| {
        let servers = ground.cache.join("servers");
        let user = Cache::of_user()
            .expect("the user's cache")
            .path
            .join("servers/mariadb");
        let mariadb = servers.join("mariadb");
        fs::create_dir_all(&mariadb).expect("a folder");
        let none: Option<&str> = None;
        mount(Some(&user), &mariadb, none, MsFlags::MS_BIND, none).expect("a bind mount");
        damaged_proxy(&servers.join("haproxy"));
        let file = ground.file("study.toml", LONG);
        let ended = ground.run(&["run", file, "--record", "r.acklab", "--rounds", "1"]);
        umount2(&mariadb, MntFlags::MNT_DETACH).expect("nobody holds it");
        let parts = [
            "start haproxy (at client.a)",
            "exit status: 3",
            "no such section",
        ];
        ended.fails(4, &parts);
        assert!(!ground.work.join("r.acklab").exists());
        ground.nothing_left();
    });
}

fn damaged_proxy(folder: &Path) {
    let program = folder.join("root/usr/sbin/haproxy");
    fs::create_dir_all(program.parent().expect("a folder")).expect("a folder");
    fs::write(&program, "#!/bin/sh\necho no such section >&2\nexit 3\n").expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
    let kept = "says = \"\"\nversion = \"0\"\norigin = \"none\"\n";
    fs::write(folder.join("proxy.toml"), kept).expect("a file");
}
