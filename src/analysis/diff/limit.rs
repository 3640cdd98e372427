//! How much worse a quantity may become.

use std::fmt;

use serde::Serialize;

use super::quantity::{LIMITED, Quantity};
use crate::analysis::summary::Estimate;
use crate::study::units::{percent, show_percent};

/// A limit, as `p99:+10%` has it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Limit {
    pub quantity: Quantity,
    /// By what share it may change: above 0 where more is worse, below 0 where less is.
    pub share: f64,
}

impl Limit {
    /// The limit that a command line has.
    ///
    /// # Errors
    /// What may be written in its place.
    pub fn parse(text: &str) -> Result<Limit, String> {
        let (name, share) = text.split_once(':').ok_or_else(form)?;
        let mut known = LIMITED.iter();
        let (_, quantity) = known.find(|(known, _)| *known == name).ok_or_else(form)?;
        let sign = if quantity.is_gain() { '-' } else { '+' };
        if !share.starts_with(sign) {
            return Err(format!(
                "{name} gets worse the other way: {name}:{sign}10%, with its sign"
            ));
        }
        let share = percent(share).ok_or_else(form)?;
        let is_sound = share.is_finite() && share != 0.0 && share > -1.0;
        let limit = Limit {
            quantity: *quantity,
            share,
        };
        is_sound.then_some(limit).ok_or_else(form)
    }

    /// Whether all of that ratio's interval lies beyond it.
    pub fn is_exceeded(self, ratio: Estimate) -> bool {
        let bound = 1.0 + self.share;
        let ends = ratio.low.zip(ratio.high);
        ends.is_some_and(|(low, high)| match self.share < 0.0 {
            true => high < bound,
            false => low > bound,
        })
    }

    /// Whether none of it does.
    pub fn is_kept(self, ratio: Estimate) -> bool {
        let bound = 1.0 + self.share;
        let ends = ratio.low.zip(ratio.high);
        ends.is_some_and(|(low, high)| match self.share < 0.0 {
            true => low >= bound,
            false => high <= bound,
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_it = |(_, quantity): &&(&str, Quantity)| *quantity == self.quantity;
        let name = LIMITED.iter().find(is_it).map_or("", |(name, _)| name);
        let sign = if self.share < 0.0 { '-' } else { '+' };
        write!(f, "{name}:{sign}{}", show_percent(self.share.abs()))
    }
}

fn form() -> String {
    let names: Vec<&str> = LIMITED.iter().map(|(name, _)| *name).collect();
    format!(
        "a quantity, and by how much it may get worse: p99:+10% or throughput:-5%; quantities are \
         {}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_and_told_as_it_is_written() {
        for text in ["p99:+10%", "p50:+2.5%", "cpu:+300%", "throughput:-5%"] {
            let limit = Limit::parse(text).expect("a limit");
            assert_eq!(limit.to_string(), text);
        }
        let limit = Limit::parse("throughput:-5%").expect("a limit");
        assert_eq!(limit.quantity, Quantity::Throughput);
        assert!((limit.share + 0.05).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_limit_is_told_with_what_is_one() {
        for text in [
            "",
            "p99",
            "p98:+1%",
            "p99:+10",
            "p99:+0%",
            "p99:+x%",
            "p99:++1%",
            "throughput:-100%",
        ] {
            let told = Limit::parse(text).expect_err(text);
            assert!(told.contains("p99:+10%") && told.contains("cpu"), "{told}");
        }
        let told = Limit::parse("p99:-10%").expect_err("a gain");
        assert!(told.contains("p99:+10%"), "{told}");
        let told = Limit::parse("throughput:5%").expect_err("no sign");
        assert!(told.contains("throughput:-10%"), "{told}");
    }

    #[test]
    fn a_limit_is_exceeded_or_kept_by_all_of_an_interval() {
        let ratio = |low, high| Estimate {
            median: 1.0,
            low: Some(low),
            high: Some(high),
        };
        let of = |text: &str, low, high| {
            let limit = Limit::parse(text).expect("a limit");
            let ratio = ratio(low, high);
            (limit.is_exceeded(ratio), limit.is_kept(ratio))
        };
        assert_eq!(of("p99:+10%", 1.11, 1.3), (true, false));
        assert_eq!(of("p99:+10%", 1.05, 1.3), (false, false));
        assert_eq!(of("p99:+10%", 0.7, 1.09), (false, true));
        assert_eq!(of("throughput:-5%", 0.8, 0.94), (true, false));
        assert_eq!(of("throughput:-5%", 0.9, 1.0), (false, false));
        assert_eq!(of("throughput:-5%", 0.96, 1.2), (false, true));
        let bare = Estimate::without_interval(2.0);
        let limit = Limit::parse("p50:+1%").expect("a limit");
        assert_eq!(
            (limit.is_exceeded(bare), limit.is_kept(bare)),
            (false, false)
        );
    }
}
