//! Whether the limits that were set are kept.

use super::judge::Held;
use super::limit::Limit;
use super::told::{LimitCame, LimitVerdict};
use crate::analysis::interval::{Risk, holm};

/// What became of each limit. That some limit is exceeded in some cell is shown as one of all that
/// are looked at; that one is kept must hold in each cell, so that no chance adds up.
pub fn came(limits: &[Limit], all: &[Held], risk: Risk) -> Vec<LimitCame> {
    let looks: Vec<(Limit, usize)> = (limits.iter())
        .flat_map(|limit| of_limit(*limit, all).map(move |index| (*limit, index)))
        .collect();
    let exceeded_at = |risk: Risk| {
        let is_exceeded = |(limit, index): &(Limit, usize)| {
            let two = all[*index].two;
            two.is_some_and(|two| limit.is_exceeded(two.estimate(risk)))
        };
        looks.iter().map(is_exceeded).collect::<Vec<bool>>()
    };
    let is_exceeded = holm(looks.len(), risk, exceeded_at);
    let shown: Vec<(Limit, usize)> = (looks.iter().zip(is_exceeded))
        .filter(|(_, is_exceeded)| *is_exceeded)
        .map(|(look, _)| *look)
        .collect();
    let limits = limits.iter();
    limits
        .map(|limit| of_one(*limit, all, &shown, risk))
        .collect()
}

/// Figures of its quantity.
fn of_limit(limit: Limit, all: &[Held]) -> impl Iterator<Item = usize> {
    let is_it = move |(_, held): &(usize, &Held)| held.figure.quantity == limit.quantity;
    let found = all.iter().enumerate().filter(is_it);
    found.map(|(index, _)| index)
}

fn of_one(limit: Limit, all: &[Held], shown: &[(Limit, usize)], risk: Risk) -> LimitCame {
    let (mut exceeded, mut open, mut kept) = (Vec::new(), Vec::new(), 0);
    for index in of_limit(limit, all) {
        let ratio = all[index].two.map(|two| two.estimate(risk));
        match ratio {
            _ if shown.contains(&(limit, index)) => exceeded.push(index),
            Some(ratio) if limit.is_kept(ratio) => kept += 1,
            _ => open.push(index),
        }
    }
    let verdict = match () {
        () if !exceeded.is_empty() => LimitVerdict::Exceeded,
        () if !open.is_empty() || kept == 0 => LimitVerdict::CannotTell,
        () => LimitVerdict::Kept,
    };
    LimitCame {
        limit,
        verdict,
        exceeded,
        open,
        kept,
    }
}
