//! A lab: the running servers of one family of modes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::mode;
use super::node::{Node, Place};
use super::options::{Settings, overridden, read_option_file};
use super::servers::{Cache, Program};
use super::tls::Identity;
use crate::error::Result;
use crate::study::mode::Family;
use crate::study::{Mode, ModeSpec, Variables};

/// What a lab is to be, fixed for its life.
#[derive(Debug, Clone, PartialEq)]
pub struct LabSpec {
    /// Unique in the sandbox; first part of its nodes' names.
    pub name: String,
    pub family: Family,
    pub sites: Vec<String>,
    pub binary_log: bool,
    pub appliers: u32,
    /// Some mode of this lab lets several nodes write.
    pub spread: bool,
    pub tls: bool,
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

/// Running servers.
pub struct Lab {
    pub spec: LabSpec,
    pub program: Program,
    /// In the order of the sites; the first is the writer.
    pub nodes: Vec<Node>,
    /// From the first copied data directory until all nodes were ready.
    pub ready: Duration,
    settings: Vec<Settings>,
    /// Settings of the user's own that something stronger replaced.
    pub overridden: Vec<(String, String, String)>,
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
        let create = |place| Node::create(place, cache, &program, run);
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
            overridden: Vec::new(),
            entered: None,
        };
        lab.decide_settings(run)?;
        mode::form(&mut lab)?;
        lab.ready = start.elapsed();
        Ok(lab)
    }

    /// Puts the layers of settings on one another, the strongest last.
    fn decide_settings(&mut self, run: &Path) -> Result<()> {
        // MySQL makes its own certificates; MariaDB wants files.
        let needs_files = self.program.dialect().optional("tls_needs_files").is_some();
        let identity = match self.spec.tls && needs_files {
            true => Some(Identity::make(
                &run.join(format!("{}.tls", self.spec.name)),
            )?),
            false => None,
        };
        let flavour = self.program.kept.flavour;
        let pinned = self
            .program
            .terms
            .iter()
            .map(|(name, value, _)| (name, value.as_str()));
        let terms: Settings = pinned.collect();
        let text = self.spec.my_cnf.as_deref().unwrap_or_default();
        let users = read_option_file(text, flavour);
        for i in 0..self.nodes.len() {
            let mut lab = mode::settings(self, i);
            match &identity {
                Some(identity) => identity.settings(&self.spec, &mut lab),
                None if self.spec.tls => {}
                None => {
                    for (name, value) in self.program.dialect().settings("tls_off") {
                        lab.set(&name, value);
                    }
                }
            }
            let own = self.spec.node_variables.get(self.nodes[i].site());
            for (name, value) in self.spec.variables.iter().chain(own.into_iter().flatten()) {
                lab.set(name, value.as_str());
            }
            lab.overlay(&self.nodes[i].own_settings(i));
            if i == 0 {
                self.overridden = overridden(&users, &lab);
            }
            let mut all = terms.clone();
            all.overlay(&users);
            all.overlay(&lab);
            self.settings.push(all);
        }
        Ok(())
    }

    /// Starts node `i`'s server with its settings.
    pub(super) fn start(&mut self, i: usize, extra: &[&str]) -> Result<()> {
        let settings = self.settings[i].clone();
        self.nodes[i].start(&self.program, &settings, extra)
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

    /// Indices of the nodes that take part in a mode.
    pub fn members(&self, mode: &ModeSpec) -> std::ops::Range<usize> {
        match mode.mode {
            Mode::Single => 0..1,
            _ => 0..(mode.nodes as usize).min(self.nodes.len()),
        }
    }

    /// Indices of the nodes that clients write to.
    pub fn writers(&self, mode: &ModeSpec) -> std::ops::Range<usize> {
        let is_spread = mode.spread && mode.mode.is_multi_writer();
        if is_spread { self.members(mode) } else { 0..1 }
    }

    /// Effective variables of each node, by site.
    pub fn variables(&mut self) -> Result<BTreeMap<String, BTreeMap<String, String>>> {
        let ask = |node: &mut Node| {
            let variables = node.pairs("SHOW GLOBAL VARIABLES")?;
            Ok((node.site().to_owned(), variables))
        };
        self.nodes.iter_mut().map(ask).collect()
    }

    /// A breakdown if any server has ended.
    pub fn check_alive(&mut self) -> Result<()> {
        let name = self.spec.name.clone();
        self.nodes
            .iter_mut()
            .try_for_each(|node| node.check_alive(&format!("run {name}")))
    }
}
