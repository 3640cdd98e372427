//! Snapshots of drivers that ran side by side, made one.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::job::{DriverSecond, Snapshot, new_histogram};
use crate::error::{Result, Tried, breakdown};
use crate::record::histogram;

/// One snapshot of what several drivers did in the same window: counts are added, histograms
/// joined, the window and the time to connect are the longest. Percentiles come from what was
/// joined, those of each second too: none is ever the mean of others.
///
/// # Errors
/// A breakdown if a text holds no histogram, or a second of several drivers comes without one.
pub fn merge(snapshots: Vec<Snapshot>) -> Result<Snapshot> {
    let mut all = Snapshot::default();
    let (mut latency, mut service) = (new_histogram(), None);
    let (mut unfinished, mut ended) = (None, None);
    let mut kinds: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    let mut seconds: BTreeMap<u32, Vec<DriverSecond>> = BTreeMap::new();
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
        for second in one.timeline {
            let alike = seconds.entry(second.second.second).or_default();
            alike.push(second);
        }
    }
    all.latency_us = histogram::encode(&latency);
    all.service_us = service.as_ref().map(histogram::encode);
    all.unfinished_us = unfinished.as_ref().map(histogram::encode);
    all.ended_us = ended.as_ref().map(histogram::encode);
    let encoded = kinds.iter().map(|(k, h)| (k.clone(), histogram::encode(h)));
    all.statement_latency_us = encoded.collect();
    let seconds = seconds.into_values().map(one_second);
    all.timeline = seconds.collect::<Result<_>>()?;
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

/// What several drivers did in the same second.
fn one_second(mut alike: Vec<DriverSecond>) -> Result<DriverSecond> {
    if let [_] = alike[..] {
        return Ok(alike.remove(0));
    }
    let mut sum = DriverSecond::default();
    let mut latency_us = new_histogram();
    for DriverSecond {
        second,
        latency_us: text,
    } in &alike
    {
        if text.is_empty() && second.transactions > 0 {
            let tried = format!("join second {} of several drivers", second.second);
            return Err(breakdown(tried, "one came without its latencies"));
        }
        add_histogram(&mut latency_us, text)?;
        sum.second.second = second.second;
        sum.second.commits += second.commits;
        sum.second.transactions += second.transactions;
        sum.second.errors += second.errors;
    }
    sum.take_percentiles(&latency_us);
    sum.latency_us = histogram::encode(&latency_us);
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::load::keys::Draws;
    use crate::load::tally::Tally;
    use crate::record::Second;

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
            statement_latency_us: [("update".to_owned(), text.clone())].into(),
            timeline: vec![DriverSecond {
                second: Second {
                    second: 4,
                    commits,
                    transactions: commits,
                    latency_us_p50: latency_us,
                    latency_us_max: latency_us,
                    ..Second::default()
                },
                latency_us: text,
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
        assert_eq!(all.timeline.len(), 1);
        let second = all.timeline[0].second;
        // The mean of the medians would be 200.
        assert_eq!((second.transactions, second.latency_us_p50), (4, 100));
        assert_eq!(
            (second.latency_us_p99, second.latency_us_max),
            (Some(500), 500)
        );
    }

    /// What fifty drivers saw of one load is what one that saw all of it says, to the last digit:
    /// each second too.
    #[test]
    fn many_tallies_are_one_that_was_given_all_samples() {
        const DRIVERS: usize = 50;
        let start = Instant::now();
        for is_open in [false, true] {
            let tally = || Tally::new(start, &["update".into()], is_open, true);
            let mut of_each: Vec<Tally> = (0..DRIVERS).map(|_| tally()).collect();
            let mut one = tally();
            let mut draws = Draws::new(7, 0);
            for number in 0..40_000 {
                // Drivers are as unlike as they can be: the later ones are slower.
                let driver = number % DRIVERS;
                let end = start + Duration::from_micros(number as u64 * 250);
                let mean_us = 200.0 * (1 + driver) as f64;
                let took = Duration::from_micros(draws.exponential(mean_us) as u64 + 1);
                let due = end.checked_sub(took).unwrap_or(end);
                for tally in [&mut of_each[driver], &mut one] {
                    match number % 97 {
                        0 => tally.error(end, 1213, "40001", String::new),
                        _ => {
                            tally.statement(0, took);
                            tally.transaction(end, (due, due), (number % 3) as u64);
                        }
                    }
                }
            }
            let end = start + Duration::from_secs(10);
            let parts = of_each.iter_mut().map(|tally| tally.snapshot(end));
            let merged = merge(parts.collect()).unwrap();
            let expected = one.snapshot(end);
            assert_eq!(merged.timeline.len(), 10);
            assert_eq!(merged, expected, "open: {is_open}");
            let p99s = merged.timeline.iter().map(|one| one.second.latency_us_p99);
            assert!(p99s.flatten().all(|us| us > 10_000));
        }
    }

    #[test]
    fn seconds_of_several_drivers_are_never_joined_without_their_latencies() {
        let mut parts = vec![snapshot(3, 100, &[]), snapshot(1, 500, &[])];
        parts[1].timeline[0].latency_us.clear();
        let error = merge(parts.clone()).unwrap_err().to_string();
        assert!(error.contains("second 4"), "{error}");
        // Alone it is taken as it is.
        let alone = merge(parts.split_off(1)).unwrap();
        assert_eq!(alone.timeline[0].second.latency_us_p50, 500);
    }

    /// A minute of a driver with 1,000 transactions a second: what it sends at its end.
    #[test]
    fn the_seconds_of_a_minute_are_small() {
        let start = Instant::now();
        let mut tally = Tally::new(start, &[], false, true);
        let mut draws = Draws::new(7, 0);
        for number in 0..60_000u64 {
            let end = start + Duration::from_millis(number);
            let took = Duration::from_micros(2_000 + draws.exponential(3_000.0) as u64);
            let due = end.checked_sub(took).unwrap_or(end);
            tally.transaction(end, (due, due), 1);
        }
        let snapshot = tally.snapshot(start + Duration::from_secs(60));
        let bytes = serde_json::to_vec(&snapshot).unwrap().len();
        assert_eq!(snapshot.timeline.len(), 60);
        assert!(bytes < 150_000, "{bytes} bytes");
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
