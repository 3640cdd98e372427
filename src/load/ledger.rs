//! A ledger: numbered rows, one a transaction, and what each client was told of its own.
//!
//! A few sessions over a server's Unix socket, for audits: what matters here is every single
//! answer, not the rate. A number is used once, so that a row says which transaction it was.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use crate::error::{Result, Tried};
use crate::lab::servers::datadir::{DATABASE, PASSWORD, USER};
pub use crate::record::trial::Outcomes;

/// The ledger's table.
pub const TABLE: &str = "ledger";

/// After this long without an answer a session gives up: its number stays unanswered.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// The statement that makes the ledger's table.
pub fn create_table() -> String {
    format!("CREATE TABLE IF NOT EXISTS {DATABASE}.{TABLE} (id BIGINT PRIMARY KEY) ENGINE=InnoDB")
}

/// Sessions at work.
pub struct Ledger {
    shared: Arc<Shared>,
    sessions: Vec<JoinHandle<()>>,
}

struct Shared {
    socket: PathBuf,
    next: AtomicU64,
    is_over: AtomicBool,
    heard: Mutex<Heard>,
}

/// What has arrived at the clients.
#[derive(Default)]
struct Heard {
    outcomes: Outcomes,
    /// The link is cut: no answer arrives any more.
    is_deaf: bool,
}

/// A server's answer, or none.
enum Answer {
    Acknowledged,
    Refused,
    Nothing,
}

impl Shared {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, number: u64, answer: &Answer) {
        let mut heard = self.heard();
        let is_deaf = heard.is_deaf;
        let outcomes = &mut heard.outcomes;
        let numbers = match answer {
            _ if is_deaf => &mut outcomes.unanswered,
            Answer::Acknowledged => &mut outcomes.acknowledged,
            Answer::Refused => &mut outcomes.refused,
            Answer::Nothing => &mut outcomes.unanswered,
        };
        numbers.insert(number);
    }
}

impl Ledger {
    /// Connects `sessions` clients to the server at `socket`; they insert numbers from `first` on
    /// until they are stopped or their server is gone.
    ///
    /// # Errors
    /// A breakdown if the server does not let them in.
    pub fn start(socket: &Path, sessions: u32, first: u64) -> Result<Ledger> {
        let shared = Arc::new(Shared {
            socket: socket.to_owned(),
            next: AtomicU64::new(first),
            is_over: AtomicBool::new(false),
            heard: Mutex::default(),
        });
        let connect = || connect(&shared.socket).tried(|| "connect a ledger's session".into());
        let connections = (0..sessions)
            .map(|_| connect())
            .collect::<Result<Vec<Conn>>>()?;
        let begin = |connection| {
            let shared = shared.clone();
            std::thread::spawn(move || insert_until_over(connection, &shared))
        };
        let sessions = connections.into_iter().map(begin).collect();
        Ok(Ledger { shared, sessions })
    }

    /// Transactions acknowledged so far.
    pub fn acknowledged(&self) -> usize {
        self.shared.heard().outcomes.acknowledged.len()
    }

    /// Cuts the clients' link: whatever the server says from now on, nobody is told. What is about
    /// to lose its power can go on answering until it is ended, from memory alone.
    pub fn go_deaf(&self) {
        self.shared.heard().is_deaf = true;
    }

    /// Ends the sessions after their present transaction, or when their server is gone.
    pub fn stop(self) -> Outcomes {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for session in self.sessions {
            let _ = session.join();
        }
        std::mem::take(&mut self.shared.heard().outcomes)
    }
}

fn connect(socket: &Path) -> std::result::Result<Conn, mysql::Error> {
    let options = OptsBuilder::new()
        .user(Some(USER))
        .pass(Some(PASSWORD))
        .db_name(Some(DATABASE))
        .prefer_socket(false)
        .read_timeout(Some(ANSWER_LIMIT))
        .socket(Some(socket.display().to_string()));
    Conn::new(options)
}

fn insert_until_over(mut connection: Conn, shared: &Shared) {
    while !shared.is_over.load(Ordering::Relaxed) {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        let answer = connection.query_drop(format!("INSERT INTO {TABLE} VALUES ({number})"));
        let answer = match answer {
            Ok(()) => Answer::Acknowledged,
            Err(mysql::Error::MySqlError(_)) => Answer::Refused,
            Err(_) => Answer::Nothing,
        };
        shared.note(number, &answer);
        if !matches!(answer, Answer::Acknowledged) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_after_the_link_was_cut_is_not_heard() {
        let shared = Arc::new(Shared {
            socket: PathBuf::new(),
            next: AtomicU64::new(1),
            is_over: AtomicBool::new(false),
            heard: Mutex::default(),
        });
        let ledger = Ledger {
            shared: shared.clone(),
            sessions: vec![],
        };
        shared.note(1, &Answer::Acknowledged);
        shared.note(2, &Answer::Refused);
        ledger.go_deaf();
        shared.note(3, &Answer::Acknowledged);
        shared.note(4, &Answer::Refused);
        assert_eq!(ledger.acknowledged(), 1);
        let outcomes = ledger.stop();
        assert_eq!(outcomes.acknowledged, [1].into());
        assert_eq!(outcomes.refused, [2].into());
        assert_eq!(outcomes.unanswered, [3, 4].into());
    }
}
