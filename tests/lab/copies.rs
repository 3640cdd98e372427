//! Volumes with copies: real processes, in network namespaces joined by the link switch.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use acklab::lab::disk::copies::promote::Touch;
use acklab::lab::disk::copies::{Change, Reach, Terms};
use acklab::lab::disk::replica::UNANSWERED_BYTES_MAX;
use acklab::lab::disk::{
    CopySet, Remembered, Standing, Takeover, Volume, VolumeCounters, VolumeSpec, fail_over,
};
use acklab::lab::link::{LinkSetting, PairSetting, Probe, Switch, median};
use acklab::lab::netns::Place;
use acklab::study::disk::{Delay, Disk, ImagePlace, PowerCut};
use acklab::study::mode::{Ack, WhenShort};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::disk::{
    IMAGE_BYTES, PATIENCE, WRITERS, code, devices, direct, first_byte, is_waiting,
    on_mounts_of_our_own, wait_until, write_block,
};
use super::disk_lifetimes::{Inside, children_of, folder_inside, say_at_work, write_for_ever};
use crate::common::{Links, address, lab_lock, program};

/// A copy is taken for lost after this: far longer than a busy host keeps one waiting.
const TIMEOUT: Duration = Duration::from_secs(1);
const VOLUME: u64 = 77;
/// Pairs of a write and a flush of which the medians are told.
const PAIRS: usize = 300;

/// Some nodes with a copy each, and the links between them.
struct Site {
    copies: Vec<Volume>,
    group: CopySet,
    places: Vec<Place>,
    switch: Switch,
}

impl Site {
    /// The first copy leads.
    fn of(folder: &Path, count: usize, write_quorum: usize, policy: (WhenShort, Duration)) -> Site {
        Site::acknowledging(folder, (count, write_quorum), Ack::Write, policy)
    }

    fn acknowledging(
        folder: &Path,
        (count, write_quorum): (usize, usize),
        ack: Ack,
        policy: (WhenShort, Duration),
    ) -> Site {
        let Links { switch, nodes } = Links::between(count);
        let place = |(at, netns): (usize, _)| Place {
            name: ["a", "b", "c", "d", "e", "f"][at].to_owned(),
            site: "site".to_owned(),
            address: address(at),
            netns,
        };
        let places: Vec<Place> = nodes.into_iter().enumerate().map(place).collect();
        let copies = places.iter().map(|place| {
            let spec = spec(folder, &place.name);
            Volume::follow_with(&program(), spec, place).expect("a copy")
        });
        let copies: Vec<Volume> = copies.collect();
        let members = copies.iter().map(|copy| copy.address().unwrap());
        let terms = Terms {
            volume: VOLUME,
            peers: count - 1,
            write_quorum,
            ack,
            when_short: policy.0,
            timeout: policy.1,
            unanswered_bytes_max: UNANSWERED_BYTES_MAX,
        };
        let group = CopySet {
            terms,
            members: members.collect(),
        };
        let first = group.members[0];
        let lead = group.lead(first, 1, true, PATIENCE);
        copies[0].lead(&lead).expect("a head");
        for copy in &copies {
            copy.set_upkeep(false).unwrap();
        }
        Site {
            copies,
            group,
            places,
            switch,
        }
    }

    fn mirror(folder: &Path, policy: (WhenShort, Duration)) -> Site {
        Site::of(folder, 2, 2, policy)
    }

    fn head(&self) -> &Volume {
        &self.copies[0]
    }

    /// Cuts or mends all links of one node.
    fn set_links(&self, at: usize, is_cut: bool) {
        let setting = LinkSetting {
            is_cut,
            ..LinkSetting::default()
        };
        let own = &self.places[at].name;
        let pair = |from: &str, to: &str| PairSetting {
            from: from.to_owned(),
            to: to.to_owned(),
            setting,
        };
        let others = self.places.iter().filter(|place| place.name != *own);
        let pairs = others.flat_map(|other| [pair(own, &other.name), pair(&other.name, own)]);
        self.switch.set(&pairs.collect::<Vec<_>>()).unwrap();
    }

    fn fail_over_to(&self, survivors: &[usize]) -> acklab::error::Result<Takeover> {
        let survivors: Vec<&Volume> = survivors.iter().map(|at| &self.copies[*at]).collect();
        fail_over(&survivors, &self.group, Remembered::default(), PATIENCE)
    }
}

fn spec(folder: &Path, name: &str) -> VolumeSpec {
    VolumeSpec {
        bytes: IMAGE_BYTES,
        images: ImagePlace::Memory,
        disk: Disk::default(),
        mount_point: folder.join(name),
        seed: 7,
    }
}

fn standing(volume: &Volume) -> Standing {
    volume.standing().expect("an answer")
}

/// Overwrites one block and flushes.
fn put(path: &Path, value: u8) {
    let file = direct(path);
    write_block(&file, value);
    file.sync_all().expect("a flush");
}

/// The same on a thread of its own, for as long as it takes.
fn put_aside(path: &Path, value: u8) -> JoinHandle<io::Result<()>> {
    let file = File::options().write(true).open(path).expect("a file");
    thread::spawn(move || {
        file.write_all_at(&[value; 4096], 0)?;
        file.sync_all()
    })
}

#[test]
fn lab_copies_hold_what_was_flushed() {
    on_mounts_of_our_own(|folder| {
        let site = Site::mirror(folder, (WhenShort::Block, TIMEOUT));
        assert_eq!(standing(site.head()).whole_copies, 2);
        put(&site.head().mount_point().join("file"), 1);
        let before = site.copies[1].counters().unwrap();
        put(&site.head().mount_point().join("file"), 2);
        // It has answered by the time the head has, and counts before it answers.
        let counted = site.copies[1].counters().unwrap().since(&before);
        assert!(counted.writes > 0 && counted.flushes > 0, "{counted:?}");
        assert!(counted.bytes_written >= 4096 && counted.cpu_ns > 0);
        // What the copy holds is seen when it leads.
        site.head().freeze().unwrap();
        let takeover = site.fail_over_to(&[1]).expect("a takeover");
        assert!(takeover.is_alone, "{takeover:?}");
        assert_eq!((takeover.chosen, takeover.generation), (0, 2));
        let other = site.copies[1].mount_point().join("file");
        assert_eq!(first_byte(&other), 2);
        // The old head follows, and what is written there comes back to it.
        site.head().cut_power(PowerCut::DropAll).unwrap();
        site.copies[1].wait_whole(2, PATIENCE).unwrap();
        put(&other, 3);
        let old = standing(site.head());
        assert!(old.is_whole && !old.is_head, "{old:?}");
        site.copies[1].freeze().unwrap();
        site.fail_over_to(&[0]).expect("a takeover");
        assert_eq!(first_byte(&site.head().mount_point().join("file")), 3);
    });
}

/// DRBD's rule: a flush without data is done before the copy has made one; one with which the file
/// system commits its journal is not. The copy leads with what it has in memory.
#[test]
fn lab_copies_protocol_c_waits_for_writes_and_the_journal() {
    on_mounts_of_our_own(|folder| {
        let policy = (WhenShort::Block, TIMEOUT);
        let site = Site::acknowledging(folder, (2, 2), Ack::ProtocolC, policy);
        let path = site.head().mount_point().join("file");
        put(&path, 1);
        let slow = Disk {
            flush: Delay::Constant(Duration::from_secs(2)),
            ..Disk::default()
        };
        site.copies[1].set(slow).unwrap();
        let before = [0, 1].map(|at| site.copies[at].counters().unwrap());
        let since = |at: usize| site.copies[at].counters().unwrap().since(&before[at]);
        // In place: the file does not change its size, so that no journal is committed.
        let file = direct(&path);
        for value in [2, 3] {
            write_block(&file, value);
            file.sync_data().expect("a flush");
        }
        let (head, copy) = (since(0), since(1));
        assert_eq!((head.flushes, copy.flushes), (2, 0), "{head:?} {copy:?}");
        assert!(copy.writes >= 2, "{copy:?}");
        site.copies[1].set(Disk::default()).unwrap();
        put(&site.head().mount_point().join("new"), 1);
        let (head, copy) = (since(0), since(1));
        assert!(head.flushes > 3 && copy.flushes > 0, "{head:?} {copy:?}");

        site.copies[1].set(slow).unwrap();
        write_block(&file, 4);
        file.sync_data().expect("a flush");
        site.head().freeze().unwrap();
        site.fail_over_to(&[1]).expect("a takeover");
        assert_eq!(first_byte(&site.copies[1].mount_point().join("file")), 4);
    });
}

/// What a mirrored volume takes with nothing added, beside one without copies.
#[test]
fn lab_copies_floor_of_a_mirror() {
    on_mounts_of_our_own(|folder| {
        let site = Site::mirror(folder, (WhenShort::Block, TIMEOUT));
        let mirrored = floor(site.head());
        let name = &site.places[0].name;
        let probe = Probe::new(&site.places[0].netns, name).unwrap();
        let rtts_us = probe.rtts_us(address(1), 51, Duration::from_millis(1));
        let rtt_us = median(&rtts_us.unwrap()).unwrap();
        let counters = site.head().counters().unwrap();
        let copied = site.copies[1].counters().unwrap();
        let local = Volume::start_with(&program(), spec(folder, "local"), &site.places[0]).unwrap();
        let alone = floor(&local);
        let _ = writeln!(
            io::stderr(),
            "p10/p50/p90 in µs: local {alone}; mirror {mirrored}; median echo {rtt_us:.0} µs"
        );
        // Each pair went to the other side too.
        for counted in [counters, copied, local.counters().unwrap()] {
            let VolumeCounters {
                writes, flushes, ..
            } = counted;
            assert!(writes.min(flushes) >= PAIRS as u64, "{counted:?}");
        }
    });
}

/// Times fall in two heaps, with and without the waking of an idle CPU: a median alone would jump
/// between them, and a busy host shows the lower one.
fn floor(volume: &Volume) -> String {
    volume.probe(PAIRS / 10).expect("a warm-up");
    let samples = volume.samples(PAIRS).expect("times");
    let shown = |mut us: Vec<f64>| {
        us.sort_by(f64::total_cmp);
        let at = |tenth: usize| us[us.len() * tenth / 10];
        format!("{:.0}/{:.0}/{:.0}", at(1), at(5), at(9))
    };
    let (write, flush) = (shown(samples.write_us), shown(samples.flush_us));
    format!("write {write}, flush {flush}")
}

/// A copy's own disk takes its time, and the head waits for it.
#[test]
fn lab_copies_wait_for_the_other_disk() {
    on_mounts_of_our_own(|folder| {
        let site = Site::mirror(folder, (WhenShort::Block, TIMEOUT));
        site.head().probe(1).unwrap();
        let slow = Disk {
            flush: Delay::Constant(Duration::from_millis(20)),
            ..Disk::default()
        };
        site.copies[1].set(slow).unwrap();
        let samples = site.head().samples(5).unwrap();
        let least = |us: &[f64]| us.iter().copied().fold(f64::INFINITY, f64::min);
        let (write_us, flush_us) = (least(&samples.write_us), least(&samples.flush_us));
        assert!(flush_us >= 20_000.0, "{flush_us}");
        assert!(write_us < 10_000.0, "{write_us}");
        let counted = site.copies[1].counters().unwrap();
        assert!(counted.flush_us_mean().unwrap() > 1_000.0, "{counted:?}");
    });
}

#[test]
fn lab_copies_of_a_quorum_can_be_lost_and_come_back() {
    on_mounts_of_our_own(|folder| {
        let site = Site::of(folder, 6, 4, (WhenShort::Block, TIMEOUT));
        let file = site.head().mount_point().join("file");
        put(&file, 1);
        // One loses its power, one its links.
        site.copies[1].freeze().unwrap();
        site.set_links(2, true);
        put(&file, 2);
        site.copies[3].freeze().unwrap();
        let is_short = || standing(site.head()).reach == Some(Reach::Short);
        wait_until("too few copies", is_short);
        let flush = put_aside(&file, 3);
        wait_until("a flush is under way", || is_waiting(&flush));
        thread::sleep(3 * TIMEOUT); // that it does not end is the test
        assert!(!flush.is_finished());
        site.copies[3].cut_power(PowerCut::DropAll).unwrap();
        flush.join().unwrap().expect("a flush");
        assert_eq!(standing(site.head()).whole_copies, 4);
        site.copies[1].cut_power(PowerCut::DropAll).unwrap();
        site.set_links(2, false);
        site.head().wait_whole(6, PATIENCE).unwrap();
    });
}

#[test]
fn lab_copies_a_stale_head_is_refused() {
    on_mounts_of_our_own(|folder| {
        let site = Site::of(folder, 6, 4, (WhenShort::Block, TIMEOUT));
        let file = site.head().mount_point().join("file");
        for value in 1..20 {
            put(&file, value);
        }
        site.set_links(0, true);
        // Nothing of this is reported done, and nothing of it may come back.
        let late = put_aside(&file, 99);
        let refused = site.fail_over_to(&[1, 2]).unwrap_err().to_string();
        assert!(refused.contains("fewer"), "{refused}");
        let takeover = site.fail_over_to(&[1, 2, 3, 4, 5]).expect("a takeover");
        assert!(!takeover.is_alone);
        let leader = &site.copies[1 + takeover.chosen];
        let copied = leader.mount_point().join("file");
        assert_eq!(first_byte(&copied), 19);
        put(&copied, 50);
        assert!(!late.is_finished() && standing(site.head()).is_head);
        site.set_links(0, false);
        assert!(late.join().unwrap().is_err());
        wait_until("the old head knows", || !standing(site.head()).is_head);
        // Of whichever it hears first: some promised the refused attempt's generation as well.
        let fenced_by = standing(site.head()).fenced_by.expect("a generation");
        assert!(
            (2..=takeover.generation).contains(&fenced_by),
            "{fenced_by}"
        );
        let other = File::create(site.head().mount_point().join("other"));
        assert!(other.and_then(|other| other.sync_all()).is_err());
        leader
            .wait_whole(6, PATIENCE)
            .expect("the old head follows");
        put(&copied, 51);
    });
}

#[test]
fn lab_copies_a_mirror_goes_on_alone_and_says_when() {
    on_mounts_of_our_own(|folder| {
        let site = Site::mirror(folder, (WhenShort::Degrade, TIMEOUT));
        let file = site.head().mount_point().join("file");
        put(&file, 1);
        standing(site.head());
        let start = Instant::now();
        site.set_links(1, true);
        put(&file, 2);
        assert!(start.elapsed() >= TIMEOUT / 2, "{:?}", start.elapsed());
        // On a busy machine it may have been short for a moment before.
        let reach = standing_alone(&site);
        assert!(reach.ends_with(&[Reach::Short, Reach::Alone]), "{reach:?}");
        // The one that was left behind does not know: it may not take over.
        let refused = site.fail_over_to(&[1]).unwrap_err().to_string();
        assert!(refused.contains("without it"), "{refused}");
        assert_eq!(first_byte(&file), 2);
    });
}

/// What befell the head, in order; times rise.
fn standing_alone(site: &Site) -> Vec<Reach> {
    let changes = standing(site.head()).changes;
    let reach = |change: &Change| match change {
        Change::Reach { at, reach } => (*at, *reach),
        other => panic!("{other:?}"),
    };
    let changes: Vec<(Duration, Reach)> = changes.iter().map(reach).collect();
    assert!(changes.is_sorted_by_key(|(at, _)| *at), "{changes:?}");
    changes.into_iter().map(|(_, reach)| reach).collect()
}

#[test]
fn lab_copies_a_mirror_alone_is_joined_again() {
    on_mounts_of_our_own(|folder| {
        let site = Site::mirror(folder, (WhenShort::Degrade, TIMEOUT));
        let file = site.head().mount_point().join("file");
        site.copies[1].freeze().unwrap();
        put(&file, 2);
        site.copies[1].cut_power(PowerCut::DropAll).unwrap();
        site.head().wait_whole(2, PATIENCE).unwrap();
        let reach = standing_alone(&site);
        assert_eq!(reach.last(), Some(&Reach::Enough), "{reach:?}");
        assert!(reach.contains(&Reach::Alone), "{reach:?}");
        put(&file, 3);
        // From now on the copy can show for a while that nothing is done without it.
        let is_proven = || standing(&site.copies[1]).touch == Some(Touch::Proven);
        wait_until("the copy is sure", is_proven);
        site.head().freeze().unwrap();
        site.fail_over_to(&[1]).expect("a takeover");
        assert_eq!(first_byte(&site.copies[1].mount_point().join("file")), 3);
    });
}

/// Under another head than before, and with a disk destroyed meanwhile.
#[test]
fn lab_copies_go_back_to_their_images_together() {
    on_mounts_of_our_own(|folder| {
        let site = Site::of(folder, 3, 2, (WhenShort::Block, TIMEOUT));
        let file = site.head().mount_point().join("file");
        let copies: Vec<&Volume> = site.copies.iter().collect();
        put(&file, 1);
        assert!(site.head().keep_image().is_err(), "one alone");
        Volume::keep_copies(&copies, PATIENCE).expect("images");
        for _ in 0..2 {
            put(&file, 2);
            site.head().freeze().unwrap();
            let takeover = site.fail_over_to(&[1, 2]).expect("a takeover");
            let leader = &site.copies[1 + takeover.chosen];
            put(&leader.mount_point().join("file"), 3);
            site.head().destroy().unwrap();
            let blocks = Volume::restore_copies(&copies, &site.group, PATIENCE).expect("images");
            assert!(blocks > 0);
            let head = standing(site.head());
            assert_eq!((head.is_head, head.whole_copies), (true, 3), "{head:?}");
            assert!(head.promised > takeover.generation, "{head:?}");
            assert_eq!(first_byte(&file), 1);
        }
        put(&file, 4);
        assert_eq!(first_byte(&file), 4);
    });
}

/// A flush that waits for copies out of reach ends when the power is cut, or the handle goes.
#[test]
fn lab_copies_out_of_reach_keep_nobody_hanging() {
    on_mounts_of_our_own(|folder| {
        let site = Site::mirror(folder, (WhenShort::Block, TIMEOUT));
        let file = site.head().mount_point().join("file");
        put(&file, 1);
        site.set_links(1, true);
        let flush = put_aside(&file, 2);
        wait_until("a flush is under way", || is_waiting(&flush));
        site.head().freeze().unwrap();
        let flushed = flush.join().unwrap();
        assert_eq!(code(flushed), Some(libc::EIO));
        site.head().cut_power(PowerCut::DropAll).unwrap();
        site.set_links(1, false);
        let group = &site.group;
        let again = group.lead(group.members[0], 2, false, PATIENCE);
        site.head().lead(&again).expect("a head again");
        put(&file, 3);
        site.set_links(1, true);
        let flush = put_aside(&file, 4);
        wait_until("a flush is under way", || is_waiting(&flush));
        drop(site);
        assert!(flush.join().unwrap().is_err());
    });
}

#[test]
fn lab_copies_head_killed_under_load_leaves_nothing_waiting() {
    on_mounts_of_our_own(|folder| {
        let site = Site::mirror(folder, (WhenShort::Block, TIMEOUT));
        let mount_point = site.head().mount_point();
        let done = AtomicU64::new(0);
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (path, done) = (mount_point.join(format!("file-{writer}")), &done);
                scope.spawn(move || write_until_error(&path, done));
            }
            wait_until("all write", || {
                done.load(Ordering::Relaxed) >= WRITERS as u64
            });
            kill(Pid::from_raw(site.head().pid() as i32), Signal::SIGKILL).unwrap();
        });
        assert!(site.head().check_alive().is_err());
        let takeover = site.fail_over_to(&[1]).expect("a takeover");
        assert!(takeover.is_alone);
        let files = fs::read_dir(site.copies[1].mount_point()).unwrap();
        assert!(files.count() >= WRITERS);
        let own = std::process::id() as i32;
        assert!(!children_of(own).into_iter().any(waits), "a hung process");
    });
}

fn waits(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned());
    state.is_some_and(|rest| rest.starts_with('D'))
}

fn write_until_error(path: &Path, done: &AtomicU64) {
    let write = |count: u64| {
        let file = File::create(path)?;
        file.write_all_at(&vec![count as u8; 1 << 20], 0)?;
        file.sync_all()
    };
    for count in 0.. {
        if write(count).is_err() {
            return;
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// The death of pid 1 under load, once with all copies, once while writes wait for one.
#[test]
fn lab_copies_go_with_pid_1() {
    let _lock = lab_lock();
    for test in ["copies::pid_1_with_copies", "copies::pid_1_with_too_few"] {
        let mut inside = Inside::start(test);
        assert_eq!(devices().len(), 1);
        inside.kill();
    }
}

#[test]
#[ignore = "what lab_copies_go_with_pid_1 kills"]
fn pid_1_with_copies() {
    if let Some(folder) = folder_inside() {
        load_for_ever(&Site::mirror(&folder, (WhenShort::Block, TIMEOUT)), || ());
    }
}

#[test]
#[ignore = "what lab_copies_go_with_pid_1 kills"]
fn pid_1_with_too_few() {
    if let Some(folder) = folder_inside() {
        let site = Site::mirror(&folder, (WhenShort::Block, TIMEOUT));
        load_for_ever(&site, || {
            site.copies[1].freeze().unwrap();
            wait_until("too few copies", || {
                standing(site.head()).reach == Some(Reach::Short)
            });
        });
    }
}

fn load_for_ever(site: &Site, then: impl FnOnce()) {
    let writers = AtomicU64::new(0);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let path = site.head().mount_point().join(format!("file-{writer}"));
            let writers = &writers;
            scope.spawn(move || write_for_ever(&path, writers));
        }
        let all = WRITERS as u64;
        wait_until("all write", || writers.load(Ordering::Relaxed) == all);
        then();
        say_at_work();
    });
}
