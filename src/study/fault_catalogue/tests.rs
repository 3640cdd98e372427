use super::super::faults::fit::misfits;
use super::super::faults::{Control, Deed, Reach};
use super::*;
use crate::error::Error;

/// The numbers of known anomalies in the order in which they are to be run.
const ORDER: [u32; 24] = [
    1, 2, 4, 5, 6, 7, 10, 12, 16, 17, 18, 3, 9, 11, 13, 15, 14, 19, 20, 21, 22, 23, 24, 25,
];
/// Modes whose writer's machine can die.
const MODES: [&str; 8] = [
    "single",
    "async",
    "semisync",
    "group",
    "group-multi",
    "galera",
    "mirror",
    "quorum",
];

fn row(name: &str) -> &'static CatalogueRow {
    super::named(name).unwrap_or_else(|| panic!("no fault {name}"))
}

#[test]
fn rows_that_only_keep_what_others_lose_are_known() {
    let mere = all().iter().filter(|row| is_mere_counter(row));
    let mere: Vec<&str> = mere.map(|row| &row.fault.name[..]).collect();
    let known = [
        "promote-most-received",
        "promote-given-others",
        "bootstrap-right-member",
        "old-writer-fenced",
        "locked-update",
        "halves-cut-off",
        "disk-low",
    ];
    assert_eq!(mere, known);
}

/// Cases and counters of all rows.
fn cases() -> impl Iterator<Item = (&'static CatalogueRow, &'static Case)> {
    let of_row = |row: &'static CatalogueRow| {
        let cases = row.cases.iter().chain(&row.counters);
        cases.map(move |case| (row, case))
    };
    all().iter().flat_map(of_row)
}

fn read(text: &str) -> std::result::Result<FaultCatalogue, String> {
    let read = fault_rows::parse(text, "faults.toml", &servers());
    read.map_err(|error| match error {
        Error::Mistakes(_) => error.to_string(),
        other => panic!("{other}"),
    })
}

#[test]
fn the_catalogue_is_without_mistakes() {
    let text = include_str!("../../../faults.toml");
    if let Err(mistakes) = read(text) {
        panic!("\n{mistakes}");
    }
    assert!(all().len() > 40, "{}", all().len());
}

#[test]
fn every_known_anomaly_has_a_row_or_a_reason() {
    let mut numbers: Vec<u32> = Vec::new();
    for number in all().iter().flat_map(|row| &row.numbers) {
        if !numbers.contains(number) {
            numbers.push(*number);
        }
    }
    assert_eq!(numbers, ORDER);
    let told: Vec<u32> = missing().iter().map(|missing| missing.number).collect();
    for number in 1..=25 {
        assert!(
            numbers.contains(&number) || told.contains(&number),
            "{number}"
        );
    }
}

#[test]
fn names_are_given_once() {
    let mut names: Vec<&str> = all().iter().map(|row| &row.fault.name[..]).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    assert_eq!(
        super::named("link-cut").map(|row| row.numbers.clone()),
        Some(vec![1])
    );
    assert_eq!(super::named("link-cuts"), None);
    let told = |name| no_such_fault("command line", "FAULT", name).to_string();
    assert_eq!(
        told("link-cuts"),
        "command line: FAULT: given link-cuts; is no fault: did you mean link-cut? \
         `acklab break --list` has them all"
    );
    assert_eq!(
        told("rain"),
        "command line: FAULT: given rain; is no fault: `acklab break --list` has them all"
    );
}

#[test]
fn every_fault_fits_wherever_it_is_injected() {
    for (row, case) in cases() {
        if let Some(name) = &case.instead {
            assert!(super::named(name).is_some(), "{name}");
        }
        let fault = row.fault_in(case, super::named);
        let found = misfits(&fault, &case.spec, &row.sites);
        assert!(
            found.is_empty(),
            "{} in {}: {found:?}",
            fault.name,
            case.spec.label
        );
    }
}

/// What is provoked must be able not to be there, or nobody knows what it came from.
#[test]
fn whatever_is_seen_vanishes_in_a_counter() {
    let is_anomaly = |expected: &Expected| {
        let is_told = [Sign::FellBack, Sign::NoService].contains(&expected.sign);
        expected.is_seen && !is_told
    };
    let numbered = all().iter().filter(|row| !row.numbers.is_empty());
    for row in numbered {
        let all = row
            .cases
            .iter()
            .flat_map(|case| case.all.iter().chain(&case.any));
        for expected in all.filter(|expected| is_anomaly(expected)) {
            let opposite = Expected {
                is_seen: false,
                ..*expected
            };
            let mut counters = row.counters.iter();
            let is_met = counters.any(|case| case.all.contains(&opposite));
            let name = &row.fault.name;
            // Each fork loses, and leaves somebody errant; the fork itself is countered.
            let is_forked = row.counters.iter().any(|case| {
                let fork = |expected: &Expected| expected.words() == "not forked";
                case.all.iter().any(fork)
            });
            assert!(is_met || is_forked, "{name}: {}", expected.words());
        }
    }
}

#[test]
fn every_numbered_case_says_what_must_be_seen() {
    for (row, case) in cases().filter(|(row, _)| !row.numbers.is_empty()) {
        let said = case.all.len() + case.any.len();
        assert!(said > 0, "{} in {}", row.fault.name, case.spec.label);
    }
    for row in all() {
        let least = if row.fault.name == "no-fault" { 3 } else { 5 };
        assert_eq!(row.trials, least, "{}", row.fault.name);
        assert!(!row.fault.title.is_empty() && row.fault.title != row.fault.name);
    }
}

#[test]
fn the_first_fault_of_every_mode_is_the_death_of_the_writers_machine() {
    for name in MODES {
        let is_it = |case: &Case| case.spec.mode.name() == name;
        let mut specs = cases().filter(|(_, case)| is_it(case));
        let (_, case) = specs.next().unwrap_or_else(|| panic!("no case of {name}"));
        let rows = for_mode(&case.spec);
        let first = &rows[0].fault;
        assert!(rows[0].is_first(), "{name}: {}", first.name);
        let is_cut = matches!(first.steps[0].deed, Deed::PowerCut(..));
        assert!(is_cut, "{name}: {}", first.name);
    }
}

#[test]
fn every_deed_is_in_some_row() {
    let mut done: Vec<&str> = all()
        .iter()
        .flat_map(|row| &row.fault.steps)
        .map(|step| step.deed.name())
        .collect();
    done.sort_unstable();
    done.dedup();
    // As many as there are.
    assert_eq!(done.len(), 22, "{done:?}");
}

#[test]
fn the_controls_are_those_that_were_asked_for() {
    let found: Vec<(&str, Option<Control>)> = controls()
        .iter()
        .map(|row| (&row.fault.name[..], row.fault.control))
        .collect();
    let expected = [
        ("link-cut", Some(Control::LosesUndelivered)),
        ("loose-power-cut", Some(Control::Loses(0.8))),
        ("killed", Some(Control::Nothing)),
        ("no-fault", Some(Control::Nothing)),
        ("write-quorum-3", Some(Control::Loses(0.8))),
    ];
    assert_eq!(found, expected);
    let loose = row("loose-power-cut");
    assert!(loose.cases.iter().all(|case| {
        let value = case.spec.variables.get("innodb_flush_log_at_trx_commit");
        value.map(String::as_str) == Some("2")
    }));
    // A counter is not held to what the control must come to.
    let counter = loose.fault_in(&loose.counters[0], super::named);
    assert_eq!(counter.control, None);
    assert!(row("no-fault").fault.steps.is_empty());
}

#[test]
fn a_case_has_its_settings_and_its_reach() {
    let row = row("fall-back");
    let [mysql, _] = &row.cases[..] else {
        panic!("{:?}", row.cases)
    };
    assert_eq!(mysql.spec.label, "mysql semisync timeout 1 s");
    assert_eq!(mysql.reach, [Reach::FellBack]);
    let fault = row.fault_in(mysql, super::named);
    assert_eq!(
        fault.reach,
        [
            Reach::AcknowledgedBefore(0, 10),
            Reach::InFlight(1),
            Reach::FellBack
        ]
    );
    let words: Vec<&str> = mysql.all.iter().map(|expected| expected.words()).collect();
    assert_eq!(words, ["fell back", "lost"]);
    let forced = self::row("minority-forced");
    let counter = &forced.counters[0];
    assert_eq!(
        forced.fault_in(counter, super::named).name,
        "minority-cut-off"
    );
}

#[test]
fn mistakes_of_a_catalogue_are_told_with_their_lines() {
    let text = "[[fault]]\nname = \"x\"\ntitle = \"an x\"\nnumber = 3\n\
                step = [{ do = \"promote\" }]\n\
                on = [\n{ server = \"mysql\", mode = \"single\", expect = \"losst\" },\n]\n";
    let told = read(text).expect_err("mistakes");
    for part in [
        "faults.toml:4: fault[1].number: given 3; no such key; did you mean numbers?",
        "faults.toml:5: fault[1].step[1]: given mode \"mysql single\"; cannot be in single: there \
         is no replica that could take over",
        "faults.toml:7: fault[1].on[1].expect: given \"losst\"; must be one of nothing wrong, lost,",
    ] {
        assert!(told.contains(part), "no {part:?} in\n{told}");
    }
    let none = read("[[fault]]\nname = \"x\"\nstep = []\n").expect_err("mistakes");
    assert!(none.contains("the modes that it is for"), "{none}");
    let unknown = "[[missing]]\nnumber = 0\ntitle = \"x\"\n";
    let told = read(unknown).expect_err("mistakes");
    assert!(told.contains("missing[1].number: given 0"), "{told}");
    assert!(told.contains("missing[1].why: is missing"), "{told}");
}
