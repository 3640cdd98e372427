//! Does an offered rate show what a stall and a queue do to latency?
//!
//! Both truths are known. Of a server that stands still for 1 s in 10 a tenth of the transactions
//! wait, up to a second: the 95th percentile is half a second, the 99th is 0.9 s. One server with
//! exponential service at 70 % is M/M/1: the time in it is exponential with mean 1/(μ − λ)
//! (Kleinrock, "Queueing Systems", volume 1, section 3.2), so p99 is ln 100 times that.

use std::time::Duration;

use super::null_server::Service;
use super::probe::{Load, Parts, Telling, drive, quantile_ms};
use crate::error::Result;
use crate::record::self_test::Check;

/// Enough for all that becomes due in a stall.
const CONNECTIONS: u32 = 1_200;
const RATE_PER_S: f64 = 1_000.0;
const SERVICE: Duration = Duration::from_millis(1);
/// Of what the one server can do.
const LOAD: f64 = 0.7;

/// A stall, a queue, and the account of what became due in both.
pub fn run(_parts: &mut Parts, tell: &mut Telling, is_quick: bool) -> Result<Vec<Check>> {
    let (stalls, queue_s) = if is_quick { (2, 40) } else { (10, 120) };
    let mut checks = Vec::new();
    let mut add = |check: Check| {
        tell(&check);
        checks.push(check);
    };
    let seen = drive(&Load {
        service: Service::Stalling {
            stall: Duration::from_secs(1),
            period: Duration::from_secs(10),
        },
        connections: CONNECTIONS,
        rate_per_s: Some(RATE_PER_S),
        pace: None,
        window: Duration::from_secs(10) * stalls,
    })?;
    let latency = seen.latency_us()?;
    let stall = "1 s of stall in 10 at 1,000/s";
    for (name, share, truth_ms, off_ms) in [("p95", 0.95, 500.0, 25.0), ("p99", 0.99, 900.0, 45.0)]
    {
        let got = quantile_ms(&latency, share)?;
        add(Check {
            what: format!("{name}, {stall}"),
            must_hold: format!("{truth_ms:.0} ±{off_ms:.0} ms"),
            reached: format!("{got:.0} ms"),
            holds: (got - truth_ms).abs() <= off_ms,
        });
    }
    add(account(&seen.window, latency.len(), stall)?);
    let rate_per_s = LOAD / SERVICE.as_secs_f64();
    let seen = drive(&Load {
        service: Service::OneAtATime {
            mean: SERVICE,
            seed: 7,
        },
        connections: 256,
        rate_per_s: Some(rate_per_s),
        pace: None,
        window: Duration::from_secs(queue_s),
    })?;
    let latency = seen.latency_us()?;
    let got = quantile_ms(&latency, 0.99)?;
    let truth_ms = 100.0_f64.ln() / (1.0 / SERVICE.as_secs_f64() - rate_per_s) * 1e3;
    add(Check {
        what: format!("p99, M/M/1 at {LOAD}, {queue_s} s"),
        must_hold: format!("{truth_ms:.1} ms ±10 %"),
        reached: format!("{got:.1} ms"),
        holds: (got / truth_ms - 1.0).abs() <= 0.1,
    });
    add(account(&seen.window, latency.len(), "M/M/1")?);
    Ok(checks)
}

/// Each that became due ended, failed or is unfinished.
fn account(window: &crate::load::Snapshot, in_percentiles: u64, of: &str) -> Result<Check> {
    let sum = in_percentiles + window.failed_due;
    Ok(Check {
        what: format!("account, {of}"),
        must_hold: "due = ended + failed + unfinished".to_owned(),
        reached: format!("{} due, {sum} accounted for", window.due),
        holds: sum == window.due && window.due > 0,
    })
}
