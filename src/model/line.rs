//! The line of single commits: `median = work + round trips · equal distance + flushes · flush
//! time`, by least squares of shares, so that a near cell weighs as much as a far one.

use std::collections::BTreeSet;

use serde::Serialize;

use super::facts::Fact;
use crate::analysis::anatomy::{Apart, FEWEST_TRIPS, possible_waits};
use crate::analysis::fit::least_squares;
use crate::analysis::interval::median;
use crate::analysis::summary::WaitsFor;

/// What is known of a mode before a line is drawn.
#[derive(Debug, Clone)]
pub struct Ways {
    /// Those in which it has nodes, the writer's first.
    pub sites: Vec<String>,
    /// Whether a commit of it may wait for a peer at all.
    pub has_peers: bool,
    /// Whom it waits for, where unequal distances told.
    pub waits_for: Option<WaitsFor>,
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub work_us: f64,
    pub round_trips: f64,
    pub waits_for: Vec<WaitsFor>,
    pub flushes: Option<f64>,
    /// Whether flushes are a slope, and not a count.
    pub is_flush_slope: bool,
}

/// Why no line can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lack {
    /// No commits of one client at a time were measured.
    NoSingle,
    /// They were, all at one distance: nobody knows how often a commit waits for it.
    OneDistance,
    /// Distances and flush times were moved together, or the cells say something that cannot be.
    Undetermined,
}

impl Ways {
    /// The equal distance that a cell's come to, got; `None` where they differ and nobody knows
    /// whom the mode waits for.
    pub fn equal_us(&self, fact: &Fact) -> Option<f64> {
        let at = fact.at();
        self.equal(&|one, other| at.rtt_us(one, other), fact)
    }

    /// The same as asked, to the µs: what was got differs by a little where the same was asked.
    fn asked_us(&self, fact: &Fact) -> Option<u64> {
        let distances = &fact.point.distances;
        let asked = |one: &str, other: &str| Some(distances.rtt(one, other)?.as_secs_f64() * 1e6);
        Some(self.equal(&asked, fact)?.round() as u64)
    }

    fn equal(&self, between: &dyn Fn(&str, &str) -> Option<f64>, fact: &Fact) -> Option<f64> {
        if !self.has_peers {
            return Some(0.0);
        }
        match self.is_equal(fact) {
            // Of all pairs, as in anatomy: each is got with an error of its own.
            true => self.mean(between),
            false => {
                let whom = self.waits_for.as_ref()?;
                Apart::of(&self.sites, between)?.equal_to(whom, &self.sites)
            }
        }
    }

    fn is_equal(&self, fact: &Fact) -> bool {
        let pairs = self.pairs().into_iter();
        let asked = pairs.map(|(one, other)| fact.point.distances.rtt(one, other));
        asked.collect::<BTreeSet<_>>().len() == 1
    }

    fn mean(&self, between: &dyn Fn(&str, &str) -> Option<f64>) -> Option<f64> {
        let pairs = self.pairs().into_iter();
        let all: Option<Vec<f64>> = pairs.map(|(one, other)| between(one, other)).collect();
        let all = all.filter(|all| !all.is_empty())?;
        Some(all.iter().sum::<f64>() / all.len() as f64)
    }

    fn pairs(&self) -> Vec<(&str, &str)> {
        let mut pairs = Vec::new();
        for (place, one) in self.sites.iter().enumerate() {
            for other in &self.sites[place + 1..] {
                pairs.push((one.as_str(), other.as_str()));
            }
        }
        pairs
    }
}

impl Line {
    /// The line through these cells.
    pub fn through(singles: &[&Fact], ways: &Ways) -> Result<Line, Lack> {
        let points: Vec<&Fact> = singles
            .iter()
            .copied()
            .filter(|fact| ways.equal_us(fact).is_some())
            .collect();
        if points.is_empty() {
            return Err(Lack::NoSingle);
        }
        let is_nobody = !ways.has_peers || ways.waits_for == Some(WaitsFor::Nobody);
        let asked: BTreeSet<_> = points.iter().map(|fact| ways.asked_us(fact)).collect();
        if !is_nobody && asked.len() < 2 {
            return Err(Lack::OneDistance);
        }
        let flushes: BTreeSet<_> = points
            .iter()
            .map(|fact| fact.flush_us.map(|us| us.round() as u64))
            .collect();
        let has_slope = flushes.len() > 1 && !flushes.contains(&None);
        let drawn = Columns {
            distance: !is_nobody,
            flushes: match has_slope {
                true => Flushes::Slope,
                false => Flushes::Known(counted(&points)),
            },
        };
        let line = drawn.line(&points, ways).ok_or(Lack::Undetermined)?;
        Ok(Line {
            is_flush_slope: has_slope,
            ..line
        })
    }

    /// The median that it foretells at an equal distance and a flush time.
    pub fn at(&self, distance_us: f64, flush_us: Option<f64>) -> f64 {
        self.work_us + self.waits_us(distance_us, flush_us)
    }

    /// What of it is waiting for somebody.
    pub fn waits_us(&self, distance_us: f64, flush_us: Option<f64>) -> f64 {
        let flushing_us = self.flushes.unwrap_or(0.0) * flush_us.unwrap_or(0.0);
        self.round_trips * distance_us + flushing_us
    }
}

/// Flushes that the writer's disk counted for each commit; `None` where it is no emulated one.
fn counted(points: &[&Fact]) -> Option<f64> {
    if points.iter().any(|fact| fact.flush_us.is_none()) {
        return None;
    }
    let all: Vec<f64> = points.iter().filter_map(|fact| fact.flushes).collect();
    median(&all)
}

/// What a line is drawn over.
#[derive(Clone, Copy)]
struct Columns {
    distance: bool,
    flushes: Flushes,
}

#[derive(Clone, Copy)]
enum Flushes {
    /// The slope over the flush time.
    Slope,
    /// So many, if anybody knows: what they take is taken off before the line is drawn.
    Known(Option<f64>),
}

impl Columns {
    /// A slope that is as good as none is none, and the line is drawn anew without it.
    fn line(self, points: &[&Fact], ways: &Ways) -> Option<Line> {
        let fit = self.coefficients(points, ways)?;
        let mut slopes = fit.iter().skip(1).copied();
        let trips = if self.distance { slopes.next() } else { None };
        let flushes = match self.flushes {
            Flushes::Slope => slopes.next(),
            Flushes::Known(count) => count,
        };
        let is_none = |slope: Option<f64>| slope.is_some_and(|slope| slope < FEWEST_TRIPS);
        let is_flat = matches!(self.flushes, Flushes::Slope) && is_none(flushes);
        if is_none(trips) || is_flat {
            let fewer = Columns {
                distance: self.distance && !is_none(trips),
                flushes: match is_flat {
                    true => Flushes::Known(Some(0.0)),
                    false => self.flushes,
                },
            };
            return fewer.line(points, ways);
        }
        let round_trips = trips.unwrap_or(0.0);
        Some(Line {
            work_us: fit[0],
            round_trips,
            waits_for: match (trips, &ways.waits_for) {
                (None, _) => vec![WaitsFor::Nobody],
                (_, Some(whom)) => vec![whom.clone()],
                _ => possible_waits(&ways.sites, round_trips),
            },
            flushes,
            is_flush_slope: false,
        })
    }

    /// Each row and each latency over that latency: errors are shares then.
    fn coefficients(self, points: &[&Fact], ways: &Ways) -> Option<Vec<f64>> {
        let known = match self.flushes {
            Flushes::Slope => 0.0,
            Flushes::Known(count) => count.unwrap_or(0.0),
        };
        let rows = points.iter().map(|fact| self.row(fact, ways));
        let rows: Vec<Vec<f64>> = rows.collect::<Option<_>>()?;
        let share = |fact: &&Fact| 1.0 - known * fact.flush_us.unwrap_or(0.0) / fact.p50_us;
        let shares: Vec<f64> = points.iter().map(share).collect();
        Some(least_squares(&rows, &shares)?.coefficients)
    }

    fn row(self, fact: &Fact, ways: &Ways) -> Option<Vec<f64>> {
        let mut row = vec![1.0];
        if self.distance {
            row.push(ways.equal_us(fact)?);
        }
        if let Flushes::Slope = self.flushes {
            row.push(fact.flush_us?);
        }
        Some(row.iter().map(|one| one / fact.p50_us).collect())
    }
}
