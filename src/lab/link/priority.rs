//! Whether the switch has real-time priority, and for how long it had none. Pure: asking the kernel
//! and the clock are the caller's.

use super::pace::wants_realtime;

/// Real-time priority, as far as the kernel gives it.
#[derive(Debug)]
pub struct Priority {
    /// `None` once it was refused.
    is_realtime: Option<bool>,
    /// Time without it, up to `looked_ns`.
    without_ns: u64,
    looked_ns: u64,
}

impl Priority {
    /// It was asked for at `now_ns`, and granted or not.
    pub fn begin(is_granted: bool, now_ns: u64) -> Priority {
        Priority {
            is_realtime: is_granted.then_some(true),
            without_ns: 0,
            looked_ns: now_ns,
        }
    }

    /// Gives it up or asks for it again by `ask`, which tells whether that was granted, as the
    /// switch's share of its CPU has it. What was refused is not asked for again.
    pub fn reconsider(&mut self, busy_share: f64, now_ns: u64, ask: impl Fn(bool) -> bool) {
        self.without_ns = self.without_ns(now_ns);
        self.looked_ns = now_ns;
        let Some(is_realtime) = self.is_realtime else {
            return;
        };
        let wanted = wants_realtime(is_realtime, busy_share);
        if wanted != is_realtime {
            self.is_realtime = ask(wanted).then_some(wanted);
        }
    }

    /// For how long there was none until `now_ns`.
    pub fn without_ns(&self, now_ns: u64) -> u64 {
        match self.is_realtime {
            Some(true) => self.without_ns,
            _ => self.without_ns + now_ns.saturating_sub(self.looked_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(_: bool) -> bool {
        true
    }

    #[test]
    fn time_without_priority_runs_from_giving_it_up_to_taking_it_back() {
        let mut priority = Priority::begin(true, 100);
        priority.reconsider(0.5, 300, granted);
        assert_eq!(priority.without_ns(400), 0);
        priority.reconsider(0.95, 500, granted);
        assert_eq!(priority.without_ns(600), 100);
        priority.reconsider(0.95, 700, granted);
        priority.reconsider(0.5, 900, granted);
        assert_eq!(priority.without_ns(2_000), 400);
    }

    #[test]
    fn refused_priority_is_lacking_all_the_time_and_not_asked_for_again() {
        let mut priority = Priority::begin(false, 100);
        priority.reconsider(0.1, 300, |_| panic!("asked again"));
        assert_eq!(priority.without_ns(400), 300);
        let mut taken = Priority::begin(true, 0);
        taken.reconsider(0.95, 100, granted);
        taken.reconsider(0.1, 200, |_| false);
        taken.reconsider(0.1, 300, |_| panic!("asked again"));
        assert_eq!(taken.without_ns(400), 300);
    }
}
