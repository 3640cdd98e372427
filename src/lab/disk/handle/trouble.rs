//! A volume that does not do what it is asked, and how that is seen.

use std::time::Duration;

use super::Volume;
use crate::error::{Error, Result, Tried, breakdown};
use crate::lab::disk::condition::Condition;
use crate::lab::disk::full;
use crate::lab::disk::probe::{self, Knock};
use crate::lab::disk::wire::{Reply, Request, Trouble};

impl Volume {
    /// Requests wait from now on, until [`Volume::go_on`]. Whoever waits for one cannot even be
    /// killed meanwhile: kill it by [`crate::lab::node::Node::kill`], or cut the power first.
    ///
    /// Nothing of what waits becomes durable. One of several copies goes on to hear and to speak.
    ///
    /// # Errors
    /// A breakdown if requests fail already, or the file for probes cannot be made.
    pub fn stall(&self) -> Result<()> {
        self.prepare_probe()?;
        self.befall("stall the disk", Trouble::Stall)
    }

    /// What waits goes on, if the disk stalls.
    ///
    /// # Errors
    /// A breakdown if the volume has ended.
    pub fn go_on(&self) -> Result<()> {
        self.befall("have the disk go on", Trouble::GoOn)
    }

    /// Every request fails from now on, what is under way too, until [`Volume::mend`]. This is no
    /// power cut: what was written and not flushed is still there. One of several copies falls
    /// silent: a node whose disk fails holds no copy.
    ///
    /// # Errors
    /// A breakdown if the file for probes cannot be made, or the volume has ended.
    pub fn fail(&self) -> Result<()> {
        self.prepare_probe()?;
        self.befall("have the disk fail", Trouble::Fail)
    }

    /// What becomes of requests, as the volume's process knows it: see [`Volume::knock`] for what
    /// comes of one.
    ///
    /// # Errors
    /// A breakdown if the volume has ended.
    pub fn condition(&self) -> Result<Condition> {
        let tried = "see how a disk is";
        self.ask(tried, &Request::Condition, |reply| match reply {
            Reply::Condition(condition) => Ok(condition),
            other => Err(other),
        })
    }

    /// Writes a block on the file system, and says what became of that within so much time: it
    /// waits where the disk stalls, and fails where the disk does. To be called after
    /// [`Volume::stall`], [`Volume::fail`], [`Volume::freeze`]: whether they bite.
    ///
    /// # Errors
    /// A breakdown if no file system is shown, as of a copy that follows, or if the write could not
    /// be tried.
    pub fn knock(&self, patience: Duration) -> Result<Knock> {
        self.check_shown("write to the disk")?;
        self.prepare_probe()?;
        let knocked = probe::knock(&self.mount_point, patience);
        knocked.tried(|| format!("write to the disk of {}", self.name))
    }

    /// Whether a flush takes so long at least: whether a slow disk is as slow as it was asked to
    /// be. It flushes once.
    ///
    /// # Errors
    /// As of [`Volume::samples`].
    pub fn flushes_take(&self, at_least: Duration) -> Result<bool> {
        let flush_us = self.samples(1)?.flush_us;
        let least_us = at_least.as_secs_f64() * 1e6;
        Ok(flush_us.iter().all(|us| *us >= least_us))
    }

    /// Takes all room on the file system but for so many bytes, by a file beside the data that only
    /// root can touch, until [`Volume::free`]; how much was taken. No data are written for that,
    /// but it is a few writes and flushes more for the disk to count.
    ///
    /// # Errors
    /// A breakdown if no file system is shown, or the disk does not work.
    pub fn fill(&self, leave_bytes: u64) -> Result<u64> {
        let tried = "fill the disk";
        self.check_works(tried)?;
        self.prepare_probe()?;
        let filled = full::fill(&self.mount_point, leave_bytes);
        filled.tried(|| format!("{tried} of {}", self.name))
    }

    /// Gives back what [`Volume::fill`] took, if it took any.
    ///
    /// # Errors
    /// As there.
    pub fn free(&self) -> Result<()> {
        let tried = "free the disk";
        self.check_works(tried)?;
        let freed = full::give_back(&self.mount_point);
        freed.tried(|| format!("{tried} of {}", self.name))
    }

    /// How many bytes the users of the file system can still write, as it says itself: whether
    /// [`Volume::fill`] bites.
    ///
    /// # Errors
    /// A breakdown if no file system is shown.
    pub fn free_bytes(&self) -> Result<u64> {
        let tried = "see what room there is on the disk";
        self.check_shown(tried)?;
        let told = full::free_bytes(&self.mount_point);
        told.tried(|| format!("{tried} of {}", self.name))
    }

    /// A breakdown if whoever used the disk now would wait until somebody else had it go on.
    pub(super) fn check_moves(&self, tried: &str) -> Result<()> {
        match self.condition()? {
            Condition::Stalled => Err(self.refused(tried, "it stalls")),
            _ => Ok(()),
        }
    }

    fn check_works(&self, tried: &str) -> Result<()> {
        self.check_shown(tried)?;
        match self.condition()? {
            Condition::Works => Ok(()),
            other => Err(self.refused(tried, &format!("it does not work: {other:?}"))),
        }
    }

    fn check_shown(&self, tried: &str) -> Result<()> {
        match self.is_shown() {
            true => Ok(()),
            false => Err(self.refused(tried, "no file system of it is mounted")),
        }
    }

    /// Once the disk does not work nothing could be made there.
    fn prepare_probe(&self) -> Result<()> {
        if !self.is_shown() || self.condition()? != Condition::Works {
            return Ok(());
        }
        let prepared = probe::prepare(&self.mount_point);
        prepared.tried(|| format!("make a file for probes on the disk of {}", self.name))
    }

    fn is_shown(&self) -> bool {
        self.stand().is_mounted
    }

    fn refused(&self, tried: &str, reason: &str) -> Error {
        breakdown(format!("{tried} of {}", self.name), reason)
    }

    pub(super) fn befall(&self, tried: &str, trouble: Trouble) -> Result<()> {
        self.tell(tried, &Request::Befall(trouble))
    }
}
