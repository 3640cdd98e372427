//! A replica takes over from its source, and others follow it from then on.
//!
//! These are the deeds of an operator, or of a manager that fails over: each is what one would do
//! by hand, and what a server says against it is handed on in its own words. Nodes are indices.

use std::time::{Duration, Instant};

use super::gtids::Gtids;
use super::{fence, replica, replication, semisync};
use crate::error::{Error, Result};
use crate::lab::lab::Lab;
use crate::lab::node::pause;
use crate::study::Mode;

/// How long a replica may take to apply what it has received, or to be given what others have.
const LIMIT: Duration = Duration::from_secs(120);
/// How long one may take to follow another source.
const FOLLOW_LIMIT: Duration = Duration::from_secs(20);
/// A server waits so long at a time for its own appliers.
const LOOK: Duration = Duration::from_secs(1);
const LOOK_AGAIN_EVERY: Duration = Duration::from_millis(5);
/// Appliers that do nothing for so long, with nothing left to read, wait for nothing that comes.
const STANDSTILL: Duration = Duration::from_secs(5);

/// All that node `i` has: what it has executed, and what stands in its relay log.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn received(lab: &mut Lab, i: usize) -> Result<Gtids> {
    let executed = replication::executed(lab, i)?;
    let dialect = lab.program.dialect().clone();
    let status = replica::status(&mut lab.nodes[i], &dialect)?;
    let received = status.map(|status| Gtids::read(&status.received));
    Ok(executed.union(&received.unwrap_or_default()))
}

/// What came of a promotion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Promoted {
    /// Why the one that took over had not applied all that it had received, in its own words.
    pub unapplied: Option<String>,
    /// Who of the others does not follow it, and why not.
    pub astray: Vec<(usize, String)>,
}

/// Has replica `i` take over: it applies what it has received, forgets its source, takes writes,
/// and those of `others` that answer follow it by their global ids.
///
/// What the others have received and not applied they throw away, as servers do that are pointed
/// elsewhere by global id. A source of semi-sync waits for no more replicas than are left, and for
/// none where there is none. No appliers may be blocked any more: such a server cannot be stopped.
///
/// With MariaDB a relay log outlives no restart: what `i` had received before one is gone when its
/// appliers start. MySQL waits a minute for the rest of a transaction that came in half.
///
/// # Errors
/// A breakdown if `i` does not answer, or applies on and on.
pub fn promote(lab: &mut Lab, i: usize, others: &[usize]) -> Result<Promoted> {
    let unapplied = leave_source(lab, i)?;
    let mut followers = Vec::new();
    for &other in others {
        if other != i && lab.nodes[other].answers() {
            followers.push(other);
        }
    }
    let mode = semisync::with_company(&mode_of(lab), followers.len());
    let dialect = lab.program.dialect().clone();
    semisync::set_replica(&mut lab.nodes[i], &dialect, &Mode::Async)?;
    semisync::set_source(&mut lab.nodes[i], &dialect, &mode)?;
    fence::open(lab, i)?;
    let astray = gather(lab, i, &followers)?;
    Ok(Promoted { unapplied, astray })
}

/// The mode that the lab's servers are in.
fn mode_of(lab: &Lab) -> Mode {
    lab.entered().map_or(Mode::Async, |spec| spec.mode)
}

/// Has node `i` apply all that it has received, and then follow nobody.
fn leave_source(lab: &mut Lab, i: usize) -> Result<Option<String>> {
    let dialect = lab.program.dialect().clone();
    if replica::status(&mut lab.nodes[i], &dialect)?.is_none() {
        return Ok(None);
    }
    let unapplied = take_in(lab, i)?;
    lab.nodes[i].run(dialect.word("stop_replica"))?;
    lab.nodes[i].run(dialect.word("forget_source"))?;
    Ok(unapplied)
}

/// Has replica `i` receive no more, and apply all that it has: `None`, or why it did not.
fn take_in(lab: &mut Lab, i: usize) -> Result<Option<String>> {
    let dialect = lab.program.dialect().clone();
    // With neither thread at work MariaDB throws its relay log away: the receiver is last to stop.
    let refused = lab.nodes[i].refusal_of(dialect.word("start_appliers"))?;
    lab.nodes[i].run(dialect.word("stop_receiver"))?;
    match refused {
        Some(words) => Ok(Some(words)),
        None => apply_all(lab, i, LIMIT),
    }
}

/// Waits until replica `i` has applied all that it has received: `None`, or why it does not, in the
/// server's own words where they are its.
///
/// # Errors
/// A breakdown if it still applies after `limit`.
pub fn apply_all(lab: &mut Lab, i: usize, limit: Duration) -> Result<Option<String>> {
    let dialect = lab.program.dialect().clone();
    let begun = Instant::now();
    let mut last_seen = (Gtids::default(), begun);
    while begun.elapsed() < limit {
        let Some(status) = replica::status(&mut lab.nodes[i], &dialect)? else {
            return Ok(None);
        };
        if let Some(words) = status.applier_refusal() {
            return Ok(Some(words));
        }
        let gtids = &status.received;
        if gtids.is_empty() || replication::wait_applied(lab, i, gtids, LOOK)? {
            // What was in the socket still may have come in meanwhile.
            let now = replica::status(&mut lab.nodes[i], &dialect)?;
            if now.is_none_or(|now| now.received == *gtids) {
                return Ok(None);
            }
            continue;
        }
        let executed = replication::executed(lab, i)?;
        if executed != last_seen.0 {
            last_seen = (executed, Instant::now());
        } else if last_seen.1.elapsed() > STANDSTILL && status.has_read_all() {
            return Ok(Some(standstill(&Gtids::read(gtids), &executed)));
        }
        pause(LOOK_AGAIN_EVERY)?;
    }
    let status = format!("not so within {} s", limit.as_secs());
    Err(lab.nodes[i].breakdown("apply what it has received", &status))
}

/// What to say of appliers that have read all that there is, and rest. The last transaction may be
/// there in part, or somebody holds a lock that they wait for.
fn standstill(received: &Gtids, executed: &Gtids) -> String {
    let missing = received.missing_in(executed);
    format!("its appliers rest, and it lacks {missing} of the transactions that it has received")
}

/// Points these at node `source`, all of them first, and tells of those that do not follow it.
fn gather(lab: &mut Lab, source: usize, followers: &[usize]) -> Result<Vec<(usize, String)>> {
    let mut told = Vec::new();
    for &i in followers {
        told.push(heard(lab, i, |lab| point_at(lab, i, source))?);
    }
    let dialect = lab.program.dialect().clone();
    let mut astray = Vec::new();
    for (&i, told) in followers.iter().zip(told) {
        let told = match told {
            None => heard(lab, i, |lab| {
                replica::wait_following(&mut lab.nodes[i], &dialect, FOLLOW_LIMIT)
            })?,
            told => told,
        };
        astray.extend(told.map(|words| (i, words)));
    }
    Ok(astray)
}

/// What a follower answers. That one breaks down is told, and does not end a promotion.
fn heard(
    lab: &mut Lab,
    i: usize,
    ask: impl FnOnce(&mut Lab) -> Result<Option<String>>,
) -> Result<Option<String>> {
    match ask(lab) {
        Err(Error::Breakdown(_)) if !lab.nodes[i].is_up() => Ok(Some("it does not run".into())),
        Err(Error::Breakdown(breakdown)) => Ok(Some(breakdown.status)),
        told => told,
    }
}

/// Has node `i` follow node `source` from where it stands: `None`, or the statement's refusal.
fn point_at(lab: &mut Lab, i: usize, source: usize) -> Result<Option<String>> {
    let (dialect, mode) = (lab.program.dialect().clone(), mode_of(lab));
    let connect = replica::connect(lab, source);
    let node = &mut lab.nodes[i];
    match replica::status(node, &dialect)? {
        Some(_) => node.run(dialect.word("stop_replica"))?,
        // It wrote before.
        None => dialect
            .optional("demote")
            .map_or(Ok(()), |demote| node.run(demote))?,
    }
    semisync::set_source(node, &dialect, &Mode::Async)?;
    semisync::set_replica(node, &dialect, &mode)?;
    match node.refusal_of(&connect)? {
        None => node.refusal_of(dialect.word("start_replica")),
        refused => Ok(refused),
    }
}

/// Gives replica `to`, before it takes over, what replica `from` has received besides: MHA's
/// principle. `None`, or why it could not be given all.
///
/// MHA copies relay logs. Here `from` applies its own, and `to` replicates from it as far as that
/// goes: with global ids the same transactions arrive.
///
/// # Errors
/// A breakdown if either does not answer, or applies on and on.
pub fn give_others(lab: &mut Lab, to: usize, from: usize) -> Result<Option<String>> {
    for i in [from, to] {
        if let Some(words) = take_in(lab, i)? {
            return Ok(Some(words));
        }
    }
    let wanted = replication::executed(lab, from)?;
    if wanted.is_in(&replication::executed(lab, to)?) {
        return Ok(None);
    }
    if let Some(words) = point_at(lab, to, from)? {
        return Ok(Some(words));
    }
    let told = wait_executed(lab, to, &wanted, LIMIT)?;
    let stop = lab.program.dialect().word("stop_receiver").to_owned();
    lab.nodes[to].run(&stop)?;
    Ok(told)
}

/// Waits until node `i`, which follows another, has executed all of these: `None`, or why not, with
/// the server's own words if it refuses.
///
/// # Errors
/// A breakdown if it does not answer.
pub(super) fn wait_executed(
    lab: &mut Lab,
    i: usize,
    wanted: &Gtids,
    limit: Duration,
) -> Result<Option<String>> {
    let dialect = lab.program.dialect().clone();
    let begun = Instant::now();
    loop {
        let executed = replication::executed(lab, i)?;
        if wanted.is_in(&executed) {
            return Ok(None);
        }
        let status = replica::status(&mut lab.nodes[i], &dialect)?;
        if let Some(words) = status.and_then(|status| status.refusal()) {
            return Ok(Some(words));
        }
        if begun.elapsed() > limit {
            let (missing, seconds) = (wanted.missing_in(&executed), limit.as_secs());
            let told = format!("it lacks {missing} transactions after {seconds} s");
            return Ok(Some(told));
        }
        pause(LOOK_AGAIN_EVERY)?;
    }
}

/// Whether node `i` is connected to `writer` as its replica, applies, and comes to say within
/// `limit` that it has executed all that this one has by now.
///
/// # Errors
/// A breakdown if either does not answer.
pub(super) fn is_level(lab: &mut Lab, i: usize, writer: usize, limit: Duration) -> Result<bool> {
    // One without global ids can say nothing of that.
    if replication::executed(lab, writer)? == Gtids::default() {
        return Ok(false);
    }
    let (dialect, source) = (lab.program.dialect().clone(), replica::address(lab, writer));
    let status = replica::status(&mut lab.nodes[i], &dialect)?;
    if !status.is_some_and(|status| status.source == source && status.follows()) {
        return Ok(false);
    }
    replication::follow(lab, i, writer, limit)
}

/// Has node `i`, whose server runs, follow `writer` and refuse writes: `None`, or why it does not.
/// One that was a source begins where it stopped writing. One that follows `writer` already goes on
/// with what it has received, over a new connection.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn rejoin(lab: &mut Lab, i: usize, writer: usize) -> Result<Option<String>> {
    if !lab.nodes[i].refuses_writes()? && !fence::fence(lab, i)? {
        return Ok(Some("it goes on taking writes".into()));
    }
    let dialect = lab.program.dialect().clone();
    let source = replica::address(lab, writer);
    let status = replica::status(&mut lab.nodes[i], &dialect)?;
    let refused = if status.is_some_and(|status| status.source == source) {
        let mode = mode_of(lab);
        let node = &mut lab.nodes[i];
        // It may take itself for connected, for a minute, where the other end has gone.
        node.run(dialect.word("stop_receiver"))?;
        semisync::set_replica(node, &dialect, &mode)?;
        node.refusal_of(dialect.word("start_replica"))?
    } else {
        point_at(lab, i, writer)?
    };
    match refused {
        None => replica::wait_following(&mut lab.nodes[i], &dialect, FOLLOW_LIMIT),
        refused => Ok(refused),
    }
}

/// Gives a server that was started anew, and refuses writes, the part in semi-sync that it has: of
/// the source, which takes writes from then on, or of a replica.
///
/// # Errors
/// A breakdown if it does not answer.
pub(super) fn take_part(lab: &mut Lab, i: usize, is_writer: bool) -> Result<()> {
    let (dialect, mode) = (lab.program.dialect().clone(), mode_of(lab));
    if !is_writer {
        return semisync::set_replica(&mut lab.nodes[i], &dialect, &mode);
    }
    semisync::set_source(&mut lab.nodes[i], &dialect, &mode)?;
    fence::open(lab, i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appliers_that_rest_say_how_much_is_missing() {
        let (received, executed) = (Gtids::read("aa:1-105"), Gtids::read("aa:1-102,bb:1-9"));
        let said = standstill(&received, &executed);
        assert!(said.contains("lacks 3 of the transactions"), "{said}");
    }
}
