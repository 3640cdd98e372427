//! The loss of the site in which a copied volume's server stands: its links and its power go, and a
//! copy elsewhere takes over.

use std::time::Duration;

use super::trial::Scene;
use crate::error::Result;
use crate::lab::Lab;
use crate::lab::disk::{Remembered, Volume, fail_over};
use crate::lab::node::pause;
use crate::load::ledger::Ledger;
use crate::study::disk::PowerCut;

/// How long enough copies may take until they obey, and all until they are whole again.
const LIMIT: Duration = Duration::from_secs(120);

/// From when a site is cut off until its power goes: clients in it are still there.
const ISOLATED: Duration = Duration::from_millis(300);

/// Where a copied volume's server stands, from loss to loss.
#[derive(Debug, Default)]
pub struct Seat {
    /// Index of the node.
    pub writer: usize,
    /// What a mirror's copies cannot know by themselves.
    remembered: Remembered,
}

/// Cuts the writer's site off; a while later its power. Returns how many writes its disks lost.
/// What clients in that site are told meanwhile counts: W copies held it.
pub fn lose(scene: &mut Scene, seat: &Seat, ledger: &Ledger, cut: PowerCut) -> Result<u64> {
    let site = scene.lab().nodes[seat.writer].site().to_owned();
    scene.rig.network.cut_off(&site, scene.distances)?;
    pause(ISOLATED)?;
    // From here on no answer can count: the server may still give some, from memory.
    ledger.go_deaf();
    let lab = scene.lab();
    let (gone, _) = by_site(lab, &site);
    gone.iter().try_for_each(|&i| lab.volume(i)?.freeze())?;
    lab.nodes[seat.writer].kill();
    let dropped = |&i: &usize| Ok(lab.volume(i)?.cut_power(cut)?.dropped.writes);
    gone.iter().map(dropped).sum()
}

/// A surviving copy leads; the server is to be started on it. `is_forced`: the best copy there is,
/// though others may have had more.
pub fn take_over(lab: &mut Lab, seat: &mut Seat, is_forced: bool) -> Result<()> {
    let site = lab.nodes[seat.writer].site().to_owned();
    let (_, left) = by_site(lab, &site);
    let survivors: Vec<&Volume> = left.iter().map(|&i| lab.volume(i)).collect::<Result<_>>()?;
    let remembered = Remembered {
        is_forced,
        ..seat.remembered
    };
    let takeover = fail_over(&survivors, &lab.copies()?, remembered, LIMIT)?;
    if takeover.is_alone {
        seat.remembered.alone_generation = takeover.generation;
    }
    seat.writer = left[takeover.chosen];
    Ok(())
}

/// The lost site comes back: its copies are caught up, and count again.
pub fn come_back(scene: &mut Scene, seat: &Seat) -> Result<()> {
    scene.rig.network.set_distances(scene.distances)?;
    let lab = scene.lab();
    lab.volume(seat.writer)?.wait_whole(lab.nodes.len(), LIMIT)
}

/// Indices of the nodes in that site, and of the others.
fn by_site(lab: &Lab, site: &str) -> (Vec<usize>, Vec<usize>) {
    (0..lab.nodes.len()).partition(|&i| lab.nodes[i].site() == site)
}
