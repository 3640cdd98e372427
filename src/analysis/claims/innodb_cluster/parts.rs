//! A run's time taken apart: what connecting, TLS, the Router, consensus and the third node take
//! of it, each as a ratio of two modes that differ in nothing else.

use super::super::pick::Cells;
use super::super::{CellSummary, Figure, unseen};

/// Two modes, the dearer first.
type Pair = (&'static str, &'static str);

/// What the article compares: all that follows at once.
const WHOLE: Pair = ("group router", "async 2 nodes");
/// The first pairs of these multiply to it.
const ROUTER: [Pair; 3] = [
    ("group router", "group"),
    ("async router", "async 3 nodes"),
    ("group router no TLS", "group no TLS"),
];
const CONSENSUS: [Pair; 2] = [
    ("group", "async 3 nodes"),
    ("group no TLS", "async 3 nodes no TLS"),
];
const THIRD_NODE: [Pair; 2] = [
    ("async 3 nodes", "async 2 nodes"),
    ("semisync 3 nodes", "semisync 2 nodes"),
];
/// TLS is a factor inside each of the others.
const TLS: [Pair; 3] = [
    ("group", "group no TLS"),
    ("async 3 nodes", "async 3 nodes no TLS"),
    ("group router", "group router no TLS"),
];
/// Modes of which it is told how long they connect and what CPU they take.
const TOLD: [&str; 8] = [
    "group",
    "async 2 nodes",
    "async 3 nodes",
    "group router",
    "async router",
    "group no TLS",
    "group router no TLS",
    "async 3 nodes no TLS",
];

/// One load of mysqlslap's in whole sentences, as far as the cells allow.
pub fn taken_apart(cells: Cells, load: &str) -> Vec<String> {
    let parts = [
        part(cells, load, "Router over direct", &ROUTER),
        part(cells, load, "consensus over none", &CONSENSUS),
        part(cells, load, "three nodes over two", &THIRD_NODE),
        part(cells, load, "TLS over none", &TLS),
    ];
    let mut said: Vec<String> = whole(cells, load).into_iter().collect();
    said.extend(parts.into_iter().flatten());
    said.extend(unseen::connecting(&told(cells, load)));
    said
}

/// The CPU that one load of mysqlslap's takes of the writer and of the Router.
pub fn cpu(cells: Cells, load: &str) -> Vec<String> {
    unseen::cpu(&told(cells, load))
}

fn told<'s>(cells: Cells<'s>, load: &str) -> Vec<&'s CellSummary> {
    let workload = format!("mysqlslap {load}");
    let of = |label: &&str| cells.of(label, &workload);
    TOLD.iter().filter_map(of).collect()
}

/// What the article compares, and what it is made of, if all of that was measured.
fn whole(cells: Cells, load: &str) -> Option<String> {
    let of = |(above, below): Pair| cells.runs(load, above, below);
    let all_at_once = in_words(&of(WHOLE)?);
    let made_of = [ROUTER[0], CONSENSUS[0], THIRD_NODE[0]];
    let made_of = match made_of.into_iter().all(|pair| of(pair).is_some()) {
        true => " The first figures of the next three lines multiply to it.",
        false => "",
    };
    let (above, below) = WHOLE;
    Some(format!(
        "{load}, what the article compares: {above} over {below} {all_at_once}.{made_of}"
    ))
}

/// One sentence if any of the pairs was measured with intervals.
fn part(cells: Cells, load: &str, what: &str, pairs: &[Pair]) -> Option<String> {
    let said = |(above, below): &Pair| {
        let figure = cells.runs(load, above, below)?;
        Some(format!("{above} over {below} {}", in_words(&figure)))
    };
    let said: Vec<String> = pairs.iter().filter_map(said).collect();
    (!said.is_empty()).then(|| format!("{load}, {what}: {}.", said.join(", ")))
}

/// `1.24 times (1.20 to 1.28)`
fn in_words(figure: &Figure) -> String {
    let Figure {
        value, low, high, ..
    } = figure;
    format!("{value:.2} times ({low:.2} to {high:.2})")
}
