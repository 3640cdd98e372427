//! The other target: somebody else's servers. No sandbox and no lab; one driver here, or many that
//! have joined from elsewhere.
//!
//! ```text
//! drivers, connections, a database of our own at each  ──>  the same loop as for labs  ──>
//!     every database dropped, however the run ends
//! ```

mod advice;
mod drivers;
mod endpoints;
mod header;
mod target;

use std::path::Path;

use super::events::Events;
use super::order::Order;
use super::study_run::run_study;
use crate::error::Result;
use crate::plan::Schedule;
use endpoints::Endpoints;

pub use drivers::{Drivers, PASSWORD_VARIABLE};
pub use endpoints::Accesses;

/// Runs the whole study from where it stands. Every finished cell is in the record, whatever
/// happens later; of what was made at the endpoints nothing is left.
///
/// # Errors
/// Mistakes that only the endpoints know of, a breakdown, [`Error::Interrupted`] if the user asked
/// to stop. Also a breakdown if a database could not be dropped.
///
/// [`Error::Interrupted`]: crate::error::Error::Interrupted
pub fn run(
    (order, schedule): (&Order, &mut dyn Schedule),
    accesses: &Accesses,
    (cache, mut drivers): (&Path, Drivers),
    events: &dyn Events,
) -> Result<()> {
    // Drivers may keep us waiting: nothing is made at the endpoints before.
    drivers.gather(events)?;
    let endpoints = Endpoints::visit(&order.study, accesses, (cache, drivers), events)?;
    run_study(order, schedule, endpoints, events)
}
