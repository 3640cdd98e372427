//! What came of a measurement, as a schedule sees it.

use std::time::Duration;

use super::{Flag, Measurement, histogram};
use crate::plan::Outcome;

impl Measurement {
    /// Whether it must not enter any figure.
    pub fn is_void(&self) -> bool {
        let are_void = [Flag::LateLinks, Flag::DriverMissing];
        are_void.iter().any(|flag| self.flags.contains(flag))
    }

    /// Whether the host, or a driver that was lost, disturbed it so that it is made again. What is
    /// void is left out then; else the last one stays: a host that is disturbed always would have
    /// no figures at all.
    pub fn is_disturbed(&self) -> bool {
        self.is_void() || self.flags.contains(&Flag::Stolen)
    }

    /// What a schedule is told of it; `took` is how long it took with all that came before and
    /// after its window.
    pub fn outcome(&self, took: Duration) -> Outcome {
        let per_s = |count: u64| count as f64 / self.window_s.max(f64::MIN_POSITIVE);
        let of_due = |count: u64| count as f64 / self.due.max(1) as f64;
        let latency = histogram::at_least(self).ok();
        let latency = latency.filter(|latency| !latency.is_empty());
        let driver_us = self.cpu.busiest_driver_us.unwrap_or(self.cpu.client_us);
        let quantile = |q| latency.as_ref().map(|latency| latency.value_at_quantile(q));
        Outcome {
            round: self.round,
            cell: self.cell,
            is_void: self.is_void(),
            commits_per_s: per_s(self.commits),
            transactions_per_s: per_s(self.commits + self.unchanged),
            latency_us_p50: quantile(0.5),
            latency_us_p99: quantile(0.99),
            failed_share: of_due(self.failed_due),
            backlog_share: of_due(self.backlog),
            driver_cpus: driver_us
                / 1e6
                / (self.window_s * self.rest_speed()).max(f64::MIN_POSITIVE),
            took,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::knee::Verdict;
    use crate::record::{CpuUsed, SpeedGot};
    use crate::study::CpuSpeed;

    /// A hundred transactions of 1 ms and two that had not ended after 60 ms, in 2 s.
    fn measured() -> Measurement {
        let mut ended = histogram::empty();
        ended.record_n(1_000, 100).unwrap();
        let mut unfinished = histogram::empty();
        unfinished.record_n(60_000, 2).unwrap();
        Measurement {
            window_s: 2.0,
            commits: 100,
            due: 102,
            latency_us: histogram::encode(&ended),
            unfinished_us: Some(histogram::encode(&unfinished)),
            cpu: CpuUsed {
                client_us: 1e6,
                ..CpuUsed::default()
            },
            ..Measurement::default()
        }
    }

    #[test]
    fn what_had_not_ended_counts_with_what_it_had_taken() {
        let outcome = measured().outcome(Duration::ZERO);
        assert_eq!((outcome.commits_per_s, outcome.driver_cpus), (50.0, 0.5));
        let verdict = |ms| outcome.verdict(Duration::from_millis(ms));
        assert_eq!(verdict(50), Some(Verdict::Breaks));
        assert_eq!(verdict(70), Some(Verdict::Keeps));
    }

    #[test]
    fn of_several_drivers_the_busiest_counts() {
        let mut several = measured();
        (several.cpu.client_us, several.cpu.busiest_driver_us) = (4.8e6, Some(1.2e6));
        assert_eq!(several.outcome(Duration::ZERO).driver_cpus, 0.6);
        // Of a CPU that is half as fast it takes all that there is.
        several.cpu_speed = Some(SpeedGot {
            got: CpuSpeed::of_all(0.5),
            ..SpeedGot::default()
        });
        assert_eq!(several.outcome(Duration::ZERO).driver_cpus, 1.2);
    }

    #[test]
    fn what_failed_and_what_was_not_begun_is_told_as_shares_of_what_was_due() {
        let outcome = Measurement {
            failed_due: 51,
            backlog: 102,
            ..measured()
        };
        let outcome = outcome.outcome(Duration::ZERO);
        assert_eq!((outcome.failed_share, outcome.backlog_share), (0.5, 1.0));
        let nothing = Measurement::default().outcome(Duration::ZERO);
        assert_eq!((nothing.failed_share, nothing.latency_us_p99), (0.0, None));
    }
}
