//! A point of a study as data: what is measured there, axis by axis.
//!
//! Two points are compared here and nowhere else: [`Point::without`] is "the same but for this".
//! What tables call a mode, a distance or a disk is no part of a point.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::knee::Seek;
use crate::study::{
    Apply, CpuSpeed, Disk, Disks, Distances, EndpointSpec, Front, Mode, ModeSpec, Study, Variables,
    Workload,
};

/// One thing that points can differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// The row of the study's table of modes: two rows may ask for the same, to show the noise.
    Row,
    Server,
    Mode,
    Nodes,
    Appliers,
    BinaryLog,
    Spread,
    Front,
    Memory,
    Variables,
    NodeVariables,
    Tls,
    Slowdown,
    Endpoint,
    Workload,
    Connections,
    Rate,
    Pace,
    Knee,
    Distances,
    Disks,
    ClientSite,
    Window,
    WatchAfter,
    Apply,
    CpuSpeed,
    Schemas,
}

impl Axis {
    /// All that belong to a row of the table of modes.
    pub const OF_MODE: [Axis; 14] = [
        Axis::Row,
        Axis::Server,
        Axis::Mode,
        Axis::Nodes,
        Axis::Appliers,
        Axis::BinaryLog,
        Axis::Spread,
        Axis::Front,
        Axis::Memory,
        Axis::Variables,
        Axis::NodeVariables,
        Axis::Tls,
        Axis::Slowdown,
        Axis::Endpoint,
    ];

    /// All that belong to a sweep.
    pub const OF_LOAD: [Axis; 13] = [
        Axis::Workload,
        Axis::Connections,
        Axis::Rate,
        Axis::Pace,
        Axis::Knee,
        Axis::Distances,
        Axis::Disks,
        Axis::ClientSite,
        Axis::Window,
        Axis::WatchAfter,
        Axis::Apply,
        Axis::CpuSpeed,
        Axis::Schemas,
    ];

    /// Every axis.
    pub fn all() -> impl Iterator<Item = Axis> {
        Axis::OF_MODE.into_iter().chain(Axis::OF_LOAD)
    }
}

/// What is measured at one point. Two are equal if they are on every axis.
#[derive(Debug, Clone, Default)]
pub struct Point {
    /// Index into the study's modes.
    pub row: usize,
    /// Name of the server in the catalogue.
    pub server: String,
    pub mode: Mode,
    pub nodes: u32,
    pub appliers: u32,
    pub binary_log: bool,
    pub spread: bool,
    pub front: Option<Front>,
    pub memory_bytes: Option<u64>,
    pub variables: Variables,
    pub node_variables: BTreeMap<String, Variables>,
    pub tls: bool,
    /// Planted: the share of its time for which a connection rests.
    pub slowdown: Option<f64>,
    pub endpoint: Option<EndpointSpec>,
    pub workload: Workload,
    pub connections: u32,
    /// Transactions offered each second; `None` for a closed loop.
    pub rate_per_s: Option<u32>,
    /// From the end of a connection's transaction to the beginning of its next; `None` for none.
    pub pace: Option<Duration>,
    /// The rate is searched for, or is a share of one that was.
    pub knee: Option<Seek>,
    pub distances: Distances,
    /// The nodes' disks, where they are emulated.
    pub disks: Option<Disks>,
    pub client_site: String,
    /// The measured window.
    pub window: Duration,
    /// How long servers and disks are watched after the load.
    pub watch_after: Option<Duration>,
    /// When replicas apply what is committed.
    pub apply: Apply,
    /// How fast the lab's CPUs are.
    pub cpu_speed: CpuSpeed,
    /// Over so many schemas with the same tables connections are dealt out.
    pub schemas: u32,
}

/// A point's value on one axis, to be compared with another point's on the same axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'p> {
    Flag(bool),
    Count(u64),
    Name(&'p str),
    Mode(&'p Mode),
    Front(Option<Front>),
    Variables(&'p Variables),
    NodeVariables(&'p BTreeMap<String, Variables>),
    Endpoint(Option<&'p EndpointSpec>),
    Workload(&'p Workload),
    Distances(Apart<'p>),
    Disks(Option<(&'p Disk, &'p BTreeMap<String, Disk>)>),
    Limit(Option<u64>),
    Share(Option<f64>),
    Span(Option<Duration>),
    Seek(Option<Seek>),
    CpuSpeed(CpuSpeed),
}

/// Distances without what tables call them.
#[derive(Debug, Clone, PartialEq)]
pub struct Apart<'p> {
    pub pairs: &'p [(String, String, Duration)],
    pub jitter: Option<Duration>,
    pub rate_bits_per_s: Option<u64>,
}

/// What is left of a point without some axes. Two points are the same but for those axes if these
/// are equal.
#[derive(Debug, Clone, PartialEq)]
pub struct Rest<'p>(Vec<(Axis, Value<'p>)>);

impl PartialEq for Point {
    fn eq(&self, other: &Point) -> bool {
        Axis::all().all(|axis| self.is_same_in(other, axis))
    }
}

impl Point {
    /// The point that a cell of the study is.
    pub fn of(study: &Study, cell: &Cell) -> Point {
        let spec = &study.modes[cell.mode];
        Point {
            workload: cell.workload.clone(),
            connections: cell.connections,
            rate_per_s: cell.rate_per_s,
            pace: cell.pace,
            knee: cell.knee,
            distances: cell.distances.clone(),
            disks: cell.disks.clone(),
            client_site: cell.client_site.clone(),
            window: cell.window(study),
            watch_after: cell.watch_after,
            apply: cell.apply,
            cpu_speed: cell.cpu_speed,
            schemas: cell.schemas.max(1),
            ..Point::of_mode(cell.mode, spec, study.has_tls(spec))
        }
    }

    fn of_mode(row: usize, spec: &ModeSpec, tls: bool) -> Point {
        Point {
            row,
            server: spec.server.clone(),
            mode: spec.mode,
            nodes: spec.nodes,
            appliers: spec.appliers,
            binary_log: spec.binary_log,
            spread: spec.spread,
            front: spec.front,
            memory_bytes: spec.memory_bytes,
            variables: spec.variables.clone(),
            node_variables: spec.node_variables.clone(),
            tls,
            slowdown: spec.slowdown,
            endpoint: spec.endpoint.clone(),
            ..Point::default()
        }
    }

    /// Its value on one axis.
    pub fn value(&self, axis: Axis) -> Value<'_> {
        match axis {
            Axis::Row => Value::Count(self.row as u64),
            Axis::Server => Value::Name(&self.server),
            Axis::Mode => Value::Mode(&self.mode),
            Axis::Nodes => Value::Count(self.nodes.into()),
            Axis::Appliers => Value::Count(self.appliers.into()),
            Axis::BinaryLog => Value::Flag(self.binary_log),
            Axis::Spread => Value::Flag(self.spread),
            Axis::Front => Value::Front(self.front),
            Axis::Memory => Value::Limit(self.memory_bytes),
            Axis::Variables => Value::Variables(&self.variables),
            Axis::NodeVariables => Value::NodeVariables(&self.node_variables),
            Axis::Tls => Value::Flag(self.tls),
            Axis::Slowdown => Value::Share(self.slowdown),
            Axis::Endpoint => Value::Endpoint(self.endpoint.as_ref()),
            Axis::Workload => Value::Workload(&self.workload),
            Axis::Connections => Value::Count(self.connections.into()),
            Axis::Rate => Value::Limit(self.rate_per_s.map(u64::from)),
            Axis::Pace => Value::Span(self.pace),
            Axis::Knee => Value::Seek(self.knee),
            Axis::Distances => Value::Distances(Apart {
                pairs: &self.distances.pairs,
                jitter: self.distances.jitter,
                rate_bits_per_s: self.distances.rate_bits_per_s,
            }),
            Axis::Disks => Value::Disks(self.disks.as_ref().map(|d| (&d.all, &d.by_site))),
            Axis::ClientSite => Value::Name(&self.client_site),
            Axis::Window => Value::Span(Some(self.window)),
            Axis::WatchAfter => Value::Span(self.watch_after),
            Axis::Apply => Value::Name(self.apply.word()),
            Axis::CpuSpeed => Value::CpuSpeed(self.cpu_speed),
            Axis::Schemas => Value::Count(self.schemas.into()),
        }
    }

    /// All of it but for these axes.
    pub fn without(&self, axes: &[Axis]) -> Rest<'_> {
        let kept = Axis::all().filter(|axis| !axes.contains(axis));
        Rest(kept.map(|axis| (axis, self.value(axis))).collect())
    }

    /// The load alone, whatever mode it was run against.
    pub fn load(&self) -> Rest<'_> {
        self.without(&Axis::OF_MODE)
    }

    /// Whether two points have the same value on one axis.
    pub fn is_same_in(&self, other: &Point, axis: Axis) -> bool {
        self.value(axis) == other.value(axis)
    }

    /// The axes in which two points differ.
    pub fn differs_in(&self, other: &Point) -> Vec<Axis> {
        let differs = |axis: &Axis| !self.is_same_in(other, *axis);
        Axis::all().filter(differs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::knee::Part;

    /// A point of which no axis has its default.
    fn far_from_default() -> Point {
        let text = |text: &str| text.to_owned();
        let variables = Variables::from([(text("sync_binlog"), text("0"))]);
        Point {
            row: 1,
            server: text("mariadb"),
            mode: Mode::Galera,
            nodes: 3,
            appliers: 2,
            binary_log: true,
            spread: true,
            front: Some(Front {
                proxy: crate::study::Proxy::Haproxy,
                at: crate::study::FrontAt::Own,
            }),
            memory_bytes: Some(1),
            variables: variables.clone(),
            node_variables: BTreeMap::from([(text("a"), variables)]),
            tls: true,
            slowdown: Some(0.1),
            endpoint: Some(EndpointSpec {
                writer: crate::study::endpoint::Address {
                    user: text("u"),
                    host: text("h"),
                    port: 1,
                },
                replicas: vec![],
                tls: crate::study::endpoint::Tls::Off,
                password_file: None,
                database: None,
            }),
            workload: Workload::Custom {
                name: text("own"),
                setup: vec![],
                transactions: vec![],
                prepared: true,
            },
            connections: 4,
            rate_per_s: Some(100),
            pace: Some(Duration::from_millis(20)),
            knee: Some(Seek {
                p99: Duration::from_millis(20),
                part: Part::Search,
            }),
            distances: Distances {
                jitter: Some(Duration::from_millis(1)),
                ..Distances::default()
            },
            disks: Some(Disks {
                label: text("x"),
                all: Disk::default(),
                by_site: BTreeMap::new(),
            }),
            client_site: text("b"),
            window: Duration::from_secs(9),
            watch_after: Some(Duration::from_secs(1)),
            apply: Apply::After,
            cpu_speed: CpuSpeed::of_all(0.8),
            schemas: 2,
        }
    }

    #[test]
    fn every_axis_is_told_apart_and_can_be_left_out() {
        let (plain, far) = (Point::default(), far_from_default());
        let all: Vec<Axis> = Axis::all().collect();
        assert_eq!(plain.differs_in(&far), all);
        assert_ne!(plain.without(&[]), far.without(&[]));
        for axis in &all {
            let others: Vec<Axis> = all.iter().copied().filter(|other| other != axis).collect();
            assert_ne!(plain.without(&others), far.without(&others), "{axis:?}");
        }
        assert_eq!(plain.without(&all), far.without(&all));
    }

    #[test]
    fn what_tables_call_it_tells_no_two_points_apart() {
        let mut renamed = far_from_default();
        renamed.distances.label = "elsewhere".into();
        renamed.disks.as_mut().unwrap().label = "another".into();
        assert_eq!(renamed.differs_in(&far_from_default()), []);
        assert_eq!(renamed, far_from_default());
    }

    #[test]
    fn a_load_is_the_same_in_every_mode() {
        let far = far_from_default();
        let other = Point {
            row: 7,
            mode: Mode::Single,
            ..far.clone()
        };
        assert_eq!(far.load(), other.load());
        let longer = Point {
            window: Duration::from_secs(10),
            ..other
        };
        assert_ne!(far.load(), longer.load());
    }
}
