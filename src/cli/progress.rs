//! What a run says in plain lines: on standard error, so that reports can be piped.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use crate::live::{Live, line, minutes_and_seconds};
use crate::run::{Event, Events, Order};

/// How often a line tells how far it is.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// A line now and then.
pub struct Lines {
    live: RefCell<Live>,
    start: Instant,
    line_due: Cell<Duration>,
}

impl Events for Lines {
    fn tell(&self, event: Event) {
        let mut live = self.live.borrow_mut();
        let (at, told) = (self.start.elapsed(), live.preliminary.len());
        live.take(&event, at);
        match &event {
            Event::StepBegun(_) => self.show(&live, at),
            Event::Measured(_) => {
                let new = live.preliminary.iter().skip(told);
                new.for_each(|line| eprintln!("{line}"));
            }
            Event::AlsoFailed(error) => eprintln!("acklab: {error}"),
            other => {
                if let Some(line) = line(other) {
                    print(&line, at);
                }
            }
        }
    }
}

impl Lines {
    /// Of a run whose steps are not known yet.
    pub fn new() -> Lines {
        Lines {
            live: RefCell::default(),
            start: Instant::now(),
            line_due: Cell::default(),
        }
    }

    /// Of a study, whose first rows are shown while it runs.
    pub fn of(order: &Order) -> Lines {
        Lines {
            live: RefCell::new(Live::of(&order.study, &order.plan)),
            ..Lines::new()
        }
    }

    /// Tells what is next, if that is due.
    fn show(&self, live: &Live, at: Duration) {
        if at < self.line_due.get() {
            return;
        }
        self.line_due.set(at + LINE_EVERY);
        let (done, all) = live.ahead.done_of();
        let left = minutes_and_seconds(live.left(at));
        print(
            &format!("{done}/{all}, about {left} left: {}", live.now),
            at,
        );
    }
}

fn print(line: &str, at: Duration) {
    eprintln!("{:5.1} s  {line}", at.as_secs_f64());
}
