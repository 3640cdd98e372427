//! What can be seen from beside: CPU accounts, the host, the servers' own counters and logs, lag,
//! what appliers do alone.

pub mod applying;
pub mod binary_log;
pub mod counting;
pub mod cpu;
pub mod host;
pub mod lag;
pub mod schedstat;
pub mod status;
