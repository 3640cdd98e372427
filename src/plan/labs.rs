//! Which modes share running servers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::study::mode::Family;
use crate::study::{Images, ModeSpec, Study, Sweep, Variables};

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
    /// Number of nodes: the most that any of its modes has. Where they stand, and what they are
    /// called, says [`crate::study::nodes`].
    pub nodes: u32,
    pub appliers: u32,
    pub binary_log: bool,
    pub memory_bytes: Option<u64>,
    /// Size of each node's image of an emulated disk, where it is not the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_bytes: Option<u64>,
    #[serde(default)]
    pub tls: bool,
    /// Its servers' own; some modes may change them for a while.
    pub variables: Variables,
    pub node_variables: BTreeMap<String, Variables>,
}

impl LabPlan {
    /// Its modes that are variants of others: their servers must be given other variables.
    pub fn variants<'s>(&self, study: &'s Study) -> impl Iterator<Item = &'s ModeSpec> {
        let specs = self.modes.iter().map(move |mode| &study.modes[*mode]);
        specs.filter(|spec| spec.varied.is_some())
    }

    /// The images of its nodes; `None` on plain folders.
    pub fn images(&self, study: &Study) -> Option<Images> {
        let images = study.images.clone()?;
        let bytes = self.image_bytes.unwrap_or(images.bytes);
        Some(Images { bytes, ..images })
    }

    /// How many schemas the cells of its modes ask for at most.
    pub fn schemas(&self, study: &Study) -> u32 {
        let is_measured = |sweep: &&Sweep| {
            let mut modes = self.modes.iter();
            modes.any(|&mode| sweep.has_mode(&study.modes[mode].label))
        };
        let sweeps = study.sweeps.iter().filter(is_measured);
        let asked = sweeps.flat_map(|sweep| &sweep.schemas);
        asked.copied().max().unwrap_or(1)
    }
}

/// The labs of a study, in the order in which its modes need them first.
pub fn labs(study: &Study) -> Vec<LabPlan> {
    let mut labs: Vec<LabPlan> = Vec::new();
    for (index, spec) in study.modes.iter().enumerate() {
        match labs.iter_mut().find(|lab| can_serve(study, lab, index)) {
            Some(lab) => {
                lab.modes.push(index);
                lab.nodes = lab.nodes.max(spec.nodes);
            }
            None => labs.push(lab_for(study, index)),
        }
    }
    name_apart(&mut labs);
    labs
}

fn can_serve(study: &Study, lab: &LabPlan, index: usize) -> bool {
    let spec = &study.modes[index];
    if let Some(varied) = &spec.varied {
        // Its servers are given its variables for the length of its block.
        let is_its_origin = |mode: &usize| study.modes[*mode].label == varied.of;
        return lab.modes.iter().any(is_its_origin);
    }
    let own = LabPlan {
        name: lab.name.clone(),
        modes: lab.modes.clone(),
        nodes: lab.nodes,
        ..lab_for(study, index)
    };
    let is_alike = own == *lab;
    let serves = |mode: &usize| study.modes[*mode].mode == spec.mode;
    is_alike
        && match lab.family {
            // A replica can stand by unattached.
            Family::Replication => true,
            // A member cannot leave a group and come back for each cell.
            Family::Group | Family::Galera => lab.nodes == spec.nodes,
            // Each is a place of its own.
            Family::Endpoint => false,
            // What a volume waits for is fixed when it is made.
            Family::Mirror | Family::Quorum => lab.modes.iter().all(serves),
        }
}

fn lab_for(study: &Study, index: usize) -> LabPlan {
    let spec = &study.modes[index];
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
        memory_bytes: spec.memory_bytes,
        image_bytes: spec.image_bytes,
        tls: study.has_tls(spec),
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
