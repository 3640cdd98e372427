//! Who knows what of each token: clients, nodes at the end, readers.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::record::history::{Answer, Held, Token, Transfer};
use crate::record::trials::Trial;

/// A trial, looked up by token.
pub struct Sight<'t> {
    pub told: HashMap<Token, &'t Transfer>,
    /// Serving nodes that could be read.
    pub serving: Vec<&'t Held>,
    /// Other nodes that could be read.
    pub others: Vec<&'t Held>,
    /// On all of those that serve,
    pub in_all: HashSet<Token>,
    /// or on any.
    pub in_any: HashSet<Token>,
    /// On all others that said that they had executed all that those who serve had; `None`: none
    /// said so.
    pub in_level: Option<HashSet<Token>>,
    /// Shown by any look of a reader.
    pub seen: HashSet<Token>,
    /// Gone at a look of a reader that had shown it.
    pub gone: BTreeSet<Token>,
}

/// Those that could be read.
fn read(nodes: &[Held]) -> Vec<&Held> {
    nodes.iter().filter(|held| held.unread.is_none()).collect()
}

fn tokens(held: &Held) -> impl Iterator<Item = Token> {
    held.rows.iter().map(|row| row.token)
}

impl<'t> Sight<'t> {
    pub fn of(trial: &'t Trial) -> Sight<'t> {
        let serving = read(&trial.serving);
        let sets = serving.iter().map(|held| tokens(held).collect());
        let in_all = sets.reduce(|both: HashSet<Token>, next| &both & &next);
        let others = read(&trial.others);
        let level = others.iter().filter(|held| held.is_level);
        let level = level.map(|held| tokens(held).collect());
        let in_level = level.reduce(|both: HashSet<Token>, next| &both & &next);
        let told = trial.history.transfers.iter();
        Sight {
            told: told.map(|transfer| (transfer.token, transfer)).collect(),
            in_any: serving.iter().flat_map(|held| tokens(held)).collect(),
            in_all: in_all.unwrap_or_default(),
            serving,
            others,
            in_level,
            seen: shown(trial).map(|(token, _, _)| token).collect(),
            gone: gone(trial),
        }
    }

    /// The transfer of a token, if its client was told so.
    pub fn answered(&self, token: Token, answer: Answer) -> Option<&'t Transfer> {
        let transfer = self.told.get(&token).copied();
        transfer.filter(|transfer| transfer.answer == answer)
    }

    /// On any node that could be read, or seen by any reader.
    pub fn anywhere(&self) -> HashSet<Token> {
        let elsewhere = self.others.iter().flat_map(|held| tokens(held));
        let there = self.in_any.iter().chain(&self.seen).copied();
        there.chain(elsewhere).collect()
    }

    /// On all nodes that serve, and not on a replica that says it has executed it.
    pub fn is_skipped(&self, token: Token) -> bool {
        let level = self.in_level.as_ref();
        self.in_all.contains(&token) && level.is_some_and(|level| !level.contains(&token))
    }

    /// On another node, and on none that serves.
    pub fn only_elsewhere(&self) -> HashSet<Token> {
        let elsewhere = self.others.iter().flat_map(|held| tokens(held));
        elsewhere
            .filter(|token| !self.in_any.contains(token))
            .collect()
    }
}

/// What each reader showed, at which node, and by when: what a look shows may be as new as its end,
/// in µs.
pub fn shown(trial: &Trial) -> impl Iterator<Item = (Token, u8, u64)> {
    let looks = trial.history.readers.iter().flat_map(|reader| {
        let node = reader.node;
        reader.looks.iter().map(move |look| (node, look))
    });
    looks.flat_map(|(node, look)| {
        let by_us = look.ended_us.unwrap_or(look.begun_us);
        look.new.iter().map(move |token| (*token, node, by_us))
    })
}

fn gone(trial: &Trial) -> BTreeSet<Token> {
    let looks = trial.history.readers.iter().flat_map(|it| &it.looks);
    looks.flat_map(|look| &look.gone).copied().collect()
}
