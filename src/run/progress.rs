//! What a person sees while a study runs: on standard error, so that reports can be piped.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::plan;

/// How often a line is printed where there is no terminal for a bar.
const LINE_EVERY: Duration = Duration::from_secs(30);

/// A bar with the time left on a terminal; else a line now and then.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    start: Instant,
    /// Estimates of all steps, in their order.
    steps: Vec<Duration>,
    /// When the first step began.
    begun: Cell<Option<Instant>>,
    line_due: Cell<Instant>,
}

impl Progress {
    /// For a run of steps that take about so long each.
    pub fn new(steps: Vec<Duration>) -> Progress {
        let is_terminal = std::io::stderr().is_terminal();
        // Shown from the first step on: before it nobody knows the time left.
        let bar = ProgressBar::hidden();
        bar.set_length(steps.len() as u64);
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress {
            bar,
            is_terminal,
            start: Instant::now(),
            steps,
            begun: Cell::new(None),
            line_due: Cell::new(Instant::now()),
        }
    }

    /// Tells what is being done before the first step.
    pub fn say(&self, text: &str) {
        eprintln!("{:5.1} s  {text}", self.start.elapsed().as_secs_f64());
    }

    /// Tells which cell is next.
    pub fn cell(&self, round: u32, rounds: u32, label: &str, cell: &plan::Cell) {
        let connections = cell.connections;
        let distances = &cell.distances.label;
        let text = format!("round {round}/{rounds}  {label}, {connections} conn., {distances}");
        self.at(text);
    }

    /// Tells what is next.
    pub fn at(&self, text: String) {
        let now = Instant::now();
        let begun = self.begun.get().unwrap_or(now);
        self.begun.set(Some(begun));
        let (done, all) = (self.bar.position() as usize, self.steps.len());
        let left = minutes_and_seconds(left(&self.steps, done, now - begun));
        if self.is_terminal {
            self.show_bar(format!("{left} left  {text}"));
        } else if now >= self.line_due.get() {
            self.line_due.set(now + LINE_EVERY);
            self.say(&format!("{done}/{all}, about {left} left: {text}"));
        }
    }

    fn show_bar(&self, text: String) {
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.reset();
        }
        self.bar.set_message(text);
    }

    /// One more step has ended, and what it found is in the record.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// All steps have.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
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

fn minutes_and_seconds(time: Duration) -> String {
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
    fn times_are_told_in_minutes() {
        let told = |seconds| minutes_and_seconds(Duration::from_secs(seconds));
        assert_eq!(
            [told(59), told(60), told(754)],
            ["59 s", "1 min 0 s", "12 min 34 s"]
        );
    }
}
