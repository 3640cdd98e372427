use std::time::Duration;

use insta::assert_snapshot;

use super::*;
use crate::error::Error;
use crate::study::capabilities;
use crate::study::{Apply, Consistency, ModeSpec, WaitPoint, builtin, builtin_names};

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
    let articles = article_keys();
    for name in builtin_names() {
        let study = meant(builtin(name).unwrap());
        assert_eq!(study.name, name);
        let sites = match name {
            "group-commit" => &["a", "b"][..],
            "gmo-galera-2022" | "gmo-innodb-cluster-2022" => &["a", "b", "c", "d"],
            _ => &["a", "b", "c"],
        };
        assert_eq!(study.sites, sites);
        let is_of_article = articles.contains(&name.to_owned()) || name == "group-commit";
        assert_eq!(study.article.is_some(), is_of_article, "{name}");
        assert_eq!(study.quick.is_some(), is_of_article, "{name}");
    }
    for key in &articles {
        let study = builtin(key).map(meant).expect("each article has its study");
        assert_eq!(study.article.as_ref(), Some(key));
    }
    assert_eq!(builtin("compere"), None);
}

#[test]
fn an_article_is_one_that_is_known() {
    let text = with_top("article = \"clouds-2015\"");
    assert_eq!(meant(&text).article.as_deref(), Some("clouds-2015"));
    assert_eq!(meant(&with_top("")).article, None);
    assert_snapshot!(mistakes(&with_top("article = \"cloud-2015\"")), @r#"study.toml:1: article: given "cloud-2015"; must be one of clouds-2015, gmo-galera-2022, gmo-innodb-cluster-2022, group-replication-2017, sync-binlog-group-commit-2012; did you mean clouds-2015?"#);
    assert_snapshot!(mistakes(&with_top("article = 2015")), @"study.toml:1: article: given 2015; must be one of clouds-2015, gmo-galera-2022, gmo-innodb-cluster-2022, group-replication-2017, sync-binlog-group-commit-2012");
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
        article = "clouds-2015"
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
    assert_snapshot!(serde_json::to_string_pretty(&study).unwrap());
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
    let own = serde_json::to_string_pretty(&study.sweeps[0].workloads[0]).unwrap();
    assert_snapshot!(own);
}

#[test]
fn default_labels_tell_what_differs() {
    let shown = labels(
        r#"mode = [
        { server = "mysql", mode = "single" },
        { server = "mysql", mode = "single", binary_log = false },
        { server = "mysql", mode = "semisync", wait_for = 2 },
        { server = "mysql", mode = "semisync", wait_point = "AFTER_COMMIT", timeout = "1s" },
        { server = "mysql", mode = "group", consistency = "AFTER", nodes = 2 },
        { server = "mysql", mode = "group-multi", spread = true, appliers = 16 },
        { server = "mariadb", mode = "galera", binary_log = false,
          variables = { wsrep_sync_wait = 1 },
          node_variables = { b = { innodb_io_capacity = 100 } } },
        ]"#,
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
        r#"mode = [
        { server = "mysql", mode = "single" },
        { server = "mysql", mode = "single", variables = { sync_binlog = 0 } },
        { server = "mysql", mode = "async", variables = { sync_binlog = 0 } },
        { server = "mysql", mode = "async", variables = { sync_binlog = 5 } },
        { server = "mysql", mode = "async", baseline = "none" },
        ]"#,
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
fn unknown_builtins_have_a_nearest_name() {
    let mistake = crate::study::builtin::no_such_study("command line", "compare-ful");
    assert_snapshot!(mistake.to_string(), @"command line: given compare-ful; is no file; a built-in study must be one of compare, compare-quick, compare-full, anatomy, group-commit, gmo-innodb-cluster-2022, clouds-2015, group-replication-2017, gmo-galera-2022; did you mean compare-full?");
}

#[test]
fn the_example_in_the_manual_is_without_mistakes() {
    let manual = include_str!("../../../docs/study.md");
    let example = manual
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let study = meant(example.expect("an example"));
    assert_eq!((study.modes.len(), study.sweeps.len()), (6, 3));
    assert_eq!(study.sweeps[1].disks.len(), 4);
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

mod axes;
mod command_line;
mod copies;
mod damaged;
mod disks;
mod endpoints;
mod faults;
mod fronts;
mod quick;
mod rates;
mod speeds;
mod vary;
mod wrong;
