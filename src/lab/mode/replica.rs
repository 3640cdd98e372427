//! A replica as it says that it is: whom it follows, what it has received, and why it stopped.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::lab::lab::Lab;
use crate::lab::node::{Node, PORT, pause};
use crate::lab::servers::Dialect;
use crate::lab::servers::datadir::PASSWORD;
use crate::lab::sql::Row;

/// Time between two looks at a replica.
const LOOK_AGAIN_EVERY: Duration = Duration::from_millis(20);

/// The statement by which a replica, whose threads rest, is pointed at node `source`.
pub(super) fn connect(lab: &Lab, source: usize) -> String {
    let (host, port) = (address(lab, source), PORT.to_string());
    lab.program.dialect().fill(
        "connect_replica",
        &[
            ("host", &host),
            ("port", &port),
            ("user", "repl"),
            ("password", PASSWORD),
            ("ssl", if lab.spec.tls { "1" } else { "0" }),
        ],
    )
}

/// Where a node's server is, as its replicas name it.
pub(super) fn address(lab: &Lab, i: usize) -> String {
    lab.nodes[i].place.address.to_string()
}

/// What a replica says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// The address of its source.
    pub source: String,
    /// `Yes`, `No`, or a word of one that tries to connect.
    receiver: String,
    receiver_error: String,
    applier: String,
    applier_error: String,
    /// In words.
    applier_state: String,
    /// A set of global ids.
    pub received: String,
}

impl Status {
    fn read(row: &Row, dialect: &Dialect) -> Status {
        let said = |word: &str| row.get(dialect.word(word)).cloned().unwrap_or_default();
        Status {
            source: said("column_source"),
            receiver: said("column_io"),
            receiver_error: said("column_io_error"),
            applier: said("column_sql"),
            applier_error: said("column_sql_error"),
            applier_state: said("column_sql_state"),
            received: said("column_received"),
        }
    }

    /// Whether it is connected to its source, and applies.
    pub fn follows(&self) -> bool {
        self.receiver == "Yes" && self.applier == "Yes"
    }

    /// Its own words, if it has ended to apply for an error.
    pub fn applier_refusal(&self) -> Option<String> {
        let is_told = self.applier == "No" && !self.applier_error.is_empty();
        is_told.then(|| self.applier_error.clone())
    }

    /// Its own words, if either of its threads has ended for an error. One that cannot reach its
    /// source goes on trying.
    pub fn refusal(&self) -> Option<String> {
        let is_told = self.receiver == "No" && !self.receiver_error.is_empty();
        let receiver = is_told.then(|| self.receiver_error.clone());
        self.applier_refusal().or(receiver)
    }

    /// Whether its appliers wait for more than stands in its relay log. All servers say so in these
    /// words, whatever stands around them.
    pub fn has_read_all(&self) -> bool {
        self.applier_state.contains("has read all relay log")
    }
}

/// What a replica says of itself; `None` of a server that follows nobody.
pub(super) fn status(node: &mut Node, dialect: &Dialect) -> Result<Option<Status>> {
    let rows = node.rows(dialect.word("show_replica"))?;
    Ok(rows.first().map(|row| Status::read(row, dialect)))
}

/// Waits until a replica is connected to its source, and applies: `None`, or why not. Whether it
/// goes on doing so is another matter: a source may refuse to send what it is asked for.
pub(super) fn wait_following(
    node: &mut Node,
    dialect: &Dialect,
    limit: Duration,
) -> Result<Option<String>> {
    let deadline = Instant::now() + limit;
    loop {
        let status = status(node, dialect)?.unwrap_or_default();
        if status.follows() {
            return Ok(None);
        }
        if let Some(words) = status.refusal() {
            return Ok(Some(words));
        }
        if Instant::now() >= deadline {
            let (seconds, words) = (limit.as_secs(), status.receiver_error);
            return Ok(Some(format!("not connected after {seconds} s: {words}")));
        }
        pause(LOOK_AGAIN_EVERY)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::servers::{Catalogue, Flavour, Version};

    fn dialect(flavour: Flavour, version: &str) -> Dialect {
        Catalogue::builtin().dialect(flavour, &Version::parse(version), |_| true)
    }

    fn said(pairs: &[(&str, &str)], dialect: &Dialect) -> Status {
        let row = pairs.iter();
        let row: Row = row
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Status::read(&row, dialect)
    }

    #[test]
    fn each_server_says_it_in_columns_of_its_own() {
        let old = [
            ("Master_Host", "198.18.0.1"),
            ("Slave_IO_Running", "Yes"),
            ("Slave_SQL_Running", "Yes"),
            (
                "Slave_SQL_Running_State",
                "Slave has read all relay log; waiting for the slave I/O thread to update it",
            ),
        ];
        for (flavour, version) in [
            (Flavour::Mysql, "5.6.24"),
            (Flavour::Mysql, "5.7.29"),
            (Flavour::Mariadb, "10.11.19"),
        ] {
            let status = said(&old, &dialect(flavour, version));
            assert!(status.follows() && status.has_read_all(), "{version}");
            assert_eq!(status.source, "198.18.0.1");
        }
        let new = [
            ("Source_Host", "198.18.0.2"),
            ("Replica_IO_Running", "Connecting"),
            ("Replica_SQL_Running", "Yes"),
            ("Last_IO_Error", "error connecting to source"),
            ("Retrieved_Gtid_Set", "aa:1-5"),
        ];
        let status = said(&new, &dialect(Flavour::Mysql, "9.7.4"));
        assert!(!status.follows() && !status.has_read_all());
        assert_eq!(status.refusal(), None, "it tries again");
        assert_eq!(status.received, "aa:1-5");
        assert_eq!(status.source, "198.18.0.2");
    }

    #[test]
    fn a_thread_that_ended_for_an_error_is_heard() {
        let status = |pairs: &[(&str, &str)]| said(pairs, &dialect(Flavour::Mariadb, "11.8.3"));
        let words = "Got fatal error 1236 from master when reading data from binary log";
        let asks_too_much = status(&[
            ("Slave_IO_Running", "No"),
            ("Last_IO_Error", words),
            ("Slave_SQL_Running", "Yes"),
        ]);
        assert_eq!(asks_too_much.refusal().as_deref(), Some(words));
        assert_eq!(asks_too_much.applier_refusal(), None);
        let duplicate = status(&[
            ("Slave_IO_Running", "Yes"),
            ("Slave_SQL_Running", "No"),
            ("Last_SQL_Error", "Duplicate entry"),
        ]);
        assert_eq!(duplicate.refusal().as_deref(), Some("Duplicate entry"));
        assert!(duplicate.applier_refusal().is_some() && !duplicate.follows());
        let at_rest = status(&[("Slave_IO_Running", "No"), ("Slave_SQL_Running", "No")]);
        assert_eq!(at_rest.refusal(), None);
    }
}
