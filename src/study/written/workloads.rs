//! `[workload.NAME]`, and the workloads that a sweep can name without one.

use super::walk::{Node, Table, one_of_names};
use crate::study::limits::Range;
use crate::study::workload::{
    MysqlslapLoad, Parameter, Statement, SysbenchLoad, Transaction, Workload,
};

const TOOLS: [(&str, &str); 3] = [
    ("sysbench", "sysbench"),
    ("mysqlslap", "mysqlslap"),
    ("custom", "custom"),
];

const TABLES: Range<u64> = Range::new(1, 1_000);
/// sysbench's range queries span 100 ids.
const TABLE_SIZE: Range<u64> = Range::new(100, 100_000_000);
const COLUMNS: Range<u64> = Range::new(1, 100);
const WRITE_NUMBER: Range<u64> = Range::new(1, 10_000_000);
const NUMBER_OF_QUERIES: Range<u64> = Range::new(1, 100_000_000);
const ITERATIONS: Range<u64> = Range::new(1, 1_000);
const WEIGHT: Range<u64> = Range::new(1, 1_000_000);
const LENGTH: Range<u64> = Range::new(1, 1_000_000);

/// A workload of `[workload.NAME]`.
pub fn read(name: &str, table: &Table<'_>) -> Option<Workload> {
    let node = table.need("tool", &one_of_names("", &TOOLS.map(|(name, _)| name)))?;
    let workload = match node.one_of(&TOOLS)? {
        "sysbench" => sysbench(table),
        "mysqlslap" => mysqlslap(table),
        _ => custom(name, table),
    };
    table.finish();
    workload
}

/// A workload with all its defaults, by name: `update_index`, `mysqlslap update`.
pub fn by_name(name: &str) -> Option<Workload> {
    match name.strip_prefix("mysqlslap ") {
        Some(load) => mysqlslap_load(load).map(Workload::mysqlslap),
        None => sysbench_load(name).map(Workload::sysbench),
    }
}

/// Every name that [`by_name`] knows.
pub fn known_names() -> Vec<String> {
    let sysbench = SysbenchLoad::ALL.map(|load| load.name().to_owned());
    let mysqlslap = MysqlslapLoad::ALL.map(|load| format!("mysqlslap {}", load.name()));
    sysbench.into_iter().chain(mysqlslap).collect()
}

fn mysqlslap_load(name: &str) -> Option<MysqlslapLoad> {
    find(&MysqlslapLoad::ALL, name, MysqlslapLoad::name)
}

/// With or without the prefix that sysbench's own names have.
fn sysbench_load(name: &str) -> Option<SysbenchLoad> {
    let name = name.strip_prefix("oltp_").unwrap_or(name);
    find(&SysbenchLoad::ALL, name, SysbenchLoad::name)
}

fn find<T: Copy>(all: &[T], name: &str, name_of: fn(T) -> &'static str) -> Option<T> {
    all.iter().copied().find(|load| name_of(*load) == name)
}

fn load<T: Copy, const N: usize>(
    table: &Table<'_>,
    all: [T; N],
    name_of: fn(T) -> &'static str,
    by_name: fn(&str) -> Option<T>,
) -> Option<T> {
    let names = all.map(name_of);
    let node = table.need("load", &one_of_names("", &names))?;
    let known = node.as_text().and_then(by_name);
    known.or_else(|| node.one_of(&all.map(|load| (name_of(load), load))))
}

fn count(table: &Table<'_>, key: &str, range: Range<u64>, default: u32) -> u32 {
    table.read(key, |node| node.count(range)).unwrap_or(default)
}

fn flag(table: &Table<'_>, key: &str, default: bool) -> bool {
    table.read(key, Node::flag).unwrap_or(default)
}

fn sysbench(table: &Table<'_>) -> Option<Workload> {
    let load = load(table, SysbenchLoad::ALL, SysbenchLoad::name, sysbench_load);
    let (tables, table_size) = (
        count(table, "tables", TABLES, 1),
        count(table, "table_size", TABLE_SIZE, 10_000),
    );
    let prepared = flag(table, "prepared", true);
    Some(Workload::Sysbench {
        load: load?,
        tables,
        table_size,
        prepared,
    })
}

fn mysqlslap(table: &Table<'_>) -> Option<Workload> {
    let load = load(
        table,
        MysqlslapLoad::ALL,
        MysqlslapLoad::name,
        mysqlslap_load,
    );
    let int_cols = count(table, "number_int_cols", COLUMNS, 1);
    let char_cols = count(table, "number_char_cols", COLUMNS, 1);
    let autoincrement = flag(table, "auto_generate_sql_add_autoincrement", true);
    let write_number = count(table, "auto_generate_sql_write_number", WRITE_NUMBER, 100);
    let number_of_queries = count(table, "number_of_queries", NUMBER_OF_QUERIES, 1_000);
    let iterations = count(table, "iterations", ITERATIONS, 1);
    let catch_up = flag(table, "catch_up", false);
    let load = load?;
    if !autoincrement
        && matches!(load, MysqlslapLoad::Key | MysqlslapLoad::Update)
        && let Some(node) = table.get("auto_generate_sql_add_autoincrement")
    {
        node.wrong(&format!(
            "must be true: {} looks rows up by primary key",
            load.name()
        ));
    }
    Some(Workload::Mysqlslap {
        load,
        int_cols,
        char_cols,
        autoincrement,
        write_number,
        number_of_queries,
        iterations,
        catch_up,
    })
}

fn custom(name: &str, table: &Table<'_>) -> Option<Workload> {
    let setup = table.read("setup", Node::list).unwrap_or_default();
    let setup = setup
        .iter()
        .filter_map(Node::words)
        .map(str::to_owned)
        .collect();
    let prepared = flag(table, "prepared", true);
    let transactions = table.need("transaction", "at least one transaction must be given")?;
    let transactions = transactions.tables();
    let transactions = transactions.iter().enumerate();
    Some(Workload::Custom {
        name: name.to_owned(),
        setup,
        transactions: transactions
            .map(|(index, table)| transaction(index, table))
            .collect(),
        prepared,
    })
}

fn transaction(index: usize, table: &Table<'_>) -> Transaction {
    let name = table.read("name", Node::words).map(str::to_owned);
    let weight = count(table, "weight", WEIGHT, 1);
    let statements = table
        .need("statement", "at least one statement must be given")
        .and_then(|node| node.list())
        .unwrap_or_default();
    table.finish();
    Transaction {
        name: name.unwrap_or_else(|| format!("transaction {}", index + 1)),
        weight,
        statements: statements.iter().filter_map(statement).collect(),
    }
}

/// A statement: SQL alone, or a table of SQL and parameters.
fn statement(node: &Node<'_>) -> Option<Statement> {
    if node.as_text().is_some() {
        let sql = node.words()?.to_owned();
        check_parameters(node, &sql, 0);
        return Some(Statement {
            sql,
            parameters: Vec::new(),
        });
    }
    let table = node.table()?;
    let sql_node = table.need("sql", "a statement must be given");
    let sql = sql_node.as_ref().and_then(Node::words);
    let given = table.read("parameters", Node::list).unwrap_or_default();
    let parameters: Vec<_> = given.iter().filter_map(parameter).collect();
    table.finish();
    check_parameters(&sql_node?, sql?, given.len());
    Some(Statement {
        sql: sql?.to_owned(),
        parameters,
    })
}

fn check_parameters(node: &Node<'_>, sql: &str, given: usize) {
    let needed = placeholders(sql);
    if needed != given {
        node.wrong(&format!(
            "has {needed} × ? but {given} parameters; there must be one for each"
        ));
    }
}

/// Number of `?` outside quotes.
fn placeholders(sql: &str) -> usize {
    let (mut quote, mut is_escaped, mut count) = (None, false, 0);
    for letter in sql.chars() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some('\'' | '"') if letter == '\\' => is_escaped = true,
            Some(open) if open == letter => quote = None,
            Some(_) => {}
            None if matches!(letter, '\'' | '"' | '`') => quote = Some(letter),
            None => count += usize::from(letter == '?'),
        }
    }
    count
}

fn parameter(node: &Node<'_>) -> Option<Parameter> {
    const TYPES: [&str; 4] = ["integer", "key", "text", "unique"];
    let table = node.table()?;
    let kind = table.need("type", &one_of_names("", &TYPES))?;
    let kind = kind.one_of(&TYPES.map(|name| (name, name)))?;
    let parameter = match kind {
        "integer" => span(&table).map(|(min, max)| Parameter::Integer { min, max }),
        "key" => span(&table).map(|(min, max)| Parameter::Key { min, max }),
        "text" => table
            .need("length", "the number of letters must be given")
            .and_then(|node| node.count(LENGTH))
            .map(|length| Parameter::Text { length }),
        _ => {
            let start = table.get("start").map_or(Some(1), |node| node.integer());
            start.map(|start| Parameter::Unique { start })
        }
    };
    table.finish();
    parameter
}

/// `min` and `max`, both included.
fn span(table: &Table<'_>) -> Option<(i64, i64)> {
    let min = table.get("min").map_or(Some(1), |node| node.integer());
    let max_node = table.need("max", "the largest number must be given");
    let max = max_node.as_ref().and_then(Node::integer);
    let (min, max, node) = (min?, max?, max_node?);
    if max < min {
        node.wrong(&format!("must be at least {min}, the smallest number"));
        return None;
    }
    Some((min, max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_in_quotes_are_no_placeholders() {
        assert_eq!(placeholders("SELECT ? FROM t WHERE a = ?"), 2);
        assert_eq!(placeholders(r#"SELECT '?', "?", `?`, 'it\'s ?', ?"#), 1);
        assert_eq!(placeholders("SELECT 'it''s ?', ?"), 1);
        assert_eq!(placeholders(r"SELECT `\`, ?"), 1);
    }

    #[test]
    fn every_known_name_stands_for_a_workload_of_that_label() {
        for name in known_names() {
            assert_eq!(by_name(&name).map(|workload| workload.label()), Some(name));
        }
        assert_eq!(by_name("oltp_read_only"), by_name("read_only"));
        assert_eq!(by_name("oltp_key"), None);
        assert_eq!(by_name("mysqlslap insert"), None);
        assert_eq!(by_name("key"), None);
    }
}
