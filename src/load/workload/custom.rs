//! A user's own transactions.

use std::cell::Cell;

use super::{Script, ScriptBuilder, SessionState, Source, TransactionPlan, UniqueNumbers};
use crate::error::{Result, breakdown};
use crate::load::keys::Draws;
use crate::study::Statement;
use crate::study::workload::{Parameter, Transaction};

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

struct Planned {
    /// Weights up to and including this transaction's.
    weight_end: i64,
    statements: Vec<(usize, Vec<Parameter>)>,
}

struct Custom {
    transactions: Vec<Planned>,
    begin: usize,
    commit: usize,
    /// Steps of `unique_step` that `unique` parameters have used.
    unique_used: Cell<u64>,
    unique: UniqueNumbers,
}

/// The script of a user's transactions; a breakdown if a statement's parameters and `?`s do not
/// match, or nothing can ever be drawn.
pub fn script(
    transactions: &[Transaction],
    prepared: bool,
    unique: UniqueNumbers,
) -> Result<Script> {
    let mut builder = ScriptBuilder::default();
    let mut custom = Custom {
        begin: builder.add_sql("BEGIN", false),
        commit: builder.add_sql("COMMIT", false),
        transactions: Vec::new(),
        unique_used: Cell::new(0),
        unique,
    };
    let mut weight_end = 0;
    for transaction in transactions {
        weight_end += i64::from(transaction.weight);
        let mut statements = Vec::new();
        for statement in &transaction.statements {
            let pieces = checked_pieces(&transaction.name, statement)?;
            let index = builder.add(pieces, prepared);
            statements.push((index, statement.parameters.clone()));
        }
        custom.transactions.push(Planned {
            weight_end,
            statements,
        });
    }
    if weight_end == 0 || custom.transactions.iter().any(|t| t.statements.is_empty()) {
        let status = "every transaction needs a statement, and one a weight above 0";
        return Err(breakdown("draw the workload's transactions", status));
    }
    Ok(builder.build(Box::new(custom)))
}

fn checked_pieces(transaction: &str, statement: &Statement) -> Result<Vec<Vec<u8>>> {
    let pieces = split_at_parameters(&statement.sql);
    let (marks, given) = (pieces.len() - 1, statement.parameters.len());
    if marks == given {
        return Ok(pieces);
    }
    Err(breakdown(
        format!("run `{}` of transaction {transaction}", statement.sql),
        format!("it has {marks} `?` and {given} parameters"),
    ))
}

/// Cuts SQL at each `?` that stands outside of quotes and comments.
fn split_at_parameters(sql: &str) -> Vec<Vec<u8>> {
    let bytes = sql.as_bytes();
    let mut pieces = vec![Vec::new()];
    let mut at = 0;
    while at < bytes.len() {
        let end = at + token_length(&bytes[at..]);
        match &bytes[at..end] {
            b"?" => pieces.push(Vec::new()),
            token => pieces.last_mut().expect("never empty").extend(token),
        }
        at = end;
    }
    pieces
}

/// Length of the quoted text or comment that `rest` begins with, else 1.
fn token_length(rest: &[u8]) -> usize {
    let until = |end: &[u8], from: usize| {
        let found = rest[from..].windows(end.len()).position(|w| w == end);
        found.map_or(rest.len(), |at| from + at + end.len())
    };
    match rest {
        [b'/', b'*', ..] => until(b"*/", 2),
        [b'-', b'-', b' ', ..] | [b'#', ..] => until(b"\n", 1),
        [b'`', ..] => until(b"`", 1),
        [quote @ (b'\'' | b'"'), ..] => quoted_length(rest, *quote),
        _ => 1,
    }
}

/// A doubled quote ends one text and begins the next: no parameter can stand between.
fn quoted_length(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

impl Source for Custom {
    fn draw(&self, session: &mut SessionState, plan: &mut TransactionPlan) {
        let planned = self.pick(&mut session.draws);
        plan.is_explicit = planned.statements.len() > 1;
        if plan.is_explicit {
            plan.step(self.begin);
        }
        for (statement, parameters) in &planned.statements {
            plan.step(*statement);
            for parameter in parameters {
                self.parameter(parameter, &mut session.draws, plan);
            }
        }
        if plan.is_explicit {
            plan.step(self.commit);
        }
    }

    fn unique_next(&self) -> u64 {
        self.unique.from + self.unique_used.get() * u64::from(self.unique.drivers)
    }
}

impl Custom {
    fn pick(&self, draws: &mut Draws) -> &Planned {
        let total = self.transactions.last().map_or(1, |last| last.weight_end);
        let drawn = draws.uniform(0, total - 1);
        let index = self.transactions.partition_point(|t| t.weight_end <= drawn);
        &self.transactions[index]
    }

    fn parameter(&self, parameter: &Parameter, draws: &mut Draws, plan: &mut TransactionPlan) {
        match parameter {
            Parameter::Integer { min, max } => plan.int(draws.uniform(*min, *max)),
            Parameter::Key { min, max } => plan.int(draws.special(*min, *max)),
            Parameter::Text { length } => {
                plan.text(|out| draws.letters(LETTERS, *length as usize, out));
            }
            Parameter::Unique { start } => {
                let number = self.unique_next() + u64::from(self.unique.driver);
                self.unique_used.set(self.unique_used.get() + 1);
                plan.int(start.wrapping_add_unsigned(number));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::transactions;
    use super::*;

    const ALONE: UniqueNumbers = UniqueNumbers {
        from: 0,
        driver: 0,
        drivers: 1,
    };

    fn statement(sql: &str, parameters: &[Parameter]) -> Statement {
        Statement {
            sql: sql.to_owned(),
            parameters: parameters.to_vec(),
        }
    }

    fn transaction(weight: u32, statements: &[Statement]) -> Transaction {
        Transaction {
            name: "t".to_owned(),
            weight,
            statements: statements.to_vec(),
        }
    }

    fn unique(from: u64, driver: u32, drivers: u32) -> Vec<String> {
        let numbers = UniqueNumbers {
            from,
            driver,
            drivers,
        };
        let insert = statement("I ?", &[Parameter::Unique { start: 100 }]);
        let script = script(&[transaction(1, &[insert])], true, numbers).unwrap();
        let drawn = transactions(&script, 1, 3).concat();
        assert_eq!(script.source.unique_next(), from + 3 * u64::from(drivers));
        drawn
    }

    #[test]
    fn unique_numbers_are_unique_over_drivers_and_jobs() {
        assert_eq!(unique(0, 0, 1), ["I 100", "I 101", "I 102"]);
        assert_eq!(unique(0, 0, 2), ["I 100", "I 102", "I 104"]);
        assert_eq!(unique(0, 1, 2), ["I 101", "I 103", "I 105"]);
        assert_eq!(unique(6, 1, 2), ["I 107", "I 109", "I 111"]);
    }

    #[test]
    fn several_statements_are_one_transaction() {
        let two = [
            statement(
                "UPDATE a SET x=? WHERE id=?",
                &[
                    Parameter::Text { length: 4 },
                    Parameter::Integer { min: 5, max: 5 },
                ],
            ),
            statement(
                "DELETE FROM b WHERE id=?",
                &[Parameter::Key { min: 1, max: 9 }],
            ),
        ];
        let script = script(&[transaction(1, &two)], false, ALONE).unwrap();
        let drawn = &transactions(&script, 1, 1)[0];
        assert_eq!(
            (drawn.len(), &*drawn[0], &*drawn[3]),
            (4, "BEGIN", "COMMIT")
        );
        let text = drawn[1].split('\'').nth(1).unwrap();
        assert!(
            text.len() == 4 && text.bytes().all(|b| LETTERS.contains(&b)),
            "{text}"
        );
        assert!(drawn[1].ends_with("WHERE id=5"));
        assert_eq!(script.kinds, ["begin", "commit", "update", "delete"]);
    }

    #[test]
    fn weights_are_kept() {
        let single = |weight, sql| transaction(weight, &[statement(sql, &[])]);
        let all = [single(1, "a"), single(0, "b"), single(3, "c")];
        let script = script(&all, false, ALONE).unwrap();
        let drawn = transactions(&script, 1, 4000).concat();
        let count = |sql: &str| drawn.iter().filter(|s| *s == sql).count();
        assert_eq!(count("b"), 0);
        assert!((900..1100).contains(&count("a")), "{}", count("a"));
        assert_eq!(count("a") + count("c"), 4000);
    }

    #[test]
    fn question_marks_in_quotes_and_comments_are_no_parameters() {
        for (sql, marks) in [
            ("a=? AND b=?", 2),
            ("a='?' AND b=\"?\" AND `?`=?", 1),
            (r"a='it\'s ?' AND b='it''s ?' AND c=?", 1),
            ("a /* ? */ = ? -- ?\n AND b=? # ?", 2),
            ("a='?", 0),
        ] {
            let pieces = split_at_parameters(sql);
            assert_eq!(pieces.len() - 1, marks, "{sql}");
            let whole = pieces.join(&b'?');
            assert_eq!(whole, sql.as_bytes());
        }
    }

    #[test]
    fn what_cannot_be_run_is_told() {
        let too_few = transaction(1, &[statement("a=?", &[])]);
        let error = script(&[too_few], true, ALONE).err().unwrap().to_string();
        assert!(error.contains("1 `?` and 0 parameters"), "{error}");
        assert!(script(&[], true, ALONE).is_err());
        assert!(script(&[transaction(1, &[])], true, ALONE).is_err());
        assert!(script(&[transaction(0, &[statement("a", &[])])], true, ALONE).is_err());
    }
}
