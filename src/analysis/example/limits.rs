//! A study of limits whose truth is known: each connection waits for the distance once, for one
//! flush, and for a CPU.

use std::collections::BTreeMap;

use crate::plan::{Cell, plan};
use crate::record::store::Record;
use crate::record::{CpuUsed, Header, Measurement};
use crate::study::moving::{self, CpuParts};
use crate::study::{ModeSpec, written};

const TEXT: &str = r#"
rounds = 4
disk = { flush = "0.5ms" }

[[mode]]
server = "mysql"
mode = "single"

[[mode]]
server = "mysql"
mode = "group"

[[sweep]]
workload = "update_index"
connections = 2
rtt = "2.15ms"
"#;

/// At full speed.
const WORK_US: f64 = 200.0;
const WINDOW_S: f64 = 100.0;

/// Whole; all share the CPUs.
pub fn limited() -> Record {
    let study = moving::limits(&written::sample(TEXT), CpuParts::Shared);
    let study = study.expect("a closed loop");
    let cells = plan(&study).cells;
    let mut measurements = Vec::new();
    for round in 1..=study.rounds {
        for (index, cell) in cells.iter().enumerate() {
            measurements.push(measured(round, index, cell, &study.modes[cell.mode]));
        }
    }
    Record {
        header: Header {
            study,
            cells,
            ..Header::default()
        },
        measurements,
        campaigns: BTreeMap::new(),
        finished: true,
    }
}

/// The host is a tenth slower in each round.
fn measured(round: u32, index: usize, cell: &Cell, spec: &ModeSpec) -> Measurement {
    let rtt_us = match spec.nodes {
        1 => 0.0,
        _ => cell.distances.rtt("a", "b").map_or(0.0, us),
    };
    let flush_us = super::disks::flush_us(cell, "a");
    let latency_us = rtt_us + flush_us + WORK_US / cell.cpu_speed.writer;
    let per_s = f64::from(cell.connections) * 1e6 / latency_us;
    let commits = (per_s * WINDOW_S * 0.9_f64.powi(round as i32)).round();
    Measurement {
        round,
        cell: index,
        window_s: WINDOW_S,
        commits: commits as u64,
        statements: commits as u64,
        cpu: CpuUsed {
            writer_us: Some(70.0 * commits),
            client_us: 10.0 * commits,
            links_us: Some(15.0 * commits),
            links_spin_us: Some(5.0 * commits),
            ..CpuUsed::default()
        },
        ..Measurement::default()
    }
}

fn us(span: std::time::Duration) -> f64 {
    span.as_secs_f64() * 1e6
}
