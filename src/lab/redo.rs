//! MySQL's redo log as a server in use has it.
//!
//! From 8.0.30 on, MySQL keeps it in many files, and reserves those that it will need without
//! writing them (`#ib_redo…_tmp`). The first write to a block of such a file changes what ext4
//! knows of it: the commit that makes it waits for the file system's journal, too. A server that
//! has been in use has been through all of its files. One in a lab is new. See
//! docs/method/modes.md.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::node::Node;
use super::servers::datadir::{REDO_FOLDER, REDO_RESERVED};
use crate::error::{Result, Tried, breakdown};

/// So many files MySQL keeps, in use and reserved (its manual, "Redo Log"). It makes its reserve
/// anew when it starts, one file after another, and goes on with that while it accepts connections.
const FILES: usize = 32;
const RESERVE_LIMIT: Duration = Duration::from_secs(60);
const FILL_BYTES: u64 = 1 << 20;
const TABLE: &str = "acklab_lab.redo";

/// Makes the redo log of a running, idle server on an emulated disk as if it had been through all
/// files once. What it has reserved is written with the zeros that it reads as. The file in use and
/// the next are the server's own to write: it fills them.
///
/// # Errors
/// A breakdown if the server does not make its reserve, a file cannot be written, or the server
/// does not come to the next but one.
pub fn use_once(node: &mut Node) -> Result<()> {
    let folder = node.data().join(REDO_FOLDER);
    if node.volume.is_none() || !folder.is_dir() {
        return Ok(());
    }
    node.wait_until("its redo log has its reserve", RESERVE_LIMIT, |_| {
        let is_whole = |file: &RedoFile| file.bytes > 0;
        let files = files(&folder)?;
        Ok(files.len() >= FILES && files.iter().all(is_whole))
    })?;
    let mut reserve = files(&folder)?;
    reserve.retain(|file| file.is_reserved);
    let [_, next_but_one, ..] = &reserve[..] else {
        return Ok(());
    };
    reserve[1..].iter().try_for_each(write)?;
    let times = 3 * next_but_one.bytes / FILL_BYTES + 1;
    let is_locked = node.value("SELECT @@GLOBAL.super_read_only")?.as_deref() == Some("1");
    if is_locked {
        node.run("SET GLOBAL super_read_only = OFF")?;
    }
    fill_until_taken(node, &next_but_one.path, times)?;
    match is_locked {
        true => node.run("SET GLOBAL super_read_only = ON"),
        false => Ok(()),
    }
}

/// A file of the redo log.
struct RedoFile {
    number: u64,
    path: PathBuf,
    bytes: u64,
    /// No redo has been written to it yet.
    is_reserved: bool,
}

/// In the order in which the server takes them.
fn files(folder: &Path) -> Result<Vec<RedoFile>> {
    let tried = || format!("look into {}", folder.display());
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).tried(tried)? {
        let entry = entry.tried(tried)?;
        let Some((number, is_reserved)) = number_of(&entry.file_name().to_string_lossy()) else {
            continue;
        };
        // One that the server renames at this moment is seen at the next look.
        if let Ok(metadata) = entry.metadata() {
            all.push(RedoFile {
                number,
                path: entry.path(),
                bytes: metadata.len(),
                is_reserved,
            });
        }
    }
    all.sort_by_key(|file| file.number);
    Ok(all)
}

/// `#ib_redo9` is in use, `#ib_redo10_tmp` reserved.
fn number_of(name: &str) -> Option<(u64, bool)> {
    let name = name.strip_prefix("#ib_redo")?;
    let number = name.strip_suffix(REDO_RESERVED);
    let is_reserved = number.is_some();
    Some((number.unwrap_or(name).parse().ok()?, is_reserved))
}

fn write(file: &RedoFile) -> Result<()> {
    let tried = || format!("write {}", file.path.display());
    let mut open = OpenOptions::new()
        .write(true)
        .open(&file.path)
        .tried(tried)?;
    io::copy(&mut io::repeat(0).take(file.bytes), &mut open).tried(tried)?;
    open.sync_data().tried(tried)
}

/// Has the server write redo, at most so many times, until that file is no reserve any more.
fn fill_until_taken(node: &mut Node, file: &Path, times: u64) -> Result<()> {
    node.run("SET SESSION sql_log_bin = 0")?;
    node.run(&format!(
        "CREATE TABLE {TABLE} (id INT PRIMARY KEY AUTO_INCREMENT, filler LONGBLOB) ENGINE=InnoDB"
    ))?;
    let fill = format!("INSERT INTO {TABLE} (filler) VALUES (REPEAT('x', {FILL_BYTES}))");
    for _ in 0..times {
        if !file.exists() {
            break;
        }
        node.run(&fill)?;
    }
    node.run(&format!("DROP TABLE {TABLE}"))?;
    node.run("SET SESSION sql_log_bin = 1")?;
    if file.exists() {
        let status = format!("{times} MB of redo did not reach {}", file.display());
        return Err(breakdown("use a redo log once", status));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["#ib_redo9", "#ib_redo11_tmp", "#ib_redo10_tmp", "other"] {
            fs::write(folder.path().join(name), b"12345").unwrap();
        }
        let found = files(folder.path()).unwrap();
        let found: Vec<_> = (found.iter())
            .map(|file| (file.number, file.bytes, file.is_reserved))
            .collect();
        assert_eq!(found, [(9, 5, false), (10, 5, true), (11, 5, true)]);
    }

    #[test]
    fn what_is_written_reads_as_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("#ib_redo7_tmp");
        fs::write(&path, vec![0; 50_000]).unwrap();
        write(&files(folder.path()).unwrap()[0]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), vec![0; 50_000]);
    }
}
