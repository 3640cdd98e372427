//! What both records have: cells, rows of the anatomy, faults.

use std::collections::BTreeMap;
use std::time::Duration;

use super::judge::Both;
use super::measured::{Measured, measured};
use super::places::{COMPARED, NOT_ASKED, Pairs, Spot, pairs};
use super::quantity::Quantity;
use super::refusal::{Refusal, are_as_long, nearest};
use super::told::{Place, TrialsHeld};
use super::trials;
use crate::analysis::summary::Anatomy;
use crate::analysis::worth::{self, ModeWorth};
use crate::analysis::{anatomy, called, terms};
use crate::plan::{Axis, Cell, Point};
use crate::record::Header;
use crate::record::store::Record;
use crate::study::units;

/// Rows of the studies' modes, paired.
type PairOfRows = (usize, usize);

/// Cells of both.
pub struct Cells<'r> {
    records: [&'r Record; 2],
    /// Indices of the cells, and what they are.
    indices: [Vec<usize>; 2],
    spots: [Vec<Spot>; 2],
    pairs: Pairs,
    /// Those of the pairs whose windows are too different.
    other_windows: Vec<(usize, usize)>,
}

impl<'r> Cells<'r> {
    pub fn of(records: [&'r Record; 2]) -> Cells<'r> {
        let indices = records.map(|record| {
            let all = (0..).zip(&record.header.cells);
            let told = all.filter(|(_, cell)| cell.knee.is_none());
            told.map(|(index, _)| index).collect::<Vec<usize>>()
        });
        let spots = [0, 1].map(|which: usize| {
            let header = &records[which].header;
            let all = indices[which].iter();
            all.map(|index| spot(header, &header.cells[*index]))
                .collect::<Vec<Spot>>()
        });
        let mut pairs = pairs(&spots[0], &spots[1], &[]);
        let is_as_long = |pair: &(usize, usize)| are_as_long(windows(&spots, pair));
        let (both, other_windows): (Vec<_>, Vec<_>) = pairs.both.into_iter().partition(is_as_long);
        pairs.both = both;
        Cells {
            records,
            indices,
            spots,
            pairs,
            other_windows,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.both.is_empty()
    }

    /// Why there is none.
    pub fn refusal(&self) -> Refusal {
        match self.other_windows.first() {
            Some(pair) => Refusal::Windows(windows(&self.spots, pair)),
            None => {
                let besides = [&NOT_ASKED[..], &COMPARED[..]].concat();
                Refusal::NothingInCommon(nearest(&self.spots[0], &self.spots[1], &besides))
            }
        }
    }

    /// As they were measured.
    pub fn places(&self) -> Vec<Both> {
        let [of_a, of_b] = self.records;
        let both = |(a, b): &(usize, usize)| {
            let (a, b) = (self.indices[0][*a], self.indices[1][*b]);
            let (place, place_b) = (place(of_a, a), place(of_b, b));
            Both {
                label_b: (place.label != place_b.label).then_some(place_b.label),
                place,
                a: measured(of_a, a),
                b: measured(of_b, b),
            }
        };
        self.pairs.both.iter().map(both).collect()
    }

    /// Rows of modes that are compared.
    pub fn rows(&self) -> Vec<PairOfRows> {
        let row = |(a, b): &(usize, usize)| {
            let rows = [(0, *a), (1, *b)].map(|(which, at): (usize, usize)| {
                let index = self.indices[which][at];
                self.records[which].header.cells[index].mode
            });
            (rows[0], rows[1])
        };
        self.pairs.both.iter().map(row).collect()
    }

    /// What A alone has, and B.
    pub fn only(&self) -> [Vec<Place>; 2] {
        let only = [&self.pairs.only_a, &self.pairs.only_b];
        [0, 1].map(|which: usize| {
            let places = only[which].iter();
            let places = places.map(|at| place(self.records[which], self.indices[which][*at]));
            places.collect::<Vec<Place>>()
        })
    }

    /// What both have and nobody can compare.
    pub fn not_compared(&self) -> Vec<String> {
        let windows = self.other_windows.first().map(|pair| {
            let [a, b] = windows(&self.spots, pair).map(units::show);
            let cells = self.other_windows.len();
            format!("{cells} cells whose windows differ more than twofold: {a} in A, {b} in B")
        });
        let has_knee = |record: &&Record| {
            let mut cells = record.header.cells.iter();
            cells.any(|cell| cell.knee.is_some())
        };
        let knees = self.records.iter().all(has_knee).then(|| {
            "cells at a share of the knee, and the search for it: each run has its own rates there"
                .to_owned()
        });
        windows.into_iter().chain(knees).collect()
    }
}

fn windows(spots: &[Vec<Spot>; 2], (a, b): &(usize, usize)) -> [Duration; 2] {
    [&spots[0][*a], &spots[1][*b]].map(|spot| spot.point.window)
}

fn spot(header: &Header, cell: &Cell) -> Spot {
    Spot {
        point: Point::of(&header.study, cell),
        moved: cell.moved,
        flavour: terms::flavour_of(header, &header.study.modes[cell.mode]),
        fault: None,
        durability: None,
    }
}

fn place(record: &Record, index: usize) -> Place {
    let Header { study, cells, .. } = &record.header;
    let cell = &cells[index];
    let is_elsewhere = study.sites.first() != Some(&cell.client_site);
    let distances = Some(cell.distances.label.clone());
    Place {
        label: study.modes[cell.mode].label.clone(),
        workload: called::workload(&Point::of(study, cell)),
        connections: Some(cell.connections),
        distances: distances.filter(|label| !label.is_empty()),
        disks: cell.disks.as_ref().map(|disks| disks.label.clone()),
        client_site: is_elsewhere.then(|| cell.client_site.clone()),
        moved: cell.moved.map(|moved| moved.thing.word().to_owned()),
    }
}

/// Round trips of rows that have an anatomy in both.
pub fn round_trips(records: [&Record; 2]) -> Vec<Both> {
    let rows = records.map(|record| {
        let mut rows = anatomy::summarise(record);
        rows.retain(|row| !row.round_trips_by_round.is_empty());
        rows
    });
    let spots = [0, 1].map(|which: usize| {
        let header = &records[which].header;
        let spot = |row: &Anatomy| Spot {
            point: row.point.clone(),
            moved: None,
            flavour: terms::flavour_of(header, &header.study.modes[row.point.row]),
            fault: None,
            durability: None,
        };
        rows[which].iter().map(spot).collect::<Vec<Spot>>()
    });
    let pairs = pairs(&spots[0], &spots[1], &[Axis::Distances, Axis::Disks]);
    let both = |(a, b): &(usize, usize)| {
        let (a, b) = (&rows[0][*a], &rows[1][*b]);
        Both {
            place: Place {
                label: a.label.clone(),
                workload: a.workload.clone(),
                ..Place::default()
            },
            label_b: (a.label != b.label).then(|| b.label.clone()),
            a: trips(a),
            b: trips(b),
        }
    };
    pairs.both.iter().map(both).collect()
}

fn trips(row: &Anatomy) -> Measured {
    let by_round = row.round_trips_by_round.clone();
    Measured {
        rounds: by_round.len(),
        figures: BTreeMap::from([(Quantity::RoundTrips, by_round)]),
        flags: row.flags.clone(),
        ..Measured::default()
    }
}

/// Faults of both.
pub struct Faults {
    worths: [Vec<ModeWorth>; 2],
    pairs: Pairs,
}

impl Faults {
    pub fn of(records: [&Record; 2]) -> Faults {
        let worths = records.map(|record| {
            let mut all = worth::of_record(record, (&[], &[]));
            // A control tells of the check, and not of the servers.
            all.retain(|one| !one.is_control);
            all
        });
        let spots = [0, 1].map(|which: usize| {
            let all = worths[which].iter();
            let spots = all.map(|one| trials::spot(&records[which].header, one));
            spots.collect::<Vec<Spot>>()
        });
        Faults {
            pairs: pairs(&spots[0], &spots[1], &[]),
            worths,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.both.is_empty()
    }

    /// Not judged yet.
    pub fn held(&self) -> Vec<TrialsHeld> {
        let both = self.pairs.both.iter();
        let held = |(a, b): &(usize, usize)| trials::held(&self.worths[0][*a], &self.worths[1][*b]);
        both.map(held).collect()
    }

    pub fn rows(&self) -> Vec<PairOfRows> {
        let row = |(a, b): &(usize, usize)| (self.worths[0][*a].row, self.worths[1][*b].row);
        self.pairs.both.iter().map(row).collect()
    }

    /// What one record alone has tried.
    pub fn not_compared(&self) -> Vec<String> {
        let alone = [("A", 0, &self.pairs.only_a), ("B", 1, &self.pairs.only_b)];
        let told = |(name, which, only): (&str, usize, &Vec<usize>)| {
            let one = |at: &usize| {
                let one = &self.worths[which][*at];
                format!("{} ({})", one.label, one.worth.fault)
            };
            let named: Vec<String> = only.iter().map(one).collect();
            let named = named.join(", ");
            (!only.is_empty()).then(|| format!("faults that {name} alone has tried: {named}"))
        };
        alone.into_iter().filter_map(told).collect()
    }
}
