//! A ledger kept by real clients, while servers, links and disks are being broken.
//!
//! Clients move amounts between accounts, over the links, each transfer sent once; when they lose
//! their server they look for the one that takes their writes. Readers beside the nodes look at
//! what is there. Both are `acklab drive` processes; what they were told and saw is in memory that
//! outlives them.
//!
//! - `handle`: the parent's side; `plan`: what it asks for; `crew`: the driver's loop
//! - `client`, `reader`: what is said, as machines (`talk`) without socket or clock
//! - `find`: who takes writes; `draw`: transfers; `seen`: what is new and what is gone
//! - `sql`: statements and tables; `connection`: one socket, up to the answers
//! - `memory`: the shared memory, word by word; `note`: what its log says

mod client;
mod connection;
mod crew;
mod draw;
mod find;
mod handle;
mod memory;
mod note;
mod plan;
mod reader;
mod seen;
mod sql;
mod talk;
#[cfg(test)]
mod tests;

pub(super) use crew::Crew;
pub use draw::{ACCOUNTS, START_BALANCE};
pub use handle::Clients;
pub(super) use plan::Task;
pub use plan::{
    ClientsPlan, LOOK_EVERY, Level, RECONNECT_EVERY, ReadersPlan, SESSIONS, SLOTS, Wait,
};
pub use sql::{select_balances, select_transfers, tables};
