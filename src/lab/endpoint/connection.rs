//! A connection to a server of somebody else's, over the network that everybody uses.

use std::collections::BTreeMap;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

use super::access::Access;
use super::refusal::{NOT_THERE, refused};
use super::trust::Authorities;
use crate::error::Result;
use crate::lab::sql::{Ask, text_pairs, value_as_text};

/// How long connecting may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// A peer that acknowledges nothing for so long is gone, however long a statement may run.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);

/// A connection for everything but the load.
pub struct Connection {
    access: Access,
    connection: Conn,
}

impl Connection {
    /// Connects, once.
    ///
    /// # Errors
    /// A mistake for what the user can mend (password, privileges, certificates that nobody known
    /// vouches for), else a breakdown. None holds the password.
    pub fn open(access: &Access) -> Result<Connection> {
        let authorities = Authorities::of(access.guest().ca_pem.as_deref())?;
        let connection = connect(access, options(access, &authorities))?;
        Ok(Connection {
            access: access.clone(),
            connection,
        })
    }

    /// Logs in once, and leaves.
    ///
    /// # Errors
    /// As [`Connection::open`], and a breakdown if the server takes too long.
    pub fn try_login(access: &Access) -> Result<()> {
        let authorities = Authorities::of(access.guest().ca_pem.as_deref())?;
        let options = options(access, &authorities).read_timeout(Some(CONNECT_LIMIT));
        connect(access, options).map(drop)
    }

    /// Where it leads.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// As [`Ask::run`], with the server's own words for whoever can tell what they mean.
    pub fn try_run(&mut self, sql: &str) -> std::result::Result<(), mysql::Error> {
        self.connection.query_drop(sql)
    }

    /// As [`Ask::value`], with the server's own words.
    pub fn try_value(&mut self, sql: &str) -> std::result::Result<Option<String>, mysql::Error> {
        let row: Option<mysql::Row> = self.connection.query_first(sql)?;
        Ok(row.and_then(|row| row.as_ref(0).map(value_as_text)))
    }

    /// As [`Ask::value`], but `None` also where the database or the table is not there.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn value_if_there(&mut self, sql: &str) -> Result<Option<String>> {
        match self.try_value(sql) {
            Err(mysql::Error::MySqlError(said)) if NOT_THERE.contains(&said.code) => Ok(None),
            value => value.map_err(|error| refused(&self.access, &ask(sql), &error)),
        }
    }

    /// The first column of all rows.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn column(&mut self, sql: &str) -> Result<Vec<String>> {
        let rows: std::result::Result<Vec<mysql::Row>, _> = self.connection.query(sql);
        let rows = rows.map_err(|error| refused(&self.access, &ask(sql), &error))?;
        let first = |row: &mysql::Row| row.as_ref(0).map(value_as_text).unwrap_or_default();
        Ok(rows.iter().map(first).collect())
    }
}

impl Ask for Connection {
    fn name(&self) -> &str {
        &self.access.name
    }

    fn run(&mut self, sql: &str) -> Result<()> {
        let done = self.connection.query_drop(sql);
        done.map_err(|error| refused(&self.access, &ask(sql), &error))
    }

    fn value(&mut self, sql: &str) -> Result<Option<String>> {
        let value = self.try_value(sql);
        value.map_err(|error| refused(&self.access, &ask(sql), &error))
    }

    fn pairs(&mut self, sql: &str) -> Result<BTreeMap<String, String>> {
        let rows = self.connection.query(sql);
        let rows = rows.map_err(|error| refused(&self.access, &ask(sql), &error))?;
        Ok(text_pairs(rows))
    }
}

/// What is said of a statement: long ones are cut.
fn ask(sql: &str) -> String {
    let short: String = sql.chars().take(60).collect();
    format!("run `{}`", short.replace('\n', " "))
}

fn connect(access: &Access, options: OptsBuilder) -> Result<Conn> {
    let mut connection = Conn::new(options).map_err(|error| refused(access, "connect", &error))?;
    // Between two looks it may be idle for longer than a server has patience with others.
    let _ = connection.query_drop("SET SESSION wait_timeout = 86400");
    Ok(connection)
}

fn options(access: &Access, authorities: &Authorities) -> OptsBuilder {
    let silence_ms = u32::try_from(SILENCE_LIMIT.as_millis()).unwrap_or(u32::MAX);
    OptsBuilder::new()
        .ip_or_hostname(Some(access.address.host.clone()))
        .tcp_port(access.address.port)
        // Never the Unix socket of a server that happens to be on this machine.
        .prefer_socket(false)
        .user(Some(access.address.user.clone()))
        .pass(Some(access.password.to_string()))
        .ssl_opts(access.tls.is_on().then(|| authorities.options()))
        .tcp_connect_timeout(Some(CONNECT_LIMIT))
        .tcp_user_timeout_ms(Some(silence_ms))
        .tcp_keepalive_time_ms(Some(silence_ms / 3))
        // It may have changed under us: a plain statement then means what it says.
        .stmt_cache_size(0)
}
