//! Who goes on after a fault, as its mode has it, and what it holds.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::subject::{LIMIT, Subject, by_life, numbers_in_table};
use crate::error::{Result, breakdown};
use crate::lab::Lab;
use crate::lab::disk::{Remembered, Volume, fail_over};
use crate::lab::mode::galera;
use crate::observe::binary_log::Numbers;
use crate::record::trial::Alone;
use crate::study::fault::{Fault, Scope};
use crate::study::{Mode, nodes};

/// What a trial leaves to be done before the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The server goes on with what it has.
    AsIs,
    /// Lost nodes join again, and take over what the others have.
    Rejoin,
    /// All begin anew: what was replaced may hold what nobody else has.
    NewData,
}

/// What is left.
pub(super) struct Left {
    pub table: BTreeSet<u64>,
    /// On another replica, and not in that table.
    pub elsewhere: BTreeSet<u64>,
    pub log: Option<Numbers>,
    /// Until it could be read, or accepted connections.
    pub recovery: Duration,
    pub next: Next,
}

/// Has those who are left take over, or the server recover, and reads what there is.
///
/// # Errors
/// A breakdown if nobody goes on; what that means is the caller's to judge.
pub(super) fn left(subject: &mut Subject, fault: Fault, alone: Option<Alone>) -> Result<Left> {
    let start = Instant::now();
    match (subject.spec.mode, fault.scope) {
        (Mode::Galera, scope) => cluster(subject, scope, start),
        (Mode::Async | Mode::Semisync { .. }, Scope::Site) => successor(subject, start),
        (_, scope) => {
            if scope == Scope::Site {
                let may_have_left = alone.is_some_and(|alone| alone != Alone::Never);
                lead_elsewhere(subject, may_have_left)?;
            }
            recovered(subject, start)
        }
    }
}

/// The one server, started anew on what its volume holds.
fn recovered(subject: &mut Subject, start: Instant) -> Result<Left> {
    let writer = subject.writer;
    subject.lab().restart(writer)?;
    let recovery = start.elapsed();
    Ok(Left {
        table: numbers_in_table(subject.writer())?,
        elsewhere: BTreeSet::new(),
        log: subject.read_log()?,
        recovery,
        next: Next::AsIs,
    })
}

/// A surviving copy of the volume leads; the server is to be started on it. By force, where those
/// that are lost may have had more: then the best copy that there is.
fn lead_elsewhere(subject: &mut Subject, may_have_left: bool) -> Result<()> {
    let is_short = match subject.spec.mode {
        Mode::Quorum { write_quorum, .. } => {
            let lab = subject.lab();
            let sites: Vec<String> = lab
                .nodes
                .iter()
                .map(|node| node.site().to_owned())
                .collect();
            write_quorum as usize <= nodes::most_in_one_site(&sites, sites.len() as u32)
        }
        _ => false,
    };
    let lost = subject.inside(Scope::Site);
    let remembered = Remembered {
        is_forced: is_short || may_have_left,
        ..subject.remembered
    };
    let lab = subject.lab();
    let left: Vec<usize> = (0..lab.nodes.len()).filter(|i| !lost.contains(i)).collect();
    let survivors: Vec<&Volume> = left.iter().map(|&i| lab.volume(i)).collect::<Result<_>>()?;
    let takeover = fail_over(&survivors, &lab.copies()?, remembered, LIMIT)?;
    if takeover.is_alone {
        subject.remembered.alone_generation = takeover.generation;
    }
    subject.writer = left[takeover.chosen];
    Ok(())
}

/// The replica elsewhere that holds most, once each has applied all that it received: what an
/// operator or a fail-over manager promotes. What another has besides is not there any more.
fn successor(subject: &mut Subject, start: Instant) -> Result<Left> {
    let members = subject.spec.nodes as usize;
    let lost = subject.inside(Scope::Site);
    let lab = subject.lab();
    let mut tables = Vec::new();
    for i in (1..members).filter(|i| !lost.contains(i)) {
        if !lab.apply_received(i, LIMIT)? {
            let status = format!("not so within {} s", LIMIT.as_secs());
            return Err(lab.nodes[i].breakdown("apply what it has received", &status));
        }
        tables.push(numbers_in_table(&mut lab.nodes[i])?);
    }
    let (table, elsewhere) = promoted(tables)
        .ok_or_else(|| breakdown("promote a replica", "none stands in another site"))?;
    Ok(Left {
        table,
        elsewhere,
        log: None,
        recovery: start.elapsed(),
        next: Next::NewData,
    })
}

/// The largest of the replicas' tables, and what others hold besides: nothing, if each has a
/// beginning of the same history.
fn promoted(tables: Vec<BTreeSet<u64>>) -> Option<(BTreeSet<u64>, BTreeSet<u64>)> {
    let most = tables.iter().max_by_key(|table| table.len())?.clone();
    let all: BTreeSet<u64> = tables.into_iter().flatten().collect();
    let elsewhere = &all - &most;
    Some((most, elsewhere))
}

/// The nodes of a Galera cluster that outlive the others; or all of them, begun anew with the one
/// whose disk kept most.
fn cluster(subject: &mut Subject, scope: Scope, start: Instant) -> Result<Left> {
    if scope == Scope::All {
        subject.rig.network.set_distances(subject.distances)?;
        galera::begin_anew(subject.lab())?;
    }
    let lab = subject.lab();
    let left = by_life(lab).0;
    galera::go_on_as(lab, &left)?;
    Ok(Left {
        table: held_by_all(lab, &left)?,
        elsewhere: BTreeSet::new(),
        log: None,
        recovery: start.elapsed(),
        next: Next::Rejoin,
    })
}

/// A row that one of these nodes lacks is not in the cluster: they would never agree again.
fn held_by_all(lab: &mut Lab, which: &[usize]) -> Result<BTreeSet<u64>> {
    let mut tables = which.iter().map(|&i| numbers_in_table(&mut lab.nodes[i]));
    let first = tables.next().transpose()?.unwrap_or_default();
    tables.try_fold(first, |held, table| Ok(&held & &table?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_another_replica_has_is_not_taken_for_promoted() {
        let beginnings = vec![[1, 2].into(), [1, 2, 3].into(), [1].into()];
        let (most, elsewhere) = promoted(beginnings).expect("replicas");
        assert_eq!((most, elsewhere), ([1, 2, 3].into(), [].into()));
        let apart = vec![[1, 2, 5].into(), [1, 2, 3, 4].into()];
        let (most, elsewhere) = promoted(apart).expect("replicas");
        assert_eq!((most, elsewhere), ([1, 2, 3, 4].into(), [5].into()));
        assert!(promoted(vec![]).is_none());
    }
}
