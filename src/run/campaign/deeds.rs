//! What a step does, and how that is seen: one file for each kind of thing that it is done to.

mod copies;
mod disks;
mod links;
mod power_cut;
mod servers;
mod takeover;

use super::stage::{Seen, Stage};
use crate::error::Result;
use crate::lab::link::Change;
use crate::study::faults::Deed;

/// Does a deed, and looks whether it bites.
///
/// # Errors
/// A breakdown if it cannot be done, or nothing can be looked at: nobody knows then what was done.
pub fn perform(stage: &mut Stage<'_, '_>, deed: Deed) -> Result<Seen> {
    match deed {
        Deed::CutLinks(between) => links::change(stage, between, Change::Cut),
        Deed::LoseOnLinks(between, share) => links::change(stage, between, Change::Lose(share)),
        Deed::SlowLinks(between, by) => links::change(stage, between, Change::Slower(by)),
        Deed::HealLinks => links::heal(stage),
        Deed::StallDisk(target) => disks::stall(stage, target),
        Deed::ResumeDisk(target) => disks::resume(stage, target),
        Deed::SlowDisk(target, flush) => disks::slow(stage, target, flush),
        Deed::FillDisk(target, leave_bytes) => disks::fill(stage, target, leave_bytes),
        Deed::FailDisk(target) => disks::fail(stage, target),
        Deed::DestroyDisk(target) => power_cut::destroy(stage, target),
        Deed::PowerCut(target, leaves) => power_cut::cut(stage, target, leaves),
        Deed::Kill(target) => servers::kill(stage, target),
        Deed::Pause(target) => servers::pause(stage, target),
        Deed::Resume(target) => servers::resume(stage, target),
        Deed::Restart(target) => servers::restart(stage, target),
        Deed::BlockAppliers(target) => servers::block(stage, target),
        Deed::FreeAppliers(target) => servers::free(stage, target),
        Deed::Promote(promotion) => takeover::promote(stage, promotion),
        Deed::Bootstrap(target) => takeover::bootstrap(stage, target),
        Deed::ForceMembers(target) => takeover::force_members(stage, target),
        Deed::Rejoin(target) => takeover::rejoin(stage, target),
        Deed::BeginRejoin(target) => takeover::begin_rejoin(stage, target),
    }
}
