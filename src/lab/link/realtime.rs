//! What makes the switch punctual: priority, timers without slack, memory that stays. And its
//! clocks.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use nix::time::{ClockId, clock_gettime};

/// Priorities of real-time threads: below the kernel's own (50), above everything ordinary. The
/// switch goes before the disks: it serves all nodes, and what it does for one packet is shorter.
pub const SWITCH_PRIORITY: libc::c_int = 20;
pub const DISK_PRIORITY: libc::c_int = 10;
/// What holds a CPU to make it slower goes before all of them: they are to be slower, too.
pub const SLOW_CPUS_PRIORITY: libc::c_int = 30;

/// Nanoseconds of the monotonic clock.
pub fn now_ns() -> u64 {
    clock_ns(ClockId::CLOCK_MONOTONIC)
}

/// CPU time of this process.
pub fn cpu_ns() -> u64 {
    clock_ns(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("this clock exists on every Linux");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// Exact timers and no page faults. What was refused comes back as notes: the switch works without,
/// less punctually, and its own lateness counters tell how much.
pub fn be_punctual() -> Vec<String> {
    // SAFETY: no pointers are involved.
    let slack = check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) });
    // SAFETY: as above.
    let locked = check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) });
    let outcomes = [
        ("timer slack of 1 ns", slack),
        ("memory locking", locked),
        (
            "real-time priority (SCHED_FIFO)",
            set_realtime(Some(SWITCH_PRIORITY)),
        ),
    ];
    let note = |(what, outcome): (&str, io::Result<()>)| {
        let error = outcome.err()?;
        Some(format!("the link switch runs without {what}: {error}"))
    };
    outcomes.into_iter().filter_map(note).collect()
}

/// Gives this thread that real-time priority, or takes it away.
pub fn set_realtime(priority: Option<libc::c_int>) -> io::Result<()> {
    let (policy, sched_priority) = match priority {
        Some(priority) => (libc::SCHED_FIFO, priority),
        None => (libc::SCHED_OTHER, 0),
    };
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the parameters outlive the call; 0 means the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) })
}

/// Whether a thread of this process may have that real-time priority. The calling one tries, and
/// has its own class again afterwards.
pub fn try_realtime(priority: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers are involved; 0 means the calling thread.
    let class = unsafe { libc::sched_getscheduler(0) };
    if matches!(class, libc::SCHED_FIFO | libc::SCHED_RR) {
        return Ok(());
    }
    set_realtime(Some(priority))?;
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters outlive the call.
    check(unsafe { libc::sched_setscheduler(0, class, &raw const parameters) })
}

fn check(returned: libc::c_int) -> io::Result<()> {
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// How many CPUs were idle since it was last asked.
#[derive(Debug)]
pub struct IdleMeter {
    file: Option<File>,
    /// Uptime and idle time of all CPUs together, in seconds.
    last_s: Option<(f64, f64)>,
}

impl IdleMeter {
    /// Opens `/proc/uptime`, the one short file that tells idle time.
    pub fn open() -> IdleMeter {
        IdleMeter {
            file: File::open("/proc/uptime").ok(),
            last_s: None,
        }
    }

    /// The mean number of idle CPUs since the last call; 0 when it cannot be told.
    pub fn idle_cpus(&mut self) -> f64 {
        let mut text = [0; 64];
        let read = self.file.as_ref().map(|f| f.read_at(&mut text, 0));
        let Some(Ok(length)) = read else {
            return 0.0;
        };
        let now_s = parse_uptime(&String::from_utf8_lossy(&text[..length]));
        let idle_cpus = idle_between(self.last_s, now_s);
        self.last_s = now_s;
        idle_cpus
    }
}

/// How long this thread was to run and was not let, since it was last asked.
#[derive(Debug)]
pub struct DelayMeter {
    file: Option<File>,
    last_ns: u64,
}

impl DelayMeter {
    /// Opens `/proc/thread-self/schedstat`.
    pub fn open() -> DelayMeter {
        let mut meter = DelayMeter {
            file: File::open("/proc/thread-self/schedstat").ok(),
            last_ns: 0,
        };
        meter.run_delay_ns();
        meter
    }

    /// What was added since the last call; 0 where the kernel does not tell.
    pub fn run_delay_ns(&mut self) -> u64 {
        let mut text = [0; 64];
        let read = self.file.as_ref().map(|f| f.read_at(&mut text, 0));
        let Some(Ok(length)) = read else {
            return 0;
        };
        let earlier_ns = self.last_ns;
        if let Some(now_ns) = parse_run_delay(&String::from_utf8_lossy(&text[..length])) {
            self.last_ns = now_ns;
        }
        self.last_ns.saturating_sub(earlier_ns)
    }
}

/// Second field: time spent waiting on a run queue, ns.
fn parse_run_delay(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

fn parse_uptime(text: &str) -> Option<(f64, f64)> {
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn idle_between(earlier_s: Option<(f64, f64)>, later_s: Option<(f64, f64)>) -> f64 {
    match (earlier_s, later_s) {
        (Some((up0, idle0)), Some((up1, idle1))) if up1 > up0 => (idle1 - idle0) / (up1 - up0),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_cpus_are_idle_seconds_per_second() {
        let earlier = parse_uptime("100.00 150.00\n");
        let later = parse_uptime("102.00 153.00\n");
        assert_eq!(idle_between(earlier, later), 1.5);
        assert_eq!(idle_between(None, later), 0.0);
        assert_eq!(idle_between(later, later), 0.0);
        assert_eq!(parse_uptime("nonsense"), None);
    }

    #[test]
    fn run_delay_is_the_second_figure_and_what_was_added_counts() {
        assert_eq!(parse_run_delay("150374279 7001 40\n"), Some(7_001));
        assert_eq!(parse_run_delay(""), None);
        let mut own = DelayMeter::open();
        own.last_ns = u64::MAX;
        assert_eq!(own.run_delay_ns(), 0, "what is taken back adds nothing");
        own.last_ns = 0;
        let all_ns = own.run_delay_ns();
        assert_eq!(own.last_ns, all_ns);
    }

    #[test]
    fn this_machine_tells_its_idle_time() {
        let mut meter = IdleMeter::open();
        meter.idle_cpus();
        assert!(meter.last_s.is_some());
    }
}
