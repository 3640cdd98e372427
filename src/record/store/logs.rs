//! What servers wrote into their error logs, beside what was measured.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{Store, check_is_record, check_is_sqlite, open_sqlite, unreadable};
use crate::error::{Result, Tried};
use crate::record::ServerLog;

/// Not in older records, nor in one whose servers told nothing.
pub const TABLE: &str = "CREATE TABLE IF NOT EXISTS server_log (
  lab TEXT NOT NULL,
  node TEXT NOT NULL,
  log TEXT NOT NULL
)";

impl Store {
    /// Keeps the ends of servers' logs, after those that are there.
    ///
    /// # Errors
    /// A breakdown if the disk refuses.
    pub fn keep_logs(&mut self, logs: &[ServerLog]) -> Result<()> {
        if logs.is_empty() {
            return Ok(());
        }
        self.write("keep servers' logs", |transaction| {
            transaction.execute(TABLE, [])?;
            let sql = "INSERT INTO server_log (lab, node, log) VALUES (?1, ?2, ?3)";
            let one =
                |log: &ServerLog| transaction.execute(sql, params![log.lab, log.node, log.log]);
            logs.iter().map(one).sum()
        })
    }
}

/// The ends of servers' logs that a record holds, in the order in which their labs ended.
///
/// # Errors
/// A mistake if the file is no record.
pub fn server_logs(path: &Path) -> Result<Vec<ServerLog>> {
    check_is_sqlite(path)?;
    let connection = open_sqlite(path).map_err(|error| unreadable(path, &error))?;
    check_is_record(path, &connection)?;
    read(&connection).tried(|| format!("read servers' logs in {}", path.display()))
}

fn read(connection: &Connection) -> rusqlite::Result<Vec<ServerLog>> {
    if !connection.table_exists(None, "server_log")? {
        return Ok(vec![]);
    }
    let sql = "SELECT lab, node, log FROM server_log ORDER BY rowid";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok(ServerLog {
            lab: row.get(0)?,
            node: row.get(1)?,
            log: row.get(2)?,
        })
    })?;
    rows.collect()
}
