//! Verdicts on faults, and doubts that leave none: plain types.

use serde::Serialize;

use crate::study::faults::Reach;

/// What came of a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All that was acknowledged was promised, and is there.
    Kept,
    /// Something promised is lost, or something is there that nothing allows.
    Broken,
    /// Mode and settings promise nothing for some of it, and something of that was lost;
    LostNoPromise,
    /// or nothing was.
    NoneLostNoPromise,
    /// Doubts say why.
    Undecided,
}

impl Verdict {
    /// What tables say.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Kept => "kept",
            Verdict::Broken => "BROKEN",
            Verdict::LostNoPromise => "lost, no promise",
            Verdict::NoneLostNoPromise => "none lost, no promise",
            Verdict::Undecided => "undecided",
        }
    }
}

/// Why a trial tells nothing, or not enough.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// The lab's own word.
    Undone(String),
    NobodyServed,
    Unread {
        node: u8,
        why: String,
    },
    /// Clients say of some transfers two things, or what cannot be.
    History(String),
    /// The second checker's word.
    Disagreement(String),
    /// A step, from 0 on, that was not reached.
    StepMissing(usize),
    NotBitten {
        step: usize,
        seen: String,
    },
    /// Another replica took over than the one that was to.
    WrongChoice,
    /// Whether it went on alone was not asked.
    AloneUnknown,
    NothingAcknowledged,
    NotSeen(Reach),
    /// A serving node's tables could not be checked.
    NotChecked(u8),
    /// Why the binary log could not be read beside the tables.
    LogUnread(String),
}

/// What a doubt is of: the earlier, the less is left that can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Weight {
    /// Of what clients were told, or what is there: nothing can be said.
    Evidence,
    /// Of what was done: what nothing allows is found all the same; nobody knows what was promised.
    Fault,
    /// Of whether enough was seen: what is broken is broken; that something is kept is not shown.
    Enough,
}

impl Doubt {
    pub fn weight(&self) -> Weight {
        match self {
            Doubt::Undone(_)
            | Doubt::NobodyServed
            | Doubt::Unread { .. }
            | Doubt::History(_)
            | Doubt::Disagreement(_) => Weight::Evidence,
            Doubt::StepMissing(_)
            | Doubt::NotBitten { .. }
            | Doubt::WrongChoice
            | Doubt::AloneUnknown => Weight::Fault,
            Doubt::NothingAcknowledged
            | Doubt::NotSeen(_)
            | Doubt::NotChecked(_)
            | Doubt::LogUnread(_) => Weight::Enough,
        }
    }

    /// After "undecided:". Steps count from 1 there.
    pub fn words(&self) -> String {
        match self {
            Doubt::Undone(why) => why.clone(),
            Doubt::NobodyServed => "nobody served at the end".to_owned(),
            Doubt::Unread { node, why } => {
                format!("the tables of node {node} could not be read: {why}")
            }
            Doubt::History(why) => format!("the clients' record is not sound: {why}"),
            Doubt::Disagreement(why) => format!("the second checker disagrees: {why}"),
            Doubt::StepMissing(step) => format!("step {} was not reached", step + 1),
            Doubt::NotBitten { step, seen } => {
                let step = step + 1;
                format!("step {step} was not seen to befall all that it was meant to: {seen}")
            }
            Doubt::WrongChoice => "another node took over than the one that was to".to_owned(),
            Doubt::AloneUnknown => "it is not known whether it went on alone".to_owned(),
            Doubt::NothingAcknowledged => "nothing was acknowledged".to_owned(),
            Doubt::NotSeen(reach) => not_seen(*reach),
            Doubt::NotChecked(node) => format!("the tables of node {node} could not be checked"),
            Doubt::LogUnread(why) => format!("the binary log could not be read: {why}"),
        }
    }
}

fn not_seen(reach: Reach) -> String {
    match reach {
        Reach::InFlight(step) => format!("no commit was on its way at step {}", step + 1),
        Reach::AcknowledgedBefore(step, least) => {
            format!(
                "fewer than {least} were acknowledged before step {}",
                step + 1
            )
        }
        Reach::FellBack => "it did not go on alone".to_owned(),
        Reach::Behind => "the one that took over was not behind another".to_owned(),
        Reach::BothWrote => "not both sides of the cut took writes".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_of_the_evidence_weighs_most() {
        let unread = Doubt::Unread {
            node: 1,
            why: "no connection".to_owned(),
        };
        assert!(unread.weight() < Doubt::AloneUnknown.weight());
        assert!(Doubt::AloneUnknown.weight() < Doubt::NothingAcknowledged.weight());
        let not_seen = Doubt::NotSeen(Reach::AcknowledgedBefore(1, 50));
        let words = "fewer than 50 were acknowledged before step 2";
        assert_eq!(not_seen.words(), words);
        assert_eq!(Doubt::StepMissing(0).words(), "step 1 was not reached");
    }
}
