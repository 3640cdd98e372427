//! One record of several that have parts of one study, and what each of them holds.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::fcntl::Flock;
use rusqlite::{Connection, MAIN_DB, params};

use super::file::{
    SCHEMA_VERSION, check_is_record, check_is_sqlite, damaged, journal_of, keep_writers_off,
    open_sqlite, shown, still_written, sweep_journal, unreadable,
};
use super::{SCHEMA, appear, check_place, mark, read, unix_ms};
use crate::error::{Mistake, Result, Tried};
use crate::record::Header;

/// A record as far as it must be known to merge it: its measurements and trials are counted, and
/// not read.
#[derive(Debug)]
pub struct Holdings {
    pub header: Header,
    /// Whether the run went through to its end.
    pub finished: bool,
    /// Of each round the cells that were measured in it, by their index.
    pub cells: BTreeMap<u32, Vec<usize>>,
    /// Of each mode, by its index, and each fault the numbers of its trials.
    pub trials: BTreeMap<(usize, String), Vec<u32>>,
    /// What was counted is what is merged: nobody adds to it meanwhile.
    _kept: Flock<File>,
}

impl Holdings {
    /// Of the record at `path`. What a kill cut off in it is rolled back, as by every reader.
    ///
    /// # Errors
    /// A mistake if it is no sound record of this version of the schema, or is written to.
    pub fn at(path: &Path) -> Result<Holdings> {
        check_is_sqlite(path)?;
        let kept = keep_writers_off(path).tried(|| format!("read {}", shown(path)))?;
        let kept = kept.ok_or_else(|| still_written(path))?;
        let failed = |error: rusqlite::Error| unreadable(path, &error);
        let connection = open_sqlite(path).map_err(failed)?;
        check_is_record(path, &connection)?;
        if journal_of(path).exists() {
            sweep_journal(&connection);
        }
        let version = connection.pragma_query_value(None, "user_version", |row| row.get(0));
        let version: i64 = version.map_err(failed)?;
        if version != SCHEMA_VERSION {
            let given = format!("a record of schema version {version}");
            let allowed = format!("this acklab merges those of version {SCHEMA_VERSION}");
            return Err(Mistake::new(&shown(path), "", &given, &allowed).into());
        }
        let unsound = read::unsoundness(&connection).map_err(failed)?;
        unsound.map_or(Ok(()), |why| Err(damaged(path, &why)))?;
        let (header, finished) = read::header(&connection).map_err(failed)?;
        let header = serde_json::from_str(&header);
        Ok(Holdings {
            header: header.map_err(|error| damaged(path, &error.to_string()))?,
            finished,
            cells: cells(&connection).map_err(failed)?,
            trials: trials(&connection).map_err(failed)?,
            _kept: kept,
        })
    }
}

fn cells(connection: &Connection) -> rusqlite::Result<BTreeMap<u32, Vec<usize>>> {
    let mut all: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut statement = connection.prepare("SELECT DISTINCT round, cell FROM measurement")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cell: i64 = row.get(1)?;
        all.entry(row.get(0)?).or_default().push(cell as usize);
    }
    Ok(all)
}

fn trials(connection: &Connection) -> rusqlite::Result<BTreeMap<(usize, String), Vec<u32>>> {
    let mut all: BTreeMap<(usize, String), Vec<u32>> = BTreeMap::new();
    let mut statement = connection.prepare("SELECT mode, fault, number FROM fault_trial")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mode: i64 = row.get(0)?;
        let fault = (mode as usize, row.get(1)?);
        all.entry(fault).or_default().push(row.get(2)?);
    }
    Ok(all)
}

/// Makes a record at `to` under this head, with all that those at `parts` hold. It is made in
/// memory, and then appears whole: a merge that is killed leaves nothing. `finished`: nothing is
/// missing.
///
/// # Errors
/// A mistake if `to` exists or cannot be written; a breakdown if the disk refuses, or if two parts
/// have the same measurement or trial.
pub fn merge(parts: &[&Path], header: &Header, finished: bool, to: &Path) -> Result<()> {
    check_place(to)?;
    let what = || format!("merge records into {}", to.display());
    let mut whole = filled(parts, header, finished).tried(what)?;
    let bytes = whole.serialize(MAIN_DB).tried(what)?;
    appear::whole(to, &bytes).tried(what)
}

fn filled(parts: &[&Path], header: &Header, finished: bool) -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(SCHEMA)?;
    mark(&connection)?;
    let text = serde_json::to_string(header);
    let text = text.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let ended = finished.then(unix_ms);
    let sql = "INSERT INTO run (one, finished_unix_ms, header) VALUES (1, ?1, ?2)";
    connection.execute(sql, params![ended, text])?;
    connection.execute_batch(
        "CREATE TEMP TABLE trial
         (mode INTEGER, fault TEXT, number INTEGER, body TEXT, packed BLOB)",
    )?;
    for part in parts {
        // As bytes: a name that is no text would be another file's.
        connection.execute(
            "ATTACH CAST(?1 AS TEXT) AS part",
            [part.as_os_str().as_bytes()],
        )?;
        add(&connection)?;
        connection.execute("DETACH part", [])?;
    }
    connection.execute(IN_ORDER, [])?;
    Ok(connection)
}

/// Trials stand as one run would have made them: mode by mode, in each fault by fault, in each by
/// their numbers. The first part that has any of a mode has a trial of each fault, in their order.
const IN_ORDER: &str = "
INSERT INTO main.fault_trial (mode, number, body, packed)
SELECT mode, number, body, packed FROM trial
ORDER BY mode,
  (SELECT min(first.rowid) FROM trial first
   WHERE first.mode = trial.mode AND first.fault = trial.fault),
  number";

/// Adds what the attached part holds, in the order in which it was kept.
fn add(connection: &Connection) -> rusqlite::Result<()> {
    let columns = "round, cell, turn, latency_us_p50, latency_us_p95, latency_us_p99,
                   latency_us_max, body";
    let sql = format!(
        "INSERT INTO main.measurement ({columns})
         SELECT {columns} FROM part.measurement ORDER BY rowid"
    );
    connection.execute(&sql, [])?;
    let sql = "INSERT INTO temp.trial (mode, fault, number, body, packed)
               SELECT mode, fault, number, body, packed FROM part.fault_trial ORDER BY rowid";
    connection.execute(sql, [])?;
    if connection.table_exists(Some("part"), "server_log")? {
        connection.execute(super::logs::TABLE, [])?;
        let sql = "INSERT INTO main.server_log (lab, node, log)
                   SELECT lab, node, log FROM part.server_log ORDER BY rowid";
        connection.execute(sql, [])?;
    }
    Ok(())
}
