//! Which copy may take over, as pure functions.
//!
//! A promotion goes like this. Whoever promotes picks a generation greater than any it has heard
//! of ([`next_generation`]) and asks all copies that it can reach to promise it
//! (`Message::Promise`). A copy that promises obeys no older head from then on, and says at the
//! same time what it holds, so that nothing can be added behind the promoter's back. Then
//! [`choose`] says which copy is to be [`super::Copy::promote`]d, if any.
//!
//! **Why no stale copy wins.** With R = N - W + 1 promises, at most W - 1 copies still obey the old
//! head: it can finish no flush any more. Each flush that it did finish is on W copies, so that at
//! least one of the R has it (Gifford, "Weighted voting for replicated data", 1979), and the one
//! that is furthest in the newest generation has all of them, since each copy has epochs in order.
//! The new head serves only once W copies have promised, so that the next promotion is bound to
//! hear of it; two promotions cannot both get W promises for one generation if W is over half of
//! N. A copy takes a new generation's number only together with that generation's data, in one
//! step: what was promised but never received makes nobody newer.
//!
//! **A mirror** has R = 1, so that one of its copies alone may be chosen, and then begins without
//! the other one. A head that blocks is shut out by that one promise, but for one that began alone:
//! until it has told its copy that it counts, that copy may not lead. One that may go on alone
//! ([`WhenShort::Degrade`]) is never shut out: it has to be ended before its copy is asked, or both
//! will lead.
//!
//! **With [`Ack::ProtocolC`]** a mirror's head does not wait until a flush is durable at the other
//! copy. Only a copy that still has in memory what it received has all that was reported done,
//! or the old head itself: a lone one that lost its memory may not lead.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Ack, WhenShort};

/// What a copy holds, said together with its promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// Zero for a blank copy.
    pub volume: u64,
    /// Where it would go on from as a head: generation, epochs begun, writes received.
    pub generation: u64,
    pub sealed: u64,
    pub seq: u64,
    /// Up to which epoch it is durable; zero for a blank copy.
    pub durable_epoch: u64,
    /// The generation that it led last; zero if it has followed another since.
    pub led: u64,
    pub touch: Touch,
}

/// What a copy knows of being left behind by a head that may go on alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Touch {
    /// It counts, and the head has heard it less than one timeout ago: nothing was done without it.
    /// Or it was the head itself, and has neither promised nor heard of another since: it would
    /// have been the one to go on alone.
    Proven,
    /// It has lost touch: the head has ended, or is beyond a cut link, perhaps alone.
    Unsure,
    /// It was told that it does not count.
    Behind,
    /// It has nothing but what was durable when it lost its power, or its connection was made anew.
    DurableOnly,
}

/// Under which terms the volume was served, and what the promoter knows besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub volume: u64,
    /// N.
    pub copies: usize,
    /// W.
    pub write_quorum: usize,
    pub ack: Ack,
    pub when_short: WhenShort,
    /// The last generation that this promoter let begin alone; zero for none. Two copies cannot
    /// tell by themselves that the other one was promoted while they were away: somebody third
    /// has to remember it.
    pub alone_generation: u64,
    /// Takes the best copy that is there even if fewer are than can show that it is, or if a
    /// mirror's only one may have been left behind. What was reported done may be lost then.
    pub is_forced: bool,
    /// Copies that are not asked, and will follow whoever takes over: they count for writing only.
    pub followers: usize,
}

impl Rule {
    /// R: copies of which one has each flush that was reported done.
    pub fn read_quorum(&self) -> usize {
        self.copies + 1 - self.write_quorum
    }

    /// Of two copies, both needed for each flush: either alone has all of them.
    fn is_mirror(&self) -> bool {
        self.copies == 2 && self.write_quorum == 2
    }
}

/// Which copy takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Its place in the list of surveys.
    pub chosen: usize,
    /// Fewer than W copies are there: a mirror's copy begins without the other one
    /// ([`super::Head::begin_alone`]). To be remembered as [`Rule::alone_generation`].
    pub is_alone: bool,
}

/// Why none may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Fewer copies than it takes to know what was reported done.
    TooFewToRead { have: usize, need: usize },
    /// All that was reported done is on this copy, but fewer copies are there than writes need.
    TooFewToWrite {
        chosen: usize,
        have: usize,
        need: usize,
    },
    /// The lone copy was told that it is behind.
    Behind,
    /// The lone copy cannot show that the head did not go on without it.
    Unsure,
    /// The head did not wait until this lone copy had flushed, and what was in its memory is gone.
    DurableOnly,
    /// The other copy was promoted alone since.
    Outdated,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::TooFewToRead { have, need } => write!(
                f,
                "{have} copies can be asked; one that has all that was reported done is among any \
                 {need}, not among fewer"
            ),
            Refusal::TooFewToWrite { have, need, .. } => write!(
                f,
                "{have} copies are there; nothing can be written with fewer than {need}"
            ),
            Refusal::Behind => write!(f, "the only copy was told that it is behind"),
            Refusal::Unsure => write!(
                f,
                "the only copy cannot show that the head did not go on without it"
            ),
            Refusal::DurableOnly => write!(
                f,
                "the only copy has lost what it held in memory, for which the head did not wait"
            ),
            Refusal::Outdated => write!(f, "the other copy has led alone since"),
        }
    }
}

/// A generation that no copy has promised yet, as far as is known.
pub fn next_generation(known: impl IntoIterator<Item = u64>) -> u64 {
    known.into_iter().max().unwrap_or(0) + 1
}

/// Chooses among the copies that have promised the new generation.
///
/// # Errors
/// Tells why no copy may take over.
pub fn choose(rule: &Rule, surveys: &[Survey]) -> Result<Choice, Refusal> {
    let holds = |of: &Survey| of.volume == rule.volume && of.durable_epoch > 0;
    let places = (0..surveys.len()).filter(|at| holds(&surveys[*at]));
    let known: Vec<usize> = places.collect();
    let need = rule.read_quorum();
    let position = |at: &usize| {
        (
            surveys[*at].generation,
            surveys[*at].sealed,
            surveys[*at].seq,
        )
    };
    let Some(chosen) = known.iter().copied().rev().max_by_key(position) else {
        return Err(Refusal::TooFewToRead { have: 0, need });
    };
    if known.len() < need && !rule.is_forced {
        let have = known.len();
        return Err(Refusal::TooFewToRead { have, need });
    }
    if rule.is_mirror() && known.len() == 1 {
        judge_lone(rule, &surveys[chosen])?;
    }
    let (have, need) = (surveys.len() + rule.followers, rule.write_quorum);
    match have < need {
        true if !rule.is_mirror() => Err(Refusal::TooFewToWrite { chosen, have, need }),
        is_alone => Ok(Choice { chosen, is_alone }),
    }
}

/// Whether a mirror's only copy may be taken for the newest.
fn judge_lone(rule: &Rule, survey: &Survey) -> Result<(), Refusal> {
    if survey.generation.max(survey.led) < rule.alone_generation {
        return Err(Refusal::Outdated);
    }
    if rule.is_forced {
        return Ok(());
    }
    let may_degrade = rule.when_short == WhenShort::Degrade;
    let needs_memory = rule.ack == Ack::ProtocolC;
    match survey.touch {
        Touch::Behind if may_degrade || needs_memory || follows_alone(rule, survey) => {
            Err(Refusal::Behind)
        }
        Touch::DurableOnly if needs_memory => Err(Refusal::DurableOnly),
        Touch::Unsure | Touch::DurableOnly if may_degrade => Err(Refusal::Unsure),
        _ => Ok(()),
    }
}

/// Whether what it holds is of a head that began alone, and not its own.
fn follows_alone(rule: &Rule, survey: &Survey) -> bool {
    survey.generation == rule.alone_generation && survey.led != rule.alone_generation
}
