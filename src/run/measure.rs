//! One cell, measured once, at any target: which steps, in which order, and what is kept of them.

use super::events::{Event, Events};
use super::settled::{self, Settling};
use super::target::{Edge, Target};
use super::window::Reading;
use crate::error::{Error, Result};
use crate::load::{DriverSecond, Snapshot, in_a_row};
use crate::plan::{Cell, Turn};
use crate::record::{Flag, Measurement, Second};
use crate::study::{Apply, Study, Workload};

/// A cell is void if more than this share of its packets left the switch late.
const LATE_SHARE_MAX: f64 = 0.05;

/// It is made again if more than this share of the host's CPU time was stolen.
pub(super) const STOLEN_SHARE_MAX: f64 = 0.10;

/// Measures one cell, whose rate is known by now; its mode is in force already.
pub fn measure<T: Target>(
    target: &mut T,
    study: &Study,
    (turn, cell): (Turn, &Cell),
    events: &dyn Events,
) -> Result<Measurement> {
    let mut measuring = Measuring {
        target,
        study,
        cell,
        events,
        into: Measurement {
            round: turn.round,
            cell: turn.cell,
            turn: turn.repeat,
            offered_per_s: turn.offered.map(|offered| offered.rate_per_s),
            ..Measurement::default()
        },
    };
    let measured = measuring.go_through();
    if let Err(Error::Breakdown(_)) = measured {
        // Where something has died, its own last words tell more than those of whoever missed it.
        measuring.target.check_alive(cell)?;
    }
    measured?;
    Ok(measuring.into)
}

/// A measurement under way.
struct Measuring<'a, T> {
    target: &'a mut T,
    study: &'a Study,
    cell: &'a Cell,
    events: &'a dyn Events,
    into: Measurement,
}

impl<T: Target> Measuring<'_, T> {
    fn go_through(&mut self) -> Result<()> {
        self.prepare()?;
        self.target.next()?.slow_cpus(self.cell)?;
        let driven = match self.cell.workload {
            Workload::Mysqlslap { .. } => self.iterate(),
            _ => self.drive(),
        };
        // However it went: no CPU may be left slower.
        self.target.free_cpus();
        driven?;
        // What has died need not have failed the load.
        self.target.check_alive(self.cell)?;
        self.conclude()
    }

    /// Everything before the load.
    fn prepare(&mut self) -> Result<()> {
        let cell = self.cell;
        self.target.next()?.set_distances(cell)?;
        self.target.next()?.start_front(cell)?;
        // Replicas have this to apply first, and what an earlier cell left them.
        self.target.next()?.renew_tables(cell)?;
        self.wait_level()?;
        self.into.started_unix_ms = self.target.unix_ms();
        self.target.next()?.set_disks(cell, &mut self.into)?;
        self.target.next()?.probe(cell, &mut self.into)?;
        self.target.next()?.begin_watch(cell, &mut self.into)
    }

    /// The doubt that remains where replicas are not level in time.
    fn wait_level(&mut self) -> Result<()> {
        if !self.target.next()?.wait_level(self.cell)? {
            self.into.flags.push(Flag::Behind);
        }
        Ok(())
    }

    /// The load, and what replicas still have to do after it.
    fn drive(&mut self) -> Result<()> {
        match self.cell.apply {
            Apply::Meanwhile => {
                self.load()?;
                let target = self.target.next()?;
                target.catch_up(self.cell, &mut self.into.lag)
            }
            Apply::After => self.load_and_apply(),
        }
    }

    /// Appliers rest under load, and have the machine to themselves after it.
    fn load_and_apply(&mut self) -> Result<()> {
        let cell = self.cell;
        let held = self.target.next()?.hold_appliers(cell);
        let driven = held.and_then(|()| self.load());
        let applied = driven.and_then(|()| self.apply_alone());
        // However it went: no applier may be left at rest.
        let started = self.target.start_appliers(cell);
        applied.and(started)?;
        // What they had no time for; the next measurement says what is left even then.
        self.target.next()?.wait_level(cell).map(drop)
    }

    fn apply_alone(&mut self) -> Result<()> {
        self.into.applied_alone = self.target.next()?.apply_alone(self.cell)?;
        Ok(())
    }

    /// Warm-up, measured window, lag while the load still runs.
    fn load(&mut self) -> Result<()> {
        let (cell, round) = (self.cell, self.into.round);
        self.target.next()?.start_load(cell, round)?;
        let outcome = self.under_load();
        // However it went: no load may be left.
        let rest = self.target.stop_load(cell)?;
        outcome?;
        self.into.load_s += rest.window_s;
        self.keep_seconds(rest.timeline);
        Ok(())
    }

    /// Everything that happens while the load runs.
    fn under_load(&mut self) -> Result<()> {
        let cell = self.cell;
        self.target.next()?.wait(self.study.warmup)?;
        if cell.rate_per_s.is_some() {
            self.settle()?;
        }
        let status = self.target.next()?.status(cell, Edge::Begin)?;
        let warm = self.target.next()?.mark()?;
        let accounts = self.target.next()?.accounts(cell)?;
        // Whoever is told must not stand between the mark and the accounts.
        self.keep_seconds(warm.timeline);
        let from = Reading { status, accounts };
        self.target.next()?.wait(cell.window(self.study))?;
        let window = self.target.next()?.mark()?;
        let to = self.reading_after()?;
        let connecting_s = if cell.rate_per_s.is_some() {
            0.0
        } else {
            warm.connected_s
        };
        self.into.load_s += warm.window_s - connecting_s + window.window_s;
        self.end_window(window, (&from, &to))
    }

    /// The warm-up goes on until latency has no trend.
    fn settle(&mut self) -> Result<()> {
        let before = self.target.next()?.mark()?;
        self.into.load_s += before.window_s - before.connected_s;
        self.keep_seconds(before.timeline);
        let mut settling = Settling::default();
        loop {
            self.target.next()?.wait(settled::STEP)?;
            let step = self.target.next()?.mark()?;
            settling.take(&step)?;
            self.into.load_s += step.window_s;
            self.keep_seconds(step.timeline);
            match settling.is_over() {
                Some(true) => return Ok(()),
                Some(false) => {
                    self.into.flags.push(Flag::NotSettled);
                    return Ok(());
                }
                None => {}
            }
        }
    }

    fn end_window(&mut self, window: Snapshot, (from, to): (&Reading, &Reading)) -> Result<()> {
        self.keep_window(window);
        self.target.used(self.cell, from, to, &mut self.into);
        // A beat would wait in vain for appliers that rest.
        if self.cell.apply == Apply::Meanwhile {
            self.into.lag = self.target.next()?.lag(self.cell)?;
        }
        Ok(())
    }

    /// mysqlslap's manner: a number of iterations. Each reload before an iteration is left out of
    /// all accounts, as it is out of the tool's clock.
    fn iterate(&mut self) -> Result<()> {
        let Workload::Mysqlslap {
            iterations,
            catch_up,
            ..
        } = self.cell.workload
        else {
            return Ok(());
        };
        let (cell, round) = (self.cell, self.into.round);
        // Whoever connects to another node must find the table there.
        let waits = catch_up || self.study.modes[cell.mode].spread;
        let mut from = self.reading_before()?;
        let mut parts = Vec::new();
        for _ in 0..iterations {
            // The other way round than a load: what reading costs is left out as well.
            let idle = self.reading_after()?;
            self.target.next()?.reload(cell, round)?;
            if waits {
                self.wait_level()?;
            }
            from.leave_out(&idle, &self.reading_before()?);
            parts.push(self.target.next()?.iterate()?);
        }
        let to = self.reading_after()?;
        let all = in_a_row(parts)?;
        self.into.iterations = all.iterations;
        self.end_window(all.snapshot, (&from, &to))?;
        self.target.next()?.catch_up(cell, &mut self.into.lag)
    }

    /// Reading the servers' counters costs them something: here it comes before what is accounted.
    fn reading_before(&mut self) -> Result<Reading> {
        let status = self.target.next()?.status(self.cell, Edge::Begin)?;
        let accounts = self.target.next()?.accounts(self.cell)?;
        Ok(Reading { status, accounts })
    }

    /// Here after it.
    fn reading_after(&mut self) -> Result<Reading> {
        let accounts = self.target.next()?.accounts(self.cell)?;
        let status = self.target.next()?.status(self.cell, Edge::End)?;
        Ok(Reading { status, accounts })
    }

    fn keep_window(&mut self, window: Snapshot) {
        let seconds = window.keep_in(&mut self.into);
        self.keep_seconds(seconds);
    }

    fn keep_seconds(&mut self, seconds: Vec<DriverSecond>) {
        let (round, cell) = (self.into.round, self.into.cell);
        let seconds: Vec<Second> = seconds.into_iter().map(|one| one.second).collect();
        for &second in &seconds {
            self.events.tell(Event::Second {
                round,
                cell,
                second,
            });
        }
        self.into.timeline.extend(seconds);
    }

    /// Everything after the load.
    fn conclude(&mut self) -> Result<()> {
        let cell = self.cell;
        let late = self.into.late_packets as f64;
        if late > LATE_SHARE_MAX * self.into.packets as f64 {
            self.into.flags.push(Flag::LateLinks);
        }
        if self.into.host_stolen > STOLEN_SHARE_MAX {
            self.into.flags.push(Flag::Stolen);
        }
        // A minute's watch of what is void would be in no figure.
        if cell.watch_after.is_some() && !self.into.is_void() {
            self.wait_level()?;
            self.target.next()?.watch_after(cell, &mut self.into)?;
        }
        // Each of several waits may have been in vain.
        self.into.flags.dedup();
        self.target.next()?.end_watch(cell, &mut self.into)?;
        self.target.next()?.probe_again(cell, &mut self.into)
    }
}
