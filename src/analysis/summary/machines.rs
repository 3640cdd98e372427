//! What each of several machines came to, and what all of them together say of others.

use serde::{Serialize, Serializer};

use super::estimate::Estimate;
use crate::plan::PartOf;
use crate::record::Host;

/// All machines of a record, and the figures that have an interval over rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machines {
    pub machines: Vec<Machine>,
    /// Rounds that one machine began and another ended: they are held against no machine.
    pub rounds_split: Vec<u32>,
    pub figures: Vec<MachineFigure>,
}

/// One machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    /// From 1 on.
    pub number: u32,
    pub host: Host,
    /// Parts that were begun there; none of a record that was not merged.
    pub parts: Vec<PartOf>,
    /// Rounds that it measured, whole or not.
    pub rounds: Vec<u32>,
    /// How many trials of faults it ran.
    #[serde(skip_serializing_if = "is_zero")]
    pub trials: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A figure, machine by machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineFigure {
    pub of: Of,
    pub what: What,
    /// Of each machine the median over its rounds; absent where it has none.
    pub by_machine: Vec<Option<f64>>,
    /// What a typical machine gives; absent where fewer than five have one.
    pub over_machines: Option<Estimate>,
    /// The chance of machines that are alike to stray so far, by their rounds; absent where fewer
    /// than two machines have two rounds of it.
    pub chance_if_alike: Option<f64>,
    /// Whether they differ, as one of all figures; absent where nobody can tell.
    pub differ: Option<bool>,
}

/// What a figure is of: an index in the summary's list of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    Cells(usize),
    Anatomy(usize),
    Effects(usize),
}

/// Which figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Throughput,
    Applied,
    AppliedShare,
    AppliedAlone,
    Unevenness,
    UsdPerMillionQueries,
    Ratio,
    CpuRatio,
    Added,
    RunSeconds,
    P50,
    P99,
    RoundTrips,
    Flushes,
    Work,
    FlushesCounted,
    /// By the site of the peer, or of the disks.
    TripsTo(String),
    FlushesAt(String),
    /// What a point adds beyond the sum: its index in `adds`.
    BeyondSum(usize),
    /// Letters of its variables.
    Effect(String),
}

impl What {
    /// As JSON has it: as the figure itself is called there.
    pub fn key(&self) -> String {
        let word = match self {
            What::Throughput => "throughput_per_s",
            What::Applied => "applied_per_s",
            What::AppliedShare => "applied_share",
            What::AppliedAlone => "applied_alone_per_s",
            What::Unevenness => "unevenness",
            What::UsdPerMillionQueries => "usd_per_million_queries",
            What::Ratio => "ratio",
            What::CpuRatio => "cpu_ratio",
            What::Added => "added_us",
            What::RunSeconds => "run_s",
            What::P50 => "p50_us",
            What::P99 => "p99_us",
            What::RoundTrips => "round_trips",
            What::Flushes => "flushes",
            What::Work => "work_us",
            What::FlushesCounted => "flushes_counted",
            What::TripsTo(site) => return format!("per_peer.{site}"),
            What::FlushesAt(site) => return format!("flushes_by_site.{site}"),
            What::BeyondSum(index) => return format!("adds.{index}.difference_us"),
            What::Effect(letters) => return format!("effect.{letters}"),
        };
        word.to_owned()
    }
}

impl Serialize for What {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.key())
    }
}
