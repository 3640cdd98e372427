//! mysqlslap's five auto-generated loads, as docs/mysqlslap.md found them in its query log.

use super::{Script, ScriptBuilder, SessionState, Source, TransactionPlan};
use crate::load::keys::Draws;
use crate::study::{MysqlslapLoad, Workload};

const LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Length of the tool's random strings; its columns are two longer.
const TEXT_LENGTH: usize = 126;
/// Distinct rows that the load before an iteration goes through
/// (`--auto-generate-sql-unique-write-number`).
const UNIQUE_ROWS: u32 = 10;
/// Statements that every session goes through, over and over: one more than
/// `--auto-generate-sql-unique-query-number` (and `-write-number`), which is 10.
const LISTED_STATEMENTS: usize = 11;

/// The tool's schema.
pub const SCHEMA: &str = "mysqlslap";

/// What of a study's workload shapes the tool's statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slap {
    pub load: MysqlslapLoad,
    pub int_cols: u32,
    pub char_cols: u32,
    pub autoincrement: bool,
    pub write_number: u32,
    pub number_of_queries: u32,
    pub iterations: u32,
}

impl Slap {
    /// `None` if the workload is another tool's.
    pub fn of(workload: &Workload) -> Option<Slap> {
        let Workload::Mysqlslap {
            load,
            int_cols,
            char_cols,
            autoincrement,
            write_number,
            number_of_queries,
            iterations,
            ..
        } = *workload
        else {
            return None;
        };
        Some(Slap {
            load,
            int_cols,
            char_cols,
            autoincrement,
            write_number,
            number_of_queries,
            iterations,
        })
    }

    /// Queries of each session: the remainder of the division is not run at all, and with more
    /// sessions than queries each goes through the whole list once.
    pub fn queries_per_session(&self, connections: u32) -> u64 {
        match self.number_of_queries / connections.max(1) {
            0 => LISTED_STATEMENTS as u64,
            queries => u64::from(queries),
        }
    }

    /// Whether the tool runs this at all: its `key` load wants the auto-increment column.
    pub fn is_runnable(&self) -> bool {
        self.autoincrement || self.load != MysqlslapLoad::Key
    }

    /// The statements that drop, make and fill the schema before an iteration. Where all must stay
    /// in a database of one's own, it is the table alone.
    pub fn reload(&self, seed: u64, own: Option<&str>) -> Vec<String> {
        let mut draws = Draws::new(seed, u64::MAX);
        let rows: Vec<String> = (0..UNIQUE_ROWS).map(|_| self.insert(&mut draws)).collect();
        let mut all = match own {
            Some(own) => vec![
                format!("USE `{own}`"),
                "DROP TABLE IF EXISTS `t1`".to_owned(),
            ],
            None => vec![
                format!("DROP SCHEMA IF EXISTS `{SCHEMA}`"),
                format!("CREATE SCHEMA `{SCHEMA}`"),
                format!("USE `{SCHEMA}`"),
            ],
        };
        all.push(self.create_table());
        // The tool counts its CREATE TABLE among the writes.
        let count = self.write_number.saturating_sub(1) as usize;
        all.extend(rows.into_iter().cycle().take(count));
        all
    }

    fn create_table(&self) -> String {
        let id = self.autoincrement.then(|| "id serial".to_owned());
        let ints = (1..=self.int_cols).map(|i| format!("intcol{i} INT(32) "));
        let chars = (1..=self.char_cols).map(|i| format!("charcol{i} VARCHAR(128)"));
        let columns: Vec<String> = id.into_iter().chain(ints).chain(chars).collect();
        format!("CREATE TABLE `t1` ({})", columns.join(","))
    }

    fn insert(&self, draws: &mut Draws) -> String {
        let id = self.autoincrement.then(|| "NULL".to_owned());
        let values: Vec<String> = id.into_iter().chain(self.values(draws)).collect();
        format!("INSERT INTO t1 VALUES ({})", values.join(","))
    }

    fn select(&self, by_id: bool) -> String {
        let columns = self.columns().join(",");
        let filter = if by_id { " WHERE id =  ?" } else { "" };
        format!("SELECT {columns} FROM t1{filter}")
    }

    fn update(&self, draws: &mut Draws) -> String {
        let columns = self.columns();
        let pairs = columns.iter().zip(self.values(draws));
        let set: Vec<String> = pairs.map(|(c, v)| format!("{c} = {v}")).collect();
        let filter = if self.autoincrement {
            " WHERE id =  ?"
        } else {
            ""
        };
        format!("UPDATE t1 SET {}{filter}", set.join(","))
    }

    fn columns(&self) -> Vec<String> {
        let ints = (1..=self.int_cols).map(|i| format!("intcol{i}"));
        let chars = (1..=self.char_cols).map(|i| format!("charcol{i}"));
        ints.chain(chars).collect()
    }

    /// One value for each column but the id.
    fn values(&self, draws: &mut Draws) -> Vec<String> {
        let mut values = Vec::new();
        for _ in 0..self.int_cols {
            values.push(draws.uniform(0, i64::from(i32::MAX)).to_string());
        }
        for _ in 0..self.char_cols {
            let mut text = Vec::new();
            draws.letters(LETTERS, TEXT_LENGTH, &mut text);
            values.push(format!("'{}'", String::from_utf8_lossy(&text)));
        }
        values
    }

    fn listed(&self, index: usize, draws: &mut Draws) -> String {
        match self.load {
            MysqlslapLoad::Key => self.select(true),
            MysqlslapLoad::Read => self.select(false),
            MysqlslapLoad::Write => self.insert(draws),
            MysqlslapLoad::Mixed if index.is_multiple_of(2) => self.insert(draws),
            MysqlslapLoad::Mixed => self.select(self.autoincrement),
            MysqlslapLoad::Update => self.update(draws),
        }
    }

    /// The list of statements that every session goes through from its beginning. `ids` are the
    /// rows' ids after the reload.
    pub fn script(&self, seed: u64, ids: Vec<u64>) -> Script {
        let mut draws = Draws::new(seed, u64::MAX - 1);
        let mut builder = ScriptBuilder::default();
        for index in 0..LISTED_STATEMENTS {
            builder.add_sql(&self.listed(index, &mut draws), false);
        }
        let has_id = builder.statements.iter().map(|s| s.pieces.len() > 1);
        let source = List {
            has_id: has_id.collect(),
            ids,
        };
        builder.build(Box::new(source))
    }
}

struct List {
    /// Of each statement: whether it wants an id.
    has_id: Vec<bool>,
    ids: Vec<u64>,
}

impl Source for List {
    fn draw(&self, session: &mut SessionState, plan: &mut TransactionPlan) {
        let index = session.position as usize % self.has_id.len();
        plan.step(index);
        if !self.has_id[index] {
            return;
        }
        // The tool writes the id as a string; with an empty table it would crash.
        let last = self.ids.len().max(1) as i64 - 1;
        let drawn = session.draws.uniform(0, last) as usize;
        let id = self.ids.get(drawn).copied().unwrap_or(0);
        plan.text(|out| out.extend_from_slice(id.to_string().as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{shape, transactions};
    use super::*;

    fn slap(load: MysqlslapLoad, autoincrement: bool) -> Slap {
        Slap {
            load,
            int_cols: 2,
            char_cols: 1,
            autoincrement,
            write_number: 13,
            number_of_queries: 60,
            iterations: 2,
        }
    }

    /// Numbers and strings made alike.
    fn shapes(slap: Slap, count: usize) -> Vec<String> {
        let script = slap.script(1, vec![4]);
        let drawn = transactions(&script, 1, count).concat();
        let text = |sql: &String| {
            let parts: Vec<&str> = sql.split('\'').collect();
            let is_text = |(i, part): (usize, &&str)| {
                if i % 2 == 1 && part.len() == TEXT_LENGTH {
                    "S"
                } else {
                    part
                }
                .to_owned()
            };
            let parts: Vec<String> = parts.iter().enumerate().map(is_text).collect();
            shape(&parts.join("'"))
        };
        drawn.iter().map(text).collect()
    }

    #[test]
    fn statements_are_the_tools() {
        use MysqlslapLoad::*;
        let read = "SELECT intcolN,intcolN,charcolN FROM tN";
        let key = "SELECT intcolN,intcolN,charcolN FROM tN WHERE id =  'N'";
        let write = "INSERT INTO tN VALUES (N,N,'S')";
        let write_id = "INSERT INTO tN VALUES (NULL,N,N,'S')";
        let update = "UPDATE tN SET intcolN = N,intcolN = N,charcolN = 'S'";
        let update_id = format!("{update} WHERE id =  'N'");
        assert_eq!(shapes(slap(Key, true), 2), [key, key]);
        assert_eq!(shapes(slap(Read, true), 1), [read]);
        assert_eq!(shapes(slap(Write, false), 1), [write]);
        assert_eq!(shapes(slap(Write, true), 1), [write_id]);
        assert_eq!(shapes(slap(Update, false), 1), [update]);
        assert_eq!(shapes(slap(Update, true), 1), [update_id]);
        assert_eq!(shapes(slap(Mixed, false), 3), [write, read, write]);
        assert_eq!(shapes(slap(Mixed, true), 3), [write_id, key, write_id]);
    }

    #[test]
    fn every_session_goes_through_the_same_eleven_statements() {
        let script = slap(MysqlslapLoad::Write, false).script(1, Vec::new());
        let drawn = transactions(&script, 1, 22).concat();
        let distinct: std::collections::BTreeSet<&String> = drawn.iter().collect();
        assert_eq!(distinct.len(), 11);
        assert_eq!(drawn[..11], drawn[11..]);
        assert_eq!(drawn, transactions(&script, 2, 22).concat());
        // Mixed begins and ends its list with a write.
        let mixed = shapes(slap(MysqlslapLoad::Mixed, false), 12);
        assert!(mixed[10].starts_with("INSERT") && mixed[11].starts_with("INSERT"));
    }

    #[test]
    fn the_remainder_of_the_queries_is_not_run() {
        let mut slap = slap(MysqlslapLoad::Read, false);
        slap.number_of_queries = 20;
        assert_eq!(slap.queries_per_session(3), 6);
        assert_eq!(slap.queries_per_session(20), 1);
        assert_eq!(slap.queries_per_session(21), 11);
    }

    #[test]
    fn the_reload_makes_one_row_less_than_asked() {
        let reload = slap(MysqlslapLoad::Mixed, true).reload(5, None);
        let expected = "CREATE TABLE `t1` (id serial,intcol1 INT(32) ,intcol2 INT(32) ,\
            charcol1 VARCHAR(128))";
        assert_eq!(reload[3], expected);
        assert_eq!(reload.len(), 4 + 12);
        // Ten distinct rows, over and over.
        assert_eq!(reload[4], reload[14]);
        assert_ne!(reload[4], reload[5]);
        assert_eq!(reload, slap(MysqlslapLoad::Mixed, true).reload(5, None));
    }

    #[test]
    fn a_guests_reload_stays_in_its_own_database() {
        let reload = |own| slap(MysqlslapLoad::Mixed, true).reload(5, own);
        let guest = reload(Some("acklab_x"));
        assert_eq!(guest[..2], ["USE `acklab_x`", "DROP TABLE IF EXISTS `t1`"]);
        assert!(
            !guest
                .iter()
                .any(|sql| sql.contains("SCHEMA") || sql.contains(SCHEMA))
        );
        assert_eq!(guest[2..], reload(None)[3..]);
    }

    #[test]
    fn ids_come_from_the_table() {
        let script = slap(MysqlslapLoad::Key, true).script(1, vec![3, 6, 9]);
        let drawn = transactions(&script, 1, 60).concat();
        for id in ["'3'", "'6'", "'9'"] {
            assert!(drawn.iter().any(|sql| sql.ends_with(id)), "{id}");
        }
        assert!(
            drawn
                .iter()
                .all(|s| ["'3'", "'6'", "'9'"].iter().any(|id| s.ends_with(id)))
        );
    }
}
