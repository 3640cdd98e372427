//! How a lab comes about, and changes its mode.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Lab, LabSpec, Override};
use crate::error::Result;
use crate::lab::disk::{CopySet, Volume, VolumeSpec};
use crate::lab::mode::{self, Gtids};
use crate::lab::netns::Place;
use crate::lab::node::Node;
use crate::lab::options::{Settings, overridden, read_option_file};
use crate::lab::servers::{Cache, Program};
use crate::lab::tls::Identity;
use crate::study::disk::Disk;
use crate::study::{ModeSpec, Variables};

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
        for (node, cpus) in lab.nodes.iter_mut().zip(&lab.spec.cpus) {
            node.cpus.clone_from(cpus);
        }
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

    /// Where the copies of its volume are, and what they are held to.
    ///
    /// # Errors
    /// A breakdown if it has none.
    pub fn copies(&self) -> Result<CopySet> {
        mode::group_of_copies(self)
    }

    /// MySQL makes its own certificates; MariaDB wants files.
    fn make_identity(&self, run: &Path) -> Result<Option<Identity>> {
        let needs_files = self.program.dialect().optional("tls_needs_files").is_some();
        let folder = run.join(format!("{}.tls", self.spec.name));
        let make = || Identity::make(&folder);
        (self.spec.tls && needs_files).then(make).transpose()
    }

    /// What each server is to be started with.
    pub(super) fn decide_settings(&mut self) {
        let of_node = |i| self.settings_of(i, &self.spec.variables);
        let decided: Vec<_> = (0..self.nodes.len()).map(of_node).collect();
        let (mut overridden, settings): (Vec<_>, Vec<_>) = decided.into_iter().unzip();
        self.overridden = overridden.swap_remove(0);
        self.settings = settings;
    }

    /// What of the user's own is overridden on node `i`, and its settings with these variables: the
    /// layers on one another, the strongest last.
    pub(super) fn settings_of(&self, i: usize, variables: &Variables) -> (Vec<Override>, Settings) {
        let pinned = self.program.terms.iter();
        let pinned = pinned.map(|(name, value, _)| (name, value.as_str()));
        let mut all: Settings = pinned.collect();
        let text = self.spec.my_cnf.as_deref().unwrap_or_default();
        let users = read_option_file(text, self.program.kept.flavour);
        let mut lab = mode::settings(self, i);
        match &self.identity {
            Some(identity) => identity.settings(self.spec.family, &mut lab),
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

    /// Starts all servers, none of which runs, on what their disks hold, which was all alike when
    /// they were stopped, and joins them as they were joined first.
    ///
    /// # Errors
    /// A breakdown if a server does not come up.
    pub fn form_again(&mut self) -> Result<()> {
        self.entered = None;
        mode::form_again(self)
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

    /// Has these replicas of a source, by index, apply nothing from now on; they go on receiving.
    pub fn hold_appliers(&mut self, replicas: Range<usize>) -> Result<()> {
        mode::hold_appliers(self, replicas)
    }

    /// Has them apply again; those that do go on.
    pub fn start_appliers(&mut self, replicas: Range<usize>) -> Result<()> {
        mode::start_appliers(self, replicas)
    }

    /// The transactions that node `i` has committed or applied.
    pub fn executed(&mut self, i: usize) -> Result<Gtids> {
        mode::executed(self, i)
    }

    /// Waits until replica `i` has received all of these.
    ///
    /// # Errors
    /// A breakdown if it does not in time.
    pub fn wait_received(&mut self, i: usize, gtids: &Gtids) -> Result<()> {
        mode::wait_received(self, i, gtids)
    }
}
