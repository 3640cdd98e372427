//! When to sleep, when to spin and when to let a packet go. Pure: the clock is the caller's.
//!
//! A sleeping process wakes up some 10 to 60 µs after it asked to, so a packet that only waits for
//! a timer is late. Two remedies:
//! - **spin**: sleep until shortly before the due time, then look at the clock until it has come.
//!   The margin follows the lateness of the wake-ups measured: their 90th percentile.
//! - **aim**: sleep until the due time less the median lateness, and let go of the packet on
//!   waking. Right on the average, off by some 20 µs either way, and free.
//!
//! Spinning takes CPU from servers, at a priority above theirs. So it is paid from a credit that
//! grows with the CPU time nobody wants ([`spin_share`]); when the credit is used up, aim.

/// The margin never exceeds this.
pub const SPIN_MARGIN_MAX_NS: u64 = 80_000;
/// A packet due within this goes at once: looking at the clock again takes about as long.
pub const EARLY_NS: u64 = 1_000;
/// Without spinning no packet goes earlier than this before its due time.
pub const AIM_MAX_NS: u64 = 50_000;
/// Spinning never takes more than this share of one CPU.
pub const SPIN_SHARE_MAX: f64 = 0.2;
/// Credit for this much spinning can be saved up in quiet times.
const CREDIT_MAX_NS: f64 = 5_000_000.0;
/// By how much one wake-up can move an estimate of lateness.
const ESTIMATE_STEP_NS: f64 = 2_000.0;

/// What to do about the packet that is due next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Release,
    Spin,
    SleepUntil(u64),
}

/// The share of one CPU that may go into spinning: half of what nobody uses, at most
/// [`SPIN_SHARE_MAX`], and none on a machine of one CPU. `idle_cpus` is the number of idle CPUs on
/// the average since the last review.
pub fn spin_share(cpus: usize, idle_cpus: f64) -> f64 {
    if cpus < 2 {
        return 0.0;
    }
    (idle_cpus / 2.0).clamp(0.0, SPIN_SHARE_MAX)
}

/// Whether to ask for real-time priority, given the switch's share of its CPU of late. A switch
/// that is busy all the time must compete like everybody else, or servers on its CPU would starve.
pub fn wants_realtime(is_realtime: bool, busy_share: f64) -> bool {
    if is_realtime {
        busy_share < 0.9
    } else {
        busy_share < 0.7
    }
}

/// Estimates of wake-up lateness, and the credit for spinning.
#[derive(Debug)]
pub struct Pace {
    lateness_ns_p50: f64,
    lateness_ns_p90: f64,
    credit_ns: f64,
    credited_at_ns: u64,
    share: f64,
}

impl Pace {
    /// Starts with plausible estimates, no credit and no allowance.
    pub fn new(now_ns: u64) -> Pace {
        Pace {
            lateness_ns_p50: 15_000.0,
            lateness_ns_p90: 40_000.0,
            credit_ns: 0.0,
            credited_at_ns: now_ns,
            share: 0.0,
        }
    }

    /// Sets the share of one CPU that may go into spinning from now on; see [`spin_share`].
    pub fn allow(&mut self, share: f64) {
        self.share = share;
    }

    /// What to do about a packet due at `due_ns`.
    pub fn step(&mut self, now_ns: u64, due_ns: u64) -> Step {
        self.earn(now_ns);
        let left_ns = due_ns.saturating_sub(now_ns);
        let margin_ns = self.spin_margin_ns();
        let can_spin = self.credit_ns >= margin_ns as f64;
        let aim_ns = if can_spin { margin_ns } else { self.aim_ns() };
        if left_ns <= EARLY_NS || (!can_spin && left_ns <= aim_ns) {
            Step::Release
        } else if left_ns <= margin_ns && can_spin {
            Step::Spin
        } else {
            Step::SleepUntil(due_ns - aim_ns)
        }
    }

    /// The margin before due times at present.
    pub fn spin_margin_ns(&self) -> u64 {
        (self.lateness_ns_p90 as u64).min(SPIN_MARGIN_MAX_NS)
    }

    /// A sleep ended this long after it should have.
    pub fn woke_late(&mut self, lateness_ns: u64) {
        self.lateness_ns_p50 = nudge(self.lateness_ns_p50, lateness_ns, 0.5);
        self.lateness_ns_p90 = nudge(self.lateness_ns_p90, lateness_ns, 0.9);
    }

    /// So much was spent spinning.
    pub fn spend(&mut self, spun_ns: u64) {
        self.credit_ns -= spun_ns as f64;
    }

    fn aim_ns(&self) -> u64 {
        (self.lateness_ns_p50 as u64).min(AIM_MAX_NS)
    }

    fn earn(&mut self, now_ns: u64) {
        let elapsed_ns = now_ns.saturating_sub(self.credited_at_ns) as f64;
        self.credit_ns = (self.credit_ns + elapsed_ns * self.share).min(CREDIT_MAX_NS);
        self.credited_at_ns = now_ns;
    }
}

/// Moves an estimate of a quantile by one sample: steps up and down balance where the share
/// `quantile` of all samples lies below.
fn nudge(estimate_ns: f64, sample_ns: u64, quantile: f64) -> f64 {
    let step = if sample_ns as f64 > estimate_ns {
        quantile
    } else {
        quantile - 1.0
    };
    // A little above the bound, so that the estimate can be seen to be at it.
    (estimate_ns + step * ESTIMATE_STEP_NS).clamp(0.0, 2.0 * SPIN_MARGIN_MAX_NS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rich(now_ns: u64) -> Pace {
        let mut pace = Pace::new(now_ns);
        pace.allow(SPIN_SHARE_MAX);
        pace.earn(now_ns + 100_000_000);
        pace
    }

    #[test]
    fn one_cpu_or_no_idle_time_means_no_spinning() {
        assert_eq!(spin_share(1, 1.0), 0.0);
        assert_eq!(spin_share(2, 0.0), 0.0);
        assert_eq!(spin_share(2, 0.1), 0.05);
        assert_eq!(spin_share(2, 2.0), SPIN_SHARE_MAX);
    }

    #[test]
    fn a_busy_switch_gives_up_its_priority_and_takes_it_back_later() {
        assert!(wants_realtime(true, 0.85));
        assert!(!wants_realtime(true, 0.95));
        assert!(!wants_realtime(false, 0.85));
        assert!(wants_realtime(false, 0.5));
    }

    #[test]
    fn with_credit_it_sleeps_then_spins_then_releases() {
        let mut pace = rich(0);
        let (now_ns, margin_ns) = (200_000_000, pace.spin_margin_ns());
        let due_ns = now_ns + 1_000_000;
        assert_eq!(
            pace.step(now_ns, due_ns),
            Step::SleepUntil(due_ns - margin_ns)
        );
        assert_eq!(pace.step(due_ns - margin_ns, due_ns), Step::Spin);
        assert_eq!(pace.step(due_ns - 10_000, due_ns), Step::Spin);
        assert_eq!(pace.step(due_ns - EARLY_NS, due_ns), Step::Release);
        assert_eq!(pace.step(due_ns + 5, due_ns), Step::Release);
    }

    #[test]
    fn without_credit_it_never_spins() {
        let mut pace = Pace::new(0);
        let due_ns = 1_000_000;
        assert_eq!(
            pace.step(0, due_ns),
            Step::SleepUntil(due_ns - pace.aim_ns())
        );
        for left_ns in 0..100_000 {
            assert_ne!(pace.step(due_ns - left_ns, due_ns), Step::Spin);
        }
        assert_eq!(pace.step(due_ns - pace.aim_ns(), due_ns), Step::Release);
    }

    /// A packet due every 100 µs would be worth a spin of 40 µs each time: 40 % of a CPU.
    #[test]
    fn spinning_stays_within_its_share() {
        let mut pace = Pace::new(0);
        pace.allow(0.1);
        let mut spun_ns = 0;
        let end_ns = 1_000_000_000;
        for due_ns in (100_000..end_ns).step_by(100_000) {
            let margin_ns = pace.spin_margin_ns();
            if pace.step(due_ns - margin_ns, due_ns) == Step::Spin {
                pace.spend(margin_ns);
                spun_ns += margin_ns;
            }
        }
        let share = spun_ns as f64 / end_ns as f64;
        assert!((0.09..=0.1).contains(&share), "{share}");
    }

    #[test]
    fn a_quiet_hour_saves_up_no_more_than_the_bound() {
        let mut pace = rich(0);
        pace.earn(3_600_000_000_000);
        assert!(pace.credit_ns <= CREDIT_MAX_NS);
    }

    #[test]
    fn the_margin_follows_lateness_within_its_bound() {
        let mut pace = Pace::new(0);
        for sample in 0..2_000 {
            pace.woke_late((sample % 10) * 1_000);
        }
        assert!(
            (7_000..=10_000).contains(&pace.spin_margin_ns()),
            "{pace:?}"
        );
        for _ in 0..2_000 {
            pace.woke_late(1_000_000);
        }
        assert_eq!(pace.spin_margin_ns(), SPIN_MARGIN_MAX_NS);
        assert_eq!(pace.aim_ns(), AIM_MAX_NS);
    }
}
