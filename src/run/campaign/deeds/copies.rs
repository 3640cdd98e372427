//! A volume with copies: which of them leads, and where the one server runs then.

use std::time::Duration;

use crate::error::{Result, breakdown};
use crate::lab::disk::{Remembered, Volume, fail_over};
use crate::lab::mode::faults;
use crate::run::campaign::roles;
use crate::run::campaign::stage::{Seen, Stage};
use crate::study::Mode;
use crate::study::faults::{Choose, Leaves, Promotion};

/// How long copies may take until enough of them obey, or all are whole again.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Another copy leads, and the server starts on it. Who is chosen is told by what the copies hold.
///
/// Those are asked that have never lost their power, as whoever fails over finds them: of N copies
/// of which W are written to, N - W + 1 hold all that was reported done, and W can be written to.
/// Others that came back follow. Where they are too few for either, these are asked, too.
pub fn promote(stage: &mut Stage<'_, '_>, promotion: Promotion) -> Result<Seen> {
    let mode = stage.subject.spec.mode;
    if promotion.choose == Choose::First && matches!(mode, Mode::Quorum { .. }) {
        let status = "the copies of a quorum are chosen by what they hold";
        return Err(breakdown("promote the first copy", status));
    }
    stage.look_alone()?;
    stage.state.alone.is_over = true;
    let old = stage.state.writer;
    if promotion.is_fenced {
        fence(stage, old)?;
    }
    let survivors = survivors(stage, old)?;
    let chosen = lead(stage, &survivors)?;
    faults::restart(stage.lab(), chosen, true)?;
    stage.arm();
    let takes_writes = stage.lab().nodes[chosen].takes_writes();
    Ok(Seen {
        nodes: vec![chosen],
        bite: Some(takes_writes),
        said: format!(
            "{} leads, chosen of {}",
            stage.names(&[chosen]),
            stage.names(&survivors)
        ),
    })
}

/// The old head's machine is switched off, if it is alive: one that may go on alone is held back by
/// nothing else. Its disk loses nothing by that.
fn fence(stage: &mut Stage<'_, '_>, old: usize) -> Result<()> {
    if !stage.is_alive(old) {
        return Ok(());
    }
    stage.lab().volume(old)?.freeze()?;
    stage.lab().nodes[old].kill();
    let cut = Leaves::Everything.cut_of(stage.seed, old);
    let disks = &mut stage.state.disks;
    disks.uncut.insert(old, (cut, stage.state.step));
    disks.powerless.insert(old);
    Ok(())
}

fn survivors(stage: &mut Stage<'_, '_>, old: usize) -> Result<Vec<usize>> {
    let others = roles::candidates(stage.count(), old, &[]);
    let alive = others.into_iter().filter(|&i| stage.is_alive(i));
    let alive: Vec<usize> = alive.collect();
    let needed = match stage.subject.spec.mode {
        Mode::Quorum { write_quorum, .. } => {
            let write_quorum = write_quorum as usize;
            write_quorum.min(stage.count() + 1 - write_quorum)
        }
        _ => 0,
    };
    let reached = reached(stage);
    stage.settle(&reached)?;
    match alive.len() >= needed {
        true => Ok(alive),
        false => Ok(reached),
    }
}

/// Copies that have power, those that have come back too, whatever they have lost.
fn reached(stage: &Stage<'_, '_>) -> Vec<usize> {
    let (disks, wires) = (&stage.state.disks, &stage.state.wires);
    let mut reached = stage.whole();
    reached.retain(|i| !disks.powerless.contains(i) || wires.mute.contains(i));
    reached
}

/// The server starts where it was, on its volume: if the head lost its power, on whatever copy the
/// survivors of that choose.
pub fn restart(stage: &mut Stage<'_, '_>, nodes: &[usize]) -> Result<()> {
    if !nodes.contains(&stage.state.writer) {
        return Ok(());
    }
    if stage.state.has_lost_head {
        let powered = stage.alive();
        lead(stage, &powered)?;
    }
    let writer = stage.state.writer;
    faults::restart(stage.lab(), writer, true)?;
    Ok(())
}

/// One of these copies leads from now on: by force, where those that are lost may have had more.
fn lead(stage: &mut Stage<'_, '_>, survivors: &[usize]) -> Result<usize> {
    let lost = stage.count().saturating_sub(survivors.len());
    let is_short = match stage.subject.spec.mode {
        Mode::Quorum { write_quorum, .. } => write_quorum as usize <= lost,
        _ => false,
    };
    let may_have_left = lost > 0 && stage.state.alone.went_us.is_some();
    let followers = reached(stage)
        .into_iter()
        .filter(|i| !survivors.contains(i));
    let followers = match stage.subject.spec.mode {
        Mode::Quorum { .. } => followers.count(),
        _ => 0,
    };
    let remembered = Remembered {
        is_forced: is_short || may_have_left,
        followers,
        ..stage.state.remembered
    };
    let lab = stage.subject.lab_seen();
    let volumes = survivors.iter().map(|&i| lab.volume(i));
    let volumes: Vec<&Volume> = volumes.collect::<Result<_>>()?;
    let takeover = fail_over(&volumes, &lab.copies()?, remembered, LIMIT)?;
    if takeover.is_alone {
        stage.state.remembered.alone_generation = takeover.generation;
    }
    let chosen = survivors[takeover.chosen];
    stage.state.has_lost_head = false;
    // Clients hear nothing of a machine that has lost its power, until a server runs there again.
    stage.power_on(&[chosen])?;
    stage.set_writer(chosen);
    Ok(chosen)
}
