//! `[[mode]]`: one row of the table.

use std::collections::{BTreeMap, BTreeSet};

use super::walk::{Node, Table, one_of_names};
use crate::study::capabilities::{Capabilities, Capability, Flavour};
use crate::study::{Consistency, Mode, ModeSpec, Variables, WaitPoint, limits, slug, units};

/// Nodes of a mode that replicates, if the study does not say.
const DEFAULT_NODES: u32 = 3;
/// Parallel applier threads, if the study does not say.
const DEFAULT_APPLIERS: u32 = 4;
/// Semi-synchronous timeout, if the study does not say: the servers' own.
const DEFAULT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
/// Group consistency, if the study does not say. Pinned: servers' own default changed with 8.4.
const DEFAULT_CONSISTENCY: Consistency = Consistency::BeforeOnPrimaryFailover;

const MODES: [&str; 6] = [
    "single",
    "async",
    "semisync",
    "group",
    "group-multi",
    "galera",
];
const SEMISYNC: &[&str] = &["semisync"];
const GROUP: &[&str] = &["group", "group-multi"];
const MULTI_WRITER: &[&str] = &["group-multi", "galera"];

const WAIT_POINTS: [(&str, WaitPoint); 2] = [
    ("AFTER_SYNC", WaitPoint::AfterSync),
    ("AFTER_COMMIT", WaitPoint::AfterCommit),
];

const CONSISTENCIES: [(&str, Consistency); 5] = [
    ("EVENTUAL", Consistency::Eventual),
    (
        "BEFORE_ON_PRIMARY_FAILOVER",
        Consistency::BeforeOnPrimaryFailover,
    ),
    ("BEFORE", Consistency::Before),
    ("AFTER", Consistency::After),
    ("BEFORE_AND_AFTER", Consistency::BeforeAndAfter),
];

/// What a mode is checked against.
pub struct Surroundings<'a> {
    pub capabilities: &'a Capabilities,
    pub sites: &'a [String],
}

/// A mode that has been read, and where its names stand.
struct Row<'d> {
    spec: ModeSpec,
    label: Option<Node<'d>>,
    baseline: Option<Node<'d>>,
    table: Table<'d>,
    /// Server and mode are known, so that a default label means something.
    is_sound: bool,
}

/// All modes of a study, labels and baselines settled.
pub fn read(tables: Vec<Table<'_>>, around: &Surroundings<'_>) -> Vec<ModeSpec> {
    let mut rows: Vec<Row<'_>> = tables.into_iter().map(|table| row(table, around)).collect();
    check_labels(&rows);
    for index in 0..rows.len() {
        rows[index].spec.baseline = baseline(&rows, index);
    }
    rows.into_iter().map(|row| row.spec).collect()
}

fn row<'d>(table: Table<'d>, around: &Surroundings<'_>) -> Row<'d> {
    let server = server(&table, around.capabilities);
    let capability = server.and_then(|name| around.capabilities.get(name));
    let kind = kind(&table, server, capability);
    let nodes = nodes(&table, kind, around.sites);
    let label = table.get("label");
    let mut spec = ModeSpec {
        label: String::new(),
        server: server.unwrap_or_default().to_owned(),
        mode: mode(&table, kind, capability, nodes),
        nodes,
        appliers: appliers(&table),
        binary_log: binary_log(&table, kind),
        spread: flag_for(&table, "spread", kind, MULTI_WRITER),
        baseline: None,
        variables: table
            .get("variables")
            .map(|node| variables(&node))
            .unwrap_or_default(),
        node_variables: node_variables(
            &table,
            &around.sites[..around.sites.len().min(nodes as usize)],
        ),
    };
    let given = label.as_ref().and_then(Node::words).map(str::trim);
    spec.label = given.map_or_else(|| default_label(&spec), str::to_owned);
    let baseline = table.get("baseline");
    table.finish();
    Row {
        spec,
        label,
        baseline,
        is_sound: server.is_some() && kind.is_some(),
        table,
    }
}

fn server<'d>(table: &Table<'d>, capabilities: &Capabilities) -> Option<&'d str> {
    let names: Vec<&str> = capabilities.servers.keys().map(String::as_str).collect();
    let node = table.need("server", &one_of_names("", &names))?;
    let name = node.text()?;
    if !names.contains(&name) {
        node.wrong(&one_of_names(name, &names));
        return None;
    }
    Some(name)
}

fn kind(
    table: &Table<'_>,
    server: Option<&str>,
    capability: Option<&Capability>,
) -> Option<&'static str> {
    let node = table.need("mode", &one_of_names("", &MODES))?;
    let kind = node.one_of(&MODES.map(|name| (name, name)))?;
    if let (Some(server), Some(capability)) = (server, capability)
        && !capability.modes.iter().any(|mode| mode == kind)
    {
        let can = capability.modes.join(", ");
        node.wrong(&format!("is not a mode of {server}, which can do {can}"));
    }
    Some(kind)
}

/// The value of a key that only some modes have.
fn for_modes<'d>(
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

fn flag_for(table: &Table<'_>, key: &str, kind: Option<&str>, modes: &[&str]) -> bool {
    // `false` says nothing that is not so anyway, in any mode.
    match table.get(key).and_then(|node| node.flag()) {
        Some(true) => for_modes(table, key, kind, modes).is_some(),
        _ => false,
    }
}

fn nodes(table: &Table<'_>, kind: Option<&str>, sites: &[String]) -> u32 {
    let given = table.get("nodes");
    if kind == Some("single") {
        if let Some(node) = given {
            node.count(limits::Range::new(1, 1));
        }
        return 1;
    }
    let high = limits::NODES.high.min(sites.len() as u64);
    if high < limits::NODES.low {
        table.wrong(
            "",
            "needs at least two sites, for its nodes stand one in each",
        );
        return DEFAULT_NODES;
    }
    let Some(node) = given else {
        return DEFAULT_NODES.min(high as u32);
    };
    match node.integer() {
        Some(count) if count >= 0 && limits::Range::new(2, high).holds(count as u64) => {
            count as u32
        }
        Some(_) => {
            let names = sites.join(", ");
            node.wrong(&format!(
                "must be from 2 to {high}: one node in each of the sites {names}"
            ));
            DEFAULT_NODES.min(high as u32)
        }
        None => DEFAULT_NODES.min(high as u32),
    }
}

fn appliers(table: &Table<'_>) -> u32 {
    let node = table.get("appliers");
    node.and_then(|node| node.count(limits::APPLIERS))
        .unwrap_or(DEFAULT_APPLIERS)
}

fn binary_log(table: &Table<'_>, kind: Option<&str>) -> bool {
    let Some(node) = table.get("binary_log") else {
        return true;
    };
    let is_on = node.flag().unwrap_or(true);
    if let Some(kind) = kind
        && !is_on
        && !["single", "galera"].contains(&kind)
    {
        node.wrong(&format!(
            "must be true: {kind} replicates through the binary log"
        ));
    }
    is_on
}

fn mode(
    table: &Table<'_>,
    kind: Option<&str>,
    capability: Option<&Capability>,
    nodes: u32,
) -> Mode {
    let consistency = for_modes(table, "consistency", kind, GROUP)
        .and_then(|node| node.one_of(&CONSISTENCIES))
        .unwrap_or(DEFAULT_CONSISTENCY);
    let semisync = semisync(table, kind, capability, nodes);
    match kind {
        Some("async") => Mode::Async,
        Some("semisync") => semisync,
        Some("group") => Mode::Group { consistency },
        Some("group-multi") => Mode::GroupMulti { consistency },
        Some("galera") => Mode::Galera,
        _ => Mode::Single,
    }
}

fn semisync(
    table: &Table<'_>,
    kind: Option<&str>,
    capability: Option<&Capability>,
    nodes: u32,
) -> Mode {
    let wait_for = for_modes(table, "wait_for", kind, SEMISYNC);
    let wait_point = for_modes(table, "wait_point", kind, SEMISYNC);
    let timeout = for_modes(table, "timeout", kind, SEMISYNC);
    Mode::Semisync {
        wait_for: wait_for.map_or(1, |node| replicas(&node, capability, nodes - 1)),
        wait_point: wait_point
            .and_then(|node| node.one_of(&WAIT_POINTS))
            .unwrap_or(WaitPoint::AfterSync),
        timeout: timeout
            .and_then(|node| node.time(limits::SEMISYNC_TIMEOUT))
            .unwrap_or(DEFAULT_TIMEOUT),
    }
}

/// How many replicas a source waits for.
fn replicas(node: &Node<'_>, capability: Option<&Capability>, replicas: u32) -> u32 {
    let Some(count) = node.integer() else {
        return 1;
    };
    let is_mariadb = capability.is_some_and(|server| server.flavour == Flavour::Mariadb);
    if is_mariadb && count != 1 {
        node.wrong("must be 1: MariaDB's semi-sync waits for one replica, never more");
    } else if !(1..=i64::from(replicas)).contains(&count) {
        node.wrong(&format!(
            "must be from 1 to {replicas}, the number of replicas"
        ));
    }
    u32::try_from(count).unwrap_or(1)
}

fn variables(node: &Node<'_>) -> Variables {
    let mut variables = Variables::new();
    let entries = node
        .table()
        .map(|table| table.entries())
        .unwrap_or_default();
    for (name, value) in entries {
        // Option files take both `_` and `-`; a key must not hide behind the other spelling.
        let plain = name.replace('-', "_").to_lowercase();
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
        if !plain.chars().all(is_name) || plain.is_empty() {
            value.wrong("is not the name of a server variable");
        } else if let Some(text) = value.option_value()
            && variables.insert(plain, text).is_some()
        {
            value.wrong("is given twice, with - and with _ or in another case");
        }
    }
    variables
}

fn node_variables(table: &Table<'_>, sites: &[String]) -> BTreeMap<String, Variables> {
    let Some(of_sites) = table.get("node_variables").and_then(|node| node.table()) else {
        return BTreeMap::new();
    };
    let names: Vec<&str> = sites.iter().map(String::as_str).collect();
    let mut all = BTreeMap::new();
    for (site, node) in of_sites.entries() {
        if !names.contains(&site) {
            let advice = one_of_names(site, &names);
            node.wrong(&format!(
                "there is no node of this mode in site {site}; {advice}"
            ));
        }
        all.insert(site.to_owned(), variables(&node));
    }
    all
}

/// Server and mode, plus whatever differs from the defaults.
fn default_label(spec: &ModeSpec) -> String {
    let mut words = vec![format!("{} {}", spec.server, spec.mode.name())];
    match spec.mode {
        Mode::Semisync {
            wait_for,
            wait_point,
            timeout,
        } => {
            if wait_for != 1 {
                words.push(format!("{wait_for}/{}", spec.nodes - 1));
            }
            if wait_point == WaitPoint::AfterCommit {
                words.push("AFTER_COMMIT".to_owned());
            }
            if timeout != DEFAULT_TIMEOUT {
                words.push(format!("timeout {}", units::show(timeout)));
            }
        }
        Mode::Group { consistency } | Mode::GroupMulti { consistency } => {
            let name = CONSISTENCIES
                .iter()
                .find(|(_, value)| *value == consistency);
            words.extend(
                name.filter(|_| consistency != DEFAULT_CONSISTENCY)
                    .map(|(name, _)| name.to_string()),
            );
        }
        Mode::Single | Mode::Async | Mode::Galera => {}
    }
    words.extend(common_words(spec));
    words.join(" ")
}

/// What differs from the defaults that all modes share.
fn common_words(spec: &ModeSpec) -> Vec<String> {
    let mut words = Vec::new();
    if spec.nodes != DEFAULT_NODES && spec.mode != Mode::Single {
        words.push(format!("{} nodes", spec.nodes));
    }
    if spec.appliers != DEFAULT_APPLIERS {
        words.push(format!("{} appliers", spec.appliers));
    }
    if !spec.binary_log {
        words.push("no binlog".to_owned());
    }
    if spec.spread {
        words.push("spread".to_owned());
    }
    words.extend(
        spec.variables
            .iter()
            .map(|(name, value)| format!("{name}={value}")),
    );
    for (site, variables) in &spec.node_variables {
        words.extend(
            variables
                .iter()
                .map(|(name, value)| format!("{site}:{name}={value}")),
        );
    }
    words
}

fn check_labels(rows: &[Row<'_>]) {
    let mut seen = BTreeSet::new();
    for row in rows
        .iter()
        .filter(|row| row.is_sound || row.label.is_some())
    {
        let slug = slug(&row.spec.label);
        let advice = if slug.is_empty() {
            "must hold a letter or a digit"
        } else if slug == "none" {
            "must not be none, which as a baseline means that there is none"
        } else if !seen.insert(slug) {
            "is the label of another mode too; labels must differ by more than punctuation and case"
        } else {
            continue;
        };
        match &row.label {
            Some(node) => node.wrong(advice),
            None => row.table.wrong(
                &format!("{:?} by default", row.spec.label),
                &format!("{advice}; give it a label"),
            ),
        }
    }
}

/// The label of the mode that ratios of row `index` are taken against.
fn baseline(rows: &[Row<'_>], index: usize) -> Option<String> {
    let row = &rows[index];
    let Some(node) = &row.baseline else {
        return default_baseline(rows, index);
    };
    let name = node.text()?;
    if name == "none" {
        return None;
    }
    let others = rows.iter().enumerate().filter(|(other, _)| *other != index);
    let mut labels: Vec<&str> = others.map(|(_, row)| row.spec.label.as_str()).collect();
    if !labels.contains(&name) {
        labels.push("none");
        node.wrong(&format!(
            "no other mode has this label; {}",
            one_of_names(name, &labels)
        ));
    }
    Some(name.to_owned())
}

/// The same server's `single` with a binary log, of the same variables if there is such a one.
fn default_baseline(rows: &[Row<'_>], index: usize) -> Option<String> {
    let own = &rows[index].spec;
    let is_baseline =
        |spec: &ModeSpec| spec.server == own.server && spec.mode == Mode::Single && spec.binary_log;
    let candidates: Vec<&ModeSpec> = rows
        .iter()
        .map(|row| &row.spec)
        .filter(|spec| is_baseline(spec))
        .collect();
    let same = candidates
        .iter()
        .find(|spec| spec.variables == own.variables);
    let chosen = same.or(candidates.first())?;
    (chosen.label != own.label).then(|| chosen.label.clone())
}
