//! A run that goes on on another machine than it was stopped on.

use std::time::Duration;

use super::again::unmade;
use crate::plan::Schedule;
use crate::record::store::Record;

/// What there is to go on from, and the number of a round that goes out of it: of one that another
/// machine has begun and not ended, the rest would be held against what that machine measured.
/// Nobody's `machine` is another one.
pub fn whole_rounds(
    mut record: Record,
    schedule: &mut dyn Schedule,
    machine: Option<&str>,
) -> (Record, Option<u32>) {
    let before = record.header.last_host().machine.as_deref();
    let is_other = before.zip(machine).is_some_and(|(one, other)| one != other);
    let begun = match is_other {
        true => unfinished_round(&record, schedule),
        false => None,
    };
    let is_kept = |round: u32| Some(round) != begun;
    record.measurements.retain(|one| is_kept(one.round));
    (record, begun)
}

/// The round that has measurements and is to have more.
fn unfinished_round(record: &Record, schedule: &mut dyn Schedule) -> Option<u32> {
    if let Some(one) = unmade(record) {
        return Some(one.round);
    }
    let there = record.measurements.iter();
    let outcomes: Vec<_> = there.map(|one| one.outcome(Duration::ZERO)).collect();
    let next = schedule.turns(&outcomes).get(outcomes.len())?.round;
    let last = outcomes.last()?.round;
    (next == last).then_some(last)
}
