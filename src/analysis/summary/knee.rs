//! The highest rates that keep a limit of latency.

use serde::Serialize;

use super::estimate::Estimate;
use crate::plan::Point;

/// A mode's knee: the highest rate at which the 99th percentile keeps a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Knee {
    pub label: String,
    /// Without the rate.
    pub workload: String,
    pub connections: u32,
    pub client_site: String,
    pub distances: String,
    pub disks: Option<String>,
    /// The limit.
    pub p99_us_max: f64,
    /// Over the rounds that found it, in transactions per second; absent where none did. Without an
    /// interval where the knee of another round lay beyond what could be offered.
    pub knee_per_s: Option<Estimate>,
    /// Every round in which it was searched for.
    pub rounds: Vec<RoundKnee>,
    /// The point of its search; no part of the JSON, which has its values by name.
    #[serde(skip)]
    pub point: Point,
}

/// What one round's search came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundKnee {
    pub round: u32,
    pub end: KneeEnd,
    /// The highest rate that kept the limit, and the lowest that broke it, with the percentile
    /// there.
    pub kept: Option<KneeRate>,
    pub broke: Option<KneeRate>,
    /// How many measurements it made.
    pub measurements: u32,
}

/// A rate that was offered, and what came of it when it was last measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KneeRate {
    pub offered_per_s: u32,
    /// Absent where nothing ended; of what had not ended in the window only so much is known.
    pub p99_us: Option<f64>,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KneeEnd {
    /// One rate keeps the limit, and the next one breaks it.
    Found,
    /// The lowest rate that is offered breaks it.
    Below,
    /// The highest rate that is offered keeps it.
    Above,
    /// At the rate that broke it the driver was short of CPU.
    DriverFull,
    /// It was cut short, or too many of its measurements were void.
    Open,
}
