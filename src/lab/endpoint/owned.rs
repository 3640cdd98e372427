//! A database of acklab's own on a server of somebody else's. Nothing outside it is ever changed;
//! nothing is dropped whose marker does not hold the token of whoever made it.

use std::time::Duration;

use mysql::Error as SqlError;

use super::access::Access;
use super::claims::{Claim, Claims, Leftover};
use super::connection::Connection;
use super::refusal::{NOT_THERE, is_read_only, refused};
use crate::error::{Error, Mistake, Result, breakdown};
use crate::lab::sql::Ask;
use crate::study::endpoint::DATABASE_PREFIX;

/// The table of beats for the replicas' lag: one row, of id 1.
pub const HEARTBEAT: &str = "acklab_heartbeat";
/// The table that says whose a database is.
const MARKER: &str = "acklab_marker";

/// A database of that name is there.
const DATABASE_EXISTS: u16 = 1007;

/// How often dropping is tried when connections do not hold, and how long after one another.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// A database that this run made and will drop, in whatever way it ends but by SIGKILL.
pub struct Owned {
    access: Access,
    /// None when it has been dropped.
    claim: Option<Claim>,
}

/// What became of a database that was to be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Dropped,
    /// It is there no more.
    Gone,
    /// Its marker is missing, or holds another token.
    NotOurs,
}

impl Owned {
    /// Makes the database that was asked for, or one of a random name, and marks it.
    ///
    /// # Errors
    /// A mistake if the server takes no writes, if a database of that name is there, or if the user
    /// may not make one.
    pub fn make(
        connection: &mut Connection,
        asked: Option<&str>,
        claims: &Claims,
    ) -> Result<Owned> {
        refuse_unfit(connection)?;
        let name = asked.map_or_else(random_name, str::to_owned);
        let token = format!("{:032x}", rand::random::<u128>());
        let access = connection.access().clone();
        let claim = claims.make(&access.address, &name, &token)?;
        if let Err(error) = connection.try_run(&format!("CREATE DATABASE {name}")) {
            return Err(not_made(&access, claim, error));
        }
        let owned = Owned {
            access,
            claim: Some(claim),
        };
        owned.mark(connection)?;
        Ok(owned)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        let claim = self.claim.as_ref();
        claim.map_or("", |claim| &claim.left.database)
    }

    /// The marker first of all: without it the database is nobody's. One that cannot be marked was
    /// made by us this very moment.
    fn mark(&self, connection: &mut Connection) -> Result<()> {
        let name = self.name();
        let token = self.claim.as_ref().map_or("", |claim| &claim.left.token);
        let made = [
            format!(
                "CREATE TABLE {name}.{MARKER} (id INT PRIMARY KEY, token CHAR(32) NOT NULL, \
                 note VARCHAR(200) NOT NULL) ENGINE=InnoDB"
            ),
            format!(
                "INSERT INTO {name}.{MARKER} VALUES (1, '{token}', 'made by acklab for a \
                 measurement; dropped at its end')"
            ),
        ];
        if let Err(error) = made.iter().try_for_each(|sql| connection.run(sql)) {
            let _ = connection.try_run(&format!("DROP DATABASE {name}"));
            return Err(error);
        }
        connection.run(&format!(
            "CREATE TABLE {name}.{HEARTBEAT} (id INT PRIMARY KEY, beat BIGINT NOT NULL) \
             ENGINE=InnoDB"
        ))?;
        connection.run(&format!("INSERT INTO {name}.{HEARTBEAT} VALUES (1, 0)"))
    }

    /// Drops the database, over a connection of its own: others may be lost.
    ///
    /// # Errors
    /// A breakdown that says how to drop it, if it is still there.
    pub fn give_back(mut self) -> Result<()> {
        self.drop_surely()
    }

    fn drop_surely(&mut self) -> Result<()> {
        let Some(claim) = self.claim.take() else {
            return Ok(());
        };
        let mut outcome = self.drop_once(&claim.left);
        for _ in 1..TRIES {
            if outcome.is_ok() {
                break;
            }
            // A request to stop must not end this wait: it is what is to be done then.
            std::thread::sleep(BETWEEN_TRIES);
            outcome = self.drop_once(&claim.left);
        }
        match outcome {
            Ok(Fate::Dropped | Fate::Gone) => {
                claim.let_go();
                Ok(())
            }
            Ok(Fate::NotOurs) => Err(still_there(&claim.left, "its marker is not this run's")),
            Err(error) => Err(still_there(&claim.left, &error.to_string())),
        }
    }

    fn drop_once(&self, left: &Leftover) -> Result<Fate> {
        drop_marked(&mut Connection::open(&self.access)?, left)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Err(error) = self.drop_surely() {
            eprintln!("acklab: {error}");
        }
    }
}

fn random_name() -> String {
    format!("{DATABASE_PREFIX}{:013x}", rand::random::<u64>() >> 12)
}

/// What can be seen before anything is written: a server for readers, or one that never commits.
fn refuse_unfit(connection: &mut Connection) -> Result<()> {
    let sql = "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
               ('read_only', 'super_read_only', 'innodb_read_only', 'autocommit')";
    let variables = connection.pairs(sql)?;
    let access = connection.access();
    for (name, value) in &variables {
        let is_on = !["OFF", "0"].contains(&value.as_str());
        if name == "autocommit" && !is_on {
            let allowed = "must be ON there: the load's statements would never be committed";
            let place = access.address.place();
            return Err(Mistake::new(&place, "autocommit", value, allowed).into());
        }
        if name != "autocommit" && is_on {
            return Err(is_read_only(access, &format!("{name} is {value}")));
        }
    }
    Ok(())
}

/// The server's refusal means that nothing was made. After a lost connection nobody knows: the
/// claim stays, for whoever looks.
fn not_made(access: &Access, claim: Claim, error: SqlError) -> Error {
    let name = claim.left.database.clone();
    let doing = format!("make the database {name}");
    match &error {
        SqlError::MySqlError(said) if said.code == DATABASE_EXISTS => {
            claim.let_go();
            foreign(access, &name)
        }
        SqlError::MySqlError(_) => {
            claim.let_go();
            refused(access, &doing, &error)
        }
        _ => refused(access, &doing, &error),
    }
}

fn foreign(access: &Access, name: &str) -> Error {
    let allowed = "is there already and is not this run's: acklab works in no database that it did \
                   not make itself; choose another name, or leave `database` out";
    Mistake::new(&access.address.place(), "database", name, allowed).into()
}

fn still_there(left: &Leftover, why: &str) -> Error {
    let Leftover {
        place, database, ..
    } = left;
    breakdown(
        format!("drop the database {database} at {place}"),
        format!(
            "{why}\n    it may be there still: the next run on that server from this machine \
             drops it if it is marked, or say there: DROP DATABASE {database}"
        ),
    )
}

/// Drops a database if its marker holds the claim's token.
fn drop_marked(connection: &mut Connection, left: &Leftover) -> Result<Fate> {
    let name = &left.database;
    let sql = format!("SELECT token FROM {name}.{MARKER} WHERE id = 1");
    match connection.try_value(&sql) {
        Ok(Some(token)) if token == left.token => {}
        Ok(_) => return Ok(Fate::NotOurs),
        Err(SqlError::MySqlError(said)) if NOT_THERE.contains(&said.code) => {
            return Ok(match is_there(connection, name)? {
                true => Fate::NotOurs,
                false => Fate::Gone,
            });
        }
        Err(error) => return Err(refused(connection.access(), &sql, &error)),
    }
    // Sessions of a load that was cut off may hold its tables until the server misses them.
    connection.run("SET SESSION lock_wait_timeout = 30")?;
    connection.run(&format!("DROP DATABASE {name}"))?;
    Ok(Fate::Dropped)
}

fn is_there(connection: &mut Connection, name: &str) -> Result<bool> {
    let names = connection.column(&format!("SHOW DATABASES LIKE '{DATABASE_PREFIX}%'"))?;
    Ok(names.iter().any(|other| other == name))
}

/// Drops what runs that were killed have left on a server, and tells of each. Databases that no
/// claim of this machine proves to be a dead run's stay, marked or not.
///
/// # Errors
/// A breakdown if the server or the claims cannot be asked.
pub fn drop_left(connection: &mut Connection, claims: &Claims) -> Result<Vec<String>> {
    let mut told = Vec::new();
    for claim in claims.dead_at(&connection.access().address)? {
        let Leftover {
            place, database, ..
        } = claim.left.clone();
        match drop_marked(connection, &claim.left) {
            Ok(Fate::Dropped) => {
                told.push(format!(
                    "dropped {database}, left at {place} by a killed run"
                ));
                claim.let_go();
            }
            Ok(Fate::Gone) => claim.let_go(),
            Ok(Fate::NotOurs) => told.push(format!(
                "{database} at {place} may be a killed run's, but holds no marker that says so: \
                 look at it, then say there: DROP DATABASE {database}"
            )),
            Err(error) => told.push(format!("left {database} at {place} alone: {error}")),
        }
    }
    Ok(told)
}
