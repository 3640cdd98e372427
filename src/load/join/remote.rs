//! The run's end of a driver that has joined: lines through TLS.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustls::{ServerConnection, StreamOwned};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::lab::sandbox::stop_asked;
use crate::load::job::{Command, Reply};

/// A request to stop is looked for as often while an answer is waited for.
const LISTEN: Duration = Duration::from_millis(200);
/// How long the network may take to take a line.
const SEND_LIMIT: Duration = Duration::from_secs(10);
/// The longest answer: seconds of some hours.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// A connection through TLS, from the run's side.
type Tls = StreamOwned<ServerConnection, Timed>;

/// A socket of somebody who may be a stranger. TLS reads on by itself for as long as bytes come:
/// so what they may take at most, and a request to stop, are looked at below it.
struct Timed {
    socket: TcpStream,
    /// No more is read after this; `None` of somebody who was let in.
    until: Option<Instant>,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.until {
            Some(until) if Instant::now() >= until || stop_asked() => {
                Err(ErrorKind::WouldBlock.into())
            }
            _ => self.socket.read(buffer),
        }
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// Why somebody is no longer there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub why: String,
    /// Nothing was heard of its end: it may not know that it is lost, and go on with its load.
    pub is_silent: bool,
}

impl Lost {
    /// It has ended, or hears at once that it was given up.
    pub fn told(why: impl Into<String>) -> Lost {
        Lost {
            why: why.into(),
            is_silent: false,
        }
    }

    fn silent(why: String) -> Lost {
        Lost {
            why,
            is_silent: true,
        }
    }
}

/// A line at a time, both ways.
pub struct Lines {
    stream: BufReader<Tls>,
    /// A line that is not whole yet.
    partial: Vec<u8>,
}

impl Lines {
    /// Over a blocking socket; TLS begins with the first line. Nothing is heard of a stranger
    /// after that moment.
    ///
    /// # Errors
    /// The system refuses a limit of time.
    pub fn over(tls: ServerConnection, socket: TcpStream, until: Instant) -> io::Result<Lines> {
        socket.set_read_timeout(Some(LISTEN))?;
        socket.set_write_timeout(Some(SEND_LIMIT))?;
        let until = Some(until);
        Ok(Lines {
            stream: BufReader::new(StreamOwned::new(tls, Timed { socket, until })),
            partial: Vec::new(),
        })
    }

    /// The other end is no stranger any more.
    pub fn let_in(&mut self) {
        self.stream.get_mut().sock.until = None;
    }

    /// Sends a line.
    pub fn send(&mut self, message: &impl Serialize) -> std::result::Result<(), Lost> {
        let line = serde_json::to_vec(message).map_err(|error| Lost::told(error.to_string()))?;
        let stream = self.stream.get_mut();
        let sent = stream
            .write_all(&line)
            .and_then(|()| stream.write_all(b"\n"))
            .and_then(|()| stream.flush());
        sent.map_err(|error| match is_silence(&error) {
            true => Lost::silent(format!("it took nothing for {} s", SEND_LIMIT.as_secs())),
            false => of_connection(&error),
        })
    }

    /// Waits for a line, of at most so many bytes, until then.
    ///
    /// # Errors
    /// An interruption if the user asks to stop.
    pub fn receive<T: DeserializeOwned>(
        &mut self,
        (begun, limit): (Instant, Duration),
        bytes_max: usize,
    ) -> Result<std::result::Result<T, Lost>> {
        loop {
            let room = bytes_max.saturating_sub(self.partial.len()) as u64;
            let mut read = self.stream.by_ref().take(room);
            match read.read_until(b'\n', &mut self.partial) {
                Ok(_) if self.partial.ends_with(b"\n") => {
                    let line = std::mem::take(&mut self.partial);
                    let read = serde_json::from_slice(&line);
                    let wrong = |error: serde_json::Error| {
                        Lost::told(format!("its answer is none: {error}"))
                    };
                    return Ok(read.map_err(wrong));
                }
                Ok(_) if self.partial.len() >= bytes_max => {
                    return Ok(Err(Lost::told("its answer is too long")));
                }
                Ok(_) => return Ok(Err(Lost::told("it closed the connection"))),
                Err(error) if is_silence(&error) || error.kind() == ErrorKind::Interrupted => {
                    if stop_asked() {
                        return Err(Error::Interrupted);
                    }
                    if begun.elapsed() >= limit {
                        let within = limit.as_secs();
                        let why = format!("no answer in {within} s");
                        return Ok(Err(Lost::silent(why)));
                    }
                }
                Err(error) => return Ok(Err(of_connection(&error))),
            }
        }
    }

    /// Tells the other end that this is an end that was meant. Without it the other takes a cut for
    /// what it is.
    pub fn end(&mut self) {
        let stream = self.stream.get_mut();
        stream.conn.send_close_notify();
        let _ = stream.conn.write_tls(&mut stream.sock);
    }
}

/// A limit of a socket is over. What the system says of a peer that is gone is another error.
fn is_silence(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}

fn of_connection(error: &io::Error) -> Lost {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            Lost::told("its connection was cut")
        }
        _ => Lost::silent(error.to_string()),
    }
}

/// A driver that has joined.
pub struct Remote {
    /// `driver 3 (h17, 10.0.0.9)`
    pub name: String,
    /// What its machine calls itself.
    pub host: String,
    lines: Lines,
}

impl Remote {
    /// One that was let in.
    pub fn of(name: String, host: String, lines: Lines) -> Remote {
        Remote { name, host, lines }
    }

    /// Asks for something.
    pub fn send(&mut self, command: &Command) -> std::result::Result<(), Lost> {
        self.lines.send(command)
    }

    /// Waits for the answer, so long after then at most.
    ///
    /// # Errors
    /// An interruption if the user asks to stop.
    pub fn receive(
        &mut self,
        asked: (Instant, Duration),
    ) -> Result<std::result::Result<Reply, Lost>> {
        self.lines.receive(asked, ANSWER_BYTES_MAX)
    }

    /// Tells it that the run is over.
    pub fn end(&mut self) {
        self.lines.end();
    }
}
