//! Checks of the load driver against a real server. Each wants a server that does nothing else
//! meanwhile, with an account that may do everything.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use acklab::error::Result;
use acklab::load::{self, Driver, Iterations, Job, Snapshot, in_a_row};
use acklab::record::server_errors::ServerErrors;
use acklab::study::workload::{Parameter, Transaction};
use acklab::study::{MysqlslapLoad, Statement, SysbenchLoad, Workload};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

/// The server under test.
#[derive(Clone)]
pub struct Server {
    pub address: SocketAddr,
    pub user: String,
    pub password: String,
}

const DATABASE: &str = "acklab_load_checks";

pub const SYSBENCH: [SysbenchLoad; 8] = [
    SysbenchLoad::PointSelect,
    SysbenchLoad::ReadOnly,
    SysbenchLoad::ReadWrite,
    SysbenchLoad::WriteOnly,
    SysbenchLoad::UpdateIndex,
    SysbenchLoad::UpdateNonIndex,
    SysbenchLoad::Insert,
    SysbenchLoad::Delete,
];

pub const MYSQLSLAP: [MysqlslapLoad; 5] = [
    MysqlslapLoad::Key,
    MysqlslapLoad::Read,
    MysqlslapLoad::Write,
    MysqlslapLoad::Mixed,
    MysqlslapLoad::Update,
];

impl Server {
    fn admin(&self) -> Conn {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(self.address.ip().to_string()))
            .tcp_port(self.address.port())
            .prefer_socket(false)
            .user(Some(self.user.clone()))
            .pass(Some(self.password.clone()));
        Conn::new(options).expect("the server under test")
    }

    /// An empty database with what the workload needs in it.
    pub fn prepared_for(&self, workload: &Workload) -> Conn {
        let mut admin = self.admin();
        let empty = [
            format!("DROP DATABASE IF EXISTS {DATABASE}"),
            format!("CREATE DATABASE {DATABASE}"),
            format!("USE {DATABASE}"),
        ];
        for sql in empty.into_iter().chain(load::setup_statements(workload, 3)) {
            admin.query_drop(sql).expect("set-up statement");
        }
        admin
    }

    /// A job over the workload.
    pub fn job(&self, workload: &Workload, connections: u32) -> Job {
        Job {
            targets: vec![self.address],
            user: self.user.clone(),
            password: self.password.clone().into(),
            databases: vec![DATABASE.to_owned()],
            tls: false,
            workload: workload.clone(),
            connections,
            seed: 11,
            driver: 0,
            drivers: 1,
            unique_from: 0,
            rate_per_s: None,
            pace: None,
            slowdown: None,
            waits: false,
            guest: None,
        }
    }
}

/// A driver process.
pub fn driver() -> Driver {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acklab"));
    command.arg("drive");
    Driver::spawn(command).expect("acklab drive")
}

pub fn sysbench(load: SysbenchLoad, prepared: bool) -> Workload {
    Workload::Sysbench {
        load,
        tables: 2,
        table_size: 2000,
        prepared,
    }
}

pub fn mysqlslap(load: MysqlslapLoad, autoincrement: bool) -> Workload {
    Workload::Mysqlslap {
        load,
        int_cols: 2,
        char_cols: 3,
        autoincrement,
        write_number: 20,
        number_of_queries: 100,
        iterations: 2,
        catch_up: false,
    }
}

fn custom(setup: &[&str], statements: Vec<Statement>, prepared: bool) -> Workload {
    Workload::Custom {
        name: "custom".to_owned(),
        setup: setup.iter().map(|sql| (*sql).to_owned()).collect(),
        transactions: vec![Transaction {
            name: "only".to_owned(),
            weight: 1,
            statements,
        }],
        prepared,
    }
}

fn statement(sql: &str, parameters: Vec<Parameter>) -> Statement {
    Statement {
        sql: sql.to_owned(),
        parameters,
    }
}

/// Starts the job, waits until `is_enough` of all snapshots so far, stops; the sum of everything.
fn run_until(job: &Job, is_enough: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let mut driver = driver();
    driver.start(job).expect("a running load");
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut parts = Vec::new();
    loop {
        parts.push(driver.mark().expect("a mark"));
        let sum = load::merge(parts.clone()).expect("snapshots that merge");
        if is_enough(&sum) {
            break;
        }
        assert!(
            Instant::now() < deadline,
            "not enough within a minute: {sum:?}"
        );
        // A mark costs the driver some work: let it drive meanwhile.
        std::thread::sleep(Duration::from_millis(5));
    }
    parts.push(driver.stop().expect("a stop"));
    load::merge(parts).expect("snapshots that merge")
}

pub fn transactions(snapshot: &Snapshot) -> u64 {
    snapshot.commits + snapshot.unchanged
}

fn run_transactions(job: &Job, count: u64) -> Snapshot {
    run_until(job, |sum| transactions(sum) >= count)
}

/// All eight of sysbench's loads run without an error, in text and prepared.
pub fn sysbench_loads_run(server: &Server) {
    for prepared in [false, true] {
        for load in SYSBENCH {
            let workload = sysbench(load, prepared);
            server.prepared_for(&workload);
            let sum = run_transactions(&server.job(&workload, 1), 200);
            assert_eq!(sum.errors, ServerErrors::default(), "{load:?}");
            let reads = matches!(load, SysbenchLoad::PointSelect | SysbenchLoad::ReadOnly);
            assert_eq!(reads, sum.commits == 0, "{load:?}: {} commits", sum.commits);
            let latency = acklab::record::histogram::decode(&sum.latency_us).expect("a histogram");
            assert_eq!(latency.len(), transactions(&sum), "{load:?}");
        }
    }
}

/// What sysbench 1.0.20 makes the server count per transaction: select, insert, update, delete,
/// begin, commit.
fn sysbench_counts(load: SysbenchLoad) -> [u64; 6] {
    match load {
        SysbenchLoad::PointSelect => [1, 0, 0, 0, 0, 0],
        SysbenchLoad::ReadOnly => [14, 0, 0, 0, 1, 1],
        SysbenchLoad::ReadWrite => [14, 1, 2, 1, 1, 1],
        SysbenchLoad::WriteOnly => [0, 1, 2, 1, 1, 1],
        SysbenchLoad::UpdateIndex | SysbenchLoad::UpdateNonIndex => [0, 0, 1, 0, 0, 0],
        SysbenchLoad::Insert => [0, 1, 0, 0, 0, 0],
        SysbenchLoad::Delete => [0, 0, 0, 1, 0, 0],
    }
}

const COUNTERS: [&str; 6] = ["select", "insert", "update", "delete", "begin", "commit"];

fn counters(admin: &mut Conn) -> [u64; 6] {
    let rows: Vec<(String, u64)> = admin
        .query("SHOW GLOBAL STATUS LIKE 'Com\\_%'")
        .expect("status counters");
    let rows: BTreeMap<String, u64> = rows.into_iter().collect();
    COUNTERS.map(|name| rows[&format!("Com_{name}")])
}

/// The server counts exactly as many statements per transaction as with sysbench.
pub fn statements_are_sysbenchs(server: &Server) {
    for load in SYSBENCH {
        let workload = sysbench(load, true);
        let mut admin = server.prepared_for(&workload);
        let before = counters(&mut admin);
        // One session: no deadlock can end a transaction early.
        let sum = run_transactions(&server.job(&workload, 1), 100);
        let after = counters(&mut admin);
        let expected = sysbench_counts(load).map(|count| count * transactions(&sum));
        let got: Vec<u64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        assert_eq!(got, expected, "{load:?}: {COUNTERS:?}");
        let per_transaction: u64 = sysbench_counts(load).iter().sum();
        assert_eq!(
            sum.statements,
            per_transaction * transactions(&sum),
            "{load:?}"
        );
    }
}

/// So many iterations, each on a freshly loaded table.
fn iterate(job: &Job, iterations: u32) -> Result<Iterations> {
    let mut driver = driver();
    let one = |_| driver.reload(job).and_then(|()| driver.iterate());
    in_a_row((0..iterations).map(one).collect::<Result<Vec<_>>>()?)
}

/// All five of mysqlslap's loads run without an error, as many queries as the tool would run.
pub fn mysqlslap_loads_run(server: &Server) {
    for autoincrement in [false, true] {
        for load in MYSQLSLAP {
            let job = server.job(&mysqlslap(load, autoincrement), 3);
            let result = iterate(&job, 2);
            if load == MysqlslapLoad::Key && !autoincrement {
                let error = result.expect_err("the tool refuses this").to_string();
                assert!(error.contains("auto-increment"), "{error}");
                continue;
            }
            let result = result.expect("iterations");
            assert_eq!(result.iterations.len(), 2, "{load:?}");
            for one in &result.iterations {
                assert_eq!(one.queries, 99, "{load:?}");
                assert!(one.connect_seconds > 0.0 && one.connect_seconds < one.seconds);
            }
            assert_eq!(result.snapshot.errors, ServerErrors::default(), "{load:?}");
            assert_eq!(transactions(&result.snapshot), 2 * 99, "{load:?}");
            // The list of eleven begins and ends with a write: 18 of 33 queries.
            let commits = match load {
                MysqlslapLoad::Key | MysqlslapLoad::Read => 0,
                MysqlslapLoad::Write => 198,
                MysqlslapLoad::Mixed => 108,
                // An update to the values that a row has already changes nothing.
                MysqlslapLoad::Update => result.snapshot.commits,
            };
            assert_eq!(result.snapshot.commits, commits, "{load:?}");
        }
    }
}

/// A user's own transaction runs, in text and prepared; its parameters arrive.
pub fn custom_transactions_run(server: &Server) {
    let setup = ["CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR(300), n BIGINT)"];
    for prepared in [false, true] {
        let insert = vec![
            Parameter::Unique { start: 1 << 40 },
            Parameter::Text { length: 300 },
            Parameter::Integer { min: -5, max: -5 },
        ];
        let statements = vec![
            statement("INSERT INTO t VALUES (?, ?, ?)", insert),
            statement("SELECT '?', COUNT(*) FROM t", Vec::new()),
        ];
        let workload = custom(&setup, statements, prepared);
        let mut admin = server.prepared_for(&workload);
        let sum = run_transactions(&server.job(&workload, 4), 100);
        assert_eq!(sum.errors, ServerErrors::default());
        assert_eq!((sum.unchanged, sum.unique_next), (0, sum.commits));
        let sql = "SELECT COUNT(*), MIN(id), MIN(LENGTH(name)), MAX(n) FROM t";
        let row: Option<(u64, u64, u64, i64)> = admin.query_first(sql).expect("a count");
        assert_eq!(row, Some((sum.commits, 1 << 40, 300, -5)));
    }
}

/// A statement that fails is counted by its code, and a transaction around it undone.
pub fn errors_are_counted(server: &Server) {
    let setup = [
        "CREATE TABLE t (id BIGINT PRIMARY KEY)",
        "CREATE TABLE log (id BIGINT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
    ];
    let duplicate = statement(
        "INSERT INTO t VALUES (?)",
        vec![Parameter::Integer { min: 1, max: 1 }],
    );
    let before = statement(
        "INSERT INTO log VALUES (?)",
        vec![Parameter::Unique { start: 1 }],
    );
    for statements in [vec![duplicate.clone()], vec![before, duplicate]] {
        let workload = custom(&setup, statements, true);
        let mut admin = server.prepared_for(&workload);
        let failed = |sum: &Snapshot| sum.errors.of(1062);
        let sum = run_until(&server.job(&workload, 2), |sum| failed(sum) >= 50);
        let [error] = sum.errors.iter().collect::<Vec<_>>()[..] else {
            panic!("{:?}", sum.errors);
        };
        assert_eq!((error.number, &error.sqlstate[..]), (1062, "23000"));
        assert!(error.message.starts_with("Duplicate entry '1'"), "{error}");
        assert_eq!(transactions(&sum), 0);
        let left: Option<u64> = admin
            .query_first("SELECT COUNT(*) FROM log")
            .expect("a count");
        assert_eq!(left, Some(0), "a failed transaction was not rolled back");
    }
}

/// A killed connection is counted, and its session goes on.
pub fn killed_connections_come_back(server: &Server) {
    let workload = sysbench(SysbenchLoad::PointSelect, true);
    let mut admin = server.prepared_for(&workload);
    let job = server.job(&workload, 4);
    let mut driver = driver();
    driver.start(&job).expect("a running load");
    let sessions = format!(
        "SELECT id FROM information_schema.processlist \
         WHERE db = '{DATABASE}' AND id <> CONNECTION_ID()"
    );
    let ids: Vec<u64> = admin.query(&sessions).expect("the process list");
    assert_eq!(ids.len(), 4);
    for id in &ids {
        admin.query_drop(format!("KILL {id}")).expect("a kill");
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    let is_back = |admin: &mut Conn| {
        let now: Vec<u64> = admin.query(&sessions).expect("the process list");
        now.len() == 4 && now.iter().all(|id| !ids.contains(id))
    };
    while !is_back(&mut admin) {
        assert!(Instant::now() < deadline, "the sessions did not come back");
    }
    let first = driver.mark().expect("a mark");
    assert_eq!(
        (first.errors.of(0), first.errors.total()),
        (4, 4),
        "{:?}",
        first.errors
    );
    let more = |sum: &Snapshot| transactions(sum) > 100;
    let mut parts = vec![driver.mark().expect("a mark")];
    while !more(&load::merge(parts.clone()).expect("a merge")) {
        assert!(Instant::now() < deadline, "the load did not go on");
        std::thread::sleep(Duration::from_millis(5));
        parts.push(driver.mark().expect("a mark"));
    }
    let last = driver.stop().expect("a stop");
    assert_eq!(last.errors, ServerErrors::default());
}

/// Two thousand sessions connect and work. The server must allow them.
pub fn two_thousand_sessions_work(server: &Server) {
    let workload = sysbench(SysbenchLoad::PointSelect, true);
    server.prepared_for(&workload);
    let mut job = server.job(&workload, 2000);
    job.tls = false;
    let mut driver = driver();
    let connected_s = driver.start(&job).expect("2,000 sessions");
    let first = driver.mark().expect("a mark");
    assert_eq!(first.connected_s, connected_s);
    let mut parts = vec![first];
    let deadline = Instant::now() + Duration::from_secs(60);
    while load::merge(parts.clone())
        .map(|sum| transactions(&sum))
        .expect("a merge")
        < 10_000
    {
        assert!(Instant::now() < deadline, "too little within a minute");
        std::thread::sleep(Duration::from_millis(50));
        parts.push(driver.mark().expect("a mark"));
    }
    parts.push(driver.stop().expect("a stop"));
    let sum = load::merge(parts).expect("a merge");
    assert_eq!(
        (sum.errors.total(), sum.unanswered),
        (0, 0),
        "{:?}",
        sum.errors
    );
}

/// Passwords work with each plugin that the server has, plain and through TLS if it offers that.
pub fn accounts_log_in(server: &Server, plugins: &[&str], tls: bool) {
    let workload = sysbench(SysbenchLoad::PointSelect, true);
    let mut admin = server.prepared_for(&workload);
    for plugin in plugins {
        for password in ["", "it's a secret"] {
            let sql = [
                "DROP USER IF EXISTS acklab_check@'%'".to_owned(),
                create_user(plugin, password),
                format!("GRANT ALL ON {DATABASE}.* TO acklab_check@'%'"),
            ];
            for sql in sql {
                admin.query_drop(sql).expect("an account");
            }
            // The first login is a full one, the second a fast one where a plugin tells them
            // apart.
            for tls in [false, false, tls] {
                let mut job = server.job(&workload, 3);
                job.user = "acklab_check".to_owned();
                job.password = password.into();
                job.tls = tls;
                let sum = run_transactions(&job, 10);
                assert_eq!(sum.errors, ServerErrors::default(), "{plugin}, TLS {tls}");
            }
            let mut job = server.job(&workload, 3);
            job.user = "acklab_check".to_owned();
            job.password = "wrong".into();
            let error = driver()
                .start(&job)
                .expect_err("a wrong password")
                .to_string();
            assert!(error.contains("1045"), "{error}");
        }
    }
    admin
        .query_drop("DROP USER acklab_check@'%'")
        .expect("a drop");
}

fn create_user(plugin: &str, password: &str) -> String {
    let password = password.replace('\'', "''");
    if plugin == "mysql_native_password" {
        // MariaDB's spelling; MySQL 9 has this plugin no more.
        return format!(
            "CREATE USER acklab_check@'%' IDENTIFIED VIA {plugin} USING PASSWORD('{password}')"
        );
    }
    format!("CREATE USER acklab_check@'%' IDENTIFIED WITH {plugin} BY '{password}'")
}

/// What cannot start says why.
pub fn refusals_name_their_reason(server: &Server) {
    let workload = sysbench(SysbenchLoad::PointSelect, true);
    server.prepared_for(&workload);
    let mut job = server.job(&workload, 2);
    job.databases = vec!["acklab_no_such_database".to_owned()];
    let error = driver().start(&job).expect_err("no database").to_string();
    assert!(error.contains("1049"), "{error}");

    let mut driver = driver();
    let mut job = server.job(&workload, 2);
    job.targets = vec![SocketAddr::from(([127, 0, 0, 1], 1))];
    let error = driver.start(&job).expect_err("no server").to_string();
    assert!(
        error.contains("127.0.0.1:1") && error.contains("refused"),
        "{error}"
    );
    assert!(driver.mark().is_err());
    // The driver lives on.
    driver
        .start(&server.job(&workload, 2))
        .expect("a running load");
    let error = driver
        .start(&server.job(&workload, 2))
        .expect_err("a second load");
    assert!(error.to_string().contains("running already"), "{error}");
    driver.stop().expect("a stop");
}
