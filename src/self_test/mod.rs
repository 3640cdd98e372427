//! The lab tests itself: what is known beforehand is measured, and must come out.
//!
//! A part is a row of checks against a truth that the part itself sets up. What does not reach its
//! figure is told with the figure it reaches; no bound is loosened. Outcomes are kept in the cache
//! and stand in every record made on this host.

mod chance;
mod driver;
mod kept;
mod knee;
mod limits;
pub mod null_server;
mod open_loop;
mod probe;
mod same;
mod slowdown;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::Result;
use crate::record::self_test::{Check, Part};

pub use kept::{keep, kept};
pub use probe::Parts;
use probe::Telling;

/// One part of the self-test.
pub struct Kind {
    pub name: &'static str,
    /// What it asks, for people.
    pub title: &'static str,
    /// How long it takes, in short and whole.
    pub takes: [Duration; 2],
    run: fn(&mut Parts, &mut Telling, bool) -> Result<Vec<Check>>,
}

/// All parts, in the order in which they run.
pub const KINDS: [Kind; 6] = [
    Kind {
        name: "driver",
        title: "does the driver measure what a server takes",
        takes: [Duration::from_secs(40), Duration::from_secs(110)],
        run: driver::run,
    },
    Kind {
        name: "open-loop",
        title: "does an offered rate show what a stall and a queue do to latency",
        takes: [Duration::from_secs(75), Duration::from_secs(250)],
        run: open_loop::run,
    },
    Kind {
        name: "knee",
        title: "does the search for a knee find one that is known",
        takes: [Duration::from_secs(60), Duration::from_secs(2_000)],
        run: knee::run,
    },
    Kind {
        name: "same",
        title: "how often does a mode seem to differ from itself",
        takes: [Duration::from_secs(115), Duration::from_secs(1_800)],
        run: same::run,
    },
    Kind {
        name: "slowdown",
        title: "is a slowdown of known size found, and told as large as it is",
        takes: [Duration::from_secs(90), Duration::from_secs(1_650)],
        run: slowdown::run,
    },
    Kind {
        name: "limits",
        title: "is the first limit of a study named where it is known",
        takes: [Duration::from_secs(75), Duration::from_secs(1_600)],
        run: limits::run,
    },
];

/// Runs a part, and tells each check as it ends.
///
/// # Errors
/// A breakdown if something of it cannot be started; [`Error::Interrupted`].
///
/// [`Error::Interrupted`]: crate::error::Error::Interrupted
pub fn run(kind: &Kind, is_quick: bool, parts: &mut Parts, tell: &mut Telling) -> Result<Part> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let checks = (kind.run)(parts, tell, is_quick)?;
    Ok(Part {
        name: kind.name.to_owned(),
        started_unix_ms: since.map_or(0, |since| since.as_millis() as u64),
        is_quick,
        acklab_version: env!("CARGO_PKG_VERSION").to_owned(),
        checks,
    })
}

#[cfg(test)]
mod tests;
