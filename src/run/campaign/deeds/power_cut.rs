//! Nodes lose their power, or their disks.
//!
//! In this order: links are cut at the nodes' own ends, so that no answer gets out any more but
//! those that are on their way; all disks fail at one moment; the servers' connections are ended,
//! so that nothing is sent once more when links work again; the servers are killed. What is left on
//! a disk is decided when somebody comes back to it.

use super::servers::end;
use crate::error::Result;
use crate::lab::connections::end_connections;
use crate::lab::disk::{Condition, Volume};
use crate::lab::link::CutEchoes;
use crate::lab::node::PORT;
use crate::run::campaign::stage::{Seen, Stage, Trouble};
use crate::run::campaign::wires::Wires;
use crate::study::faults::{Leaves, Target};

/// Nodes lose their power, the clients in a site with it.
pub fn cut(stage: &mut Stage<'_, '_>, target: Target, leaves: Leaves) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    let had_power = with_power(stage, &nodes);
    let site = target == Target::Site;
    let late_us = fall_silent(stage, &nodes, site)?;
    // To end a server takes as long as an answer would.
    let echoes = send_into_darkness(stage, &nodes, site)?;
    let forgotten = forget_connections(stage, &nodes)?;
    let ended = end(stage, &nodes);
    let (seed, step) = (stage.seed, stage.state.step);
    let disks = &mut stage.state.disks;
    for &i in nodes.iter().filter(|&i| !disks.gone.contains(i)) {
        let cut = leaves.cut_of(seed, i);
        disks.uncut.entry(i).or_insert((cut, step));
    }
    let (is_silent, echoes) = stage.see_cuts(echoes)?;
    let frozen = late_us.len();
    let late_us_max = late_us.into_iter().max().unwrap_or(0);
    let is_whole = ended.are_gone() && frozen == nodes.len() && is_silent;
    Ok(Seen {
        said: format!(
            "{}{forgotten}; {frozen} of {} disks stopped, {late_us_max} µs late at most; {echoes}",
            ended.said(),
            nodes.len()
        ),
        nodes,
        bite: Some(is_whole && had_power > 0),
    })
}

/// Servers are killed, and their disks thrown away; their machines come to nothing, too.
pub fn destroy(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    fall_silent(stage, &nodes, target == Target::Site)?;
    let forgotten = forget_connections(stage, &nodes)?;
    let ended = end(stage, &nodes);
    let lab = stage.subject.lab_seen();
    let mut is_gone = ended.are_gone();
    for &i in &nodes {
        let volume = lab.volume(i)?;
        volume.destroy()?;
        is_gone &= volume.condition()? == Condition::Destroyed;
    }
    let disks = &mut stage.state.disks;
    disks.gone.extend(&nodes);
    disks.uncut.retain(|i, _| !nodes.contains(i));
    let said = format!(
        "{}{forgotten}; {} disks are gone",
        ended.said(),
        nodes.len()
    );
    Ok(Seen {
        nodes,
        bite: Some(is_gone),
        said,
    })
}

/// How many of these nodes have power.
fn with_power(stage: &Stage<'_, '_>, nodes: &[usize]) -> usize {
    let disks = &stage.state.disks;
    let has_power = |i: &&usize| !disks.powerless.contains(*i) && !disks.gone.contains(*i);
    nodes.iter().filter(has_power).count()
}

/// No answer gets out of these nodes any more, and nothing becomes durable; how late each disk was
/// for their one moment, in µs.
fn fall_silent(stage: &mut Stage<'_, '_>, nodes: &[usize], site: bool) -> Result<Vec<u64>> {
    stage.darken(nodes, site)?;
    // No answer counts any more that the server may give from now on.
    stage.look_alone()?;
    let lab = stage.subject.lab_seen();
    let volumes = nodes.iter().map(|&i| lab.volume(i));
    let late_us = Volume::freeze_all(&volumes.collect::<Result<Vec<_>>>()?)?;
    stage.arm();
    if stage.subject.has_copies() && nodes.contains(&stage.state.writer) {
        stage.state.has_lost_head = true;
    }
    let disks = &mut stage.state.disks;
    disks.powerless.extend(nodes);
    for node in nodes {
        if let Some(troubles) = disks.troubles.get_mut(node) {
            troubles.remove(&Trouble::Stalled);
        }
    }
    Ok(late_us)
}

/// Their kernels, which live on here, have nothing to send any more for their servers; words where
/// they cannot be made to.
fn forget_connections(stage: &Stage<'_, '_>, nodes: &[usize]) -> Result<&'static str> {
    let lab = stage.subject.lab_seen();
    let mut can = true;
    for &i in nodes {
        can &= end_connections(&lab.nodes[i].place.netns, PORT)?.is_some();
    }
    Ok(match can {
        true => "",
        false => ", and this kernel may send late answers for them",
    })
}

/// Echoes that find out whether nobody hears these nodes, nor they anybody; with `site`, neither
/// the clients in the first writer's.
fn send_into_darkness(
    stage: &Stage<'_, '_>,
    nodes: &[usize],
    site: bool,
) -> Result<Vec<CutEchoes>> {
    let own = Wires {
        dark: nodes.iter().copied().collect(),
        is_site_dark: site,
        ..Wires::default()
    };
    stage.send_into_cuts(&own.darkness(&stage.subject.places()))
}
