//! What is said over a connection, whoever says it: clients and readers are machines that are told
//! what happened, and answer what comes next.

use std::net::SocketAddr;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// This statement, where it is to be connected to now; then its answer. If it is not connected
    /// there yet, it is first, and says then what it asks.
    Ask(String),
    /// Nothing until that time.
    Rest(u64),
    /// Another connection.
    Leave,
    /// Nothing any more.
    End,
}

/// One who speaks to servers. Times are µs since the clients' start.
pub trait Talk {
    /// Where it is to be connected to now.
    fn target(&self) -> SocketAddr;

    /// It has logged in.
    fn ready(&mut self, now_us: u64) -> Next;

    /// A row of the answer to what it asked.
    fn row(&mut self, row: &[u8]);

    /// What it asked is answered.
    fn well(&mut self, now_us: u64) -> Next;

    /// What it asked is answered with that error, by the server's number.
    fn failed(&mut self, number: u16, now_us: u64) -> Next;

    /// It has rested.
    fn rested(&mut self, now_us: u64) -> Next;

    /// Its connection is lost, or was given up.
    fn lost(&mut self, now_us: u64);

    /// It is to begin nothing any more.
    fn stop(&mut self);

    /// Whether there is something that it should bring to its end.
    fn is_at_work(&self) -> bool;
}
