//! What a commit would take at other distances, on other disks, on machines of its own: foretold
//! from a record, with an interval that the record's own cells have kept. Pure, like analysis: no
//! server, no file. docs/method/prediction.md tells how, and how far to trust it.
//!
//! - `facts`: what each cell came to; `line`: single commits; `crowd`: what several connections
//!   tell; `tail`: the slowest; `rows`: all of it for each mode
//! - `coefficients`: plain numbers; `network`: clients that queue; `evaluate`: what the numbers say
//!   of a place
//! - `left_out`: each cell foretold by the others; `second`: another record; `measured`: inside
//!   what was measured, or how far outside; `refusal`: records that tell nothing
//! - `foretell`: a record's whole model

mod at;
mod coefficients;
mod crowd;
mod evaluate;
mod facts;
mod foretell;
mod left_out;
mod line;
mod measured;
mod network;
mod refusal;
mod rows;
mod second;
mod tail;

pub use at::{At, Cpus};
pub use coefficients::{Appliers, AtConnections, Coefficients, Demand, Pipeline, Several, Single};
pub use evaluate::{CONNECTIONS_MAX, Foretold, Limit, Most, NEARLY, Span, evaluate};
pub use foretell::{Interval, Lacking, ModeForetold, Model, Prediction, Slopes};
pub use left_out::{Errors, Held, KEPT, LeftOut, TRUSTED, Trust};
pub use line::Lack;
pub use measured::{Beside, Place, Ranges, What};
pub use refusal::Refusal;
pub use second::{Checked, Kept};
pub use tail::P99_COMMITS;

#[cfg(test)]
mod tests;
