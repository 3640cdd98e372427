//! What flow control held commits back for, as servers count it over a window: replicas that fall
//! behind make a group, or a Galera cluster, slow its writers down.

use super::interval::{Noise, Risk, estimate, median};
use super::summary::Estimate;
use crate::record::{Measurement, counter};

/// Of one cell, over its rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldBack {
    /// Of the clients' time, 0 to 1.
    pub share: Estimate,
    /// Each round's median: pauses that Galera's nodes asked for, transactions that a group held
    /// back.
    pub pauses: Option<f64>,
    pub throttled: Option<f64>,
}

/// `None` where no server held anything back: a record keeps counters that moved, so in other
/// rounds of the same cell it was nothing.
pub fn held_back(measurements: &[&Measurement], connections: u32, risk: Risk) -> Option<HeldBack> {
    let shares = measurements.iter().map(|m| share(m, connections));
    let shares: Vec<Option<f64>> = shares.collect();
    shares.iter().flatten().next()?;
    let shares: Vec<f64> = shares.iter().map(|share| share.unwrap_or(0.0)).collect();
    let sums = |name: &str| {
        let each = measurements.iter().filter_map(|m| sum(m, name));
        median(&each.collect::<Vec<f64>>())
    };
    let share = estimate(&shares, Noise::Adds, risk)?;
    let end = |end: Option<f64>| end.map(|end| end.clamp(0.0, 1.0));
    Some(HeldBack {
        share: Estimate {
            low: end(share.low),
            high: end(share.high),
            ..share
        },
        pauses: sums(counter::GALERA_PAUSES_SENT),
        throttled: sums(counter::GROUP_THROTTLED),
    })
}

/// Galera pauses a node as a whole; a group holds single transactions, whose times add up.
fn share(measurement: &Measurement, connections: u32) -> Option<f64> {
    let window_s = Some(measurement.window_s).filter(|s| *s > 0.0)?;
    let paused = most(measurement, counter::GALERA_PAUSED_NS);
    let paused = paused.map(|ns| ns / 1e9 / window_s);
    let throttled = sum(measurement, counter::GROUP_THROTTLED_US);
    let throttled = throttled.map(|us| us / 1e6 / window_s / f64::from(connections.max(1)));
    let share = paused.or(throttled)?;
    Some(share.clamp(0.0, 1.0))
}

/// Of the node that was paused for longest.
fn most(measurement: &Measurement, name: &str) -> Option<f64> {
    let nodes = measurement.status.values();
    let each = nodes.filter_map(|counters| counters.get(name).copied());
    each.reduce(f64::max)
}

fn sum(measurement: &Measurement, name: &str) -> Option<f64> {
    let nodes = measurement.status.values();
    let each = nodes.filter_map(|counters| counters.get(name).copied());
    each.reduce(|one, other| one + other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 10 s in which these counters moved, on node a and on node b.
    fn measurement(name: &str, [a, b]: [f64; 2]) -> Measurement {
        let node = |node: &str, change| (node.to_owned(), [(name.to_owned(), change)].into());
        Measurement {
            window_s: 10.0,
            status: [node("a", a), node("b", b)].into(),
            ..Measurement::default()
        }
    }

    fn of(all: &[Measurement], connections: u32) -> Option<HeldBack> {
        let all: Vec<&Measurement> = all.iter().collect();
        held_back(&all, connections, Risk::ONE_LOOK)
    }

    #[test]
    fn a_pause_holds_all_back_and_a_throttled_transaction_its_own_client() {
        let paused = measurement(counter::GALERA_PAUSED_NS, [2e9, 1e9]);
        let told = of(&[paused.clone(), paused], 8).expect("counted");
        assert!((told.share.median - 0.2).abs() < 1e-9, "{told:?}");
        assert!(told.share.low.is_some());
        let throttled = measurement(counter::GROUP_THROTTLED_US, [8e6, 8e6]);
        let told = of(&[throttled], 8).expect("counted");
        assert!((told.share.median - 0.2).abs() < 1e-9, "{told:?}");
        assert_eq!((told.share.low, told.pauses), (None, None));
    }

    #[test]
    fn a_round_without_any_counts_as_nothing_and_a_cell_without_any_is_not_told() {
        let paused = measurement(counter::GALERA_PAUSED_NS, [2e9, 0.0]);
        let told = of(&[paused, measurement("rows_updated", [1.0, 1.0])], 8).expect("counted");
        assert!((told.share.median - 0.1).abs() < 1e-9, "{told:?}");
        assert_eq!(of(&[measurement("rows_updated", [1.0, 1.0])], 1), None);
        assert_eq!(of(&[], 1), None);
    }
}
