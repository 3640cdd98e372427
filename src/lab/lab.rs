//! A lab: the running servers of one family of modes.

mod form;
mod images;
mod tune;

use std::collections::BTreeMap;
use std::time::Duration;

use super::disk::Volume;
use super::node::Node;
use super::options::Settings;
use super::recovery::telling_lines;
use super::servers::Program;
use super::tls::Identity;
use crate::error::{Breakdown, Error, Result, breakdown};
use crate::study::disk::{Disks, Images};
use crate::study::mode::Family;
use crate::study::{Mode, ModeSpec, Variables};

/// How long a mode may take until it is ready.
pub(super) const READY_LIMIT: Duration = Duration::from_secs(120);

/// What a lab is to be, fixed for its life but for `variables`: see [`Lab::tune`].
#[derive(Debug, Clone, PartialEq)]
pub struct LabSpec {
    /// Unique in the sandbox; first part of its nodes' names.
    pub name: String,
    pub family: Family,
    /// The site of each node; several can stand in one.
    pub sites: Vec<String>,
    pub binary_log: bool,
    pub appliers: u32,
    /// CPUs that each node has for itself; nodes without any share the rest.
    pub cpus: Vec<Vec<u32>>,
    /// Memory that each server may use; `None` for no limit.
    pub memory_bytes: Option<u64>,
    /// Some mode of this lab lets several nodes write.
    pub spread: bool,
    pub tls: bool,
    /// Emulated disks under all data directories; plain folders if none.
    pub images: Option<Images>,
    /// The mode whose volume has copies, where the family is of such.
    pub copied: Option<Mode>,
    /// Of all that the disks draw by chance.
    pub seed: u64,
    pub my_cnf: Option<String>,
    pub variables: Variables,
    pub node_variables: BTreeMap<String, Variables>,
}

impl LabSpec {
    /// 1 where one node writes; else one step per node, so that generated keys cannot collide.
    pub fn auto_increment_step(&self) -> u32 {
        if self.spread {
            u32::try_from(self.sites.len()).unwrap_or(1)
        } else {
            1
        }
    }
}

/// A setting of the user's that something stronger replaced: name, given, in force.
type Override = (String, String, String);

/// Running servers.
pub struct Lab {
    pub spec: LabSpec,
    pub program: Program,
    /// In the order of the sites; the first is the writer.
    pub nodes: Vec<Node>,
    /// From the first copied data directory until all nodes were ready.
    pub ready: Duration,
    settings: Vec<Settings>,
    /// For TLS, where the servers want files.
    identity: Option<Identity>,
    /// Where some mode of this lab is a variant of another.
    tuning: Option<Tuning>,
    /// Settings of the user's own that something stronger replaced.
    pub overridden: Vec<Override>,
    entered: Option<ModeSpec>,
}

/// The variables that a lab's modes differ in.
#[derive(Debug, Default)]
struct Tuning {
    /// Of each server as it was formed: name → value, as the server says.
    original: Vec<Variables>,
    /// Whether all can be set under running servers, for all their threads at once.
    is_dynamic: bool,
    /// Of the writer, as it says.
    in_force: Variables,
    /// What came of each value asked of the writer: name → asked → in force.
    seen: BTreeMap<String, BTreeMap<String, String>>,
}

impl Lab {
    /// The emulated disk of node `i`.
    ///
    /// # Errors
    /// A breakdown if it has none.
    pub fn volume(&self, i: usize) -> Result<&Volume> {
        let volume = self.nodes[i].volume.as_ref();
        volume.ok_or_else(|| breakdown("use an emulated disk", "the node stands on a plain folder"))
    }

    /// Makes the nodes' disks what they are asked to be, from now on.
    pub fn set_disks(&self, disks: &Disks) -> Result<()> {
        let set = |node: &Node| match &node.volume {
            Some(volume) => volume.set(disks.of(node.site())),
            None => Ok(()),
        };
        self.nodes.iter().try_for_each(set)
    }

    /// Starts node `i`'s server with its settings.
    pub(super) fn start(&mut self, i: usize, extra: &[&str]) -> Result<()> {
        let settings = self.settings[i].clone();
        self.nodes[i].start(&self.program, &settings, extra)
    }

    /// Has node `i`'s server, which does not run, recover its data and end, as `words` tell it;
    /// what it says.
    pub(super) fn recover_only(&self, i: usize, words: &[&str]) -> Result<String> {
        let node = &self.nodes[i];
        let (status, said) = node.run_through(&self.program, &self.settings[i], words)?;
        if status.success() {
            return Ok(said);
        }
        Err(Breakdown {
            tried: format!("recover the data of node {}", node.place.name),
            status: format!("the server ended: {status}"),
            log: telling_lines(said.lines()),
        }
        .into())
    }

    /// Starts node `i`'s server again after its end, and waits until it has recovered.
    ///
    /// # Errors
    /// A breakdown with its last log lines if it does not come up.
    pub fn restart(&mut self, i: usize) -> Result<()> {
        self.start(i, &[])?;
        self.nodes[i].wait_accepting()
    }

    /// The mode that was entered last; `None` before the first.
    pub fn entered(&self) -> Option<&ModeSpec> {
        self.entered.as_ref()
    }

    /// Indices of the nodes that take part in a mode.
    pub fn members(&self, mode: &ModeSpec) -> std::ops::Range<usize> {
        match mode.mode.has_one_server() {
            true => 0..1,
            false => 0..(mode.nodes as usize).min(self.nodes.len()),
        }
    }

    /// Indices of the nodes that clients write to.
    pub fn writers(&self, mode: &ModeSpec) -> std::ops::Range<usize> {
        let is_spread = mode.spread && mode.mode.is_multi_writer();
        if is_spread { self.members(mode) } else { 0..1 }
    }

    /// Indices of the nodes that run a server; the others hold copies of its volume.
    pub fn servers(&self) -> std::ops::Range<usize> {
        match self.spec.family.copies_volume() {
            true => 0..1,
            false => 0..self.nodes.len(),
        }
    }

    /// Effective variables of each server, by its node.
    pub fn variables(&mut self) -> Result<BTreeMap<String, BTreeMap<String, String>>> {
        let ask = |node: &mut Node| {
            let variables = node.pairs("SHOW GLOBAL VARIABLES")?;
            Ok((node.name().to_owned(), variables))
        };
        let servers = self.servers();
        self.nodes[servers].iter_mut().map(ask).collect()
    }

    /// A breakdown if any volume has ended, whatever its servers do.
    pub fn check_volumes(&self) -> Result<()> {
        let mut volumes = self.nodes.iter().filter_map(|node| node.volume.as_ref());
        volumes.try_for_each(Volume::check_alive)
    }

    /// If something failed and a volume has ended, that is why. Servers tell of their own end.
    pub fn blame<T>(&self, outcome: Result<T>) -> Result<T> {
        if let Err(Error::Breakdown(_)) = outcome {
            self.check_volumes()?;
        }
        outcome
    }

    /// A breakdown if any volume or server has ended. A server whose volume has died ends, too: the
    /// volume is told of.
    pub fn check_alive(&mut self) -> Result<()> {
        let name = self.spec.name.clone();
        self.check_volumes()?;
        self.nodes
            .iter_mut()
            .try_for_each(|node| node.check_alive(&format!("run {name}")))
    }
}
