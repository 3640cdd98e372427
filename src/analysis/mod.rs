//! From a record to what can be said of it. Pure: this room knows no servers and no files.
//! docs/method.md tells how each figure comes about and how far to trust it.

pub mod anatomy;
pub mod cells;
mod fit;
pub mod flags;
pub mod interval;
pub mod summary;
mod terms;

pub use summary::Summary;

use crate::record::LabFacts;
use crate::record::store::Record;
use summary::{LabSummary, Overridden};

/// All that can be said of a record, finished or not.
///
/// # Panics
/// If a latency histogram is damaged; `Record::open` refuses such records.
pub fn summarise(record: &Record) -> Summary {
    let header = &record.header;
    let study = &header.study;
    Summary {
        study: study.name.clone(),
        title: study.title.clone(),
        seed: study.seed,
        command_line: header.command_line.clone(),
        acklab_version: header.acklab_version.clone(),
        started_unix_ms: header.started_unix_ms,
        finished: record.finished,
        rounds_asked: study.rounds,
        measurements: record.measurements.len(),
        measurements_asked: header.cells.len() * study.rounds as usize,
        warmup_s: study.warmup.as_secs_f64(),
        measure_s: study.measure.as_secs_f64(),
        sites: study.sites.clone(),
        rtt_us_within_site: study.network.rtt_within_site.as_secs_f64() * 1e6,
        tls: study.tls,
        host: header.host.clone(),
        servers: header.servers.clone(),
        labs: header.labs.iter().map(lab).collect(),
        terms: terms::effective(&header.labs),
        remarks: header.remarks.clone(),
        cells: cells::summarise(record),
        anatomy: anatomy::summarise(record),
    }
}

fn lab(facts: &LabFacts) -> LabSummary {
    let overridden = |(name, given, used): &(String, String, String)| Overridden {
        name: name.clone(),
        given: given.clone(),
        used: used.clone(),
    };
    LabSummary {
        family: facts.family.clone(),
        ready_s: facts.ready_seconds,
        overridden: facts.overridden.iter().map(overridden).collect(),
    }
}

#[cfg(test)]
pub(crate) mod example;
#[cfg(test)]
mod tests;
