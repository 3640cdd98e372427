//! The parent's side of a process of our own: the link switch, a volume, a load driver. It is asked
//! in JSON lines over the socket that is its input and output, and ends when that does.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{self, Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ended::how_ended;
use super::sandbox::stop_asked;
use crate::error::{Breakdown, Error, Result, Tried, breakdown};

/// How long one that does not answer as it should may take to end; then it is killed.
const END_LIMIT: Duration = Duration::from_secs(2);
/// How often a request to stop is looked for while an answer is waited for.
const LISTEN_MS: u16 = 200;
const LOG_LINES: usize = 10;
/// So much of an answer to another question is told.
const ANSWER_CHARS: usize = 80;

/// In what one kind of child differs from another.
#[derive(Debug, Clone)]
pub struct Manner {
    /// What it is: `the link switch`.
    pub name: String,
    /// How long an answer may take. `None`: as long as it likes, and a request to stop is heard
    /// meanwhile.
    pub answer_limit: Option<Duration>,
    /// Whether it is given time to end by itself when it is dropped.
    pub ends_itself: bool,
}

/// A running child. Dropped, it is ended and reaped.
#[derive(Debug)]
pub struct Child {
    manner: Manner,
    process: process::Child,
    /// `None` once it has been told to end.
    socket: Option<BufReader<UnixStream>>,
    /// Why it was ended, or how it had ended, once that has been told.
    told: Option<String>,
    log: File,
}

impl Child {
    /// Starts `command`, which says who runs and where; input and output are given here.
    ///
    /// # Errors
    /// A breakdown if it cannot be started.
    pub fn spawn(mut command: Command, manner: Manner) -> Result<Child> {
        let program = command.get_program().to_string_lossy().into_owned();
        let tried = || format!("start {} ({program})", manner.name);
        let (ours, theirs) = UnixStream::pair().tried(tried)?;
        ours.set_read_timeout(manner.answer_limit).tried(tried)?;
        ours.set_write_timeout(manner.answer_limit).tried(tried)?;
        let log = memfd_create("acklab-child-log", MFdFlags::MFD_CLOEXEC).tried(tried)?;
        let log = File::from(log);
        command
            .stdin(OwnedFd::from(theirs.try_clone().tried(tried)?))
            .stdout(OwnedFd::from(theirs))
            .stderr(log.try_clone().tried(tried)?)
            // A Ctrl-C at the terminal is for acklab, which then takes its time to finish.
            .process_group(0);
        Ok(Child {
            process: command.spawn().tried(tried)?,
            manner,
            socket: Some(BufReader::new(ours)),
            told: None,
            log,
        })
    }

    /// For its CPU account, and for what it holds.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request and waits for its reply, whatever it is.
    ///
    /// # Errors
    /// A breakdown with its last words if it does not answer or has ended.
    pub fn ask<R: DeserializeOwned>(&mut self, tried: &str, request: &impl Serialize) -> Result<R> {
        self.send(tried, request)?;
        self.receive(tried)
    }

    /// The first half of [`Child::ask`], for asking several at the same time.
    ///
    /// # Errors
    /// As there.
    pub fn send(&mut self, tried: &str, request: &impl Serialize) -> Result<()> {
        let sent = self.write_line(request);
        sent.map_err(|error| self.explain(tried, &error))
    }

    /// The second half.
    ///
    /// # Errors
    /// As there, and an interruption where no limit is set.
    pub fn receive<R: DeserializeOwned>(&mut self, tried: &str) -> Result<R> {
        if self.manner.answer_limit.is_none() {
            self.await_answer()?;
        }
        let reply = self
            .read_line()
            .and_then(|line| Ok(serde_json::from_str(&line)?));
        reply.map_err(|error| self.explain(tried, &error))
    }

    /// A breakdown that tells why it did not do what it was asked.
    pub fn refused(&self, tried: &str, reason: String) -> Error {
        breakdown(self.telling(tried), reason)
    }

    /// A breakdown that tells of a reply to another question.
    pub fn unexpected(&self, tried: &str, reply: &impl std::fmt::Debug) -> Error {
        let short: String = format!("{reply:?}").chars().take(ANSWER_CHARS).collect();
        self.refused(tried, format!("it answered {short}"))
    }

    /// A breakdown with its last words if it has ended.
    pub fn check_alive(&mut self, tried: &str) -> Result<()> {
        match how_ended(&mut self.process) {
            None => Ok(()),
            Some(_) => Err(self.explain(tried, &ended())),
        }
    }

    fn write_line(&mut self, request: &impl Serialize) -> io::Result<()> {
        let socket = self.socket.as_mut().ok_or_else(ended)?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        socket.get_mut().write_all(&line)
    }

    fn read_line(&mut self) -> io::Result<String> {
        let socket = self.socket.as_mut().ok_or_else(ended)?;
        let mut line = String::new();
        match socket.read_line(&mut line)? {
            0 => Err(ended()),
            _ => Ok(line),
        }
    }

    fn await_answer(&self) -> Result<()> {
        let Some(socket) = self.socket.as_ref() else {
            return Ok(());
        };
        while socket.buffer().is_empty() {
            let mut files = [PollFd::new(socket.get_ref().as_fd(), PollFlags::POLLIN)];
            match poll(&mut files, PollTimeout::from(LISTEN_MS)) {
                Ok(0) | Err(Errno::EINTR) if stop_asked() => return Err(Error::Interrupted),
                Ok(0) | Err(Errno::EINTR) => {}
                _ => break,
            }
        }
        Ok(())
    }

    /// What became of one that did not answer. It is ended if it still runs: a late answer would be
    /// taken for the answer to the next request. Whoever asks again hears the same.
    fn explain(&mut self, tried: &str, error: &io::Error) -> Error {
        let limit = self.manner.answer_limit.filter(|_| is_silence(error));
        let patience = match limit {
            Some(_) => Duration::ZERO,
            None => END_LIMIT,
        };
        let status = match (limit, self.end(patience)) {
            (Some(limit), _) => format!("no answer in {} s", limit.as_secs()),
            (None, Some(status)) if error.kind() != io::ErrorKind::InvalidData => {
                format!("it has ended, {}", described(status))
            }
            _ => error.to_string(),
        };
        Error::from(Breakdown {
            tried: self.telling(tried),
            status: self.told.get_or_insert(status).clone(),
            log: self.last_words(),
        })
    }

    fn telling(&self, tried: &str) -> String {
        format!("{tried} ({}, process {})", self.manner.name, self.pid())
    }

    /// Ends it if it still runs, in the end by force, and reaps it.
    fn end(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.socket = None;
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            match self.process.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(status)) => return Some(status),
                Err(_) => return None,
            }
        }
        let _ = self.process.kill();
        self.process.wait().ok()
    }

    fn last_words(&mut self) -> Vec<String> {
        let mut bytes = Vec::new();
        let read = self.log.seek(SeekFrom::Start(0));
        if read.and_then(|_| self.log.read_to_end(&mut bytes)).is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].to_vec()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end(match self.manner.ends_itself {
            true => END_LIMIT,
            false => Duration::ZERO,
        });
    }
}

/// Leaves a file open in the command's program; tells the number that it has there. In this process
/// it stays close-on-exec, so that what is started at the same moment on another thread gets
/// nothing of it.
///
/// # Errors
/// A breakdown if there is no descriptor to be had.
pub fn hand_on(command: &mut Command, file: &impl AsFd) -> Result<RawFd> {
    let kept = file.as_fd().try_clone_to_owned();
    let kept = kept.tried(|| "hand on a file".to_owned())?;
    let number = kept.as_raw_fd();
    // SAFETY: the closure only makes one system call, which is allowed between fork and exec.
    unsafe {
        command.pre_exec(move || {
            fcntl(&kept, FcntlArg::F_SETFD(FdFlag::empty()))?;
            Ok(())
        });
    }
    Ok(number)
}

fn ended() -> io::Error {
    io::Error::other("it has ended")
}

fn is_silence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// A volume's image is mapped into memory, so that a fault of the host's storage comes as a signal.
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

    fn child(script: &str, answer_limit: Option<Duration>) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let manner = Manner {
            name: "the toy".to_owned(),
            answer_limit,
            ends_itself: true,
        };
        Child::spawn(command, manner).unwrap()
    }

    fn ask(child: &mut Child) -> Result<String> {
        child.ask("play", &7)
    }

    #[test]
    fn a_line_is_answered_by_a_line() {
        let mut echo = child("while read line; do echo \"\\\"got $line\\\"\"; done", None);
        assert_eq!(ask(&mut echo).unwrap(), "got 7");
        assert_eq!(ask(&mut echo).unwrap(), "got 7");
        assert!(echo.check_alive("play").is_ok());
    }

    #[test]
    fn one_that_ends_tells_its_status_and_its_last_words() {
        let mut dead = child("read line; echo why >&2; exit 7", None);
        let error = ask(&mut dead).unwrap_err();
        let pid = dead.pid();
        let expected = format!(
            "could not play (the toy, process {pid}): it has ended, exit status: 7\n    why"
        );
        assert_eq!(error.to_string(), expected);
        // A second question does not hang either.
        assert!(ask(&mut dead).is_err() && dead.check_alive("play").is_err());
    }

    #[test]
    fn one_that_is_silent_is_ended() {
        let mut silent = child("exec sleep 1000", Some(Duration::from_millis(50)));
        let error = ask(&mut silent).unwrap_err();
        assert!(error.to_string().contains("no answer in 0 s"), "{error}");
        // Nobody else has killed it.
        let again = silent.check_alive("play").unwrap_err();
        assert_eq!(again.to_string(), error.to_string());
        assert!(!std::path::Path::new(&format!("/proc/{}", silent.pid())).exists());
    }

    #[test]
    fn nonsense_is_told_and_not_taken_for_an_end() {
        let mut talker = child("read line; echo nonsense; exec cat", None);
        let error = ask(&mut talker).unwrap_err().to_string();
        assert!(
            error.contains("expected") && !error.contains("ended"),
            "{error}"
        );
    }

    #[test]
    fn a_file_is_handed_on_under_its_number() {
        let file = memfd_create("acklab-test", MFdFlags::MFD_CLOEXEC).unwrap();
        let mut command = Command::new("sh");
        let number = hand_on(&mut command, &file).unwrap();
        command.args(["-c", &format!("echo here > /proc/self/fd/{number}")]);
        assert!(command.status().unwrap().success());
        let mut text = String::new();
        File::from(file).read_to_string(&mut text).unwrap();
        assert_eq!(text, "here\n");
    }

    #[test]
    fn an_end_by_a_signal_says_what_it_means() {
        let text = |signal| described(ExitStatus::from_raw(signal));
        assert!(text(libc::SIGBUS).contains("storage under its image"));
        assert!(text(libc::SIGKILL).contains("killed it"));
        assert_eq!(described(ExitStatus::from_raw(4 << 8)), "exit status: 4");
    }
}
