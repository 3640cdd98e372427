//! Signals to a node's server: it is asked to stop, stands still, goes on, is killed.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Node;
use crate::error::{Result, Tried, breakdown};
use crate::lab::sandbox::SERVER_UID;

/// How long a server that was killed may take to end. One of gigabytes takes a second; one whose
/// disk waits for copies out of reach would take for ever.
const KILL_LIMIT: Duration = Duration::from_secs(30);
const LOOK_STEP: Duration = Duration::from_millis(1);

impl Node {
    /// Ends the server by SIGKILL, if it runs, paused or not. What it has handed to the operating
    /// system stays.
    ///
    /// It cannot end while its disk keeps a request waiting. So a disk that stalls goes on as soon
    /// as the server can do nothing any more; and where a request waits for something else for too
    /// long, copies out of reach say, the power of the disk is cut: see
    /// [`crate::lab::disk::Volume::condition`].
    pub fn kill(&mut self) {
        self.admin = None;
        let Some(mut child) = self.process.take() else {
            return;
        };
        let _ = child.kill();
        if let Some(volume) = &self.volume {
            let _ = volume.go_on();
            if !ends_within(&mut child, KILL_LIMIT) {
                let _ = volume.freeze();
            }
        }
        let _ = child.wait();
        self.end_what_is_left();
    }

    /// Ends what a server began and has left behind, as the programs of a state transfer: they
    /// would keep its disk open. These are all that the servers' user runs in the node's namespace.
    fn end_what_is_left(&self) {
        let own = format!("/proc/self/fd/{}", self.place.netns.fd().as_raw_fd());
        let (Ok(own), Ok(all)) = (fs::metadata(own), fs::read_dir("/proc")) else {
            return;
        };
        let pids = all.flatten().filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let is_servers = entry.metadata().ok()?.uid() == SERVER_UID;
            let place = fs::metadata(entry.path().join("ns/net")).ok()?;
            (is_servers && place.ino() == own.ino()).then_some(pid)
        });
        for pid in pids {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Begins what [`stop`](Node::stop) does: the server gets SIGTERM, and goes on if it is paused.
    ///
    /// # Errors
    /// A breakdown if a signal cannot be sent.
    pub fn ask_to_stop(&mut self) -> Result<()> {
        self.admin = None;
        if self.pid().is_none() {
            return Ok(());
        }
        self.signal("stop", Signal::SIGTERM)?;
        self.resume()
    }

    /// Has the server stand still, by SIGSTOP: its connections stay, and nothing comes from it. See
    /// [`Node::is_paused`] for when it does.
    ///
    /// # Errors
    /// A breakdown if it does not run.
    pub fn pause(&self) -> Result<()> {
        self.signal("pause", Signal::SIGSTOP)
    }

    /// Has a server that is paused go on, by SIGCONT.
    ///
    /// # Errors
    /// As of [`Node::pause`].
    pub fn resume(&self) -> Result<()> {
        self.signal("resume", Signal::SIGCONT)
    }

    /// Whether the server runs and stands still: no thread of it can do anything. One that waits
    /// for its disk stops when that is over, before it does anything else.
    pub fn is_paused(&self) -> bool {
        let states = self.pid().map(states_of).unwrap_or_default();
        stand_still(&states)
    }

    fn signal(&self, doing: &str, signal: Signal) -> Result<()> {
        let tried = || format!("{doing} the server of {}", self.place.name);
        match self.pid() {
            Some(pid) => kill(Pid::from_raw(pid as i32), signal).tried(tried),
            None => Err(breakdown(tried(), "it does not run")),
        }
    }
}

fn ends_within(child: &mut Child, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(LOOK_STEP);
    }
    true
}

/// Of all threads of a process, as `/proc/PID/task/TID/stat` has it (proc(5)).
fn states_of(pid: u32) -> Vec<char> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    tasks.filter_map(|task| state_of(&task.path())).collect()
}

fn state_of(task: &Path) -> Option<char> {
    let stat = fs::read_to_string(task.join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.chars().next()
}

/// Some stand still, and the others wait uninterruptibly, or are dead.
fn stand_still(states: &[char]) -> bool {
    let is_over = |state: &char| ['T', 't', 'D', 'Z', 'X'].contains(state);
    states.contains(&'T') && states.iter().all(is_over)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn one_thread_that_runs_is_enough_to_run() {
        assert!(stand_still(&['T', 'T']) && stand_still(&['T', 'D', 'Z']));
        let running: [&[char]; 5] = [&[], &['T', 'S'], &['R'], &['D'], &['Z']];
        for states in running {
            assert!(!stand_still(states), "{states:?}");
        }
    }

    #[test]
    fn a_process_stands_still_until_it_goes_on_and_can_be_killed() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32);
        let wait_until = |is_so: &dyn Fn(&[char]) -> bool| {
            let start = Instant::now();
            while !is_so(&states_of(child.id())) {
                assert!(start.elapsed() < KILL_LIMIT, "not so in time");
                std::thread::sleep(LOOK_STEP);
            }
        };
        wait_until(&|states: &[char]| states == ['S']);
        kill(pid, Signal::SIGSTOP).unwrap();
        wait_until(&stand_still);
        kill(pid, Signal::SIGCONT).unwrap();
        wait_until(&|states: &[char]| states == ['S']);
        kill(pid, Signal::SIGSTOP).unwrap();
        wait_until(&stand_still);
        assert!(!ends_within(&mut child, Duration::ZERO));
        child.kill().unwrap();
        assert!(ends_within(&mut child, KILL_LIMIT));
        assert!(states_of(child.id()).is_empty());
    }
}
