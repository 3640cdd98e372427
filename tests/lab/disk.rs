//! Volumes: real FUSE, loop devices and ext4.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use acklab::error::{Error, Result};
use acklab::lab::disk::{Halted, Volume, VolumeSpec};
use acklab::lab::netns::Netns;
use acklab::lab::netns::Place;
use acklab::study::disk::{Delay, Disk, ImagePlace, PowerCut};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

use crate::common::{lab_lock, program};

pub const IMAGE_BYTES: u64 = 96 << 20;
pub const BLOCK_BYTES: usize = 4096;
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How long a request that must not end is watched.
pub const WATCH: Duration = Duration::from_millis(200);
/// Cuts at moments of chance, each followed by e2fsck.
const CUTS: u64 = 20;
pub const WRITERS: usize = 4;
pub const SEED: u64 = 7;

#[repr(align(4096))]
pub struct Block(pub [u8; BLOCK_BYTES]);

/// Runs a test on a mount namespace of its own; afterwards no loop device of ours may be left.
pub fn on_mounts_of_our_own(test: impl FnOnce(&Path) + Send) {
    let _lock = lab_lock();
    let stand = || {
        let none: Option<&str> = None;
        unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace");
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(none, "/", none, private, none).expect("mounts of our own");
        let folder = TempDir::new().expect("a folder");
        test(folder.path());
        assert_eq!(volume_mounts(), 0, "mounts were left behind");
        no_device_is_left();
    };
    let outcome = thread::scope(|scope| scope.spawn(stand).join());
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

pub fn spec(folder: &Path, disk: Disk) -> VolumeSpec {
    VolumeSpec {
        bytes: IMAGE_BYTES,
        images: ImagePlace::Memory,
        disk,
        mount_point: folder.join("disk"),
        seed: SEED,
    }
}

pub fn place() -> Place {
    Place {
        name: "test.a".to_owned(),
        site: "a".to_owned(),
        address: Ipv4Addr::LOCALHOST,
        netns: Netns::create("test.a").expect("a network namespace"),
    }
}

pub fn start(spec: VolumeSpec) -> Result<Volume> {
    Volume::start_with(&program(), spec, &place())
}

/// Runs a test on a volume in memory.
pub fn on_volume(disk: Disk, test: impl FnOnce(&Volume) + Send) {
    on_mounts_of_our_own(|folder| {
        let volume = start(spec(folder, disk)).expect("a volume");
        // The looks at what is left must be able to see something.
        assert_eq!((volume_mounts(), devices().len()), (1, 1));
        test(&volume);
    });
}

fn volume_mounts() -> usize {
    let mounts = fs::read_to_string("/proc/thread-self/mounts").expect("mounts");
    let is_ours = |line: &&str| line.starts_with("/dev/loop") || line.contains(" fuse ");
    mounts.lines().filter(is_ours).count()
}

/// Loop devices on images of ours, of whichever mount namespace. Others may use acklab meanwhile,
/// hardly with images of just this size.
pub fn devices() -> Vec<PathBuf> {
    let entries = fs::read_dir("/sys/block").expect("/sys/block").flatten();
    let is_ours = |path: &PathBuf| {
        let read = |name| fs::read_to_string(path.join(name)).unwrap_or_default();
        let sectors = (IMAGE_BYTES / 512).to_string();
        read("loop/backing_file").trim_end() == "/image" && read("size").trim_end() == sectors
    };
    entries.map(|entry| entry.path()).filter(is_ours).collect()
}

pub fn no_device_is_left() {
    no_device_is_left_but(&[]);
}

/// Those that were there before belong to somebody else's study.
pub fn no_device_is_left_but(others: &[PathBuf]) {
    let is_gone = || devices().iter().all(|device| others.contains(device));
    wait_until("no loop device is left", is_gone);
}

pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "not so: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Straight to the disk, so that nothing but the disk itself can hold a write back.
pub fn direct(path: &Path) -> File {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options
        .custom_flags(libc::O_DIRECT)
        .open(path)
        .expect("a file")
}

pub fn write_block(file: &File, value: u8) {
    file.write_all_at(&Block([value; BLOCK_BYTES]).0, 0)
        .expect("a write");
}

pub fn first_byte(path: &Path) -> u8 {
    let mut block = Block([0; BLOCK_BYTES]);
    direct(path).read_exact_at(&mut block.0, 0).expect("a read");
    block.0[0]
}

#[test]
fn lab_disk_counts_writes_and_flushes() {
    on_volume(Disk::default(), |volume| {
        let file = direct(&volume.mount_point().join("file"));
        write_block(&file, 1);
        // Nothing is left to be written but what follows.
        nix::unistd::syncfs(&file).expect("a sync");
        let before = volume.counters().unwrap();
        for _ in 0..100 {
            write_block(&file, 2);
            file.sync_data().expect("a flush");
        }
        let counted = volume.counters().unwrap().since(&before);
        assert_eq!((counted.writes, counted.flushes), (100, 100));
        assert_eq!(counted.bytes_written, 100 * BLOCK_BYTES as u64);
        assert_eq!((counted.reads, counted.failed_requests), (0, 0));
        assert!(counted.cpu_ns > 0);
        assert_eq!(first_byte(&volume.mount_point().join("file")), 2);
        let counted = volume.counters().unwrap().since(&before);
        assert_eq!((counted.reads, counted.bytes_read), (1, BLOCK_BYTES as u64));
    });
}

/// A loop device shows 512-byte sectors, and databases write them.
#[test]
fn lab_disk_takes_single_sectors() {
    on_volume(Disk::default(), |volume| {
        let path = volume.mount_point().join("file");
        let file = direct(&path);
        write_block(&file, 1);
        file.write_all_at(&Block([2; BLOCK_BYTES]).0[..512], 512)
            .expect("a write of one sector");
        file.sync_data().expect("a flush");
        let mut block = Block([0; BLOCK_BYTES]);
        file.read_exact_at(&mut block.0, 0).expect("a read");
        assert_eq!(
            [block.0[511], block.0[512], block.0[1023], block.0[1024]],
            [1, 2, 2, 1]
        );
    });
}

#[test]
fn lab_disk_adds_what_is_asked_while_running() {
    on_volume(Disk::default(), |volume| {
        let (write_us, flush_us) = volume.probe(3).unwrap();
        assert!(write_us > 0.0 && flush_us > 0.0);
        let slow = Disk {
            write: Delay::Constant(Duration::from_millis(5)),
            flush: Delay::Constant(Duration::from_millis(9)),
            ..Disk::default()
        };
        volume.set(slow).unwrap();
        let samples = volume.samples(21).unwrap();
        // On a busy host this very thread is late, and not the disk: the shortest times tell.
        let least = |us: &[f64]| us.iter().copied().fold(f64::INFINITY, f64::min);
        let (write_us, flush_us) = (least(&samples.write_us), least(&samples.flush_us));
        assert!((4_900.0..8_000.0).contains(&write_us), "{write_us}");
        assert!((8_900.0..12_000.0).contains(&flush_us), "{flush_us}");
        let counted = volume.counters().unwrap();
        assert!(counted.timed_replies >= 42, "{counted:?}");
        assert!(counted.flush_us_mean().unwrap() > 1_000.0, "{counted:?}");
    });
}

#[test]
fn lab_disk_without_power_gives_errors_and_lets_go() {
    // The flush under way when the power fails would last longer than the test.
    let stuck = Disk {
        flush: Delay::Constant(Duration::from_secs(1_000)),
        ..Disk::default()
    };
    on_volume(Disk::default(), |volume| {
        let file = direct(&volume.mount_point().join("file"));
        write_block(&file, 1);
        volume.set(stuck).unwrap();
        let flush = thread::spawn(move || (file.sync_data(), file));
        wait_until("a flush is under way", || is_waiting(&flush));
        let start = Instant::now();
        volume.freeze().unwrap();
        let (flushed, file) = flush.join().unwrap();
        assert_eq!(code(flushed), Some(libc::EIO));
        let written = file.write_all_at(&Block([2; BLOCK_BYTES]).0, 0);
        assert!(matches!(code(written), Some(libc::EIO | libc::EROFS)));
        drop(file);
        volume.cut_power(PowerCut::KeepAll).unwrap();
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
        assert!(volume.counters().unwrap().failed_requests > 0);
        // Upkeep is over: the disk is as slow as it was.
        volume.set(Disk::default()).unwrap();
        assert!(volume.probe(3).is_ok());
    });
}

/// Writes blocks until the disk fails: when the last that went well was begun, and when the first
/// that did not was seen. Counts itself among those who write as soon as it does.
fn write_until_it_fails(file: &File, writing: &AtomicUsize) -> (Instant, Instant) {
    let block = Block([3; BLOCK_BYTES]);
    let mut begun = None;
    loop {
        let now = Instant::now();
        let written = file.write_all_at(&block.0, 0);
        match code(written.and_then(|()| file.sync_data())) {
            None => {
                if begun.replace(now).is_none() {
                    writing.fetch_add(1, Ordering::Relaxed);
                }
            }
            Some(libc::EIO | libc::EROFS) => {
                return (begun.expect("a write that went well"), Instant::now());
            }
            other => panic!("not for want of power: {other:?}"),
        }
    }
}

/// No disk takes a write that began after the power was gone; whoever asks waits, and hears when it
/// is told. Meanwhile something else was done.
#[test]
fn lab_disk_power_goes_from_all_disks_as_they_say() {
    on_mounts_of_our_own(|folder| {
        let volumes = ["one", "two", "three"].map(|name| {
            let folder = folder.join(name);
            fs::create_dir(&folder).unwrap();
            start(spec(&folder, Disk::default())).expect("a volume")
        });
        let files = volumes
            .each_ref()
            .map(|volume| direct(&volume.mount_point().join("file")));
        files.iter().for_each(|file| write_block(file, 1));
        let mut halted = Halted::default();
        let mut done = None;
        let writing = AtomicUsize::new(0);
        let seen = thread::scope(|scope| {
            let writers = files
                .each_ref()
                .map(|file| scope.spawn(|| write_until_it_fails(file, &writing)));
            wait_until("all write", || writing.load(Ordering::Relaxed) == 3);
            let told = Volume::halt_all(&volumes.each_ref(), || {
                done = Some(Instant::now());
                Ok(())
            });
            halted = told.unwrap();
            let gone = Instant::now();
            thread::sleep(WATCH);
            assert!(writers.iter().all(|writer| !writer.is_finished()));
            volumes.iter().for_each(|volume| volume.freeze().unwrap());
            writers.map(|writer| (gone, writer.join().expect("a writer")))
        });
        assert_eq!((halted.late_us.len(), halted.after_us.len()), (3, 3));
        let done = done.expect("something was done");
        for (gone, (last_begun, first_failed)) in seen {
            assert!(
                last_begun <= gone && done <= gone,
                "{last_begun:?} {done:?} {gone:?}"
            );
            assert!(first_failed >= gone, "it was told before");
        }
        drop(files);
        volumes.iter().for_each(|volume| {
            volume.cut_power(PowerCut::DropAll).unwrap();
        });
    });
}

/// Whether another thread of this process waits uninterruptibly, as for a disk.
pub fn is_waiting<T>(thread: &thread::JoinHandle<T>) -> bool {
    assert!(!thread.is_finished());
    let tasks = fs::read_dir("/proc/self/task").expect("threads").flatten();
    let mut states = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    let is_waiting = |stat: String| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('D'))
    };
    states.any(is_waiting)
}

pub fn code<T>(outcome: io::Result<T>) -> Option<i32> {
    outcome.err().and_then(|error| error.raw_os_error())
}

#[test]
fn lab_disk_power_cut_drops_what_was_not_flushed() {
    on_volume(Disk::default(), |volume| {
        let path = volume.mount_point().join("file");
        let overwrite = |old: u8, new: u8| {
            let file = direct(&path);
            write_block(&file, old);
            nix::unistd::syncfs(&file).expect("a sync");
            write_block(&file, new);
        };
        overwrite(1, 2);
        let report = volume.cut_power(PowerCut::DropAll).unwrap();
        assert_eq!(first_byte(&path), 1);
        assert!(report.dropped.bytes >= BLOCK_BYTES as u64, "{report:?}");
        assert_eq!(report.kept.writes, 0, "{report:?}");
        overwrite(3, 4);
        let report = volume.cut_power(PowerCut::KeepAll).unwrap();
        assert_eq!(first_byte(&path), 4);
        assert_eq!(report.dropped.writes, 0, "{report:?}");
    });
}

#[test]
fn lab_disk_without_a_write_cache_keeps_what_was_written() {
    let safe = Disk {
        write_cache: false,
        ..Disk::default()
    };
    on_volume(safe, |volume| {
        let path = volume.mount_point().join("file");
        let file = direct(&path);
        write_block(&file, 1);
        nix::unistd::syncfs(&file).expect("a sync");
        write_block(&file, 2);
        drop(file);
        let report = volume.cut_power(PowerCut::DropAll).unwrap();
        assert_eq!(first_byte(&path), 2);
        assert_eq!(report.dropped.writes, 0, "{report:?}");
    });
}

/// Each time the journal is replayed and e2fsck finds nothing, or `cut_power` would fail; and each
/// number that was flushed is there.
#[test]
fn lab_disk_survives_power_cuts_under_load() {
    let disk = Disk {
        write: Delay::Uniform {
            low: Duration::ZERO,
            high: Duration::from_millis(1),
        },
        flush: Delay::Constant(Duration::from_micros(500)),
        ..Disk::default()
    };
    on_volume(disk, |volume| {
        let mut random = ChaCha8Rng::seed_from_u64(SEED);
        let mut dropped_writes = 0;
        for number in 0..CUTS {
            let length = Duration::from_millis(random.random_range(20..200));
            let acknowledged = load_until_cut(volume, length);
            let seed = number;
            let cut = match number % 3 {
                0 => PowerCut::Random { seed },
                1 => PowerCut::Torn {
                    seed,
                    sector_bytes: 512,
                },
                _ => PowerCut::Torn {
                    seed,
                    sector_bytes: 4096,
                },
            };
            let report = volume.cut_power(cut).expect("a clean file system");
            dropped_writes += report.dropped.writes;
            for (writer, least) in acknowledged.into_iter().enumerate() {
                let found = number_in(&ledger(volume, writer));
                assert!(
                    found >= least,
                    "cut {number}: {found}, though {least} was flushed"
                );
            }
        }
        assert!(dropped_writes > 0, "no cut had anything to decide");
    });
}

fn ledger(volume: &Volume, writer: usize) -> PathBuf {
    volume.mount_point().join(format!("ledger-{writer}"))
}

/// Writers count in files of theirs, and make work for the journal; then the power fails. What
/// each was told is flushed comes back.
pub fn load_until_cut(volume: &Volume, length: Duration) -> Vec<u64> {
    let flushed: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for (writer, flushed) in flushed.iter().enumerate() {
            let path = ledger(volume, writer);
            scope.spawn(move || count_until_error(&path, flushed));
        }
        thread::sleep(length); // the moment is the test
        // A volume that was killed has no power either.
        let _ = volume.freeze();
    });
    flushed.into_iter().map(AtomicU64::into_inner).collect()
}

/// The number grows in place, and its file is now and then replaced by a new one.
fn count_until_error(path: &Path, flushed: &AtomicU64) {
    let mut number = number_in(path);
    flushed.store(number, Ordering::Relaxed);
    let new = path.with_extension("new");
    let mut step = || -> io::Result<()> {
        number += 1;
        let text = format!("{number:0>20}");
        if number.is_multiple_of(4) {
            fs::write(&new, &text)?;
            File::open(&new)?.sync_all()?;
            fs::rename(&new, path)?;
            File::open(path.parent().unwrap_or(path))?.sync_all()?;
        } else {
            let mut options = OpenOptions::new();
            let file = options
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            file.write_all_at(text.as_bytes(), 0)?;
            file.sync_data()?;
        }
        flushed.store(number, Ordering::Relaxed);
        Ok(())
    };
    while step().is_ok() {}
}

/// 0 if there is none: no number was flushed then.
fn number_in(path: &Path) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.trim_matches('\0').parse().unwrap_or(0)
}

#[test]
fn lab_disk_killed_is_a_breakdown_that_says_so() {
    on_volume(Disk::default(), |volume| {
        let file = direct(&volume.mount_point().join("file"));
        write_block(&file, 1);
        kill(Pid::from_raw(volume.pid() as i32), Signal::SIGKILL).unwrap();
        wait_until("writes fail", || {
            file.write_all_at(&Block([2; BLOCK_BYTES]).0, 0).is_err()
        });
        // Its files are closed before the kernel tells of its end.
        let error = volume.check_alive().unwrap_err();
        let told = error.to_string();
        assert!(
            told.contains("test.a") && told.contains("SIGKILL"),
            "{told}"
        );
        assert_eq!(error.exit_code(), 4);
        assert!(matches!(volume.counters(), Err(Error::Breakdown(_))));
        assert!(volume.cut_power(PowerCut::DropAll).is_err());
    });
}

#[test]
fn lab_disk_in_a_file_leaves_no_file() {
    on_mounts_of_our_own(|folder| {
        let images = folder.join("images");
        fs::create_dir(&images).unwrap();
        let spec = VolumeSpec {
            images: ImagePlace::Folder(images.display().to_string()),
            ..spec(folder, Disk::default())
        };
        let volume = start(spec.clone()).expect("a volume");
        assert_eq!(fs::read_dir(&images).unwrap().count(), 0);
        let path = volume.mount_point().join("file");
        let file = direct(&path);
        write_block(&file, 1);
        file.sync_all().unwrap();
        drop(file);
        volume.cut_power(PowerCut::DropAll).unwrap();
        assert_eq!(first_byte(&path), 1);
        drop(volume);
        let huge = VolumeSpec {
            bytes: 1 << 50,
            ..spec
        };
        let told = start(huge).unwrap_err().to_string();
        assert!(told.contains("images"), "{told}");
        assert_eq!(fs::read_dir(&images).unwrap().count(), 0);
    });
}
