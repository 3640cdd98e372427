//! What each mode's commits were worth, fault by fault, and what they cost: plain types.

use std::collections::BTreeMap;

use serde::Serialize;

use super::campaign::CampaignWorth;
use super::disaster::Disaster;
use super::expected::Foretold;
use super::staleness::StaleShare;
use crate::analysis::summary::{Estimate, Value};
use crate::study::faults::Fault;

/// A campaign in one mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModeWorth {
    pub label: String,
    pub server: String,
    pub mode: String,
    pub settings: BTreeMap<String, String>,
    /// What tables call the distances between sites.
    pub distances: String,
    /// Names of its nodes, in the order in which they are numbered.
    pub nodes: Vec<String>,
    #[serde(flatten)]
    pub worth: CampaignWorth,
    /// A control: it must lose, or must not.
    pub is_control: bool,
    /// Which machines it takes, if that is all that it does. No part of the JSON: the schedule says
    /// it there.
    #[serde(skip)]
    pub disaster: Option<Disaster>,
    /// What was to be done: a line for each step.
    pub schedule: Vec<String>,
    /// What was done in each trial, and how clients fared.
    pub courses: Vec<Course>,
    /// What the catalogue foretells of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foretold: Vec<Foretold>,
    /// Where nothing is done to the servers: how fresh reads are, and what they cost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fresh: Vec<FreshReads>,
    /// There too: from a client's COMMIT to its answer, in µs; of each trial the median, with its
    /// interval over trials. It is where a level costs that is the writer's, as AFTER.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_us: Option<Estimate>,
    /// What a single commit costs; absent where none was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Which of the study's modes it is, and what was injected: as data, and no part of the JSON.
    #[serde(skip)]
    pub row: usize,
    #[serde(skip)]
    pub injected: Fault,
}

/// One trial as it went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Course {
    pub seed: u64,
    pub started_unix_ms: u64,
    pub steps: Vec<CourseStep>,
    /// Acknowledgements in each tenth of a second, from the clients' start on.
    pub acknowledged_per_100_ms: Vec<u32>,
    /// Why connections were lost or refused, what else servers refused, and how often.
    pub losses: BTreeMap<String, u64>,
}

/// One step of it, with times in s since the clients' start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CourseStep {
    /// From 1 on.
    pub step: usize,
    pub deed: String,
    pub begun_s: f64,
    pub ended_s: f64,
    /// Nodes that it befell, by name.
    pub nodes: Vec<String>,
    /// What was seen of it; `null`: nothing can be seen of it.
    pub bite: Option<bool>,
    pub seen: String,
    /// Writes to 4 KiB blocks that a power cut took.
    pub dropped_writes: u64,
}

/// How fresh reads are from one place, by one reader, over all trials, and what one costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FreshReads {
    /// Where it stands.
    pub node: String,
    /// The node that it looks at, if that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looks_at: Option<String>,
    /// The statement that it ran before its looks, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Looks that ended well, of which all other figures are, and others.
    pub looks: usize,
    pub failed: usize,
    /// The median time of a look, in µs, with its interval over trials.
    pub look_us: Option<Estimate>,
    /// What it is more than a plain look at the node where it stands, paired by trial; absent of
    /// that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_us: Option<Estimate>,
    /// By age of what had been acknowledged.
    pub classes: Vec<StaleShare>,
}

/// What a paced commit of one client costs where faults were injected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Price {
    /// Label of the mode that it is held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    pub p50_us: Option<f64>,
    /// The median latency less the baseline's, paired by round.
    pub added_us: Option<Estimate>,
    /// How many commits one client makes while it makes one at the baseline: the baseline's median
    /// latency over the mode's, paired by round.
    pub rate_ratio: Option<Estimate>,
    /// On the commit's way.
    pub round_trips: Option<Value>,
}
