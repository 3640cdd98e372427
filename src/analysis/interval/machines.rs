//! Rounds within machines: a figure over machines, and whether machines differ.
//! docs/method/intervals.md says why this way.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::{Estimate, Noise, Risk, estimate, median};

/// Of fewer machines nobody can say how machines stray: an interval over them would be several
/// times as wide as they are apart.
pub const MACHINES_NEEDED: usize = 5;

/// What a typical machine gives. Each machine is one value, the median over its rounds, however
/// many it had: rounds of one machine share all that is its own, and do not tell of others. A
/// machine without rounds of it has no value. `None` with fewer than [`MACHINES_NEEDED`] that have.
pub fn over_machines(machines: &[Vec<f64>], noise: Noise, risk: Risk) -> Option<Estimate> {
    let each = machines.iter().filter_map(|own| of_one(own, noise));
    let each: Vec<f64> = each.collect();
    let are_enough = each.len() >= MACHINES_NEEDED;
    are_enough.then(|| estimate(&each, noise, risk)).flatten()
}

/// The median over a machine's rounds, on the scale on which noise adds.
pub fn of_one(rounds: &[f64], noise: Noise) -> Option<f64> {
    match noise {
        Noise::Adds => median(rounds),
        Noise::Multiplies => match logarithms(rounds) {
            Some(logs) => median(&logs).map(f64::exp),
            None => median(rounds),
        },
    }
}

/// The chance that machines which are alike stray from each other as far as these do, by what their
/// own rounds stray: the F test of a one-way layout, mean squares between machines over those
/// within them (Fisher, 1925, "Statistical Methods for Research Workers", chapter VII; of unequal
/// numbers of rounds Searle, Casella and McCulloch, 1992, "Variance Components", section 3.6).
/// Machines with a single round stay out: one of them that was disturbed looks like a machine that
/// is another, and it has no other round to tell. `None` where fewer than two have more, or all
/// rounds are the same.
pub fn chance_if_alike(machines: &[Vec<f64>], noise: Noise) -> Option<f64> {
    let machines = machines.iter().filter(|own| own.len() > 1);
    let machines: Vec<Vec<f64>> = match noise {
        Noise::Adds => machines.cloned().collect(),
        Noise::Multiplies => machines.map(|own| logarithms(own)).collect::<Option<_>>()?,
    };
    let rounds: usize = machines.iter().map(Vec::len).sum();
    let free_between = machines.len().checked_sub(1).filter(|free| *free > 0)? as f64;
    let free_within = rounds
        .checked_sub(machines.len())
        .filter(|free| *free > 0)? as f64;
    let of_all = machines.iter().flatten().sum::<f64>() / rounds as f64;
    let (mut between, mut within) = (0.0, 0.0);
    for own in &machines {
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        between += own.len() as f64 * (mean - of_all).powi(2);
        within += own.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    }
    let ratio = (between / free_between) / (within / free_within);
    let spread = FisherSnedecor::new(free_between, free_within).ok()?;
    ratio.is_finite().then(|| spread.sf(ratio))
}

/// `None` with a value that has none.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let log = |value: &f64| (*value > 0.0 && value.is_finite()).then(|| value.ln());
    values.iter().map(log).collect()
}

#[cfg(test)]
mod tests;
