//! CPUs of servers: that they are where they were asked to be, and who waited for one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use acklab::lab::affinity;
use acklab::lab::slow_cpus::{Held, SlowCpu, SlowCpus, between};
use acklab::record::store::Record;
use acklab::record::{Measurement, Role};
use nix::time::{ClockId, clock_gettime};
use serde_json::Value;

use crate::common::program;
use crate::ground::{Ground, on_ground};
use crate::kills::{ENDLESS, Victim, kill_at, start_study, wait_for_record};
use crate::report::{check_cell, check_no_errors, number};
use crate::studies::report_of;

fn study(cpus: &str) -> String {
    format!(
        "sites = [\"a\", \"b\"]\nwarmup = \"0.1s\"\nmeasure = \"0.5s\"\ncpus = {cpus}\n\
         [[mode]]\nserver = \"mariadb\"\nmode = \"single\"\n\
         [[mode]]\nserver = \"mariadb\"\nmode = \"async\"\n\
         [[sweep]]\nworkload = \"update_index\"\nconnections = 4\nrtt = \"0.25ms\"\n"
    )
}

/// The CPUs of each of this ground's servers, by the end of its data directory's node.
fn allowed(ground: &Ground) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for pid in ground.processes() {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}"));
        let line = read("cmdline").unwrap_or_default();
        let words: Vec<&str> = line.split('\0').collect();
        let folder = words.iter().find_map(|word| {
            let file = word.strip_prefix("--defaults-file=")?;
            file.strip_suffix("/my.cnf")?.rsplit('/').next()
        });
        let who = match (folder, words.get(1)) {
            (Some(node), _) => node.to_owned(),
            (None, Some(&verb @ ("switch" | "drive"))) => verb.to_owned(),
            _ => continue,
        };
        let status = read("status").unwrap_or_default();
        let list = status
            .lines()
            .find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
        let cpus = list.map(|list| list.trim().to_owned());
        found.entry(who).or_default().extend(cpus);
    }
    found
}

fn need_two_cpus() {
    let cpus = affinity::allowed().expect("CPUs").len();
    assert!(cpus > 1, "this test needs two CPUs");
}

#[test]
fn lab_writer_has_a_cpu_for_itself_and_the_others_share_the_rest() {
    need_two_cpus();
    on_ground("cpus: the writer alone", |ground| {
        let mut child = start_study(ground, &study("\"writer\""), "r.acklab", ENDLESS);
        wait_for_record(ground, &mut child, "r.acklab");
        let found = allowed(ground);
        kill_at(ground, child, Duration::ZERO, Victim::Everyone);
        let of = |who: &str| {
            let mut named = found.iter().filter(|(name, _)| name.ends_with(who));
            named
                .next()
                .map(|(_, cpus)| cpus.clone())
                .unwrap_or_default()
        };
        let writer = of("replication.a");
        assert!(writer.len() == 1, "{found:?}");
        for other in ["replication.b", "switch", "drive"] {
            let other = of(other);
            assert!(other.len() == 1 && other != writer, "{found:?}");
        }
    });
}

#[test]
fn lab_contention_of_each_role_is_in_the_report() {
    on_ground("cpus: contention", |ground| {
        let report = report_of(ground, &study("\"shared\""), &["--rounds", "1"]);
        assert_eq!(report.cells().len(), 2);
        for cell in report.cells() {
            check_cell(cell);
            check_no_errors(cell);
            let contention = &cell["contention"];
            for role in ["all", "writer", "client", "links", "emulators_cpu_share"] {
                let share = number(&contention[role]);
                assert!((0.0..1.0).contains(&share), "{role}: {contention}");
            }
            let has_replica = cell["mode"] == "async";
            assert_eq!(
                !contention["replicas"].is_null(),
                has_replica,
                "{contention}"
            );
            assert!(contention["disks"].is_null() && contention["own_cpus"].is_null());
        }
        let record = Record::open(&ground.work.join("r.acklab")).expect("a record");
        // Two ways to count the same, read one after the other.
        let scheduled = record.measurements.iter().flat_map(|one| &one.scheduled);
        let writers = scheduled.filter(|process| process.role == Role::Writer);
        let run_us: f64 = writers.map(|process| process.run_us).sum();
        let accounts = record.measurements.iter().map(|one| one.cpu.writer_us);
        let account_us: f64 = accounts.map(|us| us.expect("an account")).sum();
        assert!(
            (run_us / account_us - 1.0).abs() < 0.2,
            "{run_us} {account_us}"
        );
    });
}

/// The share of a CPU's time that a thread gets which does not rest.
fn share_of(cpu: u32) -> f64 {
    let burn = move || {
        affinity::keep_to(&[cpu]).expect("a CPU");
        let used_s = || {
            let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock");
            used.tv_sec() as f64 + used.tv_nsec() as f64 / 1e9
        };
        let (begun, from_s) = (Instant::now(), used_s());
        while begun.elapsed() < Duration::from_millis(500) {
            std::hint::spin_loop();
        }
        (used_s() - from_s) / begun.elapsed().as_secs_f64()
    };
    std::thread::spawn(burn).join().expect("a thread")
}

/// Others may be at work on this machine: they take from what is left, not from the holds. What was
/// held nobody else had.
fn is_half((held, left): &(Held, f64)) -> bool {
    (held.speed() - 0.5).abs() < 0.05 && *left < held.speed() + 0.1
}

/// Processes that hold CPUs.
fn holders() -> usize {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let is_one = |words: &String| words.split('\0').nth(1) == Some("slow-cpus");
    let lines = entries.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(is_one).count()
}

#[test]
fn lab_slow_cpus_leave_others_the_share_that_was_asked() {
    on_ground("cpus: held", |_| {
        let cpu = *affinity::allowed().expect("CPUs").last().expect("a CPU");
        let mut command = Command::new(program());
        command.arg("slow-cpus");
        let half = SlowCpu { cpu, speed: 0.5 };
        let mut slow = SlowCpus::start(command, &[half]).expect("a holder");
        assert_eq!(holders(), 1);
        let mut looks = (0..3).map(|_| {
            let from = slow.held().expect("an account");
            let left = share_of(cpu);
            let to = slow.held().expect("an account");
            let [held] = between(&from, &to)[..] else {
                panic!("one CPU: {to:?}");
            };
            eprintln!("{left} beside {held:?}");
            (held, left)
        });
        // A machine that stands still for a moment is not the holder's fault.
        let found = looks.find(is_half);
        let (_, left) = found.expect("half of a CPU held, and half left, at one of three looks");
        drop(slow);
        assert_eq!(holders(), 0);
        let mut most = 0.0_f64;
        let is_back = (0..20).any(|_| {
            most = most.max(share_of(cpu));
            most > 1.3 * left
        });
        assert!(is_back, "{most} after {left}");
    });
}

/// What the writer does takes CPU, and what it says little: else links and driver are the limit.
const SLOWER: &str = r#"
rounds = 3
warmup = "0.3s"
measure = "1s"
cpus = "writer"
[workload.hashes]
tool = "custom"
[[workload.hashes.transaction]]
name = "hash"
statement = ["SELECT BENCHMARK(2000, SHA2('acklab', 512))"]
[[mode]]
server = "mariadb"
mode = "single"
[[sweep]]
workload = "hashes"
connections = 8
rtt = "0.25ms"
cpu_speed = [1, { writer = 0.5 }]
"#;

fn transactions(measurement: &Measurement) -> f64 {
    (measurement.commits + measurement.unchanged) as f64
}

/// Transactions in a second.
fn rate(measurement: &Measurement) -> f64 {
    transactions(measurement) / measurement.window_s
}

/// Transactions for each second of CPU that the writer used: the same at any speed of its CPU.
/// The most of all rounds: who else is at work on this machine takes caches as well.
fn most_per_cpu_s<'a>(measurements: impl Iterator<Item = &'a Measurement>) -> f64 {
    let per_cpu_s = measurements.map(|one| {
        let writer_s = one.cpu.writer_us.expect("an account") / 1e6;
        transactions(one) / writer_s
    });
    per_cpu_s.fold(0.0, f64::max)
}

/// The CPUs that the writer had, in the median of its rounds.
fn median_cpus<'a>(measurements: impl Iterator<Item = &'a Measurement>) -> f64 {
    let cpus = measurements.map(|one| one.cpu.writer_us.expect("an account") / 1e6 / one.window_s);
    let mut cpus: Vec<f64> = cpus.collect();
    cpus.sort_by(f64::total_cmp);
    cpus[cpus.len() / 2]
}

/// What the writer has of its slower CPU, and what it does with it. How many transactions that are
/// in a second hangs on what the machine below has left, too.
fn check_slower_by_cpu_time(ground: &Ground) {
    let record = Record::open(&ground.work.join("r.acklab")).expect("a record");
    let of = |slow: bool| {
        let all = record.measurements.iter();
        all.filter(move |one| one.cpu_speed.is_some() == slow)
    };
    let (at_half, at_full) = (median_cpus(of(true)), median_cpus(of(false)));
    assert!(at_half < 0.6, "{at_half} CPUs");
    assert!(at_half < 0.8 * at_full, "{at_half} CPUs of {at_full}");
    let work = most_per_cpu_s(of(true)) / most_per_cpu_s(of(false));
    assert!((0.5..2.0).contains(&work), "{work}");
}

/// A measurement at full speed that comes right after a slower one is none of it.
fn check_full_speed_is_back(ground: &Ground, full_per_s: f64) {
    let record = Record::open(&ground.work.join("r.acklab")).expect("a record");
    let mut measured: Vec<&Measurement> = record.measurements.iter().collect();
    measured.sort_by_key(|measurement| measurement.started_unix_ms);
    let is_back = |pair: &&[&Measurement]| pair[0].cpu_speed.is_some();
    let after = measured.windows(2).filter(is_back).map(|pair| pair[1]);
    let after: Vec<&Measurement> = after.filter(|one| one.cpu_speed.is_none()).collect();
    // Others may be at work on this machine in one of them.
    let shares = after.iter().map(|one| rate(one) / full_per_s);
    let best = shares.fold(0.0, f64::max);
    assert!(best > 0.8, "{best} of {full_per_s}/s");
    for measurement in after {
        let mut processes = measurement.scheduled.iter();
        assert!(processes.all(|process| process.cpu_speed.is_none()));
    }
}

#[test]
fn lab_slower_cpus_slow_the_writer() {
    need_two_cpus();
    on_ground("cpus: a slower writer", |ground| {
        let report = report_of(ground, SLOWER, &[]);
        assert_eq!(report.cells().len(), 2);
        report.cells().iter().for_each(check_no_errors);
        let is_full = |cell: &Value| cell["cpu_speed"].is_null();
        let full = report.cell("at full speed", is_full);
        let slow = report.cell("of a slower writer", |cell| !is_full(cell));
        let per_s = |cell: &Value| number(&cell["throughput_per_s"]["median"]);
        let share = per_s(slow) / per_s(full);
        assert!(share < 0.8, "{share}");
        check_slower_by_cpu_time(ground);
        let got = |part: &str| number(&slow["cpu_speed_got"][part]);
        assert!((got("writer") - 0.5).abs() < 0.05, "{slow}");
        assert_eq!((got("replicas"), got("rest")), (1.0, 1.0), "{slow}");
        assert!(full["cpu_speed_got"].is_null(), "{full}");
        check_full_speed_is_back(ground, per_s(full));
        assert_eq!(holders(), 0);
    });
}

#[test]
fn lab_parts_that_share_cpus_cannot_be_of_different_speeds() {
    on_ground("cpus: at odds", |ground| {
        let text = SLOWER.replace("cpus = \"writer\"", "cpus = \"shared\"");
        let file = ground.file("study.toml", &text);
        let ended = ground.run(&["run", file, "--record", "r.acklab"]);
        ended.fails(2, &["cpu_speed", "writer and rest share CPUs here"]);
        assert!(!ground.work.join("r.acklab").exists());
        ground.nothing_left();
    });
}
