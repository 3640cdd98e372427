//! Reports of kept records, held word by word to what they were when the records were made, but
//! for what was changed on purpose since: `INSTA_UPDATE=always cargo test --test reports` writes
//! them anew, and the difference is read before it is committed.

#[path = "common/fixtures.rs"]
mod fixtures;
#[path = "reports/renamed.rs"]
mod renamed;

use std::path::Path;

use acklab::analysis::{Summary, summarise};
use acklab::record::store::Record;
use acklab::report::{Format, render, worth};
use fixtures::unpacked;

/// Records in `tests/fixtures`, each made by the built-in study of that name in its short run, or
/// by the study of that name that lies beside them.
const RECORDS: [&str; 7] = [
    "anatomy-short",
    "clouds-2015",
    "compare",
    "gmo-galera-2022",
    "gmo-innodb-cluster-2022",
    "group-commit",
    "group-replication-2017",
];

/// The record of that name, unpacked.
fn record(name: &str) -> Record {
    let folder = tempfile::tempdir().expect("a folder");
    Record::open(&unpacked(name, folder.path())).expect("a record of the present format")
}

fn summary(name: &str) -> Summary {
    summarise(&record(name))
}

fn in_snapshots(told: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    settings.set_snapshot_path(root.join("tests/fixtures/reports"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(told);
}

fn is_as_before(name: &str) {
    let summary = summary(name);
    in_snapshots(|| {
        for (format, written) in Format::ALL.map(|(word, format)| (word, render(&summary, format)))
        {
            insta::assert_snapshot!(format!("{name}.{format}"), written);
        }
    });
}

/// What trials of faults came to, by the record of `acklab break power-cut --mode single --server
/// mysql --set innodb_doublewrite=OFF --trials 2 --no-price`: with its controls.
#[test]
fn trials_of_a_kept_record_are_judged_as_before() {
    let judged = summary("power-cut");
    assert!(!judged.worth.is_empty());
    in_snapshots(|| {
        for word in worth::FORMATS {
            let format = Format::named(word).expect("a format");
            insta::assert_snapshot!(format!("power-cut.{word}"), worth::render(&judged, format));
        }
    });
}

#[test]
fn reports_of_kept_records_are_as_before() {
    RECORDS.into_iter().for_each(is_as_before);
}

/// The test above can fail: another figure is another report in every format.
#[test]
fn another_figure_is_another_report() {
    let (told, mut other) = (summary("compare"), summary("compare"));
    let cell = other.cells.iter_mut().find(|cell| cell.rounds > 0);
    let estimate = cell.and_then(|cell| cell.throughput_per_s.as_mut());
    estimate.expect("a measured cell").median *= 1.5;
    for (word, format) in Format::ALL {
        assert_ne!(render(&told, format), render(&other, format), "{word}");
    }
}
