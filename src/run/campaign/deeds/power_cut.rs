//! Nodes lose their power, or their disks.
//!
//! At one moment links are cut at the nodes' own ends, so that no answer gets out any more but
//! those that are on their way, and all disks stop: whoever asks them waits. Then connections are
//! ended, so that nothing is sent once more when links work again, and servers are killed. What is
//! left on a disk is decided when somebody comes back to it.

use super::servers::end;
use crate::error::Result;
use crate::lab::connections::end_connections;
use crate::lab::disk::{Condition, Halted, Volume};
use crate::lab::link::CutEchoes;
use crate::run::campaign::stage::{Seen, Stage, Trouble};
use crate::run::campaign::wires::Wires;
use crate::study::faults::{Leaves, Target};

/// A disk that goes on for longer than its links is no part of a loss of power: a server finishes
/// by then what nobody hears of.
const OUTLIVES_US_MAX: i64 = 5_000;

/// Nodes lose their power, the clients in a site with it.
pub fn cut(stage: &mut Stage<'_, '_>, target: Target, leaves: Leaves) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    let had_power = with_power(stage, &nodes);
    let site = target == Target::Site;
    let halted = fall_silent(stage, &nodes, site)?;
    let echoes = send_into_darkness(stage, &nodes, site);
    let forgotten = forget_connections(stage, &nodes);
    let ended = end(stage, &nodes);
    // Nobody is left who would be answered.
    tell(stage, &nodes)?;
    let (echoes, forgotten) = (echoes?, forgotten?);
    let (seed, step) = (stage.seed, stage.state.step);
    let disks = &mut stage.state.disks;
    for &i in nodes.iter().filter(|&i| !disks.gone.contains(i)) {
        let cut = leaves.cut_of(seed, i);
        disks.uncut.entry(i).or_insert((cut, step));
    }
    let (have_stopped, disks) = stopped(stage, &nodes, &halted)?;
    let is_whole = ended.are_gone() && have_stopped && had_power > 0;
    let said = format!("{}{forgotten}; {disks}", ended.said());
    Ok(stage.seen_later(echoes, (nodes, is_whole, said)))
}

/// Whether these nodes' disks have no power, and stopped as their links did; in words.
fn stopped(stage: &Stage<'_, '_>, nodes: &[usize], halted: &Halted) -> Result<(bool, String)> {
    let lab = stage.subject.lab_seen();
    let mut stopped = 0;
    for &i in nodes {
        let condition = lab.volume(i)?.condition()?;
        stopped += usize::from(matches!(
            condition,
            Condition::NoPower | Condition::Destroyed
        ));
    }
    let late_us = halted.late_us.iter().max().copied().unwrap_or_default();
    let after_us = halted.after_us.iter().max().copied().unwrap_or_default();
    let (all, beside) = (nodes.len(), if after_us < 0 { "before" } else { "after" });
    let said = format!(
        "{stopped} of {all} disks stopped, {late_us} µs late at most, the last {} µs {beside} the \
         links",
        after_us.abs()
    );
    Ok((stopped == all && after_us <= OUTLIVES_US_MAX, said))
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

/// No answer gets out of these nodes any more, and nothing becomes durable, from one moment on.
fn fall_silent(stage: &mut Stage<'_, '_>, nodes: &[usize], site: bool) -> Result<Halted> {
    stage.darken(nodes, site);
    let lab = stage.subject.lab_seen();
    let volumes = nodes.iter().map(|&i| lab.volume(i));
    let volumes = volumes.collect::<Result<Vec<_>>>()?;
    let mut dark_us = 0;
    let halted = Volume::halt_all(&volumes, || {
        stage.lay_links()?;
        dark_us = stage.crowd.now_us();
        Ok(())
    });
    if halted.is_err() {
        // What did not stop with the others keeps nobody waiting.
        let _ = tell(stage, nodes);
    }
    let halted = halted?;
    stage.state.in_force_us = Some(dark_us);
    // No answer counts any more that the server may give from now on. It waits for its disk, and
    // says what it has in memory.
    stage.look_alone()?;
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
    Ok(halted)
}

/// Disks without power that keep somebody waiting say so; those that had failed before have none,
/// either.
fn tell(stage: &Stage<'_, '_>, nodes: &[usize]) -> Result<()> {
    let lab = stage.subject.lab_seen();
    nodes.iter().try_for_each(|&i| lab.volume(i)?.freeze())
}

/// Their kernels, which live on here, have nothing to send any more for their servers; words where
/// they cannot be made to.
fn forget_connections(stage: &Stage<'_, '_>, nodes: &[usize]) -> Result<&'static str> {
    let lab = stage.subject.lab_seen();
    let mut can = true;
    for &i in nodes {
        can &= end_connections(&lab.nodes[i].place.netns)?.is_some();
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
