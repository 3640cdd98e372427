//! The loss of a Galera cluster's nodes: of the one that takes the load, which the others outlive,
//! or of all at once, so that the cluster begins anew with what one of their disks kept.

use std::collections::BTreeSet;

use super::trial::{Scene, numbers_in_table};
use crate::error::Result;
use crate::lab::Lab;
use crate::lab::mode::galera;
use crate::load::ledger::Ledger;
use crate::study::disk::PowerCut;
use crate::study::fault::Fault;

/// Cuts the power of these nodes: first their links, which fall silent, then their disks and
/// servers. Returns how many writes their disks lost.
pub fn lose(scene: &mut Scene, which: &[usize], ledger: &Ledger, cut: PowerCut) -> Result<u64> {
    // From here on no answer can count: a server may still give some, from memory.
    ledger.go_deaf();
    let place = |&i: &usize| scene.lab().nodes[i].place.name.clone();
    let places: Vec<String> = which.iter().map(place).collect();
    scene.rig.network.isolate(&places, scene.distances)?;
    let lab = scene.lab();
    which.iter().try_for_each(|&i| lab.volume(i)?.freeze())?;
    which.iter().for_each(|&i| lab.nodes[i].kill());
    // Disks of their own keep what they keep by draws of their own.
    let of = |i: usize| cut.drawn_anew(i as u64);
    let dropped = |&i: &usize| Ok(lab.volume(i)?.cut_power(of(i))?.dropped.writes);
    which.iter().map(dropped).sum()
}

/// What the ledger holds of the cluster that there is after the loss.
///
/// # Errors
/// A breakdown if there is none: the nodes that are left do not go on, or no disk kept enough.
pub fn outlived(scene: &mut Scene, fault: Fault) -> Result<BTreeSet<u64>> {
    if let Fault::ClusterLoss { .. } = fault {
        scene.rig.network.set_distances(scene.distances)?;
        galera::begin_anew(scene.lab())?;
    }
    let lab = scene.lab();
    let (left, _) = by_life(lab);
    galera::go_on_as(lab, &left)?;
    held_by_all(lab, &left)
}

/// The lost nodes come back, and take over what the others have.
pub fn come_back(scene: &mut Scene) -> Result<()> {
    scene.rig.network.set_distances(scene.distances)?;
    let lab = scene.lab();
    let (_, lost) = by_life(lab);
    galera::join(lab, &lost)
}

/// Indices of the nodes whose servers run, and of the others.
fn by_life(lab: &Lab) -> (Vec<usize>, Vec<usize>) {
    (0..lab.nodes.len()).partition(|&i| lab.nodes[i].pid().is_some())
}

/// A row that one of these nodes lacks is not in the cluster: they would never agree again.
fn held_by_all(lab: &mut Lab, which: &[usize]) -> Result<BTreeSet<u64>> {
    let mut tables = which.iter().map(|&i| numbers_in_table(&mut lab.nodes[i]));
    let first = tables.next().transpose()?.unwrap_or_default();
    tables.try_fold(first, |held, table| Ok(&held & &table?))
}
