//! Doubts: which there are, judged here with their thresholds, and in how many rounds.

use std::collections::BTreeMap;
use std::time::Duration;

use super::contention::{self, HOST_BOUND_CONTENTION};
use super::summary::{FlagCount, Per};
use super::terms;
use crate::plan::{DRIVER_FULL_CPUS, Point};
use crate::record::{DiskGot, DiskUse, Flag, Header, LAG_LIMIT_S, Measurement};

/// From this share of the host's CPU time on, busy or stolen, a figure tells of the host: of a
/// record that does not tell who waited.
pub const HOST_BOUND_SHARE: f64 = 0.95;
/// A round-trip time may stray by this share of what was asked, a flush time by this share of its
/// floor and what was asked, or by so many µs if that is more.
pub const DRIFT_SHARE: f64 = 0.10;
/// See [`DRIFT_SHARE`].
pub const DRIFT_US: f64 = 100.0;

/// The speed of CPUs that are to be slower may stray by so much from what was asked.
const SPEED_DRIFT: f64 = 0.02;

/// A disk may answer this share of the requests that take a time of their own too late.
const LATE_REPLIES_SHARE: f64 = 0.05;

/// For this share of a window the switch may be without its priority.
const WITHOUT_PRIORITY_SHARE: f64 = 0.05;

/// At an offered rate this share of what became due in a window may wait at its end.
pub const OVERLOADED_SHARE: f64 = 0.05;

/// From this share of the host's CPU time on, busy or stolen but for the switch's spin, a paced
/// measurement does not tell what a commit costs on idle machines.
pub const NOT_IDLE_SHARE: f64 = 0.30;
/// In a paced measurement at least this share of the heartbeats must be applied on all replicas
/// within the pace.
pub const APPLIED_SHARE: f64 = 0.95;

/// What measurements are judged by, besides their own figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Asked<'h> {
    per: Per,
    /// Where connections rest between their transactions.
    pace: Option<Duration>,
    /// The measured window as asked.
    window: Duration,
    /// Of the host,
    cpus: u32,
    /// and whose they are where several machines may have measured.
    hosts: Option<&'h Header>,
}

impl<'h> Asked<'h> {
    /// Of measurements at that point of a record, or at points that have its workload and pace.
    pub fn of(header: &'h Header, point: &Point) -> Asked<'h> {
        let is_apart = !header.parts.is_empty() || !header.resumed.is_empty();
        Asked {
            per: terms::per(&point.workload),
            pace: point.pace,
            window: point.window,
            cpus: header.host.cpus,
            hosts: is_apart.then_some(header),
        }
    }

    fn cpus_of(self, measurement: &Measurement) -> u32 {
        let own = |header: &Header| header.host_of(measurement).cpus;
        self.hosts.map_or(self.cpus, own)
    }
}

/// All doubts of one measurement: those noted while it ran and those judged from its figures.
pub fn of_measurement(measurement: &Measurement, asked: Asked) -> Vec<Flag> {
    let judged = [
        // Paced, what matters is whether the host had room: `not-idle`.
        (
            Flag::HostBound,
            asked.pace.is_none() && is_host_bound(measurement),
        ),
        (Flag::NodeBound, contention::is_node_bound(measurement)),
        (Flag::DriverBound, is_driver_bound(measurement)),
        (Flag::Drifted, has_drifted(measurement)),
        (Flag::Degraded, is_degraded(measurement)),
        (Flag::LateDisks, measurement.disks.iter().any(is_late)),
        (Flag::LinksStarved, are_links_starved(measurement)),
        (Flag::Overloaded, is_overloaded(measurement)),
        (Flag::Errors, !measurement.errors.is_empty()),
        (
            Flag::NoRows,
            asked.per == Per::Commit && measurement.commits == 0,
        ),
        (
            Flag::NotIdle,
            asked.pace.is_some() && is_busy(measurement, asked.cpus_of(measurement)),
        ),
        (Flag::NotApplied, is_not_applied(measurement, asked)),
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

/// Whether some driver, which is one thread, had little of a core left. Of an older record that is
/// not known.
pub fn is_driver_bound(measurement: &Measurement) -> bool {
    let window_us = measurement.window_s * 1e6;
    let busiest_us = measurement.cpu.busiest_driver_us;
    let room_us = window_us * measurement.rest_speed();
    busiest_us.is_some_and(|used_us| used_us > DRIVER_FULL_CPUS * room_us)
}

fn are_links_starved(measurement: &Measurement) -> bool {
    measurement.links_without_priority_s > WITHOUT_PRIORITY_SHARE * measurement.window_s
}

/// Whether the host did more than a commit now and then.
fn is_busy(measurement: &Measurement, cpus: u32) -> bool {
    let held_us = measurement.cpu_speed.map_or(0.0, |speed| speed.held_us);
    let host_us = measurement.window_s * 1e6 * f64::from(cpus) - held_us;
    let spin_us = measurement.cpu.links_spin_us.unwrap_or(0.0);
    let spin = if host_us > 0.0 {
        spin_us / host_us
    } else {
        0.0
    };
    busy_share(measurement) - spin >= NOT_IDLE_SHARE
}

/// Whether too few heartbeats of a paced measurement were applied on all replicas within the pace.
/// None is without replicas.
fn is_not_applied(measurement: &Measurement, asked: Asked) -> bool {
    let lags = &measurement.lag;
    let Some(pace) = asked.pace.filter(|_| !lags.is_empty()) else {
        return false;
    };
    let ms = |span: Duration| span.as_secs_f64() * 1e3;
    let limit_ms = ms(asked.window.min(Duration::from_secs(LAG_LIMIT_S)));
    // One that was waited for in vain has the limit as its lag.
    let is_in_time = |lag_ms: &f64| *lag_ms <= ms(pace) && *lag_ms < limit_ms;
    let beats = lags.iter().map(|lag| lag.lag_ms.len()).max().unwrap_or(0);
    let is_applied = |beat: &usize| {
        let mut shown = lags.iter().map(|lag| lag.lag_ms.get(*beat));
        shown.all(|lag_ms| lag_ms.is_some_and(is_in_time))
    };
    let applied = (0..beats).filter(is_applied).count();
    beats == 0 || (applied as f64) < APPLIED_SHARE * beats as f64
}

/// Whether more was offered than was answered.
pub fn is_overloaded(measurement: &Measurement) -> bool {
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
        || has_speed_drifted(measurement)
}

fn has_speed_drifted(measurement: &Measurement) -> bool {
    let Some(speed) = measurement.cpu_speed else {
        return false;
    };
    let mut pairs = speed.asked.parts().into_iter().zip(speed.got.parts());
    pairs.any(|(asked, got)| (asked - got).abs() > SPEED_DRIFT)
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
pub fn count(measurements: &[&Measurement], asked: Asked) -> Vec<FlagCount> {
    let mut rounds: BTreeMap<Flag, u32> = BTreeMap::new();
    for measurement in measurements {
        for flag in of_measurement(measurement, asked) {
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
    use crate::record::{CpuUsed, Degraded, Host, Lag, Resumed, RttGot, Scheduled, SpeedGot};
    use crate::study::CpuSpeed;

    const CLOSED: Asked = Asked {
        per: Per::Commit,
        pace: None,
        window: Duration::from_secs(10),
        cpus: 4,
        hosts: None,
    };

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
        assert_eq!(of_measurement(&offered(50), CLOSED), []);
        assert_eq!(of_measurement(&offered(51), CLOSED), [Flag::Overloaded]);
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
        of_measurement(&measurement, CLOSED)
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
    fn links_are_starved_where_the_switch_lacks_its_priority_for_a_while() {
        let lacking =
            |without_s| flags(|m| (m.window_s, m.links_without_priority_s) = (10.0, without_s));
        assert_eq!(
            (lacking(0.5), lacking(0.6)),
            (vec![], vec![Flag::LinksStarved])
        );
    }

    #[test]
    fn a_driver_is_bound_by_its_own_core_and_not_by_all_drivers_together() {
        let used = |busiest_driver_us, client_us| {
            flags(|m| {
                m.window_s = 10.0;
                m.cpu = CpuUsed {
                    client_us,
                    busiest_driver_us,
                    ..CpuUsed::default()
                };
            })
        };
        assert_eq!(used(Some(8.0e6), 16.0e6), []);
        assert_eq!(used(Some(8.1e6), 8.1e6), [Flag::DriverBound]);
        assert_eq!(used(None, 9.9e6), [], "an older record");
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
    fn a_paced_commit_that_waits_for_a_cpu_is_no_doubt_on_an_idle_host() {
        let waiting = Measurement {
            host_busy: 0.2,
            host_stolen: 0.0,
            window_s: 1.0,
            scheduled: vec![Scheduled {
                run_us: 90.0,
                run_delay_us: 90.0,
                ..Scheduled::default()
            }],
            ..quiet()
        };
        let pace = Some(Duration::from_millis(20));
        assert_eq!(of_measurement(&waiting, Asked { pace, ..CLOSED }), []);
        assert_eq!(of_measurement(&waiting, CLOSED), [Flag::HostBound]);
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
    fn cpus_that_are_not_as_slow_as_asked_have_drifted() {
        let told = |writer| {
            let asked = CpuSpeed {
                writer: 0.8,
                ..CpuSpeed::default()
            };
            let got = CpuSpeed { writer, ..asked };
            let speed = SpeedGot {
                asked,
                got,
                held_us: 1e6,
            };
            flags(|m| m.cpu_speed = Some(speed))
        };
        assert_eq!((told(0.785), told(0.815)), (vec![], vec![]));
        assert_eq!(told(0.775), [Flag::Drifted]);
        assert_eq!(told(0.825), [Flag::Drifted]);
    }

    #[test]
    fn a_driver_on_a_slower_cpu_is_bound_sooner() {
        let used = |busiest_driver_us| {
            flags(|m| {
                m.window_s = 10.0;
                m.cpu.busiest_driver_us = Some(busiest_driver_us);
                let half = CpuSpeed::of_all(0.5);
                m.cpu_speed = Some(SpeedGot {
                    asked: half,
                    got: half,
                    held_us: 2e7,
                });
            })
        };
        assert_eq!(used(3.9e6), []);
        assert_eq!(used(4.1e6), [Flag::DriverBound]);
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
        assert_eq!(
            of_measurement(
                &measurement,
                Asked {
                    per: Per::Transaction,
                    ..CLOSED
                }
            ),
            []
        );
    }

    /// Doubts of a measurement with a pace of 20 ms, and whether it has any without.
    fn paced(change: impl Fn(&mut Measurement)) -> Vec<Flag> {
        let mut measurement = Measurement {
            host_busy: 0.1,
            host_stolen: 0.0,
            window_s: 10.0,
            ..quiet()
        };
        change(&mut measurement);
        assert_eq!(of_measurement(&measurement, CLOSED), []);
        let pace = Some(Duration::from_millis(20));
        of_measurement(&measurement, Asked { pace, ..CLOSED })
    }

    #[test]
    fn a_paced_host_that_is_busy_is_not_idle_but_for_the_spin() {
        let busy = |busy, stolen, spin_us: Option<f64>| {
            paced(|m| {
                (m.host_busy, m.host_stolen) = (busy, stolen);
                m.cpu = CpuUsed {
                    links_spin_us: spin_us,
                    ..CpuUsed::default()
                };
            })
        };
        assert_eq!(busy(0.29, 0.0, None), []);
        assert_eq!(busy(0.30, 0.0, None), [Flag::NotIdle]);
        assert_eq!(busy(0.20, 0.10, None), [Flag::NotIdle]);
        // A whole CPU of four spins for the whole window.
        assert_eq!(busy(0.54, 0.0, Some(10e6)), []);
        assert_eq!(busy(0.55, 0.0, Some(10e6)), [Flag::NotIdle]);
    }

    fn lags(all: [Vec<f64>; 2]) -> Vec<Flag> {
        let lag = |lag_ms: &Vec<f64>| Lag {
            lag_ms: lag_ms.clone(),
            ..Lag::default()
        };
        paced(|m| m.lag = all.iter().map(lag).collect())
    }

    #[test]
    fn commits_must_be_applied_on_all_replicas_before_the_next_begins() {
        let with = |late: usize, lag_ms: f64| {
            let in_time = std::iter::repeat_n(20.0, 20 - late);
            in_time.chain(std::iter::repeat_n(lag_ms, late)).collect()
        };
        let prompt: Vec<f64> = with(0, 0.0);
        assert_eq!(lags([prompt.clone(), with(1, 20.5)]), []);
        assert_eq!(lags([prompt.clone(), with(2, 20.5)]), [Flag::NotApplied]);
        // One of each replica, at different beats.
        let mut first: Vec<f64> = with(1, 2_000.0);
        first.reverse();
        assert_eq!(lags([first, with(1, 2_000.0)]), [Flag::NotApplied]);
        assert_eq!(lags([vec![], vec![]]), [Flag::NotApplied], "no beat at all");
        assert_eq!(paced(|m| m.lag = vec![]), [], "no replica");
    }

    #[test]
    fn a_beat_waited_for_in_vain_is_never_in_time() {
        let measurement = |lag_ms| Measurement {
            host_busy: 0.0,
            host_stolen: 0.0,
            lag: vec![Lag {
                lag_ms: vec![lag_ms],
                ..Lag::default()
            }],
            ..quiet()
        };
        let asked = Asked {
            pace: Some(Duration::from_secs(5)),
            ..CLOSED
        };
        assert_eq!(of_measurement(&measurement(1_999.0), asked), []);
        assert_eq!(
            of_measurement(&measurement(2_000.0), asked),
            [Flag::NotApplied]
        );
    }

    #[test]
    fn a_machine_is_idle_or_not_by_its_own_cpus() {
        let host = |cpus| Host {
            cpus,
            ..Host::default()
        };
        let header = Header {
            host: host(64),
            resumed: vec![Resumed {
                host: host(2),
                ..Resumed::default()
            }],
            ..Header::default()
        };
        let asked = |header| Asked::of(header, &Point::default());
        let resumed = Measurement {
            segment: 1,
            ..quiet()
        };
        assert_eq!(asked(&header).cpus_of(&quiet()), 64);
        assert_eq!(asked(&header).cpus_of(&resumed), 2);
        let one = Header {
            resumed: vec![],
            ..header.clone()
        };
        assert_eq!(asked(&one).cpus_of(&resumed), 64);
    }

    #[test]
    fn doubts_are_counted_by_round() {
        let mut bound = quiet();
        bound.host_busy = 1.0;
        let counted = count(&[&quiet(), &bound, &bound], CLOSED);
        let expected = FlagCount {
            flag: Flag::HostBound,
            rounds: 2,
            of: 3,
        };
        assert_eq!(counted, [expected]);
    }
}
