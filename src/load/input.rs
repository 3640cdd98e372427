//! The commands that come in while a load runs.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::Instant;

use nix::unistd::read;

use super::pool::Pool;
use crate::error::{Error, Result, Tried};

/// Commands as they come in.
pub struct Input<I> {
    source: I,
    bytes: Vec<u8>,
    lines: VecDeque<String>,
    is_closed: bool,
}

impl<I: AsFd> Input<I> {
    /// Nothing read yet.
    pub fn new(source: I) -> Self {
        Input {
            source,
            bytes: Vec::new(),
            lines: VecDeque::new(),
            is_closed: false,
        }
    }

    /// Where commands come from, to be watched.
    pub fn source(&self) -> &I {
        &self.source
    }

    /// Nobody will ask for anything more.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The next command, if a whole one was read.
    pub fn next_line(&mut self) -> Option<String> {
        self.lines.pop_front()
    }

    /// Reads what there is; waits if there is nothing.
    pub fn read(&mut self) -> Result<()> {
        let mut buffer = [0; 16 << 10];
        let count = match read(&self.source, &mut buffer) {
            Err(nix::errno::Errno::EINTR) => return Ok(()),
            other => other.tried(|| "read the driver's input".to_owned())?,
        };
        self.is_closed |= count == 0;
        self.bytes.extend_from_slice(&buffer[..count]);
        while let Some(end) = self.bytes.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            self.lines
                .push_back(String::from_utf8_lossy(&line).into_owned());
        }
        Ok(())
    }
}

/// One turn; commands that come meanwhile are kept for later.
pub fn turn<I: AsFd>(input: &mut Input<I>, pool: &mut Pool, deadline: Instant) -> Result<()> {
    if pool.turn(Some(deadline))? {
        input.read()?;
    }
    if input.is_closed() {
        return Err(Error::Interrupted);
    }
    Ok(())
}
