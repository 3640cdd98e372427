//! A copy of a record with other texts in it.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{check_is_record, check_is_sqlite, open_sqlite, unreadable};
use crate::error::{Result, Tried};

/// What SQLite calls a column that is computed from others: `hidden` in `PRAGMA table_xinfo`.
const GENERATED: [i64; 2] = [2, 3];

/// What becomes of a text in a table of that name; `None`: it stays as it is.
pub type Change<'c> = &'c dyn Fn(&str, &str) -> Option<String>;

/// Makes a copy of a record at `to`, with every text in any of its tables as `change` has it.
/// Nothing of the old texts stays in the file.
///
/// # Errors
/// A mistake if `path` is no record; a breakdown if `to` exists or cannot be written.
pub fn copy(path: &Path, to: &Path, change: Change) -> Result<()> {
    check_is_sqlite(path)?;
    let source = open_sqlite(path).map_err(|error| unreadable(path, &error))?;
    check_is_record(path, &source)?;
    let what = || format!("copy {} to {}", path.display(), to.display());
    // All at one moment, though a run may be adding to it.
    let sql = "VACUUM INTO ?1";
    source.execute(sql, [to.to_string_lossy()]).tried(what)?;
    let mut copy = Connection::open(to).tried(what)?;
    rewrite(&mut copy, change).tried(what)?;
    // What was overwritten would stay in pages that are free.
    copy.execute_batch("VACUUM").tried(what)?;
    copy.close().map_err(|(_, error)| error).tried(what)
}

fn rewrite(copy: &mut Connection, change: Change) -> rusqlite::Result<()> {
    let columns = columns(copy)?;
    let transaction = copy.transaction()?;
    for (table, column) in columns {
        let sql = format!(
            "SELECT rowid, \"{column}\" FROM \"{table}\" WHERE typeof(\"{column}\") = 'text'"
        );
        let mut changed: Vec<(i64, String)> = Vec::new();
        let mut statement = transaction.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let text: String = row.get(1)?;
            if let Some(other) = change(&table, &text) {
                changed.push((row.get(0)?, other));
            }
        }
        let sql = format!("UPDATE \"{table}\" SET \"{column}\" = ?2 WHERE rowid = ?1");
        for (row, text) in changed {
            transaction.execute(&sql, params![row, text])?;
        }
    }
    transaction.commit()
}

/// Table and name of every column that is not computed, tables in the order of their making.
fn columns(copy: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = "SELECT t.name, c.name, c.hidden
               FROM sqlite_schema t, pragma_table_xinfo(t.name) c
               WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
               ORDER BY t.rowid, c.cid";
    let mut statement = copy.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        let column: (String, String) = (row.get(0)?, row.get(1)?);
        Ok((column, row.get::<_, i64>(2)?))
    })?;
    let rows: Vec<((String, String), i64)> = rows.collect::<rusqlite::Result<_>>()?;
    let own = rows.into_iter();
    let own = own.filter(|(_, hidden)| !GENERATED.contains(hidden));
    Ok(own.map(|(column, _)| column).collect())
}
