//! The parent's side of a volume's process: the child, and the socket that is its input and output.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::counters::VolumeCounters;
use super::wire::{Reply, Request};
use crate::error::{Breakdown, Error, Result, Tried, breakdown};
use crate::lab::node::Place;

/// Most requests take microseconds; a cut copies what was volatile, and waits for the image's last
/// user.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the process may take to end once its input has; then it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(2);
const LOG_LINES: usize = 10;

/// A running volume process. Dropped, it is ended and reaped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    /// `None` once it has been told to end.
    socket: Option<BufReader<UnixStream>>,
    log: File,
}

impl Process {
    /// Starts `program` as a volume in that place.
    ///
    /// # Errors
    /// A breakdown if it cannot be started.
    pub fn spawn(program: &Path, place: &Place) -> Result<Process> {
        let tried = || format!("start the volume of {}", place.name);
        let (ours, theirs) = UnixStream::pair().tried(tried)?;
        ours.set_read_timeout(Some(ANSWER_TIMEOUT)).tried(tried)?;
        ours.set_write_timeout(Some(ANSWER_TIMEOUT)).tried(tried)?;
        let log = memfd_create("acklab-volume-log", MFdFlags::MFD_CLOEXEC).tried(tried)?;
        let log = File::from(log);
        let mut command = Command::new(program);
        command
            .arg0("acklab")
            .arg("volume")
            .stdin(OwnedFd::from(theirs.try_clone().tried(tried)?))
            .stdout(OwnedFd::from(theirs))
            .stderr(log.try_clone().tried(tried)?)
            // Nowhere that it could keep from being unmounted.
            .current_dir("/")
            // A Ctrl-C at the terminal is for acklab, which then takes its time to finish.
            .process_group(0);
        place.enter(&mut command)?;
        Ok(Process {
            name: place.name.clone(),
            child: command.spawn().tried(tried)?,
            socket: Some(BufReader::new(ours)),
            log,
        })
    }

    /// For its CPU account, and for what it holds.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request and waits for its reply, whatever it is.
    ///
    /// # Errors
    /// A breakdown if the volume refuses, does not answer, or has ended: it says so, with its last
    /// words.
    pub fn ask(&mut self, tried: &str, request: &Request) -> Result<Reply> {
        match self.converse(request) {
            Ok(Reply::Refused(reason)) => Err(breakdown(self.telling(tried), reason)),
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.explain(tried, &error)),
        }
    }

    /// As [`Process::ask`], for requests that are only done.
    pub fn tell(&mut self, tried: &str, request: &Request) -> Result<()> {
        match self.ask(tried, request)? {
            Reply::Done => Ok(()),
            other => Err(self.unexpected(tried, &other)),
        }
    }

    /// All that was counted since the image was made.
    pub fn counters(&mut self) -> Result<VolumeCounters> {
        let tried = "read the disk counters";
        match self.ask(tried, &Request::Counters)? {
            Reply::Counters(counters) => Ok(counters),
            other => Err(self.unexpected(tried, &other)),
        }
    }

    /// A breakdown that tells of a reply to another question.
    pub fn unexpected(&self, tried: &str, reply: &Reply) -> Error {
        breakdown(self.telling(tried), format!("it answered {reply:?}"))
    }

    /// A breakdown with its last words if it has ended.
    pub fn check_alive(&mut self, tried: &str) -> Result<()> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(self.explain(tried, &io::Error::other("it has ended"))),
        }
    }

    fn converse(&mut self, request: &Request) -> io::Result<Reply> {
        let ended = || io::Error::other("it has ended");
        let socket = self.socket.as_mut().ok_or_else(ended)?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        socket.get_mut().write_all(&line)?;
        let mut answer = String::new();
        if socket.read_line(&mut answer)? == 0 {
            return Err(ended());
        }
        Ok(serde_json::from_str(&answer)?)
    }

    /// What became of a volume that did not answer. It is ended if it still runs: a late answer
    /// would be taken for the answer to the next request.
    fn explain(&mut self, tried: &str, error: &io::Error) -> Error {
        let is_silent = matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
        );
        let patience = if is_silent {
            Duration::ZERO
        } else {
            END_TIMEOUT
        };
        let status = match self.end(patience) {
            _ if is_silent => format!("no answer in {} s", ANSWER_TIMEOUT.as_secs()),
            Some(status) => format!("it has ended, {}", described(status)),
            None => error.to_string(),
        };
        Error::from(Breakdown {
            tried: self.telling(tried),
            status,
            log: self.last_words(),
        })
    }

    fn telling(&self, tried: &str) -> String {
        let (name, pid) = (&self.name, self.pid());
        format!("{tried} (volume of {name}, process {pid})")
    }

    /// Ends the process if it still runs, in the end by force, and reaps it.
    fn end(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.socket = None;
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(status)) => return Some(status),
                Err(_) => return None,
            }
        }
        let _ = self.child.kill();
        self.child.wait().ok()
    }

    fn last_words(&mut self) -> Vec<String> {
        let mut text = String::new();
        let read = self.log.seek(SeekFrom::Start(0));
        if read
            .and_then(|_| self.log.read_to_string(&mut text))
            .is_err()
        {
            return Vec::new();
        }
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].to_vec()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end(END_TIMEOUT);
    }
}

/// The image is mapped into memory, so that a fault of the host's storage comes as a signal.
fn described(status: ExitStatus) -> String {
    let hint = match status.signal() {
        Some(libc::SIGBUS) => ": the storage under its image failed or is full",
        Some(libc::SIGKILL) => ": somebody killed it, or the kernel for want of memory",
        _ => "",
    };
    format!("{status}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_by_a_signal_says_what_it_means() {
        let text = |signal| described(ExitStatus::from_raw(signal));
        assert!(text(libc::SIGBUS).contains("storage under its image"));
        assert!(text(libc::SIGKILL).contains("killed it"));
        assert_eq!(described(ExitStatus::from_raw(4 << 8)), "exit status: 4");
    }
}
