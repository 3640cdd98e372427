//! What is left of acknowledged commits: power cuts and SIGKILLs on single volumes, and volumes
//! that die on their own.

use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::disk::{devices, no_device_is_left_but};
use crate::ground::{Ground, PATIENCE, on_ground, with_lab};

static RECORDS: AtomicU32 = AtomicU32::new(0);

/// How often each server is ended in each way, unless `ACKLAB_CUTS` says more.
const CUTS: &str = "3";
/// A cluster, of which each node takes over the others' state after each trial.
const CLUSTER_CUTS: &str = "2";

/// Near enough for a slow mode to acknowledge 1,000 commits in so few trials.
const NEAR: [&str; 2] = ["--rtt", "0.1ms"];

fn cuts(otherwise: &str) -> String {
    std::env::var("ACKLAB_CUTS").unwrap_or_else(|_| otherwise.to_owned())
}

/// The rows of a trial, by settings and fault.
struct Trial(Value);

impl Trial {
    fn run(ground: &Ground, more: &[&str]) -> Trial {
        Trial::of(ground, &cuts(CUTS), more)
    }

    /// Each trial is kept, and the record tells the same.
    fn of(ground: &Ground, cuts: &str, more: &[&str]) -> Trial {
        let others = devices();
        let record = format!("trials-{}.acklab", RECORDS.fetch_add(1, Ordering::Relaxed));
        let mut words = vec!["power-cut", "--format", "json", "--cuts", cuts];
        words.extend(["--record", &record]);
        words.extend(more);
        let text = ground.run(&words).good();
        ground.nothing_left();
        no_device_is_left_but(&others);
        let told: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(ground.json(&record), told);
        Trial(told)
    }

    fn count(&self, flush_log: u64, is_cut: bool, what: &str) -> u64 {
        let series = self.0["series"].as_array().expect("series");
        let is_it = |series: &&Value| {
            series["flush_log"] == flush_log && (series["fault"]["cause"] != "kill") == is_cut
        };
        let series = series.iter().find(is_it).expect("a series");
        series[what].as_u64().unwrap_or_else(|| panic!("{series}"))
    }
}

fn commits_left(server: &str) {
    on_ground(&format!("{server}: power cuts and SIGKILLs"), |ground| {
        let trial = Trial::run(ground, &["--server", server]);
        for (flush_log, is_cut) in [(2, true), (2, false), (1, true), (1, false)] {
            let count = |what| trial.count(flush_log, is_cut, what);
            eprintln!(
                "{server}, flush_log {flush_log}, {}: {} acknowledged, {} lost, {} recovered",
                if is_cut { "power cut" } else { "SIGKILL" },
                count("acknowledged"),
                count("lost"),
                count("recovered"),
            );
            assert_eq!(count("trials").to_string(), cuts(CUTS));
            assert!(count("acknowledged") > 100);
            assert_eq!(count("phantom"), 0);
            // Only what was not flushed before the client was told can be lost.
            let may_lose = flush_log == 2 && is_cut;
            assert_eq!(count("lost") > 0, may_lose, "{:#}", trial.0);
            let apart = count("only_in_table") + count("only_in_log");
            assert!(apart == 0 || may_lose, "{:#}", trial.0);
            assert!(is_cut || count("dropped_writes") == 0);
        }
    });
}

#[test]
fn lab_power_cuts_take_what_mysql_did_not_flush() {
    commits_left("mysql");
}

#[test]
fn lab_power_cuts_take_what_mariadb_did_not_flush() {
    commits_left("mariadb");
}

/// Whatever the disk makes of what was not flushed, strict settings keep their promise.
#[test]
fn lab_power_cuts_of_every_kind_leave_what_was_flushed() {
    on_ground("power cuts of every kind", |ground| {
        for cut in ["keep-all", "random", "torn-512", "torn-4k"] {
            let strict = ["--flush-log", "1", "--sync-binlog", "1"];
            let chosen = ["--fault", "power-cut", "--cut", cut];
            let trial = Trial::run(ground, &[strict, chosen].concat());
            assert_eq!(trial.count(1, true, "lost"), 0, "{cut}");
            assert_eq!(trial.count(1, true, "phantom"), 0, "{cut}");
        }
    });
}

const STUDY: &str = r#"
warmup = "0.1s"
measure = "0.2s"
[images]
place = "memory"
[[mode]]
server = "mariadb"
mode = "async"
nodes = 2
[[sweep]]
workload = "update_index"
rtt = "0.25ms"
connections = [1, 4]
flush = "0.1ms"
"#;

/// The study says so and ends; what was measured is kept.
#[test]
fn lab_power_volume_killed_ends_the_study_and_keeps_its_cells() {
    on_ground("a volume is killed under load", |ground| {
        let others = devices();
        let study = ground.file("study.toml", STUDY);
        let words = ["run", study, "--record", "r.acklab", "--rounds", "1000"];
        let mut command = ground.command(&words);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = child.spawn().expect("the program");
        let start = Instant::now();
        while !ground.work.join("r.acklab").exists() {
            assert!(start.elapsed() < PATIENCE, "no record");
            assert!(child.try_wait().expect("a status").is_none(), "no record");
            std::thread::sleep(Duration::from_millis(5));
        }
        let volumes = volumes(ground);
        assert_eq!(volumes.len(), 2);
        kill(Pid::from_raw(volumes[0]), Signal::SIGKILL).expect("a kill");
        let start = Instant::now();
        while child.try_wait().expect("a status").is_none() {
            assert!(start.elapsed() < PATIENCE, "the study goes on");
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = child.wait_with_output().expect("its output");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{told}");
        assert!(
            told.contains("volume") && told.contains("SIGKILL"),
            "{told}"
        );
        ground.nothing_left();
        no_device_is_left_but(&others);
        let report = ground.json("r.acklab");
        assert!(report["measurements"].as_u64() > Some(0), "{report}");
        assert_eq!(report["finished"], false);
    });
}

fn volumes(ground: &Ground) -> Vec<i32> {
    let is_volume = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words == b"acklab\0volume\0"
    };
    ground.processes().into_iter().filter(is_volume).collect()
}

/// Nothing is begun where images cannot be held.
#[test]
fn lab_power_images_without_room_are_refused() {
    on_ground("images larger than what is free", |ground| {
        let huge = STUDY.replace("place = \"memory\"", "size = \"900GB\"");
        let huge = ground.file("huge.toml", &huge);
        let parts = ["this machine's memory", "given 2, ", "are free"];
        ground.run(&["run", huge]).fails(2, &parts);
        let folder = ground.work.join("images");
        fs::create_dir(&folder).expect("a folder");
        let flags = MsFlags::empty();
        mount(
            Some("tmpfs"),
            &folder,
            Some("tmpfs"),
            flags,
            Some("size=300m"),
        )
        .expect("a tmpfs");
        let place = format!("place = \"{}\"", folder.display());
        let text = STUDY.replace("place = \"memory\"", &place);
        let small = ground.file("small.toml", &text);
        let parts = [
            &folder.display().to_string(),
            "300 MiB are free",
            "another folder",
        ];
        ground.run(&["run", small]).fails(2, &parts);
        umount2(&folder, MntFlags::empty()).expect("nobody holds it");
        let absent = text.replace("/images\"", "/absent\"");
        let absent = ground.file("absent.toml", &absent);
        ground
            .run(&["run", absent])
            .fails(2, &["/absent", "a folder"]);
        ground.nothing_left();
    });
}

/// The rows of a trial in which the writer's site is lost.
fn site_losses(ground: &Ground, mode: &[&str]) -> Value {
    let strict = ["--flush-log", "1", "--sync-binlog", "1"];
    let trial = Trial::run(ground, &[mode, &strict, &NEAR].concat());
    let series = trial.0["series"][0].clone();
    let count = |what: &str| series[what].as_u64().expect("a count");
    eprintln!(
        "{}: {} acknowledged, {} lost",
        mode.join(" "),
        count("acknowledged"),
        count("lost")
    );
    assert_eq!(series["fault"]["scope"], "site", "{series:#}");
    assert!(
        count("acknowledged") > 20 && count("in_flight") > 0,
        "{series:#}"
    );
    assert_eq!((count("phantom"), count("no_start")), (0, 0), "{series:#}");
    series
}

/// A copy elsewhere takes over, with all that was acknowledged.
#[test]
fn lab_power_site_lost_under_a_mirror_or_a_quorum_takes_nothing_acknowledged() {
    on_ground("lost sites", |ground| {
        for mode in [&["--mode", "mirror"][..], &["--mode", "quorum"]] {
            let series = site_losses(ground, mode);
            assert_eq!(series["lost"], 0, "{series:#}");
            assert_eq!(series["verdict"], "kept", "{series:#}");
        }
    });
}

/// Two copies stand in the writer's own site: they alone are enough, and are lost with it.
#[test]
fn lab_power_site_lost_with_too_small_a_quorum_takes_what_was_acknowledged() {
    on_ground("lost sites", |ground| {
        let series = site_losses(ground, &["--mode", "quorum", "--write-quorum", "2"]);
        assert!(series["lost"].as_u64() > Some(0), "{series:#}");
        assert_eq!(series["verdict"], "lost-no-promise", "{series:#}");
    });
}

/// A source that flushes nothing is lost with its site. What its replica acknowledged is there;
/// without acknowledgement it had gone on for itself.
#[test]
fn lab_power_source_lost_under_semisync_takes_nothing_acknowledged_and_under_async_some() {
    on_ground("lost sources", |ground| {
        let loose = ["--flush-log", "2", "--sync-binlog", "0"];
        for (mode, is_kept) in [("semisync", true), ("async", false)] {
            let words = [&["--mode", mode][..], &loose, &NEAR].concat();
            let trial = Trial::run(ground, &words);
            let series = &trial.0["series"][0];
            let count = |what: &str| series[what].as_u64().expect("a count");
            eprintln!(
                "{mode}: {} acknowledged, {} lost",
                count("acknowledged"),
                count("lost")
            );
            assert_eq!(series["fault"]["scope"], "site", "{series:#}");
            assert!(
                count("acknowledged") > 20 && count("phantom") == 0,
                "{series:#}"
            );
            assert_eq!(count("lost") == 0, is_kept, "{series:#}");
            let verdict = if is_kept { "kept" } else { "lost-no-promise" };
            assert_eq!(series["verdict"], verdict, "{series:#}");
        }
    });
}

/// The row of a cluster's loss of that kind, and how many acknowledged commits are lost.
fn cluster_series(trial: &Trial, scope: &str) -> (Value, u64) {
    let series = trial.0["series"].as_array().expect("series");
    let is_it = |series: &&Value| series["fault"]["scope"] == scope;
    let series = series.iter().find(is_it).expect("a series").clone();
    let count = |what: &str| series[what].as_u64().expect("a count");
    let (acknowledged, lost) = (count("acknowledged"), count("lost"));
    let dropped = count("dropped_writes");
    eprintln!(
        "galera, {scope}: {acknowledged} acknowledged, {lost} lost, {dropped} writes dropped"
    );
    assert!(acknowledged > 20, "{series:#}");
    assert_eq!((count("phantom"), count("no_start")), (0, 0), "{series:#}");
    (series, lost)
}

/// What one node acknowledged the others have, though nobody has flushed it. With all of them it
/// is gone, but for what is flushed before a client is told.
#[test]
fn lab_power_galera_outlives_one_node_and_all_of_them_only_as_far_as_they_flush() {
    on_ground("lost nodes and clusters", |ground| {
        let mode = ["--server", "mariadb", "--mode", "galera"];
        let loose = ["--flush-log", "2", "--sync-binlog", "0"];
        let run = |words: &[&str]| {
            Trial::of(
                ground,
                &cuts(CLUSTER_CUTS),
                &[&mode[..], &NEAR, words].concat(),
            )
        };
        let trial = run(&loose);
        let (one, lost) = cluster_series(&trial, "node");
        assert_eq!((&one["verdict"], lost), (&"kept".into(), 0), "{one:#}");
        let (all, lost) = cluster_series(&trial, "all");
        assert!(lost > 0, "{all:#}");
        assert_eq!(all["verdict"], "lost-no-promise", "{all:#}");
        let strict = ["--flush-log", "1", "--sync-binlog", "1"];
        let chosen = ["--fault", "cluster-loss"];
        let trial = run(&[&strict[..], &chosen].concat());
        let (all, lost) = cluster_series(&trial, "all");
        assert_eq!((&all["verdict"], lost), (&"kept".into(), 0), "{all:#}");
    });
}

const COMPRESSED: &str = r#"
rounds = 1
warmup = "0.1s"
measure = "0.2s"
power_cuts = 4
images = { place = "memory", size = "512MB" }
[[mode]]
server = "mysql"
mode = "single"
variables = { binlog_transaction_compression = "ON" }
[[sweep]]
workload = "update_index"
rtt = "0.5ms"
"#;

/// A server that lost nothing was called broken: its binary log was not read.
#[test]
fn lab_power_compressed_binary_log_is_read() {
    on_ground("a compressed binary log", |ground| {
        let study = ground.file("study.toml", COMPRESSED);
        ground.run(&["run", study, "--record", "r.acklab"]).good();
        ground.nothing_left();
        let report = ground.json("r.acklab");
        let series = &report["series"][0];
        assert_eq!(series["trials"], 4, "{series:#}");
        let apart = (&series["only_in_table"], &series["only_in_log"]);
        assert_eq!(apart, (&0.into(), &0.into()), "{series:#}");
        assert_eq!(series["verdict"], "kept", "{series:#}");
    });
}

/// How long a commit that nobody may acknowledge is watched. A busy machine only makes it slower.
const WATCH: Duration = Duration::from_secs(2);

/// With 4 of 6, two copies may go; without a third nobody is told "done" any more.
#[test]
fn lab_power_quorum_goes_on_without_two_of_six_copies_and_stops_without_a_third() {
    on_ground("lost copies", |ground| {
        with_lab(ground, &["quorum", "--server", "mysql"], || {
            let sql = |text: &str| ground.run(&["sql", "a", text]).good();
            sql("CREATE TABLE acklab.kept (id INT PRIMARY KEY)");
            // The writer's own comes first.
            let mut copies = volumes(ground);
            copies.sort_unstable();
            assert_eq!(copies.len(), 6, "{copies:?}");
            let lose =
                |copy: Option<i32>| kill(Pid::from_raw(copy.expect("a copy")), Signal::SIGKILL);
            for number in 1..=2 {
                lose(copies.pop()).expect("a kill");
                sql(&format!("INSERT INTO acklab.kept VALUES ({number})"));
            }
            lose(copies.pop()).expect("a kill");
            let insert = ["sql", "a", "INSERT INTO acklab.kept VALUES (3)"];
            let mut commit = ground.command(&insert).spawn().expect("the program");
            std::thread::sleep(WATCH);
            let status = commit.try_wait().expect("a status");
            assert_eq!(status, None, "a commit was acknowledged by three of six");
            // It is the commit that waits, and not the server.
            // Not by information_schema, whose temporary table would be written.
            let waits = sql("SHOW PROCESSLIST");
            assert!(
                waits.contains("INSERT INTO acklab.kept VALUES (3)"),
                "{waits}"
            );
            let kept = "SELECT COUNT(*) FROM acklab.kept";
            assert_eq!(ground.value("a", kept), "2");
            commit.kill().expect("a kill");
            commit.wait().expect("an end");
        });
    });
}
