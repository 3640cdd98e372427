//! What happened: plain types. `store` keeps them in one SQLite file, from which every report is
//! rebuilt. This room does not know who produced a record.

pub mod counter;
mod facts;
mod flag;
pub mod histogram;
pub mod history;
mod lag;
mod machines;
mod outcome;
pub mod packed;
pub mod scheduled;
pub mod self_test;
pub mod server_errors;
pub mod store;
pub mod trials;
mod varint;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::counter::Counters;
pub use self::facts::{Host, LabFacts, PartFacts, Resumed};
pub use self::flag::Flag;
pub use self::lag::{AppliedAlone, CATCH_UP_LIMIT_S, LAG_LIMIT_S, Lag};
pub use self::scheduled::{Role, Scheduled};
use self::server_errors::ServerErrors;
use crate::plan::{Cell, PartOf};
use crate::study::{CpuSpeed, Study, Variables};

/// Everything a record tells about its run as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Servers that somebody else runs, one entry for each mode, in the study's order; none in a
    /// study of labs.
    #[serde(default)]
    pub endpoints: Vec<EndpointFacts>,
    /// The file system on all emulated disks, where there are any: `ext4`.
    #[serde(default)]
    pub file_system: Option<String>,
    /// What the lab's test of itself came to on this host, the last outcome of each part; `None` in
    /// an older record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_test: Option<Vec<self_test::Part>>,
    /// Digest of the bounds that an article's claims were to be judged by, from before the first
    /// measurement; `None` without an article, and in an older record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds_sha256: Option<String>,
    /// Each time that the run was stopped and gone on with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumed>,
    /// What of the study's rounds and trials it is to hold, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<PartOf>,
    /// The parts that it was merged from, in their order; none in any other record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartFacts>,
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

/// The end of what one server wrote into its error log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerLog {
    /// What its lab is called; with faults labs of one name may come after one another.
    pub lab: String,
    pub node: String,
    /// Whole lines.
    pub log: String,
}

/// A writer that somebody else runs, and its replicas, as they were found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EndpointFacts {
    /// The mode's label.
    pub label: String,
    /// `HOST:PORT` of the writer, then of each replica.
    pub places: Vec<String>,
    /// What the writer says: version and comment.
    pub version: String,
    /// Protocol and cipher of the connections to the writer, and how it proved its name; `off`.
    pub tls: String,
    /// Status counters that every commit moves on a server that counts, and whether they moved.
    #[serde(deserialize_with = "counter::by_common_names")]
    pub counters: BTreeMap<String, bool>,
    /// Settings that a lab would have pinned otherwise, left as they are: whole sentences.
    pub advice: Vec<String>,
}

/// One cell, measured once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub round: u32,
    /// Index into `Header::cells`.
    pub cell: usize,
    /// How often the cell was measured in this round before.
    #[serde(default)]
    pub turn: u32,
    /// How often its run had been gone on with before; 0 also in an older record.
    #[serde(default, skip_serializing_if = "facts::is_zero")]
    pub segment: usize,
    /// Transactions offered each second, where the cell leaves its rate open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<u32>,
    pub started_unix_ms: u64,
    /// Length of the measured window.
    pub window_s: f64,
    /// From the load's start to its end, the looking for lag after the window included; 0 in a
    /// record of before it was kept, and for mysqlslap's manner.
    #[serde(default)]
    pub load_s: f64,
    /// Transactions that ended well in the window and changed at least one row.
    pub commits: u64,
    /// Transactions that ended well and changed no row.
    pub unchanged: u64,
    /// Statements that ended well in the window.
    pub statements: u64,
    /// Errors in the window.
    pub errors: ServerErrors,
    /// Latency of transactions that ended well, in µs: an HdrHistogram in V2 form, base64. At an
    /// offered rate from the time when each was due, of those that were due in the window; in a
    /// record of before schema 4 of those that ended in it.
    pub latency_us: String,
    /// At an offered rate: the same from the first statement sent.
    #[serde(default)]
    pub service_us: Option<String>,
    /// At an offered rate, of transactions that became due in the window: how many these were;
    /// those of them that failed; how long those had been due at its end that had not ended, in µs.
    /// With those of `latency_us` these are all.
    #[serde(default)]
    pub due: u64,
    #[serde(default)]
    pub failed_due: u64,
    #[serde(default)]
    pub unfinished_us: Option<String>,
    /// At an offered rate: transactions that were due, and not begun, at the window's end.
    #[serde(default)]
    pub backlog: u64,
    /// Latency by kind of statement (`select`, `update`, `commit`…), same form.
    pub statement_latency_us: BTreeMap<String, String>,
    /// Whole seconds of the cell, warm-up included.
    pub timeline: Vec<Second>,
    /// Round-trip time between sites, for each pair of nodes of this lab on different sites
    /// (client included where it stands apart).
    pub rtts: Vec<RttGot>,
    /// Round trips from the client to what it connects to, over TCP's handshake, just before the
    /// window and just after: to somebody else's servers, and where the study asks for it.
    #[serde(default)]
    pub handshakes: Vec<Handshakes>,
    /// CPU time used in the window.
    pub cpu: CpuUsed,
    /// How long each process ran in it and waited for a CPU; none in a record of before this was
    /// looked at, or from a kernel that does not count it.
    #[serde(default)]
    pub scheduled: Vec<Scheduled>,
    /// How fast CPUs were, where they were to be slower than the host gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_speed: Option<SpeedGot>,
    /// Traffic in the window, one entry per link and direction that carried anything.
    pub links: Vec<LinkTraffic>,
    /// Packets that left the switch later than `late_bound_us` after their due time, and all.
    pub late_packets: u64,
    pub packets: u64,
    /// Lag of each replica; none where appliers rest under load.
    pub lag: Vec<Lag>,
    /// What each replica applied after the load, where its appliers rested under it; none elsewhere
    /// and in an older record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied_alone: Vec<AppliedAlone>,
    /// Change of the servers' numeric status counters over the window: node → name → change. Names
    /// are those of [`counter`], or the server's own.
    #[serde(deserialize_with = "counter::of_nodes")]
    pub status: BTreeMap<String, Counters>,
    /// Where commit time went as far as the server tells: what → µs per commit on the writer.
    pub commit_time_us: BTreeMap<String, f64>,
    /// Share of the host's CPU time that was busy in the window, 0 to 1, and stolen. What was held
    /// so that CPUs are slower counts neither as busy nor as the host's.
    pub host_busy: f64,
    pub host_stolen: f64,
    /// mysqlslap's manner only: one entry per iteration.
    pub iterations: Vec<Iteration>,
    /// What each emulated disk that takes part in the mode was asked to be, and was; the writer's
    /// first.
    #[serde(default)]
    pub disks_got: Vec<DiskGot>,
    /// What each of them did in the window.
    #[serde(default)]
    pub disks: Vec<DiskUse>,
    /// When a mirrored volume went on without its copy.
    #[serde(default)]
    pub degraded: Vec<Degraded>,
    /// Where a cell's servers are watched after its load: what each did before it, and then piece
    /// by piece; the writer's first.
    #[serde(default)]
    pub activity: Vec<Activity>,
    /// Time for which the switch ran without its real-time priority, refused or given up.
    #[serde(default)]
    pub links_without_priority_s: f64,
    /// How often it had been disturbed and was made again before this.
    #[serde(default)]
    pub made_again: u32,
    /// Those that it was made again for, in their order; none in an older record. They hold none
    /// themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub voided: Vec<Measurement>,
    /// Variables that some mode of this lab changes, as the writer said that they were: read back
    /// after they were set, before the mode's block of cells.
    #[serde(default)]
    pub in_force: Variables,
    /// Drivers that were started elsewhere and were lost, or late, while the load ran: who, and
    /// what came of it. The measurement is void then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers_missing: Vec<String>,
    /// Doubts about this measurement.
    pub flags: Vec<Flag>,
}

impl Measurement {
    /// Adds round trips made after the window to those made before it.
    pub fn add_handshakes(&mut self, after: Vec<Handshakes>) {
        for (made, after) in self.handshakes.iter_mut().zip(after) {
            made.rtts_us.extend(after.rtts_us);
        }
    }

    /// How fast the CPUs of links, disks and drivers were, as a share of what the host gives.
    pub fn rest_speed(&self) -> f64 {
        self.cpu_speed.map_or(1.0, |speed| speed.got.rest)
    }
}

/// Speeds of CPUs that a cell asks to be slower, asked and got in the window: the share of the time
/// of each part's CPUs that was left to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SpeedGot {
    pub asked: CpuSpeed,
    pub got: CpuSpeed,
    /// CPU time that was held for it, over all CPUs: in no other account.
    pub held_us: f64,
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
    /// Absent where no transaction ended well, and in an older record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us_p99: Option<u64>,
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

/// Round trips to one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Handshakes {
    /// `writer`, `replica 1`…, `front`.
    pub node: String,
    pub rtts_us: Vec<f64>,
}

/// CPU time over the window, in µs. What cannot be known from here is absent, never 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuUsed {
    pub writer_us: Option<f64>,
    /// Node → µs.
    pub replicas_us: BTreeMap<String, f64>,
    pub client_us: f64,
    /// Of it that of the driver that took most, each of which is one thread; absent in an older
    /// record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_driver_us: Option<f64>,
    /// Of the front, where there is one.
    #[serde(default)]
    pub front_us: Option<f64>,
    /// The link switch's work, and its waiting in a spin.
    pub links_us: Option<f64>,
    pub links_spin_us: Option<f64>,
    /// CPU µs per second of this lab's servers when no load runs: node → µs/s.
    pub idle_us_per_s: BTreeMap<String, f64>,
    /// For how long they were watched for that; absent in an older record, where it was 0.3 s.
    #[serde(default)]
    pub idle_watched_s: Option<f64>,
}

/// What one direction of one link carried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkTraffic {
    pub from: String,
    pub to: String,
    pub packets: u64,
    /// IP bytes, headers included.
    pub bytes: u64,
    /// One end is the client, or its front.
    pub is_client: bool,
    /// Mean one-way delay that its packets really had, lateness included; absent where none
    /// arrived, and in a record of before it was kept.
    #[serde(default)]
    pub delay_us: Option<f64>,
    /// Packets that were lost by chance, as the study asks, and in front of a full queue; 0 in a
    /// record of before they were kept.
    #[serde(default)]
    pub lost_packets: u64,
    #[serde(default)]
    pub queue_full_packets: u64,
}

/// What the time is called that a semi-synchronous source waited for its replicas.
pub const SEMISYNC_WAIT: &str = "semisync acknowledgement";

/// One mysqlslap iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    /// Seconds to run all queries, connecting included, as mysqlslap counts.
    pub seconds: f64,
    /// The part of them until the last connection was ready.
    pub connect_seconds: f64,
    pub queries: u64,
}

/// Times of one emulated disk, asked and got, in µs. What is got is measured on the mounted volume
/// at one request at a time: medians of a few, just before the window and just after.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskGot {
    pub node: String,
    pub site: String,
    /// Added to each flush and each write: the median where it is drawn.
    pub flush_us_asked: f64,
    pub write_us_asked: f64,
    /// Whether the flush time is drawn anew for each, so that the median of a few strays by itself,
    /// or is that of several copies with disks of their own: then nothing is held against it.
    #[serde(default)]
    pub is_flush_drawn: bool,
    /// The same probe with no flush time, or no write time, added: what the volume itself takes,
    /// and on a volume with copies what the way to them takes at this cell's distances.
    pub flush_us_floor: f64,
    pub write_us_floor: f64,
    /// A direct write of one block.
    pub write_us_before: f64,
    pub write_us_after: f64,
    /// A direct write of one block with the flush after it.
    pub flush_us_before: f64,
    pub flush_us_after: f64,
}

/// Whose disk one is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskRole {
    /// The writer's; of a volume with copies the one that its server runs on.
    #[default]
    Writer,
    /// A server's that follows the writer.
    Replica,
    /// A copy of the writer's volume.
    Copy,
}

/// What one emulated disk did in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskUse {
    pub node: String,
    pub role: DiskRole,
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Time in which at least one flush was under way.
    pub flush_time_us: f64,
    /// CPU time of the process that is this disk: no part of what it emulates, but a load on the
    /// host.
    #[serde(default)]
    pub cpu_us: f64,
    /// Requests that the disk answered at a time of their own, and those of them that it answered
    /// too late.
    #[serde(default)]
    pub timed_replies: u64,
    #[serde(default)]
    pub late_replies: u64,
    /// Time in which the kernel had a request under way on the device, as it counts it for iostat;
    /// absent of a copy, on which nothing is mounted.
    #[serde(default)]
    pub busy_us: Option<f64>,
}

/// What a server and its disk did while no load ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    pub node: String,
    /// From when on, after the load had ended and replicas had caught up; `None`: before the load,
    /// as the mode was entered.
    pub from_s: Option<f64>,
    pub span_s: f64,
    /// Of the server; 0 where none runs.
    pub cpu_us: f64,
    /// Where disks are emulated.
    pub disk: Option<DiskUse>,
}

/// A span of a cell in which a volume had too few of its copies: it waited, or went on alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Degraded {
    /// From the start of the load.
    pub from_ms: u64,
    /// `None`: until after the end of the load.
    pub to_ms: Option<u64>,
}
