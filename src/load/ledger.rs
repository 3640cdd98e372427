//! A ledger: numbered rows, one a transaction, and what each client was told of its own.
//!
//! A few sessions over a server's Unix socket, for audits: what matters here is every single
//! answer, not the rate. A number is used once, so that a row says which transaction it was.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use crate::error::{Result, Tried};
use crate::lab::servers::datadir::{DATABASE, PASSWORD, USER};
pub use crate::record::trial::{Outcomes, Timed};

/// The ledger's table.
pub const TABLE: &str = "ledger";

/// After this long without an answer a session gives up: its number stays unanswered.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);

/// Errors that say that a transaction of one statement was rolled back, and why that is sure:
/// "InnoDB Error Handling" (1062, 1114, 1205, 1213) and "Server Error Message Reference" in the
/// MySQL Reference Manual. After any other error the transaction may be there or not, above all
/// after those of a commit under way: 1180 (`ER_ERROR_DURING_COMMIT`), 1317 (interrupted), 1053
/// (shutdown), 3100 (the hook of a group).
const REFUSALS: [(u16, &str); 7] = [
    (1062, "duplicate key: the statement is rolled back"),
    (1114, "table full: the statement is rolled back"),
    (1205, "lock wait timeout: the statement is rolled back"),
    (1213, "deadlock: the transaction is rolled back"),
    (1290, "read_only: refused before anything is written"),
    (1836, "read-only mode: refused before anything is written"),
    (3101, "certification in a group: rolled back by the server"),
];

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
    /// When the load began.
    start: Instant,
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

    /// Since the load began.
    fn now_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn note(&self, number: u64, begun_us: u64, answer: &Answer) {
        let mut heard = self.heard();
        let answered = matches!(answer, Answer::Acknowledged | Answer::Refused);
        let answered_us = (answered && !heard.is_deaf).then(|| self.now_us());
        heard
            .outcomes
            .times
            .push(Timed(number, begun_us, answered_us));
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
            start: Instant::now(),
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
    ///
    /// When that was, in µs since the load began.
    pub fn go_deaf(&self) -> u64 {
        let mut heard = self.shared.heard();
        heard.is_deaf = true;
        self.shared.now_us()
    }

    /// The time since the load began, in µs: the clock of [`Outcomes::times`].
    pub fn now_us(&self) -> u64 {
        self.shared.now_us()
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
        let begun_us = shared.now_us();
        let answer = connection.query_drop(format!("INSERT INTO {TABLE} VALUES ({number})"));
        let answer = match answer {
            Ok(()) => Answer::Acknowledged,
            Err(mysql::Error::MySqlError(error)) => after_error(error.code),
            Err(_) => Answer::Nothing,
        };
        shared.note(number, begun_us, &answer);
        if !matches!(answer, Answer::Acknowledged) {
            return;
        }
    }
}

/// What an error of the server's tells.
fn after_error(code: u16) -> Answer {
    match REFUSALS.iter().any(|(known, _)| *known == code) {
        true => Answer::Refused,
        false => Answer::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_after_the_link_was_cut_is_not_heard() {
        let shared = Arc::new(Shared {
            socket: PathBuf::new(),
            start: Instant::now(),
            next: AtomicU64::new(1),
            is_over: AtomicBool::new(false),
            heard: Mutex::default(),
        });
        let ledger = Ledger {
            shared: shared.clone(),
            sessions: vec![],
        };
        shared.note(1, 10, &Answer::Acknowledged);
        shared.note(2, 20, &Answer::Refused);
        ledger.go_deaf();
        shared.note(3, 30, &Answer::Acknowledged);
        shared.note(4, 40, &Answer::Refused);
        assert_eq!(ledger.acknowledged(), 1);
        let outcomes = ledger.stop();
        assert_eq!(outcomes.acknowledged, [1].into());
        assert_eq!(outcomes.refused, [2].into());
        assert_eq!(outcomes.unanswered, [3, 4].into());
        let heard = outcomes.times.iter().filter(|timed| timed.2.is_some());
        assert_eq!(heard.map(|timed| timed.0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(outcomes.times[3].1, 40);
    }

    /// A row that is there after such an error is no phantom.
    #[test]
    fn only_errors_that_guarantee_a_rollback_are_refusals() {
        for (code, _) in REFUSALS {
            assert!(matches!(after_error(code), Answer::Refused), "{code}");
        }
        // Around a commit, or unknown.
        for code in [1180, 1317, 1053, 3100, 1105, 9_999] {
            assert!(matches!(after_error(code), Answer::Nothing), "{code}");
        }
    }
}
