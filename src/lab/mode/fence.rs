//! Who may be written to, and who must not.

use std::thread;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::lab::lab::Lab;
use crate::lab::node::pause;
use crate::lab::servers::datadir::USER;
use crate::lab::sql::Admin;

/// Has a server take writes again, from every account.
const TAKE_WRITES: &str = "SET GLOBAL read_only = OFF";

/// So long a server may wait for statements to end, and as long for commits.
const LIMIT: Duration = Duration::from_secs(10);
/// The lab gives it up then; the server has by itself before.
const ANSWER_LIMIT: Duration = Duration::from_secs(25);
/// So long commits may wait for replicas until they are told to wait no more.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_AGAIN_EVERY: Duration = Duration::from_millis(50);

/// Has node `i` refuse the writes of clients, and ends their connections: whether it does now. One
/// whose server does not run writes nothing.
///
/// A server waits for the commits that are on their way before it refuses any. With semi-sync these
/// may wait for replicas that are gone, so their connections are ended first, again and again, and
/// only then the wait is: no client is told that a commit is safe that nobody else has.
///
/// # Errors
/// [`crate::error::Error::Interrupted`] if the user asked to stop. A server that cannot be reached
/// is none: it is told.
pub fn fence(lab: &mut Lab, i: usize) -> Result<bool> {
    let dialect = lab.program.dialect();
    let refuse = dialect.word("refuse_writes").to_owned();
    let source = dialect.optional("semisync_source");
    let set =
        |source: &str| ["OFF", "ON"].map(|value| format!("SET GLOBAL {source}_enabled = {value}"));
    let semisync = source.map(set);
    let node = &mut lab.nodes[i];
    if !node.is_up() {
        return Ok(true);
    }
    if !node.answers() {
        return Ok(false);
    }
    let connect = || Admin::connect_within(&node.socket(), ANSWER_LIMIT);
    match (connect(), connect()) {
        (Ok(locker), Ok(other)) => shut((locker, &refuse), other, semisync),
        _ => Ok(false),
    }
}

/// Runs a statement that waits for commits, while clients are kept from it. Semi-sync is ended by
/// the first of its two statements if commits wait for too long, and begun again by the other if
/// the server could not be shut all the same.
fn shut(
    (mut locker, refuse): (Admin, &str),
    mut other: Admin,
    semisync: Option<[String; 2]>,
) -> Result<bool> {
    let [mut let_go, wait_again] = match semisync {
        Some([off, on]) => [Some(off), Some(on)],
        None => [None, None],
    };
    let limit = format!("SET SESSION lock_wait_timeout = {}", LIMIT.as_secs());
    let begun = Instant::now();
    thread::scope(|scope| -> Result<bool> {
        let lock = move || locker.run(&limit).is_ok() && locker.run(refuse).is_ok();
        let locking = scope.spawn(lock);
        while !locking.is_finished() {
            end_clients(&mut other);
            if begun.elapsed() > PATIENCE
                && let Some(sql) = let_go.take()
            {
                let _ = other.run(&sql);
            }
            pause(LOOK_AGAIN_EVERY)?;
        }
        end_clients(&mut other);
        let is_shut = locking.join().unwrap_or(false);
        if !is_shut
            && let_go.is_none()
            && let Some(sql) = wait_again
        {
            let _ = other.run(&sql);
        }
        Ok(is_shut)
    })
}

/// Ends the connections of clients. That one has gone meanwhile is no error.
fn end_clients(admin: &mut Admin) {
    let Ok(rows) = admin.rows("SHOW PROCESSLIST") else {
        return;
    };
    let is_client = |user: &String| user == USER;
    let clients = rows
        .iter()
        .filter(|row| row.get("User").is_some_and(is_client));
    for id in clients.filter_map(|row| row.get("Id")) {
        let _ = admin.run(&format!("KILL {id}"));
    }
}

/// Has node `i` take writes.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn open(lab: &mut Lab, i: usize) -> Result<()> {
    lab.nodes[i].run(TAKE_WRITES)
}

/// Has node `i` refuse writes, though nobody writes to it.
///
/// # Errors
/// A breakdown if it does not answer.
pub(super) fn close(lab: &mut Lab, i: usize) -> Result<()> {
    let refuse = lab.program.dialect().word("refuse_writes").to_owned();
    lab.nodes[i].run(&refuse)
}
