//! What can be said of a record: plain types, which import none of those that make them. Written as
//! JSON they are a stable interface; docs/record.md documents every key.

mod after;
mod against;
mod anatomy;
mod cell;
pub mod claims;
mod contention;
mod dips;
mod effects;
mod estimate;
mod knee;
mod ladder;
mod lag;
mod limits;
mod machines;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::worth::ModeWorth;
use crate::record::self_test::Part;
use crate::record::{EndpointFacts, Host, Resumed, ServerFacts};

pub use after::{AfterLoad, Doing, HandshakeSummary};
pub use against::{AddedAt, Against, ModeAgainst};
pub use anatomy::{
    Adds, Anatomy, Beside, Counted, Halves, LackOfFit, Shape, Source, Sum, WaitsFor,
};
pub use cell::{
    AtLeast, ByRole, ByRound, CellSummary, CpuPerCommit, DroppedByLinks, Extremes, FlagCount,
    PairOfSites, Per, Percentiles, ReplicaCpu, Traffic, VoidMeasurement, WithVoid,
};
use claims::{Article, Claim};
pub use contention::Contention;
pub use dips::Dips;
pub use effects::{Effect, Effects, Factor};
pub use estimate::{Estimate, Value};
pub use knee::{Knee, KneeEnd, KneeRate, RoundKnee};
pub use ladder::{Ladder, Reach, Rung};
pub use lag::{LagState, LagSummary};
pub use limits::{CpuUser, FirstLimit, Limits, MovedThing, SettingUnit};
pub use machines::{Machine, MachineFigure, Machines, Of, What};

pub use crate::plan::{Axis, PartOf, Point, Rest, own_numbers};

/// Everything that a report prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub study: String,
    pub title: String,
    pub seed: u64,
    pub command_line: Vec<String>,
    pub acklab_version: String,
    pub started_unix_ms: u64,
    /// Whether the run went through to its end.
    pub finished: bool,
    pub rounds_asked: u32,
    /// Rounds in which anything was measured.
    pub rounds_measured: u32,
    /// What of these rounds the record is to hold; absent where it is all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<PartOf>,
    /// The share that figures were to be narrower than for their rounds to end; absent where rounds
    /// do not end by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    /// Each time that the run was stopped and gone on with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
    /// What the lab's test of itself came to on this host; absent in an older record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_test: Option<Vec<Part>>,
    /// How long the run was to take at most; absent where that was not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    /// Measurements kept, and those a finished run has.
    pub measurements: usize,
    pub measurements_asked: usize,
    /// How many disturbed ones were made again and left out.
    pub measurements_made_again: u32,
    pub warmup_s: f64,
    pub measure_s: f64,
    /// The writer stands in the first.
    pub sites: Vec<String>,
    pub rtt_us_within_site: f64,
    pub tls: bool,
    /// The study's short run.
    pub is_quick: bool,
    pub host: Host,
    pub servers: Vec<ServerFacts>,
    pub labs: Vec<LabSummary>,
    /// Server variables that decide what a commit costs: name → value → where it was so.
    pub terms: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    pub remarks: Vec<String>,
    /// Servers that somebody else runs; absent in a study of labs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointFacts>,
    /// With a row that the user holds all others against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
    pub cells: Vec<CellSummary>,
    pub anatomy: Vec<Anatomy>,
    /// Name of the record whose figures stand beside those of `anatomy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// What each variable of a screening design does, alone and with others.
    pub effects: Vec<Effects>,
    /// Up to which offered rate replicas keep up; absent where no rate was offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ladders: Vec<Ladder>,
    /// Up to which rate each mode keeps a limit of latency; absent where none was searched for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub knees: Vec<Knee>,
    /// What stops each mode from committing more; absent where nothing was moved to find it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limits>,
    /// What was left of acknowledged commits after faults, and what they cost; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worth: Vec<ModeWorth>,
    /// What each machine came to; absent where one has measured all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<Machines>,
    /// The article whose question the study asks again, and its claims.
    pub article: Option<Article>,
    pub claims: Vec<Claim>,
}

/// One lab of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabSummary {
    pub family: String,
    /// Labels of the modes that it serves.
    pub modes: Vec<String>,
    pub ready_s: f64,
    pub overridden: Vec<Overridden>,
}

/// A setting of the user's that the lab had to override.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overridden {
    pub name: String,
    pub given: String,
    pub used: String,
}
