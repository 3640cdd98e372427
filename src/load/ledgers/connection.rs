//! One connection: from its socket to the answers, one command at a time.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use crate::load::stream::{Stream, Tls};
use crate::load::wire::answer::{Answer, Ended};
use crate::load::wire::encode;
use crate::load::wire::frame::Frames;
use crate::load::wire::login::{Account, Login, Step};
use crate::record::server_errors::ServerError;

/// Who logs in, and how.
pub struct Terms {
    pub account: Account,
    pub tls: Option<Tls>,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// It has logged in.
    Ready,
    /// The command has ended well.
    Well,
    /// The command has ended with an error.
    Failed(ServerError),
}

/// Why a connection cannot go on.
#[derive(Debug, PartialEq, Eq)]
pub struct Lost(pub String);

/// A connection, as far as it has come.
pub struct Connection {
    stream: Stream,
    stage: Stage,
    answer: Answer,
    out: Vec<u8>,
}

enum Stage {
    Connecting,
    Login(Box<(Login, Frames)>),
    Open,
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        Lost(error.to_string())
    }
}

fn lost(reason: &str) -> Lost {
    Lost(reason.to_owned())
}

impl Connection {
    /// Begins to connect.
    ///
    /// # Errors
    /// When the system refuses a socket, or the way there.
    pub fn open(target: SocketAddr) -> io::Result<Connection> {
        Ok(Connection {
            stream: Stream::connect(target)?,
            stage: Stage::Connecting,
            answer: Answer::new(false),
            out: Vec::new(),
        })
    }

    /// Sends a statement in text. The last one must have been answered.
    ///
    /// # Errors
    /// Why the connection is lost.
    pub fn ask(&mut self, sql: &str) -> Result<(), Lost> {
        self.out.clear();
        encode::query(&mut self.out, sql.as_bytes());
        self.answer.expect_result();
        Ok(self.stream.send(&self.out)?)
    }

    /// Ends the session in order, as far as the socket takes it.
    pub fn quit(&mut self) {
        if matches!(self.stage, Stage::Open) {
            self.out.clear();
            encode::quit(&mut self.out);
            // Whoever is gone need not be told.
            let _ = self.stream.send(&self.out);
        }
    }

    /// Does what the socket allows, until something has come of it; `None` when there is nothing
    /// more to be read. Rows of an answer go to `row` as they come.
    ///
    /// # Errors
    /// Why the connection is lost.
    pub fn hear(
        &mut self,
        terms: &Terms,
        buffer: &mut [u8],
        row: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Heard>, Lost> {
        if matches!(self.stage, Stage::Connecting) {
            self.stream.connected()?;
            // The greeting fits any real server's; a longer one is cut and then refused.
            self.stage = Stage::Login(Box::new((Login::default(), Frames::new(buffer.len()))));
        }
        self.stream.flush()?;
        loop {
            let count = match self.stream.read(buffer) {
                Ok(0) => return Err(lost("the server closed the connection")),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            let heard = self.feed(terms, &buffer[..count], row)?;
            if heard.is_some() {
                return Ok(heard);
            }
        }
    }

    fn feed(
        &mut self,
        terms: &Terms,
        bytes: &[u8],
        row: &mut dyn FnMut(&[u8]),
    ) -> Result<Option<Heard>, Lost> {
        if matches!(self.stage, Stage::Login(_)) {
            return self.login(terms, bytes);
        }
        match self.answer.feed_rows(bytes, row) {
            None => Ok(None),
            Some(Ended::Well { .. }) => Ok(Some(Heard::Well)),
            Some(Ended::Failed(failure)) => {
                let (number, sqlstate) = (failure.number, failure.sqlstate());
                let error = ServerError::one(number, sqlstate, self.answer.message());
                Ok(Some(Heard::Failed(error)))
            }
            Some(Ended::Prepared { .. } | Ended::Garbled) => {
                Err(lost("the server's answer is not MySQL's protocol"))
            }
        }
    }

    fn login(&mut self, terms: &Terms, mut bytes: &[u8]) -> Result<Option<Heard>, Lost> {
        loop {
            let Stage::Login(login) = &mut self.stage else {
                return Ok(None);
            };
            let (login, frames) = &mut **login;
            let Some(packet) = frames.next(&mut bytes) else {
                return Ok(None);
            };
            let step = login.packet(&terms.account, packet);
            let heard = self.login_step(terms, step)?;
            if heard.is_some() {
                return Ok(heard);
            }
        }
    }

    fn login_step(&mut self, terms: &Terms, step: Step) -> Result<Option<Heard>, Lost> {
        match step {
            Step::Wait => {}
            Step::Send(bytes) => self.stream.send(&bytes)?,
            Step::StartTls(request, response) => {
                self.stream.send(&request)?;
                let tls = terms.tls.as_ref();
                let tls = tls.ok_or_else(|| lost("TLS is not set up"))?;
                self.stream.start_tls(tls)?;
                self.stream.send(&response)?;
            }
            Step::Done { deprecate_eof } => {
                self.answer = Answer::new(deprecate_eof);
                self.stage = Stage::Open;
                return Ok(Some(Heard::Ready));
            }
            Step::Refused(error) => return Err(Lost(error.to_string())),
        }
        Ok(None)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
