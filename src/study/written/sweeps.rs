//! `[[sweep]]`: a group of axes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::walk::{Node, Table, one_of_names};
use super::workloads;
use crate::study::{Distances, Sweep, Workload, limits, slug, units};

/// What a sweep is checked against.
pub struct Surroundings<'a> {
    pub sites: &'a [String],
    /// The study's own workloads, `None` where one has mistakes.
    pub workloads: &'a BTreeMap<String, Option<Workload>>,
    /// Some mode is a group, which takes no table without a primary key.
    pub has_group: bool,
}

/// All sweeps of a study.
pub fn read(tables: &[Table<'_>], around: &Surroundings<'_>) -> Vec<Sweep> {
    let mut seen = BTreeMap::new();
    tables
        .iter()
        .map(|table| sweep(table, around, &mut seen))
        .collect()
}

fn sweep(
    table: &Table<'_>,
    around: &Surroundings<'_>,
    seen: &mut BTreeMap<String, Distances>,
) -> Sweep {
    let sweep = Sweep {
        workloads: workloads(table, around),
        connections: connections(table),
        distances: distances(table, around.sites, seen),
        client_sites: clients(table, around.sites),
    };
    table.finish();
    sweep
}

fn workloads(table: &Table<'_>, around: &Surroundings<'_>) -> Vec<Workload> {
    let mut known = workloads::known_names();
    known.extend(around.workloads.keys().cloned());
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let Some(node) = table.need("workload", &one_of_names("", &known)) else {
        return Vec::new();
    };
    let nodes = node.list().unwrap_or_default();
    nodes
        .iter()
        .filter_map(|node| workload(node, around, &known))
        .collect()
}

fn workload(node: &Node<'_>, around: &Surroundings<'_>, known: &[&str]) -> Option<Workload> {
    let name = node.text()?;
    let own = around.workloads.get(name).cloned();
    let Some(found) = own.or_else(|| workloads::by_name(name).map(Some)) else {
        node.wrong(&one_of_names(name, known));
        return None;
    };
    if let Some(Workload::Mysqlslap {
        autoincrement: false,
        ..
    }) = &found
        && around.has_group
    {
        node.wrong("has no primary key (autoincrement = false), which group modes refuse");
    }
    found
}

fn connections(table: &Table<'_>) -> Vec<u32> {
    let Some(node) = table.get("connections") else {
        return vec![1];
    };
    let nodes = node.list().unwrap_or_default();
    nodes
        .iter()
        .filter_map(|node| node.count(limits::CONNECTIONS))
        .collect()
}

fn clients(table: &Table<'_>, sites: &[String]) -> Vec<String> {
    let Some(node) = table.get("client") else {
        return sites.first().cloned().into_iter().collect();
    };
    let nodes = node.list().unwrap_or_default();
    let choices: Vec<(&str, String)> = sites
        .iter()
        .map(|site| (site.as_str(), site.clone()))
        .collect();
    nodes
        .iter()
        .filter_map(|node| node.one_of(&choices))
        .collect()
}

fn distances(
    table: &Table<'_>,
    sites: &[String],
    seen: &mut BTreeMap<String, Distances>,
) -> Vec<Distances> {
    let (rtt, unequal) = (table.get("rtt"), table.get("distances"));
    if rtt.is_none() && unequal.is_none() && sites.len() > 1 {
        table.wrong(
            "",
            "needs rtt = [\"2.15ms\"] (between all sites), or distances, or both",
        );
    }
    let mut all = Vec::new();
    for node in list(rtt) {
        let rtt = node.time(limits::RTT);
        all.extend(
            rtt.map(|rtt| equal(sites, rtt))
                .filter(|given| is_new(&node, given, seen)),
        );
    }
    for node in list(unequal) {
        let given = node.table().and_then(|table| matrix(&table, sites));
        all.extend(given.filter(|given| is_new(&node, given, seen)));
    }
    if all.is_empty() && sites.len() < 2 {
        all.push(Distances {
            label: "one site".to_owned(),
            pairs: Vec::new(),
        });
    }
    all
}

fn list(node: Option<Node<'_>>) -> Vec<Node<'_>> {
    node.and_then(|node| node.list()).unwrap_or_default()
}

/// Two different matrices under one label could not be told apart in a table.
fn is_new(node: &Node<'_>, given: &Distances, seen: &mut BTreeMap<String, Distances>) -> bool {
    let first = seen
        .entry(slug(&given.label))
        .or_insert_with(|| given.clone());
    if first.pairs != given.pairs {
        let label = &given.label;
        node.wrong(&format!(
            "the label {label:?} already stands for other distances"
        ));
    }
    first.pairs == given.pairs
}

/// Every pair of sites, in order.
fn pairs(sites: &[String]) -> impl Iterator<Item = (&String, &String)> {
    sites
        .iter()
        .enumerate()
        .flat_map(|(i, a)| sites[i + 1..].iter().map(move |b| (a, b)))
}

/// The same round-trip time between all sites.
fn equal(sites: &[String], rtt: Duration) -> Distances {
    let pairs = pairs(sites).map(|(a, b)| (a.clone(), b.clone(), rtt));
    Distances {
        label: units::show(rtt),
        pairs: pairs.collect(),
    }
}

/// `{ label = "…", ab = "2.15ms", ac = "8ms", bc = "8ms" }`
fn matrix(table: &Table<'_>, sites: &[String]) -> Option<Distances> {
    let label = table.get("label");
    let label = label
        .as_ref()
        .and_then(Node::words)
        .map(|words| words.trim().to_owned());
    let found: Vec<_> = pairs(sites).map(|(a, b)| pair(table, a, b)).collect();
    table.finish();
    let pairs: Vec<_> = found.into_iter().collect::<Option<_>>()?;
    Some(Distances {
        label: label.unwrap_or_else(|| default_label(&pairs)),
        pairs,
    })
}

/// One round-trip time, under any spelling of its pair: `ab`, `ba`, `a-b`, `b-a`.
fn pair(table: &Table<'_>, a: &str, b: &str) -> Option<(String, String, Duration)> {
    let (usual, others) = spellings(a, b);
    let aliases = others.iter().map(|key| table.get_alias(key));
    let given = [table.get(&usual)].into_iter().chain(aliases).flatten();
    let mut given = given.collect::<Vec<_>>().into_iter();
    let Some(node) = given.next() else {
        table.need(
            &usual,
            "the round-trip time of each pair of sites must be given",
        );
        return None;
    };
    if let Some(again) = given.next() {
        again.wrong(&format!("the same pair stands under {} already", node.key));
    }
    Some((a.to_owned(), b.to_owned(), node.time(limits::RTT)?))
}

/// How a pair is usually written, and how it may be written as well.
fn spellings(a: &str, b: &str) -> (String, Vec<String>) {
    let dashed = [format!("{a}-{b}"), format!("{b}-{a}")];
    // Names run together are clear only while they are single letters.
    if (a.len(), b.len()) == (1, 1) {
        let others = [format!("{b}{a}")].into_iter().chain(dashed);
        return (format!("{a}{b}"), others.collect());
    }
    let [usual, other] = dashed;
    (usual, vec![other])
}

fn default_label(pairs: &[(String, String, Duration)]) -> String {
    let different: BTreeSet<_> = pairs.iter().map(|(_, _, rtt)| *rtt).collect();
    if let (1, Some(rtt)) = (different.len(), different.first()) {
        return units::show(*rtt);
    }
    let words = pairs
        .iter()
        .map(|(a, b, rtt)| format!("{a}-{b} {}", units::show(*rtt)));
    words.collect::<Vec<_>>().join(", ")
}
