//! What each cell of a record came to, as far as a model is fitted to it or held against it.

use super::at::{At, Cpus};
use super::refusal;
use crate::analysis::cells;
use crate::analysis::summary::{CellSummary, Per};
use crate::plan::{Axis, Cell, Point};
use crate::record::Header;
use crate::record::store::Record;
use crate::study::{Delay, Disk};

/// One cell over all its rounds.
#[derive(Debug, Clone)]
pub struct Fact {
    /// Its index in the record.
    pub cell: usize,
    pub id: String,
    pub label: String,
    pub point: Point,
    pub p50_us: f64,
    pub p99_us: Option<f64>,
    pub commits_per_s: f64,
    /// Of a closed loop: what its connections and its rate leave for one commit, its pause taken
    /// off.
    pub mean_us: f64,
    /// Between sites, got where it was measured.
    pub rtts_us: Vec<(String, String, f64)>,
    /// Added to each flush of the writer's disk, and what one takes besides.
    pub flush_us: Option<f64>,
    pub floor_us: f64,
    /// CPU time per commit: of the writer's server, of a replica's, of all processes.
    pub writer_cpu_us: Option<f64>,
    pub replica_cpu_us: Option<f64>,
    pub all_cpu_us: Option<f64>,
    /// Time per commit for which the host's CPUs were busy, the switch's spin not.
    pub host_busy_us: Option<f64>,
    /// Flushes per commit: of the writer's disk, of a replica's.
    pub flushes: Option<f64>,
    pub replica_flushes: Option<f64>,
    /// What of the writer's commits the replica farthest behind applied meanwhile, 0 to 1.
    pub applied_share: f64,
    pub cpus: Cpus,
}

impl Fact {
    /// Of one client at a time.
    pub fn is_single(&self) -> bool {
        self.point.connections == 1
    }

    /// Whether all nodes shared the host's CPUs.
    pub fn is_shared(&self) -> bool {
        matches!(self.cpus, Cpus::Shared(_))
    }

    /// As a place to foretell it at.
    pub fn at(&self) -> At {
        At {
            rtts_us: self.rtts_us.clone(),
            flush_us: self.flush_us,
            connections: self.point.connections,
            cpus: self.cpus,
        }
    }

    /// The same for a mode that has nodes at these sites. Where the same was asked of all pairs all
    /// have their mean, as in the line: each is got with an error of its own, by which ways to wait
    /// would differ that are the same there.
    pub fn at_sites(&self, sites: &[String]) -> At {
        let at = self.at();
        let is_own =
            |(one, other, _): &&(String, String, f64)| sites.contains(one) && sites.contains(other);
        let own: Vec<f64> = at
            .rtts_us
            .iter()
            .filter(is_own)
            .map(|(.., us)| *us)
            .collect();
        if own.is_empty() || self.point.distances.equal_rtt().is_none() {
            return at;
        }
        let mean_us = own.iter().sum::<f64>() / own.len() as f64;
        let alike = |(one, other, _)| (one, other, mean_us);
        At {
            rtts_us: at.rtts_us.into_iter().map(alike).collect(),
            ..at
        }
    }

    /// Whether two are of one mode and load, but for what a model foretells.
    pub fn is_like(&self, other: &Fact) -> bool {
        self.is_like_in(&other.point, &FORETOLD)
    }

    /// The same of a point, but for these axes.
    pub fn is_like_in(&self, other: &Point, moved: &[Axis]) -> bool {
        let are_alike = self.point.without(moved) == other.without(moved);
        are_alike && rest_of_disks(&self.point) == rest_of_disks(other)
    }
}

/// What a model foretells the change of, and what does not matter.
pub const FORETOLD: [Axis; 6] = [
    Axis::Distances,
    Axis::Disks,
    Axis::Connections,
    Axis::Pace,
    Axis::Window,
    Axis::WatchAfter,
];

/// What the disks are but for their flush time.
fn rest_of_disks(point: &Point) -> Option<Disk> {
    let disks = point.disks.as_ref()?;
    Some(disks.with_flush(Delay::NONE).all)
}

/// All cells that can be of use, in the record's order: measured ones of closed loops that commit,
/// with the client beside the writer, on links and disks of which nothing but one constant time is
/// asked, with nothing moved. None of machines that have not as many CPUs as each other: a cell's
/// medians are over all of them.
pub fn facts(record: &Record) -> Vec<Fact> {
    let Some(cpus) = refusal::cpus(record) else {
        return vec![];
    };
    let header = &record.header;
    let cells = header.cells.iter().enumerate();
    let told = cells.filter(|(_, cell)| !cell.is_search());
    let summaries = cells::summarise(record);
    told.zip(&summaries)
        .filter(|((_, cell), summary)| is_of_use(header, cell, summary))
        .filter_map(|((index, _), summary)| fact(header, index, summary, cpus))
        .collect()
}

fn is_of_use(header: &Header, cell: &Cell, summary: &CellSummary) -> bool {
    let point = &summary.point;
    let distances = &point.distances;
    let is_plain = distances.jitter.is_none() && distances.rate_bits_per_s.is_none();
    let is_closed = summary.offered_per_s.is_none() && point.knee.is_none();
    let has_one_flush = point
        .disks
        .as_ref()
        .is_none_or(|disks| disks.equal_flush().is_some() && disks.by_site.is_empty());
    let is_beside = header.study.sites.first() == Some(&point.client_site);
    let is_told = summary.per == Per::Commit && summary.rounds > 0 && is_beside;
    let is_moved = cell.moved.is_some() || cell.is_given() && point.connections > 1;
    is_plain && is_closed && has_one_flush && is_told && !is_moved
}

/// On a machine with so many CPUs.
fn fact(header: &Header, cell: usize, summary: &CellSummary, cpus: u32) -> Option<Fact> {
    let point = summary.point.clone();
    let commits_per_s = summary.throughput_per_s?.median;
    let p50_us = summary.latency_us.p50?;
    let pace_us = point.pace.map_or(0.0, |pace| pace.as_secs_f64() * 1e6);
    let mean_us = f64::from(point.connections) * 1e6 / commits_per_s - pace_us;
    let flush = point.disks.as_ref().and_then(|disks| disks.equal_flush());
    let own = summary.contention.as_ref().and_then(|of| of.own_cpus);
    let replicas = &summary.cpu_us_per_commit.replicas;
    let replicas_us: f64 = replicas.iter().map(|replica| replica.cpu_us).sum();
    (commits_per_s > 0.0 && p50_us > 0.0).then(|| Fact {
        cell,
        id: summary.id.clone(),
        label: summary.label.clone(),
        p50_us,
        p99_us: summary.latency_us.p99,
        commits_per_s,
        mean_us: if mean_us > 0.0 { mean_us } else { p50_us },
        rtts_us: rtts(header, summary),
        flush_us: flush.map(|flush| flush.as_secs_f64() * 1e6),
        floor_us: summary.flush_us_floor.unwrap_or(0.0),
        writer_cpu_us: summary.cpu_us_per_commit.writer,
        replica_cpu_us: (!replicas.is_empty()).then(|| replicas_us / replicas.len() as f64),
        all_cpu_us: all_cpu_us(summary),
        host_busy_us: host_busy_us(cpus, summary, commits_per_s),
        flushes: summary.flushes_per_commit.writer,
        replica_flushes: summary.flushes_per_commit.replica,
        applied_share: summary.applied_share.map_or(1.0, |share| share.median),
        cpus: own.map_or(Cpus::Shared(cpus), Cpus::Own),
        point,
    })
}

/// What was asked of each pair of sites, or what was got where it was measured.
fn rtts(header: &Header, summary: &CellSummary) -> Vec<(String, String, f64)> {
    let got = |one: &str, other: &str| {
        let is_it = |from: &str, to: &str| (from, to) == (one, other) || (to, from) == (one, other);
        let mut pairs = summary.rtts_us.iter();
        pairs
            .find(|pair| is_it(&pair.from_site, &pair.to_site))?
            .got
    };
    let sites = &header.study.sites;
    let mut all = Vec::new();
    for (place, one) in sites.iter().enumerate() {
        for other in &sites[place + 1..] {
            let asked = summary.point.distances.rtt(one, other);
            let asked = asked.map(|rtt| rtt.as_secs_f64() * 1e6);
            let rtt_us = got(one, other).or(asked);
            all.extend(rtt_us.map(|us| (one.clone(), other.clone(), us)));
        }
    }
    all
}

/// Of servers, clients, a front, links and emulated disks, as each tells of itself.
fn all_cpu_us(summary: &CellSummary) -> Option<f64> {
    let cpu = &summary.cpu_us_per_commit;
    let disks = &summary.disk_cpu_us_per_commit;
    let others = f64::from(summary.point.nodes.saturating_sub(1));
    let replicas: f64 = cpu.replicas.iter().map(|replica| replica.cpu_us).sum();
    let replicas_disks = disks.replica.map(|us| us * others);
    let rest = [
        cpu.client,
        cpu.front,
        cpu.links,
        disks.writer,
        replicas_disks,
    ];
    Some(cpu.writer? + replicas + rest.into_iter().flatten().sum::<f64>())
}

fn host_busy_us(cpus: u32, summary: &CellSummary, commits_per_s: f64) -> Option<f64> {
    let busy_us_per_s = summary.host_busy? * f64::from(cpus) * 1e6;
    let spin_us = summary.cpu_us_per_commit.links_spin.unwrap_or(0.0);
    Some((busy_us_per_s / commits_per_s - spin_us).max(0.0))
}
