//! One test per mode: the servers' own word that it is in force, on equal terms, and that what is
//! written on one node can be read on another.

use std::collections::BTreeMap;

use acklab::lab::servers::{Cache, Catalogue, Flavour, Program};

use crate::ground::{Ground, on_ground, with_lab};

const NODES: [&str; 3] = ["a", "b", "c"];
const MEMBERS: &str = "performance_schema.replication_group_members";

/// Brings the mode up, checks what holds for every mode and then what is the mode's own.
fn mode(server: &str, mode: &str, own: fn(&Ground)) {
    on_ground(&format!("{server} {mode}"), |ground| {
        with_lab(ground, &[mode, "--server", server, "--rtt", "1ms"], || {
            let nodes = if mode == "single" {
                &NODES[..1]
            } else {
                &NODES
            };
            has_been_seen_to_apply(ground, nodes);
            everything_answers(ground, nodes);
            terms_are_equal(ground, server, nodes);
            writes_arrive(ground, nodes);
            client_reaches_a(ground, server);
            own(ground);
        });
    });
}

/// A mode is ready once all have applied a change that was made after they were started.
fn has_been_seen_to_apply(ground: &Ground, nodes: &[&str]) {
    for node in nodes.iter().filter(|_| nodes.len() > 1) {
        let sql = "SELECT CONCAT('beat ', beat) FROM acklab_lab.heartbeat";
        let said = ground.run(&["sql", node, sql]).good();
        assert!(said.contains("beat 1"), "{node}: {said}");
    }
}

fn everything_answers(ground: &Ground, nodes: &[&str]) {
    let status = ground.run(&["status"]).good();
    for node in nodes {
        assert!(
            status.contains(&format!("{node}: accepts connections")),
            "{status}"
        );
    }
    assert_eq!(
        status.matches("accepts connections").count(),
        nodes.len(),
        "{status}"
    );
    let up = ground.run(&["up", "single"]);
    up.fails(2, &["a lab is up already", "acklab down"]);
    ground
        .run(&["sql", "x", "SELECT 1"])
        .fails(2, &["given x", "a, ", "client"]);
    ground
        .run(&["sql", "a", "SELEC 1"])
        .fails(2, &["SELEC 1", "1064"]);
}

/// What is pinned on every server alike, asked of the running servers.
fn terms_are_equal(ground: &Ground, server: &str, nodes: &[&str]) {
    let is_mysql = server == "mysql";
    let [updates, appliers, tls] = match is_mysql {
        true => [
            "log_replica_updates",
            "replica_parallel_workers",
            "tls_version",
        ],
        false => ["log_slave_updates", "slave_parallel_threads", "have_ssl"],
    };
    let wanted = [
        ("sync_binlog", "1"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_io_capacity", "2000"),
        ("performance_schema", "OFF"),
        ("auto_increment_increment", "1"),
        ("binlog_format", "ROW"),
        ("log_bin", "ON"),
        (updates, "ON"),
        (appliers, "4"),
        (tls, if is_mysql { "" } else { "DISABLED" }),
    ];
    for node in nodes {
        let rows = ground.rows(node, "SHOW GLOBAL VARIABLES");
        let pair = |row: &Vec<(String, String)>| (row[0].1.clone(), row[1].1.clone());
        let variables: BTreeMap<String, String> = rows.iter().map(pair).collect();
        for (name, value) in wanted {
            assert_eq!(
                variables.get(name).map(String::as_str),
                Some(value),
                "{node}: {name}"
            );
        }
        if !is_mysql {
            assert_eq!(variables["wsrep_retry_autocommit"], "0", "{node}");
        }
    }
}

/// A table made and filled on `a` can be read on all others.
pub fn writes_arrive(ground: &Ground, nodes: &[&str]) {
    let make = "CREATE TABLE acklab.notes (id INT AUTO_INCREMENT PRIMARY KEY, note TEXT)";
    ground.run(&["sql", "a", make]).good();
    for _ in 0..2 {
        let insert = "INSERT INTO acklab.notes (note) VALUES ('from a')";
        ground.run(&["sql", "a", insert]).good();
    }
    let last = "SELECT MAX(id) FROM acklab.notes WHERE note = 'from a'";
    for node in nodes {
        // Asking for a table that is not there yet is an error.
        let there = "SELECT COUNT(*) FROM information_schema.tables \
                     WHERE table_schema = 'acklab' AND table_name = 'notes'";
        ground.wait_for_value(node, there, "1");
        ground.wait_for_value(node, last, "2");
    }
}

/// `acklab exec` runs a program beside the nodes, and hands on its exit code.
fn client_reaches_a(ground: &Ground, server: &str) {
    let mut command = vec!["exec".to_owned(), "client".to_owned(), "--".to_owned()];
    command.extend(client(ground, server));
    // Without TLS, and over a link: the Unix socket is elsewhere.
    let sql = "SELECT 'host', @@report_host; SHOW SESSION STATUS LIKE 'Ssl_cipher'";
    command.extend(["--batch", "--skip-column-names", "-e", sql].map(str::to_owned));
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let told = ground.run(&command).good();
    assert_eq!(told, "host\t198.18.0.1\nSsl_cipher\t\n");
    let ended = ground.run(&["exec", "a", "--", "sh", "-c", "exit 7"]);
    assert_eq!(ended.code, Some(7), "{ended:?}");
    let absent = ground.run(&["exec", "a", "--", "/no/such/program"]);
    absent.fails(127, &["/no/such/program"]);
}

/// The server's own command-line client, which is on the PATH of `exec`.
fn client(ground: &Ground, server: &str) -> Vec<String> {
    let is_mysql = fetched(ground, server).kept.flavour == Flavour::Mysql;
    let name = if is_mysql { "mysql" } else { "mariadb" };
    let program = format!("/run/acklab/cache/servers/{server}/root/usr/bin/{name}");
    let mut words = vec![
        program.as_str(),
        "--no-defaults",
        "-h",
        "a",
        "-uacklab",
        "-packlab",
    ];
    if is_mysql {
        words.push("--ssl-mode=PREFERRED");
    }
    words.into_iter().map(str::to_owned).collect()
}

fn fetched(ground: &Ground, server: &str) -> Program {
    let cache = Cache::at(&ground.cache).expect("the cache");
    let program = cache.program(&Catalogue::builtin(), server);
    program
        .expect("a readable cache")
        .expect("a fetched server")
}

/// Those of before would fill a small disk in time, replicas' too.
fn old_logs_are_dropped(ground: &Ground, most: usize) {
    for node in NODES {
        let logs = ground.rows(node, "SHOW BINARY LOGS").len();
        assert!((1..=most).contains(&logs), "{node}: {logs} binary logs");
    }
}

/// Both threads of each replica run, without TLS.
fn replicas_run(ground: &Ground, show: &str) {
    // MariaDB still reads the last of them when a replica has caught up.
    let most = if show == "SHOW REPLICA STATUS" { 1 } else { 2 };
    old_logs_are_dropped(ground, most);
    assert!(
        ground.rows("a", show).is_empty(),
        "the source is nobody's replica"
    );
    for node in ["b", "c"] {
        let rows = ground.rows(node, show);
        let row: BTreeMap<String, String> = rows
            .into_iter()
            .next()
            .unwrap_or_default()
            .into_iter()
            .collect();
        let field = |names: [&str; 2]| {
            names
                .iter()
                .find_map(|name| row.get(*name))
                .unwrap_or_else(|| panic!("{row:?}"))
        };
        assert_eq!(
            field(["Replica_IO_Running", "Slave_IO_Running"]),
            "Yes",
            "{row:?}"
        );
        assert_eq!(
            field(["Replica_SQL_Running", "Slave_SQL_Running"]),
            "Yes",
            "{row:?}"
        );
        assert_eq!(
            field(["Source_SSL_Allowed", "Master_SSL_Allowed"]),
            "No",
            "{row:?}"
        );
        assert_eq!(
            field(["Source_Host", "Master_Host"]),
            "198.18.0.1",
            "{row:?}"
        );
    }
}

/// The source counts both replicas, and its commits as acknowledged.
fn semisync_holds(ground: &Ground, prefix: &str) {
    let of_a = |name: &str| ground.shown("a", "STATUS", &format!("{prefix}_{name}"));
    assert_eq!(
        (of_a("status").as_str(), of_a("clients").as_str()),
        ("ON", "2")
    );
    assert_eq!(of_a("no_tx"), "0");
    let before: u64 = of_a("yes_tx").parse().expect("a counter");
    ground
        .run(&[
            "sql",
            "a",
            "INSERT INTO acklab.notes (note) VALUES ('one more')",
        ])
        .good();
    let after: u64 = of_a("yes_tx").parse().expect("a counter");
    assert!(after > before, "{before} {after}");
    let wait_point = ground.shown("a", "VARIABLES", "rpl_semi_sync_%_wait_point");
    assert_eq!(wait_point, "AFTER_SYNC");
}

/// Every member sees all members ONLINE; how many of them are primaries.
fn primaries(ground: &Ground) -> Vec<String> {
    for node in NODES {
        let online = format!("SELECT COUNT(*) FROM {MEMBERS} WHERE MEMBER_STATE = 'ONLINE'");
        assert_eq!(ground.value(node, &online), "3", "{node}");
    }
    let sql = format!("SELECT MEMBER_HOST FROM {MEMBERS} WHERE MEMBER_ROLE = 'PRIMARY' ORDER BY 1");
    let rows = ground.rows("c", &sql);
    rows.into_iter().map(|row| row[0].1.clone()).collect()
}

/// What is written on `b` can be read on `a` and `c`.
fn b_writes_too(ground: &Ground) {
    ground
        .run(&[
            "sql",
            "b",
            "INSERT INTO acklab.notes (note) VALUES ('from b')",
        ])
        .good();
    for node in NODES {
        let count = "SELECT COUNT(*) FROM acklab.notes WHERE note = 'from b'";
        ground.wait_for_value(node, count, "1");
    }
}

#[test]
fn lab_mode_mysql_single() {
    mode("mysql", "single", |ground| {
        assert_eq!(
            ground.shown("a", "VARIABLES", "rpl_semi_sync_source_enabled"),
            "OFF"
        );
        assert!(ground.rows("a", "SHOW REPLICAS").is_empty());
        ground.run(&["sql", "b", "SELECT 1"]).fails(2, &["given b"]);
        ground
            .run(&["sql", "client", "SELECT 1"])
            .fails(2, &["client", "a node with a server"]);
    });
}

#[test]
fn lab_mode_mysql_async() {
    mode("mysql", "async", |ground| {
        replicas_run(ground, "SHOW REPLICA STATUS");
        assert_eq!(
            ground.shown("a", "STATUS", "Rpl_semi_sync_source_status"),
            "OFF"
        );
    });
}

#[test]
fn lab_mode_mysql_semisync() {
    mode("mysql", "semisync", |ground| {
        replicas_run(ground, "SHOW REPLICA STATUS");
        semisync_holds(ground, "Rpl_semi_sync_source");
        assert_eq!(
            ground.shown("b", "STATUS", "Rpl_semi_sync_replica_status"),
            "ON"
        );
    });
}

#[test]
fn lab_mode_mysql_group() {
    mode("mysql", "group", |ground| {
        assert_eq!(primaries(ground), ["198.18.0.1"]);
        old_logs_are_dropped(ground, 1);
        let insert = "INSERT INTO acklab.notes (note) VALUES ('from b')";
        ground
            .run(&["sql", "b", insert])
            .fails(2, &["1290", "super-read-only"]);
        let consistency = ground.shown("b", "VARIABLES", "group_replication_consistency");
        assert_eq!(consistency, "BEFORE_ON_PRIMARY_FAILOVER");
    });
}

#[test]
fn lab_mode_mysql_group_multi() {
    mode("mysql", "group-multi", |ground| {
        assert_eq!(
            primaries(ground),
            ["198.18.0.1", "198.18.0.2", "198.18.0.3"]
        );
        b_writes_too(ground);
    });
}

#[test]
fn lab_mode_mariadb_single() {
    mode("mariadb", "single", |ground| {
        assert_eq!(
            ground.shown("a", "VARIABLES", "rpl_semi_sync_master_enabled"),
            "OFF"
        );
        assert!(ground.rows("a", "SHOW SLAVE HOSTS").is_empty());
    });
}

#[test]
fn lab_mode_mariadb_async() {
    mode("mariadb", "async", |ground| {
        replicas_run(ground, "SHOW SLAVE STATUS");
        assert_eq!(
            ground.shown("a", "STATUS", "Rpl_semi_sync_master_status"),
            "OFF"
        );
    });
}

#[test]
fn lab_mode_mariadb_semisync() {
    mode("mariadb", "semisync", |ground| {
        replicas_run(ground, "SHOW SLAVE STATUS");
        semisync_holds(ground, "Rpl_semi_sync_master");
        assert_eq!(
            ground.shown("b", "STATUS", "Rpl_semi_sync_slave_status"),
            "ON"
        );
    });
}

#[test]
fn lab_mode_mariadb_galera() {
    mode("mariadb", "galera", |ground| {
        for node in NODES {
            let of_node = |name: &str| ground.shown(node, "STATUS", name);
            assert_eq!(of_node("wsrep_cluster_size"), "3", "{node}");
            assert_eq!(of_node("wsrep_local_state_comment"), "Synced", "{node}");
            assert_eq!(of_node("wsrep_cluster_status"), "Primary", "{node}");
            assert_eq!(
                ground.shown(node, "VARIABLES", "wsrep_slave_threads"),
                "4",
                "{node}"
            );
        }
        b_writes_too(ground);
    });
}
