//! How long the threads of a process ran and waited for a CPU, as the scheduler counts.

use std::collections::BTreeMap;
use std::fs;

/// Since a thread's start, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Times {
    run_ns: u64,
    delay_ns: u64,
}

/// All threads of some processes at one moment, by thread id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Threads(BTreeMap<u32, Times>);

/// What came of them between two moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub run_ns: u64,
    pub delay_ns: u64,
    /// Threads that were there at the first moment and not at the second. What they did in between
    /// is lost: it is in neither sum.
    pub ended: u32,
}

impl Threads {
    /// Reads `/proc/PID/task/*/schedstat`: the file of the process itself is of its first thread
    /// only. No process, or a kernel that does not count, has no threads here.
    pub fn of(pid: u32) -> Threads {
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
            return Threads::default();
        };
        let times = tasks.flatten().filter_map(|task| {
            let id = task.file_name().to_str()?.parse().ok()?;
            // It may have ended since.
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            Some((id, parse(&text)?))
        });
        Threads(times.collect())
    }

    /// With the threads of other processes.
    pub fn and(mut self, others: Threads) -> Threads {
        self.0.extend(others.0);
        self
    }

    /// What came of these threads since `earlier`. A thread that began in between counts from its
    /// start, as does one that has the number of another that ended.
    pub fn since(&self, earlier: &Threads) -> Spent {
        let mut spent = Spent::default();
        for (id, now) in &self.0 {
            let before = earlier
                .0
                .get(id)
                .filter(|before| before.run_ns <= now.run_ns);
            let before = before.copied().unwrap_or_default();
            spent.run_ns += now.run_ns - before.run_ns;
            spent.delay_ns += now.delay_ns.saturating_sub(before.delay_ns);
        }
        let ended = earlier.0.keys().filter(|id| !self.0.contains_key(id));
        spent.ended = ended.count() as u32;
        spent
    }

    /// Moves this moment forward by what came of each thread between two others, so that it is left
    /// out.
    pub fn leave_out(&mut self, from: &Threads, to: &Threads) {
        for (id, after) in &to.0 {
            let before = from.0.get(id).copied().unwrap_or_default();
            let own = self.0.entry(*id).or_default();
            own.run_ns += after.run_ns.saturating_sub(before.run_ns);
            own.delay_ns += after.delay_ns.saturating_sub(before.delay_ns);
        }
        // Who ended while nobody looked is no loss of what is looked at.
        self.0
            .retain(|id, _| to.0.contains_key(id) || !from.0.contains_key(id));
    }
}

/// `run_ns delay_ns timeslices` (proc(5)); all zero where the kernel does not count.
fn parse(text: &str) -> Option<Times> {
    let mut numbers = text.split_whitespace().map(str::parse);
    let times = Times {
        run_ns: numbers.next()?.ok()?,
        delay_ns: numbers.next()?.ok()?,
    };
    (times.run_ns > 0).then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(all: &[(u32, u64, u64)]) -> Threads {
        let times = |(id, run_ns, delay_ns): &(u32, u64, u64)| {
            let (run_ns, delay_ns) = (*run_ns, *delay_ns);
            (*id, Times { run_ns, delay_ns })
        };
        Threads(all.iter().map(times).collect())
    }

    fn spent(run_ns: u64, delay_ns: u64, ended: u32) -> Spent {
        Spent {
            run_ns,
            delay_ns,
            ended,
        }
    }

    #[test]
    fn a_line_is_run_time_then_delay() {
        assert_eq!(
            parse("1500 700 12\n"),
            threads(&[(1, 1500, 700)]).0.get(&1).copied()
        );
        assert_eq!((parse("0 0 0\n"), parse("")), (None, None));
    }

    #[test]
    fn threads_that_begin_or_end_in_between_are_told_apart() {
        let before = threads(&[(1, 100, 10), (2, 500, 50), (3, 900, 90)]);
        // 1 went on, 2 ended, 3 ended and its number went to another, 4 began.
        let after = threads(&[(1, 160, 15), (3, 20, 2), (4, 7, 1)]);
        assert_eq!(after.since(&before), spent(60 + 20 + 7, 5 + 2 + 1, 1));
        assert_eq!(after.since(&after), spent(0, 0, 0));
    }

    #[test]
    fn what_is_left_out_counts_for_no_thread() {
        let mut begin = threads(&[(1, 100, 10), (2, 100, 10)]);
        let (from, to) = (
            threads(&[(1, 150, 15), (2, 150, 15)]),
            threads(&[(1, 250, 20), (5, 30, 3)]),
        );
        begin.leave_out(&from, &to);
        let end = threads(&[(1, 260, 22), (5, 31, 3)]);
        // Of 1: 50 before the gap and 10 after it; of 5 one; 2 ended within the gap.
        assert_eq!(end.since(&begin), spent(50 + 10 + 1, 5 + 2, 0));
    }

    #[test]
    fn a_process_waits_for_nothing_that_it_is_not_told_of() {
        let own = Threads::of(std::process::id());
        assert!(!own.0.is_empty() || !std::path::Path::new("/proc/self/schedstat").exists());
        assert_eq!(Threads::of(u32::MAX), Threads::default());
    }
}
