//! `gmo-galera-2022`: Galera's parameters one at a time and together, by mysqlslap's seconds.

mod gains;

use super::grid::{Grid, published};
use super::pick::{Cells, all};
use super::{CellSummary, Figure, Finding, Material, Said, Verdict, pairs, unseen};
use crate::analysis::effects::Effects;
use crate::analysis::summary::{ModeToll, Value};
use crate::record::counter;
use crate::study::articles;
use crate::study::fault::{Cause, Scope};

const KEY: &str = "gmo-galera-2022";
const DEFAULT: &str = "default";
/// The way that the article's clients went.
const THROUGH: &str = "default via haproxy";
const LOADS: [&str; 5] = ["key", "read", "write", "mixed", "update"];
/// What the study calls each of the article's rows.
const ROWS: [(&str, &str); 9] = [
    (DEFAULT, "default"),
    ("default buffer_pool", "buffer_pool_12_8g"),
    ("default slave_threads 4", "slave_threads_4"),
    ("default slave_threads 2", "slave_threads_2"),
    ("default flush_log 2", "flush_log_at_trx_commit_2"),
    ("default autoinc_lock_mode 1", "autoinc_lock_mode_2"),
    ("default io_capacity 3000", "io_capacity_3000"),
    ("default tuned A", "tuned_a"),
    ("default tuned B", "tuned_b"),
];
/// What the article found to gain most.
const FLUSH_LESS: &str = "default flush_log 2";
/// What a reader of the table must know, whatever was measured.
const OF_THE_METHOD: [&str; 3] = [
    "each iteration starts with the backlog that its own reload left on the other nodes, as far as \
     flow control lets it grow: what that is worth, iterations tell that begin once it is gone.",
    "Galera asks for autoinc_lock_mode 2: here the default has it, and 1 is held against it.",
    "the rows but one are measured without HAProxy, which was in front of the article's servers: \
     what it adds is told by itself.",
];
/// The lock of an auto-increment could not be granted, or a write set failed certification.
const DEADLOCK: u16 = 1213;
/// Deadlocks per commit within this factor of each other are alike.
const TIMES_AS_MANY: f64 = 10.0;
/// With one rate and as many commits on both sides so many fall all to the spread one by chance in
/// one of 1000 cases.
const ENOUGH: u64 = 10;
/// Commits in which deadlocks would have shown.
const COMMITS_ENOUGH: f64 = 1_000.0;

/// Verdicts, the article's table and what stood beside it.
pub fn said(material: &Material) -> Said {
    let cells = Cells {
        all: material.cells,
    };
    Said {
        findings: vec![
            gains::flushing_less_dominates(cells),
            gains::threads_alone(cells),
            gains::do_not_add_up(cells, screened(material)),
            change_nothing(cells),
            outlives_one_node_only(material.tolls),
            spread_ends_in_deadlocks(cells),
        ],
        tables: table(cells).if_measured(),
        unseen: could_not_see(cells, material),
        ..Said::default()
    }
}

/// The screening design over inserts.
fn screened<'m>(material: &Material<'m>) -> Option<&'m Effects> {
    pairs::design(material.effects, DEFAULT, "mysqlslap write")
}

/// Mean, minimum and maximum, as the tool prints them: no interval.
fn table(cells: Cells) -> Grid {
    let title = "mysqlslap's seconds to run all queries: mean, minimum–maximum of single \
                 iterations, in the article's form";
    let mut grid = Grid::new(title, "s", &LOADS);
    for (label, row) in ROWS {
        let here = LOADS.map(|load| of_iterations(cells, label, load));
        if here.iter().any(Option::is_some) {
            grid.add(row_name(label), here.to_vec(), (row, with_extremes(row)));
        }
    }
    let through = LOADS.map(|load| of_iterations(cells, THROUGH, load));
    grid.add(THROUGH, through.to_vec(), ("", vec![]));
    grid
}

fn of_iterations(cells: Cells, label: &str, load: &str) -> Option<Value> {
    let cell = cells.of(label, &format!("mysqlslap {load}"))?;
    let all = cell.iterations_s?;
    Some(Value {
        value: all.mean,
        low: Some(all.min),
        high: Some(all.max),
    })
}

/// The label without the mode that all of them vary.
fn row_name(label: &str) -> &str {
    let varied = label.strip_prefix(DEFAULT).map(str::trim_start);
    varied.filter(|name| !name.is_empty()).unwrap_or(label)
}

fn with_extremes(row: &str) -> Vec<Option<Value>> {
    let [low, high] = ["min", "max"].map(|end| articles::numbers(KEY, &[row, end]));
    let ends = low.into_iter().zip(high);
    let means = published(KEY, &[row, "avg"]).into_iter();
    let with = |(mean, (low, high)): (Option<Value>, (f64, f64))| {
        mean.map(|mean| Value {
            low: Some(low),
            high: Some(high),
            ..mean
        })
    };
    means.zip(ends).map(with).collect()
}

/// "autoinc_lock_mode and io_capacity change nothing here."
fn change_nothing(cells: Cells) -> Finding {
    let pair = |(label, load)| cells.runs(load, label, DEFAULT);
    let pairs = [
        ("default autoinc_lock_mode 1", "write"),
        ("default io_capacity 3000", "write"),
        ("default io_capacity 3000", "update"),
    ];
    let Some(figures) = all(pairs.map(pair)) else {
        return Finding::undecided("they were not measured with intervals");
    };
    let verdicts: Vec<Verdict> = figures
        .iter()
        .map(|figure| figure.is_within(0.8, 1.25))
        .collect();
    Finding {
        verdict: Verdict::of_all(&verdicts),
        figures,
        reason: "0.8 to 1.25 is taken as nothing".to_owned(),
    }
}

/// "With flush_log_at_trx_commit=2 a write survives one node's crash, because the other nodes have
/// it; it does not survive all of them crashing together." That nothing was lost with all of them
/// shows nothing: the moments were drawn.
fn outlives_one_node_only(tolls: &[ModeToll]) -> Finding {
    let of_cluster = |toll: &&ModeToll| {
        let is_cut = matches!(toll.toll.fault.cause, Cause::PowerCut(_));
        toll.mode == "galera" && is_cut
    };
    let tolls: Vec<&ModeToll> = tolls.iter().filter(of_cluster).collect();
    let lost = |is_all: bool| {
        let is_it = |of: &&&ModeToll| {
            let is_telling = of.toll.durability.flush_log == 2 && of.toll.acknowledged > 0;
            is_telling && (of.toll.fault.scope == Scope::All) == is_all
        };
        let each: Vec<usize> = tolls.iter().filter(is_it).map(|of| of.toll.lost).collect();
        (!each.is_empty()).then(|| each.iter().sum::<usize>())
    };
    let (Some(with_one), Some(with_all)) = (lost(false), lost(true)) else {
        return Finding::undecided(
            "with flush_log_at_trx_commit=2 the loss of one node and of all was not tried",
        );
    };
    let unread = tolls
        .iter()
        .map(|of| of.toll.no_start + of.toll.unread.len());
    let unread: usize = unread.sum();
    let verdict = match (with_one, with_all) {
        // What was not read is counted as lost.
        _ if unread > 0 => Verdict::Undecided,
        (1.., _) => Verdict::Contradicted,
        (0, 1..) => Verdict::Confirmed,
        (0, 0) => Verdict::Undecided,
    };
    let told: Vec<String> = tolls.iter().map(|of| in_losses(of)).collect();
    Finding {
        verdict,
        figures: vec![],
        reason: format!(
            "acknowledged commits that the cluster lacks afterwards: {}{}",
            told.join("; "),
            match unread {
                0 => String::new(),
                _ =>
                    format!("; {unread} times it did not come back, and what it kept was not read"),
            }
        ),
    }
}

/// `default flush_log 2, cluster loss 37 of 4100 in 3`
fn in_losses(of: &ModeToll) -> String {
    let toll = &of.toll;
    let (lost, all, times) = (toll.lost, toll.acknowledged, toll.cuts);
    let fault = toll.fault.label();
    format!("{}, {fault} {lost} of {all} in {times}", of.label)
}

/// "Updates spread over several nodes end in deadlocks."
fn spread_ends_in_deadlocks(cells: Cells) -> Finding {
    let Some((one, many)) = one_and_many(cells) else {
        return Finding::undecided("updates to one node and to all were not both measured");
    };
    let speed = super::ratio(
        "updates of all nodes over those of one".to_owned(),
        many,
        one,
    );
    Finding {
        verdict: more_deadlocks(one, many),
        figures: speed.into_iter().collect(),
        reason: format!(
            "deadlocks (1213) told to clients of one node: {}, of all nodes: {}; ten times as \
             often and ten or more is taken as ending in them, anything within ten times as alike",
            in_commits(one),
            in_commits(many),
        ),
    }
}

/// Whether they are told of far more, or far less, for as many commits.
fn more_deadlocks(one: &CellSummary, many: &CellSummary) -> Verdict {
    let (Some(of_one), Some(of_many)) = (per_commit(one), per_commit(many)) else {
        return Verdict::Undecided;
    };
    let far_more = |cell: &CellSummary, rate: f64, other: f64| {
        deadlocks(cell) >= ENOUGH && rate >= TIMES_AS_MANY * other
    };
    match deadlocks(many) {
        0 if commits(many) >= COMMITS_ENOUGH && commits(one) >= COMMITS_ENOUGH => {
            Verdict::Contradicted
        }
        _ if far_more(many, of_many, of_one) => Verdict::Confirmed,
        _ if far_more(one, of_one, of_many) => Verdict::Contradicted,
        _ => Verdict::Undecided,
    }
}

/// Updates of one node, and of all.
fn one_and_many<'s>(cells: Cells<'s>) -> Option<(&'s CellSummary, &'s CellSummary)> {
    let of = |label| cells.of(label, "update_index");
    of(DEFAULT).zip(of("spread"))
}

fn deadlocks(cell: &CellSummary) -> u64 {
    cell.errors.of(DEADLOCK)
}

/// `37, that is 5.61 per 1000 commits`
fn in_commits(cell: &CellSummary) -> String {
    let deadlocks = deadlocks(cell);
    match per_commit(cell).filter(|_| deadlocks > 0) {
        Some(each) => {
            let share = each * 1e3;
            format!("{deadlocks}, that is {share:.2} per 1000 commits")
        }
        None => deadlocks.to_string(),
    }
}

/// Deadlocks over commits, of all rounds; `None` without commits.
fn per_commit(cell: &CellSummary) -> Option<f64> {
    let commits = commits(cell);
    (commits > 0.0).then(|| deadlocks(cell) as f64 / commits)
}

/// About so many in all rounds.
fn commits(cell: &CellSummary) -> f64 {
    let rate = cell.throughput_per_s.map_or(0.0, |rate| rate.median);
    rate * cell.measure_s * f64::from(cell.rounds)
}

/// What the servers counted of conflicts, beside what they told their clients.
fn conflicts(cells: Cells) -> Option<String> {
    let (one, many) = one_and_many(cells)?;
    let counted =
        |cell: &CellSummary, name: &str| cell.server_counters.get(name).copied().unwrap_or(0.0);
    let [one, many] = [one, many].map(|cell| {
        format!(
            "{} deadlocks told, {} write sets that failed certification, {} transactions ended for \
             another's write set",
            in_commits(cell),
            counted(cell, counter::GALERA_CERTIFICATION_FAILURES),
            counted(cell, counter::GALERA_BRUTE_FORCE_ABORTS),
        )
    });
    Some(format!(
        "conflicts of updates, over all rounds: clients of one node {one}; of all nodes {many}."
    ))
}

/// What the proxy adds, as all the article's figures hold it.
fn proxy(cells: Cells) -> Vec<String> {
    let ratio = |load: &&str| {
        let Figure {
            value, low, high, ..
        } = cells.runs(load, THROUGH, DEFAULT)?;
        Some(format!("{load} {value:.2} times ({low:.2} to {high:.2})"))
    };
    let said: Vec<String> = LOADS.iter().filter_map(ratio).collect();
    let cpu = cells.of(THROUGH, "mysqlslap write");
    let cpu = cpu.and_then(|cell| cell.cpu_us_per_commit.front);
    let cpu = cpu.map(|us| format!("; its CPU per insert, µs: {us:.1}"));
    match said.is_empty() {
        true => vec![],
        false => vec![format!(
            "time through HAProxy over that without: {}{}.",
            said.join(", "),
            cpu.unwrap_or_default()
        )],
    }
}

fn could_not_see(cells: Cells, material: &Material) -> Vec<String> {
    let is_row = |label: &str| label == THROUGH || ROWS.iter().any(|(row, _)| *row == label);
    let is_elsewhere = |cell: &CellSummary| {
        let disks = cell.disks.as_deref();
        disks.is_some_and(|disks| gains::OTHER_FLUSHES.contains(&disks))
    };
    let is_write = |cell: &CellSummary| cell.workload == "mysqlslap write" && !is_elsewhere(cell);
    let writes = cells.with(|cell| is_write(cell) && is_row(&cell.label));
    let mut said = unseen::costs(&writes);
    said.extend(unseen::connecting(
        &cells.with(|cell| cell.workload == "mysqlslap key"),
    ));
    said.extend(proxy(cells));
    said.extend(screened(material).map(pairs::told).unwrap_or_default());
    said.extend(conflicts(cells));
    said.extend(paused(&writes));
    if !writes.is_empty() {
        said.extend(runs(cells));
        said.extend(caught_up(cells));
        said.extend(OF_THE_METHOD.map(str::to_owned));
    }
    said.extend(unseen::host_bound(material.cells));
    said
}

/// What one run of each load is here: seconds of other numbers of rows and queries are no more
/// alike than those of other machines.
fn runs(cells: Cells) -> Option<String> {
    let of = |load: &str| cells.of(DEFAULT, &format!("mysqlslap {load}"));
    let runs = LOADS.into_iter().filter_map(of);
    let runs: Vec<&str> = runs.map(|cell| &cell.workload_in_full[..]).collect();
    let said = runs.join("; ");
    (!runs.is_empty())
        .then(|| format!("one run here, where the article's is as its tool was called: {said}."))
}

/// What each setting is worth once nobody carries the backlog of a reload.
fn caught_up(cells: Cells) -> Vec<String> {
    let labels = [
        "default slave_threads 4",
        "default slave_threads 2",
        FLUSH_LESS,
        "default tuned A",
    ];
    let gain = |load: &str, what: &str, label: &str| {
        let both = [
            cells.runs(load, DEFAULT, label)?,
            cells.runs(&format!("{load} caught up"), DEFAULT, label)?,
        ];
        let [with, without] =
            both.map(|f| format!("{:.2} times ({:.2} to {:.2})", f.value, f.low, f.high));
        Some(format!(
            "{label} makes {what} {with} as fast as the default where each iteration starts with \
             its reload's backlog, as published, and {without} after catching up."
        ))
    };
    let mut said = Vec::new();
    for (load, what) in [("write", "inserts"), ("update", "updates")] {
        said.extend(labels.iter().filter_map(|label| gain(load, what, label)));
    }
    said
}

/// Flow control holds back the node that is written to until others have caught up.
fn paused(writes: &[&CellSummary]) -> Option<String> {
    let said = |cell: &&CellSummary| {
        let paused_ns = cell.server_counters.get(counter::GALERA_PAUSED_NS)?;
        (*paused_ns > 0.0).then(|| format!("{} {:.1} s", cell.label, paused_ns / 1e9))
    };
    let said: Vec<String> = writes.iter().filter_map(said).collect();
    let all = said.join(", ");
    (!said.is_empty()).then(|| format!("paused by flow control, all nodes and rounds: {all}."))
}
