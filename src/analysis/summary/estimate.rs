//! A figure over rounds, with its interval.

use serde::Serialize;

/// A median over rounds, with an interval that holds the true median in at least 93 of 100 studies
/// (the tests of `interval` simulate it). Both ends are absent where no interval can be given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Estimate {
    pub median: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Estimate {
    /// Whether the interval, if there is one, leaves `value` out.
    pub fn excludes(&self, value: f64) -> Option<bool> {
        let (low, high) = (self.low?, self.high?);
        Some(value < low || value > high)
    }

    /// Whether all of the interval lies within this share of 1.
    pub fn is_within(&self, share: f64) -> bool {
        let ends = self.low.zip(self.high);
        ends.is_some_and(|(low, high)| low * (1.0 + share) >= 1.0 && high <= 1.0 + share)
    }

    /// In another unit, or on another scale that keeps the order.
    pub fn map(self, change: impl Fn(f64) -> f64) -> Estimate {
        Estimate {
            median: change(self.median),
            low: self.low.map(&change),
            high: self.high.map(&change),
        }
    }

    /// A median alone.
    pub fn without_interval(median: f64) -> Estimate {
        Estimate {
            median,
            low: None,
            high: None,
        }
    }
}

/// A fitted figure with its interval over rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Value {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl From<Estimate> for Value {
    fn from(estimate: Estimate) -> Self {
        Value {
            value: estimate.median,
            low: estimate.low,
            high: estimate.high,
        }
    }
}
