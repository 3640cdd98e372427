//! The parent's side of a volume's process: what it is asked, and how it may answer.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::counters::VolumeCounters;
use super::wire::{Reply, Request};
use crate::error::{Error, Result};
use crate::lab::child::{Child, Manner};
use crate::lab::netns::Place;

/// Most requests take microseconds; a cut copies what was volatile, and waits for the image's last
/// user.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// A running volume process. Dropped, it is ended and reaped.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts `program` as a volume in that place.
    ///
    /// # Errors
    /// A breakdown if it cannot be started.
    pub fn spawn(program: &Path, place: &Place) -> Result<Process> {
        let mut command = Command::new(program);
        // In no folder that it could keep from being unmounted.
        command.arg0("acklab").arg("volume").current_dir("/");
        place.enter(&mut command)?;
        let manner = Manner {
            name: format!("volume of {}", place.name),
            answer_limit: Some(ANSWER_LIMIT),
            ends_itself: true,
        };
        Child::spawn(command, manner).map(Process)
    }

    /// For its CPU account, and for what it holds.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// Sends a request and waits for its reply, whatever it is.
    ///
    /// # Errors
    /// A breakdown if the volume refuses, does not answer, or has ended: it says so, with its last
    /// words.
    pub fn ask(&mut self, tried: &str, request: &Request) -> Result<Reply> {
        match self.0.ask(tried, request)? {
            Reply::Refused(reason) => Err(self.0.refused(tried, reason)),
            reply => Ok(reply),
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
        self.0.unexpected(tried, reply)
    }

    /// A breakdown with its last words if it has ended.
    pub fn check_alive(&mut self, tried: &str) -> Result<()> {
        self.0.check_alive(tried)
    }
}
