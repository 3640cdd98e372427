//! How far replicas are behind.

use serde::Serialize;

/// What became of the lag behind a load over all rounds of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LagState {
    /// In every round all replicas kept up.
    Bounded,
    /// In no round they did.
    Grows,
    /// In some rounds they did.
    Undecided,
    /// In some round the writer did not commit what was offered: nothing is said of that rate.
    Overloaded,
}

impl LagState {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            LagState::Bounded => "bounded",
            LagState::Grows => "grows",
            LagState::Undecided => "undecided",
            LagState::Overloaded => "overloaded",
        }
    }
}

/// One replica's lag over all rounds together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LagSummary {
    pub node: String,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub max: Option<f64>,
    /// Samples that are no more than how long a beat was waited for in vain: those lags are longer.
    pub beyond: u64,
    pub samples: u64,
    /// From the end of the load until all was applied: median over rounds; absent where waiting
    /// was given up in half of them or more.
    pub catch_up: Option<f64>,
    /// In so many rounds waiting was given up, after [`crate::record::CATCH_UP_LIMIT_S`].
    pub not_caught_up: u32,
}
