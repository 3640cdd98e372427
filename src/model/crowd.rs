//! What cells of several connections tell beyond single commits: how CPU time falls with company,
//! how many commits share a flush, how latency is spread. Counts only: no throughput enters into
//! them, and no latency but as a ratio to another of the same cell.

use super::coefficients::{Appliers, AtConnections, Demand, Pipeline, Several};
use super::facts::Fact;
use super::line::{Line, Ways};
use crate::analysis::fit::least_squares;
use crate::analysis::interval::median;
use crate::plan::Point;
use crate::study::Mode;

/// A variable of Galera's: threads that apply.
const GALERA_APPLIERS: &str = "wsrep_slave_threads";

/// One mode's cells, and the line through those of single commits.
pub struct Alone<'a> {
    pub point: &'a Point,
    pub singles: &'a [&'a Fact],
    pub ways: &'a Ways,
    pub line: &'a Line,
}

/// CPU time of a commit, as a line over what it waits.
type Figure = fn(&Fact) -> Option<f64>;

impl Alone<'_> {
    fn waits_us(&self, fact: &Fact) -> Option<f64> {
        Some(self.line.waits_us(self.ways.equal_us(fact)?, fact.flush_us))
    }

    /// Of single commits; `None` where the record does not tell. What would fall with waiting is
    /// noise, and taken for constant.
    fn demand(&self, figure: Figure) -> Option<Demand> {
        let told = |fact: &&Fact| Some((self.waits_us(fact)?, figure(fact)?));
        let points: Vec<(f64, f64)> = self.singles.iter().filter_map(told).collect();
        let rows: Vec<Vec<f64>> = points.iter().map(|(wait, _)| vec![1.0, *wait]).collect();
        let times: Vec<f64> = points.iter().map(|(_, time)| *time).collect();
        let constant = Demand {
            rest_us: median(&times)?,
            growth: 0.0,
            fall: 0.0,
        };
        let is_moved = self.line.round_trips > 0.0 || self.line.is_flush_slope;
        let fit = least_squares(&rows, &times).filter(|_| is_moved);
        let grown = fit.map(|fit| Demand {
            rest_us: fit.coefficients[0],
            growth: fit.coefficients[1],
            fall: 0.0,
        });
        let grown = grown.filter(|demand| demand.growth > 0.0 && demand.rest_us > 0.0);
        Some(grown.unwrap_or(constant))
    }

    fn single(&self, figure: Figure) -> Option<f64> {
        let all = self.singles.iter().filter_map(|fact| figure(fact));
        median(&all.collect::<Vec<f64>>())
    }
}

/// What cells of several connections of one mode show.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    writer_falls: Vec<f64>,
    host_falls: Vec<f64>,
    powers: Vec<f64>,
    medians: Vec<AtConnections>,
    p99s: Vec<AtConnections>,
}

impl Seen {
    pub fn of(several: &[&Fact], alone: &Alone) -> Seen {
        let falls = |figure: Figure| -> Vec<f64> {
            let Some(demand) = alone.demand(figure) else {
                return vec![];
            };
            let falls = several.iter();
            let falls = falls.filter_map(|fact| fall(alone, &demand, fact, figure));
            falls.collect()
        };
        let flushes = alone.single(|fact| fact.flushes);
        let powers = several.iter().filter_map(|fact| power(flushes?, fact));
        let medians = several
            .iter()
            .map(|fact| at(fact, fact.p50_us / fact.mean_us));
        let p99s = several
            .iter()
            .filter_map(|fact| Some(at(fact, fact.p99_us? / fact.p50_us)));
        Seen {
            writer_falls: falls(|fact| fact.writer_cpu_us),
            host_falls: falls(|fact| fact.all_cpu_us),
            powers: powers.collect(),
            medians: medians.collect(),
            p99s: p99s.collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.medians.is_empty()
    }
}

/// The part of a single commit's CPU time that its company has taken over, as the model has it.
fn fall(alone: &Alone, demand: &Demand, fact: &Fact, figure: Figure) -> Option<f64> {
    let one_us = demand.at(alone.waits_us(fact)?, 1);
    let others = 1.0 - 1.0 / f64::from(fact.point.connections);
    let fall = (1.0 - figure(fact)? / one_us) / others;
    fall.is_finite().then(|| fall.clamp(0.0, 1.0))
}

/// By what power of the connections commits go together, of so many flushes each alone.
fn power(flushes: f64, fact: &Fact) -> Option<f64> {
    let together = flushes / fact.flushes?;
    let power = together.ln() / f64::from(fact.point.connections).ln();
    power.is_finite().then(|| power.clamp(0.0, 1.0))
}

fn at(fact: &Fact, ratio: f64) -> AtConnections {
    AtConnections {
        connections: fact.point.connections,
        ratio,
    }
}

/// The median of a mode's own; of all others' where it has none.
fn own_or_all(own: &Seen, others: &[&Seen], pick: fn(&Seen) -> &Vec<f64>) -> Option<f64> {
    let all = || {
        others
            .iter()
            .flat_map(|seen| pick(seen))
            .copied()
            .collect::<Vec<f64>>()
    };
    median(pick(own)).or_else(|| median(&all()))
}

/// One ratio for each number of connections: the median of all that were seen there.
fn by_connections(all: impl Iterator<Item = AtConnections>) -> Vec<AtConnections> {
    let mut sorted: Vec<AtConnections> = all.collect();
    sorted.sort_by_key(|one| one.connections);
    let groups = sorted.chunk_by(|one, next| one.connections == next.connections);
    let ratio = |group: &[AtConnections]| {
        let ratios: Vec<f64> = group.iter().map(|one| one.ratio).collect();
        Some(AtConnections {
            connections: group.first()?.connections,
            ratio: median(&ratios)?,
        })
    };
    groups.filter_map(ratio).collect()
}

/// How much more the host's CPUs do for a commit than all processes tell of themselves: the
/// kernel's own threads. Of closed loops, for a host at rest does other things as well.
pub fn kernel_ratio<'f>(several: impl Iterator<Item = &'f Fact>) -> f64 {
    let ratio = |fact: &Fact| {
        let ratio = fact.host_busy_us? / fact.all_cpu_us?;
        ratio.is_finite().then(|| ratio.max(1.0))
    };
    let ratios: Vec<f64> = several.filter_map(ratio).collect();
    median(&ratios).unwrap_or(1.0)
}

/// All of it for one mode: its own, and of other modes what it lacks. `None` where nothing was seen
/// at several connections at all, or clients were at several nodes, so that no writer is told
/// apart.
pub fn several(
    alone: &Alone,
    own_facts: &[&Fact],
    (own, others): (&Seen, &[&Seen]),
    kernel: f64,
) -> Option<Several> {
    let is_seen = !own.is_empty() || others.iter().any(|seen| !seen.is_empty());
    if !is_seen || alone.point.spread {
        return None;
    }
    let with_fall = |figure: Figure, pick: fn(&Seen) -> &Vec<f64>| {
        let fall = own_or_all(own, others, pick)?;
        Some(Demand {
            fall,
            ..alone.demand(figure)?
        })
    };
    let host_cpu = with_fall(|fact| fact.all_cpu_us, |seen| &seen.host_falls);
    let everybody = || std::iter::once(own).chain(others.iter().copied());
    let p99s = match own.p99s.is_empty() {
        true => everybody().flat_map(|seen| seen.p99s.clone()).collect(),
        false => own.p99s.clone(),
    };
    Some(Several {
        writer_cpu: with_fall(|fact| fact.writer_cpu_us, |seen| &seen.writer_falls)?,
        host_cpu: host_cpu.map(|demand| Demand {
            rest_us: demand.rest_us * kernel,
            growth: demand.growth * kernel,
            ..demand
        }),
        pipeline: own_or_all(own, others, |seen| &seen.powers)
            .and_then(|power| pipeline(alone, power)),
        appliers: appliers(alone, own_facts),
        medians: by_connections(everybody().flat_map(|seen| seen.medians.clone())),
        p99s: by_connections(p99s.into_iter()),
    })
}

fn pipeline(alone: &Alone, power: f64) -> Option<Pipeline> {
    alone.line.flushes.filter(|flushes| *flushes > 0.0)?;
    Some(Pipeline {
        floor_us: alone.single(|fact| Some(fact.floor_us))?,
        power,
        is_copied: alone.point.mode.family().copies_volume(),
    })
}

/// What replicas took for what they applied: of single commits alone, and of many together.
fn appliers(alone: &Alone, own_facts: &[&Fact]) -> Option<Appliers> {
    let point = alone.point;
    if point.nodes < 2 || point.mode.has_one_server() {
        return None;
    }
    let flushes = alone.single(applied_flushes)?;
    let together = own_facts
        .iter()
        .filter_map(|fact| Some(flushes / applied_flushes(fact)?));
    let together: Vec<f64> = together.filter(|ratio| ratio.is_finite()).collect();
    let many_us: Vec<f64> = own_facts
        .iter()
        .filter_map(|fact| applied_cpu_us(fact))
        .collect();
    let threads = threads(point);
    Some(Appliers {
        threads,
        flushes,
        floor_us: alone.single(|fact| Some(fact.floor_us))?,
        together: median(&together)
            .unwrap_or(1.0)
            .clamp(1.0, f64::from(threads)),
        cpu_us: median(&many_us).or_else(|| alone.single(applied_cpu_us))?,
        hold_back: point.mode == Mode::Galera,
    })
}

/// Flushes of a replica's disk for each transaction that it applied.
fn applied_flushes(fact: &Fact) -> Option<f64> {
    let share = Some(fact.applied_share).filter(|share| *share > 0.0)?;
    Some(fact.replica_flushes? / share)
}

fn applied_cpu_us(fact: &Fact) -> Option<f64> {
    let share = Some(fact.applied_share).filter(|share| *share > 0.0)?;
    Some(fact.replica_cpu_us? / share)
}

fn threads(point: &Point) -> u32 {
    let own = point.variables.get(GALERA_APPLIERS);
    let own = own.filter(|_| point.mode == Mode::Galera);
    let own = own.and_then(|threads| threads.trim().parse().ok());
    own.unwrap_or(point.appliers).max(1)
}
