//! A sweep's `cpu_speed`: of all CPUs alike, or part by part.

use super::walk::{Node, Table};
use crate::study::{CpuSpeed, limits};

/// The points of a sweep's axis; none if it does not say.
pub fn read(table: &Table<'_>) -> Vec<CpuSpeed> {
    let given = table.get("cpu_speed").and_then(|node| node.list());
    let nodes = given.unwrap_or_default();
    nodes.iter().filter_map(speed).collect()
}

/// `0.8`, `"80%"`, or `{ writer = 0.8, rest = 0.5 }`.
fn speed(node: &Node<'_>) -> Option<CpuSpeed> {
    if !node.is_table() {
        return share(node).map(CpuSpeed::of_all);
    }
    let table = node.table()?;
    let of = |part: &str| table.read(part, share).unwrap_or(1.0);
    let speed = CpuSpeed {
        writer: of("writer"),
        replicas: of("replicas"),
        rest: of("rest"),
    };
    table.finish();
    Some(speed)
}

/// To a millionth, so that `0.7` and `"70%"` are the same.
fn share(node: &Node<'_>) -> Option<f64> {
    let share = node.share(limits::CPU_SPEED)?;
    Some((share * 1e6).round() / 1e6)
}
