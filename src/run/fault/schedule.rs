//! When faults are injected: at moments drawn by seed.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::study::fault::{Fault, Moment, Scope};

/// A load lasts so long at least, and so long at most, before the fault. InnoDB flushes a redo log
/// that nobody else flushes once a second: faults must fall before and after that.
const LOAD_MIN: Duration = Duration::from_millis(200);
const LOAD_MAX: Duration = Duration::from_millis(1_500);
/// From when a site is cut off until its power goes: clients in it are still there.
const ISOLATED: Duration = Duration::from_millis(300);

/// The moments of one series.
pub(super) struct Moments {
    random: ChaCha8Rng,
    isolated: Duration,
}

impl Moments {
    /// Each fault of each mode draws from a stream of its own.
    pub(super) fn new(seed: u64, (mode, fault_number): (usize, u64), fault: Fault) -> Moments {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream((mode as u64) << 8 | fault_number);
        let isolated = match fault.scope {
            Scope::Site => ISOLATED,
            Scope::Node | Scope::All => Duration::ZERO,
        };
        Moments { random, isolated }
    }

    pub(super) fn draw(&mut self) -> Moment {
        Moment {
            load: self.random.random_range(LOAD_MIN..LOAD_MAX),
            isolated: self.isolated,
            seed: self.random.random(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::fault::Leaves;

    #[test]
    fn moments_follow_the_seed() {
        let draw = |seed, place| {
            let mut moments = Moments::new(seed, place, Fault::KILL);
            [(); 20].map(|()| moments.draw())
        };
        let loads = |seed| draw(seed, (0, 0)).map(|moment| moment.load);
        assert_eq!(loads(1), loads(1));
        assert_ne!(loads(1), loads(2));
        let is_within = |load: &Duration| (LOAD_MIN..LOAD_MAX).contains(load);
        assert!(loads(1).iter().all(is_within));
        let first = draw(1, (0, 0));
        assert_ne!(first[0].seed, first[1].seed);
        assert_ne!(first, draw(1, (0, 1)), "each fault has its own");
        assert_ne!(first, draw(1, (1, 0)), "and each mode");
    }

    #[test]
    fn only_a_site_is_cut_off_a_while_before() {
        let isolated = |scope| {
            let fault = Fault::power_cut(Leaves::Nothing, scope);
            Moments::new(1, (0, 0), fault).draw().isolated
        };
        assert_eq!(isolated(Scope::Node), Duration::ZERO);
        assert!(isolated(Scope::Site) > Duration::ZERO);
    }
}
