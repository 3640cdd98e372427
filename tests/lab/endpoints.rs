//! Somebody else's servers: those of a detached lab, reached from its client's place as if nothing
//! were known of them, over TLS and with a user who may do little.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Instant;

use acklab::record::store::Record;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::certificates::{Authority, show};
use crate::ground::{Ground, Outcome, PATIENCE, on_ground, outcome, with_lab};
use crate::load::enter_client;

pub const PASSWORD: &str = "s3cret-and-long";
/// Addresses of the lab's nodes, and that of a relay.
pub const PLACES: [&str; 5] = [
    "198.18.0.1",
    "198.18.0.2",
    "198.18.0.3",
    "198.18.0.4",
    "127.0.0.1",
];

/// A user who may work in databases of acklab's name alone.
fn make_guest(ground: &Ground) {
    for sql in [
        &format!("CREATE USER guest@'%' IDENTIFIED BY '{PASSWORD}'")[..],
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX ON `acklab\\_%`.* TO guest@'%'",
    ] {
        ground.run(&["sql", "a", sql]).good();
    }
}

/// A guest whose password is in `pw`, and an authority whose certificate these nodes show.
pub fn prepare(ground: &Ground, nodes: &[&str]) -> Authority {
    let authority = Authority::new();
    authority.certify(ground, "good", &PLACES, false);
    authority.file(ground);
    for node in nodes {
        show(ground, node, "good");
    }
    make_guest(ground);
    ground.file("pw", PASSWORD);
    authority
}

/// Does it where the lab's client is.
pub fn as_client<T: Send>(ground: &Ground, work: impl FnOnce() -> T + Send) -> T {
    let inside = || {
        enter_client(ground);
        work()
    };
    let outcome = std::thread::scope(|scope| scope.spawn(inside).join());
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

pub const SHORT: &str = "rounds = 1\nwarmup = \"0.1s\"\nmeasure = \"0.5s\"\n";
const SMALL: &str = "[workload.small]\ntool = \"sysbench\"\nload = \"update_index\"\n\
                     table_size = 200\n[[sweep]]\nworkload = \"small\"\nconnections = 2\n";

pub fn study(head: &str, writer: &str, lines: &str) -> String {
    format!(
        "{head}[[mode]]\nmode = \"endpoint\"\nlabel = \"ours\"\nwriter = \"mysql://{writer}\"\n\
         {lines}{SMALL}"
    )
}

pub const TRUSTED: &str = "ca = \"ca.pem\"\npassword_file = \"pw\"\n";

/// Runs a study in the client's place.
pub fn run(ground: &Ground, text: &str, more: &[&str]) -> Outcome {
    let file = ground.file("endpoint.toml", text);
    let arguments: Vec<&str> = ["run", file]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    as_client(ground, || {
        let mut command = ground.command(&arguments);
        outcome(&mut command, &arguments)
    })
}

/// Databases at the endpoint, and what is claimed there: must be as before.
pub fn databases(ground: &Ground) -> BTreeSet<String> {
    let rows = ground.rows("a", "SHOW DATABASES");
    rows.into_iter().flatten().map(|(_, name)| name).collect()
}

pub fn claims(ground: &Ground) -> usize {
    let entries = fs::read_dir(ground.cache.join("endpoints"));
    let names = entries.into_iter().flatten().flatten();
    let paths = names.map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .count()
}

/// No byte of it holds the password.
pub fn keeps_the_secret(ground: &Ground, told: &Outcome) {
    for text in [&told.out, &told.err] {
        assert!(!text.contains(PASSWORD), "{text}");
    }
    for entry in fs::read_dir(&ground.work).expect("the folder").flatten() {
        let bytes = fs::read(entry.path()).unwrap_or_default();
        let is_there = bytes
            .windows(PASSWORD.len())
            .any(|part| part == PASSWORD.as_bytes());
        assert!(
            !is_there || entry.file_name() == "pw",
            "{:?}",
            entry.file_name()
        );
    }
}

#[test]
fn lab_endpoint_is_measured_over_tls_with_few_privileges() {
    on_ground("endpoint: TLS, few privileges", |ground| {
        with_lab(
            ground,
            &["async", "--server", "mysql", "--nodes", "2", "--tls"],
            || {
                prepare(ground, &["a", "b"]);
                // Not as labs have it: to be told, and left.
                let other = "SET GLOBAL sync_binlog = 10";
                ground.run(&["sql", "a", other]).good();
                ground.file("pw", &format!("{PASSWORD}\n"));
                let before = databases(ground);
                let lines = format!(
                    "replicas = [\"mysql://guest@{}\"]\n{TRUSTED}",
                    address(ground, "b")
                );
                let text = study(SHORT, "guest@198.18.0.1", &lines)
                    .replace("\"small\"\nconn", "[\"small\", \"mysqlslap update\"]\nconn")
                    .replace("ions = 2\n", "ions = 2\nmeasure = \"1.2s\"\n");
                let told = run(ground, &text, &["--record", "e.acklab"]);
                assert_eq!(told.code, Some(0), "{told:?}");
                keeps_the_secret(ground, &told);
                assert_eq!((databases(ground), claims(ground)), (before.clone(), 0));
                for part in [
                    "unknown",
                    "TCP handshake: writer",
                    "TLSv1",
                    "sync_binlog is 10; labs have 1",
                ] {
                    assert!(told.out.contains(part), "{part}:\n{}", told.out);
                }
                assert_eq!(ground.value("a", "SELECT @@GLOBAL.sync_binlog"), "10");
                check_report(&ground.json("e.acklab"));
                windows_are_the_sweeps(ground);
                mysqlslap_waits_for_replicas(ground, &lines);
                one_may_not_be_read(ground, &lines);
                assert_eq!((databases(ground), claims(ground)), (before, 0));
            },
        );
    });
}

/// Drivers that are there before the run wait for it, load the server as one, and end with it.
#[test]
fn lab_endpoint_is_loaded_by_drivers_that_joined() {
    on_ground("endpoint: drivers that join", |ground| {
        with_lab(ground, &["single", "--server", "mysql", "--tls"], || {
            prepare(ground, &["a"]);
            let before = databases(ground);
            let join = ["drive", "--join", "127.0.0.1:7000", "--token", "t.token"];
            let driver = || {
                let mut command = ground.command(&join);
                let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
                piped.spawn().expect("a driver")
            };
            let drivers = as_client(ground, || [driver(), driver()]);
            let text = study(SHORT, "guest@198.18.0.1", TRUSTED)
                .replace("connections = 2", "connections = 5")
                .replace("\"0.5s\"", "\"2.5s\"");
            let more = [
                "--record",
                "e.acklab",
                "--drivers",
                "2",
                "--token",
                "t.token",
            ];
            let told = run(ground, &text, &more);
            for driver in drivers {
                let output = driver.wait_with_output().expect("an end");
                assert_eq!(output.status.code(), Some(0), "{output:?}");
            }
            assert_eq!(told.code, Some(0), "{told:?}");
            assert!(!ground.work.join("t.token").exists());
            assert_eq!((databases(ground), claims(ground)), (before, 0));
            assert!(told.err.contains("has joined; its clock is "), "{told:?}");
            keeps_the_secret(ground, &told);
            let record = Record::open(&ground.work.join("e.acklab")).expect("a record");
            let remark = "The load came from 2 drivers that had joined, on one host; ";
            assert!(
                record
                    .header
                    .remarks
                    .iter()
                    .any(|line| line.starts_with(remark))
            );
            let [one] = &record.measurements[..] else {
                panic!("{} measurements", record.measurements.len());
            };
            // On a busy machine a driver may be late, which is told; none may be lost.
            let mut missing = one.drivers_missing.iter();
            assert!(missing.all(|who| who.ends_with(" s late")), "{one:?}");
            assert!(one.commits > 0 && one.errors.is_empty(), "{one:?}");
            let mut seconds = one.timeline.iter();
            assert!(seconds.any(|second| second.latency_us_p99.is_some()));
            assert!(
                one.cpu.busiest_driver_us.is_some_and(|us| us > 0.0),
                "{:?}",
                one.cpu
            );
        });
    });
}

fn windows_are_the_sweeps(ground: &Ground) {
    let record = Record::open(&ground.work.join("e.acklab")).expect("a record");
    let driven = record.measurements.iter().find(|m| m.iterations.is_empty());
    let window_s = driven.expect("a measurement").window_s;
    assert!(window_s >= 1.2, "{window_s}");
    assert_eq!(record.header.study.measure.as_secs_f64(), 0.5);
}

const CAUGHT_UP: &str = "[workload.slap]\ntool = \"mysqlslap\"\nload = \"write\"\n\
                         number_of_queries = 20\niterations = 20\ncatch_up = true\n";

/// A beat is sent before each iteration, and looked for on the replica: there are no other updates
/// but the few beats after the load.
fn mysqlslap_waits_for_replicas(ground: &Ground, lines: &str) {
    let updates = || ground.shown("a", "STATUS", "Com_update").parse::<u32>();
    let text = study(SHORT, "guest@198.18.0.1", lines).replace("\"small\"\nconn", "\"slap\"\nconn");
    let before = updates().expect("a count");
    let told = run(ground, &format!("{text}{CAUGHT_UP}"), &[]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.out.contains("mysqlslap write caught up"), "{told:?}");
    let sent = updates().expect("a count") - before;
    assert!(sent >= 20, "{sent}");
}

/// A replica whose account may not look is no replica that shows nothing: the user can mend it.
fn one_may_not_be_read(ground: &Ground, lines: &str) {
    let revoked = "REVOKE SELECT ON `acklab\\_%`.* FROM guest@'%'";
    ground.run(&["sql", "b", revoked]).good();
    let told = run(ground, &study(SHORT, "guest@198.18.0.1", lines), &[]);
    let place = format!("{}:3306", address(ground, "b"));
    let grant = "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX ON `acklab\\_%`.* and";
    told.fails(2, &[&place, "privileges", "SELECT command denied", grant]);
}

/// So many connections in a row that come to nothing lock a host out, of which a study here makes
/// more in each round.
const OWN: &str = "[mysqld]\nskip_name_resolve = OFF\nmax_connect_errors = 30\n";

/// Names for a lab's addresses, seen by whoever is started meanwhile: of a host whose name cannot
/// be looked up a server counts nothing.
struct Names;

impl Names {
    fn give(ground: &Ground) -> Names {
        let line = |net: u8, host: u8| format!("198.{net}.0.{host} h{net}-{host}.lab\n");
        let hosts = (1..=4).map(|host| line(18, host) + &line(19, host));
        ground.file(
            "hosts",
            &format!("127.0.0.1 localhost\n{}", hosts.collect::<String>()),
        );
        let (file, none) = (ground.work.join("hosts"), None::<&str>);
        mount(Some(&file), "/etc/hosts", none, MsFlags::MS_BIND, none).expect("a bind mount");
        Names
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        umount2("/etc/hosts", MntFlags::MNT_DETACH).expect("the machine's own file");
    }
}

/// Whether a server greets this host with "blocked because of many connection errors".
fn is_locked_out(place: &str) -> bool {
    let mut greeting = [0; 7];
    let mut stream = TcpStream::connect(place).expect("a connection");
    stream.read_exact(&mut greeting).expect("a greeting");
    // After length and number an error packet's mark and code.
    let code = u16::from_le_bytes([greeting[5], greeting[6]]);
    (greeting[4], code) == (0xff, 1129)
}

#[test]
fn lab_endpoint_is_not_locked_out_for_its_probes() {
    on_ground("endpoint: not locked out", |ground| {
        let own = ground.file("own.cnf", OWN);
        let names = Names::give(ground);
        let up = [
            "async", "--server", "mysql", "--nodes", "2", "--tls", "--my-cnf", own,
        ];
        with_lab(ground, &up, || {
            drop(names);
            prepare(ground, &["a", "b"]);
            let places = ["a", "b"].map(|node| format!("{}:3306", address(ground, node)));
            let lines = format!("replicas = [\"mysql://guest@{}\"]\n{TRUSTED}", places[1]);
            let head = SHORT.replace("= 1\n", "= 3\n");
            let text = study(&head, &format!("guest@{}", places[0]), &lines);
            let told = run(ground, &text, &[]);
            assert_eq!(told.code, Some(0), "{told:?}");
            for place in &places {
                assert!(!as_client(ground, || is_locked_out(place)), "{place}");
            }
            // They do count, where nobody logs in.
            let begin = Instant::now();
            as_client(ground, || {
                while !is_locked_out(&places[1]) {
                    assert!(begin.elapsed() < PATIENCE, "never locked out");
                }
            });
            run(ground, &text, &[]).fails(4, &[&places[1], "is blocked"]);
            assert_eq!(claims(ground), 0);
        });
    });
}

fn address(ground: &Ground, node: &str) -> String {
    let told = ground.run(&["status"]).good();
    let mut lines = told.lines().map(str::split_whitespace);
    let found = lines.find_map(|mut words| (words.next() == Some(node)).then(|| words.next()));
    found.flatten().expect("an address").to_owned()
}

fn check_report(report: &Value) {
    let endpoint = &report["endpoints"][0];
    assert_eq!(endpoint["label"], "ours");
    assert!(
        endpoint["tls"]
            .as_str()
            .unwrap()
            .starts_with("verified by the study's ca, TLSv1")
    );
    assert_eq!(endpoint["counters"]["engine_commits"], true, "{endpoint}");
    let cells = report["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2);
    for cell in cells {
        assert!(
            cell["throughput_per_s"]["median"].as_f64() > Some(1.0),
            "{cell}"
        );
        let cpu = &cell["cpu_us_per_commit"];
        assert!(cpu["writer"].is_null() && cpu["links"].is_null(), "{cpu}");
        assert!(cpu["client"].as_f64() > Some(0.0), "{cpu}");
        assert!(cell["bytes_per_commit"]["client"].is_null(), "{cell}");
        let handshakes = cell["handshakes_us"].as_array().expect("handshakes");
        let names: Vec<_> = handshakes
            .iter()
            .map(|made| made["node"].as_str())
            .collect();
        assert_eq!(names, [Some("writer"), Some("replica 1")]);
        assert!(
            handshakes
                .iter()
                .all(|made| made["min"].as_f64() > Some(0.0))
        );
        // One commit of the load's, and a few of ours, by the server's own count.
        let commits = cell["counters_per_commit"]["engine_commits"].as_f64();
        assert!(commits >= Some(1.0), "{cell}");
        let lag = &cell["lag_ms"][0];
        assert_eq!(lag["node"], "replica 1");
        assert!(
            lag["samples"].as_u64() > Some(0) && lag["catch_up"].is_number(),
            "{lag}"
        );
    }
}

/// Starts a study that would go on for long, and waits for its first measurement.
fn start(ground: &Ground, record: &str) -> Child {
    let head = SHORT.replace("rounds = 1\n", "rounds = 1000\n");
    let lines = "ca = \"ca.pem\"\n";
    let file = ground.file("endpoint.toml", &study(&head, "guest@198.18.0.1", lines));
    let mut child = as_client(ground, || {
        let mut command = ground.command(&["run", file, "--record", record]);
        command.env("ACKLAB_PASSWORD", PASSWORD);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("the program")
    });
    let begin = Instant::now();
    while !ground.work.join(record).exists() {
        assert_eq!(child.try_wait().expect("its state"), None, "it ended");
        assert!(begin.elapsed() < PATIENCE, "no measurement");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child
}

/// Nobody who lists processes sees the password: no argument holds it, nor does the environment of
/// any process that the user did not give it to.
fn hides_the_secret(ground: &Ground, own: u32) {
    let holds = |pid: i32, file: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        bytes
            .windows(PASSWORD.len())
            .any(|part| part == PASSWORD.as_bytes())
    };
    let pids = ground.processes();
    assert!(holds(own as i32, "environ"), "the look sees what is there");
    for pid in pids {
        assert!(!holds(pid, "cmdline"), "{pid}");
        assert!(pid == own as i32 || !holds(pid, "environ"), "{pid}");
    }
}

#[test]
fn lab_endpoint_is_left_clean_however_a_run_ends() {
    on_ground("endpoint: stops and kills", |ground| {
        with_lab(ground, &["single", "--server", "mysql", "--tls"], || {
            prepare(ground, &["a"]);
            let before = databases(ground);
            let of_lab: BTreeSet<i32> = ground.processes().into_iter().collect();
            for (signal, record) in [(Signal::SIGINT, "i.acklab"), (Signal::SIGTERM, "t.acklab")] {
                let mut child = start(ground, record);
                hides_the_secret(ground, child.id());
                assert_eq!(databases(ground).len(), before.len() + 1);
                kill(Pid::from_raw(child.id() as i32), signal).expect("a signal");
                let ended = child.wait().expect("an end");
                assert_eq!(ended.code(), Some(130), "{signal}");
                assert_eq!(
                    (databases(ground), claims(ground)),
                    (before.clone(), 0),
                    "{signal}"
                );
                assert_eq!(ground.json(record)["finished"], false);
            }
            let mut child = start(ground, "k.acklab");
            kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).expect("a signal");
            child.wait().expect("an end");
            its_processes_end(ground, &of_lab);
            let left: Vec<String> = databases(ground).difference(&before).cloned().collect();
            assert_eq!((left.len(), claims(ground)), (1, 1));
            // One that is like it, but that nobody here can prove to be a dead run's.
            let foreign = "acklab_0123";
            for sql in [
                format!("CREATE DATABASE {foreign}"),
                format!(
                    "CREATE TABLE {foreign}.acklab_marker LIKE {}.acklab_marker",
                    left[0]
                ),
            ] {
                ground.run(&["sql", "a", &sql]).good();
            }
            let told = run(ground, &study(SHORT, "guest@198.18.0.1", TRUSTED), &[]);
            assert_eq!(told.code, Some(0), "{told:?}");
            assert!(
                told.err.contains(&format!("dropped {}", left[0])),
                "{}",
                told.err
            );
            let mut expected = before.clone();
            expected.insert(foreign.to_owned());
            assert_eq!((databases(ground), claims(ground)), (expected, 0));
        });
    });
}

fn its_processes_end(ground: &Ground, of_lab: &BTreeSet<i32>) {
    let begin = Instant::now();
    while ground.processes().iter().any(|pid| !of_lab.contains(pid)) {
        assert!(begin.elapsed() < PATIENCE, "a driver lives on");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// A server without TLS is refused unless the study says so; MariaDB's is measured as well.
#[test]
fn lab_endpoint_in_clear_must_be_asked_for() {
    on_ground("endpoint: in clear", |ground| {
        with_lab(ground, &["single", "--server", "mariadb"], || {
            make_guest(ground);
            ground.file("pw", PASSWORD);
            let before = databases(ground);
            let password = "password_file = \"pw\"\n";
            let told = run(ground, &study(SHORT, "guest@198.18.0.1", password), &[]);
            told.fails(2, &["198.18.0.1:3306", "offers no TLS", "tls = \"off\""]);
            let clear = format!("{password}tls = \"off\"\n");
            let text = study(SHORT, "guest@198.18.0.1", &clear);
            let told = run(ground, &text, &["--record", "c.acklab"]);
            assert_eq!(told.code, Some(0), "{told:?}");
            assert_eq!((databases(ground), claims(ground)), (before, 0));
            let report = ground.json("c.acklab");
            assert_eq!(
                (&report["endpoints"][0]["tls"], &report["tls"]),
                (&"off".into(), &false.into())
            );
        });
    });
}
