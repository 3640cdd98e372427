//! Which modes share running servers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::study::mode::Family;
use crate::study::{ModeSpec, Study, Variables};

/// Servers that stay up for the whole study and serve one or more modes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabPlan {
    /// Unique within the study, e.g. `mysql replication`.
    pub name: String,
    /// Name of the server in the catalogue.
    pub server: String,
    pub family: Family,
    /// Indices into the study's modes, in the order of the table.
    pub modes: Vec<usize>,
    /// Number of nodes: the most that any of its modes has. Node `i` stands in site `i`.
    pub nodes: u32,
    pub appliers: u32,
    pub binary_log: bool,
    pub variables: Variables,
    pub node_variables: BTreeMap<String, Variables>,
}

/// The labs of a study, in the order in which its modes need them first.
pub fn labs(study: &Study) -> Vec<LabPlan> {
    let mut labs: Vec<LabPlan> = Vec::new();
    for (index, spec) in study.modes.iter().enumerate() {
        match labs.iter_mut().find(|lab| can_serve(lab, spec)) {
            Some(lab) => {
                lab.modes.push(index);
                lab.nodes = lab.nodes.max(spec.nodes);
            }
            None => labs.push(lab_for(index, spec)),
        }
    }
    name_apart(&mut labs);
    labs
}

fn can_serve(lab: &LabPlan, spec: &ModeSpec) -> bool {
    let is_alike = lab.server == spec.server
        && lab.family == spec.mode.family()
        && lab.binary_log == spec.binary_log
        && lab.appliers == spec.appliers
        && lab.variables == spec.variables
        && lab.node_variables == spec.node_variables;
    // A replica can stand by unattached. A member cannot leave a group and come back for each cell.
    is_alike && (lab.family == Family::Replication || lab.nodes == spec.nodes)
}

fn lab_for(index: usize, spec: &ModeSpec) -> LabPlan {
    let family = spec.mode.family();
    let binlog = if spec.binary_log { "" } else { " no binlog" };
    LabPlan {
        name: format!("{} {}{binlog}", spec.server, family.name()),
        server: spec.server.clone(),
        family,
        modes: vec![index],
        nodes: spec.nodes,
        appliers: spec.appliers,
        binary_log: spec.binary_log,
        variables: spec.variables.clone(),
        node_variables: spec.node_variables.clone(),
    }
}

/// Labs of one server and family that differ in variables only get numbers.
fn name_apart(labs: &mut [LabPlan]) {
    let mut seen = BTreeMap::new();
    for lab in labs {
        let count = seen
            .entry(lab.name.clone())
            .and_modify(|count| *count += 1)
            .or_insert(1);
        if *count > 1 {
            lab.name = format!("{} {count}", lab.name);
        }
    }
}
