//! Volumes that end with their handle or with pid 1.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use acklab::study::disk::{Disk, PowerCut};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

use super::disk::{
    BLOCK_BYTES, Block, PATIENCE, SEED, WRITERS, code, devices, direct, load_until_cut,
    no_device_is_left, on_mounts_of_our_own, spec, start, wait_until, write_block,
};
use crate::common::lab_lock;

/// Kills of pid 1 at moments of chance.
const KILLS: u64 = 20;

/// Still in use at its end, a volume goes all the same.
#[test]
fn lab_disk_in_use_goes_with_its_handle() {
    on_mounts_of_our_own(|folder| {
        let volume = start(spec(folder, Disk::default())).expect("a volume");
        let file = direct(&volume.mount_point().join("file"));
        write_block(&file, 1);
        drop(volume);
        let written = file.write_all_at(&Block([2; BLOCK_BYTES]).0, 0);
        assert!(code(written).is_some());
    });
}

/// The death of pid 1 under full load, which is as much as a node can write.
#[test]
fn lab_disk_goes_with_pid_1() {
    let _lock = lab_lock();
    let mut inside = Inside::start("disk_lifetimes::pid_1_with_volumes_under_load");
    assert_eq!(devices().len(), 2);
    let start = Instant::now();
    inside.kill();
    let took_ms = start.elapsed().as_millis();
    let _ = writeln!(io::stderr(), "gone with pid 1 after {took_ms} ms");
}

/// The same at moments of chance, while volumes come, are cut and go. Every other time the volumes
/// themselves die first, so that whoever waits for one of them is let go.
#[test]
fn lab_disk_goes_with_pid_1_at_random_moments() {
    let _lock = lab_lock();
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut volumes = 0;
    for number in 0..KILLS {
        let mut inside = Inside::start("disk_lifetimes::pid_1_with_volumes_that_come_and_go");
        thread::sleep(Duration::from_millis(random.random_range(0..1_000))); // the test
        if number % 2 == 1 {
            volumes += inside.kill_volumes();
        }
        inside.kill();
    }
    assert!(volumes > 0, "no volume was killed");
}

/// Another run of this program, as pid 1 of namespaces of its own.
pub struct Inside {
    outside: Child,
    first: Pid,
    _folder: TempDir,
}

impl Inside {
    /// Starts a test there, and waits until it says that it is at work.
    pub fn start(test: &str) -> Inside {
        let folder = TempDir::new().expect("a folder");
        let own = std::env::current_exe().expect("this program");
        let mut command = Command::new("unshare");
        command
            .args(["--pid", "--fork", "--mount", "--mount-proc", "--kill-child"])
            .arg(own)
            .args(["--ignored", "--exact", "--nocapture", test])
            .env(FOLDER, folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        let mut outside = command.spawn().expect("unshare");
        let output = BufReader::new(outside.stdout.take().expect("piped"));
        let mut lines = output.lines().map_while(io::Result::ok);
        assert!(lines.any(|line| line == AT_WORK), "it never got there");
        let children = children_of(outside.id() as i32);
        let [first] = children[..] else {
            panic!("{children:?}");
        };
        Inside {
            outside,
            first: Pid::from_raw(first),
            _folder: folder,
        }
    }

    /// How many there were.
    fn kill_volumes(&self) -> usize {
        let is_volume = |pid: &i32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words == b"acklab\0volume\0"
        };
        let mut volumes = children_of(self.first.as_raw());
        volumes.retain(is_volume);
        for pid in &volumes {
            // It may have ended by itself meanwhile.
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
        volumes.len()
    }

    /// Pid 1 can only be reaped when all in its namespace have ended, whatever they waited for.
    pub fn kill(&mut self) {
        kill(self.first, Signal::SIGKILL).expect("a kill");
        let start = Instant::now();
        while self.outside.try_wait().expect("a status").is_none() {
            assert!(start.elapsed() < PATIENCE, "something cannot be killed");
            thread::sleep(Duration::from_millis(1));
        }
        no_device_is_left();
    }
}

/// Children of all threads.
pub fn children_of(pid: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter();
    let files = tasks.flatten().flatten().map(|task| task.path());
    let texts = files.filter_map(|path| fs::read_to_string(path.join("children")).ok());
    let text: String = texts.collect();
    let pids = text.split_whitespace().map(str::parse);
    pids.collect::<std::result::Result<_, _>>().expect("pids")
}

/// What pid 1 says when it is worth killing.
const AT_WORK: &str = "at work";
/// Names the folder in which it mounts.
const FOLDER: &str = "ACKLAB_TEST_FOLDER";

/// Past the test harness, which would hold it back.
pub fn say_at_work() {
    let _ = writeln!(io::stdout(), "\n{AT_WORK}");
}

/// None unless this is a run inside: else it would go on for ever.
pub fn folder_inside() -> Option<PathBuf> {
    let is_inside = std::process::id() == 1;
    is_inside.then(|| PathBuf::from(std::env::var_os(FOLDER).expect(FOLDER)))
}

#[test]
#[ignore = "what lab_disk_goes_with_pid_1 kills"]
fn pid_1_with_volumes_under_load() {
    let Some(folder) = folder_inside() else {
        return;
    };
    let volumes = ["one", "two"].map(|name| {
        let mut spec = spec(&folder, Disk::default());
        spec.mount_point = folder.join(name);
        start(spec).expect("a volume")
    });
    let writers = AtomicU64::new(0);
    thread::scope(|scope| {
        for volume in &volumes {
            for writer in 0..WRITERS {
                let path = volume.mount_point().join(format!("file-{writer}"));
                let writers = &writers;
                scope.spawn(move || write_for_ever(&path, writers));
            }
        }
        let all = (volumes.len() * WRITERS) as u64;
        wait_until("all write", || writers.load(Ordering::Relaxed) == all);
        say_at_work();
    });
}

pub fn write_for_ever(path: &Path, writers: &AtomicU64) {
    let file = File::create(path).expect("a file");
    let data = vec![7; 1 << 20];
    for count in 0.. {
        file.write_all_at(&data, count % 8 * (1 << 20))
            .expect("a write");
        file.sync_data().expect("a flush");
        if count == 0 {
            writers.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
#[ignore = "what lab_disk_goes_with_pid_1_at_random_moments kills"]
fn pid_1_with_volumes_that_come_and_go() {
    let Some(folder) = folder_inside() else {
        return;
    };
    say_at_work();
    loop {
        // Each step may fail: whoever kills us begins with the volumes.
        if let Ok(volume) = start(spec(&folder, Disk::default())) {
            load_until_cut(&volume, Duration::from_millis(100));
            let _ = volume.cut_power(PowerCut::DropAll);
        }
    }
}
