//! Whether what is asked lies inside what was measured, and how far outside.

use serde::Serialize;

use super::at::{At, Cpus};
use super::facts::Fact;

/// One thing that is asked, beside what was measured of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beside {
    pub what: What,
    pub asked: f64,
    /// The least and the most that was measured; absent where it was not.
    pub measured: Option<(f64, f64)>,
    pub place: Place,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum What {
    /// Round-trip time between two sites, in µs.
    Distance {
        from: String,
        to: String,
    },
    /// In µs.
    FlushTime,
    Connections,
    /// Of each node, on a machine of its own.
    Cpus,
}

/// Where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Place {
    Inside,
    /// So many times less than the least, or more than the most; absent of nothing at all.
    Below {
        times: Option<f64>,
    },
    Above {
        times: Option<f64>,
    },
    /// Nothing of the kind was measured.
    Unmeasured,
    /// Servers wrote to the host's own disk: another flush time cannot be foretold.
    Ignored,
}

/// The least and the most that was measured of each thing, in all cells that a model is made of;
/// absent where nothing of the kind was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ranges {
    /// Round-trip time between any two sites, in µs.
    pub rtt_us: Option<(f64, f64)>,
    pub flush_us: Option<(f64, f64)>,
    pub connections: Option<(f64, f64)>,
    /// Of each node, where nodes had CPUs of their own.
    pub own_cpus: Option<(f64, f64)>,
}

impl Ranges {
    /// Of these cells.
    pub fn of<'f>(facts: impl Iterator<Item = &'f Fact>) -> Ranges {
        let facts: Vec<&Fact> = facts.collect();
        let own = facts.iter().filter_map(|fact| match fact.cpus {
            Cpus::Own(count) => Some(f64::from(count)),
            Cpus::Shared(_) => None,
        });
        let connections = facts.iter().map(|fact| f64::from(fact.point.connections));
        Ranges {
            rtt_us: range(facts.iter().flat_map(|fact| asked_rtts_us(fact))),
            flush_us: range(facts.iter().filter_map(|fact| fact.flush_us)),
            connections: range(connections),
            own_cpus: range(own),
        }
    }

    /// Everything that is asked, beside what was measured.
    pub fn beside(&self, at: &At) -> Vec<Beside> {
        let distances = at.rtts_us.iter().map(|(from, to, us)| {
            let what = What::Distance {
                from: from.clone(),
                to: to.clone(),
            };
            placed(what, *us, self.rtt_us)
        });
        let flush = at.flush_us.map(|us| Beside {
            place: match self.flush_us {
                Some(range) => place(us, range),
                None => Place::Ignored,
            },
            what: What::FlushTime,
            asked: us,
            measured: self.flush_us,
        });
        let connections = f64::from(at.connections);
        let connections = placed(What::Connections, connections, self.connections);
        // Machines of their own were measured only where nodes had CPUs of their own.
        let cpus = match at.cpus {
            Cpus::Own(asked) => Some(placed(What::Cpus, f64::from(asked), self.own_cpus)),
            Cpus::Shared(_) => None,
        };
        let all = distances.chain(flush).chain([connections]);
        all.chain(cpus).collect()
    }
}

fn asked_rtts_us(fact: &Fact) -> Vec<f64> {
    let pairs = fact.point.distances.pairs.iter();
    pairs.map(|(_, _, rtt)| rtt.as_secs_f64() * 1e6).collect()
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((value.min(low), value.max(high)))
    })
}

fn placed(what: What, asked: f64, measured: Option<(f64, f64)>) -> Beside {
    Beside {
        place: measured.map_or(Place::Unmeasured, |range| place(asked, range)),
        what,
        asked,
        measured,
    }
}

fn place(asked: f64, (low, high): (f64, f64)) -> Place {
    let times = |more: f64, less: f64| (less > 0.0).then(|| more / less);
    if asked < low {
        let times = times(low, asked);
        Place::Below { times }
    } else if asked > high {
        let times = times(asked, high);
        Place::Above { times }
    } else {
        Place::Inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_inside_or_so_many_times_outside() {
        let range = (250.0, 8_000.0);
        assert_eq!(place(250.0, range), Place::Inside);
        assert_eq!(place(8_000.0, range), Place::Inside);
        let above = Place::Above {
            times: Some(1_250.0),
        };
        assert_eq!(place(1e7, range), above);
        let below = Place::Below { times: Some(2.5) };
        assert_eq!(place(100.0, range), below);
        assert_eq!(place(0.0, range), Place::Below { times: None });
        assert_eq!(place(5.0, (0.0, 0.0)), Place::Above { times: None });
    }

    #[test]
    fn a_range_needs_something_measured() {
        assert_eq!(range([].into_iter()), None);
        assert_eq!(range([3.0, 1.0, 2.0].into_iter()), Some((1.0, 3.0)));
        let unmeasured = placed(What::Cpus, 2.0, None);
        assert_eq!(unmeasured.place, Place::Unmeasured);
    }
}
