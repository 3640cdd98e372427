//! A run while it goes on, as people see it.
//!
//! ```text
//! a run ────> events ──┐                     ┌──> lines, frames of a terminal
//!                      ├──> Live: a state ───┤
//! a record ─> events ──┘    that can be sent └──> a page, by whoever serves it
//! ```
//!
//! - `state`: what is known, folded from events; `ahead`: steps, and the time that is left
//! - `preview`: the first rows of a study; `words`: what an event is worth in a line
//! - `frame`: what a terminal shows; `recorded`: the events that a growing record tells

mod ahead;
mod frame;
mod preview;
mod recorded;
mod state;
mod words;

pub use ahead::Ahead;
pub use frame::{draw, lags};
pub use recorded::Recorded;
pub use state::{Live, NodeLag, Row, Trial, ends_by_itself};
pub use words::{line, minutes_and_seconds};

#[cfg(test)]
mod tests;
