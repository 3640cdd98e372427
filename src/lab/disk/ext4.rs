//! The file system on a volume: made, mounted, unmounted, checked.
//!
//! All this is done by pid 1 and programs that it starts. Each waits for the volume's process, so
//! none of it may happen inside that process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount as mount_at, umount2};

use crate::error::{Breakdown, Mistake, Result, Tried, breakdown};

/// A journal as mke2fs chooses it for a disk of 1 to 2 GiB; all of it ends up in the image.
const JOURNAL_BYTES_MAX: u64 = 32 << 20;
/// The smallest that ext4 takes.
const JOURNAL_BYTES_MIN: u64 = 4 << 20;
/// What the journal may take of a small disk.
const JOURNAL_SHARE: u64 = 16;
/// A file for every 64 KiB: databases have few and large ones, and the table of files is written
/// into the image at once.
const BYTES_PER_INODE: u32 = 65_536;
/// Lines of a program's output that are told.
const LOG_LINES: usize = 10;
const UNMOUNT_STEP: Duration = Duration::from_millis(2);

/// Makes a file system on `device`, all of which is zeros.
///
/// Nothing is left for later: the table of files is written now, or a thread of the kernel would
/// write it during the first minutes. The journal is not: it may begin as zeros.
///
/// # Errors
/// A mistake if there is no mkfs.ext4, a breakdown with its output if it fails.
pub fn make(device: &Path, bytes: u64) -> Result<()> {
    let journal_mib = journal_bytes(bytes) >> 20;
    let mut command = Command::new(needed_program("mkfs.ext4")?);
    command
        .args(["-q", "-F", "-b", "4096", "-m", "0"])
        .args(["-i", &BYTES_PER_INODE.to_string()])
        .args(["-J", &format!("size={journal_mib}")])
        .args(["-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=1"])
        .arg(device);
    expect_success(&mut command).map(drop)
}

fn journal_bytes(bytes: u64) -> u64 {
    (bytes / JOURNAL_SHARE).clamp(JOURNAL_BYTES_MIN, JOURNAL_BYTES_MAX)
}

/// Mounts the file system of `device` at `place`; its journal is replayed if it must be.
///
/// As everybody mounts a database's disk: barriers (each journal commit flushes), data written
/// before the metadata that point to it. Reading a file writes nothing (`noatime`). After an error
/// nothing more is written: a disk without power must look like one.
pub fn mount(device: &Path, place: &Path) -> Result<()> {
    let flags = MsFlags::MS_NOATIME | MsFlags::MS_NODEV | MsFlags::MS_NOSUID;
    let options = "data=ordered,barrier=1,errors=remount-ro";
    mount_at(Some(device), place, Some("ext4"), flags, Some(options))
        .tried(|| format!("mount {} at {}", device.display(), place.display()))
}

/// Unmounts what is at `place`, waiting for those who still use it.
///
/// # Errors
/// A breakdown if somebody still does after that time.
pub fn unmount(place: &Path, patience: Duration) -> Result<()> {
    let deadline = Instant::now() + patience;
    loop {
        match umount2(place, MntFlags::UMOUNT_NOFOLLOW) {
            Ok(()) => return Ok(()),
            Err(Errno::EBUSY) if Instant::now() < deadline => std::thread::sleep(UNMOUNT_STEP),
            Err(Errno::EBUSY) => {
                let status = format!("files are still open after {} s", patience.as_secs_f64());
                return Err(breakdown(format!("unmount {}", place.display()), status));
            }
            Err(error) => return Err(error).tried(|| format!("unmount {}", place.display())),
        }
    }
}

/// Takes what is at `place` out of sight; it goes when its last user has gone.
pub fn detach(place: &Path) {
    let _ = umount2(place, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW);
}

/// Makes durable whatever an unmounted device has taken.
///
/// # Errors
/// A breakdown with what the disk says.
pub fn flush(device: &Path) -> Result<()> {
    let flushed = File::open(device).and_then(|open| open.sync_all());
    flushed.tried(|| format!("flush {}", device.display()))
}

/// Looks for faults on an unmounted device, and changes nothing.
///
/// # Errors
/// A breakdown with the faults found.
pub fn check(device: &Path) -> Result<()> {
    let mut command = Command::new(needed_program("e2fsck")?);
    expect_success(command.arg("-fn").arg(device)).map(drop)
}

/// What makes and what checks the file system.
pub const PROGRAMS: [&str; 2] = ["mkfs.ext4", "e2fsck"];

/// Where a program of the file system's is: they are not for users, whose path may lack them.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let mut places = std::env::split_paths(&path).chain(usual);
    places.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()))
}

/// As [`find_program`], or who has it.
pub fn needed_program(name: &str) -> Result<PathBuf> {
    let missing = || {
        let allowed = "install the package e2fsprogs: emulated disks carry ext4";
        Mistake::new("this machine", name, "no such program", allowed).into()
    };
    find_program(name).ok_or_else(missing)
}

fn expect_success(command: &mut Command) -> Result<Output> {
    // Messages in a language that can be looked up.
    command.env("LC_ALL", "C").current_dir("/");
    let output = command.output().tried(|| format!("start {command:?}"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(Breakdown {
        tried: format!("run {command:?}"),
        status: output.status.to_string(),
        log: first_lines(&output),
    }
    .into())
}

/// The first faults tell more than the last.
fn first_lines(output: &Output) -> Vec<String> {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().take(LOG_LINES).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_fits_the_disk() {
        assert_eq!(journal_bytes(32 << 20), 4 << 20);
        assert_eq!(journal_bytes(256 << 20), 16 << 20);
        assert_eq!(journal_bytes(1 << 40), 32 << 20);
    }

    #[test]
    fn a_failing_program_is_told_with_its_words() {
        let mut command = Command::new("sh");
        let error = expect_success(command.args(["-c", "echo bad superblock; exit 8"]));
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains("bad superblock") && text.contains("exit status: 8"),
            "{text}"
        );
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let error = needed_program("mkfs.nothing").unwrap_err();
        assert!(error.to_string().contains("e2fsprogs"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}
