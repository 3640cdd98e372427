//! The lab as each trial finds it: images put back, servers started on them and joined, the mode in
//! force. No row is loaded and no state is transferred for that. A single server that runs on after
//! a trial, sound and alone, goes on as it is, with a ledger that begins anew: twenty power cuts of
//! one server are twenty recoveries, and nothing else.

use super::subject::Subject;
use crate::error::{Error, Result};
use crate::lab::mode::faults;

impl Subject<'_> {
    /// Makes ready for a trial; it may keep what links carry to replicas, which has to begin before
    /// they connect.
    ///
    /// What does not come up is put back and started once more: a member of a group that meets
    /// another on its way in, say, may give up.
    ///
    /// # Errors
    /// A breakdown if the lab does not come back: it is of no use any more.
    pub fn make_ready(&mut self, keeps_streams: bool) -> Result<()> {
        match self.form(keeps_streams) {
            Err(Error::Breakdown(_)) => self.form(keeps_streams),
            told => told,
        }
    }

    fn form(&mut self, keeps_streams: bool) -> Result<()> {
        if std::mem::take(&mut self.is_running_on) {
            match self.go_on() {
                // It is not as sound as it seemed.
                Err(Error::Breakdown(_)) => {}
                told => return told,
            }
        }
        self.put_back()?;
        let streams = match keeps_streams {
            true => self.streams(),
            false => vec![],
        };
        self.rig.network.keep(&streams)?;
        self.lab().form_again()?;
        let spec = self.spec;
        faults::enter_for_faults(self.lab(), spec)?;
        // Binary logs that were begun just now: a server that flushes none of them would not come
        // up without their index.
        self.lab().flush_disks()
    }

    /// The server goes on as it is. All that it holds by now is on its disk for good.
    fn go_on(&mut self) -> Result<()> {
        self.rig.network.set_distances(self.distances)?;
        let spec = self.spec;
        faults::enter_for_faults(self.lab(), spec)?;
        self.make_tables()?;
        self.lab().nodes[0].run("FLUSH LOGS")?;
        faults::drop_binary_logs(self.lab())?;
        self.lab().flush_disks()
    }

    /// Links and disks are as they were kept, whatever has been done to them. No server runs.
    fn put_back(&mut self) -> Result<()> {
        self.rig.network.set_distances(self.distances)?;
        if !self.is_untouched {
            self.lab().restore_images()?;
            self.set_disks()?;
        }
        self.is_untouched = false;
        Ok(())
    }

    /// Leaves the links as they were, and the lab as other modes want to find it, if any of those
    /// that come later runs on it. If none does, its servers are ended: one that stands still, or
    /// waits for its disk, would do so until the end of all.
    ///
    /// # Errors
    /// A breakdown if it does not come back, and is wanted; or if the link switch has died.
    pub fn leave(mut self) -> Result<()> {
        self.rig.network.keep(&[])?;
        self.rig.network.set_distances(self.distances)?;
        let own = self.rig.lab_index(self.mode);
        let mut later = self.mode + 1..self.study.modes.len();
        if !later.any(|mode| self.rig.lab_index(mode) == own) {
            return match self.lab().restore_images() {
                Err(Error::Breakdown(_)) => Ok(()),
                told => told.map(drop),
            };
        }
        self.put_back()?;
        self.lab().form_again()
    }
}
