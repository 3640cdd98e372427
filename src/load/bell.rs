//! The pool's timer. `epoll` itself counts in milliseconds.

use std::time::Instant;

use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::error::{Result, Tried};

/// Wakes an `epoll` when something is due.
pub struct Bell {
    timer: TimerFd,
    rings_at: Option<Instant>,
}

impl Bell {
    /// A timer that is not set yet. Each setting of it makes an event with `token` of its own.
    ///
    /// # Errors
    /// The system has no descriptor for it.
    pub fn new(epoll: &Epoll, token: u64) -> Result<Self> {
        let tried = || "make the driver's timer".to_owned();
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).tried(tried)?;
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, token);
        epoll.add(&timer, event).tried(tried)?;
        Ok(Bell {
            timer,
            rings_at: None,
        })
    }

    /// Rings once, at a time after `now`.
    ///
    /// # Errors
    /// The system refuses that time.
    pub fn ring_at(&mut self, due: Instant, now: Instant) -> Result<()> {
        if self.rings_at == Some(due) {
            return Ok(());
        }
        self.rings_at = Some(due);
        let once = Expiration::OneShot(TimeSpec::from_duration(due - now));
        let set = self.timer.set(once, TimerSetTimeFlags::empty());
        set.tried(|| "set the driver's timer".to_owned())
    }
}
