//! The servers of one mode as campaigns find them.

use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

use super::wires::Places;
use crate::error::{Result, Tried, breakdown};
use crate::lab::Lab;
use crate::lab::link::Keep;
use crate::lab::mode::CATCH_UP_LIMIT;
use crate::lab::netns::Place;
use crate::lab::node::{Node, PORT};
use crate::lab::servers::datadir::DATABASE;
use crate::load::ledgers::{self, Level, Wait};
use crate::run::rig::Rig;
use crate::study::fault::Durability;
use crate::study::mode::Family;
use crate::study::{Disk, Disks, Distances, ModeSpec, Study};

/// The servers of a mode, which stand on emulated disks.
pub struct Subject<'a> {
    pub rig: &'a mut Rig,
    pub study: &'a Study,
    /// Index of the mode.
    pub mode: usize,
    pub spec: &'a ModeSpec,
    pub distances: &'a Distances,
    disks: Option<&'a Disks>,
    /// As the server says that it is set.
    pub durability: Durability,
    /// Nothing has happened since images were kept.
    pub is_untouched: bool,
    /// Its one server runs on after a trial, as sound as before it.
    pub is_running_on: bool,
}

impl<'a> Subject<'a> {
    /// Enters the mode, makes the tables of the ledger, and keeps what all disks hold then. No
    /// server runs afterwards.
    ///
    /// # Errors
    /// A breakdown if the servers do not come to the mode, or their disks cannot be kept.
    pub fn enter(study: &'a Study, rig: &'a mut Rig, mode: usize) -> Result<Subject<'a>> {
        let spec = &study.modes[mode];
        let sweep = study.sweeps.first();
        let distances = sweep.and_then(|sweep| sweep.distances.first());
        let nowhere = || breakdown("enter a mode", "the study says nothing of distances");
        let distances = distances.ok_or_else(nowhere)?;
        rig.enter(mode, spec, distances)?;
        let durability = durability_of(&mut rig.lab(mode).nodes[0])?;
        let mut subject = Subject {
            rig,
            study,
            mode,
            spec,
            distances,
            disks: sweep.and_then(|sweep| sweep.disks.first()),
            durability,
            is_untouched: true,
            is_running_on: false,
        };
        let made = subject.make_tables();
        subject.lab().blame(made)?;
        subject.lab().keep_images()?;
        subject.set_disks()?;
        Ok(subject)
    }

    pub fn lab(&mut self) -> &mut Lab {
        self.rig.lab(self.mode)
    }

    /// The same, only to be looked at.
    pub fn lab_seen(&self) -> &Lab {
        self.rig.lab_at(self.rig.lab_index(self.mode))
    }

    /// How many nodes take part in the mode, with a server or a copy of its volume. They are the
    /// first of the lab's.
    pub fn count(&self) -> usize {
        let lab = self.lab_seen();
        match self.has_copies() {
            true => lab.nodes.len(),
            false => lab.members(self.spec).len(),
        }
    }

    /// Whether one server stands on a volume with copies at the other nodes.
    pub fn has_copies(&self) -> bool {
        self.spec.mode.family().copies_volume()
    }

    /// The site of each node that takes part.
    pub fn sites(&self) -> Vec<String> {
        let nodes = self.members().iter();
        nodes.map(|node| node.site().to_owned()).collect()
    }

    /// Where their servers listen.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let nodes = self.members().iter();
        let address = |node: &Node| SocketAddrV4::new(node.place.address, PORT).into();
        nodes.map(address).collect()
    }

    /// How looks at a node are made up to date: by what this mode's servers have for it, and by
    /// looking at the first writer instead. `patience` is how long an answer is waited for.
    pub fn fresh_levels(&self, node: usize, patience: Duration) -> Vec<Level> {
        let told = |word| {
            let word = self.lab_seen().program.dialect().optional(word)?;
            Some(Level::Told(word.to_owned()))
        };
        let own = match self.spec.mode.family() {
            Family::Group => told("fresh_in_group"),
            Family::Galera => told("fresh_in_galera"),
            Family::Replication if node > 0 => self.wait_for_writer(patience),
            _ => None,
        };
        // Beside a copy of a volume no server runs that this would be held against.
        let elsewhere = (node > 0 && !self.has_copies()).then(|| Level::Elsewhere {
            node: 0,
            target: self.addresses()[0],
        });
        own.into_iter().chain(elsewhere).collect()
    }

    /// A replica's own wait for transactions of its source; `None` where it has none that ends as
    /// soon as they are there.
    fn wait_for_writer(&self, patience: Duration) -> Option<Level> {
        let dialect = self.lab_seen().program.dialect();
        // It answers before the reader gives it up.
        let seconds = (patience / 2).as_secs_f64().to_string();
        let waits = dialect.word("wait_gtids").contains("{seconds}");
        waits.then(|| {
            Level::Awaited(Wait {
                at: self.addresses()[0],
                executed: dialect.word("executed_gtids").to_owned(),
                wait: dialect.fill("wait_gtids", &[("seconds", &seconds)]),
                good: dialect.word("wait_gtids_good").to_owned(),
            })
        })
    }

    /// All places of the lab: its nodes, clients and fronts.
    pub fn places(&self) -> Places {
        let named = |place: &Place| (place.name.clone(), place.site.clone());
        let network = &self.rig.network;
        let nodes = self.lab_seen().nodes.iter();
        let clients = network.clients.values().chain(network.fronts.values());
        Places {
            nodes: nodes.map(|node| named(&node.place)).collect(),
            clients: clients.map(named).collect(),
        }
    }

    /// What node `i`'s disk is asked to be.
    pub fn disk(&self, i: usize) -> Disk {
        let site = self.lab_seen().nodes[i].site();
        self.disks
            .map_or_else(Disk::default, |disks| disks.of(site))
    }

    /// All disks are what they are asked to be.
    ///
    /// # Errors
    /// A breakdown if a volume has ended.
    pub fn set_disks(&self) -> Result<()> {
        let lab = self.lab_seen();
        let mut nodes = 0..lab.nodes.len();
        nodes.try_for_each(|i| lab.volume(i)?.set(self.disk(i)))
    }

    /// The streams in which the first writer sends its transactions to replicas.
    pub fn streams(&self) -> Vec<Keep> {
        let [writer, replicas @ ..] = self.members() else {
            return vec![];
        };
        let stream = |replica: &Node| Keep {
            from: writer.place.name.clone(),
            to: replica.place.name.clone(),
            port_from: PORT,
        };
        replicas.iter().map(stream).collect()
    }

    fn members(&self) -> &[Node] {
        &self.lab_seen().nodes[..self.count()]
    }

    /// The ledger begins anew, on all nodes that follow the writer.
    pub fn make_tables(&mut self) -> Result<()> {
        let spec = self.spec;
        let lab = self.lab();
        for statement in ledgers::tables(DATABASE) {
            lab.nodes[0].run(&statement)?;
        }
        for i in 1..lab.members(spec).end {
            if !lab.catch_up(i, CATCH_UP_LIMIT)? {
                let tried = "apply the tables of a ledger";
                return Err(lab.nodes[i].breakdown(tried, "not so in time"));
            }
        }
        Ok(())
    }
}

fn durability_of(node: &mut Node) -> Result<Durability> {
    let mut variable = |name: &str| {
        let value = node.value(&format!("SELECT @@GLOBAL.{name}"))?;
        let value = value.unwrap_or_default();
        value.parse::<u32>().tried(|| format!("read {name}"))
    };
    Ok(Durability {
        flush_log: variable("innodb_flush_log_at_trx_commit")?,
        sync_binlog: variable("sync_binlog")?,
    })
}
