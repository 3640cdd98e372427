//! What stops a mode from committing more each second.

use serde::Serialize;

use super::cell::Per;
use super::estimate::Estimate;
use crate::record::Role;
use crate::study::Thing;

/// One point of a study, and what became of its throughput when one thing after the other was
/// moved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limits {
    /// Of the cell that all others are moved from.
    pub id: String,
    pub label: String,
    pub workload: String,
    pub connections: u32,
    pub client_site: String,
    pub distances: String,
    pub disks: Option<String>,
    /// What is counted: commits, or transactions where the workload only reads.
    pub per: Per,
    pub throughput_per_s: Option<Estimate>,
    /// In the order in which the study has them.
    pub moved: Vec<MovedThing>,
    /// Of the elasticities of all times and capacities, over the rounds that have them all; absent
    /// where one has none.
    pub sum: Option<Estimate>,
    pub first_limit: FirstLimit,
    /// Whether more connections would carry more.
    pub more_connections: bool,
}

impl Limits {
    /// What all times and capacities come to at most, moved by a quarter: where many share the time
    /// evenly each of them makes 0.25 of its share, and 1 is what ln 1.25 makes of it.
    pub const SUM_MAX: f64 = 1.12;
}

/// What moving one thing did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MovedThing {
    /// Of its cell.
    pub id: String,
    pub thing: Thing,
    /// Below 1: how fast it is, over what it was. Above 1: how much of it there is.
    pub speed: f64,
    pub from: f64,
    pub to: f64,
    pub unit: SettingUnit,
    pub throughput_per_s: Option<Estimate>,
    /// Throughput over that of the cell it is moved from, paired by round.
    pub ratio: Option<Estimate>,
    /// The logarithm of that ratio over that of `speed`: 1 where it alone decides, 0 where it does
    /// not matter.
    pub elasticity: Option<Estimate>,
    /// Who used the CPUs that were slower, before they were: the largest share first. Empty of
    /// other things, and where nobody looked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub used_by: Vec<CpuUser>,
}

/// What a setting is told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingUnit {
    /// µs; where it is drawn its median.
    Us,
    BitsPerS,
    BytesPerS,
    PerS,
    /// Of the CPU time that there is, 0 to 1.
    Share,
    Count,
    /// Of several values, all changed by the same factor: what they were is 1.
    Times,
}

/// The part of somebody in CPU time, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CpuUser {
    pub role: Role,
    pub share: f64,
}

/// What is the first limit, by the rule in docs/method/limits.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum FirstLimit {
    /// So many applier threads.
    Appliers { appliers: u32 },
    /// Transactions wait for each other's rows.
    Rows,
    /// A time or a capacity.
    One { thing: Thing },
    /// The largest, and of those that may be larger all the same the one that reaches farthest.
    Alike { larger: Thing, other: Thing },
    /// Nothing of all that was moved.
    NothingMoved,
    /// Intervals are missing, or too wide to tell.
    Undecided,
}
