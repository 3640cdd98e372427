//! Disks stall, are slow, are full, fail, and are as before.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::lab::disk::{Condition, Knock, Volume};
use crate::run::campaign::stage::{Seen, Stage, Trouble, passes_by};
use crate::study::disk::{Delay, Disk};
use crate::study::faults::Target;

/// A write that is not over after so long waits.
const PATIENCE: Duration = Duration::from_millis(300);
/// One that must be over, but may stand behind others.
const LONG_PATIENCE: Duration = Duration::from_secs(10);
/// A file system has so much room left at most over what was to be left: what it says goes by
/// blocks.
const ROOM_BYTES: u64 = 64 << 10;

/// Requests wait from now on.
pub fn stall(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    each(stage, &nodes, |volume, _| volume.stall())?;
    note(stage, &nodes, Trouble::Stalled);
    stage.arm();
    see(stage, nodes, |volume, is_shown| {
        let knock = is_shown.then_some((PATIENCE, Knock::Waits));
        shows(volume, Condition::Stalled, knock)
    })
}

/// What was done to the disks is undone.
pub fn resume(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    let troubles = stage.state.disks.troubles.iter();
    let touched = troubles.filter(|(_, troubles)| !troubles.is_empty());
    let is_astray = passes_by(touched.map(|(i, _)| i), &nodes);
    let mut undone = Vec::new();
    for &i in &nodes {
        let troubles = stage.state.disks.troubles.remove(&i).unwrap_or_default();
        let volume = stage.subject.lab_seen().volume(i)?;
        for trouble in troubles {
            match trouble {
                Trouble::Stalled => volume.go_on()?,
                Trouble::Slowed(_) => volume.set(stage.subject.disk(i))?,
                Trouble::Filled(_) => volume.free()?,
            }
            undone.push((i, trouble));
        }
    }
    stage.arm();
    let mut seen = see(stage, nodes, |volume, is_shown| {
        let knock = is_shown.then_some((LONG_PATIENCE, Knock::Done));
        shows(volume, Condition::Works, knock)
    })?;
    undone.retain(|(i, trouble)| match trouble {
        // Its own flushes take as long.
        Trouble::Slowed(flush) if stage.subject.disk(*i).flush.median() >= *flush => false,
        _ => is_shown(stage, *i),
    });
    for (i, trouble) in undone {
        let volume = stage.subject.lab_seen().volume(i)?;
        if let Some((is_over, words)) = is_over(volume, trouble)? {
            seen.bite = seen.bite.map(|bite| bite && is_over);
            seen.said.push_str("; ");
            seen.said.push_str(&words);
        }
    }
    if is_astray {
        seen.bite = Some(false);
        seen.said.push_str("; another disk was touched");
    }
    Ok(seen)
}

/// Whether a disk is as it was before this, and what says so; `None` where a write that is done
/// says it.
fn is_over(volume: &Volume, trouble: Trouble) -> Result<Option<(bool, String)>> {
    Ok(match trouble {
        Trouble::Stalled => None,
        Trouble::Slowed(flush) => {
            let until = Instant::now() + LONG_PATIENCE;
            let mut is_slow = volume.flushes_take(flush)?;
            // It may stand behind others, which began before.
            while is_slow && Instant::now() < until {
                is_slow = volume.flushes_take(flush)?;
            }
            let than = if is_slow { "as long as before" } else { "less" };
            Some((!is_slow, format!("a flush takes {than}")))
        }
        Trouble::Filled(left_bytes) => {
            let free_bytes = volume.free_bytes()?;
            let has_room = free_bytes > left_bytes.saturating_add(ROOM_BYTES);
            Some((has_room, format!("{free_bytes} bytes are free")))
        }
    })
}

/// Flushes take so long.
pub fn slow(stage: &mut Stage<'_, '_>, target: Target, flush: Duration) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    each(stage, &nodes, |volume, disk| {
        volume.set(Disk {
            flush: Delay::Constant(flush),
            ..disk
        })
    })?;
    note(stage, &nodes, Trouble::Slowed(flush));
    stage.arm();
    let are_shown = nodes.iter().all(|&i| is_shown(stage, i));
    let seen = see(stage, nodes, |volume, is_shown| match is_shown {
        true => {
            let is_slow = volume.flushes_take(flush)?;
            let than = if is_slow { "as long" } else { "less" };
            Ok((is_slow, format!("a flush takes {than}")))
        }
        false => condition(volume, Condition::Works),
    })?;
    Ok(Seen {
        // How long flushes take cannot be seen of a copy that follows.
        bite: seen.bite.filter(|bite| are_shown || !bite),
        ..seen
    })
}

/// There is no room but for so many bytes.
pub fn fill(stage: &mut Stage<'_, '_>, target: Target, leave_bytes: u64) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    each(stage, &nodes, |volume, _| {
        volume.fill(leave_bytes).map(drop)
    })?;
    note(stage, &nodes, Trouble::Filled(leave_bytes));
    stage.arm();
    see(stage, nodes, |volume, _| {
        let free_bytes = volume.free_bytes()?;
        let is_full = free_bytes <= leave_bytes.saturating_add(ROOM_BYTES);
        Ok((is_full, format!("{free_bytes} bytes are free")))
    })
}

/// Every request is answered with an error.
pub fn fail(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    stage.look_alone()?;
    each(stage, &nodes, |volume, _| volume.fail())?;
    stage.state.disks.failed.extend(&nodes);
    stage.arm();
    see(stage, nodes, |volume, is_shown| {
        let knock = is_shown.then_some((LONG_PATIENCE, Knock::Failed));
        shows(volume, Condition::Fails, knock)
    })
}

/// Does something to each of these nodes' disks, each with what it is asked to be.
fn each(
    stage: &Stage<'_, '_>,
    nodes: &[usize],
    act: impl Fn(&Volume, Disk) -> Result<()>,
) -> Result<()> {
    let lab = stage.subject.lab_seen();
    let mut nodes = nodes.iter();
    nodes.try_for_each(|&i| act(lab.volume(i)?, stage.subject.disk(i)))
}

fn note(stage: &mut Stage<'_, '_>, nodes: &[usize], trouble: Trouble) {
    let disks = &mut stage.state.disks;
    disks.were_in_trouble = true;
    for &i in nodes {
        disks.troubles.entry(i).or_default().insert(trouble);
    }
}

/// Looks at each disk, which may show a file system or not.
fn see(
    stage: &Stage<'_, '_>,
    nodes: Vec<usize>,
    look: impl Fn(&Volume, bool) -> Result<(bool, String)>,
) -> Result<Seen> {
    let lab = stage.subject.lab_seen();
    let mut bite = true;
    let mut said = Vec::new();
    for &i in &nodes {
        let (is_so, words) = look(lab.volume(i)?, is_shown(stage, i))?;
        bite &= is_so;
        said.push(format!("{}: {words}", lab.nodes[i].name()));
    }
    Ok(Seen {
        nodes,
        bite: Some(bite),
        said: said.join("; "),
    })
}

/// Whether a node's volume shows a file system, as a copy that follows does not.
fn is_shown(stage: &Stage<'_, '_>, i: usize) -> bool {
    !stage.subject.has_copies() || i == stage.state.writer
}

/// Whether a disk is in that condition by its own account, and, where one can be tried, that comes
/// of a write within so long. A write alone may wait, or fail, for other reasons.
fn shows(
    volume: &Volume,
    wanted: Condition,
    knock: Option<(Duration, Knock)>,
) -> Result<(bool, String)> {
    let (is_so, words) = condition(volume, wanted)?;
    match knock.filter(|_| is_so) {
        Some((patience, comes)) => answer(volume, patience, comes),
        None => Ok((is_so, words)),
    }
}

fn answer(volume: &Volume, patience: Duration, wanted: Knock) -> Result<(bool, String)> {
    let got = volume.knock(patience)?;
    let words = match got {
        Knock::Done => "a write is done",
        Knock::Failed => "a write fails",
        Knock::Waits => "a write waits",
    };
    Ok((got == wanted, words.to_owned()))
}

fn condition(volume: &Volume, wanted: Condition) -> Result<(bool, String)> {
    let got = volume.condition()?;
    let words = match got {
        Condition::Works => "it works",
        Condition::Stalled => "it stalls",
        Condition::Fails => "it fails",
        Condition::NoPower => "it has no power",
        Condition::Destroyed => "it is gone",
    };
    Ok((got == wanted, words.to_owned()))
}
