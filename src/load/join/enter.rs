//! A driver's side of joining: it finds the run, believes its certificate alone, shows the token,
//! and then drives what it is told.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

use super::hello::{Answer, Hello, StudyName};
use super::relay::{End, Relay};
use super::ticket::Ticket;
use super::tls::{believing, is_other_certificate, mind, name};
use crate::error::{Error, Mistake, Result, Tried, breakdown};
use crate::load::driver::serve;

/// The variable that a token may be given in.
pub const TOKEN_VARIABLE: &str = "ACKLAB_TOKEN";
/// Between two looks for a run that is not there yet.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long connecting may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Where the token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketFrom {
    File(PathBuf),
    /// The value of [`TOKEN_VARIABLE`].
    Variable(Ticket),
}

/// What a driver is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `HOST:PORT`
    pub address: String,
    pub ticket: TicketFrom,
    /// The study that it is to drive; `None`: whichever the run has.
    pub study: Option<StudyName>,
    /// How long it looks for a run, and waits to be let in.
    pub within: Duration,
}

impl TicketFrom {
    /// The ticket names another certificate than the one at that address.
    fn is_of_another_run(&self, address: &str) -> Mistake {
        let allowed = format!(
            "is of another run: the certificate at {address} is not the one that it names; take \
             the file that this run wrote"
        );
        match self {
            TicketFrom::File(path) => {
                let given = path.display().to_string();
                Mistake::new("command line", "--token", &given, &allowed)
            }
            TicketFrom::Variable(_) => Mistake::new("environment", TOKEN_VARIABLE, "", &allowed),
        }
    }
}

/// Joins a run and drives its load until the run is over. `tell` hears, in whole words, how it
/// comes along.
///
/// # Errors
/// A mistake if the run does not take it, a breakdown if there is none in time or it is cut off.
pub fn join(entry: &Entry, tell: &mut dyn FnMut(String)) -> Result<()> {
    let begun = Instant::now();
    let (mut told, mut stale) = (String::new(), None);
    let inside = loop {
        let why = match knock(entry, begun, &mut stale)? {
            Ok(inside) => break inside,
            Err(why) => why,
        };
        if why != told {
            tell(format!("waiting for a run at {}: {why}", entry.address));
        }
        if begun.elapsed() >= entry.within {
            return Err(nobody(entry, &why, stale.is_some()));
        }
        told = why;
        std::thread::sleep(LOOK_EVERY);
    };
    tell(inside.welcome.clone());
    drive(inside, &entry.address)
}

/// What is told of a driver that was not let in in time.
fn nobody(entry: &Entry, why: &str, is_of_another: bool) -> Error {
    if is_of_another {
        return entry.ticket.is_of_another_run(&entry.address).into();
    }
    let status = format!("none in {} s: {why}", entry.within.as_secs());
    breakdown(format!("join a run at {}", entry.address), status)
}

/// A connection to a run that has let us in.
pub struct Inside {
    stream: BufReader<StreamOwned<ClientConnection, TcpStream>>,
    /// What the run said, in words.
    welcome: String,
}

#[cfg(test)]
impl Inside {
    /// What is said there, in clear.
    pub fn stream(&mut self) -> &mut BufReader<StreamOwned<ClientConnection, TcpStream>> {
        &mut self.stream
    }
}

/// Why we are not inside yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotYet {
    /// In words.
    Nobody(String),
    /// Somebody else's certificate is there than the one that the ticket names.
    AnotherRun,
}

/// Comes in, or says in words why not yet. `stale` is a ticket that was found to be of another run
/// than the one that is there. A run that begins writes its file anew: until then nobody knocks
/// with the old one.
fn knock(
    entry: &Entry,
    begun: Instant,
    stale: &mut Option<Ticket>,
) -> Result<std::result::Result<Inside, String>> {
    let is_old = |path: &Path| format!("{} is of another run; it is read again", path.display());
    let ticket = match &entry.ticket {
        TicketFrom::Variable(ticket) => ticket.clone(),
        TicketFrom::File(path) => match std::fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                *stale = None;
                return Ok(Err(format!("{} is not there", path.display())));
            }
            text => {
                let ticket = ticket_in(path.display().to_string(), text)?;
                if stale.as_ref() == Some(&ticket) {
                    return Ok(Err(is_old(path)));
                }
                ticket
            }
        },
    };
    *stale = None;
    let socket = match connect(&entry.address) {
        Ok(socket) => socket,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let left = entry.within.saturating_sub(begun.elapsed());
    let hello = Hello::of(&ticket, entry.study.clone());
    let why = match enter(socket, (&entry.address, left), &ticket, &hello)? {
        Ok(inside) => return Ok(Ok(inside)),
        Err(why) => why,
    };
    match (why, &entry.ticket) {
        (NotYet::Nobody(why), _) => Ok(Err(why)),
        (NotYet::AnotherRun, TicketFrom::File(path)) => {
            *stale = Some(ticket);
            Ok(Err(is_old(path)))
        }
        // What is in a variable stays as it is.
        (NotYet::AnotherRun, TicketFrom::Variable(_)) => {
            Err(entry.ticket.is_of_another_run(&entry.address).into())
        }
    }
}

fn ticket_in(place: String, text: io::Result<String>) -> Result<Ticket> {
    let wrong = |allowed: &str| Mistake::new("command line", "--token", &place, allowed);
    let text = text.map_err(|error| wrong(&format!("must be a file that can be read: {error}")))?;
    let allowed = "must be the file that the run wrote, as it is";
    Ok(Ticket::read(&text).ok_or_else(|| wrong(allowed))?)
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::other("no address is known for this name");
    for target in address.to_socket_addrs()? {
        let target: SocketAddr = target;
        match TcpStream::connect_timeout(&target, CONNECT_LIMIT) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Says who it is over a new connection, and hears the answer, which may take so long: a run that
/// has all its drivers looks at others when it loses one.
///
/// # Errors
/// A mistake if the run does not take it.
pub fn enter(
    socket: TcpStream,
    (address, within): (&str, Duration),
    ticket: &Ticket,
    hello: &Hello,
) -> Result<std::result::Result<Inside, NotYet>> {
    let tried = || format!("join a run at {address}");
    mind(&socket)?;
    let limit = Some(within.max(LOOK_EVERY));
    socket.set_read_timeout(limit).tried(tried)?;
    let tls = ClientConnection::new(believing(&ticket.fingerprint), name()).tried(tried)?;
    let mut stream = BufReader::new(StreamOwned::new(tls, socket));
    let mut line = serde_json::to_vec(hello).tried(tried)?;
    line.push(b'\n');
    let mut answer = String::new();
    let own = stream.get_mut();
    let said = own.write_all(&line).and_then(|()| own.flush());
    let heard = said.and_then(|()| stream.read_line(&mut answer));
    match heard {
        Err(error) if is_other_certificate(&error) => return Ok(Err(NotYet::AnotherRun)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            let why = "it has all the drivers that it waits for".to_owned();
            return Ok(Err(NotYet::Nobody(why)));
        }
        Err(error) => return Ok(Err(NotYet::Nobody(error.to_string()))),
        Ok(0) => return Ok(Err(NotYet::Nobody("it closed the connection".to_owned()))),
        Ok(_) => {}
    }
    match serde_json::from_str(&answer).tried(tried)? {
        Answer::Refused { why } => {
            let sentence = format!("the run at {address} does not take this driver: {why}");
            Err(Mistake::state(&sentence).into())
        }
        Answer::Welcome { number, of, study } => Ok(Ok(Inside {
            stream,
            welcome: format!("joined the run of {study} at {address} as driver {number} of {of}"),
        })),
    }
}

/// Drives what the run says, until it is over.
///
/// # Errors
/// A breakdown if the run is gone without a word, or has given this driver up.
pub fn drive(inside: Inside, address: &str) -> Result<()> {
    let tried = || format!("drive the load of the run at {address}");
    let commands = inside.stream.buffer().to_vec();
    let StreamOwned { conn, sock } = inside.stream.into_inner();
    let (ours, theirs) = UnixStream::pair().tried(tried)?;
    let relay = Relay::between(conn, sock, (theirs, commands)).tried(tried)?;
    let relay = std::thread::Builder::new()
        .name("relay".to_owned())
        .spawn(move || relay.run())
        .tried(tried)?;
    let output = ours.try_clone().tried(tried)?;
    let served = serve(ours, output);
    let end = relay.join().unwrap_or(End::Cut);
    match end {
        End::Over => Ok(()),
        End::Cut => Err(breakdown(tried(), "the run is gone without a word")),
        End::Driver => served,
    }
}
