//! A store and a pace together, in virtual time: what a disk reported done survives every cut.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::pace::{Kind, Pace};
use super::store::{Epoch, Store, WriteNumber};
use crate::study::disk::{Delay, Disk, PowerCut};

const SECTOR_BYTES: usize = 512;
const SECTORS: usize = 40;

/// What can be wrong with a volume that joins the two.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Reports a flush done without having hardened it.
    FlushDoesNothing,
    /// A flush hardens what the flush before it covered.
    LagsByOneFlush,
    /// A disk without a write cache that has one.
    HidesACache,
}

/// A request that is not done.
enum UnderWay {
    Write {
        write: WriteNumber,
        sectors: std::ops::Range<usize>,
        tag: u64,
    },
    Flush {
        epoch: Epoch,
        /// What had been reported done when it began.
        covers: Vec<u64>,
    },
    Read,
}

/// A disk with a client who remembers what it was told. Each write has a tag, greater than all
/// before, in each of its sectors.
struct Volume {
    store: Store,
    pace: Pace,
    disk: Disk,
    fault: Fault,
    now: Duration,
    requests: Vec<UnderWay>,
    due: BinaryHeap<Reverse<(Duration, usize)>>,
    last_tag: u64,
    flush_before: Epoch,
    /// By sector: tags written since the last cut, and the one that it left.
    written: Vec<Vec<u64>>,
    /// By sector: newest tag reported done.
    done: Vec<u64>,
    /// By sector: oldest tag that may be found after a cut.
    safe: Vec<u64>,
}

fn raise(all: &mut [u64], to: &[u64]) {
    let pairs = all.iter_mut().zip(to);
    pairs.for_each(|(one, to)| *one = (*one).max(*to));
}

impl Volume {
    fn new(disk: Disk, seed: u64, fault: Fault) -> Volume {
        let bytes = (SECTORS * SECTOR_BYTES) as u64;
        let mut store = Store::in_memory(bytes).expect("a small mapping");
        Volume {
            flush_before: store.seal(),
            store,
            pace: Pace::new(disk, seed),
            disk,
            fault,
            now: Duration::ZERO,
            requests: Vec::new(),
            due: BinaryHeap::new(),
            last_tag: 0,
            written: vec![vec![0]; SECTORS],
            done: vec![0; SECTORS],
            safe: vec![0; SECTORS],
        }
    }

    fn submit(&mut self, kind: Kind, request: UnderWay, bytes: usize) {
        let due = self.pace.due(self.now, kind, bytes as u64);
        self.due.push(Reverse((due, self.requests.len())));
        self.requests.push(request);
    }

    fn write(&mut self, sectors: std::ops::Range<usize>) {
        self.last_tag += 1;
        let tag = self.last_tag;
        let bytes = sectors.len() * SECTOR_BYTES;
        let data = tag.to_le_bytes().repeat(bytes / 8);
        let write = self
            .store
            .write((sectors.start * SECTOR_BYTES) as u64, &data);
        for sector in sectors.clone() {
            self.written[sector].push(tag);
        }
        let request = UnderWay::Write {
            write,
            sectors,
            tag,
        };
        self.submit(Kind::Write, request, bytes);
    }

    fn flush(&mut self) {
        let mut epoch = self.store.seal();
        if self.fault == Fault::LagsByOneFlush {
            std::mem::swap(&mut epoch, &mut self.flush_before);
        }
        let covers = self.done.clone();
        self.submit(Kind::Flush, UnderWay::Flush { epoch, covers }, 0);
    }

    /// Lets time pass: all that is due by then is done.
    fn pass(&mut self, until: Duration) {
        while let Some(Reverse((due, number))) = self.due.peek().copied() {
            if due > until {
                break;
            }
            self.due.pop();
            self.now = due;
            self.finish(number);
        }
        self.now = until;
    }

    fn finish(&mut self, number: usize) {
        match &self.requests[number] {
            UnderWay::Read => {}
            UnderWay::Write {
                write,
                sectors,
                tag,
            } => {
                let mut done = vec![0; SECTORS];
                done[sectors.clone()].fill(*tag);
                raise(&mut self.done, &done);
                if !self.disk.write_cache {
                    raise(&mut self.safe, &done);
                    if self.fault != Fault::HidesACache {
                        self.store.harden_write(*write);
                    }
                }
            }
            UnderWay::Flush { epoch, covers } => {
                raise(&mut self.safe, covers);
                if self.fault != Fault::FlushDoesNothing {
                    self.store.harden(*epoch);
                }
            }
        }
    }

    /// What was under way is never reported done; its epochs and writes may still be hardened by a
    /// volume that has not noticed, and must then do nothing.
    fn cut(&mut self, cut: PowerCut) -> Result<(), TestCaseError> {
        self.store.cut(cut);
        for sector in 0..SECTORS {
            let tag = self.tag_in(sector)?;
            let written = &self.written[sector];
            prop_assert!(written.contains(&tag), "sector {sector}: {tag} of nowhere");
            let safe = self.safe[sector];
            prop_assert!(
                tag >= safe,
                "sector {sector}: {tag}, though {safe} was safe"
            );
            self.written[sector] = vec![tag];
            (self.done[sector], self.safe[sector]) = (tag, tag);
        }
        for Reverse((_, number)) in self.due.drain() {
            match &self.requests[number] {
                UnderWay::Read => {}
                UnderWay::Write { write, .. } => self.store.harden_write(*write),
                UnderWay::Flush { epoch, .. } => self.store.harden(*epoch),
            }
        }
        Ok(())
    }

    /// The one tag that a sector holds: none is ever torn within.
    fn tag_in(&self, sector: usize) -> Result<u64, TestCaseError> {
        let mut bytes = [0; SECTOR_BYTES];
        self.store.read((sector * SECTOR_BYTES) as u64, &mut bytes);
        let first = &bytes[..8];
        prop_assert!(bytes.chunks(8).all(|tag| tag == first), "a torn sector");
        Ok(u64::from_le_bytes(first.try_into().expect("eight bytes")))
    }
}

/// One life of a disk: requests at random times, some power cuts among them.
fn live(disk: Disk, seed: u64, fault: Fault) -> Result<(), TestCaseError> {
    let mut volume = Volume::new(disk, seed, fault);
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..300 {
        let gap = Duration::from_micros(chance.random_range(0..600));
        volume.pass(volume.now + gap);
        match chance.random_range(0..100) {
            0..60 => {
                let start = chance.random_range(0..SECTORS);
                let end = SECTORS.min(start + chance.random_range(1..12));
                volume.write(start..end);
            }
            60..75 => volume.submit(Kind::Read, UnderWay::Read, 4096),
            75..98 => volume.flush(),
            _ => volume.cut(draw_cut(&mut chance))?,
        }
    }
    volume.cut(draw_cut(&mut chance))
}

fn draw_cut(chance: &mut ChaCha8Rng) -> PowerCut {
    let seed = chance.random();
    let sector_bytes = 512;
    match chance.random_range(0..4) {
        0 => PowerCut::DropAll,
        1 => PowerCut::KeepAll,
        2 => PowerCut::Random { seed },
        _ => PowerCut::Torn { seed, sector_bytes },
    }
}

fn delay() -> impl Strategy<Value = Delay> {
    let us = Duration::from_micros;
    prop_oneof![
        Just(Delay::NONE),
        (0..3_000_u64).prop_map(move |span| Delay::Constant(us(span))),
        (0..3_000_u64).prop_map(move |high| Delay::Uniform {
            low: us(0),
            high: us(high),
        }),
        (1..1_000_u64).prop_map(move |median| Delay::LogNormal {
            median: us(median),
            p99: us(median * 8),
        }),
    ]
}

fn disk() -> impl Strategy<Value = Disk> {
    let caps = (
        proptest::option::of(500..20_000_u32),
        proptest::option::of(1_000_000..100_000_000_u64),
    );
    (delay(), delay(), delay(), caps, any::<bool>()).prop_map(
        |(read, write, flush, (iops, bandwidth_bytes_per_s), write_cache)| Disk {
            read,
            write,
            flush,
            iops,
            bandwidth_bytes_per_s,
            write_cache,
        },
    )
}

proptest! {
    #[test]
    fn what_was_reported_done_survives_every_cut(disk in disk(), seed in any::<u64>()) {
        live(disk, seed, Fault::None)?;
    }
}

#[test]
fn a_volume_that_lies_is_found_out() {
    for (fault, write_cache) in [
        (Fault::FlushDoesNothing, true),
        (Fault::LagsByOneFlush, true),
        (Fault::HidesACache, false),
    ] {
        let disk = Disk {
            write: Delay::Constant(Duration::from_micros(100)),
            flush: Delay::Constant(Duration::from_micros(1_000)),
            write_cache,
            ..Disk::default()
        };
        let found = (0..20).filter(|seed| live(disk, *seed, fault).is_err());
        assert!(found.count() > 10, "{fault:?}");
        assert!((0..20).all(|seed| live(disk, seed, Fault::None).is_ok()));
    }
}
