//! Commits that wait for each other: latency grows with connections though nothing is busy.

use super::summary::{Axis, CellSummary};
use crate::record::Flag;

/// From so many times the latency at one connection on, commits wait for each other,
const GROWN: f64 = 1.5;
/// if both the host's CPUs and the writer's disk were busy for less than this share of the time,
/// and no server had used up CPUs of its own.
const BUSY_MAX: f64 = 0.8;
/// What may differ between the two cells: the one may be paced, and its window another.
const MOVED: [Axis; 3] = [Axis::Connections, Axis::Pace, Axis::Window];

/// Notes in each cell of several connections how many times as long as alone its commits take,
/// where nothing that was measured explains that.
pub fn judge(cells: &mut [CellSummary]) {
    let factors: Vec<Option<f64>> = cells.iter().map(|cell| factor(cells, cell)).collect();
    for (cell, factor) in cells.iter_mut().zip(factors) {
        cell.queue_factor = factor;
    }
}

fn factor(cells: &[CellSummary], cell: &CellSummary) -> Option<f64> {
    let is_open = cell.offered_per_s.is_some();
    if cell.connections < 2 || is_open || !is_idle(cell) {
        return None;
    }
    let is_alone = |one: &&CellSummary| {
        one.connections == 1 && one.point.without(&MOVED) == cell.point.without(&MOVED)
    };
    // Of a paced and a closed loop the slower is the more cautious.
    let alone_us = cells
        .iter()
        .filter(is_alone)
        .filter_map(|one| one.latency_us.p50);
    let factor = cell.latency_us.p50? / alone_us.reduce(f64::max)?;
    (factor >= GROWN).then_some(factor)
}

fn is_idle(cell: &CellSummary) -> bool {
    let is_below = |share: Option<f64>| share.is_none_or(|share| share < BUSY_MAX);
    let is_full = cell.flags.iter().any(|count| count.flag == Flag::NodeBound);
    cell.host_busy.is_some()
        && is_below(cell.host_busy)
        && is_below(cell.disk_busy_share)
        && !is_full
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::FlagCount;
    use crate::plan::Point;

    fn cell(connections: u32, p50_us: f64, host_busy: f64) -> CellSummary {
        let mut cell = CellSummary {
            connections,
            host_busy: Some(host_busy),
            point: Point {
                connections,
                ..Point::default()
            },
            ..CellSummary::default()
        };
        cell.latency_us.p50 = Some(p50_us);
        cell
    }

    fn judged(many: CellSummary) -> Option<f64> {
        let mut cells = [cell(1, 33_000.0, 0.1), many];
        judge(&mut cells);
        assert_eq!(cells[0].queue_factor, None);
        cells[1].queue_factor
    }

    #[test]
    fn growth_on_an_idle_host_is_a_queue() {
        assert_eq!(judged(cell(32, 66_000.0, 0.4)), Some(2.0));
        assert_eq!(judged(cell(32, 49_000.0, 0.4)), None, "not grown");
        assert_eq!(judged(cell(32, 66_000.0, 0.9)), None, "the host is busy");
        let on_busy_disk = CellSummary {
            disk_busy_share: Some(0.9),
            ..cell(32, 66_000.0, 0.4)
        };
        assert_eq!(judged(on_busy_disk), None);
        let mut on_full_node = cell(32, 66_000.0, 0.4);
        let (rounds, of) = (1, 4);
        on_full_node.flags = vec![FlagCount {
            flag: Flag::NodeBound,
            rounds,
            of,
        }];
        assert_eq!(judged(on_full_node), None, "its own CPUs are");
    }

    #[test]
    fn another_distance_is_no_measure() {
        let mut far = cell(32, 66_000.0, 0.4);
        far.point.client_site = "b".to_owned();
        assert_eq!(judged(far), None);
    }
}
