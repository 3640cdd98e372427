//! Offered rates, and up to which of them replicas keep up.

use serde::Serialize;

use super::estimate::Estimate;
use super::lag::LagState;
use crate::plan::Point;

/// The rungs of one mode, and how far up its replicas keep up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ladder {
    pub label: String,
    /// Without the rate.
    pub workload: String,
    pub connections: u32,
    pub client_site: String,
    pub distances: String,
    pub disks: Option<String>,
    /// Those measured, from the lowest rate on.
    pub rungs: Vec<Rung>,
    /// The highest offered rate at which lag stays bounded, as it does at all lower ones.
    pub bounded_up_to_per_s: Option<u32>,
    /// The rung above it, if that is counted.
    pub beyond_per_s: Option<u32>,
    pub reach: Reach,
    /// The point of its first rung; no part of the JSON, which has its values by name.
    #[serde(skip)]
    pub point: Point,
}

/// One offered rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rung {
    pub offered_per_s: u32,
    pub committed_per_s: Option<Estimate>,
    pub lag: LagState,
}

/// How far up lag stays bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// At all rates that are counted: the limit lies higher.
    All,
    /// Up to one of them.
    Some,
    /// At none of those offered: the limit lies lower.
    None,
    /// The rounds of the lowest rate disagree.
    Undecided,
    /// Not even the lowest offered rate was committed.
    NothingCounted,
}

impl Reach {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Reach::All => "all",
            Reach::Some => "some",
            Reach::None => "none of those offered",
            Reach::Undecided => "undecided",
            Reach::NothingCounted => "none was committed",
        }
    }
}
