//! The loss of the site in which a source stands: its links and its power go, and the replica
//! elsewhere that has received most takes its place.

use std::collections::BTreeSet;
use std::time::Duration;

use super::trial::{SETTLING, Scene, numbers_in_table};
use crate::error::Result;

/// How long a replica may take to apply what it has received.
const LIMIT: Duration = Duration::from_secs(120);

/// What the ledger of the successor holds, once it has applied all that it received: of replicas
/// of one source each has a beginning of the same history, so the longest holds the others.
pub fn successor(scene: &mut Scene) -> Result<BTreeSet<u64>> {
    let members = scene.spec.nodes as usize;
    let lab = scene.lab();
    let lost = lab.nodes[0].site().to_owned();
    let mut most = BTreeSet::new();
    for i in (1..members)
        .filter(|&i| lab.nodes[i].site() != lost)
        .collect::<Vec<_>>()
    {
        if !lab.apply_received(i, LIMIT)? {
            let status = format!("not so within {} s", LIMIT.as_secs());
            return Err(lab.nodes[i].breakdown("apply what it has received", &status));
        }
        let table = numbers_in_table(&mut lab.nodes[i])?;
        if table.len() > most.len() {
            most = table;
        }
    }
    Ok(most)
}

/// The lost site comes back. A source that was replaced may hold what nobody else has, so all
/// begin anew.
pub fn begin_anew(scene: &mut Scene) -> Result<()> {
    scene.rig.network.set_distances(scene.distances)?;
    let cache = scene.cache;
    scene.lab().form_anew(cache)?;
    let (mode, spec, distances) = (scene.mode, scene.spec, scene.distances);
    scene.rig.enter(mode, spec, distances, SETTLING)
}
