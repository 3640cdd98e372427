//! Modes: the ways to replicate, and what a study can choose in each.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{EndpointSpec, Front};

/// Server variables by name, values as they stand in an option file.
pub type Variables = BTreeMap<String, String>;

/// When a semi-synchronous source waits for the acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WaitPoint {
    /// Before the storage engine's commit: nobody sees a row that could be lost by a failover.
    #[serde(rename = "AFTER_SYNC")]
    AfterSync,
    /// After the storage engine's commit: others can see it before its own client is told.
    #[serde(rename = "AFTER_COMMIT")]
    AfterCommit,
}

impl WaitPoint {
    /// The server's own word.
    pub fn word(self) -> &'static str {
        match self {
            WaitPoint::AfterSync => "AFTER_SYNC",
            WaitPoint::AfterCommit => "AFTER_COMMIT",
        }
    }
}

/// `group_replication_consistency`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Consistency {
    Eventual,
    BeforeOnPrimaryFailover,
    Before,
    After,
    BeforeAndAfter,
}

impl Consistency {
    /// The server's own word.
    pub fn word(self) -> &'static str {
        match self {
            Consistency::Eventual => "EVENTUAL",
            Consistency::BeforeOnPrimaryFailover => "BEFORE_ON_PRIMARY_FAILOVER",
            Consistency::Before => "BEFORE",
            Consistency::After => "AFTER",
            Consistency::BeforeAndAfter => "BEFORE_AND_AFTER",
        }
    }
}

/// What a mirrored or quorum volume waits for at its copies before a request is complete. The
/// writer's own copy is one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ack {
    /// A write for their receipt, a flush for their durability.
    Write,
    /// DRBD's protocol C, for mirrors: a write for its receipt; a flush for nothing, unless a block
    /// was written before it with which the file system commits its journal.
    ///
    /// DRBD answers an empty flush from the local disk, and sends a barrier
    /// (`drbd_process_write_request`, `QUEUE_AS_DRBD_BARRIER` in drbd_req.c, 8.4 and 9). It sends
    /// a write with its flags for flush and forced unit access (`bio_flags_to_wire` in
    /// drbd_main.c), and waits until the peer has written and flushed it. ext4 commits its journal
    /// with such a write. The loop device here has no forced unit access, so that the kernel makes
    /// it a flush, a write and a flush, which the volume has to tell from others.
    ProtocolC,
    /// A write for nothing, a flush for their durability.
    Flush,
}

impl Ack {
    /// As studies write it.
    pub fn word(self) -> &'static str {
        match self {
            Ack::Write => "write",
            Ack::ProtocolC => "protocol-c",
            Ack::Flush => "flush",
        }
    }
}

/// What a mirrored volume does while fewer copies than it waits for can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenShort {
    /// Requests wait, for ever if need be.
    Block,
    /// It goes on alone, and the record says from when to when.
    Degrade,
    /// After its timeout requests fail, until there are enough again: as DRBD's `on-no-quorum
    /// io-error`.
    Error,
}

impl WhenShort {
    /// As studies write it.
    pub fn word(self) -> &'static str {
        match self {
            WhenShort::Block => "block",
            WhenShort::Degrade => "degrade",
            WhenShort::Error => "error",
        }
    }
}

/// How long a copy of a volume may say nothing until it is taken for lost, if a study does not say:
/// as DRBD's `timeout`.
pub const COPY_TIMEOUT: Duration = Duration::from_secs(6);

/// A way to replicate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Mode {
    /// One server, no replica attached.
    #[default]
    Single,
    /// Asynchronous replication.
    Async,
    /// Semi-synchronous replication.
    Semisync {
        /// Replicas whose acknowledgement is waited for.
        wait_for: u32,
        wait_point: WaitPoint,
        /// After this the source goes on asynchronously, without telling its clients.
        timeout: Duration,
    },
    /// MySQL Group Replication with a single primary.
    Group { consistency: Consistency },
    /// MySQL Group Replication with every member a primary.
    GroupMulti { consistency: Consistency },
    /// MariaDB Galera Cluster.
    Galera,
    /// One server on a volume that is copied block by block to a second site.
    Mirror {
        ack: Ack,
        when_short: WhenShort,
        /// A copy that says nothing for so long is taken for lost.
        timeout: Duration,
    },
    /// One server on a volume with several copies over the sites.
    Quorum {
        copies: u32,
        /// Copies that must hold what is acknowledged, the writer's own among them.
        write_quorum: u32,
        ack: Ack,
    },
    /// Servers that somebody else runs: [`ModeSpec::endpoint`] says where.
    Endpoint,
}

/// Modes that one set of running servers can take turns in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// A source and its replicas: `single`, `async`, `semisync`.
    Replication,
    /// Group Replication: `group`, `group-multi`.
    Group,
    Galera,
    /// One server on a mirrored volume.
    Mirror,
    /// One server on a volume of several copies.
    Quorum,
    /// Servers that somebody else runs; no lab has them.
    Endpoint,
}

impl Family {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Family::Replication => "replication",
            Family::Group => "group",
            Family::Galera => "galera",
            Family::Mirror => "mirror",
            Family::Quorum => "quorum",
            Family::Endpoint => "endpoint",
        }
    }

    /// Whether its nodes beyond the first hold copies of the volume instead of running a server.
    pub fn copies_volume(self) -> bool {
        matches!(self, Family::Mirror | Family::Quorum)
    }
}

impl Mode {
    /// Which modes it can share running servers with.
    pub fn family(&self) -> Family {
        match self {
            Mode::Single | Mode::Async | Mode::Semisync { .. } => Family::Replication,
            Mode::Group { .. } | Mode::GroupMulti { .. } => Family::Group,
            Mode::Galera => Family::Galera,
            Mode::Mirror { .. } => Family::Mirror,
            Mode::Quorum { .. } => Family::Quorum,
            Mode::Endpoint => Family::Endpoint,
        }
    }

    /// The mode's name in studies.
    pub fn name(&self) -> &'static str {
        match self {
            Mode::Single => "single",
            Mode::Async => "async",
            Mode::Semisync { .. } => "semisync",
            Mode::Group { .. } => "group",
            Mode::GroupMulti { .. } => "group-multi",
            Mode::Galera => "galera",
            Mode::Mirror { .. } => "mirror",
            Mode::Quorum { .. } => "quorum",
            Mode::Endpoint => "endpoint",
        }
    }

    /// The mode's name in tables. A quorum of blocks ships pages, not log: no reader shall take it
    /// for a system that ships log.
    pub fn title(&self) -> &'static str {
        match self {
            Mode::Quorum { .. } => "quorum block mirror",
            _ => self.name(),
        }
    }

    /// Whether only one node runs a server.
    pub fn has_one_server(&self) -> bool {
        *self == Mode::Single || self.family().copies_volume()
    }

    /// Whether its appliers can rest while replicas go on receiving. In a group or a cluster those
    /// that rest hold back the writer.
    pub fn can_hold_appliers(&self) -> bool {
        matches!(self, Mode::Async | Mode::Semisync { .. })
    }

    /// Whether every node accepts writes.
    pub fn is_multi_writer(&self) -> bool {
        matches!(self, Mode::GroupMulti { .. } | Mode::Galera)
    }
}

/// One row of the table: a server, a mode and its settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModeSpec {
    /// Unique within the study; what the table's first column says, e.g. `mysql semisync 2/2`.
    pub label: String,
    /// Name of the server in the catalogue, e.g. `mysql` or `mariadb`; `endpoint` for somebody
    /// else's.
    pub server: String,
    pub mode: Mode,
    /// Number of nodes, the writer included; for `single` one (others of the lab stay idle), for
    /// `mirror` and `quorum` one for each copy of the volume.
    pub nodes: u32,
    /// Parallel applier threads on each replica.
    pub appliers: u32,
    /// Whether the binary log is on (group, async and semisync need it).
    pub binary_log: bool,
    /// Whether clients of a multi-writer mode are spread over all nodes, not sent to one.
    pub spread: bool,
    /// What clients connect to in place of a server; `None` for the server itself.
    #[serde(default)]
    pub front: Option<Front>,
    /// Memory that each server may use, in bytes; `None` for no limit.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Size of each of its nodes' images of emulated disks, where it is not the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_bytes: Option<u64>,
    /// Label of the mode that ratios are taken against; `None` for a baseline itself.
    pub baseline: Option<String>,
    /// Server variables for all nodes.
    pub variables: Variables,
    /// Server variables for one node, by the name of its site.
    pub node_variables: BTreeMap<String, Variables>,
    /// TLS on this mode's connections, where that is not as the study says.
    #[serde(default)]
    pub tls: Option<bool>,
    /// Planted: each connection rests after each transaction, for this share of the time from the
    /// beginning of one to that of the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// What its nodes cost together in an hour, as the study says.
    #[serde(default)]
    pub price_usd_per_hour: Option<f64>,
    /// What it is a variant of, if it differs from another mode in variables alone.
    #[serde(default)]
    pub varied: Option<Varied>,
    /// Where the servers are that somebody else runs, in mode `endpoint`.
    #[serde(default)]
    pub endpoint: Option<EndpointSpec>,
}

impl ModeSpec {
    /// How near it is to being measured on the same terms as `own`, to be what that is held
    /// against: its variables, then its memory, then its front. One that goes through a front
    /// stands for its own front only: what the front itself costs is told against the direct way.
    pub fn likeness(&self, own: &ModeSpec) -> (bool, bool, bool) {
        let is_own = self.mode == own.mode && own.front.is_some();
        let front = if is_own { None } else { own.front };
        (
            self.variables == own.variables,
            self.memory_bytes == own.memory_bytes,
            self.front == front,
        )
    }
}

/// How a mode differs from the one that it is a variant of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Varied {
    /// That mode's label. It stands before its variants.
    pub of: String,
    /// The variables that differ; they are among the mode's own too.
    pub changed: Variables,
}
