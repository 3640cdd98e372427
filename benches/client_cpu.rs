//! The load driver's own CPU time per transaction beside sysbench's: point selects, prepared, 64
//! connections, same server, the two in turn.
//!
//!     ACKLAB_MYSQL_ROOT=DIR cargo bench --bench client_cpu
//!
//! DIR is the root of an unpacked MySQL with its libraries; a server is initialised and started
//! in a temporary directory. Or name a running one, which has a database `acklab_bench` and an
//! account `root` without a password: `ACKLAB_BENCH_SERVER=address:port`.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use acklab::load::{self, Driver, Job};
use acklab::study::{SysbenchLoad, Workload};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::User;

const DATABASE: &str = "acklab_bench";
const TABLE_SIZE: u32 = 10_000;
const CONNECTIONS: u32 = 64;
const PAIRS: usize = 5;
/// Pairs that are tried to get that many on a quiet host.
const ATTEMPTS: usize = 60;
/// A pair is void if others than the bench had a larger share of the host's CPU time.
const OTHERS_SHARE: f64 = 0.02;
const RUN: Duration = Duration::from_secs(2);
/// What the project sets itself.
const TARGET_RATIO: f64 = 0.6;

/// A server of ours, ended and its data removed when dropped.
struct Server {
    child: Child,
    _data: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() -> ExitCode {
    // `cargo test --all-targets` would run this as well.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    match judge(ratios()) {
        Ok(met) => {
            println!("{met}");
            ExitCode::SUCCESS
        }
        Err(missed) => {
            eprintln!("client_cpu: {missed}");
            ExitCode::from(1)
        }
    }
}

/// One for each pair on a quiet host, until there are enough or trying is given up.
fn ratios() -> Vec<f64> {
    let (address, server) = server();
    fill(address);
    let server_pid = server.as_ref().map(|server| server.child.id());
    let mut ratios = Vec::new();
    for attempt in 0..ATTEMPTS {
        let before = Host::now(server_pid);
        let (ours, theirs) = pair(address, attempt % 2 == 0);
        let others = Host::now(server_pid).others_since(&before);
        let is_void = server_pid.is_some() && others > OTHERS_SHARE;
        println!("{}", line(ours, theirs, others, is_void));
        if !is_void {
            ratios.push(ours.0 / theirs.0);
        }
        if ratios.len() == PAIRS {
            break;
        }
    }
    ratios
}

/// The figure and what it was held against, or what is missed.
fn judge(mut ratios: Vec<f64>) -> Result<String, String> {
    let sound = ratios.len();
    if sound < PAIRS {
        return Err(format!(
            "the host was too busy with other work: {sound} of {ATTEMPTS} pairs are sound, \
             {PAIRS} are needed"
        ));
    }
    ratios.sort_by(f64::total_cmp);
    let (low, median, high) = (ratios[0], ratios[PAIRS / 2], ratios[PAIRS - 1]);
    let figure =
        format!("client CPU per transaction, acklab / sysbench: {median:.2} ({low:.2}–{high:.2})");
    match median <= TARGET_RATIO {
        true => Ok(format!("{figure}, within the bound of {TARGET_RATIO}")),
        false => Err(format!("{figure}: above the bound of {TARGET_RATIO}")),
    }
}

/// Both tools, one after the other.
fn pair(address: SocketAddr, ours_first: bool) -> ((f64, f64), (f64, f64)) {
    if ours_first {
        return (cpu(|| run_acklab(address)), cpu(|| run_sysbench(address)));
    }
    let theirs = cpu(|| run_sysbench(address));
    (cpu(|| run_acklab(address)), theirs)
}

fn line(ours: (f64, f64), theirs: (f64, f64), others: f64, is_void: bool) -> String {
    format!(
        "acklab {:5.2} µs/transaction at {:6.0}/s, sysbench {:5.2} µs at {:6.0}/s, ratio {:.2}; \
         others had {:2.0} % of the host{}",
        ours.0,
        ours.1,
        theirs.0,
        theirs.1,
        ours.0 / theirs.0,
        others * 100.0,
        if is_void { ": void" } else { "" }
    )
}

/// CPU time in clock ticks: of the host, and of the bench with its server.
struct Host {
    all: f64,
    busy: f64,
    ours: f64,
}

impl Host {
    fn now(server_pid: Option<u32>) -> Host {
        let stat = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
        let first = stat.lines().next().expect("a line for all CPUs");
        let fields = first.split_whitespace().skip(1).take(8);
        let ticks: Vec<f64> = fields.map(|field| field.parse().expect("ticks")).collect();
        let all: f64 = ticks.iter().sum();
        // The fourth and fifth are idle time. Soft interrupts stay in: a process's account
        // holds those that it was interrupted by.
        let busy = all - ticks[3] - ticks[4];
        let ours = server_pid.map_or(0.0, process_ticks) + children_us() / 1e4;
        Host { all, busy, ours }
    }

    /// The share of the host's CPU time that others used.
    fn others_since(&self, before: &Host) -> f64 {
        let others = (self.busy - before.busy) - (self.ours - before.ours);
        others / (self.all - before.all)
    }
}

fn process_ticks(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the server's stat");
    let after_name = &stat[stat.rfind(')').expect("a name in brackets")..];
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    // utime and stime, 14 and 15 in proc(5), whose second field is the name.
    fields[12..14]
        .iter()
        .map(|ticks| ticks.parse::<f64>().expect("ticks"))
        .sum()
}

/// CPU µs of child processes per transaction, and transactions per second.
fn cpu(run: impl FnOnce() -> u64) -> (f64, f64) {
    let (before_us, begin) = (children_us(), Instant::now());
    let transactions = run() as f64;
    let rate = transactions / begin.elapsed().as_secs_f64();
    ((children_us() - before_us) / transactions, rate)
}

/// User and system time of the children that have been waited for.
fn children_us() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("resource usage");
    let micros = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64;
    micros(usage.user_time()) + micros(usage.system_time())
}

fn workload() -> Workload {
    Workload::Sysbench {
        load: SysbenchLoad::PointSelect,
        tables: 1,
        table_size: TABLE_SIZE,
        prepared: true,
    }
}

fn run_acklab(address: SocketAddr) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acklab"));
    command.arg("drive");
    let mut driver = Driver::spawn(command).expect("acklab drive");
    let job = Job {
        targets: vec![address],
        user: "root".to_owned(),
        password: "".into(),
        databases: vec![DATABASE.to_owned()],
        tls: false,
        workload: workload(),
        connections: CONNECTIONS,
        seed: 1,
        driver: 0,
        drivers: 1,
        unique_from: 0,
        rate_per_s: None,
        pace: None,
        slowdown: None,
        waits: false,
        guest: None,
    };
    driver.start(&job).expect("a running load");
    std::thread::sleep(RUN);
    let snapshot = driver.stop().expect("a stop");
    assert!(snapshot.errors.is_empty(), "{:?}", snapshot.errors);
    snapshot.commits + snapshot.unchanged
}

fn run_sysbench(address: SocketAddr) -> u64 {
    let output = Command::new("sysbench")
        .arg("oltp_point_select")
        .arg(format!("--mysql-host={}", address.ip()))
        .arg(format!("--mysql-port={}", address.port()))
        .args(["--mysql-user=root", "--tables=1", "--mysql-ssl=off"])
        .arg(format!("--mysql-db={DATABASE}"))
        .arg(format!("--table-size={TABLE_SIZE}"))
        .arg(format!("--threads={CONNECTIONS}"))
        .arg(format!("--time={}", RUN.as_secs()))
        .arg("run")
        .output()
        .expect("sysbench is installed");
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text
        .lines()
        .find(|line| line.trim().starts_with("transactions:"));
    let count = line.and_then(|line| line.split_whitespace().nth(1));
    count
        .and_then(|count| count.parse().ok())
        .unwrap_or_else(|| panic!("sysbench: {text}"))
}

fn server() -> (SocketAddr, Option<Server>) {
    if let Ok(address) = std::env::var("ACKLAB_BENCH_SERVER") {
        return (
            address.parse().expect("ACKLAB_BENCH_SERVER=address:port"),
            None,
        );
    }
    let root = std::env::var_os("ACKLAB_MYSQL_ROOT");
    let root = PathBuf::from(root.expect("set ACKLAB_MYSQL_ROOT or ACKLAB_BENCH_SERVER"));
    start_server(&root)
}

fn start_server(root: &Path) -> (SocketAddr, Option<Server>) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let nobody = User::from_name("nobody")
        .expect("users")
        .expect("user nobody");
    let (uid, gid) = (nobody.uid.as_raw(), nobody.gid.as_raw());
    chown(data.path(), Some(uid), Some(gid)).expect("a directory of the server's");
    let datadir = data.path().join("data");
    let status = mysqld(root, &datadir).arg("--initialize-insecure").status();
    assert!(
        status.expect("mysqld").success(),
        "mysqld --initialize-insecure"
    );

    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = free.expect("a free port");
    let mut command = mysqld(root, &datadir);
    command
        .arg(format!("--port={}", address.port()))
        .args([
            "--bind-address=127.0.0.1",
            "--skip-log-bin",
            "--performance-schema=OFF",
        ])
        .arg(format!("--socket={}", data.path().join("sock").display()));
    let child = command.spawn().expect("mysqld");
    let mut server = Server { child, _data: data };
    let deadline = Instant::now() + Duration::from_secs(60);
    while admin(address).is_none() {
        assert!(
            server.child.try_wait().expect("mysqld").is_none(),
            "mysqld ended"
        );
        assert!(Instant::now() < deadline, "mysqld is not ready");
        std::thread::sleep(Duration::from_millis(50));
    }
    (address, Some(server))
}

/// mysqld through its own loader and libraries.
fn mysqld(root: &Path, datadir: &Path) -> Command {
    let libraries = [
        "usr/lib/x86_64-linux-gnu",
        "usr/lib/mysql/private",
        "usr/lib/mysql",
    ];
    let libraries = libraries
        .map(|path| root.join(path).display().to_string())
        .join(":");
    let at = |path: &str| root.join(path).display().to_string();
    let mut command = Command::new(at("usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"));
    command
        .args([
            "--library-path",
            &libraries,
            &at("usr/sbin/mysqld"),
            "--no-defaults",
        ])
        .arg(format!("--basedir={}", at("usr")))
        .arg(format!("--plugin-dir={}", at("usr/lib/mysql/plugin")))
        .arg(format!("--lc-messages-dir={}", at("usr/share/mysql")))
        .arg(format!(
            "--character-sets-dir={}",
            at("usr/share/mysql/charsets")
        ))
        .arg(format!("--datadir={}", datadir.display()))
        .args(["--secure-file-priv=NULL", "--mysqlx=OFF", "--user=nobody"])
        .stderr(Stdio::null());
    command
}

fn admin(address: SocketAddr) -> Option<Conn> {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some(address.ip().to_string()))
        .tcp_port(address.port())
        .prefer_socket(false)
        .user(Some("root"));
    Conn::new(options).ok()
}

fn fill(address: SocketAddr) {
    let mut admin = admin(address).expect("the server");
    let database = [
        format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"),
        format!("USE {DATABASE}"),
    ];
    for sql in database
        .into_iter()
        .chain(load::setup_statements(&workload(), 1))
    {
        admin.query_drop(sql).expect("a set-up statement");
    }
}
