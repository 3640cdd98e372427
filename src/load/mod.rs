//! Drives load over MySQL's protocol: a process of its own, one thread, an epoll loop.
//!
//! The parent holds a [`Driver`], which tells an `acklab drive` process what to do. There a
//! `Pool` of `Session`s runs a workload's `Script` against the servers and counts in a `Tally`; or,
//! while faults are injected, a `Crew` keeps a ledger ([`ledgers`]).

mod arrivals;
mod bell;
mod clock;
pub mod driver;
mod handle;
mod input;
mod iterate;
mod job;
pub mod join;
mod keys;
pub mod ledgers;
mod merge;
mod pace;
mod pool;
mod priority;
mod session;
mod split;
mod stream;
mod tally;
mod wire;
mod workload;

pub use handle::{Driver, mark_all, start_all, stop_all};
pub use iterate::in_a_row;
pub use job::{DriverSecond, Iterations, Job, Snapshot};
pub use merge::merge;
pub use split::share;
pub use workload::setup_statements;
