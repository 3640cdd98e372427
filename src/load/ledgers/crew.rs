//! A driver's sessions of a ledger, clients or readers, in one epoll loop, on one thread.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, FromRawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::client::Client;
use super::connection::{Connection, Heard, Lost, Terms};
use super::memory::Memory;
use super::note::Note;
use super::plan::{ClientsPlan, Level, ReadersPlan, Role, Task, sessions, us};
use super::reader::{Reader, Times};
use super::talk::{Next, Talk};
use crate::error::{Result, Tried, breakdown};
use crate::load::bell::Bell;
use crate::load::stream::Tls;
use crate::load::wire::login::{Account, Charset};

const EVENTS_AT_ONCE: usize = 64;
const BUFFER_BYTES: usize = 64 << 10;
/// The token of what `watch` watches.
const WATCHED: u64 = u64::MAX;
/// The token of the timer.
const TIMER: u64 = u64::MAX - 1;
/// At the stop, what is under way has so much longer than one answer may take.
const STOP_SPARE_US: u64 = 1_000_000;
/// Descriptors of this process that are no inheritance: input, output and errors.
const STANDARD_DESCRIPTORS: i32 = 3;

/// All sessions of one driver.
pub struct Crew {
    epoll: Epoll,
    events: Vec<EpollEvent>,
    bell: Bell,
    memory: Arc<Memory>,
    terms: Terms,
    timeout_us: u64,
    reconnect_us: u64,
    sessions: Vec<Session>,
    /// Nothing new is begun, and what is under way is given up then.
    stops_by_us: Option<u64>,
    buffer: Vec<u8>,
}

/// One session. It outlives its connections.
struct Session {
    talk: Box<dyn Talk>,
    /// One to each server that it speaks to. All of them are lost together.
    lines: Vec<Line>,
    /// Index of the one that it connects by, or has asked something last.
    at: usize,
    state: State,
    /// When it last began to connect.
    tried_us: u64,
}

/// A connection, and where to.
struct Line {
    target: SocketAddr,
    connection: Connection,
}

/// Which line of which session, as epoll tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct At {
    session: usize,
    line: usize,
}

/// What a session waits for, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// To connect then.
    Away(u64),
    /// For its login or an answer, no longer than that.
    Waiting(u64),
    Resting(u64),
    Over,
}

impl Crew {
    /// The crew for a task; its memory has been inherited.
    ///
    /// # Errors
    /// A breakdown if there is no such memory, or if the plan cannot be followed.
    pub fn of(task: Task) -> Result<Crew> {
        let tried = || "map the memory of a ledger".to_owned();
        if task.memory < STANDARD_DESCRIPTORS {
            return Err(breakdown(tried(), "it was not inherited"));
        }
        // SAFETY: the parent has made this descriptor for this process, and nobody else here
        // knows of it. Once it is mapped it is of no more use.
        let file = unsafe { File::from_raw_fd(task.memory) };
        let memory = Memory::open(&file).tried(tried)?;
        Crew::new(&task.plan, &task.role, Arc::new(memory))
    }

    /// Sessions that are to be connected at the first turn.
    ///
    /// # Errors
    /// As there.
    pub fn new(plan: &ClientsPlan, role: &Role, memory: Arc<Memory>) -> Result<Crew> {
        plan.check()?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC);
        let epoll = epoll.tried(|| "make an epoll instance".to_owned())?;
        let talks = match role {
            Role::Transfers => clients(plan, &memory),
            Role::Readers(plans) => readers(plans, us(plan.reconnect_every), &memory),
        };
        Ok(Crew {
            bell: Bell::new(&epoll, TIMER)?,
            epoll,
            events: vec![EpollEvent::empty(); EVENTS_AT_ONCE],
            memory,
            terms: terms(plan)?,
            timeout_us: us(plan.timeout),
            reconnect_us: us(plan.reconnect_every),
            sessions: talks.into_iter().map(Session::new).collect(),
            stops_by_us: None,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// `turn` also returns when this can be read, and says so.
    ///
    /// # Errors
    /// A breakdown if it cannot be watched.
    pub fn watch(&self, readable: impl AsFd) -> Result<()> {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, WATCHED);
        let added = self.epoll.add(readable, event);
        added.tried(|| "watch the driver's input".to_owned())
    }

    /// Nothing is begun any more; what is under way has some time to end.
    pub fn begin_stop(&mut self) {
        let limit_us = self.timeout_us.saturating_add(STOP_SPARE_US);
        self.stops_by_us = Some(self.memory.now_us().saturating_add(limit_us));
        for session in &mut self.sessions {
            session.talk.stop();
            if !session.talk.is_at_work() {
                session.end();
            }
        }
    }

    /// Whether a session has not ended.
    pub fn is_busy(&self) -> bool {
        let mut sessions = self.sessions.iter();
        sessions.any(|session| session.state != State::Over)
    }

    /// Waits until something happens or is due, and moves sessions. Tells whether what is watched
    /// can be read. At a stop, nobody waits once all sessions have ended.
    ///
    /// # Errors
    /// A breakdown if the system does not let it wait.
    pub fn turn(&mut self) -> Result<bool> {
        self.do_what_is_due();
        if self.stops_by_us.is_some() && !self.is_busy() {
            return Ok(false);
        }
        self.set_bell()?;
        let mut events = std::mem::take(&mut self.events);
        let count = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(errno) => return Err(breakdown("wait for sockets", errno.to_string())),
        };
        let mut is_watched = false;
        for event in &events[..count] {
            match event.data() {
                WATCHED => is_watched = true,
                // What is due is done at the next turn.
                TIMER => {}
                data => self.advance(At::of(data)),
            }
        }
        self.events = events;
        Ok(is_watched)
    }

    fn do_what_is_due(&mut self) {
        let now_us = self.memory.now_us();
        let is_late = self.stops_by_us.is_some_and(|limit| limit <= now_us);
        for index in 0..self.sessions.len() {
            match self.sessions[index].state {
                State::Over => {}
                _ if is_late => self.lost(index, "not answered when the clients were stopped"),
                State::Away(due) if due <= now_us => self.connect(index, now_us),
                State::Waiting(due) if due <= now_us => {
                    let ms = self.timeout_us / 1_000;
                    self.lost(index, &format!("no answer in {ms} ms"));
                }
                State::Resting(due) if due <= now_us => {
                    let next = self.sessions[index].talk.rested(now_us);
                    self.obey(index, next);
                }
                State::Away(_) | State::Waiting(_) | State::Resting(_) => {}
            }
        }
    }

    /// For the next that is due, if anything is.
    fn set_bell(&mut self) -> Result<()> {
        let due = self.sessions.iter().filter_map(Session::due_us).min();
        let Some(due_us) = due.map(|due| self.stops_by_us.map_or(due, |limit| due.min(limit)))
        else {
            return Ok(());
        };
        // A time that has come would not ring.
        let left_us = due_us.saturating_sub(self.memory.now_us()).max(1);
        let now = Instant::now();
        self.bell.ring_at(now + Duration::from_micros(left_us), now)
    }

    fn connect(&mut self, index: usize, now_us: u64) {
        let session = &mut self.sessions[index];
        session.tried_us = now_us;
        let (target, line) = (session.talk.target(), session.lines.len());
        let at = At {
            session: index,
            line,
        };
        match open(&self.epoll, target, at) {
            Ok(connection) => {
                session.lines.push(Line { target, connection });
                session.at = line;
                session.state = State::Waiting(now_us.saturating_add(self.timeout_us));
            }
            Err(error) => self.lost(index, &error.to_string()),
        }
    }

    /// Does all that a socket of a session allows.
    fn advance(&mut self, at: At) {
        loop {
            let session = &mut self.sessions[at.session];
            let Some(line) = session.lines.get_mut(at.line) else {
                return;
            };
            let talk = &mut session.talk;
            let mut row = |row: &[u8]| talk.row(row);
            let heard = (line.connection).hear(&self.terms, &mut self.buffer, &mut row);
            let next = match heard {
                Ok(None) => return,
                Ok(Some(heard)) => self.told(at, heard),
                Err(lost) => Err(lost),
            };
            match next {
                Ok(next) => self.obey(at.session, next),
                Err(lost) => return self.lost(at.session, &lost.0),
            }
        }
    }

    fn told(&mut self, at: At, heard: Heard) -> std::result::Result<Next, Lost> {
        let now_us = self.memory.now_us();
        let session = &mut self.sessions[at.session];
        let is_asked = matches!(session.state, State::Waiting(_)) && session.at == at.line;
        match heard {
            Heard::Ready => Ok(session.talk.ready(now_us)),
            Heard::Well if is_asked => Ok(session.talk.well(now_us)),
            Heard::Failed(error) if is_asked => {
                let next = session.talk.failed(error.number, now_us);
                note(&self.memory, error.to_string());
                Ok(next)
            }
            // As when a server says that it is going down.
            Heard::Failed(error) => Err(Lost(error.to_string())),
            Heard::Well => Err(Lost("an answer to nothing".to_owned())),
        }
    }

    fn obey(&mut self, index: usize, next: Next) {
        let now_us = self.memory.now_us();
        let session = &mut self.sessions[index];
        match next {
            Next::Ask(sql) => match session.ask(&sql) {
                Some(Ok(())) => {
                    session.state = State::Waiting(now_us.saturating_add(self.timeout_us));
                }
                Some(Err(lost)) => self.lost(index, &lost.0),
                None => self.connect(index, now_us),
            },
            Next::Rest(until_us) if self.stops_by_us.is_none() => {
                session.state = State::Resting(until_us);
            }
            Next::Leave => self.leave(index),
            Next::Rest(_) | Next::End => session.end(),
        }
    }

    fn lost(&mut self, index: usize, reason: &str) {
        let now_us = self.memory.now_us();
        let session = &mut self.sessions[index];
        session.talk.lost(now_us);
        session.lines.clear();
        note(&self.memory, reason.to_owned());
        self.leave(index);
    }

    /// Another connection, at its time.
    fn leave(&mut self, index: usize) {
        let session = &mut self.sessions[index];
        if self.stops_by_us.is_some() {
            return session.end();
        }
        session.hang_up();
        session.state = State::Away(session.tried_us.saturating_add(self.reconnect_us));
    }
}

impl At {
    fn data(self) -> u64 {
        ((self.line as u64) << 32) | self.session as u64
    }

    fn of(data: u64) -> At {
        At {
            session: data as u32 as usize,
            line: (data >> 32) as usize,
        }
    }
}

impl Session {
    fn new(talk: Box<dyn Talk>) -> Self {
        Session {
            talk,
            lines: Vec::new(),
            at: 0,
            state: State::Away(0),
            tried_us: 0,
        }
    }

    fn due_us(&self) -> Option<u64> {
        match self.state {
            State::Away(due) | State::Waiting(due) | State::Resting(due) => Some(due),
            State::Over => None,
        }
    }

    /// Asks where it wants to; `None` if it has no connection there.
    fn ask(&mut self, sql: &str) -> Option<std::result::Result<(), Lost>> {
        let target = self.talk.target();
        let mut lines = self.lines.iter();
        self.at = lines.position(|line| line.target == target)?;
        Some(self.lines[self.at].connection.ask(sql))
    }

    fn hang_up(&mut self) {
        for mut line in self.lines.drain(..) {
            line.connection.quit();
        }
    }

    fn end(&mut self) {
        self.hang_up();
        self.state = State::Over;
    }
}

fn clients(plan: &ClientsPlan, memory: &Arc<Memory>) -> Vec<Box<dyn Talk>> {
    let client = |number: u32| -> Box<dyn Talk> {
        // The plan has been checked.
        let number = u8::try_from(number).unwrap_or(u8::MAX);
        Box::new(Client::new(plan, number, Arc::clone(memory)))
    };
    (0..plan.sessions).map(client).collect()
}

fn readers(plans: &[ReadersPlan], rest_us: u64, memory: &Arc<Memory>) -> Vec<Box<dyn Talk>> {
    let reader = |(number, (plan, level)): (u32, (&ReadersPlan, &Level))| {
        let times = Times {
            every_us: us(plan.every),
            rest_us,
        };
        let one = Reader::new((number, plan.target, level), times, Arc::clone(memory));
        Box::new(one) as Box<dyn Talk>
    };
    (0..).zip(sessions(plans)).map(reader).collect()
}

fn terms(plan: &ClientsPlan) -> Result<Terms> {
    let tls = plan.tls.then(|| Tls::of(None));
    Ok(Terms {
        account: Account {
            user: plan.user.clone(),
            password: plan.password.clone(),
            database: plan.database.clone(),
            tls: plan.tls,
            charset: Charset::Utf8mb4,
        },
        tls: tls.transpose()?,
    })
}

fn open(epoll: &Epoll, target: SocketAddr, at: At) -> io::Result<Connection> {
    let flags =
        EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
    let connection = Connection::open(target)?;
    let watched = epoll.add(&connection, EpollEvent::new(flags, at.data()));
    watched.map_err(io::Error::from)?;
    Ok(connection)
}

fn note(memory: &Memory, reason: String) {
    memory.append(&Note::Loss(reason).words());
}
