//! What is done to the servers of a lab in a trial, and asked of them, whatever their mode.
//!
//! | | replication | group | Galera |
//! |---|---|---|---|
//! | takes over | a replica is promoted | elects by itself | every node writes |
//! | goes on without a majority | – | its members are forced | its component is made primary |
//! | begins anew | – | a member bootstraps | a node begins a new cluster |
//! | comes back | follows the writer | joins | joins |
//!
//! What a server says against a deed is handed on in its own words, as `Some`: it is a finding.
//! That one does not answer at all is a breakdown. What is only looked at answers soon, whatever
//! servers have been killed or paused: those say nothing.

use std::time::{Duration, Instant};

use super::candidates::{Had, chosen, givers};
use super::component::{self, Component};
use super::gtids::Gtids;
use super::takeover::Promoted;
use super::{binary_logs, fence, galera, regroup, replication, takeover};
use crate::error::{Error, Result, breakdown};
use crate::lab::lab::Lab;
use crate::lab::node::{Node, pause};
use crate::study::ModeSpec;
use crate::study::faults::Promotion;
use crate::study::mode::Family;

const LOOK_AGAIN_EVERY: Duration = Duration::from_millis(20);
/// Members that are gone are given up within so long: a group takes 5 s, Galera 5 to 15 s.
const LOSS_LIMIT: Duration = Duration::from_secs(60);

/// Enters a mode of servers as they were formed, and has those refuse writes that clients must not
/// write to: they find the writer by asking. A group sees to that itself; in Galera there is no
/// such node.
///
/// # Errors
/// A breakdown with the last log lines of a node that does not come to it.
pub fn enter_for_faults(lab: &mut Lab, spec: &ModeSpec) -> Result<()> {
    lab.enter(spec)?;
    if lab.spec.family != Family::Replication {
        return Ok(());
    }
    (1..lab.nodes.len()).try_for_each(|i| fence::close(lab, i))?;
    fence::open(lab, 0)
}

/// Drops all binary logs but the newest of each server: nobody is to read them any more.
///
/// # Errors
/// A breakdown if a server does not answer.
pub fn drop_binary_logs(lab: &mut Lab) -> Result<()> {
    binary_logs::drop_old(lab)
}

/// Starts node `i`'s server again on what its disk holds, unless it runs: `None`, or its last words
/// if it ends instead of joining its cluster.
///
/// It refuses writes from its first moment on, or clients that ask would write to one that has been
/// replaced. As the writer it takes them as soon as it is all that its mode has it be. A member of
/// a group is in no group yet; a node of Galera is in its cluster.
///
/// # Errors
/// A breakdown with its last log lines if it does not come up.
pub fn restart(lab: &mut Lab, i: usize, is_writer: bool) -> Result<Option<String>> {
    if lab.nodes[i].is_up() {
        return Ok(None);
    }
    match lab.spec.family {
        Family::Galera => return galera::rejoin(lab, i),
        Family::Replication => {
            start_refusing(lab, i)?;
            takeover::take_part(lab, i, is_writer)?;
        }
        Family::Group => start_refusing(lab, i)?,
        Family::Mirror | Family::Quorum | Family::Endpoint => {
            lab.nodes[i].kill();
            lab.restart(i)?;
        }
    }
    Ok(None)
}

fn start_refusing(lab: &mut Lab, i: usize) -> Result<()> {
    let word = lab.program.dialect().word("starts_refusing").to_owned();
    // What is left of one that ended by itself.
    lab.nodes[i].kill();
    lab.start(i, &[&word])?;
    lab.nodes[i].wait_accepting()
}

/// All that node `i` has, applied or not.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn received(lab: &mut Lab, i: usize) -> Result<Gtids> {
    match lab.spec.family {
        Family::Replication => takeover::received(lab, i),
        Family::Group => regroup::received(lab, i),
        Family::Galera => Ok(galera::component(&mut lab.nodes[i])?.received()),
        Family::Mirror | Family::Quorum | Family::Endpoint => replication::executed(lab, i),
    }
}

/// What node `i` has executed.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn executed(lab: &mut Lab, i: usize) -> Result<Gtids> {
    match lab.spec.family {
        Family::Group => regroup::executed(lab, i),
        Family::Galera => Ok(galera::component(&mut lab.nodes[i])?.executed()),
        _ => replication::executed(lab, i),
    }
}

/// The same as the server says it, on one line: a set of global ids, or in Galera a place in an
/// order.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn executed_text(lab: &mut Lab, i: usize) -> Result<String> {
    if lab.spec.family == Family::Galera {
        let said = galera::component(&mut lab.nodes[i])?;
        return Ok(format!("{}:{}", said.history, said.last_committed));
    }
    let ask = lab.program.dialect().word("executed_gtids").to_owned();
    let said = lab.nodes[i].value(&ask)?.unwrap_or_default();
    Ok(said.replace('\n', ""))
}

/// How many transactions node `i` has received and not applied.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn behind(lab: &mut Lab, i: usize) -> Result<u64> {
    // In this order: what it applies in between is not counted as still to be applied.
    let received = received(lab, i)?;
    Ok(received.missing_in(&executed(lab, i)?))
}

/// What those of these nodes have that run and answer soon, in their order.
///
/// # Errors
/// A breakdown if one goes away meanwhile.
pub fn had(lab: &mut Lab, among: &[usize]) -> Result<Vec<Had>> {
    let mut all = Vec::new();
    for &node in among {
        if lab.nodes[node].answers() {
            // In this order: what it executes in between it had received.
            let executed = executed(lab, node)?;
            let received = received(lab, node)?;
            all.push(Had {
                node,
                received,
                executed,
            });
        }
    }
    Ok(all)
}

/// The same of those, too, that do not run and can tell what their disks kept: nodes of Galera. Who
/// cannot is left out.
///
/// # Errors
/// A breakdown if one goes away meanwhile.
pub fn kept(lab: &mut Lab, among: &[usize]) -> Result<Vec<Had>> {
    let mut all = had(lab, among)?;
    if lab.spec.family != Family::Galera {
        return Ok(all);
    }
    let mut refused = None;
    for &node in among {
        if lab.nodes[node].is_up() {
            continue;
        }
        match galera::kept(lab, node) {
            Ok(kept) => all.push(Had {
                node,
                received: kept.clone(),
                executed: kept,
            }),
            Err(Error::Breakdown(told)) => refused = Some(Error::Breakdown(told)),
            Err(error) => return Err(error),
        }
    }
    all.sort_by_key(|had| had.node);
    match refused {
        Some(refused) if all.is_empty() => Err(refused),
        _ => Ok(all),
    }
}

/// The nodes that take clients' writes now, by their own account, and would commit them.
pub fn writers(lab: &mut Lab) -> Vec<usize> {
    let mut able = match lab.spec.family {
        Family::Group => regroup::primaries(lab),
        Family::Galera => {
            let all = components(lab, None).into_iter();
            let able = all.filter(|(_, one)| one.is_primary && one.is_ready);
            able.map(|(i, _)| i).collect()
        }
        _ => (0..lab.nodes.len()).collect(),
    };
    able.retain(|&i| lab.nodes[i].takes_writes());
    able
}

/// What the nodes of Galera say that answer soon, all but one.
fn components(lab: &mut Lab, but: Option<usize>) -> Vec<(usize, Component)> {
    let nodes = lab.nodes.iter_mut().enumerate();
    let said = |(i, node): (usize, &mut Node)| {
        let said = node.briefly(|admin| admin.pairs(component::ASK))?;
        Some((i, Component::read(&said)))
    };
    nodes
        .filter(|(i, _)| but != Some(*i))
        .filter_map(said)
        .collect()
}

/// Whether the others of a group or cluster go on without node `i`: they have put it out.
pub fn is_expelled(lab: &mut Lab, i: usize) -> bool {
    match lab.spec.family {
        Family::Group => regroup::is_expelled(lab, i),
        Family::Galera => {
            let others = components(lab, Some(i)).into_iter();
            let others: Vec<Component> = others.map(|(_, one)| one).collect();
            component::go_on_without(&others)
        }
        _ => false,
    }
}

/// Waits until node `i` has executed all that node `with` has by now: `None`, or why it has not, in
/// the server's own words where they are its.
///
/// # Errors
/// A breakdown if either does not answer.
pub fn level(lab: &mut Lab, i: usize, with: usize, limit: Duration) -> Result<Option<String>> {
    let wanted = executed(lab, with)?;
    if lab.spec.family == Family::Replication {
        return takeover::wait_executed(lab, i, &wanted, limit);
    }
    let begun = Instant::now();
    loop {
        let missing = wanted.missing_in(&executed(lab, i)?);
        if missing == 0 {
            return Ok(None);
        }
        if begun.elapsed() > limit {
            let seconds = limit.as_secs();
            let told = format!("it lacks {missing} transactions after {seconds} s");
            return Ok(Some(told));
        }
        pause(LOOK_AGAIN_EVERY)?;
    }
}

/// Whether node `i` follows node `writer` as its replica, and comes to say within `limit` that it
/// has executed all that this one has by now.
///
/// # Errors
/// A breakdown if either does not answer.
pub fn is_level_replica(lab: &mut Lab, i: usize, writer: usize, limit: Duration) -> Result<bool> {
    match lab.spec.family {
        Family::Replication => takeover::is_level(lab, i, writer, limit),
        _ => Ok(false),
    }
}

/// What came of a fail-over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenOver {
    /// Who takes writes now.
    pub chosen: usize,
    /// What each candidate had when it was chosen.
    pub had: Vec<Had>,
    /// Whether the old writer refuses writes, where that was wanted.
    pub is_fenced: Option<bool>,
    /// From whom it could not be given what it lacked, where that was wanted, and why not.
    pub ungiven: Vec<(usize, String)>,
    pub promoted: Promoted,
}

/// Has one of these replicas take over from a writer, as a manager that fails over would: the old
/// one is fenced, one is chosen, it is given what others have, it is promoted, they follow it.
///
/// # Errors
/// A breakdown if no candidate runs, or the chosen one does not answer.
pub fn take_over(
    lab: &mut Lab,
    promotion: Promotion,
    writer: usize,
    among: &[usize],
) -> Result<TakenOver> {
    let fenced = promotion.is_fenced.then(|| fence::fence(lab, writer));
    let is_fenced = fenced.transpose()?;
    let had = had(lab, among)?;
    let none = || breakdown("promote a replica", "no candidate runs");
    let chosen = chosen(&had, promotion.choose).ok_or_else(none)?;
    let mut ungiven = Vec::new();
    if promotion.is_given_others {
        for from in givers(&had, chosen) {
            let told = takeover::give_others(lab, chosen, from)?;
            ungiven.extend(told.map(|words| (from, words)));
        }
    }
    let others: Vec<usize> = had.iter().map(|had| had.node).collect();
    let promoted = takeover::promote(lab, chosen, &others)?;
    Ok(TakenOver {
        chosen,
        had,
        is_fenced,
        ungiven,
        promoted,
    })
}

/// Begins the group or cluster anew with node `i` alone, whatever others have: `None`, or why it
/// refuses. The others are to [`rejoin`].
///
/// # Errors
/// A breakdown with its last log lines if it does not come to it in time.
pub fn bootstrap(lab: &mut Lab, i: usize) -> Result<Option<String>> {
    match lab.spec.family {
        Family::Group => {
            restart(lab, i, false)?;
            regroup::bootstrap(lab, i)
        }
        Family::Galera => galera::bootstrap(lab, i),
        _ => Err(breakdown("begin a group anew", "there is none")),
    }
}

/// Has node `i` go on with these nodes alone, itself among them, as soon as it has lost its
/// majority: `None`, or why it refuses. In Galera those go on that are in its component.
///
/// # Errors
/// A breakdown if it does not answer, or does not come to it in time.
pub fn force_members(lab: &mut Lab, i: usize, members: &[usize]) -> Result<Option<String>> {
    if !loses_majority(lab, i, LOSS_LIMIT)? {
        let seconds = LOSS_LIMIT.as_secs();
        let told = format!("it has its majority after {seconds} s: nothing was forced");
        return Ok(Some(told));
    }
    match lab.spec.family {
        Family::Group => regroup::force_members(lab, i, members),
        _ => force_component(lab, i, members.len()),
    }
}

/// The same of a node of Galera: `None`, or why its component is not so many nodes that may commit.
fn force_component(lab: &mut Lab, i: usize, nodes: usize) -> Result<Option<String>> {
    let refused = galera::bootstrap(lab, i)?;
    if refused.is_some() {
        return Ok(refused);
    }
    let component = galera::component(&mut lab.nodes[i])?;
    Ok(component.why_no_whole_of(nodes))
}

/// Waits until node `i` has lost its majority, by its own account: false if it has not in time. A
/// member that is gone counts for some seconds more. Before that a group refuses to be forced, and
/// a node of Galera takes itself for primary, so that nothing would be done to it.
fn loses_majority(lab: &mut Lab, i: usize, limit: Duration) -> Result<bool> {
    let begun = Instant::now();
    loop {
        let has_majority = match lab.spec.family {
            Family::Group => regroup::view(lab, i)?.has_majority(),
            Family::Galera => galera::component(&mut lab.nodes[i])?.is_primary,
            _ => return Err(breakdown("force the members of a group", "there is none")),
        };
        if !has_majority || begun.elapsed() > limit {
            return Ok(!has_majority);
        }
        pause(LOOK_AGAIN_EVERY)?;
    }
}

/// Has node `i` come back to the node that writes now: as its replica, or into its group or
/// cluster. Its server is started if it does not run. `None`, or why it does not come back.
///
/// # Errors
/// A breakdown with its last log lines if it does not come up, or to it in time.
pub fn rejoin(lab: &mut Lab, i: usize, writer: usize) -> Result<Option<String>> {
    if let Some(words) = restart(lab, i, false)? {
        return Ok(Some(words));
    }
    match lab.spec.family {
        Family::Replication => takeover::rejoin(lab, i, writer),
        Family::Group => regroup::rejoin(lab, i, writer),
        Family::Galera => galera::rejoin(lab, i),
        _ => Err(breakdown("come back to a writer", "no server follows it")),
    }
}

/// The same, but nobody waits for a node of Galera, which may take over a whole state. What others
/// do before they go on by themselves takes a moment only.
///
/// # Errors
/// As of [`rejoin`].
pub fn begin_rejoin(lab: &mut Lab, i: usize, writer: usize) -> Result<Option<String>> {
    match lab.spec.family {
        Family::Galera => galera::begin_rejoin(lab, i).map(|()| None),
        _ => rejoin(lab, i, writer),
    }
}
