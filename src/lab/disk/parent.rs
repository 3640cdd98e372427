//! The volume's parent, pid 1, as seen from the volume.
//!
//! The volume ends when its input does. That is not enough when the parent is killed while one of
//! its threads waits for the very disk, and the disk for a copy out of reach, or for a flush of an
//! hour: such a thread cannot die, the process keeps its descriptors open, and with it the whole
//! sandbox would stay. So the volume looks at its parent now and then, and goes first.

use std::fs;
use std::thread;
use std::time::Duration;

use nix::unistd::getppid;

/// A look takes some 20 µs.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// SIGKILL in the sets of signals of `/proc/PID/status` (proc(5)).
const SIGKILL_BIT: u64 = 1 << (libc::SIGKILL - 1);

/// Ends this process when its parent is being killed. To be called while the parent is known to
/// live: at the start.
pub fn end_with_parent() {
    let path = format!("/proc/{}/status", getppid());
    let watch = move || {
        loop {
            // A parent that cannot be seen has ended, and so has the input.
            if fs::read_to_string(&path).is_ok_and(|status| is_dying(&status)) {
                std::process::exit(0);
            }
            thread::sleep(LOOK_EVERY);
        }
    };
    // Without it, only the case above is worse.
    let _ = thread::Builder::new()
        .name("parent".to_owned())
        .spawn(watch);
}

/// Whether a process has been killed: its first thread is dead while others are not, or it will be
/// as soon as its wait ends.
fn is_dying(status: &str) -> bool {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let is_dead = field("State:").is_some_and(|state| state.trim_start().starts_with(['Z', 'X']));
    let is_pending = |name: &str| {
        let set = field(name).and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
        set.is_some_and(|set| set & SIGKILL_BIT != 0)
    };
    is_dead || is_pending("SigPnd:") || is_pending("ShdPnd:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_dies_when_it_is_killed() {
        let status = |state: &str, pending: &str| {
            format!("Name:\tlab\nState:\t{state}\nSigPnd:\t{pending}\nShdPnd:\t0000000000000000\n")
        };
        let none = "0000000000000000";
        assert!(!is_dying(&status("S (sleeping)", none)));
        assert!(!is_dying(&status("D (disk sleep)", "0000000000004002")));
        assert!(is_dying(&status("Z (zombie)", none)));
        assert!(is_dying(&status("D (disk sleep)", "0000000000000100")));
    }

    #[test]
    fn this_process_is_well() {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        assert!(status.contains("SigPnd:") && !is_dying(&status), "{status}");
    }
}
