//! A group after faults: what its members say, and what an operator does for it.
//!
//! Group Replication elects a new primary by itself, and puts out whom it does not hear. What it
//! cannot do without an operator: go on without its majority, begin again when all have left, and
//! take back a member that has given up.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::group::{group_address, set_consistency};
use super::gtids::Gtids;
use super::members::{ASK, State, View};
use super::replication;
use crate::error::Result;
use crate::lab::lab::{Lab, READY_LIMIT};
use crate::lab::node::{Node, pause};
use crate::study::Mode;

/// All that is ordered and certified, and not applied yet, stands in this channel's relay log
/// (MySQL's manual, "Restarting a Group").
const RECEIVED: &str = "SELECT RECEIVED_TRANSACTION_SET \
                        FROM performance_schema.replication_connection_status \
                        WHERE CHANNEL_NAME = 'group_replication_applier'";
/// Nothing that is asked then waits for the group, at whatever level new sessions are.
pub const CALM: &str = "SET SESSION group_replication_consistency = 'EVENTUAL'";
const START: &str = "START GROUP_REPLICATION";
const STOP: &str = "STOP GROUP_REPLICATION";
const LOOK_AGAIN_EVERY: Duration = Duration::from_millis(50);

/// The group as node `i` sees it.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn view(lab: &mut Lab, i: usize) -> Result<View> {
    let addresses = addresses(lab);
    look(&mut lab.nodes[i], i, &addresses)
}

/// The group as each node sees it that answers soon.
pub fn views(lab: &mut Lab) -> Vec<View> {
    let addresses = addresses(lab);
    let nodes = lab.nodes.iter_mut().enumerate();
    let look = |(i, node): (usize, &mut Node)| {
        let rows = node.briefly(|admin| {
            admin.run(CALM)?;
            admin.rows(ASK)
        })?;
        Some(View::read(i, &rows, &addresses))
    };
    nodes.filter_map(look).collect()
}

/// As members are named in each other's views.
fn addresses(lab: &Lab) -> Vec<String> {
    let nodes = lab.nodes.iter();
    nodes.map(|node| node.place.address.to_string()).collect()
}

fn look(node: &mut Node, i: usize, addresses: &[String]) -> Result<View> {
    node.run(CALM)?;
    Ok(View::read(i, &node.rows(ASK)?, addresses))
}

/// What node `i` has executed, and what it has received besides: ordered by the group, certified,
/// and still to be applied.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn received(lab: &mut Lab, i: usize) -> Result<Gtids> {
    let executed = executed(lab, i)?;
    let received = lab.nodes[i].value(RECEIVED)?.unwrap_or_default();
    Ok(executed.union(&Gtids::read(&received)))
}

/// What node `i` has executed.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn executed(lab: &mut Lab, i: usize) -> Result<Gtids> {
    lab.nodes[i].run(CALM)?;
    replication::executed(lab, i)
}

/// The primaries that a majority agrees with: one, none while it is being elected or nobody has a
/// majority, and two if the group has been split by force. In a group of several primaries all.
pub fn primaries(lab: &mut Lab) -> Vec<usize> {
    let views = views(lab);
    let able = views.iter().filter(|view| view.has_majority());
    let all: BTreeSet<usize> = able.flat_map(View::primaries).collect();
    all.into_iter().collect()
}

/// Whether a group goes on somewhere that node `i` is no member of any more.
pub fn is_expelled(lab: &mut Lab, i: usize) -> bool {
    let views = views(lab);
    let mut others = views.iter().filter(|view| view.by != i);
    others.any(|view| view.goes_on_without(i))
}

/// How a member stands by its own account: what became of it when it lost the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub state: State,
    pub has_majority: bool,
    pub refuses_writes: bool,
}

/// How node `i` stands.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn standing(lab: &mut Lab, i: usize) -> Result<Standing> {
    let view = view(lab, i)?;
    Ok(Standing {
        state: view.own(),
        has_majority: view.has_majority(),
        refuses_writes: lab.nodes[i].refuses_writes()?,
    })
}

/// Has node `i`, which has lost its majority, go on with these members alone, itself among them:
/// `None`, or why it refuses. Whoever else is alive is shut out, and may go on as well.
///
/// # Errors
/// A breakdown if it does not answer, or these do not become a group in time.
pub fn force_members(lab: &mut Lab, i: usize, members: &[usize]) -> Result<Option<String>> {
    let addresses = members.iter().map(|&i| group_address(&lab.nodes[i]));
    let addresses = addresses.collect::<Vec<_>>().join(",");
    let set = |value: &str| format!("SET GLOBAL group_replication_force_members = '{value}'");
    let node = &mut lab.nodes[i];
    let refused = node.refusal_of(&set(&addresses))?;
    // As long as it says anything, the server does not start the plugin again.
    node.refusal_of(&set(""))?;
    if refused.is_some() {
        return Ok(refused);
    }
    wait_for(lab, i, "the forced members are ONLINE", |view| {
        view.is_whole(members)
    })?;
    Ok(None)
}

/// Begins the group anew with node `i`, whose server runs: `None`, or why it refuses. Nobody is
/// asked whether another has more; who has cannot join it then.
///
/// # Errors
/// A breakdown if it does not answer, or does not become a primary in time.
pub fn bootstrap(lab: &mut Lab, i: usize) -> Result<Option<String>> {
    leave(lab, i)?;
    let node = &mut lab.nodes[i];
    node.run("SET GLOBAL group_replication_bootstrap_group = ON")?;
    let started = node.refusal_of(START);
    // Left on, its next start would found a group of its own.
    let left_off = node.run("SET GLOBAL group_replication_bootstrap_group = OFF");
    if let Some(words) = started? {
        return Ok(Some(words));
    }
    left_off?;
    keep_consistency(lab, i)?;
    wait_for(lab, i, "it is the primary", |view| {
        view.has_majority() && view.primaries().contains(&i)
    })?;
    // It applies what it had received before it takes writes.
    lab.nodes[i].wait_until("it takes writes", READY_LIMIT, |node| {
        Ok(!node.refuses_writes()?)
    })?;
    Ok(None)
}

/// Has node `i`, whose server runs, come back into the group that node `with` is in: `None`, or why
/// it cannot. One that is in it waits until it hears a majority; one that has given up, is in a
/// group of its own, or has been in none since its start, leaves and joins.
///
/// # Errors
/// A breakdown if it does not answer, or neither joins nor gives up in time.
pub fn rejoin(lab: &mut Lab, i: usize, with: usize) -> Result<Option<String>> {
    let begun = Instant::now();
    let mut is_started = false;
    while begun.elapsed() < READY_LIMIT {
        let view = view(lab, i)?;
        if !view.is_out_of_group_of(with) {
            if view.own() == State::Online && view.has_majority() {
                return Ok(None);
            }
        } else if is_started {
            let status = format!("its state is {:?}", view.own());
            let told = lab.nodes[i].breakdown("join its group", &status);
            return Ok(Some(told.to_string()));
        } else {
            leave(lab, i)?;
            if let Some(words) = lab.nodes[i].refusal_of(START)? {
                return Ok(Some(words));
            }
            keep_consistency(lab, i)?;
            is_started = true;
        }
        pause(LOOK_AGAIN_EVERY)?;
    }
    let status = format!("not ONLINE after {} s", READY_LIMIT.as_secs());
    Err(lab.nodes[i].breakdown("come back into its group", &status))
}

/// Ends what node `i` has of a group: also the tries to join again of one that was put out.
fn leave(lab: &mut Lab, i: usize) -> Result<()> {
    if view(lab, i)?.own() != State::Offline {
        // One that has left meanwhile refuses: that is what was wanted.
        lab.nodes[i].refusal_of(STOP)?;
    }
    Ok(())
}

/// A server that was started anew has forgotten the level that its mode set.
fn keep_consistency(lab: &mut Lab, i: usize) -> Result<()> {
    match lab.entered().map(|spec| spec.mode) {
        Some(Mode::Group { consistency } | Mode::GroupMulti { consistency }) => {
            set_consistency(&mut lab.nodes[i], consistency)
        }
        _ => Ok(()),
    }
}

fn wait_for(lab: &mut Lab, i: usize, what: &str, is_so: impl Fn(&View) -> bool) -> Result<()> {
    let addresses = addresses(lab);
    lab.nodes[i].wait_until(what, READY_LIMIT, |node| {
        Ok(is_so(&look(node, i, &addresses)?))
    })
}
