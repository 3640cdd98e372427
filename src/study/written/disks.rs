//! `disk`, `images`, and a sweep's `flush` and `[[sweep.disk]]`: what emulated disks do.
//!
//! What is said of a disk comes in layers, the strongest last: nothing added; the study's `disk`;
//! the sweep's; the study's for one site; the sweep's for one site.

use std::collections::BTreeMap;
use std::time::Duration;

use super::walk::{Node, Table};
use crate::study::{Delay, Disk, Disks, ImagePlace, Images, limits, slug, units};

/// Size of a node's image, if the study does not say. A data directory takes 190 MB before its
/// first row, redo and undo logs, temporary tablespaces and doublewrite files grow by some 150 MB,
/// ext4 keeps 50 MB; the rest is room for a million commits' binary log.
const DEFAULT_IMAGE_BYTES: u64 = 1_000_000_000;
/// Images are made of whole MiB.
const IMAGE_UNIT_BYTES: u64 = 1 << 20;

/// One disk as written: what is left out is said by the layer below.
#[derive(Debug, Clone, Copy, Default)]
struct Given {
    read: Option<Delay>,
    write: Option<Delay>,
    flush: Option<Delay>,
    iops: Option<u32>,
    bandwidth_bytes_per_s: Option<u64>,
    write_cache: Option<bool>,
}

/// What one place of a study says of all disks, and of those in some sites.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    all: Given,
    by_site: BTreeMap<String, Given>,
}

/// Disks that have a label already, by its slug.
pub type Seen = BTreeMap<String, Disks>;

/// The study's own `disk`, if it has one.
pub fn of_study(table: &Table<'_>, sites: &[String]) -> Option<Layer> {
    let node = table.get("disk")?;
    let table = node.table()?;
    let layer = layer(&table, sites);
    table.finish();
    check(&node, &alone(&layer));
    Some(layer)
}

/// The disks that a study's own `disk` alone makes.
pub fn alone(layer: &Layer) -> Disks {
    combined(layer, &Layer::default())
}

/// The points of a sweep's axis; none if the study says nothing of disks up to here.
pub fn of_sweep(
    table: &Table<'_>,
    sites: &[String],
    study: Option<&Layer>,
    seen: &mut Seen,
) -> Vec<Disks> {
    let below = study.cloned().unwrap_or_default();
    let (flush, disk) = (table.get("flush"), table.get("disk"));
    if flush.is_none() && disk.is_none() {
        return study.map(alone).into_iter().collect();
    }
    let mut points = Vec::new();
    for node in list(flush) {
        let point = delay(&node).map(|flush| flush_only(flush, &below));
        points.extend(point.filter(|point| is_new(&node, point, seen)));
    }
    for node in list(disk) {
        let point = node.table().map(|table| labelled(&table, sites, &below));
        points.extend(point.filter(|point| is_new(&node, point, seen)));
    }
    points
}

fn list(node: Option<Node<'_>>) -> Vec<Node<'_>> {
    node.and_then(|node| node.list()).unwrap_or_default()
}

fn flush_only(flush: Delay, below: &Layer) -> Disks {
    let mut layer = Layer::default();
    layer.all.flush = Some(flush);
    combined(below, &layer)
}

fn labelled(table: &Table<'_>, sites: &[String], below: &Layer) -> Disks {
    let label = table.get("label");
    let disks = combined(below, &layer(table, sites));
    table.finish();
    let label = label.as_ref().and_then(Node::words).map(str::trim);
    Disks {
        label: label.map_or(disks.label, str::to_owned),
        ..disks
    }
}

/// Sound disks under a label that is theirs alone.
fn is_new(node: &Node<'_>, given: &Disks, seen: &mut Seen) -> bool {
    check(node, given);
    let first = seen
        .entry(slug(&given.label))
        .or_insert_with(|| given.clone());
    let is_same = (&first.all, &first.by_site) == (&given.all, &given.by_site);
    if !is_same {
        let label = &given.label;
        node.wrong(&format!(
            "the label {label:?} already stands for other disks"
        ));
    }
    is_same
}

/// A flush time means nothing to a disk without a volatile cache.
fn check(node: &Node<'_>, disks: &Disks) {
    let mut all = [&disks.all].into_iter().chain(disks.by_site.values());
    if all.any(|disk| !disk.write_cache && disk.flush != Delay::NONE) {
        node.wrong(
            "has a flush time and write_cache = false: without a volatile cache a flush costs \
             nothing; give write a time instead",
        );
    }
}

fn layer(table: &Table<'_>, sites: &[String]) -> Layer {
    let all = given(table);
    let of_site = |site: &String| {
        let table = table.get(site)?.table()?;
        let given = given(&table);
        table.finish();
        Some((site.clone(), given))
    };
    Layer {
        all,
        by_site: sites.iter().filter_map(of_site).collect(),
    }
}

fn given(table: &Table<'_>) -> Given {
    let time = |key: &str| table.read(key, delay);
    Given {
        read: time("read"),
        write: time("write"),
        flush: time("flush"),
        iops: table.read("iops", |node| node.count(limits::IOPS)),
        bandwidth_bytes_per_s: table.read("bandwidth", bandwidth),
        write_cache: table.read("write_cache", Node::flag),
    }
}

/// A time; or `{ low, high }`; or `{ median, p99 }`.
fn delay(node: &Node<'_>) -> Option<Delay> {
    if !node.is_table() {
        return node.time(limits::DISK_DELAY).map(Delay::Constant);
    }
    let table = node.table()?;
    let is_uniform = table.get("low").is_some() || table.get("high").is_some();
    let delay = match is_uniform {
        true => uniform(&table),
        false => log_normal(&table),
    };
    table.finish();
    delay
}

const TWO_TIMES: &str = "give low and high, or median and p99";

fn uniform(table: &Table<'_>) -> Option<Delay> {
    let (low, high) = (table.need("low", TWO_TIMES), table.need("high", TWO_TIMES));
    let low = low?.time(limits::DISK_DELAY);
    let node = high?;
    let (low, high) = (low?, node.time(limits::DISK_DELAY)?);
    is_at_least(&node, high, low, "the shortest time").then_some(Delay::Uniform { low, high })
}

fn log_normal(table: &Table<'_>) -> Option<Delay> {
    let (median, p99) = (
        table.need("median", TWO_TIMES),
        table.need("p99", TWO_TIMES),
    );
    let middle = median?;
    let median = middle.time(limits::DISK_DELAY);
    if median == Some(Duration::ZERO) {
        middle.wrong("must be above 0: half of all times lie below it");
        return None;
    }
    let node = p99?;
    let (median, p99) = (median?, node.time(limits::DISK_DELAY)?);
    is_at_least(&node, p99, median, "the median").then_some(Delay::LogNormal { median, p99 })
}

fn is_at_least(node: &Node<'_>, given: Duration, least: Duration, what: &str) -> bool {
    if given < least {
        node.wrong(&format!("must be at least {}, {what}", units::show(least)));
    }
    given >= least
}

fn bandwidth(node: &Node<'_>) -> Option<u64> {
    let rate = node.as_text().and_then(units::bits_per_s);
    let rate = rate.filter(|rate| limits::BANDWIDTH_BITS_PER_S.holds(*rate));
    if rate.is_none() {
        node.wrong("must be a rate from 1 MB/s to 100 GB/s, such as \"150MB/s\"");
    }
    rate.map(|rate| (rate / 8.0).round() as u64)
}

/// Where the images are kept, if any disk is emulated. To say so asks for emulated disks, too.
pub fn images(table: &Table<'_>, is_emulated: bool) -> Option<Images> {
    let Some(table) = table.read("images", Node::table) else {
        return is_emulated.then_some(Images {
            place: ImagePlace::Memory,
            bytes: whole_units(DEFAULT_IMAGE_BYTES),
        });
    };
    let place = table.read("place", place);
    let bytes = table.read("size", size);
    table.finish();
    Some(Images {
        place: place.unwrap_or(ImagePlace::Memory),
        bytes: whole_units(bytes.unwrap_or(DEFAULT_IMAGE_BYTES)),
    })
}

/// The size of the images of a mode's own nodes, in bytes, where it is not the study's.
pub fn own_image(table: &Table<'_>) -> Option<u64> {
    table.read("image", size).map(whole_units)
}

fn whole_units(bytes: u64) -> u64 {
    bytes.div_ceil(IMAGE_UNIT_BYTES) * IMAGE_UNIT_BYTES
}

fn place(node: &Node<'_>) -> Option<ImagePlace> {
    match node.text()? {
        "memory" => Some(ImagePlace::Memory),
        // The lab has folders of its own; only a whole path means the same inside.
        folder if folder.starts_with('/') => Some(ImagePlace::Folder(folder.to_owned())),
        _ => {
            node.wrong("must be \"memory\", or a folder by its whole path");
            None
        }
    }
}

fn size(node: &Node<'_>) -> Option<u64> {
    let bytes = node.as_text().and_then(units::bytes);
    let bytes = bytes.map(|bytes| bytes.round() as u64);
    let bytes = bytes.filter(|bytes| limits::IMAGE_BYTES.holds(*bytes));
    if bytes.is_none() {
        let limits::Range { low, high } = limits::IMAGE_BYTES;
        let [low, high] = [low, high].map(units::show_bytes);
        node.wrong(&format!(
            "must be a size from {low} to {high}, such as \"1GB\""
        ));
    }
    bytes
}

impl Given {
    /// This layer on another.
    fn on(self, below: Given) -> Given {
        Given {
            read: self.read.or(below.read),
            write: self.write.or(below.write),
            flush: self.flush.or(below.flush),
            iops: self.iops.or(below.iops),
            bandwidth_bytes_per_s: self.bandwidth_bytes_per_s.or(below.bandwidth_bytes_per_s),
            write_cache: self.write_cache.or(below.write_cache),
        }
    }

    fn disk(self) -> Disk {
        let nothing = Disk::default();
        Disk {
            read: self.read.unwrap_or(nothing.read),
            write: self.write.unwrap_or(nothing.write),
            flush: self.flush.unwrap_or(nothing.flush),
            iops: self.iops,
            bandwidth_bytes_per_s: self.bandwidth_bytes_per_s,
            write_cache: self.write_cache.unwrap_or(nothing.write_cache),
        }
    }
}

fn combined(study: &Layer, sweep: &Layer) -> Disks {
    let of_all = sweep.all.on(study.all);
    let all = of_all.disk();
    let sites = study.by_site.keys().chain(sweep.by_site.keys());
    let of_site = |site: &String| {
        let of = |layer: &Layer| layer.by_site.get(site).copied().unwrap_or_default();
        (site.clone(), of(sweep).on(of(study)).on(of_all).disk())
    };
    let by_site: BTreeMap<String, Disk> = sites
        .map(of_site)
        .filter(|(_, disk)| *disk != all)
        .collect();
    Disks {
        label: default_label(&all, &by_site),
        all,
        by_site,
    }
}

/// The flush time, and whatever else differs from a disk that adds nothing: `flush 1 ms, 3000
/// IOPS, b: flush 5 ms`.
fn default_label(all: &Disk, by_site: &BTreeMap<String, Disk>) -> String {
    let mut words: Vec<String> = differences(all, &Disk::default());
    if words.iter().all(|word| !word.starts_with("flush")) && all.write_cache {
        words.insert(0, format!("flush {}", show(&all.flush)));
    }
    for (site, disk) in by_site {
        words.push(format!("{site}: {}", differences(disk, all).join(" ")));
    }
    words.join(", ")
}

/// What is said of one disk but not of the other.
fn differences(disk: &Disk, other: &Disk) -> Vec<String> {
    let (own, others) = (sayings(disk), sayings(other));
    let pairs = own.into_iter().zip(others);
    pairs
        .filter(|(own, other)| own != other)
        .map(|(own, _)| own)
        .collect()
}

fn sayings(disk: &Disk) -> [String; 6] {
    let time = |name: &str, delay: &Delay| format!("{name} {}", show(delay));
    let iops = disk.iops.map(|iops| format!("{iops} IOPS"));
    let rate = disk.bandwidth_bytes_per_s;
    let rate = rate.map(|bytes| format!("{}/s", units::show_bytes(bytes)));
    let cache = if disk.write_cache { "" } else { "no " };
    [
        time("flush", &disk.flush),
        time("write", &disk.write),
        time("read", &disk.read),
        iops.unwrap_or_else(|| "any IOPS".to_owned()),
        rate.unwrap_or_else(|| "any rate".to_owned()),
        format!("{cache}write cache"),
    ]
}

fn show(delay: &Delay) -> String {
    match delay {
        Delay::Constant(time) => units::show(*time),
        Delay::Uniform { low, high } => {
            format!("{} to {}", units::show(*low), units::show(*high))
        }
        Delay::LogNormal { median, p99 } => {
            format!("{} (p99 {})", units::show(*median), units::show(*p99))
        }
    }
}
