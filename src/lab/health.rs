//! Whether a server takes writes, told to whoever checks its health: what the well-known set-ups
//! run beside each server for the HAProxy before them. A process of its own (`acklab health`,
//! hidden) in the node's network namespace, so that cut links cut it off, too.
//!
//! It answers each HTTP request with 200 if its server takes writes, and with 503 if it does not,
//! or says nothing: one that is dead, or paused. It ends when the socket to its parent does.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::child::{Child, Manner};
use super::mode::component::{self, Component};
use super::mode::members::View;
use super::mode::regroup;
use super::sql::{Admin, Row, SqlError};
use crate::error::{Result, Tried};

/// Where health is told: the usual port of such checks.
pub const PORT: u16 = 9200;

const TRIED: &str = "tell the health of a server";
/// It listens as soon as it runs.
const START_LIMIT: Duration = Duration::from_secs(5);
/// A server that does not answer for so long takes no writes.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);
/// Whoever asks may take so long to ask, and to be told.
const ASK_LIMIT: Duration = Duration::from_secs(1);
/// A request for a server's health is no longer.
const REQUEST_BYTES_MAX: u64 = 4096;

const READ_ONLY: &str = "SELECT @@GLOBAL.read_only AS refuses";
/// The members of a group, and whether the one that is asked refuses writes.
const MEMBERS: &str = "SELECT MEMBER_HOST, MEMBER_STATE, MEMBER_ROLE, \
                       @@GLOBAL.read_only AS refuses \
                       FROM performance_schema.replication_group_members";

/// Which server takes writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// One that is not read-only.
    Writable,
    /// A member of a group that is, besides, ONLINE, a primary, and hears a majority.
    Primary {
        /// Index of its node.
        by: usize,
        /// Of all nodes, as members are named.
        addresses: Vec<String>,
    },
    /// A node of Galera that is ready, Synced, and in the primary component.
    Synced,
}

/// Whose health is told, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub listen: SocketAddrV4,
    /// The server's Unix socket.
    pub socket: PathBuf,
    pub question: Question,
}

/// The one line from the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reply {
    Listening,
    Failed(String),
}

/// A process that tells the health of a server. Dropped, it is ended.
#[derive(Debug)]
pub struct Responder(Child);

impl Responder {
    /// Starts one; `command` runs `acklab health` at the node, which is called that.
    ///
    /// # Errors
    /// A breakdown if it does not come to listen.
    pub fn start(command: Command, node: &str, task: &Task) -> Result<Responder> {
        let manner = Manner {
            name: format!("the health check of {node}"),
            answer_limit: Some(START_LIMIT),
            ends_itself: false,
        };
        let mut child = Child::spawn(command, manner)?;
        match child.ask(TRIED, task)? {
            Reply::Listening => Ok(Responder(child)),
            Reply::Failed(reason) => Err(child.refused(TRIED, reason)),
        }
    }

    /// A breakdown with its last words if it has ended.
    ///
    /// # Errors
    /// As said.
    pub fn check_alive(&mut self) -> Result<()> {
        self.0.check_alive(TRIED)
    }
}

/// Tells the health of a server as it is asked to: the task comes from `stdin`, one reply to it
/// goes to `stdout`, both JSON lines. Returns when `stdin` ends: with this process all is over.
///
/// # Errors
/// A breakdown if the parent cannot be read or answered.
pub fn serve(stdin: impl Read, mut stdout: impl Write) -> Result<()> {
    for line in BufReader::new(stdin).lines() {
        let line = line.tried(|| "read the input of health".to_owned())?;
        let reply = match serde_json::from_str(&line) {
            Ok(task) => begin(task),
            Err(error) => Reply::Failed(error.to_string()),
        };
        let mut text = serde_json::to_string(&reply).tried(|| "write an answer".to_owned())?;
        text.push('\n');
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush())
            .tried(|| "answer".to_owned())?;
    }
    Ok(())
}

/// Listens, and tells whoever connects, one after the other, until the process ends.
fn begin(task: Task) -> Reply {
    let listener = match TcpListener::bind(task.listen) {
        Ok(listener) => listener,
        Err(error) => return Reply::Failed(format!("listen at {}: {error}", task.listen)),
    };
    let mut server = Server { task, admin: None };
    thread::spawn(move || {
        for asking in listener.incoming().flatten() {
            // Who has gone meanwhile need not be told.
            let _ = tell(asking, &mut server);
        }
    });
    Reply::Listening
}

fn tell(asking: TcpStream, server: &mut Server) -> io::Result<()> {
    asking.set_read_timeout(Some(ASK_LIMIT))?;
    asking.set_write_timeout(Some(ASK_LIMIT))?;
    answer(asking, || server.takes_writes())
}

/// Reads a request up to its empty line, and answers it. What was not read would be answered by a
/// reset.
fn answer(mut asking: impl Read + Write, takes_writes: impl FnOnce() -> bool) -> io::Result<()> {
    for line in BufReader::new(Read::by_ref(&mut asking).take(REQUEST_BYTES_MAX)).lines() {
        if line?.is_empty() {
            break;
        }
    }
    asking.write_all(said(takes_writes()).as_bytes())
}

fn said(takes_writes: bool) -> String {
    let (status, body) = match takes_writes {
        true => ("200 OK", "It takes writes.\n"),
        false => ("503 Service Unavailable", "It takes no writes.\n"),
    };
    let length = body.len();
    format!(
        "HTTP/1.0 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

/// A server that is asked again and again, over one connection for as long as it answers.
struct Server {
    task: Task,
    admin: Option<Admin>,
}

impl Server {
    fn takes_writes(&mut self) -> bool {
        self.asked().unwrap_or(false)
    }

    fn asked(&mut self) -> std::result::Result<bool, SqlError> {
        let mut admin = match self.admin.take() {
            Some(admin) => admin,
            None => self.connect()?,
        };
        let takes_writes = self.task.question.put(&mut admin)?;
        // Only now: a late answer would be taken for that to the next question.
        self.admin = Some(admin);
        Ok(takes_writes)
    }

    fn connect(&self) -> std::result::Result<Admin, SqlError> {
        let mut admin = Admin::connect_within(&self.task.socket, ANSWER_LIMIT)?;
        if matches!(self.task.question, Question::Primary { .. }) {
            admin.run(regroup::CALM)?;
        }
        Ok(admin)
    }
}

impl Question {
    fn put(&self, admin: &mut Admin) -> std::result::Result<bool, SqlError> {
        Ok(match self {
            Question::Writable => is_open(&admin.rows(READ_ONLY)?),
            Question::Primary { by, addresses } => {
                is_primary(*by, addresses, &admin.rows(MEMBERS)?)
            }
            Question::Synced => Component::read(&admin.pairs(component::ASK)?).is_synced(),
        })
    }
}

/// Whether a server says that it is not read-only. A switch of more than two positions is told as a
/// word.
fn is_open(rows: &[Row]) -> bool {
    let refuses = rows.first().and_then(|row| row.get("refuses"));
    refuses.is_some_and(|said| said == "0" || said.eq_ignore_ascii_case("OFF"))
}

fn is_primary(by: usize, addresses: &[String], rows: &[Row]) -> bool {
    let view = View::read(by, rows, addresses);
    is_open(rows) && view.has_majority() && view.primaries().contains(&by)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::Path;
    use std::time::Instant;

    use super::*;

    fn row(columns: &[(&str, &str)]) -> Row {
        let owned = columns.iter();
        owned
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    /// What is answered to a request, where the server does that.
    fn answered(request: &str, takes_writes: bool) -> String {
        let (mut asking, told) = UnixStream::pair().unwrap();
        asking.write_all(request.as_bytes()).unwrap();
        answer(told, || takes_writes).unwrap();
        let mut text = String::new();
        asking.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_check_is_told_by_a_status_and_a_whole_answer() {
        // As HAProxy asks, and as people do.
        let person = "GET / HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n";
        for request in ["OPTIONS / HTTP/1.0\r\n\r\n", person] {
            let well = answered(request, true);
            assert!(well.starts_with("HTTP/1.0 200 OK\r\n"), "{well}");
            let badly = answered(request, false);
            assert!(badly.starts_with("HTTP/1.0 503 "), "{badly}");
            for text in [well, badly] {
                let (head, body) = text.split_once("\r\n\r\n").expect("an empty line");
                let length = format!("Content-Length: {}", body.len());
                assert!(head.lines().any(|line| line == length), "{text}");
            }
        }
    }

    #[test]
    fn only_who_says_that_it_is_not_read_only_takes_writes() {
        let said = |value: &str| is_open(&[row(&[("refuses", value)])]);
        assert!(said("0") && said("OFF"));
        for no in ["1", "ON", "NO_LOCK", ""] {
            assert!(!said(no), "{no}");
        }
        assert!(!is_open(&[]) && !is_open(&[Row::new()]));
    }

    #[test]
    fn of_a_group_its_primary_in_a_majority_takes_writes() {
        let addresses = ["198.18.0.1", "198.18.0.2", "198.18.0.3"].map(str::to_owned);
        let is_up = |by: usize, refuses: &str, said: [(&str, &str); 3]| {
            let rows = addresses.iter().zip(said).map(|(host, (state, role))| {
                row(&[
                    ("MEMBER_HOST", &host[..]),
                    ("MEMBER_STATE", state),
                    ("MEMBER_ROLE", role),
                    ("refuses", refuses),
                ])
            });
            is_primary(by, &addresses, &rows.collect::<Vec<Row>>())
        };
        let (first, second) = (("ONLINE", "PRIMARY"), ("ONLINE", "SECONDARY"));
        assert!(is_up(0, "0", [first, second, second]));
        assert!(!is_up(1, "1", [first, second, second]));
        // It has been elected, and still applies what it had received.
        assert!(!is_up(0, "1", [first, second, second]));
        assert!(!is_up(0, "0", [("RECOVERING", "PRIMARY"), second, second]));
        let gone = ("UNREACHABLE", "SECONDARY");
        assert!(!is_up(0, "0", [first, gone, gone]));
        assert!(is_up(0, "0", [first, second, gone]));
        // Of several primaries each does.
        assert!((0..3).all(|by| is_up(by, "0", [first; 3])));
    }

    fn server(socket: &Path) -> Server {
        Server {
            task: Task {
                listen: SocketAddrV4::new([127, 0, 0, 1].into(), 0),
                socket: socket.to_owned(),
                question: Question::Writable,
            },
            admin: None,
        }
    }

    #[test]
    fn a_server_that_is_dead_or_says_nothing_takes_no_writes() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("sock");
        assert!(!server(&socket).takes_writes());
        // Connections to one that is paused are made, and nothing comes from it.
        let paused = UnixListener::bind(&socket).unwrap();
        let begun = Instant::now();
        assert!(!server(&socket).takes_writes());
        assert!(begun.elapsed() >= ANSWER_LIMIT / 2);
        assert!(begun.elapsed() < ANSWER_LIMIT * 10);
        drop(paused);
    }

    #[test]
    fn a_task_that_cannot_be_done_is_told() {
        // An address that is nobody's.
        let nowhere = Task {
            listen: SocketAddrV4::new([203, 0, 113, 1].into(), PORT),
            ..server(Path::new("/nonexistent")).task
        };
        let lines = format!("{}\nnonsense\n", serde_json::to_string(&nowhere).unwrap());
        let mut out = Vec::new();
        serve(lines.as_bytes(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let replies: Vec<Reply> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let [Reply::Failed(listen), Reply::Failed(_)] = &replies[..] else {
            panic!("{replies:?}");
        };
        assert!(
            listen.starts_with("listen at 203.0.113.1:9200: "),
            "{listen}"
        );
    }
}
