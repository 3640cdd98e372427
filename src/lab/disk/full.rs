//! A file system that is full: a file of the lab's own takes the room.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::statvfs::statvfs;

/// Beside the data, on the file system that it fills.
const FILE: &str = ".acklab-fill";
const BLOCK_BYTES: u64 = 4096;

/// How many bytes its users can still write, by what it says itself. The disk is not asked.
///
/// # Errors
/// When nothing is there.
pub fn free_bytes(folder: &Path) -> io::Result<u64> {
    let told = statvfs(folder)?;
    Ok(told.blocks_available() * told.fragment_size())
}

/// Takes all room but for so many bytes, whoever writes meanwhile; how much was taken, in whole
/// blocks. What the file system writes down about them comes off what is left. It is on the disk
/// for good when this returns.
///
/// # Errors
/// Those of the disk.
pub fn fill(folder: &Path, leave_bytes: u64) -> io::Result<u64> {
    let mut options = OpenOptions::new();
    // Nobody but root can write it, or read what was there.
    options.write(true).create(true).truncate(true).mode(0o600);
    let file = options.open(folder.join(FILE))?;
    let taken = take(
        leave_bytes,
        || free_bytes(folder),
        |start, bytes| {
            let flags = FallocateFlags::empty();
            fallocate(&file, flags, start as i64, bytes as i64)
        },
    )?;
    file.sync_all()?;
    Ok(taken)
}

/// Gives the room back, if any was taken.
///
/// # Errors
/// Those of the disk.
pub fn give_back(folder: &Path) -> io::Result<()> {
    match fs::remove_file(folder.join(FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => (),
    }
    // Blocks can be used again once the journal has it.
    File::open(folder)?.sync_all()
}

/// Takes room from `free` on by `grow`, which is given where and how much: as much as there is over
/// what is to be left, and less where there turns out to be less.
fn take(
    leave_bytes: u64,
    free: impl Fn() -> io::Result<u64>,
    grow: impl Fn(u64, u64) -> Result<(), Errno>,
) -> io::Result<u64> {
    let (mut taken, mut step_max) = (0, u64::MAX);
    loop {
        let over = free()?.saturating_sub(leave_bytes);
        let step = over.min(step_max) / BLOCK_BYTES * BLOCK_BYTES;
        if step == 0 {
            return Ok(taken);
        }
        match grow(taken, step) {
            Ok(()) => taken += step,
            Err(Errno::ENOSPC) => step_max = step / 2,
            Err(Errno::EINTR) => (),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A file system with so much room, of which each piece costs a block more than it has.
    fn taken_of(room: u64, leave: u64) -> (u64, u64) {
        let left = Cell::new(room);
        let grow = |_: u64, bytes: u64| -> Result<(), Errno> {
            let rest = left.get().checked_sub(bytes + BLOCK_BYTES);
            left.set(rest.ok_or(Errno::ENOSPC)?);
            Ok(())
        };
        let taken = take(leave, || Ok(left.get()), grow).unwrap();
        (taken, left.get())
    }

    #[test]
    fn all_is_taken_but_what_is_to_be_left() {
        let block = BLOCK_BYTES;
        assert_eq!(taken_of(100 * block, 200 * block), (0, 100 * block));
        assert_eq!(
            taken_of(100 * block, 10 * block + 1),
            (89 * block, 10 * block)
        );
        let (taken, left) = taken_of(100 * block, 0);
        assert!(taken > 90 * block && left <= block, "{taken} {left}");
    }

    #[test]
    fn what_else_is_wrong_is_told() {
        let failed = take(0, || Ok(BLOCK_BYTES), |_, _| Err(Errno::EIO));
        assert_eq!(failed.unwrap_err().raw_os_error(), Some(libc::EIO));
        let unknown = take(0, || Err(io::Error::other("?")), |_, _| Ok(()));
        assert!(unknown.is_err());
    }

    #[test]
    fn nothing_taken_is_given_back_too() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        fs::write(folder.path().join(FILE), "x").unwrap();
        give_back(folder.path()).unwrap();
        assert!(!folder.path().join(FILE).exists());
        give_back(folder.path()).unwrap();
    }
}
