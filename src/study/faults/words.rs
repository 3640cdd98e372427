//! What faults are called: as studies write them, and as lists and reports tell them.

use std::time::Duration;

use super::{
    Between, Choose, ClientsAt, Control, Deed, Finding, Promotion, Reach, Step, Target, Way, When,
    Writing,
};
use crate::study::units;

/// Targets that go without a number. `replica 2` and `first 3` are the others.
pub const TARGETS: [(&str, Target); 11] = [
    ("writer", Target::Writer),
    ("first writer", Target::FirstWriter),
    ("replicas", Target::Replicas),
    ("most received", Target::MostReceived),
    ("least received", Target::LeastReceived),
    ("site", Target::Site),
    ("all", Target::All),
    ("lost", Target::Lost),
    ("minority", Target::Minority),
    ("majority", Target::Majority),
    ("donor", Target::Donor),
];

/// How clients find who takes their writes.
pub const FINDINGS: [(&str, Finding); 5] = [
    ("asking", Finding::Asking),
    ("list", Finding::List),
    ("staying", Finding::Staying),
    ("proxy", Finding::Proxy),
    ("router", Finding::Router),
];

/// Where clients stand.
pub const CLIENTS: [(&str, ClientsAt); 3] = [
    ("first site", ClientsAt::FirstSite),
    ("both sides", ClientsAt::BothSides),
    ("every node", ClientsAt::EveryNode),
];

/// How they change balances.
pub const WRITINGS: [(&str, Writing); 3] = [
    ("in place", Writing::InPlace),
    ("read first", Writing::ReadFirst),
    ("read for update", Writing::ReadForUpdate),
];

/// Directions of links.
pub const WAYS: [(&str, Way); 3] = [
    ("both", Way::Both),
    ("there", Way::There),
    ("back", Way::Back),
];

/// Which replica takes over.
pub const CHOICES: [(&str, Choose); 3] = [
    ("most received", Choose::MostReceived),
    ("most executed", Choose::MostExecuted),
    ("first", Choose::First),
];

/// What must have been seen of a whole fault; the rest is asked of its steps.
pub const REACHES: [(&str, Reach); 3] = [
    ("fell back", Reach::FellBack),
    ("behind", Reach::Behind),
    ("both wrote", Reach::BothWrote),
];

/// What a control must come to, but for a share of its trials.
pub const CONTROLS: [(&str, Control); 2] = [
    ("nothing", Control::Nothing),
    ("loses undelivered", Control::LosesUndelivered),
];

impl Target {
    /// The one of that name: one of [`TARGETS`], `replica 2`, `first 3`.
    pub fn named(text: &str) -> Option<Target> {
        let number = |prefix: &str| {
            let number = text.strip_prefix(prefix)?.parse::<u32>();
            number.ok().filter(|number| *number > 0)
        };
        let plain = TARGETS.iter().find(|(name, _)| *name == text);
        let plain = plain.map(|(_, target)| *target);
        let replica = || number("replica ").map(Target::Replica);
        let first = || number("first ").map(Target::First);
        plain.or_else(replica).or_else(first)
    }

    /// Its name, as a study writes it.
    pub fn words(self) -> String {
        match self {
            Target::Replica(number) => format!("replica {number}"),
            Target::First(number) => format!("first {number}"),
            _ => name_of(&TARGETS, self).to_owned(),
        }
    }
}

/// The name of a value in a table of them; empty of one that has none.
fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    let mut names = names.iter();
    names
        .find(|(_, known)| *known == value)
        .map_or("", |(name, _)| name)
}

impl Between {
    /// `writer to replicas, there`
    pub fn words(&self) -> String {
        let to = self.to.map_or("all others".to_owned(), Target::words);
        let way = match self.way {
            Way::Both => String::new(),
            way => format!(", {}", name_of(&WAYS, way)),
        };
        let clients = match self.with_clients {
            true => ", clients too",
            false => "",
        };
        format!("{} to {to}{way}{clients}", self.from.words())
    }
}

impl When {
    /// `after 200 ms to 1.5 s`, `when replica 1 is 500 transactions behind`
    pub fn words(&self) -> String {
        match self {
            When::After { max, .. } if *max == Duration::ZERO => "at once".to_owned(),
            When::After { min, max } if min == max => format!("after {}", units::show(*min)),
            When::After { min, max } => {
                format!("after {} to {}", units::show(*min), units::show(*max))
            }
            When::Commits(count) => format!("after {count} acknowledged commits"),
            When::Behind(target, count) => {
                format!("when {} is {count} transactions behind", target.words())
            }
            When::Expelled(target) => format!("when {} has been put out", target.words()),
            When::FellBack => "when it goes on alone".to_owned(),
            When::Silent(span) => {
                format!("when nothing was acknowledged for {}", units::show(*span))
            }
            When::Served => "when commits are acknowledged again".to_owned(),
            When::Transfer => "while a state transfer is under way".to_owned(),
        }
    }
}

impl Promotion {
    /// `most received, fenced`
    fn words(self) -> String {
        let fenced = match self.is_fenced {
            true => "fenced",
            false => "not fenced",
        };
        let given = match self.is_given_others {
            true => ", given what others received",
            false => "",
        };
        format!("{}, {fenced}{given}", name_of(&CHOICES, self.choose))
    }
}

impl Deed {
    /// As studies write it.
    pub fn name(&self) -> &'static str {
        match self {
            Deed::CutLinks(_) => "cut links",
            Deed::LoseOnLinks(..) => "lose packets",
            Deed::SlowLinks(..) => "slow links",
            Deed::HealLinks => "heal links",
            Deed::StallDisk(_) => "stall disk",
            Deed::ResumeDisk(_) => "resume disk",
            Deed::SlowDisk(..) => "slow disk",
            Deed::FillDisk(..) => "fill disk",
            Deed::FailDisk(_) => "fail disk",
            Deed::DestroyDisk(_) => "destroy disk",
            Deed::Kill(_) => "kill",
            Deed::Pause(_) => "pause",
            Deed::Resume(_) => "resume",
            Deed::PowerCut(..) => "power cut",
            Deed::Restart(_) => "restart",
            Deed::BlockAppliers(_) => "block appliers",
            Deed::FreeAppliers(_) => "free appliers",
            Deed::Promote(_) => "promote",
            Deed::Bootstrap(_) => "bootstrap",
            Deed::ForceMembers(_) => "force members",
            Deed::Rejoin(_) => "rejoin",
            Deed::BeginRejoin(_) => "begin rejoin",
        }
    }

    /// The deed, and all that is said of it: `power cut: writer, drop-all`.
    pub fn words(&self) -> String {
        let more = match self {
            Deed::LoseOnLinks(_, share) => Some(units::show_percent(*share)),
            Deed::SlowLinks(_, delay) => Some(format!("{} more each way", units::show(*delay))),
            Deed::SlowDisk(_, flush) => Some(format!("flush {}", units::show(*flush))),
            Deed::FillDisk(_, bytes) => Some(format!("{} left", units::show_bytes(*bytes))),
            Deed::PowerCut(_, leaves) => Some(leaves.name().to_owned()),
            Deed::Promote(promotion) => Some(promotion.words()),
            _ => None,
        };
        let whom = self.links().map(|links| links.words());
        let whom = whom.or_else(|| self.target().map(Target::words));
        let parts: Vec<String> = whom.into_iter().chain(more).collect();
        match parts.is_empty() {
            true => self.name().to_owned(),
            false => format!("{}: {}", self.name(), parts.join(", ")),
        }
    }
}

impl Reach {
    /// What must have been seen, as a sentence without its stop.
    pub fn words(self) -> String {
        match self {
            Reach::InFlight(step) => format!("a COMMIT was on its way at step {}", step + 1),
            Reach::AcknowledgedBefore(step, least) => {
                format!(
                    "at least {least} commits were acknowledged before step {}",
                    step + 1
                )
            }
            Reach::FellBack => "it went on alone".to_owned(),
            Reach::Behind => "who took over had received or executed less than another".to_owned(),
            Reach::BothWrote => "both sides of the cut took writes".to_owned(),
        }
    }
}

impl Control {
    /// What it must come to, as a sentence without its stop.
    pub fn words(self) -> String {
        match self {
            Control::Nothing => "nothing is wrong".to_owned(),
            Control::LosesUndelivered => {
                "it loses what its links had not delivered, and nothing else".to_owned()
            }
            Control::Loses(share) => {
                let share = units::show_percent(share);
                format!("it loses commits in at least {share} of its trials")
            }
        }
    }
}

impl Step {
    /// `after 200 ms to 1.5 s, power cut: writer, drop-all`
    pub fn words(&self) -> String {
        format!("{}, {}", self.when.words(), self.deed.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::faults::Leaves;

    #[test]
    fn every_target_has_a_name_that_is_read_again() {
        let numbered = [Target::Replica(2), Target::First(3)];
        let plain = TARGETS.map(|(_, target)| target);
        for target in plain.into_iter().chain(numbered) {
            assert_eq!(Target::named(&target.words()), Some(target));
        }
        for text in [
            "",
            "replica",
            "replica 0",
            "replica x",
            "first 0",
            "first",
            "-1",
        ] {
            assert_eq!(Target::named(text), None, "{text}");
        }
    }

    #[test]
    fn a_step_is_told_with_its_moment_and_all_of_its_deed() {
        let told = |when, deed| {
            let step = Step {
                when,
                limit: Duration::from_secs(1),
                deed,
            };
            step.words()
        };
        let span = |min, max| {
            let [min, max] = [min, max].map(Duration::from_millis);
            When::After { min, max }
        };
        let links = Between {
            from: Target::Writer,
            to: None,
            way: Way::Back,
            with_clients: true,
        };
        let promotion = Promotion {
            choose: Choose::First,
            is_fenced: false,
            is_given_others: true,
        };
        let cut = Deed::PowerCut(Target::Writer, Leaves::Nothing);
        assert_eq!(
            told(span(200, 1_500), cut),
            "after 200 ms to 1.5 s, power cut: writer, drop-all"
        );
        assert_eq!(
            told(
                When::Commits(7),
                Deed::SlowLinks(links, Duration::from_millis(5))
            ),
            "after 7 acknowledged commits, slow links: writer to all others, back, clients too, \
             5 ms more each way"
        );
        assert_eq!(
            told(span(0, 0), Deed::Promote(promotion)),
            "at once, promote: first, not fenced, given what others received"
        );
        assert_eq!(
            told(When::Behind(Target::Replica(1), 5), Deed::HealLinks),
            "when replica 1 is 5 transactions behind, heal links"
        );
    }
}
