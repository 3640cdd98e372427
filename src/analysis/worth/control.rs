//! Controls: faults of which it is known beforehand what they must come to. One that comes to
//! something else shows a check that sleeps, or one that cries for nothing.

use std::collections::BTreeSet;

use serde::Serialize;

use super::judged::Judged;
use super::verdict::{Doubt, Weight};
use crate::record::history::{Answer, Held, Token, Transfer};
use crate::record::trials::{Delivered, Trial};
use crate::study::faults::Control;

/// What a control came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Came {
    /// To what it must: it fired.
    AsItMust,
    /// To something else, or to nothing: it was silent.
    Otherwise(String),
}

impl Came {
    pub fn has_fired(&self) -> bool {
        *self == Came::AsItMust
    }

    fn if_so(is_so: bool, otherwise: impl FnOnce() -> String) -> Came {
        match is_so {
            true => Came::AsItMust,
            false => Came::Otherwise(otherwise()),
        }
    }
}

/// What a control came to in these trials. Those whose evidence or fault is in doubt show nothing.
/// But where the two checkers disagree, one of them is wrong: nothing fires then.
pub fn came(control: Control, trials: &[(&Trial, &Judged)]) -> Came {
    let mut doubts = trials.iter().flat_map(|(_, judged)| &judged.doubts);
    if let Some(doubt) = doubts.find(|doubt| matches!(doubt, Doubt::Disagreement(_))) {
        return Came::Otherwise(doubt.words());
    }
    let is_clear = |judged: &Judged| {
        let mut doubts = judged.doubts.iter();
        doubts.all(|doubt| doubt.weight() == Weight::Enough)
    };
    let clear = trials.iter().filter(|(_, judged)| is_clear(judged));
    let clear: Vec<(&Trial, &Judged)> = clear.copied().collect();
    let all = trials.len();
    if clear.is_empty() {
        return Came::Otherwise("none of its trials could be judged".to_owned());
    }
    if 2 * clear.len() < all {
        let why = format!(
            "{} of {all} trials could be judged, and not half",
            clear.len()
        );
        return Came::Otherwise(why);
    }
    match control {
        Control::Nothing => nothing(&clear, all),
        Control::Loses(share) => loses(&clear, (share, all)),
        Control::LosesUndelivered => loses_undelivered(&clear),
    }
}

/// Something wrong in one trial is enough. That nothing is takes half of all to have seen what they
/// were made for: a commit on its way, for one.
fn nothing(trials: &[(&Trial, &Judged)], all: usize) -> Came {
    let is_wrong = |(trial, judged): &&(&Trial, &Judged)| {
        judged.counts.anything() > 0 || trial.refused.is_some()
    };
    let wrong = trials.iter().filter(is_wrong).count();
    if wrong > 0 {
        let why = format!("something was wrong in {wrong} of {all} trials without a cause");
        return Came::Otherwise(why);
    }
    let doubts = trials.iter().map(|(_, judged)| &judged.doubts);
    let saw = doubts.clone().filter(|doubts| doubts.is_empty()).count();
    let first = doubts
        .flatten()
        .next()
        .map_or_else(String::new, Doubt::words);
    let why = || format!("{saw} of {all} trials saw what they were made for: {first}");
    Came::if_so(2 * saw >= all, why)
}

/// A server that refuses its data has lost all, but not as the control is to show it. The share is
/// of all its trials: one that could not be judged has not shown it either.
fn loses(trials: &[(&Trial, &Judged)], (share, all): (f64, usize)) -> Came {
    let is_lossy =
        |(trial, judged): &&(&Trial, &Judged)| judged.counts.lost > 0 && trial.refused.is_none();
    let lossy = trials.iter().filter(is_lossy);
    let lossy = lossy.count();
    let why = || format!("{lossy} of {all} trials lost something, of {share} of them at least");
    Came::if_so(lossy as f64 >= share * all as f64, why)
}

/// In each trial exactly what was not delivered; and in one of them at least something was not.
fn loses_undelivered(trials: &[(&Trial, &Judged)]) -> Came {
    let mut lost = 0;
    for (number, (trial, _)) in (1..).zip(trials) {
        match predicted(trial) {
            Err(why) => return Came::Otherwise(format!("trial {number}: {why}")),
            Ok(Prediction { missing, foretold }) if missing != foretold => {
                let (more, fewer) = (&missing - &foretold, &foretold - &missing);
                let (more, fewer) = (more.len(), fewer.len());
                return Came::Otherwise(format!(
                    "trial {number}: {more} were lost that had been delivered, and {fewer} were \
                     not lost that had not"
                ));
            }
            Ok(Prediction { missing, .. }) => lost += missing.len(),
        }
    }
    Came::if_so(lost > 0, || "all had been delivered".to_owned())
}

/// What is lost, and what should be by what a link had delivered.
struct Prediction {
    missing: BTreeSet<Token>,
    foretold: BTreeSet<Token>,
}

/// What others than the one that took over acknowledged is lost, but for whole transactions that
/// its link had delivered to it: received is received, whether it was read by then or not.
fn predicted(trial: &Trial) -> Result<Prediction, String> {
    let [serving] = &trial.serving[..] else {
        let count = trial.serving.len();
        return Err(format!(
            "{count} nodes serve, and not the one that took over"
        ));
    };
    let delivered = delivered(trial, serving)?;
    let has = |held: &Held| -> BTreeSet<Token> { held.rows.iter().map(|row| row.token).collect() };
    let delivered: BTreeSet<Token> = delivered.tokens.iter().copied().collect();
    let told = trial.history.transfers.iter();
    let told = told.filter(|transfer| transfer.answer == Answer::Acknowledged);
    let (here, elsewhere): (Vec<&Transfer>, Vec<&Transfer>) =
        told.partition(|it| it.node == serving.node);
    let of = |all: &[&Transfer]| -> BTreeSet<Token> {
        all.iter().map(|transfer| transfer.token).collect()
    };
    let all = &of(&here) | &of(&elsewhere);
    Ok(Prediction {
        missing: &all - &has(serving),
        foretold: &of(&elsewhere) - &delivered,
    })
}

fn delivered<'t>(trial: &'t Trial, serving: &Held) -> Result<&'t Delivered, String> {
    let mut all = trial.delivered.iter();
    let found = all.find(|delivered| delivered.node == serving.node);
    let found = found.ok_or("no stream to the one that took over was kept")?;
    match &found.unread {
        Some(why) => Err(format!("its stream could not be read: {why}")),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests;
