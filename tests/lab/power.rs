//! What is left of acknowledged commits: power cuts and SIGKILLs of servers, sites and clusters by
//! studies with faults, and volumes that die on their own.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use acklab::lab::connections::end_connections;
use acklab::lab::netns::Netns;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::disk::{devices, no_device_is_left_but};
use crate::ground::{Ground, PATIENCE, cuts, on_ground, with_lab};

/// How often each server is ended in each way, unless `ACKLAB_CUTS` says more.
const CUTS: u32 = 2;
/// One that must lose something: what it flushes once a second may be just flushed.
const LOOSE_CUTS: u32 = 3;
/// Sites and clusters, of which each trial takes most of a minute.
const LONG_CUTS: u32 = 1;
/// How often a study is run at most until each of its campaigns has shown something.
const CHANCES: usize = 5;

const ALONE: &str = r#"
rounds = 1
warmup = "0.1s"
measure = "0.2s"
disk = { flush = "0.5ms" }
images = { place = "memory", size = "600MB" }
[[sweep]]
workload = "update_index"
rtt = "0.25ms"
"#;

/// What faults in a study came to, a value for each of its campaigns. The study is nothing but
/// modes and faults.
struct Broken(Vec<Value>);

impl Broken {
    /// Where no trial of a campaign shows anything, by chance, all of them are done anew; of each
    /// campaign the first that shows something is taken.
    fn run(ground: &Ground, modes_and_faults: &str) -> Broken {
        let mut all = campaigns(ground, modes_and_faults);
        for _ in 1..CHANCES {
            if all.iter().all(shows) {
                break;
            }
            for (one, anew) in all.iter_mut().zip(campaigns(ground, modes_and_faults)) {
                if !shows(one) {
                    *one = anew;
                }
            }
        }
        Broken(all)
    }

    /// Of that fault in that mode. Whatever it came to, all trials have been judged.
    fn of(&self, label: &str, fault: &str, trials: u32) -> &Value {
        let is_it = |one: &&Value| one["label"] == label && one["fault"] == fault;
        let one = self.0.iter().find(is_it).expect("a campaign");
        let count = |what: &str| one[what].as_u64().expect("a count");
        eprintln!(
            "{label}, {fault}: {} acknowledged, {} lost, {} recovered, {} of {} conclusive",
            count("acknowledged"),
            count("lost"),
            count("recovered"),
            count("trials_conclusive"),
            count("trials"),
        );
        assert_eq!(count("trials"), u64::from(trials), "{one:#}");
        assert!(count("acknowledged") >= 10, "{one:#}");
        assert_eq!(one["refusals"], json!([]), "{one:#}");
        one
    }
}

/// Runs them as a study. No promise is broken, in whichever try.
fn campaigns(ground: &Ground, modes_and_faults: &str) -> Vec<Value> {
    let others = devices();
    let study = ground.file("study.toml", &format!("{ALONE}{modes_and_faults}"));
    let record = ground.work.join("broken.acklab");
    let _ = fs::remove_file(&record);
    ground
        .run(&["run", study, "--record", "broken.acklab"])
        .good();
    ground.nothing_left();
    no_device_is_left_but(&others);
    let report = ground.json("broken.acklab");
    let all = report["worth"].as_array().expect("campaigns").clone();
    assert!(all.iter().all(|one| one["verdict"] != "broken"), "{all:#?}");
    all
}

/// Disks that were stopped too long after their links, as on a machine that is taken away for a
/// while: no loss of power came about.
pub fn stopped_late(seen: &str) -> bool {
    let after_us = seen.split("the last ").nth(1);
    let after_us = after_us.and_then(|rest| rest.split_once(" µs after the links"));
    let after_us: Option<u64> = after_us.and_then(|(us, _)| us.parse().ok());
    after_us > Some(5_000)
}

#[test]
fn disks_that_stop_late_are_told_from_others() {
    let seen =
        |last| format!("3 of 3 disks stopped, 6191 µs late at most, the last {last} the links");
    assert!(stopped_late(&seen("6190 µs after")));
    assert!(!stopped_late(&seen("4999 µs after")) && !stopped_late(&seen("6190 µs before")));
}

/// Nothing is lost, and the binary log, where it is one server's, says the same as its tables.
/// A SIGKILL may fall between two commits, and disks may be stopped late: such a trial shows
/// nothing, and leaves the others. Whether these are enough is the verdict's own rule, which has
/// tests of its own.
fn is_kept(one: &Value, has_log: bool) {
    for what in [
        "lost",
        "never_sent",
        "unbalanced",
        "only_in_tables",
        "only_in_log",
    ] {
        assert_eq!(one[what], 0, "{what}: {one:#}");
    }
    let missed = missed(one);
    assert!(missed < trials(one).count(), "{one:#}");
    let is_left_open = missed > 0 && one["verdict"] == "undecided";
    assert!(is_left_open || one["verdict"] == "kept", "{one:#}");
    let logged = if has_log { &one["trials"] } else { &json!(0) };
    assert_eq!(&one["trials_logged"], logged, "{one:#}");
}

/// Trials that show nothing, by chance.
fn missed(one: &Value) -> usize {
    trials(one).filter(|trial| is_missed(trial)).count()
}

/// Whether a campaign shows what its fault does. What was just flushed is not lost, though nothing
/// was promised; and one that is left open may be so for no other reason than trials that show
/// nothing.
fn shows(one: &Value) -> bool {
    let tells = |trial: &Value| trial["verdict"] == "kept" || trial["verdict"] == "lost-no-promise";
    let is_left_open = one["verdict"] == "undecided" && missed(one) == 0;
    !is_left_open && trials(one).any(tells)
}

fn trials(one: &Value) -> impl Iterator<Item = &Value> {
    one["each"].as_array().expect("trials").iter()
}

fn is_missed(trial: &Value) -> bool {
    let doubts = trial["doubts"].as_array().expect("doubts");
    let is_chance = |doubt: &Value| {
        let stopped = &doubt["not-bitten"]["seen"];
        doubt["not-seen"].get("in-flight").is_some() || stopped.as_str().is_some_and(stopped_late)
    };
    !doubts.is_empty() && doubts.iter().all(is_chance)
}

fn is_lost_without_promise(one: &Value) {
    assert!(one["lost"].as_u64() > Some(0), "{one:#}");
    assert_eq!(one["verdict"], "lost-no-promise", "{one:#}");
}

const LOOSE: &str = "variables = { innodb_flush_log_at_trx_commit = 2, sync_binlog = 0 }";

/// A mode of a study, with keys of its own.
fn mode(label: &str, (server, name): (&str, &str), keys: &str) -> String {
    format!("[[mode]]\nlabel = \"{label}\"\nserver = \"{server}\"\nmode = \"{name}\"\n{keys}\n")
}

fn fault(name: &str, trials: u32, keys: &str) -> String {
    format!("[[fault]]\nname = \"{name}\"\ntrials = {trials}\n{keys}\n")
}

fn commits_left(server: &str) {
    on_ground(&format!("{server}: power cuts and SIGKILLs"), |ground| {
        let (trials, loose) = (cuts(CUTS), cuts(LOOSE_CUTS));
        let single = |label, keys| mode(label, (server, "single"), keys);
        let modes = [
            single("strict", ""),
            single("loose", LOOSE),
            fault("power-cut", trials, "modes = \"strict\""),
            fault("power-cut", loose, "modes = \"loose\""),
            fault("killed", trials, ""),
        ];
        let broken = Broken::run(ground, &modes.concat());
        for (label, fault) in [
            ("strict", "power-cut"),
            ("strict", "killed"),
            ("loose", "killed"),
        ] {
            is_kept(broken.of(label, fault, trials), true);
        }
        is_lost_without_promise(broken.of("loose", "power-cut", loose));
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
        let trials = cuts(CUTS);
        let kinds = ["keep-all", "random", "torn-512", "torn-4k"];
        let of = |leaves: &&str| {
            let keys = format!(
                r#"
afterwards = "0.3s"
step = [
    {{ after = "0.2s..1.5s", do = "power cut", to = "writer", leaves = "{leaves}",
      in_flight = true, acknowledged = 10 }},
    {{ do = "restart", to = "first writer" }},
]
"#
            );
            fault(&format!("leaves-{leaves}"), trials, &keys)
        };
        let faults: String = kinds.iter().map(of).collect();
        let single = mode("mysql single", ("mysql", "single"), "");
        let broken = Broken::run(ground, &format!("{single}{faults}"));
        for kind in kinds {
            is_kept(
                broken.of("mysql single", &format!("leaves-{kind}"), trials),
                true,
            );
        }
    });
}

/// What it had sent, and nobody had acknowledged, would be sent again when its links work again.
#[test]
fn lab_power_connections_of_a_dead_machine_are_ended() {
    on_ground("connections are ended", |_| {
        let [netns, other] =
            ["dead.a", "dead.b"].map(|name| Netns::create(name).expect("a namespace"));
        let connect = || {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
            let address = listener.local_addr().expect("an address");
            let client = TcpStream::connect(address).expect("a connection");
            let (server, _) = listener.accept().expect("its other end");
            (listener, client, server)
        };
        let (_listener, _client, mut server) = netns.run(connect).expect("a connection");
        let (_, _other, mut spared) = other.run(connect).expect("another's");
        let ended = end_connections(&netns).expect("what the kernel says");
        // Both ends are here, and the second may have heard from the first.
        assert!(matches!(ended, Some(1 | 2)), "{ended:?}");
        assert!(server.write_all(b"done").is_err());
        spared.write_all(b"done").expect("it is another's");
        assert_eq!(end_connections(&netns).expect("the same"), Some(0));
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

pub fn volumes(ground: &Ground) -> Vec<i32> {
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

/// A copy elsewhere takes over, with all that was acknowledged. Where two copies in the writer's own
/// site are enough, they are lost with it.
#[test]
fn lab_power_site_lost_under_copies_takes_what_too_small_a_quorum_acknowledged() {
    on_ground("lost sites", |ground| {
        let trials = cuts(LONG_CUTS);
        let quorum = |label, keys| mode(label, ("mysql", "quorum"), keys);
        let modes = [
            mode("mirror", ("mysql", "mirror"), ""),
            quorum("four of six", "write_quorum = 4"),
            quorum("two of six", "write_quorum = 2"),
            fault("site-lost", trials, "served_for = \"0.3s\""),
            fault(
                "three-copies-lost",
                trials,
                "modes = \"four of six\"\nafterwards = \"60s\"",
            ),
        ];
        let broken = Broken::run(ground, &modes.concat());
        // Three of six may not lead: one that came back does, and clients are served by it.
        let copies = broken.of("four of six", "three-copies-lost", trials);
        is_kept(copies, true);
        assert_eq!(copies["trials_without_return"], 0, "{copies:#}");
        for label in ["mirror", "four of six"] {
            is_kept(broken.of(label, "site-lost", trials), true);
        }
        is_lost_without_promise(broken.of("two of six", "site-lost", trials));
    });
}

/// A source that flushes nothing is lost with its site. What its replica acknowledged is there;
/// without acknowledgement it had gone on for itself.
#[test]
fn lab_power_source_lost_under_semisync_takes_nothing_acknowledged_and_under_async_some() {
    on_ground("lost sources", |ground| {
        let trials = cuts(LONG_CUTS);
        let of = |name| mode(name, ("mysql", name), LOOSE);
        let lost = fault("site-lost", trials, "served_for = \"0.3s\"");
        let broken = Broken::run(ground, &[of("semisync"), of("async"), lost].concat());
        is_kept(broken.of("semisync", "site-lost", trials), false);
        is_lost_without_promise(broken.of("async", "site-lost", trials));
    });
}

/// What one node acknowledged the others have, though nobody has flushed it. With all of them it
/// is gone, but for what is flushed before a client is told.
#[test]
fn lab_power_galera_outlives_one_node_and_all_of_them_only_as_far_as_they_flush() {
    on_ground("lost nodes and clusters", |ground| {
        let trials = cuts(LONG_CUTS);
        let cluster = |label, keys| mode(label, ("mariadb", "galera"), keys);
        let modes = [
            cluster("strict", ""),
            cluster("loose", LOOSE),
            fault("cluster-loses-power", trials, "served_for = \"0.3s\""),
            fault(
                "member-dies",
                trials,
                "modes = \"loose\"\nserved_for = \"3s\"",
            ),
        ];
        let broken = Broken::run(ground, &modes.concat());
        is_kept(broken.of("loose", "member-dies", trials), false);
        is_kept(broken.of("strict", "cluster-loses-power", trials), false);
        is_lost_without_promise(broken.of("loose", "cluster-loses-power", trials));
    });
}

/// A server that lost nothing was called broken: its binary log was not read.
#[test]
fn lab_power_compressed_binary_log_is_read() {
    on_ground("a compressed binary log", |ground| {
        let keys = "variables = { binlog_transaction_compression = \"ON\" }";
        let single = mode("compressed", ("mysql", "single"), keys);
        let trials = cuts(CUTS);
        let broken = Broken::run(ground, &(single + &fault("power-cut", trials, "")));
        is_kept(broken.of("compressed", "power-cut", trials), true);
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
            // The writer's own is begun first, after the first process. Process numbers begin anew
            // at an end of theirs, which is nowhere higher than this.
            let run = ground.run_folders().pop().expect("a run folder");
            let first = ground.first_pid(&run).expect("a first process");
            let mut copies = volumes(ground);
            copies.sort_unstable_by_key(|pid| (pid - first).rem_euclid(1 << 22));
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
            // It is the commit that waits, and not the server. Not by information_schema, whose
            // temporary table would be written.
            let begin = Instant::now();
            while !sql("SHOW PROCESSLIST").contains("INSERT INTO acklab.kept VALUES (3)") {
                assert!(begin.elapsed() < PATIENCE, "it was never sent");
            }
            std::thread::sleep(WATCH);
            let status = commit.try_wait().expect("a status");
            assert_eq!(status, None, "a commit was acknowledged by three of six");
            let kept = "SELECT COUNT(*) FROM acklab.kept";
            assert_eq!(ground.value("a", kept), "2");
            commit.kill().expect("a kill");
            commit.wait().expect("an end");
        });
    });
}
