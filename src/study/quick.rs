//! The short run of a study: fewer rounds, modes and points, shorter windows.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Study, Sweep};

/// What a short run changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quick {
    pub rounds: u32,
    pub warmup: Duration,
    pub measure: Duration,
    pub power_cuts: u32,
    /// Labels of the modes that remain.
    pub modes: Vec<String>,
    /// In place of the study's own.
    pub sweeps: Vec<Sweep>,
}

impl Study {
    /// The short run; `None` if the study has none.
    pub fn shortened(mut self) -> Option<Study> {
        let quick = *self.quick.take()?;
        self.modes.retain(|spec| quick.modes.contains(&spec.label));
        let is_left = |sweep: &Sweep| self.modes.iter().any(|spec| sweep.has_mode(&spec.label));
        Some(Study {
            rounds: quick.rounds,
            warmup: quick.warmup,
            measure: quick.measure,
            power_cuts: quick.power_cuts,
            sweeps: quick.sweeps.into_iter().filter(is_left).collect(),
            is_quick: true,
            ..self
        })
    }
}
