//! A store beside a naive one, under random steps; and faulty ones, each of which is found out.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

type Verdict = Result<(), TestCaseError>;

// A naive model, which forgets nothing, and a store that can be made faulty.

/// What a schedule does to a store. Picks are taken modulo what there is.
#[derive(Debug, Clone)]
enum Step {
    Write { sector: usize, sectors: usize },
    Rewrite { block: usize, times: usize },
    Seal,
    Harden { pick: usize },
    HardenWrite { pick: usize },
    Cut(PowerCut),
    Keep,
    GoBack,
    Wipe,
}

fn step() -> impl Strategy<Value = Step> {
    let write = (0..SECTORS, 1..20_usize).prop_map(|(sector, sectors)| Step::Write {
        sector,
        sectors: sectors.min(SECTORS - sector),
    });
    let rewrite = (0..BLOCKS - 1, 1..12_usize);
    prop_oneof![
        8 => write,
        1 => rewrite.prop_map(|(block, times)| Step::Rewrite { block, times }),
        4 => Just(Step::Seal),
        3 => any::<usize>().prop_map(|pick| Step::Harden { pick }),
        3 => any::<usize>().prop_map(|pick| Step::HardenWrite { pick }),
        1 => power_cut().prop_map(Step::Cut),
        1 => Just(Step::Keep),
        1 => Just(Step::GoBack),
        1 => Just(Step::Wipe),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 1..60)
}

fn power_cut() -> impl Strategy<Value = PowerCut> {
    prop_oneof![
        Just(PowerCut::DropAll),
        Just(PowerCut::KeepAll),
        any::<u64>().prop_map(|seed| PowerCut::Random { seed }),
        (any::<u64>(), prop_oneof![Just(512), Just(4096)])
            .prop_map(|(seed, sector_bytes)| PowerCut::Torn { seed, sector_bytes }),
    ]
}

/// What can be wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    ReadsOnlyDurable,
    PartialWriteZeroesBlock,
    SealMissesOneBlock,
    HardensNothing,
    HardensOpenEpochToo,
    HardensNewestEpochFirst,
    HardensOldestEpochOnly,
    HardenWriteTakesNewest,
    HardenWriteForgetsNoOlder,
    CutSparesVolatile,
    CutDropsHardened,
    CutNeverDrops,
    CutNeverKeeps,
    CutAlwaysTears,
    ReportMissesBlock,
    KeepMissesVolatile,
    GoBackMissesBlock,
    GoBackSparesVolatile,
    GoBackIsTheLast,
    WipeMissesBlock,
    WipeTakesWhatWasKept,
}

const FAULTS: [Fault; 21] = [
    Fault::ReadsOnlyDurable,
    Fault::PartialWriteZeroesBlock,
    Fault::SealMissesOneBlock,
    Fault::HardensNothing,
    Fault::HardensOpenEpochToo,
    Fault::HardensNewestEpochFirst,
    Fault::HardensOldestEpochOnly,
    Fault::HardenWriteTakesNewest,
    Fault::HardenWriteForgetsNoOlder,
    Fault::CutSparesVolatile,
    Fault::CutDropsHardened,
    Fault::CutNeverDrops,
    Fault::CutNeverKeeps,
    Fault::CutAlwaysTears,
    Fault::ReportMissesBlock,
    Fault::KeepMissesVolatile,
    Fault::GoBackMissesBlock,
    Fault::GoBackSparesVolatile,
    Fault::GoBackIsTheLast,
    Fault::WipeMissesBlock,
    Fault::WipeTakesWhatWasKept,
];

/// A store with at most one fault.
struct Subject {
    store: Store,
    fault: Fault,
}

impl Subject {
    fn read_all(&self) -> Vec<u8> {
        let mut bytes = vec![0; BYTES];
        match self.fault {
            Fault::ReadsOnlyDurable => bytes.copy_from_slice(&self.store.durable[..BYTES]),
            _ => self.store.read(0, &mut bytes),
        }
        bytes
    }

    fn write(&mut self, offset: usize, data: &[u8]) -> WriteNumber {
        let block = (offset / BLOCK_BYTES) as u64;
        let write = self.store.write(offset as u64, data);
        if self.fault == Fault::PartialWriteZeroesBlock {
            let start = offset % BLOCK_BYTES;
            let versions = self.store.open.get_mut(&block).expect("just written");
            versions.newest_mut().image[..start].fill(0);
        }
        write
    }

    fn seal(&mut self) -> Epoch {
        let missed = match self.fault {
            Fault::SealMissesOneBlock => self.store.open.pop_first(),
            _ => None,
        };
        let epoch = self.store.seal();
        self.store.open.extend(missed);
        epoch
    }

    fn harden(&mut self, epoch: Epoch) {
        match self.fault {
            Fault::HardensNothing => return,
            Fault::HardensOpenEpochToo => {
                let open = self.store.seal();
                return self.store.harden(open);
            }
            Fault::HardensNewestEpochFirst => self.store.sealed.make_contiguous().reverse(),
            Fault::HardensOldestEpochOnly => {
                let oldest = Epoch(self.store.first_epoch);
                return self.store.harden(oldest.min(epoch));
            }
            _ => {}
        }
        self.store.harden(epoch);
    }

    fn harden_write(&mut self, write: WriteNumber) {
        let blocks = write.first_block..write.first_block + write.blocks;
        match self.fault {
            Fault::HardenWriteTakesNewest => self.newest_durable(blocks),
            Fault::HardenWriteForgetsNoOlder => {
                let Store {
                    sealed,
                    open,
                    durable,
                    ..
                } = &mut self.store;
                for block in blocks {
                    let mut layers = sealed.iter().chain([&*open]);
                    let holder = layers.find_map(|layer| {
                        let versions = layer.get(&block)?;
                        versions.find(write.number).map(|at| &versions.list[at])
                    });
                    let Some(version) = holder else { continue };
                    let block = durable_block(durable, block);
                    block.copy_from_slice(&version.image[..]);
                }
            }
            _ => self.store.harden_write(write),
        }
    }

    fn newest_durable(&mut self, blocks: Range<u64>) {
        for block in blocks {
            let Store { sealed, open, .. } = &self.store;
            let newest = sealed.iter().chain([open]).rev();
            let number = newest.filter_map(|layer| layer.get(&block)).next();
            if let Some(number) = number.map(|versions| versions.newest().last) {
                self.store.harden_block(block, number);
            }
        }
    }

    fn cut(&mut self, cut: PowerCut) -> CutReport {
        let (seed, sector_bytes) = (3, 512);
        let cut = match (self.fault, cut) {
            (Fault::CutNeverDrops, PowerCut::DropAll) => PowerCut::KeepAll,
            (Fault::CutNeverKeeps, PowerCut::KeepAll) => PowerCut::DropAll,
            (Fault::CutAlwaysTears, PowerCut::Random { .. }) => {
                PowerCut::Torn { seed, sector_bytes }
            }
            (_, cut) => cut,
        };
        if self.fault == Fault::CutDropsHardened {
            self.store.durable[..BLOCK_BYTES].fill(0);
        }
        let spared = match self.fault {
            Fault::CutSparesVolatile => self.store.open.pop_last(),
            _ => None,
        };
        let mut report = self.store.cut(cut);
        if self.fault == Fault::ReportMissesBlock {
            report.kept = Amount::default();
        }
        self.store.open.extend(spared);
        report
    }

    fn keep(&mut self) {
        if self.fault == Fault::KeepMissesVolatile {
            self.store.cut(PowerCut::DropAll);
        }
        self.store.keep();
    }

    fn go_back(&mut self) -> Option<u64> {
        let before = self.store.past.before.as_mut();
        if let (Fault::GoBackMissesBlock, Some(before)) = (self.fault, before) {
            before.pop_first();
        }
        let spared = match self.fault {
            Fault::GoBackSparesVolatile => self.store.open.pop_last(),
            _ => None,
        };
        let blocks = self.store.go_back();
        self.store.open.extend(spared);
        if self.fault == Fault::GoBackIsTheLast {
            self.store.past.before = None;
        }
        blocks
    }

    fn wipe(&mut self) {
        let before = match self.fault {
            Fault::WipeTakesWhatWasKept => self.store.past.before.take(),
            _ => None,
        };
        if self.fault == Fault::WipeMissesBlock {
            let written = self.store.past.written_blocks();
            if let Some(first) = written.first() {
                self.store.past.mark(*first, false);
            }
        }
        self.store.wipe();
        if before.is_some() {
            self.store.past.before = before;
        }
    }
}

/// All versions of all blocks since each was last hardened.
struct Naive {
    durable: Vec<u8>,
    pending: Vec<Vec<Pending>>,
    epoch: u64,
    kept: Option<Vec<u8>>,
}

#[derive(Clone)]
struct Pending {
    write: u64,
    epoch: u64,
    /// The how manieth of its block and epoch.
    place: usize,
    bytes: u64,
    image: Vec<u8>,
}

impl Naive {
    fn new() -> Naive {
        Naive {
            durable: vec![0; BLOCKS * BLOCK_BYTES],
            pending: vec![Vec::new(); BLOCKS],
            epoch: 1,
            kept: None,
        }
    }

    fn newest(&self, block: usize) -> Vec<u8> {
        let pending = self.pending[block].last();
        pending.map_or_else(
            || self.durable[block_range(block as u64)].to_vec(),
            |pending| pending.image.clone(),
        )
    }

    fn newest_of_all(&self) -> Vec<u8> {
        let mut all: Vec<u8> = (0..BLOCKS).flat_map(|block| self.newest(block)).collect();
        all.truncate(BYTES);
        all
    }

    fn write(&mut self, write: u64, offset: usize, data: &[u8]) {
        for block in 0..BLOCKS {
            let mut image = self.newest(block);
            let start = block * BLOCK_BYTES;
            let mine =
                (0..data.len()).filter(|at| block_range(block as u64).contains(&(offset + at)));
            let mine: Vec<usize> = mine.collect();
            for at in &mine {
                image[offset + at - start] = data[*at];
            }
            if !mine.is_empty() {
                let before = self.pending[block].last();
                let before = before.filter(|before| before.epoch == self.epoch);
                let place = before.map_or(1, |before| before.place + 1);
                self.pending[block].push(Pending {
                    write,
                    epoch: self.epoch,
                    place,
                    bytes: mine.len() as u64,
                    image,
                });
            }
        }
    }

    fn harden(&mut self, epoch: u64) {
        for block in 0..BLOCKS {
            let count = self.pending[block].partition_point(|pending| pending.epoch <= epoch);
            self.adopt(block, count);
        }
    }

    /// The first so many versions of a block are overwritten or durable.
    fn adopt(&mut self, block: usize, count: usize) {
        if let Some(last) = self.pending[block].drain(..count).next_back() {
            self.durable[block_range(block as u64)].copy_from_slice(&last.image);
        }
    }

    /// Which versions a store may have made durable for that write: its own, and if some of its
    /// epoch may have been dropped, a later one of that epoch.
    fn hardened_by(&self, block: usize, write: u64) -> Range<usize> {
        let pending = &self.pending[block];
        let Some(own) = pending.iter().position(|pending| pending.write == write) else {
            return 0..0;
        };
        let is_of_epoch = |other: &&Pending| other.epoch == pending[own].epoch;
        let later = pending[own..].iter().take_while(is_of_epoch).count();
        match pending[own + later - 1].place {
            ..=4 => own..own + 1,
            _ => own..own + later,
        }
    }

    fn keep(&mut self) {
        self.harden(self.epoch);
        self.epoch += 1;
        self.kept = Some(self.durable.clone());
    }

    /// That is the content from now on, and nothing is volatile.
    fn become_image(&mut self, durable: Vec<u8>) {
        self.durable = durable;
        self.pending.iter_mut().for_each(Vec::clear);
        self.epoch += 1;
    }

    fn pending_amount(&self) -> Amount {
        let mut amount = Amount::default();
        for pending in self.pending.iter().flatten() {
            amount.writes += 1;
            amount.bytes += pending.bytes;
        }
        amount
    }
}

/// A subject and a model that have seen the same.
struct Pair {
    subject: Subject,
    naive: Naive,
    writes: Vec<WriteNumber>,
    epochs: Vec<(Epoch, u64)>,
    reports: Vec<CutReport>,
}

impl Pair {
    fn new(fault: Fault) -> Pair {
        Pair {
            subject: Subject {
                store: store(),
                fault,
            },
            naive: Naive::new(),
            writes: Vec::new(),
            epochs: Vec::new(),
            reports: Vec::new(),
        }
    }

    fn run(&mut self, steps: &[Step]) -> Verdict {
        for step in steps {
            self.step(step)?;
            self.compare()?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Verdict {
        match *step {
            Step::Write { sector, sectors } => self.write(sector, sectors),
            Step::Rewrite { block, times } => {
                (0..times).for_each(|_| self.write(block * BLOCK_BYTES / SECTOR, 8));
            }
            Step::Seal => {
                self.epochs.push((self.subject.seal(), self.naive.epoch));
                self.naive.epoch += 1;
            }
            Step::Harden { pick } if !self.epochs.is_empty() => {
                let (epoch, number) = self.epochs[pick % self.epochs.len()];
                self.subject.harden(epoch);
                self.naive.harden(number);
            }
            Step::HardenWrite { pick } if !self.writes.is_empty() => {
                self.harden_write(pick % self.writes.len())?;
            }
            Step::Cut(cut) => self.cut(cut)?,
            Step::Keep => {
                self.subject.keep();
                self.naive.keep();
            }
            Step::GoBack => self.go_back()?,
            Step::Wipe => {
                self.subject.wipe();
                self.naive.become_image(vec![0; BLOCKS * BLOCK_BYTES]);
            }
            Step::Harden { .. } | Step::HardenWrite { .. } => {}
        }
        Ok(())
    }

    fn write(&mut self, sector: usize, sectors: usize) {
        let number = self.writes.len() as u64 + 1;
        let data = content(number, sectors);
        self.writes.push(self.subject.write(sector * SECTOR, &data));
        self.naive.write(number, sector * SECTOR, &data);
    }

    fn harden_write(&mut self, pick: usize) -> Verdict {
        self.subject.harden_write(self.writes[pick]);
        for block in 0..BLOCKS {
            let candidates = self.naive.hardened_by(block, pick as u64 + 1);
            if candidates.is_empty() {
                continue;
            }
            let now = self.durable_block(block);
            let is_now = |at: &usize| self.naive.pending[block][*at].image == now;
            let Some(at) = candidates.into_iter().find(is_now) else {
                return Err(TestCaseError::fail("a completed write is not durable"));
            };
            self.naive.adopt(block, at + 1);
        }
        Ok(())
    }

    fn durable_block(&self, block: usize) -> &[u8] {
        &self.subject.store.durable[block_range(block as u64)]
    }

    fn cut(&mut self, cut: PowerCut) -> Verdict {
        let volatile = self.naive.pending_amount();
        let report = self.subject.cut(cut);
        self.reports.push(report);
        let mut sum = report.kept;
        sum.add(report.dropped);
        sum.add(report.torn);
        prop_assert_eq!(sum, volatile, "the report counts each volatile write once");
        for block in 0..BLOCKS {
            self.check_block_after(cut, block)?;
        }
        self.check_report(cut, report)?;
        let left = self.subject.store.durable.to_vec();
        self.naive.become_image(left);
        Ok(())
    }

    fn go_back(&mut self) -> Verdict {
        let blocks = self.subject.go_back();
        prop_assert_eq!(blocks.is_some(), self.naive.kept.is_some());
        if let Some(kept) = self.naive.kept.clone() {
            let is_other = |block: &usize| {
                let range = block_range(*block as u64);
                kept[range.clone()] != self.naive.durable[range]
            };
            let others = (0..BLOCKS).filter(is_other).count();
            prop_assert!(blocks >= Some(others as u64), "{blocks:?} of {others}");
            self.naive.become_image(kept);
        }
        Ok(())
    }

    fn check_block_after(&self, cut: PowerCut, block: usize) -> Verdict {
        let now = self.durable_block(block);
        let before = self.naive.durable[block_range(block as u64)].to_vec();
        let pending = self.naive.pending[block].iter();
        let mut versions = vec![before];
        versions.extend(pending.map(|pending| pending.image.clone()));
        let is_good = match cut {
            PowerCut::DropAll => versions[0] == now,
            PowerCut::KeepAll => versions[versions.len() - 1] == now,
            PowerCut::Random { .. } => versions.iter().any(|version| version == now),
            PowerCut::Torn { sector_bytes, .. } => is_mix(now, &versions, sector_bytes as usize),
        };
        prop_assert!(is_good, "block {block} is not one that {cut:?} may leave");
        Ok(())
    }

    fn check_report(&self, cut: PowerCut, report: CutReport) -> Verdict {
        let nothing = Amount::default();
        let is_good = match cut {
            PowerCut::DropAll => (report.kept, report.torn) == (nothing, nothing),
            PowerCut::KeepAll => (report.dropped, report.torn) == (nothing, nothing),
            PowerCut::Random { .. } => report.torn == nothing,
            PowerCut::Torn { sector_bytes, .. } => sector_bytes == 512 || report.torn == nothing,
        };
        prop_assert!(is_good, "{cut:?} reports {report:?}");
        Ok(())
    }

    fn compare(&self) -> Verdict {
        let Subject { store, .. } = &self.subject;
        prop_assert!(
            self.subject.read_all() == self.naive.newest_of_all(),
            "a read does not give the newest version"
        );
        prop_assert!(
            store.durable[..] == self.naive.durable[..],
            "what is durable is not what was hardened"
        );
        let is_volatile = self.naive.pending_amount().writes > 0;
        prop_assert_eq!(store.volatile_bytes() > 0, is_volatile);
        let versions = self.naive.pending_amount().writes;
        prop_assert!(store.volatile_bytes() <= versions * BLOCK_BYTES as u64);
        Ok(())
    }
}

/// Whether each sector is that of one of two versions.
fn is_mix(now: &[u8], versions: &[Vec<u8>], sector_bytes: usize) -> bool {
    let sectors = || (0..BLOCK_BYTES).step_by(sector_bytes);
    let same =
        |version: &Vec<u8>, at: usize| version[at..at + sector_bytes] == now[at..at + sector_bytes];
    versions.iter().any(|one| {
        let other = |other: &Vec<u8>| sectors().all(|at| same(one, at) || same(other, at));
        versions.iter().any(other)
    })
}

proptest! {
    #[test]
    fn a_store_does_what_the_model_does(steps in steps()) {
        Pair::new(Fault::None).run(&steps)?;
    }

    #[test]
    fn the_same_requests_and_cuts_leave_the_same(steps in steps(), seed in any::<u64>()) {
        let run = || {
            let mut pair = Pair::new(Fault::None);
            pair.run(&steps)?;
            pair.cut(PowerCut::Torn { seed, sector_bytes: 512 })?;
            Ok::<_, TestCaseError>((pair.naive.durable, pair.reports))
        };
        prop_assert!(run()? == run()?);
    }

    #[test]
    fn any_alignment_is_read_as_written(
        writes in proptest::collection::vec((0..BYTES, 0..9000_usize, any::<u8>()), 1..30),
        reads in proptest::collection::vec((0..=BYTES, 0..9000_usize), 1..10),
        seals in any::<u32>(),
    ) {
        let mut store = store();
        let mut expected = vec![0; BYTES];
        for (at, (offset, length, value)) in writes.into_iter().enumerate() {
            let end = BYTES.min(offset + length);
            expected[offset..end].fill(value);
            store.write(offset as u64, &expected[offset..end]);
            if seals >> at & 1 == 1 {
                store.seal();
            }
        }
        for (offset, length) in reads {
            let end = BYTES.min(offset + length);
            let mut got = vec![0xa5; end - offset];
            store.read(offset as u64, &mut got);
            prop_assert!(got == expected[offset..end]);
        }
    }
}

/// The comparison with the model notices each fault.
#[test]
fn every_faulty_store_is_found_out() {
    for fault in FAULTS {
        let config = Config {
            cases: 2_000,
            max_shrink_iters: 0,
            ..Config::default()
        };
        let random = proptest::test_runner::TestRng::deterministic_rng(config.rng_algorithm);
        let mut runner = TestRunner::new_with_rng(config, random);
        let outcome = runner.run(&steps(), |steps| Pair::new(fault).run(&steps));
        assert!(outcome.is_err(), "{fault:?} passes");
    }
}
