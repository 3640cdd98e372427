//! What replicas apply that have the machine to themselves: their appliers rested under load, and
//! are started once it has ended.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::cpu::process_cpu_us;
use crate::error::Result;
use crate::lab::Lab;
use crate::lab::mode::Gtids;
use crate::lab::node::pause;
use crate::record::AppliedAlone;

/// Time between two looks. Each costs the replica a SELECT.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// They are watched for so many times the load's window at most, for many need far longer,
const WINDOWS: u32 = 2;
/// but for so long in any case.
const LIMIT_MIN: Duration = Duration::from_secs(3);

/// Starts the appliers of these replicas of a lab, once all that was committed is received, and
/// watches them until all is applied or the limit for a load of that `window` is over.
///
/// # Errors
/// A breakdown if a replica does not receive, cannot be started, or does not answer.
pub fn alone(lab: &mut Lab, replicas: Range<usize>, window: Duration) -> Result<Vec<AppliedAlone>> {
    let limit = (window * WINDOWS).max(LIMIT_MIN);
    let committed = lab.executed(0)?;
    let mut all = Vec::new();
    for i in replicas.clone() {
        lab.wait_received(i, &committed)?;
        all.push(Watched::of(lab, i, &committed)?);
    }
    let start = Instant::now();
    lab.start_appliers(replicas)?;
    while start.elapsed() < limit && all.iter().any(Watched::is_at_work) {
        for one in all.iter_mut().filter(|one| one.is_at_work()) {
            one.look(lab, &committed, start)?;
        }
        pause(LOOK_EVERY)?;
    }
    Ok(all.into_iter().map(Watched::told).collect())
}

/// A replica whose appliers are watched.
struct Watched {
    /// Index of its node.
    i: usize,
    node: String,
    /// What it had to apply when they were started.
    waiting: u64,
    looks: Vec<Look>,
}

/// What one look at it saw.
#[derive(Debug, Clone, Copy)]
struct Look {
    /// Since the appliers were started.
    at: Duration,
    /// Since then, too.
    applied: u64,
    /// Of its server, since whenever.
    cpu_us: f64,
}

impl Watched {
    fn of(lab: &mut Lab, i: usize, committed: &Gtids) -> Result<Watched> {
        Ok(Watched {
            i,
            node: lab.nodes[i].name().to_owned(),
            waiting: committed.missing_in(&lab.executed(i)?),
            looks: vec![],
        })
    }

    fn is_at_work(&self) -> bool {
        self.looks.last().map_or(0, |look| look.applied) < self.waiting
    }

    fn look(&mut self, lab: &mut Lab, committed: &Gtids, start: Instant) -> Result<()> {
        let left = committed.missing_in(&lab.executed(self.i)?);
        let node = &lab.nodes[self.i];
        let Some(cpu_us) = node.pid().and_then(process_cpu_us) else {
            return Err(node.breakdown("read its CPU clock", "its process is gone"));
        };
        self.looks.push(Look {
            at: start.elapsed(),
            applied: self.waiting.saturating_sub(left),
            cpu_us,
        });
        Ok(())
    }

    fn told(self) -> AppliedAlone {
        let (node, waiting) = (self.node, self.waiting);
        let Some((from, to)) = ends(&self.looks, waiting) else {
            return AppliedAlone {
                node,
                waiting,
                ..AppliedAlone::default()
            };
        };
        AppliedAlone {
            node,
            waiting,
            commits: to.applied - from.applied,
            span_s: (to.at - from.at).as_secs_f64(),
            cpu_us: to.cpu_us - from.cpu_us,
        }
    }
}

/// The first look that saw some applied, and the last that saw some left: appliers take a moment to
/// begin, and nobody knows for how long before the look that found them done they were so. `None`
/// without two such.
fn ends(looks: &[Look], waiting: u64) -> Option<(Look, Look)> {
    let at_work = |look: &&Look| (1..waiting).contains(&look.applied);
    let mut all = looks.iter().filter(at_work);
    Some((*all.next()?, *all.next_back()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A replica with 1,000 commits to apply that is looked at each 20 ms, and takes 100 µs of CPU
    /// for each.
    fn told(applied: &[u64]) -> AppliedAlone {
        let look = |(number, applied): (u32, &u64)| Look {
            at: LOOK_EVERY * number,
            applied: *applied,
            cpu_us: 5_000.0 + *applied as f64 * 100.0,
        };
        let watched = Watched {
            i: 1,
            node: "b".to_owned(),
            waiting: 1_000,
            looks: (1..).zip(applied).map(look).collect(),
        };
        watched.told()
    }

    #[test]
    fn the_rate_is_of_the_time_in_which_appliers_were_surely_at_work() {
        let whole = told(&[0, 0, 100, 400, 700, 1_000]);
        assert_eq!((whole.commits, whole.waiting), (600, 1_000));
        assert!((whole.span_s - 0.04).abs() < 1e-9, "{whole:?}");
        assert!((whole.cpu_us - 60_000.0).abs() < 1e-6, "{whole:?}");
        // Cut off by the limit, the last look counts.
        let cut_off = told(&[0, 100, 200, 300]);
        assert_eq!(cut_off.commits, 200);
        assert!((cut_off.span_s - 0.04).abs() < 1e-9, "{cut_off:?}");
    }

    #[test]
    fn too_little_to_apply_has_no_rate() {
        for applied in [&[][..], &[0, 0], &[1_000], &[0, 500, 1_000]] {
            let short = told(applied);
            assert_eq!((short.commits, short.span_s), (0, 0.0), "{applied:?}");
            assert_eq!((&short.node[..], short.waiting), ("b", 1_000));
        }
    }

    #[test]
    fn appliers_that_stand_still_are_seen_to() {
        let still = told(&[0, 300, 300, 300]);
        assert_eq!(still.commits, 0);
        assert!(still.span_s > 0.0, "{still:?}");
    }
}
