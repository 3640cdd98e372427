//! What a disk takes as the file system's user sees it: a direct overwrite of one block, and the
//! flush after it, timed apart. And whether it takes anything at all.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// On the file system probed.
const FILE: &str = ".acklab-probe";
const BLOCK_BYTES: usize = 4096;
const BLOCKS: u64 = 64;

/// Direct I/O wants memory aligned like this.
#[repr(align(4096))]
struct Block([u8; BLOCK_BYTES]);

/// Times of requests, in µs, in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    pub write_us: Vec<f64>,
    pub flush_us: Vec<f64>,
}

/// What became of one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knock {
    /// It was done.
    Done,
    /// It failed: an I/O error, or the file system takes nothing more after one.
    Failed,
    /// It was not over in time.
    Waits,
}

/// Makes the file that is written to, for probes at a time when none can be made.
///
/// # Errors
/// Those of the disk.
pub fn prepare(folder: &Path) -> io::Result<()> {
    prepared(&folder.join(FILE)).map(drop)
}

/// Overwrites one block of the prepared file, and says what becomes of that in so much time. A
/// thread of its own waits for it: on a disk that stalls it waits until that goes on, fails or
/// ends, with the file open.
///
/// # Errors
/// Another than an I/O error: the file is not there, say.
pub fn knock(folder: &Path, patience: Duration) -> io::Result<Knock> {
    let path = folder.join(FILE);
    let (tell, told) = sync_channel(1);
    thread::Builder::new()
        .name("knock".to_owned())
        .spawn(move || {
            // Nobody may be listening any more.
            let _ = tell.send(overwrite(&path));
        })?;
    match told.recv_timeout(patience) {
        Ok(written) => outcome_of(written),
        Err(RecvTimeoutError::Timeout) => Ok(Knock::Waits),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the probe's thread ended")),
    }
}

fn overwrite(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_DIRECT);
    let file = options.open(path)?;
    file.write_all_at(&Block([0; BLOCK_BYTES]).0, 0)
}

fn outcome_of(written: io::Result<()>) -> io::Result<Knock> {
    match written {
        Ok(()) => Ok(Knock::Done),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EIO | libc::EROFS)) => {
            Ok(Knock::Failed)
        }
        Err(error) => Err(error),
    }
}

/// Overwrites a block and flushes, `count` times, on the file system at `folder`. The file is made
/// beforehand if it is not there, and stays for the next time.
///
/// # Errors
/// Those of the disk.
pub fn probe(folder: &Path, count: usize) -> io::Result<Samples> {
    let file = prepared(&folder.join(FILE))?;
    let mut samples = Samples::default();
    for number in 0..count as u64 {
        let block = Block([number as u8; BLOCK_BYTES]);
        let start = Instant::now();
        file.write_all_at(&block.0, number % BLOCKS * BLOCK_BYTES as u64)?;
        let written = Instant::now();
        file.sync_data()?;
        let flushed = Instant::now();
        samples.write_us.push((written - start).as_secs_f64() * 1e6);
        samples
            .flush_us
            .push((flushed - written).as_secs_f64() * 1e6);
    }
    Ok(samples)
}

/// Written over its whole length once: only then an overwrite changes nothing but the block.
fn prepared(path: &Path) -> io::Result<File> {
    let length = BLOCKS * BLOCK_BYTES as u64;
    let is_there = fs::metadata(path).is_ok_and(|found| found.len() == length);
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_DIRECT);
    if is_there {
        return options.open(path);
    }
    let file = options.create(true).truncate(true).open(path)?;
    for number in 0..BLOCKS {
        file.write_all_at(&Block([0; BLOCK_BYTES]).0, number * BLOCK_BYTES as u64)?;
    }
    file.sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_is_told_from_one_that_could_not_be_tried() {
        let failed = |code| outcome_of(Err(io::Error::from_raw_os_error(code)));
        assert_eq!(failed(libc::EIO).unwrap(), Knock::Failed);
        assert_eq!(failed(libc::EROFS).unwrap(), Knock::Failed);
        assert!(failed(libc::ENOSPC).is_err());
        assert_eq!(outcome_of(Ok(())).unwrap(), Knock::Done);
        let folder = tempfile::tempdir().unwrap();
        let error = knock(folder.path(), Duration::from_secs(20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
