//! A trial: servers under load, ended again and again, each time started anew and read back.
//!
//! ```text
//! ledger at work ── a moment drawn by seed ── [links cut · disks frozen] · SIGKILL · [power cut]
//!     ^                                                                          │
//!     └── table and binary log read back <── InnoDB and binary log recover <── start
//! ```

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::cluster_loss;
use super::events::{Event, Events, Step};
use super::rig::Rig;
use super::site_loss::{self, Seat};
use super::source_loss;
use crate::error::{Error, Result, Tried, breakdown};
use crate::lab::Lab;
use crate::lab::disk::Volume;
use crate::lab::node::{Node, pause};
use crate::lab::servers::datadir::DATABASE;
use crate::lab::servers::{Cache, Catalogue};
use crate::load::ledger::{self, Ledger, Outcomes};
use crate::observe::binary_log;
use crate::plan;
use crate::record::trial::{Cut, Series};
use crate::study::fault::{Durability, Fault};
use crate::study::{Distances, Mode, ModeSpec, Study};

/// Clients of the ledger: enough for commits to go in groups.
const SESSIONS: u32 = 8;
/// A load lasts so long at least, and so long at most, before the server is ended. InnoDB flushes
/// a redo log that nobody else flushes once a second: ends must fall before and after that.
const LOAD_MIN: Duration = Duration::from_millis(200);
const LOAD_MAX: Duration = Duration::from_millis(1_500);
/// A first commit takes no longer.
const FIRST_LIMIT: Duration = Duration::from_secs(30);
/// From entering a mode until its server is ended for the first time.
pub(super) const SETTLING: Duration = Duration::from_millis(300);
const STEP: Duration = Duration::from_millis(1);

/// What is to be tried.
pub struct Trial {
    /// One mode for each pair of settings, each of servers on emulated disks.
    pub study: Study,
    /// What the modes are set to, in their order.
    pub durabilities: Vec<Durability>,
    pub faults: Vec<Fault>,
    /// Ends of each server by each fault.
    pub cuts: u32,
}

/// Runs a trial inside the sandbox. Whatever happens later, what is finished is in `found`.
///
/// # Errors
/// A breakdown of the lab; [`Error::Interrupted`] if the user asked to stop.
pub fn run(
    trial: &Trial,
    cache: &Cache,
    run_folder: &Path,
    found: &mut Vec<Series>,
    events: &dyn Events,
) -> Result<()> {
    let of_server = trial.faults.iter().flat_map(|fault| {
        let once = plan::cut_time(*fault);
        std::iter::repeat_n(once, trial.cuts as usize)
    });
    let of_server: Vec<Duration> = of_server.collect();
    let steps = of_server.repeat(trial.durabilities.len());
    let catalogue = Catalogue::builtin();
    let mut rig = Rig::build(&trial.study, &catalogue, cache, run_folder, events)?;
    events.tell(Event::StepsAdded(steps));
    let distances = &trial.study.sweeps[0].distances[0];
    rig.network.set_distances(distances)?;
    let mut random = ChaCha8Rng::seed_from_u64(trial.study.seed);
    for (mode, durability) in trial.durabilities.iter().enumerate() {
        let mut scene = Scene {
            rig: &mut rig,
            mode,
            spec: &trial.study.modes[mode],
            distances,
            cache,
        };
        scene.rig.enter(mode, scene.spec, distances, SETTLING)?;
        let mut state = State::default();
        begin(&mut scene, &mut state)?;
        for fault in &trial.faults {
            found.push(Series {
                durability: *durability,
                fault: *fault,
                cuts: vec![],
            });
            for number in 1..=trial.cuts {
                let label = durability.label();
                events.tell(begun(label, *fault, number, trial.cuts));
                let moment = Moment::draw(&mut random);
                let cut = end_once(&mut scene, *fault, &moment, &mut state)?;
                found.last_mut().expect("pushed above").cuts.push(cut);
                events.tell(Event::StepEnded);
            }
        }
    }
    events.tell(Event::Finished);
    Ok(())
}

/// The power cuts of a study, on its running labs: those of one mode by one fault.
pub(super) fn in_study(
    study: &Study,
    (rig, cache): (&mut Rig, &Cache),
    (mode, fault): (usize, Fault),
    events: &dyn Events,
) -> Result<Series> {
    let spec = &study.modes[mode];
    let distances = &study.sweeps[0].distances[0];
    rig.enter(mode, spec, distances, SETTLING)?;
    if let Some(disks) = study.sweeps[0].disks.first() {
        rig.lab(mode).set_disks(disks)?;
    }
    let mut scene = Scene {
        rig,
        mode,
        spec,
        distances,
        cache,
    };
    let mut state = State::default();
    let durability = durability_of(scene.writer(&state.seat))?;
    begin(&mut scene, &mut state)?;
    let mut random = ChaCha8Rng::seed_from_u64(study.seed);
    let mut series = Series {
        durability,
        fault,
        cuts: vec![],
    };
    for number in 1..=study.power_cuts {
        let label = spec.label.clone();
        events.tell(begun(label, fault, number, study.power_cuts));
        let cut = end_once(&mut scene, fault, &Moment::draw(&mut random), &mut state)?;
        series.cuts.push(cut);
        events.tell(Event::StepEnded);
    }
    Ok(series)
}

fn begun(label: String, fault: Fault, number: u32, of: u32) -> Event {
    let fault = fault.label().to_owned();
    Event::StepBegun(Step::Fault {
        label,
        fault,
        number,
        of,
    })
}

/// Whether rows stand in its binary log as [`binary_log`] reads them.
fn is_logged(node: &mut Node) -> Result<bool> {
    let sql = "SELECT @@GLOBAL.log_bin = 1 AND @@GLOBAL.binlog_format = 'ROW'";
    Ok(node.value(sql)?.as_deref() == Some("1"))
}

/// As the server says that it is set.
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

/// Where one mode is tried.
pub(super) struct Scene<'a> {
    pub rig: &'a mut Rig,
    pub mode: usize,
    pub spec: &'a ModeSpec,
    pub distances: &'a Distances,
    pub cache: &'a Cache,
}

impl Scene<'_> {
    pub fn lab(&mut self) -> &mut Lab {
        self.rig.lab(self.mode)
    }

    /// The node whose server takes the load.
    fn writer(&mut self, seat: &Seat) -> &mut Node {
        &mut self.lab().nodes[seat.writer]
    }
}

/// When a server is ended, and what its disk draws then.
struct Moment {
    load: Duration,
    seed: u64,
}

impl Moment {
    fn draw(random: &mut ChaCha8Rng) -> Moment {
        Moment {
            load: random.random_range(LOAD_MIN..LOAD_MAX),
            seed: random.random(),
        }
    }
}

/// What one server holds, as last read back.
struct State {
    table: BTreeSet<u64>,
    log: BTreeSet<u64>,
    /// Whether its binary log holds whole rows that can be read from its files.
    is_logged: bool,
    /// The next number that no transaction has had.
    next: u64,
    seat: Seat,
}

impl Default for State {
    fn default() -> State {
        State {
            table: BTreeSet::new(),
            log: BTreeSet::new(),
            is_logged: false,
            next: 1,
            seat: Seat::default(),
        }
    }
}

/// An empty ledger, on the disks for good: what is tried is its rows.
fn begin(scene: &mut Scene, state: &mut State) -> Result<()> {
    let is_cluster = scene.spec.mode == Mode::Galera;
    let node = scene.writer(&state.seat);
    node.run(&format!(
        "DROP TABLE IF EXISTS {DATABASE}.{}",
        ledger::TABLE
    ))?;
    node.run(&ledger::create_table())?;
    // Of a cluster only the table is looked at: another node's binary log goes on from its own.
    state.is_logged = !is_cluster && is_logged(node)?;
    if state.is_logged {
        state.log = binary_log::numbers(&node.data(), ledger::TABLE)?;
    }
    match is_cluster {
        true => settle_all(scene),
        false => settle(scene.writer(&state.seat)),
    }
}

/// Each node of a cluster has the ledger, and may lose its power.
fn settle_all(scene: &mut Scene) -> Result<()> {
    let spec = scene.spec;
    scene.lab().enter(spec)?;
    scene.lab().nodes.iter_mut().try_for_each(settle)
}

/// Makes durable what a server and its disk hold.
fn settle(node: &mut Node) -> Result<()> {
    node.run("FLUSH LOGS")?;
    let volume = volume_of(node)?;
    let tried = || format!("flush {}", volume.mount_point().display());
    let folder = File::open(volume.mount_point()).tried(tried)?;
    nix::unistd::syncfs(&folder).tried(tried)
}

fn volume_of(node: &Node) -> Result<&Volume> {
    let none = || breakdown(format!("try {}", node.name()), "it has no emulated disk");
    node.volume.as_ref().ok_or_else(none)
}

/// One load, one end, one recovery.
fn end_once(scene: &mut Scene, fault: Fault, moment: &Moment, state: &mut State) -> Result<Cut> {
    let ledger = Ledger::start(&scene.writer(&state.seat).socket(), SESSIONS, state.next)?;
    let ended = work_and_end(scene, fault, moment, &state.seat, &ledger);
    let outcomes = ledger.stop();
    let dropped_writes = ended?;
    state.next = next_after(&outcomes, state.next);
    let start = Instant::now();
    if let Fault::SourceLoss { .. } = fault {
        let present = source_loss::successor(scene)?;
        let recovery = start.elapsed();
        source_loss::begin_anew(scene)?;
        begin(scene, state)?;
        return Ok(Cut {
            outcomes,
            present,
            dropped_writes,
            recovery,
            ..Cut::default()
        });
    }
    if let Fault::NodeLoss { .. } | Fault::ClusterLoss { .. } = fault {
        let cut = outlive(scene, fault, state)?;
        return Ok(Cut {
            outcomes,
            dropped_writes,
            ..cut
        });
    }
    if let Fault::SiteLoss { is_covered, .. } = fault {
        site_loss::take_over(scene.lab(), &mut state.seat, !is_covered)?;
    }
    let restarted = scene.lab().restart(state.seat.writer);
    let recovery = start.elapsed();
    if matches!(fault, Fault::SiteLoss { .. }) {
        site_loss::come_back(scene, &state.seat)?;
    }
    if let Err(error) = restarted {
        return begin_anew(scene, error, outcomes, state);
    }
    let node = scene.writer(&state.seat);
    let table = numbers_in_table(node)?;
    let log = match state.is_logged {
        true => Some(binary_log::numbers(&node.data(), ledger::TABLE)?),
        false => None,
    };
    let cut = Cut {
        outcomes,
        present: &table - &state.table,
        logged: log.as_ref().map(|log| log - &state.log),
        vanished: &state.table - &table,
        no_start: None,
        dropped_writes,
        recovery,
    };
    (state.table, state.log) = (table, log.unwrap_or_default());
    Ok(cut)
}

/// What a cluster holds after the loss of nodes, which then come back. That it does not go on is a
/// finding: it is formed anew.
fn outlive(scene: &mut Scene, fault: Fault, state: &mut State) -> Result<Cut> {
    let start = Instant::now();
    let found = cluster_loss::outlived(scene, fault);
    let recovery = start.elapsed();
    let cut = match found {
        Ok(present) => {
            match cluster_loss::come_back(scene) {
                // What was kept is known; the nodes get new data.
                Err(Error::Breakdown(_)) => source_loss::begin_anew(scene)?,
                other => other?,
            }
            Cut {
                present,
                recovery,
                ..Cut::default()
            }
        }
        Err(Error::Breakdown(refusal)) => {
            source_loss::begin_anew(scene)?;
            Cut {
                no_start: Some(refusal.to_string()),
                ..Cut::default()
            }
        }
        Err(error) => return Err(error),
    };
    begin(scene, state)?;
    Ok(cut)
}

/// A server that does not recover is a finding: it gets new data, and the trial goes on.
fn begin_anew(
    scene: &mut Scene,
    error: Error,
    outcomes: Outcomes,
    state: &mut State,
) -> Result<Cut> {
    let Error::Breakdown(refusal) = error else {
        return Err(error);
    };
    let cache = scene.cache;
    scene.lab().refill(state.seat.writer, cache)?;
    state.table.clear();
    state.log.clear();
    begin(scene, state)?;
    Ok(Cut {
        outcomes,
        no_start: Some(refusal.to_string()),
        ..Cut::default()
    })
}

/// Has the server work until its moment comes, and ends it; how many writes its disk has lost.
fn work_and_end(
    scene: &mut Scene,
    fault: Fault,
    moment: &Moment,
    seat: &Seat,
    ledger: &Ledger,
) -> Result<u64> {
    let node = scene.writer(seat);
    work(node, ledger, moment.load)?;
    match fault {
        Fault::Kill => {
            node.kill();
            Ok(0)
        }
        Fault::PowerCut(leaves) => {
            // From here on no answer can count: the server may still give some, from memory.
            ledger.go_deaf();
            volume_of(node)?.freeze()?;
            node.kill();
            let report = volume_of(node)?.cut_power(leaves.cut(moment.seed))?;
            Ok(report.dropped.writes)
        }
        Fault::SiteLoss { leaves, .. } | Fault::SourceLoss { leaves, .. } => {
            site_loss::lose(scene, seat, ledger, leaves.cut(moment.seed))
        }
        Fault::NodeLoss { leaves } => {
            cluster_loss::lose(scene, &[seat.writer], ledger, leaves.cut(moment.seed))
        }
        Fault::ClusterLoss { leaves } => {
            let all: Vec<usize> = scene.lab().servers().collect();
            cluster_loss::lose(scene, &all, ledger, leaves.cut(moment.seed))
        }
    }
}

/// From the first acknowledged transaction on.
fn work(node: &mut Node, ledger: &Ledger, length: Duration) -> Result<()> {
    node.wait_until("a first row is in the ledger", FIRST_LIMIT, |node| {
        node.check_alive("work")?;
        Ok(ledger.acknowledged() > 0)
    })?;
    let start = Instant::now();
    while start.elapsed() < length {
        pause(STEP)?;
    }
    node.check_alive("work")
}

fn next_after(outcomes: &Outcomes, next: u64) -> u64 {
    let Outcomes {
        acknowledged,
        refused,
        unanswered,
    } = outcomes;
    let lasts = [acknowledged, refused, unanswered].map(|numbers| numbers.last().copied());
    let last = lasts.into_iter().flatten().max();
    last.map_or(next, |last| last + 1)
}

/// What the ledger holds.
pub(super) fn numbers_in_table(node: &mut Node) -> Result<BTreeSet<u64>> {
    let sql = format!("SELECT id FROM {DATABASE}.{}", ledger::TABLE);
    let rows = node.rows(&sql)?;
    let texts = rows.iter().flat_map(|row| row.values());
    let numbers = texts.map(|text| text.parse().tried(|| format!("read {text} of the ledger")));
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_used_twice() {
        let outcomes = Outcomes {
            acknowledged: [3, 4].into(),
            refused: [6].into(),
            unanswered: [5].into(),
        };
        assert_eq!(next_after(&outcomes, 3), 7);
        assert_eq!(next_after(&Outcomes::default(), 3), 3);
    }

    #[test]
    fn moments_follow_the_seed() {
        let draw = |seed| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            [(); 20].map(|()| Moment::draw(&mut random))
        };
        let loads = |seed| draw(seed).map(|moment| moment.load);
        assert_eq!(loads(1), loads(1));
        assert_ne!(loads(1), loads(2));
        assert!(
            loads(1)
                .iter()
                .all(|load| (LOAD_MIN..LOAD_MAX).contains(load))
        );
        assert_ne!(draw(1)[0].seed, draw(1)[1].seed);
    }
}
