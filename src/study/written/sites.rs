//! `sites`: the places of a study.

use super::walk::Table;

/// Words that stand where a site's name can, and mean something else there.
const TAKEN: [&str; 6] = ["label", "client", "read", "write", "flush", "iops"];

/// The sites that are given, in order, or `a`, `b` and `c`.
pub fn read(table: &Table<'_>) -> Vec<String> {
    let Some(node) = table.get("sites") else {
        return ["a", "b", "c"].map(str::to_owned).to_vec();
    };
    let mut sites: Vec<String> = Vec::new();
    for node in node.list().unwrap_or_default() {
        let Some(name) = node.text() else { continue };
        if !is_name(name) {
            node.wrong("must be 1 to 8 lower-case letters or digits");
        } else if TAKEN.contains(&name) {
            node.wrong("is a word with a meaning of its own; choose another");
        } else if sites.iter().any(|site| site == name) {
            node.wrong("is given twice");
        }
        sites.push(name.to_owned());
    }
    sites
}

/// Whether a site can be called so: its name becomes part of names of nodes, files and devices,
/// which the kernel keeps short.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=8).contains(&name.len()) && name.chars().all(is_plain)
}
