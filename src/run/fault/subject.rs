//! The servers of one mode as faults find them, and what they are known to hold.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::error::{Result, Tried};
use crate::lab::Lab;
use crate::lab::disk::Remembered;
use crate::lab::node::{Node, pause};
use crate::lab::servers::Cache;
use crate::lab::servers::datadir::DATABASE;
use crate::load::ledger;
use crate::observe::binary_log::{self, Numbers};
use crate::run::rig::Rig;
use crate::study::fault::{Durability, Scope};
use crate::study::{Distances, Mode, ModeSpec, Study};

/// From entering a mode until its servers are under load.
const SETTLING: Duration = Duration::from_millis(300);
/// How long copies may take until enough obey, or all are whole again, and a replica until it has
/// applied what it has received.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// The servers of one mode.
pub(super) struct Subject<'a> {
    pub rig: &'a mut Rig,
    pub mode: usize,
    pub spec: &'a ModeSpec,
    pub distances: &'a Distances,
    pub cache: &'a Cache,
    /// As the server says that it is set.
    pub durability: Durability,
    /// Index of the node that takes the load.
    pub writer: usize,
    /// What a mirror's copies cannot know by themselves.
    pub remembered: Remembered,
    /// As last read back.
    pub table: BTreeSet<u64>,
    pub log: Option<Numbers>,
    /// The next number that no transaction has had.
    pub next: u64,
}

impl<'a> Subject<'a> {
    pub fn enter(
        study: &'a Study,
        (rig, cache): (&'a mut Rig, &'a Cache),
        mode: usize,
    ) -> Result<Subject<'a>> {
        let spec = &study.modes[mode];
        let distances = &study.sweeps[0].distances[0];
        rig.enter(mode, spec, distances)?;
        pause(SETTLING)?;
        if let Some(disks) = study.sweeps[0].disks.first() {
            rig.lab(mode).set_disks(disks)?;
        }
        let durability = durability_of(&mut rig.lab(mode).nodes[0])?;
        let mut subject = Subject {
            rig,
            mode,
            spec,
            distances,
            cache,
            durability,
            writer: 0,
            remembered: Remembered::default(),
            table: BTreeSet::new(),
            log: None,
            next: 1,
        };
        subject.begin()?;
        Ok(subject)
    }

    pub fn lab(&mut self) -> &mut Lab {
        self.rig.lab(self.mode)
    }

    /// The node whose server takes the load.
    pub fn writer(&mut self) -> &mut Node {
        let writer = self.writer;
        &mut self.lab().nodes[writer]
    }

    /// An empty ledger, on the disks for good: what is tried is its rows.
    pub fn begin(&mut self) -> Result<()> {
        let drop = format!("DROP TABLE IF EXISTS {DATABASE}.{}", ledger::TABLE);
        self.writer().run(&drop)?;
        self.writer().run(&ledger::create_table())?;
        self.table.clear();
        self.log = self.read_log()?;
        if self.spec.mode == Mode::Galera {
            // Each node has the ledger, and may lose its power.
            let spec = self.spec;
            self.lab().enter(spec)?;
            let nodes = &mut self.lab().nodes;
            return nodes.iter_mut().try_for_each(Node::make_durable);
        }
        self.writer().make_durable()
    }

    /// What the writer's binary log holds, if it has one of whole rows. Where another server takes
    /// over only the table is looked at: its own binary log goes on from its own.
    pub fn read_log(&mut self) -> Result<Option<Numbers>> {
        let is_alone = self.spec.mode.has_one_server();
        let node = self.writer();
        if !is_alone || !is_logged(node)? {
            return Ok(None);
        }
        binary_log::numbers(&node.data(), ledger::TABLE).map(Some)
    }

    /// The copies of the lost site are caught up, and count again.
    pub fn wait_whole(&mut self) -> Result<()> {
        let writer = self.writer;
        let lab = self.lab();
        lab.volume(writer)?.wait_whole(lab.nodes.len(), LIMIT)
    }

    pub fn form_anew(&mut self) -> Result<()> {
        let (writer, cache) = (self.writer, self.cache);
        if self.spec.mode.has_one_server() {
            return self.lab().refill(writer, cache);
        }
        self.lab().form_anew(cache)?;
        let (mode, spec, distances) = (self.mode, self.spec, self.distances);
        self.rig.enter(mode, spec, distances)?;
        pause(SETTLING)
    }

    /// Indices of the nodes that a fault befalls.
    pub fn inside(&mut self, scope: Scope) -> Vec<usize> {
        let writer = self.writer;
        let nodes = self.lab().nodes.iter();
        inside(&nodes.map(Node::site).collect::<Vec<_>>(), writer, scope)
    }
}

/// The same, of nodes in these sites.
fn inside(sites: &[&str], writer: usize, scope: Scope) -> Vec<usize> {
    let is_inside = |i: &usize| match scope {
        Scope::Node => *i == writer,
        Scope::Site => sites[*i] == sites[writer],
        Scope::All => true,
    };
    (0..sites.len()).filter(is_inside).collect()
}

/// Whether rows stand in its binary log as [`binary_log`] reads them.
fn is_logged(node: &mut Node) -> Result<bool> {
    let sql = "SELECT @@GLOBAL.log_bin = 1 AND @@GLOBAL.binlog_format = 'ROW'";
    Ok(node.value(sql)?.as_deref() == Some("1"))
}

fn durability_of(node: &mut Node) -> Result<Durability> {
    let mut variable = |name: &str| {
        let sql = format!("SELECT @@GLOBAL.{name}");
        let value = node.value(&sql)?.unwrap_or_default();
        value.parse::<u32>().tried(|| format!("read {name}"))
    };
    Ok(Durability {
        flush_log: variable("innodb_flush_log_at_trx_commit")?,
        sync_binlog: variable("sync_binlog")?,
    })
}

/// Indices of the nodes whose servers run, and of the others.
pub(super) fn by_life(lab: &Lab) -> (Vec<usize>, Vec<usize>) {
    (0..lab.nodes.len()).partition(|&i| lab.nodes[i].pid().is_some())
}

/// What the ledger holds.
pub(super) fn numbers_in_table(node: &mut Node) -> Result<BTreeSet<u64>> {
    let sql = format!("SELECT id FROM {DATABASE}.{}", ledger::TABLE);
    let rows = node.rows(&sql)?;
    let texts = rows.iter().flat_map(|row| row.values());
    let numbers = texts.map(|text| text.parse().tried(|| format!("read {text} of the ledger")));
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its server has to end, too: it would be unmounted under it.
    #[test]
    fn a_lost_site_takes_the_replica_that_stands_there_too() {
        let inside = |scope| inside(&["a", "b", "a"], 0, scope);
        assert_eq!(inside(Scope::Site), [0, 2]);
        assert_eq!(inside(Scope::Node), [0]);
        assert_eq!(inside(Scope::All), [0, 1, 2]);
    }
}
