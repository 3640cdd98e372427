//! Binary logs, which would fill a disk in the course of a study.

use crate::error::Result;
use crate::lab::lab::Lab;

/// Begins a new one on each server. What is applied after that has left the old ones.
pub fn begin(lab: &mut Lab) -> Result<()> {
    on_each(lab, "FLUSH LOCAL BINARY LOGS")
}

/// Drops all but the newest. One that is in use is never dropped.
pub fn drop_old(lab: &mut Lab) -> Result<()> {
    on_each(lab, "PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
}

fn on_each(lab: &mut Lab, sql: &str) -> Result<()> {
    let servers = if lab.spec.binary_log {
        lab.servers()
    } else {
        0..0
    };
    servers.into_iter().try_for_each(|i| lab.nodes[i].run(sql))
}
