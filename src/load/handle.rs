//! The parent's side of a driver.

use std::process::Command as Program;

use super::job::{Command, Iterations, Job, Reply, Snapshot};
use super::merge::merge;
use crate::error::{Result, breakdown};
use crate::lab::child::{Child, Manner};

/// What every command to a driver is part of.
const TRIED: &str = "drive the load";

/// A running driver. Dropped, it is ended at once: what its sessions still do is of no use.
pub struct Driver(Child);

impl Driver {
    /// Starts a driver: `command` runs `acklab drive` wherever it is to run.
    ///
    /// # Errors
    /// A breakdown if it cannot be started.
    pub fn spawn(command: Program) -> Result<Driver> {
        let manner = Manner {
            name: "the load driver".to_owned(),
            // Connecting, stopping and loading a table take their time, which the driver limits.
            answer_limit: None,
            ends_itself: false,
        };
        Child::spawn(command, manner).map(Driver)
    }

    /// Its process id, for its CPU account.
    pub fn pid(&self) -> u32 {
        self.0.pid()
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
            other => Err(self.0.unexpected(TRIED, &other)),
        }
    }

    /// Runs one iteration of a mysqlslap workload on the table just loaded.
    pub fn iterate(&mut self) -> Result<Iterations> {
        self.send(&Command::Iterate)?;
        match self.receive()? {
            Reply::Iterations(iterations) => Ok(*iterations),
            other => Err(self.0.unexpected(TRIED, &other)),
        }
    }

    fn started(&mut self) -> Result<f64> {
        match self.receive()? {
            Reply::Started { connected_s } => Ok(connected_s),
            other => Err(self.0.unexpected(TRIED, &other)),
        }
    }

    fn snapshot(&mut self) -> Result<Snapshot> {
        match self.receive()? {
            Reply::Snapshot(snapshot) => Ok(*snapshot),
            other => Err(self.0.unexpected(TRIED, &other)),
        }
    }

    fn send(&mut self, command: &Command) -> Result<()> {
        self.0.send(TRIED, command)
    }

    fn receive(&mut self) -> Result<Reply> {
        match self.0.receive(TRIED)? {
            Reply::Failed { tried, status } => Err(breakdown(tried, status)),
            reply => Ok(reply),
        }
    }
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
