//! What can be said of servers that somebody else runs.

use std::collections::BTreeMap;

use super::interval::median;
use super::rates::per_commit;
use super::summary::{HandshakeSummary, Per};
use crate::record::Measurement;
use crate::record::store::Record;

/// Round trips to each server, over all measurements together.
pub fn handshakes(measurements: &[&Measurement]) -> Vec<HandshakeSummary> {
    let mut by_node: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for made in measurements.iter().flat_map(|m| &m.handshakes) {
        by_node.entry(&made.node).or_default().extend(&made.rtts_us);
    }
    let summary = |(node, rtts_us): (&str, Vec<f64>)| {
        Some(HandshakeSummary {
            node: node.to_owned(),
            min: rtts_us.iter().copied().reduce(f64::min)?,
            p50: median(&rtts_us)?,
            max: rtts_us.iter().copied().reduce(f64::max)?,
            samples: rtts_us.len() as u64,
        })
    };
    // The writer's name would stand behind the replicas'.
    let mut all: Vec<HandshakeSummary> = by_node.into_iter().filter_map(summary).collect();
    all.sort_by_key(|made| made.node != "writer");
    all
}

/// The writer's counters per commit. A counter that did not move is 0 only where it was seen to
/// count.
pub fn counters(
    record: &Record,
    cell: usize,
    measurements: &[&Measurement],
    per: Per,
) -> BTreeMap<String, Option<f64>> {
    let mode = record.header.cells[cell].mode;
    let Some(facts) = record.header.endpoints.get(mode) else {
        return BTreeMap::new();
    };
    let one = |(name, counts): (&String, &bool)| {
        let each = measurements.iter().filter(|_| *counts);
        let each: Vec<f64> = each.filter_map(|m| of_one(m, name, per)).collect();
        (name.clone(), median(&each))
    };
    facts.counters.iter().map(one).collect()
}

fn of_one(measurement: &Measurement, name: &str, per: Per) -> Option<f64> {
    let writer = measurement.status.get("writer")?;
    let change = writer.get(name).copied().unwrap_or(0.0);
    per_commit(measurement, per, change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, kept};
    use crate::analysis::summarise;
    use crate::record::{EndpointFacts, Handshakes, counter};

    fn measurement() -> Measurement {
        let made = |node: &str, rtts_us: &[f64]| Handshakes {
            node: node.to_owned(),
            rtts_us: rtts_us.to_vec(),
        };
        Measurement {
            commits: 10,
            window_s: 1.0,
            handshakes: vec![made("replica 1", &[9.0]), made("writer", &[3.0, 1.0, 8.0])],
            status: [(
                "writer".into(),
                [(counter::COMMIT_STATEMENTS.into(), 25.0)].into(),
            )]
            .into(),
            ..Measurement::default()
        }
    }

    #[test]
    fn handshakes_are_told_from_the_least_to_the_most() {
        let (one, two) = (measurement(), measurement());
        let told = handshakes(&[&one, &two]);
        assert_eq!(
            (&told[0].node[..], &told[1].node[..]),
            ("writer", "replica 1")
        );
        let HandshakeSummary {
            min,
            p50,
            max,
            samples,
            ..
        } = told[0];
        assert_eq!((min, p50, max, samples), (1.0, 3.0, 8.0, 6));
    }

    #[test]
    fn a_counter_that_does_not_count_is_unknown_and_one_that_rests_is_zero() {
        let mut record = Example::anatomy().record();
        let counters_of = |record: &Record| counters(record, 0, &[&measurement()], Per::Commit);
        assert!(counters_of(&record).is_empty(), "a lab");
        let counting = [
            (counter::COMMIT_STATEMENTS, true),
            (counter::DATA_FLUSHES, true),
            (counter::DATA_WRITES, false),
        ];
        record.header.endpoints = vec![
            EndpointFacts {
                counters: counting
                    .map(|(name, counts)| (name.to_owned(), counts))
                    .into(),
                ..EndpointFacts::default()
            };
            record.header.study.modes.len()
        ];
        let told: Vec<Option<f64>> = counters_of(&record).into_values().collect();
        assert_eq!(told, [Some(2.5), Some(0.0), None]);
    }

    #[test]
    fn whether_replicas_apply_is_not_told_by_counters_that_nobody_tried() {
        let mut record = kept("group-replication-2017");
        let told = |record: &Record| {
            let cells = summarise(record).cells;
            let counted = cells.iter().filter(|cell| cell.applied_share.is_some());
            let judged = cells.iter().filter(|cell| cell.lag_state.is_some());
            let applied = cells.iter().filter(|cell| cell.applied_per_s.is_some());
            (counted.count() > 0, judged.count() > 0, applied.count() > 0)
        };
        assert_eq!(told(&record), (true, true, true));
        record.header.endpoints = vec![EndpointFacts::default(); record.header.study.modes.len()];
        assert_eq!(told(&record), (false, false, false));
    }
}
