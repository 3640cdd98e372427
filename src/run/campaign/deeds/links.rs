//! Links are cut, lossy, slow, and as before.

use crate::error::Result;
use crate::lab::link::{Change, LinkChange};
use crate::run::campaign::stage::{Seen, Stage};
use crate::run::campaign::wires;
use crate::study::faults::{Between, Way};

/// Changes links between those that a step names.
pub fn change(stage: &mut Stage<'_, '_>, between: Between, change: Change) -> Result<Seen> {
    let from = stage.nodes_of(between.from)?;
    let to = between.to.map(|to| stage.nodes_of(to)).transpose()?;
    let places = stage.subject.places();
    let changes = wires::changes(&between, (&from[..], to.as_deref()), &places, change);
    stage.state.wires.changes.extend(changes.iter().cloned());
    if change == Change::Cut && between.way == Way::Both && to.is_none() {
        stage.state.wires.islands.push(from.clone());
    }
    stage.lay_links()?;
    stage.arm();
    if change == Change::Cut {
        let echoes = stage.send_into_cuts(&changes)?;
        return Ok(stage.seen_later(echoes, (from, true, String::new())));
    }
    let (bite, said) = stage.see_links(&changes)?;
    Ok(Seen {
        nodes: from,
        bite: Some(bite),
        said,
    })
}

/// All links are as they were, but those of whoever has no power: its kernel, which lives on here,
/// would send once more what had been on its way. Copies of a volume come back with their links.
pub fn heal(stage: &mut Stage<'_, '_>) -> Result<Seen> {
    stage.deliver()?;
    let places = stage.subject.places();
    let healed = stage.state.wires.all(&places);
    if stage.subject.has_copies() {
        let whole = stage.whole();
        stage.settle(&whole)?;
        stage.state.wires.lighten();
    }
    stage.state.wires.heal();
    stage.lay_links()?;
    stage.arm();
    let still_cut = stage.state.wires.all(&places);
    let mut as_before = Vec::new();
    for change in &healed {
        for way in ways_in_use(change, &still_cut) {
            as_before.push(stage.is_undone(change.change, way)?);
        }
    }
    let (all, found) = (as_before.len(), as_before.iter().filter(|is| **is).count());
    Ok(Seen {
        nodes: vec![],
        bite: (all > 0).then_some(found == all),
        said: format!("{found} of {all} ways answer as before"),
    })
}

/// Those that are not cut still, there or back.
fn ways_in_use<'c>(change: &'c LinkChange, still_cut: &[LinkChange]) -> Vec<(&'c str, &'c str)> {
    let is_cut = |way: (&str, &str)| {
        let mut cuts = still_cut.iter().flat_map(LinkChange::ways);
        cuts.any(|one| one == way)
    };
    let ways = change.ways();
    ways.filter(|&(from, to)| !is_cut((from, to)) && !is_cut((to, from)))
        .collect()
}
