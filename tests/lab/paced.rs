//! Paced load: connections rest between their transactions, and what is said where that is in vain.

use std::process::Command;

use serde_json::Value;

use crate::ground::{on_ground, outcome};
use crate::report::{Report, flags, number};
use crate::studies::{report_of, report_whose};

/// One commit now and then, and far too many for any host.
const PACED: &str = r#"
rounds = 1
warmup = "0.3s"
measure = "2s"
[[mode]]
server = "mysql"
mode = "async"
nodes = 2
baseline = "none"
[[mode]]
server = "mysql"
mode = "group"
baseline = "none"
[[sweep]]
workload = "update_index"
rtt = "2ms"
pace = "20ms"
[[sweep]]
modes = ["mysql async 2 nodes"]
workload = "update_index"
connections = 64
rtt = "2ms"
pace = "1ms"
"#;

const PACE_US: f64 = 20_000.0;

/// As many commits as fit, by the latency that was measured; each is watched on every replica.
fn check_rests(cell: &Value) {
    let id = &cell["id"];
    assert_eq!(number(&cell["pace_us"]), PACE_US, "{id}");
    assert_eq!(cell["workload"], "update_index paced 20 ms", "{id}");
    let expected_per_s = 1e6 / (PACE_US + number(&cell["latency_us"]["p50"]));
    let ratio = number(&cell["throughput_per_s"]["median"]) / expected_per_s;
    assert!((0.6..1.2).contains(&ratio), "{id}: {ratio} of {cell}");
    assert!(!flags(cell).contains(&"overloaded"), "{id}: {cell}");
    let replicas = cell["lag_ms"].as_array().expect("lag");
    let expected = if cell["mode"] == "group" { 2 } else { 1 };
    assert_eq!(replicas.len(), expected, "{id}: {cell}");
    for replica in replicas {
        assert_eq!(replica["samples"], 20, "{id}: {replica}");
    }
}

fn check_paced(report: &Report) {
    let is_crowded = |cell: &&Value| cell["connections"] == 64;
    let (crowded, resting): (Vec<&Value>, Vec<&Value>) =
        report.cells().iter().partition(is_crowded);
    assert_eq!((crowded.len(), resting.len()), (1, 2));
    resting.into_iter().for_each(check_rests);
    let told = flags(crowded[0]);
    assert!(told.contains(&"not-idle"), "{told:?}: {}", crowded[0]);
    assert!(!told.contains(&"overloaded"), "{told:?}");
}

#[test]
fn lab_paced_connections_rest_and_a_busy_host_is_told() {
    on_ground("paced", |ground| {
        report_whose(ground, PACED, check_paced);
        let printed = ground.run(&["report", "r.acklab"]).good();
        for words in [
            "update_index paced 20 ms, 1 connection (each begins 20 ms after the last one's end)",
            "! not-idle: paced, but the host was busy",
        ] {
            assert!(printed.contains(words), "no {words} in {printed}");
        }
    });
}

/// A commit on slow disks, far apart: whatever else the server flushes then does not come to half
/// a flush for each.
const NEW_SERVER: &str = r#"
rounds = 1
warmup = "0.3s"
measure = "3s"
images = { size = "600MB" }
[[mode]]
server = "mysql"
mode = "single"
binary_log = false
[[sweep]]
workload = "update_index"
rtt = "1ms"
pace = "20ms"
flush = "10ms"
"#;

/// A new server's redo log lies in files that were only reserved; the first write to each block
/// costs a commit of the file system's journal. Labs begin past that: it was 1.7 to 1.8.
#[test]
fn lab_paced_commits_of_a_new_mysql_wait_for_one_flush_of_the_redo_log() {
    on_ground("paced: new server", |ground| {
        // Where clients stand still, the server's own flushes are of fewer commits.
        report_whose(ground, NEW_SERVER, |report| {
            let cell = &report.cells()[0];
            let flushes = number(&cell["flushes_per_commit"]["writer"]);
            assert!((0.9..1.5).contains(&flushes), "{flushes}: {cell}");
        });
    });
}

/// Disks decide how much four connections commit at most, and not this host.
const KNEE: &str = r#"
rounds = 1
warmup = "0.3s"
measure = "0.5s"
images = { size = "600MB" }
[[mode]]
server = "mariadb"
mode = "single"
[[sweep]]
workload = "update_index"
connections = 4
rtt = "1ms"
flush = "2ms"
knee = { p99 = "50ms" }
"#;

/// A search ends between two neighbours of its grid, of which one kept the limit and the other did
/// not, and the mode is measured at 70 % of that.
#[test]
fn lab_knee_of_a_server_lies_between_a_rate_that_kept_the_limit_and_one_that_broke_it() {
    on_ground("knee", |ground| {
        let report = report_of(ground, KNEE, &[]);
        let knee = &report.0["knees"][0];
        let round = &knee["rounds"][0];
        assert!(number(&round["measurements"]) >= 3.0, "{knee}");
        // On a host that stands still again and again no bracket may hold: then it says so.
        if round["end"] != "found" {
            let is_none = round["end"] == "open" || round["end"] == "below";
            assert!(is_none && knee["knee_per_s"].is_null(), "{knee}");
            return;
        }
        let [kept, broke] = ["kept", "broke"].map(|end| number(&round[end]["offered_per_s"]));
        assert!(kept < broke && broke / kept < 1.06, "{knee}");
        assert!(number(&round["kept"]["p99_us"]) <= 50_000.0, "{knee}");
        let found = number(&knee["knee_per_s"]["median"]);
        assert!((kept..=broke).contains(&found), "{knee}");
        let below = report.cell("below the knee", |cell| cell["id"] != Value::Null);
        let share = number(&below["offered_per_s"]) / found;
        assert!((0.66..0.74).contains(&share), "{share} of {found}: {below}");
    });
}

const PLAIN: &str = r#"
rounds = 1
warmup = "0.2s"
measure = "1s"
[[mode]]
server = "mysql"
mode = "single"
[[sweep]]
workload = "update_index"
rtt = "1ms"
"#;

/// Priority is root's to take, unless that was taken from root.
#[test]
fn lab_links_that_are_refused_priority_are_told() {
    on_ground("refused priority", |ground| {
        let study = ground.file("study.toml", PLAIN);
        let words = ["run", study, "--record", "r.acklab"];
        let whole = ground.command(&words);
        let mut command = Command::new("setpriv");
        command.args(["--inh-caps=-sys_nice", "--bounding-set=-sys_nice"]);
        command.arg(whole.get_program()).args(words);
        command
            .current_dir(&ground.work)
            .env("ACKLAB_CACHE", &ground.cache);
        let told = outcome(&mut command, &words).good();
        assert!(told.contains("! links-starved: "), "{told}");
        let json = ground.json("r.acklab");
        for cell in json["cells"].as_array().expect("cells") {
            assert!(flags(cell).contains(&"links-starved"), "{cell}");
        }
    });
}
