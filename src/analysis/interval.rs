//! One figure per round in, a median with an interval out. docs/method/intervals.md says why this
//! way.

pub mod machines;
pub mod two_runs;

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal, StudentsT};

pub use super::summary::Estimate;
use crate::study::Study;

/// How noise acts on a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// It multiplies: rates, times, ratios. Such figures are above zero.
    Multiplies,
    /// It adds: slopes, which may be zero.
    Adds,
}

/// How often an interval may miss what it is to hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Risk(f64);

impl Risk {
    /// Of a figure that is looked at once, when all rounds are there.
    pub const ONE_LOOK: Risk = Risk(0.05);
    /// Of a figure that is looked at after each of [`LOOKS`], to go on or not. All looks together
    /// miss no more often than one at the end does otherwise: a test simulates it.
    pub const EACH_LOOK: Risk = Risk(0.022);

    /// Of the figures of a study.
    pub fn of(study: &Study) -> Risk {
        match study.until {
            Some(_) => Risk::EACH_LOOK,
            None => Risk::ONE_LOOK,
        }
    }

    /// Of each of so many figures, if all together may miss no more often than one (Bonferroni).
    pub fn shared_by(self, figures: usize) -> Risk {
        Risk(self.0 / figures.max(1) as f64)
    }

    /// The one that may miss less often.
    pub fn stricter(self, other: Risk) -> Risk {
        Risk(self.0.min(other.0))
    }

    /// Whether what chance alone brings about so often may be called shown.
    pub fn allows(self, chance: f64) -> bool {
        chance <= self.0
    }

    /// Student's t for so many rounds. Of one that is taken at 95 % it is that at 96 %, two-sided:
    /// what is sought is the median of noise that need not be normal, and at 95 % even noise covers
    /// only 92.2 % with three rounds. Farther out such noise strays more still, the more the fewer
    /// rounds there are: a test simulates it.
    fn student(self, rounds: usize) -> f64 {
        self.student_of(rounds as f64 - 1.0)
    }

    /// The same for so many degrees of freedom.
    fn student_of(self, freedom: f64) -> f64 {
        let farther = match freedom {
            ..=3.0 => 0.28,
            ..=5.0 => 0.23,
            _ => 0.17,
        };
        let strays = (self.0 / Risk::ONE_LOOK.0).powf(farther);
        quantile(freedom, 1.0 - 0.4 * self.0 * strays)
    }

    /// The same where the scatter is known: the normal distribution's.
    pub fn normal(self) -> f64 {
        let normal = Normal::new(0.0, 1.0);
        normal.map_or(f64::INFINITY, |normal| {
            normal.inverse_cdf(1.0 - 0.4 * self.0)
        })
    }
}

/// Which of so many figures are shown, the chance of any wrong one being that of one figure alone
/// (Holm, 1979, "A simple sequentially rejective multiple test procedure"): those shown among all
/// are taken out, and the others are judged anew among what is left. `shown` judges all of them.
pub fn holm(figures: usize, risk: Risk, shown: impl Fn(Risk) -> Vec<bool>) -> Vec<bool> {
    let mut count = 0;
    loop {
        let found = shown(risk.shared_by(figures - count));
        let more = found.iter().filter(|is_shown| **is_shown).count();
        if more <= count || more >= figures {
            return found;
        }
        count = more;
    }
}

/// Rounds after which a run is looked at that ends when its figures are narrow enough. Fixed
/// beforehand: who looks whenever it pleases stops at chance.
pub const LOOKS: [u32; 5] = [4, 6, 8, 12, 16];

/// Up to so many rounds intervals are Student's, beyond it those of order statistics.
const FEW: usize = 8;

/// Of Student's distribution with so many degrees of freedom.
fn quantile(freedom: f64, share: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom);
    student.map_or(f64::INFINITY, |student| student.inverse_cdf(share))
}

/// The share that a figure would have to differ by for four of five such runs to show it. `None`
/// without an interval, or of a figure that is not above zero.
pub fn smallest_shown(of: &Estimate, rounds: usize, risk: Risk) -> Option<f64> {
    let half = (of.high? / of.low?).ln() / 2.0;
    let share = (half * shown_over_half(rounds, risk)).exp() - 1.0;
    Some(share).filter(|share| share.is_finite())
}

/// The same of a difference: how far from zero it would have to be, in its own unit.
pub fn smallest_added(of: &Estimate, rounds: usize, risk: Risk) -> Option<f64> {
    let half = (of.high? - of.low?) / 2.0;
    Some(half * shown_over_half(rounds, risk)).filter(|least| least.is_finite())
}

/// What four of five runs show, over half an interval.
fn shown_over_half(rounds: usize, risk: Risk) -> f64 {
    let student = risk.student(rounds);
    shown_by_four_of_five(rounds as f64 - 1.0, student) / student
}

/// How far, in standard errors, the truth must lie from what an interval of `student` such errors
/// leaves out in four of five cases: the mean strays as a normal one does, the error as the root of
/// a chi-square (the noncentral t distribution, solved by bisection).
fn shown_by_four_of_five(freedom: f64, student: f64) -> f64 {
    let (Ok(chi), Ok(normal)) = (ChiSquared::new(freedom), Normal::new(0.0, 1.0)) else {
        return f64::INFINITY;
    };
    let errors = (0..ERRORS).map(|place| {
        let share = (f64::from(place) + 0.5) / f64::from(ERRORS);
        (chi.inverse_cdf(share) / freedom).sqrt()
    });
    let errors: Vec<f64> = errors.collect();
    let shown = |far: f64| {
        let each = errors.iter().map(|error| normal.cdf(far - student * error));
        each.sum::<f64>() / errors.len() as f64
    };
    let (mut low, mut high) = (0.0, 100.0 * student);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        match shown(middle) < 0.8 {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// Standard errors that the error of an error is taken as.
const ERRORS: u32 = 64;

/// The median of `values`, one per round, and its interval. `None` without values.
pub fn estimate(values: &[f64], noise: Noise, risk: Risk) -> Option<Estimate> {
    let is_usable = |value: &f64| value.is_finite() && (noise == Noise::Adds || *value > 0.0);
    match noise {
        _ if !values.iter().all(is_usable) => median(values).map(Estimate::without_interval),
        Noise::Adds => around_median(values, risk),
        Noise::Multiplies => {
            let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
            around_median(&logs, risk).map(|estimate| estimate.map(f64::exp))
        }
    }
}

/// The middle value; of an even number the mean of the middle two.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len().checked_sub(1)? / 2;
    Some(match sorted.len() % 2 {
        1 => sorted[middle],
        _ => (sorted[middle] + sorted[middle + 1]) / 2.0,
    })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn around_median(values: &[f64], risk: Risk) -> Option<Estimate> {
    let median = median(values)?;
    let (low, high) = match values.len() {
        1 => return Some(Estimate::without_interval(median)),
        2..=FEW => by_student(values, risk),
        _ => by_order(values, risk).unwrap_or_else(|| beyond_all(values, risk)),
    };
    // The t interval sits around the mean; widened to hold the median it can only cover more.
    Some(Estimate {
        median,
        low: Some(low.min(median)),
        high: Some(high.max(median)),
    })
}

/// The interval of the mean of `values`; `None` of fewer than two.
pub fn student(values: &[f64], risk: Risk) -> Option<(f64, f64)> {
    (values.len() > 1).then(|| by_student(values, risk))
}

fn by_student(values: &[f64], risk: Risk) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let half = risk.student(values.len()) * error;
    (mean - half, mean + half)
}

/// The narrowest pair of order statistics that misses the median no more often than `risk` allows,
/// whatever the noise: the k-th smallest and largest miss it when fewer than k of n coin tosses
/// show heads. `None` where even the least and the greatest miss it more often.
fn by_order(values: &[f64], risk: Risk) -> Option<(f64, f64)> {
    let sorted = sorted(values);
    let count = sorted.len();
    let (mut chance, mut missed) = (0.5_f64.powi(count as i32), 0.0);
    let mut found = None;
    for skipped in 0..count / 2 {
        missed += 2.0 * chance;
        if missed > risk.0 {
            break;
        }
        found = Some((sorted[skipped], sorted[count - 1 - skipped]));
        chance *= (count - skipped) as f64 / (skipped + 1) as f64;
    }
    found
}

/// Where even the least and the greatest miss the median too often: no narrower than these.
fn beyond_all(values: &[f64], risk: Risk) -> (f64, f64) {
    let ends = by_student(values, risk);
    let all = values.iter().copied();
    all.fold(ends, |(low, high), value| (low.min(value), high.max(value)))
}

/// The same ratio, of so many rounds, at another risk: its interval widens as Student's t does.
pub fn at_risk(of: Estimate, rounds: usize, (from, to): (Risk, Risk)) -> Estimate {
    let (Some(low), Some(high)) = (of.low, of.high) else {
        return of;
    };
    if from == to || rounds < 2 {
        return of;
    }
    let wider = to.student(rounds) / from.student(rounds);
    let (low, high) = (low.ln(), high.ln());
    let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0 * wider);
    Estimate {
        low: Some((middle - half).exp().min(of.median)),
        high: Some((middle + half).exp().max(of.median)),
        ..of
    }
}

#[cfg(test)]
mod tests;
