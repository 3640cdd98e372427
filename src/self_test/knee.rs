//! Does the search for a knee find one that is known?
//!
//! One server with exponential service is M/M/1: the 99th percentile of the time in it is
//! ln 100 / (μ − λ), as `open_loop` has it. So it keeps a limit L up to the rate μ − ln 100 / L.
//! Each search begins with nothing known, and each measurement has draws of its own.

use std::time::Duration;

use super::null_server::Service;
use super::probe::{Load, Parts, Telling, drive};
use crate::error::Result;
use crate::plan::Outcome;
use crate::plan::knee::{Found, Search, Try, knee_per_s};
use crate::record::Measurement;
use crate::record::self_test::Check;

/// Short, for what scatters does so over a number of these; and long against the way to the server
/// and being woken up, which are half a millisecond of a 99th percentile here, and in no formula.
const SERVICE: Duration = Duration::from_micros(300);
const LIMIT: Duration = Duration::from_micros(6_300);
/// More than are ever in the queue while the limit is kept.
const CONNECTIONS: u32 = 256;
/// Of a measurement far from the knee,
const WINDOW: Duration = Duration::from_secs(1);
/// and of one near it, whole and in short: the percentile scatters by some 6 % then, or 10, a knee
/// by a quarter of that.
const WINDOWS_FINE: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(4)];
const OFF_MAX: f64 = 0.05;
/// One search of so many may stray.
const STRAYS: usize = 20;

/// Many searches for the same knee.
pub fn run(_parts: &mut Parts, tell: &mut Telling, is_quick: bool) -> Result<Vec<Check>> {
    let (searches, fine): (u64, Duration) = match is_quick {
        true => (1, WINDOWS_FINE[1]),
        false => (20, WINDOWS_FINE[0]),
    };
    let truth_per_s = SERVICE.as_secs_f64().recip() - 100.0_f64.ln() / LIMIT.as_secs_f64();
    let mut off = Vec::new();
    for number in 0..searches {
        off.push(search(number, fine)?.map(|knee| knee / truth_per_s - 1.0));
    }
    let check = judge(&off, truth_per_s);
    tell(&check);
    Ok(vec![check])
}

/// How far each knee is off, as a share; `None` of a search without one.
fn judge(off: &[Option<f64>], truth_per_s: f64) -> Check {
    let is_near = |off: &&Option<f64>| off.is_some_and(|off| off.abs() <= OFF_MAX);
    let (near, all) = (off.iter().filter(is_near).count(), off.len());
    let least = all - all / STRAYS;
    let found: Vec<f64> = off.iter().flatten().copied().collect();
    let lowest = found.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let ends = match found.is_empty() {
        true => "none found one".to_owned(),
        false => format!(
            "{} found one, {:+.1} to {:+.1} % off",
            found.len(),
            lowest * 100.0,
            highest * 100.0
        ),
    };
    Check {
        what: format!(
            "knee, M/M/1, p99 at most {:.1} ms",
            LIMIT.as_secs_f64() * 1e3
        ),
        must_hold: format!("within 5 % of {truth_per_s:.0}/s in {least} of {all}"),
        reached: format!("{near} of {all}; {ends}"),
        holds: near >= least,
    }
}

fn search(number: u64, fine: Duration) -> Result<Option<f64>> {
    let mut search = Search::new(None);
    for step in 0.. {
        let Some(asked) = search.asks() else { break };
        // No two measurements of any search have the same seed.
        let outcome = measure(asked, 1_000 * (number + 1) + step, fine)?;
        search.take(outcome.verdict(LIMIT));
    }
    Ok(match search.found() {
        Some(Found::Knee(kept)) => Some(knee_per_s(kept)),
        _ => None,
    })
}

fn measure(asked: Try, seed: u64, fine: Duration) -> Result<Outcome> {
    let seen = drive(&Load {
        service: Service::OneAtATime {
            mean: SERVICE,
            seed,
        },
        connections: CONNECTIONS,
        rate_per_s: Some(asked.offered().rate_per_s.into()),
        pace: None,
        window: if asked.is_fine { fine } else { WINDOW },
    })?;
    let mut measured = Measurement::default();
    measured.cpu.client_us = seen.driver_share * seen.window.window_s * 1e6;
    seen.window.keep_in(&mut measured);
    Ok(measured.outcome(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_search_may_stray_and_no_second_one() {
        let off = |far: &[f64]| {
            let near = (far.len()..20).map(|_| Some(-0.03));
            let far = far.iter().map(|off| Some(*off));
            judge(&far.chain(near).collect::<Vec<_>>(), 2_602.0)
        };
        assert!(off(&[]).holds && off(&[0.08]).holds);
        let missed = off(&[0.08, -0.06]);
        assert!(!missed.holds);
        assert!(missed.reached.contains("18 of 20"), "{}", missed.reached);
        assert!(!judge(&[Some(0.07)], 2_602.0).holds, "a single one may not");
        let none = judge(&[None, None, Some(0.0)], 2_602.0);
        assert!(!none.holds && none.reached.contains("1 found one"));
    }
}
