//! Lag by replicated heartbeat rows: from a beat's commit on the writer until it can be read on a
//! replica. Beats are sent outside the measured window, so their cost is in no count.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::lab::Lab;
use crate::lab::node::pause;
use crate::lab::sql::Ask;
use crate::record::{CATCH_UP_LIMIT_S, LAG_LIMIT_S, Lag};

/// Beats of one measurement.
const BEATS: u64 = 6;
/// The same of a paced one, in which the share of beats that were applied in time is told.
const BEATS_PACED: u64 = 20;
/// After so many beats waited for in vain no more are sent: they would tell no more.
const IN_VAIN: u64 = 1;
/// The same of a paced measurement: of [`BEATS_PACED`] one may be late.
const IN_VAIN_PACED: u64 = 2;
/// Beats of a paced measurement are a pace apart, as commits are, but no longer.
const APART_MAX: Duration = Duration::from_millis(50);
/// The longest that any beat is waited for.
const LAG_LIMIT: Duration = Duration::from_secs(LAG_LIMIT_S);
/// How long a replica may take to catch up when the load has stopped.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(CATCH_UP_LIMIT_S);
/// Time between two looks at a replica: the resolution of a lag.
const LOOK_EVERY: Duration = Duration::from_micros(500);

/// The lab's table of beats.
const HEARTBEAT: &str = "acklab_lab.heartbeat";

/// How the beats of a measurement are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beats {
    count: u64,
    /// From when one has been seen, or was given up, until the next.
    apart: Duration,
    /// How long each is waited for.
    limit: Duration,
    in_vain: u64,
}

impl Beats {
    /// Those of a cell. A beat is waited for as long as the measured `window` was, at most 2 s: the
    /// load builds up more backlog meanwhile. A replica that has not shown it by then is that far
    /// behind, or further.
    pub fn of(window: Duration, pace: Option<Duration>) -> Beats {
        let limit = window.min(LAG_LIMIT);
        match pace {
            None => Beats {
                count: BEATS,
                apart: Duration::ZERO,
                limit,
                in_vain: IN_VAIN,
            },
            Some(pace) => Beats {
                count: BEATS_PACED,
                apart: pace.min(APART_MAX),
                limit,
                in_vain: IN_VAIN_PACED,
            },
        }
    }
}

/// Lag of each of the nodes `replicas` of a lab, while its load runs.
pub fn measure(lab: &mut Lab, replicas: std::ops::Range<usize>, beats: Beats) -> Result<Vec<Lag>> {
    let (writer, others) = lab.nodes.split_at_mut(1);
    let others = &mut others[replicas.start - 1..replicas.end - 1];
    measure_on(&mut writer[0], others, HEARTBEAT, beats)
}

/// The same on any servers; `heartbeat` is the table of beats.
pub fn measure_on(
    writer: &mut impl Ask,
    replicas: &mut [impl Ask],
    heartbeat: &str,
    beats: Beats,
) -> Result<Vec<Lag>> {
    let limit_ms = beats.limit.as_secs_f64() * 1e3;
    let mut lags: Vec<Lag> = replicas.iter().map(named).collect();
    let (mut sent, mut in_vain) = (0, 0);
    while sent < beats.count && in_vain < beats.in_vain {
        if sent > 0 {
            pause(beats.apart)?;
        }
        let beat = next_beat(writer, heartbeat)?;
        let start = Instant::now();
        let watched = watch(replicas, heartbeat, beat, start, beats.limit)?;
        for (lag, seen_ms) in lags.iter_mut().zip(watched) {
            lag.lag_ms.push(seen_ms.unwrap_or(limit_ms));
        }
        sent += 1;
        in_vain += u64::from(start.elapsed() >= beats.limit);
    }
    Ok(lags)
}

fn named(node: &impl Ask) -> Lag {
    Lag {
        node: node.name().to_owned(),
        ..Lag::default()
    }
}

/// Commits the next beat on the writer.
fn next_beat(writer: &mut impl Ask, heartbeat: &str) -> Result<u64> {
    let text = writer.value(&format!("SELECT beat FROM {heartbeat} WHERE id = 1"))?;
    let beat = text.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) + 1;
    writer.run(&format!(
        "UPDATE {heartbeat} SET beat = {beat} WHERE id = 1"
    ))?;
    Ok(beat)
}

/// Milliseconds until each replica shows the beat; none of one that does not by the limit.
fn watch(
    replicas: &mut [impl Ask],
    heartbeat: &str,
    beat: u64,
    start: Instant,
    limit: Duration,
) -> Result<Vec<Option<f64>>> {
    let look = format!("SELECT beat FROM {heartbeat} WHERE id = 1");
    let mut seen_ms: Vec<Option<f64>> = vec![None; replicas.len()];
    while seen_ms.contains(&None) && start.elapsed() < limit {
        for (node, seen) in replicas.iter_mut().zip(&mut seen_ms) {
            if seen.is_none() {
                let text = node.value(&look)?;
                let shown = text.and_then(|text| text.parse::<u64>().ok());
                *seen = (shown >= Some(beat)).then(|| start.elapsed().as_secs_f64() * 1e3);
            }
        }
        pause(LOOK_EVERY)?;
    }
    Ok(seen_ms)
}

/// After the load has stopped, on any servers: how long each replica takes until it shows a beat
/// sent now, behind which nothing is left to apply.
pub fn catch_up_on(
    writer: &mut impl Ask,
    replicas: &mut [impl Ask],
    heartbeat: &str,
    lags: &mut [Lag],
) -> Result<()> {
    if replicas.is_empty() {
        return Ok(());
    }
    let start = Instant::now();
    let beat = next_beat(writer, heartbeat)?;
    let seen = watch(replicas, heartbeat, beat, start, CATCH_UP_LIMIT)?;
    for (lag, seen_ms) in lags.iter_mut().zip(seen) {
        lag.catch_up_ms = seen_ms;
    }
    Ok(())
}

/// Waits until each replica shows a beat sent now, behind which nothing is left to apply; false
/// where one does not by the limit.
pub fn is_level(
    writer: &mut impl Ask,
    replicas: &mut [impl Ask],
    heartbeat: &str,
    limit: Duration,
) -> Result<bool> {
    if replicas.is_empty() {
        return Ok(true);
    }
    let start = Instant::now();
    let beat = next_beat(writer, heartbeat)?;
    let seen = watch(replicas, heartbeat, beat, start, limit)?;
    Ok(seen.iter().all(Option::is_some))
}

/// After the load has stopped: how long each replica takes to apply the rest.
pub fn catch_up(lab: &mut Lab, replicas: std::ops::Range<usize>, lags: &mut [Lag]) -> Result<()> {
    let start = Instant::now();
    for (i, lag) in replicas.zip(lags) {
        if lab.catch_up(i, CATCH_UP_LIMIT)? {
            lag.catch_up_ms = Some(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::rc::Rc;

    use super::*;

    /// A server whose beat is the writer's, or stands still.
    struct Server {
        name: &'static str,
        beat: Rc<Cell<u64>>,
    }

    impl Ask for Server {
        fn name(&self) -> &str {
            self.name
        }

        fn run(&mut self, _sql: &str) -> Result<()> {
            self.beat.set(self.beat.get() + 1);
            Ok(())
        }

        fn value(&mut self, _sql: &str) -> Result<Option<String>> {
            Ok(Some(self.beat.get().to_string()))
        }

        fn pairs(&mut self, _sql: &str) -> Result<BTreeMap<String, String>> {
            Ok(BTreeMap::new())
        }
    }

    /// How many beats each of two replicas was looked at for: one follows, and one does if asked.
    fn beats_seen(pace: Option<Duration>, follow: bool) -> Vec<usize> {
        let beat = Rc::new(Cell::new(0));
        let server = |name, beat: &Rc<Cell<u64>>| Server {
            name,
            beat: beat.clone(),
        };
        let mut writer = server("writer", &beat);
        let other = if follow { beat.clone() } else { Rc::default() };
        let mut replicas = [server("b", &beat), server("c", &other)];
        let limit = match follow {
            true => Duration::from_secs(60),
            false => Duration::from_millis(2),
        };
        let beats = Beats {
            limit,
            ..Beats::of(limit, pace)
        };
        let lags = measure_on(&mut writer, &mut replicas, "t", beats).unwrap();
        lags.iter().map(|lag| lag.lag_ms.len()).collect()
    }

    #[test]
    fn a_paced_measurement_has_more_beats_and_gives_up_later() {
        let pace = Some(Duration::from_micros(1));
        assert_eq!(beats_seen(None, true), [6, 6]);
        assert_eq!(beats_seen(pace, true), [20, 20]);
        assert_eq!(beats_seen(None, false), [1, 1]);
        assert_eq!(beats_seen(pace, false), [2, 2]);
    }

    #[test]
    fn paced_beats_are_a_pace_apart_but_not_for_long() {
        let apart = |pace_ms| Beats::of(LAG_LIMIT, Some(Duration::from_millis(pace_ms))).apart;
        assert_eq!(apart(20), Duration::from_millis(20));
        assert_eq!(apart(10_000), APART_MAX);
    }

    #[test]
    fn replicas_are_level_once_each_shows_the_beat() {
        let beat = Rc::new(Cell::new(0));
        let server = |name, beat: &Rc<Cell<u64>>| Server {
            name,
            beat: beat.clone(),
        };
        let mut writer = server("writer", &beat);
        let mut replicas = [server("b", &beat), server("c", &Rc::default())];
        let limit = Duration::from_millis(5);
        assert!(!is_level(&mut writer, &mut replicas, "t", limit).unwrap());
        // Those that do are not waited for any longer.
        assert!(is_level(&mut writer, &mut replicas[..1], "t", Duration::MAX).unwrap());
    }
}
