//! From a record to what can be said of it. Pure: this room knows no servers and no files.
//! docs/method/ tells how each figure comes about and how far to trust it.

mod activity;
mod against;
pub mod anatomy;
pub mod applied;
pub mod beside;
pub mod called;
pub mod cells;
pub mod claims;
mod contention;
pub mod diff;
mod disks;
pub mod effects;
mod endpoints;
pub mod fit;
pub mod flags;
pub mod held_back;
pub mod interval;
mod knee;
pub mod ladder;
mod lags;
pub mod latency;
mod limits;
mod machines;
mod queueing;
mod rates;
mod rounds;
pub mod sequential;
mod speeds;
pub mod summary;
mod terms;
pub mod timeline;
mod void;
pub mod worth;

pub use against::modes as modes_against;
pub use summary::Summary;
pub use terms::mode_settings;

use std::collections::BTreeMap;

use crate::plan::{Cell, own_numbers};
use crate::record::store::Record;
use crate::record::{Header, LabFacts, Measurement, Resumed};
use crate::study::articles;
use summary::{CellSummary, LabSummary, Overridden};

/// Servers of one mode that take more without load are remarked on: idle ones take a tenth of it.
const IDLE_CPUS_MAX: f64 = 0.2;

/// All that can be said of a record, finished or not.
///
/// # Panics
/// If a latency histogram is damaged; `Record::open` refuses such records.
pub fn summarise(record: &Record) -> Summary {
    let header = &record.header;
    let study = &header.study;
    let mut cells = cells::summarise(record);
    queueing::judge(&mut cells);
    let ladders = ladder::ladders(&cells);
    let anatomy = anatomy::summarise(record);
    let worth = worth::of_record(record, (&cells, &anatomy));
    let against = against::of(study, &cells, &anatomy);
    let effects = effects::summarise(record);
    let material = claims::Material {
        cells: &cells,
        worth: &worth,
        effects: &effects,
        risk: interval::Risk::of(study),
        bounds_sha256: header.bounds_sha256.as_deref(),
        is_quick: study.is_quick,
    };
    // There may be no such article any more: the record may be older.
    let asked = study.article.as_deref().and_then(articles::article);
    let judged = asked.map(|article| claims::judge(&article, &material));
    let (article, claims) = judged.unzip();
    Summary {
        study: study.name.clone(),
        title: study.title.clone(),
        seed: study.seed,
        command_line: header.command_line.clone(),
        acklab_version: header.acklab_version.clone(),
        started_unix_ms: header.started_unix_ms,
        finished: record.finished,
        rounds_asked: study.rounds,
        rounds_measured: (record.measurements.iter())
            .map(|measurement| measurement.round)
            .max()
            .unwrap_or(0),
        part: header.part,
        until: study.until,
        self_test: header.self_test.clone(),
        resumed: header.resumed.iter().map(without_labs).collect(),
        budget_s: study.budget.map(|budget| budget.as_secs_f64()),
        measurements: record.measurements.len(),
        measurements_asked: measurements_asked(record),
        measurements_made_again: record.measurements.iter().map(|m| m.made_again).sum(),
        warmup_s: study.warmup.as_secs_f64(),
        measure_s: study.measure.as_secs_f64(),
        sites: study.sites.clone(),
        rtt_us_within_site: study.network.rtt_within_site.as_secs_f64() * 1e6,
        tls: study.tls,
        is_quick: study.is_quick,
        host: header.host.clone(),
        servers: header.servers.clone(),
        labs: header.labs.iter().map(lab).collect(),
        terms: terms::effective(&header.labs, &study.modes),
        remarks: (header.remarks.iter().cloned())
            .chain(busy_while_idle(&cells))
            .collect(),
        endpoints: header.endpoints.clone(),
        against,
        limits: limits::of(&cells, interval::Risk::of(study)),
        machines: machines::summarise(record, &cells, &anatomy),
        cells,
        anatomy,
        beside: None,
        effects,
        ladders,
        knees: knee::knees(record),
        worth,
        article,
        claims: claims.unwrap_or_default(),
    }
}

/// How many a finished run has, of a part its own; of a search for a knee, and below it, those that
/// were made.
fn measurements_asked(record: &Record) -> usize {
    let Header { study, cells, .. } = &record.header;
    let known = cells.iter().filter(|cell| cell.knee.is_none());
    let own = |cell: &Cell| own_numbers(record.header.part, cell.rounds(study)).count();
    let known: usize = known.map(own).sum();
    let is_open = |m: &&Measurement| cells[m.cell].knee.is_some();
    known + record.measurements.iter().filter(is_open).count()
}

/// Servers of a lab that take CPUs without load take them from all that is measured beside them.
fn busy_while_idle(cells: &[CellSummary]) -> Option<String> {
    let mut busy: BTreeMap<&str, f64> = BTreeMap::new();
    for cell in cells {
        let cpus = cell.cpu_us_per_s_idle.values().sum::<f64>() / 1e6;
        let most = busy.entry(&cell.label).or_default();
        *most = most.max(cpus);
    }
    busy.retain(|_, cpus| *cpus > IDLE_CPUS_MAX);
    let each = busy
        .iter()
        .map(|(label, cpus)| format!("{label} {cpus:.2}"));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| {
        format!(
            "CPUs that servers took without load, as their mode was entered: {}. What is measured \
             then, beside them or on them, lacks these.",
            each.join(", ")
        )
    })
}

/// Servers' variables are the record's to tell: there are hundreds.
fn without_labs(resumed: &Resumed) -> Resumed {
    Resumed {
        labs: vec![],
        ..resumed.clone()
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
        modes: facts.modes.clone(),
        ready_s: facts.ready_seconds,
        overridden: facts.overridden.iter().map(overridden).collect(),
    }
}

#[cfg(test)]
pub(crate) mod example;
#[cfg(test)]
mod tests;
