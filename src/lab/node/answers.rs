//! Whether a server is there to be asked, and what it refuses.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Node;
use crate::error::Result;
use crate::lab::sql::{Admin, SqlError};

/// A server that does not answer for so long in the middle of a fault does not answer.
const BRIEF: Duration = Duration::from_secs(3);
/// A node of Galera outside of its cluster answers no SELECT, but this.
const READ_ONLY: &str = "SHOW GLOBAL VARIABLES LIKE 'read_only'";

impl Node {
    /// Whether its server runs: it was not killed, and has not ended by itself.
    pub fn is_up(&mut self) -> bool {
        self.pid().is_some() && self.check_alive("run").is_ok()
    }

    /// Runs a statement that the server may refuse: `None`, or its own words if it does.
    ///
    /// # Errors
    /// A breakdown if it does not answer at all.
    pub fn refusal_of(&mut self, sql: &str) -> Result<Option<String>> {
        self.asked(sql, |admin| match admin.run(sql) {
            Err(mysql::Error::MySqlError(error)) => Ok(Some(error.to_string())),
            answered => answered.map(|()| None),
        })
    }

    /// Asks a server that may be paused, or stand still for its disk, over a connection of its own:
    /// `None` if it does not run, answer soon, or well.
    pub fn briefly<T>(
        &mut self,
        ask: impl FnOnce(&mut Admin) -> std::result::Result<T, SqlError>,
    ) -> Option<T> {
        if !self.is_up() {
            return None;
        }
        let mut admin = Admin::connect_within(&self.socket(), BRIEF).ok()?;
        ask(&mut admin).ok()
    }

    /// Whether its server runs, and answers soon: one that is paused runs.
    pub fn answers(&mut self) -> bool {
        // No server waits for others to do that.
        self.briefly(|admin| admin.run("SET @answers = 1"))
            .is_some()
    }

    /// Whether it takes the writes of clients, by its own account. One that says nothing does not.
    pub fn takes_writes(&mut self) -> bool {
        let said = self.briefly(|admin| admin.pairs(READ_ONLY));
        said.is_some_and(|said| !is_read_only(&said))
    }

    /// Whether it refuses them.
    ///
    /// # Errors
    /// A breakdown if it does not answer.
    pub fn refuses_writes(&mut self) -> Result<bool> {
        Ok(is_read_only(&self.pairs(READ_ONLY)?))
    }
}

fn is_read_only(said: &BTreeMap<String, String>) -> bool {
    let said = said.get("read_only").map(|said| said.to_uppercase());
    !matches!(said.as_deref(), Some("OFF" | "0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_say_that_it_takes_writes_takes_none() {
        let said = |value: &str| is_read_only(&[("read_only".to_owned(), value.to_owned())].into());
        assert!(!said("OFF") && !said("0"));
        assert!(said("ON") && said("NO_LOCK_NO_ADMIN"));
        assert!(is_read_only(&BTreeMap::new()));
    }
}
