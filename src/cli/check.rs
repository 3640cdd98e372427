//! `check`: what this machine can and cannot do, and what would be lost.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::error::Result;
use crate::lab::disk::ext4::{self, needed_program};
use crate::lab::disk::loop_device::LoopDevice;
use crate::lab::memory::Controller;
use crate::lab::servers::Cache;
use crate::lab::servers::client::on_path;
use crate::lab::servers::client::{Client, MVN, NPM};
use crate::observe::host::{HostCpu, fsync_us_p50};

/// One line of the check.
struct Finding {
    what: &'static str,
    is_good: bool,
    found: String,
    /// What is lost without it.
    lost: &'static str,
}

/// What three of the lines below are for.
const DISKS_LOST: &str = "emulated disks: modes mirror and quorum, studies with a disk";

/// Prints what this machine can do. Exit code 0 if a study can run, 3 if not.
pub fn check() -> Result<u8> {
    let findings = [
        root(),
        namespaces(),
        device("TUN", "/dev/net/tun", "links: nothing can run"),
        cpus(),
        memory(),
        clock(),
        realtime(),
        busy(),
        fsync(),
        apt(),
        client(NPM, "fetching mysql-5.6, for the study group-commit"),
        client(MVN, "fetching mysql-5.5, for the study group-commit"),
        device("FUSE", "/dev/fuse", DISKS_LOST),
        loop_device(),
        file_system(),
        cgroups(),
        memory_limits(),
        file_limit(),
    ];
    let mut can_run = true;
    for finding in &findings {
        let mark = if finding.is_good { "ok " } else { "NO " };
        say!("{mark} {:<16} {}", finding.what, finding.found);
        if !finding.is_good {
            say!("    {:<16} without it: {}", "", finding.lost);
        }
        let is_vital = ["root", "namespaces", "TUN"].contains(&finding.what);
        can_run &= finding.is_good || !is_vital;
    }
    say!();
    if can_run {
        say!("This machine can run studies.");
        return Ok(0);
    }
    say!("This machine cannot run studies: see the lines marked NO.");
    Ok(3)
}

fn finding(what: &'static str, is_good: bool, found: String, lost: &'static str) -> Finding {
    Finding {
        what,
        is_good,
        found,
        lost,
    }
}

fn root() -> Finding {
    let uid = nix::unistd::geteuid();
    finding(
        "root",
        uid.is_root(),
        format!("user id {uid}"),
        "namespaces: nothing can run",
    )
}

/// A child tries what the sandbox does.
fn namespaces() -> Finding {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount", "--net", "true"]);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let (is_good, found) = match status {
        Ok(status) if status.success() => (true, "pid, mount and network".to_owned()),
        Ok(status) => (false, format!("refused ({status})")),
        Err(error) => (false, format!("could not try: {error}")),
    };
    finding("namespaces", is_good, found, "the sandbox: nothing can run")
}

fn device(what: &'static str, path: &str, lost: &'static str) -> Finding {
    let opened = fs::OpenOptions::new().read(true).write(true).open(path);
    let found = match &opened {
        Ok(_) => format!("{path} opens"),
        Err(error) => format!("{path}: {error}"),
    };
    finding(what, opened.is_ok(), found, lost)
}

/// One that is free, and that we may open: in a container the second need not be so.
fn loop_device() -> Finding {
    let (is_good, found) = match LoopDevice::next_free() {
        Ok(path) => (true, format!("{} is free", path.display())),
        Err(error) => (false, error.to_string()),
    };
    finding("loop devices", is_good, found, DISKS_LOST)
}

/// The programs that make and check what lies on an emulated disk.
fn file_system() -> Finding {
    let found: Result<Vec<PathBuf>> = ext4::PROGRAMS.into_iter().map(needed_program).collect();
    let is_good = found.is_ok();
    let shown = |paths: Vec<PathBuf>| {
        let paths: Vec<_> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        paths.join(", ")
    };
    let found = found.map_or_else(|error| error.to_string(), shown);
    finding("ext4", is_good, found, DISKS_LOST)
}

fn cpus() -> Finding {
    let count = std::thread::available_parallelism().map_or(1, |count| count.get());
    let found = format!("{count} CPUs");
    finding(
        "CPUs",
        count >= 2,
        found,
        "trust: the links would be late, cells void",
    )
}

fn memory() -> Finding {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("MemAvailable"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    let gib = kib.unwrap_or(0.0) / 1024.0 / 1024.0;
    let lost = "`compare` (10 servers and their disks want 6 GiB; `--full` 12 GiB)";
    finding("memory", gib >= 6.0, format!("{gib:.1} GiB free"), lost)
}

/// The smallest step that the clock shows.
fn clock() -> Finding {
    let steps = (0..1000).map(|_| {
        let start = Instant::now();
        let mut step = start.elapsed();
        while step.is_zero() {
            step = start.elapsed();
        }
        step.as_nanos()
    });
    let ns = steps.min().unwrap_or(0);
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = fs::read_to_string(source).unwrap_or_default();
    let found = format!("{} steps of {ns} ns", source.trim());
    finding(
        "clock",
        ns < 2_000,
        found,
        "short times: they are read in steps of that size",
    )
}

fn realtime() -> Finding {
    // SAFETY: asks for and gives back a scheduling class of this very thread.
    let refused = unsafe {
        let fifo = libc::sched_param { sched_priority: 1 };
        let refused = libc::sched_setscheduler(0, libc::SCHED_FIFO, &fifo) != 0;
        let other = libc::sched_param { sched_priority: 0 };
        libc::sched_setscheduler(0, libc::SCHED_OTHER, &other);
        refused
    };
    let found = if refused {
        "SCHED_FIFO refused"
    } else {
        "SCHED_FIFO given"
    };
    finding(
        "real-time",
        !refused,
        found.into(),
        "punctual links: more cells flagged late-links",
    )
}

fn busy() -> Finding {
    let before = HostCpu::now();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let (busy, stolen) = HostCpu::now().shares_since(&before);
    let found = format!("{:.0} % busy, {:.0} % stolen", busy * 100.0, stolen * 100.0);
    finding(
        "quiet host",
        busy < 0.3,
        found,
        "trust: others' work is in your figures",
    )
}

/// Where servers' data would lie. A cache that cannot be made is a finding, too.
fn fsync() -> Finding {
    match Cache::of_user().and_then(|cache| fsync_us_p50(&cache.path)) {
        Ok(us) => {
            let found = format!("{us:.0} µs for a 4 KiB write + fdatasync (median of 100)");
            finding(
                "fsync",
                us < 10_000.0,
                found,
                "pace: every commit waits for it",
            )
        }
        Err(error) => finding("fsync", false, error.to_string(), "a place for data"),
    }
}

fn apt() -> Finding {
    let output = Command::new("apt-get").arg("--version").output();
    let found = output.as_ref().map_or("no apt-get".to_owned(), |output| {
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    });
    let lost = "fetching servers; use `acklab servers add TARBALL` or an installed server";
    finding("apt", output.is_ok(), found, lost)
}

/// A client that only some servers are fetched through.
fn client(client: Client, lost: &'static str) -> Finding {
    let found = on_path(client.program);
    let is_good = found.is_ok();
    let absent = || format!("no {} (apt-get install {})", client.program, client.package);
    let found = found.map_or_else(|_| absent(), |path| path.display().to_string());
    finding(client.program, is_good, found, lost)
}

fn cgroups() -> Finding {
    let text = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let has = |kind: &str| {
        text.lines()
            .any(|line| line.split(' ').nth(2) == Some(kind))
    };
    let found = match (has("cgroup2"), has("cgroup")) {
        (_, true) => "version 1 hierarchies",
        (true, false) => "version 2",
        _ => "none",
    };
    finding(
        "cgroups",
        found != "none",
        found.into(),
        "CPU shares per node (not used yet)",
    )
}

fn memory_limits() -> Finding {
    let (is_good, found) = match Controller::find() {
        Ok(controller) => (true, controller.shown()),
        Err(error) => (false, error.to_string()),
    };
    let lost = "studies with `memory`: a limit for each server";
    finding("memory limits", is_good, found, lost)
}

fn file_limit() -> Finding {
    use nix::sys::resource::{Resource, getrlimit};
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((0, 0));
    let lost = "studies with thousands of connections";
    finding("open files", hard >= 8192, format!("at most {hard}"), lost)
}
