//! A hand-made record whose truth is known, for tests of this room and of the report.

pub mod articles;
mod disks;
mod kept;
mod limits;
mod screen;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::plan::Cell;
use crate::record::store::Record;
use crate::record::{
    CpuUsed, Header, Host, LabFacts, Lag, LinkTraffic, Measurement, RttGot, ServerFacts, histogram,
};
use crate::study::{
    Ack, Consistency, Disks, Distances, Mode, ModeSpec, Network, Study, WaitPoint, WhenShort,
    Workload,
};

pub use disks::{anatomy_points, flush, slow_at};
pub use kept::kept;
pub use limits::limited;
pub use screen::{ALONE, TOGETHER, screened};

/// Whose distance a mode of the example waits for.
#[derive(Clone, Copy)]
pub enum Waits {
    Nearest,
    Farthest,
    For([f64; 2]),
    Mixed {
        far: f64,
        near: f64,
    },
    /// A third of the way round over both.
    Ring,
    /// A third of both distances and of the farther one once more.
    OrderAndFarthest,
}

/// A mode and its truth: `latency = work + round trips · RTT + flushes · flush time`.
pub struct Truth {
    pub spec: ModeSpec,
    pub work_us: f64,
    pub waits: Waits,
    pub round_trips: f64,
    /// In series at sites a, b and c.
    pub flushes: [f64; 3],
    /// Share of the shorter wait, for distance or for flushes, that hides behind the longer.
    pub hidden: f64,
}

impl Truth {
    /// With the distances to b, to c, and between them.
    fn latency_us(&self, [b, c, between]: [f64; 3], flush_us: [f64; 3]) -> f64 {
        let waited = match self.waits {
            Waits::Nearest => b.min(c),
            Waits::Farthest => b.max(c),
            Waits::For([share_b, share_c]) => share_b * b + share_c * c,
            Waits::Mixed { far, near } => far * b.max(c) + near * b.min(c),
            Waits::Ring => (b + between + c) / 3.0,
            Waits::OrderAndFarthest => (b + c + b.max(c)) / 3.0,
        };
        let far = self.round_trips * waited;
        let flushed: f64 = self
            .flushes
            .iter()
            .zip(flush_us)
            .map(|(k, us)| k * us)
            .sum();
        self.work_us + far + flushed - self.hidden * far.min(flushed)
    }

    /// Nodes whose servers follow the writer.
    fn replicas(&self) -> u32 {
        match self.spec.mode.has_one_server() {
            true => 0,
            false => self.spec.nodes - 1,
        }
    }
}

pub fn spec(label: &str, mode: Mode, nodes: u32, baseline: Option<&str>) -> ModeSpec {
    ModeSpec {
        label: label.into(),
        server: label.split(' ').next().unwrap().into(),
        mode,
        nodes,
        appliers: 4,
        binary_log: true,
        baseline: baseline.map(str::to_owned),
        ..ModeSpec::default()
    }
}

/// The six modes of `compare`.
pub fn six() -> Vec<Truth> {
    let semisync = Mode::Semisync {
        wait_for: 1,
        wait_point: WaitPoint::AfterSync,
        timeout: Duration::from_secs(10),
    };
    let group = Mode::Group {
        consistency: Consistency::Eventual,
    };
    let truth = |(label, mode, work_us, waits, round_trips): (&str, _, _, _, _)| {
        let server = label.split(' ').next().unwrap();
        let single = format!("{server} single");
        let (nodes, baseline) = match mode {
            Mode::Single => (1, None),
            _ => (3, Some(&single[..])),
        };
        Truth {
            spec: spec(label, mode, nodes, baseline),
            work_us,
            waits,
            round_trips,
            flushes: [3.0, 0.0, 0.0],
            hidden: 0.0,
        }
    };
    let (near, far, both) = (Waits::Nearest, Waits::Farthest, Waits::For([0.75, 0.75]));
    let all = [
        ("mysql single", Mode::Single, 1300.0, near, 0.0),
        ("mysql async", Mode::Async, 1320.0, near, 0.0),
        ("mysql semisync", semisync, 1500.0, near, 1.0),
        ("mysql group", group, 1900.0, both, 1.0),
        ("mariadb single", Mode::Single, 900.0, near, 0.0),
        ("mariadb galera", Mode::Galera, 1400.0, far, 1.0),
    ];
    all.map(truth).into()
}

/// The six, one on a mirrored volume, where half of the shorter wait hides, and one on six copies.
pub fn eight() -> Vec<Truth> {
    let mut truths = six();
    let copied = |label: &str, mode, nodes, hidden| Truth {
        spec: spec(label, mode, nodes, Some("mysql single")),
        work_us: 1600.0,
        waits: Waits::Nearest,
        round_trips: 5.0,
        flushes: [3.0, 0.0, 0.0],
        hidden,
    };
    let mirror = Mode::Mirror {
        ack: Ack::Write,
        when_short: WhenShort::Block,
        timeout: Duration::from_secs(6),
    };
    let quorum = Mode::Quorum {
        copies: 6,
        write_quorum: 4,
        ack: Ack::Write,
    };
    truths.push(copied("mysql mirror", mirror, 2, 0.5));
    truths.push(copied("mysql quorum block mirror 4/6", quorum, 6, 0.0));
    truths
}

fn ms(ms: f64) -> Duration {
    Duration::from_micros((ms * 1e3) as u64)
}

/// Three sites, all as far apart from each other.
pub fn equal(apart_ms: f64) -> Distances {
    distances(&format!("{apart_ms} ms"), apart_ms, apart_ms, apart_ms)
}

/// Peers at different distances from the writer.
pub fn unequal(b_ms: f64, c_ms: f64) -> Distances {
    distances(
        &format!("b {b_ms} ms, c {c_ms} ms"),
        b_ms,
        c_ms,
        b_ms.max(c_ms),
    )
}

/// Distances to b and to c, and between them.
pub fn apart(b_ms: f64, c_ms: f64, between_ms: f64) -> Distances {
    let label = format!("b {b_ms} ms, c {c_ms} ms, between them {between_ms} ms");
    distances(&label, b_ms, c_ms, between_ms)
}

fn distances(label: &str, ab: f64, ac: f64, bc: f64) -> Distances {
    let pair = |from: &str, to: &str, apart_ms| (from.to_owned(), to.to_owned(), ms(apart_ms));
    Distances {
        label: label.to_owned(),
        pairs: vec![pair("a", "b", ab), pair("a", "c", ac), pair("b", "c", bc)],
        ..Distances::default()
    }
}

/// What an example record is made of.
pub struct Example {
    pub truths: Vec<Truth>,
    pub workload: Workload,
    pub connections: Vec<u32>,
    /// Without emulated disks.
    pub distances: Vec<Distances>,
    /// Points on emulated disks; if there are any, no others are measured.
    pub on_disks: Vec<(Distances, Disks)>,
    pub rounds: u32,
}

impl Default for Example {
    fn default() -> Self {
        Example {
            truths: six(),
            workload: Workload::default(),
            connections: vec![1],
            distances: vec![equal(0.25), equal(2.15), equal(8.0)],
            on_disks: vec![],
            rounds: 4,
        }
    }
}

impl Example {
    /// The built-in anatomy's points, with copied volumes too.
    pub fn anatomy() -> Example {
        Example {
            truths: eight(),
            on_disks: anatomy_points(),
            ..Example::default()
        }
    }

    /// The whole record.
    pub fn record(&self) -> Record {
        let header = self.header();
        let measure = |round| {
            let cells = header.cells.iter().enumerate();
            cells.map(move |(index, cell)| self.measurement(round, index, cell))
        };
        Record {
            measurements: (0..self.rounds).flat_map(measure).collect(),
            campaigns: BTreeMap::new(),
            finished: true,
            header: header.clone(),
        }
    }

    fn points(&self) -> Vec<(Distances, Option<Disks>)> {
        let on_disks = self.on_disks.iter().cloned();
        match self.on_disks.is_empty() {
            true => self.distances.iter().map(|d| (d.clone(), None)).collect(),
            false => on_disks.map(|(d, disks)| (d, Some(disks))).collect(),
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for connections in &self.connections {
            for (distances, disks) in &self.points() {
                for (mode, truth) in self.truths.iter().enumerate() {
                    let workload = self.workload.label();
                    let mode_name = truth.spec.label.replace(' ', "-");
                    let on = disks.as_ref().map(|disks| format!("/{}", disks.label));
                    let apart = distances.label.clone() + &on.unwrap_or_default();
                    cells.push(Cell {
                        id: format!("{mode_name}/{workload}/{connections}c/a/{apart}"),
                        mode,
                        workload: self.workload.clone(),
                        connections: *connections,
                        distances: distances.clone(),
                        disks: disks.clone(),
                        client_site: "a".into(),
                        ..Cell::default()
                    });
                }
            }
        }
        cells
    }

    fn header(&self) -> Header {
        Header {
            study: self.study(),
            study_text: "built-in".into(),
            cells: self.cells(),
            command_line: ["acklab", "compare"].map(str::to_owned).to_vec(),
            started_unix_ms: 1_790_000_000_000,
            acklab_version: "0.1.0".into(),
            host: Host {
                kernel: "6.1.0".into(),
                cpu_model: "Example CPU".into(),
                cpus: 2,
                memory_bytes: 8 << 30,
                fsync_us_p50: 310.0,
                link_floor_us_p50: 82.0,
                machine: None,
            },
            servers: vec![
                server("mysql", "9.7.1", "apt sid, mysql-server-core 9.7.1-1"),
                server(
                    "mariadb",
                    "10.11.19-MariaDB",
                    "apt bookworm, mariadb 1:10.11.19-0",
                ),
            ],
            labs: vec![lab("mysql replication", "ON"), lab("galera", "OFF")],
            remarks: vec!["All nodes share one journal of the host.".into()],
            file_system: (!self.on_disks.is_empty()).then(|| "ext4".into()),
            ..Header::default()
        }
    }

    fn study(&self) -> Study {
        Study {
            name: "compare".into(),
            title: "Every way of replicating, priced".into(),
            seed: 7,
            rounds: self.rounds,
            warmup: Duration::from_secs(1),
            measure: Duration::from_secs(3),
            sites: ["a", "b", "c"].map(str::to_owned).to_vec(),
            network: Network {
                rtt_within_site: ms(0.25),
                ..Network::default()
            },
            modes: self.truths.iter().map(|truth| truth.spec.clone()).collect(),
            ..Study::default()
        }
    }

    /// The host is a tenth slower in each round; on top, cells vary by up to 1 %.
    fn measurement(&self, round: u32, index: usize, cell: &Cell) -> Measurement {
        let truth = &self.truths[cell.mode];
        let apart_us = |(from, to)| cell.distances.rtt(from, to).unwrap().as_secs_f64() * 1e6;
        let flush_us = ["a", "b", "c"].map(|site| disks::flush_us(cell, site));
        let latency_us =
            truth.latency_us([("a", "b"), ("a", "c"), ("b", "c")].map(apart_us), flush_us);
        let wiggle = 1.0 + 0.01 * f64::from((round * 7 + index as u32 * 3) % 5) / 5.0;
        let host = 0.9_f64.powi(round as i32);
        let rate = f64::from(cell.connections) * 1e6 / latency_us * host * wiggle;
        let commits = (rate * 3.0).round();
        let replicas = truth.replicas();
        let has_disks = cell.disks.is_some();
        Measurement {
            round,
            cell: index,
            window_s: 3.0,
            commits: commits as u64,
            statements: commits as u64,
            latency_us: latencies(latency_us),
            rtts: rtts(&cell.distances),
            cpu: cpu(commits, replicas),
            links: links(commits, replicas),
            lag: ["b", "c"][..replicas as usize]
                .iter()
                .map(|node| lag(node))
                .collect(),
            host_busy: 0.6,
            disks_got: if has_disks {
                disks::got(cell, truth)
            } else {
                vec![]
            },
            disks: if has_disks {
                disks::used(cell, commits, truth)
            } else {
                vec![]
            },
            ..Measurement::default()
        }
    }
}

fn server(name: &str, version: &str, source: &str) -> ServerFacts {
    ServerFacts {
        name: name.into(),
        version: version.into(),
        source: source.into(),
    }
}

fn lab(family: &str, performance_schema: &str) -> LabFacts {
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let variables = BTreeMap::from([
        variable("sync_binlog", "1"),
        variable("innodb_flush_log_at_trx_commit", "1"),
        variable("performance_schema", performance_schema),
    ]);
    LabFacts {
        family: family.into(),
        modes: vec![],
        ready_seconds: 9.7,
        overridden: vec![],
        variables: [("a".into(), variables.clone()), ("b".into(), variables)].into(),
    }
}

/// 2,000 latencies with the given median.
fn latencies(median_us: f64) -> String {
    let mut histogram = histogram::empty();
    let parts = [(0.9, 600), (1.0, 800), (1.15, 500), (1.6, 85), (4.0, 15)];
    for (factor, count) in parts {
        histogram
            .record_n((median_us * factor) as u64, count)
            .unwrap();
    }
    histogram::encode(&histogram)
}

fn rtts(distances: &Distances) -> Vec<RttGot> {
    let got = |(from, to, rtt): &(String, String, Duration)| {
        let rtt_us = rtt.as_secs_f64() * 1e6;
        RttGot {
            from: from.clone(),
            to: to.clone(),
            from_site: from.clone(),
            to_site: to.clone(),
            rtt_us_asked: rtt_us,
            rtt_us_before: rtt_us + 8.0,
            rtt_us_after: rtt_us + 12.0,
        }
    };
    distances.pairs.iter().map(got).collect()
}

fn cpu(commits: f64, replicas: u32) -> CpuUsed {
    let nodes = ["b", "c"][..replicas as usize].iter();
    CpuUsed {
        writer_us: Some(310.0 * commits),
        replicas_us: nodes
            .map(|node| (node.to_string(), 280.0 * commits))
            .collect(),
        client_us: 12.5 * commits,
        busiest_driver_us: None,
        front_us: None,
        links_us: Some(45.0 * commits),
        links_spin_us: Some(0.0),
        idle_us_per_s: [("a".into(), 2_000.0)].into(),
        idle_watched_s: None,
    }
}

fn links(commits: f64, replicas: u32) -> Vec<LinkTraffic> {
    let link = |from: &str, to: &str, packets: f64, bytes: f64, is_client| LinkTraffic {
        from: from.into(),
        to: to.into(),
        packets: (packets * commits) as u64,
        bytes: (bytes * commits) as u64,
        is_client,
        ..LinkTraffic::default()
    };
    let mut links = vec![link("client", "a", 2.0, 300.0, true)];
    for node in &["b", "c"][..replicas as usize] {
        links.push(link("a", node, 2.0, 700.0, false));
        links.push(link(node, "a", 1.0, 60.0, false));
    }
    links
}

fn lag(node: &str) -> Lag {
    Lag {
        node: node.into(),
        lag_ms: (0..100).map(|i| 1.0 + f64::from(i) / 50.0).collect(),
        catch_up_ms: Some(12.0),
    }
}
