//! An order that is a part of a larger one, whose labs stand one after the other: what of the whole
//! it is. The record is of the whole.

use crate::plan::Cell;
use crate::record::store::Record;
use crate::record::{Header, Measurement};
use crate::study::Study;

/// What an order is a part of.
#[derive(Debug, Clone)]
pub struct Whole {
    pub study: Study,
    pub cells: Vec<Cell>,
    /// Of each mode of the order its index in the whole study.
    pub modes: Vec<usize>,
    /// Of each of its cells the index among all.
    pub places: Vec<usize>,
    /// Where the order is the first to go on with a run that was cut short: how many measurements
    /// and trials there were before.
    pub resumed: Option<(usize, usize)>,
    /// The run has gone through to its end with it.
    pub is_last: bool,
}

impl Whole {
    /// The head of a record of the whole.
    pub fn header(&self, own: Header) -> Header {
        Header {
            study: self.study.clone(),
            cells: self.cells.clone(),
            ..own
        }
    }

    /// What a record of the whole has of the order, by the order's own indices.
    pub fn own(&self, record: &Record) -> Record {
        let measurements = record.measurements.iter().filter_map(|measurement| {
            let cell = self.places.iter().position(|at| *at == measurement.cell)?;
            Some(Measurement {
                cell,
                ..measurement.clone()
            })
        });
        let modes = || self.modes.iter().enumerate();
        let campaigns =
            modes().filter_map(|(own, mode)| Some((own, record.campaigns.get(mode)?.clone())));
        Record {
            header: record.header.clone(),
            measurements: measurements.collect(),
            campaigns: campaigns.collect(),
            finished: record.finished,
        }
    }
}

/// How many trials a record has.
pub fn trials(record: &Record) -> usize {
    let campaigns = record.campaigns.values().flatten();
    campaigns.map(|packed| packed.light.trials.len()).sum()
}
