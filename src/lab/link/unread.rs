//! How long a packet waited in its device before the switch read it. No device tells when a packet
//! came: the switch counts what it waits on the average. Pure: the clock is the caller's.
//!
//! - **While the switch works** a packet comes at any time since its queue was last seen empty:
//!   half of that time counts.
//! - **While it sleeps** a packet ends the sleep. What passes from then on until it is let run, its
//!   run delay, counts whole.

/// A shorter sleep counts as work: to ask for its run delay would cost more than it tells.
pub const SLEEP_NS_MIN: u64 = 100_000;

/// What a packet has waited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waited {
    /// On the average, while the switch worked: nobody knows it of a single packet.
    pub at_work_ns: u64,
    /// For the switch to be let run.
    pub run_delay_ns: u64,
}

/// A clock that shows how long packets have waited, and what it showed when each port's queue was
/// last seen empty.
#[derive(Debug)]
pub struct Unread {
    empty_at: Vec<Waited>,
    asleep_ns: u64,
    delayed_ns: u64,
}

impl Unread {
    /// All queues are empty at `now_ns`.
    pub fn new(ports: usize, now_ns: u64) -> Unread {
        Unread {
            empty_at: vec![clock(now_ns, 0, 0); ports],
            asleep_ns: 0,
            delayed_ns: 0,
        }
    }

    /// The queue of `port` was empty at `now_ns`.
    pub fn seen_empty(&mut self, port: usize, now_ns: u64) {
        self.empty_at[port] = self.clock(now_ns);
    }

    /// The switch slept from one time to another, which it does only while all queues are empty,
    /// and was to run for the last `delayed_ns` of it.
    pub fn slept(&mut self, from_ns: u64, to_ns: u64, delayed_ns: u64) {
        let before = self.clock(from_ns);
        self.empty_at.fill(before);
        let slept_ns = to_ns.saturating_sub(from_ns);
        self.asleep_ns += slept_ns;
        self.delayed_ns += delayed_ns.min(slept_ns);
    }

    /// How long a packet that is read from `port` at `now_ns` has waited.
    pub fn waited(&self, port: usize, now_ns: u64) -> Waited {
        let (now, empty) = (self.clock(now_ns), self.empty_at[port]);
        Waited {
            at_work_ns: now.at_work_ns.saturating_sub(empty.at_work_ns),
            run_delay_ns: now.run_delay_ns - empty.run_delay_ns,
        }
    }

    fn clock(&self, now_ns: u64) -> Waited {
        clock(now_ns, self.asleep_ns, self.delayed_ns)
    }
}

fn clock(now_ns: u64, asleep_ns: u64, run_delay_ns: u64) -> Waited {
    Waited {
        at_work_ns: now_ns.saturating_sub(asleep_ns) / 2,
        run_delay_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waited(unread: &Unread, port: usize, now_ns: u64) -> (u64, u64) {
        let waited = unread.waited(port, now_ns);
        (waited.at_work_ns, waited.run_delay_ns)
    }

    #[test]
    fn of_the_time_at_work_half_counts_until_the_queue_is_seen_empty() {
        let mut unread = Unread::new(2, 1_000);
        assert_eq!(waited(&unread, 0, 1_800), (400, 0));
        unread.seen_empty(0, 1_800);
        assert_eq!(waited(&unread, 0, 2_000), (100, 0));
        // The other port's queue may hold something since the beginning.
        assert_eq!(waited(&unread, 1, 2_000), (500, 0));
    }

    #[test]
    fn of_a_sleep_only_the_run_delay_counts_and_that_whole() {
        let mut unread = Unread::new(1, 0);
        unread.slept(1_000, 9_001_000, 700_000);
        assert_eq!(waited(&unread, 0, 9_001_000), (0, 700_000));
        assert_eq!(waited(&unread, 0, 9_002_000), (500, 700_000));
        unread.seen_empty(0, 9_002_000);
        unread.slept(9_002_000, 99_002_000, 0);
        assert_eq!(waited(&unread, 0, 99_004_000), (1_000, 0));
    }

    #[test]
    fn a_switch_that_sleeps_has_seen_all_queues_empty() {
        let mut unread = Unread::new(1, 0);
        unread.slept(5_000_000, 6_000_000, 10_000);
        assert_eq!(waited(&unread, 0, 6_000_000), (0, 10_000));
    }

    #[test]
    fn no_run_delay_is_longer_than_the_sleep() {
        let mut unread = Unread::new(1, 0);
        unread.slept(0, 200_000, 5_000_000);
        assert_eq!(waited(&unread, 0, 200_000), (0, 200_000));
    }
}
