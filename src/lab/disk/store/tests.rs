mod model;

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

use super::*;

const SECTOR: usize = 512;
const BLOCKS: usize = 5;
/// The last block is not whole.
const BYTES: usize = BLOCKS * BLOCK_BYTES - 3 * SECTOR;
const SECTORS: usize = BYTES / SECTOR;

fn store() -> Store {
    Store::in_memory(BYTES as u64).expect("a small mapping")
}

/// What a write of that number puts into its sectors: no two writes are alike.
fn content(number: u64, sectors: usize) -> Vec<u8> {
    number.to_le_bytes().repeat(sectors * SECTOR / 8)
}

fn write_blocks(store: &mut Store, block: usize, number: u64, blocks: usize) -> WriteNumber {
    let data = content(number, blocks * BLOCK_BYTES / SECTOR);
    store.write((block * BLOCK_BYTES) as u64, &data)
}

/// The number that the first sector of a block was written with; 0 if never.
fn number_at(store: &Store, block: usize) -> u64 {
    let mut bytes = [0; 8];
    store.read((block * BLOCK_BYTES) as u64, &mut bytes);
    u64::from_le_bytes(bytes)
}

// Single cases, to be read.

#[test]
fn a_write_is_lost_until_a_flush_begun_after_it_is_done() {
    let mut store = store();
    write_blocks(&mut store, 0, 1, 1);
    let epoch = store.seal();
    write_blocks(&mut store, 1, 2, 1);
    store.harden(epoch);
    write_blocks(&mut store, 0, 3, 1);
    store.seal();
    assert_eq!((number_at(&store, 0), number_at(&store, 1)), (3, 2));
    let report = store.cut(PowerCut::DropAll);
    assert_eq!((number_at(&store, 0), number_at(&store, 1)), (1, 0));
    let dropped = Amount {
        writes: 2,
        bytes: 8192,
    };
    assert_eq!((report.kept, report.dropped), (Amount::default(), dropped));
}

#[test]
fn flushes_done_out_of_order_harden_in_order() {
    let mut store = store();
    write_blocks(&mut store, 0, 1, 2);
    let first = store.seal();
    write_blocks(&mut store, 0, 2, 1);
    let second = store.seal();
    store.harden(second);
    store.harden(first);
    assert_eq!(store.volatile_bytes(), 0);
    store.cut(PowerCut::DropAll);
    assert_eq!((number_at(&store, 0), number_at(&store, 1)), (2, 1));
}

#[test]
fn an_older_write_does_not_come_back_over_a_hardened_one() {
    let mut store = store();
    let older = write_blocks(&mut store, 0, 1, 1);
    let epoch = store.seal();
    let newer = write_blocks(&mut store, 0, 2, 1);
    store.harden_write(newer);
    store.harden_write(older);
    store.harden(epoch);
    store.cut(PowerCut::KeepAll);
    assert_eq!(number_at(&store, 0), 2);
}

#[test]
fn a_flush_or_write_from_before_a_cut_hardens_nothing_after_it() {
    let mut store = store();
    let write = write_blocks(&mut store, 0, 1, 1);
    let epoch = store.seal();
    store.cut(PowerCut::DropAll);
    write_blocks(&mut store, 0, 2, 1);
    store.seal();
    store.harden(epoch);
    store.harden_write(write);
    store.cut(PowerCut::DropAll);
    assert_eq!(number_at(&store, 0), 0);
}

#[test]
fn a_block_written_ten_thousand_times_holds_four_versions() {
    let mut store = store();
    for number in 1..=10_000 {
        write_blocks(&mut store, 0, number, 1);
    }
    assert_eq!(store.volatile_bytes(), 4 * BLOCK_BYTES as u64);
    let kept: Vec<u64> = store.open[&0].list.iter().map(|kept| kept.last).collect();
    assert!(kept.is_sorted() && kept[3] == 10_000, "{kept:?}");
    // A uniform sample has no reason to hold only the first three or last three.
    assert!(kept[0] < 9_900 && kept[2] > 100, "{kept:?}");
    let report = store.cut(PowerCut::KeepAll);
    assert_eq!(number_at(&store, 0), 10_000);
    assert_eq!((report.kept.writes, store.volatile_bytes()), (10_000, 0));
}

#[test]
fn which_earlier_versions_stay_is_uniform() {
    let mut tenths = [0; 10];
    let mut store = store();
    for _ in 0..1_000 {
        for _ in 1..=101 {
            write_blocks(&mut store, 0, 1, 1);
        }
        let first = store.last_write - 100;
        for kept in &store.open[&0].list[..3] {
            tenths[(kept.last - first) as usize / 10] += 1;
        }
        store.cut(PowerCut::DropAll);
    }
    // 300 are expected in each tenth, with a standard deviation of 16.
    assert!(
        tenths.iter().all(|count| (230..370).contains(count)),
        "{tenths:?}"
    );
}

/// What block 0 and 1 hold after each of 200 random cuts.
fn outcomes(prepare: impl Fn(&mut Store)) -> BTreeSet<(u64, u64)> {
    let outcome = |seed| {
        let mut store = store();
        prepare(&mut store);
        store.cut(PowerCut::Random { seed });
        (number_at(&store, 0), number_at(&store, 1))
    };
    (0..200).map(outcome).collect()
}

#[test]
fn a_random_cut_can_leave_any_version() {
    let found = outcomes(|store| {
        write_blocks(store, 0, 1, 1);
        write_blocks(store, 0, 2, 1);
        store.seal();
        write_blocks(store, 0, 3, 1);
    });
    assert_eq!(found, BTreeSet::from([(0, 0), (1, 0), (2, 0), (3, 0)]));
}

#[test]
fn an_unfinished_flush_orders_nothing_and_a_finished_one_does() {
    let writes = |store: &mut Store| {
        write_blocks(store, 0, 1, 1);
        let epoch = store.seal();
        write_blocks(store, 1, 2, 1);
        epoch
    };
    let unfinished = outcomes(|store| {
        writes(store);
    });
    let all = BTreeSet::from([(0, 0), (0, 2), (1, 0), (1, 2)]);
    assert_eq!(unfinished, all);
    let finished = outcomes(|store| {
        let epoch = writes(store);
        store.harden(epoch);
    });
    assert_eq!(finished, BTreeSet::from([(1, 0), (1, 2)]));
}

#[test]
fn random_cuts_go_from_nearly_nothing_to_nearly_all() {
    let blocks = 200;
    let kept = |seed| {
        let bytes = (blocks * BLOCK_BYTES) as u64;
        let mut store = Store::in_memory(bytes).expect("a small mapping");
        write_blocks(&mut store, 0, 1, blocks);
        store.cut(PowerCut::Random { seed }).kept.writes
    };
    let kept: Vec<u64> = (0..50).map(kept).collect();
    assert!(kept.iter().any(|kept| *kept < 20), "{kept:?}");
    assert!(kept.iter().any(|kept| *kept > 180), "{kept:?}");
}

/// How many of 200 cuts leave block 0 with sectors of two writes.
fn torn_cuts(sector_bytes: u32) -> usize {
    let is_torn = |seed: &u64| {
        let mut store = store();
        write_blocks(&mut store, 0, 1, 1);
        let seed = *seed;
        let report = store.cut(PowerCut::Torn { seed, sector_bytes });
        let sectors = (0..8).map(|sector| store.durable[sector * SECTOR]);
        let is_torn = sectors.collect::<BTreeSet<u8>>().len() > 1;
        assert_eq!(is_torn, report.torn.writes == 1);
        is_torn
    };
    (0..200_u64).filter(is_torn).count()
}

#[test]
fn a_torn_block_mixes_sectors() {
    // Half of the blocks that have a next version, which is half of all.
    let torn = torn_cuts(512);
    assert!((30..70).contains(&torn), "{torn}");
    assert_eq!(torn_cuts(4096), 0);
}

#[test]
fn a_file_is_sparse_and_holds_what_is_durable() {
    let file = tempfile::tempfile().expect("a file");
    let bytes = 1 << 30;
    let mut store = Store::in_file(&file, bytes).expect("a sparse file");
    let last = bytes - BLOCK_BYTES as u64;
    store.write(last, &content(7, 8));
    let epoch = store.seal();
    store.harden(epoch);
    drop(store);
    let on_disk = file.metadata().expect("the file");
    assert_eq!(on_disk.len(), bytes);
    assert!(on_disk.blocks() * 512 < 1 << 20, "{}", on_disk.blocks());
    let mut block = [0; BLOCK_BYTES];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut block, last).expect("a block");
    assert_eq!(block[..], content(7, 8));
}

/// How many bytes of memory its versions of old take.
fn set_aside(store: &Store) -> usize {
    let before = store.past.before.iter().flatten();
    before.filter(|(_, image)| image.is_some()).count() * BLOCK_BYTES
}

#[test]
fn only_what_has_changed_is_set_aside_and_put_back() {
    let mut store = store();
    assert_eq!(store.go_back(), None);
    write_blocks(&mut store, 0, 1, 2);
    store.keep();
    assert_eq!(store.volatile_bytes(), 0);
    for round in 0..3 {
        // One that was there, twice, and one that was not; a third never becomes durable.
        for number in [7, 8] {
            write_blocks(&mut store, 1, number, 2);
            let epoch = store.seal();
            store.harden(epoch);
        }
        write_blocks(&mut store, 0, 9, 1);
        assert_eq!(set_aside(&store), BLOCK_BYTES, "round {round}");
        assert_eq!(store.go_back(), Some(2));
        let held = [0, 1, 2].map(|block| number_at(&store, block));
        assert_eq!((held, set_aside(&store)), ([1, 1, 0], 0));
        assert_eq!(store.volatile_bytes(), 0);
    }
    assert_eq!(store.go_back(), Some(0));
}

#[test]
fn a_disk_that_is_gone_is_empty_and_can_be_gone_back_to() {
    let mut store = store();
    write_blocks(&mut store, 0, 1, 3);
    store.keep();
    write_blocks(&mut store, 0, 2, 1);
    store.wipe();
    assert_eq!(store.durable.iter().copied().max(), Some(0));
    store.cut(PowerCut::KeepAll);
    assert_eq!(number_at(&store, 0), 0);
    write_blocks(&mut store, 3, 3, 1);
    store.cut(PowerCut::KeepAll);
    assert_eq!(store.go_back(), Some(4));
    let held = [0, 1, 2, 3].map(|block| number_at(&store, block));
    assert_eq!(held, [1, 1, 1, 0]);
}

/// A cut that leaves nothing changes nothing, and needs nothing set aside.
#[test]
fn what_a_cut_drops_is_not_set_aside() {
    let mut store = store();
    write_blocks(&mut store, 0, 1, 1);
    store.keep();
    write_blocks(&mut store, 0, 2, 1);
    store.cut(PowerCut::DropAll);
    assert_eq!(store.go_back(), Some(0));
    write_blocks(&mut store, 0, 2, 1);
    store.cut(PowerCut::KeepAll);
    assert_eq!(store.go_back(), Some(1));
    assert_eq!(number_at(&store, 0), 1);
}

#[test]
fn a_disk_larger_than_memory_costs_nothing_until_written() {
    let bytes = 64 << 30;
    let mut store = Store::in_memory(bytes).expect("a mapping without reserve");
    store.write(bytes - 1, &[9]);
    let mut end = [0; 2];
    store.read(bytes - 2, &mut end);
    assert_eq!((end, store.bytes()), ([0, 9], bytes));
    assert!(Store::in_memory(u64::MAX).is_err());
}

#[test]
#[should_panic(expected = "pass the end")]
fn a_write_past_the_end_panics_within_the_last_block_too() {
    store().write(BYTES as u64 - 1, &[0; 2]);
}
