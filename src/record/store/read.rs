//! What a record's tables hold, read row by row. Not all tables are in older records.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};

use crate::record::packed::PackedCampaign;

/// The header, and whether the run went through to its end.
pub fn header(connection: &Connection) -> rusqlite::Result<(String, bool)> {
    let sql = "SELECT header, finished_unix_ms IS NOT NULL FROM run";
    connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

pub fn bodies(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT body FROM measurement ORDER BY round, cell, rowid";
    let mut statement = connection.prepare(sql)?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Measurements that came after a row, in the order in which they were kept, with their rows.
pub fn bodies_after(connection: &Connection, row: i64) -> rusqlite::Result<Vec<(i64, String)>> {
    let sql = "SELECT rowid, body FROM measurement WHERE rowid > ?1 ORDER BY rowid";
    let mut statement = connection.prepare(sql)?;
    let pair = |row: &Row| Ok((row.get(0)?, row.get(1)?));
    statement.query_map([row], pair)?.collect()
}

/// How many measurements there are, and how many trials.
pub fn counts(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        connection.query_row(&sql, [], |row| row.get(0))
    };
    let trials = match connection.table_exists(None, "fault_trial")? {
        true => count("fault_trial")?,
        false => 0,
    };
    Ok((count("measurement")?, trials))
}

/// What SQLite finds wrong with the file, if anything.
pub fn unsoundness(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let told: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((told != "ok").then_some(told))
}

/// How many trials an older record has in a table that is not read any more.
pub fn older_trials(connection: &Connection) -> rusqlite::Result<i64> {
    let mut count = 0;
    for table in ["series", "trial"] {
        if connection.table_exists(None, table)? {
            let sql = format!("SELECT count(*) FROM {table}");
            count += connection.query_row(&sql, [], |row| row.get::<_, i64>(0))?;
        }
    }
    Ok(count)
}

/// A trial, as it is kept.
pub struct KeptTrial {
    pub row: i64,
    pub mode: usize,
    /// From 1 on, of its fault.
    pub number: u32,
    body: String,
    packed: Vec<u8>,
}

impl KeptTrial {
    /// A campaign of it alone.
    pub fn campaign(self) -> serde_json::Result<PackedCampaign> {
        Ok(PackedCampaign {
            light: serde_json::from_str(&self.body)?,
            packed: vec![self.packed],
        })
    }
}

/// All of them, mode by mode.
pub fn campaigns(connection: &Connection) -> rusqlite::Result<Vec<KeptTrial>> {
    let mut all = trials_after(connection, 0)?;
    all.sort_by_key(|trial| trial.mode);
    Ok(all)
}

/// Trials that came after a row, in the order in which they were kept.
pub fn trials_after(connection: &Connection, row: i64) -> rusqlite::Result<Vec<KeptTrial>> {
    if !connection.table_exists(None, "fault_trial")? {
        return Ok(vec![]);
    }
    let sql = "SELECT rowid, mode, number, body, packed FROM fault_trial
               WHERE rowid > ?1 ORDER BY rowid";
    let mut statement = connection.prepare(sql)?;
    let trial = |row: &Row| {
        Ok(KeptTrial {
            row: row.get(0)?,
            mode: row.get::<_, i64>(1)? as usize,
            number: row.get(2)?,
            body: row.get(3)?,
            packed: row.get(4)?,
        })
    };
    statement.query_map([row], trial)?.collect()
}

/// The campaigns of each mode, in the order in which they were begun.
pub fn campaigns_by_mode(
    trials: Vec<KeptTrial>,
) -> serde_json::Result<BTreeMap<usize, Vec<PackedCampaign>>> {
    let mut all: BTreeMap<usize, Vec<PackedCampaign>> = BTreeMap::new();
    for trial in trials {
        let mode = trial.mode;
        let one = trial.campaign()?;
        let of_mode = all.entry(mode).or_default();
        let is_same = |known: &&mut PackedCampaign| {
            let (known, one) = (&known.light, &one.light);
            known.durability == one.durability && known.fault == one.fault
        };
        match of_mode.iter_mut().find(is_same) {
            Some(known) => known.extend(one),
            None => of_mode.push(one),
        }
    }
    Ok(all)
}
