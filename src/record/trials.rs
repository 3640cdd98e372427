//! Trials: a fault injected once into the servers of one mode, and all that is known of it.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::facts::is_zero;
use super::history::{Answer, Held, History, Token};
use crate::study::fault::Durability;
use crate::study::faults::Fault;

/// Trials of one fault on the servers of one mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Campaign {
    /// As the servers said that they are set.
    pub durability: Durability,
    pub fault: Fault,
    /// In the order in which they happened.
    pub trials: Vec<Trial>,
}

/// One trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// From 1 on, of its fault; 0 in an older record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub number: u32,
    /// How often its run had been gone on with before; 0 also in an older record.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub segment: usize,
    /// Of all that is drawn in it.
    pub seed: u64,
    pub started_unix_ms: u64,
    /// What was done, and seen of it, in order; those that were not reached are missing.
    pub steps: Vec<Done>,
    pub history: History,
    /// The nodes whose state counts as the database's at the end: of one that took over, the one;
    /// of a cluster, all that are in it.
    pub serving: Vec<Held>,
    /// Other nodes that could be read: an old writer that came back, a side that was cut off.
    pub others: Vec<Held>,
    /// What each candidate had when one was promoted.
    pub candidates: Vec<Candidate>,
    /// Of links whose stream was kept: the tokens in whole transactions that had been delivered to
    /// each node by the cut.
    pub delivered: Vec<Delivered>,
    /// Of a mode with one server: the tokens of this trial in whole transactions of its binary log
    /// at the end. `None` without a log of rows, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged: Option<Delivered>,
    /// Of a mode that may go on without the others: the last moment at which its own counters still
    /// said that it had not, if it did later. Nothing that was acknowledged from then on is
    /// promised; a later moment would make a broken promise of what was none.
    pub alone_us: Option<u64>,
    /// Whether that was asked, and answered.
    pub alone_known: bool,
    /// Where it was not answered at last: the last moment at which it was, and said that it had
    /// not. `None` if it never was, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company_us: Option<u64>,
    /// The server's own words, where it ended by itself for what it found in its data.
    pub refused: Option<String>,
    /// Until when clients were at work; µs of the history's clock. `None` in older records.
    #[serde(default)]
    pub watched_us: Option<u64>,
    /// Why nothing could be judged, where that is the lab's doing or an event that never came.
    pub undecided: Option<String>,
    /// From the promotion or the last start until the database could be read.
    pub recovery: Duration,
}

impl Trial {
    /// How many commits were acknowledged, and how many of these are not on every node that serves:
    /// as many as a first look sees, before anything is judged. `None` where nodes were not read.
    pub fn acknowledged_and_missing(&self) -> (usize, Option<usize>) {
        let of_node =
            |held: &Held| -> HashSet<Token> { held.rows.iter().map(|row| row.token).collect() };
        let there: Vec<HashSet<Token>> = self.serving.iter().map(of_node).collect();
        let transfers = self.history.transfers.iter();
        let acknowledged = transfers.filter(|one| one.answer == Answer::Acknowledged);
        let (mut count, mut missing) = (0, 0);
        for transfer in acknowledged {
            count += 1;
            let is_there = there.iter().all(|node| node.contains(&transfer.token));
            missing += usize::from(!is_there);
        }
        let is_read = !there.is_empty() && self.serving.iter().all(|held| held.unread.is_none());
        (count, is_read.then_some(missing))
    }
}

/// One step, done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Index in the fault's steps.
    pub step: usize,
    /// When it was begun and when it was done; µs of the history's clock.
    pub begun_us: u64,
    pub ended_us: u64,
    /// Nodes that it befell, by index. Of links: those of the first set. Of a promotion, a
    /// bootstrap or a forced membership: those that took over.
    pub nodes: Vec<u8>,
    /// What was seen of it after it was armed; `None`: nothing can be seen of it.
    pub bite: Option<bool>,
    /// What was looked at, and what it said; one line.
    pub seen: String,
    /// Of a power cut: writes to 4 KiB blocks that were lost.
    #[serde(default)]
    pub dropped_writes: u64,
    /// Of a power cut: the moment at which links went dark and disks stopped; absent in a record of
    /// before it was kept.
    #[serde(default)]
    pub in_force_us: Option<u64>,
}

/// What a candidate had when one was promoted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    pub node: u8,
    /// Transactions since the trial began, by its sets of GTIDs.
    pub received: u64,
    pub executed: u64,
    pub is_chosen: bool,
}

/// What a link had delivered of a log to a node, or what the node's own log holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    pub node: u8,
    /// Of whole transactions, in the order of the log.
    pub tokens: Vec<Token>,
    /// Why it could not be read to its end, if so.
    pub unread: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::history::{Row, Transfer};

    #[test]
    fn what_is_not_on_every_node_that_serves_is_missing() {
        let transfer = |token, answer| Transfer {
            token,
            from: 0,
            to: 1,
            amount: 1,
            node: 0,
            begun_us: 0,
            commit_us: Some(1),
            ended_us: 2,
            answer,
        };
        let held = |tokens: &[Token]| Held {
            rows: tokens
                .iter()
                .map(|&token| Row {
                    token,
                    from: 0,
                    to: 1,
                    amount: 1,
                })
                .collect(),
            ..Held::default()
        };
        let trial = Trial {
            history: History {
                transfers: vec![
                    transfer(1, Answer::Acknowledged),
                    transfer(2, Answer::Acknowledged),
                    transfer(3, Answer::Acknowledged),
                    transfer(4, Answer::Unanswered),
                ],
                ..History::default()
            },
            serving: vec![held(&[1, 2, 4]), held(&[1])],
            ..Trial::default()
        };
        assert_eq!(trial.acknowledged_and_missing(), (3, Some(2)));
        let mut unread = trial.clone();
        unread.serving[1].unread = Some("no connection".to_owned());
        assert_eq!(unread.acknowledged_and_missing(), (3, None));
        unread.serving.clear();
        assert_eq!(unread.acknowledged_and_missing(), (3, None));
    }
}
