//! Administration of a server over its Unix socket: never over a link, so never in the counters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Value};

/// One row of an answer: column name → text; NULL is the empty string.
pub type Row = BTreeMap<String, String>;

/// A connection of the lab's own to one server, as root.
pub struct Admin {
    connection: Conn,
}

/// What a server or the connection to it answered instead of a result.
pub type SqlError = mysql::Error;

impl Admin {
    /// Connects as root, once, without waiting for a server that is not there yet.
    pub fn connect(socket: &Path) -> Result<Admin, SqlError> {
        Admin::connect_as(socket, "root", None)
    }

    /// Connects as any user, once.
    pub fn connect_as(
        socket: &Path,
        user: &str,
        password: Option<&str>,
    ) -> Result<Admin, SqlError> {
        let socket: PathBuf = socket.to_owned();
        let options = OptsBuilder::new()
            .user(Some(user))
            .pass(password)
            .prefer_socket(false)
            .socket(Some(socket.display().to_string()))
            .tcp_connect_timeout(Some(Duration::from_secs(5)));
        let mut connection = Conn::new(options)?;
        // What the lab does on a node is not part of what the node replicates or times.
        let _ = connection.query_drop("SET SESSION wait_timeout = 86400");
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
        let rows: Vec<mysql::Row> = self.connection.query(sql)?;
        let text = |row: &mysql::Row, i| row.as_ref(i).map(value_as_text).unwrap_or_default();
        Ok(rows
            .iter()
            .map(|row| (text(row, 0), text(row, 1)))
            .collect())
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

fn value_as_text(value: &Value) -> String {
    match value {
        Value::NULL => String::new(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.as_sql(true).trim_matches('\'').to_owned(),
    }
}
