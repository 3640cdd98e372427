//! Short studies from file to report. Figures are checked by ratios and signs only.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use acklab::record::store::Record;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::ground::{Ground, on_ground};
use crate::report::{Report, check_cell, check_no_errors, flags, number};

/// How often a study is run at most where the host was too busy for it.
pub const TRIES: usize = 5;

/// Runs a study whose record is `r.acklab` and reads its report. A host that was too busy is no fault
/// of the program's, so the study is run again.
pub fn report_of(ground: &Ground, text: &str, options: &[&str]) -> Report {
    report_that(ground, text, options, |report| !report.was_disturbed())
}

/// The same for a study whose short windows decide about figures: where these are wrong by the
/// program's fault, they are so each time.
pub fn report_whose(ground: &Ground, text: &str, figures: impl Fn(&Report)) -> Report {
    let are_right = |report: &Report| {
        !report.was_disturbed() && catch_unwind(AssertUnwindSafe(|| figures(report))).is_ok()
    };
    let report = report_that(ground, text, &[], are_right);
    figures(&report);
    report
}

fn report_that(
    ground: &Ground,
    text: &str,
    options: &[&str],
    is_right: impl Fn(&Report) -> bool,
) -> Report {
    for _ in 1..TRIES {
        let report = one_report_of(ground, text, options);
        if is_right(&report) {
            return report;
        }
        std::fs::remove_file(ground.work.join("r.acklab")).expect("the record");
    }
    one_report_of(ground, text, options)
}

fn one_report_of(ground: &Ground, text: &str, options: &[&str]) -> Report {
    let study = ground.file("study.toml", text);
    let mut arguments = vec!["run", study, "--record", "r.acklab"];
    arguments.extend(options);
    let ended = ground.run(&arguments);
    assert!(ended.err.contains("record: "), "{ended:?}");
    let printed = ended.good();
    ground.nothing_left();
    let again = ground.run(&["report", "r.acklab"]).good();
    assert_eq!(printed, again, "a record's report is always the same");
    Report(ground.json("r.acklab"))
}

/// All formats can be printed, and each looks like what it is.
fn formats_render(ground: &Ground, cells: usize) {
    let of = |format: &str| {
        ground
            .run(&["report", "r.acklab", "--format", format])
            .good()
    };
    assert!(of("text").lines().all(|line| line.chars().count() <= 100));
    assert!(of("markdown").lines().any(|line| line.starts_with("# ")));
    assert_eq!(of("csv").lines().count(), cells + 1);
    let unknown = ground.run(&["report", "r.acklab", "--format", "xml"]);
    unknown.fails(2, &["--format", "xml", "text, markdown, csv, json"]);
}

fn is(cell: &Value, label: &str, distances: &str) -> bool {
    cell["label"] == label && cell["distances"] == distances
}

/// Distances that stand out above what others may do on this machine meanwhile.
const ANATOMY: &str = r#"
rounds = 1
warmup = "0.2s"
measure = "0.8s"
[[mode]]
server = "mysql"
mode = "single"
[[mode]]
server = "mysql"
mode = "async"
[[mode]]
server = "mysql"
mode = "semisync"
[[mode]]
server = "mysql"
mode = "semisync"
wait_for = 2
[[sweep]]
workload = "update_index"
rtt = ["0.25ms", "6ms", "18ms"]
distances = [
    { label = "b near", ab = "4ms", ac = "18ms", bc = "18ms" },
    { label = "c near", ab = "18ms", ac = "4ms", bc = "18ms" },
]
"#;

#[test]
fn lab_study_tells_the_round_trips_of_each_mode() {
    on_ground("study: round trips", |ground| {
        let report = report_whose(ground, ANATOMY, |report| {
            check_round_trips(report);
            whom_semisync_waits_for(report);
        });
        assert_eq!(report.cells().len(), 20);
        assert_eq!(
            (&report.0["finished"], &report.0["measurements"]),
            (&true.into(), &20.into())
        );
        for cell in report.cells() {
            check_cell(cell);
            check_no_errors(cell);
            let bytes = number(&cell["bytes_per_commit"]["replication"]);
            assert_eq!(
                cell["mode"] == "single",
                bytes == 0.0,
                "{}: {bytes}",
                cell["id"]
            );
            assert!(!flags(cell).contains(&"downgraded"), "{}", cell["id"]);
        }
        formats_render(ground, 20);
    });
}

fn check_round_trips(report: &Report) {
    let trips = |label: &str| report.round_trips(label, "a");
    let told = [
        "mysql single",
        "mysql async",
        "mysql semisync",
        "mysql semisync 2/2",
    ]
    .map(trips);
    let [single, asynchronous, one, both] = told;
    assert!(single.abs() < 0.4 && asynchronous.abs() < 0.4, "{told:?}");
    assert!(
        one > asynchronous + 0.5 && both > asynchronous + 0.5,
        "{told:?}"
    );
}

/// With one peer near and one far: one acknowledgement comes from the near, two from the far.
fn whom_semisync_waits_for(report: &Report) {
    for distances in ["b near", "c near"] {
        let p50 = |label: &str| {
            let cell = report.cell(label, |cell| is(cell, label, distances));
            number(&cell["latency_us"]["p50"])
        };
        let (one, both) = (p50("mysql semisync"), p50("mysql semisync 2/2"));
        assert!(
            both > 17_500.0 && one < both - 7_000.0,
            "{distances}: {one} {both}"
        );
    }
    // One round of a busy machine may leave it open, but never point to the other.
    for (label, right) in [
        ("mysql semisync", "nearest"),
        ("mysql semisync 2/2", "farthest"),
    ] {
        let whom = &report.anatomy(label, "a")["waits_for"];
        assert!(whom == right || whom == "undecided", "{label}: {whom}");
    }
}

const CLIENTS: &str = r#"
rounds = 1
warmup = "0.2s"
measure = "0.8s"
[[mode]]
server = "mysql"
mode = "single"
[[sweep]]
workload = "update_index"
rtt = ["0.25ms", "6ms", "18ms"]
client = ["a", "b"]
[[sweep]]
workload = "point_select"
connections = 2000
# A loop without a rate takes all CPUs, and the switch with them: late links, by chance.
rate = 500
rtt = "0.25ms"
measure = "3s"
"#;

#[test]
fn lab_study_counts_a_far_client_and_thousands_of_near_ones() {
    on_ground("study: clients", |ground| {
        report_whose(ground, CLIENTS, |report| {
            let (near, far) = (
                report.round_trips("mysql single", "a"),
                report.round_trips("mysql single", "b"),
            );
            assert!(
                near.abs() < 0.4 && (0.6..1.4).contains(&far),
                "{near} {far}"
            );
            let many = report.cell("of 2000", |cell| cell["connections"] == 2000);
            check_cell(many);
            check_no_errors(many);
            assert_eq!(many["per"], "transaction");
            assert!(number(&many["latency_us"]["samples"]) > 500.0, "{many}");
        });
    });
}

const ONE_FAR_CLIENT: &str = r#"
rounds = 1
sites = ["a", "b"]
warmup = "0.2s"
measure = "0.5s"
[[mode]]
server = "mariadb"
mode = "single"
[[sweep]]
workload = "update_index"
rtt = "40ms"
client = "b"
"#;

/// Packets are on their way for long here, so that half of them become due while the switch
/// stands still: the cell is void, and so is the one more try that a study of one cell has.
#[test]
fn lab_study_makes_void_measurements_again() {
    on_ground("study: void", |ground| {
        let is_over = AtomicBool::new(false);
        let report = std::thread::scope(|scope| {
            scope.spawn(|| hamper_the_switch(ground, &is_over));
            let report = one_report_of(ground, ONE_FAR_CLIENT, &[]);
            is_over.store(true, Ordering::Relaxed);
            report
        });
        assert_eq!(report.cells()[0]["rounds_void"], 1);
        assert_eq!(report.0["measurements"], 1);
        assert_eq!(report.0["measurements_made_again"], 1);
        let text = ground.run(&["report", "r.acklab"]).good();
        assert!(text.contains("1 disturbed measurement (links"), "{text}");
    });
}

fn hamper_the_switch(ground: &Ground, is_over: &AtomicBool) {
    let is_switch = |pid: &i32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.starts_with(b"acklab\0switch\0")
    };
    while !is_over.load(Ordering::Relaxed) {
        let Some(switch) = ground.processes().into_iter().find(is_switch) else {
            continue;
        };
        let send = |signal| kill(Pid::from_raw(switch), signal).is_ok();
        // Until it ends by itself. It is looked for once: a look takes longer than a pause.
        while !is_over.load(Ordering::Relaxed) && send(Signal::SIGSTOP) {
            std::thread::sleep(Duration::from_millis(8));
            send(Signal::SIGCONT);
            std::thread::sleep(Duration::from_millis(8));
        }
        send(Signal::SIGCONT);
    }
}

const WORKLOADS: &str = r#"
rounds = 1
warmup = "0.1s"
measure = "0.5s"
[[mode]]
server = "mysql"
mode = "single"
[[mode]]
server = "mariadb"
mode = "single"
[workload.orders]
tool = "custom"
setup = ["CREATE TABLE orders (id BIGINT PRIMARY KEY, note VARCHAR(40))",
         "CREATE TABLE counts (id INT PRIMARY KEY, n BIGINT)", "INSERT INTO counts VALUES (1, 0)"]
[[workload.orders.transaction]]
name = "order"
[[workload.orders.transaction.statement]]
sql = "INSERT INTO orders VALUES (?, ?)"
parameters = [{ type = "unique" }, { type = "text", length = 40 }]
[[workload.orders.transaction.statement]]
sql = "UPDATE counts SET n = n + 1 WHERE id = ?"
parameters = [{ type = "integer", max = 1 }]
"#;

const SYSBENCH: [&str; 8] = [
    "point_select",
    "read_only",
    "read_write",
    "write_only",
    "update_index",
    "update_non_index",
    "insert",
    "delete",
];
const MYSQLSLAP: [&str; 5] = ["key", "read", "write", "mixed", "update"];

/// The five, with fewer queries than the tool's own thousand; then all fourteen in one sweep.
fn all_workloads() -> String {
    let mut text = WORKLOADS.to_owned();
    for load in MYSQLSLAP {
        text += &format!(
            "[workload.\"mysqlslap {load}\"]\ntool = \"mysqlslap\"\nload = \"{load}\"\n\
             number_of_queries = 200\niterations = 2\n"
        );
    }
    let slaps = MYSQLSLAP.map(|load| format!("mysqlslap {load}"));
    let names: Vec<&str> = SYSBENCH
        .into_iter()
        .chain(slaps.iter().map(String::as_str))
        .collect();
    text + &format!(
        "[[sweep]]\nworkload = [\"{}\", \"orders\"]\nconnections = 1\nrtt = \"0.25ms\"\n",
        names.join("\", \"")
    )
}

#[test]
fn lab_study_runs_every_workload() {
    on_ground("study: workloads", |ground| {
        let report = report_of(ground, &all_workloads(), &[]);
        assert_eq!(report.cells().len(), 2 * (8 + 5 + 1));
        for cell in report.cells() {
            check_cell(cell);
            check_no_errors(cell);
            let name = cell["workload"].as_str().expect("a workload");
            let reads = [
                "point_select",
                "read_only",
                "mysqlslap key",
                "mysqlslap read",
            ]
            .contains(&name);
            assert_eq!(cell["per"] == "transaction", reads, "{name}");
            assert_eq!(
                cell["run_s"].is_object(),
                name.starts_with("mysqlslap"),
                "{name}"
            );
            if let Some(share) = cell["connect_share"].as_f64() {
                assert!(share > 0.0 && share < 1.0, "{name}: {share}");
            }
        }
        formats_render(ground, 28);
    });
}

const SPREAD: &str = r#"
rounds = 1
warmup = "0.2s"
measure = "0.6s"
my_cnf = "mine.cnf"
[workload.hot]
tool = "sysbench"
load = "update_index"
table_size = 100
[workload.slap]
tool = "mysqlslap"
load = "write"
number_of_queries = 900
iterations = 2
[[mode]]
server = "mariadb"
mode = "galera"
spread = true
[[sweep]]
workload = ["hot", "slap"]
connections = 9
rtt = "1ms"
"#;

#[test]
fn lab_study_spreads_over_all_writers_and_tells_what_it_overrode() {
    on_ground("study: spread", |ground| {
        ground.file(
            "mine.cnf",
            "[mysqld]\nport = 4000\ninnodb_io_capacity = 500\n",
        );
        let report = report_of(ground, SPREAD, &[]);
        let cell = report.cell("hot", |cell| cell["workload"] == "update_index");
        check_cell(cell);
        // Three nodes that write the same hundred rows: conflicts are answered with a deadlock.
        let errors = cell["errors"].as_array().expect("errors");
        assert!(
            errors
                .iter()
                .all(|one| one["number"] == 1213 && one["sqlstate"] == "40001"),
            "{errors:?}"
        );
        assert_eq!(flags(cell).contains(&"errors"), !errors.is_empty());
        // Keys are generated in steps where several nodes write.
        assert!(report.0["terms"]["auto_increment_increment"]["3"].is_array());
        assert!(report.0["terms"]["innodb_io_capacity"]["500"].is_array());
        let overridden = &report.0["labs"][0]["overridden"];
        assert_eq!(overridden[0]["name"], "port", "{overridden}");
        assert_eq!(
            (&overridden[0]["given"], &overridden[0]["used"]),
            (&"4000".into(), &"3306".into())
        );
        let text = ground.run(&["report", "r.acklab"]).good();
        assert!(text.contains("port: yours 4000, used 3306"), "{text}");
        let slap = report.cell("slap", |cell| cell["workload"] == "mysqlslap write");
        check_no_errors(slap);
        each_node_takes_its_part(ground);
    });
}

/// By the servers' own count: three of nine connections, in each of two iterations.
fn each_node_takes_its_part(ground: &Ground) {
    let record = Record::open(&ground.work.join("r.acklab")).expect("a record");
    let mut measurements = record.measurements.iter();
    let slap = measurements.find(|m| !m.iterations.is_empty());
    let status = &slap.expect("a measurement").status;
    for node in ["a", "b", "c"] {
        let connections = status[node]["Connections"];
        assert!(connections >= 6.0, "{node}: {connections}");
    }
}

const DOWNGRADE: &str = r#"
rounds = 1
warmup = "0.2s"
measure = "1.2s"
sites = ["a", "b"]
[[mode]]
server = "mysql"
mode = "semisync"
nodes = 2
timeout = "500ms"
[[sweep]]
workload = "update_index"
rtt = ["1ms", "600ms"]
"#;

#[test]
fn lab_study_flags_semisync_that_went_on_without() {
    on_ground("study: downgrade", |ground| {
        // A replica that is held up for longer than the timeout is one that does not answer.
        report_whose(ground, DOWNGRADE, |report| {
            for (rtt_us, is_downgraded) in [(1_000.0, false), (600_000.0, true)] {
                let cell = report.cell("at that distance", |cell| cell["rtt_us_asked"] == rtt_us);
                let found = flags(cell);
                assert_eq!(
                    found.contains(&"downgraded"),
                    is_downgraded,
                    "{rtt_us}: {found:?}"
                );
            }
        });
    });
}
