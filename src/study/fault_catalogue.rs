//! Faults that come with acklab: `faults.toml`, which is part of the program.

use std::sync::LazyLock;

use super::ModeSpec;
use super::capabilities::{Capabilities, Capability, Flavour};
use super::faults::row::FaultCatalogue;
pub use super::faults::row::{Case, CatalogueRow, Expected, Missing, Sign};
use super::written::fault_rows;
use super::written::walk::nearest;
use crate::error::Mistake;

/// Servers that a row may name, and their modes. Whether one that is at hand can do what a row
/// asks is looked up where it is run.
const SERVERS: [(&str, Flavour, &[&str]); 6] = [
    ("mysql", Flavour::Mysql, MYSQL),
    ("mysql-5.7", Flavour::Mysql, WITH_GTIDS),
    ("mysql-5.6", Flavour::Mysql, WITH_GTIDS),
    ("mysql-5.5", Flavour::Mysql, ALONE),
    ("mariadb", Flavour::Mariadb, MARIADB),
    ("mariadb-11.8", Flavour::Mariadb, MARIADB),
];
const MYSQL: &[&str] = &[
    "single",
    "async",
    "semisync",
    "group",
    "group-multi",
    "mirror",
    "quorum",
];
const MARIADB: &[&str] = &["single", "async", "semisync", "galera", "mirror", "quorum"];
const WITH_GTIDS: &[&str] = &["single", "async", "mirror", "quorum"];
const ALONE: &[&str] = &["single", "mirror", "quorum"];

static CATALOGUE: LazyLock<FaultCatalogue> = LazyLock::new(|| {
    let text = include_str!("../../faults.toml");
    let read = fault_rows::parse(text, "faults.toml", &servers());
    read.expect("faults.toml is checked by a test")
});

fn servers() -> Capabilities {
    let server = |(name, flavour, modes): (&str, Flavour, &[&str])| {
        let modes = modes.iter().map(|mode| (*mode).to_owned());
        let capability = Capability {
            flavour,
            version: None,
            modes: modes.collect(),
        };
        (name.to_owned(), capability)
    };
    Capabilities {
        servers: SERVERS.map(server).into(),
    }
}

/// All rows, in the order in which they are run.
pub fn all() -> &'static [CatalogueRow] {
    &CATALOGUE.rows
}

/// What is known of servers, and has no row.
pub fn missing() -> &'static [Missing] {
    &CATALOGUE.missing
}

/// The row of that name.
pub fn named(name: &str) -> Option<&'static CatalogueRow> {
    all().iter().find(|row| row.fault.name == name)
}

/// Rows that have a case of a mode like that, whatever its server and settings. The first is the
/// death of the writer's machine.
pub fn for_mode(spec: &ModeSpec) -> Vec<&'static CatalogueRow> {
    let mode = spec.mode.name();
    all().iter().filter(|row| row.is_for(mode)).collect()
}

/// Rows that show whether the check is awake.
pub fn controls() -> Vec<&'static CatalogueRow> {
    let is_control = |row: &&CatalogueRow| row.fault.control.is_some();
    all().iter().filter(is_control).collect()
}

/// Whether it stands there only to show what makes vanish what other rows show: they name it so,
/// and nothing is foretold to be seen of it.
pub fn is_mere_counter(row: &CatalogueRow) -> bool {
    let counters = all().iter().flat_map(|other| &other.counters);
    let mut named = counters.filter_map(|case| case.instead.as_deref());
    named.any(|name| name == row.fault.name) && row.cases.iter().all(Case::foretells_nothing_seen)
}

/// What to say of a name that no fault has. There are too many to list.
pub fn no_such_fault(place: &str, key: &str, name: &str) -> Mistake {
    let names: Vec<&str> = all().iter().map(|row| &row.fault.name[..]).collect();
    let near = nearest(name, &names).map(|near| format!(" did you mean {near}?"));
    let near = near.unwrap_or_default();
    let allowed = format!("is no fault:{near} `acklab break --list` has them all");
    Mistake::new(place, key, name, &allowed)
}

#[cfg(test)]
mod tests;
