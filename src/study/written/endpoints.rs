//! `mode = "endpoint"`: a row of somebody else's servers, and what a study of them cannot ask.

use super::walk::{Node, ReadFile, Table};
use crate::study::endpoint::{
    Address, DATABASE_PREFIX, EndpointSpec, Tls, is_database_name, without_password,
};
use crate::study::{Mode, ModeSpec};

/// The mode's name.
pub const ENDPOINT: &str = "endpoint";
/// Where the client of such a study stands.
pub const SITE: &str = "here";
/// What such a study calls its distances.
pub const DISTANCES: &str = "as they are";

/// Keys of a study that are about labs.
const STUDY_KEYS: [&str; 8] = [
    "sites", "network", "tls", "my_cnf", "cpus", "disk", "images", "fault",
];
/// Keys of a sweep that are about labs.
const SWEEP_KEYS: [&str; 9] = [
    "rtt",
    "distances",
    "client",
    "disk",
    "flush",
    "watch_after",
    "apply",
    "cpu_speed",
    "schemas",
];
/// Keys under which a password might be looked for.
const PASSWORD_KEYS: [&str; 4] = ["password", "passwd", "pass", "pwd"];

/// What a certificate in PEM form begins with.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";

/// Whether a row is of endpoints.
pub fn is_one(table: &Table<'_>) -> bool {
    let mode = table.get("mode");
    mode.is_some_and(|node| node.as_text() == Some(ENDPOINT))
}

/// The row as meant; `label` is what it is called, if it says so.
pub fn read(table: &Table<'_>, read_file: &ReadFile<'_>, label: Option<&str>) -> ModeSpec {
    let endpoint = endpoint(table, read_file);
    ModeSpec {
        label: label.map_or_else(|| endpoint.writer.label(), str::to_owned),
        server: ENDPOINT.to_owned(),
        mode: Mode::Endpoint,
        nodes: 1 + u32::try_from(endpoint.replicas.len()).unwrap_or(0),
        // What it writes there is known when it is asked, if at all.
        binary_log: true,
        endpoint: Some(endpoint),
        ..ModeSpec::default()
    }
}

/// Whether its writer was given as it should be, so that a default label means something.
pub fn is_sound(spec: &ModeSpec) -> bool {
    let endpoint = spec.endpoint.as_ref();
    endpoint.is_some_and(|endpoint| !endpoint.writer.host.is_empty())
}

/// The endpoint of a row. One with mistakes is nobody's.
fn endpoint(table: &Table<'_>, read_file: &ReadFile<'_>) -> EndpointSpec {
    refuse_passwords(table);
    let writer = table.need("writer", "a URL must be given: mysql://USER@HOST:PORT");
    let writer = writer.and_then(|node| address(&node));
    let replicas = table.get("replicas").map(|node| replicas(&node));
    EndpointSpec {
        writer: writer.unwrap_or(Address {
            user: String::new(),
            host: String::new(),
            port: 0,
        }),
        replicas: replicas.unwrap_or_default(),
        tls: tls(table, read_file),
        password_file: table.read("password_file", Node::words).map(str::to_owned),
        database: table.read("database", database),
    }
}

/// A password in the file would be in the record too; the message must not show it either.
fn refuse_passwords(table: &Table<'_>) {
    for node in PASSWORD_KEYS.iter().filter_map(|key| table.get_alias(key)) {
        node.wrong_unseen(
            "",
            "must not stand in a study: give it in a file (password_file), in the environment \
             (ACKLAB_PASSWORD), or when asked on a terminal",
        );
    }
}

fn address(node: &Node<'_>) -> Option<Address> {
    let text = node.text()?;
    let read = Address::parse(text);
    if let Err(advice) = &read {
        node.wrong_unseen(&without_password(text), advice);
    }
    read.ok()
}

fn replicas(node: &Node<'_>) -> Vec<Address> {
    let nodes = node.list_or_none().unwrap_or_default();
    nodes.iter().filter_map(address).collect()
}

fn tls(table: &Table<'_>, read_file: &ReadFile<'_>) -> Tls {
    let (tls, ca) = (table.get("tls"), table.get("ca"));
    let choices = [("verify", true), ("off", false)];
    let is_on = tls.and_then(|node| node.one_of(&choices)).unwrap_or(true);
    match (is_on, ca) {
        (true, ca) => Tls::Verify {
            ca_pem: ca.and_then(|node| certificates(&node, read_file)),
        },
        (false, None) => Tls::Off,
        (false, Some(node)) => {
            node.wrong("verifies nothing with tls = \"off\"");
            Tls::Off
        }
    }
}

fn certificates(node: &Node<'_>, read_file: &ReadFile<'_>) -> Option<String> {
    let allowed = match read_file(node.words()?) {
        Ok(text) if text.contains(CERTIFICATE) => return Some(alone(&text)),
        Ok(_) => "holds no certificate in PEM form".to_owned(),
        Err(reason) => format!("must be a file that can be read: {reason}"),
    };
    node.wrong(&allowed);
    None
}

/// The certificates of a PEM text, which may hold their keys as well: those are nobody's to keep.
fn alone(text: &str) -> String {
    let mut is_in_one = false;
    let kept = |line: &&str| {
        if line.starts_with("-----BEGIN ") {
            is_in_one = line.starts_with(CERTIFICATE);
        }
        let is_kept = is_in_one;
        is_in_one &= !line.starts_with("-----END ");
        is_kept
    };
    text.lines()
        .filter(kept)
        .flat_map(|line| [line, "\n"])
        .collect()
}

fn database(node: &Node<'_>) -> Option<String> {
    let name = node.text()?;
    if !is_database_name(name) {
        node.wrong(&format!(
            "must be {DATABASE_PREFIX} and 1 to 40 lower-case letters, digits or _"
        ));
    }
    Some(name.to_owned())
}

/// A study of endpoints asks nothing of a lab.
pub fn check_study(table: &Table<'_>) {
    refuse(table, &STUDY_KEYS);
}

/// Nor does its sweep.
pub fn check_sweep(table: &Table<'_>) {
    refuse(table, &SWEEP_KEYS);
}

fn refuse(table: &Table<'_>, keys: &[&str]) {
    for key in keys {
        if let Some(node) = table.get(key) {
            let instead = match *key {
                "tls" => ": TLS is on, and turned off in a [[mode]] by tls = \"off\"",
                _ => "",
            };
            node.wrong(&format!(
                "is not for studies of endpoints, which are taken as they are{instead}"
            ));
        }
    }
}
