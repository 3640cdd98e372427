//! The head of a record of somebody else's servers.

use std::collections::BTreeMap;
use std::path::Path;

use super::advice::advice;
use super::party::{Host, Party};
use crate::error::Result;
use crate::lab::endpoint::Access;
use crate::lab::servers::Catalogue;
use crate::lab::sql::Ask;
use crate::observe::host;
use crate::record::{EndpointFacts, Header, LabFacts, ServerFacts};
use crate::run::Order;
use crate::run::cell::unix_ms;

/// Gathers the head of the record. `folder` is any that can be written to.
pub fn header(order: &Order, party: &mut Party, folder: &Path) -> Result<Header> {
    let catalogue = Catalogue::builtin();
    let mut header = Header {
        study: order.study.clone(),
        study_text: order.study_text.clone(),
        cells: order.plan.cells.clone(),
        command_line: order.command_line.clone(),
        started_unix_ms: unix_ms(),
        acklab_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: host::facts(folder, 0.0)?,
        servers: Vec::new(),
        labs: Vec::new(),
        remarks: Vec::new(),
        endpoints: Vec::new(),
        file_system: None,
    };
    for (spec, host) in order.study.modes.iter().zip(party.hosts()) {
        let variables = variables(host)?;
        let facts = facts(&spec.label, host, &variables, &catalogue)?;
        header.servers.push(ServerFacts {
            name: spec.label.clone(),
            version: facts.version.clone(),
            source: format!("somebody else's, at {}", facts.places.join(", ")),
        });
        header.remarks.extend(remarks(&facts, host));
        header.endpoints.push(facts);
        header.labs.push(LabFacts {
            family: spec.label.clone(),
            modes: vec![spec.label.clone()],
            ready_seconds: host.ready.as_secs_f64(),
            overridden: Vec::new(),
            variables,
        });
    }
    Ok(header)
}

type NodeVariables = BTreeMap<String, BTreeMap<String, String>>;

/// Server variables as they are in force there, by node.
fn variables(host: &mut Host) -> Result<NodeVariables> {
    let mut all = BTreeMap::new();
    let replicas = host.replicas.iter_mut();
    for server in std::iter::once(&mut host.writer).chain(replicas) {
        let variables = server.pairs("SHOW GLOBAL VARIABLES")?;
        all.insert(server.name().to_owned(), variables);
    }
    Ok(all)
}

fn facts(
    label: &str,
    host: &mut Host,
    variables: &NodeVariables,
    catalogue: &Catalogue,
) -> Result<EndpointFacts> {
    let none = BTreeMap::new();
    let of_writer = variables.get(host.writer.name()).unwrap_or(&none);
    let said = |name: &str| of_writer.get(name).cloned().unwrap_or_default();
    let version = format!("{} {}", said("version"), said("version_comment"));
    let place = |access: &Access| access.address.place();
    Ok(EndpointFacts {
        label: label.to_owned(),
        places: host.accesses().iter().map(place).collect(),
        version: version.trim().to_owned(),
        tls: tls(host)?,
        counters: host.counters.clone(),
        advice: advice(catalogue, of_writer),
    })
}

/// As the server itself sees the connection.
fn tls(host: &mut Host) -> Result<String> {
    let shown = host.writer.pairs("SHOW SESSION STATUS LIKE 'Ssl_%'")?;
    let said = |name: &str| shown.get(name).cloned().unwrap_or_default();
    let (version, cipher) = (said("Ssl_version"), said("Ssl_cipher"));
    let word = host.writer.access().tls.word();
    Ok(match cipher.is_empty() {
        true => word.to_owned(),
        false => format!("{word}, {version} {cipher}"),
    })
}

fn remarks(facts: &EndpointFacts, host: &Host) -> Vec<String> {
    let silent = facts.counters.iter().filter(|(_, counts)| !**counts);
    let silent: Vec<&str> = silent.map(|(name, _)| name.as_str()).collect();
    let mut remarks = host.remarks.clone();
    if !silent.is_empty() {
        remarks.push(format!(
            "{}: its server shows {} but does not count there: what they say is left out.",
            facts.label,
            silent.join(", ")
        ));
    }
    remarks
}
