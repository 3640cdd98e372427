//! What a cell's figures would be with the measurements that are left out. What made links late, or
//! stole CPU time, may have made servers slow: to leave these out may choose among outcomes after
//! all.

use std::collections::BTreeMap;

use super::interval::{Noise, Risk, estimate};
use super::rates::throughput;
use super::summary::{ByRound, Per, Percentiles, VoidMeasurement, WithVoid};
use crate::record::Measurement;

/// Share by which computing alone may move an interval's end.
const ROUNDING: f64 = 1e-9;

/// A cell's main figures over all its measurements, those left out included; `None` where none is.
/// `without` has those of the sound ones.
pub fn with_void<'m>(
    (kept, per): (&[&'m Measurement], Per),
    without: &ByRound,
    latency: fn(&[&Measurement]) -> Percentiles,
    risk: Risk,
) -> Option<WithVoid> {
    let all: Vec<&Measurement> = kept
        .iter()
        .flat_map(|m| m.voided.iter().chain([*m]))
        .collect();
    // Whatever was made again, and what is void all the same.
    let left_out = |m: &&'m Measurement| m.voided.iter().chain(m.is_void().then_some(*m));
    let void: Vec<VoidMeasurement> = (kept.iter().flat_map(left_out))
        .map(|m| one(m, per, latency))
        .collect();
    if void.is_empty() {
        return None;
    }
    let rates: Vec<f64> = all.iter().filter_map(|m| throughput(m, per)).collect();
    let throughput_per_s = estimate(&rates, Noise::Multiplies, risk);
    let latency_us = latency(&all);
    let is_alone = void.len() == all.len();
    let is_outside = |with: Option<f64>, sound: &BTreeMap<u32, f64>| {
        with.is_some_and(|with| is_alone || lies_outside(with, sound, risk))
    };
    let median = throughput_per_s.map(|estimate| estimate.median);
    Some(WithVoid {
        throughput_is_outside: is_outside(median, &without.throughput_per_s),
        p50_is_outside: is_outside(latency_us.p50, &without.p50_us),
        void,
        throughput_per_s,
        latency_us,
    })
}

fn one(
    measurement: &Measurement,
    per: Per,
    latency: fn(&[&Measurement]) -> Percentiles,
) -> VoidMeasurement {
    let packets = measurement.packets.max(1) as f64;
    VoidMeasurement {
        round: measurement.round,
        flags: measurement.flags.clone(),
        late_share: measurement.late_packets as f64 / packets,
        throughput_per_s: throughput(measurement, per),
        p50_us: latency(&[measurement]).p50,
    }
}

/// Where there is no interval nothing lies outside. An interval of equal values has no width, and
/// its ends come from logarithms: what strays by their rounding alone does not either.
fn lies_outside(value: f64, by_round: &BTreeMap<u32, f64>, risk: Risk) -> bool {
    let values: Vec<f64> = by_round.values().copied().collect();
    estimate(&values, Noise::Multiplies, risk).is_some_and(|without| {
        let is_below = |low| value < low * (1.0 - ROUNDING);
        let is_above = |high| value > high * (1.0 + ROUNDING);
        without.low.is_some_and(is_below) || without.high.is_some_and(is_above)
    })
}
