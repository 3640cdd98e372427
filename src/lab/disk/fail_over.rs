//! An operator's fail-over: one of the copies that are left leads from now on.

use std::time::Duration;

use super::copies::promote::{Survey, choose, next_generation};
use super::handle::Volume;
use super::replica::{CopySet, Remembered};
use crate::error::{Result, breakdown};

/// Who leads now, and how that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Takeover {
    /// Its place among the survivors.
    pub chosen: usize,
    pub generation: u64,
    /// A mirror's copy began without the other one. To be remembered: see [`Remembered`].
    pub is_alone: bool,
    /// What each survivor held, in their order.
    pub surveys: Vec<Survey>,
}

/// Makes one of the surviving copies the head: all promise to obey a newer generation only, the one
/// that has all that was reported done is chosen, and it shows its file system, recovered, at its
/// mount point as soon as W copies obey it, or at once if it may begin alone.
///
/// Copies are asked as an operator would, past the volume's own network; between head and copies it
/// has to work. A head that may go on alone (`WhenShort::Degrade`) has to be ended first, by
/// [`Volume::freeze`] or for good: its copy's promise does not stop it.
///
/// # Errors
/// A breakdown that says why none may take over, or what failed. Promises hold all the same.
pub fn fail_over(
    survivors: &[&Volume],
    group: &CopySet,
    remembered: Remembered,
    limit: Duration,
) -> Result<Takeover> {
    let generation = generation_beyond(survivors, remembered)?;
    let surveys = survivors.iter().map(|copy| copy.promise(generation));
    let surveys: Vec<Survey> = surveys.collect::<Result<_>>()?;
    let choice = choose(&group.rule(remembered), &surveys).map_err(|refusal| {
        let volume = group.terms.volume;
        breakdown(format!("fail volume {volume} over"), refusal.to_string())
    })?;
    let leader = survivors[choice.chosen];
    let mut lead = group.lead(leader.address()?, generation, false, limit);
    lead.is_alone = choice.is_alone;
    leader.lead(&lead)?;
    Ok(Takeover {
        chosen: choice.chosen,
        generation,
        is_alone: choice.is_alone,
        surveys,
    })
}

fn generation_beyond(survivors: &[&Volume], remembered: Remembered) -> Result<u64> {
    let promised = survivors.iter().map(|copy| copy.promised());
    let mut known: Vec<u64> = promised.collect::<Result<_>>()?;
    known.push(remembered.alone_generation);
    Ok(next_generation(known))
}
