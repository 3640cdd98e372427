//! What a mode's commits cost, from a record that measured them beside its faults.

use super::modes::Price;
use crate::analysis::interval::{Noise, Risk, estimate};
use crate::analysis::summary::{Anatomy, CellSummary, Estimate};

/// The price of the mode of that label at these distances, of paced commits at one connection;
/// `None` where none were measured.
pub fn price(
    label: &str,
    distances: &str,
    (cells, anatomy): (&[CellSummary], &[Anatomy]),
    risk: Risk,
) -> Option<Price> {
    let is_paced = |cell: &&CellSummary| cell.pace_us.is_some() && cell.connections == 1;
    let here = |cell: &&CellSummary| cell.distances == distances && cell.rounds > 0;
    let paced = || cells.iter().filter(is_paced).filter(here);
    let own = paced().find(|cell| cell.label == label)?;
    let is_base = |cell: &&CellSummary| own.baseline.as_ref() == Some(&cell.label);
    let base = paced().find(|cell| is_base(cell) && cell.disks == own.disks);
    let line = anatomy.iter().find(|line| line.label == label);
    Some(Price {
        baseline: base.map(|base| base.label.clone()),
        p50_us: own.latency_us.p50,
        added_us: own.added_us.filter(|_| base.is_some()),
        rate_ratio: base.and_then(|base| rate_ratio(own, base, risk)),
        round_trips: line.and_then(|line| line.round_trips),
    })
}

fn rate_ratio(own: &CellSummary, base: &CellSummary, risk: Risk) -> Option<Estimate> {
    let pairs = own.by_round.p50_us.iter().filter_map(|(round, own_us)| {
        let base_us = base.by_round.p50_us.get(round)?;
        (*own_us > 0.0).then(|| base_us / own_us)
    });
    let ratios: Vec<f64> = pairs.collect();
    estimate(&ratios, Noise::Multiplies, risk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::{ByRound, Percentiles, Value};

    fn cell(label: &str, distances: &str, p50_us: [f64; 3]) -> CellSummary {
        CellSummary {
            label: label.to_owned(),
            distances: distances.to_owned(),
            connections: 1,
            pace_us: Some(10_000.0),
            rounds: 3,
            latency_us: Percentiles {
                p50: Some(p50_us[1]),
                ..Percentiles::default()
            },
            by_round: ByRound {
                p50_us: (1..).zip(p50_us).collect(),
                ..ByRound::default()
            },
            ..CellSummary::default()
        }
    }

    fn cells() -> Vec<CellSummary> {
        let mut semisync = cell("mysql semisync", "2 ms", [4_000.0, 4_400.0, 4_200.0]);
        semisync.baseline = Some("mysql single".to_owned());
        let single = cell("mysql single", "2 ms", [2_000.0, 2_200.0, 2_100.0]);
        let far = cell("mysql single", "8 ms", [9_000.0; 3]);
        vec![far, single, semisync]
    }

    #[test]
    fn a_price_is_that_of_paced_commits_where_faults_were_injected() {
        let line = Anatomy {
            label: "mysql semisync".to_owned(),
            round_trips: Some(Value {
                value: 1.0,
                low: None,
                high: None,
            }),
            ..Anatomy::default()
        };
        let cells = cells();
        let of = |label, at| {
            price(
                label,
                at,
                (&cells, std::slice::from_ref(&line)),
                Risk::ONE_LOOK,
            )
        };
        let semisync = of("mysql semisync", "2 ms").expect("it was measured");
        assert_eq!(semisync.baseline.as_deref(), Some("mysql single"));
        let ratio = semisync.rate_ratio.expect("three rounds").median;
        assert!((ratio - 0.5).abs() < 1e-9, "{ratio}");
        assert_eq!(semisync.round_trips.map(|trips| trips.value), Some(1.0));
        assert_eq!(semisync.p50_us, Some(4_400.0));
        let single = of("mysql single", "2 ms").expect("it was measured");
        assert_eq!((single.rate_ratio, single.round_trips), (None, None));
        assert_eq!(of("mysql semisync", "8 ms"), None);
        assert_eq!(of("mysql group", "2 ms"), None);
    }
}
