//! A row of the catalogue of faults: a schedule, the modes that show what it does, and what must be
//! seen of it there.

use std::time::Duration;

use super::{Fault, Reach};
use crate::study::ModeSpec;

/// The whole catalogue.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FaultCatalogue {
    /// In the order in which they are run.
    pub rows: Vec<CatalogueRow>,
    /// What is known of servers, and has no row.
    pub missing: Vec<Missing>,
}

/// One fault, and where it shows what.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueRow {
    /// Of the known anomalies that it provokes, from 1 on; none for the faults that every mode is
    /// asked first.
    pub numbers: Vec<u32>,
    pub fault: Fault,
    /// Trials at least.
    pub trials: u32,
    /// Sites, in order; node `i` of a mode stands in site `i` modulo their number.
    pub sites: Vec<String>,
    /// Modes that it is for, each with what must be seen; never none.
    pub cases: Vec<Case>,
    /// Settings, or another schedule, under which what is seen in the cases is not.
    pub counters: Vec<Case>,
}

/// A fault in a mode, and what must be seen then.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    pub spec: ModeSpec,
    /// Round-trip time between all sites; `None`: as the command has it.
    pub rtt: Option<Duration>,
    /// All of these must be seen.
    pub all: Vec<Expected>,
    /// One of these at least, unless there are none.
    pub any: Vec<Expected>,
    /// What a trial must have shown besides the fault's own reach.
    pub reach: Vec<Reach>,
    /// Name of the row whose fault is injected in place of this row's own.
    pub instead: Option<String>,
    /// Why it is so, or what is not known of it; one line.
    pub because: Option<String>,
}

impl Case {
    /// Whether all that is foretold is that something is not seen.
    pub fn foretells_nothing_seen(&self) -> bool {
        let mut foretold = self.all.iter().chain(&self.any);
        !foretold.any(|expected| expected.is_seen)
    }
}

/// What trials show, or do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    pub sign: Sign,
    /// In one trial at least; `false`: in none.
    pub is_seen: bool,
}

/// What a trial can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Anything at all that is wrong.
    Wrong,
    /// Acknowledged and missing.
    Lost,
    /// Unanswered and there: innocent.
    Recovered,
    /// Seen by a reader, and gone in the end, though not refused.
    Phantom,
    /// On a node that does not count in the end, and not on those that do.
    Errant,
    /// On such a node alone, with a GTID that those who count gave to another transaction.
    GtidsReused,
    /// Acknowledged and there, but not on a replica that says that it has executed all.
    Skipped,
    /// Nodes that count differ from each other.
    Diverged,
    /// Both sides acknowledged, and not all of it is there.
    Forked,
    /// A transfer is there twice.
    Doubled,
    /// A balance is not its start plus all transfers that are there.
    Unbalanced,
    /// A look that began after an acknowledgement did not show it.
    Stale,
    /// The same, more than a second after it.
    StaleForLong,
    /// A mode that may go on alone did.
    FellBack,
    /// Nothing was acknowledged for more than a second.
    NoService,
    /// A server ended by itself for what it found in its data.
    RefusesData,
}

/// What can be expected, by the words that the catalogue has for it.
pub const EXPECTED: [(&str, Expected); 29] = [
    ("nothing wrong", absent(Sign::Wrong)),
    ("lost", seen(Sign::Lost)),
    ("none lost", absent(Sign::Lost)),
    ("recovered", seen(Sign::Recovered)),
    ("none recovered", absent(Sign::Recovered)),
    ("phantom reads", seen(Sign::Phantom)),
    ("no phantom reads", absent(Sign::Phantom)),
    ("errant", seen(Sign::Errant)),
    ("none errant", absent(Sign::Errant)),
    ("GTIDs reused", seen(Sign::GtidsReused)),
    ("no GTIDs reused", absent(Sign::GtidsReused)),
    ("skipped", seen(Sign::Skipped)),
    ("none skipped", absent(Sign::Skipped)),
    ("diverged", seen(Sign::Diverged)),
    ("not diverged", absent(Sign::Diverged)),
    ("forked", seen(Sign::Forked)),
    ("not forked", absent(Sign::Forked)),
    ("doubled", seen(Sign::Doubled)),
    ("none doubled", absent(Sign::Doubled)),
    ("unbalanced", seen(Sign::Unbalanced)),
    ("balanced", absent(Sign::Unbalanced)),
    ("stale", seen(Sign::Stale)),
    ("not stale", absent(Sign::Stale)),
    ("stale for long", seen(Sign::StaleForLong)),
    ("not stale for long", absent(Sign::StaleForLong)),
    ("fell back", seen(Sign::FellBack)),
    ("no service", seen(Sign::NoService)),
    ("served", absent(Sign::NoService)),
    ("refuses data", seen(Sign::RefusesData)),
];

const fn seen(sign: Sign) -> Expected {
    Expected {
        sign,
        is_seen: true,
    }
}

const fn absent(sign: Sign) -> Expected {
    Expected {
        sign,
        is_seen: false,
    }
}

impl Expected {
    /// As the catalogue writes it; empty of what it has no words for.
    pub fn words(self) -> &'static str {
        let mut all = EXPECTED.iter();
        all.find(|(_, known)| *known == self)
            .map_or("", |(words, _)| words)
    }
}

/// A known anomaly, or a part of one, that no row provokes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// As in [`CatalogueRow::numbers`].
    pub number: u32,
    /// What it is; one line.
    pub title: String,
    /// What is lacking; one line.
    pub why: String,
}

impl CatalogueRow {
    /// The fault as it is injected in one of the row's cases or counters; `named` knows the other
    /// rows. What a control must come to is for cases: a counter comes to something else.
    pub fn fault_in<'r>(
        &'r self,
        case: &Case,
        named: impl Fn(&str) -> Option<&'r CatalogueRow>,
    ) -> Fault {
        let other = case.instead.as_deref().and_then(named);
        let mut fault = other.unwrap_or(self).fault.clone();
        fault.reach.extend(&case.reach);
        fault.control = fault.control.filter(|_| self.cases.contains(case));
        fault
    }

    /// Whether it is one that every mode is asked before the known anomalies.
    pub fn is_first(&self) -> bool {
        self.numbers.is_empty() && self.fault.control.is_none()
    }

    /// Whether it breaks nothing: readers look, and no known anomaly is provoked.
    pub fn only_looks(&self) -> bool {
        self.fault.steps.is_empty() && self.numbers.is_empty()
    }

    /// Whether a case of it is of that mode, whatever its settings.
    pub fn is_for(&self, mode: &str) -> bool {
        self.cases.iter().any(|case| case.spec.mode.name() == mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, instead: Option<&str>) -> CatalogueRow {
        let case = Case {
            spec: ModeSpec::default(),
            rtt: None,
            all: vec![],
            any: vec![],
            reach: vec![Reach::Behind],
            instead: instead.map(str::to_owned),
            because: None,
        };
        CatalogueRow {
            numbers: vec![],
            fault: Fault {
                name: name.to_owned(),
                reach: vec![Reach::InFlight(0)],
                ..Fault::default()
            },
            trials: 5,
            sites: vec![],
            cases: vec![case],
            counters: vec![],
        }
    }

    #[test]
    fn every_expectation_has_words_of_its_own() {
        for (index, (words, expected)) in EXPECTED.iter().enumerate() {
            assert_eq!(expected.words(), *words);
            let others = EXPECTED[index + 1..].iter();
            assert!(others.clone().all(|(other, _)| other != words), "{words}");
            assert!(
                others.clone().all(|(_, other)| other != expected),
                "{words}"
            );
        }
        assert_eq!(absent(Sign::FellBack).words(), "");
    }

    #[test]
    fn a_case_adds_to_the_reach_of_its_fault_and_may_have_anothers() {
        let (own, other) = (row("own", None), row("other", None));
        let asking = row("own", Some("other"));
        let named = |name: &str| (name == "other").then_some(&other);
        let fault = own.fault_in(&own.cases[0], named);
        assert_eq!(fault.name, "own");
        assert_eq!(fault.reach, [Reach::InFlight(0), Reach::Behind]);
        assert_eq!(asking.fault_in(&asking.cases[0], named).name, "other");
        assert!(own.is_first() && own.is_for("single") && !own.is_for("async"));
        let mut control = row("own", None);
        control.fault.control = Some(crate::study::faults::Control::Nothing);
        let counter = Case {
            because: Some("otherwise".to_owned()),
            ..control.cases[0].clone()
        };
        let found = |case| control.fault_in(case, named).control;
        assert!(found(&control.cases[0]).is_some() && found(&counter).is_none());
    }
}
