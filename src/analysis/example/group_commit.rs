//! A record of the study of group commit, as the article would have it.

use super::{Example, Truth, Waits, equal, flush, server, spec};
use crate::record::Measurement;
use crate::record::store::Record;
use crate::study::{Ack, Mode, ModeSpec, Variables, WhenShort};

/// Flushes of a commit that nobody shares.
const FLUSHES: f64 = 4.0;

/// Three versions on a mirrored volume, with and without sync_binlog, at two distances.
pub fn group_commit() -> Record {
    let truths = ["mysql-5.5", "mysql-5.6", "mysql"]
        .into_iter()
        .flat_map(pair);
    let example = Example {
        truths: truths.collect(),
        connections: vec![1, 8, 64],
        on_disks: [1.0, 4.0]
            .map(|apart_ms| (equal(apart_ms), flush(0.0)))
            .to_vec(),
        rounds: 3,
        ..Example::default()
    };
    let mut record = example.record();
    record.header.study.name = "group-commit".into();
    record.header.study.title = "group commit of the binary log on a mirrored volume".into();
    record.header.study.article = Some("sync-binlog-group-commit-2012".into());
    record.header.servers.extend([
        server("mysql-5.5", "5.5.9", "maven"),
        server("mysql-5.6", "5.6.24", "npm"),
    ]);
    for measurement in &mut record.measurements {
        let cell = &record.header.cells[measurement.cell];
        let mode = &record.header.study.modes[cell.mode];
        let rtt_s = measurement.rtts[0].rtt_us_asked / 1e6;
        let shared = shared(mode, f64::from(cell.connections));
        set_rate(measurement, shared / (rtt_s * flushes(mode)));
        for disk in &mut measurement.disks {
            disk.flushes = (measurement.commits as f64 * flushes(mode) / shared) as u64;
        }
    }
    record
}

fn pair(server: &str) -> [Truth; 2] {
    let mirror = Mode::Mirror {
        timeout: std::time::Duration::from_secs(6),
        ack: Ack::Write,
        when_short: WhenShort::Block,
    };
    ["1", "0"].map(|sync_binlog| {
        let label = format!("{server} sync_binlog={sync_binlog}");
        let mut spec = spec(&label, mirror, 2, None);
        if sync_binlog == "0" {
            spec.variables = Variables::from([("sync_binlog".into(), "0".into())]);
        }
        Truth {
            spec,
            work_us: 1_000.0,
            waits: Waits::Nearest,
            round_trips: FLUSHES,
            flushes: [FLUSHES, 0.0, 0.0],
            hidden: 0.0,
        }
    })
}

fn is_synced(mode: &ModeSpec) -> bool {
    !mode.variables.contains_key("sync_binlog")
}

fn flushes(mode: &ModeSpec) -> f64 {
    if is_synced(mode) {
        FLUSHES
    } else {
        FLUSHES / 2.0
    }
}

/// Commits that share their flushes.
fn shared(mode: &ModeSpec, connections: f64) -> f64 {
    match mode.server == "mysql-5.5" && is_synced(mode) {
        true => 1.0,
        false => connections.sqrt(),
    }
}

/// Commits per second in the window, a little different in each round.
fn set_rate(measurement: &mut Measurement, rate_per_s: f64) {
    let wiggle = 1.0 + 0.002 * f64::from(measurement.round);
    measurement.commits = (rate_per_s * wiggle * measurement.window_s) as u64;
}
