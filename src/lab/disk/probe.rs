//! What a disk takes as the file system's user sees it: a direct overwrite of one block, and the
//! flush after it, timed apart.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

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
