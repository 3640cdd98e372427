//! The parent's side of a driver: a child process and the pipes to it.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command as Program, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::job::{Command, Iterations, Job, Reply, Snapshot};
use super::merge::merge;
use crate::error::{Error, Result, Tried, breakdown};
use crate::lab::node::pause;

/// How often a request to stop is looked for while a driver is at work.
const LISTEN_MS: u16 = 200;

/// A running driver. Dropped, it is ended and reaped.
pub struct Driver {
    child: Child,
    commands: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Driver {
    /// Starts a driver: `command` runs `acklab drive` wherever it is to run.
    pub fn spawn(mut command: Program) -> Result<Driver> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .tried(|| format!("start a load driver with {command:?}"))?;
        let commands = child.stdin.take();
        let replies = child.stdout.take().expect("it was piped just now");
        Ok(Driver {
            child,
            commands,
            replies: BufReader::new(replies),
        })
    }

    /// Its process id, for its CPU account.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Connects all sessions and starts the load; tells how many seconds connecting took.
    pub fn start(&mut self, job: &Job) -> Result<f64> {
        self.send(&Command::Start(Box::new(job.clone())))?;
        self.started()
    }

    /// Everything since the last mark; a new window begins.
    pub fn mark(&mut self) -> Result<Snapshot> {
        self.send(&Command::Mark)?;
        self.snapshot()
    }

    /// Ends the load; tells what happened since the last mark.
    pub fn stop(&mut self) -> Result<Snapshot> {
        self.send(&Command::Stop)?;
        self.snapshot()
    }

    /// Loads a mysqlslap workload's table anew, as the tool does before each iteration.
    pub fn reload(&mut self, job: &Job) -> Result<()> {
        self.send(&Command::Reload(Box::new(job.clone())))?;
        match self.receive()? {
            Reply::Reloaded => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Runs one iteration of a mysqlslap workload on the table just loaded.
    pub fn iterate(&mut self) -> Result<Iterations> {
        self.send(&Command::Iterate)?;
        match self.receive()? {
            Reply::Iterations(iterations) => Ok(*iterations),
            other => Err(unexpected(&other)),
        }
    }

    fn started(&mut self) -> Result<f64> {
        match self.receive()? {
            Reply::Started { connected_s } => Ok(connected_s),
            other => Err(unexpected(&other)),
        }
    }

    fn snapshot(&mut self) -> Result<Snapshot> {
        match self.receive()? {
            Reply::Snapshot(snapshot) => Ok(*snapshot),
            other => Err(unexpected(&other)),
        }
    }

    fn send(&mut self, command: &Command) -> Result<()> {
        let tried = || "tell the load driver what to do".to_owned();
        let mut line = serde_json::to_string(command).tried(tried)?;
        line.push('\n');
        let Some(commands) = &mut self.commands else {
            return Err(breakdown(tried(), "its input is closed"));
        };
        match commands.write_all(line.as_bytes()) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.death(&error.to_string())),
        }
    }

    fn receive(&mut self) -> Result<Reply> {
        self.await_reply()?;
        let mut line = String::new();
        match self.replies.read_line(&mut line) {
            Ok(0) => return Err(self.death("it ended without an answer")),
            Ok(_) => {}
            Err(error) => return Err(self.death(&error.to_string())),
        }
        match serde_json::from_str(&line).tried(|| "read the load driver's answer".to_owned())? {
            Reply::Failed { tried, status } => Err(breakdown(tried, status)),
            reply => Ok(reply),
        }
    }

    /// Waits for the beginning of an answer; a request to stop is heard meanwhile.
    fn await_reply(&self) -> Result<()> {
        while self.replies.buffer().is_empty() {
            let mut fds = [PollFd::new(
                self.replies.get_ref().as_fd(),
                PollFlags::POLLIN,
            )];
            match poll(&mut fds, PollTimeout::from(LISTEN_MS)) {
                Ok(0) | Err(Errno::EINTR) => pause(Duration::ZERO)?,
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// What to say of a driver that does not answer any more.
    fn death(&mut self, sign: &str) -> Error {
        // Its pipe is closed: whatever it still does is of no use.
        let _ = self.child.kill();
        let status = match self.child.wait() {
            Ok(status) => format!("{sign}; {status}"),
            Err(error) => format!("{sign}; {error}"),
        };
        breakdown(format!("use load driver {}", self.pid()), status)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.commands = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn unexpected(reply: &Reply) -> Error {
    let text = format!("{reply:?}");
    let short: String = text.chars().take(80).collect();
    breakdown("understand the load driver", format!("it answered {short}"))
}

/// Starts every driver with its job, at the same time; tells the longest time to connect.
pub fn start_all(drivers: &mut [Driver], jobs: &[Job]) -> Result<f64> {
    for (driver, job) in drivers.iter_mut().zip(jobs) {
        driver.send(&Command::Start(Box::new(job.clone())))?;
    }
    let each = drivers.iter_mut().map(Driver::started);
    let each: Result<Vec<f64>> = collect_all(each);
    Ok(each?.into_iter().fold(0.0, f64::max))
}

/// Marks every driver at the same time and joins their snapshots.
pub fn mark_all(drivers: &mut [Driver]) -> Result<Snapshot> {
    ask_all(drivers, &Command::Mark)
}

/// Stops every driver at the same time and joins their snapshots.
pub fn stop_all(drivers: &mut [Driver]) -> Result<Snapshot> {
    ask_all(drivers, &Command::Stop)
}

fn ask_all(drivers: &mut [Driver], command: &Command) -> Result<Snapshot> {
    for driver in drivers.iter_mut() {
        driver.send(command)?;
    }
    merge(collect_all(drivers.iter_mut().map(Driver::snapshot))?)
}

/// Takes every answer, also after a failure: none may be left in a pipe for the next question.
fn collect_all<T>(answers: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    answers.collect::<Vec<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(script: &str) -> Program {
        let mut program = Program::new("sh");
        program.args(["-c", script]);
        program
    }

    #[test]
    fn a_dead_driver_is_a_breakdown() {
        let mut driver = Driver::spawn(program("exit 7")).unwrap();
        let error = driver.mark().unwrap_err();
        assert_eq!(error.exit_code(), 4);
        assert!(error.to_string().contains("load driver"), "{error}");
        // A second question does not hang either.
        assert!(driver.stop().is_err());
    }

    #[test]
    fn what_failed_in_the_driver_is_told() {
        let answer = r#"read line; echo '{"failed":{"tried":"connect","status":"refused"}}'"#;
        let mut driver = Driver::spawn(program(answer)).unwrap();
        let error = driver.mark().unwrap_err();
        assert_eq!(error.to_string(), "could not connect: refused");
        let mut driver = Driver::spawn(program("read line; echo nonsense")).unwrap();
        assert!(driver.mark().is_err());
    }

    #[test]
    fn dropping_ends_the_process() {
        let driver = Driver::spawn(program("exec sleep 1000")).unwrap();
        let path = format!("/proc/{}", driver.pid());
        assert!(std::path::Path::new(&path).exists());
        drop(driver);
        assert!(!std::path::Path::new(&path).exists());
    }

    #[test]
    fn a_program_that_is_not_there_is_a_breakdown() {
        let error = Driver::spawn(Program::new("/nonexistent/acklab"))
            .err()
            .unwrap();
        assert!(error.to_string().contains("/nonexistent/acklab"), "{error}");
    }
}
