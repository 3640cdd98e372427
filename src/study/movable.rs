//! Which studies can be asked for their limits, and which loads can be spread over schemas.

use super::sweep::{Apply, Sweep};
use super::workload::{SysbenchLoad, Workload};
use super::{Study, units};
use crate::error::Mistake;

/// Where mistakes are said to be.
pub const PLACE: &str = "acklab limits";
const CLOSED_ONLY: &str =
    "limits asks what bounds throughput: closed loops only; give a study without it";

/// What this cannot be asked of.
pub fn mistakes(study: &Study) -> Vec<Mistake> {
    let mut found: Vec<Mistake> = study.sweeps.iter().flat_map(of_sweep).collect();
    if study.is_of_endpoints() {
        let allowed = "limits moves the parts of a lab, and endpoints are taken as they are; it \
                       asks what bounds throughput: closed loops only";
        found.push(Mistake::new(PLACE, "mode", "endpoint", allowed));
    }
    found.extend(study.until.map(|share| {
        let given = units::show_percent(share);
        let allowed = "is not for limits: each cell is held against another, round by round; \
                       give --rounds or --budget";
        Mistake::new("command line", "--until", &given, allowed)
    }));
    found
}

fn of_sweep(sweep: &Sweep) -> Vec<Mistake> {
    let rates = sweep.rates_per_s.iter().map(|rate| format!("{rate}/s"));
    let knees = sweep.knee.iter().map(|knee| units::show(knee.p99));
    let tools = sweep.workloads.iter().filter(|load| is_mysqlslap(load));
    let open = [
        ("rate", rates.collect::<Vec<String>>()),
        ("knee", knees.collect()),
        ("workload", tools.map(Workload::label).collect()),
    ];
    let given = open.into_iter().filter(|(_, given)| !given.is_empty());
    let mut found: Vec<Mistake> = given
        .map(|(key, given)| Mistake::new(PLACE, key, &given.join(", "), CLOSED_ONLY))
        .collect();
    if sweep.workloads.iter().any(uses_rows_up) {
        let allowed = "it uses its rows up: what it commits tells how many are left";
        found.push(Mistake::new(PLACE, "workload", "delete", allowed));
    }
    if sweep.apply == Apply::After {
        let allowed = "limits asks of replicas that apply as they go; give a study without it";
        found.push(Mistake::new(PLACE, "apply", sweep.apply.word(), allowed));
    }
    found
}

fn is_mysqlslap(workload: &Workload) -> bool {
    matches!(workload, Workload::Mysqlslap { .. })
}

fn uses_rows_up(workload: &Workload) -> bool {
    let delete = SysbenchLoad::Delete;
    matches!(workload, Workload::Sysbench { load, .. } if *load == delete)
}

/// Its own SQL says where its tables are: spread over schemas they would be the same ones.
pub fn names_a_schema(workload: &Workload) -> bool {
    let Workload::Custom {
        setup,
        transactions,
        ..
    } = workload
    else {
        return false;
    };
    let statements = transactions.iter().flat_map(|one| &one.statements);
    let mut texts = setup.iter().chain(statements.map(|one| &one.sql));
    texts.any(|sql| sql.to_lowercase().replace('`', "").contains("acklab."))
}
