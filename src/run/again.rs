//! What is made again: how often, and which measurement still, when a run goes on.

use super::order::Order;
use crate::record::store::Record;
use crate::record::{Flag, Measurement};

/// A disturbed measurement is made again at most this often,
pub const AGAIN_MAX: u32 = 2;
/// and a run makes this share of its measurements again at most, so that its length is bounded.
pub const AGAIN_SHARE: f64 = 0.25;

/// The measurement that a run ended with because nobody came for a driver that was lost: it was
/// kept last, as void, and is to be made again.
pub fn unmade(record: &Record) -> Option<&Measurement> {
    let all = record.measurements.iter();
    let last = all.max_by_key(|one| (one.segment, one.started_unix_ms))?;
    let is_it = last.flags.contains(&Flag::DriverMissing) && last.made_again < AGAIN_MAX;
    is_it.then_some(last)
}

/// What an order is to make again. Where its round goes out it goes with it, and what is then the
/// last is none.
pub fn unmade_of(order: &Order) -> Option<&Measurement> {
    let earlier = order.earlier.as_ref();
    earlier
        .filter(|_| order.round_left_out.is_none())
        .and_then(unmade)
}

/// Where it belongs, which it shares with no other of its record.
pub fn place(measurement: &Measurement) -> (u32, usize, u32) {
    (measurement.round, measurement.cell, measurement.turn)
}

/// It and those that it was made again for, as they are kept with what takes its place.
pub fn voided(mut unmade: Measurement) -> Vec<Measurement> {
    let mut all = std::mem::take(&mut unmade.voided);
    unmade.made_again = 0;
    all.push(unmade);
    all
}
