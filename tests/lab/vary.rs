//! Variants of modes: that the servers really run with their variables, and effects in the report.

use serde_json::Value;

use crate::ground::{Ground, on_ground};
use crate::report::{Report, number};
use crate::studies::report_of;

/// A workload that changes a row only where this holds on the server.
fn asking(name: &str, condition: &str) -> String {
    format!(
        "[workload.{name}]\ntool = \"custom\"\n\
         setup = [\"CREATE TABLE {name} (id INT PRIMARY KEY, n BIGINT)\", \
                  \"INSERT INTO {name} VALUES (1, 0)\"]\n\
         [[workload.{name}.transaction]]\nname = \"ask\"\n\
         statement = [\"UPDATE {name} SET n = n + 1 WHERE id = 1 AND {condition}\"]\n"
    )
}

/// Whether a condition held in the cell that asks for it.
fn held(report: &Report, label: &str, asked: &str) -> bool {
    let is_it = |cell: &Value| cell["label"] == label && cell["workload"] == asked;
    let cell = report.cell(asked, is_it);
    let changed = number(&cell["throughput_per_s"]["median"]) > 0.0;
    let unchanged = number(&cell["unchanged_per_s"]) > 0.0;
    assert!(changed != unchanged, "{label} {asked}: {cell}");
    changed
}

/// Two variables that can be set under a running server, and one that cannot.
const SCREEN: &str = r#"
rounds = 2
warmup = "0.1s"
measure = "0.3s"
[[mode]]
server = "mariadb"
mode = "single"
[[vary]]
runs = 4
[vary.screen]
innodb_flush_log_at_trx_commit = [1, 2]
innodb_autoinc_lock_mode = [1, 0]
sync_binlog = [1, 0]
[[sweep]]
workload = ["update_index", "flush", "lock_mode", "binlog"]
rtt = "0.25ms"
"#;

#[test]
fn lab_vary_runs_a_screening_design_of_servers_started_anew() {
    on_ground("vary: screen", |ground| {
        let workloads = asking("flush", "@@GLOBAL.innodb_flush_log_at_trx_commit = 2")
            + &asking("lock_mode", "@@GLOBAL.innodb_autoinc_lock_mode = 0")
            + &asking("binlog", "@@GLOBAL.sync_binlog = 0");
        let report = report_of(ground, &(SCREEN.to_owned() + &workloads), &[]);
        assert_eq!(report.cells().len(), 5 * 4);
        // Of so few runs the third variable is high where the other two are alike.
        let runs = [("c", "c"), ("a", "a"), ("b", "b"), ("abc", "abc"), ("", "")];
        for (name, high) in runs {
            let label = match name {
                "" => "mariadb single".to_owned(),
                name => format!("mariadb single screen {name}"),
            };
            for (asked, letter) in [("lock_mode", 'a'), ("flush", 'b'), ("binlog", 'c')] {
                assert_eq!(
                    held(&report, &label, asked),
                    high.contains(letter),
                    "{label} {asked}"
                );
            }
        }
        effects_are_told(ground, &report);
    });
}

fn effects_are_told(ground: &Ground, report: &Report) {
    let all = report.0["effects"].as_array().expect("effects");
    let told = all
        .iter()
        .find(|effects| effects["workload"] == "update_index");
    let told = told.expect("effects on updates");
    assert_eq!(
        (&told["runs"], &told["resolution"], &told["rounds"]),
        (&4.into(), &3.into(), &2.into())
    );
    let [lock_mode, flush, binlog] = [0, 1, 2].map(|i| &told["main"][i]);
    assert_eq!(lock_mode["aliases"], serde_json::json!(["bc"]));
    assert_eq!((&flush["of"], &binlog["of"]), (&"b".into(), &"c".into()));
    assert!(number(&flush["ratio"]["median"]) > 0.0 && flush["shown"].is_boolean());
    assert_eq!(told["interactions"], serde_json::json!([]));
    assert_eq!(told["factors"][1]["high_in_force"], "2");
    let text = ground.run(&["report", "r.acklab"]).good();
    for part in [
        "4 runs, resolution III; 2 rounds",
        "innodb_autoinc_lock_mode",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

/// Variables that are set under running servers, and set back for the mode itself; its replicas
/// have them too.
const DYNAMIC: &str = r#"
rounds = 2
warmup = "0.1s"
measure = "0.2s"
[[mode]]
server = "mysql"
mode = "async"
nodes = 2
baseline = "none"
[[vary]]
alone = { innodb_flush_log_at_trx_commit = 2 }
sets = { relaxed = { innodb_flush_log_at_trx_commit = 0, sync_binlog = 1000 } }
[[sweep]]
workload = ["two", "zero", "binlog"]
rtt = "0.25ms"
"#;

#[test]
fn lab_vary_sets_variables_under_running_servers_and_back() {
    on_ground("vary: dynamic", |ground| {
        let workloads = asking("two", "@@GLOBAL.innodb_flush_log_at_trx_commit = 2")
            + &asking("zero", "@@GLOBAL.innodb_flush_log_at_trx_commit = 0")
            + &asking("binlog", "@@GLOBAL.sync_binlog = 1000");
        let report = report_of(ground, &(DYNAMIC.to_owned() + &workloads), &[]);
        let runs = [
            ("", [false, false, false]),
            (" innodb_flush_log_at_trx_commit=2", [true, false, false]),
            (" relaxed", [false, true, true]),
        ];
        for (name, expected) in runs {
            let label = format!("mysql async 2 nodes{name}");
            let found = ["two", "zero", "binlog"].map(|asked| held(&report, &label, asked));
            assert_eq!(found, expected, "{label}");
        }
        assert_eq!(report.0["labs"].as_array().map(Vec::len), Some(1));
        // Never both of a variable's values in one place without the report's saying so.
        let terms = &report.0["terms"]["sync_binlog"];
        assert!(terms["1000"].is_array() && terms["1"].is_array(), "{terms}");
    });
}

/// Whole clusters are started anew on their data, and stand still for a moment after that.
const CLUSTERS: &str = r#"
rounds = 1
warmup = "1s"
measure = "1s"
[[mode]]
server = "mariadb"
mode = "galera"
[[mode]]
server = "mysql"
mode = "group"
[[vary]]
alone = { innodb_doublewrite = false }
[[sweep]]
workload = ["update_index", "off"]
rtt = "0.25ms"
"#;

#[test]
fn lab_vary_starts_clusters_anew() {
    on_ground("vary: clusters", |ground| {
        let off = "CAST(@@GLOBAL.innodb_doublewrite AS CHAR) IN ('0', 'OFF')";
        let text = CLUSTERS.to_owned() + &asking("off", off);
        let report = report_of(ground, &text, &[]);
        for mode in ["mariadb galera", "mysql group"] {
            assert!(!held(&report, mode, "off"));
            assert!(held(
                &report,
                &format!("{mode} innodb_doublewrite=OFF"),
                "off"
            ));
        }
        for cell in report
            .cells()
            .iter()
            .filter(|cell| cell["workload"] == "update_index")
        {
            crate::report::check_cell(cell);
            crate::report::check_no_errors(cell);
        }
    });
}

/// Nothing is measured with a variable that the server does not know, or a value that it refuses.
#[test]
fn lab_vary_refuses_what_the_server_does_not_know() {
    on_ground("vary: refused", |ground| {
        let cases = [
            (
                "no_such_variable",
                "1",
                &["vary: given no_such_variable", "knows no no_such_variable"][..],
            ),
            (
                "innodb_flush_method",
                "\"fancy\"",
                &["innodb_flush_method=fancy", "'fancy'"],
            ),
            (
                "sync_binlog",
                "\"often\"",
                &["SET GLOBAL sync_binlog = 'often'", "1232"],
            ),
            (
                "innodb_flush_log_at_trx_commit",
                "[7, 9]",
                &["= 7", "= 9", "are both 3 there"],
            ),
        ];
        for (name, value, parts) in cases {
            let text = format!(
                "rounds = 1\nwarmup = \"0s\"\nmeasure = \"0.1s\"\n[[mode]]\nserver = \"mariadb\"\n\
                 mode = \"single\"\n[[vary]]\nalone = {{ {name} = {value} }}\n\
                 [[sweep]]\nworkload = \"update_index\"\nrtt = \"1ms\"\n"
            );
            let file = ground.file("study.toml", &text);
            let ended = ground.run(&["run", file, "--record", "r.acklab"]);
            ended.fails(2, parts);
            ended.fails(2, &["node mariadb-replication.a"]);
            assert!(!ground.work.join("r.acklab").exists());
            ground.nothing_left();
        }
    });
}
