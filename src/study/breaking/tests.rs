use std::collections::BTreeSet;

use super::choose::MODES;
use super::*;
use crate::study::capabilities;
use crate::study::fault::Leaves;
use crate::study::faults::fit::misfits;
use crate::study::faults::{Control, Injection, Reach};

fn asked(faults: &[&str]) -> Breaking {
    Breaking {
        faults: faults.iter().map(|name| (*name).to_owned()).collect(),
        seed: 3,
        has_price: true,
        ..Breaking::default()
    }
}

fn study(breaking: &Breaking) -> Study {
    let made = breaking.study(&capabilities::sample());
    made.unwrap_or_else(|error| panic!("{error}")).0
}

fn said(breaking: &Breaking) -> String {
    let made = breaking.study(&capabilities::sample());
    made.expect_err("a mistake").to_string()
}

/// Each fault in each mode, and how often.
fn injected(study: &Study) -> Vec<(&str, &str, u32)> {
    let mut all = Vec::new();
    for one in &study.injections {
        let labels = one.modes.iter();
        all.extend(labels.map(|label| (&one.fault.name[..], &label[..], one.trials)));
    }
    all
}

fn spec<'s>(study: &'s Study, label: &str) -> &'s ModeSpec {
    let mut specs = study.modes.iter();
    let found = specs.find(|spec| spec.label == label);
    found.unwrap_or_else(|| panic!("no mode {label}"))
}

/// Nothing is asked that the study's own reader would refuse.
fn check(study: &Study) {
    let labels: BTreeSet<&String> = study.modes.iter().map(|spec| &spec.label).collect();
    assert_eq!(labels.len(), study.modes.len(), "a label is given twice");
    for injection in &study.injections {
        for label in &injection.modes {
            let found = misfits(&injection.fault, spec(study, label), &study.sites);
            assert!(
                found.is_empty(),
                "{} in {label}: {found:?}",
                injection.fault.name
            );
        }
    }
    for spec in &study.modes {
        let mut sweeps = study.sweeps.iter();
        let first = sweeps.find(|sweep| sweep.has_mode(&spec.label));
        assert_eq!(
            first.map(|sweep| sweep.distances.len()),
            Some(1),
            "{}",
            spec.label
        );
    }
    let all = injected(study);
    let pairs: BTreeSet<(&str, &str)> =
        all.iter().map(|(fault, mode, _)| (*fault, *mode)).collect();
    assert_eq!(pairs.len(), all.len(), "a fault is asked twice of a mode");
}

#[test]
fn every_mode_is_asked_first_what_its_writers_machine_dying_takes() {
    let study = study(&asked(&[]));
    check(&study);
    let all = injected(&study);
    let first = ["power-cut", "writer-dies", "member-dies"];
    let is_first = |(fault, ..): &&(&str, &str, u32)| first.contains(fault);
    let asked: BTreeSet<&str> = all
        .iter()
        .filter(is_first)
        .map(|(_, label, _)| *label)
        .collect();
    let modes: BTreeSet<&str> = asked
        .iter()
        .map(|label| spec(&study, label).mode.name())
        .collect();
    assert_eq!(modes, MODES.into());
    assert_eq!(asked.len(), 11, "{asked:?}");
    assert!(all.iter().filter(is_first).all(|(.., trials)| *trials == 5));
    let controls: Vec<&str> = study
        .injections
        .iter()
        .filter(|one| one.fault.control.is_some())
        .map(|one| &one.fault.name[..])
        .collect();
    let expected = [
        "link-cut",
        "loose-power-cut",
        "killed",
        "no-fault",
        "write-quorum-3",
    ];
    assert_eq!(controls, expected);
}

/// Its schedule in a mode that it is no control of shows nothing of the check.
#[test]
fn a_control_s_schedule_in_another_mode_is_no_control() {
    let mut only = asked(&["killed"]);
    only.modes = vec!["async".to_owned()];
    let study = study(&only);
    let controls = study
        .injections
        .iter()
        .filter(|one| one.fault.control.is_some());
    let controls: BTreeSet<&str> = controls.map(|one| &one.fault.name[..]).collect();
    assert_eq!(
        controls,
        ["killed", "link-cut", "loose-power-cut", "no-fault"].into()
    );
    let plain = |one: &&Injection| one.fault.name == "killed" && one.fault.control.is_none();
    assert!(study.injections.iter().any(|one| plain(&one)));
}

#[test]
fn single_commits_are_measured_where_a_single_server_is_beside() {
    let priced = study(&asked(&[]));
    let async_mode = spec(&priced, "mariadb async");
    assert_eq!(async_mode.baseline.as_deref(), Some("mariadb single"));
    let first = &priced.sweeps[0];
    assert!(first.has_mode("mysql group") && first.has_mode("mysql single"));
    assert_eq!(first.distances[0].label, "2 ms");
    let others: Vec<&str> = priced.sweeps[1]
        .distances
        .iter()
        .map(|it| &it.label[..])
        .collect();
    assert_eq!(others, ["0.25 ms", "8 ms"]);
    // A control's loose server is not measured.
    let loose = "mysql single innodb_flush_log_at_trx_commit=2 sync_binlog=0";
    assert!(!first.has_mode(loose) && priced.sweeps[2].has_mode(loose));
    assert!(priced.sweeps[2].workloads.is_empty());
    let mut only = asked(&["fall-back"]);
    only.modes = vec!["semisync".to_owned()];
    let only = study(&only);
    assert!(only.modes.iter().any(|spec| spec.label == "mysql single"));
    let mut without = asked(&[]);
    without.has_price = false;
    let without = study(&without);
    check(&without);
    assert!(
        without
            .sweeps
            .iter()
            .all(|sweep| sweep.workloads.is_empty())
    );
}

#[test]
fn names_and_numbers_bring_their_counters() {
    for names in [&["fall-back"][..], &["4"]] {
        let study = study(&asked(names));
        check(&study);
        let all = injected(&study);
        let modes: Vec<&str> = all
            .iter()
            .filter(|(fault, ..)| *fault == "fall-back")
            .map(|(_, label, _)| *label)
            .collect();
        let expected = [
            "mysql semisync timeout 1 s",
            "mariadb semisync timeout 1 s",
            "mysql semisync timeout 1 h",
            "mariadb semisync timeout 1 h",
        ];
        assert_eq!(modes, expected);
        let case = study
            .injections
            .iter()
            .find(|one| one.fault.name == "fall-back");
        assert!(case.unwrap().fault.reach.contains(&Reach::FellBack));
        assert!(all.iter().any(|(fault, ..)| *fault == "no-fault"));
        assert!(!all.iter().any(|(fault, ..)| *fault == "write-quorum-3"));
    }
    let both = study(&asked(&["16", "link-cut"]));
    assert_eq!(
        both.injections[0].fault.control,
        Some(Control::LosesUndelivered)
    );
    assert!(
        injected(&both)
            .iter()
            .any(|(fault, ..)| *fault == "write-quorum-3")
    );
}

#[test]
fn a_mode_without_a_case_has_the_fault_as_it_is() {
    let mut breaking = asked(&["disk-slow"]);
    breaking.modes = vec!["semisync".to_owned()];
    let study = study(&breaking);
    check(&study);
    let all = injected(&study);
    let slow = all.iter().filter(|(fault, ..)| *fault == "disk-slow");
    let labels: Vec<&str> = slow.map(|(_, label, _)| *label).collect();
    assert_eq!(labels, ["mariadb semisync", "mysql semisync"]);
    let mut old = asked(&[]);
    old.servers = vec!["mysql-5.5".to_owned()];
    let old = self::study(&old);
    check(&old);
    let first = injected(&old)[0];
    assert_eq!((first.0, first.1), ("power-cut", "mysql-5.5 single"));
}

#[test]
fn the_short_run_has_each_deed_and_each_mode_in_twenty_trials() {
    let mut breaking = asked(&[]);
    breaking.is_quick = true;
    breaking.has_price = false;
    let study = study(&breaking);
    check(&study);
    let all = injected(&study);
    let trials: u32 = all.iter().map(|(.., trials)| trials).sum();
    assert!(trials <= 20, "{trials}: {all:?}");
    let done = |study: &Study| -> BTreeSet<&'static str> {
        let steps = study.injections.iter().flat_map(|one| &one.fault.steps);
        steps.map(|step| step.deed.name()).collect()
    };
    assert_eq!(done(&study).len(), 22);
    let modes: BTreeSet<&str> = all
        .iter()
        .map(|(_, label, _)| spec(&study, label).mode.name())
        .collect();
    assert_eq!(modes, MODES.into());
    let controls = study.injections.iter().filter_map(|one| one.fault.control);
    assert_eq!(controls.count(), 5);
    assert!(all.contains(&("no-fault", "mysql single", 3)));
}

#[test]
fn the_whole_catalogue_fits_one_study() {
    let study = study(&asked(&["all"]));
    check(&study);
    let all = injected(&study);
    let is_old = |label: &str| label.starts_with("mysql-5");
    assert!(all.len() > 150 && !all.iter().any(|(_, label, _)| is_old(label)));
    let trials: u32 = all.iter().map(|(.., trials)| trials).sum();
    assert!((300..600).contains(&trials), "{trials}");
    // What only looks is asked for by its name, and has all of its trials then.
    assert!(!all.iter().any(|(fault, ..)| *fault == "fresh-reads"));
    let looks = self::study(&asked(&["fresh-reads"]));
    let looks = injected(&looks).into_iter();
    let looks: Vec<u32> = looks
        .filter(|(fault, ..)| *fault == "fresh-reads")
        .map(|(.., trials)| trials)
        .collect();
    assert!(
        looks.len() == 27 && looks.iter().all(|trials| *trials == 5),
        "{looks:?}"
    );
    // A control of a share is held against it in each mode: of two trials one may well miss.
    let loose = all
        .iter()
        .filter(|(fault, label, _)| *fault == "loose-power-cut" && label.contains("sync_binlog=0"));
    let loose: Vec<u32> = loose.map(|(.., trials)| *trials).collect();
    assert_eq!(loose, [5, 5]);
    // What only keeps what another row loses has one trial in each mode; what loses, five.
    let of = |name: &str| -> Vec<u32> {
        let same = all.iter().filter(|(fault, ..)| *fault == name);
        same.map(|(.., trials)| *trials).collect()
    };
    assert_eq!(of("bootstrap-right-member").iter().max(), Some(&1));
    assert_eq!(of("halves-cut-off"), [1]);
    assert!(of("bootstrap-wrong-member").iter().sum::<u32>() >= 5);
    assert_eq!(
        of("minority-cut-off").iter().max(),
        Some(&5),
        "it shows something itself"
    );
    // One that stands farther apart than the others.
    let far = study
        .sweeps
        .iter()
        .filter(|sweep| sweep.distances[0].label == "20 ms");
    let far: Vec<&Sweep> = far.collect();
    assert_eq!(far.len(), 1);
    assert!(far[0].modes.iter().all(|label| label.ends_with("at 20 ms")));
    let mut few = asked(&["all"]);
    few.trials = Some(1);
    assert!(
        injected(&self::study(&few))
            .iter()
            .all(|(.., trials)| *trials == 1)
    );
}

#[test]
fn a_window_is_left_as_long_as_was_asked() {
    let mut breaking = asked(&["site-lost"]);
    breaking.window = Some(Duration::from_secs(2));
    let study = study(&breaking);
    let lost = &study.injections[0].fault;
    let at = Duration::from_secs(2);
    assert_eq!(lost.steps[1].when, When::After { min: at, max: at });
    assert!(lost.title.contains("2 s later"), "{}", lost.title);
    let mut without = asked(&["writer-dies"]);
    without.window = breaking.window;
    let said = said(&without);
    assert!(
        said.contains("--window: given 2s;") && said.contains("site-lost"),
        "{said}"
    );
}

#[test]
fn modes_have_the_variables_that_were_asked_for_and_controls_have_not() {
    let mut breaking = asked(&["loose-power-cut"]);
    breaking.servers = vec!["mysql".to_owned()];
    let is_set = |study: &Study| {
        let all = study.modes.iter();
        let set = all.filter(|spec| spec.variables.contains_key("innodb_doublewrite"));
        set.map(|spec| spec.label.clone()).collect::<Vec<_>>()
    };
    assert!(is_set(&study(&breaking)).is_empty());
    breaking.variables = [("innodb_doublewrite".to_owned(), "OFF".to_owned())].into();
    let study = study(&breaking);
    let loose = "mysql single innodb_doublewrite=OFF innodb_flush_log_at_trx_commit=2 \
                 sync_binlog=0";
    assert_eq!(
        is_set(&study),
        [loose, "mysql single innodb_doublewrite=OFF"]
    );
    check(&study);
    // With one value both of its modes are the same.
    let strict = [
        ("innodb_flush_log_at_trx_commit", "1"),
        ("sync_binlog", "1"),
    ];
    breaking.variables = strict
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let study = self::study(&breaking);
    let mut all = study.injections.iter();
    let one = all
        .find(|it| it.fault.name == "loose-power-cut")
        .expect("it");
    assert_eq!(one.modes.len(), 1, "{:?}", one.modes);
}

#[test]
fn power_cuts_leave_what_was_asked_and_controls_lose_all() {
    let mut breaking = asked(&["power-cut"]);
    breaking.leaves = Some(Leaves::Torn(512));
    let study = study(&breaking);
    let left = |name: &str| {
        let mut all = study.injections.iter();
        let it = all.find(|it| it.fault.name == name).expect(name);
        let mut steps = it.fault.steps.iter();
        steps.find_map(|step| match step.deed {
            Deed::PowerCut(_, leaves) => Some(leaves),
            _ => None,
        })
    };
    assert_eq!(left("power-cut-torn-512"), Some(Leaves::Torn(512)));
    assert_eq!(left("link-cut"), Some(Leaves::Nothing), "a control");
    // A control that was asked for otherwise is none, and runs beside as it is.
    let mut loose = asked(&["loose-power-cut"]);
    loose.leaves = Some(Leaves::Everything);
    let loose = self::study(&loose);
    let control = |name: &str| {
        let mut all = loose.injections.iter();
        let it = all.find(|it| it.fault.name == name).expect(name);
        it.fault.control
    };
    assert_eq!(control("loose-power-cut-keep-all"), None);
    assert_eq!(control("loose-power-cut"), Some(Control::Loses(0.8)));
    let mut without = asked(&["writer-killed"]);
    without.leaves = breaking.leaves;
    let said = said(&without);
    assert!(said.contains("--leaves: given torn-512;"), "{said}");
}

#[test]
fn zones_are_where_faults_are_injected() {
    let mut breaking = asked(&["site-lost"]);
    breaking.distances = Some("ab=2ms,ac=30ms,bc=30ms".to_owned());
    let zones = study(&breaking);
    check(&zones);
    let label = "a-b 2 ms, a-c 30 ms, b-c 30 ms";
    assert_eq!(zones.sweeps[0].distances[0].label, label);
    assert_eq!(
        zones.sweeps[1].distances.len(),
        3,
        "equal ones, for their slope"
    );
    breaking.distances = Some("ab=2ms".to_owned());
    assert!(said(&breaking).contains("--distances: given ab=2ms; must be"));
    breaking.distances = Some("ab=2ms,ac=900ms,bc=900ms".to_owned());
    let said = said(&breaking);
    assert!(
        said.contains("copies of mysql mirror must answer within 500 ms"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_asked_is_told() {
    let with = |faults: &[&str], modes: &[&str], servers: &[&str]| {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        said(&Breaking {
            modes: owned(modes),
            servers: owned(servers),
            ..asked(faults)
        })
    };
    for (told, parts) in [
        (
            with(&["link-cutt", "8", "77"], &[], &[]),
            &[
                "FAULT: given link-cutt; is no fault: did you mean link-cut?",
                "FAULT: given 8; has no fault (An acknowledgement",
                "FAULT: given 77; is the number of no known anomaly",
            ][..],
        ),
        (
            with(&[], &[], &["mysq"]),
            &[
                "--server: given mysq; must be one of",
                "did you mean mysql?",
            ],
        ),
        (
            with(&[], &["galera"], &["mysql"]),
            &["--mode: given galera; no server asked for has it: mysql can do single,"],
        ),
        (
            with(&["disk-fails"], &["group"], &[]),
            &["disk-fails, step 2: given mysql group; cannot be in group: it chooses"],
        ),
        (
            with(&["link-cut"], &[], &["mysql-5.5"]),
            &["FAULT: given link-cut; is for no mode of the servers that are asked for"],
        ),
    ] {
        for part in parts {
            assert!(told.contains(part), "no {part:?} in\n{told}");
        }
    }
}
