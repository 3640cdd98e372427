//! Workloads, under the names that sysbench and mysqlslap give them.

use serde::{Deserialize, Serialize};

/// sysbench's eight OLTP loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SysbenchLoad {
    PointSelect,
    ReadOnly,
    ReadWrite,
    WriteOnly,
    UpdateIndex,
    UpdateNonIndex,
    Insert,
    Delete,
}

/// mysqlslap's five `--auto-generate-sql-load-type`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MysqlslapLoad {
    Key,
    Read,
    Write,
    Mixed,
    Update,
}

/// How queries arrive. A value, not a variant of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// Each connection sends its next transaction when the last one has ended.
    Closed,
}

/// One statement of a user's own transaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// SQL with `?` for each parameter.
    pub sql: String,
    /// One for each `?`.
    pub parameters: Vec<Parameter>,
}

/// A typed parameter, drawn anew for every execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Parameter {
    /// A whole number, drawn evenly from `min` to `max`, both included.
    Integer { min: i64, max: i64 },
    /// sysbench's default key distribution over `min` to `max`: its "special" distribution.
    Key { min: i64, max: i64 },
    /// Lower-case letters and digits, evenly, of exactly `length` bytes.
    Text { length: u32 },
    /// A number that no other execution of this run uses, counted up from `start`.
    Unique { start: i64 },
}

/// A user's own transaction: its statements run in order, inside BEGIN/COMMIT if several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transaction {
    pub name: String,
    /// Relative frequency among the workload's transactions.
    pub weight: u32,
    pub statements: Vec<Statement>,
}

/// What is run against the servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tool", rename_all = "snake_case")]
pub enum Workload {
    Sysbench {
        load: SysbenchLoad,
        /// Number of tables `sbtest1`…
        tables: u32,
        /// Rows of each table.
        table_size: u32,
        /// Prepared statements (sysbench's default) or text.
        prepared: bool,
    },
    Mysqlslap {
        load: MysqlslapLoad,
        /// `--number-int-cols`
        int_cols: u32,
        /// `--number-char-cols`
        char_cols: u32,
        /// `--auto-generate-sql-add-autoincrement`
        autoincrement: bool,
        /// `--auto-generate-sql-write-number`: rows loaded before each iteration.
        write_number: u32,
        /// `--number-of-queries`, over all connections.
        number_of_queries: u32,
        /// `--iterations`: how many make up one measurement of a cell.
        iterations: u32,
        /// Whether each waits until replicas have applied its reload. The tool does not.
        #[serde(default)]
        catch_up: bool,
    },
    Custom {
        name: String,
        /// Statements that make and fill the schema, run once on the writer.
        setup: Vec<String>,
        transactions: Vec<Transaction>,
        prepared: bool,
    },
}

impl Default for Workload {
    /// sysbench's `oltp_update_index` with its own defaults.
    fn default() -> Workload {
        Workload::sysbench(SysbenchLoad::UpdateIndex)
    }
}

impl SysbenchLoad {
    /// All eight.
    pub const ALL: [SysbenchLoad; 8] = [
        SysbenchLoad::PointSelect,
        SysbenchLoad::ReadOnly,
        SysbenchLoad::ReadWrite,
        SysbenchLoad::WriteOnly,
        SysbenchLoad::UpdateIndex,
        SysbenchLoad::UpdateNonIndex,
        SysbenchLoad::Insert,
        SysbenchLoad::Delete,
    ];

    /// sysbench's name without its `oltp_` prefix.
    pub fn name(self) -> &'static str {
        match self {
            SysbenchLoad::PointSelect => "point_select",
            SysbenchLoad::ReadOnly => "read_only",
            SysbenchLoad::ReadWrite => "read_write",
            SysbenchLoad::WriteOnly => "write_only",
            SysbenchLoad::UpdateIndex => "update_index",
            SysbenchLoad::UpdateNonIndex => "update_non_index",
            SysbenchLoad::Insert => "insert",
            SysbenchLoad::Delete => "delete",
        }
    }
}

impl MysqlslapLoad {
    /// All five.
    pub const ALL: [MysqlslapLoad; 5] = [
        MysqlslapLoad::Key,
        MysqlslapLoad::Read,
        MysqlslapLoad::Write,
        MysqlslapLoad::Mixed,
        MysqlslapLoad::Update,
    ];

    /// mysqlslap's name.
    pub fn name(self) -> &'static str {
        match self {
            MysqlslapLoad::Key => "key",
            MysqlslapLoad::Read => "read",
            MysqlslapLoad::Write => "write",
            MysqlslapLoad::Mixed => "mixed",
            MysqlslapLoad::Update => "update",
        }
    }
}

impl Workload {
    /// sysbench's load with its own defaults.
    pub fn sysbench(load: SysbenchLoad) -> Workload {
        Workload::Sysbench {
            load,
            tables: 1,
            table_size: 10_000,
            prepared: true,
        }
    }

    /// mysqlslap's load with its own defaults, but for a number of queries (it has none) and a
    /// primary key, which `key` and `update` cannot do without, nor can a group.
    pub fn mysqlslap(load: MysqlslapLoad) -> Workload {
        Workload::Mysqlslap {
            load,
            int_cols: 1,
            char_cols: 1,
            autoincrement: true,
            write_number: 100,
            number_of_queries: 1_000,
            iterations: 1,
            catch_up: false,
        }
    }

    /// Whether it changes no row.
    pub fn only_reads(&self) -> bool {
        match self {
            Workload::Sysbench { load, .. } => {
                matches!(load, SysbenchLoad::PointSelect | SysbenchLoad::ReadOnly)
            }
            Workload::Mysqlslap { load, .. } => {
                matches!(load, MysqlslapLoad::Key | MysqlslapLoad::Read)
            }
            Workload::Custom { transactions, .. } => transactions
                .iter()
                .flat_map(|transaction| &transaction.statements)
                .all(|statement| starts_as_a_read(&statement.sql)),
        }
    }

    /// The name that tables print: `update_index`, `mysqlslap update`, or the user's own.
    pub fn label(&self) -> String {
        match self {
            Workload::Sysbench { load, .. } => load.name().to_owned(),
            Workload::Mysqlslap { load, catch_up, .. } => {
                let waits = if *catch_up { " caught up" } else { "" };
                format!("mysqlslap {}{waits}", load.name())
            }
            Workload::Custom { name, .. } => name.clone(),
        }
    }

    /// The label, plus whatever differs from the defaults: tells any two workloads of a study
    /// apart, e.g. `update_index, 4 × 100000 rows, text`.
    pub fn label_in_full(&self) -> String {
        let mut words = vec![self.label()];
        match self {
            Workload::Sysbench {
                tables,
                table_size,
                prepared,
                ..
            } => {
                if (*tables, *table_size) != (1, 10_000) {
                    words.push(format!("{tables} × {table_size} rows"));
                }
                words.extend((!prepared).then(|| "text".to_owned()));
            }
            Workload::Mysqlslap {
                int_cols,
                char_cols,
                autoincrement,
                write_number,
                number_of_queries,
                iterations,
                ..
            } => {
                if (*int_cols, *char_cols) != (1, 1) {
                    words.push(format!("{int_cols} int {char_cols} char"));
                }
                words.extend((!autoincrement).then(|| "no key".to_owned()));
                if *write_number != 100 {
                    words.push(format!("{write_number} rows"));
                }
                if *number_of_queries != 1_000 {
                    words.push(format!("{number_of_queries} queries"));
                }
                if *iterations != 1 {
                    words.push(format!("{iterations} iterations"));
                }
            }
            Workload::Custom { prepared, .. } => {
                words.extend((!prepared).then(|| "text".to_owned()));
            }
        }
        words.join(", ")
    }
}

fn starts_as_a_read(sql: &str) -> bool {
    let word = sql.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
    let word = word.split(|c: char| !c.is_ascii_alphabetic()).next();
    let word = word.unwrap_or_default().to_ascii_uppercase();
    ["SELECT", "SHOW", "VALUES", "TABLE", "DO"].contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_users_own_reads_are_told_from_writes() {
        assert!(starts_as_a_read(" (select 1)") && starts_as_a_read("SHOW TABLES"));
        assert!(!starts_as_a_read("UPDATE t SET a = 1") && !starts_as_a_read("SELECTED"));
    }
}
