//! One point of a study, and the same point with one thing moved.

use std::time::Duration;

use crate::study::disk::{Delay, Disk, Disks};
use crate::study::mode::ModeSpec;
use crate::study::movable::names_a_schema;
use crate::study::moved::{Moved, Thing};
use crate::study::network::Distances;
use crate::study::sweep::{CpuSpeed, Sweep};
use crate::study::{Study, limits, nodes, written};

/// A time that is moved is so many times as long,
const LONGER: f64 = 1.25;
/// and a capacity so many times as large: that is as much slower.
const LESS: f64 = 0.8;
/// Schemas, in place of one.
const SCHEMAS: u32 = 2;

/// Which parts of a lab have CPUs of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuParts {
    /// Nobody may make CPUs slower here.
    None,
    /// None: all share all of them.
    Shared,
    /// The writer; replicas, links, disks and drivers share the rest.
    Writer,
    /// The writer, the replicas, and links, disks and drivers.
    All,
}

/// A quarter more, at least one.
pub fn more(count: u32) -> u32 {
    (count * 5).div_ceil(4)
}

fn less(capacity: u64) -> u64 {
    (capacity as f64 * LESS).round() as u64
}

fn longer(delay: Delay) -> Delay {
    let longer = |span: Duration| span.mul_f64(LONGER);
    match delay {
        Delay::Constant(span) => Delay::Constant(longer(span)),
        Delay::Uniform { low, high } => Delay::Uniform {
            low: longer(low),
            high: longer(high),
        },
        Delay::LogNormal { median, p99 } => Delay::LogNormal {
            median: longer(median),
            p99: longer(p99),
        },
    }
}

/// The longest time that was asked for.
fn longest(delay: Delay) -> Duration {
    match delay {
        Delay::Constant(span) => span,
        Delay::Uniform { high, .. } => high,
        Delay::LogNormal { p99, .. } => p99,
    }
}

/// One point of a study.
pub struct Here<'s> {
    study: &'s Study,
    /// A sweep of one value on each axis.
    point: &'s Sweep,
    spec: &'s ModeSpec,
    /// The same mode with more appliers.
    with_appliers: Option<&'s ModeSpec>,
    parts: CpuParts,
}

impl<'s> Here<'s> {
    /// `copies`: of each mode of the study the one with more appliers.
    pub fn of(
        study: &'s Study,
        point: &'s Sweep,
        copies: &'s [Option<ModeSpec>],
        parts: CpuParts,
    ) -> Option<Here<'s>> {
        let label = point.modes.first()?;
        let row = study.modes.iter().position(|spec| spec.label == *label)?;
        Some(Here {
            study,
            point,
            spec: &study.modes[row],
            with_appliers: copies.get(row)?.as_ref(),
            parts,
        })
    }

    /// The point again, for each thing that can be moved.
    pub fn moved(&self) -> Vec<Sweep> {
        let moved = |thing| {
            let (speed, sweep) = self.with(thing)?;
            Some(Sweep {
                moved: Some(Moved { thing, speed }),
                ..sweep
            })
        };
        Thing::ALL.into_iter().filter_map(moved).collect()
    }

    /// The point with one thing moved, and how far; `None` where that cannot be.
    fn with(&self, thing: Thing) -> Option<(f64, Sweep)> {
        let slower = |sweep: Sweep| (LESS, sweep);
        match thing {
            Thing::Distance => self.farther().map(slower),
            Thing::LinkRate => self.narrower_links().map(slower),
            Thing::Read => self.delayed("read", |disk| &mut disk.read).map(slower),
            Thing::Write => self.delayed("write", |disk| &mut disk.write).map(slower),
            Thing::Flush => self.delayed("flush", |disk| &mut disk.flush).map(slower),
            Thing::Iops => self.fewer_iops().map(slower),
            Thing::Bandwidth => self.narrower_disks().map(slower),
            Thing::Pace => self.longer_pace().map(slower),
            Thing::WriterCpu | Thing::ReplicasCpu | Thing::RestCpu | Thing::SharedCpu => {
                self.slower_cpus(thing).map(slower)
            }
            Thing::Appliers => self.more_appliers(),
            Thing::Schemas => self.more_schemas(),
            Thing::Connections => self.more_connections(),
        }
    }

    /// Where its nodes stand.
    fn node_sites(&self) -> Vec<String> {
        nodes::sites_of(&self.study.sites, self.spec.nodes)
    }

    /// Where somebody stands, each place once.
    fn sites(&self) -> Vec<String> {
        let mut sites = self.node_sites();
        sites.extend(self.point.client_sites.iter().cloned());
        sites.sort();
        sites.dedup();
        sites
    }

    fn farther(&self) -> Option<Sweep> {
        let at = self.point.distances.first()?;
        let sites = self.sites();
        let mut pairs = at.pairs.iter();
        let is_met =
            pairs.any(|(a, b, rtt)| sites.contains(a) && sites.contains(b) && !rtt.is_zero());
        let pairs = at.pairs.iter();
        let pairs = pairs.map(|(a, b, rtt)| (a.clone(), b.clone(), rtt.mul_f64(LONGER)));
        let pairs: Vec<(String, String, Duration)> = pairs.collect();
        let longest = pairs.iter().map(|(_, _, rtt)| *rtt).max()?;
        // Labs of other modes stand at the same distances.
        let of_copies = self.study.modes.iter().filter_map(written::copies_rtt_max);
        let is_kept = of_copies.min().is_none_or(|most| longest <= most);
        let is_allowed = is_kept && limits::RTT.holds(longest);
        let label = format!("{} × {LONGER}", at.label);
        (is_met && is_allowed).then(|| {
            self.at(Distances {
                label,
                pairs,
                ..at.clone()
            })
        })
    }

    fn narrower_links(&self) -> Option<Sweep> {
        let at = self.point.distances.first()?;
        let of_network = self.study.network.rate_bits_per_s;
        let rate = less(at.rate_bits_per_s.or(of_network)?);
        let is_allowed = limits::RATE_BITS_PER_S.holds(rate as f64);
        (self.sites().len() > 1 && is_allowed).then(|| {
            self.at(Distances {
                label: format!("{}, rate × {LESS}", at.label),
                rate_bits_per_s: Some(rate),
                ..at.clone()
            })
        })
    }

    fn at(&self, distances: Distances) -> Sweep {
        Sweep {
            distances: vec![distances],
            ..self.point.clone()
        }
    }

    fn delayed(&self, what: &str, time: fn(&mut Disk) -> &mut Delay) -> Option<Sweep> {
        let longest = |disk: &Disk| {
            let mut disk = *disk;
            longest(*time(&mut disk))
        };
        let change = |mut disk: Disk| {
            let own = time(&mut disk);
            *own = longer(*own);
            disk
        };
        self.on_disks(
            &format!("{what} × {LONGER}"),
            |disk| !longest(disk).is_zero(),
            change,
            |disk| limits::DISK_DELAY.holds(longest(disk)),
        )
    }

    fn fewer_iops(&self) -> Option<Sweep> {
        let fewer = |iops: u32| less(iops.into()) as u32;
        let is_allowed = |iops: u32| limits::IOPS.holds(iops.into());
        self.on_disks(
            &format!("IOPS × {LESS}"),
            |disk| disk.iops.is_some(),
            |disk| Disk {
                iops: disk.iops.map(fewer),
                ..disk
            },
            |disk| disk.iops.is_none_or(is_allowed),
        )
    }

    fn narrower_disks(&self) -> Option<Sweep> {
        let is_allowed = |bytes: u64| limits::BANDWIDTH_BITS_PER_S.holds(bytes as f64 * 8.0);
        self.on_disks(
            &format!("bandwidth × {LESS}"),
            |disk| disk.bandwidth_bytes_per_s.is_some(),
            |disk| Disk {
                bandwidth_bytes_per_s: disk.bandwidth_bytes_per_s.map(less),
                ..disk
            },
            |disk| disk.bandwidth_bytes_per_s.is_none_or(is_allowed),
        )
    }

    /// All disks changed alike, if one of the mode's own has what is changed.
    fn on_disks(
        &self,
        what: &str,
        has: impl Fn(&Disk) -> bool,
        change: impl Fn(Disk) -> Disk,
        is_allowed: impl Fn(&Disk) -> bool,
    ) -> Option<Sweep> {
        let disks = self.point.disks.first()?;
        let sites = self.node_sites();
        let is_met = sites.iter().any(|site| has(&disks.of(site)));
        let moved = disks.changed(change);
        let is_allowed = is_allowed(&moved.all) && moved.by_site.values().all(is_allowed);
        (is_met && is_allowed).then(|| Sweep {
            disks: vec![Disks {
                label: format!("{}, {what}", disks.label),
                ..moved
            }],
            ..self.point.clone()
        })
    }

    fn longer_pace(&self) -> Option<Sweep> {
        let pace = self.point.paces.first()?.mul_f64(LONGER);
        limits::PACE.holds(pace).then(|| Sweep {
            paces: vec![pace],
            ..self.point.clone()
        })
    }

    fn slower_cpus(&self, thing: Thing) -> Option<Sweep> {
        let copies_volume = self.spec.mode.family().copies_volume();
        let has_replicas = self.spec.nodes > 1 && !copies_volume;
        let [writer, replicas, rest] = match (self.parts, thing) {
            (CpuParts::Shared, Thing::SharedCpu) => [LESS; 3],
            (CpuParts::Writer | CpuParts::All, Thing::WriterCpu) => [LESS, 1.0, 1.0],
            // They run on the same.
            (CpuParts::Writer, Thing::RestCpu) => [1.0, LESS, LESS],
            (CpuParts::All, Thing::ReplicasCpu) if has_replicas => [1.0, LESS, 1.0],
            (CpuParts::All, Thing::RestCpu) => [1.0, 1.0, LESS],
            _ => return None,
        };
        let speed = self.point.cpu_speeds.first().cloned().unwrap_or_default();
        let slowed = CpuSpeed {
            writer: speed.writer * writer,
            replicas: speed.replicas * replicas,
            rest: speed.rest * rest,
        };
        let speeds = [slowed.writer, slowed.replicas, slowed.rest];
        let is_allowed = speeds.iter().all(|speed| limits::CPU_SPEED.holds(*speed));
        is_allowed.then(|| Sweep {
            cpu_speeds: vec![slowed],
            ..self.point.clone()
        })
    }

    /// A load that only reads leaves appliers nothing to do.
    fn more_appliers(&self) -> Option<(f64, Sweep)> {
        let writes = self.point.workloads.iter().any(|load| !load.only_reads());
        let copy = self.with_appliers.filter(|_| writes)?;
        let sweep = Sweep {
            modes: vec![copy.label.clone()],
            ..self.point.clone()
        };
        Some((times(self.spec.appliers, copy.appliers), sweep))
    }

    fn more_schemas(&self) -> Option<(f64, Sweep)> {
        let has_one = self.point.schemas.iter().all(|schemas| *schemas == 1);
        let many = self
            .point
            .connections
            .iter()
            .all(|connections| *connections > 1);
        let mut loads = self.point.workloads.iter();
        let can = loads.all(|load| !load.only_reads() && !names_a_schema(load));
        (has_one && many && can).then(|| {
            let sweep = Sweep {
                schemas: vec![SCHEMAS],
                ..self.point.clone()
            };
            (f64::from(SCHEMAS), sweep)
        })
    }

    fn more_connections(&self) -> Option<(f64, Sweep)> {
        let own = *self.point.connections.first()?;
        let many = more(own);
        let sweep = Sweep {
            connections: vec![many],
            ..self.point.clone()
        };
        let is_allowed = limits::CONNECTIONS.holds(many.into());
        is_allowed.then(|| (times(own, many), sweep))
    }
}

/// What there is over what there was.
pub fn times(own: u32, many: u32) -> f64 {
    f64::from(many) / f64::from(own)
}
