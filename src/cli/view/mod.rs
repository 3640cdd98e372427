//! The live view in a terminal, beside a run.
//!
//! ```text
//! the run: events ──> Live ──pipe──> a thread beside it: frames ──> the terminal
//!          what it says, and its errors ──pipe──> kept, and printed when the view has ended
//! ```
//!
//! Whoever runs knows nothing of the terminal, and never waits for it. The terminal belongs to the
//! front end alone, which outlives the run however that ends.
//!
//! - `pipe`: from the run to the view; `terminal`: taken, and given back in every case

mod pipe;
mod terminal;

use std::io::{IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::error::{Result, Tried};
use crate::lab::sandbox::stop_asked;
use crate::live::Live;
use crate::run::Order;
use pipe::Heard;
use terminal::Screen;

pub use pipe::{Ear, pipes};

/// How a run is to be shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Look {
    pub is_live: bool,
    /// What the same command has to do after it takes so long.
    pub later: Duration,
}

impl Look {
    /// As plain lines if the user wants them, or if nobody would see anything else.
    pub fn of(is_plain: bool) -> Look {
        let is_seen = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        let is_dumb = std::env::var("TERM").is_ok_and(|name| name == "dumb");
        Look {
            is_live: is_seen && !is_plain && !is_dumb && terminal::is_in_foreground(),
            later: Duration::ZERO,
        }
    }

    /// Of an order of which nothing has run yet.
    pub fn begin(&self, order: &Order) -> Live {
        Live {
            later: self.later,
            ..Live::of(&order.study, &order.plan)
        }
    }
}

/// A frame is drawn as often as this, though nothing has happened: time goes on.
const FRAME_EVERY: u16 = 1_000;

/// All that a view needs, before the run is begun: nothing can go wrong afterwards.
pub struct Prepared {
    ear: Ear,
    screen: Screen,
    until: OwnedFd,
    hold: OwnedFd,
}

/// A view under way. When it ends, the terminal is given back, and what was said meanwhile printed.
pub struct Watching {
    thread: Option<JoinHandle<Vec<u8>>>,
    /// Closed to end it.
    hold: Option<OwnedFd>,
}

impl Prepared {
    /// For what is heard there. Nothing is shown yet.
    ///
    /// # Errors
    /// A breakdown if there are no descriptors left.
    pub fn of(ear: Ear) -> Result<Prepared> {
        let (until, hold) = pipe::plain().tried(|| "make a pipe".to_owned())?;
        Ok(Prepared {
            ear,
            screen: Screen::prepare().tried(|| "prepare the terminal".to_owned())?,
            until,
            hold,
        })
    }

    /// Begins to show a run that began at `start`.
    pub fn begin(self, start: Instant) -> Watching {
        let Prepared {
            ear,
            screen,
            until,
            hold,
        } = self;
        Watching {
            thread: Some(std::thread::spawn(move || show(ear, &until, screen, start))),
            hold: Some(hold),
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        drop(self.hold.take());
        let said = self.thread.take().map(JoinHandle::join);
        terminal::give_back();
        if let Some(Ok(said)) = said {
            let _ = std::io::stderr().write_all(&said);
        }
    }
}

/// Shows what is heard, until nobody holds the other end of `until`; what was said meanwhile.
fn show(mut ear: Ear, until: &OwnedFd, mut screen: Screen, start: Instant) -> Vec<u8> {
    stand_back();
    let mut heard = Heard::default();
    let mut is_broken = false;
    loop {
        let is_over = wait(&ear, until);
        heard.take_in(&mut ear);
        if is_over {
            break;
        }
        // Before the first state nothing is covered up: what cannot even begin says so plainly.
        let Some(live) = &heard.live else { continue };
        if is_broken {
            continue;
        }
        let mut draw = || screen.draw(live, start.elapsed(), stop_asked());
        is_broken = !matches!(catch_unwind(AssertUnwindSafe(&mut draw)), Ok(Ok(())));
        if is_broken {
            terminal::give_back();
        }
    }
    drop(screen);
    heard.words
}

/// What is measured on this host goes before what is shown of it.
fn stand_back() {
    // SAFETY: a plain value; it is of this thread alone. Refused, nothing has changed.
    unsafe {
        let priority = std::mem::zeroed::<libc::sched_param>();
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &priority);
    }
}

/// Waits until something is heard, or a frame is due; whether it is over.
fn wait(ear: &Ear, until: &OwnedFd) -> bool {
    let (states, words) = ear.open_ends();
    let ends = std::iter::once(until.as_fd()).chain(states).chain(words);
    let mut ends: Vec<PollFd> = ends
        .map(|end| PollFd::new(end, PollFlags::POLLIN))
        .collect();
    match poll(&mut ends, PollTimeout::from(FRAME_EVERY)) {
        // A request to stop, or a window of another size.
        Err(Errno::EINTR) => false,
        Err(_) => true,
        Ok(_) => ends[0].any().unwrap_or(true),
    }
}

#[cfg(test)]
mod tests;
