//! What a mode is if the study does not say, and what some modes alone can be asked.

use super::walk::{Node, Table};
use crate::study::Consistency;

/// Nodes of a mode that replicates, if the study does not say.
pub const DEFAULT_NODES: u32 = 3;
/// Parallel applier threads, if the study does not say.
pub const DEFAULT_APPLIERS: u32 = 4;
/// Semi-synchronous timeout, if the study does not say: the servers' own.
pub const DEFAULT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
/// Group consistency, if the study does not say. Pinned: servers' own default changed with 8.4.
pub const DEFAULT_CONSISTENCY: Consistency = Consistency::BeforeOnPrimaryFailover;

/// As a study writes them.
pub const CONSISTENCIES: [(&str, Consistency); 5] = [
    ("EVENTUAL", Consistency::Eventual),
    (
        "BEFORE_ON_PRIMARY_FAILOVER",
        Consistency::BeforeOnPrimaryFailover,
    ),
    ("BEFORE", Consistency::Before),
    ("AFTER", Consistency::After),
    ("BEFORE_AND_AFTER", Consistency::BeforeAndAfter),
];

/// The value of a key that only some modes have.
pub fn for_modes<'d>(
    table: &Table<'d>,
    key: &str,
    kind: Option<&str>,
    modes: &[&str],
) -> Option<Node<'d>> {
    let node = table.get(key)?;
    let kind = kind?;
    if !modes.contains(&kind) {
        let plural = if modes.len() > 1 { "modes" } else { "mode" };
        node.wrong(&format!(
            "is for {plural} {} only, not for {kind}",
            modes.join(" and ")
        ));
        return None;
    }
    Some(node)
}
