//! `break` and `judge`: from words to one record of several labs, and the same said again.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use acklab::record::store::Record;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::disk::{devices, no_device_is_left_but};
use crate::ground::{Ground, PATIENCE, on_ground};
use crate::kills::{Victim, kill_at};
use crate::power::volumes;

/// How often a campaign is killed, if nobody says how often.
const KILLS: u32 = 3;

/// The campaign of that fault on that row.
fn worth<'p>(page: &'p Value, fault: &str, label: &str) -> &'p Value {
    let mut all = page["worth"].as_array().expect("campaigns").iter();
    let is_it = |one: &&Value| one["fault"] == fault && one["label"] == label;
    all.find(is_it)
        .unwrap_or_else(|| panic!("no {fault} of {label}: {page:#}"))
}

fn trials(ground: &Ground, record: &str) -> usize {
    let path = ground.work.join(record);
    match path.exists() {
        true => acklab::run::trials(&Record::open(&path).expect("a record")),
        false => 0,
    }
}

/// Two labs one after the other: the second is a loose server's of its own, as a control.
#[test]
fn lab_break_says_what_a_commit_is_worth_and_judge_says_it_again() {
    on_ground("break: a killed server, and its controls", |ground| {
        let others = devices();
        let strict = ["break", "killed", "--server", "mysql", "--mode", "single"];
        let once = ["--trials", "1", "--no-price", "--format", "json"];
        let loose = "mysql single innodb_flush_log_at_trx_commit=2 sync_binlog=0";
        // A loose server flushes once a second: a cut that comes just after that takes nothing. Nor
        // is one a cut whose disk stopped late.
        let records = ["w1.acklab", "w2.acklab", "w3.acklab"];
        let mut all = records.iter().map(|record| {
            let run = ground.run(&[&strict[..], &once, &["--record", record]].concat());
            // A lab that does not come back has no page.
            let page = serde_json::from_str(&run.out).unwrap_or(Value::Null);
            (record, run, page)
        });
        let cuts = [("loose-power-cut", loose), ("link-cut", "mysql async")];
        let is_as_it_must =
            |page: &Value, (fault, label)| worth(page, fault, label)["control"] == "as-it-must";
        let takes_some =
            |page: &Value| !page.is_null() && cuts.iter().all(|cut| is_as_it_must(page, *cut));
        let found = all.find(|(_, _, page)| takes_some(page));
        let (record, run, page) = found.expect("a cut that takes something");
        ground.nothing_left();
        no_device_is_left_but(&others);
        assert_eq!(page["finished"], true);
        only_kills_between_commits_are_undecided(run.code, &page);
        let strict = worth(&page, "killed", "mysql single");
        assert_eq!(strict["lost"], 0);
        let is_clear = run.code == Some(0);
        assert!(!is_clear || strict["control"] == "as-it-must", "{strict:#}");
        let again = ground.run(&["judge", record, "--format", "json"]);
        assert_eq!((again.code, again.out), (run.code, run.out));
        let text = ground.run(&["report", record]).good();
        assert!(!is_clear || text.contains("controls fired"), "{text}");
    });
}

/// A kill that falls between two commits of a fast server leaves its trial undecided, and shows
/// nothing as a control; nothing else may be in doubt.
fn only_kills_between_commits_are_undecided(code: Option<i32>, page: &Value) {
    let campaigns = page["worth"].as_array().expect("campaigns").iter();
    let missing = campaigns.flat_map(|one| one["missing"].as_array().expect("doubts"));
    let missing: Vec<&str> = missing.filter_map(Value::as_str).collect();
    let is_known = |why: &&str| {
        why.contains("no commit was on its way") || *why == "the control killed was silent"
    };
    assert!(missing.iter().all(is_known), "{missing:?}");
    assert_eq!(code, Some(if missing.is_empty() { 0 } else { 3 }));
}

/// Killed at the second of its trials, it goes on with the third.
#[test]
fn lab_break_goes_on_where_it_was_killed() {
    on_ground("break: killed, and gone on with", |ground| {
        let words = [
            "break",
            "killed",
            "--server",
            "mariadb",
            "--mode",
            "single",
            "--trials",
            "4",
            "--no-price",
            "--record",
            "k.acklab",
        ];
        let mut running = ground.command(&words).spawn().expect("the program");
        let start = std::time::Instant::now();
        while trials(ground, "k.acklab") < 2 {
            assert!(start.elapsed() < PATIENCE * 4, "no trial came to its end");
            std::thread::sleep(Duration::from_millis(200));
        }
        let pid = Pid::from_raw(i32::try_from(running.id()).expect("a pid"));
        kill(pid, Signal::SIGKILL).expect("it runs");
        running.wait().expect("it ends");
        ground.nothing_left();
        let before = trials(ground, "k.acklab");
        assert!(before >= 2);
        // A kill that falls between two commits of a fast server leaves its trial undecided.
        let code = ground.run(&["break", "--resume", "k.acklab"]).code;
        assert!(matches!(code, Some(0 | 3)), "{code:?}");
        let record = Record::open(&ground.work.join("k.acklab")).expect("a record");
        assert!(record.finished && acklab::run::trials(&record) > before);
        assert_eq!(record.header.resumed.len(), 1);
        let counts = record.campaigns.values().flatten();
        let counts: Vec<usize> = counts.map(|one| one.light.trials.len()).collect();
        assert!(counts.iter().all(|trials| *trials <= 4), "{counts:?}");
    });
}

/// A campaign that has more trials than it will come to.
fn endless(ground: &Ground, record: &str) -> Child {
    let words = [
        "break",
        "killed",
        "--server",
        "mariadb",
        "--mode",
        "single",
        "--trials",
        "200",
        "--no-price",
        "--record",
        record,
    ];
    let mut command = ground.command(&words);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program")
}

/// Whoever is killed, and whenever: each trial that was kept before it is whole after it.
#[test]
fn lab_break_killed_at_any_moment_keeps_its_trials() {
    on_ground("break: killed at random moments", |ground| {
        let others = devices();
        let begin = Instant::now();
        let child = endless(ground, "first.acklab");
        while trials(ground, "first.acklab") < 2 {
            assert!(begin.elapsed() < PATIENCE * 4, "no trial came to its end");
            std::thread::sleep(Duration::from_millis(50));
        }
        let two_trials = begin.elapsed();
        kill_at(ground, child, Duration::ZERO, Victim::Everyone);
        let kills = std::env::var("ACKLAB_KILLS").map(|kills| kills.parse().expect("a number"));
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut kept = 0;
        let kills = kills.unwrap_or(KILLS);
        for number in 0..kills {
            // Without its first process a lab is over, and the next one is begun.
            let victim = [Victim::FrontEnd, Victim::Everyone][number as usize % 2];
            let record = format!("{number}.acklab");
            let child = endless(ground, &record);
            std::thread::sleep(two_trials.mul_f64(random.random_range(0.3..1.8)));
            // The last one dies at a trial, whenever that comes.
            let begin = Instant::now();
            while number + 1 == kills && trials(ground, &record) < 1 {
                assert!(begin.elapsed() < PATIENCE * 4, "no trial came to its end");
                std::thread::sleep(Duration::from_millis(50));
            }
            let before = trials(ground, &record);
            kill_at(ground, child, Duration::ZERO, victim);
            no_device_is_left_but(&others);
            let after = whole_trials(ground, &record);
            assert!(after >= before, "{victim:?}: {after} of {before} trials");
            kept += after;
        }
        assert!(kept > 0, "never at a trial");
    });
}

/// A lab that cannot be brought back is a breakdown: finished trials are kept, and judged.
#[test]
fn lab_break_whose_disk_dies_ends_and_keeps_its_trials() {
    on_ground("break: a volume is killed", |ground| {
        let others = devices();
        let mut child = endless(ground, "v.acklab");
        let begin = Instant::now();
        while trials(ground, "v.acklab") < 2 {
            assert!(begin.elapsed() < PATIENCE * 4, "no trial came to its end");
            std::thread::sleep(Duration::from_millis(50));
        }
        let before = trials(ground, "v.acklab");
        assert!(!volumes(ground).is_empty());
        let killed = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a status") {
                break status;
            }
            assert!(killed.elapsed() < PATIENCE * 4, "the campaign goes on");
            // Labs stand one after the other: the next one's disks die, too.
            for volume in volumes(ground) {
                // It may have ended by itself.
                let _ = kill(Pid::from_raw(volume), Signal::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        assert_eq!(status.code(), Some(4));
        ground.nothing_left();
        no_device_is_left_but(&others);
        assert!(whole_trials(ground, "v.acklab") >= before);
        let page = ground.run(&["judge", "v.acklab", "--format", "json"]);
        let page: Value = serde_json::from_str(&page.out).expect("JSON");
        assert_eq!(page["finished"], false);
    });
}

/// How many of a record can be read in all their parts.
fn whole_trials(ground: &Ground, record: &str) -> usize {
    let path = ground.work.join(record);
    if !path.exists() {
        return 0;
    }
    let record = Record::open(&path).expect("a record");
    let campaigns = record.campaigns.values().flatten();
    let whole = campaigns.map(|one| one.unpacked().expect("whole trials").trials.len());
    whole.sum()
}
