//! Modes: the ways to replicate, and what a study can choose in each.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Variables;

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

/// A way to replicate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Mode {
    /// One server, no replica attached.
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
}

impl Family {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Family::Replication => "replication",
            Family::Group => "group",
            Family::Galera => "galera",
        }
    }
}

impl Mode {
    /// Which modes it can share running servers with.
    pub fn family(&self) -> Family {
        match self {
            Mode::Single | Mode::Async | Mode::Semisync { .. } => Family::Replication,
            Mode::Group { .. } | Mode::GroupMulti { .. } => Family::Group,
            Mode::Galera => Family::Galera,
        }
    }

    /// The mode's name in studies and tables.
    pub fn name(&self) -> &'static str {
        match self {
            Mode::Single => "single",
            Mode::Async => "async",
            Mode::Semisync { .. } => "semisync",
            Mode::Group { .. } => "group",
            Mode::GroupMulti { .. } => "group-multi",
            Mode::Galera => "galera",
        }
    }

    /// Whether every node accepts writes.
    pub fn is_multi_writer(&self) -> bool {
        matches!(self, Mode::GroupMulti { .. } | Mode::Galera)
    }
}

/// One row of the table: a server, a mode and its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModeSpec {
    /// Unique within the study; what the table's first column says, e.g. `mysql semisync 2/2`.
    pub label: String,
    /// Name of the server in the catalogue, e.g. `mysql` or `mariadb`.
    pub server: String,
    pub mode: Mode,
    /// Number of nodes, the writer included; for `single` one (others of the lab stay idle).
    pub nodes: u32,
    /// Parallel applier threads on each replica.
    pub appliers: u32,
    /// Whether the binary log is on (group, async and semisync need it).
    pub binary_log: bool,
    /// Whether clients of a multi-writer mode are spread over all nodes, not sent to one.
    pub spread: bool,
    /// Label of the mode that ratios are taken against; `None` for a baseline itself.
    pub baseline: Option<String>,
    /// Server variables for all nodes.
    pub variables: Variables,
    /// Server variables for one node, by the name of its site.
    pub node_variables: BTreeMap<String, Variables>,
}
