//! Doubts: which there are, judged here with their thresholds, and in how many rounds.

use std::collections::BTreeMap;

use super::contention::{self, HOST_BOUND_CONTENTION};
use super::summary::{FlagCount, Per};
use crate::record::{DiskGot, DiskUse, Flag, Measurement};

/// From this share of the host's CPU time on, busy or stolen, a figure tells of the host: of a
/// record that does not tell who waited.
pub const HOST_BOUND_SHARE: f64 = 0.95;
/// A round-trip time may stray by this share of what was asked, a flush time by this share of its
/// floor and what was asked, or by so many µs if that is more.
pub const DRIFT_SHARE: f64 = 0.10;
/// See [`DRIFT_SHARE`].
pub const DRIFT_US: f64 = 100.0;

/// A disk may answer this share of the requests that take a time of their own too late.
const LATE_REPLIES_SHARE: f64 = 0.05;

/// At an offered rate this share of what became due in a window may wait at its end.
pub const OVERLOADED_SHARE: f64 = 0.05;

/// All doubts of one measurement: those noted while it ran and those judged from its figures.
pub fn of_measurement(measurement: &Measurement, per: Per) -> Vec<Flag> {
    let judged = [
        (Flag::HostBound, is_host_bound(measurement)),
        (Flag::NodeBound, contention::is_node_bound(measurement)),
        (Flag::Drifted, has_drifted(measurement)),
        (Flag::Degraded, is_degraded(measurement)),
        (Flag::LateDisks, measurement.disks.iter().any(is_late)),
        (Flag::Overloaded, is_overloaded(measurement)),
        (Flag::Errors, !measurement.errors.is_empty()),
        (Flag::NoRows, per == Per::Commit && measurement.commits == 0),
    ];
    let judged = judged.into_iter().filter(|(_, holds)| *holds);
    let mut flags = measurement.flags.clone();
    flags.extend(judged.map(|(flag, _)| flag));
    flags.sort();
    flags.dedup();
    flags
}

fn is_host_bound(measurement: &Measurement) -> bool {
    match contention::of_all(measurement) {
        Some(share) => share > HOST_BOUND_CONTENTION,
        None => busy_share(measurement) >= HOST_BOUND_SHARE,
    }
}

fn is_overloaded(measurement: &Measurement) -> bool {
    measurement.backlog as f64 > OVERLOADED_SHARE * measurement.due as f64
}

/// Share of the host's CPU time that was not left over.
pub fn busy_share(measurement: &Measurement) -> f64 {
    (measurement.host_busy + measurement.host_stolen).min(1.0)
}

/// Whether a mirrored volume was without its copy for a while.
pub fn is_degraded(measurement: &Measurement) -> bool {
    !measurement.degraded.is_empty()
}

fn has_drifted(measurement: &Measurement) -> bool {
    let mut rtts = measurement.rtts.iter();
    let mut disks = measurement.disks_got.iter();
    rtts.any(|rtt| strays(rtt.rtt_us_asked, rtt.rtt_us_before, rtt.rtt_us_after))
        || disks.any(has_flush_drifted)
}

fn is_late(disk: &DiskUse) -> bool {
    disk.late_replies as f64 > LATE_REPLIES_SHARE * disk.timed_replies as f64
}

fn has_flush_drifted(disk: &DiskGot) -> bool {
    let asked = disk.flush_us_floor + disk.flush_us_asked;
    !disk.is_flush_drawn && strays(asked, disk.flush_us_before, disk.flush_us_after)
}

fn strays(asked: f64, before: f64, after: f64) -> bool {
    let bound = (DRIFT_SHARE * asked).max(DRIFT_US);
    let are_apart = |got: f64, from: f64| (got - from).abs() > bound;
    are_apart(before, after) || are_apart(before, asked) || are_apart(after, asked)
}

/// How often each doubt arose in a cell's measurements.
pub fn count(measurements: &[&Measurement], per: Per) -> Vec<FlagCount> {
    let mut rounds: BTreeMap<Flag, u32> = BTreeMap::new();
    for measurement in measurements {
        for flag in of_measurement(measurement, per) {
            *rounds.entry(flag).or_default() += 1;
        }
    }
    let of = measurements.len() as u32;
    let counted = rounds.into_iter();
    counted
        .map(|(flag, rounds)| FlagCount { flag, rounds, of })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Degraded, RttGot, Scheduled};

    fn quiet() -> Measurement {
        Measurement {
            commits: 10,
            host_busy: 0.80,
            host_stolen: 0.14,
            errors: [(1213, 0)].into(),
            rtts: vec![
                rtt(2150.0, 2240.0, 2160.0),
                rtt(10_000.0, 9_100.0, 10_000.0),
            ],
            ..Measurement::default()
        }
    }

    fn rtt(asked: f64, before: f64, after: f64) -> RttGot {
        RttGot {
            from: "a".into(),
            to: "b".into(),
            from_site: "a".into(),
            to_site: "b".into(),
            rtt_us_asked: asked,
            rtt_us_before: before,
            rtt_us_after: after,
        }
    }

    #[test]
    fn a_queue_that_grows_is_an_overload() {
        let offered = |backlog| Measurement {
            due: 1_000,
            backlog,
            ..quiet()
        };
        assert_eq!(of_measurement(&offered(50), Per::Commit), []);
        assert_eq!(
            of_measurement(&offered(51), Per::Commit),
            [Flag::Overloaded]
        );
    }

    fn disk(asked: f64, before: f64, after: f64) -> DiskGot {
        DiskGot {
            flush_us_asked: asked,
            flush_us_floor: 240.0,
            flush_us_before: before,
            flush_us_after: after,
            ..DiskGot::default()
        }
    }

    fn flags(change: impl Fn(&mut Measurement)) -> Vec<Flag> {
        let mut measurement = quiet();
        change(&mut measurement);
        of_measurement(&measurement, Per::Commit)
    }

    #[test]
    fn each_doubt_arises_at_its_bound_and_not_before() {
        assert_eq!(flags(|_| ()), []);
        assert_eq!(flags(|m| m.host_stolen = 0.15), [Flag::HostBound]);
        assert_eq!(
            flags(|m| m.rtts.push(rtt(250.0, 351.0, 300.0))),
            [Flag::Drifted]
        );
        assert_eq!(
            flags(|m| m.rtts.push(rtt(8_000.0, 7_500.0, 8_301.0))),
            [Flag::Drifted]
        );
        assert_eq!(flags(|m| m.errors = [(1213, 1)].into()), [Flag::Errors]);
        assert_eq!(flags(|m| m.commits = 0), [Flag::NoRows]);
        assert_eq!(
            flags(|m| m.flags = vec![Flag::Downgraded]),
            [Flag::Downgraded]
        );
    }

    #[test]
    fn who_waits_for_a_cpu_is_host_bound_however_busy_the_host() {
        let waited = |run_delay_us, own_cpus| {
            flags(|m| {
                m.host_busy = 0.99;
                m.window_s = 90e-6;
                m.scheduled = vec![Scheduled {
                    run_us: 90.0,
                    run_delay_us,
                    own_cpus,
                    ..Scheduled::default()
                }];
            })
        };
        assert_eq!(waited(10.0, None), []);
        assert_eq!(waited(10.1, None), [Flag::HostBound]);
        assert_eq!(waited(0.0, Some(1)), [Flag::HostBound, Flag::NodeBound]);
    }

    #[test]
    fn flush_times_drift_from_floor_and_asked_together() {
        let told = |disk: DiskGot| !flags(|m| m.disks_got = vec![disk.clone()]).is_empty();
        assert!(!told(disk(0.0, 330.0, 250.0)) && told(disk(0.0, 341.0, 300.0)));
        assert!(!told(disk(4_000.0, 4_600.0, 4_240.0)) && told(disk(4_000.0, 4_240.0, 3_800.0)));
        assert!(told(disk(0.0, 290.0, 185.0)), "apart from each other");
        let drawn = DiskGot {
            is_flush_drawn: true,
            ..disk(1_000.0, 2_500.0, 400.0)
        };
        assert!(!told(drawn));
    }

    #[test]
    fn a_mirror_without_its_copy_is_degraded() {
        let alone = Degraded {
            from_ms: 10,
            to_ms: None,
        };
        assert_eq!(flags(|m| m.degraded = vec![alone]), [Flag::Degraded]);
    }

    #[test]
    fn disks_are_late_above_a_share_of_what_takes_time() {
        let told = |timed_replies, late_replies| {
            let disk = DiskUse {
                timed_replies,
                late_replies,
                ..DiskUse::default()
            };
            flags(|m| m.disks = vec![DiskUse::default(), disk.clone()])
        };
        assert_eq!((told(0, 0), told(100, 5)), (vec![], vec![]));
        assert_eq!(told(100, 6), [Flag::LateDisks]);
    }

    #[test]
    fn reading_changes_no_rows_and_that_is_no_doubt() {
        let mut measurement = quiet();
        measurement.commits = 0;
        assert_eq!(of_measurement(&measurement, Per::Transaction), []);
    }

    #[test]
    fn doubts_are_counted_by_round() {
        let mut bound = quiet();
        bound.host_busy = 1.0;
        let counted = count(&[&quiet(), &bound, &bound], Per::Commit);
        let expected = FlagCount {
            flag: Flag::HostBound,
            rounds: 2,
            of: 3,
        };
        assert_eq!(counted, [expected]);
    }
}
