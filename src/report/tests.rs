use super::*;
use crate::analysis::example::{Example, unequal};
use crate::analysis::summarise;
use crate::record::store::{Record, Store};
use crate::record::{Flag, Iteration};

fn example() -> Summary {
    summarise(&Example::default().record())
}

fn check_width(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= page::WIDTH, "too wide: {line}");
    }
}

/// Two of four rounds and a bit, with every kind of doubt, one void and one missing cell.
fn partial_record() -> Record {
    let mut record = Example::default().record();
    record.finished = false;
    record.measurements.truncate(18 + 4);
    for measurement in &mut record.measurements {
        match (measurement.cell, measurement.round) {
            (3, 0) => {
                measurement.host_busy = 0.99;
                measurement.errors = [(1213, 12), (0, 1)].into();
            }
            (2, _) => measurement.flags.push(Flag::Downgraded),
            (5, _) => measurement.flags.push(Flag::LateLinks),
            (9, _) => measurement.rtts[0].rtt_us_after += 900.0,
            (8, _) => measurement.commits = 0,
            _ => {}
        }
        let wait = ("waiting for acknowledgement".to_owned(), 2_010.0);
        if measurement.cell == 2 {
            measurement.commit_time_us = [("flush".to_owned(), 310.0), wait].into();
            let counters = [("Rpl_semi_sync_source_no_tx".to_owned(), 4.0)];
            measurement.status = [("a".to_owned(), counters.into())].into();
        }
    }
    record.header.labs[0]
        .overridden
        .push(("server_id".into(), "7".into(), "1".into()));
    record
}

#[test]
fn text_of_a_whole_run() {
    let text = render(&example(), Format::Text);
    check_width(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn markdown_of_a_whole_run() {
    insta::assert_snapshot!(render(&example(), Format::Markdown));
}

#[test]
fn csv_of_a_whole_run() {
    let text = render(&example(), Format::Csv);
    let rows: Vec<&str> = text.split("\r\n").collect();
    assert_eq!(rows.len(), 1 + 18 + 1);
    insta::assert_snapshot!(text.replace("\r\n", "\n"));
}

#[test]
fn json_of_a_whole_run() {
    let mut summary = example();
    // One cell of each kind and one anatomy say all about the form.
    summary.cells = [summary.cells[0].clone(), summary.cells[2].clone()].to_vec();
    summary.anatomy.truncate(1);
    insta::assert_snapshot!(render(&summary, Format::Json));
}

#[test]
fn text_of_a_partial_run_with_every_doubt() {
    let text = render(&summarise(&partial_record()), Format::Text);
    check_width(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn text_of_a_record_with_nothing_in_it() {
    let mut record = partial_record();
    record.measurements.clear();
    insta::assert_snapshot!(render(&summarise(&record), Format::Text));
}

#[test]
fn text_of_unequal_distances() {
    let mut example = Example::default();
    example
        .distances
        .extend([unequal(0.25, 8.0), unequal(8.0, 0.25)]);
    let text = render(&summarise(&example.record()), Format::Text);
    check_width(&text);
    let from =
        text.find("update_index, 1 connection, client beside the writer (250 µs), sites apart");
    insta::assert_snapshot!(&text[from.unwrap()..]);
}

#[test]
fn text_of_mysqlslap_and_of_four_connections() {
    let example = Example {
        connections: vec![4],
        distances: vec![crate::analysis::example::equal(0.25)],
        ..Example::default()
    };
    let mut record = example.record();
    for measurement in &mut record.measurements {
        let iteration = Iteration {
            seconds: 1.5,
            connect_seconds: 0.03,
            queries: 1000,
        };
        measurement.iterations = vec![iteration; 3];
    }
    let text = render(&summarise(&record), Format::Text);
    check_width(&text);
    let from = text.find("update_index, 4").unwrap();
    let to = text.find("How to read").unwrap();
    insta::assert_snapshot!(&text[from..to]);
}

#[test]
fn long_labels_still_fit() {
    let mut example = Example::default();
    for truth in &mut example.truths {
        truth.spec.label += " with a consistency of AFTER and two of two";
        truth.spec.baseline = None;
    }
    check_width(&render(&summarise(&example.record()), Format::Text));
}

#[test]
fn formats_have_names() {
    assert_eq!(Format::named("csv"), Some(Format::Csv));
    assert_eq!(Format::named("html"), None);
}

/// The example's record as a file.
fn stored(folder: &std::path::Path) -> std::path::PathBuf {
    let path = folder.join("example.acklab");
    let record = partial_record();
    let mut store = Store::create(&path, &record.header).unwrap();
    for measurement in &record.measurements {
        store.append(measurement).unwrap();
    }
    path
}

#[test]
fn a_stored_record_prints_the_same_again() {
    let folder = tempfile::tempdir().unwrap();
    let again = Record::open(&stored(folder.path())).unwrap();
    for (_, format) in Format::ALL {
        let one = render(&summarise(&partial_record()), format);
        assert_eq!(one, render(&summarise(&again), format));
    }
}

const RECORD_DOC: &str = include_str!("../../docs/record.md");

#[test]
fn the_queries_of_the_documentation_answer() {
    let folder = tempfile::tempdir().unwrap();
    let connection = rusqlite::Connection::open(stored(folder.path())).unwrap();
    let blocks = RECORD_DOC.split("```sql").skip(1);
    let queries: Vec<&str> = blocks
        .map(|block| block.split("```").next().unwrap())
        .collect();
    assert!(queries.len() >= 5);
    for query in queries {
        let mut statement = connection.prepare(query).unwrap();
        let rows = statement
            .query_map([], |_| Ok(()))
            .unwrap()
            .map(Result::unwrap)
            .count();
        assert!(rows > 0, "no rows: {query}");
    }
}

fn keys(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        serde_json::Value::Object(object) => {
            for (key, inner) in object {
                found.insert(key.clone());
                // The keys of these are names: of settings, variables, nodes, codes, sites.
                let are_names = ["settings", "terms", "errors", "cpu_us_per_s_idle"];
                let are_names_too = ["commit_time_us", "server_counters", "per_peer"];
                if are_names
                    .iter()
                    .chain(&are_names_too)
                    .all(|name| name != key)
                {
                    keys(inner, found);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn every_key_of_the_json_is_documented() {
    let json = serde_json::to_value(summarise(&partial_record())).unwrap();
    let mut found = std::collections::BTreeSet::new();
    keys(&json, &mut found);
    assert!(found.len() > 60);
    for key in found {
        assert!(
            RECORD_DOC.contains(&format!("`{key}`")),
            "not in docs/record.md: {key}"
        );
    }
}
