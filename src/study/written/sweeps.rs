//! `[[sweep]]`: a group of axes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::walk::{Node, Table, one_of_names};
use super::{disks, endpoints, quick, speeds, workloads};
use crate::study::{Apply, Distances, Knee, ModeSpec, Sweep, Workload, limits, slug, units};

/// What a sweep is checked against.
pub struct Surroundings<'a> {
    pub sites: &'a [String],
    /// The study's own workloads, `None` where one has mistakes.
    pub workloads: &'a BTreeMap<String, Option<Workload>>,
    /// Some mode is a group, which takes no table without a primary key.
    pub has_group: bool,
    /// Longest distance at which the copies of some mode's volume are not taken for lost.
    pub copies_rtt_max: Option<Duration>,
    /// The study is of somebody else's servers.
    pub is_of_endpoints: bool,
    /// What the study says of all disks.
    pub disk: Option<&'a disks::Layer>,
    pub modes: &'a [ModeSpec],
}

/// Labels of the axes, which must mean the same in all sweeps.
#[derive(Default)]
struct Seen {
    distances: BTreeMap<String, Distances>,
    disks: disks::Seen,
}

/// All sweeps of a study.
pub fn read(tables: &[Table<'_>], around: &Surroundings<'_>) -> Vec<Sweep> {
    let mut seen = Seen::default();
    tables
        .iter()
        .map(|table| sweep(table, around, &mut seen))
        .collect()
}

fn sweep(table: &Table<'_>, around: &Surroundings<'_>, seen: &mut Seen) -> Sweep {
    let workloads = workloads(table, around);
    let connections = connections(table);
    let rates_per_s = rates(table, &workloads);
    let paces = paces(table, &workloads);
    let knee = knee(table, &workloads);
    let (distances, disks, client_sites) = match around.is_of_endpoints {
        true => (of_endpoints(table), Vec::new(), around.sites.to_vec()),
        false => (
            distances(table, around, &mut seen.distances),
            disks::of_sweep(table, around.sites, around.disk, &mut seen.disks),
            clients(table, around.sites),
        ),
    };
    // Of endpoints they are a mistake already.
    let (cpu_speeds, schemas) = match around.is_of_endpoints {
        true => (Vec::new(), Vec::new()),
        false => (speeds::read(table), schemas(table, &workloads)),
    };
    let measure = |table: &Table<'_>| table.get("measure")?.time(limits::MEASURE);
    let rounds = |table: &Table<'_>| table.get("rounds")?.count(limits::ROUNDS);
    let watch_after = |table: &Table<'_>| table.get("watch_after")?.time(limits::WATCH_AFTER);
    let mut sweep = Sweep {
        workloads,
        connections,
        rates_per_s,
        paces,
        knee,
        distances,
        disks,
        client_sites,
        modes: modes(table, around.modes),
        moved: None,
        measure: measure(table),
        rounds: rounds(table),
        watch_after: watch_after(table),
        apply: Apply::Meanwhile,
        cpu_speeds,
        schemas,
    };
    check_slowed(table, &sweep, around.modes);
    sweep.apply = apply(table, around, &sweep);
    table.finish();
    sweep
}

/// What is slowed is a connection that begins its next transaction as soon as it can.
fn check_slowed(table: &Table<'_>, sweep: &Sweep, modes: &[ModeSpec]) {
    let has_rests = !sweep.rates_per_s.is_empty() || !sweep.paces.is_empty();
    if !has_rests && sweep.knee.is_none() && !sweep.workloads.iter().any(is_mysqlslap) {
        return;
    }
    let is_slowed = |spec: &&ModeSpec| spec.slowdown.is_some() && sweep.has_mode(&spec.label);
    for spec in modes.iter().filter(is_slowed) {
        table.wrong(
            &format!("mode {:?}", spec.label),
            "a slowdown cannot be with rate, pace, knee or mysqlslap's workloads: give this sweep \
             other modes",
        );
    }
}

/// When the replicas of a sweep that is read but for this apply.
fn apply(table: &Table<'_>, around: &Surroundings<'_>, sweep: &Sweep) -> Apply {
    // Of endpoints it is a mistake already.
    let Some(node) = table.get("apply").filter(|_| !around.is_of_endpoints) else {
        return Apply::Meanwhile;
    };
    let choices = [Apply::Meanwhile, Apply::After].map(|apply| (apply.word(), apply));
    let apply = node.one_of(&choices).unwrap_or_default();
    if apply == Apply::After {
        check_can_rest(&node, table, around.modes, sweep);
    }
    apply
}

/// Whose appliers cannot rest, and what they would rest in vain for.
fn check_can_rest(node: &Node<'_>, table: &Table<'_>, modes: &[ModeSpec], sweep: &Sweep) {
    let of_sweep = modes.iter().filter(|spec| sweep.has_mode(&spec.label));
    let cannot = of_sweep.filter(|spec| !spec.mode.can_hold_appliers());
    let labels: Vec<&str> = cannot.map(|spec| &spec.label[..]).collect();
    if !labels.is_empty() {
        node.wrong(&format!(
            "is for async and semisync alone, whose appliers can rest while replicas go on \
             receiving: give the sweep modes without {}",
            labels.join(", ")
        ));
    }
    for (key, why) in [
        ("pace", "what is paced leaves appliers too little to do"),
        ("knee", "a search is for what servers do at once"),
    ] {
        if let Some(other) = table.get(key) {
            node.wrong(&format!(
                "cannot be with {} (line {}): {why}; give one of the two",
                other.key,
                other.line()
            ));
        }
    }
    if sweep.workloads.iter().any(is_mysqlslap) {
        node.wrong("is not for mysqlslap's workloads: that tool has no window; leave it out");
    }
}

/// Distances, disks and the client's place are as they are.
fn of_endpoints(table: &Table<'_>) -> Vec<Distances> {
    endpoints::check_sweep(table);
    vec![Distances {
        label: endpoints::DISTANCES.to_owned(),
        ..Distances::default()
    }]
}

/// Labels of the modes that the sweep names; none means all.
fn modes(table: &Table<'_>, modes: &[ModeSpec]) -> Vec<String> {
    let node = table.get("modes");
    node.map_or_else(Vec::new, |node| quick::named(&node, modes))
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
        node.wrong(
            "has no primary key (auto_generate_sql_add_autoincrement = false), which group modes \
             refuse",
        );
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

fn schemas(table: &Table<'_>, workloads: &[Workload]) -> Vec<u32> {
    let Some(node) = table.get("schemas") else {
        return Vec::new();
    };
    if workloads.iter().any(is_mysqlslap) {
        node.wrong("is not for mysqlslap's workloads: that tool has a schema of its own");
    }
    let nodes = node.list().unwrap_or_default();
    nodes
        .iter()
        .filter_map(|node| node.count(limits::SCHEMAS))
        .collect()
}

fn is_mysqlslap(workload: &Workload) -> bool {
    matches!(workload, Workload::Mysqlslap { .. })
}

fn rates(table: &Table<'_>, workloads: &[Workload]) -> Vec<u32> {
    if let Some(node) = table
        .get("rate")
        .filter(|_| workloads.iter().any(is_mysqlslap))
    {
        node.wrong("is not for mysqlslap's workloads: that tool has no rate");
    }
    let nodes = list(table.get("rate"));
    nodes
        .iter()
        .filter_map(|node| node.count(limits::OFFERED_PER_S))
        .collect()
}

fn paces(table: &Table<'_>, workloads: &[Workload]) -> Vec<Duration> {
    let Some(node) = table.get("pace") else {
        return Vec::new();
    };
    if let Some(rate) = table.get("rate") {
        node.wrong(&format!(
            "cannot be with {} (line {}): a pace waits for the last transaction's end, a rate for \
             none; give one of the two",
            rate.key,
            rate.line()
        ));
    }
    if workloads.iter().any(is_mysqlslap) {
        node.wrong("is not for mysqlslap's workloads: that tool does not pause; leave it out");
    }
    let nodes = node.list().unwrap_or_default();
    nodes
        .iter()
        .filter_map(|node| node.time(limits::PACE))
        .collect()
}

/// `{ p99 = "20ms" }`
fn knee(table: &Table<'_>, workloads: &[Workload]) -> Option<Knee> {
    let node = table.get("knee")?;
    for other in ["rate", "pace"]
        .into_iter()
        .filter_map(|key| table.get(key))
    {
        node.wrong(&format!(
            "cannot be with {} (line {}): the search for a knee chooses its rates itself; give \
             one of the two",
            other.key,
            other.line()
        ));
    }
    if workloads.iter().any(is_mysqlslap) {
        node.wrong("is not for mysqlslap's workloads: that tool has no rate");
    }
    let table = node.table_such_as("must be a table: { p99 = \"20ms\" }")?;
    let p99 = table.need("p99", "give the limit that is to be kept, such as \"20ms\"");
    let p99 = p99.and_then(|node| node.time(limits::KNEE_P99));
    table.finish();
    Some(Knee { p99: p99? })
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
    around: &Surroundings<'_>,
    seen: &mut BTreeMap<String, Distances>,
) -> Vec<Distances> {
    let sites = around.sites;
    let (rtt, unequal) = (table.get("rtt"), table.get("distances"));
    if rtt.is_none() && unequal.is_none() && sites.len() > 1 {
        table.wrong(
            "",
            "needs rtt = [\"2.15ms\"] (between all sites), or distances, or both",
        );
    }
    let mut all = Vec::new();
    for node in list(rtt) {
        let given = node.time(limits::RTT).map(|rtt| equal(sites, rtt));
        let given = given.filter(|given| can_be_kept(&node, given, around.copies_rtt_max));
        all.extend(given.filter(|given| is_new(&node, given, seen)));
    }
    for node in list(unequal) {
        let given = node.table().and_then(|table| matrix(&table, sites));
        let given = given.filter(|given| can_be_kept(&node, given, around.copies_rtt_max));
        all.extend(given.filter(|given| is_new(&node, given, seen)));
    }
    if all.is_empty() && sites.len() < 2 {
        all.push(Distances {
            label: "one site".to_owned(),
            ..Distances::default()
        });
    }
    all
}

/// Whether copies of a volume so far away stay copies.
fn can_be_kept(node: &Node<'_>, given: &Distances, most: Option<Duration>) -> bool {
    let longest = given.pairs.iter().map(|(_, _, rtt)| *rtt).max();
    let Some(most) = most.filter(|most| longest > Some(*most)) else {
        return true;
    };
    node.wrong(&format!(
        "must be at most {}, for a copy of a volume (mirror, quorum) that is farther is taken for \
         lost",
        units::show(most)
    ));
    false
}

fn list(node: Option<Node<'_>>) -> Vec<Node<'_>> {
    node.and_then(|node| node.list()).unwrap_or_default()
}

/// Two different matrices under one label could not be told apart in a table.
fn is_new(node: &Node<'_>, given: &Distances, seen: &mut BTreeMap<String, Distances>) -> bool {
    let first = seen
        .entry(slug(&given.label))
        .or_insert_with(|| given.clone());
    let is_same = *first
        == Distances {
            label: first.label.clone(),
            ..given.clone()
        };
    if !is_same {
        let label = &given.label;
        node.wrong(&format!(
            "the label {label:?} already stands for other distances"
        ));
    }
    is_same
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
        ..Distances::default()
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
    let jitter = table
        .get("jitter")
        .and_then(|node| node.time(limits::JITTER));
    let rate = table.get("rate");
    let rate = rate.and_then(|node| node.rate(limits::RATE_BITS_PER_S));
    table.finish();
    let pairs: Vec<_> = found.into_iter().collect::<Option<_>>()?;
    let distances = Distances {
        label: String::new(),
        pairs,
        jitter,
        rate_bits_per_s: rate,
    };
    Some(Distances {
        label: label.unwrap_or_else(|| label_of(&distances)),
        ..distances
    })
}

/// The distances, and what is added to them.
fn label_of(distances: &Distances) -> String {
    let jitter = distances.jitter;
    let jitter = jitter.map(|jitter| format!(", jitter {}", units::show(jitter)));
    let rate = distances.rate_bits_per_s.map(|rate| rate as f64 / 1e6);
    let rate = rate.map(|rate| format!(", {rate} Mbit/s"));
    let [jitter, rate] = [jitter, rate].map(Option::unwrap_or_default);
    default_label(&distances.pairs) + &jitter + &rate
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
pub fn spellings(a: &str, b: &str) -> (String, Vec<String>) {
    let dashed = [format!("{a}-{b}"), format!("{b}-{a}")];
    // Names run together are clear only while they are single letters.
    if (a.len(), b.len()) == (1, 1) {
        let others = [format!("{b}{a}")].into_iter().chain(dashed);
        return (format!("{a}{b}"), others.collect());
    }
    let [usual, other] = dashed;
    (usual, vec![other])
}

/// What distances are called that have no label of their own.
pub fn default_label(pairs: &[(String, String, Duration)]) -> String {
    let different: BTreeSet<_> = pairs.iter().map(|(_, _, rtt)| *rtt).collect();
    if let (1, Some(rtt)) = (different.len(), different.first()) {
        return units::show(*rtt);
    }
    let words = pairs
        .iter()
        .map(|(a, b, rtt)| format!("{a}-{b} {}", units::show(*rtt)));
    words.collect::<Vec<_>>().join(", ")
}
