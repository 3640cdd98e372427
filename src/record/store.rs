//! A record as one SQLite file.
//!
//! No file exists before the first measurement is finished: until then everything is in memory, and
//! the first file appears under its name whole, by one link(2). After that each measurement is one
//! transaction with a rollback journal, so that a run killed at any moment leaves either no record
//! or one with whole measurements only, and between two measurements nothing beside the file.
//!
//! - `file`: whether it is a record, how it is opened, who writes; `appear`: how it appears
//! - `read`: its tables, row by row; `look`: a look at it, and what has come since the last one
//! - `merged`: one record of several

mod appear;
mod copied;
mod file;
mod logs;
mod look;
mod merged;
mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, MAIN_DB, Transaction, params};

pub use self::copied::copy;
pub use self::logs::server_logs;
pub use self::merged::{Holdings, merge};
use super::packed::PackedCampaign;
use super::trials::Campaign;
use super::{Header, Measurement, histogram};
use crate::error::{Mistake, Result, Tried, breakdown};
use crate::plan::Cell;
use file::{
    APPLICATION_ID, BUSY, WriteLock, check_is_record, check_is_sqlite, damaged, journal_of, lock,
    open_read_only, open_sqlite, shown, still_written, sweep_journal, unreadable,
};

pub use file::{SCHEMA_VERSION, is_written};
pub use look::{Follower, Look, NewTrial, News, has_mark};

const SCHEMA: &str = include_str!("schema.sql");

/// A record being written.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// In memory until the first measurement, then the file.
    connection: Connection,
    is_on_disk: bool,
    /// Held as long as somebody may write: nobody else goes on with the record meanwhile. It is no
    /// lock of SQLite's, which has its own.
    lock: Option<WriteLock>,
}

/// A record read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub header: Header,
    /// In the order of rounds, then cells.
    pub measurements: Vec<Measurement>,
    /// What was found when faults were injected, by the index of the mode: one for
    /// each fault, in the order in which they were begun.
    pub campaigns: BTreeMap<usize, Vec<PackedCampaign>>,
    /// Whether the run went through to its end.
    pub finished: bool,
}

impl Store {
    /// A new record, to appear at `path` with its first measurement.
    ///
    /// # Errors
    /// A mistake if `path` exists or its folder does not or cannot be written to.
    pub fn create(path: &Path, header: &Header) -> Result<Store> {
        check_place(path)?;
        let what = || format!("prepare the record {}", path.display());
        let connection = Connection::open_in_memory().tried(what)?;
        connection.execute_batch(SCHEMA).tried(what)?;
        mark(&connection).tried(what)?;
        let mut store = Store {
            path: path.to_owned(),
            connection,
            is_on_disk: false,
            lock: None,
        };
        store.update_header(header)?;
        Ok(store)
    }

    /// A record of a run that was cut short, to be added to.
    ///
    /// # Errors
    /// A mistake if the file is no record of this version of the schema; a breakdown if it cannot
    /// be written to.
    pub fn resume(path: &Path) -> Result<Store> {
        check_is_sqlite(path)?;
        let what = || format!("go on with the record {}", path.display());
        let lock = lock(path).tried(what)?;
        let lock = lock.ok_or_else(|| still_written(path))?;
        let connection = open_sqlite(path).map_err(|error| unreadable(path, &error))?;
        check_is_record(path, &connection)?;
        let version =
            connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
        if version.map_err(|error| unreadable(path, &error))? != SCHEMA_VERSION {
            let given = "a record of an older acklab";
            let allowed = "go on with it by the acklab that wrote it, or begin anew";
            return Err(Mistake::new(&shown(path), "", given, allowed).into());
        }
        connection
            .pragma_update(None, "synchronous", "FULL")
            .tried(what)?;
        Ok(Store {
            path: path.to_owned(),
            connection,
            is_on_disk: true,
            lock: Some(lock),
        })
    }

    /// Where the record is, or will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file exists, that is, whether a measurement was kept.
    pub fn is_on_disk(&self) -> bool {
        self.is_on_disk
    }

    /// Keeps one finished measurement. It is on disk when this returns.
    ///
    /// # Errors
    /// A breakdown if it was kept before, holds a figure that is no number, or the disk refuses.
    pub fn append(&mut self, measurement: &Measurement) -> Result<()> {
        let body = body_of(measurement)?;
        self.write("keep a measurement", |transaction| {
            insert(transaction, "INSERT", measurement, &body)
        })?;
        self.appear()
    }

    /// Keeps one in the place of what was kept there before: it comes last, as what is new.
    ///
    /// # Errors
    /// Those of [`Store::append`], but that it may have been kept before.
    pub fn replace(&mut self, measurement: &Measurement) -> Result<()> {
        let body = body_of(measurement)?;
        self.write("keep a measurement that was made again", |transaction| {
            insert(transaction, "INSERT OR REPLACE", measurement, &body)
        })?;
        self.appear()
    }

    /// Adds cells to those that the header knows, which are to be measured as well.
    ///
    /// # Errors
    /// A breakdown if the disk refuses.
    pub fn join(&mut self, cells: &[Cell]) -> Result<()> {
        let bodies = cells.iter().map(serde_json::to_string);
        let bodies: Vec<String> = bodies
            .collect::<std::result::Result<_, _>>()
            .tried(|| "write cells".to_owned())?;
        if bodies.is_empty() {
            return Ok(());
        }
        self.write("add cells", |transaction| {
            let sql = "UPDATE run SET header = json_insert(header, '$.cells[#]', json(?1))";
            bodies
                .iter()
                .map(|body| transaction.execute(sql, [body]))
                .sum()
        })
    }

    /// Keeps a trial, which is the only one of its campaign here. It is on disk when this returns.
    ///
    /// # Errors
    /// A breakdown if that mode has one of the same fault and number already, if it could not be
    /// read back, or the disk refuses.
    pub fn append_campaign(&mut self, mode: usize, number: u32, one: &Campaign) -> Result<()> {
        let (body, packed) = packed_body(one)?;
        self.write("keep a trial", |transaction| {
            let sql = "INSERT INTO fault_trial (mode, number, body, packed)
                       VALUES (?1, ?2, ?3, ?4)";
            transaction.execute(sql, params![mode as i64, number, body, packed])
        })?;
        self.appear()
    }

    /// Goes on with a run under another head, and takes a round out that is measured anew: both or
    /// neither.
    ///
    /// # Errors
    /// A breakdown if the disk refuses.
    pub fn go_on(&mut self, header: &Header, round_left_out: Option<u32>) -> Result<()> {
        let text = text_of(header)?;
        self.write("go on with the run", |transaction| {
            if let Some(round) = round_left_out {
                transaction.execute("DELETE FROM measurement WHERE round = ?1", [round])?;
            }
            put_header(transaction, &text)
        })
    }

    /// Replaces what is said of the run as a whole.
    ///
    /// # Errors
    /// A breakdown if the disk refuses.
    pub fn update_header(&mut self, header: &Header) -> Result<()> {
        let text = text_of(header)?;
        self.write("keep the header", |transaction| {
            put_header(transaction, &text)
        })
    }

    /// All that it holds by now.
    ///
    /// # Errors
    /// A mistake if it is damaged.
    pub fn read(&self) -> Result<Record> {
        Record::read(&self.path, &self.connection)
    }

    /// Marks the run as gone through to its end. A run without a measurement leaves no file.
    ///
    /// # Errors
    /// A breakdown if the disk refuses.
    pub fn finish(mut self) -> Result<()> {
        self.write("finish the record", |transaction| {
            transaction.execute("UPDATE run SET finished_unix_ms = ?1", [unix_ms()])
        })
    }

    fn write(
        &mut self,
        what: &str,
        change: impl FnOnce(&Transaction) -> rusqlite::Result<usize>,
    ) -> Result<()> {
        let what = || format!("{what} in {}", self.path.display());
        let transaction = self.connection.transaction().tried(what)?;
        change(&transaction).tried(what)?;
        transaction.commit().tried(what)
    }

    /// Moves the record from memory to its file, unless it is there.
    fn appear(&mut self) -> Result<()> {
        if self.is_on_disk {
            return Ok(());
        }
        let what = || format!("create the record {}", self.path.display());
        let bytes = self.connection.serialize(MAIN_DB).tried(what)?.to_vec();
        appear::whole(&self.path, &bytes).tried(what)?;
        let connection = Connection::open(&self.path).tried(what)?;
        connection.busy_timeout(BUSY).tried(what)?;
        connection
            .pragma_update(None, "synchronous", "FULL")
            .tried(what)?;
        self.lock = lock(&self.path).tried(what)?;
        self.connection = connection;
        self.is_on_disk = true;
        Ok(())
    }
}

impl Record {
    /// Reads a record. One that is still being written, or whose run was killed, is read as far as
    /// it goes.
    ///
    /// # Errors
    /// A mistake if the file does not exist, is empty, damaged, no record, or too new.
    pub fn open(path: &Path) -> Result<Record> {
        check_is_sqlite(path)?;
        let connection = open_sqlite(path).map_err(|error| unreadable(path, &error))?;
        check_is_record(path, &connection)?;
        if journal_of(path).exists() {
            sweep_journal(&connection);
        }
        Record::read(path, &connection)
    }

    /// Reads a record and changes nothing: neither the file, nor what a killed run left beside it.
    ///
    /// # Errors
    /// Those of [`Record::open`]; also a mistake if something is to be rolled back first.
    pub fn open_as_it_is(path: &Path) -> Result<Record> {
        check_is_sqlite(path)?;
        let connection = open_read_only(path).map_err(|error| unreadable(path, &error))?;
        check_is_record(path, &connection)?;
        Record::read(path, &connection)
    }

    fn read(path: &Path, connection: &Connection) -> Result<Record> {
        let (header, finished) = read::header(connection).map_err(|e| unreadable(path, &e))?;
        let bodies = read::bodies(connection).map_err(|error| unreadable(path, &error))?;
        let campaigns = read::campaigns(connection).map_err(|e| unreadable(path, &e))?;
        let unsound = |error: serde_json::Error| damaged(path, &error.to_string());
        let mut header: Header = serde_json::from_str(&header).map_err(unsound)?;
        let older = read::older_trials(connection).map_err(|e| unreadable(path, &e))?;
        header.remarks.extend((older > 0).then(|| {
            let by = &header.acklab_version;
            format!("{older} trials of an older kind are in this record: acklab {by} tells them.")
        }));
        let record = Record {
            header,
            measurements: bodies
                .iter()
                .map(|body| serde_json::from_str(body).map_err(unsound))
                .collect::<Result<_>>()?,
            campaigns: read::campaigns_by_mode(campaigns).map_err(unsound)?,
            finished,
        };
        record.check().map_err(|status| damaged(path, &status))?;
        Ok(record)
    }
}

impl Record {
    /// What every reader relies on: indices that point somewhere, histograms that can be read.
    fn check(&self) -> std::result::Result<(), String> {
        let modes = self.header.study.modes.len();
        if let Some(cell) = self.header.cells.iter().find(|cell| cell.mode >= modes) {
            return Err(format!("cell {} is of a mode that is not there", cell.id));
        }
        for (mode, campaigns) in &self.campaigns {
            if *mode >= modes {
                return Err(format!("a campaign is of mode {mode}, which is not there"));
            }
            for campaign in campaigns {
                let name = &campaign.light.fault.name;
                let read = campaign.unpacked();
                read.map_err(|error| format!("mode {mode}, fault {name}: {error}"))?;
            }
        }
        for measurement in &self.measurements {
            let (round, cell) = (measurement.round, measurement.cell);
            if cell >= self.header.cells.len() {
                return Err(format!(
                    "a measurement is of cell {cell}, which is not there"
                ));
            }
            for one in measurement.voided.iter().chain([measurement]) {
                histogram::at_least(one)
                    .map_err(|error| format!("cell {cell}, round {round}: {error}"))?;
            }
        }
        Ok(())
    }
}

fn mark(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", SCHEMA_VERSION)
}

fn text_of(header: &Header) -> Result<String> {
    serde_json::to_string(header).tried(|| "write the header".to_owned())
}

fn put_header(transaction: &Transaction, text: &str) -> rusqlite::Result<usize> {
    transaction.execute(
        "INSERT INTO run (one, header) VALUES (1, ?1)
         ON CONFLICT (one) DO UPDATE SET header = excluded.header",
        [text],
    )
}

/// The measurement as JSON, proved to be readable: JSON has no infinity and no "not a number".
fn body_of(measurement: &Measurement) -> Result<String> {
    let what = || {
        let (round, cell) = (measurement.round, measurement.cell);
        format!("keep the measurement of cell {cell}, round {round}")
    };
    let body = serde_json::to_string(measurement).tried(what)?;
    serde_json::from_str::<Measurement>(&body).tried(what)?;
    histogram::at_least(measurement)?;
    Ok(body)
}

/// A campaign of one trial as JSON, and what is packed beside it, proved to be readable.
fn packed_body(one: &Campaign) -> Result<(String, Vec<u8>)> {
    let tried = || format!("keep a trial of the fault {}", one.fault.name);
    let mut packed = PackedCampaign::of(one);
    let body = serde_json::to_string(&packed.light).tried(tried)?;
    packed.light = serde_json::from_str(&body).tried(tried)?;
    if packed.unpacked().as_ref() != Ok(one) {
        return Err(breakdown(
            tried(),
            "it would be read back as something else",
        ));
    }
    let trials = packed.packed.len();
    match packed.packed.pop().filter(|_| trials == 1) {
        Some(bytes) => Ok((body, bytes)),
        None => Err(breakdown(tried(), format!("there are {trials} of it"))),
    }
}

fn insert(
    transaction: &Transaction,
    how: &str,
    measurement: &Measurement,
    body: &str,
) -> rusqlite::Result<usize> {
    let latency = histogram::at_least(measurement).ok();
    let latency = latency.filter(|histogram| !histogram.is_empty());
    let quantile = |q: f64| latency.as_ref().map(|h| h.value_at_quantile(q) as i64);
    let sql = format!(
        "{how} INTO measurement (round, cell, turn, latency_us_p50, latency_us_p95,
           latency_us_p99, latency_us_max, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
    );
    transaction.execute(
        &sql,
        params![
            measurement.round,
            measurement.cell as i64,
            measurement.turn,
            quantile(0.5),
            quantile(0.95),
            quantile(0.99),
            latency.as_ref().map(|h| h.max() as i64),
            body
        ],
    )
}

fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}

fn check_place(path: &Path) -> Result<()> {
    let mistake = |allowed: &str| Mistake::new("record", "", &shown(path), allowed).into();
    if path.symlink_metadata().is_ok() {
        return Err(mistake("this file exists already: name a new one"));
    }
    if path.file_name().is_none() {
        return Err(mistake("name a file"));
    }
    let folder = appear::folder(path);
    if !folder.is_dir() {
        return Err(mistake("its folder does not exist"));
    }
    let may_write = nix::unistd::access(folder, nix::unistd::AccessFlags::W_OK);
    may_write.map_err(|error| mistake(&format!("its folder cannot be written to: {error}")))
}

#[cfg(test)]
mod tests;
