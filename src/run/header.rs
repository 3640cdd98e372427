//! The head of a record: what is known of the whole run before its first cell.

use std::collections::BTreeMap;
use std::path::Path;

use super::order::Order;
use super::rig::Rig;
use crate::error::Result;
use crate::lab::Lab;
use crate::lab::netns::CONGESTION_CONTROLS;
use crate::lab::servers::ProxyProgram;
use crate::observe::host;
use crate::plan::{self, LabPlan};
use crate::record::{Header, LabFacts, ServerFacts};

/// Gathers the head of the record from the running rig.
pub fn header(
    order: &Order,
    rig: &mut Rig,
    run_folder: &Path,
    started_unix_ms: u64,
) -> Result<Header> {
    let floor_us = rig.network.floor.as_secs_f64() * 1e6;
    let host = host::facts(run_folder, floor_us)?;
    let labs = rig.labs().iter_mut().zip(plan::labs(&order.study));
    let labs = labs.map(|(lab, plan)| lab_facts(lab, labels(order, &plan)));
    let labs = labs.collect::<Result<Vec<LabFacts>>>()?;
    Ok(Header {
        servers: server_facts(rig),
        labs,
        remarks: remarks(order, rig, host.cpus as usize)?,
        ..order.header(started_unix_ms, host)
    })
}

fn remarks(order: &Order, rig: &Rig, cpus: usize) -> Result<Vec<String>> {
    let shared = "All nodes write to one disk and one file system of this host: their flushes \
                  queue behind one another.";
    let mut remarks = Vec::new();
    if order.study.images.is_none() {
        remarks.push(shared.to_owned());
    }
    remarks.push(rig.placement.told(cpus));
    remarks.extend(rig.network.switch.notes().iter().cloned());
    let client = rig.network.clients.values().next();
    let tcp = client.map(|client| client.netns.congestion_control());
    let [usual, _] = CONGESTION_CONTROLS;
    if let Some(other) = tcp.transpose()?.filter(|tcp| tcp != usual) {
        remarks.push(format!(
            "TCP's congestion control is {other}: this host does not allow {usual}, the default."
        ));
    }
    Ok(remarks)
}

/// Of servers, then of fronts.
fn server_facts(rig: &mut Rig) -> Vec<ServerFacts> {
    let named = rig.labs().iter().map(|lab| {
        let kept = &lab.program.kept;
        let facts = ServerFacts {
            name: kept.name.clone(),
            version: kept.version.clone(),
            source: kept.origin.clone(),
        };
        (kept.name.clone(), facts)
    });
    let servers = named.collect::<BTreeMap<_, _>>().into_values();
    let front = |program: &ProxyProgram| ServerFacts {
        name: program.name.clone(),
        version: program.version.clone(),
        source: program.origin.clone(),
    };
    servers.chain(rig.fronts.programs().map(front)).collect()
}

fn labels(order: &Order, plan: &LabPlan) -> Vec<String> {
    let label = |mode: &usize| order.study.modes[*mode].label.clone();
    plan.modes.iter().map(label).collect()
}

fn lab_facts(lab: &mut Lab, modes: Vec<String>) -> Result<LabFacts> {
    Ok(LabFacts {
        family: lab.spec.name.replace('-', " "),
        modes,
        ready_seconds: lab.ready.as_secs_f64(),
        overridden: lab.overridden.clone(),
        variables: lab.variables()?,
    })
}
