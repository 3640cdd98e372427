use super::*;
use crate::analysis::beside::put_beside;
use crate::analysis::example::{Example, kept, limited, screened, unequal};
use crate::analysis::summarise;
use crate::record::store::{Record, Store};
use crate::record::{AppliedAlone, Flag, SpeedGot, counter};
use crate::study::{Apply, CpuSpeed, Mode, SysbenchLoad, Workload};

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
                let deadlock = "Deadlock found when trying to get lock; try restarting transaction";
                measurement.errors = [(0, 1)].into();
                let errors = &mut measurement.errors;
                errors.add(1213, "40001", 12, || deadlock.to_owned());
            }
            (2, _) => measurement.flags.push(Flag::Downgraded),
            (5, _) => {
                measurement.flags.push(Flag::LateLinks);
                measurement.made_again = 2;
            }
            (9, _) => measurement.rtts[0].rtt_us_after += 900.0,
            (8, _) => measurement.commits = 0,
            _ => {}
        }
        let wait = ("waiting for acknowledgement".to_owned(), 2_010.0);
        if measurement.cell == 2 {
            measurement.commit_time_us = [("flush".to_owned(), 310.0), wait].into();
            let counters = [(counter::SEMISYNC_UNACKNOWLEDGED.to_owned(), 4.0)];
            measurement.status = [("a".to_owned(), counters.into())].into();
        }
    }
    record.header.labs[0]
        .overridden
        .push(("server_id".into(), "7".into(), "1".into()));
    record
}

#[test]
fn texts_fit_and_lines_of_csv_end_as_rfc_4180_has_it() {
    for record in [
        Example::default().record(),
        record_on_disks(),
        kept("group-commit"),
    ] {
        check_width(&render(&summarise(&record), Format::Text));
    }
    let csv = render(&example(), Format::Csv);
    assert_eq!(csv.matches("\r\n").count(), 1 + 18);
    assert_eq!(csv.matches('\n').count(), 1 + 18);
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
fn workloads_of_one_name_that_differ_have_tables_of_their_own() {
    let mut summary = example();
    let tables = |summary: &Summary, heading: &str| {
        let text = render(summary, Format::Text);
        text.matches(heading).count()
    };
    assert_eq!(tables(&summary, "\nupdate_index, 1 connection"), 3);
    let mut twins = summary.cells.clone();
    for cell in &mut twins {
        cell.point.workload = Workload::Sysbench {
            load: SysbenchLoad::UpdateIndex,
            tables: 2,
            table_size: 10_000,
            prepared: true,
        };
    }
    summary.cells.extend(twins);
    assert_eq!(tables(&summary, "\nupdate_index, 1 connection"), 3);
    let long = "\nupdate_index, 2 × 10000 rows, 1 connection";
    assert_eq!(tables(&summary, long), 3);
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

/// On disks, with every kind of doubt about them.
fn record_on_disks() -> Record {
    let mut record = Example::anatomy().record();
    for measurement in &mut record.measurements {
        if (measurement.cell, measurement.round) == (6, 1) {
            measurement.degraded = vec![crate::record::Degraded {
                from_ms: 100,
                to_ms: Some(1_300),
            }];
        }
        if measurement.cell == 3 {
            measurement.disks_got[0].flush_us_after += 200.0;
        }
    }
    record
}

#[test]
fn text_of_an_anatomy_beside_another() {
    let mut summary = summarise(&Example::anatomy().record());
    let mut others = summary.anatomy.clone();
    others.pop();
    put_beside(&mut summary.anatomy, &others);
    summary.beside = Some("other.acklab".into());
    let text = render(&summary, Format::Text);
    check_width(&text);
    let from = text.find("The same beside").unwrap();
    let end = text.find("How to read").unwrap();
    insta::assert_snapshot!(&text[from..end]);
}

#[test]
fn markdown_of_an_anatomy_with_one_slow_site() {
    use crate::analysis::example::{equal, slow_at};
    let mut example = Example::anatomy();
    example.on_disks.push((equal(0.25), slow_at("b", 4.0)));
    let text = render(&summarise(&example.record()), Format::Markdown);
    let anatomy = text.find("## Anatomy of a commit").unwrap();
    let end = text.find("## How to read").unwrap();
    insta::assert_snapshot!(&text[anatomy..end]);
}

#[test]
fn text_of_published_figures_that_nobody_can_judge() {
    let mut record = kept("group-commit");
    record.header.study.article = Some("clouds-2015".into());
    let text = render(&summarise(&record), Format::Text);
    check_width(&text);
    let from = text.find("commits/s against connections").unwrap();
    let text = &text[from..text.find("How to read").unwrap()];
    insta::assert_snapshot!(&text[text.find("The article").unwrap()..]);
}

/// Rates that replicas cannot follow, a price, dips, and a window of its own.
#[test]
fn text_of_what_only_some_cells_have() {
    let mut example = Example {
        distances: vec![crate::analysis::example::equal(0.25)],
        ..Example::default()
    };
    example.truths.truncate(2);
    example.truths[1].spec.price_usd_per_hour = Some(0.24);
    let mut record = example.record();
    record.header.study.is_quick = true;
    let window = Some(std::time::Duration::from_secs(60));
    record
        .header
        .cells
        .iter_mut()
        .for_each(|cell| cell.measure = window);
    for measurement in &mut record.measurements {
        let second = |second: u32| crate::record::Second {
            second,
            commits: if second % 20 < 2 {
                100
            } else {
                750 + u64::from(second % 3)
            },
            ..crate::record::Second::default()
        };
        measurement.timeline = (0..64).map(second).collect();
        for lag in &mut measurement.lag {
            lag.catch_up_ms = Some(16_000.0);
        }
    }
    let text = render(&summarise(&record), Format::Text);
    check_width(&text);
    insta::assert_snapshot!(text);
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

/// What the variables of a design do, from its heading on.
fn of_the_screen(text: &str) -> &str {
    let from = text.find("Effects on").unwrap();
    &text[from..text.find("Again:").unwrap()]
}

#[test]
fn text_of_a_screening_design() {
    let text = render(&summarise(&screened(16)), Format::Text);
    check_width(&text);
    insta::assert_snapshot!(of_the_screen(&text));
}

#[test]
fn text_of_a_screening_design_with_aliases() {
    let text = render(&summarise(&screened(8)), Format::Text);
    check_width(&text);
    insta::assert_snapshot!(of_the_screen(&text));
}

#[test]
fn text_of_one_round_of_a_screening_design() {
    let mut record = screened(16);
    record
        .measurements
        .retain(|measurement| measurement.round == 0);
    let text = render(&summarise(&record), Format::Text);
    assert!(text.contains("no interval with one round"), "{text}");
    assert!(!text.contains("does not add up"), "{text}");
    record.measurements.pop();
    let text = render(&summarise(&record), Format::Text);
    assert!(!text.contains("Effects on"), "{text}");
}

/// The example's record as a file.
fn stored(folder: &std::path::Path, record: &Record) -> std::path::PathBuf {
    let path = folder.join("example.acklab");
    let mut store = Store::create(&path, &record.header).unwrap();
    for measurement in &record.measurements {
        store.append(measurement).unwrap();
    }
    path
}

const RECORD_DOC: &str = include_str!("../../docs/record.md");

#[test]
fn the_queries_of_the_documentation_answer() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = record_on_disks();
    record.measurements[9].rtts[0].rtt_us_after += 900.0;
    record.measurements[3].errors = [(1213, 12)].into();
    record.measurements[4].voided = vec![record.measurements[4].clone()];
    let path = stored(folder.path(), &record);
    let connection = rusqlite::Connection::open(path).unwrap();
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
                // A round's number, in `by_round`.
                if key.parse::<u32>().is_err() {
                    found.insert(key.clone());
                }
                // The keys of these are names: of settings, variables, nodes, sites.
                let are_names = [
                    "settings",
                    "terms",
                    "cpu_us_per_s_idle",
                    "commit_time_us",
                    "server_counters",
                    "per_peer",
                    "flushes_by_site",
                    "losses",
                ];
                if !are_names.contains(&&key[..]) {
                    keys(inner, found);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn every_key_of_the_json_is_documented() {
    let mut found = std::collections::BTreeSet::new();
    let mut with_figures = kept("group-commit");
    with_figures.header.study.article = Some("clouds-2015".into());
    for record in [
        partial_record(),
        record_on_disks(),
        kept("group-commit"),
        with_figures,
        screened(8),
        limited(),
        kept("group-replication-2017"),
        crate::analysis::worth::example(),
    ] {
        let json = serde_json::to_value(summarise(&record)).unwrap();
        keys(&json, &mut found);
    }
    assert!(found.len() > 60);
    for key in found {
        assert!(
            RECORD_DOC.contains(&format!("`{key}`")),
            "not in docs/record.md: {key}"
        );
    }
}

#[test]
fn idle_servers_are_told_one_by_one_where_they_were_watched_for_long() {
    let mut record = Example::default().record();
    for measurement in &mut record.measurements {
        measurement.cpu.idle_watched_s = Some(3.0);
        let idle = [("a", 2_000.0), ("b", 900.0)];
        measurement.cpu.idle_us_per_s = idle.map(|(node, us)| (node.to_owned(), us)).into();
    }
    let text = render(&summarise(&record), Format::Text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(
        text.contains(", mariadb galera: a 2.00 ms, b 900 µs"),
        "{text}"
    );
    assert!(
        text.contains("CPU per second while idle: mysql single, "),
        "{text}"
    );
    assert!(!text.contains("of all servers while idle"));
}

#[test]
fn a_pace_is_told_and_so_is_one_in_vain() {
    let mut record = Example::default().record();
    let csv = |record: &Record| render(&summarise(record), Format::Csv);
    assert!(!csv(&record).contains("pace_us"));
    for cell in &mut record.header.cells {
        cell.pace = Some(std::time::Duration::from_millis(20));
    }
    for measurement in &mut record.measurements {
        measurement.host_busy = 0.9;
        (measurement.cpu.links_spin_us, measurement.host_stolen) = (Some(0.0), 0.0);
        measurement
            .lag
            .iter_mut()
            .for_each(|lag| lag.lag_ms = vec![21.0; 20]);
    }
    let summary = summarise(&record);
    let text = render(&summary, Format::Text);
    check_width(&text);
    for words in [
        "update_index paced 20 ms",
        "(each begins 20 ms after the last one's end)",
        "not-idle ",
        "not-applied ",
        "! not-idle: paced, but the host was busy",
        "! not-applied: paced, but fewer than 95 %",
    ] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "no {words} in {text}");
    }
    let titles = csv(&record);
    assert!(titles.lines().next().unwrap().contains(",pace_us,"));
    assert!(titles.lines().nth(1).unwrap().contains(",20000,"));
    let json = render(&summary, Format::Json);
    assert!(json.contains("\"pace_us\": 20000.0"), "{json}");
    assert!(RECORD_DOC.contains("`pace_us`"));
}

#[test]
fn what_replicas_apply_alone_is_told_where_they_rested_and_only_there() {
    let plain = render(&example(), Format::Csv);
    assert!(!plain.contains("applied_alone"), "{plain}");
    let mut record = Example::default().record();
    for cell in &mut record.header.cells {
        cell.apply = Apply::After;
    }
    for measurement in &mut record.measurements {
        measurement.lag.clear();
        measurement.applied_alone = vec![AppliedAlone {
            node: "b".into(),
            waiting: 9_000,
            commits: 1_000,
            span_s: 2.0,
            cpu_us: 300_000.0,
        }];
    }
    let summary = summarise(&record);
    let of_first = (
        summary.cells[0].applied_alone_per_s.map(|of| of.median),
        summary.cells[0].applied_alone_cpu_us,
    );
    assert!((of_first.0.unwrap() - 500.0).abs() < 1e-9, "{of_first:?}");
    assert_eq!(of_first.1, Some(300.0));
    let text = render(&summary, Format::Text);
    check_width(&text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    for said in [
        "replicas apply after the load",
        "applied/s alone",
        "300 µs of CPU each",
    ] {
        assert!(words.contains(said), "no {said} in {text}");
    }
    let csv = render(&summary, Format::Csv);
    for title in ["applied_alone_per_s_median", "applied_alone_cpu_us"] {
        assert!(csv.contains(title), "no {title} in {csv}");
    }
    let json = render(&summary, Format::Json);
    for key in [
        "applied_after",
        "applied_alone_per_s",
        "applied_alone_cpu_us",
    ] {
        assert!(json.contains(key), "no {key} in {json}");
        assert!(RECORD_DOC.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn slower_cpus_and_further_schemas_are_told_where_they_were_and_only_there() {
    let plain = render(&example(), Format::Csv);
    assert!(!plain.contains("schemas") && !plain.contains("cpu_speed"));
    let mut record = Example::default().record();
    let asked = CpuSpeed::of_all(0.8);
    for cell in &mut record.header.cells {
        (cell.cpu_speed, cell.schemas) = (asked, 2);
    }
    for measurement in &mut record.measurements {
        measurement.cpu_speed = Some(SpeedGot {
            asked,
            got: CpuSpeed::of_all(0.791),
            held_us: 1e6,
        });
    }
    let summary = summarise(&record);
    let text = render(&summary, Format::Text);
    check_width(&text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = words.join(" ");
    for said in ["in 2 schemas, CPUs at 80%", "got CPUs at 79.1%"] {
        assert!(words.contains(said), "no {said} in {text}");
    }
    let csv = render(&summary, Format::Csv);
    for title in ["schemas", "cpu_speed_writer", "cpu_speed_got_rest"] {
        assert!(csv.contains(title), "no {title} in {csv}");
    }
    let json = render(&summary, Format::Json);
    for key in ["cpu_speed", "cpu_speed_got", "schemas"] {
        assert!(json.contains(&format!("\"{key}\"")), "no {key} in {json}");
        assert!(RECORD_DOC.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn rows_held_against_different_ones_say_which() {
    let mut summary = example();
    let text = render(&summary, Format::Text);
    assert!(!text.contains("vs baseline:"), "{text}");
    let held = summary
        .cells
        .iter_mut()
        .filter(|cell| cell.baseline.is_some());
    let last = held.last().expect("a cell with a baseline");
    let label = last.label.clone();
    last.baseline = Some("mysql async".into());
    let text = render(&summary, Format::Text);
    check_width(&text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let said = format!("over mysql single; {label} over mysql async");
    assert!(words.join(" ").contains(&said), "{text}");
    for cell in &mut summary.cells {
        cell.baseline = None;
    }
    let text = render(&summary, Format::Text);
    assert!(
        !text.contains("vs baseline") && !text.contains("vs single"),
        "{text}"
    );
}

#[test]
fn a_baseline_is_called_by_its_mode_where_that_tells_which_row_it_is() {
    let mut summary = example();
    summary.cells.retain(|cell| cell.point.server == "mysql");
    let text = render(&summary, Format::Text);
    assert!(text.contains("vs single"), "{text}");
    // Now all are variants of one mode.
    for cell in &mut summary.cells {
        cell.point.mode = Mode::Galera;
    }
    let text = render(&summary, Format::Text);
    assert!(text.contains("vs mysql single"), "{text}");
}
