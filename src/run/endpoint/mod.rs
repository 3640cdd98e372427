//! The other target: somebody else's servers. No sandbox, no lab, one driver.
//!
//! ```text
//! connections, a database of our own at each, a driver  ──>  the same loop as for labs  ──>
//!     every database dropped, however the run ends
//! ```

mod advice;
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

pub use endpoints::{Accesses, PASSWORD_VARIABLE};

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
    cache: &Path,
    events: &dyn Events,
) -> Result<()> {
    let endpoints = Endpoints::visit(&order.study, accesses, cache, events)?;
    run_study(order, schedule, endpoints, events)
}
