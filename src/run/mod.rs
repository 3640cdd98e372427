//! From a study to its record. Read this page first.
//!
//! ```text
//! Rig: labs, switch, drivers  ──>  tables loaded  ──>  round by round, cell by cell:
//!     enter the mode · set the distances · probe · warm up · measure · lag · catch up · probe
//!                                                           └──> one measurement in the record
//! ```

mod cell;
mod header;
mod progress;
mod rig;
mod window;

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::lab::sandbox::stop_asked;
use crate::lab::servers::{Cache, Catalogue};
use crate::plan::Plan;
use crate::record::Measurement;
use crate::record::store::Store;
use crate::study::Study;

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

/// Runs the whole study inside the sandbox. Every finished cell is in the record, whatever
/// happens later.
///
/// # Errors
/// A breakdown of the lab; [`Error::Interrupted`] if the user asked to stop.
pub fn run(order: &Order, cache: &Cache, run_folder: &std::path::Path) -> Result<()> {
    let progress = Progress::new(order.plan.rounds.iter().map(Vec::len).sum());
    let mut rig = Rig::build(
        &order.study,
        &Catalogue::builtin(),
        cache,
        run_folder,
        &progress,
    )?;
    progress.say("loading tables");
    rig.load_tables(&order.study)?;
    let header = header::header(order, &mut rig, run_folder)?;
    let mut store = Store::create(&order.record, &header)?;
    for (round, cells) in (1..).zip(&order.plan.rounds) {
        run_round(order, &mut rig, &mut store, &progress, round, cells)?;
    }
    progress.finish();
    store.finish()
}

/// One round: blocks of one mode each, in the plan's order.
fn run_round(
    order: &Order,
    rig: &mut Rig,
    store: &mut Store,
    progress: &Progress,
    round: u32,
    cells: &[usize],
) -> Result<()> {
    rig.network.refresh_floor()?;
    let mut entered = None;
    for &index in cells {
        if stop_asked() {
            return Err(Error::Interrupted);
        }
        let cell = &order.plan.cells[index];
        let mode = &order.study.modes[cell.mode];
        progress.cell(round, order.study.rounds, &mode.label, cell);
        if entered != Some(cell.mode) {
            rig.enter(cell.mode, mode, &cell.distances, IDLE_WATCH)?;
            entered = Some(cell.mode);
        }
        let measurement: Measurement = cell::measure(rig, &order.study, cell, index, round)?;
        store.append(&measurement)?;
        progress.step();
    }
    Ok(())
}
