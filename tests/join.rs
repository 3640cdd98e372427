//! Drivers that were started elsewhere, as processes of their own, at a server that only
//! answers; and a run that waits for one. No root, no servers.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::thread;
use std::time::Duration;

use acklab::lab::child::{Child, Manner};
use acklab::load::join::{Door, Joined, Patience, StudyName, TicketFile};
use acklab::load::{Job, Snapshot, merge};
use acklab::record::histogram;
use acklab::self_test::null_server::{Request, Service, Told, address};
use acklab::study::{SysbenchLoad, Workload};

const DRIVERS: u32 = 50;
/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(180);
const STUDY: &str = "rounds = 2\n";

fn acklab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acklab"));
    command.args(arguments).env_remove("ACKLAB_TOKEN");
    command
}

/// Runs the program to its end: exit code, and what it said.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output = acklab(arguments).output().expect("the program");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

fn null_server() -> Child {
    let manner = Manner {
        name: "the null server".to_owned(),
        answer_limit: Some(PATIENCE),
        ends_itself: true,
    };
    Child::spawn(acklab(&["null-server"]), manner).expect("a null server")
}

fn ask(server: &mut Child, request: Request) -> Told {
    server.ask("serve nothing", &request).expect("an answer")
}

fn job(at: &Told) -> Job {
    Job {
        targets: vec![address(at)],
        user: "acklab".to_owned(),
        password: "".into(),
        databases: vec!["acklab".to_owned()],
        tls: false,
        workload: Workload::Sysbench {
            load: SysbenchLoad::UpdateIndex,
            tables: 1,
            table_size: 1_000,
            prepared: false,
        },
        connections: 2 * DRIVERS + 7,
        seed: 7,
        driver: 0,
        drivers: 1,
        unique_from: 0,
        rate_per_s: Some(2_000.0),
        pace: None,
        slowdown: None,
        waits: false,
        guest: None,
    }
}

/// Processes that end with the test, however that ends.
#[derive(Default)]
struct Started(Vec<process::Child>);

impl Started {
    /// Starts one; its number.
    fn add(&mut self, command: &mut Command) -> usize {
        self.0.push(command.spawn().expect("a process"));
        self.0.len() - 1
    }

    /// Waits for the end of one: its exit code, and what it has said.
    fn end_of(&mut self, number: usize) -> (Option<i32>, String) {
        let child = &mut self.0[number];
        let mut said = String::new();
        if let Some(mut words) = child.stderr.take() {
            words.read_to_string(&mut said).expect("its words");
        }
        (child.wait().expect("an end").code(), said)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A folder with the token and the study, and drivers that come with both.
struct Crowd {
    folder: tempfile::TempDir,
    address: String,
    _token: TicketFile,
    drivers: Started,
}

impl Crowd {
    fn at(door: &Door) -> Crowd {
        let folder = tempfile::tempdir().expect("a folder");
        let token = TicketFile::write(&folder.path().join("token"), door.ticket());
        fs::write(folder.path().join("study.toml"), STUDY).expect("a file");
        Crowd {
            address: door.address().to_string(),
            _token: token.expect("a token"),
            folder,
            drivers: Started::default(),
        }
    }

    fn add(&mut self) {
        let words = [
            "drive",
            "--join",
            &self.address,
            "--token",
            "token",
            "--study",
            "study.toml",
            "--within",
            "180s",
        ];
        let mut command = acklab(&words);
        command
            .current_dir(self.folder.path())
            .stderr(Stdio::null());
        self.drivers.add(&mut command);
    }
}

fn gather(joined: &mut Joined) -> Vec<String> {
    let mut told = Vec::new();
    joined
        .gather(&mut |words| told.push(words))
        .expect("all drivers");
    told
}

/// Those who are gone. On a busy machine some are late besides.
fn take_lost(joined: &mut Joined) -> Vec<String> {
    let missing = joined.take_missing().into_iter();
    missing.filter(|who| !who.ends_with(" s late")).collect()
}

/// What the seconds of a load say fits what their histograms hold, and what the load came to.
fn check_seconds(whole: &Snapshot) {
    assert!(whole.timeline.len() >= 2, "{}", whole.timeline.len());
    for told in &whole.timeline {
        let latency = histogram::decode(&told.latency_us).expect("a histogram");
        assert_eq!(latency.len(), told.second.transactions);
        let p99 = (!latency.is_empty()).then(|| latency.value_at_quantile(0.99));
        assert_eq!(told.second.latency_us_p99, p99);
        assert_eq!(told.second.latency_us_p50, latency.value_at_quantile(0.5));
    }
    let commits = whole.timeline.iter().map(|told| told.second.commits);
    assert!(commits.sum::<u64>() <= whole.commits);
}

/// Nothing is lost and nothing counted twice between fifty drivers and a run; one that is killed in
/// the middle of a window is missed by its name, and another takes its place.
#[test]
fn fifty_drivers_count_what_the_server_did() {
    let mut server = null_server();
    ask(&mut server, Request::Serve(Service::After(Duration::ZERO)));
    let at = ask(&mut server, Request::Tell);
    let study = StudyName::of("study.toml", STUDY);
    let door = Door::open("127.0.0.1:0".parse().unwrap(), study).expect("a door");
    let mut crowd = Crowd::at(&door);
    (0..DRIVERS).for_each(|_| crowd.add());
    let patience = Patience {
        drivers: DRIVERS,
        within: PATIENCE,
        command: String::new(),
    };
    let mut joined = Joined::new(door, patience);
    let told = gather(&mut joined);
    assert_eq!(
        told.iter()
            .filter(|line| line.contains("has joined; its clock is"))
            .count(),
        50
    );

    joined.start(&job(&at)).expect("a load");
    let warm = joined.mark().expect("a mark");
    thread::sleep(Duration::from_millis(2_500));
    let window = joined.mark().expect("a mark");
    let rest = joined.stop().expect("the end");
    assert_eq!(take_lost(&mut joined), [""; 0]);
    let whole = merge(vec![warm, window, rest]).expect("snapshots that merge");
    let served = ask(&mut server, Request::Tell);
    assert_eq!((whole.commits, whole.unanswered), (served.answered, 0));
    assert!(
        whole.errors.is_empty() && whole.commits > 100,
        "{}",
        whole.commits
    );
    let ended = histogram::decode(whole.ended_us.as_deref().expect("latencies"));
    assert_eq!(ended.expect("a histogram").len(), whole.commits);
    check_seconds(&whole);
    assert_eq!(joined.cpu_us().iter().filter(|us| **us > 0.0).count(), 50);

    joined.start(&job(&at)).expect("a load");
    joined.mark().expect("a mark");
    let lost = crowd.drivers.0.last_mut().expect("a driver");
    lost.kill().expect("its end");
    lost.wait().expect("its end");
    assert!(joined.mark().expect("a window of the others").commits > 0);
    joined.stop().expect("the end");
    let lost = take_lost(&mut joined);
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert!(
        lost[0].starts_with("driver ") && lost[0].ends_with("was cut"),
        "{lost:?}"
    );
    crowd.add();
    gather(&mut joined);
    drop(joined);
    let killed = DRIVERS as usize - 1;
    for index in 0..crowd.drivers.0.len() {
        let (code, _) = crowd.drivers.end_of(index);
        let expected = (index != killed).then_some(0);
        assert_eq!(code, expected, "driver {index}");
    }
}

const OF_AN_ENDPOINT: &str = "[[mode]]\nmode = \"endpoint\"\nwriter = \"mysql://someone@127.0.0.1:1\"\n\
                              [[sweep]]\nworkload = \"point_select\"\nconnections = 2\n";

/// The run says how a driver is started; the token is in a file of the owner's alone, in no
/// argument and no message, and goes with the run. Its server is not there: that is its end.
#[test]
fn a_run_waits_for_its_drivers_and_ends_them() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("study.toml"), OF_AN_ENDPOINT).expect("a file");
    let words = [
        "run",
        "study.toml",
        "--plain",
        "--drivers",
        "2",
        "--listen",
        "127.0.0.1:0",
        "--join-within",
        "60s",
    ];
    let mut run = acklab(&words);
    run.args(["--record", "x.acklab"])
        .current_dir(folder.path())
        .stderr(Stdio::piped());
    run.env("ACKLAB_CACHE", folder.path())
        .env("ACKLAB_PASSWORD", "s3cret");
    let mut all_started = Started::default();
    let run = all_started.add(&mut run);
    let words = all_started.0[run].stderr.take();
    let mut said = BufReader::new(words.expect("its words"));
    let mut all = String::new();
    let command = loop {
        let mut line = String::new();
        assert!(said.read_line(&mut line).expect("a line") > 0, "{all}");
        all.push_str(&line);
        if let Some(command) = line
            .trim()
            .strip_prefix("each driver is started with: acklab ")
        {
            break command.to_owned();
        }
    };
    let words: Vec<&str> = command.split(' ').collect();
    let [verb, join, _, option, token] = words[..] else {
        panic!("{command}");
    };
    assert_eq!((verb, join, option), ("drive", "--join", "--token"));
    let mode = fs::metadata(token).expect("the token").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let ticket = fs::read_to_string(token).expect("the token");
    let secret = ticket.split(' ').nth(2).expect("a token").to_owned();
    let mut by_file = acklab(&words);
    let mut by_variable = acklab(&words[..3]);
    by_variable.env("ACKLAB_TOKEN", &ticket);
    let drivers = [&mut by_file, &mut by_variable].map(|driver| {
        driver.args(["--within", "60s"]).stderr(Stdio::piped());
        all_started.add(driver)
    });
    said.read_to_string(&mut all).expect("its words");
    assert_eq!(all_started.end_of(run).0, Some(4), "{all}");
    assert!(all.contains("driver 1 (") && all.contains("driver 2 (") && all.contains("refused"));
    assert!(!Path::new(token).exists(), "it goes with the run");
    for driver in drivers {
        let (code, words) = all_started.end_of(driver);
        assert_eq!(code, Some(0), "{words}");
        assert!(
            words.contains("joined the run of study.toml") && words.contains("of 2"),
            "{words}"
        );
        assert!(words.ends_with("the run is over\n"), "{words}");
        all.push_str(&words);
    }
    assert!(
        !all.contains(&secret) && !command.contains(&secret),
        "{all}"
    );
}

#[test]
fn what_is_wrong_with_joining_is_told_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let study = folder.path().join("study.toml");
    fs::write(&study, OF_AN_ENDPOINT).expect("a file");
    let study = study.to_str().expect("a path");
    let drive = ["drive", "--join", "127.0.0.1:1"];
    for (words, expected) in [
        (
            &["run", study, "--drivers", "3"][..],
            "--drivers: given 3; must be at most 2",
        ),
        (
            &["run", study, "--drivers", "2", "--listen", "7000"],
            "--listen: given 7000",
        ),
        (
            &["run", study, "--drivers", "2", "--listen", "192.0.2.1:7000"],
            "address of this host",
        ),
        (
            &[
                "run",
                study,
                "--drivers",
                "2",
                "--listen",
                "127.0.0.1:0",
                "--token",
                study,
            ],
            "holds no token",
        ),
        (
            &["run", study, "--listen", "127.0.0.1:7000"],
            "--drivers <COUNT>",
        ),
        (
            &["run", "compare", "--drivers", "2"],
            "is for studies of endpoints",
        ),
        (
            &["drive", "--join", "127.0.0.1"],
            "--join: given 127.0.0.1; must be the run's address",
        ),
        (
            &drive,
            "ACKLAB_TOKEN: is missing: give the file that the run wrote by --token",
        ),
        (
            &["drive", "--join", "127.0.0.1:1", "--token", study],
            "must be the file that the run",
        ),
    ] {
        let (code, said) = run(words);
        assert!(
            code == Some(2) && said.contains(expected),
            "{words:?}: {code:?}: {said}"
        );
    }
    let nobody = [&drive[..], &["--token", "/no/such", "--within", "10ms"]].concat();
    let (code, said) = run(&nobody);
    assert!(
        code == Some(4) && said.contains("/no/such is not there"),
        "{code:?}: {said}"
    );
}

/// Without words acklab starts it itself and speaks to it; a person at a terminal gets no process
/// that reads on and on.
#[test]
fn whoever_types_drive_at_a_terminal_is_told_what_is_missing() {
    let pty = nix::pty::openpty(None, None).expect("a terminal");
    // The end of what is typed: whoever reads it ends.
    fs::File::from(pty.master.try_clone().expect("its other end"))
        .write_all(&[4])
        .expect("what is typed");
    let mut drive = acklab(&["drive"]);
    drive.stdin(pty.slave).stderr(Stdio::piped());
    let mut started = Started::default();
    let drive = started.add(&mut drive);
    let (code, said) = started.end_of(drive);
    assert!(
        code == Some(2) && said.contains("--join <ADDRESS>"),
        "{code:?}: {said}"
    );
    drop(pty.master);
}
