//! Two runs held against each other. No round of one is the pair of a round of the other, and a
//! run strays from the next by more than its own rounds tell. docs/method/diff.md says why this
//! way.

use std::collections::BTreeMap;

use super::{Estimate, Noise, Risk, median, shown_by_four_of_five};

/// More degrees of freedom than these change nothing.
const FREEDOM_MAX: f64 = 1_000.0;

/// How far the level of a whole run strays, as far as the run itself tells: by what all figures of
/// a kind have in common in a round. It is on the scale on which noise adds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Drift {
    variance: f64,
    /// Rounds that it was seen in, less one.
    freedom: f64,
}

/// What the second of two runs has over the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoRuns {
    noise: Noise,
    /// The second's median over rounds less the first's, on the scale on which noise adds;
    medians: f64,
    /// of means the same, and its standard error.
    means: f64,
    error: f64,
    freedom: f64,
}

/// A variance, and how many degrees of freedom tell of it.
type Part = (f64, f64);

impl Drift {
    /// Of figures of one kind of a run, each by its rounds.
    pub fn of(figures: &[&BTreeMap<u32, f64>], noise: Noise) -> Drift {
        let mut strays: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for by_round in figures.iter().filter(|by_round| by_round.len() > 1) {
            let values: Vec<f64> = by_round.values().copied().collect();
            let Some(levels) = levels(&values, noise) else {
                continue;
            };
            let mean = mean(&levels);
            for (round, level) in by_round.keys().zip(levels) {
                strays.entry(*round).or_default().push(level - mean);
            }
        }
        let common: Vec<f64> = strays.values().map(|all| mean(all)).collect();
        if common.len() < 2 {
            return Drift::default();
        }
        let freedom = common.len() as f64 - 1.0;
        let squares: f64 = common.iter().map(|stray| stray.powi(2)).sum();
        Drift {
            variance: squares / freedom,
            freedom,
        }
    }
}

impl TwoRuns {
    /// By the rounds of both. `between` is what runs stray from each other even without drift: a
    /// standard deviation, as a share of what multiplies, in its own unit of what adds. `None`
    /// where a run has fewer than two rounds, or a value that has no logarithm.
    pub fn of(
        rounds: [&[f64]; 2],
        drifts: [Drift; 2],
        between: f64,
        noise: Noise,
    ) -> Option<TwoRuns> {
        let [first, second] = rounds.map(|values| levels(values, noise));
        let (first, second) = (first?, second?);
        if first.len().min(second.len()) < 2 {
            return None;
        }
        let between = match noise {
            Noise::Multiplies => between.ln_1p(),
            Noise::Adds => between,
        };
        let of_rounds = [&first, &second].map(|levels| of_mean(levels));
        let of_drift = drifts.map(|drift| (drift.variance, drift.freedom));
        let of_runs = (2.0 * between.powi(2), FREEDOM_MAX);
        let parts = [&of_rounds[..], &of_drift[..], &[of_runs][..]].concat();
        let variance: f64 = parts.iter().map(|(variance, _)| variance).sum();
        Some(TwoRuns {
            noise,
            medians: median(&second)? - median(&first)?,
            means: mean(&second) - mean(&first),
            error: variance.sqrt(),
            freedom: freedom(&parts),
        })
    }

    /// What the second is over the first; of what adds, what it is more.
    pub fn estimate(&self, risk: Risk) -> Estimate {
        let half = risk.student_of(self.freedom) * self.error;
        // The interval sits around the means; widened to hold the medians it can only cover more.
        let both = Estimate {
            median: self.medians,
            low: Some((self.means - half).min(self.medians)),
            high: Some((self.means + half).max(self.medians)),
        };
        match self.noise {
            Noise::Adds => both,
            Noise::Multiplies => both.map(f64::exp),
        }
    }

    /// Whether they differ.
    pub fn differ(&self, risk: Risk) -> bool {
        let none = match self.noise {
            Noise::Adds => 0.0,
            Noise::Multiplies => 1.0,
        };
        self.estimate(risk).excludes(none) == Some(true)
    }

    /// What the second would have to be more than the first, as a share of what multiplies, for
    /// four of five such pairs to show it.
    pub fn smallest_shown(&self, risk: Risk) -> f64 {
        let far = shown_by_four_of_five(self.freedom, risk.student_of(self.freedom)) * self.error;
        match self.noise {
            Noise::Adds => far,
            Noise::Multiplies => far.exp_m1(),
        }
    }
}

/// On the scale on which noise adds; `None` with a value that is not on it.
fn levels(values: &[f64], noise: Noise) -> Option<Vec<f64>> {
    let level = |value: &f64| match noise {
        Noise::Adds => Some(*value),
        Noise::Multiplies => (*value > 0.0).then(|| value.ln()),
    };
    let level = |value: &f64| level(value).filter(|level| level.is_finite());
    values.iter().map(level).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance of the mean of these, of which there are at least two.
fn of_mean(levels: &[f64]) -> Part {
    let (mean, count) = (mean(levels), levels.len() as f64);
    let squares: f64 = levels.iter().map(|level| (level - mean).powi(2)).sum();
    (squares / (count - 1.0) / count, count - 1.0)
}

/// Of a sum of variances (Welch, 1947, "The generalization of 'Student's' problem when several
/// different population variances are involved"; Satterthwaite, 1946).
fn freedom(parts: &[Part]) -> f64 {
    let sum: f64 = parts.iter().map(|(variance, _)| variance).sum();
    let seen = parts.iter().filter(|(_, freedom)| *freedom > 0.0);
    let spread: f64 = seen
        .map(|(variance, freedom)| variance.powi(2) / freedom)
        .sum();
    match spread > 0.0 {
        true => (sum.powi(2) / spread).min(FREEDOM_MAX),
        false => FREEDOM_MAX,
    }
}

#[cfg(test)]
mod tests;
