//! Memory limits: a control group for each server that has one, of version 1 or 2, below the group
//! that acklab itself runs in.
//!
//! A group outlives the sandbox. So its path is journalled in the run folder before it is made, and
//! whoever removes that folder removes exactly those groups.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::unistd::{AccessFlags, access};

use crate::error::{Mistake, Result, Tried, breakdown};
use crate::study::units;

/// The journal's name in a run folder: one path a line.
const JOURNAL: &str = "cgroups";
/// What the name of each of our groups begins with.
const OURS: &str = "acklab-";
/// How often to look whether killed processes have ended.
pub(super) const ENDING_STEP: Duration = Duration::from_millis(5);
/// How long to wait for the killed processes of runs.
const ENDING_LIMIT: Duration = Duration::from_secs(5);

/// The kernel's interface to control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where groups with a memory limit can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    version: Version,
    /// The group we are in, then the topmost one that can be seen.
    parents: Vec<PathBuf>,
}

impl Controller {
    /// The memory controller of this machine.
    ///
    /// # Errors
    /// A mistake that says what is missing.
    pub fn find() -> Result<Controller> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let found = parse(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"));
        let Some(controller) = found.filter(Controller::is_there) else {
            let given = "no control groups with the memory controller";
            return Err(lacking(given));
        };
        let is_open = |path: &PathBuf| access(path, AccessFlags::W_OK).is_ok();
        match controller.parents.iter().any(is_open) {
            true => Ok(controller),
            false => Err(lacking(&format!("{} is read-only", controller.shown()))),
        }
    }

    /// For people: version and place.
    pub fn shown(&self) -> String {
        let version = match self.version {
            Version::One => 1,
            Version::Two => 2,
        };
        let place = self.parents.first().map(|path| path.display().to_string());
        format!("version {version}, {}", place.unwrap_or_default())
    }

    /// A hierarchy of version 2 may have been given other controllers only.
    fn is_there(&self) -> bool {
        let has_it = |path: &PathBuf| match self.version {
            Version::One => path.join("memory.limit_in_bytes").exists(),
            Version::Two => {
                let names = fs::read_to_string(path.join("cgroup.controllers"));
                names.is_ok_and(|names| names.split_whitespace().any(|name| name == "memory"))
            }
        };
        self.parents.iter().any(has_it)
    }

    fn make(&self, folder: &Path, bytes: u64) -> io::Result<()> {
        if self.version == Version::Two {
            let parent = folder.parent().unwrap_or(Path::new("/"));
            hand_down(&parent.join("cgroup.subtree_control"))?;
        }
        fs::create_dir(folder)?;
        let limited = limit(self.version, folder, bytes);
        if limited.is_err() {
            let _ = fs::remove_dir(folder);
        }
        limited
    }
}

fn lacking(given: &str) -> crate::error::Error {
    let allowed = "mount a cgroup hierarchy with the memory controller where this process may make \
                   groups, or leave `memory` out";
    Mistake::new("this machine", "memory", given, allowed).into()
}

/// From the texts of `/proc/self/mountinfo` and `/proc/self/cgroup` (cgroups(7)).
fn parse(mountinfo: &str, cgroup: &str) -> Option<Controller> {
    let has_memory = |list: &str| list.split(',').any(|name| name == "memory");
    let mounts = mountinfo.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, at) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let version = match (kind.next()?, kind.nth(1)?) {
            ("cgroup", options) if has_memory(options) => Version::One,
            ("cgroup2", _) => Version::Two,
            _ => return None,
        };
        Some((version, root, at))
    });
    // A controller in use in version 1 is not there in version 2.
    let (version, root, at) = mounts.min_by_key(|(version, ..)| *version == Version::Two)?;
    let own = cgroup.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (names, path) = (fields.next()?, fields.next()?);
        let is_it = match version {
            Version::One => has_memory(names),
            Version::Two => names.is_empty(),
        };
        is_it.then_some(path)
    });
    let below = own.and_then(|path| path.strip_prefix(root.trim_end_matches('/')));
    let below = below.map(|path| Path::new(at).join(path.trim_start_matches('/')));
    let mut parents: Vec<PathBuf> = below.into_iter().chain([PathBuf::from(at)]).collect();
    parents.dedup();
    Some(Controller { version, parents })
}

/// Has groups below get the memory controller, unless they have it. The kernel refuses that to a
/// group with processes of its own, other than the topmost. It stays so: another run may rely on
/// it by the time that ours ends.
fn hand_down(control: &Path) -> io::Result<()> {
    let names = fs::read_to_string(control)?;
    match names.split_whitespace().any(|name| name == "memory") {
        true => Ok(()),
        false => fs::write(control, "+memory"),
    }
}

/// No swap either, where the kernel counts it: a server that swaps is not one with less memory.
fn limit(version: Version, folder: &Path, bytes: u64) -> io::Result<()> {
    let bytes = bytes.to_string();
    let (limit, swap) = match version {
        Version::One => (
            "memory.limit_in_bytes",
            ("memory.memsw.limit_in_bytes", &bytes[..]),
        ),
        Version::Two => ("memory.max", ("memory.swap.max", "0")),
    };
    fs::write(folder.join(limit), &bytes)?;
    let (name, value) = swap;
    match folder.join(name).exists() {
        true => fs::write(folder.join(name), value),
        false => Ok(()),
    }
}

/// A server's own group. Dropped, it is removed, if its processes have ended.
#[derive(Debug)]
pub struct MemoryLimit {
    folder: PathBuf,
    version: Version,
    bytes: u64,
}

impl MemoryLimit {
    /// A group of that size for the node `name`, journalled in the run folder.
    ///
    /// # Errors
    /// A mistake if this machine has no memory controller, a breakdown if it refuses the group.
    pub fn make(name: &str, bytes: u64, run_folder: &Path) -> Result<MemoryLimit> {
        let controller = Controller::find()?;
        let tried = || format!("make a control group for node {name}");
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let own = format!("{OURS}{:x}-{name}", now.unwrap_or_default().as_nanos());
        let mut refusal = String::new();
        for parent in &controller.parents {
            let folder = parent.join(&own);
            note(run_folder, &folder).tried(tried)?;
            match controller.make(&folder, bytes) {
                Ok(()) => {
                    let version = controller.version;
                    return Ok(MemoryLimit {
                        folder,
                        version,
                        bytes,
                    });
                }
                Err(error) => refusal = format!("{}: {error}", folder.display()),
            }
        }
        Err(breakdown(tried(), refusal))
    }

    /// Makes `command` start its program in the group. To be called before it gives up root.
    pub fn enter(&self, command: &mut Command) -> Result<()> {
        let path = self.folder.join("cgroup.procs");
        let opened = OpenOptions::new().write(true).open(&path);
        let procs: File = opened.tried(|| format!("open {}", path.display()))?;
        // SAFETY: the closure only makes one system call, which is allowed between fork and exec.
        unsafe {
            // 0 stands for the writing process, in whatever pid namespace it is.
            command.pre_exec(move || (&procs).write_all(b"0"));
        }
        Ok(())
    }

    /// What to say of a server that has ended, if the kernel ended one for want of memory here.
    pub fn verdict(&self) -> Option<String> {
        let name = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        let limit = units::show_bytes(self.bytes);
        (kills(&text) > 0).then(|| format!("killed by its memory limit of {limit}"))
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// How often the kernel killed for want of memory.
fn kills(counters: &str) -> u64 {
    let mut lines = counters.lines();
    let count = lines.find_map(|line| line.strip_prefix("oom_kill "));
    count
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

fn note(run_folder: &Path, group: &Path) -> io::Result<()> {
    let path = run_folder.join(JOURNAL);
    let mut journal = OpenOptions::new().create(true).append(true).open(path)?;
    writeln!(journal, "{}", group.display())
}

/// When to give up waiting for killed processes.
pub fn patience() -> Instant {
    Instant::now() + ENDING_LIMIT
}

/// Removes the groups of a run that has ended, by the paths in its folder's journal. Whether none
/// is in use any more at the deadline: a killed server is in its group until the kernel is done
/// with it, long after it has let go of its files.
pub fn sweep(run_folder: &Path, deadline: Instant) -> bool {
    let journal = fs::read_to_string(run_folder.join(JOURNAL)).unwrap_or_default();
    let is_ours = |group: &&Path| {
        let name = group.file_name().unwrap_or_default().to_string_lossy();
        group.is_absolute() && name.starts_with(OURS)
    };
    let groups = journal.lines().map(Path::new).filter(is_ours);
    // Each of them, whatever became of the one before.
    groups.filter(|group| !remove(group, deadline)).count() == 0
}

/// Whether that group is not in use, and gone if it could be. Only ever an empty one is removed:
/// the kernel refuses a group with processes.
fn remove(group: &Path, deadline: Instant) -> bool {
    loop {
        let is_busy = |error: io::Error| error.kind() == io::ErrorKind::ResourceBusy;
        match fs::remove_dir(group).is_err_and(is_busy) {
            true if Instant::now() < deadline => sleep(ENDING_STEP),
            is_in_use => return !is_in_use,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "30 20 0:25 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                       31 20 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                       32 20 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    const TWO: &str = "31 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";

    fn parents(mountinfo: &str, cgroup: &str) -> (Version, Vec<String>) {
        let found = parse(mountinfo, cgroup).expect("a controller");
        let shown = found.parents.iter().map(|path| path.display().to_string());
        (found.version, shown.collect())
    }

    #[test]
    fn groups_stand_below_our_own() {
        let (version, found) = parents(ONE, "5:memory:/jobs/7\n1:cpu:/\n0::/x\n");
        let memory = "/sys/fs/cgroup/memory";
        assert_eq!(version, Version::One);
        assert_eq!(found, [format!("{memory}/jobs/7"), memory.to_owned()]);
        let (version, found) = parents(TWO, "0::/user.slice\n");
        assert_eq!(version, Version::Two);
        assert_eq!(found, ["/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]);
    }

    #[test]
    fn a_mount_of_a_part_is_seen_from_its_own_root() {
        let part = ONE.replace("0:26 / ", "0:26 /jobs ");
        let (_, found) = parents(&part, "5:memory:/jobs/7\n");
        assert_eq!(found[0], "/sys/fs/cgroup/memory/7");
        let (_, found) = parents(&part, "5:memory:/elsewhere\n");
        assert_eq!(found, ["/sys/fs/cgroup/memory"]);
    }

    #[test]
    fn without_the_controller_it_is_told_what_is_missing() {
        let none = ONE
            .replace("rw,memory", "rw,pids")
            .replace("cgroup2", "tmpfs");
        assert_eq!(parse(&none, "0::/\n"), None);
        let told = lacking("nothing").to_string();
        assert!(told.contains("memory controller"), "{told}");
        // Version 2 where nobody handed down the controller.
        let folder = tempfile::tempdir().expect("a folder");
        let controller = |names: &str| {
            fs::write(folder.path().join("cgroup.controllers"), names).expect("a file");
            let parents = vec![folder.path().to_owned()];
            Controller {
                version: Version::Two,
                parents,
            }
        };
        assert!(!controller("cpu pids").is_there());
        assert!(controller("cpu memory").is_there());
    }

    #[test]
    fn kills_are_read_from_either_version() {
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), 2);
        assert_eq!(kills("low 0\nmax 9\noom 1\noom_kill 1\n"), 1);
        assert_eq!(kills("oom_kill_disable 0\n"), 0);
    }

    #[test]
    fn only_what_is_ours_is_swept() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["acklab-1-a", "acklab-2-b/full", "theirs"] {
            fs::create_dir_all(at(name)).expect("a folder");
        }
        for name in ["acklab-1-a", "acklab-2-b", "theirs", "acklab-gone"] {
            note(folder.path(), &at(name)).expect("a journal");
        }
        assert!(sweep(folder.path(), patience()));
        let left = ["acklab-1-a", "acklab-2-b", "theirs"].map(|name| at(name).exists());
        assert_eq!(left, [false, true, true]);
    }
}
