//! The short run of a study: fewer rounds, modes and points, shorter windows.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::sweep::Sweep;

/// What a short run changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quick {
    pub rounds: u32,
    pub warmup: Duration,
    pub measure: Duration,
    /// Of each fault; no more than the whole run has.
    #[serde(default)]
    pub trials: u32,
    /// Labels of the modes that remain.
    pub modes: Vec<String>,
    /// In place of the study's own.
    pub sweeps: Vec<Sweep>,
}
