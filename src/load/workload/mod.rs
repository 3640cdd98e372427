//! Workloads as scripts.

pub mod custom;
pub mod mysqlslap;
mod script;
pub mod sysbench;

use crate::error::{Result, breakdown};
use crate::study::Workload;
use crate::study::workload::Parameter;

pub use script::{Script, ScriptBuilder, SessionState, Source, Template};
pub use script::{TransactionPlan, UniqueNumbers};

/// Statements that make and fill what a workload needs in the current database. mysqlslap's
/// workloads make their own at each iteration.
pub fn setup_statements(workload: &Workload, seed: u64) -> Box<dyn Iterator<Item = String>> {
    match workload {
        Workload::Sysbench {
            tables, table_size, ..
        } => Box::new(sysbench::setup(*tables, *table_size, seed)),
        Workload::Mysqlslap { .. } => Box::new(std::iter::empty()),
        Workload::Custom { setup, .. } => Box::new(setup.clone().into_iter()),
    }
}

/// The script of a closed-loop workload. mysqlslap's need the ids of their rows and are made by
/// `mysqlslap::script` at each iteration.
pub fn script(workload: &Workload, unique: UniqueNumbers) -> Result<Script> {
    match workload {
        Workload::Sysbench {
            load,
            tables,
            table_size,
            prepared,
        } => Ok(sysbench::script(*load, *tables, *table_size, *prepared)),
        Workload::Mysqlslap { .. } => Err(breakdown(
            format!("start {}", workload.label()),
            "mysqlslap's workloads run in iterations, not in a closed loop without end",
        )),
        Workload::Custom {
            transactions,
            prepared,
            ..
        } => custom::script(transactions, *prepared, unique),
    }
}

/// Whether a workload's transactions use up unique numbers.
pub fn has_unique_numbers(workload: &Workload) -> bool {
    let Workload::Custom { transactions, .. } = workload else {
        return false;
    };
    let statements = transactions.iter().flat_map(|one| &one.statements);
    let mut parameters = statements.flat_map(|statement| &statement.parameters);
    parameters.any(|parameter| matches!(parameter, Parameter::Unique { .. }))
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::load::keys::Draws;
    use crate::load::wire::encode::{self, Value};

    /// The SQL of `count` transactions of one session, values written in.
    pub fn transactions(script: &Script, seed: u64, count: usize) -> Vec<Vec<String>> {
        let mut session = SessionState {
            draws: Draws::new(seed, 0),
            position: 0,
        };
        let mut plan = TransactionPlan::default();
        let mut next = || {
            plan.clear();
            script.source.draw(&mut session, &mut plan);
            session.position += 1;
            (0..plan.len())
                .map(|step| sql(script, &plan, step))
                .collect()
        };
        (0..count).map(|_| next()).collect()
    }

    fn sql(script: &Script, plan: &TransactionPlan, step: usize) -> String {
        let template = &script.statements[plan.statement(step)];
        let values: Vec<Value> = plan.values(step).collect();
        assert_eq!(values.len() + 1, template.pieces.len(), "{template:?}");
        let mut bytes = Vec::new();
        encode::query_with(&mut bytes, &template.pieces, values.into_iter());
        String::from_utf8(bytes[5..].to_vec()).unwrap()
    }

    /// With digits made `N`, so that shapes can be compared.
    pub fn shape(sql: &str) -> String {
        let mut shape = String::new();
        for c in sql.chars() {
            let c = if c.is_ascii_digit() { 'N' } else { c };
            if c != 'N' || !shape.ends_with('N') {
                shape.push(c);
            }
        }
        shape
    }
}
