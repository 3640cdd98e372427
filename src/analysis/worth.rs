//! What a commit is worth: trials judged by what clients were told and what was promised them.
//!
//! - `promised`: terms, promises and their reasons, as plain types; `promise` finds what is given
//! - `judged`, `verdict`: what came of a trial, as plain types
//! - `judge`: from a trial to that. It counts in `tally` with what `sight` finds; `forks` and
//!   `reach` look at times; `naive` counts again in another way, and has to agree
//! - `service`: how long nobody was served; `staleness`: how far readers were behind
//! - `campaign`: trials of one fault together; `control`: whether a control came to what it must
//! - `record`: all campaigns of a record, as `modes` has them: with what was foretold (`expected`),
//!   how fresh reads are and what they cost (`fresh_reads`), what commits cost (`price`)
//! - `disaster`: which machines a fault takes; `lost`: each commit that was lost, and its history

pub mod campaign;
mod control;
mod disaster;
mod expected;
mod forks;
mod fresh_reads;
mod judge;
mod judged;
mod lost;
mod modes;
mod naive;
mod price;
mod promise;
mod promised;
mod reach;
mod record;
mod service;
mod sight;
mod staleness;
mod tally;
mod verdict;

pub use control::Came;
pub use disaster::Disaster;
pub use expected::Foretold;
pub use judge::judge;
pub use judged::{Counts, Judged};
pub use lost::{LostCommit, LostInTrial, losses};
pub use modes::{Course, CourseStep, FreshReads, ModeWorth, Price};
pub use naive::agrees;
pub use promise::promise;
pub use promised::{Exempt, Promise, PromiseTerms, Reason};
pub use record::of_record;
pub use service::{Service, acknowledged_per};
pub use staleness::{AGES_MS, ReaderStaleness, Share, StaleShare, staleness};
pub use verdict::{Doubt, Verdict, Weight};

#[cfg(test)]
pub use record::tests::example;
#[cfg(test)]
mod tests;
