//! What the lab's test of itself came to on the host of a record.

use serde::{Deserialize, Serialize};

/// One part, run once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub name: String,
    pub started_unix_ms: u64,
    /// In short.
    pub is_quick: bool,
    pub acklab_version: String,
    pub checks: Vec<Check>,
}

/// Something that is known beforehand, and what was measured of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub what: String,
    /// In words, with the bound.
    pub must_hold: String,
    pub reached: String,
    pub holds: bool,
}
