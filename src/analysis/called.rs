//! What tables call a point's load.

use crate::plan::Point;
use crate::plan::knee::{Part, SHARE, Seek};
use crate::study::units;

/// `update_index`, `update_index at 500/s`, `update_index paced 20 ms in 2 schemas`.
pub fn workload(point: &Point) -> String {
    point.workload.label() + &pressure(point)
}

/// What is said of a workload that is not run as fast as it goes, or not on the usual ground.
pub fn pressure(point: &Point) -> String {
    let rate = point.rate_per_s.map(|rate| format!(" at {rate}/s"));
    let pace = point.pace.map(units::show);
    let pace = pace.map(|pace| format!(" paced {pace}"));
    let knee = point.knee.map(at_knee);
    rate.or(pace).or(knee).unwrap_or_default() + &ground(point)
}

/// Where its tables lie in several schemas, or CPUs are slower than the host gives them.
pub fn ground(point: &Point) -> String {
    let schemas = match point.schemas {
        0 | 1 => String::new(),
        several => format!(" in {several} schemas"),
    };
    match point.cpu_speed.is_full() {
        true => schemas,
        false => format!("{schemas}, {}", point.cpu_speed.words()),
    }
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
    use crate::study::CpuSpeed;

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

    #[test]
    fn a_load_tells_what_it_falls_on_where_that_is_not_as_usual() {
        let mut point = Point {
            schemas: 1,
            ..Point::default()
        };
        assert_eq!(ground(&point), "");
        point.schemas = 2;
        assert_eq!(pressure(&point), " in 2 schemas");
        point.cpu_speed = CpuSpeed::of_all(0.8);
        point.rate_per_s = Some(500);
        assert_eq!(pressure(&point), " at 500/s in 2 schemas, CPUs at 80%");
    }
}
