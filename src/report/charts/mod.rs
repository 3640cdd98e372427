//! Charts of a record: bars of modes, lines over connections, distance and flush time, percentiles,
//! what a commit consists of, what holds modes back, who waited for a CPU, timelines, lag and flow
//! control, trials with their faults, cost against worth. Each has its figures beside it.

mod anatomy;
mod bars;
mod behind;
mod chart;
mod contention;
mod limits;
mod lines;
mod percentiles;
mod timeline;
mod trials;

pub use chart::{Chart, Subject};

use std::collections::BTreeMap;

use crate::analysis::Summary;
use crate::record::store::Record;

/// Everything of a record that can be drawn, in the order of its report.
pub fn charts(record: &Record, summary: &Summary) -> Vec<Chart> {
    let mut all = bars::charts(summary);
    all.extend(lines::charts(summary));
    all.extend(anatomy::charts(summary));
    all.extend(limits::charts(summary));
    all.extend(contention::charts(summary));
    all.extend(percentiles::charts(record, summary));
    all.extend(timeline::charts(record, summary));
    all.extend(behind::charts(record, summary));
    all.extend(trials::courses(summary));
    all.extend(trials::cost_and_worth(summary));
    number_twins(&mut all);
    all
}

/// Points that differ in what no name holds get numbers.
fn number_twins(charts: &mut [Chart]) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for chart in charts {
        let count = seen.entry(chart.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            chart.name = format!("{}-{count}", chart.name);
        }
    }
}

#[cfg(test)]
mod tests;
