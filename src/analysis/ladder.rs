//! A ladder: offered rates of cells that are otherwise alike, and up to which of them replicas
//! keep up.

use super::applied::LagState;
use super::called;
use super::summary::CellSummary;
pub use super::summary::{Ladder, Reach, Rung};
use crate::plan::Axis;

/// The ladders of these cells, in their order. Cells without an offered rate, and those of which
/// lag says nothing, are on none.
pub fn ladders(cells: &[CellSummary]) -> Vec<Ladder> {
    let mut ladders: Vec<Ladder> = Vec::new();
    for cell in cells {
        let Some(rung) = rung(cell) else {
            continue;
        };
        let foot = cell.point.without(&[Axis::Rate]);
        let is_its = |known: &&mut Ladder| known.point.without(&[Axis::Rate]) == foot;
        match ladders.iter_mut().find(is_its) {
            Some(known) => known.rungs.push(rung),
            None => ladders.push(with_one(cell, rung)),
        }
    }
    ladders.iter_mut().for_each(Ladder::climb);
    ladders
}

fn rung(cell: &CellSummary) -> Option<Rung> {
    Some(Rung {
        offered_per_s: cell.point.rate_per_s?,
        committed_per_s: cell.throughput_per_s,
        lag: cell.lag_state?,
    })
}

fn with_one(cell: &CellSummary, rung: Rung) -> Ladder {
    Ladder {
        label: cell.label.clone(),
        workload: cell.point.workload.label() + &called::ground(&cell.point),
        connections: cell.connections,
        client_site: cell.client_site.clone(),
        distances: cell.distances.clone(),
        disks: cell.disks.clone(),
        rungs: vec![rung],
        bounded_up_to_per_s: None,
        beyond_per_s: None,
        reach: Reach::NothingCounted,
        point: cell.point.clone(),
    }
}

impl Ladder {
    /// From the lowest rung up, past none at which lag is not bounded. What was not committed as
    /// offered is no rung.
    fn climb(&mut self) {
        self.rungs.sort_by_key(|rung| rung.offered_per_s);
        let counted = |rung: &&Rung| rung.lag != LagState::Overloaded;
        let counted: Vec<&Rung> = self.rungs.iter().filter(counted).collect();
        let is_bounded = |rung: &&&Rung| rung.lag == LagState::Bounded;
        let up_to = counted.iter().take_while(is_bounded).count();
        let rate = |rung: &&Rung| rung.offered_per_s;
        let (last, beyond) = (counted[..up_to].last(), counted.get(up_to));
        let reach = match (last, beyond) {
            (Some(_), None) => Reach::All,
            (Some(_), Some(_)) => Reach::Some,
            (None, Some(rung)) if rung.lag == LagState::Undecided => Reach::Undecided,
            (None, Some(_)) => Reach::None,
            (None, None) => Reach::NothingCounted,
        };
        let rates = (last.map(rate), beyond.map(rate));
        (self.bounded_up_to_per_s, self.beyond_per_s) = rates;
        self.reach = reach;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Point;
    use LagState::{Bounded, Grows, Overloaded, Undecided};

    /// A cell of the mode in that row of the study.
    fn rung(row: usize, offered_per_s: u32, lag: LagState) -> CellSummary {
        CellSummary {
            label: ["async", "semisync"][row].into(),
            lag_state: Some(lag),
            point: Point {
                row,
                rate_per_s: Some(offered_per_s),
                ..Point::default()
            },
            ..CellSummary::default()
        }
    }

    /// The cell at another point.
    fn moved(mut cell: CellSummary, to: impl Fn(&mut Point)) -> CellSummary {
        to(&mut cell.point);
        cell
    }

    /// The limits found with these states at 100/s, 200/s…
    fn climbed(states: &[LagState]) -> (Option<u32>, Option<u32>, Reach) {
        let cells = (1..).zip(states).map(|(i, lag)| rung(0, i * 100, *lag));
        let cells: Vec<CellSummary> = cells.collect();
        let found = ladders(&cells);
        assert_eq!(found.len(), 1, "{found:?}");
        let Ladder { reach, .. } = found[0];
        (found[0].bounded_up_to_per_s, found[0].beyond_per_s, reach)
    }

    #[test]
    fn the_highest_rate_is_the_last_below_the_first_that_is_too_much() {
        let expected = (Some(200), Some(300), Reach::Some);
        assert_eq!(climbed(&[Bounded, Bounded, Grows, Grows]), expected);
        // One good rung above a bad one is luck.
        assert_eq!(climbed(&[Bounded, Bounded, Grows, Bounded]), expected);
        assert_eq!(climbed(&[Bounded, Bounded, Undecided, Grows]), expected);
    }

    #[test]
    fn a_ladder_can_be_too_high_or_too_low() {
        assert_eq!(climbed(&[Bounded, Bounded]), (Some(200), None, Reach::All));
        assert_eq!(climbed(&[Grows, Grows]), (None, Some(100), Reach::None));
        assert_eq!(climbed(&[Undecided]), (None, Some(100), Reach::Undecided));
    }

    #[test]
    fn what_was_not_committed_is_no_rung() {
        assert_eq!(
            climbed(&[Bounded, Overloaded]),
            (Some(100), None, Reach::All)
        );
        assert_eq!(climbed(&[Overloaded]), (None, None, Reach::NothingCounted));
    }

    fn bounded(cells: &[CellSummary]) -> Vec<(String, Option<u32>)> {
        let found = ladders(cells).into_iter();
        found.map(|l| (l.label, l.bounded_up_to_per_s)).collect()
    }

    #[test]
    fn each_mode_has_its_own_and_closed_loops_have_none() {
        let cells = [
            rung(0, 300, Grows),
            rung(1, 100, Bounded),
            rung(0, 100, Bounded),
            moved(rung(0, 200, Grows), |point| point.rate_per_s = None),
            CellSummary {
                lag_state: None,
                ..rung(0, 250, Grows)
            },
        ];
        let expected = ["async", "semisync"].map(|label| (label.to_owned(), Some(100)));
        assert_eq!(bounded(&cells), expected);
        let first = &ladders(&cells)[0];
        assert_eq!(first.workload, "update_index");
        let rates: Vec<u32> = first.rungs.iter().map(|rung| rung.offered_per_s).collect();
        assert_eq!(rates, [100, 300]);
    }

    #[test]
    fn rungs_of_one_ladder_differ_in_nothing_but_the_rate() {
        use std::time::Duration;
        let changes: [fn(&mut Point); 4] = [
            |point| point.connections = 4,
            |point| point.client_site = "b".into(),
            |point| point.window = Duration::from_secs(60),
            |point| point.watch_after = Some(Duration::from_secs(60)),
        ];
        for change in changes {
            let cells = [rung(0, 100, Bounded), moved(rung(0, 200, Grows), change)];
            let expected = [Some(100), None].map(|limit| ("async".to_owned(), limit));
            assert_eq!(bounded(&cells), expected);
        }
        // What tables call a distance is no axis.
        let renamed = moved(rung(0, 200, Grows), |p| p.distances.label = "far".into());
        assert_eq!(ladders(&[rung(0, 100, Bounded), renamed]).len(), 1);
    }
}
