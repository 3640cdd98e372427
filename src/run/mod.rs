//! From a study to its record. Read this page first.
//!
//! ```text
//! target: labs, endpoints  ──>  tables loaded  ──>  turn by turn, as the schedule asks:
//!     enter the mode · set the distances · start its front · disks · probe · slow CPUs · warm up ·
//!     measure · lag · catch up · watch after · probe  ──>  one measurement in the record
//! ```
//!
//! [`study_run`] has the loop, [`measure`] the steps of one measurement, [`target`] what a target
//! can do, [`campaign`] how faults are injected. What happens is told as [`Event`]s; nothing is
//! printed here. An [`Order`] may be a part of a [`Whole`], whose labs stand one after the other.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod activity;
mod again;
mod campaign;
pub mod cpus;
mod disks;
mod elsewhere;
pub mod endpoint;
mod events;
pub mod fronts;
mod header;
mod keeper;
mod lab;
mod measure;
mod order;
mod rig;
mod schemas;
mod settled;
mod slowed;
mod study_run;
mod target;
mod whole;
mod window;

use crate::error::Result;
use crate::lab::servers::Cache;
use crate::plan::Schedule;
use lab::Labs;
use study_run::run_study;

pub use elsewhere::whole_rounds;
pub use events::{Event, Events, Injected, Step};
pub use order::Order;
pub use rig::Rig;
pub use whole::{Whole, trials};

/// Runs the whole study inside the sandbox. Every finished cell is in the record, whatever
/// happens later.
///
/// # Errors
/// A breakdown of the lab; [`Error::Interrupted`] if the user asked to stop.
///
/// [`Error::Interrupted`]: crate::error::Error::Interrupted
pub fn run(
    (order, schedule): (&Order, &mut dyn Schedule),
    cache: &Cache,
    run_folder: &std::path::Path,
    events: &dyn Events,
) -> Result<()> {
    let labs = Labs::form(&order.study, cache, run_folder, events)?;
    run_study(order, schedule, labs, events)
}

#[cfg(test)]
mod tests;
