//! All sessions of a driver in one epoll loop, on one thread.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::arrivals::{Arrivals, Idle};
use super::bell::Bell;
use super::job::{Job, Snapshot};
use super::keys::Draws;
use super::pace::{Pace, Rests};
use super::session::{Progress, Session, Shared};
use super::stream::Tls;
use super::tally::Tally;
use super::wire::login::{Account, Charset};
use super::workload::{Script, SessionState};
use crate::error::{Error, Result, Tried, breakdown};
use crate::record::server_errors::{LOST_CONNECTION, ServerError};
use crate::study::Workload;

/// Sessions that log in at the same time in a closed-loop load: below every server's default
/// backlog.
const LOGINS_AT_ONCE: usize = 64;
/// Enough for most answers in one read.
const BUFFER_BYTES: usize = 64 << 10;
const EVENTS_AT_ONCE: usize = 256;
const FIRST_BACK_OFF: Duration = Duration::from_millis(10);
/// Doubled this often, 640 ms.
const BACK_OFF_DOUBLINGS: u32 = 6;
/// A limited load gives up on a session after this many failed attempts in a row.
const ATTEMPTS: u32 = 20;
/// The token of what `watch` watches.
const WATCHED: u64 = u64::MAX;
/// The token of the timer for what is due.
const TIMER: u64 = u64::MAX - 1;
/// The stream of random numbers that due times are drawn from: none of a session's.
const ARRIVALS_STREAM: u64 = u32::MAX as u64;

/// The sessions of one job.
pub struct Pool {
    epoll: Epoll,
    events: Vec<EpollEvent>,
    sessions: Vec<Session>,
    attempts: Vec<u32>,
    shared: Shared,
    /// Sessions that were never connected.
    waiting: VecDeque<usize>,
    /// Lost sessions, by the time of their next attempt.
    retries: BinaryHeap<Reverse<(Instant, usize)>>,
    /// Open loop only: sessions for which nothing is due.
    idle: Idle,
    /// Paced or slowed only: sessions that rest.
    rests: Rests,
    /// Open loop, paced or slowed only: rings when the next is due.
    bell: Option<Bell>,
    logging_in: usize,
    logins_at_once: usize,
    connected: usize,
    finished: usize,
    is_limited: bool,
    /// Whether the load waits for a word to begin.
    waits: bool,
    failure: Option<Error>,
}

impl Pool {
    /// Sessions for `job`, not connected yet. With a limit each runs that many transactions as
    /// soon as it is connected, and all connect at once; else all begin together when the last is
    /// connected, and have no end. Those that worked meanwhile would keep the server from letting
    /// the others in: 2,000 sessions on two cores took a minute. With a rate they share what
    /// becomes due, with a pace or a slowdown each rests between its transactions.
    pub fn new(job: &Job, script: Script, limit: Option<u64>, now: Instant) -> Result<Self> {
        if job.targets.is_empty() {
            return Err(breakdown("drive load", "no server was given"));
        }
        if job.databases.is_empty() {
            return Err(breakdown("drive load", "no database was given"));
        }
        let count = job.connections as usize;
        let session = |index: usize| {
            let stream = u64::from(job.driver) << 32 | index as u64;
            let source = SessionState {
                draws: Draws::new(job.seed, stream),
                position: 0,
            };
            let target = job.targets[index % job.targets.len()];
            Session::new((target, database_of(job, index)), source, limit)
        };
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC);
        let epoll = epoll.tried(|| "make an epoll instance".to_owned())?;
        let has_due_times = job.rate_per_s.is_some() || Pace::of(job).is_some();
        Ok(Pool {
            bell: has_due_times
                .then(|| Bell::new(&epoll, TIMER))
                .transpose()?,
            idle: Idle::of(count),
            rests: Rests::of(count),
            epoll,
            events: vec![EpollEvent::empty(); EVENTS_AT_ONCE],
            sessions: (0..count).map(session).collect(),
            attempts: vec![0; count],
            shared: shared(job, script, now, limit.is_none())?,
            waiting: (0..count).collect(),
            retries: BinaryHeap::new(),
            logging_in: 0,
            logins_at_once: if limit.is_some() {
                count
            } else {
                LOGINS_AT_ONCE
            },
            connected: 0,
            finished: 0,
            is_limited: limit.is_some(),
            waits: job.waits,
            failure: None,
        })
    }

    /// `turn` also returns when this can be read, and says so.
    pub fn watch(&self, readable: impl AsFd) -> Result<()> {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, WATCHED);
        let added = self.epoll.add(readable, event);
        added.tried(|| "watch the driver's input".to_owned())
    }

    /// Number of sessions that became ready at least once.
    pub fn connected(&self) -> usize {
        self.connected
    }

    /// Whether every session has been ready.
    pub fn all_connected(&self) -> bool {
        self.connected == self.sessions.len()
    }

    /// Number of statements and failures since the last mark.
    pub fn answered(&self) -> u64 {
        self.shared.tally.answered()
    }

    /// Number of sessions that have ended as they should.
    pub fn finished(&self) -> usize {
        self.finished
    }

    /// From the start until every session had been ready.
    pub fn connected_s(&self) -> f64 {
        self.shared.tally.connected_s()
    }

    /// Whether every session has ended as it should.
    pub fn all_finished(&self) -> bool {
        self.finished == self.sessions.len()
    }

    /// What keeps the load from running at all.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Everything since the last mark; begins a new window.
    pub fn mark(&mut self) -> Snapshot {
        let now = Instant::now();
        let looked = self.shared.arrivals.as_mut().map(|all| all.look(now));
        if let Some(looked) = &looked {
            let begun = self.sessions.iter().filter_map(Session::under_way);
            let all = begun.chain(looked.waiting.iter().copied());
            all.for_each(|due| self.shared.tally.unfinished(now, due));
        }
        let mut snapshot = self.shared.tally.snapshot(now);
        snapshot.unique_next = self.shared.script.source.unique_next();
        if let Some(looked) = looked {
            (snapshot.due, snapshot.backlog) = (looked.due, looked.backlog);
        }
        snapshot
    }

    /// No new transactions from now on; sessions without one are closed.
    pub fn begin_stop(&mut self) {
        self.shared.is_stopping = true;
        if let Some(arrivals) = &mut self.shared.arrivals {
            arrivals.end(Instant::now());
        }
        self.waiting.clear();
        self.retries.clear();
        for session in self.sessions.iter_mut().filter(|s| !s.is_ready()) {
            session.close();
        }
        self.begin_together();
        self.logging_in = 0;
    }

    /// Whether a session still has a connection.
    pub fn is_busy(&self) -> bool {
        self.sessions.iter().any(|session| !session.is_closed())
    }

    /// Closes what has not ended by itself, its transactions unanswered.
    pub fn abandon(&mut self) {
        let now = Instant::now();
        for session in self.sessions.iter_mut().filter(|s| !s.is_closed()) {
            if let Some(due) = session.under_way() {
                self.shared.tally.unfinished(now, due);
            }
            session.close();
            self.shared.tally.unanswered();
        }
    }

    /// Waits for sockets, at most until `deadline`, and moves their sessions. Tells whether what
    /// is watched can be read.
    pub fn turn(&mut self, deadline: Option<Instant>) -> Result<bool> {
        self.connect_waiting();
        self.hand_out()?;
        let timeout = self.timeout(deadline);
        let mut events = std::mem::take(&mut self.events);
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(errno) => return Err(breakdown("wait for sockets", errno.to_string())),
        };
        let mut is_watched = false;
        for event in &events[..count] {
            match event.data() {
                WATCHED => is_watched = true,
                // What is due is handed out at the next turn.
                TIMER => {}
                index => self.advance(index as usize),
            }
        }
        self.events = events;
        Ok(is_watched)
    }

    fn timeout(&self, deadline: Option<Instant>) -> EpollTimeout {
        let retry = self.retries.peek().map(|Reverse((due, _))| *due);
        let Some(due) = [deadline, retry].into_iter().flatten().min() else {
            return EpollTimeout::NONE;
        };
        // Rounded up, so that a due time has come when the wait ends.
        let left = due.saturating_duration_since(Instant::now());
        let ms = left.as_micros().div_ceil(1000).min(60_000) as u16;
        EpollTimeout::from(ms)
    }

    /// Lets sessions begin what is due, and sets the timer for the next if some wait: a session
    /// that is at work looks for itself when it has done.
    fn hand_out(&mut self) -> Result<()> {
        while let Some(next) = self.next_due() {
            let now = Instant::now();
            if next > now {
                return match &mut self.bell {
                    Some(bell) => bell.ring_at(next, now),
                    None => Ok(()),
                };
            }
            self.begin_next();
        }
        Ok(())
    }

    /// When a waiting session has something to begin, be it past or to come.
    fn next_due(&self) -> Option<Instant> {
        match &self.shared.arrivals {
            Some(arrivals) => arrivals.next().filter(|_| !self.idle.is_empty()),
            None => self.rests.next(),
        }
    }

    fn begin_next(&mut self) {
        let index = match self.shared.arrivals {
            Some(_) => self.idle.pop(),
            None => self.rests.pop(),
        };
        // Since it began to wait its connection may have been lost.
        if let Some(index) = index.filter(|&index| self.sessions[index].is_held()) {
            let progress = self.sessions[index].begin(&mut self.shared);
            self.progressed(index, true, progress);
        }
    }

    /// A session has nothing to do: for want of what is due, or for its rest.
    fn waits(&mut self, index: usize) {
        match self.shared.pace {
            None => self.idle.push(index),
            // Rests count from when all begin.
            Some(_) if self.shared.is_holding => {}
            Some(_) => self.rests.push(self.sessions[index].rests_until(), index),
        }
    }

    fn connect_waiting(&mut self) {
        let now = Instant::now();
        while let Some(Reverse((due, index))) = self.retries.peek().copied() {
            if due > now {
                break;
            }
            self.retries.pop();
            self.connect(index);
        }
        while self.logging_in < self.logins_at_once {
            let Some(index) = self.waiting.pop_front() else {
                return;
            };
            self.connect(index);
        }
    }

    fn connect(&mut self, index: usize) {
        self.logging_in += 1;
        let flags = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        let event = EpollEvent::new(flags, index as u64);
        let watched = match self.sessions[index].connect() {
            Ok(socket) => self.epoll.add(socket, event).map_err(std::io::Error::from),
            Err(error) => Err(error),
        };
        if let Err(error) = watched {
            self.sessions[index].close();
            self.logging_in -= 1;
            self.refused(index, &ServerError::lost(&error.to_string()));
        }
    }

    fn advance(&mut self, index: usize) {
        let was_ready = self.sessions[index].is_ready();
        let was_closed = self.sessions[index].is_closed();
        if was_closed {
            return;
        }
        let progress = self.sessions[index].advance(&mut self.shared);
        let is_login_over = !was_ready && progress != Progress::Going;
        self.logging_in -= usize::from(is_login_over);
        self.progressed(index, was_ready, progress);
    }

    fn progressed(&mut self, index: usize, was_ready: bool, progress: Progress) {
        if self.bell.is_some() && self.sessions[index].is_held() {
            self.waits(index);
        }
        match progress {
            Progress::Going => {}
            Progress::Ready => self.ready(index),
            Progress::Finished => {
                if !was_ready {
                    self.ready(index);
                }
                self.finished += 1;
            }
            Progress::Lost(error) if was_ready => self.lost(index, &error),
            Progress::Lost(error) => self.refused(index, &error),
        }
    }

    fn ready(&mut self, index: usize) {
        // Zero attempts since it was last ready, and never before: its first time.
        let is_first = self.attempts[index] == 0;
        self.attempts[index] = 1;
        if is_first {
            self.connected += 1;
            if self.all_connected() {
                self.shared.tally.connected(Instant::now());
                if !self.waits {
                    self.begin_together();
                }
            }
        }
    }

    /// The word that a load waits for, once all its sessions are connected.
    pub fn begin(&mut self) {
        // What passed until now was no load.
        self.shared.tally.connected(Instant::now());
        self.begin_together();
    }

    fn begin_together(&mut self) {
        let now = Instant::now();
        let was_holding = std::mem::take(&mut self.shared.is_holding);
        // Those who begin at a word begin at the same moment as the others.
        if was_holding && (self.waits || !self.shared.has_others) {
            self.shared.tally.begin_seconds(now);
        }
        if let Some(arrivals) = &mut self.shared.arrivals {
            arrivals.begin(now);
        }
        for index in 0..self.sessions.len() {
            if let Some(pace) = self.shared.pace {
                self.sessions[index].rest_until(now + pace.first(index));
            }
            let progress = self.sessions[index].begin(&mut self.shared);
            self.progressed(index, true, progress);
        }
    }

    fn lost(&mut self, index: usize, error: &ServerError) {
        self.count(LOST_CONNECTION, error);
        self.attempts[index] = 1;
        self.retry(index);
    }

    /// A login that did not succeed: fatal before the load runs, data afterwards.
    fn refused(&mut self, index: usize, error: &ServerError) {
        let attempts = self.attempts[index];
        if attempts == 0 || (self.is_limited && attempts > ATTEMPTS) {
            let target = self.sessions[index].target();
            let ready = self.connected;
            let tried = format!("connect session {index} to {target} ({ready} are connected)");
            self.failure = Some(breakdown(tried, error.to_string()));
            return;
        }
        if error.number != LOST_CONNECTION {
            self.count(error.number, error);
        }
        self.attempts[index] += 1;
        self.retry(index);
    }

    fn count(&mut self, number: u16, error: &ServerError) {
        let message = || error.message.clone();
        let tally = &mut self.shared.tally;
        tally.error(Instant::now(), number, &error.sqlstate, message);
    }

    fn retry(&mut self, index: usize) {
        if self.shared.is_stopping {
            return;
        }
        let doublings = (self.attempts[index] - 1).min(BACK_OFF_DOUBLINGS);
        let due = Instant::now() + FIRST_BACK_OFF * 2u32.pow(doublings);
        self.retries.push(Reverse((due, index)));
    }
}

/// Index of a session's database. Drivers side by side do not all begin with the first.
fn database_of(job: &Job, session: usize) -> usize {
    (session + job.driver as usize) % job.databases.len()
}

/// mysqlslap speaks what its build has as default, which is its server's as well. What a user
/// wrote is UTF-8.
fn charset(workload: &Workload) -> Charset {
    match workload {
        Workload::Mysqlslap { .. } => Charset::OfServer,
        Workload::Sysbench { .. } | Workload::Custom { .. } => Charset::Utf8mb4,
    }
}

fn shared(job: &Job, script: Script, now: Instant, is_holding: bool) -> Result<Shared> {
    let has_others = job.drivers > 1;
    let tally = Tally::new(now, &script.kinds, job.rate_per_s.is_some(), has_others);
    let stream = u64::from(job.driver) << 32 | ARRIVALS_STREAM;
    let arrivals = |rate_per_s| Arrivals::new(rate_per_s, Draws::new(job.seed, stream));
    let tls = job.tls.then(|| Tls::of(job.guest.as_ref()));
    let account = |database: &String| Account {
        user: job.user.clone(),
        password: job.password.clone(),
        database: database.clone(),
        tls: job.tls,
        charset: charset(&job.workload),
    };
    Ok(Shared {
        accounts: job.databases.iter().map(account).collect(),
        tls: tls.transpose()?,
        script,
        tally,
        arrivals: job.rate_per_s.map(arrivals).transpose()?,
        pace: Pace::of(job),
        is_holding,
        has_others,
        is_stopping: false,
        buffer: vec![0; BUFFER_BYTES],
    })
}

#[cfg(test)]
mod tests;
