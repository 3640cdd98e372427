//! Servers that somebody else runs: reached over the host's own network, worked on in one database
//! of acklab's own making, and left as they were found.
//!
//! No sandbox stands around this. What could outlive a killed run is its database alone: `claims`
//! keeps its name on this machine, and the next run on that server drops it.

mod access;
mod claims;
mod connection;
mod handshake;
mod owned;
mod refusal;
mod secret;
mod trust;

pub use access::Access;
pub use claims::{Claims, Leftover};
pub use connection::Connection;
pub use handshake::{Handshake, handshakes};
pub use owned::{HEARTBEAT, Owned, drop_left};
pub use secret::Secret;
pub use trust::{Authorities, Guest};
