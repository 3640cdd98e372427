//! What is seen of a trial while it goes on, and what has to be looked after all the while.

use std::time::{Duration, Instant};

use super::schedule::View;
use super::stage::Stage;
use crate::error::{Error, Result, breakdown};
use crate::lab::mode::{company, faults};
use crate::lab::node::pause;
use crate::study::faults::When;

/// Between two looks at what clients note.
const STEP: Duration = Duration::from_millis(2);
/// Between two looks at the drivers, and at whether the writer goes on alone.
const LOOK_AFTER_EVERY_US: u64 = 50_000;

impl View for Stage<'_, '_> {
    fn now_us(&self) -> u64 {
        self.crowd.now_us()
    }

    fn acknowledged(&self) -> u64 {
        self.crowd.acknowledged()
    }

    fn last_acknowledged_us(&self) -> Option<u64> {
        self.crowd.newest().map(|(at_us, _)| at_us)
    }

    fn in_flight(&self) -> u32 {
        self.crowd.in_flight()
    }

    fn has_come(&mut self, when: When) -> Result<bool> {
        match when {
            When::Behind(target, least) => {
                for node in self.nodes_of(target)? {
                    if faults::behind(self.lab(), node)? < least {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            When::Expelled(target) => {
                let nodes = self.nodes_of(target)?;
                Ok(nodes
                    .iter()
                    .all(|&node| faults::is_expelled(self.lab(), node)))
            }
            When::FellBack => {
                self.look_alone()?;
                Ok(self.state.alone.went_us.is_some())
            }
            When::Transfer => Ok(self.is_transferring()),
            // Clients tell.
            When::After { .. } | When::Commits(_) | When::Silent(_) | When::Served => Ok(false),
        }
    }

    fn pass(&mut self) -> Result<()> {
        pause(STEP)?;
        let now_us = self.crowd.now_us();
        if now_us < self.state.looked_us.saturating_add(LOOK_AFTER_EVERY_US) {
            return Ok(());
        }
        self.state.looked_us = now_us;
        self.check_alive()?;
        if Instant::now() > self.until {
            let status = "it takes longer than all of its limits together";
            return Err(breakdown("carry out a fault", status));
        }
        self.look_alone()
    }
}

impl Stage<'_, '_> {
    /// Looks whether the first writer goes on without the others, where its mode may, and nobody
    /// has taken over. To be called before its server is ended, when no client hears it any more.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the user asked to stop. A server that does not answer is none: it
    /// is noted.
    pub fn look_alone(&mut self) -> Result<()> {
        let writer = self.state.writer;
        if self.state.alone.is_over || !self.subject.lab().nodes[writer].is_up() {
            return Ok(());
        }
        // One that stands still acknowledges nothing: what it was last seen to do holds.
        if self.state.paused.contains(&writer) {
            return Ok(());
        }
        let asked_us = self.crowd.now_us();
        let (mode, last) = (self.subject.spec.mode, self.state.alone.last());
        match company(self.lab(), writer, &mode, last) {
            Ok(Some(company)) => self.state.alone.see(asked_us, company),
            // Its mode never does.
            Ok(None) => self.state.alone.is_over = true,
            Err(Error::Breakdown(_)) => self.state.alone.miss(),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
