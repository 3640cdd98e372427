//! One session: a state machine from connecting to the last transaction, moved by its socket.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use super::arrivals::Arrivals;
use super::pace::Pace;
use super::stream::{Stream, Tls};
use super::tally::Tally;
use super::wire::answer::{Answer, Ended, Failure, text};
use super::wire::encode;
use super::wire::frame::Frames;
use super::wire::login::{Account, Login, Step};
use super::workload::{Script, SessionState, Template, TransactionPlan};
use crate::record::server_errors::ServerError;

/// The server cannot prepare this kind of statement: it is run as text, as sysbench does.
const UNSUPPORTED_PREPARED: u16 = 1295;

/// What all sessions of a driver share.
pub struct Shared {
    /// One for each database.
    pub accounts: Vec<Account>,
    pub tls: Option<Tls>,
    pub script: Script,
    pub tally: Tally,
    /// Open loop only: when transactions are due.
    pub arrivals: Option<Arrivals>,
    /// Paced or slowed only: how long sessions rest.
    pub pace: Option<Pace>,
    /// Sessions that are ready wait for the others.
    pub is_holding: bool,
    /// Other drivers load the same servers: seconds of all are added by their numbers, which all
    /// count from when they were told to start.
    pub has_others: bool,
    /// No new transactions.
    pub is_stopping: bool,
    /// Where sockets are read into.
    pub buffer: Vec<u8>,
}

impl Shared {
    /// Since when the transaction of a session that begins now is due; `None` if none is due yet.
    fn due(&mut self, rests_until: Instant, now: Instant) -> Option<Instant> {
        match &mut self.arrivals {
            Some(arrivals) => arrivals.take(now),
            None => (rests_until <= now).then_some(now),
        }
    }
}

/// What became of a session when its socket moved it.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// It goes on.
    Going,
    /// It has just become ready, and goes on.
    Ready,
    /// It has ended as it should.
    Finished,
    /// The connection is lost, or was refused.
    Lost(Box<ServerError>),
}

enum State {
    Closed,
    Connecting,
    Login(Box<(Login, Frames)>),
    Preparing(usize),
    /// Ready, and without a transaction until `begin`: the others are not ready yet, nothing is
    /// due, or it rests.
    Held,
    Running(usize),
    RollingBack,
}

/// A statement prepared in this session.
#[derive(Clone, Copy)]
struct Prepared {
    id: u32,
    /// Its parameters' types have been sent.
    is_bound: bool,
}

/// One session. It outlives its connections.
pub struct Session {
    target: SocketAddr,
    /// Index into the accounts: whose database is its current one.
    account: usize,
    stream: Option<Stream>,
    state: State,
    answer: Answer,
    prepared: Vec<Option<Prepared>>,
    source: SessionState,
    plan: TransactionPlan,
    out: Vec<u8>,
    /// No transaction begins before.
    rests_until: Instant,
    transaction_due: Instant,
    transaction_start: Instant,
    statement_start: Instant,
    changed_rows: u64,
    /// Transactions still to run; `None` for no end.
    left: Option<u64>,
}

/// Why a session's connection cannot go on.
enum Stop {
    Lost(Box<ServerError>),
    Finished,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        lost(&error.to_string())
    }
}

fn lost(message: &str) -> Stop {
    Stop::Lost(Box::new(ServerError::lost(message)))
}

impl Session {
    /// A session that is not connected yet.
    pub fn new(
        (target, account): (SocketAddr, usize),
        source: SessionState,
        left: Option<u64>,
    ) -> Self {
        let now = Instant::now();
        Session {
            target,
            account,
            stream: None,
            state: State::Closed,
            answer: Answer::new(false),
            prepared: Vec::new(),
            source,
            plan: TransactionPlan::default(),
            out: Vec::new(),
            rests_until: now,
            transaction_due: now,
            transaction_start: now,
            statement_start: now,
            changed_rows: 0,
            left,
        }
    }

    /// The server it connects to.
    pub fn target(&self) -> SocketAddr {
        self.target
    }

    /// Begins to connect; the socket is to be watched.
    pub fn connect(&mut self) -> io::Result<BorrowedFd<'_>> {
        self.state = State::Connecting;
        let stream: &Stream = self.stream.insert(Stream::connect(self.target)?);
        Ok(stream.as_fd())
    }

    /// Whether it has logged in and prepared its statements.
    pub fn is_ready(&self) -> bool {
        matches!(
            self.state,
            State::Held | State::Running(_) | State::RollingBack
        )
    }

    /// Whether it waits for `begin`.
    pub fn is_held(&self) -> bool {
        matches!(self.state, State::Held)
    }

    /// Since when the transaction was due that has neither ended nor failed.
    pub fn under_way(&self) -> Option<Instant> {
        matches!(self.state, State::Running(_)).then_some(self.transaction_due)
    }

    /// Whether it has no connection.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Drops the connection as it is.
    pub fn close(&mut self) {
        self.stream = None;
        self.state = State::Closed;
    }

    /// Until when it rests, or has rested.
    pub fn rests_until(&self) -> Instant {
        self.rests_until
    }

    /// It begins no transaction before then.
    pub fn rest_until(&mut self, until: Instant) {
        self.rests_until = until;
    }

    /// Begins a transaction, if it waits for one and none is too early.
    pub fn begin(&mut self, shared: &mut Shared) -> Progress {
        if !self.is_held() {
            return Progress::Going;
        }
        let stopped = self.next_transaction(shared, Instant::now());
        self.progress(shared, stopped, true)
    }

    /// Does all that its socket allows.
    pub fn advance(&mut self, shared: &mut Shared) -> Progress {
        let was_ready = self.is_ready();
        let buffer = mem::take(&mut shared.buffer);
        let (stopped, buffer) = self.pump(shared, buffer);
        shared.buffer = buffer;
        self.progress(shared, stopped, was_ready)
    }

    fn progress(
        &mut self,
        shared: &mut Shared,
        stopped: Result<(), Stop>,
        was_ready: bool,
    ) -> Progress {
        match stopped {
            Ok(()) if !was_ready && self.is_ready() => Progress::Ready,
            Ok(()) => Progress::Going,
            Err(Stop::Finished) => {
                self.close();
                Progress::Finished
            }
            Err(Stop::Lost(error)) => {
                // One that was under way ends so, and one that rests goes on resting.
                if let Some(due) = self.under_way() {
                    self.rest(shared, Instant::now());
                    shared.tally.failed(due);
                }
                self.close();
                Progress::Lost(error)
            }
        }
    }

    fn pump(&mut self, shared: &mut Shared, mut buffer: Vec<u8>) -> (Result<(), Stop>, Vec<u8>) {
        let result = self.pump_into(shared, &mut buffer);
        (result, buffer)
    }

    fn pump_into(&mut self, shared: &mut Shared, buffer: &mut [u8]) -> Result<(), Stop> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        if matches!(self.state, State::Connecting) {
            stream.connected()?;
            // The greeting fits any real server's; a longer one is cut and then refused.
            self.state = State::Login(Box::new((Login::default(), Frames::new(buffer.len()))));
        }
        stream.flush()?;
        loop {
            let Some(stream) = &mut self.stream else {
                return Ok(());
            };
            let count = match stream.read(buffer) {
                Ok(0) => return Err(lost("the server closed the connection")),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            // A short read has emptied the socket; later bytes raise a new edge.
            let is_drained = count < buffer.len() && stream.is_plain();
            self.feed(shared, &buffer[..count])?;
            if is_drained {
                return Ok(());
            }
        }
    }

    fn feed(&mut self, shared: &mut Shared, bytes: &[u8]) -> Result<(), Stop> {
        if matches!(self.state, State::Login(_)) {
            return self.login(shared, bytes);
        }
        match self.answer.feed(bytes) {
            Some(ended) => self.ended(shared, ended),
            None => Ok(()),
        }
    }

    fn login(&mut self, shared: &mut Shared, mut bytes: &[u8]) -> Result<(), Stop> {
        loop {
            let State::Login(login) = &mut self.state else {
                return Ok(());
            };
            let (login, frames) = &mut **login;
            let Some(packet) = frames.next(&mut bytes) else {
                return Ok(());
            };
            let step = login.packet(&shared.accounts[self.account], packet);
            self.login_step(shared, step)?;
        }
    }

    fn login_step(&mut self, shared: &mut Shared, step: Step) -> Result<(), Stop> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        match step {
            Step::Wait => Ok(()),
            Step::Send(bytes) => Ok(stream.send(&bytes)?),
            Step::StartTls(request, response) => {
                stream.send(&request)?;
                let tls = shared.tls.as_ref();
                stream.start_tls(tls.ok_or_else(|| lost("TLS is not set up"))?)?;
                Ok(stream.send(&response)?)
            }
            Step::Done { deprecate_eof } => {
                self.answer = Answer::new(deprecate_eof);
                self.prepared.clear();
                self.prepared.resize(shared.script.statements.len(), None);
                self.prepare_from(shared, 0)
            }
            Step::Refused(error) => Err(Stop::Lost(Box::new(error))),
        }
    }

    /// Prepares the next statement at or after `first`; when there is none it is ready.
    fn prepare_from(&mut self, shared: &mut Shared, first: usize) -> Result<(), Stop> {
        let statements = &shared.script.statements;
        let next = (first..statements.len()).find(|&index| statements[index].prepared);
        let Some(index) = next else {
            if shared.is_holding {
                self.state = State::Held;
                return Ok(());
            }
            let now = Instant::now();
            // What passed without a connection was no rest.
            self.rests_until = self.rests_until.max(now);
            return self.next_transaction(shared, now);
        };
        self.out.clear();
        encode::prepare(&mut self.out, &statements[index].sql());
        self.answer.expect_prepared();
        self.state = State::Preparing(index);
        self.send()
    }

    fn send(&mut self) -> Result<(), Stop> {
        match &mut self.stream {
            Some(stream) => Ok(stream.send(&self.out)?),
            None => Ok(()),
        }
    }

    fn ended(&mut self, shared: &mut Shared, ended: Ended) -> Result<(), Stop> {
        match (&self.state, ended) {
            (_, Ended::Garbled) => Err(lost("the server's answer is not MySQL's protocol")),
            (&State::Preparing(index), ended) => self.prepared(shared, index, ended),
            (&State::Running(step), Ended::Well { changed_rows }) => {
                self.statement_ended(shared, step, changed_rows)
            }
            (&State::Running(step), Ended::Failed(failure)) => self.failed(shared, step, failure),
            (State::RollingBack, _) => self.transaction_ended(shared, Instant::now()),
            _ => Err(lost("an answer to nothing")),
        }
    }

    fn prepared(&mut self, shared: &mut Shared, index: usize, ended: Ended) -> Result<(), Stop> {
        match ended {
            Ended::Prepared { id } => {
                let is_bound = false;
                self.prepared[index] = Some(Prepared { id, is_bound });
            }
            Ended::Failed(failure) if failure.number == UNSUPPORTED_PREPARED => {}
            Ended::Failed(failure) => {
                let sql = text(&shared.script.statements[index].sql());
                let message = format!("preparing `{sql}`: {}", self.answer.message());
                let error = ServerError::one(failure.number, failure.sqlstate(), message);
                return Err(Stop::Lost(Box::new(error)));
            }
            _ => return Err(lost("an odd answer to a preparation")),
        }
        self.prepare_from(shared, index + 1)
    }

    fn statement_ended(
        &mut self,
        shared: &mut Shared,
        step: usize,
        changed_rows: u64,
    ) -> Result<(), Stop> {
        let now = Instant::now();
        let kind = shared.script.statements[self.plan.statement(step)].kind;
        shared.tally.statement(kind, now - self.statement_start);
        self.changed_rows += changed_rows;
        if step + 1 < self.plan.len() {
            return self.send_step(shared, step + 1, now);
        }
        let since = (self.transaction_due, self.transaction_start);
        shared.tally.transaction(now, since, self.changed_rows);
        self.transaction_ended(shared, now)
    }

    fn failed(&mut self, shared: &mut Shared, step: usize, failure: Failure) -> Result<(), Stop> {
        let now = Instant::now();
        let (number, sqlstate) = (failure.number, failure.sqlstate());
        let message = || self.answer.message();
        shared.tally.error(now, number, sqlstate, message);
        shared.tally.failed(self.transaction_due);
        if !self.plan.is_explicit || step == 0 {
            return self.transaction_ended(shared, now);
        }
        self.out.clear();
        encode::query(&mut self.out, b"ROLLBACK");
        self.answer.expect_result();
        self.state = State::RollingBack;
        self.send()
    }

    fn transaction_ended(&mut self, shared: &mut Shared, now: Instant) -> Result<(), Stop> {
        self.rest(shared, now);
        self.next_transaction(shared, now)
    }

    /// From the end of its transaction on.
    fn rest(&mut self, shared: &Shared, end: Instant) {
        let begun = (self.rests_until, self.transaction_start);
        self.rests_until = shared.pace.map_or(end, |pace| pace.until(begun, end));
    }

    fn next_transaction(&mut self, shared: &mut Shared, now: Instant) -> Result<(), Stop> {
        if shared.is_stopping || self.left == Some(0) {
            self.out.clear();
            encode::quit(&mut self.out);
            self.send()?;
            return Err(Stop::Finished);
        }
        let Some(due) = shared.due(self.rests_until, now) else {
            self.state = State::Held;
            return Ok(());
        };
        self.left = self.left.map(|left| left - 1);
        self.plan.clear();
        shared.script.source.draw(&mut self.source, &mut self.plan);
        self.source.position += 1;
        self.changed_rows = 0;
        self.transaction_due = due;
        self.transaction_start = now;
        self.send_step(shared, 0, now)
    }

    fn send_step(&mut self, shared: &Shared, step: usize, now: Instant) -> Result<(), Stop> {
        let index = self.plan.statement(step);
        self.encode(&shared.script.statements[index], index, step);
        self.answer.expect_result();
        self.state = State::Running(step);
        self.statement_start = now;
        self.send()
    }

    fn encode(&mut self, template: &Template, index: usize, step: usize) {
        self.out.clear();
        let values = self.plan.values(step);
        match &mut self.prepared[index] {
            Some(prepared) => {
                encode::execute(&mut self.out, prepared.id, values, !prepared.is_bound);
                prepared.is_bound = true;
            }
            None => encode::query_with(&mut self.out, &template.pieces, values),
        }
    }
}
