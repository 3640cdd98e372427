//! The article's own tables: source, replica and 95th percentile; and what its questions add.

use super::{KEY, RACK_US, applying};
use crate::analysis::applied::{LagState, given_up};
use crate::analysis::claims::grid::{Grid, value};
use crate::analysis::claims::pick::Cells;
use crate::analysis::claims::{connections, paired};
use crate::analysis::ladder::{Ladder, Reach, ladders};
use crate::analysis::summary::{CellSummary, Value};
use crate::study::articles;

/// What each table of rates has.
const RATES: [&str; 3] = ["committed", "applied", "p95 ms"];

/// Those of which something was measured.
pub fn tables(cells: Cells) -> Vec<Grid> {
    let all = [
        appliers(cells),
        distances(cells),
        seconds(cells),
        bounded(cells),
    ];
    all.into_iter().flat_map(Grid::if_measured).collect()
}

/// A figure that stands alone.
fn plain(value: f64) -> Value {
    Value {
        value,
        low: None,
        high: None,
    }
}

/// A figure that was asked or counted: there is no doubt about it.
fn exact(value: f64) -> Value {
    Value {
        value,
        low: Some(value),
        high: Some(value),
    }
}

/// In the order of [`RATES`].
fn rates(cell: &CellSummary) -> Vec<Option<Value>> {
    let p95_us = paired::p95(cell).map(|p95| p95.over_all);
    let p95_ms = value(p95_us).map(|p95| changed(p95, |us| us / 1e3));
    vec![
        value(cell.throughput_per_s),
        value(cell.applied_per_s),
        p95_ms,
    ]
}

/// Ways of applying, at the article's 64 connections.
fn appliers(cells: Cells) -> Grid {
    let title = "commits per second on the source, applied meanwhile by the replica farthest \
                 behind, and 95th percentile of response time";
    let mut grid = Grid::new(title, "1/s", &RATES);
    let number = |name: &str| articles::numbers(KEY, &[name]).first().copied().map(plain);
    for cell in applying(cells) {
        let there = match &cell.label[..] {
            "1 applier" => vec![
                number("source_trx_per_s"),
                number("single_thread_replica_trx_per_s"),
                None,
            ],
            _ => vec![],
        };
        grid.add(
            &cell.label,
            rates(cell),
            ("source and single thread", there),
        );
        grid.note_last(given_up(cell));
    }
    grid
}

/// Modes that were measured in a rack and farther apart, at each number of connections.
fn distances(cells: Cells) -> Grid {
    let title = "the same within a rack and between data centres, by connections";
    let mut grid = Grid::new(title, "1/s", &RATES);
    let is_far = |cell: &CellSummary| cell.rtt_us_asked.is_some_and(|us| us >= RACK_US);
    let far = cells.with(|cell| is_far(cell) && cell.offered_per_s.is_none());
    let has_far = |cell: &CellSummary| {
        let is_twin = |far: &&CellSummary| {
            (&far.label, far.measure_s) == (&cell.label, cell.measure_s)
                && far.workload == cell.workload
        };
        far.iter().any(is_twin)
    };
    let place = |label: &str| cells.all.iter().position(|cell| cell.label == label);
    let mut both = cells.with(has_far);
    both.sort_by_key(|cell| (place(&cell.label), cell.rtt_us_asked.map(|us| us as u64)));
    for cell in both {
        let name = format!(
            "{}, {}, {}",
            cell.label,
            cell.distances,
            connections(cell.connections)
        );
        grid.add(&name, rates(cell), ("", vec![]));
    }
    grid
}

/// What the seconds of long windows show.
fn seconds(cells: Cells) -> Grid {
    let columns = ["scatter %", "dips", "depth %", "median gap s"];
    let title = "seconds of long windows: scatter around their mean, and dips";
    let mut grid = Grid::new(title, "seconds", &columns);
    let is_long = |cell: &CellSummary| {
        let is_looked_at = cell.unevenness.is_some() || cell.dips.is_some();
        is_looked_at && cell.offered_per_s.is_none()
    };
    for cell in cells.with(is_long) {
        let (window_s, connections) = (cell.measure_s, connections(cell.connections));
        let name = format!("{}, {connections}, {window_s} s", cell.label);
        let dips = cell.dips.as_ref();
        let here = vec![
            value(cell.unevenness).map(percent),
            dips.map(|dips| exact(f64::from(dips.count))),
            dips.and_then(|dips| dips.depth).map(plain).map(percent),
            dips.and_then(|dips| dips.median_gap_s).map(plain),
        ];
        grid.add(&name, here, ("", vec![]));
    }
    grid
}

fn percent(share: Value) -> Value {
    changed(share, |share| share * 100.0)
}

/// In another unit.
fn changed(Value { value, low, high }: Value, to: fn(f64) -> f64) -> Value {
    Value {
        value: to(value),
        low: low.map(to),
        high: high.map(to),
    }
}

/// Up to which offered rate replicas keep up.
fn bounded(cells: Cells) -> Grid {
    let title = "highest of the offered rates at which lag stays bounded";
    let columns = ["bounded up to", "first beyond", "highest offered"];
    let mut grid = Grid::new(title, "1/s", &columns);
    for ladder in ladders(cells.all) {
        let rate = |rate: u32| exact(f64::from(rate));
        let highest = ladder.rungs.last().map(|rung| rung.offered_per_s);
        let here = [ladder.bounded_up_to_per_s, ladder.beyond_per_s, highest];
        grid.add(
            &ladder.label,
            here.map(|at| at.map(rate)).to_vec(),
            ("", vec![]),
        );
        grid.note_last(note(&ladder));
    }
    grid
}

/// How far up, where figures do not say it, and which rungs are none.
fn note(ladder: &Ladder) -> Option<String> {
    let over = ladder
        .rungs
        .iter()
        .filter(|r| r.lag == LagState::Overloaded);
    let over: Vec<String> = over.map(|rung| rung.offered_per_s.to_string()).collect();
    let over = match over.is_empty() {
        true => None,
        false => Some(format!("not committed as offered: {}", over.join(", "))),
    };
    let reach = match ladder.reach {
        Reach::Some | Reach::NothingCounted => None,
        reach => Some(reach.name().to_owned()),
    };
    let said: Vec<String> = [reach, over].into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join("; "))
}
