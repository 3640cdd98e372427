//! What can be seen from beside: CPU accounts, the host, the servers' own counters, lag.

pub mod cpu;
pub mod host;
pub mod lag;
pub mod status;
