//! Drivers that were started elsewhere and join a run.
//!
//! ```text
//! the run                                        acklab drive --join ADDRESS, anywhere
//! Door: listens, certificate, token   <── TLS ── enter: verifies, shows the token
//! Joined: asks all, merges            <─ lines ─> relay <─ a socket ─> driver: as everywhere
//! ```
//!
//! Both sides say the same JSON lines as over a pipe (`super::job`). Here they go through TLS: a
//! second thread of the driver minds that, so that its event loop never waits for the network.

mod door;
mod enter;
mod hello;
mod joined;
mod relay;
mod remote;
mod seconds;
#[cfg(test)]
mod tests;
mod ticket;
mod tls;

pub use door::Door;
pub use enter::{Entry, TOKEN_VARIABLE, TicketFrom, join};
pub use hello::StudyName;
pub use joined::{Joined, Patience};
pub use ticket::{Ticket, TicketFile};
