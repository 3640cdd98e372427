//! From a study to its record. Read this page first.
//!
//! ```text
//! Rig: labs, switch, drivers  ──>  tables loaded  ──>  round by round, cell by cell:
//!     enter the mode · set the distances · start its front · probe · warm up · measure · lag ·
//!     catch up · probe            └──> one measurement in the record
//! ```

mod activity;
mod cell;
mod disks;
pub mod endpoint;
pub mod fault;
pub mod fronts;
mod header;
mod progress;
mod rig;
mod window;

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::lab::sandbox::stop_asked;
use crate::lab::servers::{Cache, Catalogue};
use crate::plan::{self, Plan};
use crate::record::Measurement;
use crate::record::store::Store;
use crate::study::Study;

use fault::Told;
pub use progress::Progress;
pub use rig::Rig;

/// What is to be run, and where it is to be kept.
pub struct Order {
    pub study: Study,
    pub study_text: String,
    pub plan: Plan,
    pub command_line: Vec<String>,
    /// The record's path.
    pub record: PathBuf,
}

/// How long the servers of a lab are watched without load, for their idle CPU rate.
const IDLE_WATCH: Duration = Duration::from_millis(300);

/// A void measurement is made again at most this often,
const AGAIN_MAX: u32 = 2;
/// and a run makes this share of its measurements again at most, so that its length is bounded.
const AGAIN_SHARE: f64 = 0.25;

/// Runs the whole study inside the sandbox. Every finished cell is in the record, whatever
/// happens later.
///
/// # Errors
/// A breakdown of the lab; [`Error::Interrupted`] if the user asked to stop.
pub fn run(order: &Order, cache: &Cache, run_folder: &std::path::Path) -> Result<()> {
    let cells: usize = order.plan.rounds.iter().map(Vec::len).sum();
    let progress = Progress::new(plan::steps(&order.study, &order.plan));
    let mut rig = Rig::build(
        &order.study,
        &Catalogue::builtin(),
        cache,
        run_folder,
        &progress,
    )?;
    if cells > 0 {
        progress.say("loading tables");
        rig.load_tables(&order.study)?;
    }
    let header = header::header(order, &mut rig, run_folder)?;
    let mut store = Store::create(&order.record, &header)?;
    let mut course = Course {
        order,
        rig: &mut rig,
        store: &mut store,
        progress: &progress,
        again_left: (cells as f64 * AGAIN_SHARE).ceil() as usize,
    };
    for (round, cells) in (1..).zip(&order.plan.rounds) {
        course.run_round(round, cells)?;
    }
    for mode in 0..order.study.modes.len() {
        let place = (&mut rig, cache);
        fault::run_all(&order.study, place, mode, &mut |told| match told {
            Told::Begins {
                label,
                fault,
                number,
                of,
            } => {
                let what = fault.label();
                progress.at(format!("{label}: {what} {number}/{of}"));
                Ok(())
            }
            Told::Ended { number, one } => {
                store.append_trial(mode, number, one)?;
                progress.step();
                Ok(())
            }
        })?;
    }
    progress.finish();
    store.finish()
}

/// All rounds of a study.
struct Course<'a> {
    order: &'a Order,
    rig: &'a mut Rig,
    store: &'a mut Store,
    progress: &'a Progress,
    /// How many void measurements may still be made again.
    again_left: usize,
}

impl Course<'_> {
    /// One round: blocks of one mode each, in the plan's order.
    fn run_round(&mut self, round: u32, cells: &[usize]) -> Result<()> {
        self.rig.network.refresh_floor()?;
        let study = &self.order.study;
        let mut entered = None;
        for &index in cells {
            if stop_asked() {
                return Err(Error::Interrupted);
            }
            let cell = &self.order.plan.cells[index];
            let mode = &study.modes[cell.mode];
            self.progress.cell(round, study.rounds, &mode.label, cell);
            if entered != Some(cell.mode) {
                let rig = &mut self.rig;
                rig.enter(cell.mode, mode, &cell.distances, IDLE_WATCH)?;
                entered = Some(cell.mode);
            }
            let measurement = self.measured(round, index)?;
            self.store.append(&measurement)?;
            self.progress.step();
        }
        Ok(())
    }

    /// A void measurement is made again: what voids it is the links' lateness, a fault of the
    /// host's and not of the mode's, so that nothing is chosen by its outcome.
    fn measured(&mut self, round: u32, index: usize) -> Result<Measurement> {
        let (study, cell) = (&self.order.study, &self.order.plan.cells[index]);
        let mut made_again = 0;
        loop {
            let mut measurement = cell::measure(self.rig, study, cell, index, round)?;
            if !measurement.is_void() || made_again == AGAIN_MAX || self.again_left == 0 {
                measurement.made_again = made_again;
                return Ok(measurement);
            }
            self.again_left -= 1;
            made_again += 1;
        }
    }
}
