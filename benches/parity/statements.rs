//! The same statements and the same keys as sysbench.

use std::collections::BTreeMap;

use acklab::error::Result;
use acklab::study::SysbenchLoad;

use crate::judge::{chi_square, shape};
use crate::log::{Counts, Line, counted, logged};
use crate::place::Place;
use crate::tools::{acklab_count, fill, sysbench_count};

/// Statements whose keys are compared, roughly: enough that a hot key of 76 has hundreds of draws.
const STATEMENTS: u64 = 20_000;
/// The chance that two samples of one distribution are told apart, for each of some thirty tests;
/// seeds are fixed, so the same code gives the same answer.
const P_MIN: f64 = 0.001;
/// What is counted for each connection, not for each transaction.
const PER_CONNECTION: [&str; 3] = ["stmt_prepare", "stmt_close", "stmt_reprepare"];

/// Statements per transaction by the server's counters, exactly.
pub fn same_counts(place: &Place, loads: &[SysbenchLoad]) -> Result<bool> {
    println!("\nThe server's count of statements per transaction, by kind\n");
    println!("| load | acklab | sysbench | |\n|---|---|---|---|");
    let mut is_same = true;
    for &load in loads {
        fill(place, load)?;
        let ours = counted(place, || acklab_count(place, load, 500))?;
        fill(place, load)?;
        let theirs = counted(place, || sysbench_count(place, load, 500, &[]))?;
        is_same &= told(load.name(), &ours, &theirs);
    }
    // The comparison must be able to fail.
    let load = SysbenchLoad::ReadOnly;
    let ours = counted(place, || acklab_count(place, load, 50))?;
    let theirs = counted(place, || {
        sysbench_count(place, load, 50, &["--skip_trx=on"])
    })?;
    let control = told(
        "read_only, sysbench without transactions: a control",
        &ours,
        &theirs,
    );
    Ok(is_same && !control)
}

fn told(name: &str, ours: &(u64, Counts), theirs: &(u64, Counts)) -> bool {
    let is_same = per_transaction(ours) == per_transaction(theirs);
    println!(
        "| {name} | {} | {} | {} |",
        described(ours),
        described(theirs),
        if is_same { "same" } else { "**different**" }
    );
    is_same
}

/// Counts of each transaction, and what is left over of a whole number.
fn per_transaction((transactions, counts): &(u64, Counts)) -> BTreeMap<&str, (i64, i64)> {
    let transactions = *transactions as i64;
    let of_transactions = counts
        .iter()
        .filter(|(name, _)| !PER_CONNECTION.contains(&name.as_str()));
    of_transactions
        .map(|(name, count)| (name.as_str(), (count / transactions, count % transactions)))
        .collect()
}

fn described(counted: &(u64, Counts)) -> String {
    let per_transaction = per_transaction(counted);
    let words = per_transaction.iter().map(|(name, (count, rest))| {
        let rest = if *rest == 0 {
            String::new()
        } else {
            format!(" and {rest} in all")
        };
        format!("{name} {count}{rest}")
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Keys by the general query log, each parameter of each statement by itself.
pub fn same_keys(place: &Place, loads: &[SysbenchLoad]) -> Result<bool> {
    println!("\nNumbers in the statements, as the general query log has them\n");
    println!("| load | statement | number | acklab | sysbench | chi-square | p |");
    println!("|---|---|---|---|---|---|---|");
    let mut is_same = true;
    for &load in loads {
        let count = STATEMENTS / statements_of(load);
        fill(place, load)?;
        let (_, ours) = logged(place, || acklab_count(place, load, count))?;
        fill(place, load)?;
        let (_, theirs) = logged(place, || sysbench_count(place, load, count, &[]))?;
        is_same &= fit(load.name(), &ours, &theirs);
    }
    // The comparison must be able to fail.
    let load = SysbenchLoad::PointSelect;
    let (_, ours) = logged(place, || acklab_count(place, load, STATEMENTS))?;
    let even = ["--rand-type=uniform"];
    let (_, theirs) = logged(place, || sysbench_count(place, load, STATEMENTS, &even))?;
    let control = fit(
        "point_select, sysbench drawing evenly: a control",
        &ours,
        &theirs,
    );
    Ok(is_same && !control)
}

fn statements_of(load: SysbenchLoad) -> u64 {
    match load {
        SysbenchLoad::ReadWrite => 20,
        SysbenchLoad::ReadOnly => 16,
        SysbenchLoad::WriteOnly => 6,
        _ => 1,
    }
}

/// Numbers by statement and place in it.
type Numbers = BTreeMap<(String, usize), Vec<i64>>;

fn numbers(lines: &[Line]) -> Numbers {
    let mut all = Numbers::new();
    let run = |line: &&Line| ["Query", "Execute"].contains(&line.command.as_str());
    for line in lines.iter().filter(run) {
        let (shape, numbers) = shape(&line.argument);
        for (place, number) in numbers.into_iter().enumerate() {
            all.entry((shape.clone(), place)).or_default().push(number);
        }
    }
    all
}

fn fit(name: &str, ours: &[Line], theirs: &[Line]) -> bool {
    let (ours, theirs) = (numbers(ours), numbers(theirs));
    let mut is_same = ours.keys().eq(theirs.keys());
    if !is_same {
        println!("| {name} | **other statements** | {ours:?} | {theirs:?} |");
    }
    for ((statement, number), ours) in &ours {
        let Some(theirs) = theirs.get(&(statement.clone(), *number)) else {
            continue;
        };
        let fit = chi_square(ours, theirs);
        is_same &= fit.p >= P_MIN;
        println!(
            "| {name} | `{statement}` | {} | {} | {} | {:.1} with {} degrees of freedom | {:.3}{} |",
            number + 1,
            ours.len(),
            theirs.len(),
            fit.distance,
            fit.freedom,
            fit.p,
            if fit.p >= P_MIN { "" } else { " **different**" }
        );
    }
    is_same
}
