//! Trials of one fault on the servers of one mode, judged together.

use std::collections::BTreeMap;

use serde::Serialize;
use statrs::distribution::{Beta, ContinuousCDF};

use super::control::{Came, came};
use super::judge::judge;
use super::judged::{Counts, Judged};
use super::promise::promise;
use super::promised::{Promise, PromiseTerms};
use super::verdict::Verdict;
use crate::record::trials::{Campaign, Trial};
use crate::study::fault::Durability;

/// What a campaign tells. Figures are of trials whose evidence is sound; bounds count trials, not
/// commits: what is lost at one fault is lost together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CampaignWorth {
    /// The fault's name and its line for people.
    pub fault: String,
    pub title: String,
    #[serde(flatten)]
    pub durability: Durability,
    pub trials: usize,
    /// Of these, with sound evidence.
    pub trials_sound: usize,
    /// Of these, with nothing in doubt: a fault that did not bite has shown nothing.
    pub trials_conclusive: usize,
    /// Of all, those in doubt for what may go together with a loss: a lab that did not come back,
    /// say. Bounds take them for losses.
    pub trials_open: usize,
    /// Of the sound ones, with something lost.
    pub trials_with_loss: usize,
    /// Of the sound ones, those of a server whose binary log was held against its tables.
    pub trials_logged: usize,
    /// The share of such faults that lose something, at least, with 95 % confidence (Clopper and
    /// Pearson, Biometrika 26, 1934), of all sound trials; where some did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_share_min: Option<f64>,
    /// At most, with 95 % confidence: where none did, 1 - 0.05^(1/n) of n trials that are
    /// conclusive, if none is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_share_max: Option<f64>,
    /// Summed up.
    #[serde(flatten)]
    pub counts: Counts,
    /// The longest without service, in s.
    pub no_service_s_max: Option<f64>,
    /// Trials after whose fault nobody was served again.
    pub trials_without_return: usize,
    /// The longest until the rate was as before, in s, of those in which it was.
    pub as_before_s_max: Option<f64>,
    pub stale_ms_max: Option<f64>,
    pub stale_transfers_max: usize,
    /// What readers never looked back to, though what came later they saw: in no figure of
    /// staleness.
    pub missed_by_readers: usize,
    /// The longest until the database could be read, in s.
    pub recovery_s_max: f64,
    /// Servers' own words that refused their data.
    pub refusals: Vec<String>,
    /// What is promised least of all in any trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promise: Option<Promise>,
    /// Of a control: what it came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<Came>,
    /// What was missing to decide. Sentences, each with the number of its trials.
    pub missing: Vec<String>,
    pub verdict: Verdict,
    /// Each trial, in order.
    pub each: Vec<Judged>,
}

/// The upper end of the exact 95 % interval (one-sided) of a share that was not seen in `without`
/// trials, and seen in `with`. `None` where each has seen it.
pub fn share_max(without: usize, with: usize) -> Option<f64> {
    let beta = Beta::new(with as f64 + 1.0, without as f64).ok()?;
    Some(beta.inverse_cdf(0.95))
}

/// The lower end of such an interval: what the upper end of the others' share leaves. `None` where
/// none has seen it.
pub fn share_min(without: usize, with: usize) -> Option<f64> {
    share_max(with, without).map(|most| 1.0 - most)
}

/// Judges all trials of a campaign on servers that are set so.
pub fn summarise(campaign: &Campaign, terms: &PromiseTerms) -> CampaignWorth {
    let fault = &campaign.fault;
    let judged = |trial: &Trial| judge(fault, trial, &promise(terms, fault, trial));
    let each: Vec<Judged> = campaign.trials.iter().map(judged).collect();
    let pairs: Vec<(&Trial, &Judged)> = campaign.trials.iter().zip(&each).collect();
    let control = fault.control.map(|control| came(control, &pairs));
    let sound: Vec<(&Trial, &Judged)> = (pairs.iter())
        .filter(|(_, judged)| judged.is_sound())
        .copied()
        .collect();
    let counts: Counts = sound.iter().map(|(_, judged)| judged.counts).sum();
    let with_loss = sound.iter().filter(|(_, judged)| judged.counts.lost > 0);
    let trials_with_loss = with_loss.count();
    let has_log = |trial: &Trial| {
        let logged = trial.logged.as_ref();
        logged.is_some_and(|logged| logged.unread.is_none())
    };
    let conclusive = each.iter().filter(|judged| judged.is_conclusive());
    let trials_conclusive = conclusive.count();
    let trials_open = each.iter().filter(|judged| judged.is_open()).count();
    let longest = |of: fn(&Judged) -> Option<f64>| {
        let all = sound.iter().filter_map(|(_, judged)| of(judged));
        all.reduce(f64::max)
    };
    let recoveries = (sound.iter()).map(|(trial, _)| trial.recovery.as_secs_f64());
    let refusals = campaign.trials.iter();
    let gone = |judged: &Judged| {
        let service = &judged.service;
        service.no_service_s.is_some() && !service.is_back
    };
    let mut worth = CampaignWorth {
        fault: fault.name.clone(),
        title: fault.title.clone(),
        durability: campaign.durability,
        trials: each.len(),
        trials_sound: sound.len(),
        trials_conclusive,
        trials_open,
        trials_with_loss,
        trials_logged: sound.iter().filter(|(trial, _)| has_log(trial)).count(),
        loss_share_min: share_min(sound.len() - trials_with_loss, trials_with_loss),
        loss_share_max: loss_share_max(&each, trials_with_loss),
        counts,
        no_service_s_max: longest(|judged| judged.service.no_service_s),
        trials_without_return: sound.iter().filter(|(_, judged)| gone(judged)).count(),
        as_before_s_max: longest(|judged| judged.service.as_before_s),
        stale_ms_max: longest(Judged::stale_ms_max),
        stale_transfers_max: (sound.iter())
            .map(|(_, judged)| judged.stale_transfers_max())
            .max()
            .unwrap_or(0),
        missed_by_readers: (sound.iter())
            .map(|(_, judged)| judged.missed_by_readers())
            .sum(),
        recovery_s_max: recoveries.fold(0.0, f64::max),
        refusals: refusals.filter_map(|trial| trial.refused.clone()).collect(),
        promise: least_promised(&each),
        missing: missing(&each, control.as_ref()),
        control,
        verdict: verdict(&each),
        each,
    };
    if worth.control.as_ref().is_some_and(|came| !came.has_fired()) {
        leave_open(&mut worth, &[]);
    }
    worth
}

/// Trials that are open count as losses. Where nothing was lost other harm leaves no bound.
fn loss_share_max(each: &[Judged], with_loss: usize) -> Option<f64> {
    let count = |is_it: fn(&&Judged) -> bool| each.iter().filter(is_it).count();
    let open = count(|judged| judged.is_open());
    if with_loss > 0 {
        let without = count(|judged| judged.is_conclusive() && judged.counts.lost == 0);
        return share_max(without, open + with_loss).or(Some(1.0));
    }
    let mut sound = each.iter().filter(|judged| judged.is_sound());
    let is_harmed = sound.any(|judged| judged.counts.harm() + judged.counts.forbidden() > 0);
    let bound = share_max(count(|judged| judged.is_conclusive()), open);
    bound.filter(|_| !is_harmed)
}

/// Campaigns that were run together: one silent control makes all of them undecided, for nobody
/// knows any more what their check would have seen.
pub fn under_controls(all: &mut [CampaignWorth]) {
    let is_silent = |worth: &&CampaignWorth| {
        let came = worth.control.as_ref();
        came.is_some_and(|came| !came.has_fired())
    };
    let silent: Vec<String> = (all.iter().filter(is_silent))
        .map(|worth| format!("the control {} was silent", worth.fault))
        .collect();
    if silent.is_empty() {
        return;
    }
    all.iter_mut().for_each(|worth| leave_open(worth, &silent));
}

/// Campaigns whose controls did not all run: what was found is found, but that nothing was lost is
/// shown by nobody.
pub fn without_controls(all: &mut [CampaignWorth], not_run: &[String]) {
    let finds_nothing = |worth: &&mut CampaignWorth| {
        matches!(worth.verdict, Verdict::Kept | Verdict::NoneLostNoPromise)
    };
    if not_run.is_empty() {
        return;
    }
    let first = &not_run[0];
    let why = match not_run.len() - 1 {
        0 => first.clone(),
        more => format!("{first}, and {more} more controls have not run all of theirs"),
    };
    let found_nothing = all.iter_mut().filter(finds_nothing);
    found_nothing.for_each(|worth| leave_open(worth, std::slice::from_ref(&why)));
}

/// Nothing is decided, for these reasons; so nothing is bounded.
fn leave_open(worth: &mut CampaignWorth, why: &[String]) {
    worth.verdict = Verdict::Undecided;
    (worth.loss_share_min, worth.loss_share_max) = (None, None);
    worth.missing.extend_from_slice(why);
}

/// Exit codes and headlines take the worst: what is broken, then what is open.
pub fn worst(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
    let order = [
        Verdict::Broken,
        Verdict::Undecided,
        Verdict::LostNoPromise,
        Verdict::NoneLostNoPromise,
        Verdict::Kept,
    ];
    let place = |verdict: &Verdict| order.iter().position(|other| other == verdict);
    verdicts.into_iter().min_by_key(place)
}

/// What is broken once is broken, what is lost once is lost; one open trial leaves a promise open.
/// One in which that was not seen which its fault is for was no such fault: where at least half of
/// them were it leaves nothing open.
fn verdict(each: &[Judged]) -> Verdict {
    let conclusive = each.iter().filter(|judged| judged.is_conclusive()).count();
    let are_enough = conclusive > 0 && 2 * conclusive >= each.len();
    let is_no_such_fault =
        |judged: &&Judged| judged.verdict == Verdict::Undecided && !judged.is_open() && are_enough;
    let each: Vec<&Judged> = each
        .iter()
        .filter(|judged| !is_no_such_fault(judged))
        .collect();
    let order = [
        Verdict::Broken,
        Verdict::LostNoPromise,
        Verdict::Undecided,
        Verdict::NoneLostNoPromise,
    ];
    let has = |verdict: &Verdict| each.iter().any(|judged| judged.verdict == *verdict);
    match order.into_iter().find(has) {
        Some(verdict) => verdict,
        None if each.is_empty() => Verdict::Undecided,
        None => Verdict::Kept,
    }
}

/// None before one that ends, and one that ends before one that does not.
fn least_promised(each: &[Judged]) -> Option<Promise> {
    let safety = |promise: &&Promise| {
        let until_us = promise.until_us.unwrap_or(u64::MAX);
        (promise.is_given, until_us, promise.exempt.is_empty())
    };
    let all = each.iter().map(|judged| &judged.promise);
    all.min_by_key(safety).cloned()
}

fn missing(each: &[Judged], control: Option<&Came>) -> Vec<String> {
    let mut trials: BTreeMap<String, usize> = BTreeMap::new();
    for doubt in each.iter().flat_map(|judged| &judged.doubts) {
        *trials.entry(doubt.words()).or_default() += 1;
    }
    let all = each.len();
    let of_trials = |(words, count): (String, usize)| format!("in {count} of {all} trials {words}");
    let none = (all == 0).then(|| "no trial came to its end".to_owned());
    let silent = match control {
        Some(Came::Otherwise(why)) => Some(format!("the control was silent: {why}")),
        _ => None,
    };
    (none.into_iter())
        .chain(silent)
        .chain(trials.into_iter().map(of_trials))
        .collect()
}

#[cfg(test)]
mod tests;
