//! Keys of a `[[mode]]` that may be lists: each makes a mode of its own.

use super::defaults::{DEFAULT_APPLIERS, DEFAULT_NODES};
use super::walk::{Node, Table};
use super::{fronts, labels};
use crate::study::{Front, ModeSpec, limits};

/// What the modes of one table differ in. No list is empty.
pub struct Axes {
    nodes: Vec<u32>,
    appliers: Vec<u32>,
    fronts: Vec<Option<Front>>,
}

impl Axes {
    /// Of a table; `given_nodes` where the mode's other keys say how many there are.
    pub fn read(
        table: &Table<'_>,
        kind: Option<&str>,
        given_nodes: Option<u32>,
        sites: &[String],
    ) -> Axes {
        let nodes = match given_nodes {
            Some(nodes) => vec![nodes],
            None => nodes(table, kind, sites),
        };
        Axes {
            nodes,
            appliers: appliers(table),
            fronts: fronts::read(table, kind),
        }
    }

    pub fn fewest_nodes(&self) -> u32 {
        self.nodes.iter().copied().min().unwrap_or(1)
    }

    pub fn most_nodes(&self) -> u32 {
        self.nodes.iter().copied().max().unwrap_or(1)
    }

    /// One mode for each combination; where a list has several, they are in the label.
    pub fn each(&self, spec: &ModeSpec, label: Option<&str>) -> Vec<ModeSpec> {
        let mut specs = Vec::new();
        for &nodes in &self.nodes {
            for &appliers in &self.appliers {
                for &front in &self.fronts {
                    let words = self.words(nodes, appliers, front);
                    let words = label.map(str::to_owned).into_iter().chain(words);
                    let words: Vec<String> = words.collect();
                    specs.push(ModeSpec {
                        nodes,
                        appliers,
                        front,
                        label: label.map_or_else(String::new, |_| words.join(" ")),
                        ..spec.clone()
                    });
                }
            }
        }
        specs
    }

    fn words(&self, nodes: u32, appliers: u32, front: Option<Front>) -> Vec<String> {
        let of_nodes = (self.nodes.len() > 1).then(|| format!("{nodes} nodes"));
        let of_appliers = (self.appliers.len() > 1).then(|| labels::appliers(appliers));
        let of_front = front.filter(|_| self.fronts.len() > 1).map(Front::words);
        [of_nodes, of_appliers, of_front]
            .into_iter()
            .flatten()
            .collect()
    }
}

fn nodes(table: &Table<'_>, kind: Option<&str>, sites: &[String]) -> Vec<u32> {
    let given = table.get("nodes");
    if kind == Some("single") {
        if let Some(node) = given {
            node.count(limits::Range::new(1, 1));
        }
        return vec![1];
    }
    let high = limits::NODES.high.min(sites.len() as u64);
    if high < limits::NODES.low {
        table.wrong(
            "",
            "needs at least two sites, for its nodes stand one in each",
        );
        return vec![DEFAULT_NODES];
    }
    let count = |node: &Node<'_>| {
        let count = node.integer()?;
        let is_held = count >= 0 && limits::Range::new(2, high).holds(count as u64);
        if !is_held {
            let names = sites.join(", ");
            node.wrong(&format!(
                "must be from 2 to {high}: one node in each of the sites {names}"
            ));
        }
        is_held.then_some(count as u32)
    };
    distinct(given, count, DEFAULT_NODES.min(high as u32))
}

fn appliers(table: &Table<'_>) -> Vec<u32> {
    let count = |node: &Node<'_>| node.count(limits::APPLIERS);
    distinct(table.get("appliers"), count, DEFAULT_APPLIERS)
}

/// The values of a list, each once; the default if there is none.
fn distinct(
    given: Option<Node<'_>>,
    read: impl Fn(&Node<'_>) -> Option<u32>,
    default: u32,
) -> Vec<u32> {
    let mut values: Vec<u32> = Vec::new();
    for node in given.and_then(|node| node.list()).unwrap_or_default() {
        match read(&node) {
            Some(value) if values.contains(&value) => node.wrong("is given twice"),
            value => values.extend(value),
        }
    }
    if values.is_empty() {
        values.push(default);
    }
    values
}
