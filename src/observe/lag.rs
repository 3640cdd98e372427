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
/// Beats are so far apart: enough for a replica that keeps up to show one before the next.
const APART: Duration = Duration::from_millis(20);
/// Those of a paced measurement are a pace apart, as commits are, but no longer.
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
    /// From one to the next, whether or not it was seen by then; longer where the writer takes
    /// longer to commit it.
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
                apart: APART,
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
    let mut sent: Vec<Beat> = Vec::new();
    let mut given_up = 0;
    let mut next_at = Instant::now();
    loop {
        let is_last = sent.len() as u64 == beats.count || given_up >= beats.in_vain;
        if !is_last && Instant::now() >= next_at {
            next_at = Instant::now() + beats.apart;
            sent.push(Beat::send(writer, heartbeat, replicas.len())?);
        }
        look(replicas, heartbeat, &mut sent)?;
        let is_late = |beat: &&Beat| !beat.is_seen() && beat.since.elapsed() >= beats.limit;
        given_up = sent.iter().filter(is_late).count() as u64;
        let is_settled = |beat: &Beat| beat.is_seen() || beat.since.elapsed() >= beats.limit;
        if is_last && sent.iter().all(is_settled) {
            break;
        }
        pause(LOOK_EVERY)?;
    }
    let limit_ms = beats.limit.as_secs_f64() * 1e3;
    let lag = |(place, node): (usize, &_)| Lag {
        lag_ms: (sent.iter())
            .map(|beat: &Beat| beat.seen_ms[place].unwrap_or(limit_ms))
            .collect(),
        ..named(node)
    };
    Ok(replicas.iter().enumerate().map(lag).collect())
}

/// A beat that the writer has committed.
struct Beat {
    number: u64,
    since: Instant,
    /// After how long each replica showed it.
    seen_ms: Vec<Option<f64>>,
}

impl Beat {
    fn send(writer: &mut impl Ask, heartbeat: &str, replicas: usize) -> Result<Beat> {
        Ok(Beat {
            number: next_beat(writer, heartbeat)?,
            since: Instant::now(),
            seen_ms: vec![None; replicas],
        })
    }

    fn is_seen(&self) -> bool {
        !self.seen_ms.contains(&None)
    }
}

/// A replica that shows a beat has shown all before it.
fn look(replicas: &mut [impl Ask], heartbeat: &str, sent: &mut [Beat]) -> Result<()> {
    let sql = format!("SELECT beat FROM {heartbeat} WHERE id = 1");
    for (place, node) in replicas.iter_mut().enumerate() {
        if sent.iter().all(|beat| beat.seen_ms[place].is_some()) {
            continue;
        }
        let text = node.value(&sql)?;
        let shown = text.and_then(|text| text.parse::<u64>().ok());
        let is_new = |beat: &&mut Beat| beat.seen_ms[place].is_none() && shown >= Some(beat.number);
        for beat in sent.iter_mut().filter(is_new) {
            beat.seen_ms[place] = Some(beat.since.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(())
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
        let [unpaced, paced] = [None, pace].map(|pace| beats_seen(pace, false)[0]);
        assert!(unpaced < 6, "{unpaced}");
        assert!((2..20).contains(&paced), "{paced}");
    }

    /// Three beats are sent, and only then the first is shown.
    #[test]
    fn a_beat_is_sent_whether_or_not_the_one_before_was_seen() {
        let beat = Rc::new(Cell::new(0));
        let mut writer = Server {
            name: "writer",
            beat: beat.clone(),
        };
        let mut replicas = [Late { of: beat, by: 3 }];
        let beats = Beats {
            count: 4,
            apart: Duration::ZERO,
            limit: Duration::from_millis(20),
            in_vain: 4,
        };
        let lags = measure_on(&mut writer, &mut replicas, "t", beats).unwrap();
        let seen = lags[0].lag_ms.iter().filter(|ms| **ms < 20.0).count();
        assert_eq!((lags[0].lag_ms.len(), seen), (4, 1));
    }

    /// A replica that is some beats behind.
    struct Late {
        of: Rc<Cell<u64>>,
        by: u64,
    }

    impl Ask for Late {
        fn name(&self) -> &str {
            "late"
        }

        fn run(&mut self, _sql: &str) -> Result<()> {
            Ok(())
        }

        fn value(&mut self, _sql: &str) -> Result<Option<String>> {
            Ok(Some(self.of.get().saturating_sub(self.by).to_string()))
        }

        fn pairs(&mut self, _sql: &str) -> Result<BTreeMap<String, String>> {
            Ok(BTreeMap::new())
        }
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
