//! What can be said of a record: plain types. Written as JSON they are a stable interface;
//! docs/record.md documents every key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::interval::Estimate;
use crate::record::{Flag, Host, ServerFacts};

/// Everything that a report prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Measurements kept, and those a finished run has.
    pub measurements: usize,
    pub measurements_asked: usize,
    pub warmup_s: f64,
    pub measure_s: f64,
    /// The writer stands in the first.
    pub sites: Vec<String>,
    pub rtt_us_within_site: f64,
    pub tls: bool,
    pub host: Host,
    pub servers: Vec<ServerFacts>,
    pub labs: Vec<LabSummary>,
    /// Server variables that decide what a commit costs: name → value → where it was so.
    pub terms: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    pub remarks: Vec<String>,
    pub cells: Vec<CellSummary>,
    pub anatomy: Vec<Anatomy>,
}

/// One lab of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabSummary {
    pub family: String,
    pub ready_s: f64,
    pub overridden: Vec<Overridden>,
}

/// A setting of the user's that the lab had to override.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overridden {
    pub name: String,
    pub given: String,
    pub used: String,
}

/// What a figure "per commit" is divided by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// Transactions that changed a row.
    #[default]
    Commit,
    /// All transactions that ended well: the workload only reads.
    Transaction,
}

/// One cell over all its rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CellSummary {
    pub id: String,
    /// The row's name in tables.
    pub label: String,
    pub server: String,
    pub mode: String,
    pub settings: BTreeMap<String, String>,
    /// Label of the row that `ratio` is taken against.
    pub baseline: Option<String>,
    /// What a peer holds when the client is told "done".
    pub peer_at_ack: String,
    pub client_site: String,
    pub workload: String,
    pub connections: u32,
    /// What tables call the distances.
    pub distances: String,
    /// Between sites; absent where the pairs of sites were asked to differ.
    pub rtt_us_asked: Option<f64>,
    pub rtt_us_got: Option<f64>,
    pub rtts_us: Vec<PairOfSites>,
    /// Rounds that the figures rest on, and rounds left out because links were late.
    pub rounds: u32,
    pub rounds_void: u32,
    pub per: Per,
    /// Commits, or transactions where the workload only reads.
    pub throughput_per_s: Option<Estimate>,
    /// Transactions that ended well and changed no row.
    pub unchanged_per_s: Option<f64>,
    /// Throughput over the baseline's, paired by round.
    pub ratio: Option<Estimate>,
    /// Whether the ratio's interval leaves 1 out; absent without an interval.
    pub difference_shown: Option<bool>,
    pub latency_us: Percentiles,
    pub cpu_us_per_commit: CpuPerCommit,
    /// Of the idle lab's servers, by node.
    pub cpu_us_per_s_idle: BTreeMap<String, f64>,
    pub bytes_per_commit: Traffic,
    pub packets_per_commit: Traffic,
    pub lag_ms: Vec<LagSummary>,
    /// Where commit time went, as far as the server told: µs per commit.
    pub commit_time_us: BTreeMap<String, f64>,
    /// Changes of the servers' own counters of conflicts, fall-backs and flow control, summed over
    /// nodes and rounds.
    pub server_counters: BTreeMap<String, f64>,
    /// Seconds to run all queries, for mysqlslap's loads.
    pub run_s: Option<Estimate>,
    /// The part of `run_s` spent connecting, 0 to 1.
    pub connect_share: Option<f64>,
    /// Median over rounds, 0 to 1, stolen time included.
    pub host_busy: Option<f64>,
    /// Errors over all rounds, by the server's code.
    pub errors: BTreeMap<String, u64>,
    pub flags: Vec<FlagCount>,
}

/// Round-trip time between two sites: median over rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairOfSites {
    pub from_site: String,
    pub to_site: String,
    pub asked: f64,
    pub got: Option<f64>,
}

/// Percentiles over all rounds together; absent with fewer than ten samples beyond.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
    pub samples: u64,
}

/// Medians over rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuPerCommit {
    pub writer: Option<f64>,
    pub replicas: Vec<ReplicaCpu>,
    pub client: Option<f64>,
    pub links: Option<f64>,
    pub links_spin: Option<f64>,
}

/// One replica's share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplicaCpu {
    pub node: String,
    pub cpu_us: f64,
}

/// Medians over rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Between client and servers, both directions.
    pub client: Option<f64>,
    /// Between servers, both directions.
    pub replication: Option<f64>,
}

/// One replica's lag over all rounds together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LagSummary {
    pub node: String,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub max: Option<f64>,
    pub samples: u64,
    /// From the end of the load until all was applied: median over rounds.
    pub catch_up: Option<f64>,
}

/// In how many rounds a doubt arose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlagCount {
    pub flag: Flag,
    pub rounds: u32,
    pub of: u32,
}

/// What a mode's commit consists of: `latency = work + round trips · RTT`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Anatomy {
    pub label: String,
    pub server: String,
    pub mode: String,
    pub settings: BTreeMap<String, String>,
    pub client_site: String,
    pub workload: String,
    /// Equal distances that the line was drawn through, and rounds that had three of them.
    pub distances: u32,
    pub rounds: u32,
    pub round_trips: Option<Value>,
    /// The line's latency at no distance.
    pub work_us: Option<Value>,
    pub lack_of_fit: Option<LackOfFit>,
    /// With unequal distances: round trips by the site of the peer.
    pub per_peer: Option<BTreeMap<String, Value>>,
    /// `nearest`, `farthest`, `both`, `nobody`, `undecided`, or the site waited for.
    pub waits_for: Option<String>,
    /// Doubts about its measurements, void ones included.
    pub flags: Vec<FlagCount>,
}

/// A fitted figure with its interval over rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Value {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl From<Estimate> for Value {
    fn from(estimate: Estimate) -> Self {
        Value {
            value: estimate.median,
            low: estimate.low,
            high: estimate.high,
        }
    }
}

/// How far the medians stray from the line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LackOfFit {
    /// Largest distance of a median, averaged over rounds, from the line.
    pub residual_us_max: f64,
    /// The same, as a share of the line's latency there.
    pub share: f64,
    /// Chance of straying as far by noise alone if the line were true: an F test against the
    /// scatter between rounds. Absent with one round.
    pub p: Option<f64>,
}
