//! What happened: plain types. `store` keeps them in one SQLite file, from which every report is
//! rebuilt. This room does not know who produced a record.

pub mod histogram;
pub mod store;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Cell;
use crate::study::Study;

/// Everything a record tells about its run as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub study: Study,
    /// The study file's text as the user wrote it, or the built-in one's.
    pub study_text: String,
    pub cells: Vec<Cell>,
    /// The command line, as given.
    pub command_line: Vec<String>,
    pub started_unix_ms: u64,
    pub acklab_version: String,
    pub host: Host,
    /// Servers in use.
    pub servers: Vec<ServerFacts>,
    /// One for each lab that was formed.
    pub labs: Vec<LabFacts>,
    /// What a reader must know of the whole run: a shared host journal, say. Whole sentences.
    pub remarks: Vec<String>,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub kernel: String,
    pub cpu_model: String,
    pub cpus: u32,
    pub memory_bytes: u64,
    /// Median time of a 4 KiB write + fdatasync where the data directories live.
    pub fsync_us_p50: f64,
    /// What a round trip takes beyond the delays that are set; it is taken off them.
    pub link_floor_us_p50: f64,
}

/// A server program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// Catalogue name.
    pub name: String,
    /// What the server itself says, e.g. `9.7.1` or `10.11.19-MariaDB-…`.
    pub version: String,
    /// Where it came from, with the exact package version.
    pub source: String,
}

/// A running set of nodes that serves one or more modes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabFacts {
    /// e.g. `mysql replication`.
    pub family: String,
    /// From the first copied data directory until every node was ready.
    pub ready_seconds: f64,
    /// Settings that the lab pinned over the user's own `my_cnf`: name, the user's value, ours.
    pub overridden: Vec<(String, String, String)>,
    /// Effective server variables of each node.
    pub variables: BTreeMap<String, BTreeMap<String, String>>,
}

/// One cell, measured once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub round: u32,
    /// Index into `Header::cells`.
    pub cell: usize,
    pub started_unix_ms: u64,
    /// Length of the measured window.
    pub window_s: f64,
    /// Transactions that ended well in the window and changed at least one row.
    pub commits: u64,
    /// Transactions that ended well and changed no row.
    pub unchanged: u64,
    /// Statements that ended well in the window.
    pub statements: u64,
    /// Errors in the window by the server's code; 0 stands for a lost connection.
    pub errors: BTreeMap<u16, u64>,
    /// Latency of transactions that ended well, in µs: an HdrHistogram in V2 form, base64.
    pub latency_us: String,
    /// Latency by kind of statement (`select`, `update`, `commit`…), same form.
    pub statement_latency_us: BTreeMap<String, String>,
    /// Whole seconds of the cell, warm-up included.
    pub timeline: Vec<Second>,
    /// Round-trip time between sites, for each pair of nodes of this lab on different sites
    /// (client included where it stands apart).
    pub rtts: Vec<RttGot>,
    /// CPU time used in the window.
    pub cpu: CpuUsed,
    /// Traffic in the window, one entry per link and direction that carried anything.
    pub links: Vec<LinkTraffic>,
    /// Packets that left the switch later than `late_bound_us` after their due time, and all.
    pub late_packets: u64,
    pub packets: u64,
    /// Lag of each replica.
    pub lag: Vec<Lag>,
    /// Change of the servers' numeric status counters over the window: node → name → change.
    pub status: BTreeMap<String, BTreeMap<String, f64>>,
    /// Where commit time went as far as the server tells: what → µs per commit on the writer.
    pub commit_time_us: BTreeMap<String, f64>,
    /// Share of the host's CPU time that was busy in the window, 0 to 1, and stolen.
    pub host_busy: f64,
    pub host_stolen: f64,
    /// mysqlslap's manner only: one entry per iteration.
    pub iterations: Vec<Iteration>,
    /// Doubts about this measurement.
    pub flags: Vec<Flag>,
}

/// One second of a cell's timeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// From the start of the load.
    pub second: u32,
    pub commits: u64,
    pub transactions: u64,
    pub errors: u64,
    pub latency_us_p50: u64,
    pub latency_us_max: u64,
}

/// Round-trip time between two nodes, asked and got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RttGot {
    pub from: String,
    pub to: String,
    pub from_site: String,
    pub to_site: String,
    pub rtt_us_asked: f64,
    /// Median of probes just before the window, and just after.
    pub rtt_us_before: f64,
    pub rtt_us_after: f64,
}

/// CPU time over the window, in µs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuUsed {
    pub writer_us: f64,
    /// Node → µs.
    pub replicas_us: BTreeMap<String, f64>,
    pub client_us: f64,
    /// The link switch's work, and its waiting in a spin.
    pub links_us: f64,
    pub links_spin_us: f64,
    /// CPU µs per second of this lab's servers when no load runs: node → µs/s.
    pub idle_us_per_s: BTreeMap<String, f64>,
}

/// What one direction of one link carried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkTraffic {
    pub from: String,
    pub to: String,
    pub packets: u64,
    /// IP bytes, headers included.
    pub bytes: u64,
    /// One end is the client.
    pub is_client: bool,
}

/// A replica's lag behind the writer while the load still ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Lag {
    pub node: String,
    /// From a heartbeat's commit on the writer until it was visible on this node.
    pub lag_ms: Vec<f64>,
    /// From the end of the load until this node had applied everything.
    pub catch_up_ms: Option<f64>,
}

/// One mysqlslap iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    /// Seconds to run all queries, connecting included, as mysqlslap counts.
    pub seconds: f64,
    /// The part of them until the last connection was ready.
    pub connect_seconds: f64,
    pub queries: u64,
}

/// Reasons why a cell's number is not what it seems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// The host's CPUs were saturated: the figure tells of the host.
    HostBound,
    /// Round-trip time got before and after differ, or differ from what was asked.
    Drifted,
    /// A semi-synchronous source went on asynchronously.
    Downgraded,
    /// Some transactions failed.
    Errors,
    /// No transaction changed a row though the workload writes.
    NoRows,
    /// Packets left the switch too late: the cell is void.
    LateLinks,
}

impl Flag {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Flag::HostBound => "host-bound",
            Flag::Drifted => "drifted",
            Flag::Downgraded => "downgraded",
            Flag::Errors => "errors",
            Flag::NoRows => "no-rows",
            Flag::LateLinks => "late-links",
        }
    }
}
