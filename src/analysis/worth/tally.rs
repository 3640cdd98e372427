//! Counts of what became of a trial's transfers.

use std::collections::{BTreeMap, BTreeSet};

use super::forks::{Blows, forked};
use super::judged::Counts;
use super::promised::Promise;
use super::sight::{Sight, shown};
use crate::record::history::{Answer, Held, History, Row, Token, Transfer};
use crate::record::trials::Trial;
use crate::study::faults::Fault;

/// Counts a trial. Where nothing could be read, only what was acknowledged; a server that refuses
/// its own data has nothing.
pub fn tally(fault: &Fault, trial: &Trial, promise: &Promise, sight: &Sight<'_>) -> Counts {
    let history = &trial.history;
    let acknowledged: Vec<&Transfer> = of(history, Answer::Acknowledged).collect();
    let counts = Counts {
        acknowledged: acknowledged.len(),
        promised: count(&acknowledged, |it| promise.covers_transfer(it)),
        ..Counts::default()
    };
    let is_readable = !sight.serving.is_empty();
    if !is_readable && (trial.refused.is_none() || !trial.serving.is_empty()) {
        return counts;
    }
    let is_lost = |it: &&&Transfer| !sight.in_all.contains(&it.token);
    let lost: Vec<&Transfer> = acknowledged.iter().filter(is_lost).copied().collect();
    let blows = Blows::of(fault, trial);
    let unanswered: Vec<&Transfer> = of(history, Answer::Unanswered).collect();
    let anywhere = sight.anywhere();
    let is_refused = |token: &&Token| sight.answered(**token, Answer::Refused).is_some();
    let is_unknown = |token: &&Token| !sight.told.contains_key(*token);
    let phantoms = phantoms(sight);
    let is_promised = |(token, node, by_us): &(Token, u8, u64)| {
        phantoms.contains(token) && promise.covers_read(*node, *by_us)
    };
    let phantom_promised = shown(trial).filter(is_promised).map(|(token, _, _)| token);
    let each = |of: fn(&Held, &Sight<'_>) -> BTreeSet<Token>| -> usize {
        let all = sight.serving.iter().flat_map(|held| of(held, sight));
        all.collect::<BTreeSet<Token>>().len()
    };
    let unbalanced = sight.serving.iter().flat_map(|it| unbalanced(it, history));
    let first = sight.serving.first();
    let (only_in_tables, only_in_log) = apart(trial, first.copied());
    Counts {
        only_in_tables,
        only_in_log,
        lost: lost.len(),
        lost_promised: count(&lost, |it| promise.covers_transfer(it)),
        recovered: count(&unanswered, |it| sight.in_any.contains(&it.token)),
        refused_present: anywhere.iter().filter(is_refused).count(),
        never_sent: anywhere.iter().filter(is_unknown).count(),
        doubled: each(doubled),
        torn: each(torn),
        unbalanced: unbalanced.collect::<BTreeSet<usize>>().len(),
        phantom_reads: phantoms.len(),
        phantom_promised: phantom_promised.collect::<BTreeSet<Token>>().len(),
        flickered: sight
            .gone
            .iter()
            .filter(|it| sight.in_all.contains(*it))
            .count(),
        holes: blows.holes(&lost, &acknowledged, |token| sight.in_all.contains(&token)),
        errant: sight.only_elsewhere().len(),
        gtids_reused: (sight.others.iter())
            .map(|held| gtids_reused(held, sight))
            .max()
            .unwrap_or(0),
        skipped: count(&acknowledged, |it| sight.is_skipped(it.token)),
        drifted: (sight.others.iter())
            .filter(|held| first.is_some_and(|first| has_drifted(held, first)))
            .count(),
        diverged: (sight.serving.iter())
            .filter(|held| first.is_some_and(|first| differ(first, held)))
            .count(),
        forked: forked(fault, trial, |token| sight.in_all.contains(&token)),
        corrupt: (sight.serving.iter())
            .chain(sight.others.iter().filter(|held| held.is_level))
            .filter(|held| held.tables_ok == Some(false))
            .count(),
        ..counts
    }
}

/// How many transfers stand in the tables of the only server alone, and how many in its binary log
/// alone.
fn apart(trial: &Trial, server: Option<&Held>) -> (usize, usize) {
    let readable = trial.logged.as_ref().filter(|it| it.unread.is_none());
    let Some((logged, held)) = readable.zip(server) else {
        return (0, 0);
    };
    let logged: BTreeSet<Token> = logged.tokens.iter().copied().collect();
    let there = tokens(held);
    let more = |one: &BTreeSet<Token>, other| one.difference(other).count();
    (more(&there, &logged), more(&logged, &there))
}

fn of(history: &History, answer: Answer) -> impl Iterator<Item = &Transfer> {
    let all = history.transfers.iter();
    all.filter(move |transfer| transfer.answer == answer)
}

fn count(all: &[&Transfer], is_so: impl Fn(&Transfer) -> bool) -> usize {
    all.iter().filter(|transfer| is_so(transfer)).count()
}

/// Seen, and not there, but for what was refused, and for what nobody sent: these have counts of
/// their own.
fn phantoms(sight: &Sight<'_>) -> BTreeSet<Token> {
    let is_phantom = |token: &Token| {
        let told = sight.told.get(token);
        let may_be = told.is_some_and(|transfer| transfer.answer != Answer::Refused);
        may_be && !sight.in_all.contains(token)
    };
    sight.seen.iter().copied().filter(is_phantom).collect()
}

/// Tokens that stand there more than once.
fn doubled(held: &Held, _: &Sight<'_>) -> BTreeSet<Token> {
    let mut rows: BTreeMap<Token, usize> = BTreeMap::new();
    for row in &held.rows {
        *rows.entry(row.token).or_default() += 1;
    }
    rows.retain(|_, rows| *rows > 1);
    rows.into_keys().collect()
}

/// Rows that are not as their client sent them.
fn torn(held: &Held, sight: &Sight<'_>) -> BTreeSet<Token> {
    let is_torn = |row: &&Row| {
        let sent = sight.told.get(&row.token);
        sent.is_some_and(|sent| (sent.from, sent.to, sent.amount) != (row.from, row.to, row.amount))
    };
    held.rows
        .iter()
        .filter(is_torn)
        .map(|row| row.token)
        .collect()
}

/// Accounts whose balance is not its start and all transfers that are there, those that are missing
/// and those that should not be.
fn unbalanced(held: &Held, history: &History) -> Vec<usize> {
    let accounts = usize::from(history.accounts);
    let mut expected = vec![i128::from(history.start_balance); accounts];
    for row in &held.rows {
        let (from, to) = (usize::from(row.from), usize::from(row.to));
        if let Some(balance) = expected.get_mut(from) {
            *balance -= i128::from(row.amount);
        }
        if let Some(balance) = expected.get_mut(to) {
            *balance += i128::from(row.amount);
        }
    }
    let there = |account: usize| held.balances.get(account).copied().map(i128::from);
    let all = 0..accounts.max(held.balances.len());
    all.filter(|account| there(*account) != expected.get(*account).copied())
        .collect()
}

/// What a replica alone has, beyond the transactions that it alone has by their GTIDs: that many
/// have GTIDs of others.
fn gtids_reused(replica: &Held, sight: &Sight<'_>) -> usize {
    let is_alone = |token: &Token| !sight.in_any.contains(token);
    let alone = tokens(replica).into_iter().filter(is_alone).count();
    let ahead = replica.ahead.map(usize::try_from);
    ahead.map_or(0, |ahead| alone.saturating_sub(ahead.unwrap_or(usize::MAX)))
}

/// Whether a replica that says that it is level has all transfers of who serves, no other one, and
/// all the same holds something else.
fn has_drifted(replica: &Held, serving: &Held) -> bool {
    replica.is_level && tokens(replica) == tokens(serving) && differ(replica, serving)
}

fn tokens(held: &Held) -> BTreeSet<Token> {
    held.rows.iter().map(|row| row.token).collect()
}

/// Whether two nodes hold other rows, or other balances.
fn differ(one: &Held, other: &Held) -> bool {
    let sorted = |held: &Held| {
        let mut rows = held.rows.clone();
        rows.sort_unstable();
        rows
    };
    one.balances != other.balances || sorted(one) != sorted(other)
}
