//! Appliers that wait for a lock which the lab's own session holds: they receive, and do nothing.
//!
//! - A replica, and a member of a group, waits for a table: `LOCK TABLES … READ` lets readers in. A
//!   replica's appliers are stopped for a moment meanwhile: under load their locks would go before
//!   that one again and again.
//! - A node of Galera aborts whoever holds a row that it is to write, and may abort whoever holds a
//!   table. `FLUSH TABLES WITH READ LOCK` halts the node's provider instead, and takes the node out
//!   of flow control for as long: the others go on, and their write sets pile up there.

use std::time::Duration;

use crate::error::{Result, Tried, breakdown};
use crate::lab::lab::Lab;
use crate::lab::sql::{Admin, SqlError};
use crate::study::mode::Family;

/// So long a server may wait for the lock; then it gives it up.
const LOCK_LIMIT_S: u64 = 30;
/// The lab gives the server up then: it may wait for two locks.
const ANSWER_LIMIT: Duration = Duration::from_secs(LOCK_LIMIT_S * 2 + 10);

/// Appliers that wait. They go on when this is dropped, or their server ends.
pub struct Blocked {
    /// Index of their node.
    pub node: usize,
    session: Admin,
}

impl Blocked {
    /// Lets them go on, and tells whether the server says that the lock is gone. One that has ended
    /// says nothing, and has nothing to let go.
    pub fn free(mut self) -> bool {
        self.session.run("UNLOCK TABLES").is_ok()
    }
}

/// Has the appliers of node `i` wait, whatever they write to `tables`, each by its whole name.
///
/// # Errors
/// A breakdown if the server does not give the lock in time, or nobody applies there.
pub fn block_appliers(lab: &mut Lab, i: usize, tables: &[&str]) -> Result<Blocked> {
    match lab.spec.family {
        Family::Replication => block_replica(lab, i, tables),
        Family::Group => {
            // No statement of this session waits for the group.
            let calm = "SET SESSION group_replication_consistency = 'EVENTUAL'";
            hold(lab, i, &[calm, &lock(tables)])
        }
        Family::Galera => hold(lab, i, &["FLUSH TABLES WITH READ LOCK"]),
        Family::Mirror | Family::Quorum | Family::Endpoint => {
            Err(breakdown("block appliers", "nobody applies there"))
        }
    }
}

/// The receiver goes on all the while: what it has received is kept.
fn block_replica(lab: &mut Lab, i: usize, tables: &[&str]) -> Result<Blocked> {
    let dialect = lab.program.dialect().clone();
    lab.nodes[i].run(dialect.word("stop_appliers"))?;
    let blocked = hold(lab, i, &[&lock(tables)]);
    lab.nodes[i].run(dialect.word("start_appliers"))?;
    blocked
}

/// `LOCK TABLES a READ, b READ`
fn lock(tables: &[&str]) -> String {
    let locks: Vec<String> = tables.iter().map(|table| format!("{table} READ")).collect();
    format!("LOCK TABLES {}", locks.join(", "))
}

/// A session on node `i` in which these statements have been run.
fn hold(lab: &Lab, i: usize, statements: &[&str]) -> Result<Blocked> {
    let node = &lab.nodes[i];
    let take = || -> std::result::Result<Admin, SqlError> {
        let mut session = Admin::connect_within(&node.socket(), ANSWER_LIMIT)?;
        session.run(&format!("SET SESSION lock_wait_timeout = {LOCK_LIMIT_S}"))?;
        for sql in statements {
            session.run(sql)?;
        }
        Ok(session)
    };
    let session = take().tried(|| format!("block the appliers of {}", node.name()))?;
    Ok(Blocked { node: i, session })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tables_are_locked_by_one_statement() {
        let sql = lock(&["acklab.accounts", "acklab.transfers"]);
        assert_eq!(
            sql,
            "LOCK TABLES acklab.accounts READ, acklab.transfers READ"
        );
    }
}
