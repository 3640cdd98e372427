//! The study as written: TOML in, a [`Study`] as meant out, or every mistake of the file at once.
//!
//! Keys, units and defaults are described for people in `docs/study.md`.

mod axes;
mod copies;
mod defaults;
mod disks;
mod endpoints;
pub mod fault_rows;
mod faults;
mod fronts;
mod injections;
pub mod labels;
mod modes;
mod quick;
mod sites;
mod speeds;
pub mod sweeps;
mod vary;
pub mod walk;
mod workloads;

use std::collections::BTreeMap;
use std::time::Duration;

use super::articles::article_keys;
use super::capabilities::Capabilities;
use super::cpus::Cpus;
use super::{Mode, Network, Study, limits, my_cnf, units};
use crate::error::Result;
pub use sites::is_name as is_site;
pub use walk::ReadFile;
use walk::{Document, Node, Table, syntax};

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
    let title = table.read("title", Node::words);
    let title = title.unwrap_or(&name).to_owned();
    let sites = sites::read(table);
    let before = table.mistakes_so_far();
    let modes = modes(table, capabilities, &sites, read_file);
    let are_modes_sound = table.mistakes_so_far() == before;
    let is_of_endpoints = modes.iter().any(|spec| spec.mode == Mode::Endpoint);
    let sites = match is_of_endpoints {
        true => vec![endpoints::SITE.to_owned()],
        false => sites,
    };
    if is_of_endpoints {
        endpoints::check_study(table);
    }
    let (modes, screens) = vary::read(table, modes);
    let disk = disks::of_study(table, &sites);
    let (mut sweeps, only) = sweeps(table, &sites, &modes, disk.as_ref());
    let images = images(table, disk, &modes, &mut sweeps);
    let (sweeps, short) = quick::split(table, sweeps, &only);
    let around = injections::Surroundings {
        modes: &modes,
        are_modes_sound,
        sites: &sites,
        are_emulated: images.is_some(),
    };
    let injections = injections::read(table, &around);
    let mut study = Study {
        name,
        title,
        article: table.read("article", article),
        seed: table
            .read("seed", |node| node.whole(limits::SEED))
            .unwrap_or(7),
        rounds: table
            .read("rounds", |node| node.count(limits::ROUNDS))
            .unwrap_or(4),
        warmup: table.time("warmup", limits::WARMUP, Duration::from_millis(500)),
        measure: table.time("measure", limits::MEASURE, Duration::from_secs(2)),
        network: network(table),
        tls: match is_of_endpoints {
            true => modes.iter().all(has_tls),
            false => is_on(table, "tls"),
        },
        my_cnf: table.read("my_cnf", |node| my_cnf(node, read_file)),
        images,
        injections,
        handshakes: is_on(table, "handshakes"),
        cpus: cpus(table),
        until: None,
        budget: None,
        baseline: None,
        sites,
        modes,
        screens,
        sweeps,
        quick: None,
        is_quick: false,
    };
    study.quick = quick::read(table, &study, short);
    check_all_are_measured(table, &study);
    table.finish();
    if let Err(advice) = check_length(&study) {
        table.wrong("", &advice);
    }
    study
}

/// A mode that nothing names would be left out without a word.
fn check_all_are_measured(table: &Table<'_>, study: &Study) {
    let short = study.quick.iter().flat_map(|quick| &quick.sweeps);
    let sweeps: Vec<&super::Sweep> = study.sweeps.iter().chain(short).collect();
    let is_broken = |label: &String| study.injections.iter().any(|one| one.modes.contains(label));
    let is_swept = |label: &String| sweeps.iter().any(|sweep| sweep.has_mode(label));
    let is_met = |label: &String| is_broken(label) || is_swept(label);
    let labels = study.modes.iter().map(|spec| &spec.label);
    for label in labels.filter(|label| !sweeps.is_empty() && !is_met(label)) {
        table.wrong(
            &format!("mode {label:?}"),
            "no sweep measures it: name it in the modes of one, or leave it out",
        );
    }
}

/// A flag that is off if it is not given.
fn is_on(table: &Table<'_>, key: &str) -> bool {
    let flag = table.read(key, Node::flag);
    flag.unwrap_or(false)
}

/// A number of CPUs, or a word.
fn cpus(table: &Table<'_>) -> Cpus {
    let Some(node) = table.get("cpus") else {
        return Cpus::Auto;
    };
    let given = node.as_integer().map(|count| count.to_string());
    let given = given.or_else(|| node.as_text().map(str::to_owned));
    given
        .unwrap_or_default()
        .parse()
        .unwrap_or_else(|allowed: String| {
            node.wrong(&allowed);
            Cpus::Auto
        })
}

fn has_tls(spec: &super::ModeSpec) -> bool {
    let endpoint = spec.endpoint.as_ref();
    endpoint.is_some_and(|endpoint| endpoint.tls.is_on())
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

fn article(node: &Node<'_>) -> Option<String> {
    let keys = article_keys();
    let choices: Vec<(&str, String)> = keys.iter().map(|key| (&key[..], key.clone())).collect();
    node.one_of(&choices)
}

fn network(table: &Table<'_>) -> Network {
    let default = Network {
        rtt_within_site: Duration::from_micros(250),
        jitter: Duration::ZERO,
        loss: 0.0,
        rate_bits_per_s: None,
    };
    let Some(table) = table.read("network", Node::table) else {
        return default;
    };
    let within = table.time("rtt_within_site", limits::RTT, default.rtt_within_site);
    let network = Network {
        rtt_within_site: within,
        jitter: table.time("jitter", limits::JITTER, default.jitter),
        loss: table
            .read("loss", |node| node.share(limits::LOSS))
            .unwrap_or(0.0),
        rate_bits_per_s: table.read("rate", |node| node.rate(limits::RATE_BITS_PER_S)),
    };
    table.finish();
    network
}

fn my_cnf(node: &Node<'_>, read_file: &ReadFile<'_>) -> Option<String> {
    let file = node.words()?;
    match read_file(file) {
        Ok(text) => Some(my_cnf::of_servers(&text)),
        Err(reason) => {
            node.wrong(&format!(
                "must be an option file that can be read: {reason}"
            ));
            None
        }
    }
}

fn modes(
    table: &Table<'_>,
    capabilities: &Capabilities,
    sites: &[String],
    read_file: &ReadFile<'_>,
) -> Vec<super::ModeSpec> {
    let tables = table.need("mode", "at least one [[mode]] must be given");
    let tables = tables.map(|node| node.tables()).unwrap_or_default();
    modes::read(
        tables,
        &modes::Surroundings {
            capabilities,
            sites,
            read_file,
        },
    )
}

fn sweeps(
    table: &Table<'_>,
    sites: &[String],
    modes: &[super::ModeSpec],
    disk: Option<&disks::Layer>,
) -> (Vec<super::Sweep>, Vec<Option<quick::Only>>) {
    let is_group = |mode: &Mode| matches!(mode, Mode::Group { .. } | Mode::GroupMulti { .. });
    let around = sweeps::Surroundings {
        sites,
        workloads: &own_workloads(table),
        has_group: modes.iter().any(|spec| is_group(&spec.mode)),
        copies_rtt_max: modes.iter().filter_map(copies_rtt_max).min(),
        is_of_endpoints: modes.iter().any(|spec| spec.mode == Mode::Endpoint),
        disk,
        modes,
    };
    let tables = table.need("sweep", "at least one [[sweep]] must be given");
    let tables = tables.map(|node| node.tables()).unwrap_or_default();
    let only = tables.iter().map(quick::only).collect();
    (sweeps::read(&tables, &around), only)
}

/// A mirror's copy must answer before its timeout; of a quorum there is none.
pub(super) fn copies_rtt_max(spec: &super::ModeSpec) -> Option<Duration> {
    match spec.mode {
        Mode::Mirror { timeout, .. } => Some((timeout / 2).min(limits::COPIES_RTT_MAX)),
        Mode::Quorum { .. } => Some(limits::COPIES_RTT_MAX),
        _ => None,
    }
}

/// Equal terms for all: as soon as one disk must be emulated, all are, in every sweep.
fn images(
    table: &Table<'_>,
    disk: Option<disks::Layer>,
    modes: &[super::ModeSpec],
    sweeps: &mut [super::Sweep],
) -> Option<super::Images> {
    let needs_one =
        |spec: &super::ModeSpec| spec.mode.family().copies_volume() || spec.image_bytes.is_some();
    let is_needed = modes.iter().any(needs_one);
    let is_asked = disk.is_some() || sweeps.iter().any(|sweep| !sweep.disks.is_empty());
    let images = disks::images(table, is_asked || is_needed)?;
    let plain = disks::alone(&disk.unwrap_or_default());
    for sweep in sweeps.iter_mut().filter(|sweep| sweep.disks.is_empty()) {
        sweep.disks.push(plain.clone());
    }
    Some(images)
}

fn own_workloads(table: &Table<'_>) -> BTreeMap<String, Option<super::Workload>> {
    let table = table.read("workload", Node::table);
    let entries = table.map(|table| table.entries()).unwrap_or_default();
    let read = |(name, node): (&str, Node<'_>)| {
        let workload = node.table().and_then(|table| workloads::read(name, &table));
        (name.to_owned(), workload)
    };
    entries.into_iter().map(read).collect()
}

/// Says what a study that nobody could wait for would take.
pub(super) fn check_length(study: &Study) -> std::result::Result<(), String> {
    let cells_of = |sweep: &super::Sweep| {
        let axes = [
            sweep.workloads.len(),
            sweep.connections.len(),
            sweep.rates_per_s.len().max(1),
            sweep.paces.len().max(1),
            // The search, and what is below the knee.
            if sweep.knee.is_some() { 2 } else { 1 },
            sweep.distances.len(),
            sweep.disks.len().max(1),
            sweep.cpu_speeds.len().max(1),
            sweep.schemas.len().max(1),
        ];
        let modes = study.modes.iter();
        let modes = modes.filter(|spec| sweep.has_mode(&spec.label)).count();
        axes.iter().product::<usize>() * sweep.client_sites.len() * modes
    };
    let cells = study.sweeps.iter().map(cells_of).sum::<usize>();
    let span_s = |sweep: &super::Sweep| {
        let window = study.warmup + sweep.measure.unwrap_or(study.measure);
        let window = window + sweep.watch_after.unwrap_or_default();
        let rounds = sweep.rounds.unwrap_or(study.rounds).min(study.rounds);
        let searching = sweep.knee.map(|_| f64::from(1 + limits::KNEE_TRIES) / 2.0);
        let times = f64::from(rounds) * searching.unwrap_or(1.0);
        cells_of(sweep) as f64 * times * window.as_secs_f64()
    };
    let whole_s: f64 = study.sweeps.iter().map(span_s).sum();
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

/// A study for tests: of servers of [`super::capabilities::sample`], and without files.
#[cfg(test)]
pub fn sample(text: &str) -> Study {
    let no_file = |_: &str| Err("no files here".to_owned());
    let study = parse(text, "study.toml", &super::capabilities::sample(), &no_file);
    study.unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(test)]
mod tests;
