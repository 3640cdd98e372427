//! A pack: a record with all that is needed to look at it and to run it again, as one file that can
//! be given to others. No secret is in it.
//!
//! ```text
//! record ──scrub──> copy of the record ──> study, settings, histograms, logs, reports ──> zip
//! ```
//!
//! - `write`: what goes into a pack; everything in it is made from the scrubbed copy of the record
//! - `scrub`: takes out of texts what is nobody else's; `marks`: what stands in its place
//! - `secret`, `home`: where in a text such things are
//! - `reports`: what the record says; `hlog`: histograms as the tools of HdrHistogram read them
//! - `readme`: what is in it, in words
//! - `manifest`: digests of all files; `open`: the record of a pack that is whole
//! - `again`: the study of a record, to be run once more

pub mod again;
mod file;
mod hlog;
mod home;
mod manifest;
mod marks;
mod open;
mod readme;
mod reports;
mod scrub;
mod secret;
mod write;

pub use open::{is_pack, take_out};
pub use scrub::{Known, Scrubber};
pub use write::{Packed, write};

/// The record of a pack.
const RECORD: &str = "record.acklab";
