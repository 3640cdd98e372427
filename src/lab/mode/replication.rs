//! A source and its replicas: `single`, `async`, `semisync`.
//!
//! The three share running servers: `single` is the source with its replicas' threads stopped, so
//! that a mode and its baseline are measured on the very same server and files.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::super::lab::{Lab, READY_LIMIT};
use super::super::options::Settings;
use super::super::servers::Dialect;
use super::gtids::Gtids;
use super::{binary_logs, replica, semisync};
use crate::error::Result;
use crate::lab::node::{Node, pause};
use crate::lab::redo;
use crate::study::{Mode, ModeSpec};

/// Time between two looks at what a replica has applied.
const ASK_AGAIN_EVERY: Duration = Duration::from_millis(2);

/// Binary log, GTIDs, appliers; semi-sync's plugins are loaded but off.
pub fn settings(lab: &Lab, _i: usize) -> Settings {
    let dialect = lab.program.dialect();
    let mut settings = base_settings(lab);
    settings.set(dialect.word("replica_skip_start"), "ON");
    for role in ["semisync_load_source", "semisync_load_replica"] {
        if let Some(library) = dialect.optional(role).filter(|_| lab.spec.binary_log) {
            settings.load_plugin(library);
        }
    }
    settings
}

/// What replication and group share: the binary log and how replicas apply it.
pub(super) fn base_settings(lab: &Lab) -> Settings {
    let dialect = lab.program.dialect();
    let mut settings = Settings::default();
    if !lab.spec.binary_log {
        settings.set("skip_log_bin", "ON");
        return settings;
    }
    settings.set("log_bin", "binlog");
    settings.set("relay_log", "relay");
    settings.set(dialect.word("replica_updates"), "ON");
    if let Some(appliers) = dialect.optional("appliers") {
        settings.set(appliers, lab.spec.appliers.to_string());
    }
    for word in ["gtid_settings", "commit_order"] {
        for (name, value) in dialect.settings(word) {
            settings.set(&name, value);
        }
    }
    settings
}

/// Starts all servers at once and tells each replica where its source is.
pub fn form(lab: &mut Lab) -> Result<()> {
    for i in 0..lab.nodes.len() {
        lab.start(i, &[])?;
    }
    let connect = replica::connect(lab, 0);
    for (i, node) in lab.nodes.iter_mut().enumerate() {
        node.wait_accepting()?;
        redo::use_once(node)?;
        if i > 0 {
            node.run(&connect)?;
        }
    }
    Ok(())
}

/// Stops replication, sets what the mode wants, starts it again and waits until it runs.
pub fn enter(lab: &mut Lab, spec: &ModeSpec) -> Result<()> {
    let dialect = lab.program.dialect().clone();
    stop_replicas(lab)?;
    if lab.spec.binary_log {
        set_semisync(lab, &spec.mode)?;
        // A replica that comes back by GTID makes its source read the newest binary log from the
        // start, up to where the replica stands: seconds of CPU that would fall into a cell.
        binary_logs::begin(lab)?;
    }
    if spec.mode == Mode::Single {
        return Ok(());
    }
    let last = spec.nodes as usize;
    for node in &mut lab.nodes[1..last] {
        node.run(dialect.word("start_replica"))?;
    }
    for node in &mut lab.nodes[1..last] {
        node.wait_until("both replication threads run", READY_LIMIT, |node| {
            both_threads_run(node, threads(&dialect))
        })?;
    }
    if let Mode::Semisync { .. } = spec.mode {
        wait_semisync_on(lab, last - 1)?;
    }
    Ok(())
}

/// Stops replication on all replicas.
pub(super) fn stop_replicas(lab: &mut Lab) -> Result<()> {
    let stop = lab.program.dialect().word("stop_replica").to_owned();
    lab.nodes[1..]
        .iter_mut()
        .try_for_each(|node| node.run(&stop))
}

/// Has these replicas apply nothing from now on; they go on receiving.
pub fn hold_appliers(lab: &mut Lab, replicas: Range<usize>) -> Result<()> {
    let dialect = lab.program.dialect().clone();
    for node in &mut lab.nodes[replicas] {
        node.run(dialect.word("stop_appliers"))?;
        node.wait_until("only its appliers rest", READY_LIMIT, |node| {
            let (show, io, sql) = threads(&dialect);
            let row = node.rows(show)?.into_iter().next().unwrap_or_default();
            let says = |name: &str, word: &str| row.get(name).is_some_and(|said| said == word);
            Ok(says(io, "Yes") && says(sql, "No"))
        })?;
    }
    Ok(())
}

/// Has these replicas apply again; those that do go on.
pub fn start_appliers(lab: &mut Lab, replicas: Range<usize>) -> Result<()> {
    let start = lab.program.dialect().word("start_appliers").to_owned();
    lab.nodes[replicas]
        .iter_mut()
        .try_for_each(|node| node.run(&start))
}

/// What node `i` has committed or applied.
pub fn executed(lab: &mut Lab, i: usize) -> Result<Gtids> {
    let gtids = lab.program.dialect().word("executed_gtids").to_owned();
    let said = lab.nodes[i].value(&gtids)?;
    Ok(Gtids::read(&said.unwrap_or_default()))
}

/// Waits until replica `i` has received all of these.
///
/// # Errors
/// A breakdown if it does not in time.
pub fn wait_received(lab: &mut Lab, i: usize, gtids: &Gtids) -> Result<()> {
    let dialect = lab.program.dialect().clone();
    let applied = executed(lab, i)?;
    lab.nodes[i].wait_until("it has received what was committed", READY_LIMIT, |node| {
        let received = Gtids::read(&received(node, &dialect)?);
        Ok(gtids.end_in(&received, &applied))
    })
}

/// What a replica has received, by the relay logs that it still has.
fn received(node: &mut Node, dialect: &Dialect) -> Result<String> {
    let rows = node.rows(dialect.word("show_replica"))?;
    let column = dialect.word("column_received");
    let row = rows.first().and_then(|row| row.get(column).cloned());
    Ok(row.unwrap_or_default())
}

/// How to ask for a replica's threads: the statement, and the columns of both.
fn threads(dialect: &Dialect) -> (&str, &str, &str) {
    (
        dialect.word("show_replica"),
        dialect.word("column_io"),
        dialect.word("column_sql"),
    )
}

fn both_threads_run(node: &mut Node, (show, io, sql): (&str, &str, &str)) -> Result<bool> {
    let rows = node.rows(show)?;
    let Some(row) = rows.first() else {
        return Ok(false);
    };
    let field = |name: &str| row.get(name).cloned().unwrap_or_default();
    let error = field("Last_SQL_Error");
    if !error.is_empty() {
        return Err(node.breakdown("apply the source's changes", &error));
    }
    Ok(field(io) == "Yes" && field(sql) == "Yes")
}

/// Turns semi-sync on or off at both ends while replication is stopped.
fn set_semisync(lab: &mut Lab, mode: &Mode) -> Result<()> {
    let dialect = lab.program.dialect().clone();
    semisync::set_source(&mut lab.nodes[0], &dialect, mode)?;
    let mut replicas = lab.nodes[1..].iter_mut();
    replicas.try_for_each(|node| semisync::set_replica(node, &dialect, mode))
}

/// Semi-sync is in force when the source says so and counts all its replicas.
fn wait_semisync_on(lab: &mut Lab, replicas: usize) -> Result<()> {
    let prefix = lab.program.dialect().word("semisync_status").to_owned();
    let show = format!("SHOW GLOBAL STATUS LIKE '{prefix}%'");
    lab.nodes[0].wait_until("semi-sync is on for all replicas", READY_LIMIT, |node| {
        let status = node.pairs(&show)?;
        let field = |name: &str| status.get(&format!("{prefix}_{name}")).cloned();
        let clients = field("clients").and_then(|text| text.parse::<usize>().ok());
        Ok(field("status").as_deref() == Some("ON") && clients >= Some(replicas))
    })
}

/// Whether a source, or a volume's head, goes on without the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Company {
    pub is_alone: bool,
    /// How often it has, or how many commits it has acknowledged then: greater if it has again.
    pub times: u64,
}

/// What a semi-synchronous source says of itself. It is alone as soon as its status is off.
pub fn company(lab: &mut Lab, writer: usize) -> Result<Company> {
    let prefix = lab.program.dialect().word("semisync_status").to_owned();
    let status = lab.nodes[writer].pairs(&format!("SHOW GLOBAL STATUS LIKE '{prefix}%'"))?;
    let field = |name: &str| status.get(&format!("{prefix}_{name}"));
    let count = |name| field(name).and_then(|text| text.parse::<u64>().ok());
    Ok(Company {
        is_alone: field("status").is_none_or(|status| status != "ON"),
        times: count("no_tx").unwrap_or(0) + count("no_times").unwrap_or(0),
    })
}

/// Waits on replica `i` for all GTIDs of the writer.
///
/// # Errors
/// A breakdown with the replica's own words if it has stopped applying.
pub fn catch_up(lab: &mut Lab, i: usize, limit: Duration) -> Result<bool> {
    let is_level = follow(lab, i, 0, limit)?;
    if !is_level {
        let dialect = lab.program.dialect().clone();
        both_threads_run(&mut lab.nodes[i], threads(&dialect))?;
    }
    Ok(is_level)
}

/// Waits on node `i` for all GTIDs of another.
pub fn follow(lab: &mut Lab, i: usize, other: usize, limit: Duration) -> Result<bool> {
    let dialect = lab.program.dialect().clone();
    let gtids = lab.nodes[other]
        .value(dialect.word("executed_gtids"))?
        .unwrap_or_default();
    wait_applied(lab, i, &gtids, limit)
}

/// Waits on node `i` for all of these, as a server says them.
pub fn wait_applied(lab: &mut Lab, i: usize, gtids: &str, limit: Duration) -> Result<bool> {
    let dialect = lab.program.dialect().clone();
    let gtids = gtids.replace('\n', "");
    let seconds = limit.as_secs().max(1).to_string();
    let sql = dialect.fill("wait_gtids", &[("gtids", &gtids), ("seconds", &seconds)]);
    let deadline = Instant::now() + limit;
    loop {
        let answer = lab.nodes[i].value(&sql)?.unwrap_or_default();
        let is_good = answer == dialect.word("wait_gtids_good");
        if is_good || Instant::now() >= deadline {
            return Ok(is_good);
        }
        // Only a server that does not wait itself is asked again.
        pause(ASK_AGAIN_EVERY)?;
    }
}
