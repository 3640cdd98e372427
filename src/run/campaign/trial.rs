//! One trial: clients at work, a fault, and what is left.

use std::time::Duration;

use super::deeds;
use super::read_back::read_back;
use super::schedule::{Drawn, Mark, View, wait_afterwards, wait_for, wait_for_reach, wait_until};
use super::stage::{Stage, byte};
use super::subject::Subject;
use crate::error::{Breakdown, Error, Result, breakdown};
use crate::lab::node::Node;
use crate::lab::recovery;
use crate::lab::sandbox::stop_asked;
use crate::record::history::Token;
use crate::record::trials::{Delivered, Done, Trial};
use crate::run::target::unix_ms;
use crate::study::faults::{Deed, Fault, Reach, Step};

/// A first commit takes no longer.
const FIRST_LIMIT: Duration = Duration::from_secs(60);

/// Injects a fault into a lab that has been made ready. What the lab could not do, or an event that
/// never came, leaves the trial undecided, with what was done and seen until then.
///
/// # Errors
/// [`Error::Interrupted`] if the user asked to stop.
pub fn run(subject: &mut Subject<'_>, fault: &Fault, seed: u64) -> Result<Trial> {
    let mut trial = Trial {
        seed,
        started_unix_ms: unix_ms(),
        ..Trial::default()
    };
    let drawn = Drawn::of(fault, seed);
    let mut harmed = Harmed::default();
    let mut is_running_on = false;
    let told = Stage::open(subject, fault, (seed, drawn.clients)).and_then(|mut stage| {
        let played = play(&mut stage, (fault, &drawn), &mut trial);
        let told = end(&mut stage, played, &mut trial);
        harmed.note(&stage);
        is_running_on = told.is_ok() && stage.is_running_on();
        told
    });
    if stop_asked() {
        // A scheduler that asks sends SIGTERM to all processes, servers too: that is no fault.
        return Err(Error::Interrupted);
    }
    match told {
        Err(Error::Breakdown(told)) => match harmed.refusal(subject, &told) {
            Some(words) => trial.refused = Some(words),
            None => trial.undecided = Some(told.to_string()),
        },
        told => told?,
    }
    subject.is_running_on = is_running_on && is_left_sound(&trial);
    Ok(trial)
}

/// Whether the only server was read, and found sound: what is wrong with it befalls no other trial.
fn is_left_sound(trial: &Trial) -> bool {
    let [held] = &trial.serving[..] else {
        return false;
    };
    let is_read = trial.undecided.is_none() && held.unread.is_none();
    let logged = |logged: &Delivered| {
        let mut held: Vec<Token> = held.rows.iter().map(|row| row.token).collect();
        let mut logged = logged.tokens.clone();
        held.sort_unstable();
        logged.sort_unstable();
        held == logged
    };
    is_read && held.tables_ok == Some(true) && trial.logged.as_ref().is_none_or(logged)
}

/// Has clients work until all steps are done, and a while longer.
fn play(
    stage: &mut Stage<'_, '_>,
    (fault, drawn): (&Fault, &Drawn),
    trial: &mut Trial,
) -> Result<()> {
    if !wait_until(stage, FIRST_LIMIT, |stage| stage.acknowledged() > 0)? {
        let status = format!("none was within {} s", FIRST_LIMIT.as_secs());
        return Err(breakdown("see a first commit acknowledged", status));
    }
    stage.look_alone()?;
    let mut mark = stage.mark();
    for (at, (step, drawn)) in fault.steps.iter().zip(&drawn.waits).enumerate() {
        if !wait_for(stage, (step.when, *drawn), step.limit, mark)? {
            trial.undecided = Some(never(at, step));
            return Ok(());
        }
        wait_for_reach(stage, (&fault.reach, step.when), at)?;
        stage.state.is_for_in_flight = fault.reach.contains(&Reach::InFlight(at));
        let (done, armed) = carry_out(stage, at, step.deed)?;
        trial.steps.push(done);
        mark = armed;
    }
    wait_afterwards(stage, fault, mark)?;
    trial.watched_us = Some(stage.crowd.now_us());
    Ok(())
}

fn never(at: usize, step: &Step) -> String {
    let seconds = step.limit.as_secs_f64();
    format!(
        "step {} was not reached: it is to be done {}, and that did not come within {seconds} s",
        at + 1,
        step.when.words()
    )
}

/// What was done, and the moment that the next step counts from.
fn carry_out(stage: &mut Stage<'_, '_>, at: usize, deed: Deed) -> Result<(Done, Mark)> {
    stage.state.step = at;
    stage.state.armed = None;
    stage.state.in_force_us = None;
    let begun_us = stage.crowd.now_us();
    let seen = deeds::perform(stage, deed)?;
    let armed = stage.state.armed.unwrap_or_else(|| stage.mark());
    let done = Done {
        step: at,
        begun_us,
        ended_us: armed.at_us,
        nodes: seen.nodes.into_iter().map(byte).collect(),
        bite: seen.bite,
        seen: seen.said,
        dropped_writes: 0,
        in_force_us: stage.state.in_force_us,
    };
    Ok((done, armed))
}

/// Ends the clients, notes what is known by then, and reads back what is there, if all steps were
/// done. Clients are ended at once if the user asked to stop.
fn end(stage: &mut Stage<'_, '_>, played: Result<()>, trial: &mut Trial) -> Result<()> {
    if played == Err(Error::Interrupted) {
        return played;
    }
    // However it went: what was cut tells whether it was.
    let seen = stage.see_all_cuts(&mut trial.steps);
    let told = played.and(seen).and_then(|()| stage.deliver());
    let told = told.and_then(|()| stage.look_alone());
    let told = told.and_then(|()| stage.check_alive());
    let stopped = stage.crowd.stop().map(|history| trial.history = history);
    let all: Vec<usize> = (0..stage.count()).collect();
    stage.free(&all);
    let settled = stage.settle(&all);
    note(stage, trial);
    told.and(stopped).and(settled)?;
    match trial.undecided {
        Some(_) => Ok(()),
        None => read_back(stage, trial),
    }
}

fn note(stage: &mut Stage<'_, '_>, trial: &mut Trial) {
    let state = &mut stage.state;
    for done in &mut trial.steps {
        let dropped = state.disks.dropped_writes.get(&done.step);
        done.dropped_writes = dropped.copied().unwrap_or(0);
    }
    trial.candidates = std::mem::take(&mut state.candidates);
    trial.delivered = state.delivered.take().unwrap_or_default();
    trial.alone_us = state.alone.went_us;
    trial.alone_known = state.alone.is_known;
    trial.company_us = match trial.alone_known {
        true => None,
        false => state.alone.in_company_us(),
    };
    trial.recovery = state.recovery;
}

/// Nodes whose disks were made to fail, or filled: what their servers say of them is our doing.
#[derive(Default)]
struct Harmed {
    nodes: Vec<usize>,
    /// Whose data are the database's while others run; nobody's where these serve without it.
    writer: Option<usize>,
}

impl Harmed {
    fn note(&mut self, stage: &Stage<'_, '_>) {
        let disks = &stage.state.disks;
        let all = disks.failed.iter().chain(disks.troubles.keys());
        self.nodes.extend(all);
        self.writer = (!stage.is_cluster()).then_some(stage.state.writer);
    }

    /// The words of a server that ended by itself for what it found in its data, if nobody serves
    /// in its place. Everything else that goes wrong is the lab's.
    fn refusal(&self, subject: &mut Subject<'_>, told: &Breakdown) -> Option<String> {
        let lab = subject.lab();
        // What servers say of a disk that is gone is not of their data.
        lab.check_volumes().ok()?;
        let is_running = |node: &Node| node.pid().is_some();
        if lab.nodes.iter().any(is_running) {
            let writer = self.writer.filter(|writer| !self.nodes.contains(writer))?;
            return lab.nodes[writer].refusal();
        }
        match self.nodes.is_empty() {
            true => recovery::refusal(told.log.iter().map(String::as_str)),
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::history::{Held, Row};
    use crate::study::faults::{Target, When};

    #[test]
    fn a_server_goes_on_to_the_next_trial_only_if_it_was_read_and_is_sound() {
        let row = |token| Row {
            token,
            from: 0,
            to: 1,
            amount: 5,
        };
        let log = |tokens: &[Token]| {
            Some(Delivered {
                tokens: tokens.to_vec(),
                ..Delivered::default()
            })
        };
        let sound = Trial {
            serving: vec![Held {
                rows: vec![row(7), row(3)],
                tables_ok: Some(true),
                ..Held::default()
            }],
            logged: log(&[3, 7]),
            ..Trial::default()
        };
        assert!(is_left_sound(&sound));
        let harms: [fn(&mut Trial); 6] = [
            |trial| trial.undecided = Some("an event never came".to_owned()),
            |trial| trial.serving.clear(),
            |trial| trial.serving[0].unread = Some("no connection".to_owned()),
            |trial| trial.serving[0].tables_ok = Some(false),
            |trial| trial.serving[0].tables_ok = None,
            |trial| trial.logged.as_mut().expect("a log").tokens.truncate(1),
        ];
        for harm in harms {
            let mut trial = sound.clone();
            harm(&mut trial);
            assert!(!is_left_sound(&trial), "{trial:?}");
        }
        let unlogged = Trial {
            logged: None,
            ..sound
        };
        assert!(is_left_sound(&unlogged), "it has no binary log");
    }

    #[test]
    fn an_event_that_never_came_is_told_with_its_limit() {
        let step = Step {
            when: When::Expelled(Target::Replica(1)),
            limit: Duration::from_secs(60),
            deed: Deed::HealLinks,
        };
        assert_eq!(
            never(1, &step),
            "step 2 was not reached: it is to be done when replica 1 has been put out, and that \
             did not come within 60 s"
        );
    }
}
