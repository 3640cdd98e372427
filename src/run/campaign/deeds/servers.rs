//! Servers are killed, stand still, start again; their appliers wait.

use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill as signal};
use nix::unistd::Pid;

use super::copies;
use crate::error::Result;
use crate::lab::disk::Condition;
use crate::lab::mode::{blocked, faults};
use crate::lab::node::{Node, pause as rest};
use crate::lab::servers::datadir::DATABASE;
use crate::run::campaign::schedule::halt_in_flight;
use crate::run::campaign::stage::{Seen, Stage, passes_by};
use crate::study::faults::{Leaves, Target};

/// A signal is obeyed, appliers are seen to do nothing, or to go on, within so long.
const LIMIT: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(2);
/// What a server had answered before it stood still has arrived after so long.
const SETTLES: Duration = Duration::from_millis(50);
/// Appliers that execute nothing for so long, and have more, wait.
const STILL: Duration = Duration::from_millis(100);

/// How many servers ran, and how many of their processes are gone.
pub struct Ended {
    ran: usize,
    gone: usize,
}

impl Ended {
    pub fn are_gone(&self) -> bool {
        self.ran == self.gone
    }

    pub fn said(&self) -> String {
        format!("{} of {} servers have ended", self.gone, self.ran)
    }
}

/// Ends the servers of these nodes by SIGKILL, all at one moment: to wait for the end of one takes
/// a while.
pub fn end(stage: &mut Stage<'_, '_>, nodes: &[usize]) -> Ended {
    let lab = stage.lab();
    // One that has ended by itself is nobody's to end.
    let pid_of = |i: &usize| {
        let node = &mut lab.nodes[*i];
        match node.is_up() {
            true => node.pid(),
            false => None,
        }
    };
    let pids: Vec<u32> = nodes.iter().filter_map(pid_of).collect();
    for pid in &pids {
        // They are our children, not waited for yet: nobody else has these numbers.
        let _ = signal(Pid::from_raw(*pid as i32), Signal::SIGKILL);
    }
    nodes.iter().for_each(|&i| lab.nodes[i].kill());
    let is_gone = |pid: &&u32| !Path::new(&format!("/proc/{pid}")).exists();
    let gone = pids.iter().filter(is_gone).count();
    stage.forget(nodes);
    Ended {
        ran: pids.len(),
        gone,
    }
}

/// SIGKILL. Where it is to befall a commit on its way, servers stand still a moment before.
pub fn kill(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    stage.look_alone()?;
    if stage.state.is_for_in_flight {
        let lab = stage.lab();
        let running = nodes.iter().filter(|&&i| lab.nodes[i].is_up());
        let running: Vec<usize> = running.copied().collect();
        halt_in_flight(
            stage,
            |stage| {
                signal_each(stage, &running, Node::pause)?;
                wait_still(stage, &running)?;
                rest(SETTLES)
            },
            |stage| signal_each(stage, &running, Node::resume),
        )?;
    }
    let ended = end(stage, &nodes);
    stage.arm();
    for &i in &nodes {
        note_loss_of_power(stage, i)?;
    }
    Ok(Seen {
        nodes,
        bite: Some(ended.ran > 0 && ended.are_gone()),
        said: ended.said(),
    })
}

/// A server whose disk waits for copies out of reach can only be ended with its disk. That loses
/// nothing by it.
fn note_loss_of_power(stage: &mut Stage<'_, '_>, i: usize) -> Result<()> {
    let is_new = !stage.state.disks.powerless.contains(&i);
    let condition = stage.lab().volume(i)?.condition()?;
    if is_new && condition == Condition::NoPower {
        let cut = Leaves::Everything.cut_of(stage.seed, i);
        stage.state.disks.uncut.insert(i, (cut, stage.state.step));
        stage.state.disks.powerless.insert(i);
        stage.state.has_lost_head |= i == stage.state.writer;
    }
    Ok(())
}

/// SIGSTOP.
pub fn pause(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    stage.look_alone()?;
    stage.state.paused.extend(&nodes);
    signal_each(stage, &nodes, Node::pause)?;
    stage.arm();
    let count = wait_still(stage, &nodes)?;
    Ok(Seen {
        bite: Some(count == nodes.len()),
        said: format!("{count} of {} servers stand still", nodes.len()),
        nodes,
    })
}

/// Waits until servers that were told to stand still do so: how many of them do.
fn wait_still(stage: &Stage<'_, '_>, nodes: &[usize]) -> Result<usize> {
    let begun = Instant::now();
    loop {
        let lab = stage.subject.lab_seen();
        let still = nodes.iter().filter(|&&i| lab.nodes[i].is_paused());
        let still = still.count();
        if still == nodes.len() || begun.elapsed() > LIMIT {
            return Ok(still);
        }
        rest(STEP)?;
    }
}

fn signal_each(
    stage: &mut Stage<'_, '_>,
    nodes: &[usize],
    send: fn(&Node) -> Result<()>,
) -> Result<()> {
    nodes.iter().try_for_each(|&i| send(&stage.lab().nodes[i]))
}

/// SIGCONT.
pub fn resume(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    let is_astray = passes_by(&stage.state.paused, &nodes);
    for &i in &nodes {
        stage.lab().nodes[i].resume()?;
        stage.state.paused.remove(&i);
    }
    stage.arm();
    let mut going = 0;
    for &i in &nodes {
        let node = &mut stage.lab().nodes[i];
        going += usize::from(node.is_up() && !node.is_paused());
    }
    Ok(Seen {
        bite: Some(going == nodes.len() && !is_astray),
        said: format!("{going} of {} servers go on", nodes.len()),
        nodes,
    })
}

/// Servers start on what their disks hold.
pub fn restart(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    stage.deliver()?;
    let begun = Instant::now();
    stage.power_on(&nodes)?;
    let mut words = Vec::new();
    if stage.subject.has_copies() {
        copies::restart(stage, &nodes)?;
    } else {
        for &i in &nodes {
            words.extend(start(stage, i)?);
        }
    }
    stage.state.recovery = begun.elapsed();
    stage.arm();
    let back = nodes.iter().filter(|&&i| stage.is_back(i)).count();
    let is_whole = back == nodes.len();
    Ok(Seen {
        // That one ends with words of its own is a finding.
        bite: words.is_empty().then_some(is_whole),
        said: told(format!("{back} of {} are back", nodes.len()), &words),
        nodes,
    })
}

/// Starts one: what it says if it ends instead.
fn start(stage: &mut Stage<'_, '_>, i: usize) -> Result<Option<String>> {
    if stage.state.disks.gone.contains(&i) {
        return Ok(Some(format!("{}: its disk is gone", stage.names(&[i]))));
    }
    let is_writer = i == stage.state.writer;
    if is_writer {
        stage.state.alone.begin_again();
    }
    let told = faults::restart(stage.lab(), i, is_writer)?;
    Ok(told.map(|words| format!("{}: {words}", stage.names(&[i]))))
}

/// A session of ours holds a lock that appliers wait for.
pub fn block(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    let tables = ["accounts", "transfers"].map(|table| format!("{DATABASE}.{table}"));
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    for &i in &nodes {
        let held = blocked::block_appliers(stage.lab(), i, &tables)?;
        stage.state.blocked.push(held);
    }
    stage.arm();
    let mut still = 0;
    for &i in &nodes {
        still += usize::from(applies_nothing(stage, i)?);
    }
    Ok(Seen {
        bite: Some(still == nodes.len()),
        said: format!("{still} of {} receive and apply nothing", nodes.len()),
        nodes,
    })
}

/// Whether a node comes to have received what it does not execute for a while.
fn applies_nothing(stage: &mut Stage<'_, '_>, i: usize) -> Result<bool> {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        let before = faults::executed(stage.lab(), i)?;
        rest(STILL)?;
        if faults::executed(stage.lab(), i)? == before && faults::behind(stage.lab(), i)? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The lock is let go.
pub fn free(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    let are_held = |i: &&usize| stage.state.blocked.iter().any(|one| one.node == **i);
    let nodes: Vec<usize> = nodes.iter().filter(are_held).copied().collect();
    let gone = stage.free(&nodes);
    stage.arm();
    Ok(Seen {
        // Where no lock is held any more there is nothing to see.
        bite: (!nodes.is_empty()).then_some(gone == nodes.len()),
        said: format!("{gone} of {} let go of their locks", nodes.len()),
        nodes,
    })
}

/// What was seen, and what servers said.
pub fn told(seen: String, words: &[String]) -> String {
    let one_line = words.iter().map(|words| words.replace('\n', " "));
    let all: Vec<String> = std::iter::once(seen).chain(one_line).collect();
    all.join("; ")
}
