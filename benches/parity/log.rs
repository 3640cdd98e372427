//! What reached the server: its counters of statements and its general query log.

use std::collections::BTreeMap;

use acklab::error::{Result, Tried};
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::place::Place;

/// Counters of statements by name, without `Com_`.
pub type Counts = BTreeMap<String, i64>;

/// What a run makes the server count.
pub fn counted<T>(place: &Place, run: impl FnOnce() -> Result<T>) -> Result<(T, Counts)> {
    let mut admin = place.admin()?;
    let before = counts(&mut admin)?;
    let outcome = run()?;
    let mut after = counts(&mut admin)?;
    for (name, count) in &mut after {
        *count -= before.get(name).copied().unwrap_or(0);
    }
    after.retain(|_, count| *count != 0);
    // This look's own.
    after.remove("show_status");
    Ok((outcome, after))
}

fn counts(admin: &mut Conn) -> Result<Counts> {
    let rows: Vec<(String, i64)> = admin
        .query("SHOW GLOBAL STATUS LIKE 'Com\\_%'")
        .tried(|| "read the server's counters".to_owned())?;
    let named = rows.into_iter().filter_map(|(name, count)| {
        let name = name.strip_prefix("Com_")?;
        Some((name.to_owned(), count))
    });
    Ok(named.collect())
}

/// A line of the general query log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub thread: u64,
    /// `Query`, `Execute`, `Connect`, `Init DB`…
    pub command: String,
    pub argument: Vec<u8>,
}

/// All that reaches the server during a run, but for the bench's own connections.
pub fn logged<T>(place: &Place, run: impl FnOnce() -> Result<T>) -> Result<(T, Vec<Line>)> {
    let mut admin = place.admin()?;
    let mut tell = |sql: &str| -> Result<()> { admin.query_drop(sql).tried(|| sql.to_owned()) };
    tell("SET GLOBAL general_log = OFF")?;
    tell("SET GLOBAL log_output = 'TABLE'")?;
    tell("TRUNCATE mysql.general_log")?;
    tell("SET GLOBAL general_log = ON")?;
    let outcome = run();
    tell("SET GLOBAL general_log = OFF")?;
    Ok((outcome?, lines(&mut admin)?))
}

fn lines(admin: &mut Conn) -> Result<Vec<Line>> {
    let own = u64::from(admin.connection_id());
    let sql = "SELECT thread_id, command_type, argument FROM mysql.general_log";
    let rows: Vec<(u64, String, Vec<u8>)> = admin
        .query(sql)
        .tried(|| "read the general query log".to_owned())?;
    let lines = rows.into_iter().map(|(thread, command, argument)| Line {
        thread,
        command,
        argument,
    });
    Ok(lines.filter(|line| line.thread != own).collect())
}
