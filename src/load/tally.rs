//! Counts and latencies of one driver, by window and by second.

use std::collections::BTreeMap;
use std::mem;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::job::{DriverSecond, Snapshot, new_histogram};
use crate::record::Second;
use crate::record::histogram;

/// What happened since the last snapshot.
pub struct Tally {
    started: Instant,
    window_start: Instant,
    counts: Snapshot,
    /// Latency runs from when a transaction was due; a window holds those that became due in it.
    is_open: bool,
    /// Its seconds will be joined with those of other drivers.
    has_others: bool,
    latency_us: Histogram<u64>,
    ended_us: Histogram<u64>,
    unfinished_us: Histogram<u64>,
    service_us: Histogram<u64>,
    kinds: Vec<(String, Histogram<u64>)>,
    second: Second,
    second_end: Instant,
    second_latency_us: Histogram<u64>,
}

impl Tally {
    /// Begins at `now`; `kinds` names the kinds of statement by their index, `is_open` is whether
    /// transactions become due by themselves, `has_others` whether other drivers run side by side.
    pub fn new(now: Instant, kinds: &[String], is_open: bool, has_others: bool) -> Self {
        Tally {
            started: now,
            window_start: now,
            counts: Snapshot::default(),
            is_open,
            has_others,
            latency_us: new_histogram(),
            ended_us: new_histogram(),
            unfinished_us: new_histogram(),
            service_us: new_histogram(),
            kinds: kinds.iter().map(|k| (k.clone(), new_histogram())).collect(),
            second: Second::default(),
            second_end: now + Duration::from_secs(1),
            second_latency_us: new_histogram(),
        }
    }

    /// A statement of this kind ended well.
    pub fn statement(&mut self, kind: usize, latency: Duration) {
        self.counts.statements += 1;
        self.kinds[kind].1.saturating_record(micros(latency));
    }

    /// A transaction ended well at `now`, having changed this many rows. It was due, and begun, at
    /// these times.
    pub fn transaction(
        &mut self,
        now: Instant,
        (due, begun): (Instant, Instant),
        changed_rows: u64,
    ) {
        self.close_seconds(now);
        let commit = u64::from(changed_rows > 0);
        self.counts.commits += commit;
        self.counts.unchanged += 1 - commit;
        self.second.commits += commit;
        self.second.transactions += 1;
        let latency_us = micros(now - due);
        self.second_latency_us.saturating_record(latency_us);
        if !self.is_open {
            self.latency_us.saturating_record(latency_us);
            return;
        }
        self.ended_us.saturating_record(latency_us);
        if self.is_of_window(due) {
            self.latency_us.saturating_record(latency_us);
            self.service_us.saturating_record(micros(now - begun));
        }
    }

    fn is_of_window(&self, due: Instant) -> bool {
        self.is_open && due > self.window_start
    }

    /// The transaction that was due then has failed, or lost its connection.
    pub fn failed(&mut self, due: Instant) {
        self.counts.failed_due += u64::from(self.is_of_window(due));
    }

    /// The window ends, and the transaction that was due then has not: so long it took at least.
    pub fn unfinished(&mut self, now: Instant, due: Instant) {
        if self.is_of_window(due) {
            self.unfinished_us.saturating_record(micros(now - due));
        }
    }

    /// A transaction failed at `now`, with what the server says of it.
    pub fn error(
        &mut self,
        now: Instant,
        number: u16,
        sqlstate: &str,
        message: impl Fn() -> String,
    ) {
        self.close_seconds(now);
        self.second.errors += 1;
        self.counts.errors.add(number, sqlstate, 1, message);
    }

    /// Statements that ended well and failures, since the last snapshot.
    pub fn answered(&self) -> u64 {
        self.counts.statements + self.counts.errors.total()
    }

    /// A transaction's connection was closed before its answer came.
    pub fn unanswered(&mut self) {
        self.counts.unanswered += 1;
    }

    /// All sessions are connected at `now`.
    pub fn connected(&mut self, now: Instant) {
        self.counts.connected_s = (now - self.started).as_secs_f64();
    }

    /// The load begins at `now`, for sessions that waited for each other: seconds count from here.
    pub fn begin_seconds(&mut self, now: Instant) {
        self.counts.timeline.clear();
        self.second = Second::default();
        self.second_end = now + Duration::from_secs(1);
        self.second_latency_us.reset();
    }

    /// From the start until all sessions were connected.
    pub fn connected_s(&self) -> f64 {
        self.counts.connected_s
    }

    /// Everything since the last snapshot; a new window begins at `now`.
    pub fn snapshot(&mut self, now: Instant) -> Snapshot {
        self.close_seconds(now);
        let fresh = Snapshot {
            connected_s: self.counts.connected_s,
            ..Snapshot::default()
        };
        let mut snapshot = mem::replace(&mut self.counts, fresh);
        snapshot.window_s = (now - self.window_start).as_secs_f64();
        self.window_start = now;
        snapshot.latency_us = take(&mut self.latency_us);
        let is_served = !self.service_us.is_empty();
        snapshot.service_us = is_served.then(|| take(&mut self.service_us));
        let has_ended = !self.ended_us.is_empty();
        snapshot.ended_us = has_ended.then(|| take(&mut self.ended_us));
        let is_left = !self.unfinished_us.is_empty();
        snapshot.unfinished_us = is_left.then(|| take(&mut self.unfinished_us));
        snapshot.statement_latency_us = self.take_kinds();
        snapshot
    }

    fn take_kinds(&mut self) -> BTreeMap<String, String> {
        let used = self.kinds.iter_mut().filter(|(_, h)| !h.is_empty());
        used.map(|(kind, histogram)| (kind.clone(), take(histogram)))
            .collect()
    }

    fn close_seconds(&mut self, now: Instant) {
        while now >= self.second_end {
            self.close_second();
        }
    }

    fn close_second(&mut self) {
        let next = Second {
            second: self.second.second + 1,
            ..Second::default()
        };
        let mut ended = DriverSecond {
            second: mem::replace(&mut self.second, next),
            latency_us: String::new(),
        };
        ended.take_percentiles(&self.second_latency_us);
        if self.has_others {
            ended.latency_us = histogram::encode(&self.second_latency_us);
        }
        self.counts.timeline.push(ended);
        self.second_latency_us.reset();
        self.second_end += Duration::from_secs(1);
    }
}

/// At least 1: the histogram's lowest value.
fn micros(latency: Duration) -> u64 {
    (latency.as_micros() as u64).max(1)
}

fn take(histogram: &mut Histogram<u64>) -> String {
    let text = histogram::encode(histogram);
    histogram.reset();
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::server_errors::LOST_CONNECTION;

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    /// Begun when it was due.
    fn both(due: Instant) -> (Instant, Instant) {
        (due, due)
    }

    /// What was due before the window is none of it, though it ends there; what has not ended at
    /// its end is told by how long it took so far.
    #[test]
    fn each_that_became_due_in_a_window_ended_failed_or_is_unfinished() {
        let start = Instant::now();
        let mut tally = Tally::new(start, &[], true, false);
        let first = tally.snapshot(at(start, 1_000));
        assert_eq!(first.unfinished_us, None);
        tally.transaction(at(start, 1_100), (at(start, 900), at(start, 950)), 1);
        tally.failed(at(start, 990));
        tally.transaction(at(start, 1_200), (at(start, 1_010), at(start, 1_150)), 1);
        tally.failed(at(start, 1_020));
        for due in [980, 1_500, 1_900] {
            tally.unfinished(at(start, 2_000), at(start, due));
        }
        let second = tally.snapshot(at(start, 2_000));
        assert_eq!((second.commits, second.failed_due), (2, 1));
        let all = second.ended_us.as_ref().unwrap();
        assert_eq!(
            histogram::decode(all).unwrap().len(),
            2,
            "whenever they were due"
        );
        let of = |text: &Option<String>| histogram::decode(text.as_ref().unwrap()).unwrap();
        let ended = histogram::decode(&second.latency_us).unwrap();
        assert_eq!(ended.len(), 1);
        assert!(ended.max().abs_diff(190_000) < 190);
        let service = of(&second.service_us);
        assert!(service.len() == 1 && service.max().abs_diff(50_000) < 50);
        let unfinished = of(&second.unfinished_us);
        assert_eq!(unfinished.len(), 2);
        assert!(unfinished.min().abs_diff(100_000) < 100);
        assert!(unfinished.max().abs_diff(500_000) < 500);
    }

    #[test]
    fn a_snapshot_holds_its_window_only() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        let mut tally = Tally::new(start, &["select".into(), "update".into()], false, false);
        tally.statement(1, ms(2));
        tally.transaction(at(start, 100), both(at(start, 97)), 1);
        tally.transaction(at(start, 200), both(at(start, 195)), 0);
        tally.error(at(start, 300), 1213, "40001", || {
            "Deadlock found".to_owned()
        });
        tally.connected(at(start, 50));
        let first = tally.snapshot(at(start, 400));
        assert_eq!(
            (first.commits, first.unchanged, first.statements),
            (1, 1, 1)
        );
        assert_eq!((first.errors.of(1213), first.errors.total()), (1, 1));
        assert_eq!((first.window_s, first.connected_s), (0.4, 0.05));
        let latency = histogram::decode(&first.latency_us).unwrap();
        assert_eq!(latency.len(), 2);
        assert!(latency.max().abs_diff(5000) <= 4);
        assert_eq!(
            first.statement_latency_us.keys().collect::<Vec<_>>(),
            ["update"]
        );

        tally.transaction(at(start, 500), both(at(start, 499)), 7);
        let second = tally.snapshot(at(start, 700));
        assert_eq!(
            (second.commits, second.unchanged, second.statements),
            (1, 0, 0)
        );
        assert_eq!(first.service_us, None);
        assert_eq!((second.service_us, second.unfinished_us), (None, None));
        assert!(second.errors.is_empty() && second.timeline.is_empty());
        assert_eq!(histogram::decode(&second.latency_us).unwrap().len(), 1);
        assert_eq!(second.connected_s, 0.05);
    }

    #[test]
    fn seconds_count_from_when_all_begin() {
        let start = Instant::now();
        let mut tally = Tally::new(start, &[], false, false);
        // Connecting takes 3.5 s.
        tally.error(at(start, 2_200), LOST_CONNECTION, "", String::new);
        tally.begin_seconds(at(start, 3_500));
        tally.transaction(at(start, 4_400), both(at(start, 4_399)), 1);
        let told = tally.snapshot(at(start, 4_600)).timeline;
        let told: Vec<_> = told
            .iter()
            .map(|s| (s.second.second, s.second.commits, s.second.errors))
            .collect();
        assert_eq!(told, [(0, 1, 0)]);
    }

    #[test]
    fn the_timeline_has_whole_seconds_silent_ones_too() {
        let start = Instant::now();
        let mut tally = Tally::new(start, &[], false, false);
        tally.transaction(at(start, 900), both(at(start, 899)), 1);
        let first = tally.snapshot(at(start, 950));
        assert!(first.timeline.is_empty());
        tally.transaction(at(start, 990), both(at(start, 981)), 0);
        tally.error(at(start, 3100), LOST_CONNECTION, "", String::new);
        let second = tally.snapshot(at(start, 4000));
        let rows: Vec<_> = second
            .timeline
            .iter()
            .map(|s| (s.second.second, s.second.commits))
            .collect();
        assert_eq!(rows, [(0, 1), (1, 0), (2, 0), (3, 0)]);
        let first = &second.timeline[0];
        assert_eq!((first.second.transactions, &first.latency_us[..]), (2, ""));
        assert_eq!(first.second.latency_us_p50, 1000);
        let p99 = first.second.latency_us_p99.unwrap();
        assert!(p99.abs_diff(9000) < 9 && first.second.latency_us_max.abs_diff(9000) < 9);
        let silent = second.timeline[1].second;
        assert_eq!((silent.latency_us_p50, silent.latency_us_p99), (0, None));
        assert_eq!(second.timeline[3].second.errors, 1);
    }
}
