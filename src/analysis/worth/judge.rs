//! From a trial to a verdict.

use std::collections::BTreeSet;

use super::judged::{Counts, Judged};
use super::naive::agrees;
use super::promised::Promise;
use super::reach::{in_flight, is_rightly_chosen, is_seen};
use super::service::Service;
use super::sight::Sight;
use super::staleness::staleness;
use super::tally::tally;
use super::verdict::{Doubt, Verdict, Weight};
use crate::record::history::{Answer, Held, History, Token, Transfer};
use crate::record::trials::Trial;
use crate::study::faults::Fault;

/// Judges a trial of that fault by what was promised of it.
pub fn judge(fault: &Fault, trial: &Trial, promise: &Promise) -> Judged {
    let sight = Sight::of(trial);
    let first = trial.steps.first();
    let counts = tally(fault, trial, promise, &sight);
    let mut judged = Judged {
        verdict: Verdict::Undecided,
        doubts: doubts(fault, trial, promise, &counts),
        promise: promise.clone(),
        counts,
        in_flight: first.map_or(0, |step| in_flight(trial, step)),
        service: Service::of(fault, trial),
        readers: staleness(&trial.history, |token| sight.in_all.contains(&token)),
    };
    let disagreement = agrees(trial, &judged).err().map(Doubt::Disagreement);
    judged.doubts.extend(disagreement);
    judged.verdict = verdict(&judged, trial.refused.is_some());
    judged
}

/// What nothing allows is found whatever else is not known, as long as the evidence is sound. Only
/// settings that tear pages allow that a server refuses its own data, or tables fail their check.
fn verdict(judged: &Judged, has_refused: bool) -> Verdict {
    let Judged {
        counts,
        promise,
        doubts,
        ..
    } = judged;
    let has = |weight: Weight| doubts.iter().any(|doubt| doubt.weight() == weight);
    let has_bad_pages = counts.corrupt > 0 || has_refused;
    let is_forbidden = counts.forbidden() + forbidden_rows(counts, promise) > 0
        || has_bad_pages && promise.covers_pages;
    let broken = counts.lost_promised + counts.phantom_promised;
    let found = [
        (has(Weight::Evidence), Verdict::Undecided),
        (is_forbidden, Verdict::Broken),
        (has(Weight::Fault), Verdict::Undecided),
        (broken > 0, Verdict::Broken),
        (has(Weight::Enough), Verdict::Undecided),
        (counts.harm() > 0 || has_refused, Verdict::LostNoPromise),
    ];
    let first = found.into_iter().find(|(is_so, _)| *is_so);
    first.map_or_else(|| unharmed(counts, promise), |(_, verdict)| verdict)
}

/// Rows and balances that are nobody's right.
fn forbidden_rows(counts: &Counts, promise: &Promise) -> usize {
    let replicas = match promise.covers_replicas {
        true => counts.skipped + counts.drifted,
        false => 0,
    };
    let apart = match promise.covers_log {
        true => counts.apart(),
        false => 0,
    };
    replicas
        + apart
        + match (promise.is_whole, promise.covers_balances) {
            (false, _) => 0,
            (true, true) => counts.broken_rows(),
            (true, false) => counts.broken_rows() - counts.unbalanced,
        }
}

fn unharmed(counts: &Counts, promise: &Promise) -> Verdict {
    match promise.is_given && counts.promised == counts.acknowledged {
        true => Verdict::Kept,
        false => Verdict::NoneLostNoPromise,
    }
}

/// All that leaves something open, but for what the second checker says.
fn doubts(fault: &Fault, trial: &Trial, promise: &Promise, counts: &Counts) -> Vec<Doubt> {
    let acknowledged = |transfer: &Transfer| transfer.answer == Answer::Acknowledged;
    let none = !trial.history.transfers.iter().any(acknowledged);
    let nobody = trial.serving.is_empty() && trial.refused.is_none();
    let is_alone_unknown = promise.hangs_on_alone && !trial.alone_known;
    // What is promised no more from when it was last heard has only to be there.
    let is_unharmed = trial.company_us.is_some()
        && counts.lost == counts.lost_promised
        && counts.phantom_reads == counts.phantom_promised;
    let undone = trial.undecided.clone().map(Doubt::Undone);
    let wrong = !is_rightly_chosen(fault, trial);
    let reaches = fault.reach.iter().copied();
    let unseen = reaches.filter(|reach| !is_seen(*reach, fault, trial));
    let single = [
        undone,
        (nobody && trial.undecided.is_none()).then_some(Doubt::NobodyServed),
        unsound(&trial.history).map(Doubt::History),
        wrong.then_some(Doubt::WrongChoice),
        (is_alone_unknown && !is_unharmed).then_some(Doubt::AloneUnknown),
        none.then_some(Doubt::NothingAcknowledged),
        log_unread(trial).filter(|_| promise.covers_log),
    ];
    (single.into_iter().flatten())
        .chain(of_nodes(trial))
        .chain(of_steps(fault, trial))
        .chain(unseen.map(Doubt::NotSeen))
        .collect()
}

fn log_unread(trial: &Trial) -> Option<Doubt> {
    let logged = trial.logged.as_ref()?;
    logged.unread.clone().map(Doubt::LogUnread)
}

fn of_nodes(trial: &Trial) -> impl Iterator<Item = Doubt> {
    let of_node = |held: &Held| {
        let node = held.node;
        match (&held.unread, held.tables_ok) {
            (Some(why), _) => {
                let why = why.clone();
                Some(Doubt::Unread { node, why })
            }
            (None, None) => Some(Doubt::NotChecked(node)),
            (None, Some(_)) => None,
        }
    };
    trial.serving.iter().filter_map(of_node)
}

fn of_steps(fault: &Fault, trial: &Trial) -> Vec<Doubt> {
    let done: BTreeSet<usize> = trial.steps.iter().map(|done| done.step).collect();
    let missing = (0..fault.steps.len()).filter(|step| !done.contains(step));
    let bitten = trial.steps.iter().filter(|done| done.bite == Some(false));
    let not_bitten = bitten.map(|done| Doubt::NotBitten {
        step: done.step,
        seen: done.seen.clone(),
    });
    missing.map(Doubt::StepMissing).chain(not_bitten).collect()
}

/// What cannot be of a client's record: then nothing can be said by it.
fn unsound(history: &History) -> Option<String> {
    let mut tokens: BTreeSet<Token> = BTreeSet::new();
    for transfer in &history.transfers {
        if !tokens.insert(transfer.token) {
            return Some(format!("{:016x} was sent twice", transfer.token));
        }
        let is_sent = transfer.commit_us.is_some();
        if transfer.answer != Answer::Refused && !is_sent {
            return Some(format!("{:016x} ended without COMMIT", transfer.token));
        }
        let is_early = transfer.commit_us.is_some_and(|us| us < transfer.begun_us);
        if is_early || transfer.ended_us < transfer.commit_us.unwrap_or(transfer.begun_us) {
            return Some(format!("{:016x} ended before it began", transfer.token));
        }
    }
    None
}

#[cfg(test)]
mod tests;
