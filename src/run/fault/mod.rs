//! Faults: servers under load are ended on purpose, again and again, and what is left is read back.
//!
//! ```text
//! ledger at work ── a moment drawn by seed ── fault injected, and seen to bite
//!     ^                                                     │
//!     └── table and binary log read back <── who is left takes over, or recovers
//! ```
//!
//! - `schedule`: when; `inject`: what is done, and whether it befell what it was meant to
//! - `takeover`: who goes on, and what it holds; `subject`: the servers all this is done to

mod inject;
mod schedule;
mod subject;
mod takeover;

use super::events::{Step, TrialStep};
use super::rig::Rig;
use super::target::unix_ms;
use crate::error::{Breakdown, Error, Result};
use crate::lab::mode::galera;
use crate::lab::node::Node;
use crate::lab::recovery;
use crate::lab::servers::Cache;
use crate::load::ledger::{Ledger, Outcomes};
use crate::record::trial::{Series, Trial};
use crate::study::Study;
use crate::study::fault::{Fault, Moment, Scope};
use subject::{Subject, by_life};
use takeover::{Left, Next};

/// Clients of the ledger: enough for commits to go in groups.
const SESSIONS: u32 = 8;

/// Injects all faults of one mode of a study, so often each as it says, on running labs; trials
/// that were kept before are left out. Each is told of as it ends, before anything else is begun.
///
/// # Errors
/// A breakdown of the lab; [`Error::Interrupted`] if the user asked to stop; what `tell` returns.
pub fn run_all(
    study: &Study,
    (rig, cache): (&mut Rig, &Cache),
    (mode, kept): (usize, &[Series]),
    tell: &mut dyn FnMut(TrialStep) -> Result<()>,
) -> Result<()> {
    let spec = &study.modes[mode];
    for (place, fault) in (0..).zip(study.faults_of(spec)) {
        let kept = kept.iter().filter(|series| series.fault == fault);
        let kept = kept.map(|series| series.trials.len()).sum::<usize>() as u32;
        if kept >= study.power_cuts {
            continue;
        }
        let mut moments = schedule::Moments::new(study.seed, (mode, place), fault);
        for _ in 0..kept {
            moments.draw();
        }
        let mut subject = Subject::enter(study, (&mut *rig, cache), mode)?;
        for number in kept + 1..=study.power_cuts {
            tell(TrialStep::Begun(Step::Fault {
                label: spec.label.clone(),
                fault: fault.label().to_owned(),
                number,
                of: study.power_cuts,
            }))?;
            let (trial, next) = subject.inject(fault, moments.draw())?;
            let one = Series {
                durability: subject.durability,
                fault,
                trials: vec![trial],
            };
            tell(TrialStep::Ended { number, one: &one })?;
            subject.go_on(fault, next)?;
        }
    }
    Ok(())
}

impl Subject<'_> {
    /// One load, one fault, and what is left.
    fn inject(&mut self, fault: Fault, moment: Moment) -> Result<(Trial, Next)> {
        let started_unix_ms = unix_ms();
        let ledger = Ledger::start(&self.writer().socket(), SESSIONS, self.next)?;
        let injected = inject::inject(self, fault, &moment, &ledger);
        let outcomes = ledger.stop();
        let injected = injected?;
        self.next = next_after(&outcomes, self.next);
        let mut trial = Trial {
            moment: Some(moment),
            started_unix_ms,
            bite: Some(injected.bite),
            alone: injected.alone,
            outcomes,
            dropped_writes: injected.dropped_writes,
            ..Trial::default()
        };
        let next = match takeover::left(self, fault, injected.alone) {
            Ok(left) => self.take(left, &mut trial),
            Err(Error::Breakdown(breakdown)) => {
                match self.refusal(&breakdown) {
                    Some(words) => trial.refused = Some(words),
                    None => trial.unread = Some(breakdown.to_string()),
                }
                Next::NewData
            }
            Err(error) => return Err(error),
        };
        Ok((trial, next))
    }

    /// Notes what is there that was not there before.
    fn take(&mut self, left: Left, trial: &mut Trial) -> Next {
        trial.present = &left.table - &self.table;
        trial.vanished = &self.table - &left.table;
        trial.elsewhere = left.elsewhere;
        trial.recovery = left.recovery;
        match (&left.log, &self.log) {
            (Some(Ok(log)), Some(Ok(before))) => trial.logged = Some(log - before),
            (Some(Err(why)), _) | (_, Some(Err(why))) => trial.log_unread = Some((*why).to_owned()),
            _ => {}
        }
        (self.table, self.log) = (left.table, left.log);
        left.next
    }

    /// The words of a server that ended by itself for what it found in its data. Everything else
    /// that goes wrong is the lab's.
    fn refusal(&mut self, breakdown: &Breakdown) -> Option<String> {
        let lab = self.lab();
        let is_running = |node: &Node| node.pid().is_some();
        if lab.nodes.iter().any(is_running) {
            return lab.nodes.iter_mut().find_map(Node::refusal);
        }
        recovery::refusal(breakdown.log.iter().map(String::as_str))
    }

    /// Makes ready for the next trial. A breakdown here ends the series; what was found is kept.
    fn go_on(&mut self, fault: Fault, next: Next) -> Result<()> {
        self.rig.network.set_distances(self.distances)?;
        match next {
            Next::AsIs if fault.scope == Scope::Site => self.wait_whole(),
            Next::AsIs => Ok(()),
            Next::Rejoin => {
                let lab = self.lab();
                let lost = by_life(lab).1;
                match galera::join(lab, &lost) {
                    // What was kept is known; the nodes get new data.
                    Err(Error::Breakdown(_)) => self.form_anew()?,
                    other => other?,
                }
                self.begin()
            }
            Next::NewData => {
                self.form_anew()?;
                self.begin()
            }
        }
    }
}

fn next_after(outcomes: &Outcomes, next: u64) -> u64 {
    let last = outcomes.times.iter().map(|timed| timed.0).max();
    last.map_or(next, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::ledger::Timed;

    #[test]
    fn no_number_is_used_twice() {
        let outcomes = Outcomes {
            times: [3, 6, 5].map(|number| Timed(number, 0, None)).into(),
            ..Outcomes::default()
        };
        assert_eq!(next_after(&outcomes, 3), 7);
        assert_eq!(next_after(&Outcomes::default(), 3), 3);
    }
}
