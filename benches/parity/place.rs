//! One real server in a lab of our own, on a CPU of its own; the tools run beside it on another.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::linux::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Instant;

use acklab::error::{Result, Tried, breakdown};
use acklab::lab::sandbox::INSIDE;
use acklab::observe::cpu::process_cpu_us;
use acklab::observe::host::HostCpu;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use nix::sched::{CloneFlags, CpuSet, sched_getaffinity, sched_setaffinity, setns};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;

use crate::ground::Ground;

/// The database of sysbench's tables.
pub const DATABASE: &str = "acklab_parity";
pub const USER: &str = "root";
const PORT: u16 = 3306;

/// An account without a password: no login costs more than another.
const ACCOUNT: [&str; 2] = [
    "CREATE USER root@'%' IDENTIFIED BY ''",
    "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION",
];
/// Flushed once a second, so that the disk's time does not hide the client's.
const LOOSE: [&str; 2] = [
    "SET GLOBAL innodb_flush_log_at_trx_commit = 2",
    "SET GLOBAL sync_binlog = 0",
];

/// Where both tools run: in the server's network namespace, with no emulated link between.
pub struct Place {
    pub address: SocketAddr,
    /// What the server says of itself.
    pub version: String,
    /// Where the catalogue's servers are, their own tools among them.
    pub servers: PathBuf,
    server_pids: Vec<i32>,
}

impl Place {
    /// Enters the lab that is up, with the calling thread and all that it starts from now on, and
    /// holds server and thread to a CPU each.
    pub fn enter(ground: &Ground) -> Result<Place> {
        for sql in ACCOUNT.iter().chain(&LOOSE) {
            ground.run(&["sql", "a", sql]).good();
        }
        let (server_cpu, client_cpu) = two_cpus()?;
        let (namespace, address) = node(ground)?;
        let server_pids = processes_in(&namespace)?;
        for pid in &server_pids {
            hold_process(*pid, server_cpu)?;
        }
        hold(Pid::from_raw(0), client_cpu)?;
        setns(&namespace, CloneFlags::CLONE_NEWNET)
            .tried(|| "enter the server's network namespace".to_owned())?;
        let mut place = Place {
            address: (address, PORT).into(),
            version: String::new(),
            servers: ground.cache.join("servers"),
            server_pids,
        };
        let version: Option<String> = place.admin()?.query_first("SELECT VERSION()").tried(tell)?;
        place.version = version.unwrap_or_default();
        Ok(place)
    }

    /// A connection for all that is not measured.
    pub fn admin(&self) -> Result<Conn> {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(self.address.ip().to_string()))
            .tcp_port(self.address.port())
            .prefer_socket(false)
            .user(Some(USER));
        Conn::new(options).tried(|| format!("connect to {}", self.address))
    }

    /// A look at the host's CPU time, and at that of the bench with all it runs.
    pub fn look(&self) -> Look {
        let own = [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN].map(used_us);
        Look {
            at: Instant::now(),
            host: HostCpu::now(),
            own_us: self.server_cpu_us() + own.iter().sum::<f64>(),
        }
    }

    /// CPU time that the server has taken so far.
    pub fn server_cpu_us(&self) -> f64 {
        let pids = self.server_pids.iter();
        let used_us = pids.filter_map(|pid| process_cpu_us(u32::try_from(*pid).ok()?));
        used_us.sum()
    }
}

fn tell() -> String {
    "ask the server what it is".to_owned()
}

/// CPU time at one moment.
pub struct Look {
    at: Instant,
    host: HostCpu,
    own_us: f64,
}

impl Look {
    /// The share of all CPU time since `earlier` that others had, the hypervisor among them.
    pub fn others_share_since(&self, earlier: &Look) -> f64 {
        let (busy, stolen) = self.host.shares_since(&earlier.host);
        let all_us = (self.at - earlier.at).as_secs_f64() * 1e6 * all_cpus();
        (busy - (self.own_us - earlier.own_us) / all_us).max(0.0) + stolen
    }
}

/// Of the host: this thread is held to one, and would be told of that alone.
fn all_cpus() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let lines = stat.lines().filter(|line| line.starts_with("cpu"));
    // The first line is the sum of the others.
    lines.skip(1).count().max(1) as f64
}

/// CPU time so far; of children, of those that have ended.
fn used_us(who: UsageWho) -> f64 {
    let micros = |time: TimeVal| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64;
    getrusage(who).map_or(0.0, |usage| {
        micros(usage.user_time()) + micros(usage.system_time())
    })
}

/// The first two CPUs that this process may use.
fn two_cpus() -> Result<(usize, usize)> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).tried(|| "ask for CPUs".to_owned())?;
    let mut cpus = (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false));
    match (cpus.next(), cpus.next()) {
        (Some(server), Some(client)) => Ok((server, client)),
        _ => Err(breakdown(
            "hold server and client to a CPU each",
            "this process may use one only",
        )),
    }
}

fn hold(thread: Pid, cpu: usize) -> Result<()> {
    let mut only = CpuSet::new();
    only.set(cpu).tried(|| format!("name CPU {cpu}"))?;
    sched_setaffinity(thread, &only).tried(|| format!("hold thread {thread} to CPU {cpu}"))
}

/// Holds all threads of a process. Threads that come later take after those that start them.
fn hold_process(pid: i32, cpu: usize) -> Result<()> {
    let mut held = Vec::new();
    loop {
        let mut threads = threads(pid)?;
        threads.retain(|thread| !held.contains(thread));
        if threads.is_empty() {
            return Ok(());
        }
        for thread in threads {
            // One that has ended meanwhile needs no CPU.
            let is_there = fs::exists(format!("/proc/{pid}/task/{thread}")).unwrap_or(false);
            hold(Pid::from_raw(thread), cpu).or_else(|error| match is_there {
                true => Err(error),
                false => Ok(()),
            })?;
            held.push(thread);
        }
    }
}

fn threads(pid: i32) -> Result<Vec<i32>> {
    numbers_in(&format!("/proc/{pid}/task"))
}

fn numbers_in(folder: &str) -> Result<Vec<i32>> {
    let entries = fs::read_dir(folder).tried(|| format!("read {folder}"))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    Ok(names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect())
}

/// Network namespace and address of node `a` of the lab that is up.
fn node(ground: &Ground) -> Result<(File, Ipv4Addr)> {
    let missing = || {
        breakdown(
            "find the lab's server",
            "its description is not as expected",
        )
    };
    let folder = ground
        .run_folders()
        .into_iter()
        .next()
        .ok_or_else(missing)?;
    let pid = ground.first_pid(&folder).ok_or_else(missing)?;
    let text = fs::read_to_string(folder.join("lab.json")).tried(|| "read lab.json".to_owned())?;
    let lab: serde_json::Value =
        serde_json::from_str(&text).tried(|| "read lab.json".to_owned())?;
    let place = &lab["places"]["a"];
    let (name, address) = (place[0].as_str(), place[1].as_str());
    let name = name.ok_or_else(missing)?;
    let address = address.and_then(|text| text.parse().ok());
    let path = format!("/proc/{pid}/root{INSIDE}/netns/{name}");
    let file = File::open(&path).tried(|| format!("open {path}"))?;
    Ok((file, address.ok_or_else(missing)?))
}

/// All that runs in a network namespace: a node's server.
fn processes_in(namespace: &File) -> Result<Vec<i32>> {
    let tried = || "find the server's process".to_owned();
    let wanted = namespace.metadata().tried(tried)?.st_ino();
    let is_inside = |pid: &i32| {
        let found = fs::metadata(format!("/proc/{pid}/ns/net"));
        found.is_ok_and(|found| found.st_ino() == wanted)
    };
    let pids: Vec<i32> = numbers_in("/proc")?.into_iter().filter(is_inside).collect();
    if pids.is_empty() {
        return Err(breakdown(tried(), "nothing runs in its namespace"));
    }
    Ok(pids)
}
