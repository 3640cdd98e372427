//! Campaigns: faults injected into running servers while real clients are at work.
//!
//! ```text
//! images of the lab put back ── servers formed, the mode entered ── clients and readers at work
//!     ^                                                                          │
//!     │                    step by step: its moment waited for, its deed done, and seen to bite
//!     │                                                                          │
//!     └── what serves is read back, and other nodes beside it <── clients stop ──┘
//! ```
//!
//! A single server that came out of a trial sound goes on to the next without images.
//!
//! - `subject`: the servers of a mode; `restore`: as each trial finds them
//! - `trial`: one trial, from its clients' start to what is read back (`read_back`)
//! - `stage`: what is known in a trial; `standing`: who is who; `roles`: the same, as far as no
//!   server is needed for it; `power`: who has power, and what links are like (`wires`)
//! - `schedule`: what is drawn, and moments waited for; `events`: how they are looked for
//! - `deeds`: what a step does, and how that is seen
//! - `crowd`: clients and readers, who stand where `posts` says; `front`: the proxy that finds the
//!   writer for them; `alone`: who goes on alone
//!
//! Whatever a step cannot do, or what cannot be read, leaves its trial undecided, in the words of
//! whoever could not. A lab that does not come back ends the campaign: its trials are kept.

mod alone;
mod crowd;
mod deeds;
mod events;
mod front;
mod posts;
mod power;
mod read_back;
mod restore;
mod roles;
mod schedule;
mod stage;
mod standing;
mod subject;
mod trial;
mod wires;

use super::events::{CampaignStep, Step};
use super::rig::Rig;
use crate::error::Result;
use crate::plan::{PartOf, own_numbers};
use crate::record::trials::Campaign;
use crate::study::Study;
use crate::study::faults::{Control, Fault};
use schedule::Seeds;
use subject::Subject;

/// A fault, and how often it is to be injected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asked<'f> {
    pub fault: &'f Fault,
    pub trials: u32,
}

impl<'f> Asked<'f> {
    /// All that a study asks of one of its modes.
    pub fn of(study: &'f Study, mode: usize) -> Vec<Asked<'f>> {
        let label = &study.modes[mode].label;
        let here = study.injections.iter();
        let here = here.filter(|injection| injection.modes.contains(label));
        let asked = here.map(|injection| Asked {
            fault: &injection.fault,
            trials: injection.trials,
        });
        asked.collect()
    }

    /// How many of its trials there are already. A trial that is undecided is one, too.
    pub fn kept(&self, kept: &[Campaign]) -> u32 {
        let same = kept.iter().filter(|one| one.fault == *self.fault);
        let trials: usize = same.map(|one| one.trials.len()).sum();
        u32::try_from(trials).unwrap_or(u32::MAX)
    }
}

/// What is to be done in a mode.
#[derive(Debug, Clone, Copy)]
pub struct Work<'w> {
    /// Index of the mode in its study.
    pub mode: usize,
    pub asked: &'w [Asked<'w>],
    /// Whose trials alone are run.
    pub part: Option<PartOf>,
    /// Trials of the mode that are in the record already.
    pub kept: &'w [Campaign],
}

impl Work<'_> {
    /// Numbers of the trials of a fault that are still to be run.
    fn left(&self, asked: &Asked<'_>) -> Vec<u32> {
        let own = own_numbers(self.part, asked.trials);
        own.skip(asked.kept(self.kept) as usize).collect()
    }
}

/// Injects faults into the running lab of a mode: all trials that are asked, or those of a part,
/// less those that were kept before. Each trial is told of as it ends, before anything else is
/// begun.
///
/// The lab's nodes must stand on emulated disks. Afterwards its servers run again as they were
/// before, if another mode of the study comes to them.
///
/// # Errors
/// A breakdown if the lab does not come back between trials; [`crate::error::Error::Interrupted`]
/// if the user asked to stop; what `tell` returns.
pub fn run_all(
    study: &Study,
    rig: &mut Rig,
    work: Work<'_>,
    tell: &mut dyn FnMut(CampaignStep<'_>) -> Result<()>,
) -> Result<()> {
    let left: Vec<Vec<u32>> = work.asked.iter().map(|asked| work.left(asked)).collect();
    if left.iter().all(Vec::is_empty) {
        return Ok(());
    }
    let mut subject = Subject::enter(study, rig, work.mode)?;
    for (asked, left) in work.asked.iter().zip(left) {
        let mut seeds = Seeds::new(study.seed, work.mode, &asked.fault.name);
        // Each trial has its own seed, whoever runs those before it.
        let seeds: Vec<u64> = (1..=asked.trials).map(|_| seeds.draw()).collect();
        for number in left {
            tell(CampaignStep::Begun(Step::Fault {
                label: subject.spec.label.clone(),
                fault: asked.fault.name.clone(),
                number,
                of: asked.trials,
            }))?;
            let seed = seeds[number as usize - 1];
            let one = one(&mut subject, asked.fault, seed)?;
            tell(CampaignStep::Ended { number, one: &one })?;
        }
    }
    subject.leave()
}

/// A campaign of one trial, in a lab that was made ready.
fn one(subject: &mut Subject<'_>, fault: &Fault, seed: u64) -> Result<Campaign> {
    subject.make_ready(fault.control == Some(Control::LosesUndelivered))?;
    Ok(Campaign {
        durability: subject.durability,
        fault: fault.clone(),
        trials: vec![trial::run(subject, fault, seed)?],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::trials::Trial;
    use crate::study::ModeSpec;
    use crate::study::fault::Durability;
    use crate::study::faults::{Finding, Injection};

    fn fault(name: &str, finding: Finding) -> Fault {
        Fault {
            name: name.to_owned(),
            finding,
            ..Fault::default()
        }
    }

    #[test]
    fn trials_are_counted_by_their_fault() {
        let (one, two) = (fault("one", Finding::Asking), fault("two", Finding::Asking));
        let kept = |fault: &Fault, trials: usize| Campaign {
            durability: Durability::STRICT,
            fault: fault.clone(),
            trials: vec![Trial::default(); trials],
        };
        let all = [kept(&one, 1), kept(&two, 3), kept(&one, 1)];
        let asked = |fault| Asked { fault, trials: 5 };
        assert_eq!(asked(&one).kept(&all), 2);
        assert_eq!(asked(&two).kept(&all), 3);
        // The same name and another schedule: that is another fault.
        let other = fault("one", Finding::List);
        assert_eq!(asked(&other).kept(&all), 0);
    }

    #[test]
    fn a_part_goes_on_with_its_own_trials() {
        let one = fault("one", Finding::Asking);
        let asked = Asked {
            fault: &one,
            trials: 8,
        };
        let kept = |trials: usize| {
            vec![Campaign {
                durability: Durability::STRICT,
                fault: one.clone(),
                trials: vec![Trial::default(); trials],
            }]
        };
        let left = |part: Option<&str>, there| {
            let work = Work {
                mode: 0,
                asked: &[asked],
                part: part.map(|part| part.parse().expect("a part")),
                kept: &kept(there),
            };
            work.left(&asked)
        };
        assert_eq!(left(None, 6), [7, 8]);
        assert_eq!(left(Some("2/3"), 0), [2, 5, 8]);
        assert_eq!(left(Some("2/3"), 2), [8]);
        assert_eq!(left(Some("3/3"), 2), [0; 0]);
    }

    #[test]
    fn a_mode_is_asked_what_names_it() {
        let mode = |label: &str| ModeSpec {
            label: label.to_owned(),
            ..ModeSpec::default()
        };
        let injection = |name: &str, modes: &[&str]| Injection {
            fault: fault(name, Finding::Asking),
            trials: 4,
            modes: modes.iter().map(|label| (*label).to_owned()).collect(),
        };
        let study = Study {
            modes: vec![mode("a"), mode("b")],
            injections: vec![injection("one", &["a", "b"]), injection("two", &["b"])],
            ..Study::default()
        };
        let names = |index: usize| -> Vec<String> {
            let asked = Asked::of(&study, index);
            asked.iter().map(|one| one.fault.name.clone()).collect()
        };
        assert_eq!((names(0), names(1).len()), (vec!["one".to_owned()], 2));
        assert_eq!(Asked::of(&study, 1)[1].trials, 4);
    }
}
