//! What a detached sandbox prints until its front end leaves, passed on through memory.
//!
//! Were its processes given the front end's own pipes, they would hold them as long as the lab
//! stands, and whoever reads from `acklab up` would wait for the end of a file that never comes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::error::{Result, Tried};

/// Standard output and standard error of the sandbox, and how far each was passed on.
pub struct Relay {
    streams: [(File, u64); 2],
}

impl Relay {
    /// Two files in memory. To be made before the fork.
    pub fn create() -> Result<Relay> {
        let file = || -> Result<(File, u64)> {
            let file = memfd_create("acklab", MFdFlags::MFD_CLOEXEC);
            Ok((file.tried(|| "make a file in memory".into())?.into(), 0))
        };
        Ok(Relay {
            streams: [file()?, file()?],
        })
    }

    /// Inside: takes the place of the standard descriptors.
    pub fn stand_in(&self) {
        let null = OpenOptions::new().read(true).open("/dev/null");
        let pairs = [
            null.as_ref().ok(),
            Some(&self.streams[0].0),
            Some(&self.streams[1].0),
        ];
        for (fd, file) in (0..).zip(pairs) {
            if let Some(file) = file {
                // SAFETY: dup2(2) onto the three standard descriptors.
                unsafe { libc::dup2(file.as_raw_fd(), fd) };
            }
        }
    }

    /// Outside: prints what has come since the last time.
    pub fn pass_on(&mut self) {
        let outputs: [&mut dyn Write; 2] = [&mut std::io::stdout(), &mut std::io::stderr()];
        for ((file, at), output) in self.streams.iter_mut().zip(outputs) {
            let mut part = [0; 4096];
            // Reading at a place leaves the writers' own place alone.
            while let Ok(count @ 1..) = file.read_at(&mut part, *at) {
                *at += count as u64;
                let _ = output.write_all(&part[..count]);
            }
            let _ = output.flush();
        }
    }
}
