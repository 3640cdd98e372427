//! Snapshots of drivers that ran side by side, made one.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::job::{Snapshot, new_histogram};
use crate::error::{Result, Tried};
use crate::record::Second;
use crate::record::histogram;

/// One snapshot of what several drivers did in the same window: counts are added, histograms
/// joined, the window and the time to connect are the longest. A second's median is the mean of
/// the drivers' medians, weighted by their transactions: their histograms are gone by then.
pub fn merge(snapshots: Vec<Snapshot>) -> Result<Snapshot> {
    let mut all = Snapshot::default();
    let (mut latency, mut service) = (new_histogram(), None);
    let (mut unfinished, mut ended) = (None, None);
    let mut kinds: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    let mut seconds: BTreeMap<u32, Second> = BTreeMap::new();
    for one in snapshots {
        add_counts(&mut all, &one);
        add_histogram(&mut latency, &one.latency_us)?;
        if let Some(text) = &one.service_us {
            add_histogram(service.get_or_insert_with(new_histogram), text)?;
        }
        if let Some(text) = &one.unfinished_us {
            add_histogram(unfinished.get_or_insert_with(new_histogram), text)?;
        }
        if let Some(text) = &one.ended_us {
            add_histogram(ended.get_or_insert_with(new_histogram), text)?;
        }
        for (kind, text) in &one.statement_latency_us {
            let sum = kinds.entry(kind.clone()).or_insert_with(new_histogram);
            add_histogram(sum, text)?;
        }
        for second in &one.timeline {
            add_second(seconds.entry(second.second).or_default(), second);
        }
    }
    all.latency_us = histogram::encode(&latency);
    all.service_us = service.as_ref().map(histogram::encode);
    all.unfinished_us = unfinished.as_ref().map(histogram::encode);
    all.ended_us = ended.as_ref().map(histogram::encode);
    let encoded = kinds.iter().map(|(k, h)| (k.clone(), histogram::encode(h)));
    all.statement_latency_us = encoded.collect();
    all.timeline = seconds.into_values().collect();
    Ok(all)
}

fn add_counts(all: &mut Snapshot, one: &Snapshot) {
    all.window_s = all.window_s.max(one.window_s);
    all.connected_s = all.connected_s.max(one.connected_s);
    all.unique_next = all.unique_next.max(one.unique_next);
    all.commits += one.commits;
    all.unchanged += one.unchanged;
    all.statements += one.statements;
    all.unanswered += one.unanswered;
    all.due += one.due;
    all.failed_due += one.failed_due;
    all.backlog += one.backlog;
    all.errors.add_all(&one.errors);
}

fn add_histogram(sum: &mut Histogram<u64>, text: &str) -> Result<()> {
    sum.add(histogram::decode(text)?)
        .tried(|| "join the drivers' latency histograms".to_owned())
}

fn add_second(sum: &mut Second, one: &Second) {
    let transactions = sum.transactions + one.transactions;
    let weighted = sum.latency_us_p50 * sum.transactions + one.latency_us_p50 * one.transactions;
    sum.latency_us_p50 = weighted.checked_div(transactions).unwrap_or(0);
    sum.second = one.second;
    sum.transactions = transactions;
    sum.commits += one.commits;
    sum.errors += one.errors;
    sum.latency_us_max = sum.latency_us_max.max(one.latency_us_max);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(commits: u64, latency_us: u64, errors: &[(u16, u64)]) -> Snapshot {
        let mut histogram = new_histogram();
        histogram.record_n(latency_us, commits).unwrap();
        let text = histogram::encode(&histogram);
        Snapshot {
            window_s: commits as f64,
            commits,
            statements: commits * 2,
            errors: errors.iter().copied().collect(),
            latency_us: text.clone(),
            statement_latency_us: [("update".to_owned(), text)].into(),
            timeline: vec![Second {
                second: 4,
                commits,
                transactions: commits,
                errors: 0,
                latency_us_p50: latency_us,
                latency_us_max: latency_us,
            }],
            ..Snapshot::default()
        }
    }

    #[test]
    fn merging_adds_counts_and_joins_histograms() {
        let parts = vec![
            snapshot(3, 100, &[(1213, 2)]),
            snapshot(1, 500, &[(1213, 1), (0, 4)]),
        ];
        let all = merge(parts).unwrap();
        assert_eq!((all.commits, all.statements, all.window_s), (4, 8, 3.0));
        assert_eq!(all.errors, [(0, 4), (1213, 3)].into());
        let latency = histogram::decode(&all.latency_us).unwrap();
        assert_eq!((latency.len(), latency.max()), (4, 500));
        let update = histogram::decode(&all.statement_latency_us["update"]).unwrap();
        assert_eq!(update.len(), 4);
        let second = all.timeline[0];
        assert_eq!(all.timeline.len(), 1);
        assert_eq!((second.transactions, second.latency_us_p50), (4, 200));
        assert_eq!(second.latency_us_max, 500);
    }

    #[test]
    fn an_open_loops_figures_join_too() {
        let open = |commits, service_us| {
            let closed = snapshot(commits, service_us, &[]);
            Snapshot {
                service_us: Some(closed.latency_us.clone()),
                due: commits + 1,
                backlog: 1,
                ..closed
            }
        };
        let all = merge(vec![open(3, 100), open(1, 500)]).unwrap();
        assert_eq!((all.due, all.backlog), (6, 2));
        let service = histogram::decode(&all.service_us.unwrap()).unwrap();
        assert_eq!((service.len(), service.max()), (4, 500));
        assert_eq!(merge(vec![snapshot(1, 1, &[])]).unwrap().service_us, None);
    }

    #[test]
    fn nothing_merges_to_nothing_and_broken_text_is_told() {
        let nothing = merge(Vec::new()).unwrap();
        assert_eq!((nothing.commits, nothing.timeline.len()), (0, 0));
        let broken = Snapshot {
            latency_us: "?".to_owned(),
            ..Snapshot::default()
        };
        assert!(merge(vec![broken]).is_err());
    }
}
