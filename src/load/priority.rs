//! How eagerly the driver takes the CPU from others.

use super::job::Job;

/// From this many sessions on, answers are taken in groups while the CPU is busy.
const GROUPED_FROM_SESSIONS: u32 = 16;

/// Real-time priority at a pace: above everything ordinary, below the emulated disks and links
/// (`lab::link::realtime`), which the answers come through.
const PACED_PRIORITY: libc::c_int = 5;

/// Chooses the scheduling class for a load.
///
/// - **Paced** (`SCHED_FIFO`): it stands for a client on a machine of its own, which sees an answer
///   when it comes. As an ordinary process it waits for servers that go on working, most of all for
///   near replicas, and takes its wait for the mode's.
/// - **Many sessions in a closed loop** (`SCHED_BATCH`): awake at once for every answer, a driver
///   of many sessions switches context nearly once per transaction, which costs more than all else
///   it does and takes the CPU from the servers. So it does not preempt what runs: it starts at
///   once on an idle CPU, else when a server waits, and then finds several answers (64 sessions on
///   two cores: 5 µs of CPU per point select, not 9).
/// - **Few sessions, or an open loop** (`SCHED_OTHER`): each answer's and each due time matter more
///   than CPU.
///
/// A class that somebody else has set is left alone; a refusal leaves the usual one.
pub fn choose(job: &Job) {
    let is_grouped = job.connections >= GROUPED_FROM_SESSIONS && job.rate_per_s.is_none();
    let class = match (job.pace, is_grouped) {
        (Some(_), _) => (libc::SCHED_FIFO, PACED_PRIORITY),
        (None, true) => (libc::SCHED_BATCH, 0),
        (None, false) => USUAL,
    };
    if is_ours(in_force()) && !set(class) {
        set(USUAL);
    }
}

type Class = (libc::c_int, libc::c_int);

const USUAL: Class = (libc::SCHED_OTHER, 0);

fn is_ours(class: Class) -> bool {
    matches!(
        class,
        USUAL | (libc::SCHED_BATCH, 0) | (libc::SCHED_FIFO, PACED_PRIORITY)
    )
}

/// The class of this thread, and its real-time priority.
fn in_force() -> Class {
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: both concern this thread only; the second fills a valid structure.
    unsafe {
        let class = libc::sched_getscheduler(0);
        libc::sched_getparam(0, &raw mut parameters);
        (class, parameters.sched_priority)
    }
}

/// Whether it was allowed.
fn set((class, sched_priority): Class) -> bool {
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: it concerns this thread only, and reads a valid structure.
    unsafe { libc::sched_setscheduler(0, class, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::job::tests::example;

    fn chosen(connections: u32, rate_per_s: Option<u32>, pace: Option<Duration>) -> libc::c_int {
        choose(&Job {
            connections,
            rate_per_s: rate_per_s.map(f64::from),
            pace,
            ..example()
        });
        in_force().0
    }

    #[test]
    fn many_sessions_are_served_in_groups() {
        assert_eq!(chosen(GROUPED_FROM_SESSIONS, None, None), libc::SCHED_BATCH);
        let few = GROUPED_FROM_SESSIONS - 1;
        assert_eq!(chosen(few, None, None), libc::SCHED_OTHER);
        let open = chosen(GROUPED_FROM_SESSIONS, Some(100), None);
        assert_eq!(open, libc::SCHED_OTHER);
    }

    #[test]
    fn a_paced_client_waits_for_nobody_and_the_next_load_is_as_usual() {
        // Not every user may.
        let can = set((libc::SCHED_FIFO, PACED_PRIORITY));
        set(USUAL);
        let paced = chosen(1, None, Some(Duration::from_millis(10)));
        assert_eq!(paced == libc::SCHED_FIFO, can);
        assert_eq!(chosen(1, None, None), libc::SCHED_OTHER);
    }

    #[test]
    fn a_class_that_somebody_else_has_set_is_left_alone() {
        if !set((libc::SCHED_IDLE, 0)) {
            return;
        }
        assert_eq!(chosen(64, None, None), libc::SCHED_IDLE);
    }
}
