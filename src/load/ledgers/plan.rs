//! What clients and readers are to do.

use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::RawFd;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::draw::ACCOUNTS;
use crate::error::{Result, breakdown};
use crate::lab::endpoint::Secret;
use crate::record::history::UNKNOWN_NODE;
use crate::study::faults::{Finding, Writing};

/// Clients: enough for commits to go in groups.
pub const SESSIONS: u32 = 8;
/// From one attempt to connect to the next.
pub const RECONNECT_EVERY: Duration = Duration::from_millis(100);
/// From one look of a reader to the next.
pub const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Transfers for which there is room: 64 bytes each, of those that are made. Some minutes of what
/// two cores can do.
pub const SLOTS: u32 = 4_000_000;

/// A session's number is a byte of its tokens.
const SESSIONS_MAX: u32 = 256;
const NODES_MAX: usize = UNKNOWN_NODE as usize;

/// The clients of a ledger: one session after the other makes one transfer after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientsPlan {
    /// The site that they are in.
    pub site: String,
    /// Servers, by the index of their nodes.
    pub nodes: Vec<SocketAddr>,
    /// Index of the one that they begin with.
    pub first_writer: u8,
    pub writing: Writing,
    pub finding: Finding,
    /// What they connect to if they are to find by a proxy.
    pub proxy: Option<SocketAddr>,
    pub user: String,
    pub password: Secret,
    /// Where the tables of the ledger are.
    pub database: String,
    /// TLS on every connection; no certificate is verified.
    pub tls: bool,
    /// 256 at most.
    pub sessions: u32,
    /// The accounts that they move amounts between: two at least.
    pub accounts: Range<u16>,
    /// A connection without an answer for so long is given up, a reader's too.
    pub timeout: Duration,
    /// From one attempt of a session to connect to its next; also how long it rests after an error
    /// that is no conflict.
    pub reconnect_every: Duration,
    /// Of transfers.
    pub seed: u64,
    /// Transfers for which there is room. When they are used up, the clients stop.
    pub slots: u32,
}

/// Readers at one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadersPlan {
    /// The site that they are in: the node's own.
    pub site: String,
    pub node: u8,
    pub target: SocketAddr,
    /// One session each.
    pub levels: Vec<Level>,
    /// From the beginning of one look to that of the next, if that is over by then.
    pub every: Duration,
}

/// How up to date what a reader sees is to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As its node is.
    Plain,
    /// As its node does it for a session that was told so once, by this statement.
    Told(String),
    /// Before each look it asks the writer how far that is, and has its node wait until it is there
    /// too.
    Awaited(Wait),
    /// It looks at that node instead, the writer.
    Elsewhere { node: u8, target: SocketAddr },
}

/// How a node is had to wait for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The writer.
    pub at: SocketAddr,
    /// Answered by it with all transactions that it has executed.
    pub executed: String,
    /// Said to the node, with these in the place of `{gtids}`.
    pub wait: String,
    /// What is answered if they came.
    pub good: String,
}

impl Level {
    /// The statement that makes it so.
    pub fn statement(&self) -> Option<&str> {
        match self {
            Level::Told(statement) => Some(statement),
            Level::Awaited(wait) => Some(&wait.wait),
            Level::Plain | Level::Elsewhere { .. } => None,
        }
    }
}

/// What a driver is to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// All clients.
    Transfers,
    /// These readers, who log in as the clients do.
    Readers(Vec<ReadersPlan>),
}

/// All that a driver is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Descriptor of the memory, as the driver has inherited it.
    pub memory: RawFd,
    pub plan: ClientsPlan,
    pub role: Role,
}

impl ClientsPlan {
    /// # Errors
    /// A breakdown if nobody could follow it.
    pub fn check(&self) -> Result<()> {
        let has_proxy = self.finding.proxy().is_none() || self.proxy.is_some();
        let wants = [
            (!self.nodes.is_empty(), "no server was given"),
            (self.nodes.len() <= NODES_MAX, "there are too many servers"),
            (
                usize::from(self.first_writer) < self.nodes.len(),
                "the first writer is none of the servers",
            ),
            (has_proxy, "no proxy was given"),
            (
                (1..=SESSIONS_MAX).contains(&self.sessions),
                "a ledger has 1 to 256 clients",
            ),
            (
                self.accounts.len() > 1 && self.accounts.end <= ACCOUNTS,
                "its clients have two accounts at least, of those that there are",
            ),
        ];
        match wants.iter().find(|(is_so, _)| !is_so) {
            Some((_, status)) => Err(breakdown("keep a ledger", *status)),
            None => Ok(()),
        }
    }
}

/// Every session of readers, in the order of their numbers, with its level.
pub fn sessions(plans: &[ReadersPlan]) -> impl Iterator<Item = (&ReadersPlan, &Level)> {
    plans.iter().flat_map(|plan| {
        let levels = plan.levels.iter();
        levels.map(move |level| (plan, level))
    })
}

/// A span in µs.
pub fn us(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// For that many servers that are nowhere.
    pub fn example(nodes: u8) -> ClientsPlan {
        let node = |i| SocketAddr::from(([198, 18, 0, i], 3306));
        ClientsPlan {
            site: "a".into(),
            nodes: (0..nodes).map(node).collect(),
            first_writer: 0,
            writing: Writing::InPlace,
            finding: Finding::Asking,
            proxy: None,
            user: "u".into(),
            password: "secret".into(),
            database: "d".into(),
            tls: false,
            sessions: 1,
            accounts: 0..ACCOUNTS,
            timeout: Duration::from_secs(60),
            reconnect_every: RECONNECT_EVERY,
            seed: 1,
            slots: 1_000,
        }
    }

    #[test]
    fn what_nobody_could_follow_is_told() {
        let good = || example(3);
        assert!(good().check().is_ok());
        let proxied = ClientsPlan {
            finding: Finding::Proxy,
            ..good()
        };
        let first_writer = 3;
        let wrong = [
            (example(0), "no server"),
            (proxied, "no proxy"),
            (
                ClientsPlan {
                    first_writer,
                    ..good()
                },
                "first writer",
            ),
            (
                ClientsPlan {
                    sessions: 0,
                    ..good()
                },
                "1 to 256",
            ),
            (
                ClientsPlan {
                    sessions: 257,
                    ..good()
                },
                "1 to 256",
            ),
        ];
        for accounts in [0..1, 40..65] {
            let plan = ClientsPlan { accounts, ..good() };
            let told = plan.check().unwrap_err().to_string();
            assert!(told.contains("two accounts"), "{told}");
        }
        for (plan, expected) in wrong {
            let told = plan.check().unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn a_task_survives_its_pipe_and_shows_no_password() {
        let readers = ReadersPlan {
            site: "b".into(),
            node: 1,
            target: SocketAddr::from(([198, 18, 0, 1], 3306)),
            levels: vec![Level::Plain, Level::Told("SET SESSION x = 1".into())],
            every: LOOK_EVERY,
        };
        let task = Task {
            memory: 7,
            plan: example(2),
            role: Role::Readers(vec![readers.clone(), readers]),
        };
        let text = serde_json::to_string(&task).unwrap();
        assert_eq!(serde_json::from_str::<Task>(&text).unwrap(), task);
        assert!(!format!("{task:?}").contains("secret"));
        let Role::Readers(plans) = &task.role else {
            panic!("no readers");
        };
        let levels: Vec<bool> = (sessions(plans))
            .map(|(_, level)| level.statement().is_some())
            .collect();
        assert_eq!(levels, [false, true, false, true]);
    }
}
