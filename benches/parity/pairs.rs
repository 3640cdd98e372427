//! Pairs of runs, one of each tool, in alternating order; more of them where the bound is missed.

use acklab::error::Result;

use crate::judge::{Compared, Figure, Pair, Ratios};
use crate::place::Place;

/// What a median may differ by.
pub const BOUND_SHARE: f64 = 0.10;
/// With more of all CPUs taken by others, or by the hypervisor, pairs say little: only
/// the last try's are held against the bound all the same.
const OTHERS_SHARE_MAX: f64 = 0.05;

/// How much is run.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    pub pairs: usize,
    /// Of as many pairs each, while the bound is missed or the host is busy.
    pub tries: usize,
}

/// A table that grows as its rows become known.
pub struct Table {
    is_met: bool,
}

impl Table {
    pub fn begin(title: &str, unit: &str, tool: &str) -> Table {
        println!("\n{title}; median of the runs, and of the pairs' ratios\n");
        println!(
            "| load | acklab, {unit} | {tool}, {unit} | ratio | lowest to highest | \
             server's CPU | others |"
        );
        println!("|---|---|---|---|---|---|---|");
        Table { is_met: true }
    }

    /// Whether every row was within the bound.
    pub fn is_met(&self) -> bool {
        self.is_met
    }

    /// Compares a figure of both tools; each closure makes one run and tells the figure. Where the
    /// bound is missed, or the host was busy, as many pairs more are run, and all decide but for
    /// those of a busy host; of the last ones all. Whether the bound was met.
    pub fn row<F: Into<Figure>>(
        &mut self,
        place: &Place,
        name: &str,
        effort: Effort,
        mut ours: impl FnMut() -> Result<F>,
        mut theirs: impl FnMut() -> Result<F>,
    ) -> Result<bool> {
        let mut pairs = Vec::new();
        for attempt in 1..=effort.tries {
            let before = place.look();
            let quiet = pairs.len();
            pairs.extend(run_pairs(effort.pairs, &mut ours, &mut theirs)?);
            let others_share = place.look().others_share_since(&before);
            let is_busy = others_share > OTHERS_SHARE_MAX;
            let is_met = told(name, &pairs, others_share);
            if is_met && !is_busy || attempt == effort.tries {
                self.is_met &= is_met;
                return Ok(is_met);
            }
            if is_busy {
                pairs.truncate(quiet);
            }
        }
        Ok(false)
    }

    /// The tool against itself, for a row that missed the bound: whether two runs of it alike are
    /// within the bound. Decides nothing.
    pub fn control(
        &self,
        place: &Place,
        count: usize,
        mut theirs: impl FnMut() -> Result<f64>,
    ) -> Result<()> {
        let before = place.look();
        let pair = |_| Ok((theirs()?.into(), theirs()?.into()));
        let pairs = (0..count).map(pair).collect::<Result<Vec<_>>>()?;
        let others_share = place.look().others_share_since(&before);
        told("– the tool against itself", &pairs, others_share);
        Ok(())
    }
}

fn run_pairs<F: Into<Figure>>(
    count: usize,
    ours: &mut impl FnMut() -> Result<F>,
    theirs: &mut impl FnMut() -> Result<F>,
) -> Result<Vec<Pair>> {
    let pair = |number: usize| {
        if number.is_multiple_of(2) {
            let first = ours()?;
            return Ok((first.into(), theirs()?.into()));
        }
        let first = theirs()?;
        Ok((ours()?.into(), first.into()))
    };
    (0..count).map(pair).collect()
}

/// Prints a row; whether a median of it is within the bound.
fn told(name: &str, pairs: &[Pair], others_share: f64) -> bool {
    let compared = Compared::of(pairs);
    let ours = Ratios::of(pairs.iter().map(|pair| pair.0.told).collect()).median();
    let theirs = Ratios::of(pairs.iter().map(|pair| pair.1.told).collect()).median();
    let (low, high) = compared.told.ends();
    let is_met = compared.is_within(BOUND_SHARE);
    let server = compared.server_cpu.map(|ratios| ratios.median());
    let digits = if theirs < 100.0 { 3 } else { 0 };
    println!(
        "| {name} | {ours:.digits$} | {theirs:.digits$} | {:.3}{} | {low:.2} to {high:.2} | {} | \
         {:.0} % |",
        compared.told.median(),
        if is_met { "" } else { " **missed**" },
        server.map_or("–".to_owned(), |ratio| format!("{ratio:.3}")),
        100.0 * others_share
    );
    is_met
}
