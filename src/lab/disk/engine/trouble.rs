//! A disk that does not do what it is asked: it stalls, it fails, it is destroyed. A power cut is
//! the engine's own.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::{Answer, Engine};
use crate::lab::disk::condition::Condition;
use crate::study::disk::PowerCut;

impl<R> Engine<R> {
    /// What becomes of requests now.
    pub fn condition(&self) -> Condition {
        self.condition
    }

    /// From now on requests wait, those under way too, and nothing becomes durable. One of several
    /// copies goes on to hear and to speak: only its own disk stands still.
    ///
    /// # Errors
    /// Tells why they cannot wait: they fail.
    pub fn stall(&mut self, now: Duration) -> Result<(), String> {
        match self.condition {
            Condition::Works => {
                self.condition = Condition::Stalled;
                self.stalled_at = now;
                Ok(())
            }
            Condition::Stalled => Ok(()),
            Condition::Fails | Condition::NoPower | Condition::Destroyed => {
                Err("its requests fail, and wait for nothing".to_owned())
            }
        }
    }

    /// Goes on if it stalled: each request takes as long as if no time had passed meanwhile.
    /// Without power whoever waits is told.
    pub fn go_on(&mut self, now: Duration) -> Vec<(R, Answer)> {
        if self.is_halted {
            return self.freeze();
        }
        if self.is_stalled() {
            self.condition = Condition::Works;
            let since = self.stalled_at;
            let waiting = std::mem::take(&mut self.under_way).into_iter();
            let delayed = waiting.map(|mut request| {
                let waited = now.saturating_sub(since.max(request.arrived));
                request.due = request.due.saturating_add(waited);
                request
            });
            self.under_way = delayed.collect();
            self.finish_due(now, now);
        }
        std::mem::take(&mut self.answers)
    }

    /// All that is under way fails, and so does whatever is asked later; what is volatile stays. A
    /// write that fails may have reached the disk.
    ///
    /// One of several copies falls silent: a node whose disk fails holds no copy.
    pub fn fail_requests(&mut self) -> Vec<(R, Answer)> {
        if !self.condition.fails() {
            self.condition = Condition::Fails;
            self.fail_all();
        }
        std::mem::take(&mut self.answers)
    }

    /// Works again after it failed, in upkeep, with all that it had taken.
    ///
    /// # Errors
    /// Tells what else it lacks.
    pub fn mend(&mut self) -> Result<(), String> {
        if self.condition != Condition::Fails {
            return Err("it does not fail for a reason that can be mended".to_owned());
        }
        // Its cache has had time to be written back.
        self.cut(PowerCut::KeepAll);
        Ok(())
    }

    /// The disk is gone, with all that it held: every request fails until there is another, or one
    /// as it was when its image was kept.
    pub fn destroy(&mut self) -> Vec<(R, Answer)> {
        self.condition = Condition::Destroyed;
        self.fail_all();
        std::mem::take(&mut self.answers)
    }

    /// Whether there is anything that a power cut could decide about.
    ///
    /// # Errors
    /// Tells that there is not.
    pub fn check_there(&self) -> Result<(), String> {
        match self.condition {
            Condition::Destroyed => Err("what it held is gone".to_owned()),
            _ => Ok(()),
        }
    }
}
