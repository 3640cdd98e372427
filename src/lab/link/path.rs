//! One direction of one link, as a pure model: when is a packet due, if it is not dropped?
//! All times are nanoseconds of one monotonic clock.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::LinkSetting;

/// A rate-limited link lets packets wait this long for their turn, but always has room for
/// [`QUEUE_BYTES_MIN`]; what would wait longer is dropped as it comes (drop tail).
pub const QUEUE_WAIT_MAX: Duration = Duration::from_millis(100);
/// See [`QUEUE_WAIT_MAX`]: on slow links 100 ms would be a handful of packets.
pub const QUEUE_BYTES_MIN: u64 = 64 * 1024;
/// A path keeps what it drew of its jitter for this many times the jitter.
const JITTER_HOLD: u64 = 4;
/// Packets under way on one path, whatever its rate: bounds the switch's memory. Enough for 2
/// Gbit/s of full packets over 300 ms.
pub const IN_FLIGHT_MAX: u64 = 50_000;

/// What became of a packet that a node sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// To be handed to the other node at this time.
    Due(u64),
    Cut,
    Lost,
    QueueFull,
}

/// The state of one ordered pair of nodes.
#[derive(Debug)]
pub struct Path {
    setting: LinkSetting,
    delay_ns: u64,
    /// When the last accepted packet will have been put on the wire.
    free_at_ns: u64,
    /// Due time of the last accepted packet: the next one is never due earlier.
    last_due_ns: u64,
    in_flight: u64,
    chance: ChaCha8Rng,
    /// What is drawn of the jitter, and until when it holds.
    extra_ns: u64,
    extra_until_ns: u64,
}

impl Path {
    /// A path that does nothing yet. Each `stream` of one seed draws its own losses and jitter, so
    /// that traffic on one link does not change another's.
    pub fn new(seed: u64, stream: u64) -> Path {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        chance.set_stream(stream);
        Path {
            setting: LinkSetting::default(),
            delay_ns: 0,
            free_at_ns: 0,
            last_due_ns: 0,
            in_flight: 0,
            chance,
            extra_ns: 0,
            extra_until_ns: 0,
        }
    }

    /// Takes a new setting. `floor` is the round-trip time that the switch itself adds: half of it
    /// is taken off the delay, which never gets below zero.
    pub fn set(&mut self, setting: LinkSetting, floor: Duration) {
        self.setting = setting;
        self.extra_until_ns = 0;
        let delay = setting.one_way_delay.saturating_sub(floor / 2);
        self.delay_ns = delay.as_nanos() as u64;
        if setting.rate_bits_per_s.is_none() {
            self.free_at_ns = 0;
        }
    }

    /// The setting in force, as asked.
    pub fn setting(&self) -> LinkSetting {
        self.setting
    }

    /// A packet of so many IP bytes leaves its node.
    pub fn accept(&mut self, now_ns: u64, bytes: usize) -> Fate {
        if self.setting.is_cut {
            return Fate::Cut;
        }
        if self.setting.loss > 0.0 && self.chance.random::<f64>() < self.setting.loss {
            return Fate::Lost;
        }
        let Some(sent_ns) = self.serialise(now_ns, bytes) else {
            return Fate::QueueFull;
        };
        self.in_flight += 1;
        let due_ns = sent_ns + self.delay_ns + self.jitter_ns(sent_ns);
        self.last_due_ns = self.last_due_ns.max(due_ns);
        Fate::Due(self.last_due_ns)
    }

    /// An accepted packet has left the path.
    pub fn release(&mut self) {
        self.in_flight -= 1;
    }

    /// When the packet's last bit is on the wire; `None` if it finds the queue full.
    fn serialise(&mut self, now_ns: u64, bytes: usize) -> Option<u64> {
        if self.in_flight >= IN_FLIGHT_MAX {
            return None;
        }
        let Some(rate) = self.setting.rate_bits_per_s else {
            return Some(now_ns);
        };
        let start_ns = self.free_at_ns.max(now_ns);
        if start_ns - now_ns > queue_wait_max_ns(rate) {
            return None;
        }
        self.free_at_ns = start_ns + serialisation_ns(bytes as u64, rate);
        Some(self.free_at_ns)
    }

    /// Packets that follow each other closely share what was drawn, as those in one queue do: drawn
    /// anew for each while none may overtake, it would be the largest for nearly all.
    fn jitter_ns(&mut self, now_ns: u64) -> u64 {
        let most = self.setting.jitter.as_nanos() as u64;
        if most == 0 {
            return 0;
        }
        if now_ns >= self.extra_until_ns {
            self.extra_ns = self.chance.random_range(0..=most);
            self.extra_until_ns = now_ns + most * JITTER_HOLD;
        }
        self.extra_ns
    }
}

fn queue_wait_max_ns(rate_bits_per_s: u64) -> u64 {
    let for_bytes_ns = serialisation_ns(QUEUE_BYTES_MIN, rate_bits_per_s);
    for_bytes_ns.max(QUEUE_WAIT_MAX.as_nanos() as u64)
}

fn serialisation_ns(bytes: u64, rate_bits_per_s: u64) -> u64 {
    let ns = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate_bits_per_s.max(1));
    // A century is as good as for ever, and leaves room to add.
    ns.min(100 * 365 * 86_400 * 1_000_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Duration = Duration::from_micros(80);
    const SEED: u64 = 7;
    const PACKETS: u64 = 400_000;

    fn path(setting: LinkSetting) -> Path {
        let mut path = Path::new(SEED, 0);
        path.set(setting, FLOOR);
        path
    }

    #[test]
    fn delay_is_shortened_by_half_the_floor() {
        let one_way_delay = Duration::from_micros(500);
        let mut path = path(LinkSetting {
            one_way_delay,
            ..LinkSetting::default()
        });
        assert_eq!(path.accept(1_000, 100), Fate::Due(1_000 + 460_000));
    }

    #[test]
    fn delay_is_never_negative() {
        let one_way_delay = Duration::from_micros(20);
        let mut path = path(LinkSetting {
            one_way_delay,
            ..LinkSetting::default()
        });
        assert_eq!(path.accept(1_000, 100), Fate::Due(1_000));
    }

    #[test]
    fn jitter_spreads_but_keeps_order() {
        let jitter = Duration::from_micros(100);
        let mut path = path(LinkSetting {
            jitter,
            ..LinkSetting::default()
        });
        let mut last_due_ns = 0;
        let mut largest_extra_ns = 0;
        let mut sum_ns = 0;
        for now_ns in (0..PACKETS * 1_000).step_by(1_000) {
            let Fate::Due(due_ns) = path.accept(now_ns, 100) else {
                panic!("dropped");
            };
            assert!(due_ns >= last_due_ns);
            assert!(due_ns <= now_ns + 100_000 || due_ns == last_due_ns);
            path.release();
            largest_extra_ns = largest_extra_ns.max(due_ns - now_ns);
            sum_ns += due_ns - now_ns;
            last_due_ns = due_ns;
        }
        assert!(
            (90_000..=100_000).contains(&largest_extra_ns),
            "{largest_extra_ns}"
        );
        // Closely as they follow each other, they do not all get the largest.
        let mean_ns = sum_ns / PACKETS;
        assert!((45_000..=55_000).contains(&mean_ns), "{mean_ns}");
    }

    #[test]
    fn a_shorter_delay_does_not_overtake() {
        let setting = |us| LinkSetting {
            one_way_delay: Duration::from_micros(us),
            ..LinkSetting::default()
        };
        let mut path = path(setting(1_040));
        assert_eq!(path.accept(0, 100), Fate::Due(1_000_000));
        path.set(setting(140), FLOOR);
        assert_eq!(path.accept(1_000, 100), Fate::Due(1_000_000));
        assert_eq!(path.accept(2_000_000, 100), Fate::Due(2_100_000));
    }

    #[test]
    fn a_rate_spaces_packets_and_bounds_the_queue() {
        let rate_bits_per_s = Some(8_000_000);
        let mut path = path(LinkSetting {
            rate_bits_per_s,
            ..LinkSetting::default()
        });
        // 1,000 bytes at 8 Mbit/s take 1 ms; the queue holds 100 ms of them.
        assert_eq!(path.accept(0, 1_000), Fate::Due(1_000_000));
        assert_eq!(path.accept(0, 1_000), Fate::Due(2_000_000));
        let fates: Vec<Fate> = (0..200).map(|_| path.accept(0, 1_000)).collect();
        let dues = fates.iter().filter(|fate| matches!(fate, Fate::Due(_)));
        assert_eq!(dues.count(), 99);
        assert_eq!(fates[199], Fate::QueueFull);
        // After a second's rest the wire is free again.
        assert_eq!(path.accept(1_000_000_000, 1_000), Fate::Due(1_001_000_000));
    }

    #[test]
    fn a_slow_link_still_queues_64_kib() {
        let rate_bits_per_s = Some(8_000);
        let mut path = path(LinkSetting {
            rate_bits_per_s,
            ..LinkSetting::default()
        });
        let fates = (0..100).map(|_| path.accept(0, 1_024));
        let dues = fates.filter(|fate| matches!(fate, Fate::Due(_)));
        assert_eq!(dues.count(), 65);
    }

    #[test]
    fn loss_is_the_share_asked_and_repeats_with_its_seed() {
        let setting = LinkSetting {
            loss: 0.1,
            ..LinkSetting::default()
        };
        let draw = |stream| {
            let mut path = Path::new(SEED, stream);
            path.set(setting, FLOOR);
            let fates = (0..10_000).map(|now_ns| path.accept(now_ns, 100) == Fate::Lost);
            fates.collect::<Vec<bool>>()
        };
        let lost = draw(3).iter().filter(|is_lost| **is_lost).count();
        assert!((900..1_100).contains(&lost), "{lost}");
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }

    #[test]
    fn a_cut_path_takes_nothing_and_heals() {
        let cut = LinkSetting {
            is_cut: true,
            ..LinkSetting::default()
        };
        let mut path = path(cut);
        assert_eq!(path.accept(5, 100), Fate::Cut);
        path.set(LinkSetting::default(), FLOOR);
        assert_eq!(path.accept(6, 100), Fate::Due(6));
    }

    #[test]
    fn what_is_under_way_is_bounded() {
        let mut path = path(LinkSetting::default());
        for _ in 0..IN_FLIGHT_MAX {
            assert_eq!(path.accept(0, 100), Fate::Due(0));
        }
        assert_eq!(path.accept(0, 100), Fate::QueueFull);
        path.release();
        assert_eq!(path.accept(0, 100), Fate::Due(0));
    }
}
