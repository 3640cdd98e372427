//! `[[mode]]`: one row of the table.

use std::collections::{BTreeMap, BTreeSet};

use super::axes::Axes;
use super::copies::{self, Copies};
use super::defaults::{
    CONSISTENCIES, DEFAULT_APPLIERS, DEFAULT_CONSISTENCY, DEFAULT_TIMEOUT, for_modes,
};
use super::endpoints::{self, ENDPOINT};
use super::walk::{Node, ReadFile, Table, one_of_names};
use super::{disks, fronts, labels};
use crate::study::capabilities::{Capabilities, Capability, Flavour};
use crate::study::{Mode, ModeSpec, Variables, WaitPoint, limits, slug};

const MODES: [&str; 9] = [
    "single",
    "async",
    "semisync",
    "group",
    "group-multi",
    "galera",
    "mirror",
    "quorum",
    ENDPOINT,
];
const SEMISYNC: &[&str] = &["semisync"];
/// Modes with a `timeout`.
const TIMED: &[&str] = &["semisync", "mirror"];
const GROUP: &[&str] = &["group", "group-multi"];
const MULTI_WRITER: &[&str] = &["group-multi", "galera"];
/// Modes that can do without a binary log.
const WITHOUT_BINARY_LOG: [&str; 4] = ["single", "galera", "mirror", "quorum"];

const WAIT_POINTS: [(&str, WaitPoint); 2] = [
    ("AFTER_SYNC", WaitPoint::AfterSync),
    ("AFTER_COMMIT", WaitPoint::AfterCommit),
];

/// What a mode is checked against.
pub struct Surroundings<'a> {
    pub capabilities: &'a Capabilities,
    pub sites: &'a [String],
    pub read_file: &'a ReadFile<'a>,
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
    let rows_of = |table| rows_of(table, around);
    let mut rows: Vec<Row<'_>> = tables.into_iter().flat_map(rows_of).collect();
    check_labels(&rows);
    check_unmixed(&rows);
    for index in 0..rows.len() {
        rows[index].spec.baseline = baseline(&rows, index);
    }
    rows.into_iter().map(|row| row.spec).collect()
}

/// Labs stand in a network of their own, from which no endpoint can be reached.
fn check_unmixed(rows: &[Row<'_>]) {
    let is_endpoint = |row: &&Row<'_>| row.spec.mode == Mode::Endpoint;
    if rows.iter().all(|row| is_endpoint(&row)) {
        return;
    }
    for row in rows.iter().filter(is_endpoint) {
        row.table.wrong(
            "mode = \"endpoint\" beside other modes",
            "a study is either of endpoints or of servers that acklab starts: make it two studies",
        );
    }
}

/// One row, or one for each number of nodes, of appliers and each front where there are lists.
fn rows_of<'d>(table: Table<'d>, around: &Surroundings<'_>) -> Vec<Row<'d>> {
    if endpoints::is_one(&table) {
        return vec![endpoint_row(table, around)];
    }
    let server = server(&table, around.capabilities);
    let capability = server.and_then(|name| around.capabilities.get(name));
    let kind = kind(&table, server, capability);
    let copies = copies::read(&table, kind, around.sites);
    let axes = Axes::read(&table, kind, copies.nodes, around.sites);
    let label = table.get("label");
    let mode = mode(&table, kind, capability, axes.fewest_nodes(), &copies);
    let servers = if mode.has_one_server() {
        1
    } else {
        axes.most_nodes()
    };
    let spec = ModeSpec {
        label: String::new(),
        server: server.unwrap_or_default().to_owned(),
        mode,
        nodes: axes.fewest_nodes(),
        appliers: DEFAULT_APPLIERS,
        binary_log: binary_log(&table, kind),
        spread: flag_for(&table, "spread", kind, MULTI_WRITER),
        front: None,
        memory_bytes: fronts::memory(&table),
        image_bytes: disks::own_image(&table),
        baseline: None,
        variables: table
            .get("variables")
            .map(|node| variables(&node))
            .unwrap_or_default(),
        node_variables: node_variables(
            &table,
            &around.sites[..around.sites.len().min(servers as usize)],
        ),
        varied: None,
        endpoint: None,
        tls: table.read("tls", Node::flag),
        slowdown: table.read("slowdown", |node| node.share(limits::SLOWDOWN)),
        price_usd_per_hour: table.get("price_usd_per_hour").and_then(price),
    };
    let given = label.as_ref().and_then(Node::words).map(str::trim);
    let specs = axes.each(&spec, given);
    let baseline = table.get("baseline");
    table.finish();
    let row = |mut spec: ModeSpec| {
        if given.is_none() {
            spec.label = labels::of(&spec);
        }
        Row {
            spec,
            label: label.clone(),
            baseline: baseline.clone(),
            is_sound: server.is_some() && kind.is_some(),
            table: table.clone(),
        }
    };
    specs.into_iter().map(row).collect()
}

/// A row of servers that somebody else runs.
fn endpoint_row<'d>(table: Table<'d>, around: &Surroundings<'_>) -> Row<'d> {
    let label = table.get("label");
    let given = label.as_ref().and_then(Node::words).map(str::trim);
    let baseline = table.get("baseline");
    let mut spec = endpoints::read(&table, around.read_file, given);
    spec.price_usd_per_hour = table.get("price_usd_per_hour").and_then(price);
    table.finish();
    Row {
        is_sound: endpoints::is_sound(&spec),
        spec,
        label,
        baseline,
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

fn flag_for(table: &Table<'_>, key: &str, kind: Option<&str>, modes: &[&str]) -> bool {
    // `false` says nothing that is not so anyway, in any mode.
    match table.read(key, Node::flag) {
        Some(true) => for_modes(table, key, kind, modes).is_some(),
        _ => false,
    }
}

/// US dollars per hour, above zero.
fn price(node: Node<'_>) -> Option<f64> {
    let price = node.as_number();
    let price = price.filter(|price| *price > 0.0 && *price <= limits::PRICE_USD_PER_HOUR_MAX);
    if price.is_none() {
        let most = limits::PRICE_USD_PER_HOUR_MAX;
        node.wrong(&format!(
            "must be US dollars per hour, above 0 and at most {most}"
        ));
    }
    price
}

fn binary_log(table: &Table<'_>, kind: Option<&str>) -> bool {
    let Some(node) = table.get("binary_log") else {
        return true;
    };
    let is_on = node.flag().unwrap_or(true);
    if let Some(kind) = kind
        && !is_on
        && !WITHOUT_BINARY_LOG.contains(&kind)
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
    copies: &Copies,
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
        Some("mirror") => copies.mirror(),
        Some("quorum") => copies.quorum(),
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
    let timeout = for_modes(table, "timeout", kind, TIMED).filter(|_| kind == Some("semisync"));
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

pub(super) fn variables(node: &Node<'_>) -> Variables {
    let mut variables = Variables::new();
    let entries = node
        .table()
        .map(|table| table.entries())
        .unwrap_or_default();
    for (name, value) in entries {
        if let Some(plain) = plain_name(name, &value)
            && let Some(text) = value.option_value()
            && variables.insert(plain, text).is_some()
        {
            value.wrong(GIVEN_TWICE);
        }
    }
    variables
}

/// Of a variable in two spellings.
pub(super) const GIVEN_TWICE: &str = "is given twice, with - and with _ or in another case";

/// A variable's name in the one spelling that is used from here on: option files take both `_` and
/// `-`, and a key must not hide behind the other.
pub(super) fn plain_name(name: &str, value: &Node<'_>) -> Option<String> {
    let plain = name.replace('-', "_").to_lowercase();
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
    let is_name = !plain.is_empty() && plain.chars().all(is_letter);
    if !is_name {
        value.wrong("is not the name of a server variable");
    }
    is_name.then_some(plain)
}

fn node_variables(table: &Table<'_>, sites: &[String]) -> BTreeMap<String, Variables> {
    let Some(of_sites) = table.read("node_variables", Node::table) else {
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

/// The same server's `single` with a binary log, of the same variables, memory and front if there
/// is such a one.
fn default_baseline(rows: &[Row<'_>], index: usize) -> Option<String> {
    let own = &rows[index].spec;
    let is_plain = |spec: &ModeSpec| spec.mode == Mode::Single && spec.slowdown.is_none();
    let is_baseline =
        |spec: &ModeSpec| spec.server == own.server && is_plain(spec) && spec.binary_log;
    let candidates: Vec<&ModeSpec> = rows
        .iter()
        .map(|row| &row.spec)
        .filter(|spec| is_baseline(spec))
        .collect();
    // The first of those that are most alike.
    let likeness = |spec: &&&ModeSpec| spec.likeness(own);
    let chosen = candidates.iter().rev().max_by_key(likeness)?;
    (chosen.label != own.label).then(|| chosen.label.clone())
}
