//! What kept records foretell of themselves and of places where nothing was measured.

#[path = "common/fixtures.rs"]
mod fixtures;

use std::path::Path;
use std::process::{Command, Output};

use acklab::model::{At, Cpus, Errors, Model, Prediction, Refusal};
use acklab::record::store::Record;
use fixtures::unpacked;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn kept(name: &str) -> Record {
    let folder = tempfile::tempdir().expect("a folder");
    Record::open(&unpacked(name, folder.path())).expect("a record")
}

/// Three sites, c far away.
fn zones(connections: u32) -> At {
    let pair = |one: &str, other: &str, us| (one.to_owned(), other.to_owned(), us);
    At {
        rtts_us: vec![
            pair("a", "b", 2_000.0),
            pair("a", "c", 30_000.0),
            pair("b", "c", 30_000.0),
        ],
        flush_us: Some(500.0),
        connections,
        cpus: Cpus::Own(2),
    }
}

fn foretold(record: &Record) -> Prediction {
    let model = Model::of(record).expect("a record that tells");
    model.predict(&zones(1))
}

fn tell(name: &str, what: &str, errors: &Errors) {
    println!("{name}, {what}: {errors:?}");
}

/// The figures that docs/method/prediction.md prints come from here: `cargo test --release --test
/// predict -- --nocapture`.
#[test]
fn cells_of_kept_records_are_foretold_by_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let anatomy = folder.path().join("anatomy.acklab");
    std::fs::copy(root().join("docs/anatomy.acklab"), &anatomy).expect("a copy");
    let anatomy = Record::open(&anatomy).expect("a record");
    for (name, record, cells, most) in [
        ("compare --quick", kept("compare"), 18, 0.10),
        ("anatomy", anatomy, 100, 0.02),
    ] {
        let held = foretold(&record).held;
        tell(name, "p50 at one connection", &held.single);
        tell(name, "p99 at one connection", &held.single_p99);
        assert!(held.single.cells >= cells, "{name}: {:?}", held.single);
        let median = held.single.median.expect("cells were foretold");
        assert!(median <= most, "{name}: {median}");
        assert!(held.single.factor.is_some(), "{name}");
    }
    let shared = foretold(&kept("group-replication-2017")).held;
    tell(
        "group-replication-2017",
        "p50 at one connection",
        &shared.single,
    );
    tell(
        "group-replication-2017",
        "p50 at 16 connections",
        &shared.several,
    );
    tell(
        "group-replication-2017",
        "p99 at 16 connections",
        &shared.several_p99,
    );
    tell(
        "group-replication-2017",
        "commits/s at 16",
        &shared.several_per_s,
    );
    assert!(shared.several.cells >= 4, "{shared:?}");
}

#[test]
fn a_record_foretells_itself_and_another_of_its_modes() {
    let (compare, articles) = (kept("compare"), kept("group-replication-2017"));
    let model = Model::of(&compare).expect("a record that tells");
    let own = &model.check(std::slice::from_ref(&compare))[0];
    assert_eq!((own.single.errors.cells, own.not_foretold), (18, 0));
    assert!(own.single.within.expect("an interval") >= 0.9, "{own:?}");
    // Other tables, other appliers: not the same load, so nothing is said.
    let other = &model.check(&[articles])[0];
    assert_eq!((other.single.errors.cells, other.single.within), (0, None));
    assert!(other.not_foretold > 0);
}

#[test]
fn a_record_without_single_commits_is_refused() {
    let refusal = Model::of(&kept("gmo-galera-2022")).err();
    assert_eq!(refusal, Some(Refusal::NoLine));
    assert_eq!(Model::of(&kept("power-cut")).err(), Some(Refusal::Faults));
}

fn acklab(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acklab"));
    command.args(words).current_dir(folder);
    command.output().expect("the program")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const DISTANCES: [&str; 2] = ["--distances", "ab=2ms,ac=30ms,bc=30ms"];

#[test]
fn the_verb_prints_every_mode_within_a_hundred_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    unpacked("compare", folder.path());
    let words = [&["predict", "compare.acklab"][..], &DISTANCES].concat();
    let far = [&words[..], &["--flush", "0.5ms", "--cpu", "4"]].concat();
    let output = acklab(folder.path(), &far);
    let (out, err) = (said(&output.stdout), said(&output.stderr));
    assert_eq!((output.status.code(), &err[..]), (Some(0), ""), "{out}");
    for part in [
        "not measured",
        "mysql single",
        "mysql semisync",
        "mysql group",
        "mariadb galera",
        "undecided",
        "not trusted: no shared cell",
        "18 cells, each foretold by the others",
        "a–c 30.0 ms: outside, 3.75 times the most that was measured (250 µs to 8.00 ms)",
        "flush 500 µs: ignored",
    ] {
        assert!(out.contains(part), "{part} is not in\n{out}");
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let json = [
        &words[..],
        &["--format", "json", "--check", "compare.acklab"],
    ]
    .concat();
    let output = acklab(folder.path(), &json);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(told["record"], "compare.acklab");
    assert_eq!(told["modes"].as_array().map(Vec::len), Some(6));
    assert_eq!(told["checked"][0]["single"]["errors"]["cells"], 18);
    assert!(told["modes"][2]["coefficients"]["single"]["round_trips"].is_f64());
}

#[test]
fn ten_seconds_are_far_outside_and_foretold_all_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    unpacked("compare", folder.path());
    let words = [
        "predict",
        "compare.acklab",
        "--distances",
        "ab=10s,ac=10s,bc=10s",
    ];
    let output = acklab(folder.path(), &words);
    let out = said(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    assert!(
        out.contains("far outside, 1250.00 times") && out.contains(" s"),
        "{out}"
    );
}

/// What is asked, and a part of what is said of it.
const WRONG: [(&[&str], &str); 14] = [
    (
        &["compare.acklab"],
        "each pair of sites: ab=2ms,ac=2ms,bc=2ms",
    ),
    (&["compare.acklab", "--distances", "ab=2ms"], "each pair"),
    (&["compare.acklab", "--distances", "ad=2ms"], "given ad=2ms"),
    (
        &["compare.acklab", "--distances", "ab=2h,ac=1ms,bc=1ms"],
        "from 0 to 60 s",
    ),
    (
        &["compare.acklab", "--distances", DISTANCES[1], "--cpu", "0"],
        "--cpu: given 0",
    ),
    (
        &[
            "compare.acklab",
            "--distances",
            DISTANCES[1],
            "--connections",
            "1001",
        ],
        "from 1 to 1000",
    ),
    (
        &[
            "compare.acklab",
            "--distances",
            DISTANCES[1],
            "--flush",
            "11s",
        ],
        "--flush: given 11 s",
    ),
    (
        &[
            "compare.acklab",
            "--distances",
            DISTANCES[1],
            "--format",
            "csv",
        ],
        "one of text,",
    ),
    (
        &[
            "compare.acklab",
            "--distances",
            DISTANCES[1],
            "--check",
            "no.acklab",
        ],
        "no.acklab",
    ),
    (
        &["power-cut.acklab", "--distances", DISTANCES[1]],
        "holds trials of faults",
    ),
    (
        &["gmo-galera-2022.acklab", "--distances", DISTANCES[1]],
        "two distances or more",
    ),
    (
        &["none.acklab", "--distances", DISTANCES[1]],
        "another kind of file",
    ),
    (
        &["newer.acklab", "--distances", DISTANCES[1]],
        "use a newer acklab",
    ),
    (
        &["absent.acklab", "--distances", DISTANCES[1]],
        "absent.acklab",
    ),
];

#[test]
fn what_cannot_be_foretold_is_a_mistake_in_clear_words() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["compare", "power-cut", "gmo-galera-2022"] {
        unpacked(name, folder.path());
    }
    std::fs::write(folder.path().join("none.acklab"), "no record").expect("a file");
    newer(folder.path());
    for (words, part) in WRONG {
        let output = acklab(folder.path(), &[&["predict"][..], words].concat());
        let (out, err) = (said(&output.stdout), said(&output.stderr));
        assert_eq!(
            (output.status.code(), &out[..]),
            (Some(2), ""),
            "{words:?}: {err}"
        );
        assert!(err.contains(part), "{words:?}: {part} is not in {err}");
    }
}

/// A record of a schema that is yet to come.
fn newer(folder: &Path) {
    let path = folder.join("newer.acklab");
    std::fs::copy(folder.join("compare.acklab"), &path).expect("a copy");
    let connection = rusqlite::Connection::open(&path).expect("a database");
    connection
        .pragma_update(None, "user_version", 99)
        .expect("another version");
}
