//! One cell over all its rounds.

use std::collections::BTreeMap;

use serde::Serialize;

use super::after::{AfterLoad, HandshakeSummary};
use super::contention::Contention;
use super::dips::Dips;
use super::estimate::Estimate;
use super::lag::{LagState, LagSummary};
use crate::plan::Point;
use crate::record::Flag;
use crate::record::server_errors::ServerErrors;
use crate::study::{CpuSpeed, Moved};

/// What a figure "per commit" is divided by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// Transactions that changed a row.
    #[default]
    Commit,
    /// All transactions that ended well: the workload only reads.
    Transaction,
}

/// One cell over all its rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
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
    /// Transactions offered each second over all connections; absent in a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<u32>,
    /// From the end of a connection's transaction to the beginning of its next; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace_us: Option<f64>,
    /// What tables call the distances.
    pub distances: String,
    /// What tables call the disks, where they are emulated.
    pub disks: Option<String>,
    /// Length of the measured window as asked.
    pub measure_s: f64,
    /// How long servers and disks were to be watched after the load; absent where they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_after_s: Option<f64>,
    /// Whether replicas' appliers rest under load, to apply after it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub applied_after: bool,
    /// How fast the CPUs of each part were to be, and were, as shares of what the host gives:
    /// medians over rounds; absent where all were as the host gives them.
    #[serde(skip_serializing_if = "CpuSpeed::is_full")]
    pub cpu_speed: CpuSpeed,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_speed_got: Option<CpuSpeed>,
    /// Over so many schemas with the same tables the load is spread; absent for one.
    #[serde(skip_serializing_if = "is_at_most_one")]
    pub schemas: u32,
    /// What it has otherwise than the last cell before it that is not moved; absent where it is
    /// not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<Moved>,
    /// Between sites; absent where the pairs of sites were asked to differ.
    pub rtt_us_asked: Option<f64>,
    pub rtt_us_got: Option<f64>,
    pub rtts_us: Vec<PairOfSites>,
    /// Added to each flush of the writer's disk; the median where it is drawn.
    pub flush_us_asked: Option<f64>,
    /// A direct write and its flush on that disk's mounted volume, and what of it was so without
    /// any flush time.
    pub flush_us_got: Option<f64>,
    pub flush_us_floor: Option<f64>,
    /// Rounds that the study asks for.
    #[serde(skip)]
    pub rounds_asked: u32,
    /// Rounds that the figures rest on, and rounds left out because links were late.
    pub rounds: u32,
    pub rounds_void: u32,
    /// Measurements that the figures rest on: more than rounds where the cell was measured several
    /// times in each.
    pub measurements: u32,
    /// What the main figures are with the measurements that are left out; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_void: Option<WithVoid>,
    pub per: Per,
    /// Commits, or transactions where the workload only reads.
    pub throughput_per_s: Option<Estimate>,
    /// What the replica farthest behind applied in the window, by the servers' own counters; where
    /// they do not tell, while the load ran and until it had caught up. Absent where there is none.
    pub applied_per_s: Option<Estimate>,
    /// What that replica changed in the window over what the writer changed, by the servers' own
    /// counters; absent where there is none, and where they do not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_share: Option<Estimate>,
    /// Where replicas' appliers rest under load: what the slowest replica applies when it has the
    /// machine to itself then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_alone_per_s: Option<Estimate>,
    /// CPU time of a replica's server for each of these: median over rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_alone_cpu_us: Option<f64>,
    /// Whether it keeps up, as far as can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_state: Option<LagState>,
    /// Standard deviation of the rates of single seconds over their mean; absent with fewer than
    /// eight seconds after the warm-up.
    pub unevenness: Option<Estimate>,
    /// Spans in which the rate fell; absent with fewer than 30 seconds.
    pub dips: Option<Dips>,
    /// Where the study gives the mode's price.
    pub usd_per_million_queries: Option<Estimate>,
    /// Transactions that ended well and changed no row.
    pub unchanged_per_s: Option<f64>,
    /// The median latency less the baseline's, in µs, paired by round.
    #[serde(default)]
    pub added_us: Option<Estimate>,
    /// Throughput over the baseline's, paired by round.
    pub ratio: Option<Estimate>,
    /// Whether the ratio's interval leaves 1 out; absent without an interval.
    pub difference_shown: Option<bool>,
    /// Whether the ratio's interval lies within the share of 1 that was asked for; at a pace or an
    /// offered rate that of the median latency over the baseline's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_alike: bool,
    /// The share by which the ratio would have to differ from 1 for four of five such runs to show
    /// it; absent without an interval, and at a pace or an offered rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_shown: Option<f64>,
    /// The same of what is added, at a pace or an offered rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_added_us: Option<f64>,
    /// Whether this cell, or the baseline's, waited for the host's CPUs so much that the ratio is
    /// no price of the mode.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_ratio_shared: bool,
    /// CPU time of all for each commit over the baseline's, paired by round; absent where
    /// contention is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ratio: Option<Estimate>,
    pub latency_us: Percentiles,
    /// The 99th percentile with its interval over rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<Estimate>,
    pub cpu_us_per_commit: CpuPerCommit,
    /// Of the idle lab's servers, by node.
    pub cpu_us_per_s_idle: BTreeMap<String, f64>,
    /// For how long each was watched for that; absent in an older record, where it was 0.3 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_watched_s: Option<f64>,
    pub bytes_per_commit: Traffic,
    pub packets_per_commit: Traffic,
    /// Absent where none were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_by_links: Option<DroppedByLinks>,
    pub flushes_per_commit: ByRole,
    /// Of the writer's disk.
    pub commits_per_flush: Option<f64>,
    pub reads_per_commit: ByRole,
    pub writes_per_commit: ByRole,
    pub bytes_read_per_commit: ByRole,
    pub bytes_written_per_commit: ByRole,
    /// Time in which at least one flush was under way.
    pub flush_time_us_per_commit: ByRole,
    /// Of the processes that are the disks.
    pub disk_cpu_us_per_commit: ByRole,
    /// Share of the window in which the writer's disk had a request under way, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_busy_share: Option<f64>,
    /// Seconds over all rounds for which a mirrored volume was without its copy.
    pub degraded_s: Option<f64>,
    pub lag_ms: Vec<LagSummary>,
    /// Where commit time went, as far as the server told: µs per commit.
    pub commit_time_us: BTreeMap<String, f64>,
    /// Changes of the servers' counters of conflicts, fall-backs and flow control by common name,
    /// summed over nodes and rounds.
    pub server_counters: BTreeMap<String, f64>,
    /// Seconds to run all queries, for mysqlslap's loads.
    pub run_s: Option<Estimate>,
    /// Mean and extremes of the single iterations, over all rounds, as mysqlslap prints them.
    pub iterations_s: Option<Extremes>,
    /// The part of `run_s` spent connecting, 0 to 1.
    pub connect_share: Option<f64>,
    /// What each node did after the load, the writer's first; absent where nobody watched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after_load: Vec<AfterLoad>,
    /// Round trips to what the client connects to; absent in a lab whose study does not ask.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handshakes_us: Vec<HandshakeSummary>,
    /// Of an endpoint's writer, as the whole server counts: median over rounds. `None` of a counter
    /// that does not count there. Absent in a lab.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counters_per_commit: BTreeMap<String, Option<f64>>,
    /// Absent in a record of before it was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
    /// Median over rounds, 0 to 1, stolen time included.
    pub host_busy: Option<f64>,
    /// At several connections: latency over that at one, where it grew though neither the host's
    /// CPUs nor the writer's disk were busy: commits wait for each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_factor: Option<f64>,
    /// Errors over all rounds.
    pub errors: ServerErrors,
    pub flags: Vec<FlagCount>,
    /// The point that it is: cells are compared by this, and by nothing that tables call them. No
    /// part of the JSON, which has its values under their own names.
    #[serde(skip)]
    pub point: Point,
    /// What each round came to, of all figures that have an interval, and of latency.
    pub by_round: ByRound,
}

fn is_at_most_one(count: &u32) -> bool {
    *count <= 1
}

/// A cell's main figures over all its measurements, those included whose links were late.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WithVoid {
    /// Those left out, in the order in which they were made.
    pub void: Vec<VoidMeasurement>,
    pub throughput_per_s: Option<Estimate>,
    pub latency_us: Percentiles,
    /// Whether the median rate, or the median latency, lies outside the interval of those that are
    /// not void, or all are.
    pub throughput_is_outside: bool,
    pub p50_is_outside: bool,
}

/// A measurement that is left out, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoidMeasurement {
    pub round: u32,
    pub flags: Vec<Flag>,
    /// Share of its packets that were late, 0 to 1.
    pub late_share: f64,
    pub throughput_per_s: Option<f64>,
    pub p50_us: Option<f64>,
}

/// Figures of single rounds, by the round's number; without those rounds that have none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ByRound {
    pub throughput_per_s: BTreeMap<u32, f64>,
    pub applied_per_s: BTreeMap<u32, f64>,
    pub applied_share: BTreeMap<u32, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub applied_alone_per_s: BTreeMap<u32, f64>,
    pub unevenness: BTreeMap<u32, f64>,
    pub usd_per_million_queries: BTreeMap<u32, f64>,
    /// Throughput over the baseline's in the same round.
    pub ratio: BTreeMap<u32, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cpu_ratio: BTreeMap<u32, f64>,
    /// Median latency less the baseline's in the same round.
    pub added_us: BTreeMap<u32, f64>,
    pub run_s: BTreeMap<u32, f64>,
    /// Percentiles of latency, where a round has samples enough for them.
    pub p50_us: BTreeMap<u32, f64>,
    pub p95_us: BTreeMap<u32, f64>,
}

/// Packets that a cell's links did not carry, over all rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DroppedByLinks {
    /// By chance, as the study asks.
    pub lost: u64,
    /// In front of a full queue.
    pub queue_full: u64,
    /// Of so many, those that were carried included.
    pub packets: u64,
}

/// Round-trip time between two sites: median over rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairOfSites {
    pub from_site: String,
    pub to_site: String,
    pub asked: f64,
    pub got: Option<f64>,
}

/// Percentiles over all rounds together; absent with fewer than ten samples beyond.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Percentiles {
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
    pub samples: u64,
    /// Those of the samples that had not ended, and count with what they had taken at least.
    #[serde(skip_serializing_if = "is_zero")]
    pub unfinished: u64,
    /// Percentiles that these might raise.
    #[serde(skip_serializing_if = "AtLeast::is_none")]
    pub at_least: AtLeast,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Percentiles that are lower bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AtLeast {
    pub p50: bool,
    pub p95: bool,
    pub p99: bool,
}

impl AtLeast {
    fn is_none(&self) -> bool {
        *self == AtLeast::default()
    }
}

/// Of single values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Extremes {
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    pub count: u32,
}

/// Medians over rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CpuPerCommit {
    pub writer: Option<f64>,
    pub replicas: Vec<ReplicaCpu>,
    pub client: Option<f64>,
    /// Of what clients connect to in place of a server; absent where there is no such thing.
    pub front: Option<f64>,
    pub links: Option<f64>,
    pub links_spin: Option<f64>,
}

/// One replica's share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplicaCpu {
    pub node: String,
    pub cpu_us: f64,
}

/// Medians over rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// Between client and servers, both directions.
    pub client: Option<f64>,
    /// Between servers, both directions.
    pub replication: Option<f64>,
}

/// Of emulated disks, medians over rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ByRole {
    pub writer: Option<f64>,
    /// Mean of the replicas' disks, or of the copies of the writer's volume.
    pub replica: Option<f64>,
}

/// In how many rounds a doubt arose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FlagCount {
    pub flag: Flag,
    pub rounds: u32,
    pub of: u32,
}
