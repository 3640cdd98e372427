//! A lab: the running servers of one family of modes.

mod tune;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::disk::{CopySet, Volume, VolumeSpec};
use super::mode;
use super::node::{Node, Place};
use super::options::{Settings, overridden, read_option_file};
use super::recovery::telling_lines;
use super::servers::{Cache, Program};
use super::tls::Identity;
use crate::error::{Breakdown, Result, Tried, breakdown};
use crate::study::disk::{Disk, Disks, Images};
use crate::study::mode::Family;
use crate::study::{Mode, ModeSpec, Variables};
use tune::Tuning;

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

impl Lab {
    /// Copies data directories, starts the servers and joins them. The places' devices must
    /// already be in the switch.
    ///
    /// # Errors
    /// A breakdown with the last log lines of the node concerned.
    pub fn form(
        spec: LabSpec,
        program: Program,
        places: Vec<Place>,
        cache: &Cache,
        run: &Path,
    ) -> Result<Lab> {
        let start = Instant::now();
        let create = |place| Node::create(place, run);
        let nodes = places
            .into_iter()
            .map(create)
            .collect::<Result<Vec<Node>>>()?;
        let mut lab = Lab {
            spec,
            program,
            nodes,
            ready: Duration::ZERO,
            settings: Vec::new(),
            identity: None,
            tuning: None,
            overridden: Vec::new(),
            entered: None,
        };
        lab.make_disks()?;
        if let Some(bytes) = lab.spec.memory_bytes {
            // Those with copies of a volume too: its server may come to run there.
            let mut nodes = lab.nodes.iter_mut();
            nodes.try_for_each(|node| node.limit_memory(bytes, run))?;
        }
        let servers = lab.servers();
        lab.nodes[servers]
            .iter()
            .try_for_each(|node| node.fill(cache, &lab.program))?;
        lab.identity = lab.make_identity(run)?;
        lab.decide_settings();
        mode::form(&mut lab)?;
        lab.ready = start.elapsed();
        Ok(lab)
    }

    /// Gives each node a disk that adds nothing yet.
    fn make_disks(&mut self) -> Result<()> {
        let Some(images) = self.spec.images.clone() else {
            return Ok(());
        };
        let spec = |(node, seed): (&Node, u64)| VolumeSpec {
            bytes: images.bytes,
            images: images.place.clone(),
            disk: Disk::default(),
            mount_point: node.mount_point(),
            seed,
        };
        let specs: Vec<VolumeSpec> = self.nodes.iter().zip(self.spec.seed..).map(spec).collect();
        if self.spec.family.copies_volume() {
            return mode::make_copies(self, specs);
        }
        for (node, spec) in self.nodes.iter_mut().zip(specs) {
            node.volume = Some(Volume::start(spec, &node.place)?);
        }
        Ok(())
    }

    /// The emulated disk of node `i`.
    ///
    /// # Errors
    /// A breakdown if it has none.
    pub fn volume(&self, i: usize) -> Result<&Volume> {
        let volume = self.nodes[i].volume.as_ref();
        volume.ok_or_else(|| breakdown("use an emulated disk", "the node stands on a plain folder"))
    }

    /// Where the copies of its volume are, and what they are held to.
    ///
    /// # Errors
    /// A breakdown if it has none.
    pub fn copies(&self) -> Result<CopySet> {
        mode::group_of_copies(self)
    }

    /// Makes the nodes' disks what they are asked to be, from now on.
    pub fn set_disks(&self, disks: &Disks) -> Result<()> {
        let set = |node: &Node| match &node.volume {
            Some(volume) => volume.set(disks.of(node.site())),
            None => Ok(()),
        };
        self.nodes.iter().try_for_each(set)
    }

    /// MySQL makes its own certificates; MariaDB wants files.
    fn make_identity(&self, run: &Path) -> Result<Option<Identity>> {
        let needs_files = self.program.dialect().optional("tls_needs_files").is_some();
        let folder = run.join(format!("{}.tls", self.spec.name));
        let make = || Identity::make(&folder);
        (self.spec.tls && needs_files).then(make).transpose()
    }

    /// What each server is to be started with.
    fn decide_settings(&mut self) {
        let of_node = |i| self.settings_of(i, &self.spec.variables);
        let decided: Vec<_> = (0..self.nodes.len()).map(of_node).collect();
        let (mut overridden, settings): (Vec<_>, Vec<_>) = decided.into_iter().unzip();
        self.overridden = overridden.swap_remove(0);
        self.settings = settings;
    }

    /// What of the user's own is overridden on node `i`, and its settings with these variables: the
    /// layers on one another, the strongest last.
    fn settings_of(&self, i: usize, variables: &Variables) -> (Vec<Override>, Settings) {
        let pinned = self.program.terms.iter();
        let pinned = pinned.map(|(name, value, _)| (name, value.as_str()));
        let mut all: Settings = pinned.collect();
        let text = self.spec.my_cnf.as_deref().unwrap_or_default();
        let users = read_option_file(text, self.program.kept.flavour);
        let mut lab = mode::settings(self, i);
        match &self.identity {
            Some(identity) => identity.settings(&self.spec, &mut lab),
            None if self.spec.tls => {}
            None => {
                for (name, value) in self.program.dialect().settings("tls_off") {
                    lab.set(&name, value);
                }
            }
        }
        let own = self.spec.node_variables.get(self.nodes[i].site());
        for (name, value) in variables.iter().chain(own.into_iter().flatten()) {
            lab.set(name, value.as_str());
        }
        lab.overlay(&self.nodes[i].own_settings(i));
        all.overlay(&users);
        all.overlay(&lab);
        let wants_numbers = self.program.dialect().optional("switches_are_numbers");
        let all = wants_numbers.map_or_else(|| all.clone(), |_| all.with_numbers());
        (overridden(&users, &lab), all)
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

    /// Gives node `i` a data directory like its first, and starts a server on it.
    ///
    /// # Errors
    /// A breakdown if the old one cannot be removed, or the server does not come up.
    pub fn refill(&mut self, i: usize, cache: &Cache) -> Result<()> {
        self.empty_and_fill(i, cache)?;
        self.restart(i)
    }

    /// Ends all servers and forms the lab anew, from data directories like the first.
    ///
    /// # Errors
    /// A breakdown if an old one cannot be removed, or a server does not come up.
    pub fn form_anew(&mut self, cache: &Cache) -> Result<()> {
        for i in self.servers() {
            self.empty_and_fill(i, cache)?;
        }
        self.entered = None;
        mode::form(self)
    }

    fn empty_and_fill(&mut self, i: usize, cache: &Cache) -> Result<()> {
        let node = &mut self.nodes[i];
        node.kill();
        let old = node.data();
        std::fs::remove_dir_all(&old).tried(|| format!("remove {}", old.display()))?;
        node.fill(cache, &self.program)
    }

    /// Switches to a mode, unless it is in force already, and waits until all nodes caught up.
    pub fn enter(&mut self, mode: &ModeSpec) -> Result<()> {
        mode::enter(self, mode)?;
        self.entered = Some(mode.clone());
        Ok(())
    }

    /// Waits until replica `i` has applied all that the writer has committed; false if not in time.
    pub fn catch_up(&mut self, i: usize, limit: Duration) -> Result<bool> {
        mode::catch_up(self, i, limit)
    }

    /// Waits until replica `i` has applied all that it has received from a source that may be gone;
    /// false if not in time.
    pub fn apply_received(&mut self, i: usize, limit: Duration) -> Result<bool> {
        mode::apply_received(self, i, limit)
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

    /// A breakdown if any server has ended.
    pub fn check_alive(&mut self) -> Result<()> {
        let name = self.spec.name.clone();
        self.nodes
            .iter_mut()
            .try_for_each(|node| node.check_alive(&format!("run {name}")))
    }
}
