//! Histograms of a record as logs that HdrHistogram's own tools read: one for each cell, with an
//! interval for each measurement.

use std::time::{Duration, UNIX_EPOCH};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use super::file::File;
use crate::error::{Result, Tried};
use crate::plan::Cell;
use crate::record::store::Record;
use crate::record::{Header, Measurement, histogram};

/// The folder of them.
const FOLDER: &str = "histograms";
/// What is said in each, after the version of the form.
const UNIT: &str = "\
Latency in microseconds. Without a tag: whole transactions. Tags: service (from the first statement
sent), made-again (was disturbed, and left out), statement-KIND.";

/// Logs of all cells that were measured, and a table of what they are of.
///
/// # Errors
/// A breakdown if a histogram cannot be read: the record is damaged.
pub fn logs(record: &Record) -> Result<Vec<File>> {
    let cells = record.header.cells.iter().enumerate();
    let mut table = "cell,file,measurements,mode,id\r\n".to_owned();
    let mut files = Vec::new();
    for (index, cell) in cells {
        let all = record.measurements.iter();
        let own: Vec<&Measurement> = all.filter(|one| one.cell == index).collect();
        if own.is_empty() {
            continue;
        }
        let name = format!("cell-{index:04}.hlog");
        let mode = record.header.study.modes.get(cell.mode);
        let label = mode.map_or("", |spec| spec.label.as_str());
        let count = own.len();
        let [label, id] = [label, &cell.id].map(quoted);
        table += &format!("{index},{name},{count},{label},{id}\r\n");
        let bytes = log(&record.header, cell, &own)?;
        files.push(File::new(&format!("{FOLDER}/{name}"), bytes));
    }
    if !files.is_empty() {
        files.push(File::new(
            &format!("{FOLDER}/cells.csv"),
            table.into_bytes(),
        ));
    }
    Ok(files)
}

fn log(header: &Header, cell: &Cell, measurements: &[&Measurement]) -> Result<Vec<u8>> {
    let tried = || format!("write the histograms of cell {}", cell.id);
    let start = UNIX_EPOCH + Duration::from_millis(header.started_unix_ms);
    let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(&format!("{}: {}", header.study.name, cell.id))
        .add_comment(UNIT)
        .with_start_time(start)
        .with_base_time(start);
    let writer = builder.begin_log_with(&mut bytes, &mut serializer);
    let mut writer = writer.tried(tried)?;
    for one in measurements {
        writer.write_comment(&said(one)).tried(tried)?;
        let since = one.started_unix_ms.saturating_sub(header.started_unix_ms);
        let since = Duration::from_millis(since);
        let window = Duration::try_from_secs_f64(one.window_s).unwrap_or_default();
        for (tag, latency) in histograms(one)? {
            let tag = tag.as_deref().and_then(Tag::new);
            let written = writer.write_histogram(&latency, since, window, tag);
            written.tried(tried)?;
        }
    }
    Ok(bytes)
}

/// `round 2, turn 0: late-links`
fn said(one: &Measurement) -> String {
    let flags: Vec<&str> = one.flags.iter().map(|flag| flag.name()).collect();
    let (round, turn) = (one.round, one.turn);
    match flags.is_empty() {
        true => format!("round {round}, turn {turn}"),
        false => format!("round {round}, turn {turn}: {}", flags.join(", ")),
    }
}

type Tagged = (Option<String>, Histogram<u64>);

/// All of a measurement that have anything in them.
fn histograms(one: &Measurement) -> Result<Vec<Tagged>> {
    let tag = |name: &str| Some(name.to_owned());
    let mut all: Vec<Tagged> = vec![(None, histogram::at_least(one)?)];
    for voided in &one.voided {
        all.push((tag("made-again"), histogram::at_least(voided)?));
    }
    if let Some(service) = &one.service_us {
        all.push((tag("service"), histogram::decode(service)?));
    }
    for (kind, latency) in &one.statement_latency_us {
        let kind = format!("statement-{}", kind.replace([',', ' ', '\r', '\n'], "-"));
        all.push((Some(kind), histogram::decode(latency)?));
    }
    all.retain(|(_, latency)| !latency.is_empty());
    Ok(all)
}

/// A field of the table (RFC 4180).
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;
    use crate::record::Flag;
    use crate::study::{ModeSpec, Study};

    fn of(us: u64, count: u64) -> String {
        let mut latency = histogram::empty();
        latency.record_n(us, count).expect("a value");
        histogram::encode(&latency)
    }

    fn record() -> Record {
        let measured = |round, cell| Measurement {
            round,
            cell,
            started_unix_ms: 1_700_000_000_000 + u64::from(round) * 1_500,
            window_s: 2.0,
            latency_us: of(1_300, 99),
            statement_latency_us: [("index update".to_owned(), of(400, 50))].into(),
            flags: vec![Flag::LateLinks],
            ..Measurement::default()
        };
        let cell = |id: &str| Cell {
            id: id.to_owned(),
            ..Cell::default()
        };
        Record {
            header: Header {
                study: Study {
                    name: "small".into(),
                    modes: vec![ModeSpec {
                        label: "mysql, mine".into(),
                        ..ModeSpec::default()
                    }],
                    ..Study::default()
                },
                cells: ["one", "two", "none"].map(cell).into(),
                started_unix_ms: 1_700_000_000_000,
                ..Header::default()
            },
            measurements: vec![measured(1, 0), measured(1, 1), measured(2, 1)],
            campaigns: [].into(),
            finished: false,
        }
    }

    #[test]
    fn each_cell_has_a_log_that_is_read_back_and_a_row_in_the_table() {
        let files = logs(&record()).expect("logs");
        let names: Vec<&str> = files.iter().map(|file| &file.name[..]).collect();
        let folder = "histograms/";
        let expected = ["cell-0000.hlog", "cell-0001.hlog", "cells.csv"];
        assert_eq!(names, expected.map(|name| format!("{folder}{name}")));
        let table = String::from_utf8(files[2].bytes.clone()).expect("text");
        assert!(
            table.ends_with("1,cell-0001.hlog,2,\"mysql, mine\",two\r\n"),
            "{table}"
        );
        let text = String::from_utf8(files[1].bytes.clone()).expect("text");
        assert!(
            text.starts_with("#[Histogram log format version 1.3]\n"),
            "{text}"
        );
        assert!(text.contains("#round 2, turn 0: late-links\n"), "{text}");
        let entries = IntervalLogIterator::new(&files[1].bytes).map(|one| one.expect("a line"));
        let intervals = entries.filter_map(|entry| match entry {
            LogEntry::Interval(interval) => Some(interval),
            _ => None,
        });
        let told: Vec<(Option<String>, Duration, u64)> = intervals
            .map(|interval| {
                let packed = STANDARD
                    .decode(interval.encoded_histogram())
                    .expect("base64");
                let mut deserializer = Deserializer::new();
                let read = deserializer.deserialize(&mut packed.as_slice());
                let latency: Histogram<u64> = read.expect("a histogram");
                let tag = interval.tag().map(|tag| tag.as_str().to_owned());
                (tag, interval.start_timestamp(), latency.len())
            })
            .collect();
        let statement = || Some("statement-index-update".to_owned());
        let [first, second] = [1_500, 3_000].map(Duration::from_millis);
        assert_eq!(
            told,
            [
                (None, first, 99),
                (statement(), first, 50),
                (None, second, 99),
                (statement(), second, 50)
            ]
        );
    }

    #[test]
    fn without_a_measurement_there_is_no_log() {
        let mut record = record();
        record.measurements.clear();
        assert!(logs(&record).expect("none").is_empty());
        record.measurements = vec![Measurement {
            latency_us: "no histogram".to_owned(),
            ..Measurement::default()
        }];
        assert!(logs(&record).is_err());
    }
}
