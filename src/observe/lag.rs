//! Lag by replicated heartbeat rows: from a beat's commit on the writer until it can be read on a
//! replica. Beats are sent outside the measured window, so their cost is in no count.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::lab::Lab;
use crate::lab::node::{Node, pause};
use crate::record::Lag;

/// Beats of one measurement.
const BEATS: u64 = 6;
/// The longest that any beat is waited for.
const LAG_LIMIT: Duration = Duration::from_secs(2);
/// How long a replica may take to catch up when the load has stopped.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(60);
/// Time between two looks at a replica: the resolution of a lag.
const LOOK_EVERY: Duration = Duration::from_micros(500);

/// Lag of each of the nodes `replicas` of a lab, while its load runs. A beat is waited for as long
/// as the measured `window` was, at most 2 s: the load builds up more backlog meanwhile. A replica
/// that has not shown it by then is that far behind, or further.
pub fn measure(
    lab: &mut Lab,
    replicas: std::ops::Range<usize>,
    window: Duration,
) -> Result<Vec<Lag>> {
    let limit = window.min(LAG_LIMIT);
    let mut lags: Vec<Lag> = replicas.clone().map(|i| named(&lab.nodes[i])).collect();
    for _ in 0..BEATS {
        let beat = next_beat(&mut lab.nodes[0])?;
        let start = Instant::now();
        let watched = watch(&mut lab.nodes[replicas.clone()], beat, start, limit)?;
        for (lag, lag_ms) in lags.iter_mut().zip(watched) {
            lag.lag_ms.push(lag_ms);
        }
        if start.elapsed() >= limit {
            break; // far behind: more beats would tell no more
        }
    }
    Ok(lags)
}

fn named(node: &Node) -> Lag {
    Lag {
        node: node.site().to_owned(),
        ..Lag::default()
    }
}

/// Commits the next beat on the writer.
fn next_beat(writer: &mut Node) -> Result<u64> {
    let text = writer.value("SELECT beat FROM acklab_lab.heartbeat WHERE id = 1")?;
    let beat = text.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) + 1;
    writer.run(&format!(
        "UPDATE acklab_lab.heartbeat SET beat = {beat} WHERE id = 1"
    ))?;
    Ok(beat)
}

/// Milliseconds until each replica shows the beat; `limit` for one that does not by then.
fn watch(replicas: &mut [Node], beat: u64, start: Instant, limit: Duration) -> Result<Vec<f64>> {
    let mut seen_ms: Vec<Option<f64>> = vec![None; replicas.len()];
    while seen_ms.contains(&None) && start.elapsed() < limit {
        for (node, seen) in replicas.iter_mut().zip(&mut seen_ms) {
            if seen.is_none() {
                let text = node.value("SELECT beat FROM acklab_lab.heartbeat WHERE id = 1")?;
                let shown = text.and_then(|text| text.parse::<u64>().ok());
                *seen = (shown >= Some(beat)).then(|| start.elapsed().as_secs_f64() * 1e3);
            }
        }
        pause(LOOK_EVERY)?;
    }
    let limit_ms = limit.as_secs_f64() * 1e3;
    Ok(seen_ms
        .into_iter()
        .map(|seen| seen.unwrap_or(limit_ms))
        .collect())
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
