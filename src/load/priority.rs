//! How eagerly the driver takes the CPU from others.

/// From this many sessions on, answers are taken in groups while the CPU is busy.
const GROUPED_FROM_SESSIONS: u32 = 16;

/// Chooses the scheduling class for this many sessions.
///
/// Awake at once for every answer, a driver of many sessions switches context nearly once per
/// transaction, which costs more than all else it does and takes the CPU from the servers. As
/// `SCHED_BATCH` it does not preempt what runs: it starts at once on an idle CPU, else when a
/// server waits, and then finds several answers (64 sessions on two cores: 5 µs of CPU per
/// point select, not 9). With few sessions each answer's time matters more than CPU, so there
/// the class stays the usual one. So it does in an open loop and at a
/// pace, whose due times must be kept. A class that somebody else has set is left alone.
pub fn choose(sessions: u32, has_due_times: bool) {
    let class = if sessions >= GROUPED_FROM_SESSIONS && !has_due_times {
        libc::SCHED_BATCH
    } else {
        libc::SCHED_OTHER
    };
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: both calls concern this thread only; the second reads a valid structure.
    unsafe {
        if matches!(
            libc::sched_getscheduler(0),
            libc::SCHED_OTHER | libc::SCHED_BATCH
        ) {
            // A refusal costs CPU, nothing else.
            libc::sched_setscheduler(0, class, &parameters);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class() -> i32 {
        // SAFETY: asks about this thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn many_sessions_are_served_in_groups() {
        choose(GROUPED_FROM_SESSIONS, false);
        assert_eq!(class(), libc::SCHED_BATCH);
        choose(GROUPED_FROM_SESSIONS - 1, false);
        assert_eq!(class(), libc::SCHED_OTHER);
        choose(GROUPED_FROM_SESSIONS, false);
        choose(GROUPED_FROM_SESSIONS, true);
        assert_eq!(class(), libc::SCHED_OTHER);
    }
}
