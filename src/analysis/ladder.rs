//! A ladder: offered rates of cells that are otherwise alike, and up to which of them replicas
//! keep up.

use serde::{Deserialize, Serialize};

use super::applied::LagState;
use super::interval::Estimate;
use super::summary::CellSummary;

/// The rungs of one mode, and how far up its replicas keep up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    pub label: String,
    /// Without the rate.
    pub workload: String,
    pub connections: u32,
    pub client_site: String,
    pub distances: String,
    pub disks: Option<String>,
    /// Those measured, from the lowest rate on.
    pub rungs: Vec<Rung>,
    /// The highest offered rate at which lag stays bounded, as it does at all lower ones.
    pub bounded_up_to_per_s: Option<u32>,
    /// The rung above it, if that is counted.
    pub beyond_per_s: Option<u32>,
    pub reach: Reach,
}

/// One offered rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rung {
    pub offered_per_s: u32,
    pub committed_per_s: Option<Estimate>,
    pub lag: LagState,
}

/// How far up lag stays bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// At all rates that are counted: the limit lies higher.
    All,
    /// Up to one of them.
    Some,
    /// At none of those offered: the limit lies lower.
    None,
    /// The rounds of the lowest rate disagree.
    Undecided,
    /// Not even the lowest offered rate was committed.
    NothingCounted,
}

impl Reach {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Reach::All => "all",
            Reach::Some => "some",
            Reach::None => "none of those offered",
            Reach::Undecided => "undecided",
            Reach::NothingCounted => "none was committed",
        }
    }
}

/// The ladders of these cells, in their order. Cells without an offered rate, and those of which
/// lag says nothing, are on none.
pub fn ladders(cells: &[CellSummary]) -> Vec<Ladder> {
    let mut ladders: Vec<Ladder> = Vec::new();
    for cell in cells {
        let Some((foot, rung)) = foot_and_rung(cell) else {
            continue;
        };
        match ladders.iter_mut().find(|known| is_same_foot(known, &foot)) {
            Some(known) => known.rungs.push(rung),
            None => ladders.push(Ladder {
                rungs: vec![rung],
                ..foot
            }),
        }
    }
    ladders.iter_mut().for_each(Ladder::climb);
    ladders
}

/// A ladder without rungs, and the one that the cell is.
fn foot_and_rung(cell: &CellSummary) -> Option<(Ladder, Rung)> {
    let offered_per_s = cell.offered_per_s?;
    let rate = format!(" at {offered_per_s}/s");
    let workload = cell.workload.strip_suffix(&rate);
    let foot = Ladder {
        label: cell.label.clone(),
        workload: workload.unwrap_or(&cell.workload).to_owned(),
        connections: cell.connections,
        client_site: cell.client_site.clone(),
        distances: cell.distances.clone(),
        disks: cell.disks.clone(),
        rungs: vec![],
        bounded_up_to_per_s: None,
        beyond_per_s: None,
        reach: Reach::NothingCounted,
    };
    let rung = Rung {
        offered_per_s,
        committed_per_s: cell.throughput_per_s,
        lag: cell.lag_state?,
    };
    Some((foot, rung))
}

fn is_same_foot(one: &Ladder, other: &Ladder) -> bool {
    (&one.label, &one.workload, one.connections)
        == (&other.label, &other.workload, other.connections)
        && (&one.client_site, &one.distances, &one.disks)
            == (&other.client_site, &other.distances, &other.disks)
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
    use LagState::{Bounded, Grows, Overloaded, Undecided};

    fn rung(label: &str, offered_per_s: u32, lag: LagState) -> CellSummary {
        CellSummary {
            label: label.into(),
            workload: format!("update_index at {offered_per_s}/s"),
            offered_per_s: Some(offered_per_s),
            lag_state: Some(lag),
            ..CellSummary::default()
        }
    }

    /// The limits found with these states at 100/s, 200/s…
    fn climbed(states: &[LagState]) -> (Option<u32>, Option<u32>, Reach) {
        let cells = (1..)
            .zip(states)
            .map(|(i, lag)| rung("async", i * 100, *lag));
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

    #[test]
    fn each_mode_has_its_own_and_closed_loops_have_none() {
        let mut cells = vec![
            rung("async", 300, Grows),
            rung("semisync", 100, Bounded),
            rung("async", 100, Bounded),
        ];
        cells.push(CellSummary {
            offered_per_s: None,
            ..rung("async", 200, Grows)
        });
        cells.push(CellSummary {
            lag_state: None,
            ..rung("async", 250, Grows)
        });
        cells.push(CellSummary {
            connections: 4,
            ..rung("async", 200, Grows)
        });
        let found = ladders(&cells);
        let limits: Vec<_> = found
            .iter()
            .map(|l| (&l.label[..], l.bounded_up_to_per_s))
            .collect();
        let expected = [
            ("async", Some(100)),
            ("semisync", Some(100)),
            ("async", None),
        ];
        assert_eq!(limits, expected);
        assert_eq!(found[0].workload, "update_index");
        let rates: Vec<u32> = found[0]
            .rungs
            .iter()
            .map(|rung| rung.offered_per_s)
            .collect();
        assert_eq!(rates, [100, 300]);
    }
}
