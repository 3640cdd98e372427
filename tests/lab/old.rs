//! The servers of before group commit and of its first line: fetched through npm and Maven, set up
//! by their install scripts, and spoken to in the protocol of their day.

use crate::ground::{Ground, on_ground, with_lab};
use crate::load::check;
use crate::load::load_checks::*;
use crate::modes::writes_arrive;
use crate::report::{check_cell, check_no_errors};
use crate::studies::report_of;

/// What is pinned, asked of the running server: alike on both, then what only the newer has.
fn terms_hold(ground: &Ground, newer: &[(&str, &str)]) {
    let alike = [
        ("log_bin", "ON"),
        ("sync_binlog", "1"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_flush_method", "O_DIRECT"),
        ("innodb_io_capacity", "2000"),
        ("innodb_autoextend_increment", "1"),
        ("innodb_log_file_size", "52428800"),
        ("innodb_file_per_table", "ON"),
        ("binlog_format", "ROW"),
        ("performance_schema", "OFF"),
        ("skip_name_resolve", "ON"),
        ("max_connections", "4200"),
    ];
    for (name, value) in alike.iter().chain(newer) {
        assert_eq!(ground.shown("a", "VARIABLES", name), *value, "{name}");
    }
}

/// Nobody gets in without a name, and root not over the network.
fn accounts_are_ours(ground: &Ground) {
    let strangers = "SELECT COUNT(*) FROM mysql.user WHERE user NOT IN ('root', 'acklab', 'repl')";
    assert_eq!(ground.value("a", strangers), "0");
    let who = "SELECT CURRENT_USER()";
    assert_eq!(ground.value("a", who), "root@localhost");
}

fn stands(server: &'static str, version: &str, newer: &[(&str, &str)]) {
    on_ground(&format!("{server} single"), |ground| {
        with_lab(ground, &["single", "--server", server], || {
            let told = ground.value("a", "SELECT VERSION()");
            assert!(told.starts_with(version), "{told}");
            let list = ground.run(&["servers"]).good();
            let is_there = |line: &str| {
                let words: Vec<&str> = line.split_whitespace().collect();
                words.starts_with(&[server, version]) && words.contains(&"ready")
            };
            assert!(list.lines().any(is_there), "{list}");
            terms_hold(ground, newer);
            accounts_are_ours(ground);
            writes_arrive(ground, &["a"]);
        });
    });
}

#[test]
fn lab_mysql_5_5_stands() {
    stands("mysql-5.5", "5.5.9", &[]);
}

#[test]
fn lab_mysql_5_6_stands() {
    let newer = [
        ("innodb_io_capacity_max", "4000"),
        ("innodb_flush_neighbors", "0"),
        ("binlog_checksum", "CRC32"),
        ("binlog_row_image", "FULL"),
        ("gtid_mode", "ON"),
        ("innodb_use_native_aio", "ON"),
    ];
    stands("mysql-5.6", "5.6.24", &newer);
}

#[test]
fn lab_mysql_5_6_replicates() {
    on_ground("mysql-5.6 async", |ground| {
        let up = ["async", "--server", "mysql-5.6", "--rtt", "1ms"];
        with_lab(ground, &up, || {
            writes_arrive(ground, &["a", "b", "c"]);
            assert_eq!(
                ground.shown("b", "VARIABLES", "slave_parallel_workers"),
                "4"
            );
        });
    });
}

#[test]
fn lab_load_driver_on_mysql_5_5() {
    check("mysql-5.5", |server| {
        sysbench_loads_run(server);
        statements_are_sysbenchs(server);
        mysqlslap_loads_run(server);
        errors_are_counted(server);
        two_thousand_sessions_work(server);
    });
}

#[test]
fn lab_load_driver_on_mysql_5_6() {
    check("mysql-5.6", |server| {
        sysbench_loads_run(server);
        statements_are_sysbenchs(server);
        mysqlslap_loads_run(server);
        errors_are_counted(server);
        two_thousand_sessions_work(server);
    });
}

/// The load of the study of group commit, with each of its durability settings.
const STUDY: &str = r#"
rounds = 1
warmup = "0.2s"
measure = "0.8s"
[[mode]]
server = "mysql-5.5"
mode = "single"
label = "5.5 synced"
[[mode]]
server = "mysql-5.5"
mode = "single"
label = "5.5 not synced"
[mode.variables]
sync_binlog = 0
[[mode]]
server = "mysql-5.6"
mode = "single"
label = "5.6 synced"
[[mode]]
server = "mysql-5.6"
mode = "single"
label = "5.6 not synced"
[mode.variables]
sync_binlog = 0
[[mode]]
server = "mysql-5.6"
mode = "async"
label = "5.6 async"
[[sweep]]
workload = ["update_index", "insert"]
rtt = "0.25ms"
connections = [1, 4]
"#;

#[test]
fn lab_study_of_old_servers_has_commits_and_no_errors() {
    on_ground("study: old servers", |ground| {
        let report = report_of(ground, STUDY, &[]);
        assert_eq!(report.cells().len(), 20);
        for cell in report.cells() {
            check_cell(cell);
            check_no_errors(cell);
        }
    });
}
