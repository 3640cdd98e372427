//! A cell's measurements round by round: figures of each, over all of them, and held against those
//! of the baseline in the same rounds.

use std::collections::{BTreeMap, BTreeSet};

use super::interval::{Noise, Risk, estimate, median};
use super::summary::{ByRole, Estimate, Per};
use super::{disks, terms, timeline};
use crate::plan::{Cell, Point};
use crate::record::store::Record;
use crate::record::{DiskUse, Header, Measurement};
use crate::study::Study;

/// A cell's measurements, with what is needed to read them.
pub struct Rounds<'a> {
    pub per: Per,
    pub warmup_s: f64,
    /// Whether the cell was to be long enough to be looked at second by second.
    is_long: bool,
    /// All, and those that are not void.
    pub all: Vec<&'a Measurement>,
    pub sound: Vec<&'a Measurement>,
}

/// A figure of one measurement, which counts commits or transactions.
pub type Figure = fn(&Measurement, Per) -> Option<f64>;
/// What a figure is over another.
pub type Held = fn(f64, f64) -> Option<f64>;

/// A round's figure held against the baseline's in the same round, where both are sound.
pub fn paired(
    record: &Record,
    index: usize,
    own: &BTreeMap<u32, f64>,
    (figure, held): (Figure, Held),
) -> BTreeMap<u32, f64> {
    let Some(base) = Rounds::of_baseline(record, index) else {
        return BTreeMap::new();
    };
    let base_by_round = base.by_round(|m| figure(m, base.per));
    let of_round = |(round, own): (&u32, &f64)| {
        let base = base_by_round.get(round)?;
        Some((*round, held(*own, *base)?))
    };
    own.iter().filter_map(of_round).collect()
}

/// The cell of the baseline under the same load.
pub fn baseline_of(study: &Study, cells: &[Cell], index: usize) -> Option<usize> {
    let cell = &cells[index];
    let label = study.modes[cell.mode].baseline.as_ref()?;
    let row = study.modes.iter().position(|spec| spec.label == *label)?;
    let point = Point::of(study, cell);
    let is_like = |other: &Cell| (other.mode, other.moved) == (row, cell.moved);
    let is_it = |other: &Cell| is_like(other) && Point::of(study, other).load() == point.load();
    cells.iter().position(is_it)
}

impl<'a> Rounds<'a> {
    pub fn of(record: &'a Record, index: usize) -> Self {
        let of_cell = record.measurements.iter().filter(|m| m.cell == index);
        let all: Vec<&Measurement> = of_cell.collect();
        let sound = all.iter().copied().filter(|m| !m.is_void()).collect();
        let cell = &record.header.cells[index];
        let per = terms::per(&cell.workload);
        Rounds {
            per,
            warmup_s: record.header.study.warmup.as_secs_f64(),
            is_long: cell.window(&record.header.study) >= timeline::LONG,
            all,
            sound,
        }
    }

    /// Of the cell that this one is held against.
    pub fn of_baseline(record: &'a Record, index: usize) -> Option<Self> {
        let Header { study, cells, .. } = &record.header;
        let base = baseline_of(study, cells, index)?;
        Some(Rounds::of(record, base))
    }

    pub fn steady(&self, measurement: &Measurement) -> Vec<(u32, f64)> {
        match self.is_long {
            true => timeline::steady(measurement, self.warmup_s, self.per),
            // Looking for lag can draw out a short cell's load: that is no measured window.
            false => vec![],
        }
    }

    pub fn all_steady(&self) -> Vec<Vec<(u32, f64)>> {
        self.sound.iter().map(|m| self.steady(m)).collect()
    }

    /// The median rate, where it was chosen while the study ran.
    pub fn offered_per_s(&self) -> Option<u32> {
        let rate = self.median_of(|m| m.offered_per_s.map(f64::from));
        rate.map(|rate| rate.round() as u32)
    }

    fn values(&self, figure: impl Fn(&Measurement) -> Option<f64>) -> Vec<f64> {
        self.sound.iter().filter_map(|m| figure(m)).collect()
    }

    /// The mean of a round in which the cell was measured several times, if each time tells it.
    pub fn by_round(&self, figure: impl Fn(&Measurement) -> Option<f64>) -> BTreeMap<u32, f64> {
        let mut values: BTreeMap<u32, Vec<Option<f64>>> = BTreeMap::new();
        for measurement in &self.sound {
            let of_round = values.entry(measurement.round).or_default();
            of_round.push(figure(measurement));
        }
        let mean = |all: Vec<Option<f64>>| {
            let all: Vec<f64> = all.into_iter().collect::<Option<_>>()?;
            Some(all.iter().sum::<f64>() / all.len() as f64)
        };
        let rounds = values.into_iter();
        rounds
            .filter_map(|(round, all)| Some((round, mean(all)?)))
            .collect()
    }

    /// How many rounds have a measurement that is not void,
    pub fn count(&self) -> u32 {
        numbers(&self.sound)
    }

    /// and in how many of these another cell has one too.
    pub fn count_with(&self, other: &Rounds<'_>) -> u32 {
        let theirs: BTreeSet<u32> = other.sound.iter().map(|m| m.round).collect();
        let ours = self.sound.iter().copied();
        let both: Vec<&Measurement> = ours.filter(|m| theirs.contains(&m.round)).collect();
        numbers(&both)
    }

    pub fn median_of(&self, figure: impl Fn(&Measurement) -> Option<f64>) -> Option<f64> {
        median(&self.values(figure))
    }

    pub fn of_disks(&self, figure: fn(&DiskUse) -> f64) -> ByRole {
        disks::per_commit(&self.sound, self.per, figure)
    }
}

/// A figure over so many rounds; without an interval where some of these lack it: a percentile that
/// too much had not ended to tell, or a replica that was not waited for. Such are slow ones, of
/// which those that are left say nothing.
pub fn over_rounds(
    by_round: &BTreeMap<u32, f64>,
    rounds: u32,
    noise: Noise,
    risk: Risk,
) -> Option<Estimate> {
    let values: Vec<f64> = by_round.values().copied().collect();
    let all = estimate(&values, noise, risk)?;
    Some(match values.len() < rounds as usize {
        true => Estimate::without_interval(all.median),
        false => all,
    })
}

/// How many rounds these are of.
pub fn numbers(measurements: &[&Measurement]) -> u32 {
    let rounds: BTreeSet<u32> = measurements.iter().map(|m| m.round).collect();
    rounds.len() as u32
}
