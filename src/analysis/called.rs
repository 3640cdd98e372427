//! What tables call a point's load.

use crate::plan::Point;
use crate::plan::knee::{Part, SHARE, Seek};
use crate::study::units;

/// `update_index`, `update_index at 500/s`, `update_index paced 20 ms`.
pub fn workload(point: &Point) -> String {
    point.workload.label() + &pressure(point)
}

/// What is said of a workload that is not run as fast as it goes.
pub fn pressure(point: &Point) -> String {
    let rate = point.rate_per_s.map(|rate| format!(" at {rate}/s"));
    let pace = point.pace.map(units::show);
    let pace = pace.map(|pace| format!(" paced {pace}"));
    let knee = point.knee.map(at_knee);
    rate.or(pace).or(knee).unwrap_or_default()
}

fn at_knee(seek: Seek) -> String {
    let limit = units::show(seek.p99);
    match seek.part {
        Part::Search => format!(" in search of the knee (p99 {limit})"),
        Part::Below => format!(" at {:.0} % of the knee (p99 {limit})", SHARE * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_load_tells_how_hard_it_presses() {
        let with = |change: fn(&mut Point)| {
            let mut point = Point::default();
            change(&mut point);
            pressure(&point)
        };
        assert_eq!(with(|_| ()), "");
        assert_eq!(with(|point| point.rate_per_s = Some(500)), " at 500/s");
        let paced = with(|point| point.pace = Some(Duration::from_millis(20)));
        assert_eq!(paced, " paced 20 ms");
        let below = with(|point| {
            let p99 = Duration::from_millis(20);
            let part = Part::Below;
            point.knee = Some(Seek { p99, part });
        });
        assert_eq!(below, " at 70 % of the knee (p99 20 ms)");
    }
}
