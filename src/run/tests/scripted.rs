//! A target that follows a script, on a clock of its own, and listeners that keep what they hear.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::error::{Error, Result, breakdown};
use crate::load::{DriverSecond, Iterations, Snapshot};
use crate::plan::{Cell, PartOf, own_numbers};
use crate::record::trials::{self, Campaign};
use crate::record::{
    AppliedAlone, Flag, Header, Host, Iteration, Lag, Measurement, Second, ServerLog, histogram,
};
use crate::run::events::{CampaignStep, Event, Events, Step};
use crate::run::order::Order;
use crate::run::target::{Edge, Target};
use crate::run::window::{Accounts, NodeStatus, Reading};
use crate::study::fault::Durability;
use crate::study::faults;

/// Trials of the fault in each mode that is in an injection.
pub const TRIALS: u32 = 2;

/// What is to go wrong at a step, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trouble {
    CtrlC(usize),
    Breakdown(usize),
}

/// What is to happen, and what did.
#[derive(Default)]
pub struct Script {
    pub trouble: Option<Trouble>,
    /// At which step, counted from 0, a server dies: from then on no step is of use.
    pub dies_at: Option<usize>,
    /// Whether the links are late in each measurement, in their order; punctual after the last.
    pub late: Vec<bool>,
    /// The share of CPU time that is stolen in each, in their order; none after the last.
    pub stolen: Vec<f64>,
    /// The share that is stolen each time that is asked, in their order; none after the last.
    pub stolen_when_asked: Vec<f64>,
    /// Whether a driver is lost in each measurement, in their order; none after the last.
    pub lost: Vec<bool>,
    /// Whether nobody comes in the place of one that is lost.
    pub is_left_alone: bool,
    /// Whether replicas are never level.
    pub is_behind: bool,
    /// Commits per second of a number of connections.
    pub rate: Option<fn(u32) -> f64>,
    /// Latency of all transactions at an offered rate.
    pub latency_us: Option<fn(u32) -> u64>,
    pub cannot_close: bool,
    /// What its servers have in their logs.
    pub logs: Vec<ServerLog>,
    /// All steps that were taken.
    pub steps: Vec<String>,
    pub is_load_running: bool,
    /// Whether appliers were told to rest, and not to go on since.
    pub do_appliers_rest: bool,
    /// Whether CPUs were made slower, and not freed since.
    pub are_cpus_slow: bool,
    pub is_closed: bool,
    /// The target's own clock.
    pub now: Duration,
    /// Loads begun so far.
    pub loads: usize,
    pub marked: Duration,
    pub rate_now: f64,
    pub latency_us_now: Option<u64>,
}

impl Script {
    /// Whether a server has died, with all steps taken so far.
    fn is_dead(&self) -> bool {
        self.dies_at.is_some_and(|at| at < self.steps.len())
    }
}

/// The target; what it did is read through a second handle.
#[derive(Clone, Default)]
pub struct Scripted(pub Rc<RefCell<Script>>);

impl Scripted {
    pub fn new(script: Script) -> Scripted {
        Scripted(Rc::new(RefCell::new(script)))
    }

    pub fn steps(&self) -> Vec<String> {
        self.0.borrow().steps.clone()
    }

    fn step(&self, name: &str) -> Result<()> {
        let mut script = self.0.borrow_mut();
        let number = script.steps.len();
        script.steps.push(name.to_owned());
        match script.trouble {
            Some(Trouble::Breakdown(at)) if at == number => Err(breakdown(name, "as scripted")),
            _ if script.is_dead() => Err(breakdown(name, "no connection")),
            _ => Ok(()),
        }
    }

    /// Everything since the last mark: the same rate all the time.
    fn snapshot(&self) -> Snapshot {
        let mut script = self.0.borrow_mut();
        let span = script.now - script.marked;
        let second = |second: u64| DriverSecond {
            second: Second {
                second: u32::try_from(second).unwrap(),
                commits: script.rate_now as u64,
                ..Second::default()
            },
            ..DriverSecond::default()
        };
        let seconds = script.marked.as_secs()..script.now.as_secs();
        let ended = script.latency_us_now.map(|us| {
            let mut ended = histogram::empty();
            ended.record_n(us, 200).unwrap();
            histogram::encode(&ended)
        });
        let snapshot = Snapshot {
            window_s: span.as_secs_f64(),
            commits: (script.rate_now * span.as_secs_f64()) as u64,
            timeline: seconds.map(second).collect(),
            latency_us: ended.clone().unwrap_or_default(),
            ended_us: ended,
            ..Snapshot::default()
        };
        script.marked = script.now;
        snapshot
    }
}

impl Target for Scripted {
    fn load_tables(&mut self) -> Result<()> {
        self.step("load tables")
    }

    fn header(&mut self, order: &Order) -> Result<Header> {
        self.step("header")?;
        Ok(order.header(self.unix_ms(), Host::default()))
    }

    /// No step: nothing is done as long as nobody is missing.
    fn gather(&mut self) -> Result<()> {
        match self.0.borrow().is_left_alone {
            true => Err(breakdown("gather 2 drivers", "1 of 2 are here")),
            false => Ok(()),
        }
    }

    fn begin_round(&mut self) -> Result<()> {
        self.step("begin round")
    }

    fn enter_mode(&mut self, cell: &Cell) -> Result<()> {
        self.step(&format!("enter mode {}", cell.mode))
    }

    fn set_distances(&mut self, cell: &Cell) -> Result<()> {
        self.step(&format!("set distances {}", cell.distances.label))
    }

    fn start_front(&mut self, _cell: &Cell) -> Result<()> {
        self.step("start front")
    }

    fn renew_tables(&mut self, _cell: &Cell) -> Result<()> {
        self.step("renew tables")
    }

    fn wait_level(&mut self, _cell: &Cell) -> Result<bool> {
        self.step("wait level")?;
        Ok(!self.0.borrow().is_behind)
    }

    fn set_disks(&mut self, _cell: &Cell, _into: &mut Measurement) -> Result<()> {
        self.step("set disks")
    }

    fn probe(&mut self, _cell: &Cell, _into: &mut Measurement) -> Result<()> {
        self.step("probe")
    }

    fn begin_watch(&mut self, _cell: &Cell, _into: &mut Measurement) -> Result<()> {
        self.step("begin watch")
    }

    /// No step where all is at full speed.
    fn slow_cpus(&mut self, cell: &Cell) -> Result<()> {
        if cell.cpu_speed.is_full() {
            return Ok(());
        }
        self.step("slow CPUs")?;
        self.0.borrow_mut().are_cpus_slow = true;
        Ok(())
    }

    fn free_cpus(&mut self) {
        let mut script = self.0.borrow_mut();
        if script.are_cpus_slow {
            script.are_cpus_slow = false;
            script.steps.push("free CPUs".to_owned());
        }
    }

    fn hold_appliers(&mut self, _cell: &Cell) -> Result<()> {
        // One that cannot be told may rest all the same.
        self.0.borrow_mut().do_appliers_rest = true;
        self.step("hold appliers")
    }

    fn start_appliers(&mut self, _cell: &Cell) -> Result<()> {
        self.0.borrow_mut().do_appliers_rest = false;
        self.step("start appliers")
    }

    fn apply_alone(&mut self, _cell: &Cell) -> Result<Vec<AppliedAlone>> {
        self.step("apply alone")?;
        assert!(!self.0.borrow().is_load_running);
        Ok(vec![AppliedAlone {
            waiting: 300,
            ..AppliedAlone::default()
        }])
    }

    fn start_load(&mut self, cell: &Cell, round: u32) -> Result<()> {
        self.step(&format!("start load {}c round {round}", cell.connections))?;
        let mut script = self.0.borrow_mut();
        let rate = script.rate.unwrap_or(|_| 100.0);
        script.rate_now = rate(cell.connections);
        let latency_us = script.latency_us.zip(cell.rate_per_s);
        script.latency_us_now = latency_us.map(|(of_rate, rate)| of_rate(rate));
        script.is_load_running = true;
        script.loads += 1;
        script.marked = script.now;
        Ok(())
    }

    fn mark(&mut self) -> Result<Snapshot> {
        self.step("mark")?;
        Ok(self.snapshot())
    }

    fn stop_load(&mut self, _cell: &Cell) -> Result<Snapshot> {
        self.0.borrow_mut().is_load_running = false;
        self.step("stop load")?;
        Ok(self.snapshot())
    }

    fn reload(&mut self, _cell: &Cell, _round: u32) -> Result<()> {
        self.step("reload")
    }

    fn iterate(&mut self) -> Result<Iterations> {
        self.step("iterate")?;
        Ok(Iterations {
            iterations: vec![Iteration::default()],
            snapshot: Snapshot::default(),
        })
    }

    fn status(&mut self, _cell: &Cell, _edge: Edge) -> Result<NodeStatus> {
        self.step("status")?;
        Ok(NodeStatus::default())
    }

    fn accounts(&mut self, _cell: &Cell) -> Result<Accounts> {
        self.step("accounts")?;
        Ok(Accounts::default())
    }

    fn used(&mut self, _cell: &Cell, _from: &Reading, _to: &Reading, into: &mut Measurement) {
        let script = self.0.borrow();
        let load = script.loads.checked_sub(1);
        let is_late = load.and_then(|load| script.late.get(load).copied());
        let stolen = load.and_then(|load| script.stolen.get(load).copied());
        into.host_stolen = stolen.unwrap_or_default();
        into.packets = 100;
        into.late_packets = if is_late == Some(true) { 6 } else { 5 };
    }

    fn lag(&mut self, _cell: &Cell) -> Result<Vec<Lag>> {
        self.step("lag")?;
        Ok(vec![Lag {
            node: "b".to_owned(),
            lag_ms: vec![9.0, 1.0, 2.0],
            catch_up_ms: None,
        }])
    }

    fn catch_up(&mut self, _cell: &Cell, _lags: &mut [Lag]) -> Result<()> {
        self.step("catch up")
    }

    fn check_alive(&mut self, _cell: &Cell) -> Result<()> {
        self.step("check alive")
            .map_err(|error| match self.0.borrow().is_dead() {
                true => breakdown("run it", "it has died"),
                false => error,
            })
    }

    fn watch_after(&mut self, _cell: &Cell, _into: &mut Measurement) -> Result<()> {
        self.step("watch after")
    }

    fn end_watch(&mut self, _cell: &Cell, into: &mut Measurement) -> Result<()> {
        self.step("end watch")?;
        let script = self.0.borrow();
        let load = script.loads.checked_sub(1);
        if load.and_then(|load| script.lost.get(load)) == Some(&true) {
            into.drivers_missing = vec!["driver 2 (h2): its connection was cut".to_owned()];
            into.flags.push(Flag::DriverMissing);
        }
        Ok(())
    }

    fn probe_again(&mut self, _cell: &Cell, _into: &mut Measurement) -> Result<()> {
        self.step("probe again")
    }

    fn run_campaigns(
        &mut self,
        mode: usize,
        (part, kept): (Option<PartOf>, &[Campaign]),
        tell: &mut dyn FnMut(CampaignStep) -> Result<()>,
    ) -> Result<()> {
        let kept = kept.iter().map(|one| one.trials.len()).sum::<usize>();
        for number in own_numbers(part, TRIALS).skip(kept) {
            self.next()?;
            tell(CampaignStep::Begun(Step::Fault {
                label: format!("mode {mode}"),
                fault: "made-up".to_owned(),
                number,
                of: TRIALS,
            }))?;
            self.step(&format!("fault in mode {mode}"))?;
            let one = Campaign {
                durability: Durability::STRICT,
                fault: faults::Fault {
                    name: "made-up".to_owned(),
                    ..faults::Fault::default()
                },
                trials: vec![trials::Trial {
                    seed: number.into(),
                    ..trials::Trial::default()
                }],
            };
            tell(CampaignStep::Ended { number, one: &one })?;
        }
        Ok(())
    }

    fn logs(&mut self) -> Vec<ServerLog> {
        self.0.borrow().logs.clone()
    }

    fn close(self, _events: &dyn Events) -> Result<()> {
        let mut script = self.0.borrow_mut();
        assert!(!script.is_closed && !script.is_load_running);
        assert!(!script.do_appliers_rest && !script.are_cpus_slow);
        script.is_closed = true;
        match script.cannot_close {
            true => Err(breakdown("close", "as scripted")),
            false => Ok(()),
        }
    }

    fn stolen_now(&mut self) -> f64 {
        let asked = &mut self.0.borrow_mut().stolen_when_asked;
        match asked.is_empty() {
            true => 0.0,
            false => asked.remove(0),
        }
    }

    fn wait(&mut self, span: Duration) -> Result<()> {
        self.step(&format!("wait {span:?}"))?;
        self.0.borrow_mut().now += span;
        match self.is_stop_asked() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    fn unix_ms(&self) -> u64 {
        u64::try_from(self.0.borrow().now.as_millis()).unwrap()
    }

    fn is_stop_asked(&self) -> bool {
        let script = self.0.borrow();
        matches!(script.trouble, Some(Trouble::CtrlC(at)) if script.steps.len() > at)
    }
}

/// Keeps what it is told.
#[derive(Default)]
pub struct Recorder(pub RefCell<Vec<Event>>);

impl Events for Recorder {
    fn tell(&self, event: Event) {
        self.0.borrow_mut().push(event);
    }
}
