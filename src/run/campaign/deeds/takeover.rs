//! Somebody else takes writes from now on, and others come back to it.

use std::time::{Duration, Instant};

use super::copies;
use super::servers::told;
use crate::error::{Result, breakdown};
use crate::lab::mode::faults::{self, TakenOver};
use crate::lab::node::pause;
use crate::run::campaign::roles;
use crate::run::campaign::stage::{Seen, Stage, Trouble};
use crate::study::faults::{Promotion, Target};
use crate::study::mode::Family;

/// Members that were told to take writes do so within so long: they may have to elect one of them.
const LIMIT: Duration = Duration::from_secs(30);
/// Who comes back may have to be given all that happened meanwhile.
const LEVEL_LIMIT: Duration = Duration::from_secs(120);
const STEP: Duration = Duration::from_millis(20);

/// A replica takes over.
pub fn promote(stage: &mut Stage<'_, '_>, promotion: Promotion) -> Result<Seen> {
    stage.deliver()?;
    let begun = Instant::now();
    let seen = match stage.family() {
        Family::Mirror | Family::Quorum => copies::promote(stage, promotion),
        Family::Replication => replica(stage, promotion),
        Family::Group | Family::Galera | Family::Endpoint => {
            let status = "its nodes choose by themselves who takes writes";
            Err(breakdown("promote a replica", status))
        }
    };
    stage.state.recovery = begun.elapsed();
    seen
}

fn replica(stage: &mut Stage<'_, '_>, promotion: Promotion) -> Result<Seen> {
    stage.look_alone()?;
    stage.state.alone.is_over = true;
    let writer = stage.state.writer;
    let islands = &stage.state.wires.islands;
    let among = roles::candidates(stage.count(), writer, islands);
    check_free(stage, &among)?;
    let taken = faults::take_over(stage.lab(), promotion, writer, &among)?;
    stage.set_writer(taken.chosen);
    stage.arm();
    stage.note_candidates(&taken.had, taken.chosen);
    let takes_writes = stage.lab().nodes[taken.chosen].takes_writes();
    let troubles = stage.state.disks.troubles.get(&taken.chosen);
    let is_stalled = troubles.is_some_and(|all| all.contains(&Trouble::Stalled));
    Ok(Seen {
        nodes: vec![taken.chosen],
        bite: Some(takes_writes && is_whole(&taken, is_stalled)),
        said: told(summary(stage, &taken), &remarks(stage, &taken)),
    })
}

/// Whether all of it was done: what is promised afterwards takes that for granted. Appliers that
/// wait for a disk of ours are no server's fault.
fn is_whole(taken: &TakenOver, is_stalled: bool) -> bool {
    let is_held_up = is_stalled && taken.promoted.unapplied.is_some();
    taken.ungiven.is_empty() && taken.is_fenced != Some(false) && !is_held_up
}

/// A replica whose appliers wait for a lock of ours could not be stopped.
fn check_free(stage: &Stage<'_, '_>, among: &[usize]) -> Result<()> {
    let mut blocked = stage.state.blocked.iter();
    match blocked.find(|one| among.contains(&one.node)) {
        Some(one) => {
            let name = stage.names(&[one.node]);
            let status = format!("the appliers of {name} are still blocked");
            Err(breakdown("promote a replica", status))
        }
        None => Ok(()),
    }
}

fn summary(stage: &Stage<'_, '_>, taken: &TakenOver) -> String {
    let had = stage.state.candidates.iter();
    let had = had.map(|one| {
        let name = stage.names(&[usize::from(one.node)]);
        format!(
            "{name} received {}, executed {}",
            one.received, one.executed
        )
    });
    let had: Vec<String> = had.collect();
    let fenced = match taken.is_fenced {
        Some(true) => "; the old writer refuses writes",
        Some(false) => "; the old writer could not be reached",
        None => "",
    };
    let chosen = stage.names(&[taken.chosen]);
    format!("{chosen} took over: {}{fenced}", had.join(", "))
}

/// What servers said against it.
fn remarks(stage: &Stage<'_, '_>, taken: &TakenOver) -> Vec<String> {
    let unapplied = taken.promoted.unapplied.iter();
    let unapplied = unapplied.map(|words| format!("not all was applied: {words}"));
    let astray = taken.promoted.astray.iter();
    let astray = astray.map(|(i, words)| {
        let name = stage.names(&[*i]);
        format!("{name} does not follow: {words}")
    });
    let ungiven = taken.ungiven.iter();
    let ungiven = ungiven.map(|(i, words)| {
        let from = stage.names(&[*i]);
        format!("what {from} has was not given: {words}")
    });
    unapplied.chain(astray).chain(ungiven).collect()
}

/// A group or cluster begins anew with one node.
pub fn bootstrap(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let begun = Instant::now();
    // Only while nobody is alive somebody has to be asked what the disks hold.
    let had = match stage.alive().is_empty() {
        true => stage.holdings()?,
        false => vec![],
    };
    let chosen = match roles::pick(target, &had) {
        Some(chosen) => chosen,
        None => one(stage.nodes_of(target)?)?,
    };
    stage.note_candidates(&had, chosen);
    stage.power_on(&[chosen])?;
    let refused = faults::bootstrap(stage.lab(), chosen)?;
    stage.set_writer(chosen);
    stage.state.recovery = begun.elapsed();
    stage.arm();
    let had = had.iter().map(|had| {
        let name = stage.names(&[had.node]);
        format!("{name} had received {}", had.received.count())
    });
    let had: Vec<String> = had.collect();
    let takes_writes = take_writes(stage, &[chosen])?;
    let said = format!("{} begins anew", stage.names(&[chosen]));
    let words: Vec<String> = refused.iter().cloned().chain(had).collect();
    Ok(Seen {
        nodes: vec![chosen],
        bite: Some(refused.is_none() && takes_writes),
        said: told(said, &words),
    })
}

fn one(nodes: Vec<usize>) -> Result<usize> {
    match nodes[..] {
        [node] => Ok(node),
        _ => Err(breakdown("begin a cluster anew", "more than one is to")),
    }
}

/// Those who are alive are made the whole group or cluster.
pub fn force_members(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    let alive = stage.alive();
    let members: Vec<usize> = nodes.into_iter().filter(|i| alive.contains(i)).collect();
    let Some(&first) = members.first() else {
        return Err(breakdown("force members", "none of them is alive"));
    };
    let begun = Instant::now();
    let writer = stage.writer();
    let by = if members.contains(&writer) {
        writer
    } else {
        first
    };
    let refused = faults::force_members(stage.lab(), by, &members)?;
    if by != writer {
        stage.set_writer(by);
    }
    stage.state.recovery = begun.elapsed();
    stage.arm();
    let takes_writes = take_writes(stage, &members)?;
    let said = format!("{} are the whole", stage.names(&members));
    let words: Vec<String> = refused.iter().cloned().collect();
    Ok(Seen {
        nodes: members,
        bite: Some(refused.is_none() && takes_writes),
        said: told(said, &words),
    })
}

/// Whether one of these comes to take writes, by its own account.
fn take_writes(stage: &mut Stage<'_, '_>, nodes: &[usize]) -> Result<bool> {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        let writers = faults::writers(stage.lab());
        if writers.iter().any(|writer| nodes.contains(writer)) {
            return Ok(true);
        }
        pause(STEP)?;
    }
    Ok(false)
}

/// Nodes come back, and are waited for.
pub fn rejoin(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    stage.deliver()?;
    let words = match stage.subject.has_copies() {
        true => whole_again(stage, &nodes)?,
        false => come_back(stage, &nodes)?,
    };
    stage.arm();
    let back = nodes.len() - words.len();
    Ok(Seen {
        // That a server does not let one come back is a finding.
        bite: words.is_empty().then_some(true),
        said: told(format!("{back} of {} came back", nodes.len()), &words),
        nodes,
    })
}

/// Copies that have power again follow by themselves.
fn whole_again(stage: &mut Stage<'_, '_>, nodes: &[usize]) -> Result<Vec<String>> {
    stage.power_on(nodes)?;
    let count = stage.alive().len();
    let writer = stage.state.writer;
    let volume = stage.lab().volume(writer)?;
    volume.wait_whole(count, copies::LIMIT)?;
    Ok(vec![])
}

/// Why those did not come back that did not, each with its name.
fn come_back(stage: &mut Stage<'_, '_>, nodes: &[usize]) -> Result<Vec<String>> {
    let writer = stage.writer();
    let mut words = Vec::new();
    for &i in nodes.iter().filter(|i| **i != writer) {
        stage.power_on(&[i])?;
        let told = match stage.state.disks.gone.contains(&i) {
            true => Some("its disk is gone".to_owned()),
            false => back_at(stage, i, writer)?,
        };
        words.extend(told.map(|told| format!("{}: {told}", stage.names(&[i]))));
    }
    Ok(words)
}

/// What keeps one from coming back, and from being level. A source may turn one away only after it
/// has begun to follow.
fn back_at(stage: &mut Stage<'_, '_>, i: usize, writer: usize) -> Result<Option<String>> {
    match faults::rejoin(stage.lab(), i, writer)? {
        None => faults::level(stage.lab(), i, writer, LEVEL_LIMIT),
        told => Ok(told),
    }
}

/// Nodes begin to come back, and nobody waits for them.
pub fn begin_rejoin(stage: &mut Stage<'_, '_>, target: Target) -> Result<Seen> {
    let nodes = stage.nodes_of(target)?;
    stage.deliver()?;
    stage.power_on(&nodes)?;
    let writer = stage.writer();
    let mut words = Vec::new();
    for &i in nodes.iter().filter(|i| **i != writer) {
        words.extend(faults::begin_rejoin(stage.lab(), i, writer)?);
    }
    stage.arm();
    let up = nodes.iter().filter(|&&i| stage.lab().nodes[i].is_up());
    let up = up.count();
    Ok(Seen {
        bite: words.is_empty().then_some(up == nodes.len()),
        said: told(format!("{up} of {} have begun", nodes.len()), &words),
        nodes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::mode::takeover::Promoted;

    #[test]
    fn what_was_carried_out_in_part_is_not_whole() {
        let taken = |is_fenced, ungiven: &[&str], unapplied: Option<&str>| TakenOver {
            chosen: 1,
            had: vec![],
            is_fenced,
            ungiven: ungiven
                .iter()
                .map(|words| (2, (*words).to_owned()))
                .collect(),
            promoted: Promoted {
                unapplied: unapplied.map(str::to_owned),
                astray: vec![],
            },
        };
        for is_fenced in [Some(true), None] {
            assert!(
                is_whole(&taken(is_fenced, &[], None), true),
                "{is_fenced:?}"
            );
        }
        assert!(!is_whole(&taken(Some(false), &[], None), false));
        assert!(!is_whole(&taken(None, &["it lacks 3"], None), false));
        let torn = taken(Some(true), &[], Some("a torn event"));
        assert!(is_whole(&torn, false), "the server's own word is a finding");
        assert!(!is_whole(&torn, true), "its disk stands still");
    }
}
