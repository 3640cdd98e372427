//! What a person sees while a study runs: on standard error, so that reports can be piped.

use std::cell::{Cell, RefCell};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::preview::Preview;
use crate::run::{Event, Events, Order, Step};

/// How often a line is printed where there is no terminal for a bar.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// A bar with the time left on a terminal; else a line now and then.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    start: Instant,
    /// Estimates of all steps, in their order.
    steps: RefCell<Vec<Duration>>,
    /// When the first step began.
    begun: Cell<Option<Instant>>,
    line_due: Cell<Instant>,
    preview: RefCell<Preview>,
}

impl Events for Progress {
    fn tell(&self, event: Event) {
        match &event {
            Event::StepsAdded(more) => self.add(more),
            Event::StepBegun(step) => self.show(&step_line(step)),
            Event::Measured(outcome) => {
                let lines = self.preview.borrow_mut().take(outcome);
                self.bar
                    .suspend(|| lines.iter().for_each(|line| eprintln!("{line}")));
            }
            Event::StepEnded => self.bar.inc(1),
            Event::Finished => self.bar.finish_and_clear(),
            Event::AlsoFailed(error) => eprintln!("acklab: {error}"),
            other => {
                if let Some(line) = line(other) {
                    self.print(&line);
                }
            }
        }
    }
}

/// What an event is worth in a line of its own, if it is.
fn line(event: &Event) -> Option<String> {
    let seconds = |after: &Duration| format!("{:.1} s", after.as_secs_f64());
    Some(match event {
        Event::Words { text, .. } => text.clone(),
        Event::LabStarting { lab, nodes } => format!("starting {lab} ({nodes} nodes)"),
        Event::LabReady { lab, after } => format!("{lab} ready in {}", seconds(after)),
        Event::Connecting { label } => format!("connecting to {label}"),
        Event::EndpointReady {
            label,
            after,
            database,
        } => format!(
            "{label} ready in {}, in its database {database}",
            seconds(after)
        ),
        Event::LoadingTables => "loading tables".to_owned(),
        Event::Advice(text) => format!("advice: {text}"),
        _ => return None,
    })
}

fn step_line(step: &Step) -> String {
    match step {
        Step::Cell {
            round,
            rounds,
            label,
            cell,
            ..
        } => {
            let (connections, distances) = (cell.connections, &cell.distances.label);
            let rate = cell.rate_per_s.map(|rate| format!(", {rate}/s"));
            let rate = rate.unwrap_or_default();
            format!("round {round}/{rounds}  {label}, {connections} conn., {distances}{rate}")
        }
        Step::Fault {
            label,
            fault,
            number,
            of,
        } => format!("{label}: {fault} {number}/{of}"),
    }
}

impl Progress {
    /// Of a run whose steps are not known yet.
    pub fn new() -> Progress {
        let is_terminal = std::io::stderr().is_terminal();
        // Shown from the first step on: before it nobody knows the time left.
        let bar = ProgressBar::hidden();
        bar.set_length(0);
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress {
            bar,
            is_terminal,
            start: Instant::now(),
            steps: RefCell::default(),
            begun: Cell::new(None),
            line_due: Cell::new(Instant::now()),
            preview: RefCell::default(),
        }
    }

    /// Of a study, whose first rows are shown while it runs.
    pub fn of(order: &Order) -> Progress {
        Progress {
            preview: RefCell::new(Preview::of(&order.study, &order.plan)),
            ..Progress::new()
        }
    }

    /// These come before all others that are still ahead.
    fn add(&self, more: &[Duration]) {
        let mut steps = self.steps.borrow_mut();
        let at = (self.bar.position() as usize).min(steps.len());
        steps.splice(at..at, more.iter().copied());
        self.bar.set_length(steps.len() as u64);
    }

    fn print(&self, line: &str) {
        eprintln!("{:5.1} s  {line}", self.start.elapsed().as_secs_f64());
    }

    /// Shows what is next.
    fn show(&self, text: &str) {
        let now = Instant::now();
        let begun = self.begun.get().unwrap_or(now);
        self.begun.set(Some(begun));
        let steps = self.steps.borrow();
        let (done, all) = (self.bar.position() as usize, steps.len());
        let left = minutes_and_seconds(left(&steps, done, now - begun));
        if self.is_terminal {
            self.show_bar(format!("{left} left  {text}"));
        } else if now >= self.line_due.get() {
            self.line_due.set(now + LINE_EVERY);
            self.print(&format!("{done}/{all}, about {left} left: {text}"));
        }
    }

    fn show_bar(&self, text: String) {
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.reset();
        }
        self.bar.set_message(text);
    }
}

/// The estimates of what is left, times how wrong those of what is done were.
fn left(steps: &[Duration], done: usize, took: Duration) -> Duration {
    let (before, after) = steps.split_at(done.min(steps.len()));
    let (before, after): (Duration, Duration) = (before.iter().sum(), after.iter().sum());
    match before.is_zero() {
        true => after,
        false => after.mul_f64(took.as_secs_f64() / before.as_secs_f64()),
    }
}

pub fn minutes_and_seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {} s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_the_estimates_and_how_wrong_they_were() {
        let steps = [1, 1, 60, 2].map(Duration::from_secs);
        let left = |done, took| left(&steps, done, Duration::from_secs(took)).as_secs();
        assert_eq!(left(0, 0), 64);
        // Twice as long as estimated so far: so will be the long one.
        assert_eq!(left(2, 4), 124);
        assert_eq!(left(3, 62), 2);
        assert_eq!((left(4, 64), left(5, 64)), (0, 0));
    }

    #[test]
    fn steps_that_nobody_foresaw_come_next() {
        let progress = Progress::new();
        let seconds = |all: &[u64]| all.iter().copied().map(Duration::from_secs).collect();
        progress.tell(Event::StepsAdded(seconds(&[1, 2, 3])));
        progress.tell(Event::StepEnded);
        progress.tell(Event::StepsAdded(seconds(&[9])));
        let expected: Vec<Duration> = seconds(&[1, 9, 2, 3]);
        assert_eq!(*progress.steps.borrow(), expected);
        assert_eq!(
            (progress.bar.position(), progress.bar.length()),
            (1, Some(4))
        );
    }

    #[test]
    fn times_are_told_in_minutes() {
        let shown = [59, 60, 754].map(|s| minutes_and_seconds(Duration::from_secs(s)));
        assert_eq!(shown, ["59 s", "1 min 0 s", "12 min 34 s"]);
    }
}
