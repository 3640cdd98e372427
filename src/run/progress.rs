//! What a person sees while a study runs: on standard error, so that reports can be piped.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::plan::Cell;

/// A bar with the time left on a terminal; else a line now and then.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    start: Instant,
}

impl Progress {
    /// For a run of so many cells.
    pub fn new(cells: usize) -> Progress {
        let is_terminal = std::io::stderr().is_terminal();
        // Shown from the first cell on: before it nobody knows the time left.
        let bar = ProgressBar::hidden();
        bar.set_length(cells as u64);
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {eta} left  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress {
            bar,
            is_terminal,
            start: Instant::now(),
        }
    }

    /// Tells what is being done before the first cell.
    pub fn say(&self, text: &str) {
        eprintln!("{:5.1} s  {text}", self.start.elapsed().as_secs_f64());
    }

    /// Tells which cell is next.
    pub fn cell(&self, round: u32, rounds: u32, label: &str, cell: &Cell) {
        let connections = cell.connections;
        let distances = &cell.distances.label;
        let text = format!("round {round}/{rounds}  {label}, {connections} conn., {distances}");
        if self.is_terminal {
            self.show_bar(text);
        } else if self.bar.position().is_multiple_of(10) {
            self.say(&format!("{}{text}", self.tally()));
        }
    }

    fn show_bar(&self, text: String) {
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.reset();
        }
        self.bar.set_message(text);
    }

    /// How far the run is, once that can be told.
    fn tally(&self) -> String {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        if done == 0 {
            return String::new();
        }
        let left_s = self.bar.eta().as_secs();
        format!("{done}/{all} cells, about {left_s} s left: ")
    }

    /// One more cell is in the record.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// All cells are in the record.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
