//! What a disk is asked to be.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A time that a disk adds to each request of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delay {
    /// Always the same.
    Constant(Duration),
    /// Every time from `low` to `high` is equally likely.
    Uniform { low: Duration, high: Duration },
    /// Log-normal: half of all requests take less than `median`, 99 % less than `p99`.
    LogNormal { median: Duration, p99: Duration },
}

impl Delay {
    /// Adds nothing.
    pub const NONE: Delay = Delay::Constant(Duration::ZERO);

    /// Half of all requests take less than this.
    pub fn median(&self) -> Duration {
        match self {
            Delay::Constant(span) => *span,
            Delay::Uniform { low, high } => (*low + *high) / 2,
            Delay::LogNormal { median, .. } => *median,
        }
    }
}

/// One emulated disk. What is left out adds nothing and limits nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// Added to each read.
    pub read: Delay,
    /// Added to each write.
    pub write: Delay,
    /// Added to each flush of the write cache.
    pub flush: Delay,
    /// Most reads and writes in a second, together.
    pub iops: Option<u32>,
    /// Most bytes in a second, read and written together.
    pub bandwidth_bytes_per_s: Option<u64>,
    /// Whether a completed write can still be lost until a flush; without a volatile cache it
    /// cannot, and a flush costs nothing.
    pub write_cache: bool,
}

impl Default for Disk {
    fn default() -> Disk {
        Disk {
            read: Delay::NONE,
            write: Delay::NONE,
            flush: Delay::NONE,
            iops: None,
            bandwidth_bytes_per_s: None,
            write_cache: true,
        }
    }
}

/// The disks of all nodes: one point on an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disks {
    /// What tables call it: `flush 1 ms`, `flush 1 ms, b: flush 5 ms`.
    pub label: String,
    /// Every node's disk.
    pub all: Disk,
    /// Those that differ, by site.
    pub by_site: BTreeMap<String, Disk>,
}

impl Disks {
    /// The disk of a node in that site.
    pub fn of(&self, site: &str) -> Disk {
        self.by_site.get(site).copied().unwrap_or(self.all)
    }

    /// The one constant flush time that all disks share, if they do.
    pub fn equal_flush(&self) -> Option<Duration> {
        let Delay::Constant(flush) = self.all.flush else {
            return None;
        };
        let mut others = self.by_site.values();
        let are_alike = others.all(|disk| disk.flush == self.all.flush);
        are_alike.then_some(flush)
    }

    /// The same disks with another flush time, under the same label.
    pub fn with_flush(&self, flush: Delay) -> Disks {
        self.changed(|disk| Disk { flush, ..disk })
    }

    /// The same disks, each changed in the same way, under the same label.
    pub fn changed(&self, change: impl Fn(Disk) -> Disk) -> Disks {
        let of_site = |(site, disk): (&String, &Disk)| (site.clone(), change(*disk));
        Disks {
            label: self.label.clone(),
            all: change(self.all),
            by_site: self.by_site.iter().map(of_site).collect(),
        }
    }

    /// The one flush time that is all that these disks do, if it is.
    pub fn only_flush(&self) -> Option<Duration> {
        let flush = self.equal_flush()?;
        let is_plain =
            self.by_site.is_empty() && self.with_flush(Delay::NONE).all == Disk::default();
        is_plain.then_some(flush)
    }
}

/// Where the images of all disks are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImagePlace {
    /// In memory, so that the host's disk stays out of the figures.
    Memory,
    /// In files of this folder.
    Folder(String),
}

/// What all emulated disks of a study share, fixed for its length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Images {
    pub place: ImagePlace,
    /// Size of each node's image.
    pub bytes: u64,
}

/// What a power cut leaves of writes that were never flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PowerCut {
    /// All of them are gone.
    DropAll,
    /// None is gone: the cache was lucky.
    KeepAll,
    /// Of each block one version since the last flush, or none: drawn by this seed.
    Random { seed: u64 },
    /// As `Random`, and blocks may be torn between versions at this size: 512 or 4096 bytes.
    Torn { seed: u64, sector_bytes: u32 },
}

impl PowerCut {
    /// The same for disk number `disk`, by draws of its own.
    pub fn drawn_anew(self, disk: u64) -> PowerCut {
        match self {
            PowerCut::DropAll | PowerCut::KeepAll => self,
            PowerCut::Random { seed } => PowerCut::Random { seed: seed ^ disk },
            PowerCut::Torn { seed, sector_bytes } => PowerCut::Torn {
                seed: seed ^ disk,
                sector_bytes,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_that_lose_power_together_draw_by_themselves() {
        let cut = PowerCut::Random { seed: 6 };
        assert_eq!(cut.drawn_anew(0), cut);
        assert_eq!(cut.drawn_anew(1), PowerCut::Random { seed: 7 });
        assert_eq!(PowerCut::DropAll.drawn_anew(1), PowerCut::DropAll);
    }
}
