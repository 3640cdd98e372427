//! Faults: servers under load are ended on purpose, again and again, and what is left is read back.
//!
//! ```text
//! ledger at work ── a moment drawn by seed ── fault injected, and seen to bite
//!     ^                                                     │
//!     └── table and binary log read back <── who is left takes over, or recovers
//! ```
//!
//! - `schedule`: when; `inject`: what is done, and whether it befell what it was meant to
//! - `takeover`: who goes on, and what it holds

mod inject;
mod schedule;
mod takeover;

use std::collections::BTreeSet;
use std::fs::File;
use std::time::Duration;

use super::Rig;
use super::cell::unix_ms;
use crate::error::{Breakdown, Error, Result, Tried};
use crate::lab::Lab;
use crate::lab::disk::Remembered;
use crate::lab::mode::galera;
use crate::lab::node::Node;
use crate::lab::recovery;
use crate::lab::servers::Cache;
use crate::lab::servers::datadir::DATABASE;
use crate::load::ledger::{self, Ledger, Outcomes};
use crate::observe::binary_log::{self, Numbers};
use crate::record::trial::{Series, Trial};
use crate::study::fault::{Durability, Fault, Moment, Scope};
use crate::study::{Distances, Mode, ModeSpec, Study};
use takeover::Left;

/// Clients of the ledger: enough for commits to go in groups.
const SESSIONS: u32 = 8;
/// From entering a mode until its servers are under load.
const SETTLING: Duration = Duration::from_millis(300);

/// What is told of trials as they go on.
pub enum Told<'t> {
    /// A trial begins, `number` from 1 on.
    Begins {
        label: &'t str,
        fault: Fault,
        number: u32,
        of: u32,
    },
    /// It has ended: a series of it alone, to be kept at once.
    Ended { number: u32, one: &'t Series },
}

/// Injects all faults of one mode of a study, so often each as it says, on running labs. Each trial
/// is told of as it ends, before anything else is begun.
///
/// # Errors
/// A breakdown of the lab; [`Error::Interrupted`] if the user asked to stop; what `tell` returns.
pub fn run_all(
    study: &Study,
    (rig, cache): (&mut Rig, &Cache),
    mode: usize,
    tell: &mut dyn FnMut(Told) -> Result<()>,
) -> Result<()> {
    let spec = &study.modes[mode];
    for (place, fault) in (0..).zip(study.faults_of(spec)) {
        let mut moments = schedule::Moments::new(study.seed, (mode, place), fault);
        let mut subject = Subject::enter(study, (&mut *rig, cache), mode)?;
        for number in 1..=study.power_cuts {
            tell(Told::Begins {
                label: &spec.label,
                fault,
                number,
                of: study.power_cuts,
            })?;
            let (trial, next) = subject.inject(fault, moments.draw())?;
            let one = Series {
                durability: subject.durability,
                fault,
                trials: vec![trial],
            };
            tell(Told::Ended { number, one: &one })?;
            subject.go_on(fault, next)?;
        }
    }
    Ok(())
}

/// The servers of one mode, and what they are known to hold.
struct Subject<'a> {
    rig: &'a mut Rig,
    mode: usize,
    spec: &'a ModeSpec,
    distances: &'a Distances,
    cache: &'a Cache,
    /// As the server says that it is set.
    durability: Durability,
    /// Index of the node that takes the load.
    writer: usize,
    /// What a mirror's copies cannot know by themselves.
    remembered: Remembered,
    /// As last read back.
    table: BTreeSet<u64>,
    log: Option<Numbers>,
    /// The next number that no transaction has had.
    next: u64,
}

/// What a trial leaves to be done before the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The server goes on with what it has.
    AsIs,
    /// Lost nodes join again, and take over what the others have.
    Rejoin,
    /// All begin anew: what was replaced may hold what nobody else has.
    NewData,
}

impl<'a> Subject<'a> {
    fn enter(
        study: &'a Study,
        (rig, cache): (&'a mut Rig, &'a Cache),
        mode: usize,
    ) -> Result<Subject<'a>> {
        let spec = &study.modes[mode];
        let distances = &study.sweeps[0].distances[0];
        rig.enter(mode, spec, distances, SETTLING)?;
        if let Some(disks) = study.sweeps[0].disks.first() {
            rig.lab(mode).set_disks(disks)?;
        }
        let durability = durability_of(&mut rig.lab(mode).nodes[0])?;
        let mut subject = Subject {
            rig,
            mode,
            spec,
            distances,
            cache,
            durability,
            writer: 0,
            remembered: Remembered::default(),
            table: BTreeSet::new(),
            log: None,
            next: 1,
        };
        subject.begin()?;
        Ok(subject)
    }

    fn lab(&mut self) -> &mut Lab {
        self.rig.lab(self.mode)
    }

    /// The node whose server takes the load.
    fn writer(&mut self) -> &mut Node {
        let writer = self.writer;
        &mut self.lab().nodes[writer]
    }

    /// An empty ledger, on the disks for good: what is tried is its rows.
    fn begin(&mut self) -> Result<()> {
        let drop = format!("DROP TABLE IF EXISTS {DATABASE}.{}", ledger::TABLE);
        self.writer().run(&drop)?;
        self.writer().run(&ledger::create_table())?;
        self.table.clear();
        self.log = self.read_log()?;
        if self.spec.mode == Mode::Galera {
            // Each node has the ledger, and may lose its power.
            let spec = self.spec;
            self.lab().enter(spec)?;
            return self.lab().nodes.iter_mut().try_for_each(settle);
        }
        settle(self.writer())
    }

    /// What the writer's binary log holds, if it has one of whole rows. Where another server takes
    /// over only the table is looked at: its own binary log goes on from its own.
    fn read_log(&mut self) -> Result<Option<Numbers>> {
        let is_alone = self.spec.mode.has_one_server();
        let node = self.writer();
        if !is_alone || !is_logged(node)? {
            return Ok(None);
        }
        binary_log::numbers(&node.data(), ledger::TABLE).map(Some)
    }

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

    /// The copies of the lost site are caught up, and count again.
    fn wait_whole(&mut self) -> Result<()> {
        let writer = self.writer;
        let lab = self.lab();
        lab.volume(writer)?
            .wait_whole(lab.nodes.len(), takeover::LIMIT)
    }

    fn form_anew(&mut self) -> Result<()> {
        let (writer, cache) = (self.writer, self.cache);
        if self.spec.mode.has_one_server() {
            return self.lab().refill(writer, cache);
        }
        self.lab().form_anew(cache)?;
        let (mode, spec, distances) = (self.mode, self.spec, self.distances);
        self.rig.enter(mode, spec, distances, SETTLING)
    }

    /// Indices of the nodes that a fault befalls.
    fn inside(&mut self, scope: Scope) -> Vec<usize> {
        let writer = self.writer;
        let lab = self.lab();
        let site = lab.nodes[writer].site().to_owned();
        let is_inside = |i: &usize| match scope {
            Scope::Node => *i == writer,
            Scope::Site => lab.nodes[*i].site() == site,
            Scope::All => true,
        };
        (0..lab.nodes.len()).filter(is_inside).collect()
    }
}

/// Makes durable what a server and its disk hold.
fn settle(node: &mut Node) -> Result<()> {
    node.run("FLUSH LOGS")?;
    let data = node.data();
    let tried = || format!("flush {}", data.display());
    let folder = File::open(&data).tried(tried)?;
    nix::unistd::syncfs(&folder).tried(tried)
}

/// Whether rows stand in its binary log as [`binary_log`] reads them.
fn is_logged(node: &mut Node) -> Result<bool> {
    let sql = "SELECT @@GLOBAL.log_bin = 1 AND @@GLOBAL.binlog_format = 'ROW'";
    Ok(node.value(sql)?.as_deref() == Some("1"))
}

fn durability_of(node: &mut Node) -> Result<Durability> {
    let mut variable = |name: &str| {
        let sql = format!("SELECT @@GLOBAL.{name}");
        let value = node.value(&sql)?.unwrap_or_default();
        value.parse::<u32>().tried(|| format!("read {name}"))
    };
    Ok(Durability {
        flush_log: variable("innodb_flush_log_at_trx_commit")?,
        sync_binlog: variable("sync_binlog")?,
    })
}

/// Indices of the nodes whose servers run, and of the others.
fn by_life(lab: &Lab) -> (Vec<usize>, Vec<usize>) {
    (0..lab.nodes.len()).partition(|&i| lab.nodes[i].pid().is_some())
}

/// What the ledger holds.
fn numbers_in_table(node: &mut Node) -> Result<BTreeSet<u64>> {
    let sql = format!("SELECT id FROM {DATABASE}.{}", ledger::TABLE);
    let rows = node.rows(&sql)?;
    let texts = rows.iter().flat_map(|row| row.values());
    let numbers = texts.map(|text| text.parse().tried(|| format!("read {text} of the ledger")));
    numbers.collect()
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
