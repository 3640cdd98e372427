//! What came of a trial: plain types.

use std::iter::Sum;
use std::ops::Add;

use serde::Serialize;

use super::promised::Promise;
use super::service::Service;
use super::staleness::ReaderStaleness;
use super::verdict::{Doubt, Verdict, Weight};

/// A trial, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    pub verdict: Verdict,
    /// All of them, whatever the verdict.
    pub doubts: Vec<Doubt>,
    pub promise: Promise,
    #[serde(flatten)]
    pub counts: Counts,
    /// Commits on their way when the first step was in force.
    pub in_flight: usize,
    pub service: Service,
    /// Of each reader.
    pub readers: Vec<ReaderStaleness>,
}

impl Judged {
    /// Whether its evidence is sound: then its counts are, whatever else is in doubt.
    pub fn is_sound(&self) -> bool {
        let mut doubts = self.doubts.iter();
        doubts.all(|doubt| doubt.weight() > Weight::Evidence)
    }

    /// Whether nothing at all is in doubt: then it has shown what its fault does, and what not.
    pub fn is_conclusive(&self) -> bool {
        self.doubts.is_empty()
    }

    /// Whether it is in doubt for what may go together with a loss. One in which that was not seen
    /// which its fault is for was no such fault.
    pub fn is_open(&self) -> bool {
        let mut doubts = self.doubts.iter();
        doubts.any(|doubt| !matches!(doubt, Doubt::NotSeen(_)))
    }

    /// The longest that a reader did not show what had been acknowledged, in ms.
    pub fn stale_ms_max(&self) -> Option<f64> {
        let all = self.readers.iter().filter_map(|reader| reader.stale_ms_max);
        all.reduce(f64::max)
    }

    /// Acknowledged transfers that readers never looked back to: in no figure of staleness.
    pub fn missed_by_readers(&self) -> usize {
        self.readers.iter().map(|reader| reader.missed).sum()
    }

    /// The most acknowledged transfers that a reader did not show at one look.
    pub fn stale_transfers_max(&self) -> usize {
        let all = self.readers.iter().map(|reader| reader.stale_transfers_max);
        all.max().unwrap_or(0)
    }
}

/// What became of a trial's transfers. *There* is what all nodes hold that serve at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub acknowledged: usize,
    /// Of these, promised to last.
    pub promised: usize,
    /// Acknowledged and not there: bad where it was promised.
    pub lost: usize,
    /// Of these, promised: always bad.
    pub lost_promised: usize,
    /// Never answered and there: innocent.
    pub recovered: usize,
    /// Refused, and on any node at the end, or seen by a reader: always bad.
    pub refused_present: usize,
    /// Sent by no client, and on any node at the end, or seen by a reader: always bad.
    pub never_sent: usize,
    /// Tokens that stand twice on a serving node.
    pub doubled: usize,
    /// Rows on a serving node that are not as their client sent them.
    pub torn: usize,
    /// Accounts whose balance on a serving node is not its start and all transfers there.
    pub unbalanced: usize,
    /// Seen by a reader, not refused, and not there at the end.
    pub phantom_reads: usize,
    /// Of these, seen where and when what is seen was promised to last.
    pub phantom_promised: usize,
    /// Seen, gone at a later look of the same reader, and there at the end.
    pub flickered: usize,
    /// Lost, though a later one of the same node is there that was acknowledged, and both came
    /// before the same blow.
    pub holes: usize,
    /// On another node, and on none that serves: innocent as long as nobody reads them there.
    pub errant: usize,
    /// Of these, at least so many on one node have GTIDs that whoever serves gave to other
    /// transactions.
    pub gtids_reused: usize,
    /// Acknowledged and there, and not on a replica that says it has executed all that is there.
    pub skipped: usize,
    /// Replicas that say so, have the same transfers as the first node that serves, and other rows
    /// or balances.
    pub drifted: usize,
    /// Serving nodes that differ from the first.
    pub diverged: usize,
    /// Lost, acknowledged while another side took writes too, some of which are there.
    pub forked: usize,
    /// Nodes whose tables did not pass their check: those that serve, and replicas that say that
    /// they have executed all.
    pub corrupt: usize,
    /// In the tables of the only server, and not in its binary log, or there alone.
    pub only_in_tables: usize,
    pub only_in_log: usize,
}

impl Counts {
    /// What no client may find wherever each node has kept what it told others.
    pub fn broken_rows(&self) -> usize {
        self.doubled + self.torn + self.unbalanced + self.diverged
    }

    /// What somebody has lost by it, promised or not.
    pub fn harm(&self) -> usize {
        let replicas = self.skipped + self.drifted;
        self.lost + self.phantom_reads + self.broken_rows() + replicas + self.corrupt
    }

    /// What no settings allow.
    pub fn forbidden(&self) -> usize {
        self.refused_present + self.never_sent
    }

    /// All that may not be where no fault is injected.
    pub fn anything(&self) -> usize {
        let reads = self.phantom_reads + self.flickered;
        let replicas = self.errant + self.skipped + self.drifted;
        let others = replicas + self.forked + self.lost + self.corrupt;
        self.broken_rows() + self.forbidden() + reads + others + self.apart()
    }

    /// In which tables and binary log of one server disagree.
    pub fn apart(&self) -> usize {
        self.only_in_tables + self.only_in_log
    }
}

impl Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        Counts {
            acknowledged: self.acknowledged + other.acknowledged,
            promised: self.promised + other.promised,
            lost: self.lost + other.lost,
            lost_promised: self.lost_promised + other.lost_promised,
            recovered: self.recovered + other.recovered,
            refused_present: self.refused_present + other.refused_present,
            never_sent: self.never_sent + other.never_sent,
            doubled: self.doubled + other.doubled,
            torn: self.torn + other.torn,
            unbalanced: self.unbalanced + other.unbalanced,
            phantom_reads: self.phantom_reads + other.phantom_reads,
            phantom_promised: self.phantom_promised + other.phantom_promised,
            flickered: self.flickered + other.flickered,
            holes: self.holes + other.holes,
            errant: self.errant + other.errant,
            gtids_reused: self.gtids_reused + other.gtids_reused,
            skipped: self.skipped + other.skipped,
            drifted: self.drifted + other.drifted,
            diverged: self.diverged + other.diverged,
            forked: self.forked + other.forked,
            corrupt: self.corrupt + other.corrupt,
            only_in_tables: self.only_in_tables + other.only_in_tables,
            only_in_log: self.only_in_log + other.only_in_log,
        }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(all: I) -> Counts {
        all.fold(Counts::default(), Counts::add)
    }
}
