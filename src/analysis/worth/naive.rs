//! A second checker, naive on purpose: it counts a trial again by sets of what clients and nodes
//! said, slowly and without any of the first one's code. Whatever hangs on the order of events is
//! left to the first.

use std::collections::BTreeSet;

use super::judged::Judged;
use crate::record::history::{Answer, Held};
use crate::record::trials::Trial;

/// Whether the judgement's counts are what this one comes to.
///
/// # Errors
/// Says what differs, and by how much.
pub fn agrees(trial: &Trial, judged: &Judged) -> Result<(), String> {
    let again = count(trial, judged);
    let first = first(judged);
    let pairs = NAMES.iter().zip(first).zip(again);
    let apart = pairs.filter(|((_, one), other)| one != other);
    let apart = apart.map(|((name, one), other)| format!("{name}: {one} and {other}"));
    let apart: Vec<String> = apart.collect();
    match apart.is_empty() {
        true => Ok(()),
        false => Err(apart.join("; ")),
    }
}

/// What is counted twice.
const NAMES: [&str; 20] = [
    "acknowledged",
    "promised",
    "lost",
    "lost_promised",
    "recovered",
    "refused_present",
    "never_sent",
    "doubled",
    "torn",
    "unbalanced",
    "phantom_reads",
    "phantom_promised",
    "errant",
    "gtids_reused",
    "skipped",
    "drifted",
    "diverged",
    "corrupt",
    "only_in_tables",
    "only_in_log",
];

fn first(judged: &Judged) -> [usize; 20] {
    let counts = &judged.counts;
    [
        counts.acknowledged,
        counts.promised,
        counts.lost,
        counts.lost_promised,
        counts.recovered,
        counts.refused_present,
        counts.never_sent,
        counts.doubled,
        counts.torn,
        counts.unbalanced,
        counts.phantom_reads,
        counts.phantom_promised,
        counts.errant,
        counts.gtids_reused,
        counts.skipped,
        counts.drifted,
        counts.diverged,
        counts.corrupt,
        counts.only_in_tables,
        counts.only_in_log,
    ]
}

type Tokens = BTreeSet<u64>;

fn with_answer(trial: &Trial, answer: Answer) -> Tokens {
    let mut tokens = Tokens::new();
    for transfer in &trial.history.transfers {
        if transfer.answer == answer {
            tokens.insert(transfer.token);
        }
    }
    tokens
}

fn with_promise(trial: &Trial, judged: &Judged) -> Tokens {
    let promise = &judged.promise;
    let mut tokens = Tokens::new();
    for transfer in &trial.history.transfers {
        let mut is_promised = promise.is_given && transfer.answer == Answer::Acknowledged;
        if let Some(until_us) = promise.until_us {
            is_promised &= transfer.ended_us < until_us;
        }
        for exempt in &promise.exempt {
            is_promised &= transfer.node != exempt.node || transfer.ended_us < exempt.from_us;
        }
        if is_promised {
            tokens.insert(transfer.token);
        }
    }
    tokens
}

fn on(held: &Held) -> Tokens {
    held.rows.iter().map(|row| row.token).collect()
}

fn seen(trial: &Trial) -> Tokens {
    let mut tokens = Tokens::new();
    for reader in &trial.history.readers {
        for look in &reader.looks {
            tokens.extend(&look.new);
        }
    }
    tokens
}

/// What was shown where and when what is shown is promised to last.
fn seen_with_promise(trial: &Trial, judged: &Judged) -> Tokens {
    let promise = &judged.promise;
    let mut tokens = Tokens::new();
    for reader in &trial.history.readers {
        let of_node = promise.exempt.iter().chain(&promise.unheeded);
        let of_node = of_node.filter(|exempt| exempt.node == reader.node);
        let ends = of_node.map(|exempt| exempt.from_us).chain(promise.until_us);
        let end_us = ends.min();
        for look in &reader.looks {
            let by_us = look.ended_us.unwrap_or(look.begun_us);
            if end_us.is_none_or(|end_us| by_us < end_us) {
                tokens.extend(&look.new);
            }
        }
    }
    match promise.is_given && promise.covers_reads {
        true => tokens,
        false => Tokens::new(),
    }
}

fn count(trial: &Trial, judged: &Judged) -> [usize; 20] {
    let acknowledged = with_answer(trial, Answer::Acknowledged);
    let unanswered = with_answer(trial, Answer::Unanswered);
    let refused = with_answer(trial, Answer::Refused);
    let promised = with_promise(trial, judged);
    let could_be_read = |held: &&Held| held.unread.is_none();
    let nodes: Vec<&Held> = trial.serving.iter().filter(could_be_read).collect();
    let none_is_left = trial.serving.is_empty() && trial.refused.is_some();
    let mut counts = [0; 20];
    counts[..2].copy_from_slice(&[acknowledged.len(), promised.len()]);
    if nodes.is_empty() && !none_is_left {
        return counts;
    }
    let mut somewhere = Tokens::new();
    let mut lacking = Tokens::new();
    let sent = [&acknowledged, &unanswered, &refused];
    let sent: Tokens = sent.into_iter().flatten().copied().collect();
    for held in &nodes {
        somewhere.extend(on(held));
        lacking.extend(sent.difference(&on(held)));
    }
    if none_is_left {
        lacking.clone_from(&sent);
    }
    let mut elsewhere = Tokens::new();
    for held in trial.others.iter().filter(could_be_read) {
        elsewhere.extend(on(held));
    }
    let there: Tokens = &acknowledged - &lacking;
    let (skipped, drifted) = replicas(trial, &nodes, &there);
    let is_level = |held: &&Held| could_be_read(held) && held.is_level;
    let checked = nodes
        .iter()
        .copied()
        .chain(trial.others.iter().filter(is_level));
    let corrupt = checked.filter(|held| held.tables_ok == Some(false)).count();
    let seen = seen(trial);
    let found: Tokens = [&somewhere, &elsewhere, &seen]
        .into_iter()
        .flatten()
        .copied()
        .collect();
    let gone = &(&seen & &lacking) - &refused;
    let seen_with_promise = seen_with_promise(trial, judged);
    let (not_logged, logged_alone) = logs(trial, &nodes);
    counts[2..].copy_from_slice(&[
        (&acknowledged & &lacking).len(),
        (&promised & &lacking).len(),
        (&unanswered & &somewhere).len(),
        (&refused & &found).len(),
        (&found - &sent).len(),
        doubled(&nodes),
        torn(trial, &nodes),
        unbalanced(trial, &nodes),
        gone.len(),
        (&gone & &seen_with_promise).len(),
        (&elsewhere - &somewhere).len(),
        gtids_reused(trial, &somewhere),
        skipped,
        drifted,
        diverged(&nodes),
        corrupt,
        not_logged,
        logged_alone,
    ]);
    counts
}

/// Of each node that could be read its own transfers, less its own GTIDs: the most of one node, for
/// others may hold the same.
fn gtids_reused(trial: &Trial, somewhere: &Tokens) -> usize {
    let mut reused = 0;
    for held in trial.others.iter().filter(|held| held.unread.is_none()) {
        let own = (&on(held) - somewhere).len() as u64;
        if let Some(ahead) = held.ahead.filter(|ahead| *ahead < own) {
            reused = reused.max(own - ahead);
        }
    }
    reused as usize
}

/// What replicas lack that say that they have all, and how many of them have all and hold something
/// else.
fn replicas(trial: &Trial, nodes: &[&Held], there: &Tokens) -> (usize, usize) {
    let mut skipped = Tokens::new();
    let mut drifted = 0;
    for held in &trial.others {
        if held.unread.is_some() || !held.is_level {
            continue;
        }
        skipped.extend(there - &on(held));
        if let Some(first) = nodes.first() {
            drifted += usize::from(on(first) == on(held) && content(first) != content(held));
        }
    }
    (skipped.len(), drifted)
}

/// Rows that the log lacks, and entries of the log that the rows lack.
fn logs(trial: &Trial, nodes: &[&Held]) -> (usize, usize) {
    let (Some(log), Some(held)) = (&trial.logged, nodes.first()) else {
        return (0, 0);
    };
    let in_tables = on(held);
    let mut in_log = Tokens::new();
    in_log.extend(&log.tokens);
    let mut alone = (0, 0);
    for token in in_tables.iter().chain(&in_log).collect::<BTreeSet<_>>() {
        match (in_tables.contains(token), in_log.contains(token)) {
            (true, false) => alone.0 += 1,
            (false, true) => alone.1 += 1,
            _ => {}
        }
    }
    match log.unread {
        Some(_) => (0, 0),
        None => alone,
    }
}

fn doubled(nodes: &[&Held]) -> usize {
    let mut twice = Tokens::new();
    for held in nodes {
        let mut once = Tokens::new();
        for row in &held.rows {
            if !once.insert(row.token) {
                twice.insert(row.token);
            }
        }
    }
    twice.len()
}

fn torn(trial: &Trial, nodes: &[&Held]) -> usize {
    let mut sent = BTreeSet::new();
    let mut tokens = Tokens::new();
    for transfer in &trial.history.transfers {
        sent.insert((transfer.token, transfer.from, transfer.to, transfer.amount));
        tokens.insert(transfer.token);
    }
    let mut torn = Tokens::new();
    for row in nodes.iter().flat_map(|held| &held.rows) {
        let is_known = tokens.contains(&row.token);
        if is_known && !sent.contains(&(row.token, row.from, row.to, row.amount)) {
            torn.insert(row.token);
        }
    }
    torn.len()
}

/// Account by account, node by node.
fn unbalanced(trial: &Trial, nodes: &[&Held]) -> usize {
    let accounts = usize::from(trial.history.accounts);
    let most = nodes.iter().map(|held| held.balances.len()).max();
    let is_right = |held: &Held, account: usize| {
        let mut sum = i128::from(trial.history.start_balance);
        for row in &held.rows {
            let amount = i128::from(row.amount);
            if usize::from(row.from) == account {
                sum -= amount;
            }
            if usize::from(row.to) == account {
                sum += amount;
            }
        }
        match held.balances.get(account) {
            Some(balance) => account < accounts && i128::from(*balance) == sum,
            None => account >= accounts,
        }
    };
    let is_wrong = |account: &usize| nodes.iter().any(|held| !is_right(held, *account));
    let all = 0..accounts.max(most.unwrap_or(0));
    all.filter(is_wrong).count()
}

/// Its rows, sorted, and its balances.
fn content(held: &Held) -> (Vec<[u64; 4]>, Vec<i64>) {
    let mut rows: Vec<[u64; 4]> = Vec::new();
    for row in &held.rows {
        rows.push([row.token, row.from.into(), row.to.into(), row.amount.into()]);
    }
    rows.sort_unstable();
    (rows, held.balances.clone())
}

fn diverged(nodes: &[&Held]) -> usize {
    let contents: Vec<_> = nodes.iter().map(|held| content(held)).collect();
    let others = contents.iter().skip(1);
    others.filter(|other| **other != contents[0]).count()
}
