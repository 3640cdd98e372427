use super::*;
use crate::analysis::example::{Example, unequal};
use crate::analysis::summarise;
use crate::record::store::Record;
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
