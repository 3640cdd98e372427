//! What coefficients say of a place. Pure arithmetic: whoever has the coefficients can do it again.

use serde::Serialize;

use super::at::At;
use super::coefficients::{AtConnections, Coefficients, Demand, Pipeline, Several, Single};
use super::network::{Speed, Station, per_us, solve};
use crate::analysis::anatomy::Apart;

/// Connections that can be foretold.
pub const CONNECTIONS_MAX: u32 = 1_000;

/// Commits per second that are this share of the most there can be are nearly that.
pub const NEARLY: f64 = 0.9;

/// What is foretold of one mode at one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Foretold {
    /// Absent, as commits/s are, at several connections of which the record does not tell.
    pub p50_us: Option<Span>,
    /// Absent where the record has too few commits for it, too.
    pub p99_us: Option<Span>,
    pub commits_per_s: Option<Span>,
    /// What no number of connections carries more than; absent where nothing tells it.
    pub most: Option<Most>,
    /// What replicas apply each second; absent without any, and where the record does not tell.
    pub replicas_per_s: Option<f64>,
    /// What most of a commit's time goes to, or what holds all commits back; two where that depends
    /// on whom the mode waits for, and nobody knows.
    pub limits: Vec<Limit>,
}

/// From the shortest to the longest of all ways to wait that are possible; both ends are the same
/// where it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Span {
    pub low: f64,
    pub high: f64,
}

/// The most that can be carried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Most {
    pub commits_per_s: Span,
    /// So many connections carry nearly that ([`NEARLY`]); absent where more than
    /// [`CONNECTIONS_MAX`] would be needed.
    pub from_connections: Option<u32>,
}

/// What limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The way to whom it waits for.
    Distance,
    /// Flushes of the writer's disk, and waiting for those of others.
    Flushes,
    /// CPUs of the writer, or of the host that all share.
    Cpus,
    /// Threads that apply on the replicas: the writer waits for them.
    Appliers,
    /// What a commit takes besides, at no distance and no flush time.
    Work,
}

impl Span {
    fn of(one: f64, other: f64) -> Span {
        Span {
            low: one.min(other),
            high: one.max(other),
        }
    }

    /// Whether it is one figure.
    pub fn is_one(&self) -> bool {
        self.low == self.high
    }
}

/// What these coefficients foretell there. `None` if a distance is missing, or nobody is at a site
/// that is waited for.
pub fn evaluate(of: &Coefficients, at: &At) -> Option<Foretold> {
    foretold(of, at, true)
}

/// The same without the most that can be carried, which takes a search.
pub fn evaluate_briefly(of: &Coefficients, at: &At) -> Option<Foretold> {
    foretold(of, at, false)
}

fn foretold(of: &Coefficients, at: &At, has_most: bool) -> Option<Foretold> {
    let apart = Apart::of(&of.sites, |one, other| at.rtt_us(one, other))?;
    let ways = of.single.waits_for.iter();
    let distances = ways.filter_map(|whom| apart.equal_to(whom, &of.sites));
    let distances: Vec<f64> = distances.collect();
    let shortest = distances.iter().copied().reduce(f64::min)?;
    let longest = distances.iter().copied().reduce(f64::max)?;
    let way = |distance_us: f64| Way::of(of, at, distance_us, has_most);
    let near = way(shortest);
    Some(match shortest == longest {
        true => told(of, at, &near, &near),
        false => told(of, at, &near, &way(longest)),
    })
}

fn told(of: &Coefficients, at: &At, near: &Way, far: &Way) -> Foretold {
    let both = |pick: fn(&Way) -> Option<f64>| Some(Span::of(pick(near)?, pick(far)?));
    // Where nothing is foretold nothing limits it.
    let mut limits = match near.p50_us.and(far.p50_us) {
        Some(_) => vec![near.limit, far.limit],
        None => vec![],
    };
    limits.dedup();
    let most = both(|way| way.most_per_s);
    let appliers = of.several.as_ref().and_then(|several| several.appliers);
    Foretold {
        p50_us: both(|way| way.p50_us),
        p99_us: both(|way| way.p99_us),
        commits_per_s: both(|way| way.commits_per_s),
        most: most.map(|commits_per_s| Most {
            commits_per_s,
            from_connections: near.nearly_from.zip(far.nearly_from).map(|(a, b)| a.max(b)),
        }),
        replicas_per_s: appliers.and_then(|one| one.per_s(flush_us(&of.single, at), at.cpus)),
        limits,
    }
}

fn flush_us(single: &Single, at: &At) -> f64 {
    match single.flushes {
        Some(_) => at.flush_us.unwrap_or(single.flush_us),
        None => single.flush_us,
    }
}

/// All that is foretold where a commit waits as at one equal distance.
struct Way {
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    commits_per_s: Option<f64>,
    most_per_s: Option<f64>,
    nearly_from: Option<u32>,
    limit: Limit,
}

impl Way {
    fn of(of: &Coefficients, at: &At, distance_us: f64, has_most: bool) -> Way {
        let commit = Commit::of(&of.single, at, distance_us);
        let several = of.several.as_ref();
        let crowd = several.and_then(|several| Crowd::of(several, &commit, at));
        let most_per_s = crowd.as_ref().filter(|_| has_most);
        let most_per_s = most_per_s.and_then(Crowd::most_per_s);
        let nearly_from = crowd.as_ref().zip(most_per_s);
        let nearly_from = nearly_from.and_then(|(crowd, most)| crowd.carries(NEARLY * most));
        let way = Way {
            p50_us: Some(commit.single_us),
            p99_us: of.single.tail_us.map(|us| commit.single_us + us),
            commits_per_s: Some(1e6 / commit.mean_us),
            most_per_s,
            nearly_from,
            limit: commit.limit(),
        };
        match at.connections {
            0 | 1 => way,
            several => way.crowded(of, crowd.as_ref(), several),
        }
    }

    /// The same where commits of several connections meet.
    fn crowded(self, of: &Coefficients, crowd: Option<&Crowd>, connections: u32) -> Way {
        let carried = crowd.and_then(|crowd| crowd.with(connections));
        let (Some(carried), Some(several)) = (carried, &of.several) else {
            return Way {
                p50_us: None,
                p99_us: None,
                commits_per_s: None,
                ..self
            };
        };
        let mean_us = f64::from(connections) / carried.per_s * 1e6;
        let median = AtConnections::nearest(&several.medians, connections).unwrap_or(1.0);
        let p50_us = mean_us * median;
        let p99 = AtConnections::nearest(&several.p99s, connections);
        Way {
            p50_us: Some(p50_us),
            p99_us: p99.map(|ratio| p50_us * ratio),
            commits_per_s: Some(carried.per_s),
            limit: carried.limit,
            ..self
        }
    }
}

/// A commit that meets idle machines, and what it takes its time for.
struct Commit {
    work_us: f64,
    way_us: f64,
    flushing_us: f64,
    single_us: f64,
    mean_us: f64,
    flush_us: f64,
    flushes: f64,
}

impl Commit {
    fn of(single: &Single, at: &At, distance_us: f64) -> Commit {
        let flush_us = flush_us(single, at);
        let flushes = single.flushes.unwrap_or(0.0);
        let (way_us, flushing_us) = (single.round_trips * distance_us, flushes * flush_us);
        // Far below all that was measured a line may lead below nothing.
        let single_us = (single.work_us + way_us + flushing_us).max(1.0);
        Commit {
            work_us: single.work_us,
            way_us,
            flushing_us,
            single_us,
            mean_us: single_us * single.mean_ratio,
            flush_us,
            flushes,
        }
    }

    fn waits_us(&self) -> f64 {
        self.way_us + self.flushing_us
    }

    fn limit(&self) -> Limit {
        largest(&[
            (Limit::Distance, self.way_us),
            (Limit::Flushes, self.flushing_us),
            (Limit::Work, self.work_us),
        ])
    }
}

fn largest(parts: &[(Limit, f64)]) -> Limit {
    let most = parts.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    most.map_or(Limit::Work, |(limit, _)| *limit)
}

/// Commits of several connections, which share CPUs and flushes.
struct Crowd {
    demand: Demand,
    cpus: u32,
    waits_us: f64,
    way_us: f64,
    /// What of a commit's time nobody queues for.
    delay_us: f64,
    /// A batch of commits takes so long to be flushed.
    batch_us: f64,
    power: f64,
    mean_us: f64,
    /// What appliers that hold the writer back let through.
    applied_per_s: Option<f64>,
}

struct Carried {
    per_s: f64,
    limit: Limit,
}

impl Crowd {
    fn of(several: &Several, commit: &Commit, at: &At) -> Option<Crowd> {
        let (demand, cpus) = several.cpu(at.cpus)?;
        let waits_us = commit.waits_us();
        // On its own way a commit meets no more CPU time than the writer's.
        let cpu_us = several.writer_cpu.at(waits_us, 1);
        let batch = |pipeline: &Pipeline| match pipeline.is_copied {
            true => commit.mean_us - cpu_us,
            false => commit.flushes * (commit.flush_us + pipeline.floor_us),
        };
        let batch_us = several.pipeline.as_ref().map_or(0.0, batch);
        let batch_us = batch_us.clamp(0.0, commit.mean_us);
        let appliers = several.appliers.filter(|appliers| appliers.hold_back);
        Some(Crowd {
            demand,
            cpus,
            waits_us,
            way_us: commit.way_us,
            delay_us: (commit.mean_us - batch_us - cpu_us).max(0.0),
            batch_us,
            power: several.pipeline.map_or(0.0, |pipeline| pipeline.power),
            mean_us: commit.mean_us,
            applied_per_s: appliers.and_then(|one| one.per_s(commit.flush_us, at.cpus)),
        })
    }

    /// CPUs, then flushes.
    fn stations(&self, connections: u32) -> [Station; 2] {
        let cpus = Station {
            demand_us: self.demand.at(self.waits_us, connections),
            speed: Speed::Servers(self.cpus),
        };
        let flushes = Station {
            demand_us: self.batch_us,
            speed: Speed::Batches(self.power),
        };
        [cpus, flushes]
    }

    /// What so many connections carry.
    fn with(&self, connections: u32) -> Option<Carried> {
        if connections <= 1 {
            let limit = Limit::Work;
            let per_s = 1e6 / self.mean_us;
            return Some(Carried { per_s, limit });
        }
        let solved = solve(connections, self.delay_us, &self.stations(connections))?;
        let per_s = solved.per_us * 1e6;
        if let Some(applied) = self.applied_per_s.filter(|applied| *applied < per_s) {
            let (per_s, limit) = (applied, Limit::Appliers);
            return Some(Carried { per_s, limit });
        }
        let way_us = self.way_us.min(self.delay_us);
        let limit = largest(&[
            (Limit::Cpus, solved.residence_us[0]),
            (Limit::Flushes, solved.residence_us[1]),
            (Limit::Distance, way_us),
            (Limit::Work, self.delay_us - way_us),
        ]);
        Some(Carried { per_s, limit })
    }

    /// The rate alone, which takes less to tell.
    fn rate(&self, connections: u32) -> Option<f64> {
        if connections <= 1 {
            return Some(1e6 / self.mean_us);
        }
        let per_us = per_us(connections, self.delay_us, &self.stations(connections))?;
        Some(
            self.applied_per_s
                .map_or(per_us * 1e6, |applied| applied.min(per_us * 1e6)),
        )
    }

    /// More than this no number of connections carries. `None` where nothing bounds them.
    fn most_per_s(&self) -> Option<f64> {
        let least_us = self.demand.least(self.waits_us);
        let by_cpus = (least_us > 0.0).then(|| f64::from(self.cpus) / least_us * 1e6);
        let is_in_turn = self.power <= 0.0 && self.batch_us > 0.0;
        let by_flushes = is_in_turn.then(|| 1e6 / self.batch_us);
        let bounds = [by_cpus, by_flushes, self.applied_per_s];
        bounds.into_iter().flatten().reduce(f64::min)
    }

    /// The fewest connections that carry so much; by halves, for more carry more.
    fn carries(&self, per_s: f64) -> Option<u32> {
        let is_enough = |connections: u32| {
            let carried = self.rate(connections);
            carried.is_some_and(|carried| carried >= per_s)
        };
        let (mut low, mut high) = (0, 1);
        while !is_enough(high) {
            if high == CONNECTIONS_MAX {
                return None;
            }
            (low, high) = (high, (2 * high).min(CONNECTIONS_MAX));
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match is_enough(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        Some(high)
    }
}
