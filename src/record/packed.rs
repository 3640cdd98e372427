//! Campaigns with what is long in their trials in a few bytes an entry: transfers, looks, rows, and
//! tokens of what links delivered and logs hold, of which a trial has tens of thousands.
//!
//! Tokens are drawn at random, so that each needs its eight bytes, once: with its transfer.
//! Everywhere else a token is the place of its transfer, told by its distance from the one before.

use std::collections::HashMap;

use super::history::{Answer, Held, Look, Reader, Row, Token, Transfer};
use super::trials::{Campaign, Delivered, Trial};
use super::varint::{In, Out, at_distance, distance};

/// Of the form in which it is written here.
const FORM: u64 = 1;

/// Answers by their number.
const ANSWERS: [Answer; 3] = [Answer::Acknowledged, Answer::Refused, Answer::Unanswered];

/// A campaign, packed.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedCampaign {
    /// All of it but transfers, looks, rows and delivered tokens: lists of these are empty.
    pub light: Campaign,
    /// These, of each of its trials.
    pub packed: Vec<Vec<u8>>,
}

impl PackedCampaign {
    pub fn of(campaign: &Campaign) -> PackedCampaign {
        let trials = campaign.trials.iter();
        PackedCampaign {
            packed: trials.clone().map(packed).collect(),
            light: Campaign {
                durability: campaign.durability,
                fault: campaign.fault.clone(),
                trials: trials.map(light).collect(),
            },
        }
    }

    /// The campaign as it was.
    ///
    /// # Errors
    /// Says what is wrong with what was packed.
    pub fn unpacked(&self) -> Result<Campaign, String> {
        let (light, bytes) = (&self.light.trials, &self.packed);
        if light.len() != bytes.len() {
            let (trials, parts) = (light.len(), bytes.len());
            return Err(format!("{trials} trials have {parts} packed parts"));
        }
        let trials = light.iter().zip(bytes);
        let trials = trials.map(|(light, bytes)| whole(light.clone(), bytes));
        Ok(Campaign {
            trials: trials.collect::<Result<Vec<Trial>, String>>()?,
            ..self.light.clone()
        })
    }

    /// The campaign as it was. A record is refused of which that cannot be read; should it be here
    /// all the same, its trials say so, and are undecided.
    pub fn whole(&self) -> Campaign {
        let unread = |why: String| {
            let of_trial = |light: &Trial| Trial {
                undecided: Some(format!("the record is damaged: {why}")),
                ..light.clone()
            };
            Campaign {
                trials: self.light.trials.iter().map(of_trial).collect(),
                ..self.light.clone()
            }
        };
        self.unpacked().unwrap_or_else(unread)
    }

    /// Takes in the trials of another one of the same fault.
    pub fn extend(&mut self, other: PackedCampaign) {
        self.light.trials.extend(other.light.trials);
        self.packed.extend(other.packed);
    }
}

/// All nodes that were read, those that serve first.
fn held(trial: &Trial) -> impl Iterator<Item = &Held> {
    trial.serving.iter().chain(&trial.others)
}

fn held_mut(trial: &mut Trial) -> impl Iterator<Item = &mut Held> {
    trial.serving.iter_mut().chain(&mut trial.others)
}

/// All logs that were read, what links had delivered first.
fn delivered(trial: &Trial) -> impl Iterator<Item = &Delivered> {
    trial.delivered.iter().chain(&trial.logged)
}

fn delivered_mut(trial: &mut Trial) -> impl Iterator<Item = &mut Delivered> {
    trial.delivered.iter_mut().chain(&mut trial.logged)
}

/// A trial without what is packed of it.
fn light(trial: &Trial) -> Trial {
    let mut light = trial.clone();
    light.history.transfers = vec![];
    for reader in &mut light.history.readers {
        reader.looks = vec![];
    }
    for held in held_mut(&mut light) {
        held.rows = vec![];
    }
    for delivered in delivered_mut(&mut light) {
        delivered.tokens = vec![];
    }
    light
}

fn packed(trial: &Trial) -> Vec<u8> {
    let mut packer = Packer::of(&trial.history.transfers);
    packer.out.number(FORM);
    packer.transfers();
    for reader in &trial.history.readers {
        packer.looks(reader);
    }
    for held in held(trial) {
        packer.rows(&held.rows);
    }
    for delivered in delivered(trial) {
        packer.tokens(&delivered.tokens);
    }
    packer.out.into_bytes()
}

fn whole(light: Trial, bytes: &[u8]) -> Result<Trial, String> {
    let mut unpacker = Unpacker {
        bytes: In::of(bytes),
        transfers: vec![],
        last: 0,
    };
    match unpacker.bytes.number() {
        Some(FORM) => {}
        Some(form) => return Err(format!("what is packed is of form {form}, not {FORM}")),
        None => return Err("nothing is packed".to_owned()),
    }
    let filled = unpacker.fill(light);
    let is_at_end = unpacker.bytes.is_at_end();
    let filled = filled.filter(|_| is_at_end);
    filled.ok_or_else(|| "what is packed ends too early or too late".to_owned())
}

struct Packer<'t> {
    out: Out,
    transfers: &'t [Transfer],
    /// Of each token its transfer's.
    places: HashMap<Token, usize>,
    /// The place that was written last.
    last: u64,
}

impl Packer<'_> {
    fn of(transfers: &[Transfer]) -> Packer<'_> {
        let places = transfers.iter().enumerate();
        Packer {
            out: Out::default(),
            transfers,
            places: places.map(|(place, it)| (it.token, place)).collect(),
            last: 0,
        }
    }

    fn transfers(&mut self) {
        self.out.number(self.transfers.len() as u64);
        let mut before_us = 0;
        for transfer in self.transfers {
            let Transfer {
                token,
                from,
                to,
                amount,
                node,
                begun_us,
                commit_us,
                ended_us,
                answer,
            } = *transfer;
            let answer = ANSWERS.iter().position(|known| *known == answer);
            let answer = answer.unwrap_or_default() as u64;
            self.out.whole(token);
            for number in [u64::from(from), to.into(), amount.into(), node.into()] {
                self.out.number(number);
            }
            self.out
                .number((answer << 1) | u64::from(commit_us.is_some()));
            self.out.near(before_us, begun_us);
            if let Some(commit_us) = commit_us {
                self.out.near(begun_us, commit_us);
            }
            self.out.near(begun_us, ended_us);
            before_us = begun_us;
        }
    }

    fn looks(&mut self, reader: &Reader) {
        self.out.number(reader.looks.len() as u64);
        let mut before_us = 0;
        for look in &reader.looks {
            let Look {
                begun_us,
                ended_us,
                new,
                gone,
            } = look;
            self.out.near(before_us, *begun_us);
            let has = (u64::from(ended_us.is_some()) << 1) | u64::from(!gone.is_empty());
            self.out.number(((new.len() as u64) << 2) | has);
            if let Some(ended_us) = ended_us {
                self.out.near(*begun_us, *ended_us);
            }
            for token in new {
                self.token(*token, false);
            }
            if !gone.is_empty() {
                self.tokens(gone);
            }
            before_us = *begun_us;
        }
    }

    /// Each says whether it is as its transfer is.
    fn rows(&mut self, rows: &[Row]) {
        self.out.number(rows.len() as u64);
        for row in rows {
            let sent = self.places.get(&row.token).map(|at| &self.transfers[*at]);
            let is_as_sent = sent.is_some_and(|sent| {
                (sent.from, sent.to, sent.amount) == (row.from, row.to, row.amount)
            });
            self.token(row.token, is_as_sent);
            if !is_as_sent {
                for number in [u64::from(row.from), row.to.into(), row.amount.into()] {
                    self.out.number(number);
                }
            }
        }
    }

    fn tokens(&mut self, tokens: &[Token]) {
        self.out.number(tokens.len() as u64);
        for token in tokens {
            self.token(*token, false);
        }
    }

    /// The place of its transfer, and a mark that goes with it; 0 and all of the token where no
    /// transfer has it.
    fn token(&mut self, token: Token, mark: bool) {
        match self.places.get(&token) {
            Some(place) => {
                let place = *place as u64;
                let far = distance(self.last, place);
                self.out.number(1 + ((far << 1) | u64::from(mark)));
                self.last = place;
            }
            None => {
                self.out.number(0);
                self.out.whole(token);
            }
        }
    }
}

struct Unpacker<'b> {
    bytes: In<'b>,
    transfers: Vec<Transfer>,
    /// The place that was read last.
    last: u64,
}

/// A token that was read.
struct Named {
    token: Token,
    transfer: Option<Transfer>,
    mark: bool,
}

impl Unpacker<'_> {
    /// The trial with all that was packed of it; `None` if that is something else.
    fn fill(&mut self, mut trial: Trial) -> Option<Trial> {
        self.transfers = self.transfers()?;
        for reader in &mut trial.history.readers {
            reader.looks = self.looks()?;
        }
        for held in held_mut(&mut trial) {
            held.rows = self.rows()?;
        }
        for delivered in delivered_mut(&mut trial) {
            delivered.tokens = self.tokens()?;
        }
        trial.history.transfers = std::mem::take(&mut self.transfers);
        Some(trial)
    }

    /// One of the few bits that a number has.
    fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.bytes.number()?).ok()
    }

    fn transfers(&mut self) -> Option<Vec<Transfer>> {
        let count = self.bytes.number()?;
        let mut before_us = 0;
        let mut one = || {
            let token = self.bytes.whole()?;
            let (from, to, amount, node) =
                (self.small()?, self.small()?, self.small()?, self.small()?);
            let kind = self.bytes.number()?;
            let begun_us = self.bytes.near(before_us)?;
            let commit_us = match kind & 1 {
                0 => None,
                _ => Some(self.bytes.near(begun_us)?),
            };
            before_us = begun_us;
            Some(Transfer {
                token,
                from,
                to,
                amount,
                node,
                begun_us,
                commit_us,
                ended_us: self.bytes.near(begun_us)?,
                answer: *ANSWERS.get(usize::try_from(kind >> 1).ok()?)?,
            })
        };
        (0..count).map(|_| one()).collect()
    }

    fn looks(&mut self) -> Option<Vec<Look>> {
        let count = self.bytes.number()?;
        let mut before_us = 0;
        let mut one = || {
            let begun_us = self.bytes.near(before_us)?;
            let kind = self.bytes.number()?;
            let ended_us = match kind & 2 {
                0 => None,
                _ => Some(self.bytes.near(begun_us)?),
            };
            before_us = begun_us;
            Some(Look {
                begun_us,
                ended_us,
                new: self.so_many(kind >> 2)?,
                gone: match kind & 1 {
                    0 => vec![],
                    _ => self.tokens()?,
                },
            })
        };
        (0..count).map(|_| one()).collect()
    }

    fn rows(&mut self) -> Option<Vec<Row>> {
        let count = self.bytes.number()?;
        let mut one = || {
            let named = self.token()?;
            if let Some(sent) = named.transfer.filter(|_| named.mark) {
                return Some(Row {
                    token: named.token,
                    from: sent.from,
                    to: sent.to,
                    amount: sent.amount,
                });
            }
            Some(Row {
                token: named.token,
                from: self.small()?,
                to: self.small()?,
                amount: self.small()?,
            })
        };
        (0..count).map(|_| one()).collect()
    }

    fn tokens(&mut self) -> Option<Vec<Token>> {
        let count = self.bytes.number()?;
        self.so_many(count)
    }

    fn so_many(&mut self, count: u64) -> Option<Vec<Token>> {
        let mut one = || self.token().map(|named| named.token);
        (0..count).map(|_| one()).collect()
    }

    fn token(&mut self) -> Option<Named> {
        let Some(told) = self.bytes.number()?.checked_sub(1) else {
            return Some(Named {
                token: self.bytes.whole()?,
                transfer: None,
                mark: false,
            });
        };
        self.last = at_distance(self.last, told >> 1);
        let place = usize::try_from(self.last).ok()?;
        let transfer = *self.transfers.get(place)?;
        Some(Named {
            token: transfer.token,
            transfer: Some(transfer),
            mark: told & 1 == 1,
        })
    }
}

#[cfg(test)]
mod tests;
