//! From a study of somebody else's servers to its record: no sandbox, no lab, one driver.
//!
//! ```text
//! Party: connections, a database of our own at each, a driver  ──>  tables loaded  ──>
//!     round by round, cell by cell: handshakes · warm up · measure · lag · catch up · handshakes
//!     ──>  every database dropped, however the run ends
//! ```

mod advice;
mod cell;
mod header;
mod party;

use std::path::Path;

use super::{Order, Progress};
use crate::error::{Error, Result};
use crate::lab::endpoint::Access;
use crate::lab::sandbox::stop_asked;
use crate::plan;
use crate::record::store::Store;

pub use party::PASSWORD_VARIABLE;
use party::Party;

/// How one gets in at each mode of a study: the writer first, then its replicas.
pub type Accesses = Vec<Vec<Access>>;

/// Runs the whole study from where it stands. Every finished cell is in the record, whatever
/// happens later; of what was made at the endpoints nothing is left.
///
/// # Errors
/// Mistakes that only the endpoints know of, a breakdown, [`Error::Interrupted`] if the user asked
/// to stop. Also a breakdown if a database could not be dropped.
pub fn run(order: &Order, accesses: &Accesses, cache: &Path) -> Result<()> {
    let progress = Progress::new(plan::steps(&order.study, &order.plan));
    let mut party = Party::gather(&order.study, accesses, cache, &progress)?;
    let outcome = course(order, &mut party, cache, &progress);
    if outcome.is_ok() {
        progress.finish();
    }
    let dropped = party.leave();
    match (outcome, dropped) {
        (Err(error), Err(left)) => {
            eprintln!("acklab: {left}");
            Err(error)
        }
        (outcome, dropped) => outcome.and(dropped),
    }
}

fn course(order: &Order, party: &mut Party, cache: &Path, progress: &Progress) -> Result<()> {
    progress.say("loading tables");
    party.load_tables(&order.study)?;
    let header = header::header(order, party, cache)?;
    for said in header.endpoints.iter().flat_map(|facts| &facts.advice) {
        progress.say(&format!("advice: {said}"));
    }
    let mut store = Store::create(&order.record, &header)?;
    for (round, cells) in (1..).zip(&order.plan.rounds) {
        for &index in cells {
            if stop_asked() {
                return Err(Error::Interrupted);
            }
            let cell = &order.plan.cells[index];
            let label = &order.study.modes[cell.mode].label;
            progress.cell(round, order.study.rounds, label, cell);
            let measurement = cell::measure(party, &order.study, cell, index, round)?;
            store.append(&measurement)?;
            progress.step();
        }
    }
    store.finish()
}
