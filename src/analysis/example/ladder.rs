//! The example with three offered rates, of which a replica keeps up with two.

use super::Example;
use crate::record::Measurement;
use crate::record::counter;
use crate::record::store::Record;

/// What is offered each second, and the share of it that the slower replica applies at once.
const RUNGS: [(u32, f64); 3] = [(500, 1.0), (1_000, 0.99), (2_000, 0.7)];

/// The mode that climbs.
pub const CLIMBER: &str = "mysql async";

/// The example with one mode's cells as rungs at one distance.
pub fn laddered() -> Record {
    let mut record = Example::default().record();
    let modes = &record.header.study.modes;
    let mode = modes.iter().position(|spec| spec.label == CLIMBER);
    let mut cells = record.header.cells.iter_mut().enumerate();
    let nearest = cells.next().map(|(_, cell)| cell.distances.clone());
    let climbing = cells.filter(|(_, cell)| Some(cell.mode) == mode);
    for ((index, cell), (rate, share)) in climbing.zip(RUNGS) {
        (cell.rate_per_s, cell.distances) = (Some(rate), nearest.clone().expect("a cell"));
        let of_cell = record.measurements.iter_mut().filter(|m| m.cell == index);
        of_cell.for_each(|measurement| offer(measurement, rate, share));
    }
    record
}

fn offer(measurement: &mut Measurement, rate: u32, share: f64) {
    measurement.due = u64::from(rate) * 3;
    measurement.commits = measurement.due;
    let due = measurement.due as f64;
    let rows = |changed: f64| [(counter::ROWS_UPDATED.to_owned(), changed)].into();
    let nodes = [("a", due), ("b", due), ("c", due * share)];
    let changed = nodes.map(|(node, changed)| (node.to_owned(), rows(changed)));
    measurement.status = changed.into();
}
