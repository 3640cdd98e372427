//! `front`, `front_at` and `memory` of a `[[mode]]`.

use super::walk::{Node, Table};
use crate::study::{Front, FrontAt, Proxy, limits, units};

const FRONTS: [(&str, Option<Proxy>); 4] = [
    ("direct", None),
    ("router", Some(Proxy::Router)),
    ("router-bootstrapped", Some(Proxy::RouterBootstrapped)),
    ("haproxy", Some(Proxy::Haproxy)),
];
/// Modes that an InnoDB Cluster can be.
const CLUSTERS: [&str; 2] = ["group", "group-multi"];
const PLACES: [(&str, FrontAt); 2] = [("client", FrontAt::Client), ("own", FrontAt::Own)];

/// What clients go through, once for each mode that is to be made: one, unless there is a list.
/// `kind` is the table's mode, if that is known.
pub fn read(table: &Table<'_>, kind: Option<&str>) -> Vec<Option<Front>> {
    let proxies = proxies(table, kind);
    let place = table.get("front_at");
    let at = place.as_ref().and_then(|node| node.one_of(&PLACES));
    if let Some(node) = place.filter(|_| proxies.iter().all(Option::is_none)) {
        node.wrong("is for modes with a front: say front = \"router\" or \"haproxy\"");
    }
    let at = at.unwrap_or(FrontAt::Client);
    let front = |proxy: Option<Proxy>| proxy.map(|proxy| Front { proxy, at });
    proxies.into_iter().map(front).collect()
}

fn proxies(table: &Table<'_>, kind: Option<&str>) -> Vec<Option<Proxy>> {
    let given = table.read("front", Node::list);
    let mut proxies: Vec<Option<Proxy>> = Vec::new();
    for node in given.unwrap_or_default() {
        let Some(proxy) = node.one_of(&FRONTS) else {
            continue;
        };
        if proxy == Some(Proxy::RouterBootstrapped) {
            check_cluster(table, &node, kind);
        }
        if proxies.contains(&proxy) {
            node.wrong("is given twice");
        } else {
            proxies.push(proxy);
        }
    }
    match proxies.is_empty() {
        true => vec![None],
        false => proxies,
    }
}

/// A Router that bootstraps itself needs a cluster, and takes the first of its primaries.
fn check_cluster(table: &Table<'_>, node: &Node<'_>, kind: Option<&str>) {
    if kind.is_some_and(|kind| !CLUSTERS.contains(&kind)) {
        node.wrong(
            "is for group and group-multi, which have members to find; say \"router\" for static \
             routes",
        );
    }
    // Whether it is a flag at all is told where it is read.
    let spread = table.get("spread");
    if spread.is_some_and(|spread| spread.is_true()) {
        node.wrong(
            "sends all clients to one primary, so spread must be false; say \"router\" for all in \
             turn",
        );
    }
}

/// The memory that each server of the mode may use, in bytes.
pub fn memory(table: &Table<'_>) -> Option<u64> {
    let node = table.get("memory")?;
    let bytes = node.as_text().and_then(units::bytes);
    let bytes = bytes.map(|bytes| bytes.round() as u64);
    let bytes = bytes.filter(|bytes| limits::MEMORY_BYTES.holds(*bytes));
    if bytes.is_none() {
        wrong_size(&node);
    }
    bytes
}

fn wrong_size(node: &Node<'_>) {
    let limits::Range { low, high } = limits::MEMORY_BYTES;
    let [low, high] = [low, high].map(units::show_bytes);
    node.wrong(&format!(
        "must be a size from {low} to {high}, such as \"2GB\""
    ));
}
