//! Administration of a server: of a lab's over its Unix socket, never over a link, so never in the
//! counters. Only whether a front lets connections through is tried over the network, outside any
//! window.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Value};

use crate::error::Result as Told;

/// One row of an answer: column name → text; NULL is the empty string.
pub type Row = BTreeMap<String, String>;

/// A server that can be asked, whoever runs it.
pub trait Ask {
    /// What tables call it.
    fn name(&self) -> &str;

    /// Runs one statement and throws its result away.
    fn run(&mut self, sql: &str) -> Told<()>;

    /// The first column of the first row.
    fn value(&mut self, sql: &str) -> Told<Option<String>>;

    /// Name and value of each row of a `SHOW … STATUS` or `SHOW … VARIABLES`.
    fn pairs(&mut self, sql: &str) -> Told<BTreeMap<String, String>>;
}

/// A connection of the lab's own to one server, as root.
pub struct Admin {
    connection: Conn,
}

/// What a server or the connection to it answered instead of a result.
pub type SqlError = mysql::Error;

/// A server that does not answer for so long hangs: longer than any wait that it is asked for.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);
/// The largest answer that is read.
const PACKET_BYTES_MAX: usize = 64 << 20;
/// As long may each step of a login take.
const LOGIN_LIMIT: Duration = Duration::from_secs(10);

impl Admin {
    /// Connects as root, once, without waiting for a server that is not there yet.
    pub fn connect(socket: &Path) -> Result<Admin, SqlError> {
        Admin::connect_as(socket, "root", None, ANSWER_LIMIT)
    }

    /// The same, but a server that does not answer for `limit` is given up: it may have been
    /// stopped, or wait for something.
    pub fn connect_within(socket: &Path, limit: Duration) -> Result<Admin, SqlError> {
        Admin::connect_as(socket, "root", None, limit)
    }

    /// Logs in as any user, once, and leaves: a server that is busy starting may let nobody in for
    /// long.
    pub fn try_login(socket: &Path, user: &str, password: Option<&str>) -> Result<(), SqlError> {
        Admin::connect_as(socket, user, password, LOGIN_LIMIT).map(drop)
    }

    fn connect_as(
        socket: &Path,
        user: &str,
        password: Option<&str>,
        limit: Duration,
    ) -> Result<Admin, SqlError> {
        let socket: PathBuf = socket.to_owned();
        let options = OptsBuilder::new()
            .user(Some(user))
            .pass(password)
            .prefer_socket(false)
            .socket(Some(socket.display().to_string()))
            // Or it asks for it, which a node of Galera outside of its cluster does not answer.
            .max_allowed_packet(Some(PACKET_BYTES_MAX))
            .read_timeout(Some(limit));
        let mut connection = Conn::new(options)?;
        // What the lab does on a node is not part of what the node replicates or times.
        let _ = connection.query_drop("SET SESSION wait_timeout = 86400");
        Ok(Admin { connection })
    }

    /// Connects to an address, once, from wherever the calling thread is. Each step of it may take
    /// `limit`.
    pub fn connect_to(
        address: SocketAddrV4,
        (user, password): (&str, &str),
        limit: Duration,
    ) -> Result<Admin, SqlError> {
        let options = OptsBuilder::new()
            .user(Some(user))
            .pass(Some(password))
            .prefer_socket(false)
            .ip_or_hostname(Some(address.ip().to_string()))
            .tcp_port(address.port())
            .tcp_connect_timeout(Some(limit))
            .read_timeout(Some(limit));
        let connection = Conn::new(options)?;
        Ok(Admin { connection })
    }

    /// Runs one statement and throws its result away.
    pub fn run(&mut self, sql: &str) -> Result<(), SqlError> {
        self.connection.query_drop(sql)
    }

    /// All rows of one statement.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Row>, SqlError> {
        let rows: Vec<mysql::Row> = self.connection.query(sql)?;
        Ok(rows.iter().map(row_as_text).collect())
    }

    /// The first column of the first row.
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, SqlError> {
        let row: Option<mysql::Row> = self.connection.query_first(sql)?;
        Ok(row.and_then(|row| row.as_ref(0).map(value_as_text)))
    }

    /// Name and value of each row of a `SHOW … STATUS` or `SHOW … VARIABLES`.
    pub fn pairs(&mut self, sql: &str) -> Result<BTreeMap<String, String>, SqlError> {
        Ok(text_pairs(self.connection.query(sql)?))
    }

    /// The result of one statement with its column names, for people.
    pub fn table(&mut self, sql: &str) -> Result<(Vec<String>, Vec<Vec<String>>), SqlError> {
        let mut result = self.connection.query_iter(sql)?;
        let columns = result.columns();
        let names = columns
            .as_ref()
            .iter()
            .map(|c| c.name_str().into_owned())
            .collect();
        let mut rows = Vec::new();
        for row in result.by_ref() {
            let values = row?.unwrap();
            rows.push(values.iter().map(value_as_text).collect());
        }
        Ok((names, rows))
    }
}

/// The first two columns of each row.
pub(super) fn text_pairs(rows: Vec<mysql::Row>) -> BTreeMap<String, String> {
    let text = |row: &mysql::Row, i| row.as_ref(i).map(value_as_text).unwrap_or_default();
    rows.iter()
        .map(|row| (text(row, 0), text(row, 1)))
        .collect()
}

fn row_as_text(row: &mysql::Row) -> Row {
    let columns = row.columns();
    let named = columns.iter().enumerate();
    named
        .map(|(i, column)| {
            let text = row.as_ref(i).map(value_as_text).unwrap_or_default();
            (column.name_str().into_owned(), text)
        })
        .collect()
}

pub(super) fn value_as_text(value: &Value) -> String {
    match value {
        Value::NULL => String::new(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.as_sql(true).trim_matches('\'').to_owned(),
    }
}
