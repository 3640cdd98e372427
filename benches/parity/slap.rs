//! mysqlslap's manner beside the tool itself, MySQL's on MySQL and MariaDB's on MariaDB.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use acklab::error::{Result, breakdown};
use acklab::study::{MysqlslapLoad, Workload};

use crate::judge::{mysqlslap_seconds, shape};
use crate::log::{Line, logged};
use crate::pairs::{Effort, Table};
use crate::place::{Place, USER};
use crate::tools::{driver, job, output};

/// Columns of each kind, as in the articles' own calls there are several.
const INT_COLS: u32 = 2;
const CHAR_COLS: u32 = 3;
const WRITE_NUMBER: u32 = 100;
/// Odd in both, so that a remainder is left.
const LOGGED_QUERIES: u32 = 100;
const LOGGED_CONNECTIONS: u32 = 3;

/// Of each run: about a second's, for the tool tells milliseconds.
fn timed_queries(load: MysqlslapLoad) -> u32 {
    match load {
        MysqlslapLoad::Read => 4_000,
        _ => 10_000,
    }
}

/// The tool of a server's own package.
pub struct Tool {
    program: PathBuf,
    without_tls: &'static str,
}

impl Tool {
    /// The tool of the catalogue's server of that name.
    pub fn of(place: &Place, server: &str) -> Result<Tool> {
        let folder = place.servers.join(server).join("root/usr/bin");
        let known = [
            ("mariadb-slap", "--skip-ssl"),
            ("mysqlslap", "--ssl-mode=DISABLED"),
        ];
        let tools = known.map(|(name, without_tls)| Tool {
            program: folder.join(name),
            without_tls,
        });
        let found = tools.into_iter().find(|tool| tool.program.exists());
        let tried = || format!("find the mysqlslap of {server}");
        let status = "its package has none: take `mysql` or `mariadb`";
        found.ok_or_else(|| breakdown(tried(), status))
    }

    /// Runs one iteration; the seconds that the tool tells.
    fn run(&self, place: &Place, load: MysqlslapLoad, queries: u32, users: u32) -> Result<f64> {
        let mut command = Command::new(&self.program);
        command
            .args(["--no-defaults", "--protocol=tcp", self.without_tls])
            .arg(format!("--host={}", place.address.ip()))
            .arg(format!("--port={}", place.address.port()))
            .arg(format!("--user={USER}"))
            .args([
                "--auto-generate-sql",
                "--auto-generate-sql-add-autoincrement",
            ])
            .arg(format!("--auto-generate-sql-load-type={}", load.name()))
            .arg(format!("--auto-generate-sql-write-number={WRITE_NUMBER}"))
            .arg(format!("--number-int-cols={INT_COLS}"))
            .arg(format!("--number-char-cols={CHAR_COLS}"))
            .arg(format!("--number-of-queries={queries}"))
            .arg(format!("--concurrency={users}"))
            .args(["--iterations=1", "--csv"]);
        let text = output(&mut command)?;
        let missing = || breakdown("read mysqlslap's report", text.clone());
        mysqlslap_seconds(&text).ok_or_else(missing)
    }
}

fn acklab(place: &Place, load: MysqlslapLoad, queries: u32, users: u32) -> Result<f64> {
    let workload = Workload::Mysqlslap {
        load,
        int_cols: INT_COLS,
        char_cols: CHAR_COLS,
        autoincrement: true,
        write_number: WRITE_NUMBER,
        number_of_queries: queries,
        iterations: 1,
        catch_up: false,
    };
    let job = job(place, &workload, users);
    let mut driver = driver()?;
    driver.reload(&job)?;
    let done = driver.iterate()?;
    let errors = &done.snapshot.errors;
    if !errors.is_empty() {
        let status = format!("errors by code: {errors:?}");
        return Err(breakdown(
            format!("run mysqlslap's {}", load.name()),
            status,
        ));
    }
    Ok(done.iterations.iter().map(|one| one.seconds).sum())
}

/// Seconds of all five loads, each against the tool.
pub fn same_seconds(place: &Place, tool: &Tool, users: &[u32], effort: Effort) -> Result<bool> {
    let title = format!("Seconds of mysqlslap's loads on {}", place.version);
    let mut table = Table::begin(&title, "s", "mysqlslap");
    for &users in users {
        for load in MysqlslapLoad::ALL {
            let queries = timed_queries(load);
            let name = format!("{}, {queries} queries, {users} connections", load.name());
            let ours = || acklab(place, load, queries, users);
            let theirs = || tool.run(place, load, queries, users);
            table.row(place, &name, effort, ours, theirs)?;
        }
    }
    Ok(table.is_met())
}

/// The queries of all five loads, in their order on each connection, literals aside.
pub fn same_queries(place: &Place, tool: &Tool) -> Result<bool> {
    println!(
        "\nQueries of mysqlslap's loads in the general query log of {}, {LOGGED_QUERIES} over \
         {LOGGED_CONNECTIONS} connections, literals aside\n",
        place.version
    );
    println!("| load | before the clock | in it | |\n|---|---|---|---|");
    let mut is_same = true;
    for load in MysqlslapLoad::ALL {
        let (queries, users) = (LOGGED_QUERIES, LOGGED_CONNECTIONS);
        let (_, ours) = logged(place, || acklab(place, load, queries, users))?;
        let (_, theirs) = logged(place, || tool.run(place, load, queries, users))?;
        let (ours, theirs) = (Sent::of(&ours), Sent::of(&theirs));
        let is_alike = ours == theirs;
        println!(
            "| {} | {} | {} on {} connections | {} |",
            load.name(),
            theirs.before.len(),
            theirs.timed.iter().map(Vec::len).sum::<usize>(),
            theirs.timed.len(),
            if is_alike { "same" } else { "**different**" }
        );
        if !is_alike {
            ours.tell_difference(&theirs);
        }
        is_same &= is_alike;
    }
    Ok(is_same)
}

/// What a run sent, literals aside.
#[derive(Debug, PartialEq)]
struct Sent {
    /// From the schema's making until the clock starts, on one connection.
    before: Vec<String>,
    /// On each of the clocked connections.
    timed: Vec<Vec<String>>,
}

impl Sent {
    fn of(lines: &[Line]) -> Sent {
        let mut threads: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for line in lines {
            let statement = match line.command.as_str() {
                "Query" => shape(&line.argument).0,
                // The tool chooses its schema by a command of the protocol that does what USE does.
                "Init DB" => format!("USE `{}`", String::from_utf8_lossy(&line.argument)),
                _ => continue,
            };
            threads.entry(line.thread).or_default().push(statement);
        }
        let is_loading = |sent: &Vec<String>| sent.iter().any(|sql| sql.starts_with("CREATE"));
        let (mut loading, mut timed): (Vec<_>, Vec<_>) =
            threads.into_values().partition(is_loading);
        timed.sort();
        let mut before = loading.pop().unwrap_or_default();
        // mariadb-slap's last word, after the clock: acklab keeps the table for its own checks.
        before.pop_if(|sql| sql.starts_with("DROP SCHEMA"));
        Sent { before, timed }
    }

    fn tell_difference(&self, theirs: &Sent) {
        let count = self.before.len().max(theirs.before.len());
        let pairs = (0..count).map(|place| (self.before.get(place), theirs.before.get(place)));
        if let Some((place, (ours, theirs))) =
            pairs.enumerate().find(|(_, (ours, theirs))| ours != theirs)
        {
            println!("before, {place}: {ours:?} against {theirs:?}");
        }
        let lengths = |sent: &Sent| -> Vec<usize> { sent.timed.iter().map(Vec::len).collect() };
        println!("timed: {:?} against {:?}", lengths(self), lengths(theirs));
        for (ours, theirs) in self.timed.iter().zip(&theirs.timed) {
            let differs = ours
                .iter()
                .zip(theirs)
                .find(|(ours, theirs)| ours != theirs);
            if let Some((ours, theirs)) = differs {
                println!("timed: {ours} against {theirs}");
            }
        }
    }
}
