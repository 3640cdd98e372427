use std::time::Duration;

use insta::assert_snapshot;

use super::*;
use crate::error::Error;
use crate::study::capabilities;
use crate::study::workload::{MysqlslapLoad, Parameter, SysbenchLoad, Workload};
use crate::study::{Consistency, ModeSpec, WaitPoint, builtin, builtin_names};

fn read(text: &str) -> Result<Study> {
    let read_file = |name: &str| match name {
        "own.cnf" => Ok("[mysqld]\n".to_owned()),
        _ => Err("No such file or directory".to_owned()),
    };
    parse(text, "study.toml", &capabilities::sample(), &read_file)
}

/// The mistakes of a text, as they are printed.
fn mistakes(text: &str) -> String {
    match read(text) {
        Err(error @ Error::Mistakes(_)) => error.to_string(),
        other => panic!("expected mistakes, got {other:?}"),
    }
}

fn meant(text: &str) -> Study {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

const SWEEP: &str = "\n[[sweep]]\nworkload = \"update_index\"\nrtt = \"2.15ms\"\n";
const SINGLE: &str = "\n[[mode]]\nserver = \"mysql\"\nmode = \"single\"\n";

/// A whole study around some modes.
fn with_modes(modes: &str) -> String {
    format!("{modes}{SWEEP}")
}

/// A whole study of one mode with the given lines.
fn with_mode(server: &str, mode: &str, lines: &str) -> String {
    with_modes(&format!(
        "[[mode]]\nserver = {server:?}\nmode = {mode:?}\n{lines}\n"
    ))
}

/// A whole study that begins with the given lines.
fn with_top(lines: &str) -> String {
    format!("{lines}\n{SINGLE}{SWEEP}")
}

/// A whole study of the given sweep.
fn with_sweep(lines: &str) -> String {
    format!("{SINGLE}\n[[sweep]]\n{lines}\n")
}

/// The labels of some modes, and their baselines.
fn labels(modes: &str) -> Vec<String> {
    let show = |spec: ModeSpec| match spec.baseline {
        Some(baseline) => format!("{} / {baseline}", spec.label),
        None => spec.label,
    };
    meant(&with_modes(modes))
        .modes
        .into_iter()
        .map(show)
        .collect()
}

#[test]
fn every_builtin_is_without_mistakes() {
    for name in builtin_names() {
        let study = meant(builtin(name).unwrap());
        assert_eq!(study.name, name);
        assert_eq!(study.sites, ["a", "b", "c"]);
    }
    assert_eq!(builtin("compere"), None);
}

#[test]
fn the_default_study_compares_six_modes() {
    let study = meant(builtin("compare").unwrap());
    let labels: Vec<&str> = study.modes.iter().map(|spec| spec.label.as_str()).collect();
    let six = [
        "mysql single",
        "mysql async",
        "mysql semisync",
        "mysql group",
        "mariadb single",
        "mariadb galera",
    ];
    assert_eq!(labels, six);
    assert_eq!(study.modes[3].baseline.as_deref(), Some("mysql single"));
    assert_eq!(study.modes[5].baseline.as_deref(), Some("mariadb single"));
}

#[test]
fn the_full_study_has_every_row() {
    let study = meant(builtin("compare-full").unwrap());
    let labels: Vec<&str> = study.modes.iter().map(|spec| spec.label.as_str()).collect();
    assert_snapshot!(labels.join("\n"), @r#"
    mysql single
    mysql single no binlog
    mysql async
    mysql semisync
    mysql semisync 2/2
    mysql semisync AFTER_COMMIT
    mysql group
    mysql group AFTER
    mysql group-multi
    mariadb single
    mariadb async
    mariadb semisync
    mariadb galera
    mariadb galera no binlog
    "#);
}

#[test]
fn what_is_left_out_has_a_default() {
    let study = meant(&with_top(""));
    assert_eq!(
        (study.name.as_str(), study.title.as_str()),
        ("study", "study")
    );
    assert_eq!((study.seed, study.rounds, study.tls), (7, 4, false));
    assert_eq!(study.warmup, Duration::from_millis(500));
    assert_eq!(study.measure, Duration::from_secs(2));
    assert_eq!(study.network.rtt_within_site, Duration::from_micros(250));
    assert_eq!(study.sweeps[0].connections, [1]);
    assert_eq!(study.sweeps[0].client_sites, ["a"]);
    assert_eq!(study.sweeps[0].distances[0].label, "2.15 ms");
    let single = &study.modes[0];
    assert_eq!((single.nodes, single.appliers), (1, 4));
    assert!(single.binary_log && !single.spread);
    assert_eq!(single.baseline, None);
}

#[test]
fn modes_have_defaults_of_their_own() {
    let mode_of = |mode| meant(&with_mode("mysql", mode, "")).modes.remove(0).mode;
    let semisync = Mode::Semisync {
        wait_for: 1,
        wait_point: WaitPoint::AfterSync,
        timeout: Duration::from_secs(10),
    };
    assert_eq!(mode_of("semisync"), semisync);
    let consistency = Consistency::BeforeOnPrimaryFailover;
    assert_eq!(mode_of("group"), Mode::Group { consistency });
    assert_eq!(mode_of("group-multi"), Mode::GroupMulti { consistency });
    assert_eq!(meant(&with_mode("mysql", "group", "")).modes[0].nodes, 3);
}

#[test]
fn every_key_is_understood() {
    let study = meant(
        r#"
        name = "own"
        title = "my own"
        seed = 11
        rounds = 5
        warmup = "1s"
        measure = "3s"
        sites = ["a", "b", "c", "d"]
        tls = true
        my_cnf = "own.cnf"
        [network]
        rtt_within_site = "100us"
        jitter = "50us"
        loss = "0.5%"
        rate = "25Mbit/s"
        [workload.big]
        tool = "sysbench"
        load = "read_write"
        tables = 4
        table_size = 100000
        prepared = false
        [[mode]]
        server = "mysql"
        mode = "semisync"
        wait_for = 2
        wait_point = "AFTER_COMMIT"
        timeout = "3s"
        nodes = 4
        appliers = 8
        label = "two of three"
        baseline = "plain"
        [mode.variables]
        innodb-flush-neighbors = 1
        innodb_doublewrite = false
        [mode.node_variables.b]
        innodb_io_capacity = "400"
        [[mode]]
        server = "mysql"
        mode = "single"
        label = "plain"
        [[sweep]]
        workload = ["big", "mysqlslap update"]
        connections = [1, 16]
        client = ["a", "d"]
        rtt = ["1ms"]
        "#,
    );
    insta::assert_debug_snapshot!(study, @r#"
    Study {
        name: "own",
        title: "my own",
        seed: 11,
        rounds: 5,
        warmup: 1s,
        measure: 3s,
        sites: [
            "a",
            "b",
            "c",
            "d",
        ],
        network: Network {
            rtt_within_site: 100µs,
            jitter: 50µs,
            loss: 0.005,
            rate_bits_per_s: Some(
                25000000,
            ),
        },
        tls: true,
        my_cnf: Some(
            "[mysqld]\n",
        ),
        modes: [
            ModeSpec {
                label: "two of three",
                server: "mysql",
                mode: Semisync {
                    wait_for: 2,
                    wait_point: AfterCommit,
                    timeout: 3s,
                },
                nodes: 4,
                appliers: 8,
                binary_log: true,
                spread: false,
                baseline: Some(
                    "plain",
                ),
                variables: {
                    "innodb_doublewrite": "OFF",
                    "innodb_flush_neighbors": "1",
                },
                node_variables: {
                    "b": {
                        "innodb_io_capacity": "400",
                    },
                },
            },
            ModeSpec {
                label: "plain",
                server: "mysql",
                mode: Single,
                nodes: 1,
                appliers: 4,
                binary_log: true,
                spread: false,
                baseline: None,
                variables: {},
                node_variables: {},
            },
        ],
        sweeps: [
            Sweep {
                workloads: [
                    Sysbench {
                        load: ReadWrite,
                        tables: 4,
                        table_size: 100000,
                        prepared: false,
                    },
                    Mysqlslap {
                        load: Update,
                        int_cols: 1,
                        char_cols: 1,
                        autoincrement: true,
                        write_number: 100,
                        number_of_queries: 1000,
                        iterations: 1,
                    },
                ],
                connections: [
                    1,
                    16,
                ],
                distances: [
                    Distances {
                        label: "1 ms",
                        pairs: [
                            (
                                "a",
                                "b",
                                1ms,
                            ),
                            (
                                "a",
                                "c",
                                1ms,
                            ),
                            (
                                "a",
                                "d",
                                1ms,
                            ),
                            (
                                "b",
                                "c",
                                1ms,
                            ),
                            (
                                "b",
                                "d",
                                1ms,
                            ),
                            (
                                "c",
                                "d",
                                1ms,
                            ),
                        ],
                    },
                ],
                client_sites: [
                    "a",
                    "d",
                ],
            },
        ],
    }
    "#);
}

#[test]
fn unequal_distances_name_every_pair() {
    let study = meant(&with_sweep(
        r#"workload = "delete"
        distances = [
            { label = "b near, c far", ab = "2.15ms", ca = "8ms", b-c = "8ms" },
            { ab = "1ms", ac = "2ms", bc = "3ms" },
        ]"#,
    ));
    let [near, plain] = &study.sweeps[0].distances[..] else {
        panic!("two")
    };
    assert_eq!(near.label, "b near, c far");
    assert_eq!(near.rtt("c", "a"), Some(Duration::from_millis(8)));
    assert_eq!(near.rtt("a", "b"), Some(Duration::from_micros(2150)));
    assert_eq!(plain.label, "a-b 1 ms, a-c 2 ms, b-c 3 ms");
}

#[test]
fn own_sql_is_understood() {
    let study = meant(
        r#"
        [workload.orders]
        tool = "custom"
        setup = ["CREATE TABLE o (id BIGINT PRIMARY KEY, note VARCHAR(20))"]
        [[workload.orders.transaction]]
        name = "order"
        weight = 3
        statement = [
            { sql = "INSERT INTO o VALUES (?, ?)", parameters = [
                { type = "unique" }, { type = "text", length = 20 } ] },
            "DO 1",
        ]
        [[workload.orders.transaction]]
        statement = { sql = "SELECT * FROM o WHERE id = ?", parameters = [
            { type = "key", max = 100 } ] }
        [[mode]]
        server = "mysql"
        mode = "single"
        [[sweep]]
        workload = "orders"
        rtt = "0s"
        "#,
    );
    let Workload::Custom {
        name,
        setup,
        transactions,
        prepared,
    } = &study.sweeps[0].workloads[0]
    else {
        panic!("custom")
    };
    assert_eq!((name.as_str(), setup.len(), *prepared), ("orders", 1, true));
    assert_eq!(
        (transactions[0].name.as_str(), transactions[0].weight),
        ("order", 3)
    );
    assert_eq!(
        (transactions[1].name.as_str(), transactions[1].weight),
        ("transaction 2", 1)
    );
    let first = &transactions[0].statements[0];
    assert_eq!(
        first.parameters,
        [
            Parameter::Unique { start: 1 },
            Parameter::Text { length: 20 }
        ]
    );
    assert_eq!(transactions[0].statements[1].sql, "DO 1");
    let key = &transactions[1].statements[0].parameters;
    assert_eq!(key[..], [Parameter::Key { min: 1, max: 100 }]);
}

#[test]
fn workloads_have_names() {
    let study = meant(&with_sweep(
        "workload = [\"insert\", \"mysqlslap key\"]\nrtt = \"1ms\"",
    ));
    let loads = &study.sweeps[0].workloads;
    let sysbench = Workload::Sysbench {
        load: SysbenchLoad::Insert,
        tables: 1,
        table_size: 10_000,
        prepared: true,
    };
    assert_eq!(loads[0], sysbench);
    assert!(matches!(
        loads[1],
        Workload::Mysqlslap {
            load: MysqlslapLoad::Key,
            ..
        }
    ));
}

#[test]
fn default_labels_tell_what_differs() {
    let shown = labels(
        r#"
        [[mode]]
        server = "mysql"
        mode = "single"
        [[mode]]
        server = "mysql"
        mode = "single"
        binary_log = false
        [[mode]]
        server = "mysql"
        mode = "semisync"
        wait_for = 2
        [[mode]]
        server = "mysql"
        mode = "semisync"
        wait_point = "AFTER_COMMIT"
        timeout = "1s"
        [[mode]]
        server = "mysql"
        mode = "group"
        consistency = "AFTER"
        nodes = 2
        [[mode]]
        server = "mysql"
        mode = "group-multi"
        spread = true
        appliers = 16
        [[mode]]
        server = "mariadb"
        mode = "galera"
        binary_log = false
        [mode.variables]
        wsrep_sync_wait = 1
        [mode.node_variables.b]
        innodb_io_capacity = 100
        "#,
    );
    assert_snapshot!(shown.join("\n"), @r#"
    mysql single
    mysql single no binlog / mysql single
    mysql semisync 2/2 / mysql single
    mysql semisync AFTER_COMMIT timeout 1 s / mysql single
    mysql group AFTER 2 nodes / mysql single
    mysql group-multi 16 appliers spread / mysql single
    mariadb galera no binlog wsrep_sync_wait=1 b:innodb_io_capacity=100
    "#);
}

#[test]
fn the_baseline_is_the_single_of_the_same_variables() {
    let shown = labels(
        r#"
        [[mode]]
        server = "mysql"
        mode = "single"
        [[mode]]
        server = "mysql"
        mode = "single"
        variables = { sync_binlog = 0 }
        [[mode]]
        server = "mysql"
        mode = "async"
        variables = { sync_binlog = 0 }
        [[mode]]
        server = "mysql"
        mode = "async"
        variables = { sync_binlog = 5 }
        [[mode]]
        server = "mysql"
        mode = "async"
        baseline = "none"
        "#,
    );
    assert_snapshot!(shown.join("\n"), @r#"
    mysql single
    mysql single sync_binlog=0
    mysql async sync_binlog=0 / mysql single sync_binlog=0
    mysql async sync_binlog=5 / mysql single
    mysql async
    "#);
}

#[test]
fn unknown_keys_are_mistakes_everywhere() {
    let text = r#"
        round = 3
        [network]
        loos = 0.1
        [workload.x]
        tool = "sysbench"
        load = "insert"
        table_sise = 5
        [[mode]]
        server = "mysql"
        mode = "single"
        aplliers = 4
        [[sweep]]
        workload = "x"
        rtt = "1ms"
        zzz = 1
        "#;
    assert_snapshot!(mistakes(text), @r#"
    study.toml:2: round: given 3; no such key; did you mean rounds?
    study.toml:4: network.loos: given 0.1; no such key; did you mean loss?
    study.toml:8: workload.x.table_sise: given 5; no such key; did you mean table_size?
    study.toml:12: mode[1].aplliers: given 4; no such key; did you mean appliers?
    study.toml:16: sweep[1].zzz: given 1; no such key; known here are workload, connections, rtt, distances, client
    "#);
}

#[test]
fn unknown_modes_and_servers_are_mistakes() {
    assert_snapshot!(mistakes(&with_mode("mysql", "grup", "")), @r#"study.toml:3: mode[1].mode: given "grup"; must be one of single, async, semisync, group, group-multi, galera; did you mean group?"#);
    assert_snapshot!(mistakes(&with_mode("postgres", "single", "")), @r#"study.toml:2: mode[1].server: given "postgres"; must be one of mariadb, mysql"#);
    assert_snapshot!(mistakes(&with_modes("[[mode]]\nlabel = \"x\"")), @r#"
    study.toml:1: mode[1].server: is missing; must be one of mariadb, mysql
    study.toml:1: mode[1].mode: is missing; must be one of single, async, semisync, group, group-multi, galera
    "#);
}

#[test]
fn a_mode_that_the_server_cannot_do_is_a_mistake() {
    assert_snapshot!(mistakes(&with_mode("mariadb", "group", "")), @r#"study.toml:3: mode[1].mode: given "group"; is not a mode of mariadb, which can do single, async, semisync, galera"#);
    assert_snapshot!(mistakes(&with_mode("mysql", "galera", "")), @r#"study.toml:3: mode[1].mode: given "galera"; is not a mode of mysql, which can do single, async, semisync, group, group-multi"#);
}

#[test]
fn rounds_and_times_have_limits() {
    assert_snapshot!(mistakes(&with_top("rounds = 0")), @"study.toml:1: rounds: given 0; must be a whole number from 1 to 1000");
    assert_snapshot!(mistakes(&with_top("rounds = -2")), @"study.toml:1: rounds: given -2; must be a whole number from 1 to 1000");
    assert_snapshot!(mistakes(&with_top("rounds = \"four\"")), @r#"study.toml:1: rounds: given "four"; must be a whole number from 1 to 1000"#);
    assert_snapshot!(mistakes(&with_top("measure = \"2h\"")), @r#"study.toml:1: measure: given "2h"; must be a time from 100 ms to 1 h"#);
    assert_snapshot!(mistakes(&with_top("measure = \"0s\"")), @r#"study.toml:1: measure: given "0s"; must be a time from 100 ms to 1 h"#);
    assert_snapshot!(mistakes(&with_top("warmup = 5")), @r#"study.toml:1: warmup: given 5; must be a time from 0 to 1 h, with its unit, such as "2.15ms""#);
    assert_snapshot!(mistakes(&with_top("seed = -1")), @"study.toml:1: seed: given -1; must be a whole number from 0 to 9223372036854775807");
}

#[test]
fn a_round_trip_time_below_zero_is_a_mistake() {
    assert_snapshot!(mistakes(&with_sweep("workload = \"insert\"\nrtt = \"-1ms\"")), @r#"study.toml:8: sweep[1].rtt: given "-1ms"; must be a time from 0 to 60 s"#);
    let list = "workload = \"insert\"\nrtt = [\"1ms\", \"61s\", \"8\"]";
    assert_snapshot!(mistakes(&with_sweep(list)), @r#"
    study.toml:8: sweep[1].rtt[2]: given "61s"; must be a time from 0 to 60 s
    study.toml:8: sweep[1].rtt[3]: given "8"; must be a time from 0 to 60 s, with its unit, such as "2.15ms"
    "#);
}

#[test]
fn networks_have_limits() {
    let text = "[network]\nloss = 2\nrate = \"25mbit\"\njitter = \"-1us\"";
    assert_snapshot!(mistakes(&with_top(text)), @r#"
    study.toml:2: network.loss: given 2; must be a share from 0 to 0.5, or "0.5%" up to "50%"
    study.toml:3: network.rate: given "25mbit"; must be a rate from 1 kB/s (8 kbit/s) to 100 Gbit/s, such as "25Mbit/s"
    study.toml:4: network.jitter: given "-1us"; must be a time from 0 to 60 s
    "#);
    assert_snapshot!(mistakes(&with_top("[network]\nloss = \"60%\"")), @r#"study.toml:2: network.loss: given "60%"; must be a share from 0 to 0.5, or "0.5%" up to "50%""#);
    let fast = meant(&with_top("[network]\nloss = 0.005\nrate = \"150MB/s\""));
    assert_eq!(fast.network.loss, 0.005);
    assert_eq!(fast.network.rate_bits_per_s, Some(1_200_000_000));
}

#[test]
fn nobody_waits_for_more_replicas_than_there_are() {
    assert_snapshot!(mistakes(&with_mode("mysql", "semisync", "wait_for = 3")), @"study.toml:4: mode[1].wait_for: given 3; must be from 1 to 2, the number of replicas");
    assert_snapshot!(mistakes(&with_mode("mysql", "semisync", "wait_for = 0")), @"study.toml:4: mode[1].wait_for: given 0; must be from 1 to 2, the number of replicas");
    assert_snapshot!(mistakes(&with_mode("mariadb", "semisync", "wait_for = 2")), @"study.toml:4: mode[1].wait_for: given 2; must be 1: MariaDB's semi-sync waits for one replica, never more");
}

#[test]
fn nodes_need_sites() {
    assert_snapshot!(mistakes(&with_mode("mysql", "group", "nodes = 5")), @"study.toml:4: mode[1].nodes: given 5; must be from 2 to 3: one node in each of the sites a, b, c");
    assert_snapshot!(mistakes(&with_mode("mysql", "single", "nodes = 2")), @"study.toml:4: mode[1].nodes: given 2; must be 1");
    let lonely = format!("sites = [\"a\"]\n{}", with_mode("mysql", "async", ""));
    assert_snapshot!(mistakes(&lonely), @"study.toml:2: mode[1]: needs at least two sites, for its nodes stand one in each");
    let pair = format!(
        "sites = [\"a\", \"b\"]\n{}",
        with_mode("mysql", "async", "")
    );
    assert_eq!(meant(&pair).modes[0].nodes, 2);
    assert_snapshot!(mistakes(&with_top("sites = [\"a\", \"a\", \"The North\"]")), @r#"
    study.toml:1: sites[2]: given "a"; is given twice
    study.toml:1: sites[3]: given "The North"; must be 1 to 8 lower-case letters or digits
    "#);
}

#[test]
fn replication_needs_the_binary_log() {
    for mode in ["async", "semisync", "group", "group-multi"] {
        assert!(mistakes(&with_mode("mysql", mode, "binary_log = false")).contains("binary_log"));
    }
    assert_snapshot!(mistakes(&with_mode("mysql", "async", "binary_log = false")), @"study.toml:4: mode[1].binary_log: given false; must be true: async replicates through the binary log");
    assert!(read(&with_mode("mariadb", "galera", "binary_log = false")).is_ok());
}

#[test]
fn settings_of_one_mode_are_mistakes_in_another() {
    let lines = "wait_for = 1\nconsistency = \"AFTER\"\nspread = true";
    assert_snapshot!(mistakes(&with_mode("mysql", "async", lines)), @r#"
    study.toml:4: mode[1].wait_for: given 1; is for mode semisync only, not for async
    study.toml:5: mode[1].consistency: given "AFTER"; is for modes group and group-multi only, not for async
    study.toml:6: mode[1].spread: given true; is for modes group-multi and galera only, not for async
    "#);
}

#[test]
fn names_of_settings_are_checked() {
    let lines = "consistency = \"after\"";
    assert_snapshot!(mistakes(&with_mode("mysql", "group", lines)), @r#"study.toml:4: mode[1].consistency: given "after"; must be one of EVENTUAL, BEFORE_ON_PRIMARY_FAILOVER, BEFORE, AFTER, BEFORE_AND_AFTER; did you mean AFTER?"#);
    let lines = "[mode.variables]\n\"a b\" = 1\nx = [1]\n[mode.node_variables.d]\ny = 1";
    assert_snapshot!(mistakes(&with_mode("mysql", "group", lines)), @r#"
    study.toml:5: mode[1].variables.a b: given 1; is not the name of a server variable
    study.toml:6: mode[1].variables.x: given [1]; must be a text of one line, a number, true or false
    study.toml:7: mode[1].node_variables.d: given [mode.node_variables.d]; there is no node of this mode in site d; must be one of a, b, c
    "#);
}

#[test]
fn labels_must_differ_and_baselines_exist() {
    let twice = format!("{SINGLE}{SINGLE}");
    assert_snapshot!(mistakes(&with_modes(&twice)), @r#"study.toml:6: mode[2]: given "mysql single" by default; is the label of another mode too; labels must differ by more than punctuation and case; give it a label"#);
    let alike = format!(
        "{SINGLE}\n[[mode]]\nserver = \"mysql\"\nmode = \"async\"\nlabel = \"MySQL: single\""
    );
    assert_snapshot!(mistakes(&with_modes(&alike)), @r#"study.toml:9: mode[2].label: given "MySQL: single"; is the label of another mode too; labels must differ by more than punctuation and case"#);
    let lost = format!(
        "{SINGLE}\n[[mode]]\nserver = \"mysql\"\nmode = \"async\"\nbaseline = \"mysql singel\""
    );
    assert_snapshot!(mistakes(&with_modes(&lost)), @r#"study.toml:9: mode[2].baseline: given "mysql singel"; no other mode has this label; must be one of mysql single, none; did you mean mysql single?"#);
}

#[test]
fn sweeps_are_checked() {
    let lines = "workload = [\"update_idx\", \"mysqlslap writ\"]\nconnections = [0, 20000]\n\
                 client = \"d\"";
    assert_snapshot!(mistakes(&with_sweep(lines)), @r#"
    study.toml:6: sweep[1]: needs rtt = ["2.15ms"] (between all sites), or distances, or both
    study.toml:7: sweep[1].workload[1]: given "update_idx"; must be one of point_select, read_only, read_write, write_only, update_index, update_non_index, insert, delete, mysqlslap key, mysqlslap read, mysqlslap write, mysqlslap mixed, mysqlslap update; did you mean update_index?
    study.toml:7: sweep[1].workload[2]: given "mysqlslap writ"; must be one of point_select, read_only, read_write, write_only, update_index, update_non_index, insert, delete, mysqlslap key, mysqlslap read, mysqlslap write, mysqlslap mixed, mysqlslap update; did you mean mysqlslap write?
    study.toml:8: sweep[1].connections[1]: given 0; must be a whole number from 1 to 10000
    study.toml:8: sweep[1].connections[2]: given 20000; must be a whole number from 1 to 10000
    study.toml:9: sweep[1].client: given "d"; must be one of a, b, c
    "#);
    assert_snapshot!(mistakes(&with_sweep("workload = \"insert\"\nrtt = []")), @"study.toml:8: sweep[1].rtt: given []; must not be empty");
}

#[test]
fn every_pair_of_sites_needs_one_time() {
    let lines = "workload = \"insert\"\ndistances = [{ ab = \"1ms\", ba = \"2ms\", ad = \"1ms\" }]";
    assert_snapshot!(mistakes(&with_sweep(lines)), @r#"
    study.toml:8: sweep[1].distances[1].ac: is missing; the round-trip time of each pair of sites must be given
    study.toml:8: sweep[1].distances[1].bc: is missing; the round-trip time of each pair of sites must be given
    study.toml:8: sweep[1].distances[1].ba: given "2ms"; the same pair stands under sweep[1].distances[1].ab already
    study.toml:8: sweep[1].distances[1].ad: given "1ms"; no such key; known here are label, ab, ac, bc
    "#);
    let lines = "workload = \"insert\"\ndistances = [\n\
                 { label = \"x\", ab = \"1ms\", ac = \"1ms\", bc = \"1ms\" },\n\
                 { label = \"X!\", ab = \"1ms\", ac = \"1ms\", bc = \"2ms\" }]";
    assert_snapshot!(mistakes(&with_sweep(lines)), @r#"study.toml:10: sweep[1].distances[2]: given { label = "X!", ab = "1ms", ac = "1ms", bc = "2ms" }; the label "X!" already stands for other distances"#);
}

#[test]
fn own_workloads_are_checked() {
    let text = r#"
        [workload.a]
        tool = "sysbensh"
        [workload.b]
        tool = "mysqlslap"
        load = "update"
        autoincrement = false
        [workload.c]
        tool = "custom"
        [workload.d]
        tool = "custom"
        [[workload.d.transaction]]
        statement = ["UPDATE t SET a = ?", { sql = "SELECT ?, '?'", parameters = [
            { type = "integer", min = 5, max = 1 }, { type = "text" } ] }]
        "#;
    assert_snapshot!(mistakes(&format!("{text}{SINGLE}{SWEEP}")), @r#"
    study.toml:3: workload.a.tool: given "sysbensh"; must be one of sysbench, mysqlslap, custom; did you mean sysbench?
    study.toml:7: workload.b.autoincrement: given false; must be true: update looks rows up by primary key
    study.toml:8: workload.c.transaction: is missing; at least one transaction must be given
    study.toml:13: workload.d.transaction[1].statement[1]: given "UPDATE t SET a = ?"; has 1 × ? but 0 parameters; there must be one for each
    study.toml:13: workload.d.transaction[1].statement[2].sql: given "SELECT ?, '?'"; has 1 × ? but 2 parameters; there must be one for each
    study.toml:14: workload.d.transaction[1].statement[2].parameters[1].max: given 1; must be at least 5, the smallest number
    study.toml:14: workload.d.transaction[1].statement[2].parameters[2].length: is missing; the number of letters must be given
    "#);
}

#[test]
fn a_group_takes_no_table_without_a_key() {
    let text = "[workload.w]\ntool = \"mysqlslap\"\nload = \"write\"\nautoincrement = false\n\
                [[mode]]\nserver = \"mysql\"\nmode = \"group\"\n\
                [[sweep]]\nworkload = \"w\"\nrtt = \"1ms\"";
    assert_snapshot!(mistakes(text), @r#"study.toml:9: sweep[1].workload: given "w"; has no primary key (autoincrement = false), which group modes refuse"#);
    assert!(read(&text.replace("\"group\"", "\"async\"")).is_ok());
}

#[test]
fn an_option_file_must_be_readable() {
    assert_snapshot!(mistakes(&with_top("my_cnf = \"lost.cnf\"")), @r#"study.toml:1: my_cnf: given "lost.cnf"; must be an option file that can be read: No such file or directory"#);
}

#[test]
fn a_study_that_nobody_could_wait_for_is_a_mistake() {
    assert_snapshot!(mistakes(&with_top("rounds = 1000\nmeasure = \"1h\"")), @"study.toml:1: 1 cells × 1000 rounds × 3600.5 s of load would take 1000 h; at most 10000 cells and 168 h are allowed: fewer modes, axes or rounds, or shorter windows");
}

#[test]
fn an_empty_study_lacks_modes_and_sweeps() {
    assert_snapshot!(mistakes(""), @r#"
    study.toml:1: mode: is missing; at least one [[mode]] must be given
    study.toml:1: sweep: is missing; at least one [[sweep]] must be given
    "#);
}

#[test]
fn what_is_not_toml_is_told_line_by_line() {
    assert_snapshot!(mistakes("rounds = 4\nseed = = 7\nrounds = 5\ntitle = \"x"), @r#"
    study.toml:2: not TOML: extra `=`, expected nothing
    study.toml:2: not TOML: unexpected key or value, expected newline, `#`
    study.toml:3: not TOML: duplicate key
    study.toml:4: not TOML: invalid basic string, expected `"`
    "#);
}

#[test]
fn several_mistakes_come_at_once_in_the_order_of_the_file() {
    let text = r#"
rounds = 0
tls = "yes"
[[mode]]
server = "mysql"
mode = "semisync"
wait_for = 5
appliers = 0
[[mode]]
server = "mariadb"
mode = "group"
[[sweep]]
workload = "update_index"
rtt = ["-1ms"]
conections = 4
"#;
    assert_snapshot!(mistakes(text), @r#"
    study.toml:2: rounds: given 0; must be a whole number from 1 to 1000
    study.toml:3: tls: given "yes"; must be true or false
    study.toml:7: mode[1].wait_for: given 5; must be from 1 to 2, the number of replicas
    study.toml:8: mode[1].appliers: given 0; must be a whole number from 1 to 256
    study.toml:11: mode[2].mode: given "group"; is not a mode of mariadb, which can do single, async, semisync, galera
    study.toml:14: sweep[1].rtt[1]: given "-1ms"; must be a time from 0 to 60 s
    study.toml:15: sweep[1].conections: given 4; no such key; did you mean connections?
    "#);
}

#[test]
fn the_command_line_meets_the_same_limits() {
    use crate::study::Overrides;
    let study = meant(&with_top(""));
    let given = Overrides {
        rounds: Some(0),
        warmup: Some(Duration::from_secs(7_200)),
        measure: Some(Duration::from_millis(1)),
        seed: Some(u64::MAX),
        ..Overrides::default()
    };
    let error = study.clone().apply(&given).unwrap_err();
    assert_snapshot!(error.to_string(), @r#"
    command line: --rounds: given 0; must be a whole number from 1 to 1000
    command line: --seed: given 18446744073709551615; must be a whole number from 0 to 9223372036854775807
    command line: --warmup: given 2h; must be a time from 0 to 1 h
    command line: --measure: given 1ms; must be a time from 100 ms to 1 h
    "#);
    let long = Overrides {
        rounds: Some(1_000),
        measure: Some(Duration::from_secs(3_600)),
        ..Overrides::default()
    };
    assert_snapshot!(study.apply(&long).unwrap_err().to_string(), @"command line: 1 cells × 1000 rounds × 3600.5 s of load would take 1000 h; at most 10000 cells and 168 h are allowed: fewer modes, axes or rounds, or shorter windows");
}

#[test]
fn the_command_line_changes_what_it_names_and_nothing_else() {
    use crate::study::Overrides;
    let study = meant(&with_top(""));
    assert_eq!(
        study.clone().apply(&Overrides::default()),
        Ok(study.clone())
    );
    let given = Overrides {
        rounds: Some(9),
        seed: Some(1),
        tls: Some(true),
        my_cnf_text: Some("[mysqld]".to_owned()),
        ..Overrides::default()
    };
    let changed = study.clone().apply(&given).unwrap();
    let expected = Study {
        rounds: 9,
        seed: 1,
        tls: true,
        my_cnf: Some("[mysqld]".to_owned()),
        ..study
    };
    assert_eq!(changed, expected);
}

#[test]
fn unknown_builtins_have_a_nearest_name() {
    let mistake = crate::study::builtin::no_such_study("command line", "compare-ful");
    assert_snapshot!(mistake.to_string(), @"command line: given compare-ful; is no file; a built-in study must be one of compare, compare-quick, compare-full; did you mean compare-full?");
}

#[test]
fn the_example_in_the_manual_is_without_mistakes() {
    let manual = include_str!("../../../docs/study.md");
    let example = manual
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let study = meant(example.expect("an example"));
    assert_eq!((study.modes.len(), study.sweeps.len()), (3, 2));
}

#[test]
fn numbers_may_have_underscores() {
    assert_eq!(meant(&with_top("rounds = 1_000")).rounds, 1_000);
}

#[test]
fn a_study_survives_the_record() {
    for name in builtin_names() {
        let study = meant(builtin(name).unwrap());
        let json = serde_json::to_string(&study).unwrap();
        assert_eq!(serde_json::from_str::<Study>(&json).unwrap(), study);
    }
}

mod damaged {
    use proptest::prelude::*;

    use super::*;

    /// What a slip of the hand, or of the mind, may leave in a file.
    const PIECES: [&str; 12] = [
        "",
        "=",
        "\"",
        "[",
        "]]",
        "{}",
        "0",
        "-1",
        "\"µ\"",
        "true",
        "[mode]\n",
        "1979-05-27",
    ];

    proptest! {
        #[test]
        fn any_text_gives_a_study_or_mistakes(
            from: prop::sample::Index,
            length in 0usize..30,
            piece in prop::sample::select(&PIECES[..]),
        ) {
            let text = include_str!("../../../docs/study.md");
            let text = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
            let letters: Vec<char> = text.chars().collect();
            let start = from.index(letters.len());
            let end = letters.len().min(start + length);
            let damaged: String =
                letters[..start].iter().copied()
                    .chain(piece.chars())
                    .chain(letters[end..].iter().copied())
                    .collect();
            if let Err(error) = read(&damaged) {
                let Error::Mistakes(mistakes) = error else { panic!("{error}") };
                prop_assert!(!mistakes.is_empty());
                prop_assert!(mistakes.iter().all(|mistake| mistake.place.starts_with("study.toml:")));
            }
        }
    }
}
