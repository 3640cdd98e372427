//! A script: statements known beforehand, and a source that draws one transaction after the other
//! from them.

use std::ops::Range;

use crate::load::keys::Draws;
use crate::load::wire::encode;

/// A statement that a session may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Index into the script's kinds.
    pub kind: usize,
    /// The SQL, cut at its `?`s.
    pub pieces: Vec<Vec<u8>>,
    /// Run as a prepared statement, if the server can prepare it.
    pub prepared: bool,
}

impl Template {
    /// The SQL with a `?` for each parameter, as the server prepares it.
    pub fn sql(&self) -> Vec<u8> {
        self.pieces.join(&b'?')
    }
}

/// Everything that sessions need to know of a workload.
pub struct Script {
    pub statements: Vec<Template>,
    /// Kinds of statement, for the histograms: `select`, `update`, `commit`…
    pub kinds: Vec<String>,
    pub source: Box<dyn Source>,
}

/// Draws transactions.
pub trait Source {
    /// Fills `plan`, which is empty, with the next transaction of this session.
    fn draw(&self, session: &mut SessionState, plan: &mut TransactionPlan);

    /// How far `unique` parameters have counted.
    fn unique_next(&self) -> u64 {
        0
    }
}

/// What a source remembers of each session.
pub struct SessionState {
    pub draws: Draws,
    /// Transactions drawn so far.
    pub position: u64,
}

/// One transaction, to be run statement by statement.
#[derive(Debug, Default)]
pub struct TransactionPlan {
    steps: Vec<PlannedStep>,
    values: Vec<PlannedValue>,
    bytes: Vec<u8>,
    /// Begins with BEGIN: an error must be followed by ROLLBACK.
    pub is_explicit: bool,
}

#[derive(Debug, Clone)]
struct PlannedStep {
    statement: usize,
    values: Range<usize>,
}

#[derive(Debug, Clone)]
enum PlannedValue {
    Int(i64),
    Text(Range<usize>),
}

impl TransactionPlan {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.values.clear();
        self.bytes.clear();
        self.is_explicit = false;
    }

    /// Adds a statement; values added after it are its.
    pub fn step(&mut self, statement: usize) {
        let end = self.values.len();
        self.steps.push(PlannedStep {
            statement,
            values: end..end,
        });
    }

    /// Adds a number to the last statement.
    pub fn int(&mut self, number: i64) {
        self.value(PlannedValue::Int(number));
    }

    /// Adds what `write` appends as a text to the last statement.
    pub fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.value(PlannedValue::Text(start..self.bytes.len()));
    }

    fn value(&mut self, value: PlannedValue) {
        self.values.push(value);
        if let Some(step) = self.steps.last_mut() {
            step.values.end = self.values.len();
        }
    }

    /// Number of statements.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// The statement of a step, as an index into the script's.
    pub fn statement(&self, step: usize) -> usize {
        self.steps[step].statement
    }

    /// The values of a step.
    pub fn values(&self, step: usize) -> impl Iterator<Item = encode::Value<'_>> + Clone {
        let values = &self.values[self.steps[step].values.clone()];
        values.iter().map(|value| match value {
            PlannedValue::Int(number) => encode::Value::Int(*number),
            PlannedValue::Text(range) => encode::Value::Text(&self.bytes[range.clone()]),
        })
    }
}

/// Numbers of `unique` parameters that this driver may use: `from + driver`, then every
/// `drivers`-th.
#[derive(Debug, Clone, Copy)]
pub struct UniqueNumbers {
    pub from: u64,
    pub driver: u32,
    pub drivers: u32,
}

/// The kind of a statement: its first word in lower case.
pub fn kind_of(sql: &str) -> String {
    let word = sql
        .trim_start_matches(|c: char| !c.is_alphabetic())
        .split(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default();
    word.to_lowercase()
}

/// Collects a script's statements and their kinds.
#[derive(Default)]
pub struct ScriptBuilder {
    pub(super) statements: Vec<Template>,
    kinds: Vec<String>,
}

impl ScriptBuilder {
    /// Adds a statement cut at its parameters; tells its index.
    pub fn add(&mut self, pieces: Vec<Vec<u8>>, prepared: bool) -> usize {
        let kind = kind_of(&String::from_utf8_lossy(&pieces[0]));
        let known = self.kinds.iter().position(|k| *k == kind);
        let kind = known.unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        });
        self.statements.push(Template {
            kind,
            pieces,
            prepared,
        });
        self.statements.len() - 1
    }

    /// Adds SQL whose every `?` is a parameter.
    pub fn add_sql(&mut self, sql: &str, prepared: bool) -> usize {
        let pieces = sql.split('?').map(|piece| piece.as_bytes().to_vec());
        self.add(pieces.collect(), prepared)
    }

    /// The script.
    pub fn build(self, source: Box<dyn Source>) -> Script {
        Script {
            statements: self.statements,
            kinds: self.kinds,
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_the_first_word() {
        assert_eq!(kind_of("SELECT c FROM t"), "select");
        assert_eq!(kind_of("  (select 1)"), "select");
        assert_eq!(kind_of("COMMIT"), "commit");
        assert_eq!(kind_of(""), "");
    }

    #[test]
    fn plans_keep_the_values_of_each_statement_apart() {
        let mut plan = TransactionPlan::default();
        plan.step(3);
        plan.int(1);
        plan.step(4);
        plan.step(5);
        plan.text(|out| out.extend(b"ab"));
        plan.int(2);
        let values = |step| plan.values(step).collect::<Vec<_>>();
        assert_eq!(values(0), [encode::Value::Int(1)]);
        assert_eq!(values(1), []);
        assert_eq!(
            values(2),
            [encode::Value::Text(b"ab"), encode::Value::Int(2)]
        );
        assert_eq!((plan.len(), plan.statement(2)), (3, 5));
    }
}
