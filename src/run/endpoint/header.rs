//! The head of a record of somebody else's servers.

use std::collections::BTreeMap;

use super::advice::advice;
use super::endpoints::{Endpoint, Endpoints};
use crate::error::Result;
use crate::lab::endpoint::Access;
use crate::lab::servers::Catalogue;
use crate::lab::sql::Ask;
use crate::observe::host;
use crate::record::{EndpointFacts, Header, LabFacts, ServerFacts};
use crate::run::order::Order;

/// Gathers the head of the record.
pub fn header(order: &Order, endpoints: &mut Endpoints, started_unix_ms: u64) -> Result<Header> {
    let catalogue = Catalogue::builtin();
    let host = host::facts(endpoints.folder, 0.0)?;
    let mut header = order.header(started_unix_ms, host);
    header.remarks.extend(endpoints.drivers.remark());
    for (spec, endpoint) in order.study.modes.iter().zip(&mut endpoints.all) {
        let variables = variables(endpoint)?;
        let facts = facts(&spec.label, endpoint, &variables, &catalogue)?;
        header.servers.push(ServerFacts {
            name: spec.label.clone(),
            version: facts.version.clone(),
            source: format!("somebody else's, at {}", facts.places.join(", ")),
        });
        header.remarks.extend(remarks(&facts, endpoint));
        header.endpoints.push(facts);
        header.labs.push(LabFacts {
            family: spec.label.clone(),
            modes: vec![spec.label.clone()],
            ready_seconds: endpoint.ready.as_secs_f64(),
            overridden: Vec::new(),
            variables,
        });
    }
    Ok(header)
}

type NodeVariables = BTreeMap<String, BTreeMap<String, String>>;

/// Server variables as they are in force there, by node.
fn variables(endpoint: &mut Endpoint) -> Result<NodeVariables> {
    let variables = endpoint.servers().map(|server| {
        let variables = server.pairs("SHOW GLOBAL VARIABLES")?;
        Ok((server.name().to_owned(), variables))
    });
    variables.collect()
}

fn facts(
    label: &str,
    endpoint: &mut Endpoint,
    variables: &NodeVariables,
    catalogue: &Catalogue,
) -> Result<EndpointFacts> {
    let none = BTreeMap::new();
    let of_writer = variables.get(endpoint.writer.name()).unwrap_or(&none);
    let value = |name: &str| of_writer.get(name).cloned().unwrap_or_default();
    let version = format!("{} {}", value("version"), value("version_comment"));
    let place = |access: &Access| access.address.place();
    Ok(EndpointFacts {
        label: label.to_owned(),
        places: endpoint.accesses().iter().map(place).collect(),
        version: version.trim().to_owned(),
        tls: tls(endpoint)?,
        counters: endpoint.counters.clone(),
        advice: advice(catalogue, of_writer),
    })
}

/// As the server itself sees the connection.
fn tls(endpoint: &mut Endpoint) -> Result<String> {
    let shown = endpoint.writer.pairs("SHOW SESSION STATUS LIKE 'Ssl_%'")?;
    let value = |name: &str| shown.get(name).cloned().unwrap_or_default();
    let (version, cipher) = (value("Ssl_version"), value("Ssl_cipher"));
    let word = endpoint.writer.access().tls.word();
    Ok(match cipher.is_empty() {
        true => word.to_owned(),
        false => format!("{word}, {version} {cipher}"),
    })
}

fn remarks(facts: &EndpointFacts, endpoint: &Endpoint) -> Vec<String> {
    let silent = facts.counters.iter().filter(|(_, counts)| !**counts);
    let silent: Vec<&str> = silent.map(|(name, _)| name.as_str()).collect();
    let mut remarks = endpoint.remarks.clone();
    if !silent.is_empty() {
        remarks.push(format!(
            "{}: its server shows {} but does not count there: what they say is left out.",
            facts.label,
            silent.join(", ")
        ));
    }
    remarks
}
