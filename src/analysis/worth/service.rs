//! How long nobody was served, and until when it was as before.

use serde::Serialize;

use crate::record::history::{Answer, History};
use crate::record::trials::Trial;
use crate::study::faults::Fault;

/// A rate is as before if it is this share of it at least,
const OLD_SHARE: f64 = 0.8;
/// over a window of this length.
const WINDOW_US: u64 = 1_000_000;
/// A rate before the fault is one if it was seen for so long.
const BEFORE_US_MIN: u64 = 100_000;
/// A shorter gap leaves a window as it was: the rate is looked at from the fault on then.
const GAP_US_MIN: u64 = 200_000;
/// After a longer silence at the end nobody was served again.
const SILENCE_US: u64 = 1_000_000;

/// What clients had of the service around a fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Service {
    /// The longest time between two acknowledgements from the first step on, in s; at least that
    /// long if nobody was served again. `None` without a fault, or an acknowledgement.
    pub no_service_s: Option<f64>,
    /// When that began; µs of the history's clock.
    pub from_us: Option<u64>,
    /// Whether anybody was served again.
    pub is_back: bool,
    /// Acknowledgements before the first step; `None` if it was seen too shortly.
    pub before_per_s: Option<f64>,
    /// From the beginning of that time, or from the first step where it was too short to matter,
    /// until the rate was as before, in s: over a second at least four fifths of it. `None` if it
    /// never was, as far as was looked.
    pub as_before_s: Option<f64>,
}

impl Service {
    pub fn of(fault: &Fault, trial: &Trial) -> Service {
        let times = times(&trial.history);
        let (Some(step), Some(&first)) = (trial.steps.first(), times.first()) else {
            return Service::default();
        };
        let end_us = end_us(fault, trial);
        let Gap {
            from_us,
            until_us,
            is_open,
        } = longest_gap(&times, step.begun_us, end_us);
        let (down_us, up_us) = match until_us - from_us < GAP_US_MIN {
            true => (step.begun_us, step.begun_us),
            false => (from_us, until_us),
        };
        let before_per_s = before_per_s(&times, first, step.begun_us);
        let back_us = before_per_s.and_then(|rate| as_before_us(&times, up_us, rate, end_us));
        let back_us = back_us.filter(|_| !is_open);
        Service {
            no_service_s: Some(seconds(until_us - from_us)),
            from_us: Some(from_us),
            is_back: !is_open,
            before_per_s,
            as_before_s: back_us.map(|us| seconds(us - down_us)),
        }
    }
}

/// Acknowledgements in each window from the history's beginning to its last.
pub fn acknowledged_per(history: &History, window_us: u64) -> Vec<u32> {
    let mut windows: Vec<u32> = Vec::new();
    for at_us in times(history) {
        let at = (at_us / window_us.max(1)) as usize;
        if windows.len() <= at {
            windows.resize(at + 1, 0);
        }
        windows[at] += 1;
    }
    windows
}

/// Of acknowledgements, in order.
fn times(history: &History) -> Vec<u64> {
    let all = history.transfers.iter();
    let acknowledged = all.filter(|transfer| transfer.answer == Answer::Acknowledged);
    let mut times: Vec<u64> = acknowledged.map(|transfer| transfer.ended_us).collect();
    times.sort_unstable();
    times
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

/// Until when clients were at work.
fn end_us(fault: &Fault, trial: &Trial) -> u64 {
    let answers = trial.history.transfers.iter().map(|it| it.ended_us);
    let last_us = answers.max().unwrap_or(0);
    if let Some(watched_us) = trial.watched_us {
        return last_us.max(watched_us);
    }
    let steps = trial.steps.iter().map(|done| done.ended_us);
    let steps_us = steps.max().unwrap_or(0);
    let afterwards_us = u64::try_from(fault.afterwards.as_micros()).unwrap_or(u64::MAX);
    last_us.max(steps_us.saturating_add(afterwards_us))
}

/// A time without an acknowledgement.
struct Gap {
    from_us: u64,
    until_us: u64,
    /// Nothing came after it.
    is_open: bool,
}

/// The longest that reaches beyond the fault.
fn longest_gap(times: &[u64], fault_us: u64, end_us: u64) -> Gap {
    let between = times.windows(2).map(|pair| Gap {
        from_us: pair[0],
        until_us: pair[1],
        is_open: false,
    });
    let last_us = times.last().copied().unwrap_or(0);
    let after = Gap {
        from_us: last_us,
        until_us: end_us.max(last_us),
        is_open: true,
    };
    let is_silence = after.until_us - after.from_us > SILENCE_US || last_us < fault_us;
    let beyond = between.filter(|gap| gap.until_us > fault_us);
    let all = beyond.chain(is_silence.then_some(after));
    let longest = all.max_by_key(|gap| gap.until_us - gap.from_us);
    longest.unwrap_or(Gap {
        from_us: last_us,
        until_us: last_us,
        is_open: false,
    })
}

fn before_per_s(times: &[u64], first_us: u64, fault_us: u64) -> Option<f64> {
    let long_us = fault_us.saturating_sub(first_us);
    let count = times.partition_point(|us| *us < fault_us);
    (long_us >= BEFORE_US_MIN).then(|| count as f64 / seconds(long_us))
}

/// The first acknowledgement from a time on with which a whole window begins that is as before.
fn as_before_us(times: &[u64], from_us: u64, rate_per_s: f64, end_us: u64) -> Option<u64> {
    let needed = OLD_SHARE * rate_per_s * seconds(WINDOW_US);
    let first = times.partition_point(|us| *us < from_us);
    let is_as_before = |at: &usize| {
        let until_us = times[*at].saturating_add(WINDOW_US);
        let after = times.partition_point(|us| *us < until_us);
        until_us <= end_us && (after - at) as f64 >= needed
    };
    let found = (first..times.len()).find(is_as_before);
    found.map(|at| times[at])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::analysis::worth::tests::made::{fault, transfer};
    use crate::record::trials::Done;
    use crate::study::faults::{Deed, Target};

    /// Acknowledgements every so many µs in spans, and a step at 2 s.
    fn service(spans: &[(u64, u64, u64)], afterwards_s: u64) -> Service {
        let times =
            (spans.iter()).flat_map(|(from, to, every)| (*from..*to).step_by(*every as usize));
        // Each is acknowledged 100 µs after its beginning.
        let transfers = (1..)
            .zip(times)
            .map(|(token, us)| transfer(token, 0, us - 100));
        let history = History {
            transfers: transfers.collect(),
            ..History::default()
        };
        let kill = Done {
            begun_us: 2_000_000,
            ended_us: 2_000_500,
            ..Done::default()
        };
        let trial = Trial {
            history,
            steps: vec![kill],
            ..Trial::default()
        };
        let mut fault = fault(&[Deed::Kill(Target::Writer)]);
        fault.afterwards = Duration::from_secs(afterwards_s);
        Service::of(&fault, &trial)
    }

    fn is_near(got: Option<f64>, expected: f64) -> bool {
        got.is_some_and(|got| (got - expected).abs() < 0.002)
    }

    const BEFORE: (u64, u64, u64) = (1_000_000, 2_001_000, 1_000);

    #[test]
    fn a_fail_over_has_a_gap_and_a_slow_beginning() {
        let slow = (5_000_000, 7_000_000, 2_000);
        let fast = (7_000_000, 9_500_000, 1_000);
        let service = service(&[BEFORE, slow, fast], 1);
        assert!(is_near(service.no_service_s, 3.0), "{service:?}");
        assert!(service.is_back && service.from_us == Some(2_000_000));
        assert!(is_near(service.before_per_s, 1_000.0), "{service:?}");
        // From 6.6 s on a second has 200 of the slow and 600 of the fast ones.
        let as_before_s = service.as_before_s.unwrap();
        assert!((4.55..=4.65).contains(&as_before_s), "{service:?}");
    }

    #[test]
    fn who_is_never_served_again_has_no_end() {
        let service = service(&[BEFORE], 4);
        assert!(!service.is_back && service.as_before_s.is_none());
        assert!(is_near(service.no_service_s, 4.0), "{service:?}");
    }

    #[test]
    fn without_a_dip_all_is_as_before_at_once() {
        let all = service(&[(1_000_000, 5_000_000, 1_000)], 1);
        assert!(is_near(all.no_service_s, 0.001), "{all:?}");
        assert!(is_near(all.as_before_s, 0.0), "{all:?}");
        let half = service(&[BEFORE, (2_001_000, 6_000_000, 2_000)], 1);
        assert!(half.is_back && half.as_before_s.is_none(), "{half:?}");
    }

    #[test]
    fn without_a_fault_or_an_answer_there_is_nothing_to_say() {
        let fault = fault(&[]);
        let none = Service::of(&fault, &Trial::default());
        assert_eq!(none, Service::default());
        let short = service(&[(1_950_000, 2_100_000, 1_000)], 0);
        assert_eq!(short.before_per_s, None);
    }

    #[test]
    fn windows_count_what_was_acknowledged_in_them() {
        let history = History {
            transfers: vec![
                transfer(1, 0, 0),
                transfer(2, 0, 850),
                transfer(3, 0, 2_000),
            ],
            ..History::default()
        };
        assert_eq!(acknowledged_per(&history, 1_000), [2, 0, 1]);
        assert!(acknowledged_per(&History::default(), 0).is_empty());
    }
}
