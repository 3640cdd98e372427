//! The example's emulated disks.

use std::collections::BTreeMap;

use super::{Truth, equal, ms};
use crate::plan::Cell;
use crate::record::{DiskGot, DiskRole, DiskUse};
use crate::study::{Delay, Disk, Disks, Distances, nodes};

/// Disks that do nothing but flush slowly.
pub fn flush(flush_ms: f64) -> Disks {
    let all = Disk {
        flush: Delay::Constant(ms(flush_ms)),
        ..Disk::default()
    };
    Disks {
        label: format!("flush {flush_ms} ms"),
        all,
        by_site: BTreeMap::new(),
    }
}

/// Disks of which those in one site are slower.
pub fn slow_at(site: &str, flush_ms: f64) -> Disks {
    let mut disks = flush(0.0);
    disks.label = format!("{site}: flush {flush_ms} ms");
    disks.by_site.insert(site.to_owned(), flush(flush_ms).all);
    disks
}

/// The points of the built-in anatomy: distance and flush time raised one by one, then both.
pub fn anatomy_points() -> Vec<(Distances, Disks)> {
    let points = [
        (0.25, 0.0),
        (2.15, 0.0),
        (8.0, 0.0),
        (0.25, 1.0),
        (0.25, 4.0),
        (2.15, 4.0),
    ];
    points
        .map(|(rtt_ms, flush_ms)| (equal(rtt_ms), flush(flush_ms)))
        .to_vec()
}

/// Added to each flush in that site, in µs.
pub fn flush_us(cell: &Cell, site: &str) -> f64 {
    let disk = cell.disks.as_ref().map(|disks| disks.of(site));
    disk.map_or(0.0, |disk| disk.flush.median().as_secs_f64() * 1e6)
}

/// Names and sites of the nodes with disks that take part.
fn with_disks(truth: &Truth) -> Vec<(String, String)> {
    let sites = ["a", "b", "c"].map(str::to_owned);
    let sites = nodes::sites_of(&sites, truth.spec.nodes);
    nodes::names(&sites).into_iter().zip(sites).collect()
}

/// What the disks were asked to be, and were.
pub fn got(cell: &Cell, truth: &Truth) -> Vec<DiskGot> {
    let got = |(node, site): (String, String)| {
        let asked = flush_us(cell, &site);
        DiskGot {
            node,
            flush_us_asked: asked,
            flush_us_floor: 240.0,
            flush_us_before: asked + 230.0,
            flush_us_after: asked + 254.0,
            write_us_floor: 120.0,
            write_us_before: 118.0,
            write_us_after: 121.0,
            site,
            ..DiskGot::default()
        }
    };
    with_disks(truth).into_iter().map(got).collect()
}

/// What the disks did.
pub fn used(cell: &Cell, commits: f64, truth: &Truth) -> Vec<DiskUse> {
    let role = |node: &str| match (node, truth.spec.mode.has_one_server()) {
        ("a", _) => DiskRole::Writer,
        (_, true) => DiskRole::Copy,
        (_, false) => DiskRole::Replica,
    };
    let used = |(node, site): (String, String)| {
        let per_commit = if node == "a" { 3.0 } else { 2.5 };
        let flushes = (per_commit * commits) as u64;
        DiskUse {
            role: role(&node),
            node,
            reads: 0,
            writes: (7.0 * commits) as u64,
            flushes,
            bytes_read: 0,
            bytes_written: (32_000.0 * commits) as u64,
            flush_time_us: flushes as f64 * (flush_us(cell, &site) + 40.0),
            cpu_us: 80.0 * commits,
            timed_replies: (per_commit * commits) as u64,
            late_replies: 0,
            busy_us: None,
        }
    };
    with_disks(truth).into_iter().map(used).collect()
}
