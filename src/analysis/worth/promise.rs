//! What a mode and its settings promise of the commits that were acknowledged in a trial.
//!
//! A commit is followed through the steps that were done after its acknowledgement. At each of them
//! the least that its mode makes sure of is lost first: whoever may have held it is the one that
//! dies. If whoever serves at the end holds it all the same, it is promised.
//!
//! - `copies`: where it is held at least; `world`: who runs, and who reaches whom
//! - `walk`: the steps; `replication`, `cluster`, `volume`: what a mode makes of them
//!
//! Sources: "Semisynchronous Replication", "Group Replication" (fault tolerance, consistency
//! levels), "Binary Logging Options", `innodb_flush_log_at_trx_commit`, `sync_relay_log` and
//! `relay_log_recovery` in the MySQL Reference Manual; "About Galera Replication" and "Global
//! Transaction ID" in the MariaDB documentation; `src/lab/disk/copies` of the copied volumes. Where
//! these leave it open, nothing is promised.

mod cluster;
mod copies;
mod replication;
mod volume;
mod walk;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use self::copies::Hold;
use self::walk::{Fate, Kept, Passed, Walk, first_writer};
use super::forks::begins_anew;
use super::promised::{Exempt, Promise, PromiseTerms, Reason};
use crate::record::history::Answer;
use crate::record::trials::Trial;
use crate::study::Mode;
use crate::study::faults::{Deed, Fault, Step, Writing};
use crate::study::mode::Family;

/// What becomes of the commits that a node acknowledged after so many steps.
struct Told {
    era: usize,
    node: u8,
    fate: Fate,
}

/// The promise of these terms for what was done in a trial.
pub fn promise(terms: &PromiseTerms, fault: &Fault, trial: &Trial) -> Promise {
    if terms.sites.is_empty() {
        return Promise::none(Reason::NotBuilt);
    }
    let walk = Walk::of(terms, fault, trial);
    if let Some(reason) = given_away(terms, fault) {
        return Promise {
            is_whole: false,
            covers_replicas: false,
            covers_pages: reason != Reason::TornPages,
            ..Promise::none(reason)
        };
    }
    let all = told(&walk, trial);
    let is_whole = is_whole(&walk);
    let covers_balances = fault.writing != Writing::ReadFirst;
    let is_anew = |deed: Deed| matches!(deed, Deed::Restart(_)) || begins_anew(deed);
    let covers_replicas = !walk.steps.iter().any(|step| is_anew(step.deed));
    let is_full = |step: &Step| matches!(step.deed, Deed::FillDisk(..));
    let has_been_full = fault.steps.iter().any(is_full);
    let first_era = all.first().map(|told| told.era);
    let mut at_first = all.iter().filter(|told| Some(told.era) == first_era);
    let lost = at_first.find_map(|told| told.fate.lost());
    let kept: Vec<Kept> = all.iter().filter_map(|told| told.fate.kept()).collect();
    let short = (!is_whole).then_some(Reason::CameBackShort);
    let (Some(first), None) = (kept.first(), lost.or(short)) else {
        return Promise {
            is_whole,
            covers_balances,
            covers_replicas,
            ..Promise::none(lost.or(short).unwrap_or(Reason::Unclear))
        };
    };
    let (until_us, ended_by) = until(&walk, trial, &kept).unzip();
    Promise {
        is_given: true,
        reason: first.reason,
        until_us,
        ended_by,
        exempt: exempt(&walk, &all),
        covers_reads: kept.iter().all(|kept| kept.covers_reads),
        unheeded: unheeded(&walk),
        is_whole,
        covers_balances,
        covers_replicas,
        covers_log: until_us.is_none() && !has_been_full,
        hangs_on_alone: kept.iter().any(|kept| kept.hangs_on_alone),
        covers_pages: true,
    }
}

/// Settings with which no server promises anything in such a fault.
fn given_away(terms: &PromiseTerms, fault: &Fault) -> Option<Reason> {
    let takes_power = |step: &Step| matches!(step.deed, Deed::PowerCut(..) | Deed::FailDisk(_));
    let is_torn = terms.may_tear_pages && fault.steps.iter().any(takes_power);
    let is_parted = terms.may_both_go_on && !fault.steps.is_empty();
    match (is_torn, is_parted) {
        (true, _) => Some(Reason::TornPages),
        (false, true) => Some(Reason::BothGoOn),
        (false, false) => None,
    }
}

/// Of each node that acknowledged anything, and each span between two steps in which it did.
fn told(walk: &Walk<'_>, trial: &Trial) -> Vec<Told> {
    let transfers = trial.history.transfers.iter();
    let acknowledged = transfers.filter(|transfer| transfer.answer == Answer::Acknowledged);
    let mut spans: BTreeSet<(usize, u8)> = acknowledged
        .map(|transfer| (walk.era(transfer.ended_us, transfer.node), transfer.node))
        .collect();
    if spans.is_empty() {
        let first = first_writer(trial, walk.nodes());
        spans.extend(u8::try_from(first).map(|node| (0, node)));
    }
    let of = |(era, node)| Told {
        era,
        node,
        fate: fate(walk, era, node),
    };
    spans.into_iter().map(of).collect()
}

fn fate(walk: &Walk<'_>, era: usize, node: u8) -> Fate {
    let node = usize::from(node);
    let by = match node < walk.nodes() {
        true => node,
        // Behind a proxy nobody knows who acknowledged it.
        false if walk.has_takeover() => return Fate::Lost(Reason::Unclear),
        false => walk.worlds[era].leader.unwrap_or(0),
    };
    match walk.terms.mode.family() {
        Family::Replication => replication::fate(walk, era, by),
        Family::Group | Family::Galera => cluster::fate(walk, era, by),
        Family::Mirror | Family::Quorum => volume::fate(walk, era, by),
        Family::Endpoint => Fate::Lost(Reason::NotBuilt),
    }
}

/// Since when each node has acknowledged what nobody promised.
fn exempt(walk: &Walk<'_>, all: &[Told]) -> Vec<Exempt> {
    let mut first: BTreeMap<u8, Exempt> = BTreeMap::new();
    for told in all {
        let step = told.era.checked_sub(1).map(|at| &walk.steps[at]);
        if let (Some(reason), Some(step)) = (told.fate.lost(), step) {
            let exempt = Exempt {
                node: told.node,
                from_us: step.since_us_at(usize::from(told.node)),
                reason,
            };
            first.entry(told.node).or_insert(exempt);
        }
    }
    first.into_values().collect()
}

/// Nodes that show what they like, since another one took over: an old writer that comes back shows
/// what it never acknowledged, and one that goes on shows what only it has.
fn unheeded(walk: &Walk<'_>) -> Vec<Exempt> {
    let mut all = Vec::new();
    for (at, step) in walk.steps.iter().enumerate() {
        let is_other = |node: &usize| !step.nodes.contains(node);
        let leader = walk.worlds[at].leader.filter(is_other);
        let of_step: Vec<usize> = match step.deed {
            Deed::Promote(promotion) if promotion.is_fenced => leader.into_iter().collect(),
            Deed::Promote(_) => (0..walk.nodes()).filter(is_other).collect(),
            _ => vec![],
        };
        all.extend(of_step.into_iter().filter_map(|node| {
            Some(Exempt {
                node: u8::try_from(node).ok()?,
                from_us: step.begun_us,
                reason: Reason::NotTheWriter,
            })
        }));
    }
    all
}

/// When a promise ends that hangs on more than the one server that nothing was taken from.
fn until(walk: &Walk<'_>, trial: &Trial, kept: &[Kept]) -> Option<(u64, Reason)> {
    let hangs_on_disks = kept.iter().any(|kept| kept.reason != Reason::Untouched);
    let hangs_on_alone = kept.iter().any(|kept| kept.hangs_on_alone);
    let went = trial.alone_us.map(|us| (us, Reason::WentAlone));
    let unheard = trial.company_us.map(|us| (us, Reason::Unheard));
    let alone = went.or(unheard);
    let alone = alone.filter(|_| hangs_on_alone);
    let of_disk = |step: &Passed| match step.deed {
        // A server may go on without its binary log (`binlog_error_action`).
        Deed::FillDisk(..) => Some((step.from_us, Reason::DiskFull)),
        Deed::FailDisk(_) => Some((step.from_us, Reason::DiskFailed)),
        _ => None,
    };
    let of_disks = walk.steps.iter().filter(|_| hangs_on_disks);
    let ends = of_disks.filter_map(of_disk).chain(alone);
    ends.min_by_key(|(us, _)| *us)
}

/// Whether no node that others hang on came back short of what it had told them: then it may skip
/// transactions, or apply them twice, or give others the same numbers.
fn is_whole(walk: &Walk<'_>) -> bool {
    let mut short: BTreeSet<usize> = BTreeSet::new();
    for (at, step) in walk.steps.iter().enumerate() {
        let leader = walk.worlds[at].leader;
        match step.deed {
            Deed::Kill(_) | Deed::PowerCut(..) => {
                let is_short = |node: &&usize| comes_back_short(walk, step, leader == Some(**node));
                short.extend(step.nodes.iter().filter(is_short));
            }
            Deed::Restart(_) | Deed::Rejoin(_) | Deed::BeginRejoin(_) | Deed::Bootstrap(_) => {
                let is_back = |node: &&usize| step.nodes.contains(*node);
                let mut back = short.iter().filter(is_back);
                if back.any(|node| others_hang_on(walk, *node, leader)) {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

/// Galera's nodes know by InnoDB alone how far they are; of the others the binary log may tell more
/// than InnoDB holds, or less.
fn comes_back_short(walk: &Walk<'_>, step: &Passed, is_leader: bool) -> bool {
    let lacks = match step.deed {
        Deed::PowerCut(..) => walk.own_hold() < Hold::Flushed,
        _ => walk.own_hold() < Hold::HandedOver,
    };
    match walk.terms.mode {
        Mode::Async | Mode::Semisync { .. } => {
            lacks || !(is_leader || walk.terms.are_replicas_crash_safe)
        }
        Mode::Group { .. } | Mode::GroupMulti { .. } => lacks,
        Mode::Single
        | Mode::Galera
        | Mode::Mirror { .. }
        | Mode::Quorum { .. }
        | Mode::Endpoint => false,
    }
}

/// Whether what is read at the end hangs on a node that came back: it is read itself, and follows
/// others; or others that are read follow it.
fn others_hang_on(walk: &Walk<'_>, node: usize, leader: Option<usize>) -> bool {
    let is_read = walk.serving.contains(&node);
    let are_others_read = walk.serving.iter().any(|other| *other != node);
    let is_source = walk.terms.mode.family() == Family::Replication && leader == Some(node);
    match walk.terms.mode.family() {
        Family::Replication if is_source => are_others_read,
        Family::Replication => is_read,
        _ => is_read && are_others_read,
    }
}

#[cfg(test)]
mod tests;
