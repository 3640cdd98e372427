//! Errors that ended transactions, as servers tell them: number, SQLSTATE and text.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The number under which a lost connection is counted. No server tells of that.
pub const LOST_CONNECTION: u16 = 0;

/// One kind of error, and how often it came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerError {
    /// MySQL's and MariaDB's own number, or [`LOST_CONNECTION`].
    pub number: u16,
    /// Five characters of the SQL standard; empty for a lost connection, where a server told none,
    /// and in records of before it was kept.
    pub sqlstate: String,
    /// The text of the first one: later ones may name other rows.
    pub message: String,
    pub count: u64,
}

impl ServerError {
    /// A single error.
    pub fn one(number: u16, sqlstate: &str, message: String) -> Self {
        ServerError {
            number,
            sqlstate: sqlstate.to_owned(),
            message,
            count: 1,
        }
    }

    /// What a client makes of an end of its connection.
    pub fn lost(message: &str) -> Self {
        ServerError::one(LOST_CONNECTION, "", message.to_owned())
    }
}

/// Each kind of error once, by number and SQLSTATE.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Kept")]
pub struct ServerErrors(Vec<ServerError>);

impl ServerErrors {
    /// Counts errors of one kind; `message` is asked for the first of it only.
    pub fn add(&mut self, number: u16, sqlstate: &str, count: u64, message: impl Fn() -> String) {
        if count == 0 {
            return;
        }
        let key = (number, sqlstate);
        match self
            .0
            .binary_search_by_key(&key, |one| (one.number, &one.sqlstate))
        {
            Ok(at) => self.0[at].count += count,
            Err(at) => {
                let new = ServerError::one(number, sqlstate, message());
                self.0.insert(at, ServerError { count, ..new });
            }
        }
    }

    /// Counts all of `others` too.
    pub fn add_all(&mut self, others: &ServerErrors) {
        for one in &others.0 {
            self.add(one.number, &one.sqlstate, one.count, || one.message.clone());
        }
    }

    /// How many have this number.
    pub fn of(&self, number: u16) -> u64 {
        let alike = self.0.iter().filter(|one| one.number == number);
        alike.map(|one| one.count).sum()
    }

    /// How many there are of all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|one| one.count).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// By number, then SQLSTATE.
    pub fn iter(&self) -> impl Iterator<Item = &ServerError> {
        self.0.iter()
    }
}

/// As clients print it: `1213 (40001) Deadlock found when trying to get lock`. Of a lost connection
/// its message alone.
impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.number == LOST_CONNECTION && !self.message.is_empty() {
            return write!(f, "{}", self.message);
        }
        write!(f, "{}", self.number)?;
        if !self.sqlstate.is_empty() {
            write!(f, " ({})", self.sqlstate)?;
        }
        if !self.message.is_empty() {
            write!(f, " {}", self.message)?;
        }
        Ok(())
    }
}

/// Numbers and counts, where nothing more is known.
impl FromIterator<(u16, u64)> for ServerErrors {
    fn from_iter<I: IntoIterator<Item = (u16, u64)>>(numbers: I) -> Self {
        let mut all = ServerErrors::default();
        for (number, count) in numbers {
            all.add(number, "", count, String::new);
        }
        all
    }
}

impl<const N: usize> From<[(u16, u64); N]> for ServerErrors {
    fn from(numbers: [(u16, u64); N]) -> Self {
        numbers.into_iter().collect()
    }
}

/// As records have them. Up to version 2 of the schema it is number → count.
#[derive(Deserialize)]
#[serde(untagged)]
enum Kept {
    Kinds(Vec<ServerError>),
    Numbers(BTreeMap<String, u64>),
}

impl TryFrom<Kept> for ServerErrors {
    type Error = String;

    fn try_from(kept: Kept) -> Result<Self, String> {
        match kept {
            Kept::Kinds(kinds) => {
                let mut all = ServerErrors::default();
                all.add_all(&ServerErrors(kinds));
                Ok(all)
            }
            Kept::Numbers(numbers) => {
                let number = |(text, count): (String, u64)| match text.parse() {
                    Ok(number) => Ok((number, count)),
                    Err(_) => Err(format!("`{text}` is no number of an error")),
                };
                numbers.into_iter().map(number).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_kinds() -> ServerErrors {
        let mut errors = ServerErrors::default();
        errors.add(1213, "40001", 2, || "Deadlock found".into());
        errors.add(1062, "23000", 1, || "Duplicate entry '7'".into());
        errors.add(1213, "40001", 3, || panic!("it has its text"));
        errors
    }

    #[test]
    fn a_kind_keeps_its_first_text() {
        let errors = two_kinds();
        let shown: Vec<String> = errors.iter().map(ServerError::to_string).collect();
        let expected = [
            "1062 (23000) Duplicate entry '7'",
            "1213 (40001) Deadlock found",
        ];
        assert_eq!(shown, expected);
        assert_eq!(ServerError::lost("reset").to_string(), "reset");
        assert_eq!((errors.of(1213), errors.of(1), errors.total()), (5, 0, 6));
    }

    #[test]
    fn one_number_can_have_two_states() {
        let mut errors = two_kinds();
        errors.add(1213, "XA102", 4, || "Deadlock, rolled back".into());
        assert_eq!((errors.iter().count(), errors.of(1213)), (3, 9));
        let mut sum = ServerErrors::from([(0, 1), (7, 0)]);
        assert_eq!(sum.iter().count(), 1);
        sum.add_all(&errors);
        sum.add_all(&errors);
        assert_eq!((sum.total(), sum.of(0)), (21, 1));
        assert_eq!(sum.iter().last().unwrap().message, "Deadlock, rolled back");
    }

    #[test]
    fn what_is_kept_is_read_and_so_is_a_record_of_before() {
        let errors = two_kinds();
        let text = serde_json::to_string(&errors).unwrap();
        assert_eq!(serde_json::from_str::<ServerErrors>(&text).unwrap(), errors);
        assert!(
            text.starts_with(r#"[{"number":1062,"sqlstate":"23000","message":"#),
            "{text}"
        );
        let old: ServerErrors = serde_json::from_str(r#"{"0":1,"1213":12}"#).unwrap();
        assert_eq!(old, [(0, 1), (1213, 12)].into());
        let shown: Vec<String> = old.iter().map(ServerError::to_string).collect();
        assert_eq!(shown, ["0", "1213"]);
        assert!(serde_json::from_str::<ServerErrors>(r#"{"deadlock":1}"#).is_err());
    }
}
