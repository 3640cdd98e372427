//! When a disk's request is done, as a pure model: virtual time in, no clocks.
//!
//! A read or write waits for a slot of the IOPS cap, then for its turn on the pipe of the bandwidth
//! cap, and then takes its delay. Delays overlap: at depth 8, eight requests wait out theirs at
//! once. A flush has a delay only.

#[cfg(test)]
mod tests;

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::study::disk::{Delay, Disk};

/// How late a slot of the IOPS cap may still be taken. Slots that pass while no request is there
/// are lost, and a client whose answer was handed over a little late would never reach the cap. So
/// that of the last 5 ms stays open: as much as a timer is late at p99 on a busy host. What is
/// gained in a second is at most 0.5 %, and no burst is longer than 5 ms of the cap.
const SLOT_OPEN: Duration = Duration::from_millis(5);

/// What is asked of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Flush,
}

/// The times of one disk's requests.
pub struct Pace {
    disk: Disk,
    read: Delays,
    write: Delays,
    flush: Delays,
    /// The next slot of the IOPS cap.
    next_slot: Duration,
    /// When the last byte accepted so far will have passed the pipe.
    pipe_free_at: Duration,
}

impl Pace {
    /// A disk that is idle. Each kind of request draws its delays from a stream of its own, so that
    /// a read more or less does not change the flushes.
    pub fn new(disk: Disk, seed: u64) -> Pace {
        Pace {
            disk,
            read: Delays::new(disk.read, seed, Kind::Read),
            write: Delays::new(disk.write, seed, Kind::Write),
            flush: Delays::new(disk.flush, seed, Kind::Flush),
            next_slot: Duration::ZERO,
            pipe_free_at: Duration::ZERO,
        }
    }

    /// Takes another setting. Requests under way keep their times; new ones find the disk idle.
    pub fn set(&mut self, disk: Disk) {
        self.disk = disk;
        self.read.span = Span::of(disk.read);
        self.write.span = Span::of(disk.write);
        self.flush.span = Span::of(disk.flush);
        self.next_slot = Duration::ZERO;
        self.pipe_free_at = Duration::ZERO;
    }

    /// When a request that comes now is done: not before `now`, and at once when nothing is asked
    /// of the disk. `now` counts from any fixed point; calls come in order of it. For a flush
    /// `bytes` means nothing; without a write cache it is done at once.
    pub fn due(&mut self, now: Duration, kind: Kind, bytes: u64) -> Duration {
        let (start, delay) = match kind {
            Kind::Read => (self.transfer(now, bytes), self.read.draw()),
            Kind::Write => (self.transfer(now, bytes), self.write.draw()),
            Kind::Flush if self.disk.write_cache => (now, self.flush.draw()),
            Kind::Flush => (now, Duration::ZERO),
        };
        start.saturating_add(delay)
    }

    /// When the last byte has passed both caps.
    fn transfer(&mut self, now: Duration, bytes: u64) -> Duration {
        let start = self.take_slot(now);
        let Some(rate) = self.disk.bandwidth_bytes_per_s else {
            return start;
        };
        let free_at = self.pipe_free_at.max(start);
        self.pipe_free_at = free_at.saturating_add(span_of(bytes, rate));
        self.pipe_free_at
    }

    fn take_slot(&mut self, now: Duration) -> Duration {
        let Some(iops) = self.disk.iops else {
            return now;
        };
        let slot = self.next_slot.max(now.saturating_sub(SLOT_OPEN));
        self.next_slot = slot.saturating_add(span_of(1, iops.into()));
        slot.max(now)
    }
}

/// How long so much takes at a rate; rounded up, so that a cap is never passed.
fn span_of(amount: u64, per_s: u64) -> Duration {
    let ns = (u128::from(amount) * 1_000_000_000).div_ceil(u128::from(per_s.max(1)));
    Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// Draws the delays of one kind of request.
struct Delays {
    span: Span,
    chance: ChaCha8Rng,
}

impl Delays {
    fn new(delay: Delay, seed: u64, kind: Kind) -> Delays {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        chance.set_stream(kind as u64);
        Delays {
            span: Span::of(delay),
            chance,
        }
    }

    fn draw(&mut self) -> Duration {
        match self.span {
            Span::Constant(span) => span,
            Span::Uniform { low, high } => self.chance.random_range(low..=high),
            Span::LogNormal { median_s, sigma } => {
                let z = Normal::standard().inverse_cdf(self.chance.random());
                let span = Duration::try_from_secs_f64(median_s * (sigma * z).exp());
                // Only what is longer than all of time cannot be said.
                span.unwrap_or(Duration::MAX)
            }
        }
    }
}

/// A [`Delay`], ready to be drawn from.
enum Span {
    Constant(Duration),
    Uniform {
        low: Duration,
        high: Duration,
    },
    /// The logarithm is normal around that of the median, with this standard deviation.
    LogNormal {
        median_s: f64,
        sigma: f64,
    },
}

impl Span {
    /// A spread that is none, or is the wrong way round, is a constant.
    fn of(delay: Delay) -> Span {
        match delay {
            Delay::Constant(span) => Span::Constant(span),
            Delay::Uniform { low, high } if low < high => Span::Uniform { low, high },
            Delay::Uniform { low, .. } => Span::Constant(low),
            Delay::LogNormal { median, p99 } if Duration::ZERO < median && median < p99 => {
                // By definition 99 % of a normal distribution lie below z(0.99) deviations.
                let z = Normal::standard().inverse_cdf(0.99);
                Span::LogNormal {
                    median_s: median.as_secs_f64(),
                    sigma: p99.div_duration_f64(median).ln() / z,
                }
            }
            Delay::LogNormal { median, .. } => Span::Constant(median),
        }
    }
}
