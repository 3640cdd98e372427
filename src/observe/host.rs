//! The machine under everything.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{hint, thread};

use nix::unistd::{SysconfVar, sysconf};
use sha2::{Digest, Sha256};

use crate::error::{Result, Tried};
use crate::record::Host;

/// Ticks in a second on nearly every Linux (proc(5)).
const USUAL_TICKS_PER_S: f64 = 100.0;

/// CPU time of the whole host since it started, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostCpu {
    busy: u64,
    stolen: u64,
    total: u64,
}

impl HostCpu {
    /// Reads `/proc/stat`.
    pub fn now() -> HostCpu {
        HostCpu::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// Moves this reading forward by what passed between two others.
    pub fn add_since(&mut self, later: &HostCpu, earlier: &HostCpu) {
        self.busy += later.busy.saturating_sub(earlier.busy);
        self.stolen += later.stolen.saturating_sub(earlier.stolen);
        self.total += later.total.saturating_sub(earlier.total);
    }

    /// As if so much had neither been used nor been there to be used: CPU time that was held so
    /// that CPUs are slower.
    pub fn without(&self, held_us: f64) -> HostCpu {
        let told = sysconf(SysconfVar::CLK_TCK).ok().flatten();
        let ticks_per_s = told.map_or(USUAL_TICKS_PER_S, |ticks| ticks as f64);
        self.less((held_us / 1e6 * ticks_per_s).round() as u64)
    }

    fn less(&self, ticks: u64) -> HostCpu {
        HostCpu {
            busy: self.busy.saturating_sub(ticks),
            stolen: self.stolen,
            total: self.total.saturating_sub(ticks),
        }
    }

    /// First line: user nice system idle iowait irq softirq steal (proc(5)).
    fn parse(text: &str) -> HostCpu {
        let line = text.lines().next().unwrap_or_default();
        let fields = line.split_whitespace().skip(1).take(8);
        let ticks: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
        let total = ticks.iter().sum();
        let at = |i: usize| ticks.get(i).copied().unwrap_or(0);
        let stolen = at(7);
        HostCpu {
            busy: total - at(3) - at(4) - stolen,
            stolen,
            total,
        }
    }

    /// Shares of all CPU time since `earlier` that this machine used, and that were stolen from it.
    pub fn shares_since(&self, earlier: &HostCpu) -> (f64, f64) {
        let total = self.total.saturating_sub(earlier.total).max(1) as f64;
        let share = |now: u64, then: u64| now.saturating_sub(then) as f64 / total;
        (
            share(self.busy, earlier.busy),
            share(self.stolen, earlier.stolen),
        )
    }
}

/// The share of all CPU time, 0 to 1, that is stolen while all CPUs are kept busy for `span`. From
/// a machine that asks for nothing nothing is stolen, so that only asking tells.
pub fn stolen_when_busy(span: Duration) -> f64 {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let before = HostCpu::now();
    let end = Instant::now() + span;
    let keep_busy = || {
        while Instant::now() < end {
            hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        // This thread is one of them.
        for _ in 1..cpus {
            scope.spawn(keep_busy);
        }
        keep_busy();
    });
    let (_, stolen) = HostCpu::now().shares_since(&before);
    stolen
}

/// By what this machine is known again in another run, though not named: a digest of the ids that
/// its firmware and its system have, or where neither can be read, of its boot.
pub fn machine() -> Option<String> {
    let read = |path: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        Some(text.trim().to_owned()).filter(|id| !id.is_empty())
    };
    let ids = ["/sys/class/dmi/id/product_uuid", "/etc/machine-id"].map(read);
    let own: Vec<String> = ids.into_iter().flatten().collect();
    let boot = read("/proc/sys/kernel/random/boot_id").filter(|_| own.is_empty());
    digest(own.into_iter().chain(boot).collect())
}

/// An id is nobody else's business: of several with a salt the first digits are enough.
fn digest(ids: Vec<String>) -> Option<String> {
    let salted = format!("acklab machine\n{}", ids.join("\n"));
    let digest = Sha256::digest(salted.as_bytes());
    let digits = digest.iter().take(8).map(|byte| format!("{byte:02x}"));
    (!ids.is_empty()).then(|| digits.collect())
}

/// Facts for the record. `folder` is where data directories live.
pub fn facts(folder: &Path, link_floor_us_p50: f64) -> Result<Host> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split_once(':'));
        value
            .map(|(_, value)| value.trim().to_owned())
            .unwrap_or_default()
    };
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let kib: u64 = memory
        .split(' ')
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    Ok(Host {
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        cpu_model: field(&cpuinfo, "model name"),
        cpus: cpuinfo.matches("processor\t").count().max(1) as u32,
        memory_bytes: kib * 1024,
        fsync_us_p50: fsync_us_p50(folder)?,
        link_floor_us_p50,
        machine: None,
    })
}

/// Median time of a 4 KiB write followed by fdatasync in `folder`, over 100 of them.
pub fn fsync_us_p50(folder: &Path) -> Result<f64> {
    let path = folder.join("fsync-probe");
    let tried = || format!("time fdatasync in {}", folder.display());
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true).mode(0o600);
    let mut file: File = options.open(&path).tried(tried)?;
    let block = [0u8; 4096];
    let mut times_us = Vec::new();
    for _ in 0..100 {
        let start = Instant::now();
        file.write_all(&block).tried(tried)?;
        file.sync_data().tried(tried)?;
        times_us.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let _ = fs::remove_file(&path);
    times_us.sort_by(f64::total_cmp);
    Ok(times_us[times_us.len() / 2])
}

#[cfg(test)]
mod tests {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;

    use super::*;

    #[test]
    fn stolen_time_is_told_apart() {
        let before = HostCpu::parse("cpu  100 0 100 800 0 0 0 0 0 0\n");
        let after = HostCpu::parse("cpu  140 0 110 840 0 0 0 10 0 0\n");
        let (busy, stolen) = after.shares_since(&before);
        assert!((busy - 0.5).abs() < 1e-9, "{busy}");
        assert!((stolen - 0.1).abs() < 1e-9, "{stolen}");
    }

    /// However little a busy machine grants, it is more than a thread that sleeps would use.
    #[test]
    fn to_ask_what_is_stolen_keeps_its_cpu_busy() {
        let used = || getrusage(UsageWho::RUSAGE_THREAD).unwrap().user_time();
        let before = used();
        let stolen = stolen_when_busy(Duration::from_millis(200));
        assert!((0.0..=1.0).contains(&stolen), "{stolen}");
        assert!((used() - before).num_milliseconds() >= 5);
    }

    #[test]
    fn what_was_held_counts_neither_as_busy_nor_as_there() {
        let before = HostCpu::parse("cpu  100 0 100 800 0 0 0 0 0 0\n");
        // Of 100 ticks 50 were held and 10 used.
        let after = HostCpu::parse("cpu  160 0 100 840 0 0 0 0 0 0\n");
        let (busy, _) = after.less(50).shares_since(&before);
        assert!((busy - 0.2).abs() < 1e-9, "{busy}");
        assert_eq!(after.without(0.0), after);
        assert!(after.without(1e6).busy < after.busy);
        // More than was counted: ticks are coarse.
        assert_eq!(after.less(70).shares_since(&before).0, 0.0);
    }
}
