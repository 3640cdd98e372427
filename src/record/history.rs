//! What clients did and saw while faults were injected: every transfer, and every look of a reader.
//!
//! The workload is a ledger. *Accounts* have a balance; a *transfer* moves an amount from one to
//! another, and has a row of its own with a token, in one transaction: so that each balance must be
//! its start plus all transfers that are there. Times are µs of the host's monotonic clock since
//! the clients' start, one clock for all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A transfer's token: drawn at random, unique in a trial, written as 16 hexadecimal digits in a
/// column that is no key.
pub type Token = u64;

/// Stands for a node behind a proxy that is not known.
pub const UNKNOWN_NODE: u8 = u8::MAX;

/// One transfer as its client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    pub token: Token,
    /// Accounts, from 0 on, and what is moved: above 0.
    pub from: u16,
    pub to: u16,
    pub amount: u32,
    /// Index of the node that it was sent to, or of the node behind a proxy: [`UNKNOWN_NODE`] if
    /// that one did not tell.
    pub node: u8,
    /// When its first statement was sent.
    pub begun_us: u64,
    /// When its COMMIT was sent; `None` if it never was.
    pub commit_us: Option<u64>,
    /// When the last answer was there, or its connection was given up.
    pub ended_us: u64,
    pub answer: Answer,
}

/// What its client was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// COMMIT was answered with OK.
    Acknowledged,
    /// An error that says that the transaction was rolled back, or no COMMIT was sent.
    Refused,
    /// COMMIT was sent, and nothing tells.
    Unanswered,
}

/// One look of a reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    pub begun_us: u64,
    /// `None`: it failed, and saw nothing.
    pub ended_us: Option<u64>,
    /// Tokens that no look of this reader had shown before.
    pub new: Vec<Token>,
    /// Tokens that an earlier look had shown, within what this one read, and that are gone.
    pub gone: Vec<Token>,
}

/// All looks at one node, by one session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reader {
    pub node: u8,
    /// Where it stands, if that is not beside the node that it looks at.
    #[serde(default)]
    pub beside: Option<u8>,
    /// The statement that it ran before its looks, if any: a level of consistency, or a wait.
    pub level: Option<String>,
    /// In order.
    pub looks: Vec<Look>,
}

/// All that clients did and saw.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// Balance of every account at the start.
    pub start_balance: i64,
    pub accounts: u16,
    /// In the order of their beginnings.
    pub transfers: Vec<Transfer>,
    pub readers: Vec<Reader>,
    /// Why connections were lost or refused, what else servers refused, and how often.
    pub losses: BTreeMap<String, u64>,
}

/// One row of the transfers' table as a node has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Row {
    pub token: Token,
    pub from: u16,
    pub to: u16,
    pub amount: u32,
}

/// What one node holds at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub node: u8,
    /// Rows of transfers, by token; a token may stand twice.
    pub rows: Vec<Row>,
    /// By account.
    pub balances: Vec<i64>,
    /// `CHECK TABLE` said OK of both tables; `None`: it could not be asked.
    pub tables_ok: Option<bool>,
    /// Why its tables could not be read, if so: then all that stands here of them is void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// A replica of the node that serves, which said before it was read that it had executed all
    /// that this one had.
    #[serde(default)]
    pub is_level: bool,
    /// How many transactions it has by their GTIDs that no node has that serves; `None` where GTIDs
    /// do not tell, and of a node that serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Transactions of the node by its own account (its set of GTIDs or its place in the order), as
    /// text.
    pub executed: String,
}
