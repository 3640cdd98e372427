//! Does the driver measure what a server takes, lose nothing, and say when it is full itself?

use std::time::Duration;

use super::null_server::Service;
use super::probe::{Load, Parts, Seen, Telling, bare_client, drive, quantile_ms};
use crate::analysis::flags::is_driver_bound;
use crate::error::Result;
use crate::plan::DRIVER_FULL_CPUS;
use crate::record::self_test::Check;
use crate::record::{CpuUsed, Flag, Measurement};

/// How far the median may be from what the server took: one connection, and many.
const MEDIAN_OFF_US: [f64; 2] = [20.0, 50.0];
/// p99 may be off by this share, or by so much.
const P99_OFF_SHARE: f64 = 0.02;
const P99_OFF_US: f64 = 100.0;
const MANY: u32 = 64;
/// All connections together, so that neither driver nor server is busy.
const STATEMENTS_PER_S: u32 = 1_000;
const MOST: u32 = 2_000;

/// At delays that the server keeps, and with as many connections as there can be.
pub fn run(_parts: &mut Parts, tell: &mut Telling, is_quick: bool) -> Result<Vec<Check>> {
    let window = Duration::from_secs(if is_quick { 3 } else { 12 });
    let mut checks = Vec::new();
    let mut add = |check: Check| {
        tell(&check);
        checks.push(check);
    };
    for delay in [100, 1_000, 10_000].map(Duration::from_micros) {
        let service = Service::After(delay);
        let way = way(service, window)?;
        for (connections, bound_us) in [1, MANY].into_iter().zip(MEDIAN_OFF_US) {
            let seen = drive(&Load {
                service,
                connections,
                rate_per_s: None,
                pace: Some(Duration::from_secs(1) * connections / STATEMENTS_PER_S),
                window,
            })?;
            let of = format!("{}, {} ms", named(connections), delay.as_secs_f64() * 1e3);
            let median = (0.5, way.0);
            add(held(&seen, median, &format!("median, {of}"), |_| bound_us)?);
            let bound = |truth: f64| P99_OFF_US.max(P99_OFF_SHARE * truth);
            add(held(&seen, (0.99, way.1), &format!("p99, {of}"), bound)?);
            add(counts(&seen, &of));
        }
    }
    let seen = drive(&Load {
        service: Service::After(Duration::from_millis(1)),
        connections: MOST,
        rate_per_s: None,
        pace: Some(Duration::from_secs(1)),
        window,
    })?;
    add(counts(&seen, &named(MOST)));
    let of = format!("{} that begin one a second each", named(MOST));
    add(flagged(seen.driver_share, &of, false));
    let seen = drive(&Load {
        service: Service::After(Duration::ZERO),
        connections: MANY,
        rate_per_s: None,
        pace: None,
        window: Duration::from_secs(3),
    })?;
    let of = format!("{} at a server that takes no time", named(MANY));
    add(flagged(seen.driver_share, &of, true));
    Ok(checks)
}

fn named(connections: u32) -> String {
    match connections {
        1 => "1 connection".to_owned(),
        many => format!("{many} connections"),
    }
}

/// What the way to the server and back takes a client that does nothing else, in µs: median and
/// 99th percentile.
fn way(service: Service, window: Duration) -> Result<(f64, f64)> {
    let times = (window.as_secs() as u32) * 100;
    let (seen, served) = bare_client(service, (times, Duration::from_millis(1)))?;
    let of = |share| -> Result<f64> {
        Ok((quantile_ms(&seen, share)? - quantile_ms(&served, share)?) * 1e3)
    };
    Ok((of(0.5)?, of(0.99)?))
}

/// A quantile of latency against the server's own and the way there and back, in µs.
fn held(
    seen: &Seen,
    (share, way_us): (f64, f64),
    what: &str,
    bound_us: impl Fn(f64) -> f64,
) -> Result<Check> {
    let got = quantile_ms(&seen.latency_us()?, share)? * 1e3;
    let truth = quantile_ms(&seen.served_us()?, share)? * 1e3 + way_us;
    let bound = bound_us(truth);
    Ok(Check {
        what: what.to_owned(),
        must_hold: format!("within {bound:.0} µs of what a bare client would see"),
        reached: format!(
            "{:+.0} µs ({got:.0} for {truth:.0}, {way_us:.0} of it the way)",
            got - truth
        ),
        holds: (got - truth).abs() <= bound,
    })
}

fn counts(seen: &Seen, of: &str) -> Check {
    let told = seen.whole.commits + seen.whole.unchanged;
    let failed = seen.whole.errors.total() + seen.whole.unanswered;
    Check {
        what: format!("statements, {of}"),
        must_hold: "as many answers told as the server gave".to_owned(),
        reached: format!("{told} of {}, {failed} failed", seen.served.answered),
        holds: told == seen.served.answered && failed == 0,
    }
}

/// Whether a measurement of a driver that takes such a share of a core is flagged, as it must be or
/// must not.
fn flagged(driver_share: f64, of: &str, must_be: bool) -> Check {
    let measurement = Measurement {
        window_s: 1.0,
        cpu: CpuUsed {
            busiest_driver_us: Some(driver_share * 1e6),
            ..CpuUsed::default()
        },
        ..Measurement::default()
    };
    let (flag, most) = (Flag::DriverBound.name(), DRIVER_FULL_CPUS * 100.0);
    Check {
        what: format!("the driver, {of}"),
        must_hold: match must_be {
            true => format!("is {flag}: uses more than {most:.0} % of a core"),
            false => format!("is not {flag}: uses {most:.0} % of a core at most"),
        },
        reached: format!("{:.0} %", driver_share * 100.0),
        holds: is_driver_bound(&measurement) == must_be,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_driver_must_be_flagged_and_an_idle_one_must_not() {
        let holds = |share, must_be| flagged(share, "a load", must_be).holds;
        assert_eq!((holds(0.97, true), holds(0.79, true)), (true, false));
        assert_eq!((holds(0.05, false), holds(0.81, false)), (true, false));
    }
}
