//! A look at a record, and what has come since the last one. Nothing is changed by it.
//!
//! In one process looks at one record must come one after the other, and none beside a reader:
//! SQLite's locks are the process's, and are gone when any of its descriptors of that file is
//! closed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::file::{
    APPLICATION_ID, check_is_record, check_is_sqlite, damaged, is_written, open_read_only,
    unreadable,
};
use super::read;
use crate::error::Result;
use crate::record::packed::PackedCampaign;
use crate::record::{Header, Measurement};

/// Where the mark of a record stands in an SQLite file.
const MARK_AT: usize = 68;

/// A record as a list of records tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    pub header: Header,
    pub measurements: usize,
    pub trials: usize,
    /// Whether the run went through to its end.
    pub finished: bool,
}

impl Look {
    /// Reads no measurement. Whether the file is sound is looked at while nobody writes to it.
    ///
    /// # Errors
    /// Those of [`super::Record::open_as_it_is`], as far as they are seen without its measurements.
    pub fn at(path: &Path) -> Result<Look> {
        let connection = open(path)?;
        let failed = |error: rusqlite::Error| unreadable(path, &error);
        if !is_written(path) {
            let unsound = read::unsoundness(&connection).map_err(failed)?;
            unsound.map_or(Ok(()), |why| Err(damaged(path, &why)))?;
        }
        let (header, finished) = read::header(&connection).map_err(failed)?;
        let (measurements, trials) = read::counts(&connection).map_err(failed)?;
        Ok(Look {
            header: header_of(path, &header)?,
            measurements: usize::try_from(measurements).unwrap_or(0),
            trials: usize::try_from(trials).unwrap_or(0),
            finished,
        })
    }
}

/// Whether a file has the mark of a record, sound or not.
pub fn has_mark(path: &Path) -> bool {
    let mut start = Vec::new();
    let wanted = MARK_AT as u64 + 4;
    let read = File::open(path).and_then(|file| file.take(wanted).read_to_end(&mut start));
    let mark = start.get(MARK_AT..).and_then(|mark| mark.try_into().ok());
    read.is_ok() && mark.map(u32::from_be_bytes).map(i64::from) == Some(APPLICATION_ID)
}

/// A record that grows, seen from look to look.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    /// Rows of the last measurement and the last trial that were seen.
    measurement: i64,
    trial: i64,
    /// As it was seen last.
    header: String,
}

/// What has come since the last look.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// Where it is not as it was.
    pub header: Option<Header>,
    /// In the order in which they were kept.
    pub measurements: Vec<Measurement>,
    pub trials: Vec<NewTrial>,
    /// Whether the run went through to its end.
    pub finished: bool,
}

/// A trial that was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTrial {
    /// Index of its mode.
    pub mode: usize,
    /// From 1 on, of its fault.
    pub number: u32,
    /// A campaign of it alone.
    pub one: PackedCampaign,
}

impl Follower {
    /// Of a record of which nothing was seen yet.
    pub fn of(path: &Path) -> Follower {
        Follower {
            path: path.to_owned(),
            measurement: 0,
            trial: 0,
            header: String::new(),
        }
    }

    /// What has come since the last look; the first time all that is there.
    ///
    /// # Errors
    /// Those of [`super::Record::open_as_it_is`]. The next look begins where this one did.
    pub fn look(&mut self) -> Result<News> {
        let path = &self.path;
        let connection = open(path)?;
        let failed = |error: rusqlite::Error| unreadable(path, &error);
        let unsound = |error: serde_json::Error| damaged(path, &error.to_string());
        let (text, finished) = read::header(&connection).map_err(failed)?;
        let bodies = read::bodies_after(&connection, self.measurement).map_err(failed)?;
        let kept = read::trials_after(&connection, self.trial).map_err(failed)?;
        let header = match text == self.header {
            true => None,
            false => Some(header_of(path, &text)?),
        };
        let last = bodies.last().map_or(self.measurement, |(row, _)| *row);
        let last_trial = kept.last().map_or(self.trial, |trial| trial.row);
        let bodies = bodies.iter().map(|(_, body)| serde_json::from_str(body));
        let measurements = bodies.collect::<serde_json::Result<_>>().map_err(unsound)?;
        let trial = |kept: read::KeptTrial| {
            Ok(NewTrial {
                mode: kept.mode,
                number: kept.number,
                one: kept.campaign()?,
            })
        };
        let trials = kept.into_iter().map(trial);
        let trials = trials.collect::<serde_json::Result<_>>().map_err(unsound)?;
        (self.measurement, self.trial, self.header) = (last, last_trial, text);
        Ok(News {
            header,
            measurements,
            trials,
            finished,
        })
    }
}

fn open(path: &Path) -> Result<Connection> {
    check_is_sqlite(path)?;
    let connection = open_read_only(path).map_err(|error| unreadable(path, &error))?;
    check_is_record(path, &connection)?;
    Ok(connection)
}

fn header_of(path: &Path, text: &str) -> Result<Header> {
    serde_json::from_str(text).map_err(|error| damaged(path, &error.to_string()))
}
