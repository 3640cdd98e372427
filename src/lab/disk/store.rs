//! The image of an emulated disk: what would survive a power cut now, and what might not.
//!
//! The *durable* layer is a sparse mapping. Above it lie the *volatile* writes, as whole images of
//! 4 KiB blocks, in epochs: the open one takes new writes, a flush seals it, and when that flush is
//! done the epoch is copied down. A power cut decides about all that is still volatile.
//!
//! A block written again and again in one epoch (a server's log block can be, ten thousand times
//! between two flushes) keeps its newest version and a random sample of three earlier ones. So
//! volatile memory is at most four times what is dirty in each unfinished epoch. Which ones
//! are kept follows from the writes alone: the same requests and the same cut give the same image.
//!
//! An image can be kept, and gone back to: see [`Store::keep`].
//!
//! Positions and lengths need no alignment. What is written past the end is a fault of the caller
//! and panics, as in a slice.

mod cut;
mod keep;
mod past;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::ops::Range;

use memmap2::{Advice, MmapMut, MmapOptions};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::study::disk::PowerCut;

pub use cut::{Amount, BLOCK_BYTES, CutReport};
use cut::{Left, Lot};
use past::Past;

/// Versions of a block, besides the newest, kept in one epoch.
const EARLIER_MAX: usize = 3;

/// Images kept for reuse: 16 MiB. A burst beyond it gives its memory back.
const SPARE_MAX: usize = 4096;

type Image = [u8; BLOCK_BYTES];

/// One call of [`Store::write`], later writes having greater numbers. It knows where it wrote, so
/// that the store keeps no list of writes that nobody hardens one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteNumber {
    number: u64,
    first_block: u64,
    blocks: u64,
}

/// What one flush covers, with all epochs before it. Never used twice, not even after a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(u64);

/// An image with its volatile layer.
pub struct Store {
    durable: MmapMut,
    bytes: u64,
    /// Epochs whose flush is not done, oldest first; their numbers follow on from `first_epoch`.
    sealed: VecDeque<Layer>,
    /// The epoch that takes writes.
    open: Layer,
    first_epoch: u64,
    last_write: u64,
    pages: Pages,
    /// Chooses which earlier versions stay.
    chance: ChaCha8Rng,
    /// What the durable layer was, if an image was kept.
    past: Past,
}

/// The blocks written in one epoch.
type Layer = BTreeMap<u64, Versions>;

/// Versions of one block in one epoch, oldest first; never empty.
struct Versions {
    list: Vec<Version>,
    /// How often a version was replaced by a newer one, kept or not.
    replaced: u64,
}

/// A block as it stood after some write.
struct Version {
    /// Writes that it stands for: it was made by `last`, and those from `first` on left no version
    /// of their own, or lost it.
    first: u64,
    last: u64,
    amount: Amount,
    image: Box<Image>,
}

/// Memory for images.
#[derive(Default)]
struct Pages {
    spare: Vec<Box<Image>>,
    /// Handed out.
    held: u64,
}

impl Store {
    /// An image of zeros in memory, where pages never written cost nothing. Whoever locks the
    /// process's memory must do so on fault (`MCL_ONFAULT`), or all of the image becomes real.
    ///
    /// # Errors
    /// When the kernel refuses so large a mapping.
    pub fn in_memory(bytes: u64) -> io::Result<Store> {
        let mapping = MmapOptions::new()
            .len(mapped_bytes(bytes)?)
            .no_reserve_swap()
            .map_anon()?;
        // A huge page for each block touched would make 4 KiB cost 2 MiB. A kernel without huge
        // pages refuses the advice, and does not need it.
        let _ = mapping.advise(Advice::NoHugePage);
        Ok(Store::over(mapping, bytes))
    }

    /// An image in a file of zeros that nobody else has open. If the file system becomes full
    /// later, the kernel ends the process with SIGBUS: the disk is gone, never silently wrong.
    ///
    /// # Errors
    /// When the file cannot be made so long, or not be mapped.
    pub fn in_file(file: &File, bytes: u64) -> io::Result<Store> {
        let length = mapped_bytes(bytes)?;
        file.set_len(length as u64)?;
        // SAFETY: the file is ours alone; whoever shortened it would end this process.
        let mapping = unsafe { MmapOptions::new().len(length).map_mut(file)? };
        // Read-ahead over the holes of a sparse file made the first write to a page take 150 µs
        // instead of 10.
        mapping.advise(Advice::Random)?;
        Ok(Store::over(mapping, bytes))
    }

    fn over(durable: MmapMut, bytes: u64) -> Store {
        Store {
            durable,
            bytes,
            sealed: VecDeque::new(),
            open: Layer::new(),
            first_epoch: 1,
            last_write: 0,
            pages: Pages::default(),
            chance: ChaCha8Rng::seed_from_u64(0),
            past: Past::of(bytes),
        }
    }

    /// Size of the disk.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Memory held for volatile versions; zero when all is durable.
    pub fn volatile_bytes(&self) -> u64 {
        self.pages.held * BLOCK_BYTES as u64
    }

    /// Reads the newest version of each byte. Costs one look-up for each unfinished epoch, and
    /// beyond that only what blocks with volatile versions take.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        self.check_end(offset, into.len());
        let start = offset as usize;
        into.copy_from_slice(&self.durable[start..start + into.len()]);
        let blocks = blocks_of(offset, into.len());
        for layer in self.sealed.iter().chain([&self.open]) {
            for (block, versions) in layer.range(blocks.clone()) {
                let piece = Piece::of(*block, offset, into.len());
                into[piece.outside].copy_from_slice(&versions.newest().image[piece.within]);
            }
        }
    }

    /// Writes: volatile from now on, until [`Store::harden`] or [`Store::harden_write`].
    pub fn write(&mut self, offset: u64, data: &[u8]) -> WriteNumber {
        self.check_end(offset, data.len());
        self.last_write += 1;
        let blocks = blocks_of(offset, data.len());
        for block in blocks.clone() {
            let piece = Piece::of(block, offset, data.len());
            self.write_block(block, piece.within.start, &data[piece.outside]);
        }
        WriteNumber {
            number: self.last_write,
            first_block: blocks.start,
            blocks: blocks.end - blocks.start,
        }
    }

    fn check_end(&self, offset: u64, length: usize) {
        let end = offset.checked_add(length as u64);
        let bytes = self.bytes;
        assert!(
            end.is_some_and(|end| end <= bytes),
            "{length} bytes at {offset} pass the end of a disk of {bytes} bytes"
        );
    }

    fn write_block(&mut self, block: u64, start: usize, data: &[u8]) {
        let number = self.last_write;
        if let Some(versions) = self.open.get_mut(&block) {
            versions.replace(&mut self.pages, &mut self.chance);
            return versions.newest_mut().lay(number, start, data);
        }
        let image = if data.len() == BLOCK_BYTES {
            self.pages.take()
        } else {
            let below = newest_below(&self.sealed, &self.durable, block);
            self.pages.take_copy(below)
        };
        let mut version = Version::over(image, number);
        version.lay(number, start, data);
        self.open.insert(block, Versions::of(version));
    }

    /// A flush begins: it covers all writes so far, those not yet completed with them. What is
    /// written from now on is in a later epoch.
    pub fn seal(&mut self) -> Epoch {
        self.sealed.push_back(std::mem::take(&mut self.open));
        Epoch(self.first_epoch + self.sealed.len() as u64 - 1)
    }

    /// That flush is done: its epoch is durable, and with it all earlier ones, in order, even if
    /// their own flushes are done later. Does nothing for an epoch that is durable, or was cut.
    pub fn harden(&mut self, epoch: Epoch) {
        while self.first_epoch <= epoch.0 {
            let Some(layer) = self.sealed.pop_front() else {
                return;
            };
            self.first_epoch += 1;
            for (block, versions) in layer {
                let newest = &versions.newest().image;
                self.past.note(block, &self.durable[block_range(block)]);
                durable_block(&mut self.durable, block).copy_from_slice(&newest[..]);
                self.pages.give_back(versions.list);
            }
        }
    }

    /// Makes one write durable, for a disk without a write cache. Older versions of its blocks are
    /// gone then: no later flush brings them back. Newer ones stay volatile.
    ///
    /// Versions are whole blocks: earlier writes to other sectors of a block become durable with
    /// it, and so does a later one that took the place of its version. A disk may do both.
    /// Does nothing for a write that is durable, or was cut.
    pub fn harden_write(&mut self, write: WriteNumber) {
        for block in write.first_block..write.first_block + write.blocks {
            self.harden_block(block, write.number);
        }
    }

    fn harden_block(&mut self, block: u64, write: u64) {
        let holds = |layer: &Layer| layer.get(&block).is_some_and(|of| of.find(write).is_some());
        let Some(at) = self.sealed.iter().chain([&self.open]).position(holds) else {
            return;
        };
        let layers = self.sealed.iter_mut().chain([&mut self.open]);
        for layer in layers.take(at + 1) {
            let Some(versions) = layer.get_mut(&block) else {
                continue;
            };
            // In a layer below the write's own, all versions are older than it.
            let count = versions
                .find(write)
                .map_or(versions.list.len(), |at| at + 1);
            let newest = &versions.list[count - 1].image;
            self.past.note(block, &self.durable[block_range(block)]);
            durable_block(&mut self.durable, block).copy_from_slice(&newest[..]);
            self.pages.give_back(versions.list.drain(..count));
            if versions.list.is_empty() {
                layer.remove(&block);
            }
        }
    }

    /// The power goes: of what is volatile, only that stays which the cut leaves, and the rest is
    /// as if never written. Then nothing is volatile, and flushes and writes that were under way
    /// can no longer harden anything.
    ///
    /// **Which order survives.** A volatile cache promises one thing: what was written before a
    /// flush is durable once that flush is reported done. Nothing orders an unfinished flush and
    /// the writes after it: NVMe and SCSI let a device write these back first. So `Random`
    /// and `Torn` treat all unfinished epochs alike, and each block takes any version since it was
    /// last hardened. That includes all outcomes of a disk that keeps epochs in order, and none
    /// that a disk may not have. Software that waits for its flushes cannot be hurt by
    /// the difference; what relies on an unfinished flush is wrong on a real disk too.
    pub fn cut(&mut self, cut: PowerCut) -> CutReport {
        let lot = Lot::new(cut);
        let mut report = CutReport::default();
        for (block, versions) in self.take_volatile() {
            let left = lot.draw(block, versions.len());
            report.add(versions.iter().map(|version| version.amount), &left);
            if left.is_something() {
                self.past.note(block, &self.durable[block_range(block)]);
            }
            leave(durable_block(&mut self.durable, block), &versions, &left);
            self.pages.give_back(versions);
        }
        report
    }

    /// Ends all unfinished epochs and hands out their versions by block, oldest first.
    fn take_volatile(&mut self) -> BTreeMap<u64, Vec<Version>> {
        self.seal();
        self.first_epoch += self.sealed.len() as u64;
        let mut blocks: BTreeMap<u64, Vec<Version>> = BTreeMap::new();
        for (block, versions) in self.sealed.drain(..).flatten() {
            blocks.entry(block).or_default().extend(versions.list);
        }
        blocks
    }
}

impl Versions {
    fn of(version: Version) -> Versions {
        Versions {
            list: vec![version],
            replaced: 0,
        }
    }

    fn newest(&self) -> &Version {
        self.list.last().expect("a block of a layer has a version")
    }

    fn newest_mut(&mut self) -> &mut Version {
        let newest = self.list.last_mut();
        newest.expect("a block of a layer has a version")
    }

    /// Which version stands for a write.
    fn find(&self, write: u64) -> Option<usize> {
        let stands = |version: &Version| (version.first..=version.last).contains(&write);
        self.list.iter().position(stands)
    }

    /// Before the newest version changes: leaves it as it is and puts a copy above it, if it is to
    /// be kept. Reservoir sampling (Vitter 1985, algorithm R): each of all the versions that were
    /// replaced is among those kept with the same chance.
    fn replace(&mut self, pages: &mut Pages, chance: &mut ChaCha8Rng) {
        self.replaced += 1;
        if self.list.len() > EARLIER_MAX {
            let drawn = chance.random_range(0..self.replaced);
            if drawn >= EARLIER_MAX as u64 {
                return;
            }
            self.drop_earlier(drawn as usize, pages);
        }
        let newest = self.newest();
        let copy = Version::over(pages.take_copy(&newest.image[..]), newest.last + 1);
        self.list.push(copy);
    }

    /// Forgets a version that is not the newest: the next one stands for its writes too.
    fn drop_earlier(&mut self, at: usize, pages: &mut Pages) {
        let dropped = self.list.remove(at);
        let next = &mut self.list[at];
        next.first = dropped.first;
        next.amount.add(dropped.amount);
        pages.give_back([dropped]);
    }
}

impl Version {
    /// A version that stands for no write before `first`.
    fn over(image: Box<Image>, first: u64) -> Version {
        Version {
            first,
            last: first,
            amount: Amount::default(),
            image,
        }
    }

    /// Lays a write over it.
    fn lay(&mut self, write: u64, start: usize, data: &[u8]) {
        self.last = write;
        self.amount.add(Amount {
            writes: 1,
            bytes: data.len() as u64,
        });
        self.image[start..start + data.len()].copy_from_slice(data);
    }
}

impl Pages {
    /// An image with anything in it.
    fn take(&mut self) -> Box<Image> {
        self.held += 1;
        let spare = self.spare.pop();
        spare.unwrap_or_else(|| Box::new([0; BLOCK_BYTES]))
    }

    fn take_copy(&mut self, from: &[u8]) -> Box<Image> {
        let mut image = self.take();
        image.copy_from_slice(from);
        image
    }

    fn give_back(&mut self, versions: impl IntoIterator<Item = Version>) {
        for version in versions {
            self.held -= 1;
            if self.spare.len() < SPARE_MAX {
                self.spare.push(version.image);
            }
        }
    }
}

/// What a read or write has to do with one block.
struct Piece {
    /// Bytes of the block.
    within: Range<usize>,
    /// Bytes of the caller's buffer.
    outside: Range<usize>,
}

impl Piece {
    fn of(block: u64, offset: u64, length: usize) -> Piece {
        let block_start = block * BLOCK_BYTES as u64;
        let start = offset.max(block_start);
        let end = (offset + length as u64).min(block_start + BLOCK_BYTES as u64);
        let range = |origin: u64| (start - origin) as usize..(end - origin) as usize;
        Piece {
            within: range(block_start),
            outside: range(offset),
        }
    }
}

/// The blocks that a read or write touches.
fn blocks_of(offset: u64, length: usize) -> Range<u64> {
    let first = offset / BLOCK_BYTES as u64;
    match length {
        0 => first..first,
        _ => first..(offset + length as u64).div_ceil(BLOCK_BYTES as u64),
    }
}

/// Whole blocks, so that the last one needs no special case.
fn mapped_bytes(bytes: u64) -> io::Result<usize> {
    let whole = bytes.checked_next_multiple_of(BLOCK_BYTES as u64);
    let whole = whole.and_then(|whole| usize::try_from(whole).ok());
    let too_large = || io::Error::new(io::ErrorKind::InvalidInput, "no room for so large a disk");
    whole.ok_or_else(too_large)
}

fn block_range(block: u64) -> Range<usize> {
    let start = block as usize * BLOCK_BYTES;
    start..start + BLOCK_BYTES
}

fn durable_block(durable: &mut [u8], block: u64) -> &mut [u8] {
    &mut durable[block_range(block)]
}

/// A block as it stood when the open epoch began.
fn newest_below<'i>(sealed: &'i VecDeque<Layer>, durable: &'i [u8], block: u64) -> &'i [u8] {
    let versions = sealed.iter().rev().find_map(|layer| layer.get(&block));
    versions.map_or(&durable[block_range(block)], |versions| {
        &versions.newest().image[..]
    })
}

/// Makes a block what a cut leaves of it.
fn leave(durable: &mut [u8], versions: &[Version], left: &Left) {
    if let Some(last) = left.reached.checked_sub(1) {
        durable.copy_from_slice(&versions[last].image[..]);
    }
    for sector in left.torn_sectors() {
        durable[sector.clone()].copy_from_slice(&versions[left.reached].image[sector]);
    }
}
