//! The folder that each run has on the host, and what becomes of those of dead runs.

use std::fs::{self, File, OpenOptions};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Instant;

use nix::fcntl::{Flock, FlockArg, OFlag, openat};
use nix::sys::stat::Mode;

use super::memory::{self, ENDING_STEP};
use crate::error::{Result, Tried, breakdown};

/// Of a process's flags (field 9 of `/proc/PID/stat`): it is ending (`linux/sched.h`).
const PF_EXITING: u64 = 0x4;

/// A run's folder on the host. It exists as long as the sandbox does.
#[derive(Debug)]
pub struct RunFolder {
    pub path: PathBuf,
    /// Holds the folder for as long as any copy of this descriptor is open, in any process.
    _lock: ManuallyDrop<Flock<File>>,
}

impl RunFolder {
    /// Makes a new folder below `cache/run`, after removing those of dead runs. It is held from
    /// the start: killed at any moment, we leave nothing that the next command would not sweep.
    pub fn create(cache: &Path) -> Result<RunFolder> {
        let parent = cache.join("run");
        fs::create_dir_all(&parent).tried(|| format!("make {}", parent.display()))?;
        let guard = open_lock(&parent).tried(|| format!("lock {}", parent.display()))?;
        let guard = Flock::lock(guard, FlockArg::LockExclusive)
            .map_err(|(_, error)| breakdown(format!("lock {}", parent.display()), error.desc()))?;
        sweep_guarded(&parent);
        let unique = format!("{}-{:x}", std::process::id(), unix_nanoseconds());
        let path = parent.join(unique);
        fs::create_dir(&path).tried(|| format!("make {}", path.display()))?;
        let lock = hold(&path)?;
        drop(guard);
        // Dropped, it would let go of the folder for the keeper and pid 1 too.
        let _lock = ManuallyDrop::new(lock);
        Ok(RunFolder { path, _lock })
    }
}

fn hold(folder: &Path) -> Result<Flock<File>> {
    let file = open_lock(folder).tried(|| format!("lock {}", folder.display()))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock)
        .map_err(|(_, error)| breakdown(format!("lock {}", folder.display()), error.desc()))
}

fn unix_nanoseconds() -> u128 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos())
}

fn open_lock(folder: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join("lock"))
}

/// Removes run folders that nobody holds.
pub fn sweep(parent: &Path) {
    let Ok(guard) = open_lock(parent) else { return };
    if let Ok(_guard) = Flock::lock(guard, FlockArg::LockExclusive) {
        sweep_guarded(parent);
    }
}

/// A folder without a lock file is one whose maker died at once: while the parent is locked,
/// nobody else makes any.
fn sweep_guarded(parent: &Path) {
    let deadline = memory::patience();
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for path in entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
    {
        let is_held = path.join("lock").exists() && is_held(&path, deadline);
        // A folder whose groups are still in use is left to the next command: it names them.
        if !is_held && memory::sweep(&path, deadline) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether a living run holds its folder. Killed processes let go of it only when they have given
/// back their memory, disks of gigabytes among it; of a run that begins, pid 1 is soon there.
fn is_held(folder: &Path, deadline: Instant) -> bool {
    while hold(folder).is_err() {
        if first_pid(folder).is_some() || Instant::now() >= deadline {
            return true;
        }
        sleep(ENDING_STEP);
    }
    false
}

/// When a process that is not ending started, in clock ticks since boot: field 22 of
/// `/proc/PID/stat` (proc(5)).
pub(super) fn started_ticks(pid: i32) -> Option<u64> {
    started_ticks_in(&File::open("/proc").ok()?, pid)
}

/// The same as told by a `/proc` that is open already.
pub(super) fn started_ticks_in(proc: &File, pid: i32) -> Option<u64> {
    let path = format!("{pid}/stat");
    let file = openat(proc, path.as_str(), OFlag::O_RDONLY, Mode::empty()).ok()?;
    let text = std::io::read_to_string(File::from(file)).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let flags: u64 = fields.get(6)?.parse().ok()?;
    let ticks = fields.get(19)?.parse().ok()?;
    (flags & PF_EXITING == 0).then_some(ticks)
}

/// Pid 1 of the sandbox with that run folder, as the host sees it; never another process that has
/// come to the same number.
pub fn first_pid(folder: &Path) -> Option<i32> {
    let text = fs::read_to_string(folder.join("pid")).ok()?;
    let (pid, ticks) = text.split_once(' ')?;
    let (pid, ticks) = (pid.parse().ok()?, ticks.parse().ok()?);
    (started_ticks(pid) == Some(ticks)).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder below `parent`, held, with that pid 1.
    fn held(parent: &Path, first: &str) -> (PathBuf, Flock<File>) {
        let folder = parent.join("folder");
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("pid"), first).expect("a pid");
        let lock = hold(&folder).expect("nobody else's");
        (folder, lock)
    }

    #[test]
    fn the_folder_of_killed_processes_is_swept_once_they_let_go() {
        let parent = tempfile::tempdir().expect("a folder");
        let (folder, lock) = held(parent.path(), "1 0");
        let ending = std::thread::spawn(move || {
            sleep(ENDING_STEP * 20);
            drop(lock);
        });
        sweep(parent.path());
        assert!(!folder.exists());
        ending.join().expect("an end");
    }

    #[test]
    fn the_folder_of_a_living_run_stays() {
        let parent = tempfile::tempdir().expect("a folder");
        let own = i32::try_from(std::process::id()).expect("a pid");
        let ticks = started_ticks(own).expect("this process");
        let (folder, lock) = held(parent.path(), &format!("{own} {ticks}"));
        sweep(parent.path());
        assert!(folder.exists());
        drop(lock);
        sweep(parent.path());
        assert!(!folder.exists());
    }
}
