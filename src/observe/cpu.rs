//! CPU time of processes, from their own clocks.

use nix::libc;

/// CPU time that process `pid` has used since its start, in µs; `None` if there is no such process.
///
/// By `clock_getcpuclockid(3)`: counted by the scheduler in ns, not in ticks of 10 ms as in
/// `/proc/PID/stat`, and no control group is needed.
pub fn process_cpu_us(pid: u32) -> Option<f64> {
    let mut clock: libc::clockid_t = 0;
    let pid = libc::pid_t::try_from(pid).ok()?;
    // SAFETY: both calls only write to the values they are given.
    unsafe {
        if libc::clock_getcpuclockid(pid, &mut clock) != 0 {
            return None;
        }
        let mut time = std::mem::zeroed::<libc::timespec>();
        if libc::clock_gettime(clock, &mut time) != 0 {
            return None;
        }
        Some(time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_cpu_time_grows_with_work_and_a_dead_pid_has_none() {
        let own = std::process::id();
        let before = process_cpu_us(own).expect("we are alive");
        let mut x = 1u64;
        let mut after = before;
        while after <= before {
            x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005) + 1);
            after = process_cpu_us(own).expect("we are alive");
        }
        assert!(after > before, "{x}");
        assert_eq!(process_cpu_us(u32::MAX), None);
    }
}
