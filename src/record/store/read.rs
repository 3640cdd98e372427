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
    mode: usize,
    body: String,
    packed: Vec<u8>,
}

pub fn campaigns(connection: &Connection) -> rusqlite::Result<Vec<KeptTrial>> {
    if !connection.table_exists(None, "fault_trial")? {
        return Ok(vec![]);
    }
    let sql = "SELECT mode, body, packed FROM fault_trial ORDER BY mode, rowid";
    let mut statement = connection.prepare(sql)?;
    let row = |row: &Row| {
        Ok(KeptTrial {
            mode: row.get::<_, i64>(0)? as usize,
            body: row.get(1)?,
            packed: row.get(2)?,
        })
    };
    statement.query_map([], row)?.collect()
}

/// The campaigns of each mode, in the order in which they were begun.
pub fn campaigns_by_mode(
    trials: Vec<KeptTrial>,
) -> serde_json::Result<BTreeMap<usize, Vec<PackedCampaign>>> {
    let mut all: BTreeMap<usize, Vec<PackedCampaign>> = BTreeMap::new();
    for trial in trials {
        let one = PackedCampaign {
            light: serde_json::from_str(&trial.body)?,
            packed: vec![trial.packed],
        };
        let of_mode = all.entry(trial.mode).or_default();
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
