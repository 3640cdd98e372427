//! sysbench 1.0.20's eight OLTP loads: tables, statements and transactions as its
//! `oltp_common.lua` and `oltp_*.lua` make them with their default options.

use super::{Script, ScriptBuilder, SessionState, Source, TransactionPlan};
use crate::load::keys::Draws;
use crate::study::SysbenchLoad;

const C_TEMPLATE: &[u8] = b"###########-###########-###########-###########-###########-\
    ###########-###########-###########-###########-###########";
const PAD_TEMPLATE: &[u8] = b"###########-###########-###########-###########-###########";

const POINT_SELECTS: u32 = 10;
const RANGE_SIZE: i64 = 100;

/// Rows in one INSERT of the set-up: about 190 KB, below every server's default packet limit.
const ROWS_PER_INSERT: u32 = 1000;

/// Statements that make and fill `tables` tables, ids given explicitly so that they run 1…N
/// whatever the server's auto-increment step. Tables of these names are dropped first.
pub fn setup(tables: u32, table_size: u32, seed: u64) -> impl Iterator<Item = String> {
    (1..=tables).flat_map(move |table| {
        let create = [
            format!("DROP TABLE IF EXISTS sbtest{table}"),
            create_table(table),
        ];
        let mut draws = Draws::new(seed, u64::MAX - u64::from(table));
        let inserts = (0..table_size)
            .step_by(ROWS_PER_INSERT as usize)
            .map(move |done| insert_rows(table, table_size, done, &mut draws));
        let index = format!("CREATE INDEX k_{table} ON sbtest{table}(k)");
        create.into_iter().chain(inserts).chain([index])
    })
}

fn create_table(table: u32) -> String {
    format!(
        "CREATE TABLE sbtest{table}(\n  id INTEGER NOT NULL AUTO_INCREMENT,\n  \
         k INTEGER DEFAULT '0' NOT NULL,\n  c CHAR(120) DEFAULT '' NOT NULL,\n  \
         pad CHAR(60) DEFAULT '' NOT NULL,\n  PRIMARY KEY (id)\n) /*! ENGINE = innodb */"
    )
}

fn insert_rows(table: u32, table_size: u32, done: u32, draws: &mut Draws) -> String {
    let last = table_size.min(done + ROWS_PER_INSERT);
    let mut sql = format!("INSERT INTO sbtest{table}(id, k, c, pad) VALUES").into_bytes();
    for id in done + 1..=last {
        let k = draws.special(1, i64::from(table_size));
        let comma = if id == done + 1 { "" } else { ", " };
        sql.extend(format!("{comma}({id}, {k}, '").into_bytes());
        draws.digits(C_TEMPLATE, &mut sql);
        sql.extend(b"', '");
        draws.digits(PAD_TEMPLATE, &mut sql);
        sql.extend(b"')");
    }
    String::from_utf8(sql).expect("only ASCII is drawn")
}

/// The statements of one table, as indices into the script's; only those that the load uses.
#[derive(Default)]
struct TableStatements {
    point_select: usize,
    ranges: [usize; 4],
    update_index: usize,
    update_non_index: usize,
    delete: usize,
    insert: usize,
}

struct Oltp {
    load: SysbenchLoad,
    begin: usize,
    commit: usize,
    tables: Vec<TableStatements>,
    table_size: i64,
}

/// The script of a load. `prepared` is sysbench's default; its `insert` uses text always.
pub fn script(load: SysbenchLoad, tables: u32, table_size: u32, prepared: bool) -> Script {
    let mut builder = ScriptBuilder::default();
    let mut oltp = Oltp {
        load,
        begin: 0,
        commit: 0,
        tables: Vec::new(),
        table_size: i64::from(table_size),
    };
    if has_transaction(load) {
        oltp.begin = builder.add_sql("BEGIN", prepared);
        oltp.commit = builder.add_sql("COMMIT", prepared);
    }
    for table in 1..=tables {
        let statements = table_statements(&mut builder, load, table, prepared);
        oltp.tables.push(statements);
    }
    builder.build(Box::new(oltp))
}

fn has_transaction(load: SysbenchLoad) -> bool {
    use SysbenchLoad::{ReadOnly, ReadWrite, WriteOnly};
    matches!(load, ReadOnly | ReadWrite | WriteOnly)
}

fn table_statements(
    builder: &mut ScriptBuilder,
    load: SysbenchLoad,
    table: u32,
    prepared: bool,
) -> TableStatements {
    use SysbenchLoad::*;
    let mut add = |wanted: bool, sql: &str, prepared: bool| {
        let sql = sql.replace("sbtest", &format!("sbtest{table}"));
        if wanted {
            builder.add_sql(&sql, prepared)
        } else {
            0
        }
    };
    let reads = matches!(load, ReadOnly | ReadWrite);
    let writes = matches!(load, WriteOnly | ReadWrite);
    let range = "FROM sbtest WHERE id BETWEEN ? AND ?";
    TableStatements {
        point_select: add(
            reads || load == PointSelect,
            "SELECT c FROM sbtest WHERE id=?",
            prepared,
        ),
        ranges: [
            add(reads, &format!("SELECT c {range}"), prepared),
            add(reads, &format!("SELECT SUM(k) {range}"), prepared),
            add(reads, &format!("SELECT c {range} ORDER BY c"), prepared),
            add(
                reads,
                &format!("SELECT DISTINCT c {range} ORDER BY c"),
                prepared,
            ),
        ],
        update_index: add(
            writes || load == UpdateIndex,
            "UPDATE sbtest SET k=k+1 WHERE id=?",
            prepared,
        ),
        update_non_index: add(
            writes || load == UpdateNonIndex,
            "UPDATE sbtest SET c=? WHERE id=?",
            prepared,
        ),
        delete: add(
            writes || load == Delete,
            "DELETE FROM sbtest WHERE id=?",
            prepared,
        ),
        insert: add(
            writes || load == Insert,
            "INSERT INTO sbtest (id, k, c, pad) VALUES (?, ?, ?, ?)",
            prepared && load != Insert,
        ),
    }
}

impl Source for Oltp {
    fn draw(&self, session: &mut SessionState, plan: &mut TransactionPlan) {
        use SysbenchLoad::*;
        let draws = &mut session.draws;
        plan.is_explicit = has_transaction(self.load);
        if plan.is_explicit {
            plan.step(self.begin);
        }
        match self.load {
            PointSelect => self.point_selects(draws, plan, 1),
            ReadOnly => self.reads(draws, plan),
            ReadWrite => {
                self.reads(draws, plan);
                self.writes(draws, plan);
            }
            WriteOnly => self.writes(draws, plan),
            UpdateIndex => self.update_index(draws, plan),
            UpdateNonIndex => self.update_non_index(draws, plan),
            Insert => self.insert(draws, plan),
            Delete => self.delete(draws, plan),
        }
        if plan.is_explicit {
            plan.step(self.commit);
        }
    }
}

impl Oltp {
    /// sysbench draws the table anew for each group of statements, evenly.
    fn table(&self, draws: &mut Draws) -> &TableStatements {
        &self.tables[draws.uniform(0, self.tables.len() as i64 - 1) as usize]
    }

    fn id(&self, draws: &mut Draws) -> i64 {
        draws.special(1, self.table_size)
    }

    fn point_selects(&self, draws: &mut Draws, plan: &mut TransactionPlan, count: u32) {
        let table = self.table(draws);
        for _ in 0..count {
            plan.step(table.point_select);
            plan.int(self.id(draws));
        }
    }

    fn reads(&self, draws: &mut Draws, plan: &mut TransactionPlan) {
        self.point_selects(draws, plan, POINT_SELECTS);
        for range in 0..4 {
            let statement = self.table(draws).ranges[range];
            let first = self.id(draws);
            plan.step(statement);
            plan.int(first);
            plan.int(first + RANGE_SIZE - 1);
        }
    }

    fn writes(&self, draws: &mut Draws, plan: &mut TransactionPlan) {
        self.update_index(draws, plan);
        self.update_non_index(draws, plan);
        let table = self.table(draws);
        let (id, k) = (self.id(draws), self.id(draws));
        plan.step(table.delete);
        plan.int(id);
        plan.step(table.insert);
        plan.int(id);
        plan.int(k);
        strings(draws, plan);
    }

    fn update_index(&self, draws: &mut Draws, plan: &mut TransactionPlan) {
        plan.step(self.table(draws).update_index);
        plan.int(self.id(draws));
    }

    fn update_non_index(&self, draws: &mut Draws, plan: &mut TransactionPlan) {
        plan.step(self.table(draws).update_non_index);
        plan.text(|out| draws.digits(C_TEMPLATE, out));
        plan.int(self.id(draws));
    }

    /// The id is 0: the server counts it up.
    fn insert(&self, draws: &mut Draws, plan: &mut TransactionPlan) {
        plan.step(self.table(draws).insert);
        plan.int(0);
        plan.int(self.id(draws));
        strings(draws, plan);
    }

    fn delete(&self, draws: &mut Draws, plan: &mut TransactionPlan) {
        plan.step(self.table(draws).delete);
        plan.int(self.id(draws));
    }
}

fn strings(draws: &mut Draws, plan: &mut TransactionPlan) {
    plan.text(|out| draws.digits(C_TEMPLATE, out));
    plan.text(|out| draws.digits(PAD_TEMPLATE, out));
}

#[cfg(test)]
mod tests {
    use super::super::testing::{shape, transactions};
    use super::*;

    fn shapes(load: SysbenchLoad) -> Vec<String> {
        let script = script(load, 1, 10_000, true);
        let transaction = &transactions(&script, 1, 1)[0];
        transaction.iter().map(|sql| shape(sql)).collect()
    }

    const C: &str = "'N-N-N-N-N-N-N-N-N-N'";
    const PAD: &str = "'N-N-N-N-N'";

    #[test]
    fn single_statement_loads_are_one_statement() {
        use SysbenchLoad::*;
        assert_eq!(shapes(PointSelect), ["SELECT c FROM sbtestN WHERE id=N"]);
        assert_eq!(shapes(UpdateIndex), ["UPDATE sbtestN SET k=k+N WHERE id=N"]);
        let non_index = format!("UPDATE sbtestN SET c={C} WHERE id=N");
        assert_eq!(shapes(UpdateNonIndex), [non_index]);
        assert_eq!(shapes(Delete), ["DELETE FROM sbtestN WHERE id=N"]);
        let insert = format!("INSERT INTO sbtestN (id, k, c, pad) VALUES (N, N, {C}, {PAD})");
        assert_eq!(shapes(Insert), [insert]);
        let drawn = &transactions(&script(Insert, 3, 100, true), 1, 1)[0][0];
        assert!(drawn.contains("VALUES (0, "), "{drawn}");
    }

    #[test]
    fn transactions_have_sysbenchs_shape() {
        let range = "FROM sbtestN WHERE id BETWEEN N AND N";
        let mut reads = vec!["SELECT c FROM sbtestN WHERE id=N".to_owned(); 10];
        reads.extend([
            format!("SELECT c {range}"),
            format!("SELECT SUM(k) {range}"),
            format!("SELECT c {range} ORDER BY c"),
            format!("SELECT DISTINCT c {range} ORDER BY c"),
        ]);
        let writes = vec![
            "UPDATE sbtestN SET k=k+N WHERE id=N".to_owned(),
            format!("UPDATE sbtestN SET c={C} WHERE id=N"),
            "DELETE FROM sbtestN WHERE id=N".to_owned(),
            format!("INSERT INTO sbtestN (id, k, c, pad) VALUES (N, N, {C}, {PAD})"),
        ];
        let within = |parts: &[&Vec<String>]| {
            let mut all = vec!["BEGIN".to_owned()];
            parts.iter().for_each(|part| all.extend_from_slice(part));
            all.push("COMMIT".to_owned());
            all
        };
        assert_eq!(shapes(SysbenchLoad::ReadOnly), within(&[&reads]));
        assert_eq!(shapes(SysbenchLoad::WriteOnly), within(&[&writes]));
        assert_eq!(shapes(SysbenchLoad::ReadWrite), within(&[&reads, &writes]));
    }

    #[test]
    fn ranges_are_a_hundred_rows_and_deletes_are_inserted_again() {
        let script = script(SysbenchLoad::ReadWrite, 1, 10_000, true);
        for transaction in transactions(&script, 9, 20) {
            let number = |sql: &str, after: &str| -> i64 {
                let rest = &sql[sql.find(after).unwrap() + after.len()..];
                let end = rest
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(rest.len());
                rest[..end].parse().unwrap()
            };
            let range = &transaction[11];
            assert_eq!(number(range, "AND ") - number(range, "BETWEEN "), 99);
            let deleted = number(&transaction[17], "id=");
            assert_eq!(number(&transaction[18], "VALUES ("), deleted);
        }
    }

    #[test]
    fn all_tables_are_used() {
        let script = script(SysbenchLoad::PointSelect, 3, 100, true);
        let all = transactions(&script, 1, 60).concat().join("\n");
        for table in ["sbtest1 ", "sbtest2 ", "sbtest3 "] {
            assert!(all.contains(table), "{table}");
        }
        assert!(!all.contains("sbtest4"));
    }

    #[test]
    fn setup_gives_every_id_once() {
        let statements: Vec<String> = setup(2, 2500, 7).collect();
        assert_eq!(statements.len(), 2 * (2 + 3 + 1));
        assert!(statements[1].starts_with("CREATE TABLE sbtest1("));
        assert_eq!(statements[5], "CREATE INDEX k_1 ON sbtest1(k)");
        assert!(statements[2].starts_with("INSERT INTO sbtest1(id, k, c, pad) VALUES(1, "));
        assert!(statements[3].contains("VALUES(1001, "));
        assert_eq!(statements[4].matches("), (").count(), 499);
        assert!(statements[4].contains("(2500, ") && !statements[4].contains("(2501, "));
        let again: Vec<String> = setup(2, 2500, 7).collect();
        assert_eq!(statements, again);
        assert_ne!(statements[2], setup(2, 2500, 8).nth(2).unwrap());
        assert_ne!(statements[2][20..], statements[8][20..]);
        let row = statements[2].split("), (").nth(1).unwrap();
        assert_eq!(row.split('\'').nth(1).unwrap().len(), 119);
        assert_eq!(row.split('\'').nth(3).unwrap().len(), 59);
    }
}
