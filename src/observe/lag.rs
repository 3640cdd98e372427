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
/// The longest that any beat is waited for.
const LAG_LIMIT: Duration = Duration::from_secs(LAG_LIMIT_S);
/// How long a replica may take to catch up when the load has stopped.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(CATCH_UP_LIMIT_S);
/// Time between two looks at a replica: the resolution of a lag.
const LOOK_EVERY: Duration = Duration::from_micros(500);

/// The lab's table of beats.
const HEARTBEAT: &str = "acklab_lab.heartbeat";

/// Lag of each of the nodes `replicas` of a lab, while its load runs. A beat is waited for as long
/// as the measured `window` was, at most 2 s: the load builds up more backlog meanwhile. A replica
/// that has not shown it by then is that far behind, or further.
pub fn measure(
    lab: &mut Lab,
    replicas: std::ops::Range<usize>,
    window: Duration,
) -> Result<Vec<Lag>> {
    let (writer, others) = lab.nodes.split_at_mut(1);
    let others = &mut others[replicas.start - 1..replicas.end - 1];
    measure_on(&mut writer[0], others, HEARTBEAT, window)
}

/// The same on any servers; `heartbeat` is the table of beats.
pub fn measure_on(
    writer: &mut impl Ask,
    replicas: &mut [impl Ask],
    heartbeat: &str,
    window: Duration,
) -> Result<Vec<Lag>> {
    let limit = window.min(LAG_LIMIT);
    let mut lags: Vec<Lag> = replicas.iter().map(named).collect();
    for _ in 0..BEATS {
        let beat = next_beat(writer, heartbeat)?;
        let start = Instant::now();
        let watched = watch(replicas, heartbeat, beat, start, limit)?;
        for (lag, seen_ms) in lags.iter_mut().zip(watched) {
            lag.lag_ms
                .push(seen_ms.unwrap_or(limit.as_secs_f64() * 1e3));
        }
        if start.elapsed() >= limit {
            break; // far behind: more beats would tell no more
        }
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
