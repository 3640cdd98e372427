//! Modes: how each family of ways to replicate is set up, formed, switched and known to be ready.
//! One file per family; this one says what all have in common and chooses. What is done to servers
//! in trials is chosen in `faults`.

mod binary_logs;
pub mod blocked;
pub mod candidates;
pub mod component;
mod copies;
pub mod faults;
pub mod fence;
pub mod galera;
mod group;
mod gtids;
pub mod members;
pub mod regroup;
mod replica;
mod replication;
mod semisync;
pub mod takeover;

use std::ops::Range;
use std::time::{Duration, Instant};

use super::disk::{CopySet, VolumeSpec};
use super::lab::Lab;
use super::node::pause;
use super::options::Settings;
use crate::error::{Result, breakdown};
use crate::study::mode::Family;
use crate::study::{Mode, ModeSpec, WhenShort};

pub use gtids::Gtids;
pub use replication::Company;

/// How long replicas may take to apply what came before: a refill, or what an earlier load left
/// them. One that applies a 23rd of what is committed takes minutes for seconds.
pub const CATCH_UP_LIMIT: Duration = Duration::from_secs(600);
/// What the writer changes for others to be seen to apply it: the lab's heartbeat.
const CHANGE: &str = "UPDATE acklab_lab.heartbeat SET beat = beat + 1 WHERE id = 1";
/// How long one look at that may take.
const CATCH_UP_LOOK: Duration = Duration::from_secs(5);

/// What the family needs of node `i`'s option file.
pub(super) fn settings(lab: &Lab, i: usize) -> Settings {
    match lab.spec.family {
        Family::Replication => replication::settings(lab, i),
        Family::Group => group::settings(lab, i),
        Family::Galera => galera::settings(lab, i),
        Family::Mirror | Family::Quorum => copies::settings(lab, i),
        Family::Endpoint => Settings::default(),
    }
}

/// Starts all servers and joins them, up to where any mode of the family can be entered.
pub(super) fn form(lab: &mut Lab) -> Result<()> {
    match lab.spec.family {
        Family::Replication => replication::form(lab),
        Family::Group => group::form(lab),
        Family::Galera => galera::form(lab),
        Family::Mirror | Family::Quorum => copies::form(lab),
        Family::Endpoint => Err(breakdown("form a lab", "an endpoint is somebody else's")),
    }
}

/// The same on what their disks hold, which was all alike when they were stopped.
pub(super) fn form_again(lab: &mut Lab) -> Result<()> {
    match lab.spec.family {
        Family::Galera => galera::form_again(lab),
        _ => form(lab),
    }
}

/// Gives each node a copy of one volume, on which the first node's server stands.
pub(super) fn make_copies(lab: &mut Lab, specs: Vec<VolumeSpec>) -> Result<()> {
    copies::make_disks(lab, specs)
}

/// Where the copies of its volume are, and what its mode holds them to.
pub(super) fn group_of_copies(lab: &Lab) -> Result<CopySet> {
    copies::group(lab)
}

/// Has no server apply another's changes until a mode is entered.
pub(super) fn hold(lab: &mut Lab) -> Result<()> {
    match lab.spec.family {
        Family::Replication => replication::stop_replicas(lab),
        Family::Group | Family::Galera | Family::Mirror | Family::Quorum | Family::Endpoint => {
            Ok(())
        }
    }
}

/// Switches running servers to a mode and waits until it is in force and all nodes caught up.
pub(super) fn enter(lab: &mut Lab, spec: &ModeSpec) -> Result<()> {
    let (members, all) = (lab.members(spec).len(), lab.nodes.len());
    match lab.spec.family {
        Family::Replication => {
            replication::enter(lab, spec)?;
            wait_applying(lab, members)?;
        }
        Family::Group => {
            group::enter(lab, spec)?;
            binary_logs::begin(lab)?;
            wait_applying(lab, all)?;
        }
        Family::Galera => {
            galera::enter(lab, spec)?;
            binary_logs::begin(lab)?;
            wait_applying(lab, all)?;
        }
        Family::Mirror | Family::Quorum => {
            copies::enter(lab, spec)?;
            binary_logs::begin(lab)?;
        }
        Family::Endpoint => {
            return Err(breakdown("enter a mode", "an endpoint is somebody else's"));
        }
    }
    match lab.spec.family {
        // A replica that is held still needs them.
        Family::Replication if members < all => Ok(()),
        _ => binary_logs::drop_old(lab),
    }
}

/// Waits until the first `members` nodes have applied a change that the writer makes now. Being
/// level by GTID says nothing of appliers that were just started: members of a group were seen to
/// apply nothing for up to a minute then, with a CPU each (why, is not known).
fn wait_applying(lab: &mut Lab, members: usize) -> Result<()> {
    if members > 1 {
        lab.nodes[0].run(CHANGE)?;
    }
    for i in 1..members {
        if !catch_up(lab, i, CATCH_UP_LIMIT)? {
            return Err(lab.nodes[i].breakdown("apply what the writer changed", "not so in time"));
        }
    }
    Ok(())
}

/// Waits until node `i` has applied all that the others have committed, in many looks: in between,
/// a request to stop and the death of a server are heard.
pub(super) fn catch_up(lab: &mut Lab, i: usize, limit: Duration) -> Result<bool> {
    let deadline = Instant::now() + limit;
    let mut standing = galera::Standing::default();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let look = left.min(CATCH_UP_LOOK);
        let is_level = match lab.spec.family {
            Family::Galera => {
                let is_level = galera::catch_up(lab, i, look)?;
                if !is_level {
                    standing.look(&mut lab.nodes[i])?;
                }
                is_level
            }
            Family::Group => group::catch_up(lab, i, look)?,
            Family::Replication => replication::catch_up(lab, i, look)?,
            // No server follows the writer.
            Family::Mirror | Family::Quorum | Family::Endpoint => true,
        };
        if is_level || Instant::now() >= deadline {
            return Ok(is_level);
        }
        lab.check_alive()?;
        pause(Duration::from_millis(20))?;
    }
}

/// Has these replicas of a source apply nothing from now on; they go on receiving.
pub(super) fn hold_appliers(lab: &mut Lab, replicas: Range<usize>) -> Result<()> {
    replication::hold_appliers(lab, replicas)
}

/// Has them apply again.
pub(super) fn start_appliers(lab: &mut Lab, replicas: Range<usize>) -> Result<()> {
    replication::start_appliers(lab, replicas)
}

/// What node `i` has committed or applied.
pub(super) fn executed(lab: &mut Lab, i: usize) -> Result<Gtids> {
    replication::executed(lab, i)
}

/// Waits until replica `i` has received all of these.
pub(super) fn wait_received(lab: &mut Lab, i: usize, gtids: &Gtids) -> Result<()> {
    replication::wait_received(lab, i, gtids)
}

/// What the writer's own counters say of its company; `None` where its mode never goes on alone.
/// `before` is what it said when it was last asked, if it was.
///
/// # Errors
/// A breakdown if it does not answer.
pub fn company(
    lab: &mut Lab,
    writer: usize,
    mode: &Mode,
    before: Option<Company>,
) -> Result<Option<Company>> {
    match mode {
        Mode::Semisync { .. } => replication::company(lab, writer).map(Some),
        Mode::Mirror {
            when_short: WhenShort::Degrade,
            ..
        } => copies::company(lab, writer, before).map(Some),
        _ => Ok(None),
    }
}
