//! A record's file, before anything is read of it: whether it is one, how it is opened, who writes.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, Flock, FlockArg, fcntl};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{Error, Mistake, Result, breakdown};

/// Version of the schema that this program writes, and the newest that it reads. Version 2 knows
/// disks; in records of version 1 what is said of them is left out. Version 3 has errors with their
/// SQLSTATE and text, and common names of counters. In version 4 a cell may have several
/// measurements in a round. Version 5 has faults as schedules, version 6 no others.
pub const SCHEMA_VERSION: i64 = 6;
/// Marks an SQLite file as a record: "ackl".
pub const APPLICATION_ID: i64 = 0x6163_6b6c;
/// What every SQLite file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// A reader waits this long for a writer's transaction to end, and the other way round.
pub const BUSY: Duration = Duration::from_secs(10);
/// A reader that looks whether somebody writes has the lock for a moment: so often a writer asks
/// for it, so long after one another.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Beyond what SQLite locks, which begins at 1 GiB, and where no record has anything.
const LOCK_BYTE: libc::off_t = 1 << 40;

/// What whoever writes to a record holds, until it is dropped.
#[derive(Debug)]
pub enum WriteLock {
    Whole {
        _kept: Flock<File>,
    },
    /// Of one byte alone.
    Byte {
        _kept: File,
    },
}

/// The lock of whoever writes; `None` where somebody has it.
pub fn lock(path: &Path) -> std::io::Result<Option<WriteLock>> {
    for _ in 1..LOCK_TRIES {
        if let Some(lock) = lock_to_write(path)? {
            return Ok(Some(lock));
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    lock_to_write(path)
}

/// NFS has no flock of its own: the kernel locks all bytes of the file in its place, SQLite's too,
/// and refuses that on a file that is open for reading (flock(2), "NFS details"). There one byte is
/// locked, which a shared flock of the whole file meets as well.
fn lock_to_write(path: &Path) -> std::io::Result<Option<WriteLock>> {
    match lock_now(path, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(lock.map(|kept| WriteLock::Whole { _kept: kept })),
        Err(error) if error.raw_os_error() == Some(libc::EBADF) => lock_byte(path),
        Err(error) => Err(error),
    }
}

fn lock_byte(path: &Path) -> std::io::Result<Option<WriteLock>> {
    let file = File::options().read(true).write(true).open(path)?;
    let byte = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: LOCK_BYTE,
        l_len: 1,
        l_pid: 0,
    };
    match fcntl(&file, FcntlArg::F_OFD_SETLK(&byte)) {
        Ok(_) => Ok(Some(WriteLock::Byte { _kept: file })),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether somebody writes to it at present. Nothing is changed by the question.
pub fn is_written(path: &Path) -> bool {
    matches!(keep_writers_off(path), Ok(None))
}

/// While it is held nobody goes on with the record; `None` where somebody writes to it.
pub fn keep_writers_off(path: &Path) -> std::io::Result<Option<Flock<File>>> {
    lock_now(path, FlockArg::LockSharedNonblock)
}

pub fn still_written(path: &Path) -> Error {
    let allowed = "its run is still going on: wait for its end, or stop it first";
    Mistake::new(&shown(path), "", "", allowed).into()
}

fn lock_now(path: &Path, kind: FlockArg) -> std::io::Result<Option<Flock<File>>> {
    let file = File::open(path)?;
    match Flock::lock(file, kind) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, errno)) => Err(errno.into()),
    }
}

pub fn shown(path: &Path) -> String {
    path.display().to_string()
}

pub fn not_a_record(path: &Path, given: &str) -> Error {
    Mistake::new(&shown(path), "", given, "name a record that acklab wrote").into()
}

pub fn damaged(path: &Path, status: &str) -> Error {
    let given = format!("a damaged record ({status})");
    Mistake::new(&shown(path), "", &given, "take a whole copy of it").into()
}

pub fn check_is_sqlite(path: &Path) -> Result<()> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut start));
    match read {
        Err(error) => Err(not_a_record(path, &format!("no readable file ({error})"))),
        Ok(0) => Err(not_a_record(path, "an empty file")),
        Ok(_) if start != MAGIC => Err(not_a_record(path, "another kind of file")),
        Ok(_) => Ok(()),
    }
}

/// Writable where possible: only then can a transaction that a kill cut off be rolled back.
pub fn open_sqlite(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_WRITE)
        .or_else(|_| {
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_ONLY)
    })?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

/// For whoever may change nothing. What a kill cut off stays, and then nothing can be read.
pub fn open_read_only(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

/// Where SQLite keeps what it needs to roll back the transaction under way: beside the file itself,
/// whatever link it is opened by.
pub fn journal_of(path: &Path) -> PathBuf {
    let path = path.canonicalize().unwrap_or(path.to_owned());
    let mut name = path.into_os_string();
    name.push("-journal");
    name.into()
}

/// Removes what a killed writer left beside the record. SQLite does so by itself only where there
/// is something to roll back: a journal without a whole header stays until somebody writes. Leaving
/// the mode TRUNCATE is the one request by which it deletes a journal, and it does so only under
/// the lock of a writer: nothing is taken from one that is at work, or where nobody may write.
pub fn sweep_journal(connection: &Connection) {
    let leave = "PRAGMA journal_mode = TRUNCATE; PRAGMA journal_mode = DELETE;";
    let _ = connection.execute_batch(leave);
}

pub fn check_is_record(path: &Path, connection: &Connection) -> Result<()> {
    let pragma = |name| {
        let value = connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        value.map_err(|error| unreadable(path, &error))
    };
    if pragma("application_id")? != APPLICATION_ID {
        return Err(not_a_record(path, "another SQLite database"));
    }
    let version = pragma("user_version")?;
    if !(1..=SCHEMA_VERSION).contains(&version) {
        let given = format!("a record of schema version {version}");
        let allowed = format!("this acklab reads up to {SCHEMA_VERSION}: use a newer acklab");
        return Err(Mistake::new(&shown(path), "", &given, &allowed).into());
    }
    Ok(())
}

/// A file that SQLite finds unsound is the user's to replace; anything else is the machine's doing.
pub fn unreadable(path: &Path, error: &rusqlite::Error) -> Error {
    if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) {
        let given = "a record whose run was killed while it wrote";
        let allowed = "read it once by `acklab report` as somebody who may write there: what was \
                       cut off is rolled back then";
        return Mistake::new(&shown(path), "", given, allowed).into();
    }
    let is_unsound = match error {
        rusqlite::Error::SqliteFailure(failure, _) => matches!(
            failure.code,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown
        ),
        rusqlite::Error::SqlInputError { .. } | rusqlite::Error::QueryReturnedNoRows => true,
        _ => false,
    };
    match is_unsound {
        true => damaged(path, &error.to_string()),
        false => breakdown(format!("read {}", path.display()), error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_is_one_writers_and_does_not_hinder_sqlite() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE a (b)").unwrap();
        let lock = lock_byte(&path).unwrap();
        assert!(lock.is_some() && lock_byte(&path).unwrap().is_none());
        connection
            .execute_batch("INSERT INTO a VALUES (1)")
            .unwrap();
        let other = Connection::open(&path).unwrap();
        let there = other.query_row("SELECT b FROM a", [], |row| row.get::<_, i64>(0));
        assert_eq!(there, Ok(1));
        drop(lock);
        assert!(lock_byte(&path).unwrap().is_some());
    }
}
