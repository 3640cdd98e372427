//! How long trials of faults take. Rounded, as all that is foreseen.

use std::time::Duration;

use super::part_of::{PartOf, own_numbers};
use crate::study::faults::{Deed, Fault, Step, When};
use crate::study::mode::Family;
use crate::study::{Mode, ModeSpec, Study};

/// Entering a mode, making the ledger's tables, keeping what all disks hold: once for each mode.
const ENTERING: Duration = Duration::from_secs(6);
/// Putting images back and starting the first server, and what each further one adds,
const RESTORING: Duration = Duration::from_millis(1_200);
const SERVER_STARTING: Duration = Duration::from_millis(400);
/// and what it takes a group or a cluster to come together.
const JOINING: Duration = Duration::from_secs(6);
/// Starting clients and readers, stopping them, and reading back what is there.
const CLIENTS: Duration = Duration::from_millis(1_000);
/// Commits in a second, and transactions that those bring behind that apply nothing.
const COMMITS_PER_S: f64 = 1_000.0;
/// From a member's silence until it has been put out of a group, or of a cluster.
const EXPELLING_OF_GROUP: Duration = Duration::from_secs(20);
const EXPELLING_OF_GALERA: Duration = Duration::from_secs(8);
/// Until a state transfer is seen.
const TRANSFER: Duration = Duration::from_secs(5);
/// A restart, or a promotion.
const RESTARTING: Duration = Duration::from_secs(1);
/// From a list of members that is forced until it is a group.
const FORCING: Duration = Duration::from_secs(45);
/// From what goes by itself until somebody is served again.
const SERVING: Duration = Duration::from_secs(3);

/// How long each trial of a study's faults will take, or of a part of them, in their order: mode by
/// mode, and in each fault by fault.
pub fn injected(study: &Study, part: Option<PartOf>) -> Vec<Duration> {
    let modes = study.modes.iter();
    modes.flat_map(|spec| of_mode(study, part, spec)).collect()
}

fn of_mode(study: &Study, part: Option<PartOf>, spec: &ModeSpec) -> Vec<Duration> {
    let trials = trials_in(study, part, spec);
    let mut trials: Vec<Duration> = trials.map(|(fault, _)| trial_time(fault, spec)).collect();
    if let Some(first) = trials.first_mut() {
        *first += ENTERING;
    }
    trials
}

/// Trials of a study's faults in a mode, or those of a part: fault by fault, each by its number.
pub fn trials_in<'s>(
    study: &'s Study,
    part: Option<PartOf>,
    spec: &'s ModeSpec,
) -> impl Iterator<Item = (&'s Fault, u32)> {
    let here = study.injections.iter();
    let here = here.filter(|injection| injection.modes.contains(&spec.label));
    here.flat_map(move |injection| {
        own_numbers(part, injection.trials).map(move |number| (&injection.fault, number))
    })
}

/// From what the trial before has left to what is read back.
fn trial_time(fault: &Fault, spec: &ModeSpec) -> Duration {
    let steps = fault.steps.iter().map(|step| step_time(step, spec));
    restoring(spec) + CLIENTS + steps.sum::<Duration>() + afterwards(fault, spec)
}

/// Only members that agree must first expel who is gone.
fn afterwards(fault: &Fault, spec: &ModeSpec) -> Duration {
    let served = fault.served_for.map(|span| expelling(spec) + span);
    served.map_or(fault.afterwards, |span| span.min(fault.afterwards))
}

fn expelling(spec: &ModeSpec) -> Duration {
    match spec.mode.family() {
        Family::Group => EXPELLING_OF_GROUP,
        Family::Galera => EXPELLING_OF_GALERA,
        _ => Duration::ZERO,
    }
}

fn restoring(spec: &ModeSpec) -> Duration {
    let servers = match spec.mode.has_one_server() {
        true => 1,
        false => spec.nodes,
    };
    let joining = match spec.mode.family() {
        Family::Group | Family::Galera => JOINING,
        _ => Duration::ZERO,
    };
    RESTORING + SERVER_STARTING * servers.saturating_sub(1) + joining
}

fn step_time(step: &Step, spec: &ModeSpec) -> Duration {
    waiting(step.when, spec).min(step.limit.max(longest(step.when))) + doing(&step.deed)
}

/// A time that was asked for has no limit.
fn longest(when: When) -> Duration {
    match when {
        When::After { max, .. } => max,
        _ => Duration::ZERO,
    }
}

fn waiting(when: When, spec: &ModeSpec) -> Duration {
    let commits = |count: u64| Duration::from_secs_f64(count as f64 / COMMITS_PER_S);
    match when {
        When::After { min, max } => (min + max) / 2,
        When::Commits(count) | When::Behind(_, count) => commits(count),
        When::Expelled(_) => expelling(spec),
        When::FellBack => alone_after(spec),
        When::Silent(span) => span,
        When::Served => SERVING,
        When::Transfer => TRANSFER,
    }
}

fn alone_after(spec: &ModeSpec) -> Duration {
    match spec.mode {
        Mode::Semisync { timeout, .. } | Mode::Mirror { timeout, .. } => timeout,
        _ => Duration::ZERO,
    }
}

fn doing(deed: &Deed) -> Duration {
    match deed {
        Deed::Restart(_) | Deed::Promote(_) => RESTARTING,
        Deed::ForceMembers(_) => FORCING,
        Deed::Bootstrap(_) | Deed::Rejoin(_) => SERVING + JOINING,
        _ => Duration::from_millis(200),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::written;

    const TEXT: &str = r#"
images = {}

[[mode]]
server = "mysql"
mode = "async"

[[mode]]
server = "mysql"
mode = "group"

[[sweep]]
workload = "update_index"
rtt = "1ms"

[[fault]]
name = "writer-killed"
modes = "mysql async"
trials = 3

[[fault]]
name = "no-fault"
trials = 2
"#;

    #[test]
    fn each_trial_is_foreseen_mode_by_mode() {
        let study = written::sample(TEXT);
        let times = injected(&study, None);
        assert_eq!(times.len(), 3 + 2 + 2);
        let [entering, killed, ..] = times[..] else {
            panic!("{times:?}");
        };
        assert_eq!(entering, killed + ENTERING);
        // A kill after 0.85 s, a promotion, and 3 s more.
        let least = Duration::from_secs(3) + RESTARTING + CLIENTS;
        assert!((least..least * 2).contains(&killed), "{killed:?}");
        let [.., in_async, in_group, last] = times[..] else {
            panic!("{times:?}");
        };
        assert!(
            in_group > in_async + ENTERING,
            "a group has to come together"
        );
        assert_eq!(in_group, last + ENTERING);
        assert!(injected(&Study::default(), None).is_empty());
        // Of three trials and two trials: the first of two parts has two and one.
        let part = |number| injected(&study, Some(PartOf { number, of: 2 })).len();
        assert_eq!([part(1), part(2)], [2 + 1 + 1, 1 + 1 + 1]);
    }

    #[test]
    fn only_members_that_agree_are_foreseen_to_expel_first() {
        let second = Duration::from_secs(1);
        let fault = Fault {
            afterwards: 60 * second,
            served_for: Some(2 * second),
            ..Fault::default()
        };
        let time = |mode| {
            let spec = ModeSpec {
                mode,
                ..ModeSpec::default()
            };
            afterwards(&fault, &spec)
        };
        assert_eq!(time(Mode::Async), 2 * second);
        assert_eq!(time(Mode::Galera), EXPELLING_OF_GALERA + 2 * second);
    }

    #[test]
    fn what_waits_for_an_event_waits_no_longer_than_its_limit() {
        let spec = ModeSpec {
            mode: Mode::Async,
            nodes: 3,
            ..ModeSpec::default()
        };
        let time = |when, limit_s| {
            let step = Step {
                when,
                limit: Duration::from_secs(limit_s),
                deed: Deed::HealLinks,
            };
            step_time(&step, &spec) - doing(&Deed::HealLinks)
        };
        assert_eq!(time(When::Commits(5_000), 30).as_secs(), 5);
        assert_eq!(time(When::Commits(5_000_000), 30).as_secs(), 30);
        let long = Duration::from_secs(60);
        let after = When::After {
            min: long,
            max: long,
        };
        assert_eq!(time(after, 30).as_secs(), 60, "it is no event");
    }
}
