//! Links are cut, lossy, slow, and as before.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::error::{Result, breakdown};
use crate::lab::link::{Change, LinkChange};
use crate::lab::netns::Place;
use crate::lab::network::is_answered;
use crate::run::campaign::stage::{Seen, Stage};
use crate::run::campaign::wires;
use crate::study::faults::{Between, Way};

/// An echo that takes so much longer than its distance is lost.
const ECHO_LIMIT: Duration = Duration::from_secs(3);

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
    let way = |change| first_way(change, &still_cut);
    let ways: Vec<(&str, &str)> = healed.iter().filter_map(way).collect();
    let mut answered = 0;
    for (from, to) in &ways {
        answered += usize::from(hears(stage, from, to)?);
    }
    Ok(Seen {
        nodes: vec![],
        bite: (!ways.is_empty()).then_some(answered == ways.len()),
        said: format!("{answered} of {} echoes answered", ways.len()),
    })
}

/// Of those that are not cut still.
fn first_way<'c>(change: &'c LinkChange, still_cut: &[LinkChange]) -> Option<(&'c str, &'c str)> {
    let mut ways = change.ways();
    ways.find(|way| {
        !still_cut
            .iter()
            .any(|cut| cut.ways().any(|one| one == *way))
    })
}

/// Whether an echo from one place is answered by another.
fn hears(stage: &Stage<'_, '_>, from: &str, to: &str) -> Result<bool> {
    let subject = &stage.subject;
    let network = &subject.rig.network;
    let nodes = subject.lab_seen().nodes.iter().map(|node| &node.place);
    let clients = network.clients.values().chain(network.fronts.values());
    let mut places = nodes.chain(clients);
    let mut members = network.members().iter();
    let unknown = || {
        let tried = format!("see whether {to} answers {from}");
        breakdown(tried, "there is no such place")
    };
    let place: &Place = places
        .find(|place| place.name == from)
        .ok_or_else(unknown)?;
    let other = members
        .find(|member| member.name == to)
        .ok_or_else(unknown)?;
    let rtt = network.rtt_asked(subject.distances, &place.site, &other.site);
    let address: Ipv4Addr = other.address;
    is_answered(place, address, rtt * 2 + ECHO_LIMIT)
}
