//! Emulated disks at a cell: made what they are asked to be, probed, counted.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::sys::statvfs::statvfs;

use crate::error::{Result, Tried, breakdown};
use crate::lab::Lab;
use crate::lab::disk::copies::{Change, Reach};
use crate::lab::disk::{Volume, VolumeCounters};
use crate::lab::link::realtime::now_ns;
use crate::lab::node::Node;
use crate::record::{Degraded, DiskGot, DiskRole, DiskUse};
use crate::study::disk::{Delay, Disk, Disks};

/// Write-and-flush pairs of one probe.
const PROBE_PAIRS: usize = 11;

/// What a cell may write before the next look.
const ROOM_MB_MIN: u64 = 32;

/// The counters of a lab's volumes, by node.
pub type DiskCounters = BTreeMap<String, VolumeCounters>;

/// Reads the counters of all volumes.
pub fn counters(lab: &Lab) -> Result<DiskCounters> {
    let with_volume = lab.nodes.iter().filter_map(|node| {
        let volume = node.volume.as_ref()?;
        Some(
            volume
                .counters()
                .map(|counters| (node.name().to_owned(), counters)),
        )
    });
    with_volume.collect()
}

/// Makes a lab's disks what they are asked to be; what was asked and got of those on which the
/// nodes `members` run servers, the writer's first.
pub fn set_and_probe(
    lab: &Lab,
    disks: &Disks,
    members: std::ops::Range<usize>,
) -> Result<Vec<DiskGot>> {
    lab.set_disks(disks)?;
    lab.nodes[members.clone()].iter().try_for_each(has_room)?;
    let probe = |node: &Node| {
        let volume = node.volume.as_ref()?;
        Some(probed(lab, disks, node, volume))
    };
    lab.nodes[members].iter().filter_map(probe).collect()
}

/// A server whose disk fills up waits for somebody to make room, and answers nobody meanwhile.
///
/// # Errors
/// A breakdown if little room is left on a node's emulated disk.
fn has_room(node: &Node) -> Result<()> {
    if node.volume.is_none() {
        return Ok(());
    }
    let at = node.mount_point();
    let found = statvfs(&at).tried(|| format!("ask how much room is left in {}", at.display()))?;
    let megabytes = |blocks: u64| blocks * found.fragment_size() / 1_000_000;
    let (free, size) = (
        megabytes(found.blocks_available()),
        megabytes(found.blocks()),
    );
    is_enough(node.name(), free, size)
}

fn is_enough(node: &str, free_mb: u64, size_mb: u64) -> Result<()> {
    if free_mb >= ROOM_MB_MIN {
        return Ok(());
    }
    let status = format!(
        "{free_mb} MB of {size_mb} are left there, less than {ROOM_MB_MIN}: give images a larger \
         size"
    );
    let tried = format!("measure on the emulated disk of {node}");
    Err(breakdown(tried, status))
}

/// Without the times that are asked for first: what the volume itself takes, the way to its copies
/// included. All disks are changed together, for a volume may wait for those of its copies.
fn probed(lab: &Lab, disks: &Disks, node: &Node, volume: &Volume) -> Result<DiskGot> {
    let bare = |disks: Disks| {
        lab.set_disks(&disks)?;
        got(volume)
    };
    let disk = disks.of(node.site());
    let (_, flush_us_floor) = bare(disks.with_flush(Delay::NONE))?;
    let write_us_floor = match disk.write == Delay::NONE {
        true => None,
        false => Some(bare(disks.changed(|disk| Disk {
            write: Delay::NONE,
            ..disk
        }))?),
    };
    lab.set_disks(disks)?;
    let (write_us_before, flush_us_before) = got(volume)?;
    Ok(DiskGot {
        node: node.name().to_owned(),
        site: node.site().to_owned(),
        flush_us_asked: us(disk.flush.median()),
        write_us_asked: us(disk.write.median()),
        is_flush_drawn: !matches!(disk.flush, Delay::Constant(_)) || waits_for_others(lab, disks),
        flush_us_floor,
        write_us_floor: write_us_floor.map_or(write_us_before, |(write_us, _)| write_us),
        write_us_before,
        flush_us_before,
        ..DiskGot::default()
    })
}

/// Whether a flush there takes what slower disks elsewhere take.
fn waits_for_others(lab: &Lab, disks: &Disks) -> bool {
    lab.spec.family.copies_volume() && disks.equal_flush().is_none()
}

/// Fills in what was got after the window.
pub fn probe_again(lab: &Lab, disks_got: &mut [DiskGot]) -> Result<()> {
    for disk in disks_got {
        let node = lab.nodes.iter().find(|node| node.name() == disk.node);
        if let Some(volume) = node.and_then(|node| node.volume.as_ref()) {
            (disk.write_us_after, disk.flush_us_after) = got(volume)?;
        }
    }
    Ok(())
}

/// Medians of a direct write, and of the write with the flush after it.
fn got(volume: &Volume) -> Result<(f64, f64)> {
    let (write_us, flush_us) = volume.probe(PROBE_PAIRS)?;
    Ok((write_us, write_us + flush_us))
}

fn us(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

/// Looks for spans in which a volume has too few of its copies.
pub struct CopiesWatch {
    /// Of the machine's monotonic clock.
    begin: Duration,
    was_short: bool,
}

impl CopiesWatch {
    /// From now on; `None` where volumes have no copies.
    pub fn begin(lab: &Lab) -> Result<Option<CopiesWatch>> {
        if !lab.spec.family.copies_volume() {
            return Ok(None);
        }
        let standing = lab.volume(0)?.standing()?;
        Ok(Some(CopiesWatch {
            begin: Duration::from_nanos(now_ns()),
            was_short: standing.reach != Some(Reach::Enough),
        }))
    }

    /// What befell the volume since.
    pub fn end(self, lab: &Lab) -> Result<Vec<Degraded>> {
        Ok(self.spans(&lab.volume(0)?.standing()?.changes))
    }

    fn spans(&self, changes: &[Change]) -> Vec<Degraded> {
        let open = |from_ms| Degraded {
            from_ms,
            to_ms: None,
        };
        let mut spans: Vec<Degraded> = self.was_short.then(|| open(0)).into_iter().collect();
        for change in changes {
            let Change::Reach { at, reach } = change else {
                continue;
            };
            let ms = at.saturating_sub(self.begin).as_millis() as u64;
            let open_one = spans.last_mut().filter(|span| span.to_ms.is_none());
            match (open_one, reach) {
                (Some(span), Reach::Enough) => span.to_ms = Some(ms),
                (None, Reach::Short | Reach::Alone) => spans.push(open(ms)),
                _ => {}
            }
        }
        spans
    }
}

/// What each disk did between two readings: those of the first `servers` nodes, or all copies of
/// the writer's volume.
pub fn used(lab: &Lab, servers: usize, begin: &DiskCounters, end: &DiskCounters) -> Vec<DiskUse> {
    let has_copies = lab.spec.family.copies_volume();
    let disk = |i: usize| {
        let node = lab.nodes[i].name();
        let done = end.get(node)?.since(begin.get(node)?);
        Some(DiskUse {
            node: node.to_owned(),
            role: match (i, has_copies) {
                (0, _) => DiskRole::Writer,
                (_, true) => DiskRole::Copy,
                (_, false) => DiskRole::Replica,
            },
            reads: done.reads,
            writes: done.writes,
            flushes: done.flushes,
            bytes_read: done.bytes_read,
            bytes_written: done.bytes_written,
            flush_time_us: done.flush_ns_sum as f64 / 1e3,
            cpu_us: done.cpu_ns as f64 / 1e3,
            timed_replies: done.timed_replies,
            late_replies: done.late_replies,
            busy_us: done.busy_ms.map(|ms| ms as f64 * 1e3),
        })
    };
    taking_part(lab, servers).filter_map(disk).collect()
}

/// Indices of the first `servers` nodes, or of all that have a copy of the writer's volume.
pub fn taking_part(lab: &Lab, servers: usize) -> std::ops::Range<usize> {
    match lab.spec.family.copies_volume() {
        true => 0..lab.nodes.len(),
        false => 0..servers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64, reach: Reach) -> Change {
        let at = Duration::from_millis(ms);
        Change::Reach { at, reach }
    }

    fn spans(was_short: bool, changes: &[Change]) -> Vec<(u64, Option<u64>)> {
        let begin = Duration::from_millis(1_000);
        let watch = CopiesWatch { begin, was_short };
        let spans = watch.spans(changes);
        spans
            .iter()
            .map(|span| (span.from_ms, span.to_ms))
            .collect()
    }

    #[test]
    fn a_span_lasts_until_there_are_enough_copies() {
        assert_eq!(spans(false, &[]), []);
        let fenced = Change::Fenced {
            at: Duration::from_millis(1_600),
            generation: 2,
        };
        let changes = [
            at(1_500, Reach::Short),
            fenced,
            at(1_700, Reach::Alone),
            at(2_000, Reach::Enough),
            at(2_500, Reach::Short),
        ];
        assert_eq!(spans(false, &changes), [(500, Some(1_000)), (1_500, None)]);
    }

    #[test]
    fn a_span_can_have_begun_before() {
        let enough = at(1_250, Reach::Enough);
        assert_eq!(spans(true, &[enough]), [(0, Some(250))]);
        assert_eq!(spans(true, &[]), [(0, None)]);
    }

    #[test]
    fn a_disk_that_is_nearly_full_is_told_before_its_server_waits_for_room() {
        assert!(is_enough("a", 32, 457).is_ok());
        let error = is_enough("a", 31, 457).unwrap_err().to_string();
        assert!(error.contains("disk of a: 31 MB of 457"), "{error}");
    }
}
