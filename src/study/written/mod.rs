//! The study as written: TOML in, a [`Study`] as meant out, or every mistake of the file at once.
//!
//! Keys, units and defaults are described for people in `docs/study.md`.

mod modes;
mod sweeps;
pub mod walk;
mod workloads;

use std::collections::BTreeMap;
use std::time::Duration;

use super::capabilities::Capabilities;
use super::{Mode, Network, Study, limits, units};
use crate::error::Result;
use walk::{Document, Node, Table, one_of_names, syntax};

/// Reads the file of a given name as text; the error says what is wrong with it.
pub type ReadFile<'a> = dyn Fn(&str) -> std::result::Result<String, String> + 'a;

/// The study that `text` means. `file` is its name, for messages; `read_file` gets the text of
/// the file that `my_cnf` names.
///
/// # Errors
/// All mistakes of the text, each with its line, key, what was given and what is allowed.
pub fn parse(
    text: &str,
    file: &str,
    capabilities: &Capabilities,
    read_file: &ReadFile<'_>,
) -> Result<Study> {
    let root = syntax(file, text)?;
    let document = Document::new(file, text);
    let study = study(&document.root(&root), file, capabilities, read_file);
    document.conclude(study)
}

fn study(
    table: &Table<'_>,
    file: &str,
    capabilities: &Capabilities,
    read_file: &ReadFile<'_>,
) -> Study {
    let name = name(table, file);
    let title = table
        .get("title")
        .and_then(|node| node.words())
        .unwrap_or(&name)
        .to_owned();
    let sites = sites(table);
    let modes = modes(table, capabilities, &sites);
    let workloads = own_workloads(table);
    let has_group = modes
        .iter()
        .any(|spec| matches!(spec.mode, Mode::Group { .. } | Mode::GroupMulti { .. }));
    let around = sweeps::Surroundings {
        sites: &sites,
        workloads: &workloads,
        has_group,
    };
    let sweeps = table.need("sweep", "at least one [[sweep]] must be given");
    let sweeps = sweeps::read(
        &sweeps.map(|node| node.tables()).unwrap_or_default(),
        &around,
    );
    let study = Study {
        name,
        title,
        seed: table
            .get("seed")
            .and_then(|node| node.whole(limits::SEED))
            .unwrap_or(7),
        rounds: table
            .get("rounds")
            .and_then(|node| node.count(limits::ROUNDS))
            .unwrap_or(4),
        warmup: time(table, "warmup", limits::WARMUP, Duration::from_millis(500)),
        measure: time(table, "measure", limits::MEASURE, Duration::from_secs(2)),
        network: network(table),
        tls: table
            .get("tls")
            .and_then(|node| node.flag())
            .unwrap_or(false),
        my_cnf: table
            .get("my_cnf")
            .and_then(|node| my_cnf(&node, read_file)),
        sites,
        modes,
        sweeps,
    };
    table.finish();
    if let Err(advice) = check_length(&study) {
        table.wrong("", &advice);
    }
    study
}

/// The study's name; if none is given, its file's without folder and ending.
fn name(table: &Table<'_>, file: &str) -> String {
    let given = table.get("name").and_then(|node| {
        let name = node.words()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !name.chars().all(is_plain) {
            node.wrong("must be made of letters, digits, - _ and . only");
        }
        Some(name)
    });
    let base = file.rsplit('/').next().unwrap_or(file);
    given
        .unwrap_or(base.strip_suffix(".toml").unwrap_or(base))
        .to_owned()
}

fn sites(table: &Table<'_>) -> Vec<String> {
    let Some(node) = table.get("sites") else {
        return ["a", "b", "c"].map(str::to_owned).to_vec();
    };
    let mut sites: Vec<String> = Vec::new();
    for node in node.list().unwrap_or_default() {
        let Some(name) = node.text() else { continue };
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        // Site names become names of nodes and devices, which the kernel keeps short.
        if !(1..=8).contains(&name.len()) || !name.chars().all(is_plain) {
            node.wrong("must be 1 to 8 lower-case letters or digits");
        } else if ["label", "client"].contains(&name) {
            node.wrong("is a word with a meaning of its own; choose another");
        } else if sites.iter().any(|site| site == name) {
            node.wrong("is given twice");
        }
        sites.push(name.to_owned());
    }
    sites
}

fn time(
    table: &Table<'_>,
    key: &str,
    range: limits::Range<Duration>,
    default: Duration,
) -> Duration {
    table
        .get(key)
        .and_then(|node| node.time(range))
        .unwrap_or(default)
}

fn network(table: &Table<'_>) -> Network {
    let default = Network {
        rtt_within_site: Duration::from_micros(250),
        jitter: Duration::ZERO,
        loss: 0.0,
        rate_bits_per_s: None,
    };
    let Some(table) = table.get("network").and_then(|node| node.table()) else {
        return default;
    };
    let within = time(
        &table,
        "rtt_within_site",
        limits::RTT,
        default.rtt_within_site,
    );
    let network = Network {
        rtt_within_site: within,
        jitter: time(&table, "jitter", limits::JITTER, default.jitter),
        loss: table
            .get("loss")
            .and_then(|node| node.share(limits::LOSS))
            .unwrap_or(0.0),
        rate_bits_per_s: table
            .get("rate")
            .and_then(|node| node.rate(limits::RATE_BITS_PER_S)),
    };
    table.finish();
    network
}

fn my_cnf(node: &Node<'_>, read_file: &ReadFile<'_>) -> Option<String> {
    let file = node.words()?;
    match read_file(file) {
        Ok(text) => Some(text),
        Err(reason) => {
            node.wrong(&format!(
                "must be an option file that can be read: {reason}"
            ));
            None
        }
    }
}

fn modes(table: &Table<'_>, capabilities: &Capabilities, sites: &[String]) -> Vec<super::ModeSpec> {
    let tables = table.need("mode", "at least one [[mode]] must be given");
    let tables = tables.map(|node| node.tables()).unwrap_or_default();
    modes::read(
        tables,
        &modes::Surroundings {
            capabilities,
            sites,
        },
    )
}

fn own_workloads(table: &Table<'_>) -> BTreeMap<String, Option<super::Workload>> {
    let table = table.get("workload").and_then(|node| node.table());
    let entries = table.map(|table| table.entries()).unwrap_or_default();
    let read = |(name, node): (&str, Node<'_>)| {
        let workload = node.table().and_then(|table| workloads::read(name, &table));
        (name.to_owned(), workload)
    };
    entries.into_iter().map(read).collect()
}

/// Says what a study that nobody could wait for would take.
pub(super) fn check_length(study: &Study) -> std::result::Result<(), String> {
    let points = |sweep: &super::Sweep| {
        let axes = [
            sweep.workloads.len(),
            sweep.connections.len(),
            sweep.distances.len(),
        ];
        axes.iter().product::<usize>() * sweep.client_sites.len()
    };
    let cells = study.modes.len() * study.sweeps.iter().map(points).sum::<usize>();
    let window_s = (study.warmup + study.measure).as_secs_f64();
    let whole_s = cells as f64 * f64::from(study.rounds) * window_s;
    if cells <= limits::CELLS && whole_s <= limits::STUDY.as_secs_f64() {
        return Ok(());
    }
    Err(format!(
        "{cells} cells × {} rounds × {} of load would take {:.0} h; at most {} cells and {:.0} h \
         are allowed: fewer modes, axes or rounds, or shorter windows",
        study.rounds,
        units::show(study.warmup + study.measure),
        whole_s / 3_600.0,
        limits::CELLS,
        limits::STUDY.as_secs_f64() / 3_600.0
    ))
}

/// The advice for a built-in study's name that is not known.
pub(super) fn no_such_study(name: &str) -> String {
    one_of_names(name, &super::builtin_names())
}

#[cfg(test)]
mod tests;
