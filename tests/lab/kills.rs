//! SIGKILL at any moment leaves no process, interface, mount or half record; Ctrl-C keeps what is
//! finished.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::disk::{devices, no_device_is_left_but};
use crate::ground::{Ground, PATIENCE, on_ground};
use crate::report::{Report, check_accounts};

const SEED: u64 = 7;
/// Kills while it would have gone on for an hour, so that its end is the kill's doing…
const KILLS_BEFORE_THE_END: u32 = 9;
/// …and about the end of a short run, when the record is finished and the report printed.
const KILLS_ABOUT_THE_END: u32 = 3;
pub const ENDLESS: u64 = 1000;
const SHORT: u64 = 2;
const CELLS_OF_A_ROUND: u64 = 3;

const STUDY: &str = r#"
warmup = "0.1s"
measure = "0.2s"
sites = ["a", "b"]
[[mode]]
server = "mariadb"
mode = "async"
[[sweep]]
workload = "update_index"
rtt = ["0.25ms", "1ms", "2ms"]
"#;

/// On emulated disks, under as much load as they take: a replica with a disk of its own, and a
/// volume in two copies.
const MODES_ON_DISKS: [&str; 2] = ["async", "mirror"];

fn study_on_disks(mode: &str) -> String {
    let head = "warmup = \"0.1s\"\nmeasure = \"0.2s\"\nsites = [\"a\", \"b\"]\n[[mode]]\n";
    let rest = r#"
[mode.variables]
sync_binlog = 0
[workload.inserts]
tool = "sysbench"
load = "insert"
table_size = 100
[[sweep]]
workload = "inserts"
rtt = "0.25ms"
connections = [16, 32, 64]
flush = "0.2ms"
"#;
    format!("{head}server = \"mariadb\"\nmode = \"{mode}\"{rest}")
}

fn start(ground: &Ground, record: &str, rounds: u64) -> Child {
    start_study(ground, STUDY, record, rounds)
}

pub fn start_study(ground: &Ground, text: &str, record: &str, rounds: u64) -> Child {
    let mut command = command_of(ground, text, record, rounds);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program")
}

/// The same, and what it says can be read.
pub fn start_study_told(ground: &Ground, text: &str, record: &str, rounds: u64) -> Child {
    let mut command = command_of(ground, text, record, rounds);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the program")
}

fn command_of(ground: &Ground, text: &str, record: &str, rounds: u64) -> Command {
    let study = ground.file("study.toml", text);
    let rounds = rounds.to_string();
    ground.command(&["run", study, "--record", record, "--rounds", &rounds])
}

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Victim {
    /// The process that the user started: the rest must notice.
    FrontEnd,
    /// The keeper, then pid 1, then the front end: nobody is left to clean up but the next command.
    Everyone,
    /// Pid 1 of the sandbox: the keeper cleans up, the front end tells.
    First,
}

#[test]
fn lab_kill_at_random_moments_leaves_nothing() {
    on_ground("kill at random moments", |ground| {
        let begin = Instant::now();
        let mut whole = start(ground, "whole.acklab", SHORT);
        wait_for_record(ground, &mut whole, "whole.acklab");
        let first_cell = begin.elapsed();
        assert!(whole.wait().expect("an end").success());
        let length = begin.elapsed();
        ground.nothing_left();
        let mut random = ChaCha8Rng::seed_from_u64(SEED);
        // One in each part of the time, so that none is left out.
        let mut moments = |count: u32, from: Duration, to: Duration| -> Vec<Duration> {
            let mut share = |at: u32| (f64::from(at) + random.random::<f64>()) / f64::from(count);
            (0..count)
                .map(|at| from + (to - from).mul_f64(share(at)))
                .collect()
        };
        let long = moments(
            KILLS_BEFORE_THE_END,
            Duration::ZERO,
            first_cell.mul_f64(1.6),
        );
        let late = moments(
            KILLS_ABOUT_THE_END,
            length.mul_f64(0.9),
            length.mul_f64(1.05),
        );
        let all = long.iter().map(|moment| (ENDLESS, moment));
        let all = all.chain(late.iter().map(|moment| (SHORT, moment)));
        let mut records = 0;
        for (number, (rounds, moment)) in all.enumerate() {
            let victim = [Victim::FrontEnd, Victim::Everyone, Victim::First][number % 3];
            let record = format!("{number}.acklab");
            kill_at(ground, start(ground, &record, rounds), *moment, victim);
            records += u32::from(is_whole_or_absent(ground, &record, rounds));
        }
        let kills = KILLS_BEFORE_THE_END + KILLS_ABOUT_THE_END;
        assert!(
            (1..kills).contains(&records),
            "{records} records: moments all alike"
        );
    });
}

/// With disks there is more that could be left: loop devices, mounts, whoever waits for a disk.
#[test]
fn lab_kill_under_write_load_on_disks_leaves_nothing() {
    on_ground("kill under write load on disks", |ground| {
        let others = devices();
        let studies = MODES_ON_DISKS.map(|mode| {
            let study = study_on_disks(mode);
            let (begin, record) = (Instant::now(), format!("{mode}.acklab"));
            let mut child = start_study(ground, &study, &record, ENDLESS);
            wait_for_record(ground, &mut child, &record);
            let first_cell = begin.elapsed();
            kill_at(ground, child, Duration::ZERO, Victim::First);
            (study, first_cell)
        });
        let mut random = ChaCha8Rng::seed_from_u64(SEED);
        let kills = KILLS_BEFORE_THE_END + KILLS_ABOUT_THE_END;
        let mut records = 0;
        for number in 0..kills {
            let victim = [Victim::FrontEnd, Victim::Everyone, Victim::First][number as usize % 3];
            let (study, first_cell) = &studies[number as usize % studies.len()];
            let record = format!("{number}.acklab");
            let child = start_study(ground, study, &record, ENDLESS);
            // Every fifth while labs are formed, the others under load.
            let share = match number % 5 {
                0 => random.random_range(0.0..0.9),
                _ => random.random_range(0.9..1.4),
            };
            kill_at(ground, child, first_cell.mul_f64(share), victim);
            no_device_is_left_but(&others);
            records += u32::from(ground.work.join(&record).exists());
        }
        assert!((1..=kills).contains(&records), "never under load");
    });
}

pub fn wait_for_record(ground: &Ground, child: &mut Child, record: &str) {
    let begin = Instant::now();
    while !ground.work.join(record).exists() {
        assert!(begin.elapsed() < PATIENCE, "no record");
        assert!(
            child.try_wait().expect("a status").is_none(),
            "ended without a record"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn kill_at(ground: &Ground, mut child: Child, delay: Duration, victim: Victim) {
    std::thread::sleep(delay); // the moment is the test
    let front = Pid::from_raw(child.id() as i32);
    let inner = inner_pids(ground, victim);
    for pid in &inner {
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
    let was_running = child.try_wait().expect("a status").is_none();
    if victim != Victim::First || inner.is_empty() {
        let _ = kill(front, Signal::SIGKILL);
    }
    let status = child.wait().expect("an end");
    let told = (status.signal(), status.code());
    let is_told = matches!(told, (Some(9), _) | (_, Some(4))) || !was_running || told.1 == Some(0);
    assert!(is_told, "{victim:?} after {delay:?}: {status}");
    if victim == Victim::Everyone {
        // The next command finds the folder that nobody holds.
        wait_for_no_process(ground);
        ground.run(&["status"]).fails(2, &["no lab is up"]);
        assert_eq!(
            ground.run_folders(),
            Vec::<std::path::PathBuf>::new(),
            "after {delay:?}"
        );
    }
    ground.nothing_left();
}

/// Pid 1 and, if everyone is to be killed, its parent before it.
fn inner_pids(ground: &Ground, victim: Victim) -> Vec<i32> {
    if victim == Victim::FrontEnd {
        return Vec::new();
    }
    let folder = ground.run_folders().into_iter().next();
    let Some(first) = folder.and_then(|folder| ground.first_pid(&folder)) else {
        return Vec::new();
    };
    let keeper = parent(first).filter(|_| victim == Victim::Everyone);
    keeper.into_iter().chain([first]).collect()
}

fn parent(pid: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

fn wait_for_no_process(ground: &Ground) {
    let start = Instant::now();
    while !ground.processes().is_empty() {
        assert!(start.elapsed() < PATIENCE, "{:?}", ground.processes());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A record that is there can be read and holds whole measurements only; nothing lies beside it.
fn is_whole_or_absent(ground: &Ground, record: &str, rounds: u64) -> bool {
    let path = ground.work.join(record);
    if path.exists() {
        let report = ground.json(record);
        let count = report["measurements"].as_u64().expect("a count");
        let all = rounds * CELLS_OF_A_ROUND;
        assert!((1..=all).contains(&count), "{count}");
        let is_finished = report["finished"] == true;
        assert!(!is_finished || count == all, "finished with {count}");
        check_measured(&report, count);
    }
    assert_eq!(beside(&ground.work, record), Vec::<String>::new());
    path.exists()
}

/// Every measurement that is counted has its figures.
fn check_measured(report: &Value, count: u64) {
    let report = Report(report.clone());
    let measured = report
        .cells()
        .iter()
        .filter(|cell| cell["rounds"].as_u64() > Some(0));
    let measured: Vec<&Value> = measured.collect();
    let rounds = measured.iter().filter_map(|cell| cell["rounds"].as_u64());
    let void = report
        .cells()
        .iter()
        .filter_map(|cell| cell["rounds_void"].as_u64());
    assert_eq!(rounds.sum::<u64>() + void.sum::<u64>(), count);
    // A window of a busy machine may have met no commit.
    let has_commits = |cell: &&Value| cell["latency_us"]["samples"].as_f64() > Some(0.0);
    let whole = |cell: &&Value| cell["rounds_void"] == 0 && has_commits(cell);
    measured.into_iter().filter(whole).for_each(check_accounts);
}

/// Files whose names begin with the record's, the record itself left out.
fn beside(folder: &Path, record: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the working folder").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_beside = |name: &String| name.contains(record) && name != record;
    names.filter(is_beside).collect()
}

#[test]
fn lab_interrupt_keeps_finished_cells() {
    on_ground("interrupt", |ground| {
        let mut child = start(ground, "r.acklab", ENDLESS);
        wait_for_record(ground, &mut child, "r.acklab");
        kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a request to stop");
        assert_eq!(child.wait().expect("an end").code(), Some(130));
        ground.nothing_left();
        assert!(is_whole_or_absent(ground, "r.acklab", ENDLESS));
        let report = ground.json("r.acklab");
        assert_eq!(report["finished"], false);
        let text = ground.run(&["report", "r.acklab"]).good();
        assert!(
            text.contains("PARTIAL") && text.contains("of 3000 measurements"),
            "{text}"
        );
    });
}

/// As a scheduler does to a job that it ends: SIGTERM to all of its processes.
#[test]
fn lab_terminate_all_processes_keeps_finished_cells() {
    on_ground("terminate", |ground| {
        let mut child = start(ground, "r.acklab", ENDLESS);
        wait_for_record(ground, &mut child, "r.acklab");
        let all = ground.processes();
        assert!(all.len() > 4, "{all:?}");
        for pid in all {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        assert_eq!(child.wait().expect("an end").code(), Some(130));
        assert_eq!(ground.run_folders(), Vec::<std::path::PathBuf>::new());
        ground.nothing_left();
        assert!(is_whole_or_absent(ground, "r.acklab", ENDLESS));
        assert_eq!(ground.json("r.acklab")["finished"], false);
    });
}

/// Before the first cell there is nothing to keep.
#[test]
fn lab_interrupt_before_the_first_cell_leaves_no_record() {
    on_ground("interrupt early", |ground| {
        let mut child = start(ground, "r.acklab", SHORT);
        let begin = Instant::now();
        let has_pid = |folder: &std::path::PathBuf| ground.first_pid(folder).is_some();
        while !ground.run_folders().iter().any(has_pid) {
            assert!(begin.elapsed() < PATIENCE, "no sandbox");
            std::thread::sleep(Duration::from_millis(2));
        }
        kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a request to stop");
        assert_eq!(child.wait().expect("an end").code(), Some(130));
        ground.nothing_left();
        assert!(!ground.work.join("r.acklab").exists());
    });
}
