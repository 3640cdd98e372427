//! What a driver is asked and what it answers: one JSON value per line.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::ledgers::Task;
use crate::lab::endpoint::{Guest, Secret};
use crate::record::server_errors::ServerErrors;
use crate::record::{Iteration, Measurement, Second};
use crate::study::Workload;

/// A load to drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Servers; session `i` connects to the `i`-th of them, counted round and round.
    pub targets: Vec<SocketAddr>,
    pub user: String,
    pub password: Secret,
    /// Databases with the same tables, one at least, which are dealt out to the sessions in turn:
    /// the current database of session `i` of driver `d` is number `i + d`, counted round and
    /// round. mysqlslap's manner uses one of its own.
    pub databases: Vec<String>,
    /// TLS on every connection; the server's certificate is verified for guests only.
    pub tls: bool,
    pub workload: Workload,
    /// Number of sessions.
    pub connections: u32,
    pub seed: u64,
    /// Which of `drivers` side by side this one is: keeps random streams and `unique`
    /// parameters apart.
    #[serde(default)]
    pub driver: u32,
    /// How many drivers run side by side.
    #[serde(default = "one")]
    pub drivers: u32,
    /// Added to the `start` of every `unique` parameter: the last `Snapshot::unique_next` of an
    /// earlier job over the same tables.
    #[serde(default)]
    pub unique_from: u64,
    /// Open loop: so many transactions become due each second over all sessions of this driver,
    /// at random intervals, and latency runs from the due time. Without it each session sends its
    /// next transaction when the last was answered.
    #[serde(default)]
    pub rate_per_s: Option<f64>,
    /// Each session begins its next transaction so long after its last one's end, not at once.
    #[serde(default)]
    pub pace: Option<Duration>,
    /// Each session rests after each transaction, for this share of the time from the beginning of
    /// one to that of the next: so much less is done. Above 0, below 1; with no rate and no pace.
    #[serde(default)]
    pub slowdown: Option<f64>,
    /// Sessions that are connected wait for `Command::Begin`, so that several drivers begin at the
    /// same moment.
    #[serde(default)]
    pub waits: bool,
    /// The server is somebody else's: nothing outside `databases` is touched, and TLS verifies.
    #[serde(default)]
    pub guest: Option<Guest>,
}

fn one() -> u32 {
    1
}

/// Everything since the last mark (or the start).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Length of the window.
    pub window_s: f64,
    /// Transactions that ended well and changed at least one row.
    pub commits: u64,
    /// Transactions that ended well and changed no row.
    pub unchanged: u64,
    /// Statements that ended well.
    pub statements: u64,
    /// Transactions that failed, by what the server said.
    pub errors: ServerErrors,
    /// Transactions still without an answer when their connection was closed at the stop.
    pub unanswered: u64,
    /// Of transactions that ended well, from their first statement sent to the last answer, in
    /// µs: an HdrHistogram in V2 form, base64. In an open loop from the time they were due, of
    /// those that were due in the window.
    pub latency_us: String,
    /// Open loop only: the same transactions from their first statement sent.
    #[serde(default)]
    pub service_us: Option<String>,
    /// Open loop only, of transactions that became due in the window: how many these were; those of
    /// them that failed; how long those have been due that have not ended. Those of `latency_us`,
    /// these and those are all.
    #[serde(default)]
    pub due: u64,
    #[serde(default)]
    pub failed_due: u64,
    #[serde(default)]
    pub unfinished_us: Option<String>,
    /// Open loop only: latency of all that ended in the window, whenever they were due.
    #[serde(default)]
    pub ended_us: Option<String>,
    /// Open loop only: those of all so far that no session has begun.
    #[serde(default)]
    pub backlog: u64,
    /// The same by kind of statement (`select`, `update`, `commit`…).
    pub statement_latency_us: BTreeMap<String, String>,
    /// Whole seconds that ended in this window.
    pub timeline: Vec<DriverSecond>,
    /// From the start until the last session was ready; where sessions waited for those of other
    /// drivers, until all began.
    pub connected_s: f64,
    /// The first number that no `unique` parameter has used, less its `start`.
    pub unique_next: u64,
    /// Of one driver: CPU time of its thread since it was started, and how long after the moment
    /// that was asked for the window ended.
    #[serde(default)]
    pub cpu_us: f64,
    #[serde(default)]
    pub late_s: f64,
}

/// A whole second, and what its percentiles come from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DriverSecond {
    #[serde(flatten)]
    pub second: Second,
    /// Latency of its transactions, in the form of `Snapshot::latency_us`; empty of a driver that
    /// is alone, whose seconds are joined with no other's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub latency_us: String,
}

impl DriverSecond {
    /// Takes the second's percentiles from all its latencies.
    pub fn take_percentiles(&mut self, latency_us: &Histogram<u64>) {
        let of = |share| latency_us.value_at_quantile(share);
        self.second.latency_us_p50 = of(0.5);
        self.second.latency_us_p99 = (!latency_us.is_empty()).then(|| of(0.99));
        self.second.latency_us_max = latency_us.max();
    }
}

impl Snapshot {
    /// Keeps a window in the measurement that it is of; gives its whole seconds.
    pub fn keep_in(self, into: &mut Measurement) -> Vec<DriverSecond> {
        into.window_s = self.window_s;
        into.commits = self.commits;
        into.unchanged = self.unchanged;
        into.statements = self.statements;
        into.errors = self.errors;
        into.latency_us = self.latency_us;
        into.service_us = self.service_us;
        (into.due, into.backlog) = (self.due, self.backlog);
        (into.failed_due, into.unfinished_us) = (self.failed_due, self.unfinished_us);
        into.statement_latency_us = self.statement_latency_us;
        self.timeline
    }
}

/// What mysqlslap's manner gives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Iterations {
    pub iterations: Vec<Iteration>,
    /// Over all iterations; its window is the sum of theirs.
    pub snapshot: Snapshot,
}

/// One line to a driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// Connect all sessions and start the load.
    Start(Box<Job>),
    /// What time it is on the driver's clock.
    Clock,
    /// Begin a load that waits, at this moment of the driver's clock.
    Begin { at_ns: u64 },
    /// Answer a snapshot and begin a new window.
    Mark,
    /// The same at this moment of the driver's clock.
    MarkAt { at_ns: u64 },
    /// No new transactions; answer the last snapshot when those in flight have ended.
    Stop,
    /// mysqlslap's manner: load its table anew.
    Reload(Box<Job>),
    /// mysqlslap's manner: one iteration on the table just loaded.
    Iterate,
    /// Keep a ledger, or read one, until `Stop`: what comes of it is in the task's memory.
    Ledger(Box<Task>),
}

/// One line from a driver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// All sessions are connected.
    Started {
        connected_s: f64,
    },
    /// When the question came, and when it was answered.
    Clock {
        heard_ns: u64,
        answered_ns: u64,
    },
    /// The load has begun, so long after the moment that was asked for.
    Begun {
        late_s: f64,
    },
    Snapshot(Box<Snapshot>),
    Reloaded,
    Iterations(Box<Iterations>),
    /// All sessions of a ledger have ended.
    Stopped,
    /// A breakdown's parts.
    Failed {
        tried: String,
        status: String,
    },
}

/// An empty histogram of µs: three digits up to ten minutes; what is longer counts as that.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 600_000_000, 3).expect("constant bounds are valid")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    const JOB: &str = r#"{"targets":["127.0.0.1:3306"],"user":"u","password":"","databases":["d"],
        "tls":false,"connections":2,"seed":1,"workload":{"tool":"sysbench","load":"insert",
        "tables":1,"table_size":10,"prepared":true}}"#;

    /// A job in as few words as it can be.
    pub fn example() -> Job {
        serde_json::from_str(JOB).unwrap()
    }

    #[test]
    fn commands_are_the_lines_that_were_agreed() {
        let line = |command: &Command| serde_json::to_string(command).unwrap();
        assert_eq!(line(&Command::Mark), "\"mark\"");
        assert_eq!(line(&Command::Stop), "\"stop\"");
        let stopped = serde_json::to_string(&Reply::Stopped).unwrap();
        assert_eq!(stopped, "\"stopped\"");
        let text = format!(r#"{{"reload":{JOB}}}"#);
        let Command::Reload(job) = serde_json::from_str(&text).unwrap() else {
            panic!("not a reload");
        };
        assert_eq!((job.driver, job.drivers, job.unique_from), (0, 1, 0));
        assert_eq!((job.rate_per_s, job.pace), (None, None));
        assert_eq!((job.slowdown, job.waits), (None, false));
        assert_eq!(line(&Command::Clock), "\"clock\"");
        assert_eq!(
            line(&Command::Begin { at_ns: 7 }),
            r#"{"begin":{"at_ns":7}}"#
        );
        assert_eq!(
            line(&Command::MarkAt { at_ns: 7 }),
            r#"{"markat":{"at_ns":7}}"#
        );
    }
    /// A second of a driver that is alone is the line that it always was.
    #[test]
    fn a_second_is_one_line_with_or_without_its_latencies() {
        let mut second = DriverSecond {
            second: Second {
                second: 4,
                commits: 2,
                ..Second::default()
            },
            latency_us: String::new(),
        };
        let text = serde_json::to_string(&second).unwrap();
        let expected = r#"{"second":4,"commits":2,"transactions":0,"errors":0,"#;
        let last = r#""latency_us_p50":0,"latency_us_max":0}"#;
        assert_eq!(text, format!("{expected}{last}"));
        second.latency_us = "abc".to_owned();
        let text = serde_json::to_string(&second).unwrap();
        assert_eq!(serde_json::from_str::<DriverSecond>(&text).unwrap(), second);
    }
}
