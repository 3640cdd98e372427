//! Doubts: which there are, judged here with their thresholds, and in how many rounds.

use std::collections::BTreeMap;

use super::summary::{FlagCount, Per};
use crate::record::{Flag, Measurement, RttGot};

/// From this share of the host's CPU time on, busy or stolen, a figure tells of the host.
pub const HOST_BOUND_SHARE: f64 = 0.95;
/// A round-trip time may stray by this share of what was asked, or by so many µs if that is more.
pub const DRIFT_SHARE: f64 = 0.10;
/// See [`DRIFT_SHARE`].
pub const DRIFT_US: f64 = 100.0;

/// All doubts of one measurement: those noted while it ran and those judged from its figures.
pub fn of_measurement(measurement: &Measurement, per: Per) -> Vec<Flag> {
    let busy = busy_share(measurement);
    let judged = [
        (Flag::HostBound, busy >= HOST_BOUND_SHARE),
        (Flag::Drifted, measurement.rtts.iter().any(has_drifted)),
        (Flag::Errors, measurement.errors.values().any(|n| *n > 0)),
        (Flag::NoRows, per == Per::Commit && measurement.commits == 0),
    ];
    let judged = judged.into_iter().filter(|(_, holds)| *holds);
    let mut flags = measurement.flags.clone();
    flags.extend(judged.map(|(flag, _)| flag));
    flags.sort();
    flags.dedup();
    flags
}

/// Share of the host's CPU time that was not left over.
pub fn busy_share(measurement: &Measurement) -> f64 {
    (measurement.host_busy + measurement.host_stolen).min(1.0)
}

/// Whether a measurement must not enter any figure.
pub fn is_void(measurement: &Measurement) -> bool {
    measurement.flags.contains(&Flag::LateLinks)
}

fn has_drifted(rtt: &RttGot) -> bool {
    let bound = (DRIFT_SHARE * rtt.rtt_us_asked).max(DRIFT_US);
    let strays = |got: f64, from: f64| (got - from).abs() > bound;
    strays(rtt.rtt_us_before, rtt.rtt_us_after)
        || strays(rtt.rtt_us_before, rtt.rtt_us_asked)
        || strays(rtt.rtt_us_after, rtt.rtt_us_asked)
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
